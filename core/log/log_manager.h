// SPDX-License-Identifier: Apache-2.0
//
// All logs of a broker: opens and locks the data directories, recovers the logs in them in parallel at start, makes new
// ones in the least loaded directory, deletes them, and does the work that no request pays for: retention, flushes and
// checkpoints. Life of a manager, in this order:
//
//   log_manager_new      start-up  directories made, locked, read; nothing in them is changed yet
//   log_manager_found    start-up  what lies there, for adoption
//   log_manager_survey   start-up  what is in it, for adoption; changes nothing
//   log_manager_claim    start-up  meta.properties checked and written
//   log_manager_delete_found  start-up  what a deletion left renamed -delete
//   log_manager_start    start-up  wanted logs opened (recovered) in parallel, the others renamed -stray
//   log_manager_run      control   timers start
//   log_manager_open_log, _delete_log, _fail_dir   pool, while running
//   log_manager_pause    control   timers stop; then the caller drains the pool
//   log_manager_stop     start-up  flush, close, checkpoints, clean-shutdown marker, locks released, memory freed
//
// "Start-up" is the main thread before other threads use the manager and after they have stopped.
//
// Lock: one mutex guards the table of logs and what the directories count; a condition variable goes with it. It is
// never held over I/O or a hook; while it is held only the pool's own lock is taken.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"
#include "log/log.h"

struct event_loop;
struct log;
struct log_config;
struct log_manager;
struct metric_samples;
struct pool;
struct pool_job;

enum {
  LOG_MANAGER_CLUSTER_ID_SIZE = 256, ///< longest cluster id of a meta.properties, with its NUL
};

/// How the log cleaner works (cleaner.h). Kafka's broker configs log.cleaner.*.
struct log_cleaner_config {
  int threads;                 ///< log.cleaner.threads; 0: nothing is compacted
  int64_t dedupe_buffer_bytes; ///< log.cleaner.dedupe.buffer.size, of all threads together
  double load_factor;         ///< log.cleaner.io.buffer.load.factor: share of it that is used; above 0.9 counts as that
  int64_t io_buffer_bytes;    ///< log.cleaner.io.buffer.size, of all threads together
  double io_bytes_per_second; ///< log.cleaner.io.max.bytes.per.second, of all threads together, read and written
  int64_t backoff_ms;         ///< log.cleaner.backoff.ms: how long a thread rests when there is nothing to clean
};

/// What a manager needs to know; strings are borrowed until log_manager_new() returns.
struct log_manager_config {
  const char *const *dirs;              ///< data directories, in the order of the configuration
  size_t dir_count;                     ///< at least 1
  int32_t node_id;                      ///< this broker's id; -1: take the one that meta.properties names
  const char *metadata;                 ///< absolute path of the metastore; NULL: do not compare
  int recovery_threads;                 ///< num.recovery.threads.per.data.dir, at least 1
  int64_t retention_check_ms;           ///< log.retention.check.interval.ms
  int64_t producer_expiration_ms;       ///< producer.id.expiration.ms; 0: producers are not forgotten
  int64_t flush_checkpoint_ms;          ///< log.flush.offset.checkpoint.interval.ms; these three: below 1 counts as 1
  int64_t start_offset_checkpoint_ms;   ///< log.flush.start.offset.checkpoint.interval.ms
  int64_t high_watermark_checkpoint_ms; ///< replica.high.watermark.checkpoint.interval.ms
  int64_t reserve_bytes;                ///< new logs go where more than this is free, if such a directory works; a
                                        ///< directory with less takes no records
  int64_t file_delete_delay_ms;         ///< how long files of deleted logs and segments stay for their readers
  struct log_cleaner_config cleaner;    ///< the log cleaner; zero: there is none
  struct event_loop *loop;              ///< control loop, borrowed until log_manager_stop(); NULL: no periodic work
  struct pool *pool;                    ///< borrowed until log_manager_pause() and a drain; NULL with no loop
};

typedef void (*log_work_fn)(void *work_arg, struct log *log, int64_t high_watermark);

