// SPDX-License-Identifier: Apache-2.0
//
// Produce, versions 0 to 13: one batch of format 2 for each partition, checked and patched where it lies in the frame's
// buffer, then given to the appender of its partition. The answer goes out when the last partition is done.
//
//   find the partition -> batch_validate() -> append_gather_add() ... produce_appended() -> answer
//                     \-> what must be unpacked, packed or converted: the pool (produce_pool.c) -/
//                     \-> topics with policies of the user's: the runners (produce_policy.c) -> answer
//
// Versions 0 to 2 may send message sets of formats 0 and 1, which become batches. Kafka is lenient there: records
// without one whole message in them are stored as nothing, at offset -1, and zstd is not refused.
//
// With acks=0 there is no answer; an error then closes the connection, which is all a client can see (KAFKA-1755). A
// partition named twice in a request is appended once, with the last batch given, and entries of one topic are answered
// together: Kafka keeps them in a map.
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/errors.h"
#include "api/handlers.h"
#include "api/key_set.h"
#include "api/produce_private.h"
#include "api/request.h"
#include "base/error.h"
#include "base/slog.h"
#include "event/loop.h"
#include "metadata/image.h"
#include "network/connection.h"
#include "network/frame.h"
#include "os/clock.h"
#include "policy/runner.h"
#include "record/up_convert.h"
#include "replica/manager.h"
#include "replica/partition.h"
#include "wire/error_codes.h"
#include "wire/produce.h"

enum {
  PRODUCE_BATCH_VERSION = 3,     // first version that has batches of format 2 only, and exactly one
  PRODUCE_TOPIC_ID_VERSION = 13, // first version with topic ids instead of names
  PRODUCE_ANY_SIZE = 2147483639, // max.decompressed.message.bytes when it limits nothing
  PRODUCE_ZSTD_VERSION = 7,      // first version that may carry zstd (KIP-110)
};

static void produce_fill_partition(struct produce *produce, struct produce_part *part,
                                   struct wire_produce_response_partition_produce_response *out)
{
  wire_produce_response_partition_produce_response_init(out);
  out->index = part->index;
  out->error_code = part->error;
  out->base_offset = -1;
  out->log_start_offset = -1;
  const struct batch_verdict *verdict = &part->verdict;
  if (part->error == WIRE_NONE) {
    out->base_offset = part->job.batch.base_offset;
    out->log_start_offset = part->job.log_start_offset;
    if (part->job.batch.is_duplicate) {
      out->log_append_time_ms = part->job.batch.stored_timestamp;
    } else if (part->is_append_time) {
      out->log_append_time_ms = verdict->header.max_timestamp;
    }
    return;
  }
  if (part->job.log_start_offset >= 0) {
    out->log_start_offset = part->job.log_start_offset;
  }
  out->error_message = wire_string_from(verdict->message);
  out->record_errors_count = verdict->record_error_count;
  out->record_errors = request_array(produce->req, verdict->record_error_count, sizeof *out->record_errors);
  for (int32_t i = 0; i < verdict->record_error_count; i++) {
    wire_produce_response_batch_index_and_error_message_init(&out->record_errors[i]);
    out->record_errors[i].batch_index = verdict->record_errors[i].index;
    out->record_errors[i].batch_index_error_message = wire_string_from(verdict->record_errors[i].message);
  }
}

static bool produce_is_same_topic(const struct produce_part *a, const struct produce_part *b)
{
  return uuid_equal(&a->topic_id, &b->topic_id) && wire_string_equal(a->topic, b->topic);
}

static void produce_answer(struct produce *produce)
{
  struct request *req = produce->req;
  struct wire_produce_response response;
  wire_produce_response_init(&response);
  response.responses = request_array(req, produce->count, sizeof *response.responses);
  struct wire_produce_response_partition_produce_response *outs = request_array(req, produce->count, sizeof *outs);
  struct wire_produce_response_topic_produce_response *topic = NULL;
  for (int32_t i = 0; i < produce->count; i++) {
    struct produce_part *part = &produce->parts[i];
    if (i == 0 || !produce_is_same_topic(part - 1, part)) {
      topic = &response.responses[response.responses_count++];
      wire_produce_response_topic_produce_response_init(topic);
      topic->name = part->topic;
      topic->topic_id = part->topic_id;
      topic->partition_responses = &outs[i];
    }
    produce_fill_partition(produce, part, &outs[i]);
    topic->partition_responses_count++;
  }
  request_respond(req, &response);
}

