// SPDX-License-Identifier: Apache-2.0
//
// The inside of the log manager, for its own files:
//
//   log_manager.c           life: new, claim, stop
//   log_manager_start.c     start: strays, parallel recovery
//   log_manager_open.c      opening one log, failing a directory
//   log_manager_delete.c    deleting one log
//   log_manager_metadata.c  what the directories call the metastore
//   log_manager_move.c      logs that move to another directory
//   log_manager_wish.c      where logs are wanted that are not there yet
//   log_manager_resume.c    what moves left behind when the last process ended
//   log_manager_survey.c    what found partitions hold, before an adoption
//   log_manager_sync.c      the sync journals: one flush for what waits in many logs
//   log_manager_replay.c    what they had when the last process ended
//   log_manager_work.c      timers, retention and flushes
//   log_flush_timer.c       flush.ms
//   log_write_back.c        early write-back
//   log_checkpoints.c       the four checkpoints of a directory
//   cleaner*.c              compaction
//   log_table.c             the table of logs
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/epoch.h"
#include "base/list.h"
#include "event/pool.h"
#include "event/timer.h"
#include "log/deletion.h"
#include "log/log_dir.h"
#include "log/log_manager.h"
#include "log/sync_journal.h"

struct cleaner;
struct log_entry_cleaning;

enum log_entry_state {
  LOG_ENTRY_OPENING,  ///< a thread opens it
  LOG_ENTRY_OPEN,     ///< `log` is set
  LOG_ENTRY_FAILED,   ///< it did not open; its checkpointed offsets are kept
  LOG_ENTRY_DELETING, ///< a thread deletes it; then it leaves the table
};

/// A partition that lies, or will lie, in a directory. Guarded by the manager's lock but for what never changes. Once
/// out of the table and unreferenced it is retired: what the epoch pins may still read its name.
struct log_entry {
  struct epoch_retired retired;              ///< for its end
  struct log_entry *next;                    ///< in its bucket
  struct log_manager *mgr;                   ///< never changes
  struct log_dir *_Atomic dir;               ///< changes while OPENING, and with the switch of a move
  struct log_mover *mover;                   ///< its move to another directory, or NULL
  char *topic;                               ///< owned, never changes
  int32_t partition;                         ///< never changes
  uint32_t hash;                             ///< of both, never changes
  struct uuid topic_id;                      ///< of the topic that wanted it last; changes only while OPENING
  size_t position;                           ///< in the table's list
  enum log_entry_state state;                ///< see above
  int refs;                                  ///< the table's, and one for each flush that waits for the pool
  int users;                                 ///< threads that call hooks with `owner` now; deletion waits for them
  struct log *log;                           ///< OPEN, or DELETING and not closed yet
  void *owner;                               ///< for the hooks
  int64_t offsets[LOG_DIR_CHECKPOINT_COUNT]; ///< as last checkpointed, -1: no line
  bool may_have_holes;                       ///< it was compacted, or Kafka wrote it; set before it is opened
  int64_t flushed_end;                       ///< log end at the last flush pass: unchanged means quiet
  struct list write_back_node;               ///< in the `waiting` of a log_write_back, or alone
  _Atomic(bool) is_filled;                   ///< it waits for write-back; set by its appender, cleared by the job
  struct log_entry_cleaning *cleaning;       ///< what the cleaner did with it, NULL: nothing yet; owned
};

/// The directory that an entry lies in, at this moment. Any thread that keeps the entry from going.
static inline struct log_dir *log_entry_dir(const struct log_entry *entry)
{
  return atomic_load(&entry->dir);
}

enum log_mover_state {
  LOG_MOVER_COPYING,   ///< a job of the pool is on its way
  LOG_MOVER_WAITING,   ///< for the next tick
  LOG_MOVER_SWITCHING, ///< for the appender
  LOG_MOVER_SETTLING,  ///< the copy becomes the log, or is it; the old folder is still there
  LOG_MOVER_RESTING,   ///< the same, but for the next tick: the old folder could not be given up yet
};