/// What the manager asks of the layer above. Set before log_manager_run(). Any may be NULL: that work is not done.
/// `owner` is the log's, as log_wanted gave it; no hook is called with it after log_manager_delete_log() has returned.
/// A hook does not call log_manager_delete_log(), and waits for nothing.
struct log_manager_hooks {
  /// Calls `work` exactly once, on any thread and now or later, while holding the appender of the log's partition, and
  /// publishes the log's offsets afterwards; with log NULL when the partition is gone by then. Called on pool threads.
  void (*with_appender)(void *arg, void *owner, struct log *log, log_work_fn work, void *work_arg);
  /// The partition's high watermark, for retention and its checkpoint; -1 when unknown: no retention then, and the old
  /// value is kept. Called on pool threads and in log_manager_stop().
  int64_t (*high_watermark)(void *arg, void *owner, struct log *log);
  /// The log's directory has failed: answer ERR_STORAGE_OFFLINE from now on. Any thread, also while some appender is
  /// held; once for each log of the directory. Not in log_manager_stop(), when nobody serves any more.
  void (*log_failed)(void *arg, void *owner, struct log *log, int cause);
  /// The manager has flushed a log that acknowledges by what is on disk (flush.messages): more may be acknowledged now.
  /// Called on pool threads.
  void (*log_flushed)(void *arg, void *owner, struct log *log);
  /// Whether somebody else decides what retention deletes from a log: then it has been asked to, and
  /// log_delete_before() is its business. Called on pool threads, inside the epoch, in each pass.
  bool (*retention)(void *arg, void *owner, struct log *log, int64_t high_watermark);
  void *retention_arg; ///< for `retention`
  /// Told of what has happened to whoever wants to know; any thread, also while an appender is held. `topic` and texts
  /// are borrowed during the call.
  void (*rolled)(void *arg, const char *topic, int32_t partition, int64_t base_offset);
  void (*segment_deleted)(void *arg, const char *topic, int32_t partition, int64_t base_offset, int64_t size_bytes);
  void (*dir_failed)(void *arg, const char *path, const char *why);
  void *told_arg; ///< for these three
  void *arg;      ///< for all others
};

/// What the directories' meta.properties say, all of which agree.
struct log_identity {
  int32_t node_id;                              ///< -1: no directory names one
  char cluster_id[LOG_MANAGER_CLUSTER_ID_SIZE]; ///< empty: none
  const char *metadata;                         ///< path of the metastore that luka.metadata names, or NULL; borrowed
  bool is_foreign;                              ///< a directory has partitions but was never Luka's: adopt or refuse
  const char *foreign_dir;                      ///< the first such directory, or NULL; borrowed
  const char *offline_dir;                      ///< the first that does not work, or NULL; borrowed
};

/// A partition's folder found in a data directory; strings are borrowed until log_manager_start().
struct log_found {
  const char *topic;    ///< topic name
  int32_t partition;    ///< partition number
  struct uuid topic_id; ///< from partition.metadata; zero: it has none
  const char *dir;      ///< data directory
  // What log_manager_survey() finds out.
  bool is_log;          ///< it has segments or a partition.metadata; otherwise only its name looks like a partition
  int32_t leader_epoch; ///< the latest that its list or its newest batches name, -1: none
  int64_t producer_id;  ///< the highest in its snapshots and newest batches, -1: none
};

/// A log that is to be open after start.
struct log_wanted {
  const char *topic;               ///< borrowed during the call
  int32_t partition;               ///< partition number
  struct uuid topic_id;            ///< compared with partition.metadata, or written to it; zero: not compared
  const struct log_config *config; ///< as for log_open()
  bool is_new;                     ///< just created: an absent folder is right, even while a directory is offline
  void *owner;                     ///< for the hooks; borrowed as long as the log
  struct log *log;                 ///< out: the log, borrowed until log_manager_delete_log() or _stop(); NULL: `error`
  int64_t high_watermark;          ///< out: checkpointed high watermark within the log's offsets, or its start offset
  int error;                       ///< out: 0, or as log_manager_open_log() returns
};

/// Sizes of a log, or of its copy in the directory that it moves to; for DescribeLogDirs.
struct log_usage {
  const char *topic; ///< borrowed during the call
  int32_t partition; ///< partition number
  int64_t bytes;     ///< sum of its segments
  int64_t lag;       ///< offsets that a copy is behind; 0 for a log
  bool is_future;    ///< a copy
};

/// A data directory, for DescribeLogDirs.
struct log_dir_usage {
  const char *path;     ///< as configured, absolute; borrowed as long as the manager
  struct uuid id;       ///< directory.id
  bool is_offline;      ///< failed
  int64_t total_bytes;  ///< of its file system, -1: unknown
  int64_t usable_bytes; ///< free for us, -1: unknown
  size_t log_count;     ///< open logs
};

/// Makes missing directories, locks all and reads what lies in them. A directory that answers EIO or EROFS is offline
/// from the start, as long as another one works. Waits for the disk: start-up.
///
/// @param[out] mgr  owned: log_manager_stop() or log_manager_abandon()
/// @return 0, ERR_BUSY (in use by another broker), ERR_CONFIG (named twice, of another broker, cluster or metastore),
///         ERR_EXISTS (a partition in two directories), ERR_MALFORMED (meta.properties or a checkpoint), ERR_IO ...;
///         error_last() has the line to print
int log_manager_new(const struct log_manager_config *config, struct log_manager **mgr);

