// SPDX-License-Identifier: Apache-2.0
//
// One partition's log: segments of record batches in one folder, in Kafka's on-disk format.
//
//   who                              may call                                              when
//   the holder of the appender       everything                                            one thread at a time
//   any thread inside the epoch      the readers: log_read, getters, log_epoch_*           always, no lock
//   a pool thread inside the epoch   log_read_cold, log_offset_by_time, log_flush ...      always, no appender
//
// Every call happens inside the epoch (base/epoch.h): loops and pool threads are. A log is reached through a pointer
// that is itself protected by the epoch, so a reader needs no reference on the log, only on files that outlive its
// turn.
//
// What is appended is in the page cache on return, not on disk; log_flush() brings it there and raises the recovery
// point. The published end grows only after the bytes, the index entries and the batch positions are readable.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"
#include "log/log_file.h"

struct log;
struct sync_entry;
struct sync_group;

/// What a topic says about its logs. Kafka's topic configs of the same names; the caller checked the ranges.
struct log_config {
  int32_t segment_bytes;         ///< a segment is closed before it would grow beyond this; > 0
  int32_t index_interval_bytes;  ///< bytes of log between two index entries; >= 0
  int32_t segment_index_bytes;   ///< largest size of an index file; >= 4
  int32_t max_message_bytes;     ///< not used by the log itself; kept here for its callers
  int64_t segment_ms;            ///< a segment is closed when its records span more than this; >= 1
  int64_t segment_jitter_ms;     ///< up to this much is taken off segment_ms, at random per segment; >= 0
  int64_t retention_bytes;       ///< per partition; -1: no limit
  int64_t retention_ms;          ///< -1: no limit
  int64_t file_delete_delay_ms;  ///< how long a deleted segment's files stay, renamed to *.deleted; >= 0
  int64_t flush_messages;        ///< records that may be acknowledged and not on disk, plus one; INT64_MAX: any; >= 1
  int64_t flush_ms;              ///< after how long a record is to be on disk; INT64_MAX: no matter; >= 0
  bool is_sync;                  ///< records are acknowledged when they are on disk, in a segment or the sync journal
  bool preallocate;              ///< reserve the blocks of a new segment
  bool is_deleting;              ///< cleanup.policy holds "delete": retention_ms and retention_bytes apply
  int64_t delete_retention_ms;   ///< how long tombstones stay after a pass of the cleaner came upon them; >= 0
  int64_t min_compaction_lag_ms; ///< how long records are not cleaned; >= 0
  int64_t max_compaction_lag_ms; ///< after how long they are to be; INT64_MAX: no matter; >= 1
  double min_dirty_ratio;        ///< share of a log's bytes that has to be new for a pass of the cleaner; 0 to 1
  bool is_compacting;            ///< cleanup.policy holds "compact": the log is cleaned
  bool is_compacted;             ///< the topic is or was compacted: offsets may have holes
  bool is_log_append_time;       ///< message.timestamp.type is LogAppendTime; kept here for the log's callers
};

/// Whether records of a log count, for readers and producers, only once they are on disk.
static inline bool log_config_waits_for_disk(const struct log_config *config)
{
  return config->is_sync || config->flush_messages < INT64_MAX;
}

/// Kafka's defaults.
void log_config_default(struct log_config *config);

/// A deleted segment whose files wait, renamed to *.deleted, for their end.
struct log_deleted {
  struct log_deleted *next; ///< for the owner's list
  int64_t due_ms;           ///< wall time from which on the files may go
  int64_t size_bytes;       ///< size of the .log file
  int64_t base_offset;      ///< first offset the segment could hold
  bool is_replaced;         ///< by a cleaned one with the same records, or some of them
  char *stem;               ///< path without suffix: <dir>/<base offset>; owned by this struct
};

/// Removes the files of a deleted segment. On the pool; readers that have a file open keep reading it.
///
/// @param deleted  taken, also on failure
/// @return 0, ERR_IO ...
int log_deleted_remove(struct log_deleted *deleted);

/// Frees without touching files (their folder is gone or going). @param deleted  taken
void log_deleted_free(struct log_deleted *deleted);

