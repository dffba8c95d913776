// SPDX-License-Identifier: Apache-2.0
#include "replica/table.h"

#include <string.h>

#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "replica/partition.h"

/// Topic ids are random, so a part of one is as good as a hash.
static size_t table_hash(const struct uuid *topic_id, int32_t index)
{
  uint64_t bits;
  memcpy(&bits, topic_id->bytes + 8, sizeof bits);
  bits = (bits ^ (uint32_t)index) * 0x9e3779b97f4a7c15U;
  return (size_t)(bits >> 32);
}

static struct partition_table *table_new(size_t count)
{
  size_t slots = 16;
  while (slots < count * 2) {
    slots *= 2;
  }
  struct partition_table *table = mem_zalloc(sizeof *table + slots * sizeof table->slots[0]);
  table->mask = slots - 1;
  return table;
}

static void table_free(struct epoch_retired *retired)
{
  struct partition_table *table = CONTAINER_OF(retired, struct partition_table, retired);
  for (size_t i = 0; i < table->removed_count; i++) {
    partition_unref(table->removed[i]);
  }
  mem_free(table->removed);
  mem_free(table);
}

static void table_insert(struct partition_table *table, struct partition *part)
{
  size_t at = table_hash(&part->topic_id, part->index) & table->mask;
  while (table->slots[at] != NULL) {
    CHECK(table->slots[at] != part);
    at = (at + 1) & table->mask;
  }
  table->slots[at] = part;
  table->count++;
}

void partition_directory_create(struct partition_directory *directory)
{
  atomic_init(&directory->current, table_new(0));
}

void partition_directory_destroy(struct partition_directory *directory)
{
  struct partition_table *table = atomic_exchange(&directory->current, NULL);
  if (table == NULL) {
    return;
  }
  for (size_t i = 0; i <= table->mask; i++) {
    if (table->slots[i] != NULL) {
      partition_unref(table->slots[i]);
    }
  }
  table_free(&table->retired);
}

struct partition *partition_directory_find(const struct partition_directory *directory, const struct uuid *topic_id,
                                           int32_t index)
{
  const struct partition_table *table = atomic_load_explicit(&directory->current, memory_order_acquire);
  for (size_t at = table_hash(topic_id, index) & table->mask;; at = (at + 1) & table->mask) {
    struct partition *part = table->slots[at];
    if (part == NULL || (part->index == index && uuid_equal(&part->topic_id, topic_id))) {
      return part;
    }
  }
}

void partition_directory_change(struct partition_directory *directory, struct partition *const *added,
                                size_t added_count, struct partition *const *removed, size_t removed_count)
{
  struct partition_table *old = atomic_load_explicit(&directory->current, memory_order_relaxed);
  CHECK(removed_count <= old->count);
  old->removed = removed_count > 0 ? mem_array(removed_count, sizeof *old->removed) : NULL;
  old->removed_count = removed_count;
  for (size_t i = 0; i < removed_count; i++) {
    CHECK(!removed[i]->is_removed);
    removed[i]->is_removed = true;
    old->removed[i] = removed[i];
  }
  struct partition_table *fresh = table_new(old->count - removed_count + added_count);
  for (size_t i = 0; i <= old->mask; i++) {
    if (old->slots[i] != NULL && !old->slots[i]->is_removed) {
      table_insert(fresh, old->slots[i]);
    }
  }
  for (size_t i = 0; i < added_count; i++) {
    table_insert(fresh, partition_ref(added[i]));
  }
  atomic_store(&directory->current, fresh);
  epoch_retire(&old->retired, table_free);
}

const struct partition_table *partition_directory_all(const struct partition_directory *directory)
{
  return atomic_load_explicit(&directory->current, memory_order_acquire);
}
