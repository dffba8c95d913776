// SPDX-License-Identifier: Apache-2.0
//
// Sets of partitions, as sorted arrays.
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "coordinator/consumer_private.h"

int consumer_part_compare(const struct consumer_part *a, const struct consumer_part *b)
{
  int order = memcmp(a->topic.bytes, b->topic.bytes, sizeof a->topic.bytes);
  return order != 0 ? order : (a->partition > b->partition) - (a->partition < b->partition);
}

static int part_compare(const void *a, const void *b)
{
  return consumer_part_compare(a, b);
}

void consumer_parts_sort(struct consumer_parts *parts)
{
  if (parts->count < 2) {
    return;
  }
  qsort(parts->items, (size_t)parts->count, sizeof *parts->items, part_compare);
  int32_t kept = 1;
  for (int32_t i = 1; i < parts->count; i++) {
    if (consumer_part_compare(&parts->items[i], &parts->items[kept - 1]) != 0) {
      parts->items[kept++] = parts->items[i];
    }
  }
  parts->count = kept;
}

const struct consumer_part *consumer_parts_find(const struct consumer_parts *parts, const struct uuid *topic,
                                                int32_t partition)
{
  struct consumer_part wanted = {.topic = *topic, .partition = partition};
  return parts->count == 0 ? NULL
                           : bsearch(&wanted, parts->items, (size_t)parts->count, sizeof *parts->items, part_compare);
}

bool consumer_parts_equal(const struct consumer_parts *a, const struct consumer_parts *b)
{
  if (a->count != b->count) {
    return false;
  }
  for (int32_t i = 0; i < a->count; i++) {
    if (consumer_part_compare(&a->items[i], &b->items[i]) != 0) {
      return false;
    }
  }
  return true;
}

bool consumer_parts_identical(const struct consumer_parts *a, const struct consumer_parts *b)
{
  if (!consumer_parts_equal(a, b)) {
    return false;
  }
  for (int32_t i = 0; i < a->count; i++) {
    if (a->items[i].epoch != b->items[i].epoch) {
      return false;
    }
  }
  return true;
}

/// How many of `a` are among `b`.
static int32_t parts_common(const struct consumer_parts *a, const struct consumer_parts *b)
{
  int32_t common = 0;
  for (int32_t i = 0, j = 0; i < a->count && j < b->count;) {
    int order = consumer_part_compare(&a->items[i], &b->items[j]);
    common += order == 0;
    i += order <= 0;
    j += order >= 0;
  }
  return common;
}

bool consumer_parts_within(const struct consumer_parts *few, const struct consumer_parts *many)
{
  return parts_common(few, many) == few->count;
}

bool consumer_parts_overlap(const struct consumer_parts *a, const struct consumer_parts *b)
{
  return parts_common(a, b) > 0;
}

void consumer_parts_begin(struct consumer_parts *parts, struct arena *arena, int64_t room)
{
  parts->count = 0;
  parts->items = room > 0 ? arena_alloc(arena, (size_t)room * sizeof *parts->items) : NULL;
}

void consumer_parts_add(struct consumer_parts *parts, const struct uuid *topic, int32_t partition, int32_t epoch)
{
  parts->items[parts->count++] = (struct consumer_part){.topic = *topic, .partition = partition, .epoch = epoch};
}

void consumer_parts_append(struct consumer_parts *parts, const struct consumer_parts *from)
{
  for (int32_t i = 0; i < from->count; i++) {
    parts->items[parts->count++] = from->items[i];
  }
}

void consumer_parts_own(struct consumer_parts *own, struct consumer_parts *parts)
{
  consumer_parts_sort(parts);
  mem_free(own->items);
  own->count = parts->count;
  own->items = parts->count > 0 ? mem_dup(parts->items, (size_t)parts->count * sizeof *parts->items) : NULL;
}

int32_t consumer_parts_topic(const struct consumer_parts *parts, int32_t *at)
{
  int32_t begin = *at;
  while (*at < parts->count && uuid_equal(&parts->items[*at].topic, &parts->items[begin].topic)) {
    ++*at;
  }
  return *at - begin;
}

bool consumer_parts_next_topic(const struct consumer_parts *parts, const struct group_shard_topics *topics,
                               struct arena *arena, int32_t *at, struct consumer_topic_parts *out)
{
  while (*at < parts->count) {
    const struct consumer_part *first = &parts->items[*at];
    int32_t count = consumer_parts_topic(parts, at);
    const char *name = NULL;
    int32_t length = 0;
    int32_t partitions = 0;
    if (topics->find_id(topics->arg, &first->topic, &name, &length, &partitions)) {
      *out = (struct consumer_topic_parts){
          .id = first->topic,
          .name = {.data = name, .length = length},
          .numbers = arena_alloc(arena, (size_t)count * sizeof *out->numbers),
          .count = count,
      };
      for (int32_t i = 0; i < count; i++) {
        out->numbers[i] = first[i].partition;
      }
      return true;
    }
  }
  return false;
}

int32_t consumer_parts_topic_count(const struct consumer_parts *parts)
{
  int32_t count = 0;
  for (int32_t at = 0; consumer_parts_topic(parts, &at) > 0;) {
    count++;
  }
  return count;
}
