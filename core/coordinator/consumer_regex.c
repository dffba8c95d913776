// SPDX-License-Identifier: Apache-2.0
//
// Subscriptions by regular expression. The broker looks for the topics, once for all members with one expression, and
// writes what it found: when somebody has come with a new one, and when topics came or went, at most every ten seconds.
// As in Kafka that is a step of its own, after the heartbeat that asks for it has been answered: what is found comes
// with a later heartbeat. Internal topics are among them: it is the clients who leave them out.
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "coordinator/consumer_private.h"
#include "coordinator/group_regex.h"
#include "os/clock.h"
#include "wire/error_codes.h"

enum {
  REGEX_FEW = 16,
  REGEX_TRIAL_MS = 25, ///< of processor time that an expression may take to be held against the names of all topics
};

const struct consumer_regex *consumer_change_regex(const struct consumer_change *change, struct wire_string text)
{
  for (int32_t i = 0; i < change->regex_count; i++) {
    if (wire_string_equal(change->regexes[i].text, text)) {
      return &change->regexes[i];
    }
  }
  return consumer_regex_find(change->base, text);
}

static int compare_texts(const void *a, const void *b)
{
  return consumer_text_compare(*(const struct wire_string *)a, *(const struct wire_string *)b);
}

/// Names of the topics that match, sorted; in the change's arena, the names themselves borrowed for the turn.
static struct wire_string *matching_topics(const struct consumer_change *change, const struct group_regex *regex,
                                           int32_t *count)
{
  const struct group_shard_topics *topics = group_shard_topics(change->group->shard);
  int32_t room = REGEX_FEW;
  struct wire_string *names = arena_alloc(change->arena, (size_t)room * sizeof *names);
  const char *name = NULL;
  int32_t length = 0;
  struct uuid id;
  int32_t partitions = 0;
  *count = 0;
  for (int32_t i = 0; topics->at(topics->arg, i, &name, &length, &id, &partitions); i++) {
    if (!group_regex_matches(regex, name, length)) {
      continue;
    }
    if (*count == room) {
      struct wire_string *more = arena_alloc(change->arena, (size_t)room * 2 * sizeof *more);
      memcpy(more, names, (size_t)room * sizeof *names);
      names = more;
      room *= 2;
    }
    names[(*count)++] = (struct wire_string){.data = name, .length = length};
  }
  if (*count > 1) {
    qsort(names, (size_t)*count, sizeof *names, compare_texts);
  }
  return names;
}

static bool has_topics(const struct consumer_regex *regex, const struct wire_string *names, int32_t count)
{
  if (regex->value.topics_count != count) {
    return false;
  }
  for (int32_t i = 0; i < count; i++) {
    if (!wire_string_equal(regex->value.topics[i], names[i])) {
      return false;
    }
  }
  return true;
}

/// Looks for the topics of an expression, and writes them when they are others than before.
///
/// @param[out] bump  set when they are
static void resolve(struct consumer_change *change, struct wire_string text, bool *bump)
{
  const char *why = NULL;
  struct group_regex *regex = group_regex_new(text.data, text.length, &why);
  // One that is none after all, in a log that others wrote, matches nothing.
  int32_t count = 0;
  struct wire_string *names = regex != NULL ? matching_topics(change, regex, &count) : NULL;
  group_regex_delete(regex);
  const struct consumer_regex *known = consumer_regex_find(change->base, text);
  if (known != NULL && has_topics(known, names, count)) {
    return;
  }
  struct consumer_regex *fresh = arena_zalloc(change->arena, ((size_t)change->regex_count + 1) * sizeof *fresh);
  if (change->regex_count > 0) {
    memcpy(fresh, change->regexes, (size_t)change->regex_count * sizeof *fresh);
  }
  fresh[change->regex_count] = (struct consumer_regex){
      .text = text,
      .value = {.topics = names, .topics_count = count, .version = change->topics_version, .timestamp = change->now_ms},
  };
  change->regexes = fresh;
  consumer_write_regex(change, &fresh[change->regex_count]);
  change->regex_count++;
  *bump = true;
}

const char *consumer_check_regex(const struct consumer_change *change, struct wire_string text)
{
  const char *why = NULL;
  struct group_regex *regex = group_regex_new(text.data, text.length, &why);
  if (regex == NULL) {
    return why;
  }
  // A name takes a microsecond or less. Where what RE2 has seen of an expression does not fit into its memory, each
  // character takes as many steps as the expression has, which is milliseconds for a name; and all of the worker's
  // clients wait.
  const struct group_shard_topics *topics = group_shard_topics(change->group->shard);
  int64_t until_ms = clock_thread_ms() + REGEX_TRIAL_MS;
  const char *name = NULL;
  int32_t length = 0;
  struct uuid id;
  int32_t partitions = 0;
  for (int32_t i = 0; topics->at(topics->arg, i, &name, &length, &id, &partitions); i++) {
    group_regex_matches(regex, name, length);
    if (clock_thread_ms() > until_ms) {
      why = "expression too large";
      break;
    }
  }
  group_regex_delete(regex);
  return why;
}