/// A move of a log to another directory. Guarded by the manager's lock but for what only its job looks at.
struct log_mover {
  struct log_mover *next;     ///< in the manager's list
  struct pool_job job;        ///< one at a time
  struct log_manager *mgr;    ///< never changes
  struct log_entry *entry;    ///< referenced
  struct log_dir *from;       ///< never changes
  struct log_dir *to;         ///< never changes
  struct log_dir *then;       ///< SETTLING, RESTING: where it is wanted next; NULL: here
  char *path;                 ///< the -future folder, owned
  struct log_move *copy;      ///< NULL until the first step; owned, set under the lock
  enum log_mover_state state; ///< see above
  struct log_dir *culprit;    ///< whose disk the last failure came from; NULL: it was told already. Only its job looks
  bool is_cancelled;          ///< nobody wants it any more
  bool is_over;               ///< it cannot go on
  bool is_reported;           ///< that it has to wait. Only its job looks
  bool is_using;              ///< since the switch: it is one of its entry's users
  bool has_older;             ///< the log had a mark before: an older folder may be left somewhere. Only its job looks
};

/// Where a partition is wanted that is not there yet.
struct log_wish {
  char *topic;         ///< owned
  int32_t partition;   ///< partition number
  struct log_dir *dir; ///< where
};

/// A folder that a move left beside the one that counts.
struct log_rest {
  char *topic;            ///< owned
  int32_t partition;      ///< partition number
  struct log_dir *dir;    ///< where it lies
  struct log_dir *winner; ///< where the one lies that counts
  bool is_settled;        ///< it has another name, on disk
};

/// The table: a list for walking, buckets for finding.
struct log_table {
  struct log_entry **entries; ///< all, in no order
  size_t count;               ///< entries
  size_t room;                ///< slots of `entries`
  struct log_entry **buckets; ///< by hash
  size_t bucket_count;        ///< a power of two, 0: none yet
};

/// Work that a timer starts again and again.
struct log_work {
  struct timer timer;                   ///< on the control loop
  struct pool_job job;                  ///< one at a time
  struct log_manager *mgr;              ///< whose
  void (*run)(struct log_manager *mgr); ///< on the pool, or on the loop
  _Atomic(int64_t) interval_ms;         ///< between two starts; changed on the control loop
  _Atomic(int64_t) due_ms;              ///< wall time of the next start, -1: none is due; for those who ask
  _Atomic(bool) is_running;             ///< the job is queued or runs: this tick is skipped
};

enum log_work_kind {
  LOG_WORK_RETENTION,
  LOG_WORK_FLUSH,
  LOG_WORK_START_OFFSETS,
  LOG_WORK_HIGH_WATERMARKS,
  LOG_WORK_COUNT,
};

/// Looks after flush.ms (log_flush_timer.c); stands still while nothing waits.
struct log_flush_timer {
  struct mail mail;        ///< starts the timer
  struct timer timer;      ///< on the control loop
  struct pool_job job;     ///< a look at all logs
  _Atomic(bool) is_going;  ///< mail, timer or job is under way
  _Atomic(bool) is_wanted; ///< something was appended since the logs were looked at
  int64_t wait_ms;         ///< until the next look; belongs to whichever of them is under way
  bool has_more;           ///< the same: there are records that wait
};

enum log_journal_state {
  LOG_JOURNAL_NONE,   ///< nobody has asked for it yet, or it could not be made for want of space
  LOG_JOURNAL_MAKING, ///< a job of the pool makes it
  LOG_JOURNAL_READY,  ///< it may be written
  LOG_JOURNAL_UNUSED, ///< not by this process: it holds what is needed, or its disk has failed
};