enum {
  LOG_WRITE_BACK_SHIFT = 22,
  LOG_WRITE_BACK_BYTES = 1 << LOG_WRITE_BACK_SHIFT, ///< what is given to the disk at a time
};

/// What log_open() needs to know.
struct log_open_args {
  const char *dir;          ///< <log dir>/<topic>-<partition>; borrowed during the call
  struct log_config config; ///< copied
  struct uuid topic_id;     ///< zero: take what partition.metadata says, write none
  int64_t recovery_point;   ///< from the checkpoint: everything below is on disk; 0 when unknown
  int64_t log_start_offset; ///< from the checkpoint; 0 when unknown
  int64_t clean_offset;     ///< from the checkpoint: see log_clean_offset(); -1 when it was never cleaned
  int64_t now_ms;           ///< wall time
  bool is_clean;            ///< the last shutdown was clean: no scan
  struct uuid found_id;     ///< what partition.metadata was found to say, so that it is not read again; zero: unknown
  bool is_folder_new;       ///< the caller has just made the folder: its name is not on disk yet
  /// Called while the appender is held, when a segment was deleted; `deleted` is taken. NULL: files are removed at
  /// once.
  void (*on_deleted)(void *arg, struct log_deleted *deleted);
  /// Called while the appender is held, when a new segment was begun: time to submit log_flush(log, offset). NULL:
  /// nobody.
  void (*on_rolled)(void *arg, struct log *log, int64_t offset);
  /// Called while the appender is held, when records were appended, or are there, that flush.ms wants on disk: time to
  /// look at log_flushed_ms() from time to time. NULL: nobody.
  void (*on_unflushed)(void *arg);
  /// Called while the appender is held, when another LOG_WRITE_BACK_BYTES of the active segment were filled: time to
  /// call log_write_back(). NULL: nobody.
  void (*on_filled)(void *arg);
  /// Called while the appender is held, before records are cut off of which some went into a sync journal: nothing that
  /// the journal has of the log may count afterwards. Waits for the disk. NULL: there is no journal.
  int (*on_cut)(void *arg, struct log *log);
  void *arg; ///< for these
};

/// Opens a partition's log, or creates it when the folder is missing. May take long after a crash: on the pool or at
/// start-up.
///
/// Leftovers (*.deleted, *.cleaned, indexes without a segment) are removed. Unless `is_clean`, every batch from the
/// recovery point on is checked; the log is cut at the first bad one, what is cut is kept as <segment file>.cut, one
/// warning names the file and the bytes, and the indexes are rebuilt. A log does not open when what is to be cut cannot
/// be kept. Offsets that were missing before the crash, or after a clean shutdown, are told as an error, and nothing is
/// cut for them. Missing or implausible indexes, and a missing list of leader epochs, are rebuilt in any case. Segments
/// that hold messages of formats 0 and 1 are written anew in format 2, at the same offsets; one line says so.
///
/// @param[out] log  owned: log_close() or log_discard()
/// @return 0, ERR_IO, ERR_NO_SPACE, ERR_NO_FILES, ERR_PERMISSION, ERR_CORRUPT (a file that can be no segment),
///         ERR_LIMIT (too many cut files, or an old segment that would be too large in format 2),
///         ERR_MALFORMED (partition.metadata), ERR_INVALID (the folder belongs to another topic id)
int log_open(const struct log_open_args *args, struct log **log);

/// Has the disk begin to write the whole pieces of LOG_WRITE_BACK_BYTES that were appended to the active segment since
/// the last call, and no more than that: see log_flush() for what is on disk. Waits for the disk, so on the pool, for
/// one thread at a time, inside the epoch.
void log_write_back(struct log *log);

/// Ends a log cleanly: last time-index entry, indexes trimmed, all of it fsynced. While holding the appender, on the
/// pool.
///
/// The memory goes when no reader can see the log any more; files held by readers stay open.
///
/// @param log  taken, also on failure; no reader may reach it any more through a shared pointer
/// @return 0, ERR_IO ... (then this log directory must not be marked as cleanly shut down)
int log_close(struct log *log);

