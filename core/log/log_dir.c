// SPDX-License-Identifier: Apache-2.0
#include "log/log_dir.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log.h"
#include "os/dir.h"
#include "os/file.h"

static const char *const checkpoint_names[LOG_DIR_CHECKPOINT_COUNT] = {
    [LOG_DIR_RECOVERY_POINTS] = "recovery-point-offset-checkpoint",
    [LOG_DIR_START_OFFSETS] = "log-start-offset-checkpoint",
    [LOG_DIR_HIGH_WATERMARKS] = "replication-offset-checkpoint",
    [LOG_DIR_CLEAN_OFFSETS] = "cleaner-offset-checkpoint",
};

/// The folder of Kafka's own metadata log: neither a topic nor a stray.
static const char KRAFT_FOLDER[] = "__cluster_metadata-0";

/// An absolute path without a slash at its end. Owned: mem_free().
static char *absolute_path(const char *path)
{
  char *text = NULL;
  if (path[0] == '/') {
    text = mem_strdup(path);
  } else {
    char *here = getcwd(NULL, 0);
    text = mem_printf("%s/%s", here == NULL ? "." : here, path);
    free(here);
  }
  for (size_t length = strlen(text); length > 1 && text[length - 1] == '/'; length--) {
    text[length - 1] = '\0';
  }
  return text;
}

int log_dir_open(struct log_dir *dir, const char *path)
{
  *dir = (struct log_dir){.lock_fd = -1, .space_free_bytes = -1};
  meta_properties_create(&dir->meta);
  dir->path = absolute_path(path);
  dir->meta_path = mem_printf("%s/meta.properties", dir->path);
  TRY(dir_make(dir->path));
  struct stat status;
  if (stat(dir->path, &status) != 0) {
    return error_set_errno(errno, "cannot read data directory %s", dir->path);
  }
  dir->device = (uint64_t)status.st_dev;
  dir->inode = (uint64_t)status.st_ino;
  char *lock_path = mem_printf("%s/.lock", dir->path);
  int result = file_open(lock_path, FILE_WRITE | FILE_CREATE, &dir->lock_fd);
  if (result == 0) {
    result = file_lock(dir->lock_fd);
    if (result == ERR_BUSY) {
      error_set(ERR_BUSY, "data directory %s is in use by another broker, which holds %s", dir->path, lock_path);
    }
  }
  mem_free(lock_path);
  return result;
}

char *log_dir_checkpoint_path(const struct log_dir *dir, enum log_dir_checkpoint which)
{
  return mem_printf("%s/%s", dir->path, checkpoint_names[which]);
}

char *log_dir_partition_path(const struct log_dir *dir, const char *topic, int32_t partition)
{
  return mem_printf("%s/%s-%" PRId32, dir->path, topic, partition);
}

char *log_dir_suffix_path(const struct log_dir *dir, const char *topic, int32_t partition, const char *suffix)
{
  struct uuid id;
  uuid_random(&id);
  char hex[33];
  for (size_t i = 0; i < sizeof id.bytes; i++) {
    snprintf(hex + 2 * i, sizeof hex - 2 * i, "%02x", id.bytes[i]);
  }
  char tail[96];
  int length = snprintf(tail, sizeof tail, "-%" PRId32 ".%s-%s", partition, hex, suffix);
  int room = LOG_DIR_NAME_MAX - length;
  return mem_printf("%s/%.*s%s", dir->path, room, topic, tail);
}

static bool is_topic_byte(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

static bool has_suffix(const char *name, const char *suffix)
{
  size_t length = strlen(name);
  size_t tail = strlen(suffix);
  return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/// Parses a partition number as Kafka writes it: digits, no leading zero.
static bool parse_partition(const char *text, int32_t *partition)
{
  int64_t number = 0;
  if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0')) {
    return false;
  }
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9') {
      return false;
    }
    number = number * 10 + (*text - '0');
    if (number > INT32_MAX) {
      return false;
    }
  }
  *partition = (int32_t)number;
  return true;
}

