// SPDX-License-Identifier: Apache-2.0
//
// A partition's replica on this broker: its log, its role, its offsets, its appender and those who wait for it.
//
// Who may touch what:
//   - what changes the log or the role is done by whoever holds the appender (replica/append.h)
//   - role, leader epoch, log start, high watermark and last stable offset are read by anybody as one consistent
//     snapshot (partition_read_state), written only by the holder of the appender: a sequence lock of atomics, odd
//     while a write is under way
//   - waiters are kept per worker, each list touched by its worker alone (replica/watch.h)
//   - the struct itself is reference counted; the table of partitions (replica/table.h) holds one reference
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/epoch.h"
#include "base/list.h"
#include "base/uuid.h"
#include "event/mail.h"

struct append_job;
struct event_loop;
struct gaps;
struct log;
struct replica_manager;

enum partition_appender {
  APPENDER_FREE,   ///< no job waits, or whoever has added one is about to take it
  APPENDER_HELD,   ///< somebody runs jobs
  APPENDER_PASSED, ///< jobs wait for a loop that has been told, or for anybody who comes before
};

enum partition_role {
  PARTITION_OFFLINE, ///< no log: its directory failed, or it is not open yet
  PARTITION_FOLLOWER,
  PARTITION_LEADER,
  PARTITION_DELETED, ///< gone; waiters are told, nothing is served
};

/// One consistent reading of a partition.
struct partition_state {
  enum partition_role role;
  int32_t leader_epoch;       ///< current epoch, -1 unknown
  int64_t log_start_offset;   ///< first offset that may be read
  int64_t high_watermark;     ///< first offset that consumers may not see yet
  int64_t last_stable_offset; ///< the same for read_committed
  int64_t epoch_start_offset; ///< log end when this leader epoch began (KIP-207)
};

/// What one worker's requests wait for at a partition, and what they got. Only the atomic members are shared.
struct partition_watch {
  _Atomic(int64_t) threshold;     ///< visible bytes that wake this worker; INT64_MAX: nobody waits
  _Atomic(bool) is_posted;        ///< `mail` is in the worker's box
  _Atomic(bool) wake_all;         ///< all waiters must look again, whatever their threshold
  struct mail mail;               ///< wakes the worker; holds a reference to the partition while posted
  struct partition *part;         ///< the partition this is part of
  struct event_loop *loop;        ///< the worker's loop
  struct list waiters;            ///< struct watch, owned by the worker
  _Atomic(int64_t) fetched_bytes; ///< bytes of records that this worker has given to consumers (base/metrics.h)
};

/// What was appended to a partition since it was made here: by clients, not what they sent twice. Changed by the holder
/// of the appender alone, read by any thread (base/metrics.h).
struct partition_counters {
  _Atomic(int64_t) records; ///< records
  _Atomic(int64_t) batches; ///< batches
  _Atomic(int64_t) bytes;   ///< bytes of the batches
};

/// What makes the sum of all partitions' counters one that only rises, though partitions go.
struct replica_totals {
  struct partition_counters gone;  ///< of partitions that were deleted. Control thread
  struct partition_counters shown; ///< the highest sum that anybody was told: for the moment in which a partition has
                                   ///< left the table and is not counted in `gone` yet
};

struct partition {
  struct epoch_retired retired;    ///< for the reclaimer
  char *topic;                     ///< topic name, owned
  struct uuid topic_id;            ///< id of the topic
  int32_t index;                   ///< partition number
  struct replica_manager *manager; ///< borrowed
  /// NULL while offline; set before the partition is in the table, freed by the manager after it left
  struct log *log;
  _Atomic(int32_t) refs; ///< references
  bool is_removed;       ///< taken out of the table; only the control thread looks

  _Atomic(uint64_t) sequence;    ///< odd while the snapshot is being written
  _Atomic(int32_t) role;         ///< enum partition_role
  _Atomic(int32_t) leader_epoch; ///< see struct partition_state, as the following
  _Atomic(int64_t) log_start_offset;
  _Atomic(int64_t) high_watermark;
  _Atomic(int64_t) last_stable_offset;
  _Atomic(int64_t) epoch_start_offset;
  _Atomic(int64_t) visible_bytes; ///< bytes below the high watermark ever appended here; only grows

