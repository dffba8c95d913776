// SPDX-License-Identifier: Apache-2.0
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "os/dir.h"
#include "os/errinj.h"

int file_open(const char *path, int flags, int *fd)
{
  int err = errinj_check(ERRINJ_FILE_OPEN);
  if (err != 0) {
    return error_set_errno(err, "cannot open %s", path);
  }
  // Not blocking, so that a pipe in the place of a file cannot hold up a start.
  int mode = O_CLOEXEC | O_NONBLOCK | (flags & FILE_WRITE ? O_RDWR : O_RDONLY) | (flags & FILE_CREATE ? O_CREAT : 0) |
             (flags & FILE_EXCLUSIVE ? O_EXCL : 0) | (flags & FILE_TRUNCATE ? O_TRUNC : 0);
  int opened;
  do {
    opened = open(path, mode, 0644);
  } while (opened < 0 && errno == EINTR);
  if (opened < 0) {
    return error_set_errno(errno, "cannot open %s", path);
  }
  struct stat status;
  if (fstat(opened, &status) == 0 && !S_ISREG(status.st_mode)) {
    close(opened);
    return error_set(ERR_CORRUPT, "%s is not a file", path);
  }
  *fd = opened;
  return 0;
}

int file_close(int fd)
{
  if (fd >= 0 && close(fd) != 0 && errno != EINTR) {
    return error_set_errno(errno, "close failed");
  }
  return 0;
}

int file_read_some_at(int fd, void *buffer, size_t size, int64_t pos, size_t *got)
{
  int err = errinj_check(ERRINJ_FILE_READ);
  if (err != 0) {
    return error_set_errno(err, "read failed");
  }
  size_t done = 0;
  while (done < size) {
    ssize_t n = pread(fd, (char *)buffer + done, size - done, pos + (int64_t)done);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return error_set_errno(errno, "read failed");
    }
    if (n == 0) {
      break;
    }
    done += (size_t)n;
  }
  *got = done;
  return 0;
}

int file_read_at(int fd, void *buffer, size_t size, int64_t pos)
{
  size_t got = 0;
  TRY(file_read_some_at(fd, buffer, size, pos, &got));
  if (got < size) {
    return error_set(ERR_TRUNCATED, "the file ends %zu bytes early", size - got);
  }
  return 0;
}

int file_write_at(int fd, const void *bytes, size_t size, int64_t pos)
{
  struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
  return file_write_vector_at(fd, &part, 1, pos);
}

int file_write_vector_at(int fd, struct iovec *parts, int count, int64_t pos)
{
  int err = errinj_check(ERRINJ_FILE_WRITE);
  if (err != 0) {
    return error_set_errno(err, "write failed");
  }
  while (count > 0) {
    ssize_t n = pwritev(fd, parts, count < IOV_MAX ? count : IOV_MAX, pos);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return error_set_errno(errno, "write failed");
    }
    pos += n;
    size_t left = (size_t)n;
    while (count > 0 && left >= parts->iov_len) {
      left -= parts->iov_len;
      parts++;
      count--;
    }
    if (count > 0) {
      if (n == 0) {
        return error_set(ERR_IO, "write made no progress");
      }
      parts->iov_base = (char *)parts->iov_base + left;
      parts->iov_len -= left;
    }
  }
  return 0;
}

int file_read_cached_at(int fd, void *buffer, size_t size, int64_t pos, size_t *got)
{
  int err = errinj_check(ERRINJ_FILE_READ);
  if (err != 0) {
    return error_set_errno(err, "read failed");
  }
  struct iovec part = {.iov_base = buffer, .iov_len = size};
  ssize_t n = preadv2(fd, &part, 1, pos, RWF_NOWAIT);
  if (n > 0) {
    *got = (size_t)n;
    return 0;
  }
  return n < 0 && errno == EAGAIN ? ERR_AGAIN : file_read_some_at(fd, buffer, size, pos, got);
}

