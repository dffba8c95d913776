// SPDX-License-Identifier: Apache-2.0
//
// CreateTopics, 0 to 7. The controller decides and writes; here the request becomes its, and its results the answer, in
// the order of the request.
//
//   version  rule
//   1        error texts; validate_only checks and writes nothing
//   4        -1 partitions or replicas stand for the broker's defaults; served in older versions as well, as Kafka does
//   5        the answer has the configs, partitions and replicas of the new topic: -1 and none where it failed
//   7        the answer has its id
//
// A topic named more than once has one entry in the answer, INVALID_REQUEST, and none of its entries is created. When
// the timeout is over first, every topic is answered with REQUEST_TIMED_OUT while the work goes on.
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "api/topic_change.h"
#include "api/topic_hooks.h"
#include "wire/create_topics.h"
#include "wire/error_codes.h"

/// Nobody is told that fields of a later version are missing, so all are filled in whatever the version.
static void create_topics_result(struct request *req, const struct controller_new_topic *topic,
                                 struct wire_create_topics_response_creatable_topic_result *result)
{
  wire_create_topics_response_creatable_topic_result_init(result);
  result->name = (struct wire_string){topic->name, (int32_t)topic->name_length};
  result->error_code = topic->error_code;
  result->error_message = wire_string_from(topic->error_message);
  result->configs = NULL;
  result->configs_count = 0;
  result->num_partitions = -1;
  result->replication_factor = -1;
  if (topic->error_code != WIRE_NONE) {
    return;
  }
  result->topic_id = topic->id;
  if (!api_may_topic(req, RIGHT_DESCRIBE_CONFIGS, result->name)) {
    result->configs_count = -1;
    result->topic_config_error_code = WIRE_TOPIC_AUTHORIZATION_FAILED;
    return;
  }
  result->num_partitions = topic->partition_count;
  result->replication_factor = topic->made_replication_factor;
  result->configs = request_array(req, topic->shown_count, sizeof *result->configs);
  result->configs_count = topic->shown_count;
  for (int32_t i = 0; i < topic->shown_count; i++) {
    const struct config_shown *shown = &topic->shown[i];
    struct wire_create_topics_response_creatable_topic_configs *config = &result->configs[i];
    wire_create_topics_response_creatable_topic_configs_init(config);
    config->name = wire_string_from(shown->name);
    config->value = wire_string_from(shown->is_sensitive ? NULL : shown->value);
    config->read_only = shown->is_read_only;
    config->config_source = shown->source;
    config->is_sensitive = shown->is_sensitive;
  }
}

/// The topics as the client named them, each with the same error.
static void create_topics_timed_out(struct request *req, struct wire_create_topics_response *resp)
{
  const struct wire_create_topics_request *body = req->body;
  resp->topics = request_array(req, body->topics_count, sizeof *resp->topics);
  resp->topics_count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    struct wire_create_topics_response_creatable_topic_result *result = &resp->topics[i];
    wire_create_topics_response_creatable_topic_result_init(result);
    result->name = body->topics[i].name;
    result->error_code = WIRE_REQUEST_TIMED_OUT;
    result->error_message = wire_string_from("The topic is not created yet; creating it goes on.");
    result->configs = NULL;
    result->configs_count = 0;
    result->num_partitions = -1;
    result->replication_factor = -1;
  }
}

static void create_topics_answer(struct topic_change *change, bool is_timed_out)
{
  struct request *req = change->req;
  struct wire_create_topics_response resp;
  wire_create_topics_response_init(&resp);
  if (is_timed_out) {
    create_topics_timed_out(req, &resp);
    request_respond(req, &resp);
    return;
  }
  const struct controller_create *create = &change->create;
  resp.topics = request_array(req, create->topic_count, sizeof *resp.topics);
  resp.topics_count = 0;
  for (int32_t i = 0; i < create->topic_count; i++) {
    if (!create->topics[i].is_repeat) {
      create_topics_result(req, &create->topics[i], &resp.topics[resp.topics_count++]);
    }
  }
  request_respond(req, &resp);
}

static void create_topics_done(struct controller_create *create)
{
  topic_change_done(create->arg);
}

/// Copies one topic of the request, whose frame may be gone before the controller is done.
static void create_topics_copy(struct topic_change *change,
                               const struct wire_create_topics_request_creatable_topic *asked,
                               struct controller_new_topic *topic)
{
  struct arena *arena = &change->arena;
  topic->name = arena_strndup(arena, asked->name.data, (size_t)asked->name.length);
  topic->name_length = (size_t)asked->name.length;
  topic->partitions = asked->num_partitions;
  topic->replication_factor = asked->replication_factor;
  topic->assignment_count = asked->assignments_count;
  topic->assignments = arena_zalloc(arena, sizeof *topic->assignments * (size_t)asked->assignments_count);
  for (int32_t i = 0; i < asked->assignments_count; i++) {
    const struct wire_create_topics_request_creatable_replica_assignment *from = &asked->assignments[i];
    struct controller_assignment *to = &topic->assignments[i];
    to->partition = from->partition_index;
    to->broker_count = from->broker_ids_count;
    to->brokers = arena_dup(arena, from->broker_ids, sizeof *from->broker_ids * (size_t)from->broker_ids_count);
  }
  struct config_entry *configs = arena_zalloc(arena, sizeof *configs * (size_t)asked->configs_count);
  for (int32_t i = 0; i < asked->configs_count; i++) {
    configs[i].name = topic_change_text(change, asked->configs[i].name);
    configs[i].value = topic_change_text(change, asked->configs[i].value);
  }
  topic->config_count = asked->configs_count;
  topic->configs = configs;
}

/// How much the request names: topics, partitions that are assigned, configs.
static int64_t create_topics_count(const struct wire_create_topics_request *body)
{
  int64_t count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    count += (int64_t)body->topics[i].assignments_count + body->topics[i].configs_count;
  }
  return count;
}

void create_topics_handle(struct request *req)
{
  const struct wire_create_topics_request *body = req->body;
  if (!request_check_count(req, create_topics_count(body))) {
    return;
  }
  struct topic_change *change = topic_change_new(req->worker, req, body->timeout_ms, create_topics_answer);
  struct controller_create *create = &change->create;
  create->arena = &change->arena;
  create->topic_count = body->topics_count;
  create->topics = arena_zalloc(&change->arena, sizeof *create->topics * (size_t)body->topics_count);
  for (int32_t i = 0; i < body->topics_count; i++) {
    create_topics_copy(change, &body->topics[i], &create->topics[i]);
    if (!api_may_topic(req, RIGHT_CREATE, body->topics[i].name)) {
      create->topics[i].is_refused = true;
      create->topics[i].error_code = WIRE_TOPIC_AUTHORIZATION_FAILED;
      create->topics[i].error_message = "Authorization failed.";
    }
  }
  create->is_validate_only = body->validate_only;
  create->reply = req->worker->loop;
  create->done = create_topics_done;
  create->arg = change;
  topic_hooks_create(change, req);
}
