// SPDX-License-Identifier: Apache-2.0
//
// A search for the topics of expressions: what it takes with it, and the work itself, on any thread.
#include "coordinator/consumer_search.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/slog.h"
#include "coordinator/consumer_private.h"
#include "coordinator/group_regex.h"
#include "coordinator/shard_state.h"
#include "os/clock.h"

enum {
  SEARCH_FEW = 16,
  SEARCH_FOUND_BYTES = 256 * 1024, ///< of new names: the rest is another run's, as what was found is written together
  SEARCH_LONGEST_MS = 2000,        ///< of processor time that one expression may take
  SEARCH_CLOCK_NAMES = 16,         ///< names between two looks at the clock
};

// ---- its life, on the shard's thread ----

void consumer_known_unref(struct consumer_known *known)
{
  if (known != NULL && --known->refs == 0) {
    arena_destroy(&known->arena);
    mem_free(known);
  }
}

struct wire_string *consumer_regex_texts(const struct consumer_group *consumer, struct arena *arena, int32_t *count)
{
  struct wire_string *texts = arena_alloc(arena, ((size_t)consumer->member_count + 1) * sizeof *texts);
  int32_t found = 0;
  for (int32_t i = 0; i < consumer->member_count; i++) {
    struct wire_string text = consumer->members[i]->metadata.subscribed_topic_regex;
    // Most members of a group have the same.
    if (consumer_text_is_set(text) && (found == 0 || !wire_string_equal(texts[found - 1], text))) {
      texts[found++] = text;
    }
  }
  *count = consumer_sort_names(texts, found);
  return texts;
}

struct group_search *consumer_search_new(struct consumer_group *consumer, int64_t version)
{
  struct group_search *search = mem_zalloc(sizeof *search);
  list_create(&search->link);
  search->consumer = consumer;
  search->version = version;
  struct wire_string *texts = consumer_regex_texts(consumer, &search->arena, &search->count);
  search->items = arena_zalloc(&search->arena, ((size_t)search->count + 1) * sizeof *search->items);
  for (int32_t i = 0; i < search->count; i++) {
    struct consumer_search_item *item = &search->items[i];
    const struct consumer_regex *regex = consumer_regex_find(consumer, texts[i]);
    item->text = consumer_text_copy(&search->arena, texts[i]);
    if (regex != NULL) {
      item->known = regex->known;
      item->known->refs++;
      item->topics = regex->value.topics;
      item->topic_count = regex->value.topics_count;
    }
  }
  return search;
}

void consumer_search_submit(struct group_search *search)
{
  list_append(&search->consumer->group->shard->searches, &search->link);
}

void group_search_delete(struct group_search *search)
{
  list_remove(&search->link);
  for (int32_t i = 0; i < search->count; i++) {
    consumer_known_unref(search->items[i].known);
  }
  arena_destroy(&search->found);
  arena_destroy(&search->arena);
  mem_free(search);
}

void consumer_search_drop(struct group_search *search)
{
  if (search == NULL) {
    return;
  }
  search->consumer = NULL;
  if (!search->is_away) {
    group_search_delete(search);
  }
}

struct group_search *group_shard_take_search(struct group_shard *shard)
{
  if (list_is_empty(&shard->searches)) {
    return NULL;
  }
  struct group_search *search = CONTAINER_OF(shard->searches.next, struct group_search, link);
  list_remove(&search->link);
  search->is_away = true;
  return search;
}

bool group_shard_has_search(const struct group_shard *shard)
{
  return !list_is_empty(&shard->searches);
}

void group_search_end(struct group_search *search)
{
  search->is_away = false;
  if (search->consumer == NULL) {
    group_search_delete(search);
  }
}

void group_shard_searched(struct group_shard *shard, struct group_search *search, int64_t now_ms)
{
  if (search->consumer == NULL || shard->is_stopped) {
    group_search_end(search);
    return;
  }
  search->is_away = false;
  consumer_searched(search, now_ms);
}

// ---- the work, on any thread ----

/// Names of the topics that match, sorted; the names borrowed. Owned: mem_free().
///
/// @param[out] count  -1: it takes too long
/// @param[out] bytes  that they take
static struct wire_string *matching_names(const struct group_regex *regex, const struct group_shard_topics *topics,
                                          int32_t *count, size_t *bytes)
{
  int64_t until_ms = clock_thread_ms() + SEARCH_LONGEST_MS;
  int32_t room = SEARCH_FEW;
  struct wire_string *names = mem_array((size_t)room, sizeof *names);
  struct wire_string name = {0};
  int32_t found = 0;
  for (int32_t i = 0; topics->at(topics->arg, i, &name.data, &name.length); i++) {
    if (i % SEARCH_CLOCK_NAMES == 0 && clock_thread_ms() > until_ms) {
      found = -1;
      break;
    }
    if (!group_regex_matches(regex, name.data, name.length)) {
      continue;
    }
    if (found == room) {
      room *= 2;
      names = mem_realloc(names, (size_t)room * sizeof *names);
    }
    names[found++] = name;
  }
  if (found > 1) {
    qsort(names, (size_t)found, sizeof *names, consumer_text_order);
  }
  *count = found;
  *bytes = 0;
  for (int32_t i = 0; i < found; i++) {
    *bytes += (size_t)names[i].length;
  }
  return names;
}

static bool is_known(const struct consumer_search_item *item, const struct wire_string *names, int32_t count)
{
  if (item->known == NULL || item->topic_count != count) {
    return false;
  }
  for (int32_t i = 0; i < count; i++) {
    if (!wire_string_equal(item->topics[i], names[i])) {
      return false;
    }
  }
  return true;
}

/// Looks for the topics of one expression. @return bytes of names that are kept
static size_t search_item(struct group_search *search, struct consumer_search_item *item,
                          const struct group_shard_topics *topics)
{
  const char *why = NULL;
  struct group_regex *regex = group_regex_new(item->text.data, item->text.length, &why);
  // One that is none after all, in a log that others wrote, matches nothing.
  int32_t count = 0;
  size_t bytes = 0;
  struct wire_string *names = regex != NULL ? matching_names(regex, topics, &count, &bytes) : NULL;
  group_regex_delete(regex);
  if (count < 0) { // a group that has topics keeps them
    slog_warn(
        "a regular expression of a consumer group takes too long for the names of all topics: nothing new is found");
    count = 0;
    item->is_other = item->known == NULL;
  } else {
    item->is_other = !is_known(item, names, count);
  }
  if (item->is_other) {
    struct wire_string *matched = arena_alloc(&search->found, ((size_t)count + 1) * sizeof *matched);
    for (int32_t i = 0; i < count; i++) {
      matched[i] = consumer_text_copy(&search->found, names[i]);
    }
    item->matched = matched;
    item->matched_count = count;
  }
  mem_free(names);
  return item->is_other ? bytes : 0;
}

void group_search_run(struct group_search *search, const struct group_shard_topics *topics, int64_t budget_ms)
{
  int64_t start_ms = clock_thread_ms();
  size_t bytes = 0;
  arena_destroy(&search->found);
  search->found = (struct arena){0};
  search->first = search->next;
  while (search->next < search->count) {
    bytes += search_item(search, &search->items[search->next++], topics);
    if (bytes >= SEARCH_FOUND_BYTES || clock_thread_ms() - start_ms >= budget_ms) {
      break;
    }
  }
}