/// False when the kernel says that a page of a region is not in the page cache. Asking starts no read, as reading with
/// RWF_NOWAIT does: that would have a worker set up a readahead of several MiB.
static bool file_may_be_cached(int fd, int64_t pos, size_t size)
{
  enum { SYS_CACHESTAT = 451 }; // Linux 6.5; C libraries have it only lately
  struct {
    uint64_t off; ///< struct cachestat_range
    uint64_t len;
  } range = {(uint64_t)pos, size};
  struct {
    uint64_t cached;  ///< struct cachestat: pages that are there, if only to be read into
    uint64_t rest[4]; ///< dirty, in writeback, evicted, recently evicted
  } found;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return syscall(SYS_CACHESTAT, fd, &range, &found, 0) != 0 ||
         found.cached >= ((uint64_t)pos + size - 1) / page - (uint64_t)pos / page + 1;
}

bool file_is_cached(int fd, int64_t pos, size_t size)
{
  enum { PROBE_STEP_BYTES = 128 * 1024 }; // the kernel reads larger pieces at once
  if (!file_may_be_cached(fd, pos, size)) {
    return false;
  }
  // A page may be there and not be read yet: one byte of each piece tells.
  int64_t last = pos + (int64_t)size - 1;
  for (int64_t at = pos;; at = last - at > PROBE_STEP_BYTES ? at + PROBE_STEP_BYTES : last) {
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    ssize_t n = preadv2(fd, &part, 1, at, RWF_NOWAIT);
    if (n < 0 && errno == EAGAIN) {
      return false;
    }
    if (at == last) {
      return true;
    }
  }
}

int file_load(int fd, int64_t pos, size_t size)
{
  enum {
    LOAD_STEP_BYTES = 128 * 1024,
    LOAD_ASK_BYTES = 1024 * 1024,   // the kernel may cut what is asked for at once
    LOAD_AHEAD_BYTES = 1024 * 1024, // whoever reads cold records mostly goes on
  };
  int64_t end = pos + (int64_t)size;
  for (int64_t at = pos; at < end + LOAD_AHEAD_BYTES; at += LOAD_ASK_BYTES) {
    posix_fadvise(fd, at, LOAD_ASK_BYTES, POSIX_FADV_WILLNEED);
  }
  char *scratch = mem_alloc(LOAD_STEP_BYTES);
  int result = 0;
  for (size_t done = 0; done < size;) {
    size_t step = size - done < LOAD_STEP_BYTES ? size - done : LOAD_STEP_BYTES;
    size_t got = 0;
    result = file_read_some_at(fd, scratch, step, pos + (int64_t)done, &got);
    if (result < 0 || got == 0) {
      break;
    }
    done += got;
  }
  mem_free(scratch);
  return result;
}

int file_sync(int fd)
{
  int err = errinj_check(ERRINJ_FILE_SYNC);
  if (err == 0 && fsync(fd) != 0) {
    err = errno;
  }
  return err == 0 ? 0 : error_set(ERR_IO, "fsync failed: %s", strerror(err));
}

int file_sync_path(const char *path)
{
  int fd = -1;
  TRY(file_open(path, FILE_WRITE, &fd));
  int result = file_sync(fd);
  file_close(fd);
  return result;
}

int file_sync_data(int fd)
{
  int err = errinj_check(ERRINJ_FILE_SYNC);
  if (err == 0 && fdatasync(fd) != 0) {
    err = errno;
  }
  return err == 0 ? 0 : error_set(ERR_IO, "fdatasync failed: %s", strerror(err));
}

void file_start_write_back(int fd, int64_t pos, int64_t size)
{
  // Without the flags that wait: those would take the error that a later fsync() is to see. What the file system does
  // not begin now the kernel's own flusher will. NOLINTNEXTLINE(cert-err33-c)
  (void)sync_file_range(fd, pos, size, SYNC_FILE_RANGE_WRITE);
}

void file_drop_cache(int fd, int64_t pos)
{
  // A file system that cannot says so, and then there is nothing to be done. NOLINTNEXTLINE(cert-err33-c)
  (void)posix_fadvise(fd, pos, 0, POSIX_FADV_DONTNEED);
}

