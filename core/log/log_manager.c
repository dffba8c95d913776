// SPDX-License-Identifier: Apache-2.0
//
// The life of a log manager: directories opened, claimed, and closed again.
#include "log/log_manager.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/loop.h"
#include "log/cleaner.h"
#include "log/log.h"
#include "log/log_manager_private.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/thread.h"

/// Whether one path leads into a folder of another, as both are written.
static bool is_inside(const char *path, const char *outer)
{
  size_t length = strlen(outer);
  while (length > 1 && outer[length - 1] == '/') {
    length--;
  }
  size_t slashes = strncmp(path, outer, length) == 0 ? strspn(path + length, "/") : 0;
  return slashes > 0 && path[length + slashes] != '\0';
}

/// One directory inside another would be taken for what the other holds.
static int check_nesting(const struct log_manager_config *config)
{
  for (size_t i = 0; i < config->dir_count; i++) {
    for (size_t j = 0; j < config->dir_count; j++) {
      if (is_inside(config->dirs[i], config->dirs[j])) {
        return error_set(ERR_CONFIG, "data directory %s lies inside %s: give each a folder of its own", config->dirs[i],
                         config->dirs[j]);
      }
    }
  }
  return 0;
}

/// Opens all directories. One that answers as a broken disk does is offline from the start.
static int open_dirs(struct log_manager *mgr, const struct log_manager_config *config)
{
  size_t working = 0;
  TRY(check_nesting(config));
  for (size_t i = 0; i < config->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    int result = log_dir_open(dir, config->dirs[i]);
    mgr->dir_count = i + 1;
    // A folder named twice is locked by ourselves: say what it is.
    for (size_t j = 0; j < i && dir->inode != 0; j++) {
      if (mgr->dirs[j].device == dir->device && mgr->dirs[j].inode == dir->inode) {
        return error_set(ERR_CONFIG, "data directories %s and %s are the same folder", mgr->dirs[j].path, dir->path);
      }
    }
    if (result == 0) {
      result = log_dir_scan(dir);
    }
    if (result < 0 && (!log_manager_is_disk_failure(result) || config->dir_count == 1)) {
      return result;
    }
    if (result < 0) {
      slog_error("data directory %s is offline: %s", dir->path, error_last()->message);
      atomic_store(&dir->is_offline, true);
    } else {
      working++;
    }
  }
  return working > 0 ? 0 : error_set(ERR_IO, "none of the data directories works");
}

/// Two values of the same meaning in two files; equal when one is not there.
static int agree(const char *key, const struct log_dir *a, const char *in_a, const struct log_dir *b, const char *in_b)
{
  if (in_a == NULL || in_b == NULL || strcmp(in_a, in_b) == 0) {
    return 0;
  }
  return error_set(ERR_CONFIG, "the data directories do not belong together: %s says %s=%s, %s says %s=%s",
                   a->meta_path, key, in_a, b->meta_path, key, in_b);
}

static int check_pair(const struct log_dir *a, const struct log_dir *b)
{
  if (a->meta.node_id >= 0 && b->meta.node_id >= 0 && a->meta.node_id != b->meta.node_id) {
    return error_set(ERR_CONFIG,
                     "the data directories do not belong together: %s is of broker id %" PRId32
                     ", %s is of broker id %" PRId32,
                     a->meta_path, a->meta.node_id, b->meta_path, b->meta.node_id);
  }
  TRY(agree("cluster.id", a, a->meta.cluster_id, b, b->meta.cluster_id));
  TRY(agree("luka.metadata", a, a->meta.metadata, b, b->meta.metadata));
  if (!uuid_is_zero(&a->meta.directory_id) && uuid_equal(&a->meta.directory_id, &b->meta.directory_id)) {
    return error_set(ERR_CONFIG, "%s and %s have the same directory.id: one is a copy of the other", a->meta_path,
                     b->meta_path);
  }
  return 0;
}

static int check_identity(struct log_manager *mgr, const struct log_manager_config *config)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    const struct log_dir *dir = &mgr->dirs[i];
    TRY(meta_properties_check(&dir->meta, dir->meta_path, config->node_id, NULL, config->metadata));
    for (size_t j = 0; j < i; j++) {
      TRY(check_pair(&mgr->dirs[j], dir));
    }
  }
  return 0;
}

