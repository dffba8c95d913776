// SPDX-License-Identifier: Apache-2.0
//
// How the data directories name the metastore that knows their partitions (luka.metadata in meta.properties). Where it
// lies in one of them, as it does by default, the name says no path, so that they may be moved or copied together:
//
//   luka.mdb                  in this directory
//   <directory.id>/luka.mdb   in the one with that id
//   /path/to/luka.mdb         elsewhere
//
// In memory it is always the absolute path, without links. A path that an older version wrote into a directory which
// was moved since is taken for the configured metastore when nothing is left at that path, and the configured one is
// there, in one of the data directories; that it is of the same cluster is checked later, as always. Start-up.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log_manager_private.h"

/// The directory that a file lies in directly; NULL: none of them.
static struct log_dir *dir_holding(struct log_manager *mgr, const char *path)
{
  const char *slash = strrchr(path, '/');
  char *folder = mem_printf("%.*s/", (int)(slash - path), path);
  struct stat status;
  bool is_there = stat(folder, &status) == 0;
  mem_free(folder);
  for (size_t i = 0; i < mgr->dir_count && is_there; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    if (dir->inode != 0 && dir->device == (uint64_t)status.st_dev && dir->inode == (uint64_t)status.st_ino) {
      return dir;
    }
  }
  return NULL;
}

/// The directory whose name for the metastore a text begins with; NULL: none of them has that id.
static struct log_dir *dir_named_by(struct log_manager *mgr, struct log_dir *dir, const char *text, const char **name)
{
  const char *slash = strchr(text, '/');
  *name = slash == NULL ? text : slash + 1;
  if (slash == NULL) {
    return dir;
  }
  for (size_t i = 0; i < mgr->dir_count; i++) {
    char id[UUID_TEXT_SIZE];
    uuid_format(&mgr->dirs[i].meta.directory_id, id);
    if (strlen(id) == (size_t)(slash - text) && memcmp(id, text, strlen(id)) == 0) {
      return &mgr->dirs[i];
    }
  }
  return NULL;
}

/// The absolute path that a name without one stands for.
static int resolve_name(struct log_manager *mgr, struct log_dir *dir, char **path)
{
  const char *name = NULL;
  const struct log_dir *home = dir_named_by(mgr, dir, dir->metadata_text, &name);
  if (home == NULL) {
    return error_set(ERR_CONFIG,
                     "%s names the metadata %s, in a data directory of that directory.id, but none of the configured "
                     "ones has it or can be read: add that directory to broker.data",
                     dir->meta_path, dir->metadata_text);
  }
  char *real = realpath(home->path, NULL);
  if (real == NULL) {
    return error_set_errno(errno, "cannot read data directory %s", home->path);
  }
  *path = mem_printf("%s/%s", real, name);
  free(real);
  return 0;
}

/// Whether a path is an old one of directories that were moved.
static bool is_moved(struct log_manager *mgr, const char *path, const char *configured)
{
  return configured != NULL && strcmp(path, configured) != 0 && access(path, F_OK) != 0 &&
         access(configured, F_OK) == 0 && dir_holding(mgr, configured) != NULL;
}

int log_manager_resolve_metadata(struct log_manager *mgr, const char *configured)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    char *path = NULL;
    if (dir->meta.metadata == NULL || atomic_load(&dir->is_offline)) {
      continue;
    }
    dir->metadata_text = mem_strdup(dir->meta.metadata);
    if (dir->metadata_text[0] != '/') {
      TRY(resolve_name(mgr, dir, &path));
    } else if (is_moved(mgr, dir->metadata_text, configured)) {
      slog_info("%s names the metadata %s, which is gone: %s is taken, as the directories were moved", dir->meta_path,
                dir->metadata_text, configured);
      path = mem_strdup(configured);
    } else {
      continue;
    }
    mem_free(dir->meta.metadata);
    dir->meta.metadata = path;
  }
  return 0;
}

char *log_manager_metadata_text(struct log_manager *mgr, const struct log_dir *dir, const char *path)
{
  const struct log_dir *home = dir_holding(mgr, path);
  const char *name = strrchr(path, '/') + 1;
  if (home == dir) {
    return mem_strdup(name);
  }
  if (home == NULL || atomic_load(&home->is_offline)) {
    return mem_strdup(path);
  }
  char id[UUID_TEXT_SIZE];
  uuid_format(&home->meta.directory_id, id);
  return mem_printf("%s/%s", id, name);
}

