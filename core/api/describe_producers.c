// SPDX-License-Identifier: Apache-2.0
//
// DescribeProducers, 0: the idempotent producers that partitions remember (KIP-664), in the order of the question,
// silent longest first. Whoever has a partition's replica may answer, not the leader alone.
//
// Who they are is known to the partition's appender, so a job of the appender copies them; one partition after the
// other, and a few in a turn of the loop:
//
//   handle -> find partitions -> step: submit job ... copied (appender) ... done -> step ... -> answer
//
// A partition remembers up to 50,000, and a request may name one again and again: an answer has at most
// DESCRIBE_PRODUCERS_MAX of them. A partition that does not fit any more gets POLICY_VIOLATION, and is for the next
// request. There are no transactions: coordinator epoch and transaction's first offset are -1.
#include "api/api.h"
#include "api/authorize.h"
#include "api/errors.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/list.h"
#include "event/loop.h"
#include "event/mail.h"
#include "log/log.h"
#include "metadata/image.h"
#include "metadata/topic_name.h"
#include "replica/append.h"
#include "replica/manager.h"
#include "replica/partition.h"
#include "wire/describe_producers.h"
#include "wire/error_codes.h"

enum {
  DESCRIBE_PRODUCERS_MAX = 500000,        // producers in one answer
  DESCRIBE_PRODUCERS_TURN = 1000,         // partitions looked at in one turn of the loop
  DESCRIBE_PRODUCERS_TURN_COPIED = 20000, // producers copied in one turn, but for the last partition
};

/// One partition that is here.
struct describe_producers_target {
  struct partition *part;                                             ///< referenced until it is done
  struct wire_describe_producers_response_partition_response *result; ///< where the answer goes
};

/// A request under way; its worker's, but for what the job works on.
struct describe_producers_work {
  struct request *req;                          ///< the request
  struct wire_describe_producers_response resp; ///< the answer as far as it is known
  struct describe_producers_target *targets;    ///< what has to be looked at
  int32_t target_count;                         ///< how much
  int32_t done_count;                           ///< how much of it is done
  int32_t left;                                 ///< producers that the answer has room for
  struct append_job job;                        ///< looks at targets[done_count]
  struct log_producer_info *infos;              ///< out of the job, in the request's arena
  int32_t info_count;                           ///< how many
  bool is_done;                                 ///< the job is
  bool is_stepping;                             ///< the steps are being run further up the stack
  struct mail mail;                             ///< goes on in the next turn
};

static void describe_producers_step(struct describe_producers_work *work);

// ---- one partition ----

static void describe_producers_fail(struct wire_describe_producers_response_partition_response *result, int16_t error,
                                    const char *message)
{
  result->error_code = error;
  result->error_message = wire_string_from(message);
}

/// While holding the appender, on any thread; the arena is nobody else's meanwhile.
static void describe_producers_copy(struct append_job *job)
{
  struct describe_producers_work *work = CONTAINER_OF(job, struct describe_producers_work, job);
  struct partition_state state;
  partition_read_state(job->part, &state);
  work->info_count = 0;
  job->result = partition_check_leader(&state);
  if (job->result == ERR_NOT_LEADER) {
    job->result = 0;
  }
  if (job->result < 0) {
    return;
  }
  int32_t count = log_producer_count(job->part->log);
  if (count > work->left) {
    job->result = ERR_LIMIT;
    return;
  }
  work->infos = arena_alloc(&work->req->arena, (size_t)count * sizeof *work->infos);
  log_producer_list(job->part->log, work->infos);
  work->info_count = count;
}

/// On the worker: takes what the job found into the answer.
static void describe_producers_take(struct describe_producers_work *work)
{
  struct wire_describe_producers_response_partition_response *result = work->targets[work->done_count].result;
  if (work->job.result == ERR_LIMIT) {
    describe_producers_fail(result, WIRE_POLICY_VIOLATION,
                            "The answer would have too many producers; ask for fewer partitions at a time.");
    return;
  }
  if (work->job.result < 0) {
    describe_producers_fail(result, api_wire_error(work->job.result), NULL);
    return;
  }
  work->left -= work->info_count;
  result->active_producers = request_array(work->req, work->info_count, sizeof *result->active_producers);
  result->active_producers_count = work->info_count;
  for (int32_t i = 0; i < work->info_count; i++) {
    struct wire_describe_producers_response_producer_state *entry = &result->active_producers[i];
    wire_describe_producers_response_producer_state_init(entry);
    entry->producer_id = work->infos[i].id;
    entry->producer_epoch = work->infos[i].epoch;
    entry->last_sequence = work->infos[i].last_sequence;
    entry->last_timestamp = work->infos[i].timestamp;
    entry->coordinator_epoch = -1;
  }
}

static void describe_producers_done(struct append_job *job)
{
  struct describe_producers_work *work = CONTAINER_OF(job, struct describe_producers_work, job);
  describe_producers_take(work);
  partition_unref(work->targets[work->done_count++].part);
  work->is_done = true;
  if (!work->is_stepping) {
    describe_producers_step(work);
  }
}