static int compare_found(const void *left, const void *right)
{
  const struct log_found *a = left;
  const struct log_found *b = right;
  int order = strcmp(a->topic, b->topic);
  return order != 0 ? order : (a->partition > b->partition) - (a->partition < b->partition);
}

/// Lists the partitions of all directories; one that lies in two of them is nothing we can decide, unless it was being
/// moved.
static int list_found(struct log_manager *mgr)
{
  size_t count = 0;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    count += mgr->dirs[i].folder_count;
  }
  mgr->found = mem_array(count + 1, sizeof *mgr->found);
  for (size_t i = 0; i < mgr->dir_count; i++) {
    const struct log_dir *dir = &mgr->dirs[i];
    for (size_t j = 0; j < dir->folder_count && !atomic_load(&dir->is_offline); j++) {
      struct log_found *found = &mgr->found[mgr->found_count++];
      found->topic = dir->folders[j].topic;
      found->partition = dir->folders[j].partition;
      found->topic_id = dir->folders[j].topic_id;
      found->dir = dir->path;
    }
  }
  qsort(mgr->found, mgr->found_count, sizeof *mgr->found, compare_found);
  struct log_found *found = mgr->found;
  size_t kept = 0;
  for (size_t i = 0; i < mgr->found_count; i++) {
    struct log_found *a = kept > 0 ? &found[kept - 1] : NULL;
    const struct log_found *b = &found[i];
    if (a == NULL || compare_found(a, b) != 0) {
      found[kept++] = *b;
    } else if (log_manager_keep_moved(mgr, b, a)) {
      *a = *b;
    } else if (!log_manager_keep_moved(mgr, a, b)) {
      return error_set(ERR_EXISTS, "partition %s-%" PRId32 " lies in two data directories: %s and %s; move one away",
                       a->topic, a->partition, a->dir, b->dir);
    }
  }
  mgr->found_count = kept;
  return 0;
}

void log_manager_configure(struct log_manager *mgr, int recovery_threads, int64_t producer_expiration_ms,
                           int64_t file_delete_delay_ms)
{
  atomic_store(&mgr->recovery_threads, recovery_threads < 1 ? 1 : recovery_threads);
  atomic_store(&mgr->producer_expiration_ms, producer_expiration_ms);
  atomic_store(&mgr->file_delete_delay_ms, file_delete_delay_ms);
}

int log_manager_new(const struct log_manager_config *config, struct log_manager **mgr)
{
  CHECK(config->dir_count >= 1);
  CHECK((config->loop == NULL) == (config->pool == NULL));
  struct log_manager *made = mem_zalloc(sizeof *made);
  pthread_mutex_init(&made->lock, NULL);
  pthread_cond_init(&made->changed, NULL);
  made->dirs = mem_array(config->dir_count, sizeof *made->dirs);
  made->writers = mem_array(config->dir_count, sizeof *made->writers);
  log_manager_configure(made, config->recovery_threads, config->producer_expiration_ms, config->file_delete_delay_ms);
  atomic_init(&made->reserve_bytes, config->reserve_bytes);
  log_write_backs_create(made, config->dir_count);
  made->loop = config->loop;
  made->pool = config->pool;
  deletion_create(&made->deletions, config->loop, config->pool);
  log_work_create(made, config);
  made->cleaner = cleaner_new(made, &config->cleaner);
  int result = open_dirs(made, config);
  log_journals_create(made);
  if (result == 0) {
    result = log_manager_resolve_metadata(made, config->metadata);
    log_manager_find_missing(made);
  }
  if (result == 0) {
    result = check_identity(made, config);
  }
  if (result == 0) {
    result = list_found(made);
  }
  if (result < 0) {
    log_manager_abandon(made);
    return result;
  }
  *mgr = made;
  return 0;
}

void log_manager_identity(const struct log_manager *mgr, struct log_identity *identity)
{
  *identity = (struct log_identity){.node_id = -1};
  for (size_t i = 0; i < mgr->dir_count; i++) {
    const struct log_dir *dir = &mgr->dirs[i];
    if (dir->meta.node_id >= 0) {
      identity->node_id = dir->meta.node_id;
    }
    if (dir->meta.cluster_id != NULL) {
      strncpy(identity->cluster_id, dir->meta.cluster_id, sizeof identity->cluster_id - 1);
    }
    if (dir->meta.metadata != NULL) {
      identity->metadata = dir->meta.metadata;
    }
    if (atomic_load(&dir->is_offline) && identity->offline_dir == NULL) {
      identity->offline_dir = dir->path;
    }
    bool is_foreign = dir->folder_count > 0 && dir->meta.metadata == NULL;
    if (is_foreign && !identity->is_foreign) {
      identity->is_foreign = true;
      identity->foreign_dir = dir->path;
    }
  }
}

