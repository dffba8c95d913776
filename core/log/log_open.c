// SPDX-License-Identifier: Apache-2.0
//
// Opening a log: a new folder, or what lies in an old one. Runs before anybody else can reach the log, at start-up or
// on the pool.
#include <inttypes.h>
#include <stddef.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log_private.h"
#include "log/partition_metadata.h"
#include "os/dir.h"

static int begin_folder(struct log *log, const struct log_open_args *args);
static int open_found(struct log *log, const struct log_open_args *args);
static int open_folder(struct log *log);
static int open_segments(struct log *log, const struct log_open_args *args, bool has_epochs);
static int keep_segments(const struct log *log);
static int open_first_segment(struct log *log, int64_t base_offset, int64_t now_ms);
static int load_segments(struct log *log, const struct log_open_args *args, bool has_epochs, const int64_t *bases,
                         int count);

int log_open(const struct log_open_args *args, struct log **log)
{
  CHECK(epoch_is_inside());
  struct log *opened = log_new(args);
  int result = args->is_folder_new ? begin_folder(opened, args) : open_found(opened, args);
  if (result < 0) {
    log_fail(opened, result);
    struct error_detail detail = *error_last();
    log_free(opened);
    return error_record(result, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message);
  }
  *log = opened;
  return 0;
}

/// A folder that was made just now has nothing to look for. Nor does anything go to disk yet: with the first flush
/// (log_sync_names) it does, and what a power cut takes before is made anew at the next start.
static int begin_folder(struct log *log, const struct log_open_args *args)
{
  atomic_store(&log->is_dir_dirty, true);
  atomic_store(&log->is_parent_dirty, true);
  if (!uuid_is_zero(&log->topic_id)) {
    TRY(partition_metadata_begin(log_dir(log), &log->topic_id));
    atomic_store(&log->is_id_dirty, true);
  }
  TRY(open_first_segment(log, args->log_start_offset, args->now_ms));
  atomic_store(&log->start_offset, args->log_start_offset);
  atomic_store(&log->recovery_point, args->log_start_offset);
  log->snapshot_offset = args->log_start_offset;
  return 0;
}

static int open_found(struct log *log, const struct log_open_args *args)
{
  bool has_epochs = false;
  bool is_known = !uuid_is_zero(&log->topic_id) && uuid_equal(&args->found_id, &log->topic_id);
  if (!is_known) {
    TRY(open_folder(log));
  }
  TRY(leader_epochs_load(&log->epochs, args->dir, &has_epochs));
  TRY(open_segments(log, args, has_epochs));
  return log_producers_load(log, args->now_ms);
}

int log_read_topic_id(const char *dir, struct uuid *topic_id)
{
  return partition_metadata_read(dir, topic_id);
}

/// Makes the folder if it is missing, and compares or notes its topic id.
static int open_folder(struct log *log)
{
  const char *dir = log_dir(log);
  if (!dir_exists(dir)) {
    TRY(dir_make(dir));
    atomic_store(&log->is_dir_dirty, true);
    atomic_store(&log->is_parent_dirty, true);
  }
  struct uuid found = {0};
  int result = partition_metadata_read(dir, &found);
  bool is_wanted = !uuid_is_zero(&log->topic_id);
  if (result == ERR_NOT_FOUND) {
    return is_wanted ? partition_metadata_write(dir, &log->topic_id) : 0;
  }
  if (partition_metadata_is_damage(result)) {
    // The name of the folder says which partition it is, as where there is no such file.
    slog_warn("%s; %s", error_last()->message, is_wanted ? "it is written anew" : "the topic id counts as unknown");
    return is_wanted ? partition_metadata_write(dir, &log->topic_id) : 0;
  }
  TRY(result);
  if (!is_wanted) {
    log->topic_id = found;
  } else if (!uuid_equal(&found, &log->topic_id)) {
    char found_text[UUID_TEXT_SIZE];
    char wanted_text[UUID_TEXT_SIZE];
    uuid_format(&found, found_text);
    uuid_format(&log->topic_id, wanted_text);
    if (!partition_metadata_is_of(&found, &log->topic_id)) {
      return error_set(ERR_INVALID, "belongs to topic id %s, not %s", found_text, wanted_text);
    }
    slog_warn("%s/partition.metadata: topic id %s is %s with damage: it is written anew", dir, found_text, wanted_text);
    return partition_metadata_write(dir, &log->topic_id);
  }
  return 0;
}

/// Takes the segments over as the log's, and publishes its end.
static void adopt_segments(struct log *log, struct segment_list *list, int64_t end_offset)
{
  int64_t sizes = 0;
  for (int i = 0; i < list->count; i++) {
    sizes += atomic_load(&list->segments[i]->size);
  }
  CHECK(list->count > 0);
  struct segment *active = list->segments[list->count - 1];
  CHECK(active != NULL);
  atomic_store(&log->size_bytes, sizes);
  log_publish_list(log, list);
  log_publish_end(log, end_offset, active->base_offset, atomic_load(&active->size));
}

