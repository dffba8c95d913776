// SPDX-License-Identifier: Apache-2.0
//
// A batch at the home of the partition that its client addressed, and the end of its way, back on the worker.
#include "policy/produce.h"

#include <string.h>

#include "base/epoch.h"
#include "base/error.h"
#include "base/mem.h"
#include "event/loop.h"
#include "metadata/image.h"
#include "os/clock.h"
#include "policy/partitioners.h"
#include "policy/produce_private.h"
#include "record/codec.h"
#include "record/recompress.h"
#include "record/up_convert.h"
#include "replica/manager.h"

int policy_topic_codec(const struct topic_config *config, int *level)
{
  *level = CODEC_LEVEL_DEFAULT;
  switch (config->compression_type) {
    case TOPIC_COMPRESSION_UNCOMPRESSED:
      return CODEC_NONE;
    case TOPIC_COMPRESSION_ZSTD:
      *level = config->compression_zstd_level;
      return CODEC_ZSTD;
    case TOPIC_COMPRESSION_LZ4:
      *level = config->compression_lz4_level;
      return CODEC_LZ4;
    case TOPIC_COMPRESSION_SNAPPY:
      return CODEC_SNAPPY;
    case TOPIC_COMPRESSION_GZIP:
      *level = config->compression_gzip_level >= 1 ? config->compression_gzip_level : CODEC_LEVEL_DEFAULT;
      return CODEC_GZIP;
    default:
      return -1;
  }
}

size_t policy_segment_bytes(const struct topic_config *config)
{
  return (size_t)(config->internal_segment_bytes > 0 ? config->internal_segment_bytes : config->segment_bytes);
}

// ---- the end: on the worker ----

static void produce_free(struct policy_produce *op)
{
  for (int32_t i = 0; i < op->part_count; i++) {
    struct policy_part *part = &op->parts[i];
    policy_runners_give_buffer(op->runners, &part->rewritten);
    policy_extra_free(part->extras, part->extra_count);
    policy_extra_free(part->emits, part->emit_count);
    mem_free(part->look);
    mem_free(part->message);
    arena_destroy(&part->arena);
    if (part->part != NULL) {
      partition_unref(part->part);
    }
  }
  mem_free(op->parts);
  mem_free(op->chosen);
  record_buffer_destroy(&op->packed);
  policy_runners_give_buffer(op->runners, &op->split);
  arena_destroy(&op->arena);
  if (op->topic != NULL) {
    metadata_topic_unref(op->topic);
  }
  partition_unref(op->addressed);
  op->free(op);
}

static void produce_free_mail(struct mail *mail)
{
  produce_free(CONTAINER_OF(mail, struct policy_produce, free_mail));
}

void policy_produce_unref(struct policy_produce *op)
{
  if (atomic_fetch_sub_explicit(&op->refs, 1, memory_order_acq_rel) > 1) {
    return;
  }
  if (event_loop_current() == op->reply) {
    produce_free(op);
  } else {
    op->free_mail.run = produce_free_mail;
    event_loop_post(op->reply, &op->free_mail);
  }
}

/// The place in the client's batch of a part's record.
static int32_t produce_index(const struct policy_produce *op, const struct policy_part *part, int32_t index)
{
  if (op->chosen == NULL) {
    return index;
  }
  for (int32_t i = 0;; i++) {
    if (op->chosen[i] == part->partition && index-- == 0) {
      return i;
    }
  }
}

static int32_t produce_add_rejects(struct policy_produce *op, const struct policy_part *part,
                                   struct batch_record_error *errors, int32_t count)
{
  for (int32_t i = 0; i < part->reject_count && count < BATCH_RECORD_ERRORS_MAX; i++) {
    struct batch_record_error error = {.index = produce_index(op, part, part->rejects[i].index),
                                       .message = part->rejects[i].message};
    int32_t place = count++;
    for (; place > 0 && errors[place - 1].index > error.index; place--) {
      errors[place] = errors[place - 1];
    }
    errors[place] = error;
  }
  return count;
}