int file_truncate(int fd, int64_t size)
{
  int err = errinj_check(ERRINJ_FILE_TRUNCATE);
  if (err == 0 && ftruncate(fd, size) != 0) {
    err = errno;
  }
  return err == 0 ? 0 : error_set_errno(err, "ftruncate failed");
}

int file_size(int fd, int64_t *size)
{
  struct stat status;
  if (fstat(fd, &status) != 0) {
    return error_set_errno(errno, "fstat failed");
  }
  *size = status.st_size;
  return 0;
}

int file_copy_modified(int from_fd, int to_fd)
{
  struct stat status;
  if (fstat(from_fd, &status) != 0) {
    return error_set_errno(errno, "fstat failed");
  }
  const struct timespec times[2] = {status.st_atim, status.st_mtim};
  return futimens(to_fd, times) == 0 ? 0 : error_set_errno(errno, "futimens failed");
}

int file_reserve(int fd, int64_t pos, int64_t size)
{
  if (fallocate(fd, FALLOC_FL_KEEP_SIZE, pos, size) != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
    return error_set_errno(errno, "fallocate failed");
  }
  return 0;
}

int file_unreserve(int fd, int64_t size)
{
  struct stat status;
  if (fstat(fd, &status) != 0) {
    return error_set_errno(errno, "fstat failed");
  }
  TRY(file_truncate(fd, size));
  const struct timespec times[2] = {status.st_atim, status.st_mtim};
  return futimens(fd, times) == 0 ? 0 : error_set_errno(errno, "futimens failed");
}

int file_lock(int fd)
{
  // Of the kind that Java's FileChannel.lock() meets, so that Kafka and Luka keep each other out of a directory.
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    return error_set(errno == EAGAIN || errno == EACCES ? ERR_BUSY : error_from_errno(errno),
                     "locked by another process");
  }
  return 0;
}

/// Puts the path before the latest error of this thread; returns its code.
static int file_name_error(int code, const char *path)
{
  struct error_detail detail = *error_last();
  return error_record(code, 0, detail.file, detail.line, "%s: %.*s", path, ERROR_MESSAGE_SIZE / 2, detail.message);
}

int file_read_all(const char *path, size_t limit, char **text, size_t *size)
{
  int fd = -1;
  TRY(file_open(path, FILE_READ, &fd));
  char *buffer = NULL;
  int64_t length = 0;
  int result = file_size(fd, &length);
  if (result == 0 && (uint64_t)length > limit) {
    result = error_set(ERR_LIMIT, "%s is larger than %zu bytes", path, limit);
  }
  if (result == 0) {
    buffer = mem_alloc((size_t)length + 1);
    result = file_read_at(fd, buffer, (size_t)length, 0);
  }
  file_close(fd);
  if (result < 0) {
    mem_free(buffer);
    return file_name_error(result, path);
  }
  buffer[length] = '\0';
  *text = buffer;
  *size = (size_t)length;
  return 0;
}

int file_replace(const char *path, const void *bytes, size_t size)
{
  char *temporary = mem_printf("%s.tmp", path);
  char *folder = mem_strdup(path);
  char *slash = strrchr(folder, '/');
  if (slash != NULL) {
    *slash = '\0';
  }
  int fd = -1;
  int result = file_open(temporary, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &fd);
  if (result == 0) {
    result = file_write_at(fd, bytes, size, 0);
    if (result == 0) {
      result = file_sync(fd);
    }
    int closed = file_close(fd);
    result = result < 0 ? result : closed;
    if (result < 0) {
      result = file_name_error(result, temporary);
    }
  }
  if (result == 0) {
    result = dir_rename(temporary, path);
  }
  if (result == 0) {
    result = dir_sync(slash == NULL ? "." : folder[0] == '\0' ? "/" : folder);
  }
  mem_free(temporary);
  mem_free(folder);
  return result;
}
