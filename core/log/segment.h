// SPDX-License-Identifier: Apache-2.0
//
// One segment of a log: <base offset>.log with its offset and time index. Its files are made, opened, renamed and
// removed here; what goes into them is decided by the appender (log_append.c), what is found in them at start by
// recovery (log_recovery.c).
//
// A segment is reached through the log's segment list, an immutable array that is replaced whole; both are freed when
// no reader can hold them any more. Members that readers look at are atomic; the others belong to the appender.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/epoch.h"
#include "log/log_file_private.h"
#include "log/offset_index.h"
#include "log/time_index.h"
#include "record/batch.h"

struct header_scan;
struct log_config;

enum {
  SEGMENT_NAME_DIGITS = 20, ///< of the base offset in a file name
};

struct segment {
  int64_t base_offset;                   ///< first offset it can hold; in its name
  const char *name_suffix;               ///< of its files while it is not in the list, ".cleaned"; else empty
  log_file_slot file;                    ///< the open .log file, or NULL
  _Atomic(int64_t) size;                 ///< bytes of whole batches in it
  _Atomic(int64_t) max_timestamp;        ///< largest record timestamp, -1: none
  _Atomic(int64_t) max_timestamp_offset; ///< last offset of the first batch that has it
  _Atomic(int64_t) modified_ms;          ///< wall time of the last append, or of the file when it was loaded
  _Atomic(bool) is_reported;             ///< its records lie in the future, and the log was told so
  struct offset_index offset_index;      ///< <base offset>.index
  struct time_index time_index;          ///< <base offset>.timeindex
  int64_t first_timestamp;               ///< of the first batch, -1: none or not loaded. Appender
  int64_t created_ms;                    ///< wall time when it became active. Appender
  int64_t jitter_ms;                     ///< taken off segment_ms. Appender
  int64_t bytes_since_index;             ///< bytes after the last index entry. Appender
  int64_t reserved_pos;              ///< blocks of its file are reserved up to here; 0: none, that is known. Appender
  bool is_index_long;                ///< the index files may hold more than the indexes do. Appender
  _Atomic(int64_t) written_back_pos; ///< the disk was given what lies below (log_write_back.c). Its job
  _Atomic(bool) is_index_dirty;      ///< the index files were written since their last fsync
  _Atomic(bool) is_index_wrong;      ///< it was found, and logged, that the offset index does not fit the batches
  struct epoch_retired retired;      ///< for when it left the list
};

/// The segments of a log, oldest first; at least one.
struct segment_list {
  struct epoch_retired retired; ///< for when it was replaced
  int count;                    ///< segments
  struct segment *segments[];   ///< by base offset; the last one is active
};

/// The files of a segment, by suffix, .log first. Ends with NULL.
extern const char *const segment_suffixes[];

/// Makes a segment without files. Owned: segment_free() or segment_retire().
struct segment *segment_new(int64_t base_offset, const struct log_config *config, int64_t now_ms);

/// Frees a segment that no reader can reach.
void segment_free(struct segment *seg);

/// The same later, when no reader can hold it any more.
void segment_retire(struct segment *seg);

/// A list with room for `count` segments; owned until it is published.
struct segment_list *segment_list_new(int count);
void segment_list_retire(struct segment_list *list);

/// Index of the segment whose range holds `offset`: the last one with a base of at most `offset`, or -1.
int segment_list_floor(const struct segment_list *list, int64_t offset);

/// Path of one of its files. Owned: mem_free().
char *segment_path(const char *dir, int64_t base_offset, const char *suffix);

/// Parses "<20 digits><suffix>"; false when the name is none of that.
bool segment_parse_name(const char *name, const char *suffix, int64_t *base_offset);

/// Begins its indexes anew, as if their files had that many entries; what is in memory of them goes. Start-up.
///
/// @param last  the last entry of the time index
void segment_reset_indexes(struct segment *seg, uint32_t offset_count, uint32_t time_count,
                           const struct time_index_entry *last, int32_t size_limit);

/// Makes empty files, in place of whatever has their names. On failure nothing is left.
int segment_create_files(const struct segment *seg, const char *dir, const struct log_config *config);

/// Has the file system allot blocks before a write of `size` bytes at `pos`, for what comes after it too: blocks that
/// are there cost a write a quarter less than those it has to ask for one by one. Small writes and short segments are
/// left alone. A hint: where it fails the write will tell. Appender; adds no more than an eighth to the file, 4 MiB at
/// most, and nothing beyond segment_bytes.
void segment_reserve(struct segment *seg, int fd, int64_t pos, int64_t size, const struct log_config *config);

/// Gives back the blocks beyond its end, also those of `preallocate`. Appender, or when nobody appends any more.
int segment_unreserve(struct segment *seg, int fd, const struct log_config *config);

/// Renames its files to *.deleted; those that are missing are fine. Where a full disk has no room for the new names,
/// the files go at once.
///
/// @param is_replaced  another segment takes its name: the snapshot of the producers before it stays
int segment_rename_deleted(int64_t base_offset, const char *dir, bool is_replaced);

/// Accounts for a batch that is in the file at `pos`: indexes, largest timestamp, size. Appender, or recovery.
///
/// @param index_interval_bytes  bytes between two index entries
void segment_add(struct segment *seg, const char *dir, int32_t index_interval_bytes, int64_t pos, int64_t size,
                 int64_t last_offset, int64_t timestamp);

/// Writes what the indexes keep in memory. Appender.
///
/// @param is_closing  add the time-index entry that ends a segment
int segment_finish_indexes(struct segment *seg, const char *dir, bool is_closing);

/// Cuts the index files to what the indexes hold, where truncation left them longer. When no reader is left, or none is
/// yet.
int segment_trim_indexes(struct segment *seg, const char *dir);

/// Drops the index entries of batches at or after `end_pos`, whose offsets are at least `end_offset`. Appender; waits
/// for the disk.
int segment_truncate_indexes(struct segment *seg, struct log_file *file, const char *dir, int64_t end_offset,
                             int64_t end_pos);

/// fsync of its indexes, if they were written since the last one. Pool, or appender.
int segment_sync_indexes(struct segment *seg, const char *dir);

/// Begins a scan of headers at or before the batch with `offset`, as near as the index knows. An entry that does not
/// point at the batch it names is passed over: the index may be damaged, and trusting it would skip records. Any
/// thread, inside the epoch.
///
/// @param file       the open file of the segment
/// @param end        position that batches must not pass
/// @param may_wait   false: what is cold gives ERR_AGAIN
/// @param[out] scan      at the position of a batch, 0 when the index does not help
/// @param[out] is_wrong  set to true when an entry was passed over; a truncation at the same time may be the cause of
///                       that, too: segment_report_index() when there was none. NULL: nobody asks
/// @return 0, ERR_AGAIN, ERR_IO
int segment_scan(struct segment *seg, struct log_file *file, int64_t offset, int64_t end, bool may_wait,
                 struct header_scan *scan, bool *is_wrong);

/// Says, once, that the offset index does not fit the batches.
void segment_report_index(struct segment *seg, const char *dir);

/// The last known position of a batch that is at most `pos`; 0 when unknown. What a damaged index says is not checked:
/// for ending a region where it need not end exactly.
///
/// @return 0, ERR_AGAIN, ERR_IO
int segment_lookup_pos(struct segment *seg, struct log_file *file, int64_t pos, bool may_wait, int64_t *found_pos);

/// Recounts its largest timestamp after a cut: from the time index and the headers after its last entry. Waits for the
/// disk.
int segment_load_timestamps(struct segment *seg, struct log_file *file);
