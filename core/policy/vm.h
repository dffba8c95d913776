// SPDX-License-Identifier: Apache-2.0
//
// What runs policies on records. core/lua makes one of two Lua states (one interpreted with budgets, one compiled),
// specs make one of C functions; nothing in core/policy knows which. A VM belongs to one thread.
//
// Records come as an array of plain structs that both C and the FFI of LuaJIT read, and what is to become of each is
// written to an array of the same length.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"
#include "policy/policy.h"
#include "record/iterate.h"

struct arena;

/// Records of one batch, on their way through policies. All borrowed for the call.
struct policy_batch {
  const char *topic;                 ///< of the partition that they are for
  int32_t partition;                 ///< its number
  int32_t count;                     ///< records
  const struct record_view *records; ///< `count` of them, in order
  const struct batch_header *header; ///< of the batch that they are of, whose producer they can tell; NULL: not known
};

/// Who fetches, for `transform_fetch`; or produces.
struct policy_client {
  const char *id;        ///< client id, "" when there is none
  const char *principal; ///< "User:ANONYMOUS"
  const char *address;   ///< without port
};

/// What is to become of one record.
enum policy_action {
  POLICY_KEEP,    ///< it stays as it is
  POLICY_DROP,    ///< it goes, and leaves a hole
  POLICY_REPLACE, ///< `replaced` takes its place
  POLICY_REJECT,  ///< the whole batch is refused; the texts are in `rejects`
};

/// A record that a policy made. Bytes are in the output's arena, or those of the record that came in.
struct policy_record {
  int64_t timestamp;      ///< ms
  const uint8_t *key;     ///< NULL: null
  const uint8_t *value;   ///< NULL: null
  const uint8_t *headers; ///< as they are in a batch: `header_count` of varint-prefixed names and values
  int32_t key_size;       ///< bytes, -1: null
  int32_t value_size;     ///< bytes, -1: null
  int32_t header_count;   ///< headers
  int32_t headers_size;   ///< bytes at `headers`
  const char *topic;      ///< of one that was emitted: for which topic; NULL: one more for the batch's own partition
  int32_t partition;      ///< of one that was emitted: for which partition; -1: as its key says
  int32_t from;           ///< index of the record that it was made of
};

struct policy_reject {
  int32_t index;    ///< of the record
  const char *text; ///< why, in the output's arena
};

/// What came of a batch. Filled by the VM, in the caller's arena.
struct policy_output {
  struct arena *arena;            ///< for all that follows
  uint8_t *actions;               ///< `count` of enum policy_action; all POLICY_KEEP when the call begins
  struct policy_record *replaced; ///< by index, where the action is POLICY_REPLACE; NULL: none is
  struct policy_record *extras;   ///< further ones, in the order in which they were made
  int32_t extra_count;            ///< how many
  struct policy_reject *rejects;  ///< refused records, by rising index
  int32_t reject_count;           ///< how many
  bool is_changed;                ///< not everything is kept
  int64_t limit_bytes;            ///< most bytes that all made records may have; beyond, the call fails
};

/// A closed segment, as `retention` and `archive` see it. Borrowed for the call.
struct policy_segment {
  const char *topic;    ///< of its partition
  const char *path;     ///< of its .log file; .index, .timeindex and the others lie beside it
  int32_t partition;    ///< number of the partition
  int64_t base_offset;  ///< first offset it can hold
  int64_t next_offset;  ///< base offset of the next segment
  int64_t size_bytes;   ///< of its .log file
  int64_t age_ms;       ///< since its newest timestamp, or its last append where that is none or in the future
  int64_t log_bytes;    ///< of the whole partition, with this segment and without those that go before it
  int32_t log_segments; ///< likewise segments, the active one included
};

/// What went wrong: names the policy, file and line.
struct policy_failure {
  char text[POLICY_TEXT_SIZE]; ///< one line: "partitioner of topic clicks: config.lua:12: attempt to index ..."
  int32_t index;               ///< record at which it happened, -1: none
};

/// Seen by other threads while a call runs (policy/runner.c looks whether it comes to an end).
struct policy_progress {
  _Atomic(int64_t) calls;                ///< rises with each call; odd while one runs
  _Atomic(int64_t) record;               ///< index of the record at hand: a budget is one record's
  _Atomic(const struct policy *) policy; ///< which
  /// Written by others: which call is to end at its next record, by the low 32 bits of `calls`; 0: none. Compiled
  /// policies read it as plain memory (lua/luka/ffi/policy.lua): LuaJIT's interpreter makes one load of what has 32
  /// bits, and a call of memcpy() of what has 64.
  _Atomic(int32_t) stop;
};

struct policy_vm_class {
  /// Chooses a partition for each record.
  ///
  /// @param partitions   of the topic
  /// @param[out] chosen  `batch->count` numbers from 0 to partitions - 1
  /// @return 0, ERR_SCRIPT with `failure` filled
  int (*partition)(struct policy_vm *vm, const struct policy *policy, const struct policy_batch *batch,
                   int32_t partitions, int32_t *chosen, struct policy_failure *failure);

  /// Decides on each record, of `transform`, `transform_fetch` and `where` policies alike (`where`: keep or drop).
  ///
  /// @param client  who fetches; NULL for what is produced
  /// @return 0 (rejects are no failure), ERR_SCRIPT with `failure` filled
  int (*transform)(struct policy_vm *vm, const struct policy *policy, const struct policy_batch *batch,
                   const struct policy_client *client, struct policy_output *output, struct policy_failure *failure);

  /// Asks a `retention` policy whether a segment goes, or an `archive` policy whether it may. That of an archive waits
  /// for disks and programs for as long as the user likes; budgets count the time of the processor.
  ///
  /// @param[out] goes  `retention`: true: it is deleted; `archive`: false: it stays
  /// @return 0, ERR_SCRIPT with `failure` filled
  int (*segment)(struct policy_vm *vm, const struct policy *policy, const struct policy_segment *segment, bool *goes,
                 struct policy_failure *failure);

  /// Frees it. On its thread.
  void (*free)(struct policy_vm *vm);
};

/// Embed it at the start.
struct policy_vm {
  const struct policy_vm_class *class; ///< what it can do
  struct policy_progress progress;     ///< written by the VM
};
