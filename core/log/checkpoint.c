// SPDX-License-Identifier: Apache-2.0
#include "log/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "os/dir.h"
#include "os/file.h"

enum {
  CHECKPOINT_VERSION = 0,
  CHECKPOINT_SIZE_MAX = 256 * 1024 * 1024, ///< about a million partitions with the longest names
};

static const char CLEAN_SHUTDOWN_NAME[] = ".kafka_cleanshutdown";
static const char CLEAN_SHUTDOWN_TEXT[] = "{\"version\":0,\"brokerEpoch\":-1}";

/// Where the parser is in a checkpoint.
struct checkpoint_cursor {
  const char *path; ///< for messages
  char *next;       ///< start of the next line, NULL at the end
  int line;         ///< number of the line that was taken last, from 1
};

/// Takes the next line, without its end; NULL when there is none.
static char *cursor_take(struct checkpoint_cursor *cursor)
{
  char *line = cursor->next;
  if (line == NULL || *line == '\0') {
    return NULL;
  }
  char *end = strchr(line, '\n');
  if (end == NULL) {
    cursor->next = NULL;
  } else {
    *end = '\0';
    cursor->next = end + 1;
  }
  size_t length = strlen(line);
  if (length > 0 && line[length - 1] == '\r') {
    line[length - 1] = '\0';
  }
  cursor->line++;
  return line;
}

/// Parses decimal digits and nothing else, up to `max`.
static bool parse_number(const char *text, int64_t max, int64_t *number)
{
  int64_t value = 0;
  if (*text == '\0') {
    return false;
  }
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9' || value > (max - (*text - '0')) / 10) {
      return false;
    }
    value = value * 10 + (*text - '0');
  }
  *number = value;
  return true;
}

static int malformed(const struct checkpoint_cursor *cursor, const char *what)
{
  return error_set(ERR_MALFORMED, "%s:%d: %s", cursor->path, cursor->line, what);
}

static int parse_entry(struct checkpoint_cursor *cursor, char *line, struct checkpoint_entry *entry)
{
  char *rest = NULL;
  char *topic = strtok_r(line, " \t", &rest);
  char *partition = strtok_r(NULL, " \t", &rest);
  char *offset = strtok_r(NULL, " \t", &rest);
  int64_t number = 0;
  if (topic == NULL || partition == NULL || offset == NULL || strtok_r(NULL, " \t", &rest) != NULL) {
    return malformed(cursor, "expected '<topic> <partition> <offset>'");
  }
  if (!parse_number(partition, INT32_MAX, &number)) {
    return malformed(cursor, "the partition is not a number");
  }
  entry->topic = topic;
  entry->partition = (int32_t)number;
  if (!parse_number(offset, INT64_MAX, &entry->offset)) {
    return malformed(cursor, "the offset is not a number");
  }
  return 0;
}

static int parse_checkpoint(struct checkpoint_cursor *cursor, struct checkpoint *checkpoint)
{
  char *line = cursor_take(cursor);
  if (line == NULL) {
    return 0;
  }
  int64_t number = 0;
  if (!parse_number(line, INT32_MAX, &number)) {
    return malformed(cursor, "the version is not a number");
  }
  if (number != CHECKPOINT_VERSION) {
    return error_set(ERR_UNSUPPORTED_VERSION, "%s:1: version %" PRId64 " is not known", cursor->path, number);
  }
  line = cursor_take(cursor);
  if (line == NULL || !parse_number(line, INT32_MAX, &number)) {
    cursor->line = 2;
    return malformed(cursor, "the number of entries is missing");
  }
  size_t expected = (size_t)number;
  size_t room = 0;
  while ((line = cursor_take(cursor)) != NULL) {
    if (checkpoint->count == expected) {
      return malformed(cursor, "more lines than line 2 says");
    }
    if (checkpoint->count == room) {
      room = room == 0 ? 64 : room * 2;
      checkpoint->entries = mem_realloc(checkpoint->entries, room * sizeof *checkpoint->entries);
    }
    TRY(parse_entry(cursor, line, &checkpoint->entries[checkpoint->count]));
    checkpoint->count++;
  }
  if (checkpoint->count < expected) {
    return error_set(ERR_MALFORMED, "%s:2: %zu entries are announced, %zu follow", cursor->path, expected,
                     checkpoint->count);
  }
  return 0;
}