  _Atomic(int32_t) policy_jobs; ///< batches that clients addressed to it and that are with runners (policy/produce.h):
                                ///< what comes has to follow them
  pthread_mutex_t policy_lock;  ///< guards the two that follow. A leaf but for event_loop_post()
  struct list policy_order;     ///< struct policy_produce: of those batches, those that have begun, in the order in
                                ///< which they came (policy/produce_order.c)
  bool policy_is_deciding;      ///< a thread is at the first of them
  _Atomic(int64_t) divided_ms;  ///< wall time of the last batch addressed to it that a partitioner divided; 0: none
  _Atomic(struct gaps *) gaps;  ///< sequences that were refused (replica/gaps.h), owned; NULL: none were so far

  _Atomic(int64_t) failure_logged_ms; ///< monotonic time of the last failed append that was logged

  _Atomic(struct append_job *) jobs;  ///< newest first, any thread pushes
  _Atomic(int) appender;              ///< enum partition_appender
  _Atomic(bool) is_handing_over;      ///< `handover` is on its way
  struct append_job *ready;           ///< oldest first; only the holder
  struct append_job *held;            ///< written, waiting for a flush, oldest first; only the holder
  struct append_job **held_end;       ///< where the next one goes
  int64_t held_bytes;                 ///< written, but not visible yet; only the holder
  int32_t held_count;                 ///< jobs in `held`; only the holder
  int32_t told_count;                 ///< of these, those that the sync journal was told of; only the holder
  struct partition_counters counters; ///< what was appended; changed by the holder
  bool is_flushing;                   ///< a flush of replica/flush.h is under way; only the holder
  bool is_syncing;                    ///< by the sync journal; only the holder
  struct mail handover;               ///< has another loop take the appender that was passed on

  int watch_count;                  ///< workers
  struct partition_watch watches[]; ///< one per worker
};

/// A new partition in role PARTITION_OFFLINE with one reference.
///
/// @param loops  the workers' loops, borrowed for the life of the partition
struct partition *partition_new(struct replica_manager *manager, const char *topic, const struct uuid *topic_id,
                                int32_t index, struct event_loop *const *loops, int loop_count);

struct partition *partition_ref(struct partition *part);

/// Takes a reference unless the last one is gone; for whoever knows the partition only by a pointer that the epoch
/// keeps valid. Any thread inside the epoch.
bool partition_try_ref(struct partition *part);

/// Gives a reference back; the memory goes when no thread inside its epoch can see it any more. Any thread.
void partition_unref(struct partition *part);

/// The same for `count` references in one step: the count is shared by all workers.
void partition_ref_by(struct partition *part, int32_t count);
void partition_unref_by(struct partition *part, int32_t count);

/// Reads role, epoch and offsets as of one moment. Any thread, no lock.
void partition_read_state(const struct partition *part, struct partition_state *state);

/// Publishes role, epoch and offsets. Only while holding the appender, or before anybody else knows the partition.
void partition_write_state(struct partition *part, const struct partition_state *state);

/// Takes the role away, since the disk has failed, and wakes everybody. While holding the appender.
///
/// @return who waited for a flush, see flush_abort()
struct append_job *partition_go_offline(struct partition *part);

/// Tests an epoch that a client gave against the state.
///
/// @param epoch  -1: the client does not say; other negative ones are old like any other
/// @return 0, ERR_FENCED_LEADER_EPOCH, ERR_UNKNOWN_LEADER_EPOCH
int partition_check_epoch(const struct partition_state *state, int32_t epoch);

/// The error of a request for a partition that is not led here: ERR_NOT_LEADER, ERR_STORAGE_OFFLINE, ERR_NOT_FOUND; 0
/// for a leader.
int partition_check_leader(const struct partition_state *state);