/// Lists the refused records of all parts, and counts them in the text.
static void produce_list_rejects(struct policy_produce *op)
{
  const char *why = NULL;
  int32_t total = 0;
  for (int32_t i = 0; i < op->part_count; i++) {
    if (op->parts[i].reject_total > 0) {
      total += op->parts[i].reject_total;
      why = why != NULL ? why : op->parts[i].message;
    }
  }
  if (total == 0) {
    return;
  }
  int32_t most = total < BATCH_RECORD_ERRORS_MAX ? total : BATCH_RECORD_ERRORS_MAX;
  struct batch_record_error *errors = arena_alloc(&op->arena, (size_t)most * sizeof *errors);
  int32_t count = 0;
  for (int32_t i = 0; i < op->part_count; i++) {
    count = produce_add_rejects(op, &op->parts[i], errors, count);
  }
  op->verdict.record_errors = errors;
  op->verdict.record_error_count = count;
  op->verdict.record_error_total = total;
  op->verdict.message = arena_printf(&op->arena, "%d %s %s", total, total == 1 ? "record was" : "records were", why);
}

/// Of the parts' results makes one: the first failure counts, a refusal for good before one that may pass.
static void produce_conclude(struct policy_produce *op)
{
  for (int32_t i = 0; i < op->part_count && op->result == 0; i++) {
    const struct policy_part *part = &op->parts[i];
    if (part->result == ERR_POLICY_VIOLATION || part->result == ERR_INVALID_RECORD) {
      op->result = part->result;
      op->verdict.message = part->message;
    }
  }
  if (op->result == ERR_INVALID_RECORD) {
    produce_list_rejects(op);
  }
  for (int32_t i = 0; i < op->part_count && op->result == 0; i++) {
    op->result = op->parts[i].result;
    op->verdict.message = op->parts[i].message;
  }
  for (int32_t i = 0; i < op->part_count && op->result == 0; i++) {
    op->result = op->parts[i].written;
  }
  const struct policy_part *only = op->part_count == 1 ? &op->parts[0] : NULL;
  op->base_offset = -1;
  if (op->result == 0) {
    op->log_start_offset = atomic_load(&op->addressed->log_start_offset);
  }
  if (op->result == 0 && only != NULL && only->partition == op->addressed->index && only->has_all) {
    op->base_offset = only->append.batch.base_offset;
  }
  if (op->result == 0 && only != NULL && only->append.batch.is_duplicate) {
    op->is_duplicate = true;
    op->stored_timestamp = only->append.batch.stored_timestamp;
  }
}

void policy_produce_release(struct policy_produce *op)
{
  if (atomic_fetch_sub_explicit(&op->pending, 1, memory_order_acq_rel) == 1) {
    produce_conclude(op);
    op->done(op);
    policy_produce_unref(op);
  }
}

static void produce_done(struct policy_job *job, bool is_abandoned)
{
  struct policy_produce *op = CONTAINER_OF(job, struct policy_produce, job);
  if (is_abandoned) {
    op->result = ERR_POLICY_VIOLATION;
    op->verdict.message = job->failure.text; // parts may be reading the rest at their homes
    op->abandoned(op);
    policy_order_came(op, false);
  } else if (job->is_refused) {
    op->result = job->result;
    op->verdict = (struct batch_verdict){.message = job->failure.text};
    policy_order_refuse(op);
  }
  policy_produce_release(op);
  if (!is_abandoned) {
    policy_produce_unref(op);
  }
}

static void produce_returned(struct policy_job *job)
{
  policy_produce_unref(CONTAINER_OF(job, struct policy_produce, job));
}

// ---- what the pool does for others ----