/// A data directory's sync journal and those who wait for it.
struct log_journal {
  pthread_mutex_t lock;          ///< guards the following, to `flush_ns`
  pthread_cond_t more;           ///< `appends` has reached `target`
  struct log_sync *waiting;      ///< oldest first
  struct log_sync **waiting_end; ///< where the next one goes
  int64_t appends;               ///< that wait
  int64_t target;                ///< appends that a flush waits for
  bool is_gathering;             ///< a flush waits for more
  bool is_running;               ///< `commit` is queued, or runs
  enum log_journal_state state;  ///< see above
  int64_t made_ms;               ///< monotonic time of the last try to make it
  int64_t crowd;                 ///< appends that took part in the last flush, or waited behind it
  int64_t flush_ns;              ///< how long a flush takes, on average
  pthread_mutex_t io_lock;       ///< guards what follows: one writer at a time, for as long as the disk takes
  struct sync_journal file;      ///< READY: open
  struct sync_group group;       ///< scratch
  bool is_other_free;            ///< of the half that is not written now nothing is needed
  uint64_t turns;                ///< counts how often the half that is written has changed; the last of io_lock's
  _Atomic(bool) is_releasing;    ///< `release` is queued, or runs
  struct pool_job commit;        ///< one flush
  struct pool_job make;          ///< makes the file
  struct pool_job release;       ///< flushes logs, so that nothing is needed of the other half
  struct log_manager *mgr;       ///< never changes
  struct log_dir *dir;           ///< never changes
  bool is_kept;                  ///< found at the start, and not empty: what did not open may need it
};

/// An entry of a sync journal that was found at the start.
struct log_replay {
  struct sync_entry entry;     ///< what it says
  struct log_journal *journal; ///< which has it
};

/// What a directory's writers share; guarded by the manager's lock.
struct log_dir_writer {
  bool is_writing[LOG_DIR_CHECKPOINT_COUNT]; ///< a thread replaces that file
  bool is_stale[LOG_DIR_CHECKPOINT_COUNT]; ///< the file has lines that are not right any more, whatever the offsets say
};

/// Logs of a directory that have something for the disk; guarded by the manager's lock.
struct log_write_back {
  struct log_manager *mgr; ///< whose
  struct pool_job job;     ///< one log at a time
  struct list waiting;     ///< entries, each referenced; the first waits longest
  bool is_running;         ///< the job is on its way
};

struct log_manager {
  pthread_mutex_t lock;                        ///< see log_manager.h
  pthread_cond_t changed;                      ///< an entry's state or users, or a writer
  struct log_dir *dirs;                        ///< data directories; array fixed
  struct log_dir_writer *writers;              ///< one per directory
  struct log_write_back *write_backs;          ///< one per directory
  struct log_journal *journals;                ///< one per directory
  struct log_replay *replays;                  ///< found at the start, by topic id, partition and offset; owned
  size_t replay_count;                         ///< how many
  bool is_gathering[LOG_DIR_CHECKPOINT_COUNT]; ///< a thread brings entries up to date for one of those files
  size_t dir_count;                            ///< how many
  struct log_table table;                      ///< logs; guarded by `lock`
  struct log_found *found;                     ///< partitions found, by topic and partition; freed by start
  size_t found_count;                          ///< how many
  struct log_manager_hooks hooks;              ///< what the layer above does for us
  _Atomic(int) recovery_threads;           ///< per directory; these three are set by log_manager_configure() as well
  _Atomic(int64_t) file_delete_delay_ms;   ///< for folders
  struct event_loop *loop;                 ///< control loop or NULL
  struct pool *pool;                       ///< or NULL
  struct log_work work[LOG_WORK_COUNT];    ///< periodic
  struct log_flush_timer flush_timer;      ///< flush.ms
  _Atomic(int64_t) producer_expiration_ms; ///< see struct log_manager_config
  struct deletion_queue deletions;         ///< delayed removals
  struct uuid *missing;                    ///< directory.id of those that are not there, owned; fixed
  size_t missing_count;                    ///< how many
  struct log_mover *movers;                ///< all moves, in no order; guarded by `lock`
  struct mail moves_mail;                  ///< starts `moves_timer`
  struct timer moves_timer;                ///< has moves that wait try again. Control loop
  bool is_retrying_moves;                  ///< the mail or the timer is under way; guarded by `lock`
  struct log_wish *wishes;                 ///< oldest first, owned; guarded by `lock`
  size_t wish_count;                       ///< how many
  struct log_rest *rests;                  ///< old folders of finished moves, found at start; owned
  size_t rest_count;                       ///< how many
  _Atomic(int64_t) reserve_bytes;          ///< a new log goes where more than this is free, if anywhere
  struct cleaner *cleaner;                 ///< compaction; owned
  bool is_running;                         ///< guarded by `lock`: jobs may be submitted to the pool
  bool was_adopting;                       ///< what Kafka left is not touched: -delete folders, unwanted ones
};