/// Ends a log without writing anything: its topic was deleted or its directory is offline. @param log  taken
void log_discard(struct log *log);

/// Moves the folder of the log (to <topic>-<partition>.<id>-delete, or -stray) while it stays readable.
/// While holding the appender.
int log_rename(struct log *log, const char *new_dir);

/// Takes over a changed configuration; the active segment follows it from the next append on. While holding the
/// appender.
void log_set_config(struct log *log, const struct log_config *config);

/// The configuration; borrowed until the end of the turn. Inside the epoch.
const struct log_config *log_get_config(const struct log *log);

/// The folder; borrowed until the end of the turn.
const char *log_dir(const struct log *log);

/// The topic id of partition.metadata, or zero.
void log_topic_id(const struct log *log, struct uuid *topic_id);

/// Reads the topic id from a partition folder without opening the log.
///
/// @return 0, ERR_NOT_FOUND (no partition.metadata), ERR_MALFORMED, ERR_UNSUPPORTED_VERSION, ERR_IO ...
int log_read_topic_id(const char *dir, struct uuid *topic_id);

// --- appending (log_append.c): only while holding the appender -------------------------------------------------------

/// One batch to append: format 2, checked by record/.
struct log_batch {
  uint8_t *bytes;            ///< borrowed; base offset and leader epoch are rewritten in place
  size_t size;               ///< whole batch: 61 to INT32_MAX bytes
  int32_t last_offset_delta; ///< of the batch's header; >= 0
  int64_t max_timestamp;     ///< largest record timestamp, -1 when it has none
  int64_t divided_ms;        ///< as struct producer_append has it (log/producer_state.h)
  int64_t base_offset;       ///< out: offset of the first record (log_append_as_follower: in)
  int64_t stored_timestamp;  ///< out: largest timestamp of the stored batch, for a duplicate
  bool is_duplicate;         ///< out: stored before, with base_offset, and so not again
  int result;                ///< out: 0 or ERR_*
};

/// Appends batches, giving them the next offsets and `leader_epoch`; rolls the segment where that is due. What goes
/// into one segment is written with one pwritev(2).
///
/// A failure leaves the log as it was before the batch that failed; earlier batches of the call are in the log, and
/// each batch's `result` says which.
///
/// Batches of an idempotent producer are judged by producer_state.h. Those that are stored already get a result of 0
/// and the offset of the stored one; those that are refused get ERR_OUT_OF_ORDER_SEQUENCE or
/// ERR_INVALID_PRODUCER_EPOCH, which is no failure of the call.
///
/// @param batches  borrowed; see struct log_batch
/// @param now_ms   wall time
/// @return 0 when all were appended, or the first failure: ERR_LIMIT (batch larger than segment_bytes; the others are
///         appended), ERR_NO_SPACE, ERR_IO (also when the files are gone), ERR_NO_FILES, ERR_STORAGE_OFFLINE (an
///         earlier failure left the files in doubt)
int log_append(struct log *log, struct log_batch *batches, int count, int32_t leader_epoch, int64_t now_ms);

/// Judges a batch as log_append() would by its producer, and appends nothing: for whoever has much to do with a batch
/// before, or effects that are to come once. Sets its `base_offset`, `stored_timestamp` and `is_duplicate`.
///
/// @return 0, ERR_OUT_OF_ORDER_SEQUENCE, ERR_INVALID_PRODUCER_EPOCH
int log_judge(const struct log *log, struct log_batch *batch);

/// Appends batches as a leader sent them: offsets and epochs stay, holes are allowed.
///
/// @return as log_append(); ERR_OFFSET_OUT_OF_RANGE when a base offset lies below the log's end
int log_append_as_follower(struct log *log, struct log_batch *batches, int count, int64_t now_ms);

/// Closes the active segment and begins a new one at the log's end; nothing to do when it is empty.
int log_roll(struct log *log, int64_t now_ms);

/// Notes that `epoch` begins at the log's end, if it is newer than all known ones (becoming leader).
void log_assign_leader_epoch(struct log *log, int32_t epoch);

