// SPDX-License-Identifier: Apache-2.0
//
// Sets of policies: who refers to them, what is found in them by name, and the counts of each policy.
//
// A set is in the cache with one reference. Threads inside their epoch read it there without one; the last reference
// that goes retires it, so that they may finish. Who needs a set longer than that, runners, is given a reference by the
// control thread, which alone takes the cache's away.
#include "policy/policy.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "os/clock.h"
#include "policy/partitioners.h"

enum { POLICY_LOG_INTERVAL_MS = 1000 }; // an error of a policy is logged no more often, and why it rejects

/// The text of an error. It comes first: whoever frees a set may free it by the pointer that the counters have.
struct policy_error {
  char text[POLICY_TEXT_SIZE];  ///< one line
  struct epoch_retired retired; ///< readers of the text are inside their epoch
};

static struct policy_counters policy_builtin_counters[POLICY_BUILTINS];

#define POLICY_BUILTIN(id, text)      \
  [id] = {.kind = POLICY_PARTITIONER, \
          .name = (text),             \
          .index = -1,                \
          .builtin = (id),            \
          .counters = &policy_builtin_counters[id]}

/// Ours. Those that have a parameter are found by what comes before it, colon included.
static const struct policy policy_builtins[POLICY_BUILTINS] = {
    POLICY_BUILTIN(POLICY_MURMUR2, "murmur2"),         POLICY_BUILTIN(POLICY_CRC32, "consistent"),
    POLICY_BUILTIN(POLICY_ROUND_ROBIN, "round_robin"), POLICY_BUILTIN(POLICY_STICKY, "sticky"),
    POLICY_BUILTIN(POLICY_HEADER, "header:"),          POLICY_BUILTIN(POLICY_RANGE, "range:"),
};

// ---- references ----

const struct policy_set *policy_cache_get(const struct policy_cache *cache)
{
  return atomic_load_explicit(&cache->current, memory_order_acquire);
}

void policy_cache_publish(struct policy_cache *cache, const struct policy_set *set)
{
  const struct policy_set *before = atomic_exchange(&cache->current, set);
  if (before != NULL) {
    policy_set_unref(before);
  }
}

const struct policy_set *policy_set_ref(const struct policy_set *set)
{
  // Counted though it is otherwise immutable.
  struct policy_set *counted = (struct policy_set *)(uintptr_t)set;
  int32_t before = atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
  CHECK(before > 0);
  return set;
}

static void policy_set_free(struct epoch_retired *retired)
{
  struct policy_set *set = CONTAINER_OF(retired, struct policy_set, retired);
  set->free_fn(set);
}

void policy_set_unref(const struct policy_set *set)
{
  struct policy_set *counted = (struct policy_set *)(uintptr_t)set;
  int32_t before = atomic_fetch_sub_explicit(&counted->refs, 1, memory_order_acq_rel);
  CHECK(before > 0);
  if (before == 1) {
    epoch_retire(&counted->retired, policy_set_free);
  }
}

// ---- names ----

/// Finds a name in a sorted array of structs that have it first.
///
/// @param items   the first
/// @param stride  bytes from one to the next
/// @return NULL: no such
static const void *policy_find(const void *items, int count, size_t stride, const char *name, size_t length)
{
  const char *first = items;
  int low = 0;
  int high = count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    const char *item = first + (size_t)middle * stride;
    const char *text = *(const char *const *)(const void *)item;
    int order = strncmp(text, name, length);
    if (order == 0 && text[length] == '\0') {
      return item;
    }
    *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
  }
  return NULL;
}

const struct policy_topic *policy_set_topic(const struct policy_set *set, const char *name, size_t length)
{
  return set != NULL ? policy_find(set->topics, set->topic_count, sizeof *set->topics, name, length) : NULL;
}

const struct policy_view *policy_set_view(const struct policy_set *set, const char *name, size_t length)
{
  return set != NULL ? policy_find(set->views, set->view_count, sizeof *set->views, name, length) : NULL;
}

static const struct policy *policy_builtin_named(const char *name, size_t length)
{
  for (int i = 0; i < POLICY_BUILTINS; i++) {
    const char *ours = policy_builtins[i].name;
    size_t size = strlen(ours);
    bool has_parameter = ours[size - 1] == ':';
    if ((has_parameter ? length > size : length == size) && memcmp(ours, name, size) == 0) {
      return &policy_builtins[i];
    }
  }
  return NULL;
}

const struct policy *policy_set_named(const struct policy_set *set, const char *name, size_t length)
{
  const struct policy *ours = policy_builtin_named(name, length);
  if (ours != NULL || set == NULL) {
    return ours;
  }
  const struct policy_named *named = policy_find(set->named, set->named_count, sizeof *set->named, name, length);
  return named != NULL ? named->policy : NULL;
}

bool policy_set_has(const struct policy_set *set, enum policy_kind first, enum policy_kind last)
{
  for (int i = 0; set != NULL && i < set->policy_count; i++) {
    if (set->policies[i].kind >= first && set->policies[i].kind <= last) {
      return true;
    }
  }
  return false;
}

const char *policy_kind_name(enum policy_kind kind)
{
  static const char *const names[POLICY_KINDS] = {"partitioner", "transform", "transform_fetch", "where",
                                                  "retention",   "archive",   "placement",       "hook",
                                                  "timer",       "request"};
  return names[kind];
}

