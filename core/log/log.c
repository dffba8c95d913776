// SPDX-License-Identifier: Apache-2.0
#include "log/log.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "log/log_private.h"
#include "log/partition_metadata.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/errinj.h"
#include "os/file.h"

/// Of all logs of the process; next to what a flush costs they are free.
static _Atomic(int64_t) log_flushes;
static _Atomic(int64_t) log_flush_failures;
static _Atomic(int64_t) log_syncs;

static int log_flush_segments(struct log *log, int64_t from_offset, int64_t to_offset);
static int log_flush_locked(struct log *log, int64_t offset);

void log_config_default(struct log_config *config)
{
  *config = (struct log_config){
      .segment_bytes = 1024 * 1024 * 1024,
      .index_interval_bytes = 4096,
      .segment_index_bytes = 10 * 1024 * 1024,
      .max_message_bytes = 1024 * 1024 + 12,
      .segment_ms = INT64_C(7) * 24 * 3600 * 1000,
      .retention_bytes = -1,
      .retention_ms = INT64_C(7) * 24 * 3600 * 1000,
      .file_delete_delay_ms = INT64_C(60) * 1000,
      .flush_messages = INT64_MAX,
      .flush_ms = INT64_MAX,
      .delete_retention_ms = INT64_C(24) * 3600 * 1000,
      .max_compaction_lag_ms = INT64_MAX,
      .min_dirty_ratio = 0.5,
      .is_deleting = true,
  };
}

// --- the struct ------------------------------------------------------------------------------------------------------

static struct log_path *log_path_new(const char *text)
{
  size_t size = strlen(text) + 1;
  struct log_path *path = mem_zalloc(sizeof *path + size);
  memcpy(path->text, text, size);
  return path;
}

static struct log_config_version *log_config_new(const struct log_config *config)
{
  struct log_config_version *version = mem_zalloc(sizeof *version);
  version->config = *config;
  return version;
}

struct log *log_new(const struct log_open_args *args)
{
  struct log *log = mem_zalloc(sizeof *log);
  atomic_init(&log->path, log_path_new(args->dir));
  atomic_init(&log->config, log_config_new(&args->config));
  leader_epochs_create(&log->epochs);
  producers_create(&log->producers);
  atomic_init(&log->first_unstable_offset, INT64_MAX);
  atomic_init(&log->clean_offset, args->clean_offset);
  log->swap_base = -1;
  pthread_mutex_init(&log->flush_lock, NULL);
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&log->switched, &attr);
  pthread_condattr_destroy(&attr);
  atomic_init(&log->flushed_ms, clock_mono_ms());
  log->topic_id = args->topic_id;
  log->on_deleted = args->on_deleted;
  log->on_rolled = args->on_rolled;
  log->on_unflushed = args->on_unflushed;
  log->on_filled = args->on_filled;
  log->on_cut = args->on_cut;
  log->arg = args->arg;
  return log;
}

void log_free(struct log *log)
{
  struct segment_list *list = log_list(log);
  if (log->misnamed != NULL) {
    log_file_unref(log->misnamed);
  }
  for (int i = 0; list != NULL && i < list->count; i++) {
    segment_free(list->segments[i]);
  }
  mem_free(list);
  tail_destroy(&log->tail);
  leader_epochs_destroy(&log->epochs);
  log_snapshots_drop(log);
  producers_destroy(&log->producers);
  pthread_cond_destroy(&log->switched);
  log_transactions_destroy(log);
  pthread_mutex_destroy(&log->flush_lock);
  mem_free(atomic_load(&log->config));
  mem_free(atomic_load(&log->path));
  mem_free(log->parts);
  mem_free(log);
}

static void log_free_retired(struct epoch_retired *retired)
{
  log_free(CONTAINER_OF(retired, struct log, retired));
}

int log_fail(const struct log *log, int result)
{
  if (result >= 0 || result == ERR_AGAIN || result == ERR_OFFSET_OUT_OF_RANGE || result == ERR_NOT_FOUND) {
    return result;
  }
  struct error_detail detail = *error_last();
  if (detail.code != result || strstr(detail.message, log_dir(log)) != NULL) {
    return result;
  }
  return error_record(result, 0, detail.file, detail.line, "%s: %.*s", log_dir(log), ERROR_MESSAGE_SIZE / 2,
                      detail.message);
}

void log_publish_list(struct log *log, struct segment_list *list)
{
  struct segment_list *old = atomic_exchange(&log->segments, list);
  if (old != NULL) {
    segment_list_retire(old);
  }
}

