// SPDX-License-Identifier: Apache-2.0
//
// DeleteRecords, 0 to 2 (KIP-107): raises the log start offset of partitions. The appenders do that; the answer waits
// until log-start-offset-checkpoint says it too, so that what was deleted does not come back with a crash. Kafka
// answers before that.
//
//   check -> log_start_submit() ... delete_records_raised() -> pool: checkpoint -> answer
//
// With one broker there is no replica to wait for, so the request's timeout never comes into play, as in Kafka. A
// partition that is named twice is answered once, with the last offset given; a topic without partitions is not
// answered.
#include "api/api.h"
#include "api/authorize.h"
#include "api/errors.h"
#include "api/handlers.h"
#include "api/key_set.h"
#include "api/request.h"
#include "base/list.h"
#include "base/slog.h"
#include "event/pool.h"
#include "metadata/image.h"
#include "replica/log_start.h"
#include "replica/manager.h"
#include "replica/partition.h"
#include "wire/delete_records.h"
#include "wire/error_codes.h"

#include <inttypes.h>

struct delete_records;

/// One partition of a request.
struct delete_records_part {
  struct log_start_job start;       ///< its turn with the appender
  struct delete_records *work;      ///< the request
  struct partition *found;          ///< referenced until the answer; NULL: there is none here
  struct wire_string topic;         ///< as asked
  int32_t index;                    ///< partition number
  int64_t offset;                   ///< as asked
  int16_t error;                    ///< wire code
  struct delete_records_part *next; ///< next one of its topic
};

/// A topic of the answer.
struct delete_records_topic {
  struct delete_records_part *first; ///< its partitions, in the order in which they were named first
  struct delete_records_part *last;  ///< for adding
  int32_t count;                     ///< how many
};

/// A request under way, in its arena.
struct delete_records {
  struct pool_job job;                 ///< writes the checkpoints
  struct request *req;                 ///< the request
  struct delete_records_part *parts;   ///< all partitions
  int32_t count;                       ///< how many
  struct delete_records_topic *topics; ///< those of the answer
  int32_t topic_count;                 ///< how many
  int32_t pending;                     ///< turns not done, plus one while they are being submitted
  bool has_starts;                     ///< log start offsets have to be on disk before the answer
};

/// One line of the log for a request: records went that somebody may look for.
static void delete_records_note(const struct delete_records *work)
{
  const struct delete_records_part *first = NULL;
  int32_t more = 0;
  for (int32_t i = 0; i < work->count; i++) {
    const struct delete_records_part *part = &work->parts[i];
    if (part->error == WIRE_NONE && part->start.is_raised) {
      more += first != NULL ? 1 : 0;
      first = first != NULL ? first : part;
    }
  }
  if (first == NULL) {
    return;
  }
  const char *topic = first->found->topic;
  if (more == 0) {
    slog_info("deleted the records of %s-%" PRId32 " before offset %" PRId64, topic, first->index,
              first->start.low_watermark);
  } else {
    slog_info("deleted the records of %s-%" PRId32 " before offset %" PRId64 ", and of %" PRId32 " more partition%s",
              topic, first->index, first->start.low_watermark, more, more == 1 ? "" : "s");
  }
}

static void delete_records_answer(struct delete_records *work)
{
  delete_records_note(work);
  struct request *req = work->req;
  struct wire_delete_records_response response;
  wire_delete_records_response_init(&response);
  response.topics = request_array(req, work->topic_count, sizeof *response.topics);
  response.topics_count = work->topic_count;
  for (int32_t i = 0; i < work->topic_count; i++) {
    const struct delete_records_topic *topic = &work->topics[i];
    struct wire_delete_records_response_delete_records_topic_result *out = &response.topics[i];
    wire_delete_records_response_delete_records_topic_result_init(out);
    out->name = topic->first->topic;
    out->partitions = request_array(req, topic->count, sizeof *out->partitions);
    for (const struct delete_records_part *part = topic->first; part != NULL; part = part->next) {
      struct wire_delete_records_response_delete_records_partition_result *result =
          &out->partitions[out->partitions_count++];
      wire_delete_records_response_delete_records_partition_result_init(result);
      result->partition_index = part->index;
      result->error_code = part->error;
      result->low_watermark = part->error == WIRE_NONE ? part->start.low_watermark : -1;
    }
  }
  for (int32_t i = 0; i < work->count; i++) {
    if (work->parts[i].found != NULL) {
      partition_unref(work->parts[i].found);
    }
  }
  request_respond(req, &response);
}

