// SPDX-License-Identifier: Apache-2.0
//
// Logs that did not open for want of something that may come back (space, open files) are opened again, every second,
// until they are open or their partition is dropped. Meanwhile the partition is offline.
//
//   waiting --timer--> pool: log_manager_open_log --> appender: its log, its role
//                                        \--> waiting, or reported and given up
//
// Control thread, but for what its comment says.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_loop;
struct log_config;
struct log_manager;
struct log_wanted;
struct partition;
struct pool;
struct replica_retries;

/// A log is open that a partition waited for; while holding its appender. The partition may be dropped by now.
typedef void (*replica_retried_fn)(struct partition *part, const struct log_wanted *wanted, int32_t leader_epoch,
                                   bool is_leader);

/// @param opened  called for each log that opens. Owned: replica_retries_delete()
struct replica_retries *replica_retries_new(struct log_manager *logs, struct pool *pool, struct event_loop *control,
                                            replica_retried_fn opened);

/// Frees it, when neither the loop nor the pool runs any more. NULL is fine.
void replica_retries_delete(struct replica_retries *retries);

/// Begins to retry.
///
/// @param wanted  as it was given to the log manager; copied, its config too
void replica_retries_add(struct replica_retries *retries, struct partition *part, const struct log_wanted *wanted,
                         int32_t leader_epoch, bool is_leader);

/// Has a partition's log opened with a changed configuration, if it waits for that.
void replica_retries_configure(struct replica_retries *retries, const struct partition *part,
                               const struct log_config *config);

/// Forgets the partitions that were dropped (partition.is_removed). Of those whose log is being opened just now the
/// partition gets the log all the same.
///
/// @param done  called with `arg` when that is over
/// @return false when nothing is being opened, and `done` is not called
bool replica_retries_drop(struct replica_retries *retries, void (*done)(void *arg), void *arg);

/// Starts nothing more.
void replica_retries_pause(struct replica_retries *retries);
