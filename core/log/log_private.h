// SPDX-License-Identifier: Apache-2.0
//
// What the files of a log share: the struct and the steps between them. Used by core/log alone.
//
//   log_open.c      open: what lies in the folder      log_append.c    append, roll
//   log_folder.c    leftovers, list of segments        log_read.c      read
//   log_recovery*.c after a crash: check, cut          log_cut.c       keep what was cut
//   log.c           getters, close, flush              log_time.c      search by time
//   log_truncate.c  truncate, delete                   log_segments.c  segments as retention sees them
//   log_producers.c producers and their snapshots  log_old_format.c record formats 0 and 1
//   log_sync.c      to and from a sync journal
//   log_clean*.c    compaction
//   log_move*.c     a copy in another folder, and the switch to it
//
// Locks: flush_lock makes flushes of one log take turns, and truncation wait for a running one; it is held over I/O,
// only on the pool or at start-up. Inside it: leader_epochs.write_lock. Nothing else is locked while they are held but
// the leaf lock of log_file.c.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/epoch.h"
#include "log/leader_epochs.h"
#include "log/log.h"
#include "log/producer_state.h"
#include "log/segment.h"
#include "log/tail.h"

struct iovec;
struct log_snapshot;

/// An aborted transaction as a file has it.
struct aborted_entry {
  int64_t producer_id;        ///< whose it was
  int64_t first_offset;       ///< of its first record
  int64_t last_offset;        ///< of its marker
  int64_t last_stable_offset; ///< once the marker was written
};

/// All of a log, immutable.
struct log_aborted_list {
  struct epoch_retired retired;   ///< for when it was replaced
  int32_t count;                  ///< entries
  struct aborted_entry entries[]; ///< by last offset
};

/// The folder's path; replaced whole by log_rename().
struct log_path {
  struct epoch_retired retired; ///< for when it was replaced
  char text[];                  ///< NUL-terminated
};

/// One version of the configuration.
struct log_config_version {
  struct epoch_retired retired; ///< for when it was replaced
  struct log_config config;     ///< what it says
};

/// The end of the log. Readers take the three offsets only together: the counter is odd while they change.
struct log_end {
  _Atomic(uint32_t) changes;     ///< odd: being changed
  _Atomic(int64_t) offset;       ///< offset of the next record
  _Atomic(int64_t) segment_base; ///< base offset of the segment that ends there
  _Atomic(int64_t) pos;          ///< bytes in that segment
};

struct log {
  _Atomic(struct log_path *) path;             ///< the folder
  _Atomic(struct log_config_version *) config; ///< what the topic says
  _Atomic(struct segment_list *) segments;     ///< oldest first
  struct log_end end;                          ///< what readers may see
  _Atomic(int64_t) start_offset;               ///< first readable offset
  _Atomic(int64_t) recovery_point;             ///< everything below is on disk
  _Atomic(int64_t) synced_offset;              ///< everything below is on disk, or in a sync journal. Appender
  _Atomic(int64_t) journaled_offset;           ///< see log_journaled_offset(). Its journal's job, or the appender
  _Atomic(int64_t) clean_offset;               ///< see log_clean_offset()
  int64_t swap_base;                           ///< of a cleaned segment whose files are called *.swap; -1. Appender
  struct log_file *misnamed;                   ///< of a cleaned segment in the list that could not be given its name:
                                               ///< open as long as the log. One reference, owned; NULL. Appender
  _Atomic(int64_t) flushed_ms;                 ///< monotonic time of the last flush of everything
  _Atomic(int64_t) size_bytes;                 ///< of all .log files
  _Atomic(uint64_t) cuts;                      ///< counts truncations: a reader that sees it change begins anew
  struct tail tail;                            ///< positions of the newest batches
  struct leader_epochs epochs;                 ///< leader-epoch-checkpoint
  struct producers producers;                  ///< who wrote with sequence numbers. Appender
  int64_t snapshot_offset;                     ///< of the newest snapshot that was taken or loaded. Appender
  _Atomic(struct log_snapshot *) snapshots;    ///< taken, not written yet, newest first; owned
  pthread_mutex_t flush_lock;                  ///< see above
  pthread_cond_t switched;                     ///< with flush_lock: `is_switching` became false
  _Atomic(bool) is_switching;                  ///< flushes wait for log_move_switch(). Set holding flush_lock
  _Atomic(bool) is_cutting;                    ///< nothing of it goes into a sync journal for a while
  _Atomic(bool) is_dir_dirty;                  ///< names were made in the folder since its last fsync
  _Atomic(bool) is_parent_dirty;               ///< the folder itself was made since the last fsync of its parent
  _Atomic(bool) is_id_dirty;                   ///< partition.metadata was written since the last flush
  bool has_sync_failed;                        ///< a flush failed: what it was for may be gone. flush_lock
  _Atomic(struct log_aborted_list *) aborted;  ///< transactions that were aborted, NULL: none
  _Atomic(int64_t) first_unstable_offset;      ///< see log_transactions.h
  bool is_broken;                              ///< the files are not as the log says: no more appends. Appender
  struct uuid topic_id;                        ///< of partition.metadata, or zero
  struct iovec *parts;                         ///< scratch for gathered writes; owned. Appender
  int parts_room;                              ///< slots allocated
  void (*on_deleted)(void *arg, struct log_deleted *deleted);    ///< see struct log_open_args
  void (*on_rolled)(void *arg, struct log *log, int64_t offset); ///< see struct log_open_args
  void (*on_unflushed)(void *arg);                               ///< see struct log_open_args
  void (*on_filled)(void *arg);                                  ///< see struct log_open_args
  int (*on_cut)(void *arg, struct log *log);                     ///< see struct log_open_args
  void *arg;                                                     ///< for these
  struct epoch_retired retired;                                  ///< for when it was closed
};

