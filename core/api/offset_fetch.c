// SPDX-License-Identifier: Apache-2.0
//
// OffsetFetch, 0 to 10: what groups have committed.
//
//   version  rule
//   2        an error of the whole group; null topics: all that are committed
//   7        require_stable: UNSTABLE_OFFSET_COMMIT where a transaction may be about to change an offset
//   8        several groups
//   10       topics by id: an unknown one is UNKNOWN_TOPIC_ID. Of all that are committed those that are there
//
// Topics and partitions that are not there have no offset, which is no error. A partition named twice is answered
// twice, and so is a group.
#include "api/api.h"
#include "api/authorize.h"
#include "api/group_call.h"
#include "api/group_flow.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/mem.h"
#include "metadata/image.h"
#include "wire/error_codes.h"
#include "wire/offset_fetch.h"

enum {
  OFFSET_FETCH_ERRORS = 2, // first version with an error of the whole group
  OFFSET_FETCH_GROUPS = 8, // first version with several groups
  OFFSET_FETCH_IDS = 10,   // first version with topic ids
};

struct offset_fetch;

/// One group of a request.
struct offset_fetch_group {
  struct group_call call;                                                  ///< to the group
  struct offset_fetch *fetch;                                              ///< the request
  struct wire_offset_fetch_request_offset_fetch_request_group asked;       ///< what it is asked: topics that are known
  struct wire_offset_fetch_response_offset_fetch_response_group resp;      ///< what it answers
  struct wire_offset_fetch_response_offset_fetch_response_topics *refused; ///< topics that it is not asked about
  int32_t refused_count;                                                   ///< how many
  bool is_denied;                                                          ///< it is not asked at all
};

/// The state of a request.
struct offset_fetch {
  struct request *req;               ///< the request
  struct offset_fetch_group *groups; ///< in its order
  int32_t count;                     ///< how many
  struct group_flow flow;            ///< asks them
};

// ---- the answer ----

/// Turns names into ids; topics that are no more are left out.
static void offset_fetch_name_ids(struct offset_fetch_group *group, const struct metadata_image *image)
{
  int32_t kept = 0;
  for (int32_t i = 0; i < group->resp.topics_count; i++) {
    struct wire_offset_fetch_response_offset_fetch_response_topics topic = group->resp.topics[i];
    const struct metadata_topic *found = metadata_image_topic(image, topic.name.data, (size_t)topic.name.length);
    if (found != NULL) {
      topic.topic_id = found->id;
      group->resp.topics[kept++] = topic;
    }
  }
  group->resp.topics_count = kept;
}

/// Adds the topics that were not asked about.
static void offset_fetch_add_refused(struct offset_fetch_group *group)
{
  struct request *req = group->fetch->req;
  int32_t total = group->resp.topics_count + group->refused_count;
  struct wire_offset_fetch_response_offset_fetch_response_topics *all = request_array(req, total, sizeof *all);
  for (int32_t i = 0; i < total; i++) {
    all[i] = i < group->resp.topics_count ? group->resp.topics[i] : group->refused[i - group->resp.topics_count];
  }
  group->resp.topics = all;
  group->resp.topics_count = total;
}

/// The answer of versions up to 7, which has one group.
static void offset_fetch_flatten(struct offset_fetch *fetch, struct wire_offset_fetch_response *resp)
{
  const struct wire_offset_fetch_response_offset_fetch_response_group *group = &fetch->groups[0].resp;
  resp->error_code = group->error_code;
  resp->topics_count = group->topics_count;
  resp->topics = request_array(fetch->req, group->topics_count, sizeof *resp->topics);
  for (int32_t i = 0; i < group->topics_count; i++) {
    const struct wire_offset_fetch_response_offset_fetch_response_topics *from = &group->topics[i];
    struct wire_offset_fetch_response_offset_fetch_response_topic *to = &resp->topics[i];
    to->name = from->name;
    to->partitions_count = from->partitions_count;
    to->partitions = request_array(fetch->req, from->partitions_count, sizeof *to->partitions);
    for (int32_t j = 0; j < from->partitions_count; j++) {
      to->partitions[j] = (struct wire_offset_fetch_response_offset_fetch_response_partition){
          .partition_index = from->partitions[j].partition_index,
          .committed_offset = from->partitions[j].committed_offset,
          .committed_leader_epoch = from->partitions[j].committed_leader_epoch,
          .metadata = from->partitions[j].metadata,
          .error_code = from->partitions[j].error_code,
      };
    }
  }
}

