// SPDX-License-Identifier: Apache-2.0
#include "policy_probe.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "os/clock.h"
#include "policy/partitioners.h"
#include "policy/policy.h"
#include "policy/vm.h"

enum probe_index {
  PROBE_HASH,
  PROBE_IMPURE,
  PROBE_NONSENSE,
  PROBE_RAISE_PARTITION,
  PROBE_FILTER,
  PROBE_UPPER,
  PROBE_DOUBLE,
  PROBE_EMIT,
  PROBE_REJECT,
  PROBE_RAISE,
  PROBE_SLOW,
  PROBE_ENDLESS,
  PROBE_COUNT,
  PROBE_TOPICS = 13,
};

/// A VM, with what a policy of its own may keep.
struct probe_vm {
  struct policy_vm vm;
  pthread_t thread; ///< that made it
  int32_t turn;     ///< of PROBE_IMPURE
};

/// A set and all that it points to.
struct probe_set {
  struct policy_set set;
  struct policy policies[PROBE_COUNT];
  struct policy_counters counters[PROBE_COUNT];
  struct policy_topic topics[PROBE_TOPICS];
  struct policy_source source;
  bool fails;
};

static _Atomic(int) probe_slow_ms = 100;
static _Atomic(bool) probe_is_released;
static _Atomic(int64_t) probe_made;
static _Atomic(int64_t) probe_freed;
static _Atomic(int64_t) probe_misplaced;

// ---- partitioners ----

static int probe_fail(const struct policy *policy, struct policy_failure *failure)
{
  snprintf(failure->text, sizeof failure->text, "%s of topic %s: %s:%d: failed on purpose",
           policy->kind == POLICY_PARTITIONER ? "partitioner" : "transform", policy->name, policy->source,
           policy->line);
  failure->index = 0;
  return ERR_SCRIPT;
}

static int probe_partition(struct policy_vm *vm, const struct policy *policy, const struct policy_batch *batch,
                           int32_t partitions, int32_t *chosen, struct policy_failure *failure)
{
  struct probe_vm *probe = (struct probe_vm *)vm;
  for (int32_t i = 0; i < batch->count; i++) {
    const struct record_view *record = &batch->records[i];
    if (policy->index == PROBE_HASH) {
      chosen[i] =
          policy_murmur2_partition(record->key, record->key_size > 0 ? (size_t)record->key_size : 0, partitions);
    } else {
      chosen[i] = policy->index == PROBE_IMPURE ? probe->turn++ % partitions : -1;
    }
  }
  return policy->index == PROBE_RAISE_PARTITION ? probe_fail(policy, failure) : 0;
}

// ---- transforms ----

static bool probe_has_header(const struct record_view *record, const char *name)
{
  struct record_header_iterator headers;
  struct record_header_view header;
  record_headers_open(record, &headers);
  while (record_headers_next(&headers, &header) > 0) {
    if ((size_t)header.key_size == strlen(name) && memcmp(header.key, name, strlen(name)) == 0) {
      return true;
    }
  }
  return false;
}

/// The record as a policy would make it.
static struct policy_record probe_copy(const struct record_view *record, int32_t index)
{
  return (struct policy_record){
      .timestamp = record->timestamp,
      .key = record->key,
      .value = record->value,
      .headers = record->headers,
      .key_size = record->key_size,
      .value_size = record->value_size,
      .header_count = record->header_count,
      .headers_size = record->headers_size,
      .partition = -1,
      .from = index,
  };
}

static void probe_upper(const struct record_view *record, int32_t index, struct policy_output *output)
{
  struct policy_record made = probe_copy(record, index);
  uint8_t *value = arena_dup(output->arena, record->value, record->value_size > 0 ? (size_t)record->value_size : 0);
  for (int32_t i = 0; i < record->value_size; i++) {
    value[i] = (uint8_t)toupper(value[i]);
  }
  made.value = value;
  output->replaced[index] = made;
  output->actions[index] = POLICY_REPLACE;
}