/// All appends are done: answers, or with acks=0 says nothing unless something failed.
static void produce_finish(struct produce *produce)
{
  if (produce->acks != 0) {
    produce_answer(produce);
    return;
  }
  for (int32_t i = 0; i < produce->count; i++) {
    if (produce->parts[i].error != WIRE_NONE) {
      request_refuse(produce->req, wire_error_name(produce->parts[i].error));
      return;
    }
  }
  request_respond_nothing(produce->req);
}

void produce_release(struct produce *produce)
{
  if (--produce->pending == 0) {
    produce_finish(produce);
  }
}

/// The appender is done with a part; on the request's worker.
static void produce_appended(struct append_job *job)
{
  struct produce_part *part = CONTAINER_OF(job, struct produce_part, job);
  if (job->result < 0) {
    part->error = api_wire_error(job->result);
  }
  produce_part_done(part);
}

void produce_part_done(struct produce_part *part)
{
  if (part->pooled != NULL) {
    record_buffer_destroy(&part->pooled->packed);
    partition_unref(part->pooled->found);
  }
  produce_release(part->produce);
}

/// Whether a part's topic may be written; of one that is not there, whether it might: an unknown id is another error.
static bool produce_may_write(const struct request *req, const struct metadata_topic *topic,
                              const struct produce_part *part)
{
  if (req->authorize == NULL) {
    return true;
  }
  if (topic != NULL) {
    return api_may_topic(req, RIGHT_WRITE, (struct wire_string){topic->name, topic->name_length});
  }
  return req->version >= PRODUCE_TOPIC_ID_VERSION || api_may_topic(req, RIGHT_WRITE, part->topic);
}

/// Finds the partition to append to; sets the part's error when there is none here.
static struct partition *produce_find(struct produce *produce, const struct metadata_image *image,
                                      struct produce_part *part, const struct metadata_topic **topic)
{
  bool by_id = produce->req->version >= PRODUCE_TOPIC_ID_VERSION;
  *topic = by_id ? metadata_image_topic_by_id(image, &part->topic_id)
                 : metadata_image_topic(image, part->topic.data, (size_t)part->topic.length);
  if (!produce_may_write(produce->req, *topic, part)) {
    part->error = WIRE_TOPIC_AUTHORIZATION_FAILED;
    return NULL;
  }
  if (*topic == NULL) {
    part->error = by_id ? WIRE_UNKNOWN_TOPIC_ID : WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    return NULL;
  }
  if (metadata_topic_partition(*topic, part->index) == NULL) {
    part->error = WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    return NULL;
  }
  if ((*topic)->is_internal) {
    part->error = WIRE_INVALID_TOPIC_EXCEPTION; // the broker's own: clients read it, and never write to it
    return NULL;
  }
  if ((*topic)->source != NULL) {
    part->error = WIRE_INVALID_TOPIC_EXCEPTION;
    part->verdict.message = "This topic is a view, which can only be read.";
    return NULL;
  }
  struct partition *found = replica_manager_find(produce->req->api->replicas, &(*topic)->id, part->index);
  if (found == NULL) {
    part->error = WIRE_NOT_LEADER_OR_FOLLOWER;
  }
  return found;
}

/// What a part's batch is judged by. The rules may outlive the turn: they borrow from the partition, not the image.
static void produce_rules(const struct produce *produce, const struct produce_part *part,
                          const struct topic_config *config, const struct partition *found, struct batch_rules *rules)
{
  *rules = (struct batch_rules){
      .topic = found->topic,
      .partition = part->index,
      .now_ms = event_loop_wall_ms(produce->req->worker->loop),
      .timestamp_before_max_ms = config->message_timestamp_before_max_ms,
      .timestamp_after_max_ms = config->message_timestamp_after_max_ms,
      .max_message_bytes = config->max_message_bytes,
      // The default is no limit: then records need not be looked at.
      .max_record_bytes =
          config->max_decompressed_message_bytes < PRODUCE_ANY_SIZE ? config->max_decompressed_message_bytes : 0,
      .is_append_time = config->message_timestamp_type == TOPIC_TIMESTAMP_LOG_APPEND,
      .is_compacted = (config->cleanup_policy & CLEANUP_COMPACT) != 0,
      .needs_records = config->luka_validate == TOPIC_VALIDATE_FULL,
      .refuses_zstd = produce->req->version >= PRODUCE_BATCH_VERSION && produce->req->version < PRODUCE_ZSTD_VERSION,
  };
}

