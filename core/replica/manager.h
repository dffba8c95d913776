// SPDX-License-Identifier: Apache-2.0
//
// The replicas of this broker: makes partitions when the controller says so, with their logs opened on the pool, finds
// them for requests, and takes them away. Changes are made on the control thread, one at a time; finding needs no lock.
//
//   controller --apply--> replica_manager_open    pool: log opened    control: leader, in the table, done
//   controller --apply--> replica_manager_configure   appender: new settings    control: done
//   controller --apply--> replica_manager_drop    control: out of the table, appender: DELETED, waiters told
//                                                 pool: log renamed and closed    control: done
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/uuid.h"

struct event_loop;
struct log_manager;
struct log_manager_hooks;
struct log_slice;
struct log_sync;
struct log_wanted;
struct metadata_topic;
struct metric_samples;
struct partition;
struct partition_table;
struct pool;
struct pool_job;
struct replica_manager;
struct replica_totals;

/// Everything is borrowed for the manager's life.
struct replica_manager_options {
  int32_t broker_id;                 ///< this broker
  struct log_manager *logs;          ///< data directories
  struct pool *pool;                 ///< for opening and deleting logs
  struct event_loop *control;        ///< the control loop
  struct event_loop *const *workers; ///< the workers' loops
  int worker_count;                  ///< how many
  bool is_adopting;                  ///< Kafka's data is taken up by this start: see log_manager_start()
};

struct replica_manager *replica_manager_new(const struct replica_manager_options *options);

/// Starts nothing more by itself: logs that did not open are not tried again. Control thread, before it ends.
void replica_manager_pause(struct replica_manager *manager);

/// Frees it and its partitions, when no loop runs any more. NULL is fine.
void replica_manager_delete(struct replica_manager *manager);

/// What the log manager asks: appenders for retention, high watermarks for checkpoints, failed directories.
void replica_manager_log_hooks(struct replica_manager *manager, struct log_manager_hooks *hooks);

/// The end of a change. `result` is 0, or with `is_load` ERR_* when no directory could be started, its error_last()
/// still in place; a replica that cannot be opened is no error of the whole.
typedef void (*replica_change_done_fn)(void *arg, int result);

/// Opens the replicas that `topics` have on this broker and makes it their leader where they say so. A replica that
/// cannot be opened is reported and stays offline; where space or open files are missing, it is tried again
/// (replica/retry.h). Control thread.
///
/// @param topics  borrowed until done
/// @param is_load  the topics were there before this start: all logs are opened in one go, in the calling thread, and
///                 what else lies in the directories is renamed -stray
/// @param done    called on the control loop, or before this returns when `is_load`
void replica_manager_open(struct replica_manager *manager, const struct metadata_topic *const *topics, int32_t count,
                          bool is_load, replica_change_done_fn done, void *arg);

/// Takes the replicas of `topics` away and deletes their logs. Control thread; `done` as above.
void replica_manager_drop(struct replica_manager *manager, const struct metadata_topic *const *topics, int32_t count,
                          replica_change_done_fn done, void *arg);

/// Gives the logs that `topics` have on this broker the topics' configs. Control thread; `done` as above, once every
/// log has them.
void replica_manager_configure(struct replica_manager *manager, const struct metadata_topic *const *topics,
                               int32_t count, replica_change_done_fn done, void *arg);

/// Finds a partition; NULL when this broker has no replica of it. Any thread inside the epoch; borrowed until it
/// leaves.
struct partition *replica_manager_find(struct replica_manager *manager, const struct uuid *topic_id, int32_t index);

/// All partitions (replica/table.h). Any thread inside the epoch; borrowed until it leaves.
const struct partition_table *replica_manager_all(const struct replica_manager *manager);

/// The data directories. Borrowed as long as the manager.
struct log_manager *replica_manager_logs(const struct replica_manager *manager);

/// What was appended in all (replica/partition.h). Any thread; borrowed as long as the manager.
struct replica_totals *replica_manager_totals(struct replica_manager *manager);

/// Source of metrics "partition.*", "log.*" and "topic.*" (base/metrics.h). Any thread inside the epoch; takes as long
/// as there are partitions. @param arg  the manager
void replica_collect(void *arg, struct metric_samples *out);

/// False while the file system of the log has less than the reserve left. Asks the disk at most once a second. While
/// holding the appender.
bool replica_manager_has_space(struct replica_manager *manager, struct partition *part);

/// Writes the log start offsets that changed to their checkpoints; several that wait for it share one write. What a
/// full disk keeps from being written is written later. Waits for the disk: pool, inside the epoch.
void replica_manager_write_log_starts(struct replica_manager *manager);

/// True when the directory of a partition's log has failed; the partition may not have been told yet. For a partition
/// with a role, any thread inside the epoch.
bool replica_manager_is_offline(const struct replica_manager *manager, const struct partition *part);

/// Submits a flush of a partition's log to the pool; false when the broker stops, or there is no manager. While holding
/// the appender.
bool replica_manager_submit_flush(struct replica_manager *manager, struct pool_job *job,
                                  void (*work)(struct pool_job *job));

/// Has the sync journal of the log's directory bring it to disk (log_manager_sync()); false when there is none for it
/// now, or no manager. While holding the appender.
bool replica_manager_submit_sync(struct replica_manager *manager, struct partition *part, struct log_sync *sync,
                                 int32_t appends);

/// As log_manager_sync_more().
void replica_manager_sync_more(struct replica_manager *manager, struct partition *part, int32_t appends);

/// A flush of a log that has a role failed: takes its directory offline unless it may be tried again. On the pool.
void replica_manager_flush_failed(struct replica_manager *manager, struct partition *part, int error);

/// An append failed: takes the log's directory offline unless the disk is only full. While holding the appender.
void replica_manager_append_failed(struct replica_manager *manager, struct partition *part, int error);

/// A read failed: takes the log's directory offline when the disk is to blame. Any thread inside the epoch.
///
/// @param slice  what was read, should the log have moved away from that disk since; NULL: it was found just now
void replica_manager_read_failed(struct replica_manager *manager, struct partition *part, const struct log_slice *slice,
                                 int error);