/// Something is to be looked for: an expression that nobody looked at yet, or topics that came or went.
static bool refresh_is_due(struct consumer_group *consumer, int64_t now_ms)
{
  if (now_ms < consumer->regex_retry_ms) {
    return false;
  }
  if (!consumer->is_regex_known) { // each heartbeat asks, but few change the answer
    consumer->has_regex = false;
    consumer->lacks_regex = false;
    for (int32_t i = 0; i < consumer->member_count && !consumer->lacks_regex; i++) {
      struct wire_string text = consumer->members[i]->metadata.subscribed_topic_regex;
      consumer->has_regex |= consumer_text_is_set(text);
      consumer->lacks_regex = consumer_text_is_set(text) && consumer_regex_find(consumer, text) == NULL;
    }
    consumer->is_regex_known = true;
  }
  if (consumer->lacks_regex) {
    return true;
  }
  const struct group_shard_topics *topics = group_shard_topics(consumer->group->shard);
  int64_t since_ms = now_ms - consumer->regex_ms;
  return consumer->has_regex && consumer->topics_version != topics->version(topics->arg) &&
         (since_ms < 0 || since_ms >= CONSUMER_REGEX_REFRESH_MS);
}

/// What was found is on the log, or is not: then a heartbeat asks for it again some time later, as there may be more
/// topics than a record can name.
static void refreshed(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  int64_t *seen = arg;
  if (error == WIRE_NONE && group->kind == GROUP_CONSUMER) {
    group->consumer->topics_version = *seen;
    group->consumer->regex_ms = now_ms;
  } else if (group->kind == GROUP_CONSUMER) {
    group->consumer->regex_retry_ms = now_ms + CONSUMER_REGEX_REFRESH_MS;
  }
  mem_free(seen);
}

/// Looks for the topics of all expressions that members have.
static void refresh(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  struct consumer_group *consumer = CONTAINER_OF(timer, struct consumer_group, regex_timer);
  struct group *group = consumer->group;
  if (group->write_count > 0) {
    group_timer_start(shard, timer, now_ms + CONSUMER_BUSY_RETRY_MS, refresh);
    return;
  }
  struct arena arena = {0};
  struct consumer_change change;
  int64_t *seen = mem_alloc(sizeof *seen);
  consumer_change_begin(&change, group, consumer, &arena, refreshed, seen, now_ms);
  *seen = change.topics_version;
  change.has_regex_refresh = true;
  bool bump = false;
  for (int32_t i = 0; i < consumer->member_count; i++) {
    struct wire_string text = consumer->members[i]->metadata.subscribed_topic_regex;
    bool is_done = !consumer_text_is_set(text);
    for (int32_t j = 0; j < i && !is_done; j++) {
      is_done = wire_string_equal(consumer->members[j]->metadata.subscribed_topic_regex, text);
    }
    if (!is_done) {
      resolve(&change, text, &bump);
    }
  }
  consumer_update_epoch(&change, bump);
  if (change.write != NULL) {
    group_write_submit(change.write, now_ms);
  } else {
    refreshed(group, seen, WIRE_NONE, now_ms);
  }
  arena_destroy(&arena);
}

void consumer_regex_start(struct consumer_group *consumer, int64_t now_ms)
{
  if (consumer->regex_timer.position == 0 && refresh_is_due(consumer, now_ms)) {
    group_timer_start(consumer->group->shard, &consumer->regex_timer, now_ms, refresh);
  }
}

void consumer_update_regexes(struct consumer_change *change, bool *bump)
{
  const struct consumer_group *base = change->base;
  const struct consumer_member *before = consumer_change_before(change);
  struct wire_string old_text = before != NULL ? before->metadata.subscribed_topic_regex : wire_string_from("");
  struct wire_string text = change->next.metadata.subscribed_topic_regex;
  if (consumer_text_compare(old_text, text) == 0) {
    return;
  }
  if (consumer_regex_find(base, old_text) != NULL && consumer_regex_members(base, old_text, before) == 0) {
    consumer_write_regex_tombstone(change, old_text);
  }
  // One that nobody had before makes the group rebalance when its topics have been found.
  *bump |= !consumer_text_is_set(text) || consumer_regex_find(base, text) != NULL;
}
