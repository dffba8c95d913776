// SPDX-License-Identifier: Apache-2.0
#include "os/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "os/errinj.h"

int dir_make(const char *path)
{
  int err = errinj_check(ERRINJ_DIR_MAKE);
  if (err != 0) {
    return error_set_errno(err, "cannot create %s", path);
  }
  char *partial = mem_strdup(path);
  int result = 0;
  for (char *at = partial + 1; result == 0; at++) {
    if (*at == '/' || *at == '\0') {
      char end = *at;
      *at = '\0';
      struct stat status;
      if (mkdir(partial, 0755) != 0 && (errno != EEXIST || stat(partial, &status) != 0 || !S_ISDIR(status.st_mode))) {
        result = error_set_errno(errno == EEXIST ? ENOTDIR : errno, "cannot create %s", partial);
      }
      *at = end;
      if (end == '\0') {
        break;
      }
    }
  }
  mem_free(partial);
  return result;
}

int dir_make_new(const char *path)
{
  int err = errinj_check(ERRINJ_DIR_MAKE);
  if (err == 0 && mkdir(path, 0755) != 0) {
    err = errno;
  }
  return err == 0 ? 0 : error_set_errno(err, "cannot create %s", path);
}

int dir_list(const char *path, int (*each)(void *arg, const char *name, bool is_dir), void *arg)
{
  DIR *handle = opendir(path);
  if (handle == NULL) {
    return error_set_errno(errno, "cannot list %s", path);
  }
  int result = 0;
  while (result == 0) {
    errno = 0;
    struct dirent *entry = readdir(handle);
    if (entry == NULL) {
      if (errno != 0) {
        result = error_set_errno(errno, "cannot list %s", path);
      }
      break;
    }
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
      continue;
    }
    bool is_dir = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN || entry->d_type == DT_LNK) {
      struct stat status;
      is_dir = fstatat(dirfd(handle), entry->d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
    }
    result = each(arg, entry->d_name, is_dir);
  }
  closedir(handle);
  return result;
}

int dir_sync(const char *path)
{
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return error_set_errno(errno, "cannot sync folder %s", path);
  }
  int err = errinj_check(ERRINJ_FILE_SYNC);
  if (err == 0 && fsync(fd) != 0) {
    err = errno;
  }
  close(fd);
  return err == 0 ? 0 : error_set(ERR_IO, "cannot sync folder %s: %s", path, strerror(err));
}

int dir_rename(const char *from, const char *to)
{
  int err = errinj_check(ERRINJ_DIR_RENAME);
  if (err == 0 && rename(from, to) != 0) {
    err = errno;
  }
  return err == 0 ? 0 : error_set_errno(err, "cannot rename %s to %s", from, to);
}

int dir_remove_file(const char *path)
{
  int err = errinj_check(ERRINJ_DIR_REMOVE_FILE);
  if (err == 0 && unlink(path) != 0) {
    err = errno;
  }
  return err == 0 ? 0 : error_set_errno(err, "cannot remove %s", path);
}

static int dir_remove_entry(void *arg, const char *name, bool is_dir)
{
  char *path = mem_printf("%s/%s", (const char *)arg, name);
  struct stat status;
  bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
  int result = is_dir && !is_link ? dir_remove_all(path) : dir_remove_file(path);
  mem_free(path);
  return result == ERR_NOT_FOUND ? 0 : result;
}

int dir_remove_all(const char *path)
{
  int result = dir_list(path, dir_remove_entry, (void *)(uintptr_t)path);
  if (result == ERR_NOT_FOUND) {
    return 0;
  }
  TRY(result);
  if (rmdir(path) != 0 && errno != ENOENT) {
    return error_set_errno(errno, "cannot remove %s", path);
  }
  return 0;
}

bool dir_exists(const char *path)
{
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int dir_space(const char *path, int64_t *free_bytes, int64_t *total_bytes)
{
  struct statvfs space;
  if (statvfs(path, &space) != 0) {
    return error_set_errno(errno, "cannot ask the free space of %s", path);
  }
  *free_bytes = (int64_t)space.f_bavail * (int64_t)space.f_frsize;
  *total_bytes = (int64_t)space.f_blocks * (int64_t)space.f_frsize;
  return 0;
}