static int compare_keys(const struct checkpoint_entry *a, const struct checkpoint_entry *b)
{
  int order = strcmp(a->topic, b->topic);
  return order != 0 ? order : (a->partition > b->partition) - (a->partition < b->partition);
}

/// By key; of equal ones the earlier line first, which the place of its text in the file tells.
static int compare_entries(const void *left, const void *right)
{
  const struct checkpoint_entry *a = left;
  const struct checkpoint_entry *b = right;
  int order = compare_keys(a, b);
  return order != 0 ? order : (a->topic > b->topic) - (a->topic < b->topic);
}

static void sort_entries(struct checkpoint *checkpoint)
{
  if (checkpoint->count == 0) {
    return;
  }
  struct checkpoint_entry *entries = checkpoint->entries;
  qsort(entries, checkpoint->count, sizeof *entries, compare_entries);
  size_t kept = 0;
  for (size_t i = 0; i < checkpoint->count; i++) {
    if (kept > 0 && compare_keys(&entries[kept - 1], &entries[i]) == 0) {
      kept--;
    }
    entries[kept++] = entries[i];
  }
  checkpoint->count = kept;
}

int checkpoint_read(const char *path, struct checkpoint *checkpoint)
{
  struct checkpoint read = {0};
  size_t size = 0;
  int result = file_read_all(path, CHECKPOINT_SIZE_MAX, &read.text, &size);
  if (result == ERR_NOT_FOUND) {
    *checkpoint = read;
    return 0;
  }
  TRY(result);
  struct checkpoint_cursor cursor = {.path = path, .next = read.text};
  if (strlen(read.text) < size) {
    result = error_set(ERR_MALFORMED, "%s:1: not a text file", path);
  } else {
    result = parse_checkpoint(&cursor, &read);
  }
  if (result < 0) {
    checkpoint_destroy(&read);
    return result;
  }
  sort_entries(&read);
  *checkpoint = read;
  return 0;
}

void checkpoint_destroy(struct checkpoint *checkpoint)
{
  mem_free(checkpoint->entries);
  mem_free(checkpoint->text);
  *checkpoint = (struct checkpoint){0};
}

bool checkpoint_find(const struct checkpoint *checkpoint, const char *topic, int32_t partition, int64_t *offset)
{
  struct checkpoint_entry key = {.topic = topic, .partition = partition};
  size_t low = 0;
  size_t high = checkpoint->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare_keys(&checkpoint->entries[middle], &key);
    if (order == 0) {
      *offset = checkpoint->entries[middle].offset;
      return true;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return false;
}

int checkpoint_write(const char *path, const struct checkpoint_entry *entries, size_t count)
{
  size_t room = 64;
  for (size_t i = 0; i < count; i++) {
    room += strlen(entries[i].topic) + sizeof " 2147483647 9223372036854775807\n";
  }
  char *text = mem_alloc(room);
  size_t used = (size_t)snprintf(text, room, "%d\n%zu\n", CHECKPOINT_VERSION, count);
  for (size_t i = 0; i < count; i++) {
    used += (size_t)snprintf(text + used, room - used, "%s %" PRId32 " %" PRId64 "\n", entries[i].topic,
                             entries[i].partition, entries[i].offset);
  }
  int result = file_replace(path, text, used);
  mem_free(text);
  return result;
}

bool clean_shutdown_exists(const char *dir)
{
  char *path = mem_printf("%s/%s", dir, CLEAN_SHUTDOWN_NAME);
  bool exists = access(path, F_OK) == 0;
  mem_free(path);
  return exists;
}

int clean_shutdown_write(const char *dir)
{
  char *path = mem_printf("%s/%s", dir, CLEAN_SHUTDOWN_NAME);
  int result = file_replace(path, CLEAN_SHUTDOWN_TEXT, sizeof CLEAN_SHUTDOWN_TEXT - 1);
  mem_free(path);
  return result;
}

int clean_shutdown_remove(const char *dir)
{
  char *path = mem_printf("%s/%s", dir, CLEAN_SHUTDOWN_NAME);
  int result = dir_remove_file(path);
  mem_free(path);
  if (result == ERR_NOT_FOUND) {
    return 0;
  }
  TRY(result);
  return dir_sync(dir);
}