// --- the parts, as the appender sees them (plain loads are enough for what only it changes) ---

static inline struct segment_list *log_list(const struct log *log)
{
  return atomic_load_explicit(&log->segments, memory_order_acquire);
}

static inline struct segment *log_active(const struct log *log)
{
  struct segment_list *list = log_list(log);
  return list->segments[list->count - 1];
}

/// Gives the log another folder, which is there. Appender.
void log_set_path(struct log *log, const char *dir);

/// Counts one fdatasync(2) or fsync(2) for records (log_flush_counts()). Any thread.
void log_count_sync(void);

/// fsync of the folder after names changed in it, and of its parent after it was made. Holding flush_lock.
int log_sync_names(struct log *log);
/// Tells whoever looks after flush.ms that there is something to look after.
static inline void log_note_unflushed(struct log *log, const struct log_config *config)
{
  if (config->flush_ms != INT64_MAX && log->on_unflushed != NULL) {
    log->on_unflushed(log->arg);
  }
}

/// Makes a log in memory, with no segment yet. Owned: log_free().
struct log *log_new(const struct log_open_args *args);

/// Frees a log that no reader can reach.
void log_free(struct log *log);

/// Puts the log's folder before the message of the latest error, for failures whose message does not name a file;
/// leaves ordinary outcomes (ERR_AGAIN, ERR_OFFSET_OUT_OF_RANGE, ERR_NOT_FOUND) alone.
///
/// @return `result`
int log_fail(const struct log *log, int result);

/// Publishes a new segment list in place of the old one, if there is one. Appender.
void log_publish_list(struct log *log, struct segment_list *list);

/// Publishes a new end. Appender.
void log_publish_end(struct log *log, int64_t offset, int64_t segment_base, int64_t pos);

/// Before records are cut off: has the sync journal forget the log, if it has anything of it. Appender.
int log_forget_synced(struct log *log);

/// Opens (or finds open) the file of a segment. Waits for the disk if it has to open it. Inside the epoch.
///
/// @param[out] file  shared: log_file_unref()
/// @return 0, ERR_NOT_FOUND (the segment was deleted), ERR_NO_FILES, ERR_IO ...
int log_open_segment(struct log *log, struct segment *seg, struct log_file **file);

/// Gives back the blocks beyond the end of the active segment, also those of `preallocate`. While holding the appender.
int log_unreserve(struct log *log, struct segment *seg);

/// Begins a new active segment. Appender. @param base_offset  at least the log's end
int log_roll_to(struct log *log, int64_t base_offset, int64_t now_ms);

/// Judges a batch by its producer's sequence numbers, and notes it when it may be appended. Appender.
///
/// @param mark  for producers_undo(), should the append fail
/// @return false: its `result` is set, with the offset and timestamp of the stored one if it is a duplicate
bool log_producers_admit(struct log *log, struct log_batch *batch, int64_t now_ms, int mark);

/// Notes a batch that was judged, here or by a leader. Appender. @param mark  for producers_undo(), -1: for good
void log_producers_note(struct log *log, const struct log_batch *batch, int64_t now_ms, int mark);

/// Finds out who wrote to the log: from the newest snapshot and what follows it. Start-up, or the appender on the pool.
int log_producers_load(struct log *log, int64_t now_ms);

/// Forgets all producers, and removes their snapshots: the log begins anew. Appender on the pool, or start-up.
int log_producers_reset(struct log *log);

/// Finds out which transactions were aborted or are open; the last step of log_producers_load().
///
/// @param replayed_from     all batches from here on were looked at
/// @param has_transactions  one of them was of a transaction
int log_transactions_load(struct log *log, int64_t replayed_from, bool has_transactions);

/// Forgets them all: the log begins anew. Appender.
void log_transactions_clear(struct log *log);

/// Forgets those that end in a range of offsets, but for some: of the others nothing is left in the log. Appender.
///
/// @param kept  by last offset; borrowed
void log_transactions_replace(struct log *log, int64_t base_offset, int64_t end_offset,
                              const struct aborted_entry *kept, size_t count);