void log_publish_end(struct log *log, int64_t offset, int64_t segment_base, int64_t pos)
{
  struct log_end *end = &log->end;
  uint32_t changes = atomic_load_explicit(&end->changes, memory_order_relaxed);
  atomic_store_explicit(&end->changes, changes + 1, memory_order_relaxed);
  // Release each: a reader that meets a new value also sees the odd counter.
  atomic_store_explicit(&end->offset, offset, memory_order_release);
  atomic_store_explicit(&end->segment_base, segment_base, memory_order_release);
  atomic_store_explicit(&end->pos, pos, memory_order_release);
  atomic_store_explicit(&end->changes, changes + 2, memory_order_release);
}

void log_end_position(const struct log *log, struct log_position *position)
{
  const struct log_end *end = &log->end;
  for (;;) {
    uint32_t changes = atomic_load_explicit(&end->changes, memory_order_acquire);
    position->offset = atomic_load_explicit(&end->offset, memory_order_acquire);
    position->segment_base = atomic_load_explicit(&end->segment_base, memory_order_acquire);
    position->pos = atomic_load_explicit(&end->pos, memory_order_acquire);
    if (changes % 2 == 0 && atomic_load_explicit(&end->changes, memory_order_relaxed) == changes) {
      return;
    }
  }
}

int log_open_segment(struct log *log, struct segment *seg, struct log_file **file)
{
  *file = log_file_get(&seg->file);
  if (*file != NULL) {
    return 0;
  }
  size_t map_bytes = (size_t)seg->offset_index.room * OFFSET_INDEX_ENTRY_SIZE;
  const struct log_path *path = NULL;
  int result = 0;
  do {
    path = atomic_load(&log->path);
    // A segment that was just deleted still has readers; a log that was just renamed has a new path.
    for (int i = 0; i < 2; i++) {
      char *name = segment_path(path->text, seg->base_offset, i == 0 ? ".log" : ".log.deleted");
      char *index_name = segment_path(path->text, seg->base_offset, i == 0 ? ".index" : ".index.deleted");
      result = log_file_open(&seg->file, name, index_name, map_bytes, file);
      mem_free(name);
      mem_free(index_name);
      if (result != ERR_NOT_FOUND) {
        return result;
      }
    }
  } while (path != atomic_load(&log->path));
  return result;
}

// --- configuration, names, getters -----------------------------------------------------------------------------------

static void log_config_free(struct epoch_retired *retired)
{
  mem_free(CONTAINER_OF(retired, struct log_config_version, retired));
}

void log_set_config(struct log *log, const struct log_config *config)
{
  struct log_config_version *old = atomic_exchange(&log->config, log_config_new(config));
  epoch_retire(&old->retired, log_config_free);
  log_note_unflushed(log, log_get_config(log));
}

const struct log_config *log_get_config(const struct log *log)
{
  return &atomic_load_explicit(&log->config, memory_order_acquire)->config;
}

static void log_path_free(struct epoch_retired *retired)
{
  mem_free(CONTAINER_OF(retired, struct log_path, retired));
}

void log_set_path(struct log *log, const char *dir)
{
  struct log_path *old = atomic_exchange(&log->path, log_path_new(dir));
  epoch_retire(&old->retired, log_path_free);
}

int log_rename(struct log *log, const char *new_dir)
{
  TRY(dir_rename(log_dir(log), new_dir));
  log_set_path(log, new_dir);
  return 0;
}

const char *log_dir(const struct log *log)
{
  return atomic_load_explicit(&log->path, memory_order_acquire)->text;
}

void log_topic_id(const struct log *log, struct uuid *topic_id)
{
  *topic_id = log->topic_id;
}

int64_t log_start_offset(const struct log *log)
{
  return atomic_load_explicit(&log->start_offset, memory_order_acquire);
}

int64_t log_end_offset(const struct log *log)
{
  return atomic_load_explicit(&log->end.offset, memory_order_acquire);
}

int64_t log_recovery_point(const struct log *log)
{
  return atomic_load_explicit(&log->recovery_point, memory_order_acquire);
}

int64_t log_flushed_ms(const struct log *log)
{
  return atomic_load_explicit(&log->flushed_ms, memory_order_relaxed);
}

int64_t log_clean_offset(const struct log *log)
{
  return atomic_load_explicit(&log->clean_offset, memory_order_acquire);
}

int64_t log_size_bytes(const struct log *log)
{
  return atomic_load_explicit(&log->size_bytes, memory_order_relaxed);
}

int64_t log_unflushed_offsets(const struct log *log)
{
  return log_end_offset(log) - log_recovery_point(log);
}

