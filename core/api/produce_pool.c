// SPDX-License-Identifier: Apache-2.0
//
// Batches that take long: those whose compressed records must be looked at, those of topics with a compression.type of
// their own that come in another codec, and the message sets of old producers, which become batches here. A batch of
// 100 KB may unpack to 100 MB, so the pool does that; a worker would keep all of its connections waiting.
//
//   worker: produce_pool() holds the connection -> pool: validate, convert, pack anew -> worker: append, release the
//   connection
#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "api/errors.h"
#include "api/produce_private.h"
#include "api/request.h"
#include "base/error.h"
#include "base/list.h"
#include "metadata/topic_config.h"
#include "network/connection.h"
#include "network/frame.h"
#include "os/clock.h"
#include "policy/produce.h"
#include "record/recompress.h"
#include "record/up_convert.h"
#include "replica/partition.h"
#include "wire/error_codes.h"

bool produce_needs_recompress(const struct produce_part *part, const struct topic_config *config)
{
  int level;
  int codec = policy_topic_codec(config, &level);
  return codec >= 0 && part->records.length >= BATCH_HEADER_SIZE && batch_needs_recompress(part->records.data, codec);
}

/// Packs a validated batch anew, or sets the part's error.
static void produce_recompress(struct produce_pooled *pooled)
{
  struct produce_part *part = pooled->part;
  int result = batch_repack(part->records.data, part->verdict.header.size, pooled->codec, pooled->level,
                            (size_t)pooled->rules.max_message_bytes, &pooled->packed);
  if (result < 0) {
    part->error = api_wire_error(result);
  }
}

/// Makes a batch of a message set, or sets the part's error.
static void produce_convert(struct produce_pooled *pooled)
{
  struct produce_part *part = pooled->part;
  int result = message_set_convert(part->records.data, (size_t)part->records.length, &pooled->rules, pooled->codec,
                                   pooled->level, &pooled->packed, &part->verdict);
  if (result < 0) {
    part->error = api_wire_error(result);
  }
}

/// The batch of a part as it is now.
static uint8_t *produce_batch(struct produce_pooled *pooled, size_t *size)
{
  if (pooled->packed.size > 0) {
    *size = pooled->packed.size;
    return pooled->packed.bytes;
  }
  *size = pooled->part->verdict.header.size;
  return (uint8_t *)(uintptr_t)pooled->part->records.data;
}

static void produce_pool_work(struct pool_job *job)
{
  struct produce_pooled *pooled = CONTAINER_OF(job, struct produce_pooled, job);
  struct produce_part *part = pooled->part;
  if (clock_mono_ms() >= atomic_load_explicit(&part->produce->req->worker->give_up_ms, memory_order_relaxed)) {
    part->error =
        WIRE_NOT_LEADER_OR_FOLLOWER; // the broker stops, connections are closed: not for what may take minutes
    return;
  }
  if (pooled->is_old) {
    produce_convert(pooled);
  } else {
    produce_validate(part, pooled->found, &pooled->rules, &pooled->arena);
  }
  if (part->error == WIRE_NONE && part->division != NULL) {
    size_t size;
    uint8_t *bytes = produce_batch(pooled, &size);
    produce_divide_packed(part, bytes, size, pooled->codec, pooled->level, (size_t)pooled->rules.max_message_bytes);
  } else if (part->error == WIRE_NONE && !pooled->is_old && pooled->codec >= 0 &&
             batch_needs_recompress(part->records.data, pooled->codec)) {
    produce_recompress(pooled);
  }
}

void produce_keep_texts(struct produce_part *part)
{
  struct request *req = part->produce->req;
  struct batch_verdict *verdict = &part->verdict;
  if (verdict->message != NULL) {
    verdict->message = arena_strndup(&req->arena, verdict->message, strlen(verdict->message));
  }
  struct batch_record_error *errors = request_array(req, verdict->record_error_count, sizeof *errors);
  for (int32_t i = 0; i < verdict->record_error_count; i++) {
    const char *message = verdict->record_errors[i].message;
    errors[i].index = verdict->record_errors[i].index;
    errors[i].message = arena_strndup(&req->arena, message, strlen(message));
  }
  verdict->record_errors = errors;
}

static void produce_pool_done(struct pool_job *job)
{
  struct produce_pooled *pooled = CONTAINER_OF(job, struct produce_pooled, job);
  struct produce_part *part = pooled->part;
  struct produce *produce = part->produce;
  struct request *req = produce->req;
  produce_keep_texts(part);
  arena_destroy(&pooled->arena);
  if (part->error != WIRE_NONE) {
    if (part->division != NULL) {
      produce_divide_refused(part, pooled->found);
    }
    record_buffer_destroy(&pooled->packed);
    partition_unref(pooled->found);
  } else if (part->division != NULL) {
    produce_divide_append(part, pooled->found);
  } else {
    size_t size;
    uint8_t *bytes = produce_batch(pooled, &size);
    produce_append(part, pooled->found, bytes, size);
  }
  if (req->client != NULL && --req->client->hold_count == 0) {
    connection_resume(req->frame->conn);
  }
  produce_release(produce);
}

void produce_pool(struct produce_part *part, struct partition *found, const struct batch_rules *rules,
                  const struct topic_config *config, bool is_old)
{
  struct produce *produce = part->produce;
  struct request *req = produce->req;
  struct produce_pooled *pooled = arena_zalloc(&req->arena, sizeof *pooled);
  part->pooled = pooled;
  pooled->part = part;
  pooled->found = partition_ref(found);
  pooled->rules = *rules;
  pooled->codec = policy_topic_codec(config, &pooled->level);
  pooled->is_old = is_old;
  produce->pending++;
  req->client->hold_count++;
  pool_submit_long(req->api->pool, &pooled->job, produce_pool_work, req->worker->loop, produce_pool_done);
}