static bool is_present(const struct log_manager *mgr, const struct uuid *id)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    if (uuid_equal(&mgr->dirs[i].meta.directory_id, id)) {
      return true;
    }
  }
  return false;
}

/// Where the directory of an id was last, as the others remember; NULL: they do not. Owned: mem_free().
static char *remembered_path(const struct log_manager *mgr, const struct uuid *id)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    const char *path = mgr->dirs[i].meta.paths;
    for (const char *at = mgr->dirs[i].meta.directories; at != NULL && path != NULL; at = strchr(at, ',')) {
      struct uuid other;
      char text[UUID_TEXT_SIZE] = {0};
      at += *at == ',';
      memcpy(text, at, sizeof text - 1);
      size_t length = strcspn(path, "\n");
      if (length > 0 && uuid_parse(text, &other) == 0 && uuid_equal(&other, id)) {
        return mem_printf("%.*s", (int)length, path);
      }
      path = path[length] == '\n' ? path + length + 1 : NULL;
    }
  }
  return NULL;
}

static void add_missing(struct log_manager *mgr, const struct uuid *id, const struct log_dir *dir)
{
  for (size_t i = 0; i < mgr->missing_count; i++) {
    if (uuid_equal(&mgr->missing[i], id)) {
      return;
    }
  }
  bool may_be_offline = false;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    may_be_offline = may_be_offline || (atomic_load(&mgr->dirs[i].is_offline) && !mgr->dirs[i].has_meta);
  }
  if (!may_be_offline) {
    char text[UUID_TEXT_SIZE];
    uuid_format(id, text);
    char *path = remembered_path(mgr, id);
    slog_warn(
        "data directory %s%s(directory.id=%s) is missing: partitions that are in no other one stay offline. If it "
        "is gone for good, remove this id from luka.directories in %s",
        path != NULL ? path : "", path != NULL ? " " : "", text, dir->meta_path);
    mem_free(path);
  }
  mgr->missing = mem_realloc(mgr->missing, (mgr->missing_count + 1) * sizeof *mgr->missing);
  mgr->missing[mgr->missing_count++] = *id;
}

void log_manager_find_missing(struct log_manager *mgr)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    const struct log_dir *dir = &mgr->dirs[i];
    for (const char *at = dir->meta.directories; at != NULL; at = strchr(at, ',')) {
      struct uuid id;
      char text[UUID_TEXT_SIZE] = {0};
      at += *at == ',';
      memcpy(text, at, sizeof text - 1); // as long as it is, or the file would not have been read
      if (uuid_parse(text, &id) == 0 && !is_present(mgr, &id)) {
        add_missing(mgr, &id, dir);
      }
    }
  }
}

char *log_manager_directories_text(const struct log_manager *mgr)
{
  char *list = mem_strdup("");
  size_t count = 0;
  for (size_t i = 0; i < mgr->dir_count + mgr->missing_count; i++) {
    const struct uuid *id = i < mgr->dir_count ? &mgr->dirs[i].meta.directory_id : &mgr->missing[i - mgr->dir_count];
    if (uuid_is_zero(id)) {
      continue; // offline and never read: if it has one, it is among the missing ones
    }
    char text[UUID_TEXT_SIZE];
    uuid_format(id, text);
    char *longer = mem_printf("%s%s%s", list, count == 0 ? "" : ",", text);
    mem_free(list);
    list = longer;
    count++;
  }
  if (count < 2) {
    mem_free(list);
    return NULL;
  }
  return list;
}

char *log_manager_paths_text(const struct log_manager *mgr)
{
  enum { PATHS_MAX = 16 * 1024 };
  char *list = mem_strdup("");
  size_t count = 0;
  for (size_t i = 0; i < mgr->dir_count + mgr->missing_count; i++) {
    bool is_here = i < mgr->dir_count;
    const struct uuid *id = is_here ? &mgr->dirs[i].meta.directory_id : &mgr->missing[i - mgr->dir_count];
    if (uuid_is_zero(id)) {
      continue;
    }
    char *real = is_here ? realpath(mgr->dirs[i].path, NULL) : NULL;
    char *path = real == NULL ? remembered_path(mgr, id) : mem_strdup(real);
    free(real);
    bool is_known = path != NULL && strchr(path, '\n') == NULL;
    char *longer = mem_printf("%s%s%s", list, count == 0 ? "" : "\n", is_known ? path : "");
    mem_free(path);
    mem_free(list);
    list = longer;
    count++;
  }
  if (count < 2 || strlen(list) > PATHS_MAX) {
    mem_free(list);
    return NULL;
  }
  return list;
}