/// Validates the records, or makes a batch of what is old.
static int produce_prepare(struct policy_produce *op)
{
  if (op->is_old) {
    TRY(message_set_convert(op->bytes, op->size, &op->rules, MESSAGE_SET_SOURCE_CODEC, CODEC_LEVEL_DEFAULT, &op->packed,
                            &op->verdict));
    op->bytes = op->packed.bytes;
    op->size = op->packed.size;
  } else {
    int result = batch_validate(op->bytes, op->size, &op->rules, &op->arena, &op->verdict);
    if (result < 0) {
      bool tells_start = op->verdict.was_examined && result != ERR_BATCH_TOO_LARGE;
      op->log_start_offset = tells_start ? atomic_load(&op->addressed->log_start_offset) : -1;
      return result;
    }
    op->size = op->verdict.header.size;
  }
  if ((op->verdict.header.attributes & BATCH_TRANSACTIONAL) != 0) {
    op->is_transactional = true;
    return error_set(ERR_INVALID, "transactional batches do not go through policies");
  }
  return 0;
}

/// Takes hold of the topic as it is now.
static int produce_find_topic(struct policy_produce *op)
{
  epoch_enter();
  const struct metadata_topic *topic =
      metadata_image_topic_by_id(metadata_cache_get(op->metadata), &op->addressed->topic_id);
  if (topic != NULL) {
    metadata_topic_ref(topic);
    op->topic = (struct metadata_topic *)(uintptr_t)topic;
  }
  epoch_leave();
  if (topic == NULL) {
    return error_set(ERR_NOT_FOUND, "the topic is gone");
  }
  op->codec = policy_topic_codec(&topic->config, &op->level);
  return 0;
}

// ---- parts ----

static bool produce_is_too_late(const struct policy_produce *op)
{
  return clock_mono_ms() >= atomic_load_explicit(op->give_up_ms, memory_order_relaxed);
}

static void produce_part_run(struct policy_job *job, const struct policy_set *set, struct policy_vm *vm)
{
  struct policy_part *part = CONTAINER_OF(job, struct policy_part, job);
  if (produce_is_too_late(part->op)) {
    policy_part_fail(part, ERR_NOT_LEADER, NULL);
  } else if (policy_part_prepare(part, job, set, vm, NULL) == ERR_CLOSED) {
    return;
  }
  policy_order_came(part->op, false);
}

static void produce_part_done(struct policy_job *job, bool is_abandoned)
{
  struct policy_part *part = CONTAINER_OF(job, struct policy_part, job);
  struct policy_produce *op = part->op;
  if (is_abandoned) {
    policy_part_fail(part, ERR_POLICY_VIOLATION, job->failure.text);
    op->abandoned(op);
    policy_order_came(op, false);
  } else if (job->is_refused) {
    policy_part_fail(part, job->result, job->failure.text);
    policy_order_came(op, false);
  }
  policy_produce_release(op);
  if (!is_abandoned) {
    policy_produce_unref(op);
  }
}

static void produce_part_returned(struct policy_job *job)
{
  policy_produce_unref(CONTAINER_OF(job, struct policy_part, job)->op);
}

/// Sends a part to its home.
static void produce_part_submit(struct policy_produce *op, struct policy_part *part)
{
  atomic_fetch_add_explicit(&op->pending, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&op->refs, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&op->waiting, 1, memory_order_relaxed);
  part->job.reply = op->reply;
  part->job.run = produce_part_run;
  part->job.done = produce_part_done;
  part->job.returned = produce_part_returned;
  policy_runners_submit(op->runners, &op->addressed->topic_id, part->partition, &part->job);
}

/// Finds the partitions of all parts.
static int produce_find_parts(struct policy_produce *op)
{
  int result = 0;
  epoch_enter();
  for (int32_t i = 0; i < op->part_count && result == 0; i++) {
    struct policy_part *part = &op->parts[i];
    struct partition *found = replica_manager_find(op->replicas, &op->addressed->topic_id, part->partition);
    if (found != NULL) {
      part->part = partition_ref(found);
    } else {
      result = error_set(ERR_NOT_LEADER, "partition %d is not here", part->partition);
    }
  }
  epoch_leave();
  return result;
}