int log_segment_count(const struct log *log)
{
  return log_list(log)->count;
}

int64_t log_active_base_offset(const struct log *log)
{
  return log_active(log)->base_offset;
}

int32_t log_latest_epoch(const struct log *log)
{
  return leader_epochs_latest(&log->epochs);
}

void log_epoch_end_offset(const struct log *log, int32_t epoch, int32_t *found_epoch, int64_t *end_offset)
{
  leader_epochs_end_offset(&log->epochs, epoch, log_end_offset(log), found_epoch, end_offset);
}

int32_t log_epoch_for_offset(const struct log *log, int64_t offset)
{
  return leader_epochs_for_offset(&log->epochs, offset);
}

void log_assign_leader_epoch(struct log *log, int32_t epoch)
{
  if (epoch > leader_epochs_latest(&log->epochs)) {
    leader_epochs_assign(&log->epochs, epoch, log_end_offset(log));
  }
}

// --- durability ------------------------------------------------------------------------------------------------------

int log_sync_names(struct log *log)
{
  const char *dir = log_dir(log);
  if (atomic_exchange(&log->is_id_dirty, false)) {
    int result = partition_metadata_sync(dir);
    if (result < 0) {
      atomic_store(&log->is_id_dirty, true);
      return result;
    }
  }
  if (atomic_exchange(&log->is_dir_dirty, false)) {
    int result = dir_sync(dir);
    if (result < 0) {
      atomic_store(&log->is_dir_dirty, true);
      return result;
    }
  }
  if (atomic_exchange(&log->is_parent_dirty, false)) {
    const char *slash = strrchr(dir, '/');
    char *parent = slash == NULL ? mem_strdup(".") : mem_printf("%.*s/", (int)(slash - dir), dir);
    int result = dir_sync(parent);
    mem_free(parent);
    if (result < 0) {
      atomic_store(&log->is_parent_dirty, true);
    }
    return result;
  }
  return 0;
}

/// Waits for the switch to a copy in another folder (log_move.h). Whoever makes it may never come to it, when the
/// broker stops: then the flush goes on, and the switch does not happen. Holding flush_lock.
static void log_wait_for_switch(struct log *log)
{
  enum { SWITCH_WAIT_MS = 1000 };
  int64_t until_ns = clock_mono_ns() + SWITCH_WAIT_MS * INT64_C(1000000);
  struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
  while (atomic_load(&log->is_switching)) {
    if (pthread_cond_timedwait(&log->switched, &log->flush_lock, &until) != 0) {
      atomic_store(&log->is_switching, false);
    }
  }
}

int log_flush(struct log *log, int64_t offset)
{
  CHECK(epoch_is_inside());
  pthread_mutex_lock(&log->flush_lock);
  log_wait_for_switch(log);
  int result =
      log->has_sync_failed
          ? error_set(ERR_IO, "%s: an fsync failed before, so that nothing more counts as on disk", log_dir(log))
          : log_flush_locked(log, offset);
  atomic_fetch_add_explicit(&log_flush_failures, result < 0 ? 1 : 0, memory_order_relaxed);
  log->has_sync_failed = log->has_sync_failed || result == ERR_IO || result == ERR_READ_ONLY;
  pthread_mutex_unlock(&log->flush_lock);
  return log_fail(log, result);
}

void log_flush_counts(struct log_flush_counts *counts)
{
  counts->flushes = atomic_load_explicit(&log_flushes, memory_order_relaxed);
  counts->failures = atomic_load_explicit(&log_flush_failures, memory_order_relaxed);
  counts->syncs = atomic_load_explicit(&log_syncs, memory_order_relaxed);
}

void log_count_sync(void)
{
  atomic_fetch_add_explicit(&log_syncs, 1, memory_order_relaxed);
}

static int log_flush_locked(struct log *log, int64_t offset)
{
  int64_t began_ms = clock_mono_ms();
  int64_t end_offset = log_end_offset(log);
  int64_t to_offset = offset < end_offset ? offset : end_offset;
  int64_t from_offset = log_recovery_point(log);
  TRY(log_snapshots_write(log));
  if (to_offset <= from_offset) {
    return 0;
  }
  TRY(log_flush_segments(log, from_offset, to_offset));
  TRY(log_sync_names(log));
  TRY(leader_epochs_write(&log->epochs, log_dir(log)));
  // Truncation, which lowers it, holds flush_lock too.
  atomic_store(&log->recovery_point, to_offset);
  atomic_fetch_add_explicit(&log_flushes, 1, memory_order_relaxed);
  if (to_offset == end_offset) {
    atomic_store_explicit(&log->flushed_ms, began_ms, memory_order_relaxed);
  }
  return 0;
}

