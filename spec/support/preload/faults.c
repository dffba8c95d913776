// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into a broker by spec/support/faults.lua: counts the calls that touch files below one folder, and has some
// of them fail as a sick or full disk does. What to do stands in a small file that both processes map, so that a spec
// can count, arm and disarm while the broker runs.
//
// A call belongs to a kind. The first `nth - 1` calls of the armed kind pass, the next `times` (-1: all) fail with
// `err`. With `is_short` the first of these moves half of its bytes instead, and with no `err` that is all that
// happens.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "power.h"

enum fault_kind {
  FAULT_OPEN,
  FAULT_READ,
  FAULT_WRITE,
  FAULT_SYNC,
  FAULT_TRUNCATE,
  FAULT_ALLOCATE,
  FAULT_RENAME,
  FAULT_MKDIR,
  FAULT_UNLINK,
  FAULT_LIST,
  FAULT_SEND,
  FAULT_KINDS,
};

/// The file that the spec maps as well (spec/support/faults.lua has the same layout).
struct faults {
  _Atomic(int64_t) calls[16]; ///< of each kind so far
  _Atomic(int64_t) acted;     ///< calls that failed or were cut short
  _Atomic(int64_t) nth;       ///< calls of the armed kind up to the first that fails; counts down
  _Atomic(int32_t) kind;      ///< the armed kind, -1: none
  _Atomic(int32_t) times;     ///< how many fail; counts down, -1: all
  _Atomic(int32_t) err;       ///< errno, 0: none
  _Atomic(int32_t) is_short;  ///< the next one moves half of its bytes
  char folder[256];           ///< what lies below it is meant
  char suffix[64];            ///< of that, only paths that end so count for the armed kind; "": all
  char path[256];             ///< of the call that failed first, for messages
};

static struct faults *faults;

__attribute__((constructor)) static void faults_map(void)
{
  const char *path = getenv("LUKA_FAULTS");
  int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    void *map = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    faults = map == MAP_FAILED ? NULL : map;
    close(fd);
  }
}

enum { FAULT_PASS, FAULT_FAIL, FAULT_HALVE };

/// What becomes of a call on a path; sets errno when it fails.
static int faults_act(enum fault_kind kind, const char *path, bool can_halve)
{
  size_t length = strlen(faults->folder);
  if (length == 0 || strncmp(path, faults->folder, length) != 0 || (path[length] != '/' && path[length] != '\0')) {
    return FAULT_PASS;
  }
  atomic_fetch_add(&faults->calls[kind], 1);
  size_t size = strlen(path);
  size_t ending = strlen(faults->suffix);
  if (size < ending || strcmp(path + size - ending, faults->suffix) != 0) {
    return FAULT_PASS;
  }
  if (atomic_load(&faults->kind) != (int32_t)kind || atomic_fetch_sub(&faults->nth, 1) > 1) {
    return FAULT_PASS;
  }
  int32_t left = atomic_load(&faults->times);
  if (left == 0 || (left > 0 && atomic_fetch_sub(&faults->times, 1) <= 0)) {
    return FAULT_PASS;
  }
  if (atomic_fetch_add(&faults->acted, 1) == 0) {
    snprintf(faults->path, sizeof faults->path, "%s", path);
  }
  if (can_halve && atomic_exchange(&faults->is_short, 0) != 0) {
    return FAULT_HALVE;
  }
  int32_t err = atomic_load(&faults->err);
  if (err == 0) {
    return FAULT_PASS;
  }
  errno = err;
  return FAULT_FAIL;
}

static int faults_act_fd(enum fault_kind kind, int fd, bool can_halve)
{
  if (faults == NULL) {
    return FAULT_PASS;
  }
  char link[64];
  char path[512];
  int kept = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  errno = kept;
  if (size <= 0) {
    return FAULT_PASS;
  }
  path[size] = '\0';
  return faults_act(kind, path, can_halve);
}

static int faults_act_path(enum fault_kind kind, const char *path)
{
  return faults == NULL ? FAULT_PASS : faults_act(kind, path, false);
}