/// On the pool.
static void delete_records_keep(struct pool_job *job)
{
  struct delete_records *work = CONTAINER_OF(job, struct delete_records, job);
  struct replica_manager *replicas = work->req->api->replicas;
  replica_manager_write_log_starts(replicas);
  for (int32_t i = 0; i < work->count; i++) {
    struct delete_records_part *part = &work->parts[i];
    if (part->error == WIRE_NONE) {
      part->error = api_wire_error(log_start_check(replicas, part->found));
    }
  }
}

static void delete_records_kept(struct pool_job *job)
{
  delete_records_answer(CONTAINER_OF(job, struct delete_records, job));
}

static void delete_records_release(struct delete_records *work)
{
  if (--work->pending > 0) {
    return;
  }
  struct request *req = work->req;
  if (work->has_starts) {
    pool_submit_long(req->api->pool, &work->job, delete_records_keep, req->worker->loop, delete_records_kept);
  } else {
    delete_records_answer(work);
  }
}

/// The appender is done with a partition; on the request's worker.
static void delete_records_raised(struct append_job *job)
{
  struct delete_records_part *part =
      CONTAINER_OF(CONTAINER_OF(job, struct log_start_job, job), struct delete_records_part, start);
  part->error = api_wire_error(job->result);
  // Also where it was there already: another request may have raised it a moment ago, and not written it yet.
  part->work->has_starts |= job->result == 0;
  delete_records_release(part->work);
}

static void delete_records_submit(struct delete_records_part *part, const struct metadata_image *image)
{
  struct request *req = part->work->req;
  const struct metadata_topic *topic = metadata_image_topic(image, part->topic.data, (size_t)part->topic.length);
  if (!api_may_topic(req, RIGHT_DELETE, part->topic)) {
    part->error = WIRE_TOPIC_AUTHORIZATION_FAILED;
    return;
  }
  if (topic == NULL || metadata_topic_partition(topic, part->index) == NULL) {
    part->error = WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    return;
  }
  if (topic->is_internal || topic->source != NULL) {
    part->error = WIRE_INVALID_TOPIC_EXCEPTION;
    return;
  }
  struct partition *found = replica_manager_find(req->api->replicas, &topic->id, part->index);
  if (found == NULL) {
    part->error = WIRE_NOT_LEADER_OR_FOLLOWER;
    return;
  }
  part->found = partition_ref(found);
  part->start.offset = part->offset;
  part->work->pending++;
  log_start_submit(found, &part->start, req->worker->loop, delete_records_raised);
}

/// How many partitions a request has.
static int64_t delete_records_count(const struct wire_delete_records_request *body)
{
  int64_t total = 0;
  for (int32_t i = 0; i < body->topics_count; i++) {
    total += body->topics[i].partitions_count;
  }
  return total;
}

/// Lists what is asked for: each topic once, each partition once.
static void delete_records_gather(struct delete_records *work, const struct wire_delete_records_request *body)
{
  struct request *req = work->req;
  int32_t total = (int32_t)delete_records_count(body);
  work->parts = request_array(req, total, sizeof *work->parts);
  work->topics = request_array(req, body->topics_count, sizeof *work->topics);
  struct key_set topics;
  struct key_set partitions;
  key_set_create(&topics, &req->arena, body->topics_count);
  key_set_create(&partitions, &req->arena, total);
  const struct uuid no_id = {0};
  for (int32_t i = 0; i < body->topics_count; i++) {
    const struct wire_delete_records_request_delete_records_topic *asked = &body->topics[i];
    if (asked->partitions_count <= 0) {
      continue;
    }
    int32_t place = key_set_put(&topics, asked->name, &no_id, 0, work->topic_count);
    work->topic_count += place == work->topic_count ? 1 : 0;
    struct delete_records_topic *topic = &work->topics[place];
    for (int32_t j = 0; j < asked->partitions_count; j++) {
      int32_t index = asked->partitions[j].partition_index;
      int32_t at = key_set_put(&partitions, asked->name, &no_id, index, work->count);
      struct delete_records_part *part = &work->parts[at];
      part->offset = asked->partitions[j].offset;
      if (at < work->count) {
        continue;
      }
      work->count++;
      part->work = work;
      part->topic = asked->name;
      part->index = index;
      if (topic->first == NULL) {
        topic->first = part;
      } else {
        topic->last->next = part;
      }
      topic->last = part;
      topic->count++;
    }
  }
}

void delete_records_handle(struct request *req)
{
  const struct wire_delete_records_request *body = req->body;
  if (!request_check_count(req, body->topics_count) || !request_check_count(req, delete_records_count(body))) {
    return;
  }
  struct delete_records *work = request_array(req, 1, sizeof *work);
  work->req = req;
  work->pending = 1;
  delete_records_gather(work, body);
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  for (int32_t i = 0; i < work->count; i++) {
    delete_records_submit(&work->parts[i], image);
  }
  delete_records_release(work);
}