// Without a transactional id they are refused as by Kafka, with one because there is no transaction that they could
// belong to.
int16_t produce_check_transaction(const struct produce *produce, const struct produce_part *part)
{
  const struct wire_produce_request *body = produce->req->body;
  if ((part->verdict.header.attributes & BATCH_TRANSACTIONAL) == 0) {
    return WIRE_NONE;
  }
  bool may_write = body->transactional_id.length >= 0 &&
                   api_may(produce->req, RIGHT_WRITE, RIGHT_TRANSACTIONAL_ID, body->transactional_id);
  return may_write ? WIRE_INVALID_TXN_STATE : WIRE_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
}

void produce_validate(struct produce_part *part, const struct partition *found, const struct batch_rules *rules,
                      struct arena *arena)
{
  // The frame is this request's alone, and its bytes may be patched: network/frame.h.
  uint8_t *bytes = (uint8_t *)(uintptr_t)part->records.data;
  size_t size = part->records.length > 0 ? (size_t)part->records.length : 0;
  int result = batch_validate(bytes, size, rules, arena, &part->verdict);
  if (result == 0) {
    part->error = produce_check_transaction(part->produce, part);
    if (part->error == WIRE_INVALID_TXN_STATE && part->division != NULL) {
      part->verdict.message = "the topic has a luka.partitioner: batches of transactions cannot be divided";
    }
    return;
  }
  part->error = api_wire_error(result);
  if (part->verdict.was_examined && result != ERR_BATCH_TOO_LARGE) {
    part->job.log_start_offset = atomic_load(&found->log_start_offset);
  }
}

// The check does not see that the bytes are kept, and patched. NOLINTNEXTLINE(readability-non-const-parameter)
void produce_prepare_job(struct produce_part *part, struct append_job *job, uint8_t *bytes, size_t size,
                         int32_t last_offset_delta, int64_t max_timestamp)
{
  job->reply = part->produce->req->worker->loop;
  job->leader_epoch = -1;
  job->is_unacknowledged = part->produce->acks == 0;
  job->batch = (struct log_batch){
      .bytes = bytes, .size = size, .last_offset_delta = last_offset_delta, .max_timestamp = max_timestamp};
}

void produce_append(struct produce_part *part, struct partition *found, uint8_t *bytes, size_t size)
{
  struct produce *produce = part->produce;
  const struct batch_header *header = &part->verdict.header;
  produce_prepare_job(part, &part->job, bytes, size, header->last_offset_delta, header->max_timestamp);
  part->job.done = produce_appended;
  produce->pending++;
  append_gather_add(&produce->req->worker->appends, found, &part->job);
}

/// Looks what versions 0 to 2 sent: a batch like those of today, a message set, or nothing whole.
///
/// @param[out] is_old  a message set
/// @return false when the part is done
static bool produce_check_old(struct produce_part *part, bool *is_old)
{
  if (part->records.length < 0) {
    part->error = WIRE_INVALID_RECORD; // Kafka never answers
    return false;
  }
  int format =
      part->records.length == 0 ? ERR_NOT_FOUND : message_set_format(part->records.data, (size_t)part->records.length);
  if (format == ERR_NOT_FOUND) {
    part->is_append_time = false;
    part->job.batch.base_offset = -1;
    return false;
  }
  if (format < 0) {
    part->error = api_wire_error(format);
    return false;
  }
  *is_old = format < BATCH_FORMAT_MAX;
  return true;
}

/// Appends a validated batch that needed no turn on the pool.
static void produce_submit_plain(struct produce_part *part, struct partition *found, size_t limit_bytes)
{
  uint8_t *bytes = (uint8_t *)(uintptr_t)part->records.data;
  if (part->division == NULL) {
    produce_append(part, found, bytes, part->verdict.header.size);
    return;
  }
  produce_divide_plain(part, bytes, part->verdict.header.size, limit_bytes);
  if (part->error == WIRE_NONE) {
    produce_divide_append(part, found);
  } else {
    produce_divide_refused(part, found);
  }
}

static void produce_submit(struct produce *produce, const struct metadata_image *image, struct produce_part *part)
{
  part->job.log_start_offset = -1;
  const struct metadata_topic *topic = NULL;
  struct partition *found = produce_find(produce, image, part, &topic);
  if (found == NULL) {
    return;
  }
  const struct topic_config *config = &topic->config;
  struct batch_rules rules;
  produce_rules(produce, part, config, found, &rules);
  part->is_append_time = rules.is_append_time;
  bool is_old = false;
  if (produce->req->version < PRODUCE_BATCH_VERSION && !produce_check_old(part, &is_old)) {
    return;
  }
  struct policy_runners *runners = produce->req->api->runners;
  if (runners != NULL && produce_meets_policies(produce, found, config)) {
    produce_police(part, found, &rules, is_old);
    return;
  }
  if (!produce_divide_begin(part, topic)) {
    produce_divide_refused(part, found);
    return;
  }
  if (part->division != NULL) {
    atomic_store_explicit(&found->divided_ms, clock_wall_ms(), memory_order_relaxed);
  }
  if (is_old) {
    produce_pool(part, found, &rules, config, true);
    return;
  }
  bool is_recompressed = produce_needs_recompress(part, config);
  rules.needs_records |= is_recompressed || part->division != NULL;
  size_t size = part->records.length > 0 ? (size_t)part->records.length : 0;
  if (is_recompressed || batch_validate_unpacks(part->records.data, size, &rules)) {
    produce_pool(part, found, &rules, config, false);
    return;
  }
  produce_validate(part, found, &rules, &produce->req->arena);
  if (part->error == WIRE_NONE) {
    produce_submit_plain(part, found, (size_t)rules.max_message_bytes);
  } else if (part->division != NULL) {
    produce_divide_refused(part, found);
  }
}