// --- reading (log_read.c): any thread, no lock -----------------------------------------------------------------------

/// A place in the log; what Kafka calls log offset metadata.
struct log_position {
  int64_t offset;       ///< record offset
  int64_t segment_base; ///< base offset of the segment that holds it
  int64_t pos;          ///< byte position in that segment's file
};

/// A region of one segment file; whole batches, but for a last one that may be cut.
struct log_slice {
  struct log_file *file; ///< shared: log_slice_release(); NULL when the slice is empty
  int64_t pos;           ///< first byte
  int32_t length;        ///< bytes; 0: nothing to read
  bool is_warm;          ///< written or read lately: sendfile(2) will not wait for the disk
  bool is_cut;           ///< max_bytes ended it: there is more to read before the limit offset; also of an empty slice
  int64_t base_offset;   ///< base offset of the first batch; the asked offset when empty
  int64_t segment_base;  ///< base offset of the segment
};

/// What to read.
struct log_read_args {
  int64_t offset;       ///< first wanted record
  int64_t limit_offset; ///< exclusive: high watermark, last stable offset or log end; what lies beyond is not given out
  int32_t max_bytes;    ///< >= 0
  bool whole_first_batch; ///< give the first batch whole even if it is larger than max_bytes
};

/// Finds the region that holds `offset`, without copying and without waiting for a disk. On any thread.
///
/// The region begins with the batch that holds `offset` (or the first after it), ends at or before max_bytes, the
/// position of limit_offset and the end of its segment, and at a batch's end where that is known for nothing. Without
/// whole_first_batch, a first batch larger than max_bytes gives an empty slice.
///
/// @param[out] slice  release with log_slice_release(), also an empty one
/// @return 0; ERR_OFFSET_OUT_OF_RANGE below the log start or above the log's end; ERR_AGAIN when it would have to wait
///         for the disk: call log_read_cold() on the pool; ERR_IO, ERR_CORRUPT_BATCH
int log_read(struct log *log, const struct log_read_args *args, struct log_slice *slice);

/// The same with waiting: opens files, looks at cold indexes and headers, and brings the region into the page cache, so
/// that the slice is warm. On the pool.
///
/// @return as log_read() but for ERR_AGAIN; also ERR_NO_FILES
int log_read_cold(struct log *log, const struct log_read_args *args, struct log_slice *slice);

/// True when a slice that is not warm is in the page cache all the same (it is warm from then on); never waits.
bool log_slice_probe(struct log_slice *slice);

/// Brings a slice into the page cache, and a little of what follows it. On the pool. @return 0, ERR_IO
int log_slice_load(struct log_slice *slice);

/// Takes another reference: `copy` is released on its own.
void log_slice_copy(const struct log_slice *slice, struct log_slice *copy);

/// Whether a slice's file is the log's own still; not after the log has moved to another directory. Inside the epoch.
bool log_slice_is_current(const struct log *log, const struct log_slice *slice);

/// Gives back the file; harmless twice. Any thread.
void log_slice_release(struct log_slice *slice);

/// Where `offset` lies, from memory alone: exact for the log's end and the newest batches. For counting the bytes that
/// a waiting fetch has gained. @return 0, ERR_AGAIN when it is not known without reading, ERR_OFFSET_OUT_OF_RANGE
int log_find_position(struct log *log, int64_t offset, struct log_position *position);

/// The first offset that may be read.
int64_t log_start_offset(const struct log *log);

/// The offset that the next record gets.
int64_t log_end_offset(const struct log *log);

/// The end as one consistent triple.
void log_end_position(const struct log *log, struct log_position *position);

/// Everything below is on disk; at most the log's end, and where a batch begins.
int64_t log_recovery_point(const struct log *log);

/// What lies below was cleaned by the log cleaner (log_clean.h); -1: it was never cleaned. Any thread.
int64_t log_clean_offset(const struct log *log);

/// Bytes of all segment files.
int64_t log_size_bytes(const struct log *log);

