// SPDX-License-Identifier: Apache-2.0
//
// DeleteTopics, 0 to 6. The controller deletes; here the request becomes its, and its results the answer, in the order
// of the request.
//
//   version  rule
//   3        delete.topic.enable=false is TOPIC_DELETION_DISABLED; older versions, which lack that code, get
//            INVALID_REQUEST
//   5        error texts
//   6        topics by name or by id, one of the two; the answer has both where they are known
//
// A name that no topic can have is UNKNOWN_TOPIC_OR_PARTITION, not INVALID_TOPIC_EXCEPTION. What is named more than
// once has one entry in the answer, INVALID_REQUEST, and is not deleted. When the timeout is over first, every topic is
// answered with REQUEST_TIMED_OUT while the work goes on.
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "api/topic_change.h"
#include "api/topic_hooks.h"
#include "metadata/image.h"
#include "wire/delete_topics.h"
#include "wire/error_codes.h"

enum { DELETE_TOPICS_DISABLED = 3, DELETE_TOPICS_BY_ID = 6 }; // versions that brought them

/// How many topics the request names.
static int32_t delete_topics_count(const struct request *req)
{
  const struct wire_delete_topics_request *body = req->body;
  return req->version >= DELETE_TOPICS_BY_ID ? body->topics_count : body->topic_names_count;
}

/// The topic at a place of the request, whatever the version.
static struct wire_delete_topics_request_delete_topic_state delete_topics_at(const struct request *req, int32_t i)
{
  const struct wire_delete_topics_request *body = req->body;
  if (req->version >= DELETE_TOPICS_BY_ID) {
    return body->topics[i];
  }
  return (struct wire_delete_topics_request_delete_topic_state){.name = body->topic_names[i]};
}

/// Answers every topic as it was named with the same error.
static void delete_topics_fail(struct request *req, int16_t error, const char *message)
{
  struct wire_delete_topics_response resp;
  wire_delete_topics_response_init(&resp);
  resp.responses_count = delete_topics_count(req);
  resp.responses = request_array(req, resp.responses_count, sizeof *resp.responses);
  for (int32_t i = 0; i < resp.responses_count; i++) {
    struct wire_delete_topics_response_deletable_topic_result *result = &resp.responses[i];
    struct wire_delete_topics_request_delete_topic_state topic = delete_topics_at(req, i);
    wire_delete_topics_response_deletable_topic_result_init(result);
    result->name = topic.name;
    result->topic_id = topic.topic_id;
    result->error_code = error;
    result->error_message = wire_string_from(message);
  }
  request_respond(req, &resp);
}

static void delete_topics_answer(struct topic_change *change, bool is_timed_out)
{
  struct request *req = change->req;
  if (is_timed_out) {
    delete_topics_fail(req, WIRE_REQUEST_TIMED_OUT, "The topic is not deleted yet; deleting it goes on.");
    return;
  }
  const struct controller_drop *drop = &change->drop;
  struct wire_delete_topics_response resp;
  wire_delete_topics_response_init(&resp);
  resp.responses = request_array(req, drop->topic_count, sizeof *resp.responses);
  resp.responses_count = 0;
  for (int32_t i = 0; i < drop->topic_count; i++) {
    const struct controller_old_topic *topic = &drop->topics[i];
    if (topic->is_repeat) {
      continue;
    }
    struct wire_delete_topics_response_deletable_topic_result *result = &resp.responses[resp.responses_count++];
    wire_delete_topics_response_deletable_topic_result_init(result);
    result->name = (struct wire_string){topic->name, topic->name != NULL ? (int32_t)topic->name_length : -1};
    result->topic_id = topic->id;
    result->error_code = topic->error_code;
    result->error_message = wire_string_from(topic->error_message);
  }
  request_respond(req, &resp);
}

static void delete_topics_done(struct controller_drop *drop)
{
  topic_change_done(drop->arg);
}

/// Refuses a topic that the client may not delete. Who gave its id is told its name only if it may know that.
static void delete_topics_check(struct topic_change *change, struct controller_old_topic *topic)
{
  const struct request *req = change->req;
  bool by_id = topic->name == NULL;
  const struct metadata_topic *found =
      by_id ? metadata_image_topic_by_id(metadata_cache_get(req->api->metadata), &topic->id) : NULL;
  struct wire_string name = by_id && found != NULL
                                ? (struct wire_string){found->name, found->name_length}
                                : (struct wire_string){topic->name, by_id ? -1 : (int32_t)topic->name_length};
  bool is_malformed = !by_id && !uuid_is_zero(&topic->id);
  if (name.length < 0 || is_malformed) {
    return; // unknown, or refused for another reason
  }
  bool may_describe = api_may_topic(req, RIGHT_DESCRIBE, name);
  if (may_describe && api_may_topic(req, RIGHT_DELETE, name)) {
    return;
  }
  topic->is_refused = true;
  topic->error_code = WIRE_TOPIC_AUTHORIZATION_FAILED;
  topic->error_message = AUTHORIZE_TOPIC_TEXT;
  if (by_id && may_describe) {
    topic->name = arena_strndup(&change->arena, name.data, (size_t)name.length);
    topic->name_length = (size_t)name.length;
  }
}

void delete_topics_handle(struct request *req)
{
  const struct wire_delete_topics_request *body = req->body;
  if (!request_check_count(req, delete_topics_count(req))) {
    return;
  }
  if (!api_config(req->api)->delete_topic_enable) {
    int16_t error = req->version >= DELETE_TOPICS_DISABLED ? WIRE_TOPIC_DELETION_DISABLED : WIRE_INVALID_REQUEST;
    delete_topics_fail(req, error, "Topics cannot be deleted: delete.topic.enable is false.");
    return;
  }
  struct topic_change *change = topic_change_new(req->worker, req, body->timeout_ms, delete_topics_answer);
  struct controller_drop *drop = &change->drop;
  drop->arena = &change->arena;
  drop->topic_count = delete_topics_count(req);
  drop->topics = arena_zalloc(&change->arena, sizeof *drop->topics * (size_t)drop->topic_count);
  for (int32_t i = 0; i < drop->topic_count; i++) {
    struct wire_delete_topics_request_delete_topic_state asked = delete_topics_at(req, i);
    struct controller_old_topic *topic = &drop->topics[i];
    topic->id = asked.topic_id;
    if (asked.name.length >= 0) {
      topic->name = arena_strndup(&change->arena, asked.name.data, (size_t)asked.name.length);
      topic->name_length = (size_t)asked.name.length;
    }
    if (req->authorize != NULL) {
      delete_topics_check(change, topic);
    }
  }
  drop->reply = req->worker->loop;
  drop->done = delete_topics_done;
  drop->arg = change;
  topic_hooks_delete(change, req);
}