// --- log_table.c: while holding the lock, or while nobody else knows the manager ---

struct log_entry *log_table_find(const struct log_table *table, const char *topic, int32_t partition);
struct log_entry *log_table_find_log(const struct log_table *table, const struct log *log);

/// A new entry in state OPENING with the table's reference, counted in `dir`.
struct log_entry *log_table_add(struct log_manager *mgr, const char *topic, int32_t partition, struct log_dir *dir);

/// Counts an entry in another directory. While holding the lock; the entry is OPENING, or has just switched.
void log_table_move(struct log_entry *entry, struct log_dir *dir);

/// Takes an entry out and gives back the table's reference.
void log_table_remove(struct log_manager *mgr, struct log_entry *entry);

/// Gives back a reference; retires the entry with the last one.
void log_entry_unref(struct log_entry *entry);

void log_table_destroy(struct log_table *table);

// --- log_checkpoints.c ---

/// Replaces a checkpoint of a directory if a line of it has changed. Waits for the disk, and for another thread that
/// writes the same file: pool or start-up, inside the epoch. A failure is reported here.
int log_checkpoints_write(struct log_manager *mgr, struct log_dir *dir, enum log_dir_checkpoint which);

/// Has stale lines gone from the checkpoints of a directory, so that a partition made in it now does not inherit those
/// of a deleted one of its name.
int log_checkpoints_settle(struct log_manager *mgr, struct log_dir *dir);

/// The same for all directories that are not offline; the first failure.
int log_checkpoints_write_all(struct log_manager *mgr, enum log_dir_checkpoint which);

/// Takes the entries for which `wanted` is the directory (NULL: all) and whose log is open, and keeps their owners from
/// going until log_entries_release(). Owned: both free the array.
struct log_entry **log_entries_take(struct log_manager *mgr, const struct log_dir *wanted, size_t *count);
void log_entries_release(struct log_manager *mgr, struct log_entry **entries, size_t count);

// --- log_manager_open.c ---

/// True for errors after which a disk is not to be trusted.
bool log_manager_is_disk_failure(int code);

/// Takes a directory offline; see log_manager_fail_dir().
void log_manager_fail(struct log_manager *mgr, struct log_dir *dir, int cause);

/// Tells the owner of a log that was opened or moved into its directory just now, should that have failed meanwhile:
/// log_manager_fail() did not see it there.
void log_manager_tell_failed(struct log_manager *mgr, struct log_entry *entry);

/// The directory that a log lies in.
struct log_dir *log_manager_dir_of(const struct log_manager *mgr, const struct log *log);

/// Asks the disks how much is free, each at most once a second. Waits for them, so not while holding the lock.
void log_manager_ask_space(struct log_manager *mgr);

/// True when a directory has no more than the reserve left, as far as it was asked.
bool log_manager_is_full(const struct log_manager *mgr, const struct log_dir *dir);