/// Number of segments, at least 1, and the base offset of the active one.
int log_segment_count(const struct log *log);
int64_t log_active_base_offset(const struct log *log);

// --- time (log_time.c): on the pool, inside the epoch ---------------------------------------------------------------

/// An offset found by time.
struct log_time_offset {
  int64_t timestamp;    ///< of the record; -1: none
  int64_t offset;       ///< -1: none
  int32_t leader_epoch; ///< of its batch; -1: none
};

/// Finds the first record at or after log start whose timestamp is at least `timestamp`, looking inside batches.
///
/// @param limit_offset  exclusive; a record at or beyond it counts as none
/// @return 0 (found, or all -1), ERR_IO, ERR_CORRUPT_BATCH, ERR_DECOMPRESS, ERR_UNSUPPORTED_CODEC
int log_offset_by_time(struct log *log, int64_t timestamp, int64_t limit_offset, struct log_time_offset *found);

/// Finds the first record with the largest timestamp of the log; none when it lies at or beyond `limit_offset`.
int log_max_timestamp(struct log *log, int64_t limit_offset, struct log_time_offset *found);

// --- leader epochs (leader_epochs.c) --------------------------------------------------------------------------------

/// The newest epoch known to the log, -1 when none. Any thread.
int32_t log_latest_epoch(const struct log *log);

/// Kafka's OffsetForLeaderEpoch: the largest known epoch that is at most `epoch`, and where it ends.
///
/// Both -1 when the epoch is unknown to the log (newer than all, or -1, which says so). One that is older than all ends
/// where the first one that is known begins, other negative ones included. Any thread.
void log_epoch_end_offset(const struct log *log, int32_t epoch, int32_t *found_epoch, int64_t *end_offset);

/// The leader epoch under which `offset` was (or will be) written; -1 when unknown. Any thread.
int32_t log_epoch_for_offset(const struct log *log, int64_t offset);

// --- cutting and deleting (log_truncate.c): only while holding the appender -----------------------------------------

/// Drops all records from `offset` on; the batch that holds it goes whole, and the end is then that batch's base
/// offset.
///
/// Readers that hold slices keep the old bytes: a file with holders is replaced by a copy of what stays, so this can
/// take long: on the pool. The caller writes the recovery-point checkpoint before it appends again.
///
/// @return 0, ERR_IO, ERR_NO_SPACE; after a failure appends answer ERR_STORAGE_OFFLINE
int log_truncate_to(struct log *log, int64_t offset, int64_t now_ms);

/// Drops everything and begins again with an empty segment at `end_offset`.
///
/// @param log_start_offset  usually end_offset; above it, but within the batch that comes next, when the leader's log
///                          starts inside a batch
int log_truncate_all(struct log *log, int64_t end_offset, int64_t log_start_offset, int64_t now_ms);

/// Raises the log start offset (DeleteRecords, a leader's log start); lower values change nothing. Segments wholly
/// below go with the next log_delete_before(). @return 0, ERR_OFFSET_OUT_OF_RANGE above the log's end
int log_set_start_offset(struct log *log, int64_t offset);

/// Deletes the segments that lie wholly below `offset`, never the active one, and raises the log start offset to what
/// is left. Files are renamed to *.deleted and handed to on_deleted. Renames files: on the pool where that can be.
///
/// @return number of segments deleted, or a negative ERR_*
int log_delete_before(struct log *log, int64_t offset, int64_t now_ms);

/// One segment as retention, the console and policies see it.
struct log_segment_info {
  int64_t base_offset;        ///< first offset it can hold
  int64_t next_offset;        ///< base of the next segment, or the log's end
  int64_t size_bytes;         ///< of its .log file
  int64_t max_timestamp;      ///< largest record timestamp, -1 when none
  int64_t modified_ms;        ///< wall time of its last append
  int64_t offset_index_bytes; ///< of its .index
  int64_t time_index_bytes;   ///< of its .timeindex
  bool is_active;             ///< the one that is appended to
  bool is_file_open;          ///< a descriptor of its .log file is open; another one opens when it is read
};