/// fsync of a segment's file.
static int log_sync_file(struct log_file *file, bool is_data_only)
{
  int injected = errinj_check(ERRINJ_LOG_FLUSH);
  if (injected != 0) {
    return error_set(ERR_IO, "cannot sync a segment: %s", strerror(injected));
  }
  log_count_sync();
  return is_data_only ? file_sync_data(log_file_fd(file)) : file_sync(log_file_fd(file));
}

/// fsync of the segments with offsets in a range; of the active one only the data: its indexes are made good by
/// recovery. A segment below the range was flushed before it was closed, and its indexes written since: they are synced
/// too, as recovery trusts the indexes of what ends below the recovery point.
static int log_flush_segments(struct log *log, int64_t from_offset, int64_t to_offset)
{
  struct segment_list *list = log_list(log);
  int first = segment_list_floor(list, from_offset);
  for (int i = 0; i < first; i++) {
    TRY(segment_sync_indexes(list->segments[i], log_dir(log)));
  }
  for (int i = first < 0 ? 0 : first; i < list->count && list->segments[i]->base_offset < to_offset; i++) {
    struct segment *seg = list->segments[i];
    struct log_file *file = NULL;
    int result = log_open_segment(log, seg, &file);
    if (result == ERR_NOT_FOUND) {
      continue; // Deleted meanwhile.
    }
    TRY(result);
    bool is_active = i == list->count - 1;
    result = log_sync_file(file, is_active);
    log_file_unref(file);
    TRY(result);
    if (!is_active) {
      TRY(segment_sync_indexes(seg, log_dir(log)));
    }
  }
  return 0;
}

int log_unreserve(struct log *log, struct segment *seg)
{
  struct log_file *file = NULL;
  TRY(log_open_segment(log, seg, &file));
  int result = segment_unreserve(seg, log_file_fd(file), log_get_config(log));
  log_file_unref(file);
  return result;
}

/// Everything that a clean start relies on.
static int log_finish(struct log *log)
{
  const char *dir = log_dir(log);
  struct segment_list *list = log_list(log);
  struct segment *active = log_active(log);
  if (active->reserved_pos > 0 && !log_get_config(log)->preallocate) {
    TRY(log_unreserve(log, active)); // what `preallocate` has allotted stays
  }
  TRY(segment_finish_indexes(active, dir, true));
  for (int i = 0; i < list->count; i++) {
    TRY(segment_trim_indexes(list->segments[i], dir));
  }
  log_snapshot_take(log, log_end_offset(log));
  TRY(log_flush(log, INT64_MAX));
  for (int i = 0; i < list->count; i++) {
    TRY(segment_sync_indexes(list->segments[i], dir));
  }
  TRY(log_sync_names(log));
  return leader_epochs_write(&log->epochs, dir);
}

int log_close(struct log *log)
{
  int result = log->is_broken
                   ? error_set(ERR_STORAGE_OFFLINE, "%s: an earlier failure left its files in disorder", log_dir(log))
                   : log_finish(log);
  log_discard(log);
  return result;
}

void log_discard(struct log *log)
{
  epoch_retire(&log->retired, log_free_retired);
}

char *log_dump(const struct log *log, char *text, size_t size)
{
  const struct segment_list *list = log_list(log);
  struct log_position end;
  log_end_position(log, &end);
  int used = snprintf(text, size,
                      "log %s start %" PRId64 " end %" PRId64 " (segment %" PRId64 " pos %" PRId64
                      ") recovery point %" PRId64 " epoch %" PRId32 " bytes %" PRId64 " segments %d:",
                      log_dir(log), log_start_offset(log), end.offset, end.segment_base, end.pos,
                      log_recovery_point(log), log_latest_epoch(log), log_size_bytes(log), list->count);
  for (int i = 0; i < list->count && used >= 0 && (size_t)used < size; i++) {
    const struct segment *seg = list->segments[i];
    used +=
        snprintf(text + used, size - (size_t)used,
                 " [%" PRId64 " size %" PRId64 " index %" PRIu32 " timeindex %" PRIu32 " max timestamp %" PRId64 "%s]",
                 seg->base_offset, atomic_load(&seg->size), atomic_load(&seg->offset_index.count),
                 atomic_load(&seg->time_index.count), atomic_load(&seg->max_timestamp),
                 atomic_load(&seg->file) != NULL ? " open" : "");
  }
  return text;
}