/// How many partitions a request has.
static int64_t produce_count(const struct wire_produce_request *body)
{
  int64_t total = 0;
  for (int32_t i = 0; i < body->topic_data_count; i++) {
    total += body->topic_data[i].partition_data_count;
  }
  return total;
}

/// Begins a part with one of the request's entries.
static void produce_fill_part(struct produce *produce, struct produce_part *part,
                              const struct wire_produce_request_topic_produce_data *topic,
                              const struct wire_produce_request_partition_produce_data *data)
{
  part->produce = produce;
  part->topic = topic->name;
  part->topic_id = topic->topic_id;
  part->index = data->index;
  part->records = data->records;
}

/// Lays out the parts of a request so that those of one topic follow each other; a partition named twice keeps its
/// first place and gets the last records.
static void produce_gather(struct produce *produce, const struct wire_produce_request *body)
{
  struct request *req = produce->req;
  int32_t total = (int32_t)produce_count(body);
  produce->parts = request_array(req, total, sizeof *produce->parts);
  if (body->topic_data_count == 1 && total == 1) {
    const struct wire_produce_request_topic_produce_data *only = &body->topic_data[0];
    produce_fill_part(produce, &produce->parts[produce->count++], only, &only->partition_data[0]);
    return;
  }
  struct key_set topics;
  struct key_set partitions;
  key_set_create(&topics, &req->arena, body->topic_data_count);
  key_set_create(&partitions, &req->arena, total);
  // Topics in the order of their first appearance; `next` links the entries of one topic.
  int32_t *next = request_array(req, body->topic_data_count, sizeof *next);
  int32_t *last = request_array(req, body->topic_data_count, sizeof *last);
  for (int32_t i = 0; i < body->topic_data_count; i++) {
    const struct wire_produce_request_topic_produce_data *topic = &body->topic_data[i];
    int32_t first = key_set_put(&topics, topic->name, &topic->topic_id, 0, i);
    next[i] = -1;
    if (first != i) {
      next[last[first]] = i;
    }
    last[first] = i;
  }
  for (int32_t i = 0; i < body->topic_data_count; i++) {
    const struct wire_produce_request_topic_produce_data *head = &body->topic_data[i];
    if (key_set_put(&topics, head->name, &head->topic_id, 0, i) != i) {
      continue;
    }
    for (int32_t entry = i; entry >= 0; entry = next[entry]) {
      const struct wire_produce_request_topic_produce_data *topic = &body->topic_data[entry];
      for (int32_t j = 0; j < topic->partition_data_count; j++) {
        const struct wire_produce_request_partition_produce_data *data = &topic->partition_data[j];
        int32_t place = key_set_put(&partitions, topic->name, &topic->topic_id, data->index, produce->count);
        produce->count += place == produce->count ? 1 : 0;
        produce_fill_part(produce, &produce->parts[place], topic, data);
      }
    }
  }
}

void produce_handle(struct request *req)
{
  const struct wire_produce_request *body = req->body;
  if (!request_check_count(req, body->topic_data_count) || !request_check_count(req, produce_count(body))) {
    return;
  }
  struct produce *produce = arena_zalloc(&req->arena, sizeof *produce);
  req->state = produce;
  produce->req = req;
  produce->acks = body->acks;
  produce->pending = 1;
  produce_gather(produce, body);
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  bool acks_are_valid = body->acks >= -1 && body->acks <= 1;
  for (int32_t i = 0; i < produce->count; i++) {
    if (acks_are_valid) {
      produce_submit(produce, image, &produce->parts[i]);
    } else {
      produce->parts[i].job.log_start_offset = -1;
      produce->parts[i].error = WIRE_INVALID_REQUIRED_ACKS;
    }
  }
  produce_release(produce);
}