// ---- the request ----

static void describe_producers_go_on(struct mail *mail)
{
  describe_producers_step(CONTAINER_OF(mail, struct describe_producers_work, mail));
}

/// Looks at partitions until one has to be waited for, the turn has done its share, or all are done.
static void describe_producers_step(struct describe_producers_work *work)
{
  struct request *req = work->req;
  int32_t left_before = work->left;
  work->is_stepping = true;
  for (int32_t i = 0; work->done_count < work->target_count; i++) {
    if (req->client == NULL) { // nobody wants to know any more
      partition_unref(work->targets[work->done_count++].part);
      continue;
    }
    if (i == DESCRIBE_PRODUCERS_TURN || left_before - work->left >= DESCRIBE_PRODUCERS_TURN_COPIED) {
      work->is_stepping = false;
      work->mail.run = describe_producers_go_on;
      event_loop_post(req->worker->loop, &work->mail);
      return;
    }
    work->is_done = false;
    work->job = (struct append_job){
        .reply = req->worker->loop, .change = describe_producers_copy, .done = describe_producers_done};
    partition_submit(work->targets[work->done_count].part, &work->job);
    if (!work->is_done) {
      work->is_stepping = false;
      return;
    }
  }
  request_respond(req, &work->resp);
}

static void describe_producers_partition(struct describe_producers_work *work, const struct metadata_topic *topic,
                                         int32_t index,
                                         struct wire_describe_producers_response_partition_response *result)
{
  if (metadata_topic_partition(topic, index) == NULL) {
    describe_producers_fail(result, WIRE_UNKNOWN_TOPIC_OR_PARTITION, NULL);
    return;
  }
  struct partition *part = replica_manager_find(work->req->api->replicas, metadata_topic_log_id(topic), index);
  if (part == NULL) {
    describe_producers_fail(result, WIRE_NOT_LEADER_OR_FOLLOWER, NULL);
    return;
  }
  work->targets[work->target_count++] = (struct describe_producers_target){partition_ref(part), result};
}

static void describe_producers_topic(struct describe_producers_work *work, const struct metadata_image *image,
                                     const struct wire_describe_producers_request_topic_request *asked,
                                     struct wire_describe_producers_response_topic_response *entry)
{
  struct request *req = work->req;
  const struct metadata_topic *topic = metadata_image_topic(image, asked->name.data, (size_t)asked->name.length);
  int16_t error = WIRE_NONE;
  const char *message = NULL;
  char why[TOPIC_NAME_MESSAGE_SIZE];
  if (!api_may_topic(req, RIGHT_READ, asked->name)) {
    error = WIRE_TOPIC_AUTHORIZATION_FAILED;
    message = AUTHORIZE_TOPIC_TEXT;
  } else if (topic == NULL && topic_name_validate(asked->name.data, (size_t)asked->name.length, why) < 0) {
    error = WIRE_INVALID_TOPIC_EXCEPTION;
    message = arena_printf(&req->arena, "%s", why);
  } else if (topic == NULL) {
    error = WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    message = "This server does not host this topic-partition.";
  }
  wire_describe_producers_response_topic_response_init(entry);
  entry->name = asked->name;
  entry->partitions = request_array(req, asked->partition_indexes_count, sizeof *entry->partitions);
  entry->partitions_count = asked->partition_indexes_count;
  for (int32_t i = 0; i < asked->partition_indexes_count; i++) {
    wire_describe_producers_response_partition_response_init(&entry->partitions[i]);
    entry->partitions[i].partition_index = asked->partition_indexes[i];
    if (error != WIRE_NONE) {
      describe_producers_fail(&entry->partitions[i], error, message);
    } else {
      describe_producers_partition(work, topic, asked->partition_indexes[i], &entry->partitions[i]);
    }
  }
}

/// How many partitions the question has.
static int64_t describe_producers_count(const struct wire_describe_producers_request *body)
{
  int64_t total = 0;
  for (int32_t i = 0; i < body->topics_count; i++) {
    total += body->topics[i].partition_indexes_count;
  }
  return total;
}

void describe_producers_handle(struct request *req)
{
  const struct wire_describe_producers_request *body = req->body;
  int64_t total = describe_producers_count(body);
  if (!request_check_count(req, body->topics_count) || !request_check_count(req, total)) {
    return;
  }
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  struct describe_producers_work *work = request_array(req, 1, sizeof *work);
  work->req = req;
  work->left = DESCRIBE_PRODUCERS_MAX;
  work->targets = request_array(req, (int32_t)total, sizeof *work->targets);
  wire_describe_producers_response_init(&work->resp);
  work->resp.topics = request_array(req, body->topics_count, sizeof *work->resp.topics);
  work->resp.topics_count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    describe_producers_topic(work, image, &body->topics[i], &work->resp.topics[i]);
  }
  describe_producers_step(work);
}