/// The bytes of a segment's file. Owned: mem_free().
uint8_t *log_transactions_pack(const struct aborted_entry *entries, size_t count, size_t *size);

/// Frees what is known of them, when nobody can reach the log.
void log_transactions_destroy(struct log *log);

/// Packs a snapshot of the producers, for the next flush to write. Appender.
///
/// @param offset  what comes next: the log's end, or where the segment begins that follows
void log_snapshot_take(struct log *log, int64_t offset);

/// Writes the snapshots that were taken. Pool, holding flush_lock. @return 0 (also on a full disk), ERR_IO ...
int log_snapshots_write(struct log *log);

/// Forgets those that were taken. Holding flush_lock, or when nobody else can reach the log.
void log_snapshots_drop(struct log *log);

/// Before records are cut off: the files of a cleaned segment that was about to take its place are removed, as it has
/// some of these. Waits for the disk. Appender. @return 0, ERR_IO ...
int log_clean_cancel_swap(struct log *log);

/// The same before segments are deleted from the log's start, without waiting for the disk: names that change later are
/// not on disk before. Appender. @return 0, ERR_IO ...
int log_clean_drop_swap(struct log *log);

/// Renames the files of a segment to *.deleted and hands them on. Appender, or start-up.
///
/// @param is_replaced  another segment takes its name
int log_delete_files(struct log *log, int64_t base_offset, int64_t size, int64_t now_ms, bool is_replaced);

/// Cleans the folder of what a crash or an earlier run left, finishing replaced segments (*.swap); then lists the
/// segments.
///
/// @param[out] bases  base offsets, ascending; owned: mem_free()
/// @param[out] count  how many
int log_list_folder(const char *dir, int64_t **bases, int *count);

/// Offsets that are missing in a log, below what is known to be on disk.
struct log_holes {
  int64_t count;      ///< places
  int64_t offset;     ///< first missing one of the first place
  int64_t end_offset; ///< first one after it
};

/// What recovery goes by.
struct log_recovery {
  struct log *log;        ///< the log being opened
  int64_t recovery_point; ///< everything below is on disk
  bool is_clean;          ///< the last shutdown was clean
  int64_t start_offset;   ///< log start; below it nothing is read
  bool is_contiguous;     ///< offsets have no holes
  bool is_missing_epochs; ///< the leader epochs are to be found in the batches
  bool is_converted;      ///< of the segment at hand: what it had of formats 0 and 1, and can be read, is in format 2
  int converted_segments; ///< segments that were written anew for that
  int64_t converted_records; ///< records that were converted
  int64_t next_offset;       ///< out: where the segment ends
  struct log_holes holes;    ///< out: of all segments so far
};

/// Loads one segment: plausible indexes are taken over, others rebuilt; after a crash what is not known to be on disk
/// is checked, and cut where it is bad. Start-up.
///
/// @param is_last     the newest segment: its end is looked for in any case
/// @param next_base   base offset of the segment after it; INT64_MAX when it is the last
/// @param[out] is_cut  it does not reach to the next segment, and a crash may be why: what follows it is to go
/// @return 0; ERR_UNSUPPORTED_FORMAT (it holds messages of format 0 or 1, and was not converted yet:
///         log_convert_segment(), then again with a new `seg`), ERR_CORRUPT, ERR_LIMIT, ERR_NO_SPACE, ERR_IO ...
int log_recover_segment(struct log_recovery *recovery, struct segment *seg, bool is_last, int64_t next_base,
                        bool *is_cut);

/// Writes a segment's messages of formats 0 and 1 anew in format 2; the file is replaced when the new one is on disk,
/// and as it was after a failure. Start-up.
///
/// @return 0; ERR_NO_SPACE (it may be tried again), ERR_LIMIT (more memory or a larger segment would be needed than
///         there may be), ERR_NOMEM, ERR_IO ...
int log_convert_segment(struct log_recovery *recovery, int64_t base_offset, int64_t next_base);

/// Looks whether a message of format 0 or 1 lies there, by its CRC-32.
///
/// @return 0, ERR_IO
int log_check_old_message(int fd, int64_t pos, int64_t end, bool *is_old);

/// Copies a file from `pos` to `size` to <path>.cut, or the next free name of that kind. Start-up.
///
/// @param[out] kept  the name, owned: mem_free()
/// @return 0, ERR_NO_SPACE, ERR_LIMIT (too many such files), ERR_IO ...
int log_keep_rest(const char *path, int fd, int64_t pos, int64_t size, char **kept);

/// A name for cut bytes that is not taken: <file>.cut, <file>.cut.2 ... Owned: mem_free(); NULL with ERR_LIMIT recorded
/// when there are too many.
char *log_cut_path(const char *path);

/// Sets a segment's file aside as *.cut, with a warning, and removes what belongs to it. Start-up.
///
/// @param why  borrowed; what the segment does, "follows a cut"
int log_set_aside(const char *dir, int64_t base_offset, const char *why);
