// SPDX-License-Identifier: Apache-2.0
//
// OffsetDelete, 0: deletes offsets of a group (KIP-496). Topics and partitions that are not there are answered here
// with UNKNOWN_TOPIC_OR_PARTITION; what is left goes to the group, which refuses topics that its members are subscribed
// to.
#include "api/api.h"
#include "api/authorize.h"
#include "api/group_call.h"
#include "api/handlers.h"
#include "api/request.h"
#include "metadata/image.h"
#include "wire/error_codes.h"
#include "wire/offset_delete.h"

/// The state of a request.
struct offset_delete {
  struct group_call call;                      ///< to the group
  struct wire_offset_delete_request asked;     ///< what the group is asked: partitions that are there
  struct wire_offset_delete_response answered; ///< what it says of them, topics in the same order
  struct wire_offset_delete_response resp;     ///< all topics of the request
  int32_t *places;                             ///< place of each of `asked.topics` in the request
};

/// Answers: an error of the group is all there is; otherwise its partitions come behind those that are not there.
static void offset_delete_answer(struct group_call *call)
{
  struct offset_delete *del = CONTAINER_OF(call, struct offset_delete, call);
  del->resp.error_code = del->answered.error_code;
  if (del->answered.error_code != WIRE_NONE) {
    del->resp.topics_count = 0;
  }
  for (int32_t i = 0; del->answered.error_code == WIRE_NONE && i < del->answered.topics_count; i++) {
    const struct wire_offset_delete_response_offset_delete_response_topic *from = &del->answered.topics[i];
    struct wire_offset_delete_response_offset_delete_response_topic *to = &del->resp.topics[del->places[i]];
    for (int32_t j = 0; j < from->partitions_count; j++) {
      to->partitions[to->partitions_count++] = from->partitions[j];
    }
  }
  request_respond(call->req, &del->resp);
}

static void offset_delete_done(struct group_call *call)
{
  struct arena arena = call->arena;
  offset_delete_answer(call);
  arena_destroy(&arena);
}

/// One topic: partitions that are there go to the group, the others are answered.
static void offset_delete_sort(struct offset_delete *del, const struct metadata_image *image, int32_t place)
{
  struct request *req = del->call.req;
  const struct wire_offset_delete_request *body = req->body;
  const struct wire_offset_delete_request_offset_delete_request_topic *topic = &body->topics[place];
  struct wire_offset_delete_response_offset_delete_response_topic *out = &del->resp.topics[place];
  const struct metadata_topic *found = metadata_image_topic(image, topic->name.data, (size_t)topic->name.length);
  bool may_read = api_may_topic(req, RIGHT_READ, topic->name);
  wire_offset_delete_response_offset_delete_response_topic_init(out);
  out->name = topic->name;
  out->partitions = request_array(req, topic->partitions_count, sizeof *out->partitions);
  struct wire_offset_delete_request_offset_delete_request_topic *asked = &del->asked.topics[del->asked.topics_count];
  *asked = *topic;
  asked->partitions = request_array(req, topic->partitions_count, sizeof *asked->partitions);
  asked->partitions_count = 0;
  for (int32_t i = 0; i < topic->partitions_count; i++) {
    if (may_read && found != NULL && metadata_topic_partition(found, topic->partitions[i].partition_index) != NULL) {
      asked->partitions[asked->partitions_count++] = topic->partitions[i];
      continue;
    }
    struct wire_offset_delete_response_offset_delete_response_partition *missing =
        &out->partitions[out->partitions_count++];
    missing->partition_index = topic->partitions[i].partition_index;
    missing->error_code = may_read ? WIRE_UNKNOWN_TOPIC_OR_PARTITION : WIRE_TOPIC_AUTHORIZATION_FAILED;
  }
  if (asked->partitions_count > 0) {
    del->places[del->asked.topics_count++] = place;
  }
}

/// How many partitions a request names.
static int64_t offset_delete_count(const struct wire_offset_delete_request *body)
{
  int64_t count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    count += body->topics[i].partitions_count;
  }
  return count;
}

void offset_delete_handle(struct request *req)
{
  const struct wire_offset_delete_request *body = req->body;
  if (!request_check_count(req, offset_delete_count(body))) {
    return;
  }
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  struct offset_delete *del = arena_zalloc(&req->arena, sizeof *del);
  wire_offset_delete_response_init(&del->resp);
  if (!api_may_group(req, RIGHT_DELETE, body->group_id)) {
    del->resp.error_code = WIRE_GROUP_AUTHORIZATION_FAILED;
    request_respond(req, &del->resp);
    return;
  }
  wire_offset_delete_response_init(&del->answered);
  group_call_init(&del->call, req, body->group_id, &del->asked, &del->answered, offset_delete_done);
  del->asked = *body;
  del->asked.topics = request_array(req, body->topics_count, sizeof *del->asked.topics);
  del->asked.topics_count = 0;
  del->places = request_array(req, body->topics_count, sizeof *del->places);
  del->resp.topics = request_array(req, body->topics_count, sizeof *del->resp.topics);
  del->resp.topics_count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    offset_delete_sort(del, image, i);
  }
  group_call_submit(&del->call); // also without topics: whether there is such a group is its to say
}
