// SPDX-License-Identifier: Apache-2.0
//
// OffsetCommit, 0 to 10. Topics and partitions that are not there are answered here; what is left goes to the group.
//
//   version  rule
//   1        generation and member; a timestamp for each partition, in this version only
//   2 to 4   how long to keep the offsets
//   10       topics by id: an unknown one is UNKNOWN_TOPIC_ID
//
// A partition named twice is stored as the request has it, so that the last one counts.
#include "api/api.h"
#include "api/authorize.h"
#include "api/group_call.h"
#include "api/handlers.h"
#include "api/request.h"
#include "metadata/image.h"
#include "wire/error_codes.h"
#include "wire/offset_commit.h"

enum { OFFSET_COMMIT_IDS = 10 }; // first version with topic ids

/// The state of a request.
struct offset_commit {
  struct group_call call;                      ///< to the group
  struct wire_offset_commit_request asked;     ///< what the group is asked: partitions that are there
  struct wire_offset_commit_response answered; ///< what it says of them, topics in the same order
  struct wire_offset_commit_response resp;     ///< all topics of the request
  int32_t *places;                             ///< place of each of `asked.topics` in the request
};

/// Answers: partitions that are not there have their error already, those of the group come behind them.
static void offset_commit_answer(struct group_call *call)
{
  struct offset_commit *commit = CONTAINER_OF(call, struct offset_commit, call);
  for (int32_t i = 0; i < commit->answered.topics_count; i++) {
    const struct wire_offset_commit_response_offset_commit_response_topic *from = &commit->answered.topics[i];
    struct wire_offset_commit_response_offset_commit_response_topic *to = &commit->resp.topics[commit->places[i]];
    for (int32_t j = 0; j < from->partitions_count; j++) {
      to->partitions[to->partitions_count++] = from->partitions[j];
    }
  }
  request_respond(call->req, &commit->resp);
}

static void offset_commit_done(struct group_call *call)
{
  // The call lies in the request's arena, which goes with the answer.
  struct arena arena = call->arena;
  offset_commit_answer(call);
  arena_destroy(&arena);
}

/// Why a topic's offsets may not be committed; of an id that is unknown, nothing.
static int16_t offset_commit_denied(const struct request *req,
                                    const struct wire_offset_commit_request_offset_commit_request_topic *topic,
                                    const struct metadata_topic *found)
{
  const struct wire_offset_commit_request *body = req->body;
  if (req->authorize == NULL) {
    return WIRE_NONE;
  }
  if (!api_may_group(req, RIGHT_READ, body->group_id)) {
    return WIRE_GROUP_AUTHORIZATION_FAILED;
  }
  bool by_id = req->version >= OFFSET_COMMIT_IDS;
  struct wire_string name =
      by_id && found != NULL ? (struct wire_string){found->name, found->name_length} : topic->name;
  return (by_id && found == NULL) || api_may_topic(req, RIGHT_READ, name) ? WIRE_NONE : WIRE_TOPIC_AUTHORIZATION_FAILED;
}

/// One topic: partitions that are there go to the group, the others are answered.
static void offset_commit_sort(struct offset_commit *commit, const struct metadata_image *image, int32_t place)
{
  struct request *req = commit->call.req;
  const struct wire_offset_commit_request *body = req->body;
  const struct wire_offset_commit_request_offset_commit_request_topic *topic = &body->topics[place];
  struct wire_offset_commit_response_offset_commit_response_topic *out = &commit->resp.topics[place];
  bool by_id = req->version >= OFFSET_COMMIT_IDS;
  const struct metadata_topic *found = by_id
                                           ? metadata_image_topic_by_id(image, &topic->topic_id)
                                           : metadata_image_topic(image, topic->name.data, (size_t)topic->name.length);
  int16_t denied = offset_commit_denied(req, topic, found);
  wire_offset_commit_response_offset_commit_response_topic_init(out);
  out->name = topic->name;
  out->topic_id = topic->topic_id;
  out->partitions = request_array(req, topic->partitions_count, sizeof *out->partitions);
  struct wire_offset_commit_request_offset_commit_request_topic *asked =
      &commit->asked.topics[commit->asked.topics_count];
  *asked = *topic;
  asked->partitions = request_array(req, topic->partitions_count, sizeof *asked->partitions);
  asked->partitions_count = 0;
  if (found != NULL) {
    asked->topic_id = found->id; // kept with the offset, however the topic was named
    // The image may go before the group has answered.
    asked->name =
        by_id ? wire_string_from(arena_strndup(&req->arena, found->name, (size_t)found->name_length)) : topic->name;
  }
  for (int32_t i = 0; i < topic->partitions_count; i++) {
    if (denied == WIRE_NONE && found != NULL &&
        metadata_topic_partition(found, topic->partitions[i].partition_index) != NULL) {
      asked->partitions[asked->partitions_count++] = topic->partitions[i];
      continue;
    }
    struct wire_offset_commit_response_offset_commit_response_partition *missing =
        &out->partitions[out->partitions_count++];
    missing->partition_index = topic->partitions[i].partition_index;
    missing->error_code = denied != WIRE_NONE      ? denied
                          : found == NULL && by_id ? WIRE_UNKNOWN_TOPIC_ID
                                                   : WIRE_UNKNOWN_TOPIC_OR_PARTITION;
  }
  if (asked->partitions_count > 0) {
    commit->places[commit->asked.topics_count++] = place;
  }
}

/// How many partitions a request names.
static int64_t offset_commit_count(const struct wire_offset_commit_request *body)
{
  int64_t count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    count += body->topics[i].partitions_count;
  }
  return count;
}

void offset_commit_handle(struct request *req)
{
  const struct wire_offset_commit_request *body = req->body;
  if (!request_check_count(req, offset_commit_count(body))) {
    return;
  }
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  struct offset_commit *commit = arena_zalloc(&req->arena, sizeof *commit);
  wire_offset_commit_response_init(&commit->resp);
  wire_offset_commit_response_init(&commit->answered);
  group_call_init(&commit->call, req, body->group_id, &commit->asked, &commit->answered, offset_commit_done);
  commit->asked = *body;
  commit->asked.topics = request_array(req, body->topics_count, sizeof *commit->asked.topics);
  commit->asked.topics_count = 0;
  commit->places = request_array(req, body->topics_count, sizeof *commit->places);
  commit->resp.topics = request_array(req, body->topics_count, sizeof *commit->resp.topics);
  commit->resp.topics_count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    offset_commit_sort(commit, image, i);
  }
  if (commit->asked.topics_count == 0) {
    request_respond(req, &commit->resp); // nothing for the group: it is not asked
    return;
  }
  group_call_submit(&commit->call);
}
