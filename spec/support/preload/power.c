// SPDX-License-Identifier: Apache-2.0
//
// One record for each call, in the order in which the calls came back: a header, a path, bytes. A write is noted before
// the broker hears that it was made, an fsync when it begins and when it is over: what was noted before its beginning
// is on disk at its end. Nothing of it is lost by kill -9, as the records go to a file.
#include "power.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum power_kind {
  POWER_WRITE = 1,
  POWER_SYNC_BEGIN,
  POWER_SYNC_END,
  POWER_TRUNCATE,
  POWER_OPEN,
  POWER_RENAME, // both paths, a NUL between them
  POWER_UNLINK,
  POWER_MKDIR,
};

/// Little-endian, as spec/support/power.lua reads it.
struct power_record {
  uint32_t kind;      ///< enum power_kind
  uint32_t path_size; ///< bytes of the path that follows
  uint32_t data_size; ///< bytes that follow the path
  uint32_t zeros;     ///< bytes of zeros that were written; nothing follows for them
  uint64_t inode;     ///< of the file
  int64_t pos;        ///< position, size or token
};

static int power_fd = -1;
static const char *power_folder;
static pthread_mutex_t power_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(int64_t) power_tokens;

__attribute__((constructor)) static void power_begin(void)
{
  const char *path = getenv("LUKA_POWER");
  power_folder = getenv("LUKA_POWER_FOLDER");
  if (path != NULL && power_folder != NULL) {
    power_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  }
}

int power_is_on(void)
{
  return power_fd >= 0;
}

static int power_is_inside(const char *path)
{
  size_t length = strlen(power_folder);
  return strncmp(path, power_folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

enum { POWER_PATH_SIZE = 512 };

/// Whether a descriptor is of a file or folder that is meant, and which.
static int power_named_file(int fd, uint64_t *inode, char path[POWER_PATH_SIZE])
{
  char link[64];
  struct stat status;
  if (power_fd < 0) {
    return 0;
  }
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, POWER_PATH_SIZE - 1);
  if (size <= 0 || fstat(fd, &status) != 0) {
    return 0;
  }
  path[size] = '\0';
  *inode = status.st_ino;
  return power_is_inside(path);
}

static int power_file(int fd, uint64_t *inode)
{
  char path[POWER_PATH_SIZE];
  return power_named_file(fd, inode, path);
}

static void power_note(const struct power_record *record, const char *path, const struct iovec *parts, int count,
                       size_t size)
{
  size_t whole = sizeof *record + record->path_size + size;
  char *bytes = malloc(whole);
  memcpy(bytes, record, sizeof *record);
  memcpy(bytes + sizeof *record, path, record->path_size);
  size_t at = sizeof *record + record->path_size;
  for (int i = 0; i < count && at < whole; i++) {
    size_t step = parts[i].iov_len < whole - at ? parts[i].iov_len : whole - at;
    memcpy(bytes + at, parts[i].iov_base, step);
    at += step;
  }
  pthread_mutex_lock(&power_lock);
  if (syscall(SYS_write, power_fd, bytes, whole) != (long)whole) {
    abort();
  }
  pthread_mutex_unlock(&power_lock);
  free(bytes);
}

static int power_is_zero(const struct iovec *parts, int count)
{
  for (int i = 0; i < count; i++) {
    const char *bytes = parts[i].iov_base;
    if (parts[i].iov_len > 0 && (bytes[0] != 0 || memcmp(bytes, bytes + 1, parts[i].iov_len - 1) != 0)) {
      return 0;
    }
  }
  return 1;
}

void power_write(int fd, const struct iovec *parts, int count, off_t pos, ssize_t done)
{
  struct power_record record = {.kind = POWER_WRITE, .pos = pos};
  if (done <= 0 || !power_file(fd, &record.inode)) {
    return;
  }
  int is_zero = power_is_zero(parts, count);
  record.zeros = is_zero ? (uint32_t)done : 0;
  record.data_size = is_zero ? 0 : (uint32_t)done;
  power_note(&record, "", parts, count, record.data_size);
}

int64_t power_sync_begin(int fd)
{
  struct power_record record = {.kind = POWER_SYNC_BEGIN};
  char path[POWER_PATH_SIZE];
  if (!power_named_file(fd, &record.inode, path)) {
    return 0;
  }
  record.pos = atomic_fetch_add(&power_tokens, 1) + 1;
  record.path_size = (uint32_t)strlen(path);
  power_note(&record, path, NULL, 0, 0);
  return record.pos;
}

void power_sync_end(int fd, int64_t token)
{
  struct power_record record = {.kind = POWER_SYNC_END, .pos = token};
  if (token > 0 && power_file(fd, &record.inode)) {
    power_note(&record, "", NULL, 0, 0);
  }
}

void power_truncate(int fd, off_t size)
{
  struct power_record record = {.kind = POWER_TRUNCATE, .pos = size};
  if (power_file(fd, &record.inode)) {
    power_note(&record, "", NULL, 0, 0);
  }
}

static void power_path(enum power_kind kind, uint64_t inode, const char *path, size_t size)
{
  struct power_record record = {.kind = kind, .path_size = (uint32_t)size, .inode = inode};
  power_note(&record, path, NULL, 0, 0);
}

void power_open(int fd, const char *path, int flags)
{
  struct power_record record = {.kind = POWER_TRUNCATE};
  if ((flags & (O_CREAT | O_TRUNC)) == 0 || !power_file(fd, &record.inode)) {
    return;
  }
  power_path(POWER_OPEN, record.inode, path, strlen(path));
  if ((flags & O_TRUNC) != 0) {
    power_note(&record, "", NULL, 0, 0);
  }
}

void power_rename(const char *from, const char *to)
{
  char both[1024];
  if (power_fd >= 0 && power_is_inside(from)) {
    int size = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
    power_path(POWER_RENAME, 0, both, (size_t)size);
  }
}

void power_unlink(const char *path)
{
  if (power_fd >= 0 && power_is_inside(path)) {
    power_path(POWER_UNLINK, 0, path, strlen(path));
  }
}

void power_mkdir(const char *path)
{
  if (power_fd >= 0 && power_is_inside(path)) {
    power_path(POWER_MKDIR, 0, path, strlen(path));
  }
}