/// Where a new log goes: the directory with the fewest logs of those that work, have space and are not `is_tried`;
/// where none has space, without regard to it. NULL: there is none. While holding the lock.
///
/// @param is_tried  one for each directory; NULL: none was
struct log_dir *log_manager_least_loaded(struct log_manager *mgr, const bool *is_tried);

/// Opens the log of an entry that the caller has put into state OPENING: I/O, no lock. Sets the results in `wanted`,
/// and the entry's state: OPEN, or FAILED where its folder was found; otherwise the entry is gone, and so is the folder
/// if it was made here. A folder that this call did not make is never removed.
///
/// @param is_found  its folder is there and its checkpointed offsets count
/// @param is_clean  nobody has written to it since a clean shutdown
/// @param found_id  borrowed: what its partition.metadata was found to say, zero: unknown; NULL: it was not looked at
int log_manager_open_entry(struct log_manager *mgr, struct log_entry *entry, struct log_wanted *wanted, bool is_found,
                           bool is_clean, const struct uuid *found_id);

/// Renames the folder of a partition to -stray and says so.
int log_manager_set_aside(struct log_dir *dir, const char *topic, int32_t partition, const char *why);

// --- log_manager_sync.c ---

void log_journals_create(struct log_manager *mgr);
void log_journals_destroy(struct log_manager *mgr);

/// Path of a directory's sync journal. Owned: mem_free().
char *log_journal_path(const struct log_dir *dir);

/// Before records of a log are cut off: its journals forget what they have of it. For struct log_open_args.
int log_manager_on_cut(void *arg, struct log *log);

// --- log_manager_replay.c: start-up ---

/// Looks what the sync journals have, before logs are opened.
void log_manager_find_replays(struct log_manager *mgr);

/// Appends what they have of a log, and brings the log to disk. Nobody else has the log yet; on several threads.
int log_manager_replay(struct log_manager *mgr, struct log *log, int32_t partition);

/// Empties the journals, but for those of which something did not find its log.
void log_manager_settle_replays(struct log_manager *mgr, const struct log_wanted *wanted, size_t count);

// --- log_manager_wish.c: while holding the lock ---

/// Remembers where a partition is wanted that is not there yet; the oldest wish is forgotten when there are too many.
void log_manager_put_wish(struct log_manager *mgr, const char *topic, int32_t partition, struct log_dir *dir);

/// The directory that a partition was wanted in before it was there; NULL: none, or it cannot be used. The wish is
/// forgotten.
struct log_dir *log_manager_take_wish(struct log_manager *mgr, const char *topic, int32_t partition,
                                      const bool *is_tried);

/// Forgets all. Start-up thread.
void log_wishes_destroy(struct log_manager *mgr);

// --- log_manager_move.c ---

/// Begins a move of an open log to another directory. While holding the lock.
struct log_mover *log_mover_begin(struct log_manager *mgr, struct log_entry *entry, struct log_dir *to);

/// Tells of the copies that are made in a directory. While inside the epoch.
void log_movers_usage(struct log_manager *mgr, const struct log_dir *dir,
                      void (*each_log)(void *arg, const struct log_usage *log), void *arg);

/// Has a move that waits try again at once. While holding the lock.
void log_mover_wake(struct log_mover *mover);

/// Has the moves that wait tried again now and then, from now on while there are any. While holding the lock.
void log_manager_note_move(struct log_manager *mgr);

/// Has the moves that wait try again. Control loop.
void log_movers_retry(struct log_manager *mgr);

/// Ends all moves: those that have switched are settled, what others copied stays for the next start. Start-up thread.
void log_movers_stop(struct log_manager *mgr);

/// Ends the move of a log that is being deleted, if it was switched and could not give up its old folder yet. While the
/// entry is DELETING and has no users: nobody can have made a folder of that name. Waits for the disk.
void log_mover_drop(struct log_manager *mgr, struct log_entry *entry);