// What a library calls under either name is the same function here: off_t has 64 bits.
#define NEXT(type, name, ...)                                       \
  static type (*next)(__VA_ARGS__);                                 \
  if (next == NULL) {                                               \
    next = (type(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_NEXT, name); \
  }

#define ALIAS(name, of) extern __typeof__(of) name __attribute__((alias(#of)))

int open(const char *path, int flags, ...)
{
  NEXT(int, "open", const char *, int, ...)
  va_list args;
  va_start(args, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
  va_end(args);
  int fd = faults_act_path(FAULT_OPEN, path) == FAULT_FAIL ? -1 : next(path, flags, mode);
  if (fd >= 0) {
    power_open(fd, path, flags);
  }
  return fd;
}
ALIAS(open64, open);

ssize_t pread(int fd, void *buffer, size_t size, off_t pos)
{
  NEXT(ssize_t, "pread", int, void *, size_t, off_t)
  int act = faults_act_fd(FAULT_READ, fd, size > 1);
  return act == FAULT_FAIL ? -1 : next(fd, buffer, act == FAULT_HALVE ? size / 2 : size, pos);
}
ALIAS(pread64, pread);

ssize_t read(int fd, void *buffer, size_t size)
{
  NEXT(ssize_t, "read", int, void *, size_t)
  int act = faults_act_fd(FAULT_READ, fd, size > 1);
  return act == FAULT_FAIL ? -1 : next(fd, buffer, act == FAULT_HALVE ? size / 2 : size);
}

ssize_t pwrite(int fd, const void *buffer, size_t size, off_t pos)
{
  NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t)
  int act = faults_act_fd(FAULT_WRITE, fd, size > 1);
  ssize_t done = act == FAULT_FAIL ? -1 : next(fd, buffer, act == FAULT_HALVE ? size / 2 : size, pos);
  power_write(fd, &(struct iovec){(void *)(uintptr_t)buffer, size}, 1, pos, done);
  return done;
}
ALIAS(pwrite64, pwrite);

ssize_t write(int fd, const void *buffer, size_t size)
{
  NEXT(ssize_t, "write", int, const void *, size_t)
  int act = faults_act_fd(FAULT_WRITE, fd, size > 1);
  off_t pos = power_is_on() ? lseek(fd, 0, SEEK_CUR) : 0;
  ssize_t done = act == FAULT_FAIL ? -1 : next(fd, buffer, act == FAULT_HALVE ? size / 2 : size);
  power_write(fd, &(struct iovec){(void *)(uintptr_t)buffer, size}, 1, pos, done);
  return done;
}

/// The first half of what a vector holds.
static ssize_t faults_write_half(int fd, const struct iovec *parts, int count, off_t pos)
{
  size_t size = 0;
  for (int i = 0; i < count; i++) {
    size += parts[i].iov_len;
  }
  size_t left = size / 2;
  size_t done = 0;
  for (int i = 0; i < count && left > 0; i++) {
    NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t)
    size_t step = parts[i].iov_len < left ? parts[i].iov_len : left;
    ssize_t n = next(fd, parts[i].iov_base, step, pos + (off_t)done);
    if (n < 0) {
      return done > 0 ? (ssize_t)done : n;
    }
    done += (size_t)n;
    left -= (size_t)n;
  }
  return (ssize_t)done;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t pos)
{
  NEXT(ssize_t, "pwritev", int, const struct iovec *, int, off_t)
  int act = faults_act_fd(FAULT_WRITE, fd, true);
  ssize_t done = act == FAULT_FAIL    ? -1
                 : act == FAULT_HALVE ? faults_write_half(fd, parts, count, pos)
                                      : next(fd, parts, count, pos);
  power_write(fd, parts, count, pos, done);
  return done;
}
ALIAS(pwritev64, pwritev);

ssize_t writev(int fd, const struct iovec *parts, int count)
{
  NEXT(ssize_t, "writev", int, const struct iovec *, int)
  int act = faults_act_fd(FAULT_WRITE, fd, false);
  return act == FAULT_FAIL ? -1 : next(fd, parts, count);
}

int fsync(int fd)
{
  NEXT(int, "fsync", int)
  int64_t token = power_sync_begin(fd);
  int result = faults_act_fd(FAULT_SYNC, fd, false) == FAULT_FAIL ? -1 : next(fd);
  if (result == 0) {
    power_sync_end(fd, token);
  }
  return result;
}

int fdatasync(int fd)
{
  NEXT(int, "fdatasync", int)
  int64_t token = power_sync_begin(fd);
  int result = faults_act_fd(FAULT_SYNC, fd, false) == FAULT_FAIL ? -1 : next(fd);
  if (result == 0) {
    power_sync_end(fd, token);
  }
  return result;
}

int ftruncate(int fd, off_t size)
{
  NEXT(int, "ftruncate", int, off_t)
  int result = faults_act_fd(FAULT_TRUNCATE, fd, false) == FAULT_FAIL ? -1 : next(fd, size);
  if (result == 0) {
    power_truncate(fd, size);
  }
  return result;
}
ALIAS(ftruncate64, ftruncate);

int fallocate(int fd, int mode, off_t pos, off_t size)
{
  NEXT(int, "fallocate", int, int, off_t, off_t)
  return faults_act_fd(FAULT_ALLOCATE, fd, false) == FAULT_FAIL ? -1 : next(fd, mode, pos, size);
}
ALIAS(fallocate64, fallocate);

int rename(const char *from, const char *to)
{
  NEXT(int, "rename", const char *, const char *)
  int result = faults_act_path(FAULT_RENAME, from) == FAULT_FAIL ? -1 : next(from, to);
  if (result == 0) {
    power_rename(from, to);
  }
  return result;
}

int mkdir(const char *path, mode_t mode)
{
  NEXT(int, "mkdir", const char *, mode_t)
  int result = faults_act_path(FAULT_MKDIR, path) == FAULT_FAIL ? -1 : next(path, mode);
  if (result == 0) {
    power_mkdir(path);
  }
  return result;
}

int unlink(const char *path)
{
  NEXT(int, "unlink", const char *)
  int result = faults_act_path(FAULT_UNLINK, path) == FAULT_FAIL ? -1 : next(path);
  if (result == 0) {
    power_unlink(path);
  }
  return result;
}

int rmdir(const char *path)
{
  NEXT(int, "rmdir", const char *)
  int result = faults_act_path(FAULT_UNLINK, path) == FAULT_FAIL ? -1 : next(path);
  if (result == 0) {
    power_unlink(path);
  }
  return result;
}

DIR *opendir(const char *path)
{
  NEXT(DIR *, "opendir", const char *)
  return faults_act_path(FAULT_LIST, path) == FAULT_FAIL ? NULL : next(path);
}

ssize_t sendfile(int to, int from, off_t *pos, size_t size)
{
  NEXT(ssize_t, "sendfile", int, int, off_t *, size_t)
  int act = faults_act_fd(FAULT_SEND, from, size > 1);
  return act == FAULT_FAIL ? -1 : next(to, from, pos, act == FAULT_HALVE ? size / 2 : size);
}
ALIAS(sendfile64, sendfile);