const struct log_found *log_manager_found(const struct log_manager *mgr, size_t *count)
{
  *count = mgr->found_count;
  return mgr->found;
}

bool log_manager_was_clean(const struct log_manager *mgr)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    const struct log_dir *dir = &mgr->dirs[i];
    if (atomic_load(&dir->is_offline) || (dir->folder_count > 0 && !dir->was_clean)) {
      return false;
    }
  }
  return true;
}

static bool is_same_text(const char *a, const char *b)
{
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int claim_dir(struct log_manager *mgr, struct log_dir *dir, int32_t node_id, const char *cluster_id,
                     const char *metadata)
{
  struct meta_properties *meta = &dir->meta;
  char *text = log_manager_metadata_text(mgr, dir, metadata);
  char *directories = log_manager_directories_text(mgr);
  char *paths = log_manager_paths_text(mgr);
  if (dir->has_id && dir->has_meta && meta->node_id >= 0 && meta->cluster_id != NULL &&
      is_same_text(dir->metadata_text, text) && is_same_text(meta->directories, directories) &&
      is_same_text(meta->paths, paths)) {
    mem_free(text);
    mem_free(directories);
    mem_free(paths);
    return 0;
  }
  meta->node_id = node_id;
  if (meta->cluster_id == NULL) {
    meta->cluster_id = mem_strdup(cluster_id);
  }
  if (meta->metadata == NULL) {
    meta->metadata = mem_strdup(metadata);
  }
  mem_free(dir->metadata_text);
  dir->metadata_text = text;
  mem_free(meta->directories);
  meta->directories = directories;
  mem_free(meta->paths);
  meta->paths = paths;
  struct meta_properties written = *meta;
  written.metadata = text;
  TRY(meta_properties_write(dir->meta_path, &written));
  dir->has_meta = true;
  dir->has_id = true;
  return 0;
}

int log_manager_claim(struct log_manager *mgr, int32_t node_id, const char *cluster_id, const char *metadata)
{
  CHECK(node_id >= 0 && cluster_id != NULL && metadata != NULL && metadata[0] == '/');
  // All are compared before the first is changed.
  for (size_t i = 0; i < mgr->dir_count; i++) {
    const struct log_dir *dir = &mgr->dirs[i];
    TRY(meta_properties_check(&dir->meta, dir->meta_path, node_id, cluster_id, metadata));
  }
  // All have their ids before one of them is written, as they name each other by them.
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    dir->has_id = !uuid_is_zero(&dir->meta.directory_id);
    if (!dir->has_id && !atomic_load(&dir->is_offline)) {
      uuid_random(&dir->meta.directory_id);
    }
  }
  for (size_t i = 0; i < mgr->dir_count; i++) {
    if (!atomic_load(&mgr->dirs[i].is_offline)) {
      TRY(claim_dir(mgr, &mgr->dirs[i], node_id, cluster_id, metadata));
    }
  }
  return 0;
}

void log_manager_configure_cleaner(struct log_manager *mgr, const struct log_cleaner_config *config)
{
  cleaner_configure(mgr->cleaner, config);
}

void log_manager_end_cleaner(struct log_manager *mgr)
{
  cleaner_join(mgr->cleaner);
}

void log_manager_set_hooks(struct log_manager *mgr, const struct log_manager_hooks *hooks)
{
  mgr->hooks = *hooks;
}

void log_manager_usage(struct log_manager *mgr, void (*each_dir)(void *arg, const struct log_dir_usage *dir),
                       void (*each_log)(void *arg, const struct log_usage *log), void *arg)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    size_t count = 0;
    struct log_entry **entries = log_entries_take(mgr, dir, &count);
    struct log_dir_usage usage = {
        .path = dir->path, .id = dir->meta.directory_id, .total_bytes = -1, .usable_bytes = -1, .log_count = count};
    usage.is_offline = atomic_load(&dir->is_offline);
    if (!usage.is_offline && dir_space(dir->path, &usage.usable_bytes, &usage.total_bytes) < 0) {
      usage.usable_bytes = usage.total_bytes = -1;
    }
    each_dir(arg, &usage);
    for (size_t j = 0; j < count && !usage.is_offline; j++) {
      struct log_usage one = {
          .topic = entries[j]->topic, .partition = entries[j]->partition, .bytes = log_size_bytes(entries[j]->log)};
      each_log(arg, &one);
    }
    log_entries_release(mgr, entries, count);
    if (!usage.is_offline) {
      log_movers_usage(mgr, dir, each_log, arg);
    }
  }
}

