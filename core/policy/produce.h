// SPDX-License-Identifier: Apache-2.0
//
// The way of a produced batch through the policies of its topic. core/api hands over one partition's records of a
// Produce request, and is told on the request's worker what came of them.
//
//   home of the addressed partition:  validate, unpack, convert (what the pool does for others) -> partitioner ->
//                                     batch_split() -> a part for each partition that was chosen
//   home of each chosen partition:    duplicate? -> transform -> batch_rewrite(), further and emitted records in
//                                     batches of the broker's own: all that can be refused is
//   in order (produce_order.c):       all parts are there -> emitted records are written -> each part, and its further
//                                     records, in one row; or nothing at all
//   worker:                           all of it is done -> `done`
//
// A topic without policies comes this way only while batches of the same partition are on it:
// policy_produce_is_ahead().
//
// A batch is written as a whole or not at all, as far as one broker can give that: what refuses one of its parts is
// found before any is written, and then no part is. Only a disk that fails in between, or a crash, leaves some parts
// written; the client's retry finds those again by their sequences, if it has any.
//
// Batches of a partition are decided in the order in which their clients sent them, though their transforms run on many
// threads and never wait for each other. So one that follows a refused one is refused as well where the producer counts
// (replica/gaps.h), and what a retry finds is what the first one has left.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "policy/runner.h"
#include "record/buffer.h"
#include "record/validate.h"
#include "replica/append.h"
#include "replica/partition.h"

struct metadata_cache;
struct metadata_topic;
struct policy_part;
struct replica_manager;
struct topic_config;

/// One partition's records on their way. Zero-initialised, on the heap of its own, embedded by the caller.
struct policy_produce {
  // Set by the caller; borrowed until `free`, but for what is said to be taken.
  struct policy_runners *runners;          ///< where it goes
  struct replica_manager *replicas;        ///< partitions
  struct metadata_cache *metadata;         ///< topics
  struct event_loop *reply;                ///< the request's worker
  const _Atomic(int64_t) *give_up_ms;      ///< clock_mono_ms() from which on it is not begun any more
  struct partition *addressed;             ///< a reference, taken
  struct batch_rules rules;                ///< what the records are validated by
  uint8_t *bytes;                          ///< the records field; patched
  size_t size;                             ///< its bytes
  bool is_old;                             ///< a message set of format 0 or 1
  bool is_unacknowledged;                  ///< acks=0
  void (*done)(struct policy_produce *op); ///< the results are there. On `reply`, once
  void (*free)(struct policy_produce *op); ///< nobody refers to it any more, or to what it borrowed. On `reply`, after
                                           ///< `done`; for an abandoned one maybe much later, or never
  /// A thread is lost that may be reading `bytes`. On `reply`, before `done`.
  void (*abandoned)(struct policy_produce *op);

  // What came of it, for `done`.
  int result;                   ///< 0, or what batch_validate() and partition_submit() say; ERR_POLICY_VIOLATION: a
                                ///< policy failed; ERR_INVALID_RECORD: records were rejected; ERR_SCRIPT: no VM
  bool is_transactional;        ///< with ERR_INVALID: it is a transactional batch, which may not meet policies
  struct batch_verdict verdict; ///< of the records; with texts in `arena`. `message` and `record_errors` go for all
  int64_t base_offset;          ///< of its first record; -1: not all of them are in the addressed partition's log
  int64_t log_start_offset;     ///< of the addressed partition; -1: not to be told
  int64_t stored_timestamp;     ///< of a duplicate
  bool is_duplicate;            ///< it had been stored before
  struct arena arena;           ///< texts of the results

  // Private.
  struct policy_job job;        ///< its turn with the home of the addressed partition
  struct mail free_mail;        ///< has it freed on its worker
  struct mail decided_mail;     ///< tells its worker that it has been decided on
  struct list node;             ///< in the addressed partition's order
  _Atomic(int) refs;            ///< the worker's, and one for each job that has not come back
  _Atomic(int) pending;         ///< jobs, appends and the decision, which `done` waits for
  _Atomic(int) waiting;         ///< what the step at hand waits for: parts to be prepared, looks, emitted records
  int step;                     ///< enum order_step (produce_order.c): which
  bool was_first;               ///< nothing was before it when it came: what it saw of the logs is as it is
  bool is_behind_gap;           ///< a share of it would lie behind one that its producer's log misses
  int16_t producer_epoch;       ///< of the client's batch
  int32_t sequence;             ///< likewise, of its first record
  uint32_t crc;                 ///< likewise
  int64_t producer_id;          ///< likewise; -1: none
  struct record_buffer packed;  ///< the batch when it is not the one that lies in `bytes`
  struct record_buffer split;   ///< bytes of its parts, when it was divided
  size_t held_bytes;            ///< of both, counted while it waits
  struct metadata_topic *topic; ///< referenced
  struct policy_part *parts;    ///< owned
  int32_t part_count;           ///< how many
  int32_t *chosen;              ///< partition of each record, when it was divided; owned
  int codec;                    ///< how what is stored is packed
  int level;                    ///< likewise
};

/// Whether batches of a partition are with runners: what comes now has to follow them, also when no topic has policies
/// any more. Any thread.
static inline bool policy_produce_is_ahead(const struct partition *part)
{
  return atomic_load_explicit(&part->policy_jobs, memory_order_acquire) > 0;
}

/// Sends it on its way, on the worker's thread. What the same thread has gathered for the partition must have been
/// submitted.
void policy_produce_start(struct policy_produce *op);

/// The codec that a topic asks for, -1: as the producer sent it; and its level.
int policy_topic_codec(const struct topic_config *config, int *level);

/// Most bytes that a batch of a topic may have for its logs to take it.
size_t policy_segment_bytes(const struct topic_config *config);