/// Copies what is known of up to `room` segments, oldest first; returns how many. Any thread, inside the epoch.
int log_segments(const struct log *log, struct log_segment_info *infos, int room);

/// Wall time from which a segment's age counts: its largest timestamp, or the time of its last append when it has none
/// or it lies more than an hour in the future.
int64_t log_segment_age_base_ms(const struct log_segment_info *info, int64_t now_ms);

/// Why retention deletes a segment, or why it keeps it.
enum log_retention_reason {
  LOG_RETENTION_NONE,
  LOG_RETENTION_MS,           ///< goes: older than retention.ms
  LOG_RETENTION_BYTES,        ///< goes: without it the log still has retention.bytes
  LOG_RETENTION_START_OFFSET, ///< goes: wholly below the log start offset, which DeleteRecords has raised
  LOG_KEEP_YOUNG,             ///< stays: not older than retention.ms yet
  LOG_KEEP_SMALL,             ///< stays: without it the log would have less than retention.bytes
  LOG_KEEP_ACTIVE,            ///< stays: retention.bytes spares the active segment
  LOG_KEEP_EMPTY,             ///< stays: the active segment, and there is nothing in it
  LOG_KEEP_HIGH_WATERMARK,    ///< stays: not wholly below the high watermark
  LOG_KEEP_UNLIMITED,         ///< stays: neither retention.ms nor retention.bytes is set
  LOG_KEEP_COMPACTED,         ///< stays: cleanup.policy does not say "delete"
  LOG_KEEP_BEHIND,            ///< stays: it might go, but an older one stays
};

/// What a pass over a log goes by; from log_retention_begin(), changed by log_retention_judge().
struct log_retention_pass {
  const struct log_config *config; ///< borrowed until the end of the turn
  int64_t now_ms;                  ///< wall time of the pass
  int64_t high_watermark;          ///< nothing from it on goes; -1: unknown, nothing goes
  int64_t start_offset;            ///< the log's
  int64_t excess_bytes;            ///< bytes of this segment and all newer ones, beyond retention.bytes
  int64_t due_ms;                  ///< when all older ones will have gone; -1: never, or nobody knows
  bool is_over;                    ///< an older one stays
};

/// What is decided about a segment.
struct log_retention_verdict {
  bool is_going;  ///< the pass deletes it
  bool is_future; ///< its newest record lies so far in the future that the time of its file counts instead
  int reason;     ///< enum log_retention_reason
  int64_t due_ms; ///< wall time from which a pass deletes it, if nothing more is appended; the pass's own when it goes
                  ///< now; -1: never, or nobody knows
};

/// Begins a pass over all segments of a log. Any thread, inside the epoch.
void log_retention_begin(const struct log *log, int64_t now_ms, int64_t high_watermark,
                         struct log_retention_pass *pass);

/// Decides about the next segment, oldest first: all that retention does, and says that it would do, is decided here.
/// A pure function.
void log_retention_judge(struct log_retention_pass *pass, const struct log_segment_info *info,
                         struct log_retention_verdict *verdict);

/// What a pass would do with up to `room` segments, oldest first; returns how many. Any thread, inside the epoch.
int log_retention_plan(const struct log *log, int64_t now_ms, int64_t high_watermark, struct log_segment_info *infos,
                       struct log_retention_verdict *verdicts, int room);

/// What retention would delete now.
struct log_retention {
  int64_t delete_before; ///< argument for log_delete_before()
  int64_t size_bytes;    ///< bytes that go
  int segments;          ///< segments that go; 0: nothing to do
  bool is_roll_needed;   ///< the active one goes too: log_roll() first, then log_delete_before(log, the end)
  int reason;            ///< enum log_retention_reason, of the newest segment that goes; LOG_RETENTION_NONE: none does
};

/// Decides by the log's configuration: time, size (never the active segment), log start offset; only below
/// `high_watermark`. Warns once per segment whose records lie in the future. Any thread, inside the epoch; deletes
/// nothing.
void log_retention_pick(struct log *log, int64_t now_ms, int64_t high_watermark, struct log_retention *pick);

// --- producers (log_producers.c) ------------------------------------------------------------------------------------

