// SPDX-License-Identifier: Apache-2.0
//
// The table of logs. It is looked into when a log is opened, deleted or worked on, never by a request.
#include <string.h>

#include "base/mem.h"
#include "log/log_manager_private.h"

enum { LOG_TABLE_FIRST_ROOM = 64 };

/// FNV-1a.
static uint32_t hash_name(const char *topic, int32_t partition)
{
  uint32_t hash = 2166136261u;
  for (const char *at = topic; *at != '\0'; at++) {
    hash = (hash ^ (uint8_t)*at) * 16777619u;
  }
  for (int i = 0; i < 4; i++) {
    hash = (hash ^ (uint8_t)((uint32_t)partition >> (8 * i))) * 16777619u;
  }
  return hash;
}

struct log_entry *log_table_find(const struct log_table *table, const char *topic, int32_t partition)
{
  if (table->bucket_count == 0) {
    return NULL;
  }
  uint32_t hash = hash_name(topic, partition);
  struct log_entry *entry = table->buckets[hash & (table->bucket_count - 1)];
  while (entry != NULL && (entry->hash != hash || entry->partition != partition || strcmp(entry->topic, topic) != 0)) {
    entry = entry->next;
  }
  return entry;
}

struct log_entry *log_table_find_log(const struct log_table *table, const struct log *log)
{
  for (size_t i = 0; i < table->count; i++) {
    if (table->entries[i]->log == log) {
      return table->entries[i];
    }
  }
  return NULL;
}

static void grow(struct log_table *table)
{
  table->room = table->room == 0 ? LOG_TABLE_FIRST_ROOM : table->room * 2;
  table->entries = mem_realloc(table->entries, table->room * sizeof(struct log_entry *));
  mem_free(table->buckets);
  table->bucket_count = table->room;
  table->buckets = mem_array(table->bucket_count, sizeof(struct log_entry *));
  for (size_t i = 0; i < table->count; i++) {
    struct log_entry **bucket = &table->buckets[table->entries[i]->hash & (table->bucket_count - 1)];
    table->entries[i]->next = *bucket;
    *bucket = table->entries[i];
  }
}

struct log_entry *log_table_add(struct log_manager *mgr, const char *topic, int32_t partition, struct log_dir *dir)
{
  struct log_table *table = &mgr->table;
  if (table->count == table->room) {
    grow(table);
  }
  struct log_entry *entry = mem_zalloc(sizeof *entry);
  entry->mgr = mgr;
  entry->dir = dir;
  entry->topic = mem_strdup(topic);
  entry->partition = partition;
  entry->hash = hash_name(topic, partition);
  entry->state = LOG_ENTRY_OPENING;
  entry->refs = 1;
  list_create(&entry->write_back_node);
  for (int i = 0; i < LOG_DIR_CHECKPOINT_COUNT; i++) {
    entry->offsets[i] = -1;
  }
  entry->position = table->count;
  table->entries[table->count++] = entry;
  struct log_entry **bucket = &table->buckets[entry->hash & (table->bucket_count - 1)];
  entry->next = *bucket;
  *bucket = entry;
  dir->log_count++;
  return entry;
}

void log_table_move(struct log_entry *entry, struct log_dir *dir)
{
  log_entry_dir(entry)->log_count--;
  atomic_store(&entry->dir, dir);
  dir->log_count++;
}

void log_table_remove(struct log_manager *mgr, struct log_entry *entry)
{
  struct log_table *table = &mgr->table;
  struct log_entry **link = &table->buckets[entry->hash & (table->bucket_count - 1)];
  while (*link != entry) {
    link = &(*link)->next;
  }
  *link = entry->next;
  struct log_entry *last = table->entries[--table->count];
  table->entries[entry->position] = last;
  last->position = entry->position;
  log_entry_dir(entry)->log_count--;
  log_entry_unref(entry);
}

static void entry_free(struct epoch_retired *retired)
{
  struct log_entry *entry = (struct log_entry *)retired;
  mem_free(entry->cleaning);
  mem_free(entry->topic);
  mem_free(entry);
}

void log_entry_unref(struct log_entry *entry)
{
  if (--entry->refs == 0) {
    epoch_retire(&entry->retired, entry_free);
  }
}

void log_table_destroy(struct log_table *table)
{
  for (size_t i = 0; i < table->count; i++) {
    entry_free(&table->entries[i]->retired);
  }
  mem_free(table->entries);
  mem_free(table->buckets);
  *table = (struct log_table){0};
}