/// ">topic rest": the rest goes to that topic.
static void probe_emit(const struct record_view *record, int32_t index, struct policy_output *output)
{
  if (record->value_size < 1 || record->value[0] != '>') {
    return;
  }
  const uint8_t *blank = memchr(record->value, ' ', (size_t)record->value_size);
  if (blank == NULL) {
    return;
  }
  struct policy_record made = probe_copy(record, index);
  made.topic = arena_strndup(output->arena, (const char *)record->value + 1, (size_t)(blank - record->value - 1));
  made.value = blank + 1;
  made.value_size = record->value_size - (int32_t)(blank + 1 - record->value);
  output->extras[output->extra_count++] = made;
  output->actions[index] = POLICY_DROP;
}

static void probe_spin(struct policy_vm *vm, int32_t index)
{
  atomic_store_explicit(&vm->progress.record, index, memory_order_relaxed);
  int64_t until_ns = clock_thread_ns() + (int64_t)atomic_load(&probe_slow_ms) * 1000000;
  while (clock_thread_ns() < until_ns) {
  }
}

static void probe_one(struct policy_vm *vm, const struct policy *policy, const struct record_view *record,
                      int32_t index, struct policy_output *output)
{
  switch (policy->index) {
    case PROBE_FILTER:
      output->actions[index] = probe_has_header(record, "keep") ? POLICY_KEEP : POLICY_DROP;
      break;
    case PROBE_UPPER:
      probe_upper(record, index, output);
      break;
    case PROBE_DOUBLE:
      output->extras[output->extra_count] = probe_copy(record, index);
      output->extras[output->extra_count].value = (const uint8_t *)"copy";
      output->extras[output->extra_count++].value_size = 4;
      break;
    case PROBE_EMIT:
      probe_emit(record, index, output);
      break;
    case PROBE_REJECT:
      if (record->value_size == 3 && memcmp(record->value, "bad", 3) == 0) {
        output->actions[index] = POLICY_REJECT;
        output->rejects[output->reject_count++] = (struct policy_reject){.index = index, .text = "it is bad"};
      }
      break;
    case PROBE_SLOW:
      probe_spin(vm, index);
      break;
    case PROBE_ENDLESS:
      while (!atomic_load_explicit(&probe_is_released, memory_order_relaxed)) {
      }
      break;
    default:
      break;
  }
}

static int probe_transform(struct policy_vm *vm, const struct policy *policy, const struct policy_batch *batch,
                           const struct policy_client *client, struct policy_output *output,
                           struct policy_failure *failure)
{
  (void)client;
  size_t count = (size_t)batch->count;
  output->replaced = arena_alloc(output->arena, count * sizeof *output->replaced);
  output->extras = arena_alloc(output->arena, count * sizeof *output->extras);
  output->rejects = arena_alloc(output->arena, count * sizeof *output->rejects);
  atomic_fetch_add(&vm->progress.calls, 1);
  for (int32_t i = 0; i < batch->count; i++) {
    probe_one(vm, policy, &batch->records[i], i, output);
    output->is_changed |= output->actions[i] != POLICY_KEEP;
  }
  atomic_fetch_add(&vm->progress.calls, 1);
  return policy->index == PROBE_RAISE ? probe_fail(policy, failure) : 0;
}

// ---- VM and set ----

static void probe_vm_free(struct policy_vm *vm)
{
  struct probe_vm *probe = (struct probe_vm *)vm;
  atomic_fetch_add(&probe_freed, 1);
  atomic_fetch_add(&probe_misplaced, pthread_equal(probe->thread, pthread_self()) ? 0 : 1);
  mem_free(probe);
}

static int probe_vm_new(const struct policy_set *set, struct policy_vm **vm)
{
  static const struct policy_vm_class class = {
      .partition = probe_partition, .transform = probe_transform, .free = probe_vm_free};
  if (((const struct probe_set *)set)->fails) {
    return error_set(ERR_SCRIPT, "no VM on purpose");
  }
  struct probe_vm *probe = mem_zalloc(sizeof *probe);
  probe->vm.class = &class;
  probe->thread = pthread_self();
  atomic_fetch_add(&probe_made, 1);
  *vm = &probe->vm;
  return 0;
}

