// SPDX-License-Identifier: Apache-2.0
//
// See name_table.h. Slots double when there are as many nodes, and are given back with the last one.
#include "coordinator/name_table.h"

#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/uuid.h"

enum { NAME_TABLE_SLOTS_MIN = 8 };

static uint64_t name_seed;
static pthread_once_t name_seed_once = PTHREAD_ONCE_INIT;

static void name_seed_make(void)
{
  struct uuid id;
  uuid_random(&id);
  memcpy(&name_seed, id.bytes, sizeof name_seed);
}

static uint32_t name_hash(const char *name, int32_t size)
{
  pthread_once(&name_seed_once, name_seed_make);
  uint64_t hash = hash_bytes(name, (size_t)size, name_seed);
  return (uint32_t)(hash ^ (hash >> 32));
}

struct name_node *name_table_find(const struct name_table *table, const char *name, int32_t size)
{
  if (table->count == 0) {
    return NULL;
  }
  uint32_t hash = name_hash(name, size);
  struct name_node *node = table->slots[hash & (table->slot_count - 1)];
  while (node != NULL &&
         (node->hash != hash || node->size != size || (size > 0 && memcmp(node->name, name, (size_t)size) != 0))) {
    node = node->next;
  }
  return node;
}

static void name_table_grow(struct name_table *table)
{
  uint32_t slot_count = table->slot_count == 0 ? NAME_TABLE_SLOTS_MIN : table->slot_count * 2;
  struct name_node **slots = mem_array(slot_count, sizeof *slots);
  for (uint32_t i = 0; i < table->slot_count; i++) {
    struct name_node *node = table->slots[i];
    while (node != NULL) {
      struct name_node *next = node->next;
      struct name_node **slot = &slots[node->hash & (slot_count - 1)];
      node->next = *slot;
      *slot = node;
      node = next;
    }
  }
  mem_free(table->slots);
  table->slots = slots;
  table->slot_count = slot_count;
}

void name_table_add(struct name_table *table, struct name_node *node, const char *name, int32_t size)
{
  if (table->count == table->slot_count) {
    name_table_grow(table);
  }
  node->name = name;
  node->size = size;
  node->hash = name_hash(name, size);
  struct name_node **slot = &table->slots[node->hash & (table->slot_count - 1)];
  node->next = *slot;
  *slot = node;
  table->count++;
}

void name_table_remove(struct name_table *table, struct name_node *node)
{
  struct name_node **at = &table->slots[node->hash & (table->slot_count - 1)];
  while (*at != node) {
    at = &(*at)->next;
  }
  *at = node->next;
  node->next = NULL;
  if (--table->count == 0) {
    name_table_destroy(table);
  }
}

void name_table_destroy(struct name_table *table)
{
  mem_free(table->slots);
  *table = (struct name_table){0};
}