/// Where all topics were asked for, those are left out that the client may not know.
static void offset_fetch_hide(struct offset_fetch_group *group)
{
  const struct request *req = group->fetch->req;
  int32_t kept = 0;
  if (api_rights_ended(req)) {
    group->resp.error_code = WIRE_COORDINATOR_NOT_AVAILABLE; // nobody was asked: that it has no offsets would be wrong
  }
  for (int32_t i = 0; i < group->resp.topics_count; i++) {
    if (api_may_topic(req, RIGHT_DESCRIBE, group->resp.topics[i].name)) {
      group->resp.topics[kept++] = group->resp.topics[i];
    }
  }
  group->resp.topics_count = group->resp.error_code == WIRE_NONE ? kept : 0;
}

/// Makes what a group says the answer of the request.
static void offset_fetch_complete(struct offset_fetch_group *group)
{
  const struct request *req = group->fetch->req;
  if (group->resp.error_code != WIRE_NONE) {
    return;
  }
  if (group->asked.topics_count >= 0) {
    if (group->refused_count > 0) {
      offset_fetch_add_refused(group);
    }
    return;
  }
  if (req->authorize != NULL) {
    offset_fetch_hide(group);
  }
  if (req->version >= OFFSET_FETCH_IDS) {
    offset_fetch_name_ids(group, metadata_cache_get(req->api->metadata));
  }
}

/// What has to be asked about where all topics were asked for.
static void offset_fetch_rights(struct request *req)
{
  const struct offset_fetch *fetch = req->state;
  for (int32_t i = 0; i < fetch->count; i++) {
    const struct offset_fetch_group *group = &fetch->groups[i];
    for (int32_t j = 0; group->asked.topics_count < 0 && j < group->resp.topics_count; j++) {
      authorize_need(req, RIGHT_DESCRIBE, RIGHT_TOPIC, group->resp.topics[j].name);
    }
  }
}

static void offset_fetch_answer(struct request *req)
{
  struct offset_fetch *fetch = req->state;
  struct wire_offset_fetch_response resp;
  wire_offset_fetch_response_init(&resp);
  // The answer is made of what the groups allocated, and the request goes with it: their memory after that.
  struct arena *arenas = mem_array((size_t)fetch->count + 1, sizeof *arenas);
  int32_t count = fetch->count;
  for (int32_t i = 0; i < count; i++) {
    offset_fetch_complete(&fetch->groups[i]);
  }
  if (req->version < OFFSET_FETCH_GROUPS) {
    offset_fetch_flatten(fetch, &resp);
  } else {
    resp.groups_count = count;
    resp.groups = request_array(req, count, sizeof *resp.groups);
  }
  for (int32_t i = 0; i < count; i++) {
    arenas[i] = fetch->groups[i].call.arena;
    if (req->version >= OFFSET_FETCH_GROUPS) {
      resp.groups[i] = fetch->groups[i].resp;
    }
  }
  request_respond(req, &resp);
  for (int32_t i = 0; i < count; i++) {
    arena_destroy(&arenas[i]);
  }
  mem_free(arenas);
}

static struct group_call *offset_fetch_at(void *arg, int32_t i)
{
  struct offset_fetch *fetch = arg;
  return fetch->groups[i].is_denied ? NULL : &fetch->groups[i].call;
}

static void offset_fetch_done(struct group_call *call)
{
  struct offset_fetch_group *group = CONTAINER_OF(call, struct offset_fetch_group, call);
  if (group_flow_done(&group->fetch->flow, call)) {
    api_ask_rights(group->fetch->req, offset_fetch_rights, offset_fetch_answer);
  }
}

// ---- the request ----

/// A topic that the group is not asked about, as it is answered.
static void offset_fetch_refuse(struct offset_fetch_group *group,
                                const struct wire_offset_fetch_request_offset_fetch_request_topics *asked,
                                int16_t error)
{
  struct wire_offset_fetch_response_offset_fetch_response_topics *out = &group->refused[group->refused_count++];
  wire_offset_fetch_response_offset_fetch_response_topics_init(out);
  out->name = asked->name;
  out->topic_id = asked->topic_id;
  out->partitions_count = asked->partition_indexes_count;
  out->partitions = request_array(group->fetch->req, out->partitions_count, sizeof *out->partitions);
  for (int32_t i = 0; i < out->partitions_count; i++) {
    wire_offset_fetch_response_offset_fetch_response_partitions_init(&out->partitions[i]);
    out->partitions[i].partition_index = asked->partition_indexes[i];
    out->partitions[i].committed_offset = -1;
    out->partitions[i].metadata = wire_string_from("");
    out->partitions[i].error_code = error;
  }
}

