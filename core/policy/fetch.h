// SPDX-License-Identifier: Apache-2.0
//
// The way out of records through policies: stored batches go in one by one, and what a client is to see of them is
// written behind one another. A view's `where` decides first, on records as they are stored; `transform_fetch` of the
// topic then sees what is left, so that a view shows nobody more than its source would.
//
//    fetch = (struct policy_fetch){ .vm = ..., .where = ..., ... };
//    while (there is a batch && (more = policy_fetch_batch(&fetch, bytes, size)) > 0) { ... }
//    policy_fetch_finish(&fetch)          // fetch.out has the answer
//    policy_fetch_destroy(&fetch);
//
// Offsets stay. A stretch of records that are not shown becomes an empty batch that spans it, however many batches it
// was, so that the client goes on behind it. Batches that nothing is changed of are copied, control batches
// (transaction markers) always. An answer has at least one record that the client looks at: where it would have none,
// the batch that spans the stretch is a control batch with one record of an unknown type at its end, which consumers
// pass by. An answer without any is taken by librdkafka for one that was cut too short, ten times, and then is an
// error; kafkajs goes on at the high watermark and loses what is between; kafka-go asks again for ever; kafka-python up
// to 2.0 fails. (Those last two do not know control batches and see a record without a value.) Clients of formats 0 and
// 1 get a message without key and value.
//
// Called by runners; one thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/vm.h"
#include "record/buffer.h"
#include "record/down_convert.h"

struct policy;
struct policy_job;

enum {
  POLICY_FETCH_MADE_BYTES = 1 << 20, ///< what records made of a batch may have beside twice what they were
};

/// Offsets of which the client gets no record, at the end of what was looked at so far.
struct policy_stretch {
  int64_t base_offset;   ///< first offset
  int64_t last_offset;   ///< last offset
  int64_t max_timestamp; ///< of the batches, ms, -1: none
  int32_t leader_epoch;  ///< of the last batch
  bool is_there;         ///< there is such a stretch
};

/// Embed it. What the caller sets is borrowed until the end.
struct policy_fetch {
  struct policy_job *job;             ///< in: that calls; its scratch is used
  struct policy_vm *vm;               ///< in: of the calling thread
  const struct policy *where;         ///< in: which records a view has; NULL: all
  const struct policy *transform;     ///< in: `transform_fetch` of the topic; NULL: none
  const struct policy_client *client; ///< in: who fetches
  const char *topic;                  ///< in: where the records are stored; of a view, its source
  int32_t partition;                  ///< in: number of the partition
  int magic;                          ///< in: record format wanted, 0 to 2
  int64_t first_offset;               ///< in: first offset wanted
  size_t limit_bytes;                 ///< in: the answer ends before the batch that would make it larger; the first
                                      ///< comes whole
  size_t batch_max_bytes;             ///< in: max.message.bytes; bounds what a batch may be unpacked to

  struct record_buffer out;      ///< out: the answer, owned; may be taken over: set it to all zero
  struct policy_failure failure; ///< out: why, with ERR_SCRIPT and ERR_PERMISSION

  struct policy_stretch stretch; ///< private: not written yet
  struct record_buffer written;  ///< private: the batch written anew
  struct down_convert convert;   ///< private: for old formats
  bool has_record;               ///< private: `out` has a record
  size_t unpacked_bytes;         ///< private: of all batches so far
};

/// Adds what the client is to see of a stored batch. What is there already stays right, whatever is returned but
/// ERR_CLOSED.
///
/// @param bytes  a whole stored batch of format 2
/// @param size   exactly its bytes
/// @return 1, 0 (the answer is full, or the rest is for the next fetch: finish it), ERR_SCRIPT (a policy failed),
///         ERR_PERMISSION (a policy refuses the client), ERR_CLOSED (the job was abandoned: touch nothing more),
///         ERR_UNSUPPORTED_CODEC (zstd in an old format), ERR_BATCH_TOO_LARGE, ERR_TRUNCATED, ERR_CORRUPT_BATCH,
///         ERR_UNSUPPORTED_FORMAT, ERR_DECOMPRESS, ERR_INVALID_RECORD, ERR_LIMIT, ERR_NOMEM
int policy_fetch_batch(struct policy_fetch *fetch, const uint8_t *bytes, size_t size);

/// Whether finishing gives the client anything, so that an error is for the fetch that begins with it.
bool policy_fetch_has_any(const struct policy_fetch *fetch);

/// Writes the stretch at the end.
///
/// @return 0, ERR_LIMIT (no memory may be had for it)
int policy_fetch_finish(struct policy_fetch *fetch);

void policy_fetch_destroy(struct policy_fetch *fetch);