static int open_segments(struct log *log, const struct log_open_args *args, bool has_epochs)
{
  int64_t *bases = NULL;
  int count = 0;
  TRY(log_list_folder(args->dir, &bases, &count));
  int result = count == 0 ? open_first_segment(log, args->log_start_offset, args->now_ms)
                          : load_segments(log, args, has_epochs, bases, count);
  mem_free(bases);
  TRY(result);
  int64_t end_offset = log_end_offset(log);
  int64_t start_offset = log_list(log)->segments[0]->base_offset;
  start_offset = start_offset > args->log_start_offset ? start_offset : args->log_start_offset;
  if (start_offset > end_offset) {
    slog_warn("%s: ends at offset %" PRId64 ", below its start offset %" PRId64 ", where it now begins anew", args->dir,
              end_offset, start_offset);
    TRY(keep_segments(log));
    TRY(log_truncate_all(log, start_offset, start_offset, args->now_ms));
    end_offset = start_offset;
  }
  atomic_store(&log->start_offset, start_offset);
  leader_epochs_truncate_end(&log->epochs, end_offset + 1);
  leader_epochs_truncate_start(&log->epochs, start_offset);
  if (args->clean_offset > end_offset) {
    slog_warn("%s: ends at offset %" PRId64 ", below what the cleaner's checkpoint has, %" PRId64
              ": all of it counts as "
              "not compacted",
              args->dir, end_offset, args->clean_offset);
    atomic_store(&log->clean_offset, start_offset);
  }
  int64_t recovery_point = args->is_clean || args->recovery_point > end_offset ? end_offset : args->recovery_point;
  atomic_store(&log->recovery_point, recovery_point);
  return 0;
}

/// Keeps what a log has before it begins anew: its start offset may be the one of the two that is wrong.
static int keep_segments(const struct log *log)
{
  const struct segment_list *list = log_list(log);
  for (int i = 0; i < list->count; i++) {
    if (atomic_load(&list->segments[i]->size) > 0) {
      TRY(log_set_aside(log_dir(log), list->segments[i]->base_offset, "lies below the start offset"));
    }
  }
  return 0;
}

static int open_first_segment(struct log *log, int64_t base_offset, int64_t now_ms)
{
  const struct log_config *config = log_get_config(log);
  struct segment *seg = segment_new(base_offset, config, now_ms);
  int result = segment_create_files(seg, log_dir(log), config);
  if (result < 0) {
    segment_free(seg);
    return result;
  }
  atomic_store(&log->is_dir_dirty, true);
  struct segment_list *list = segment_list_new(1);
  list->segments[0] = seg;
  adopt_segments(log, list, base_offset);
  return 0;
}

/// Sets the segments from number `first` on aside: they follow a hole.
static int set_rest_aside(const char *dir, const int64_t *bases, int first, int count)
{
  for (int i = first; i < count; i++) {
    TRY(log_set_aside(dir, bases[i], "follows a cut"));
  }
  return 0;
}

/// Says what is missing in the midst of a log, once for all of it: no crash explains it, and nothing can be done here.
static void report_holes(const char *dir, const struct log_holes *holes)
{
  if (holes->count > 0) {
    slog_error("%s: offsets %" PRId64 " to %" PRId64
               " are missing, below what was known to be on disk (places: %" PRId64 "); the log goes on without them",
               dir, holes->offset, holes->end_offset - 1, holes->count);
  }
}

/// Brings one segment up, in format 2.
///
/// @param[in,out] seg  replaced where it has to be looked at twice
static int load_segment(struct log_recovery *recovery, const struct log_open_args *args, struct segment **seg,
                        int64_t next_base, bool *is_cut)
{
  int64_t base_offset = (*seg)->base_offset;
  bool is_last = next_base == INT64_MAX;
  recovery->is_converted = false;
  int result = log_recover_segment(recovery, *seg, is_last, next_base, is_cut);
  if (result == ERR_UNSUPPORTED_FORMAT) {
    TRY(log_convert_segment(recovery, base_offset, next_base));
    segment_free(*seg);
    *seg = segment_new(base_offset, &args->config, args->now_ms);
    result = log_recover_segment(recovery, *seg, is_last, next_base, is_cut);
  }
  return result;
}

/// Says what was converted, once for all of it.
static void report_conversion(const char *dir, const struct log_recovery *recovery)
{
  if (recovery->converted_segments > 0) {
    slog_info("%s: converted from record format 0 or 1 to format 2: %" PRId64 " records, segments: %d", dir,
              recovery->converted_records, recovery->converted_segments);
  }
}

static int load_segments(struct log *log, const struct log_open_args *args, bool has_epochs, const int64_t *bases,
                         int count)
{
  struct log_recovery recovery = {
      .log = log,
      .recovery_point = args->recovery_point,
      .is_clean = args->is_clean,
      .start_offset = args->log_start_offset,
      .is_contiguous = !args->config.is_compacted,
      .is_missing_epochs = !has_epochs,
  };
  struct segment_list *list = segment_list_new(count);
  list->count = 0;
  int result = 0;
  bool is_cut = false;
  for (int i = 0; i < count && result == 0 && !is_cut; i++) {
    struct segment **seg = &list->segments[list->count++];
    *seg = segment_new(bases[i], &args->config, args->now_ms);
    result = load_segment(&recovery, args, seg, i == count - 1 ? INT64_MAX : bases[i + 1], &is_cut);
  }
  report_conversion(args->dir, &recovery);
  report_holes(args->dir, &recovery.holes);
  if (result == 0) {
    result = set_rest_aside(args->dir, bases, list->count, count);
  }
  if (result < 0) {
    for (int i = 0; i < list->count; i++) {
      segment_free(list->segments[i]);
    }
    mem_free(list);
    return result;
  }
  adopt_segments(log, list, recovery.next_offset);
  return 0;
}
