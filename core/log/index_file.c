// SPDX-License-Identifier: Apache-2.0
#include "log/index_file.h"

#include "base/error.h"
#include "os/file.h"

int index_file_write(const char *path, size_t entry_size, uint32_t first, const void *entries, uint32_t count)
{
  int fd = -1;
  TRY(file_open(path, FILE_WRITE | FILE_CREATE, &fd));
  int result = file_write_at(fd, entries, entry_size * count, (int64_t)(entry_size * first));
  file_close(fd);
  return result;
}

int index_file_read(const char *path, size_t entry_size, uint32_t first, void *entries, uint32_t count)
{
  int fd = -1;
  TRY(file_open(path, FILE_READ, &fd));
  int result = file_read_at(fd, entries, entry_size * count, (int64_t)(entry_size * first));
  file_close(fd);
  return result;
}

int index_file_trim(const char *path, size_t entry_size, uint32_t count)
{
  int fd = -1;
  TRY(file_open(path, FILE_WRITE | FILE_CREATE, &fd));
  int64_t wanted = (int64_t)(entry_size * count);
  int64_t size = 0;
  int result = file_size(fd, &size);
  if (result == 0 && size != wanted) {
    result = file_truncate(fd, wanted);
  }
  file_close(fd);
  return result;
}

int index_file_zero(const char *path, size_t entry_size, uint32_t first, uint32_t end)
{
  static const uint8_t zeros[4096];
  if (first >= end) {
    return 0;
  }
  int fd = -1;
  TRY(file_open(path, FILE_WRITE, &fd));
  int result = 0;
  size_t left = entry_size * (end - first);
  int64_t pos = (int64_t)(entry_size * first);
  while (left > 0 && result == 0) {
    size_t step = left < sizeof zeros ? left : sizeof zeros;
    result = file_write_at(fd, zeros, step, pos);
    pos += (int64_t)step;
    left -= step;
  }
  file_close(fd);
  return result;
}

int index_file_sync(const char *path)
{
  int result = file_sync_path(path);
  return result == ERR_NOT_FOUND ? 0 : result;
}
