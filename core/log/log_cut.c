// SPDX-License-Identifier: Apache-2.0
//
// What recovery cuts off is not thrown away: it stays beside the segment as <file>.cut, for a human to look at.
// Start-up.
#include <inttypes.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log_private.h"
#include "os/dir.h"
#include "os/file.h"

enum {
  CUT_STEP_BYTES = 256 * 1024, ///< copied at a time
  CUT_FILES_MAX = 1000,        ///< cut files of one segment that are kept
};

char *log_cut_path(const char *path)
{
  for (int i = 1; i <= CUT_FILES_MAX; i++) {
    char *cut = i == 1 ? mem_printf("%s.cut", path) : mem_printf("%s.cut.%d", path, i);
    struct stat status;
    if (stat(cut, &status) != 0) {
      return cut;
    }
    mem_free(cut);
  }
  error_set(ERR_LIMIT, "%s has %d cut files, no more are kept", path, CUT_FILES_MAX);
  return NULL;
}

/// Copies bytes of one file to the start of another, and to the disk.
static int copy_range(int from_fd, int to_fd, int64_t pos, int64_t size)
{
  char *buffer = mem_alloc(CUT_STEP_BYTES);
  int result = 0;
  for (int64_t done = 0; result == 0 && done < size - pos;) {
    size_t step = size - pos - done < CUT_STEP_BYTES ? (size_t)(size - pos - done) : CUT_STEP_BYTES;
    result = file_read_at(from_fd, buffer, step, pos + done);
    if (result == 0) {
      result = file_write_at(to_fd, buffer, step, done);
    }
    done += (int64_t)step;
  }
  mem_free(buffer);
  return result < 0 ? result : file_sync(to_fd);
}

int log_keep_rest(const char *path, int fd, int64_t pos, int64_t size, char **kept)
{
  char *cut = log_cut_path(path);
  int cut_fd = -1;
  int result = cut == NULL ? ERR_LIMIT : file_open(cut, FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, &cut_fd);
  if (result == 0) {
    result = copy_range(fd, cut_fd, pos, size);
    file_close(cut_fd);
    if (result < 0) {
      struct error_detail detail = *error_last();
      dir_remove_file(cut);
      error_record(result, 0, detail.file, detail.line, "%s", detail.message);
    }
  }
  if (result < 0) {
    mem_free(cut);
    return result;
  }
  *kept = cut;
  return 0;
}

int log_set_aside(const char *dir, int64_t base_offset, const char *why)
{
  char *path = segment_path(dir, base_offset, ".log");
  char *cut = log_cut_path(path);
  struct stat status = {0};
  int result = stat(path, &status) != 0 ? error_set(ERR_IO, "cannot ask the size of %s", path)
               : cut == NULL            ? ERR_LIMIT
                                        : dir_rename(path, cut);
  if (result == 0) {
    slog_warn("%s: dropped %lld bytes, all of it, as it %s; kept in %s", path, (long long)status.st_size, why, cut);
  }
  mem_free(path);
  mem_free(cut);
  for (int i = 1; segment_suffixes[i] != NULL && result == 0; i++) {
    path = segment_path(dir, base_offset, segment_suffixes[i]);
    int removed = dir_remove_file(path);
    result = removed == ERR_NOT_FOUND ? 0 : removed;
    mem_free(path);
  }
  return result;
}