/// Has the parts prepared: at their homes, and meanwhile here.
static int produce_do_parts(struct policy_produce *op, const struct policy_set *set, struct policy_vm *vm,
                            bool is_transformed, const struct batch_records *records)
{
  for (int32_t i = 0; i < op->part_count && is_transformed; i++) {
    struct policy_part *part = &op->parts[i];
    part->is_away =
        !policy_runners_share_home(op->runners, &op->addressed->topic_id, op->addressed->index, part->partition);
    if (part->is_away) {
      produce_part_submit(op, part);
    }
  }
  for (int32_t i = 0; i < op->part_count; i++) {
    if (!op->parts[i].is_away) {
      TRY(policy_part_prepare(&op->parts[i], &op->job, set, vm, op->part_count == 1 ? records : NULL));
    }
  }
  return 0;
}

/// Keeps what the client's batch says of its producer: later it is a share's.
static void produce_note_producer(struct policy_produce *op)
{
  struct batch_header header;
  op->producer_id = BATCH_NO_PRODUCER_ID;
  if (!op->is_old && batch_header_peek(op->bytes, op->size, &header) == 0 && header.base_sequence >= 0) {
    op->producer_id = header.producer_id;
    op->producer_epoch = header.producer_epoch;
    op->sequence = header.base_sequence;
    op->crc = header.crc;
  }
}

/// All of the work here. @return 0, ERR_CLOSED: abandoned, or what the batch is refused with
static int produce_work(struct policy_produce *op, const struct policy_set *set, struct policy_vm *vm)
{
  if (produce_is_too_late(op)) {
    return error_set(ERR_NOT_LEADER, "the broker stops"); // its connections are closed
  }
  TRY(produce_find_topic(op));
  const struct policy_topic *policies = policy_set_topic(set, op->addressed->topic, strlen(op->addressed->topic));
  const struct policy *partitioner = NULL;
  const struct policy *transform = policies != NULL ? policies->transform : NULL;
  struct policy_choice choice = {0};
  TRY(policy_divide_find(op, set, policies, &partitioner, &choice));
  TRY(produce_prepare(op));
  if (policy_order_is_full()) {
    return error_set(ERR_TIMEOUT, "too much waits to be written");
  }
  if (op->verdict.header.record_count == 0) {
    partitioner = NULL; // nothing to choose for
    transform = NULL;
  }
  struct batch_records *records = partitioner != NULL || transform != NULL ? &op->job.scratch->records : NULL;
  if (records != NULL) {
    TRY(batch_records_open(records, op->bytes, op->size, (size_t)op->rules.max_message_bytes * BATCH_UNPACK_RATIO));
  }
  if (partitioner != NULL) {
    TRY(policy_divide(op, vm, partitioner, &choice, records, transform != NULL));
  } else {
    policy_divide_not(op, op->addressed->index);
  }
  policy_order_hold_batch(op);
  TRY(produce_find_parts(op));
  return produce_do_parts(op, set, vm, transform != NULL, records);
}

static void produce_run(struct policy_job *job, const struct policy_set *set, struct policy_vm *vm)
{
  struct policy_produce *op = CONTAINER_OF(job, struct policy_produce, job);
  policy_order_enter(op);
  int result = produce_work(op, set, vm);
  if (result == ERR_CLOSED) {
    return;
  }
  op->result = result;
  policy_order_came(op, true);
}

void policy_produce_start(struct policy_produce *op)
{
  atomic_init(&op->refs, 2); // the worker's and the job's
  atomic_init(&op->pending, 1);
  atomic_init(&op->waiting, 1);
  produce_note_producer(op);
  op->log_start_offset = -1;
  op->base_offset = -1;
  op->rules.needs_records = true;
  op->job.reply = op->reply;
  op->job.run = produce_run;
  op->job.done = produce_done;
  op->job.returned = produce_returned;
  atomic_fetch_add_explicit(&op->addressed->policy_jobs, 1, memory_order_relaxed);
  policy_runners_submit(op->runners, &op->addressed->topic_id, op->addressed->index, &op->job);
}