/// Free bytes of a directory, asked at most once a second; -1: not known.
static int64_t free_space(struct log_dir *dir)
{
  enum { SPACE_EVERY_MS = 1000 };
  int64_t now_ms = clock_mono_ms();
  int64_t asked_ms = atomic_load(&dir->space_asked_ms);
  if ((asked_ms == 0 || now_ms - asked_ms >= SPACE_EVERY_MS) &&
      atomic_compare_exchange_strong(&dir->space_asked_ms, &asked_ms, now_ms)) {
    int64_t free_bytes = 0;
    int64_t total_bytes = 0;
    int result = dir_space(dir->path, &free_bytes, &total_bytes);
    atomic_store(&dir->space_free_bytes, result < 0 ? -1 : free_bytes);
  }
  return atomic_load(&dir->space_free_bytes);
}

/// True when a directory has more than the reserve free; a change is logged.
static bool has_space(struct log_dir *dir, int64_t reserve_bytes)
{
  enum { BYTES_PER_MIB = 1024 * 1024 };
  int64_t free_bytes = free_space(dir);
  bool is_short = free_bytes >= 0 && free_bytes <= reserve_bytes;
  if (atomic_load_explicit(&dir->is_short, memory_order_relaxed) == is_short ||
      atomic_exchange(&dir->is_short, is_short) == is_short) {
    return !is_short;
  }
  if (is_short) {
    slog_warn("%s: writes are refused: %" PRId64 " MiB are free, and %" PRId64
              " MiB are to stay free (log_dir_reserve_bytes)",
              dir->path, free_bytes / BYTES_PER_MIB, reserve_bytes / BYTES_PER_MIB);
  } else {
    slog_info("%s has space again: writes are taken", dir->path);
  }
  return !is_short;
}

static int64_t reserve_of(const struct log_manager *mgr)
{
  return atomic_load_explicit(&mgr->reserve_bytes, memory_order_relaxed);
}

void log_manager_ask_space(struct log_manager *mgr)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    if (!atomic_load(&mgr->dirs[i].is_offline)) {
      has_space(&mgr->dirs[i], reserve_of(mgr));
    }
  }
}

void log_manager_set_reserve(struct log_manager *mgr, int64_t reserve_bytes)
{
  atomic_store_explicit(&mgr->reserve_bytes, reserve_bytes, memory_order_relaxed);
}

bool log_manager_has_space(struct log_manager *mgr, struct log *log)
{
  return has_space(log_manager_dir_of(mgr, log), reserve_of(mgr));
}

void log_manager_forget_space(struct log_manager *mgr, struct log *log)
{
  atomic_store(&log_manager_dir_of(mgr, log)->space_asked_ms, 0);
}

/// Logs of one directory that several threads close.
struct closing {
  struct log_entry **entries; ///< what to close
  size_t count;               ///< entries
  _Atomic(size_t) next;       ///< the first that no thread has taken
  _Atomic(int) error;         ///< the first failure
};

static void close_some(struct closing *closing)
{
  for (size_t i; (i = atomic_fetch_add(&closing->next, 1)) < closing->count;) {
    struct log_entry *entry = closing->entries[i];
    int64_t end_offset = log_end_offset(entry->log);
    int result = log_close(entry->log);
    entry->log = NULL;
    entry->state = LOG_ENTRY_FAILED;
    if (result == 0) {
      entry->offsets[LOG_DIR_RECOVERY_POINTS] = end_offset;
    } else {
      slog_error("cannot close %s-%" PRId32 " cleanly: %s", entry->topic, entry->partition, error_last()->message);
      int none = 0;
      atomic_compare_exchange_strong(&closing->error, &none, result);
    }
  }
}

static void *run_close(void *arg)
{
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  epoch_enter();
  close_some(arg);
  epoch_leave();
  epoch_unregister();
  return NULL;
}