static void probe_set_free(struct policy_set *set)
{
  struct probe_set *probe = (struct probe_set *)set;
  for (int i = 0; i < PROBE_COUNT; i++) {
    policy_counters_destroy(&probe->counters[i]);
  }
  mem_free(probe);
}

const struct policy_set *probe_set_new(int64_t generation, bool fails)
{
  static const struct {
    const char *name;
    int partitioner;
    int transform;
  } topics[PROBE_TOPICS] = {
      {"p.hash", PROBE_HASH, -1},
      {"p.impure", PROBE_IMPURE, -1},
      {"p.nonsense", PROBE_NONSENSE, -1},
      {"p.raise", PROBE_RAISE_PARTITION, -1},
      {"pt.both", PROBE_HASH, PROBE_FILTER},
      {"t.double", -1, PROBE_DOUBLE},
      {"t.emit", -1, PROBE_EMIT},
      {"t.endless", -1, PROBE_ENDLESS},
      {"t.filter", -1, PROBE_FILTER},
      {"t.raise", -1, PROBE_RAISE},
      {"t.reject", -1, PROBE_REJECT},
      {"t.slow", -1, PROBE_SLOW},
      {"t.upper", -1, PROBE_UPPER},
  };
  struct probe_set *probe = mem_zalloc(sizeof *probe);
  probe->fails = fails;
  probe->source = (struct policy_source){.path = "probe.c", .text = "", .size = 0};
  for (int i = 0; i < PROBE_COUNT; i++) {
    probe->policies[i] = (struct policy){
        .kind = i < PROBE_FILTER ? POLICY_PARTITIONER : POLICY_TRANSFORM,
        .name = "",
        .source = "probe.c",
        .line = i + 1,
        .index = i,
        .builtin = -1,
        .counters = &probe->counters[i],
    };
  }
  for (int i = 0; i < PROBE_TOPICS; i++) {
    probe->topics[i].name = topics[i].name;
    if (topics[i].partitioner >= 0) {
      probe->topics[i].partitioner = &probe->policies[topics[i].partitioner];
      probe->policies[topics[i].partitioner].name = topics[i].name;
    }
    if (topics[i].transform >= 0) {
      probe->topics[i].transform = &probe->policies[topics[i].transform];
      probe->policies[topics[i].transform].name = topics[i].name;
    }
  }
  probe->set = (struct policy_set){
      .refs = 1,
      .generation = generation,
      .policies = probe->policies,
      .policy_count = PROBE_COUNT,
      .topics = probe->topics,
      .topic_count = PROBE_TOPICS,
      .sources = &probe->source,
      .source_count = 1,
      .budget_ms = 50,
      .new_vm = probe_vm_new,
      .free_fn = probe_set_free,
  };
  return &probe->set;
}

const struct policy *probe_policy(const struct policy_set *set, const char *topic)
{
  const struct policy_topic *found = policy_set_topic(set, topic, strlen(topic));
  return found->transform != NULL ? found->transform : found->partitioner;
}

void probe_set_slow_ms(int ms)
{
  atomic_store(&probe_slow_ms, ms);
}

void probe_release(void)
{
  atomic_store(&probe_is_released, true);
}

void probe_hold(void)
{
  atomic_store(&probe_is_released, false);
}

void probe_vms_read(struct probe_vms *vms)
{
  *vms = (struct probe_vms){
      .made = atomic_load(&probe_made), .freed = atomic_load(&probe_freed), .misplaced = atomic_load(&probe_misplaced)};
}

int64_t probe_calls(const struct policy *policy)
{
  return atomic_load(&policy->counters->calls);
}

int64_t probe_errors(const struct policy *policy)
{
  return atomic_load(&policy->counters->errors);
}