/// Finds the names of topics that are asked for by id, and puts aside what the group is not asked about.
static void offset_fetch_sort(struct offset_fetch_group *group, const struct metadata_image *image)
{
  struct request *req = group->fetch->req;
  int32_t count = group->asked.topics_count;
  const struct wire_offset_fetch_request_offset_fetch_request_topics *topics = group->asked.topics;
  group->refused = request_array(req, count, sizeof *group->refused);
  group->asked.topics = request_array(req, count, sizeof *group->asked.topics);
  group->asked.topics_count = 0;
  for (int32_t i = 0; i < count; i++) {
    struct wire_offset_fetch_request_offset_fetch_request_topics topic = topics[i];
    if (req->version >= OFFSET_FETCH_IDS) {
      const struct metadata_topic *found = metadata_image_topic_by_id(image, &topics[i].topic_id);
      if (found == NULL) {
        offset_fetch_refuse(group, &topics[i], WIRE_UNKNOWN_TOPIC_ID);
        continue;
      }
      // The image may go before the group has answered.
      topic.name = wire_string_from(arena_strndup(&req->arena, found->name, (size_t)found->name_length));
    }
    if (api_may_topic(req, RIGHT_DESCRIBE, topic.name)) {
      group->asked.topics[group->asked.topics_count++] = topic;
    } else {
      offset_fetch_refuse(group, &topics[i], WIRE_TOPIC_AUTHORIZATION_FAILED);
    }
  }
}

/// The group may not be described: before version 2 an error has no other place than each partition.
static void offset_fetch_deny(struct offset_fetch_group *group)
{
  const struct request *req = group->fetch->req;
  int32_t count = req->version < OFFSET_FETCH_ERRORS && group->asked.topics_count > 0 ? group->asked.topics_count : 0;
  group->is_denied = true;
  group->resp.error_code = WIRE_GROUP_AUTHORIZATION_FAILED;
  group->refused = request_array(group->fetch->req, count, sizeof *group->refused);
  for (int32_t i = 0; i < count; i++) {
    offset_fetch_refuse(group, &group->asked.topics[i], WIRE_GROUP_AUTHORIZATION_FAILED);
  }
  group->resp.topics = group->refused;
  group->resp.topics_count = count;
}

/// The one group of versions up to 7 in the form of later ones.
static void offset_fetch_only(struct request *req, struct wire_offset_fetch_request_offset_fetch_request_group *out)
{
  const struct wire_offset_fetch_request *body = req->body;
  wire_offset_fetch_request_offset_fetch_request_group_init(out);
  out->group_id = body->group_id;
  out->topics_count = body->topics_count;
  out->topics = request_array(req, body->topics_count, sizeof *out->topics);
  for (int32_t i = 0; i < body->topics_count; i++) {
    out->topics[i].name = body->topics[i].name;
    out->topics[i].partition_indexes = body->topics[i].partition_indexes;
    out->topics[i].partition_indexes_count = body->topics[i].partition_indexes_count;
  }
}

/// How much a request names: groups, topics, partitions.
static int64_t offset_fetch_count(const struct offset_fetch *fetch)
{
  int64_t count = fetch->count;
  for (int32_t i = 0; i < fetch->count; i++) {
    for (int32_t j = 0; j < fetch->groups[i].asked.topics_count; j++) {
      count += 1 + (int64_t)fetch->groups[i].asked.topics[j].partition_indexes_count;
    }
  }
  return count;
}

void offset_fetch_handle(struct request *req)
{
  const struct wire_offset_fetch_request *body = req->body;
  bool is_one = req->version < OFFSET_FETCH_GROUPS;
  struct offset_fetch *fetch = arena_zalloc(&req->arena, sizeof *fetch);
  fetch->req = req;
  fetch->count = is_one ? 1 : body->groups_count;
  if (!request_check_count(req, fetch->count)) {
    return;
  }
  fetch->groups = request_array(req, fetch->count, sizeof *fetch->groups);
  for (int32_t i = 0; i < fetch->count; i++) {
    if (is_one) {
      offset_fetch_only(req, &fetch->groups[i].asked);
    } else {
      fetch->groups[i].asked = body->groups[i];
    }
  }
  if (!request_check_count(req, offset_fetch_count(fetch))) {
    return;
  }
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  fetch->flow = (struct group_flow){
      .at = offset_fetch_at, .arg = fetch, .count = fetch->count, .bytes_max = GROUP_FLOW_BYTES_MAX};
  for (int32_t i = 0; i < fetch->count; i++) {
    struct offset_fetch_group *group = &fetch->groups[i];
    group->fetch = fetch;
    wire_offset_fetch_response_offset_fetch_response_group_init(&group->resp);
    group->resp.group_id = group->asked.group_id;
    if (!api_may_group(req, RIGHT_DESCRIBE, group->asked.group_id)) {
      offset_fetch_deny(group);
      continue;
    }
    if ((req->version >= OFFSET_FETCH_IDS || req->authorize != NULL) && group->asked.topics_count >= 0) {
      offset_fetch_sort(group, image);
    }
    group_call_init(&group->call, req, group->asked.group_id, &group->asked, &group->resp, offset_fetch_done);
    group->call.request.is_stable = body->require_stable;
  }
  req->state = fetch;
  if (group_flow_start(&fetch->flow)) {
    offset_fetch_answer(req);
  }
}