/// Closes all logs of a directory on several threads, this one among them.
static int close_logs(struct log_manager *mgr, struct log_dir *dir)
{
  struct closing closing = {0};
  closing.entries = log_entries_take(mgr, dir, &closing.count);
  size_t most = (size_t)atomic_load(&mgr->recovery_threads);
  size_t wanted = closing.count < most ? closing.count : most;
  pthread_t *threads = mem_array(wanted + 1, sizeof *threads);
  size_t started = 0;
  while (started + 1 < wanted && thread_start(&threads[started], "luka-close", run_close, &closing) == 0) {
    started++;
  }
  close_some(&closing);
  for (size_t i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
  }
  mem_free(threads);
  log_entries_release(mgr, closing.entries, closing.count);
  return atomic_load(&closing.error);
}

/// True when a log of the directory did not open: its tail may be damaged, so the next start has to look.
static bool has_unopened(const struct log_manager *mgr, const struct log_dir *dir)
{
  for (size_t i = 0; i < mgr->table.count; i++) {
    if (log_entry_dir(mgr->table.entries[i]) == dir && mgr->table.entries[i]->state == LOG_ENTRY_FAILED) {
      return true;
    }
  }
  return false;
}

static void discard_logs(struct log_manager *mgr, struct log_dir *dir)
{
  size_t count = 0;
  struct log_entry **entries = log_entries_take(mgr, dir, &count);
  for (size_t i = 0; i < count; i++) {
    log_discard(entries[i]->log);
    entries[i]->log = NULL;
  }
  log_entries_release(mgr, entries, count);
}

static int stop_dir(struct log_manager *mgr, struct log_dir *dir)
{
  if (atomic_load(&dir->is_offline)) {
    discard_logs(mgr, dir);
    return 0;
  }
  // What it says counts as long as its logs were not looked at.
  if (!dir->is_started) {
    return 0;
  }
  // Nor may it take what a journal was kept for as done with: that log may belong to another directory.
  bool is_clean = !has_unopened(mgr, dir) && !mgr->journals[dir - mgr->dirs].is_kept;
  // The high watermarks and start offsets need the logs and their owners; the recovery points are known afterwards.
  int first = log_checkpoints_write(mgr, dir, LOG_DIR_HIGH_WATERMARKS);
  int result = log_checkpoints_write(mgr, dir, LOG_DIR_START_OFFSETS);
  first = first == 0 ? result : first;
  result = log_checkpoints_write(mgr, dir, LOG_DIR_CLEAN_OFFSETS);
  first = first == 0 ? result : first;
  result = close_logs(mgr, dir);
  first = first == 0 ? result : first;
  mgr->writers[dir - mgr->dirs].is_stale[LOG_DIR_RECOVERY_POINTS] = true;
  result = log_checkpoints_write(mgr, dir, LOG_DIR_RECOVERY_POINTS);
  first = first == 0 ? result : first;
  if (first == 0 && is_clean && !atomic_load(&dir->is_offline)) {
    first = clean_shutdown_write(dir->path);
  }
  return first;
}

int log_manager_stop(struct log_manager *mgr)
{
  CHECK(!mgr->is_running);
  int first = 0;
  // A disk that fails now is nobody's concern any more: the loops that would hear of it have ended.
  mgr->hooks.log_failed = NULL;
  log_manager_end_cleaner(mgr);
  log_movers_stop(mgr);
  for (size_t i = 0; i < mgr->dir_count; i++) {
    int result = stop_dir(mgr, &mgr->dirs[i]);
    first = first == 0 ? result : first;
  }
  log_manager_abandon(mgr);
  return first;
}

void log_manager_abandon(struct log_manager *mgr)
{
  cleaner_delete(mgr->cleaner);
  log_journals_destroy(mgr);
  for (size_t i = 0; i < mgr->dir_count; i++) {
    log_dir_destroy(&mgr->dirs[i]);
  }
  log_movers_forget(mgr);
  log_wishes_destroy(mgr);
  log_rests_destroy(mgr);
  log_table_destroy(&mgr->table);
  deletion_destroy(&mgr->deletions);
  mem_free(mgr->found);
  mem_free(mgr->missing);
  log_write_backs_destroy(mgr);
  mem_free(mgr->writers);
  mem_free(mgr->dirs);
  pthread_cond_destroy(&mgr->changed);
  pthread_mutex_destroy(&mgr->lock);
  mem_free(mgr);
}