/// What the directories say about themselves. Start-up, before log_manager_claim().
void log_manager_identity(const struct log_manager *mgr, struct log_identity *identity);

/// The partitions found, borrowed until log_manager_start(). Start-up.
const struct log_found *log_manager_found(const struct log_manager *mgr, size_t *count);

/// Looks into the partitions found (log_survey.h) and fills in what log_manager_found() says of them, on several
/// threads; changes nothing on disk. Start-up, inside the epoch; only before an
/// adoption.
///
/// @return 0, ERR_PERMISSION, ERR_IO ... of the first file that cannot be read, or of a directory that does not work:
///         what lies in it would be missing
int log_manager_survey(struct log_manager *mgr);

/// Makes the directories this broker's: compares what meta.properties says, then writes node.id, cluster.id,
/// directory.id and luka.metadata where they are missing. Start-up.
///
/// @return 0, ERR_CONFIG (names both values and the file), ERR_IO ...
int log_manager_claim(struct log_manager *mgr, int32_t node_id, const char *cluster_id, const char *metadata);

/// Whether the last process closed every directory cleanly: nobody can have seen records that are gone now. A directory
/// without partitions counts as clean, one that is offline does not. Start-up, after log_manager_new().
bool log_manager_was_clean(const struct log_manager *mgr);

/// Deletes the folder of a partition whose deletion a crash cut short: renames it to -delete; its files go once
/// log_manager_run() is called. Start-up, after log_manager_claim() and before log_manager_start().
///
/// @param topic_id  a folder of another id is left alone
/// @return 0 also when no directory has the partition, or ERR_* of the rename: log_manager_start() sets it aside then
int log_manager_delete_found(struct log_manager *mgr, const char *topic, int32_t partition,
                             const struct uuid *topic_id);

void log_manager_set_hooks(struct log_manager *mgr, const struct log_manager_hooks *hooks);

/// Removes the clean-shutdown markers, opens the wanted logs on several threads a directory and creates the missing
/// ones. What was found and is not wanted (or has another topic id) is renamed -stray and reported. Results are in
/// `wanted`; a log that does not open leaves the others alone. A wanted log whose name is taken by a folder of another
/// topic that cannot be renamed gets ERR_EXISTS, and the folder is left alone. Start-up, inside the epoch.
///
/// @param is_adopting  the directories hold Kafka's data: -delete folders and whatever nobody wants are left alone,
/// holes
///                     in offsets are taken as they are, and all that was opened is on disk, with its recovery points,
///                     before this returns
/// @return 0, or why nothing was opened (each wanted log has the same error then): a marker that cannot be removed, no
///         directory that works. The broker must not go on; log_manager_stop() leaves the directories as they are
int log_manager_start(struct log_manager *mgr, struct log_wanted *wanted, size_t count, bool is_adopting);

/// Takes over what may change while the broker runs, see struct log_manager_config; before the start or later. Any
/// thread.
void log_manager_configure(struct log_manager *mgr, int recovery_threads, int64_t producer_expiration_ms,
                           int64_t file_delete_delay_ms);

/// How often the periodic work is done, as in struct log_manager_config.
struct log_manager_intervals {
  int64_t retention_check_ms;           ///< log.retention.check.interval.ms
  int64_t flush_checkpoint_ms;          ///< log.flush.offset.checkpoint.interval.ms
  int64_t start_offset_checkpoint_ms;   ///< log.flush.start.offset.checkpoint.interval.ms
  int64_t high_watermark_checkpoint_ms; ///< replica.high.watermark.checkpoint.interval.ms
};

/// Changes the intervals. What is due is so still, or by the new interval where that is sooner. On the control loop's
/// thread.
void log_manager_set_intervals(struct log_manager *mgr, const struct log_manager_intervals *intervals);

/// Takes over how the log cleaner works; passes on their way go on as they were begun, unless their thread is not
/// wanted any more. On the control loop's thread.
void log_manager_configure_cleaner(struct log_manager *mgr, const struct log_cleaner_config *config);

/// Starts the periodic work, and the removal of leftovers. On the control loop's thread.
void log_manager_run(struct log_manager *mgr);

