// SPDX-License-Identifier: Apache-2.0
//
// ListGroups, 0 to 5: all groups that this broker coordinates, from all its shards. Filters by state (version 4) and
// type (version 5) ignore case. A shard that is being loaded is not waited for: the answer is then
// COORDINATOR_LOAD_IN_PROGRESS, since a list that lacks groups would be believed.
#include "api/authorize.h"
#include "api/group_calls.h"
#include "api/api.h"
#include "api/handlers.h"
#include "api/request.h"
#include "coordinator/coordinator.h"
#include "metadata/image.h"
#include "wire/error_codes.h"
#include "wire/list_groups.h"

/// A request under way.
struct list_groups {
  struct wire_list_groups_response *parts; ///< of each shard
  int32_t count;                           ///< shards
  struct group_calls *calls;               ///< to them
};

/// Whether this broker is to have the groups of a shard.
static bool list_groups_is_mine(const struct request *req, int32_t shard)
{
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  const struct metadata_topic *topic = metadata_image_topic(image, COORDINATOR_TOPIC, sizeof COORDINATOR_TOPIC - 1);
  const struct metadata_partition *part = topic == NULL ? NULL : metadata_topic_partition(topic, shard);
  return part != NULL && part->leader == req->api->broker_id;
}

/// What one answer takes of a shard's: groups, or an error of those that concern the list.
static void list_groups_take(const struct request *req, int32_t shard, const struct wire_list_groups_response *part,
                             struct wire_list_groups_response *response)
{
  if (part->error_code == WIRE_NOT_COORDINATOR) {
    // Another broker's; or this one's, which stops: then there is no list.
    response->error_code = list_groups_is_mine(req, shard) ? WIRE_COORDINATOR_NOT_AVAILABLE : response->error_code;
    return;
  }
  if (part->error_code != WIRE_NONE) {
    response->error_code = part->error_code;
    return;
  }
  for (int32_t i = 0; i < part->groups_count; i++) {
    if (api_may_group(req, RIGHT_DESCRIBE, part->groups[i].group_id)) {
      response->groups[response->groups_count++] = part->groups[i];
    }
  }
}

static void list_groups_answer(struct request *req)
{
  const struct list_groups *work = req->state;
  int32_t total = 0;
  for (int32_t i = 0; i < work->count; i++) {
    total += work->parts[i].groups_count > 0 ? work->parts[i].groups_count : 0;
  }
  struct wire_list_groups_response response;
  wire_list_groups_response_init(&response);
  response.groups = request_array(req, total, sizeof *response.groups);
  for (int32_t i = 0; i < work->count; i++) {
    list_groups_take(req, i, &work->parts[i], &response);
  }
  if (api_rights_ended(req)) {
    response.error_code = WIRE_COORDINATOR_NOT_AVAILABLE;
  }
  if (response.error_code != WIRE_NONE) {
    response.groups_count = 0;
  }
  group_calls_respond(work->calls, &response);
}

/// A client is told of groups that it may describe.
static void list_groups_rights(struct request *req)
{
  const struct list_groups *work = req->state;
  for (int32_t i = 0; i < work->count; i++) {
    for (int32_t j = 0; j < work->parts[i].groups_count; j++) {
      authorize_need(req, RIGHT_DESCRIBE, RIGHT_GROUP, work->parts[i].groups[j].group_id);
    }
  }
}

static void list_groups_done(struct group_calls *calls)
{
  api_ask_rights(group_calls_request(calls), list_groups_rights, list_groups_answer);
}

void list_groups_handle(struct request *req)
{
  const struct wire_list_groups_request *body = req->body;
  if (!request_check_count(req, (int64_t)body->states_filter_count + body->types_filter_count)) {
    return;
  }
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  const struct metadata_topic *topic = metadata_image_topic(image, COORDINATOR_TOPIC, sizeof COORDINATOR_TOPIC - 1);
  struct list_groups *work = request_array(req, 1, sizeof *work);
  work->count = topic == NULL ? 0 : topic->partition_count;
  work->parts = request_array(req, work->count, sizeof *work->parts);
  req->state = work;
  struct group_calls *calls = group_calls_new(req, work->count, list_groups_done);
  work->calls = calls;
  for (int32_t i = 0; i < work->count; i++) {
    wire_list_groups_response_init(&work->parts[i]);
    group_calls_set_shard(calls, i, i, body, &work->parts[i]);
  }
  group_calls_submit(calls);
}
