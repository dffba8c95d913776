// SPDX-License-Identifier: Apache-2.0
#include "log/partition_metadata.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "os/file.h"

enum { PARTITION_METADATA_SIZE_MAX = 4096 };

/// Parses the text, which is changed.
static int parse(const char *path, char *text, struct uuid *topic_id)
{
  struct uuid id = {0};
  bool has_version = false;
  bool has_id = false;
  int number = 0;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\r\n", &rest); line != NULL; line = strtok_r(NULL, "\r\n", &rest)) {
    number++;
    char *colon = strchr(line, ':');
    if (colon == NULL) {
      return error_set(ERR_MALFORMED, "%s:%d: expected '<key>: <value>'", path, number);
    }
    *colon = '\0';
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    if (strcmp(line, "version") == 0) {
      if (strcmp(value, "0") != 0) {
        return error_set(ERR_UNSUPPORTED_VERSION, "%s:%d: version %s is not known", path, number, value);
      }
      has_version = true;
    } else if (strcmp(line, "topic_id") == 0) {
      if (uuid_parse(value, &id) < 0 || uuid_is_zero(&id)) {
        return error_set(ERR_MALFORMED, "%s:%d: '%s' is not a topic id", path, number, value);
      }
      has_id = true;
    }
  }
  if (!has_version || !has_id) {
    return error_set(ERR_MALFORMED, "%s:1: version or topic_id is missing", path);
  }
  *topic_id = id;
  return 0;
}

int partition_metadata_read(const char *folder, struct uuid *topic_id)
{
  char *path = mem_printf("%s/partition.metadata", folder);
  char *text = NULL;
  size_t size = 0;
  int result = file_read_all(path, PARTITION_METADATA_SIZE_MAX, &text, &size);
  if (result == 0) {
    result = parse(path, text, topic_id);
  }
  mem_free(text);
  mem_free(path);
  return result;
}

bool partition_metadata_is_damage(int result)
{
  return result == ERR_CORRUPT || result == ERR_MALFORMED || result == ERR_UNSUPPORTED_VERSION || result == ERR_LIMIT;
}

bool partition_metadata_is_of(const struct uuid *found, const struct uuid *wanted)
{
  enum { DAMAGED_BYTES_MAX = 2 }; // a character of the file stands for parts of two bytes
  int differing = 0;
  for (size_t i = 0; i < sizeof found->bytes; i++) {
    differing += found->bytes[i] != wanted->bytes[i];
  }
  return differing <= DAMAGED_BYTES_MAX;
}

enum { PARTITION_METADATA_TEXT_SIZE = 64 };

static size_t print(char text[PARTITION_METADATA_TEXT_SIZE], const struct uuid *topic_id)
{
  char id[UUID_TEXT_SIZE];
  uuid_format(topic_id, id);
  return (size_t)snprintf(text, PARTITION_METADATA_TEXT_SIZE, "version: 0\ntopic_id: %s", id);
}

int partition_metadata_write(const char *folder, const struct uuid *topic_id)
{
  char text[PARTITION_METADATA_TEXT_SIZE];
  size_t size = print(text, topic_id);
  char *path = mem_printf("%s/partition.metadata", folder);
  int result = file_replace(path, text, size);
  mem_free(path);
  return result;
}

int partition_metadata_begin(const char *folder, const struct uuid *topic_id)
{
  char text[PARTITION_METADATA_TEXT_SIZE];
  size_t size = print(text, topic_id);
  char *path = mem_printf("%s/partition.metadata", folder);
  int fd = -1;
  int result = file_open(path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &fd);
  if (result == 0) {
    result = file_write_at(fd, text, size, 0);
  }
  file_close(fd);
  mem_free(path);
  return result;
}

int partition_metadata_sync(const char *folder)
{
  char *path = mem_printf("%s/partition.metadata", folder);
  int result = file_sync_path(path);
  mem_free(path);
  return result == ERR_NOT_FOUND ? 0 : result;
}