/// Opens a log: the existing folder in whichever directory, or a new one in the directory with the fewest logs of those
/// with free space; where a new one cannot be made, in the next. Waits for the disk: pool, or start-up; inside the
/// epoch. An unfinished deletion of the same name is waited for. May be called again for a log that did not open.
///
/// @param wanted  in and out, as at start; `error` is what is returned
/// @return 0, ERR_EXISTS (open already), ERR_STORAGE_OFFLINE (no directory works, or the log's own one failed),
///         ERR_NO_SPACE, ERR_CORRUPT, ERR_IO ...
int log_manager_open_log(struct log_manager *mgr, struct log_wanted *wanted);

/// True for an error of log_manager_start() or _open_log() for one log that may be gone later without a restart (space,
/// open files): log_manager_open_log() may be called again with the same log_wanted. Any thread.
bool log_manager_may_pass(int error);

/// Submits a job to the pool that may take as long as a disk does. Any thread; takes the manager's lock for a moment.
///
/// @return false before log_manager_run() and after log_manager_pause(): the job is not taken
bool log_manager_submit(struct log_manager *mgr, struct pool_job *job, void (*work)(struct pool_job *job));

/// A log whose records are to be on disk, by the sync journal of its directory; see log_manager_sync(). Embed it.
struct log_sync {
  struct log_sync *next;                      ///< in its directory's list
  struct log *(*find)(struct log_sync *sync); ///< the log, or NULL when it is not used any more; pool, inside the epoch
  void (*done)(struct log_sync *sync,
               int result);    ///< on the pool, inside the epoch; takes `sync`. 0 (`range` says how
                               ///< far), ERR_AGAIN (log_flush() it), ERR_IO (the directory is offline) ...
  int32_t partition;           ///< partition number
  int result;                  ///< private: for `done`
  struct log_sync_range range; ///< out: what is on disk now: log_sync_done()
};

enum { LOG_SYNC_BYTES_MAX = 256 * 1024 }; ///< of one log; more is not worth writing twice

/// Has the sync journal of a log's directory take what is not on disk of it, with what other logs wait for. One at a
/// time for a log. While holding the appender.
///
/// @param sync     taken until `done`, if that is what is returned
/// @param appends  that wait for it
/// @return false: not now (there is no journal yet, the broker stops): log_flush() it
bool log_manager_sync(struct log_manager *mgr, struct log *log, struct log_sync *sync, int32_t appends);

/// Says that more appends wait for a log_sync of this log, or will wait for the next one. While holding the appender.
void log_manager_sync_more(struct log_manager *mgr, struct log *log, int32_t appends);

/// Deletes a log: renames its folder to -delete, closes it, removes the files after file_delete_delay_ms. The caller
/// has taken it out of every structure that gives it to new readers or appenders, and nobody holds or gets its
/// appender; readers inside an epoch may go on. Waits for the disk: pool, inside the epoch.
///
/// @param log  taken
/// @return 0, or ERR_* of the rename: the log is closed all the same, and found as a stray at the next start
int log_manager_delete_log(struct log_manager *mgr, struct log *log);

/// Deletes what is on disk of a log that did not open: its folder is renamed to -delete in each directory that works,
/// the name is free afterwards. Folders of another topic id are left alone. Waits for the disk, and for somebody who
/// opens or deletes that name: pool, inside the epoch.
///
/// @return 0 also when there is nothing; ERR_EXISTS (the log is open: log_manager_delete_log()), ERR_STORAGE_OFFLINE
///         (its directory has failed, so its folder may still be there), or ERR_* of the rename: found as a stray at
///         the next start
int log_manager_delete_failed(struct log_manager *mgr, const char *topic, int32_t partition,
                              const struct uuid *topic_id);

/// Has a log moved to another directory, as AlterReplicaLogDirs wants it: it is copied there while it is written and
/// read, and then lies there. A move that was asked for earlier is given up; naming the directory where the log lies
/// does no more than that. Where there is no such log yet, the directory is remembered for when it is made. Any thread
/// inside the epoch; waits for no disk.
///
/// @param path  a directory as it is configured, absolute
/// @return 0, ERR_NO_LOG_DIR, ERR_STORAGE_OFFLINE (that directory, or the log), ERR_NOT_FOUND (no such log yet)
int log_manager_move_log(struct log_manager *mgr, const char *topic, int32_t partition, const char *path);

/// Takes the log's directory offline for good: one line on standard error, then the log_failed hook for each log in it.
/// Does nothing when it is offline already, and when `cause` is no failure of a disk (a full one is none). Any thread
/// inside the epoch; does no I/O.
///
/// @param cause  ERR_*, with its error_last() still in place
void log_manager_fail_dir(struct log_manager *mgr, struct log *log, int cause);

