// SPDX-License-Identifier: Apache-2.0
//
// Decisions on topics to delete, which a request names by name or by id.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "controller/topic_plan.h"
#include "wire/error_codes.h"

/// An entry of the request, in the order in which equal ones lie side by side.
struct sorted_entry {
  const struct controller_old_topic *topic; ///< the entry
  int32_t place;                            ///< in the request
};

static int compare_entries(const struct controller_old_topic *a, const struct controller_old_topic *b)
{
  if (!a->name || !b->name) {
    if (a->name || b->name) {
      return a->name ? 1 : -1;
    }
    return memcmp(a->id.bytes, b->id.bytes, sizeof a->id.bytes);
  }
  int order = memcmp(a->name, b->name, a->name_length < b->name_length ? a->name_length : b->name_length);
  return order != 0 ? order : (a->name_length > b->name_length) - (a->name_length < b->name_length);
}

static int compare_sorted(const void *left, const void *right)
{
  const struct sorted_entry *a = left;
  const struct sorted_entry *b = right;
  int order = compare_entries(a->topic, b->topic);
  return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

static void refuse(struct controller_old_topic *topic, int16_t code, const char *message)
{
  topic->error_code = code;
  topic->error_message = message;
}

/// What can be told without looking at the cluster.
static void check_form(struct controller_drop *drop)
{
  for (int32_t i = 0; i < drop->topic_count; i++) {
    struct controller_old_topic *topic = &drop->topics[i];
    topic->is_repeat = false;
    if (topic->is_refused) {
      continue;
    }
    topic->error_code = WIRE_NONE;
    topic->error_message = NULL;
    if (topic->name && !uuid_is_zero(&topic->id)) {
      refuse(topic, WIRE_INVALID_REQUEST, "You may not specify both topic name and topic id.");
    } else if (!topic->name && uuid_is_zero(&topic->id)) {
      refuse(topic, WIRE_INVALID_REQUEST, "Neither topic name nor id were specified.");
    }
  }
}

static void find_repeats(struct controller_drop *drop)
{
  struct sorted_entry *sorted = arena_alloc(drop->arena, (size_t)drop->topic_count * sizeof *sorted);
  int32_t count = 0;
  for (int32_t i = 0; i < drop->topic_count; i++) {
    const struct controller_old_topic *topic = &drop->topics[i];
    // What was refused counts as well, but for ids whose names are filled in to be shown.
    if (topic->error_code == WIRE_NONE || (topic->is_refused && (topic->name == NULL || uuid_is_zero(&topic->id)))) {
      sorted[count++] = (struct sorted_entry){&drop->topics[i], i};
    }
  }
  qsort(sorted, (size_t)count, sizeof *sorted, compare_sorted);
  int32_t first = 0;
  for (int32_t i = 1; i < count; i++) {
    if (compare_entries(sorted[i].topic, sorted[first].topic) != 0) {
      first = i;
      continue;
    }
    struct controller_old_topic *topic = &drop->topics[sorted[first].place];
    refuse(topic, WIRE_INVALID_REQUEST, topic->name ? "Duplicate topic name." : "Duplicate topic id.");
    drop->topics[sorted[i].place].is_repeat = true;
  }
}

static const struct metadata_topic *look_up(const struct metadata_image *image, struct controller_old_topic *topic)
{
  const struct metadata_topic *found;
  if (topic->name) {
    found = metadata_image_topic(image, topic->name, topic->name_length);
    if (!found) {
      refuse(topic, WIRE_UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.");
    }
  } else {
    found = metadata_image_topic_by_id(image, &topic->id);
    if (!found) {
      refuse(topic, WIRE_UNKNOWN_TOPIC_ID, "This server does not host this topic ID.");
    }
  }
  if (found && found->source) {
    refuse(topic, WIRE_INVALID_TOPIC_EXCEPTION, "This topic is a view, which only the configuration can remove.");
    return NULL;
  }
  return found;
}

static int compare_doomed(const void *left, const void *right)
{
  const struct metadata_topic *a = **(const struct metadata_topic **const *)left;
  const struct metadata_topic *b = **(const struct metadata_topic **const *)right;
  return (a > b) - (a < b);
}

/// A topic given by its name and by its id: refused once, deleted not at all.
static int32_t find_aliases(struct controller_drop *drop, const struct metadata_topic **doomed, int32_t count)
{
  const struct metadata_topic ***sorted = arena_alloc(drop->arena, (size_t)count * sizeof *sorted);
  int32_t used = 0;
  for (int32_t i = 0; i < drop->topic_count; i++) {
    if (doomed[i]) {
      sorted[used++] = &doomed[i];
    }
  }
  qsort(sorted, (size_t)used, sizeof *sorted, compare_doomed);
  for (int32_t i = 1; i < used; i++) {
    if (*sorted[i] != *sorted[i - 1]) {
      continue;
    }
    struct controller_old_topic *a = &drop->topics[sorted[i - 1] - doomed];
    struct controller_old_topic *b = &drop->topics[sorted[i] - doomed];
    struct controller_old_topic *by_name = a->name ? a : b;
    (a->name ? b : a)->is_repeat = true;
    by_name->id = (*sorted[i])->id;
    refuse(by_name, WIRE_INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.");
    *sorted[i - 1] = NULL;
    *sorted[i] = NULL;
    count -= 2;
    i++;
  }
  return count;
}

int32_t topic_plan_delete(const struct topic_plan_context *context, struct controller_drop *drop,
                          const struct metadata_topic **doomed)
{
  int32_t count = 0;
  check_form(drop);
  find_repeats(drop);
  for (int32_t i = 0; i < drop->topic_count; i++) {
    struct controller_old_topic *topic = &drop->topics[i];
    doomed[i] = NULL;
    if (topic->error_code != WIRE_NONE || topic->is_repeat) {
      continue;
    }
    if (!context->config->delete_topic_enable) {
      refuse(topic, WIRE_TOPIC_DELETION_DISABLED, "Topic deletion is disabled.");
      continue;
    }
    doomed[i] = look_up(context->image, topic);
    count += doomed[i] != NULL;
  }
  count = find_aliases(drop, doomed, count);
  for (int32_t i = 0; i < drop->topic_count; i++) {
    if (doomed[i]) {
      // The image may go before the answer is sent.
      drop->topics[i].name = arena_strndup(drop->arena, doomed[i]->name, (size_t)doomed[i]->name_length);
      drop->topics[i].name_length = (size_t)doomed[i]->name_length;
      drop->topics[i].id = doomed[i]->id;
    }
  }
  return count;
}
