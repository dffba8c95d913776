// SPDX-License-Identifier: Apache-2.0
//
// The folder of a log at start-up: what a crash or an earlier run left in it, and which segments there are.
//
//   *.deleted, *.cleaned, *.tmp     removed
//   *.swap                          Kafka's cleaner had finished a segment and was about to put it in place: done now
//   *.index, *.timeindex, *.txnindex without a .log   removed
//   *.cut                           kept; what recovery cut off is for a human to look at
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/header_scan.h"
#include "log/log_private.h"
#include "os/dir.h"
#include "os/file.h"

/// Names in a folder.
struct folder {
  const char *dir; ///< its path
  char **names;    ///< owned
  int count;       ///< names
  int room;        ///< slots allocated
};

static int folder_add(void *arg, const char *name, bool is_dir)
{
  struct folder *folder = arg;
  if (is_dir) {
    return 0;
  }
  if (folder->count == folder->room) {
    folder->room = folder->room * 2 + 16;
    folder->names = mem_realloc(folder->names, (size_t)folder->room * sizeof *folder->names);
  }
  folder->names[folder->count++] = mem_strdup(name);
  return 0;
}

static void folder_destroy(struct folder *folder)
{
  for (int i = 0; i < folder->count; i++) {
    mem_free(folder->names[i]);
  }
  mem_free(folder->names);
}

static bool has_suffix(const char *name, const char *suffix)
{
  size_t length = strlen(name);
  size_t suffix_length = strlen(suffix);
  return length >= suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static int remove_name(const char *dir, const char *name)
{
  char *path = mem_printf("%s/%s", dir, name);
  int result = dir_remove_file(path);
  mem_free(path);
  return result == ERR_NOT_FOUND ? 0 : result;
}

static int compare_bases(const void *a, const void *b)
{
  int64_t left = *(const int64_t *)a;
  int64_t right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

/// Base offsets of the names that end with a suffix, ascending. Owned: mem_free().
static int64_t *list_bases(const struct folder *folder, const char *suffix, int *count)
{
  int64_t *bases = mem_array((size_t)folder->count + 1, sizeof *bases);
  *count = 0;
  for (int i = 0; i < folder->count; i++) {
    if (segment_parse_name(folder->names[i], suffix, &bases[*count])) {
      (*count)++;
    }
  }
  qsort(bases, (size_t)*count, sizeof *bases, compare_bases);
  return bases;
}

static bool has_base(const int64_t *bases, int count, int64_t base_offset)
{
  return bsearch(&base_offset, bases, (size_t)count, sizeof *bases, compare_bases) != NULL;
}

/// The offset after the last batch of a file; `base_offset` when it holds none that can be read.
static int file_end_offset(const char *path, int64_t base_offset, int64_t *end_offset)
{
  int fd = -1;
  TRY(file_open(path, FILE_READ, &fd));
  int64_t size = 0;
  int result = file_size(fd, &size);
  *end_offset = base_offset;
  if (result == 0) {
    struct header_scan scan;
    struct batch_header header;
    int64_t pos = 0;
    header_scan_begin(&scan, fd, 0, size, true);
    while (header_scan_next_any(&scan, &header, &pos) > 0) {
      *end_offset = header.base_offset + header.last_offset_delta + 1;
    }
  }
  file_close(fd);
  return result;
}

/// Puts a finished segment in the place of those whose offsets it holds.
static int finish_swap(const struct folder *folder, int64_t base_offset)
{
  char *swap = segment_path(folder->dir, base_offset, ".log.swap");
  int64_t end_offset = base_offset;
  int result = file_end_offset(swap, base_offset, &end_offset);
  mem_free(swap);
  TRY(result);
  slog_info("%s: putting the cleaned segment at offset %lld in place", folder->dir, (long long)base_offset);
  int swap_count = 0;
  int64_t *swaps = list_bases(folder, ".log.swap", &swap_count);
  for (int i = 0; i < folder->count && result == 0; i++) {
    int64_t base = 0;
    for (int k = 0; segment_suffixes[k] != NULL && result == 0; k++) {
      if (segment_parse_name(folder->names[i], segment_suffixes[k], &base) && base > base_offset && base < end_offset &&
          !has_base(swaps, swap_count, base)) {
        result = remove_name(folder->dir, folder->names[i]);
      }
    }
  }
  mem_free(swaps);
  TRY(result);
  // The .log last: until it is in place, a crash begins this again.
  for (int k = 4; k >= 0; k--) {
    char *to = segment_path(folder->dir, base_offset, segment_suffixes[k]);
    char *from = mem_printf("%s.swap", to);
    result = dir_rename(from, to);
    mem_free(from);
    mem_free(to);
    if (result < 0 && result != ERR_NOT_FOUND) {
      return result;
    }
  }
  return 0;
}

/// First pass: finishes and removes; says whether names changed.
static int clean(const struct folder *folder, bool *is_changed)
{
  *is_changed = false;
  for (int i = 0; i < folder->count; i++) {
    const char *name = folder->names[i];
    int64_t base = 0;
    if (has_suffix(name, ".deleted") || has_suffix(name, ".cleaned") || has_suffix(name, ".tmp")) {
      TRY(remove_name(folder->dir, name));
      *is_changed = true;
    } else if (segment_parse_name(name, ".log.swap", &base)) {
      TRY(finish_swap(folder, base));
      *is_changed = true;
    }
  }
  return 0;
}

/// Second pass: indexes without a segment, and parts of a swap without its .log, go.
static int clean_orphans(const struct folder *folder, const int64_t *bases, int count)
{
  static const char *const suffixes[] = {".index", ".timeindex", ".txnindex"};
  for (int i = 0; i < folder->count; i++) {
    const char *name = folder->names[i];
    int64_t base = 0;
    bool is_orphan = has_suffix(name, ".swap");
    for (int k = 0; k < 3 && !is_orphan; k++) {
      is_orphan = segment_parse_name(name, suffixes[k], &base) && !has_base(bases, count, base);
    }
    if (is_orphan) {
      TRY(remove_name(folder->dir, name));
    }
  }
  return 0;
}

int log_list_folder(const char *dir, int64_t **bases, int *count)
{
  struct folder folder = {.dir = dir};
  bool is_changed = false;
  int result = dir_list(dir, folder_add, &folder);
  if (result == 0) {
    result = clean(&folder, &is_changed);
  }
  if (result == 0 && is_changed) {
    folder_destroy(&folder);
    folder = (struct folder){.dir = dir};
    result = dir_list(dir, folder_add, &folder);
  }
  if (result == 0) {
    *bases = list_bases(&folder, ".log", count);
    result = clean_orphans(&folder, *bases, *count);
    if (result < 0) {
      mem_free(*bases);
    }
  }
  folder_destroy(&folder);
  return result;
}