enum log_folder_kind log_dir_parse_folder(const char *name, char topic[LOG_DIR_TOPIC_MAX + 1], int32_t *partition)
{
  const char *dash = strrchr(name, '-');
  if (dash == NULL || dash == name || strcmp(name, KRAFT_FOLDER) == 0) {
    return LOG_FOLDER_OTHER;
  }
  for (const char *at = name; *at != '\0'; at++) {
    if (!is_topic_byte(*at)) {
      return LOG_FOLDER_OTHER;
    }
  }
  int32_t number = 0;
  if (parse_partition(dash + 1, &number)) {
    size_t length = (size_t)(dash - name);
    bool is_dots = (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
    if (length > LOG_DIR_TOPIC_MAX || is_dots) {
      return LOG_FOLDER_OTHER;
    }
    memcpy(topic, name, length);
    topic[length] = '\0';
    *partition = number;
    return LOG_FOLDER_PARTITION;
  }
  // <anything>-<anything>.<id>-<what>: a dash and, after it, a dot before the last dash.
  const char *dot = memrchr(name, '.', (size_t)(dash - name));
  if (dot == NULL || memchr(name + 1, '-', (size_t)(dot - name) > 0 ? (size_t)(dot - name) - 1 : 0) == NULL) {
    return LOG_FOLDER_OTHER;
  }
  if (has_suffix(name, "-delete")) {
    return LOG_FOLDER_DELETED;
  }
  if (has_suffix(name, "-stray")) {
    return LOG_FOLDER_STRAY;
  }
  return has_suffix(name, "-future") ? LOG_FOLDER_FUTURE : LOG_FOLDER_OTHER;
}

static int take_partition(struct log_dir *dir, const char *name, const char *topic, int32_t partition)
{
  struct log_dir_folder folder = {.topic = mem_strdup(topic), .partition = partition};
  char *path = mem_printf("%s/%s", dir->path, name);
  int result = log_read_topic_id(path, &folder.topic_id);
  mem_free(path);
  if (result == ERR_CORRUPT || result == ERR_MALFORMED || result == ERR_UNSUPPORTED_VERSION || result == ERR_LIMIT) {
    slog_warn("%s; the topic id counts as unknown", error_last()->message);
  } else if (result < 0 && result != ERR_NOT_FOUND) {
    mem_free(folder.topic);
    return result;
  }
  if ((dir->folder_count & (dir->folder_count - 1)) == 0) {
    size_t room = dir->folder_count == 0 ? 1 : dir->folder_count * 2;
    dir->folders = mem_realloc(dir->folders, room * sizeof *dir->folders);
  }
  dir->folders[dir->folder_count++] = folder;
  return 0;
}

/// Notes <topic>-<partition>.<id>-future; one whose name does not say which partition it is of stays unknown.
static void take_future(struct log_dir *dir, const char *name)
{
  struct log_dir_future future = {0};
  char topic[LOG_DIR_TOPIC_MAX + 1];
  char *partition = mem_printf("%.*s", (int)(strrchr(name, '.') - name), name);
  if (log_dir_parse_folder(partition, topic, &future.partition) != LOG_FOLDER_PARTITION) {
    slog_warn("%s/%s is left alone", dir->path, name);
    mem_free(partition);
    return;
  }
  mem_free(partition);
  future.topic = mem_strdup(topic);
  future.path = mem_printf("%s/%s", dir->path, name);
  if (log_read_topic_id(future.path, &future.topic_id) < 0) {
    future.topic_id = (struct uuid){0};
  }
  dir->futures = mem_realloc(dir->futures, (dir->future_count + 1) * sizeof *dir->futures);
  dir->futures[dir->future_count++] = future;
}

static int take_name(void *arg, const char *name, bool is_dir)
{
  struct log_dir *dir = arg;
  char topic[LOG_DIR_TOPIC_MAX + 1];
  int32_t partition = 0;
  if (!is_dir) {
    return 0;
  }
  switch (log_dir_parse_folder(name, topic, &partition)) {
    case LOG_FOLDER_PARTITION:
      return take_partition(dir, name, topic, partition);
    case LOG_FOLDER_DELETED:
      dir->leftovers = mem_realloc(dir->leftovers, (dir->leftover_count + 1) * sizeof *dir->leftovers);
      dir->leftovers[dir->leftover_count++] = mem_printf("%s/%s", dir->path, name);
      return 0;
    case LOG_FOLDER_STRAY:
      dir->stray_count++;
      return 0;
    case LOG_FOLDER_FUTURE:
      take_future(dir, name);
      return 0;
    case LOG_FOLDER_OTHER:
      slog_debug("%s/%s is no partition, it is left alone", dir->path, name);
      return 0;
  }
  return 0;
}

/// @param path  taken
static int read_checkpoint(char *path, struct checkpoint *checkpoint)
{
  int result = checkpoint_read(path, checkpoint);
  mem_free(path);
  if (result == ERR_MALFORMED || result == ERR_UNSUPPORTED_VERSION || result == ERR_LIMIT) {
    slog_warn("%s; it counts as empty", error_last()->message);
    return 0;
  }
  return result;
}

static int read_checkpoints(struct log_dir *dir)
{
  for (int i = 0; i < LOG_DIR_CHECKPOINT_COUNT; i++) {
    TRY(read_checkpoint(log_dir_checkpoint_path(dir, i), &dir->checkpoints[i]));
  }
  return 0;
}

int log_dir_scan(struct log_dir *dir)
{
  int result = meta_properties_read(dir->meta_path, &dir->meta);
  if (result < 0 && result != ERR_NOT_FOUND) {
    return result;
  }
  dir->has_meta = result == 0;
  dir->was_clean = clean_shutdown_exists(dir->path);
  TRY(read_checkpoints(dir));
  TRY(dir_list(dir->path, take_name, dir));
  if (dir->stray_count > 0) {
    slog_warn("%zu -stray folders in %s are not served; remove them when nobody misses them", dir->stray_count,
              dir->path);
  }
  return 0;
}

void log_dir_destroy(struct log_dir *dir)
{
  file_close(dir->lock_fd);
  dir->lock_fd = -1;
  meta_properties_destroy(&dir->meta);
  for (int i = 0; i < LOG_DIR_CHECKPOINT_COUNT; i++) {
    checkpoint_destroy(&dir->checkpoints[i]);
  }
  for (size_t i = 0; i < dir->folder_count; i++) {
    mem_free(dir->folders[i].topic);
  }
  for (size_t i = 0; i < dir->leftover_count; i++) {
    mem_free(dir->leftovers[i]);
  }
  for (size_t i = 0; i < dir->future_count; i++) {
    mem_free(dir->futures[i].path);
    mem_free(dir->futures[i].topic);
  }
  mem_free(dir->futures);
  mem_free(dir->folders);
  mem_free(dir->leftovers);
  mem_free(dir->metadata_text);
  mem_free(dir->meta_path);
  mem_free(dir->path);
  *dir = (struct log_dir){.lock_fd = -1};
}
