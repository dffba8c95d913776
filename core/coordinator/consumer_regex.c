// SPDX-License-Identifier: Apache-2.0
//
// Subscriptions by regular expression. The broker looks for the topics, once for all members with one expression, and
// writes what it found: when somebody has come with a new one, and when topics came or went, at most every ten seconds.
// As in Kafka that is a step of its own, after the heartbeat that asks for it has been answered: what is found comes
// with a later heartbeat. The search itself is done elsewhere (consumer_search.h): members and topics may have changed
// when it is back. Internal topics are among what is found: it is the clients who leave them out.
#include <stdlib.h>
#include <string.h>

#include "coordinator/consumer_private.h"
#include "coordinator/consumer_search.h"
#include "coordinator/group_regex.h"
#include "os/clock.h"
#include "wire/error_codes.h"

enum {
  REGEX_TRIAL_NAMES = 100, ///< names that a new expression is held against
  REGEX_TRIAL_MS = 3,      ///< of processor time that it may take for that
};

const struct consumer_regex *consumer_change_regex(const struct consumer_change *change, struct wire_string text)
{
  int32_t low = 0;
  int32_t high = change->regex_count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    int order = consumer_text_compare(change->regexes[middle].text, text);
    if (order == 0) {
      return &change->regexes[middle];
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return consumer_regex_find(change->base, text);
}

/// Has a write say what was found for an expression.
static void resolve(struct consumer_change *change, const struct consumer_search_item *item)
{
  struct consumer_regex *fresh = &change->regexes[change->regex_count++];
  *fresh = (struct consumer_regex){
      .text = item->text,
      .value = {.topics = item->matched,
                .topics_count = item->matched_count,
                .version = change->topics_version,
                .timestamp = change->now_ms},
  };
  consumer_write_regex(change, fresh);
}

const char *consumer_check_regex(const struct consumer_change *change, struct wire_string text)
{
  const char *why = NULL;
  struct group_regex *regex = group_regex_new(text.data, text.length, &why);
  if (regex == NULL) {
    return why;
  }
  // A name takes a microsecond or less. Where what RE2 has seen of an expression does not fit into its memory, each
  // character takes as many steps as the expression has, which is milliseconds for a name, and minutes for all names.
  const struct group_shard_topics *topics = group_shard_topics(change->group->shard);
  int64_t until_ms = clock_thread_ms() + REGEX_TRIAL_MS;
  const char *name = NULL;
  int32_t length = 0;
  for (int32_t i = 0; i < REGEX_TRIAL_NAMES && topics->at(topics->arg, i, &name, &length); i++) {
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
  (void)group;
  struct group_search *search = arg;
  struct consumer_group *consumer = search->consumer;
  search->is_away = false;
  if (consumer == NULL) {
    group_search_delete(search);
    return;
  }
  if (error == WIRE_NONE && search->next < search->count) {
    consumer_search_submit(search);
    return;
  }
  if (error == WIRE_NONE) {
    consumer->topics_version = search->version;
    consumer->regex_ms = now_ms;
  } else {
    consumer->regex_retry_ms = now_ms + CONSUMER_REGEX_REFRESH_MS;
  }
  consumer->search = NULL;
  consumer_search_drop(search);
}

/// An expression of which others were found than are known, and which members still have; and nothing else has come to
/// be known of it meanwhile, by members that went and came.
static bool is_wanted(const struct consumer_group *consumer, const struct consumer_search_item *item,
                      const struct wire_string *texts, int32_t count)
{
  if (!item->is_other || bsearch(&item->text, texts, (size_t)count, sizeof *texts, consumer_text_order) == NULL) {
    return false;
  }
  const struct consumer_regex *regex = consumer_regex_find(consumer, item->text);
  return (regex != NULL ? regex->known : NULL) == item->known;
}

/// Writes what was found; no write of the group is under way.
static void apply(struct group_search *search, int64_t now_ms)
{
  struct consumer_group *consumer = search->consumer;
  struct arena arena = {0};
  struct consumer_change change;
  consumer_change_begin(&change, consumer->group, consumer, &arena, refreshed, search, now_ms);
  change.topics_version = search->version;
  change.has_regex_refresh = true;
  change.regexes = arena_alloc(&arena, (size_t)(search->next - search->first + 1) * sizeof *change.regexes);
  int32_t count = 0;
  const struct wire_string *texts = consumer_regex_texts(consumer, &arena, &count);
  for (int32_t i = search->first; i < search->next; i++) {
    if (is_wanted(consumer, &search->items[i], texts, count)) {
      resolve(&change, &search->items[i]);
    }
  }
  consumer_update_epoch(&change, change.regex_count > 0);
  search->is_away = true;
  if (change.write != NULL) {
    group_write_submit(change.write, now_ms);
  } else {
    refreshed(consumer->group, search, WIRE_NONE, now_ms);
  }
  arena_destroy(&arena);
}

/// Begins a search, or applies what one has found, as soon as no write of the group is under way.
static void refresh(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  struct consumer_group *consumer = CONTAINER_OF(timer, struct consumer_group, regex_timer);
  if (consumer->group->write_count > 0) {
    group_timer_start(shard, timer, now_ms + CONSUMER_BUSY_RETRY_MS, refresh);
  } else if (consumer->search != NULL) {
    apply(consumer->search, now_ms);
  } else {
    const struct group_shard_topics *topics = group_shard_topics(shard);
    consumer->search = consumer_search_new(consumer, topics->version(topics->arg));
    consumer_search_submit(consumer->search);
  }
}

void consumer_searched(struct group_search *search, int64_t now_ms)
{
  struct consumer_group *consumer = search->consumer;
  refresh(consumer->group->shard, &consumer->regex_timer, now_ms);
}

void consumer_regex_start(struct consumer_group *consumer, int64_t now_ms)
{
  if (consumer->search == NULL && consumer->regex_timer.position == 0 && refresh_is_due(consumer, now_ms)) {
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
