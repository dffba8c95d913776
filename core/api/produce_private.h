// SPDX-License-Identifier: Apache-2.0
//
// A Produce request under way: produce.c finds, validates, appends and answers; produce_pool.c takes those batches
// round by the pool that must be unpacked, packed or converted; produce_split.c divides those of topics that choose the
// partition of each record themselves.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/uuid.h"
#include "event/pool.h"
#include "record/buffer.h"
#include "record/validate.h"
#include "replica/append.h"
#include "wire/types.h"

struct metadata_topic;
struct partition;
struct request;
struct topic_config;

struct produce;
struct produce_divider;
struct produce_division;
struct produce_pooled;

/// One partition of a request.
struct produce_part {
  struct append_job job;         ///< the append
  struct produce *produce;       ///< the request it belongs to
  struct uuid topic_id;          ///< as the client gave it, zero below version 13
  struct wire_string topic;      ///< the same, null from version 13 on
  struct wire_records records;   ///< what to append
  struct batch_verdict verdict;  ///< what validation found
  struct produce_pooled *pooled; ///< its turn on the pool, in the request's arena; NULL: none
  struct produce_division
      *division;       ///< how it is divided, in the request's arena; NULL: it goes where it was addressed
  int32_t index;       ///< partition
  bool is_append_time; ///< the topic's timestamps are ours
  int16_t error;       ///< wire code
};

/// A part's turn on the pool.
struct produce_pooled {
  struct pool_job job;         ///< the turn
  struct produce_part *part;   ///< whose it is
  struct partition *found;     ///< where the batch goes; referenced until it has been appended, or refused
  struct batch_rules rules;    ///< what it is validated by
  struct arena arena;          ///< for texts of the verdict, until they are copied to the request's
  struct record_buffer packed; ///< the batch in the topic's codec, owned; empty when the client's bytes are used
  int codec;                   ///< the topic's own codec; -1: as the producer sent it
  int level;                   ///< its level
  bool is_old;                 ///< a message set of format 0 or 1, to be converted
};

/// One request, in its arena.
struct produce {
  struct request *req;        ///< the request
  struct produce_part *parts; ///< in the order in which they are answered: topics together
  int32_t count;              ///< parts
  int32_t pending;            ///< appends not done yet, plus one while they are being submitted
  int16_t acks;               ///< as asked
};

/// Validates a part's batch in place, and leaves the error in the part, or WIRE_NONE. On the request's worker or on the
/// pool.
///
/// @param found  where the batch goes; referenced, or borrowed for the turn
/// @param arena  for texts of the verdict
void produce_validate(struct produce_part *part, const struct partition *found, const struct batch_rules *rules,
                      struct arena *arena);

/// Whether a part's batch is not in the codec that its topic asks for; false where there is no batch. Any thread.
bool produce_needs_recompress(const struct produce_part *part, const struct topic_config *config);

/// Validates a part on the pool, makes a batch of what is old, and gives it the codec that the topic asks for; then
/// calls produce_append() or leaves an error in the part. Until then the connection's next Produce is held back, so
/// that it does not overtake this one. On the request's worker.
///
/// @param is_old  the part's records are a message set of format 0 or 1
void produce_pool(struct produce_part *part, struct partition *found, const struct batch_rules *rules,
                  const struct topic_config *config, bool is_old);

/// Whether a part has to go round by a runner: its topic has policies that run there, or batches of its partition are
/// there still.
bool produce_meets_policies(const struct produce *produce, const struct partition *found,
                            const struct topic_config *config);

/// Sends a part round by the runners (policy/produce.h), which write it, or leave an error in it. On the request's
/// worker.
///
/// @param is_old  as for produce_pool()
void produce_police(struct produce_part *part, struct partition *found, const struct batch_rules *rules, bool is_old);

/// Moves the texts of a part's verdict to its request, whose arena is for the request's worker only.
void produce_keep_texts(struct produce_part *part);

/// The error of a transactional batch; WIRE_NONE for any other.
int16_t produce_check_transaction(const struct produce *produce, const struct produce_part *part);

/// Gives a validated batch to the appender of its partition. On the request's worker.
void produce_append(struct produce_part *part, struct partition *found, uint8_t *bytes, size_t size);

/// Fills in an append of a part but for `done`.
///
/// @param bytes  taken until the job is done, and patched
void produce_prepare_job(struct produce_part *part, struct append_job *job, uint8_t *bytes, size_t size,
                         int32_t last_offset_delta, int64_t max_timestamp);

/// A part that was counted in `produce->pending` is done: gives back what its turn on the pool left. On the request's
/// worker.
void produce_part_done(struct produce_part *part);

/// One of the things that the request waits for is done. On the request's worker.
void produce_release(struct produce *produce);

// ---- produce_split.c ----

/// A worker's memory for dividing batches. Owned: produce_divider_delete(), when no request is under way.
struct produce_divider *produce_divider_new(void);
void produce_divider_delete(struct produce_divider *divider);

/// Looks whether a part's topic has a partitioner, and begins a division if so. On the request's worker.
///
/// @return false when the partitioner is not there, and the part has its error
bool produce_divide_begin(struct produce_part *part, const struct metadata_topic *topic);

/// Divides the validated batch of a part, or leaves an error in it. On the request's worker, for uncompressed batches.
///
/// @param bytes        borrowed until the part is done; its producer id may be patched
/// @param limit_bytes  largest batch that may be made
void produce_divide_plain(struct produce_part *part, uint8_t *bytes, size_t size, size_t limit_bytes);

/// The same for any batch, on the pool; the shares are packed in a codec.
///
/// @param codec  enum codec, -1: that of the batch
/// @param level  of that codec
void produce_divide_packed(struct produce_part *part, uint8_t *bytes, size_t size, int codec, int level,
                           size_t limit_bytes);

/// Gives the shares of a divided part to the appenders of their partitions. On the request's worker, not from inside a
/// `done` of an append.
///
/// @param found  the addressed partition
void produce_divide_append(struct produce_part *part, struct partition *found);

/// Notes that a part that was to be divided is refused, and nothing of it written: what its producer has sent behind it
/// has to wait. On the request's worker.
///
/// @param found  the addressed partition
void produce_divide_refused(struct produce_part *part, struct partition *found);
