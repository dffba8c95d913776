// SPDX-License-Identifier: Apache-2.0
//
// A shard's state as text: what its records say, and nothing that is only known while it runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "coordinator/shard_state.h"

/// Text that is cut where it does not fit, while its length is counted on.
struct dump {
  char *text;  ///< out
  size_t size; ///< bytes of it
  int length;  ///< characters so far, with those that were cut
};

static char *dump_at(const struct dump *dump)
{
  return (size_t)dump->length < dump->size ? dump->text + dump->length : NULL;
}

static size_t dump_room(const struct dump *dump)
{
  return (size_t)dump->length < dump->size ? dump->size - (size_t)dump->length : 0;
}

static int dump_compare_offsets(const void *a, const void *b)
{
  const struct group_offset *left = *(const struct group_offset *const *)a;
  const struct group_offset *right = *(const struct group_offset *const *)b;
  int order = strcmp(left->topic->name, right->topic->name);
  return order != 0 ? order : (left->partition > right->partition) - (left->partition < right->partition);
}

static void dump_offset(struct dump *dump, const struct group_offset *offset)
{
  char id[UUID_TEXT_SIZE];
  uuid_format(&offset->topic->id, id);
  const struct offset_note *note = offset->note;
  dump->length +=
      snprintf(dump_at(dump), dump_room(dump), "%s-%d offset %lld epoch %d committed %lld id %s", offset->topic->name,
               offset->partition, (long long)offset->offset, offset->leader_epoch, (long long)offset->commit_ms, id);
  if (note != NULL) {
    dump->length += snprintf(dump_at(dump), dump_room(dump), " expires %lld metadata '%.*s'",
                             (long long)note->expire_ms, note->metadata_size, note->metadata);
  }
  dump->length += snprintf(dump_at(dump), dump_room(dump), "\n");
}

int group_shard_dump(struct group_shard *shard, const char *id, char *text, size_t size)
{
  struct dump dump = {text, size, 0};
  const struct group *group = group_find(shard, wire_string_from(id));
  if (group == NULL) {
    return 0;
  }
  const struct group_kind_calls *kind = group_kind_of(group);
  dump.length += snprintf(text, size, "group %s\n", group->id);
  if (kind->dump != NULL) {
    dump.length += kind->dump(group, dump_at(&dump), dump_room(&dump));
  }
  const struct group_offsets *table = group->offsets;
  if (table != NULL) {
    const struct group_offset **sorted = mem_array(table->count, sizeof(struct group_offset *));
    uint32_t count = 0;
    for (uint64_t i = 0; i <= table->mask; i++) {
      if (table->slots[i].topic != NULL) {
        sorted[count++] = &table->slots[i];
      }
    }
    qsort(sorted, count, sizeof(struct group_offset *), dump_compare_offsets);
    for (uint32_t i = 0; i < count; i++) {
      dump_offset(&dump, sorted[i]);
    }
    mem_free(sorted);
  }
  return dump.length;
}

static int dump_compare_ids(const void *a, const void *b)
{
  return strcmp((*(const struct group *const *)a)->id, (*(const struct group *const *)b)->id);
}

int group_shard_dump_ids(const struct group_shard *shard, char *text, size_t size)
{
  struct dump dump = {text, size, 0};
  if (size > 0) {
    text[0] = '\0';
  }
  const struct group **sorted = mem_array(shard->group_count + 1, sizeof(struct group *));
  uint32_t count = 0;
  for (uint32_t i = 0; i < shard->slot_count; i++) {
    for (const struct group *group = shard->slots[i]; group != NULL; group = group->next) {
      sorted[count++] = group;
    }
  }
  qsort(sorted, count, sizeof(struct group *), dump_compare_ids);
  for (uint32_t i = 0; i < count; i++) {
    dump.length += snprintf(dump_at(&dump), dump_room(&dump), "%s\n", sorted[i]->id);
  }
  mem_free(sorted);
  return dump.length;
}
