// SPDX-License-Identifier: Apache-2.0
//
// CreatePartitions, 0 to 3. The controller decides and writes; here the request becomes its, and its results the
// answer, in the order of the request. The versions differ in encoding only.
//
// A topic named more than once has one entry in the answer, INVALID_REQUEST, and gets no partitions. When the timeout
// is over first, every topic is answered with REQUEST_TIMED_OUT while the work goes on.
#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "api/topic_change.h"
#include "api/topic_hooks.h"
#include "wire/create_partitions.h"
#include "wire/error_codes.h"

/// The topics as the client named them, each with the same error.
static void create_partitions_timed_out(struct request *req, struct wire_create_partitions_response *resp)
{
  const struct wire_create_partitions_request *body = req->body;
  resp->results = request_array(req, body->topics_count, sizeof *resp->results);
  resp->results_count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    wire_create_partitions_response_create_partitions_topic_result_init(&resp->results[i]);
    resp->results[i].name = body->topics[i].name;
    resp->results[i].error_code = WIRE_REQUEST_TIMED_OUT;
    resp->results[i].error_message = wire_string_from("The partitions are not added yet; adding them goes on.");
  }
}

static void create_partitions_answer(struct topic_change *change, bool is_timed_out)
{
  struct request *req = change->req;
  struct wire_create_partitions_response resp;
  wire_create_partitions_response_init(&resp);
  if (is_timed_out) {
    create_partitions_timed_out(req, &resp);
    request_respond(req, &resp);
    return;
  }
  const struct controller_grow *grow = &change->grow;
  resp.results = request_array(req, grow->topic_count, sizeof *resp.results);
  resp.results_count = 0;
  for (int32_t i = 0; i < grow->topic_count; i++) {
    const struct controller_grown_topic *topic = &grow->topics[i];
    if (!topic->is_repeat) {
      struct wire_create_partitions_response_create_partitions_topic_result *result =
          &resp.results[resp.results_count++];
      wire_create_partitions_response_create_partitions_topic_result_init(result);
      result->name = (struct wire_string){topic->name, (int32_t)topic->name_length};
      result->error_code = topic->error_code;
      result->error_message = wire_string_from(topic->error_message);
    }
  }
  request_respond(req, &resp);
}

static void create_partitions_done(struct controller_grow *grow)
{
  topic_change_done(grow->arg);
}

/// Copies one topic of the request, whose frame may be gone before the controller is done.
static void create_partitions_copy(struct topic_change *change,
                                   const struct wire_create_partitions_request_create_partitions_topic *asked,
                                   struct controller_grown_topic *topic)
{
  struct arena *arena = &change->arena;
  topic->name = arena_strndup(arena, asked->name.data, (size_t)asked->name.length);
  topic->name_length = (size_t)asked->name.length;
  topic->partitions = asked->count;
  topic->assignment_count = asked->assignments_count;
  if (asked->assignments_count < 0) {
    return;
  }
  topic->assignments = arena_zalloc(arena, sizeof *topic->assignments * (size_t)asked->assignments_count);
  for (int32_t i = 0; i < asked->assignments_count; i++) {
    const struct wire_create_partitions_request_create_partitions_assignment *from = &asked->assignments[i];
    struct controller_assignment *to = &topic->assignments[i];
    to->broker_count = from->broker_ids_count;
    to->brokers = arena_dup(arena, from->broker_ids, sizeof *from->broker_ids * (size_t)from->broker_ids_count);
  }
}

/// How much the request names: topics, and partitions that are assigned.
static int64_t create_partitions_count(const struct wire_create_partitions_request *body)
{
  int64_t count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    count += body->topics[i].assignments_count > 0 ? body->topics[i].assignments_count : 0;
  }
  return count;
}

void create_partitions_handle(struct request *req)
{
  const struct wire_create_partitions_request *body = req->body;
  if (!request_check_count(req, create_partitions_count(body))) {
    return;
  }
  struct topic_change *change = topic_change_new(req->worker, req, body->timeout_ms, create_partitions_answer);
  struct controller_grow *grow = &change->grow;
  grow->arena = &change->arena;
  grow->topic_count = body->topics_count;
  grow->topics = arena_zalloc(&change->arena, sizeof *grow->topics * (size_t)body->topics_count);
  for (int32_t i = 0; i < body->topics_count; i++) {
    create_partitions_copy(change, &body->topics[i], &grow->topics[i]);
    if (!api_may_topic(req, RIGHT_ALTER, body->topics[i].name)) {
      grow->topics[i].is_refused = true;
      grow->topics[i].error_code = WIRE_TOPIC_AUTHORIZATION_FAILED;
      grow->topics[i].error_message = NULL; // as Kafka has it
    }
  }
  grow->is_validate_only = body->validate_only;
  grow->reply = req->worker->loop;
  grow->done = create_partitions_done;
  grow->arg = change;
  topic_hooks_grow(change, req);
}