/// Frees all moves. Start-up thread.
void log_movers_forget(struct log_manager *mgr);

// --- log_manager_metadata.c ---

/// Puts absolute paths in the place of what the directories' meta.properties call the metastore.
///
/// @param configured  where it is by the configuration; NULL: not said
/// @return 0, ERR_CONFIG (a directory of an id that is not there), ERR_IO ...
int log_manager_resolve_metadata(struct log_manager *mgr, const char *configured);

/// Notes which directories are missing that others say belong to them, and says so.
void log_manager_find_missing(struct log_manager *mgr);

/// All directories' ids, as each of them is to have them; NULL for a single one. Owned: mem_free().
char *log_manager_directories_text(const struct log_manager *mgr);

/// Their paths in the same order, a line each, empty where it is not known; NULL: none, or too much for the file.
/// Owned: mem_free().
char *log_manager_paths_text(const struct log_manager *mgr);

/// What a directory's meta.properties are to call a metastore. Owned: mem_free().
char *log_manager_metadata_text(struct log_manager *mgr, const struct log_dir *dir, const char *path);

// --- log_manager_resume.c ---

/// Decides which of two folders of one partition counts, when one of them is there because a move was not finished.
///
/// @return 1: `found` does, and `other` is in mgr->rests; 0: nobody can tell
int log_manager_keep_moved(struct log_manager *mgr, const struct log_found *found, const struct log_found *other);

/// Renames the old folders of finished moves to -delete, and takes over their start offsets. Before the logs are
/// opened.
void log_manager_settle_rests(struct log_manager *mgr);

/// The start offset that the old folder of a finished move was checkpointed with; -1: there is none.
int64_t log_manager_rest_start_offset(const struct log_manager *mgr, const char *topic, int32_t partition);

/// Begins the moves anew that the last process did not finish. After the logs were opened.
void log_manager_resume(struct log_manager *mgr);

void log_rests_destroy(struct log_manager *mgr);

// --- log_manager_work.c ---

/// Submits a flush after a roll: the on_rolled callback of every log; `arg` is its entry.
void log_manager_on_rolled(void *arg, struct log *log, int64_t offset);

/// Queues the removal of a segment's files: the on_deleted callback of every log; `arg` is its entry.
void log_manager_on_deleted(void *arg, struct log_deleted *deleted);

/// Flushes a log; a failed fsync is never tried again, so it takes the directory offline. On the pool.
void log_manager_flush(struct log_manager *mgr, struct log_entry *entry, struct log *log, int64_t offset);

/// Calls `visit` for every open log, one at a time, leaving the epoch in between: an fsync may take long, and nothing
/// would be reclaimed. On the pool.
void log_manager_each(struct log_manager *mgr,
                      void (*visit)(struct log_manager *mgr, struct log_entry *entry, struct log *log));

/// The log of an entry for work on the pool, if it is still there and its directory works; what it gives stays valid
/// inside the epoch. NULL: it is not.
struct log *log_manager_log_of(struct log_manager *mgr, const struct log_entry *entry);

// --- log_write_back.c ---

/// Has what was appended given to the disk: the on_filled callback of every log; `arg` is its entry.
void log_manager_on_filled(void *arg);

void log_write_backs_create(struct log_manager *mgr, size_t dir_count);
void log_write_backs_destroy(struct log_manager *mgr);

// --- log_flush_timer.c ---

/// Has logs looked at soon: the on_unflushed callback of every log; `arg` is its entry.
void log_manager_on_unflushed(void *arg);

void log_flush_timer_create(struct log_manager *mgr);

/// Looks at what was there before the start. On the control loop's thread.
void log_flush_timer_run(struct log_manager *mgr);

/// On the control loop's thread.
void log_flush_timer_pause(struct log_manager *mgr);

void log_work_create(struct log_manager *mgr, const struct log_manager_config *config);
