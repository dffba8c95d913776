// SPDX-License-Identifier: Apache-2.0
//
// A Produce request under way: produce.c finds, validates, appends and answers, produce_recompress.c takes those batches
// round by the pool whose topic has a compression type of its own.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/uuid.h"
#include "event/pool.h"
#include "record/buffer.h"
#include "record/validate.h"
#include "replica/append.h"
#include "wire/types.h"

struct partition;
struct request;
struct topic_config;

struct produce;

/// One partition of a request.
struct produce_part {
  struct append_job job;        ///< the append
  struct produce *produce;      ///< the request it belongs to
  struct uuid topic_id;         ///< as the client gave it, zero below version 13
  struct wire_string topic;     ///< the same, null from version 13 on
  int32_t index;                ///< partition
  struct wire_records records;  ///< what to append
  struct batch_verdict verdict; ///< what validation found
  bool is_append_time;          ///< the topic's timestamps are ours
  struct partition *found;      ///< where it goes; referenced while it is recompressed
  struct pool_job pool;         ///< recompressing
  struct record_buffer packed;  ///< the recompressed batch, owned; empty when the client's bytes are used
  int32_t max_message_bytes;    ///< the topic's limit, for the recompressed batch
  int codec;                    ///< the topic's own codec; -1: as the producer sent it
  int level;                    ///< its level
  int16_t error;                ///< wire code
};

/// One request, in its arena.
struct produce {
  struct request *req;        ///< the request
  struct produce_part *parts; ///< in the order in which they are answered: topics together
  int32_t count;              ///< parts
  int32_t pending;            ///< appends not done yet, plus one while they are being submitted
  int16_t acks;               ///< as asked
};

/// Fills in the codec that a topic asks for. Any thread.
void produce_choose_codec(struct produce_part *part, const struct topic_config *config);

/// True when a batch of at least a header's size is not in the codec that its topic asks for.
bool produce_needs_recompress(const struct produce_part *part);

/// Recompresses a validated batch on the pool, then calls produce_append() or leaves an error in the part, and gives
/// back the request's hold on its connection. On the request's worker.
void produce_recompress(struct produce_part *part, struct partition *found);

/// Gives a validated batch to the appender of its partition. On the request's worker.
void produce_append(struct produce_part *part, struct partition *found, uint8_t *bytes, size_t size);

/// One of the things that the request waits for is done. On the request's worker.
void produce_release(struct produce *produce);