void policy_title(const struct policy *policy, const char *topic, char *text, size_t size)
{
  const char *kind = policy_kind_name(policy->kind);
  // One of a topic's block, and not one with a name that topics choose.
  bool is_topics =
      policy->kind == POLICY_TRANSFORM || policy->kind == POLICY_TRANSFORM_FETCH || policy->kind == POLICY_RETENTION ||
      policy->kind == POLICY_ARCHIVE ||
      (policy->kind == POLICY_PARTITIONER && policy->label != NULL && strncmp(policy->label, "topic ", 6) == 0);
  if (policy->kind == POLICY_PLACEMENT) {
    snprintf(text, size, "%s of defaults", kind);
  } else if (policy->kind == POLICY_WHERE) {
    snprintf(text, size, "%s of view %.249s", kind, policy->name);
  } else if (is_topics) {
    snprintf(text, size, "%s of topic %.249s", kind, policy->name);
  } else if (topic != NULL) {
    snprintf(text, size, "%s %.249s of topic %.249s", kind, policy->name, topic);
  } else {
    snprintf(text, size, "%s %.249s", kind, policy->name);
  }
}

void policy_title_at(const struct policy *policy, const char *topic, char *text, size_t size)
{
  char title[POLICY_TITLE_SIZE];
  policy_title(policy, topic, title, sizeof title);
  if (policy->source == NULL) {
    snprintf(text, size, "%s", title);
  } else {
    snprintf(text, size, "%s (%s:%d)", title, policy->source, policy->line);
  }
}

// ---- counts ----

static void policy_error_free(struct epoch_retired *retired)
{
  mem_free(CONTAINER_OF(retired, struct policy_error, retired));
}

static void policy_keep_error(struct policy_counters *counters, const char *text)
{
  struct policy_error *error = mem_alloc(sizeof *error);
  snprintf(error->text, sizeof error->text, "%s", text);
  char *before = atomic_exchange(&counters->last_error, error->text);
  if (before != NULL) {
    epoch_retire(&CONTAINER_OF(before, struct policy_error, text)->retired, policy_error_free);
  }
}

/// Whether something may be logged that was last logged at a time; takes it.
static bool policy_may_log(_Atomic(int64_t) *logged_ms)
{
  int64_t now_ms = clock_mono_ms();
  int64_t last_ms = atomic_load_explicit(logged_ms, memory_order_relaxed);
  // Zero: never. Of threads that see the same time one logs.
  return (last_ms == 0 || now_ms - last_ms >= POLICY_LOG_INTERVAL_MS) &&
         atomic_compare_exchange_strong(logged_ms, &last_ms, now_ms);
}

void policy_count(const struct policy *policy, int64_t calls, int64_t ns, const char *error)
{
  struct policy_counters *counters = policy->counters;
  atomic_fetch_add_explicit(&counters->calls, calls, memory_order_relaxed);
  atomic_fetch_add_explicit(&counters->ns, ns, memory_order_relaxed);
  if (error == NULL) {
    return;
  }
  int64_t nth = atomic_fetch_add_explicit(&counters->errors, 1, memory_order_relaxed) + 1;
  policy_keep_error(counters, error);
  atomic_store_explicit(&counters->error_ms, clock_wall_ms(), memory_order_relaxed);
  if (policy_may_log(&counters->logged_ms)) {
    slog_warn("%s (error %lld of this policy)", error, (long long)nth);
  }
}

void policy_count_rejects(const struct policy *policy, int32_t count, const char *why)
{
  struct policy_counters *counters = policy->counters;
  int64_t total = atomic_fetch_add_explicit(&counters->rejects, count, memory_order_relaxed) + count;
  if (policy_may_log(&counters->reject_logged_ms)) {
    slog_info("%d %s %s (%lld so far)", count, count == 1 ? "record was" : "records were", why, (long long)total);
  }
}

/// What the samples of a policy are called: "transform.clicks"; of kinds that a name may have several of, with the
/// line.
static void policy_metric_label(const struct policy *policy, char *label, size_t size)
{
  bool is_single = policy->kind != POLICY_HOOK && policy->kind != POLICY_TIMER && policy->kind != POLICY_REQUEST;
  int length = snprintf(label, size, "%s.%s", policy_kind_name(policy->kind), policy->name);
  if (!is_single && length > 0 && (size_t)length < size) {
    snprintf(label + length, size - (size_t)length, ":%d", policy->line);
  }
}

void policy_collect(void *arg, struct metric_samples *out)
{
  static const struct metric calls = {"policy.calls", "policy", METRIC_COUNTER,
                                      "calls of each function; of those on records, records"};
  static const struct metric errors = {"policy.errors", "policy", METRIC_COUNTER, "calls of each function that failed"};
  static const struct metric ns = {"policy.ns", "policy", METRIC_COUNTER, "time of all calls of each function, ns"};
  const struct policy_set *set = policy_cache_get(arg);
  for (int i = 0; set != NULL && i < set->policy_count; i++) {
    const struct policy *policy = &set->policies[i];
    char label[POLICY_TEXT_SIZE];
    policy_metric_label(policy, label, sizeof label);
    metrics_put(out, &calls, label, metric_read(&policy->counters->calls));
    metrics_put(out, &errors, label, metric_read(&policy->counters->errors));
    metrics_put(out, &ns, label, metric_read(&policy->counters->ns));
  }
}

void policy_counters_destroy(struct policy_counters *counters)
{
  mem_free(atomic_exchange(&counters->last_error, NULL));
}