/// True when producers have been silent for `expiration_ms`. Any thread.
bool log_has_expired_producers(const struct log *log, int64_t now_ms, int64_t expiration_ms);

/// What a log remembers of a producer, for administrators.
struct log_producer_info {
  int64_t id;            ///< producer id, >= 0
  int64_t timestamp;     ///< largest timestamp of its last batch, ms since 1970
  int32_t last_sequence; ///< of its last record; -1: it has only written markers
  int16_t epoch;         ///< its latest epoch
};

/// How many producers the log remembers. While holding the appender.
int32_t log_producer_count(const struct log *log);

/// Copies them, silent longest first. While holding the appender.
///
/// @param infos  room for log_producer_count() of them
void log_producer_list(const struct log *log, struct log_producer_info *infos);

/// Forgets them; returns how many. While holding the appender.
int log_expire_producers(struct log *log, int64_t now_ms, int64_t expiration_ms);

// --- durability (log.c) ---------------------------------------------------------------------------------------------

/// Brings everything below `offset` (at most the end) to disk, then raises the recovery point. On the pool, without the
/// appender; two flushes of one log wait for each other, and the second does what the first has left.
///
/// A failed fsync is never tried again, as the kernel may have dropped what it could not write: from then on every
/// flush of the log fails.
///
/// @return 0, ERR_IO (the directory goes offline), ERR_NO_SPACE or ERR_NO_FILES (before any fsync: may be tried again)
int log_flush(struct log *log, int64_t offset);

/// What went into a sync journal with one group.
struct log_sync_range {
  int64_t end_offset; ///< what lies below is on disk, in segments or in the journal
  int64_t bytes;      ///< of the batches
  uint64_t cuts;      ///< counts truncations: one that came meanwhile makes this worth nothing
};

/// Everything below is on disk, in segments or in a sync journal; at least the recovery point, at most the log's end.
int64_t log_durable_offset(const struct log *log);

/// Everything above the durable offset that a sync journal was ever given; up to here segments have to be flushed
/// before the journal may forget. 0: nothing. Any thread.
int64_t log_journaled_offset(const struct log *log);

/// Adds what is not on disk yet to a group of a sync journal. On the pool.
///
/// @param limit  bytes of batches, at most
/// @return 0 (also when there is nothing: `range->bytes` is 0 then), ERR_LIMIT when it is too much or otherwise not for
///         a journal: log_flush() it
int log_sync_gather(struct log *log, int32_t partition, int64_t limit, struct sync_group *group,
                    struct log_sync_range *range);

/// The group is on disk: raises the durable offset. While holding the appender. @return false: a truncation came
/// between
bool log_sync_done(struct log *log, const struct log_sync_range *range);

/// Appends what a sync journal has beyond the log's end; batches that the log has already are left out, and nothing is
/// appended where the two do not fit together, which is reported. Start-up or the pool, before anybody else has the
/// log.
///
/// @param fd       the journal's file
/// @param entries  in the order of their base offsets; borrowed
/// @param[out] records  appended
/// @return 0, ERR_NO_SPACE, ERR_IO ...
int log_sync_replay(struct log *log, int fd, const struct sync_entry *entries, size_t count, int64_t now_ms,
                    int64_t *records);

/// Monotonic time when the last flush of the whole log began, or when it was opened. Any thread.
int64_t log_flushed_ms(const struct log *log);

/// What bringing records to disk took, in all logs of this process.
struct log_flush_counts {
  int64_t flushes;  ///< times that a log was brought to disk
  int64_t failures; ///< times that this failed
  int64_t syncs;    ///< calls of fdatasync(2) or fsync(2) for records
};

/// Counts since the start. Any thread.
void log_flush_counts(struct log_flush_counts *counts);

/// Bytes and records-offsets not yet flushed, for flush.messages: log end minus recovery point.
int64_t log_unflushed_offsets(const struct log *log);

/// Writes what there is to know into `text` (NUL-terminated, cut at `size`), for gdb and failing specs; returns `text`.
char *log_dump(const struct log *log, char *text, size_t size);