/// Writes the recovery points of the log's directory, as log_truncate_to() wants it before the next append. Waits for
/// the disk: pool, inside the epoch.
int log_manager_write_recovery_point(struct log_manager *mgr, struct log *log);

/// Writes the log start offsets of the directories where one has changed, for a DeleteRecords that is to be answered;
/// whoever comes while it is being written finds it done or writes it once for all that came. A directory whose disk
/// fails goes offline. Waits for the disk: pool, inside the epoch.
void log_manager_write_start_offsets(struct log_manager *mgr);

/// True when the log's directory has failed. Any thread inside the epoch.
bool log_manager_is_offline(const struct log_manager *mgr, const struct log *log);

/// Calls `each_dir` for every data directory, and after each that works `each_log` for every log in it and every copy
/// of one that moves there; copies while holding the manager's lock, so `each_log` asks nothing of it. Waits for the
/// disk (free space): pool.
void log_manager_usage(struct log_manager *mgr, void (*each_dir)(void *arg, const struct log_dir_usage *dir),
                       void (*each_log)(void *arg, const struct log_usage *log), void *arg);

/// True while free space of the log's file system is above the reserve; asks the disk at most every second.
bool log_manager_has_space(struct log_manager *mgr, struct log *log);

/// Changes the reserve. Any thread.
void log_manager_set_reserve(struct log_manager *mgr, int64_t reserve_bytes);

/// Has the next log_manager_has_space() ask the disk: a write found it full.
void log_manager_forget_space(struct log_manager *mgr, struct log *log);

/// When retention passes are made: one at the wall time `next_ms`, or -1 when the manager does not run or the interval
/// is longer than time, and then every `interval_ms`. Any thread.
void log_manager_retention_times(const struct log_manager *mgr, int64_t *next_ms, int64_t *interval_ms);

enum { LOG_CLEANING_ERROR_SIZE = 256 }; ///< of a sentence, with its NUL

/// What the log cleaner has done with a log, and what there is to do.
struct log_cleaning {
  bool is_compacting;                  ///< cleanup.policy holds "compact"
  bool is_running;                     ///< a pass is on its way
  bool is_uncleanable;                 ///< it holds what cannot be read, says `error`; left alone until the next start
  int64_t clean_offset;                ///< what lies below was cleaned; -1: it was never cleaned
  int64_t end_offset;                  ///< what lies from here on may not be cleaned yet; -1: unknown
  int64_t clean_bytes;                 ///< of the segments below the first dirty offset
  int64_t dirty_bytes;                 ///< of those from there on, up to `end_offset`
  int64_t done_bytes;                  ///< running: bytes read and written so far
  int64_t total_bytes;                 ///< running: bytes to read and write, at most
  int64_t finished_ms;                 ///< wall time when the last pass ended; -1: none did since the start
  int64_t took_ms;                     ///< how long that was
  int64_t read_bytes;                  ///< of the segments that it wrote anew
  int64_t written_bytes;               ///< of those that took their place
  int64_t read_records;                ///< in the former
  int64_t kept_records;                ///< in the latter
  int64_t failed_ms;                   ///< wall time when a pass failed last; -1: none did, or one was good since
  char error[LOG_CLEANING_ERROR_SIZE]; ///< why; empty: see `failed_ms`
};

/// Looks at a log that is open. Any thread that may read a few headers of it, inside the epoch.
///
/// @param stable_offset  as for log_clean_look(); -1: unknown
/// @return 0, ERR_NOT_FOUND
int log_manager_cleaning(struct log_manager *mgr, struct log *log, int64_t stable_offset,
                         struct log_cleaning *cleaning);

/// Source of metrics "cleaner.*" (base/metrics.h). Any thread. @param arg  the manager
void log_cleaner_collect(void *arg, struct metric_samples *out);

/// Waits until the cleaner's threads have ended, which they do after log_manager_pause(): a step of a pass at most.
/// While appenders still work, so before the pool and the workers end. Not inside the epoch.
void log_manager_end_cleaner(struct log_manager *mgr);

/// Stops the timers; nothing more is submitted to the pool. On the control loop's thread.
void log_manager_pause(struct log_manager *mgr);

/// Flushes and closes every log, writes the checkpoints and the clean-shutdown markers, releases the locks and frees
/// the manager. After log_manager_pause() and the end of the pool, with nobody reading or appending; the owners of the
/// logs still answer the high_watermark hook. Start-up thread, inside the epoch.
///
/// @param mgr  taken
/// @return 0, or the first error: that directory has no marker and is recovered at the next start
int log_manager_stop(struct log_manager *mgr);

/// Frees a manager that was never started, changing nothing on disk. Start-up thread.
void log_manager_abandon(struct log_manager *mgr);
