// SPDX-License-Identifier: Apache-2.0
//
// ConsumerGroupDescribe, 0 to 1: consumer groups with their members, what those have and are to have (KIP-848). Each
// group is asked in its own shard, a few at a time; the answers keep the order of the request.
#include "api/authorize.h"
#include "api/cluster_view.h"
#include "api/group_calls.h"
#include "api/handlers.h"
#include "api/request.h"
#include "wire/consumer_group_describe.h"
#include "wire/error_codes.h"

typedef struct wire_consumer_group_describe_response_assignment group_describe_assignment;

/// The state of a request.
struct group_describe {
  struct wire_consumer_group_describe_response response; ///< the answer
  struct group_calls *calls;                             ///< to the groups
};

// ---- topics of members ----

/// Says that the client has to be allowed to know the topics of an assignment.
static void group_describe_need(struct request *req, const group_describe_assignment *assignment)
{
  for (int32_t i = 0; assignment != NULL && i < assignment->topic_partitions_count; i++) {
    authorize_need(req, RIGHT_DESCRIBE, RIGHT_TOPIC, assignment->topic_partitions[i].topic_name);
  }
}

static void group_describe_rights(struct request *req)
{
  const struct group_describe *work = req->state;
  for (int32_t i = 0; i < work->response.groups_count; i++) {
    const struct wire_consumer_group_describe_response_described_group *group = &work->response.groups[i];
    for (int32_t j = 0; j < group->members_count; j++) {
      group_describe_need(req, &group->members[j].assignment);
      group_describe_need(req, &group->members[j].target_assignment);
    }
  }
}

static bool group_describe_may_tell(const struct request *req, const group_describe_assignment *assignment)
{
  bool may_tell = true;
  for (int32_t i = 0; assignment != NULL && i < assignment->topic_partitions_count && may_tell; i++) {
    may_tell = api_may_topic(req, RIGHT_DESCRIBE, assignment->topic_partitions[i].topic_name);
  }
  return may_tell;
}

/// A group is not shown at all to who may not know one of its topics.
static void group_describe_hide(const struct request *req,
                                struct wire_consumer_group_describe_response_described_group *group)
{
  bool may_tell = true;
  for (int32_t i = 0; i < group->members_count && may_tell; i++) {
    may_tell = group_describe_may_tell(req, &group->members[i].assignment) &&
               group_describe_may_tell(req, &group->members[i].target_assignment);
  }
  if (may_tell) {
    return;
  }
  struct wire_string id = group->group_id;
  wire_consumer_group_describe_response_described_group_init(group);
  group->group_id = id;
  if (api_rights_ended(req)) {
    group->error_code = WIRE_COORDINATOR_NOT_AVAILABLE; // nobody was asked
    return;
  }
  group->error_code = WIRE_TOPIC_AUTHORIZATION_FAILED;
  group->error_message =
      wire_string_from("The group has described topic(s) that the client is not authorized to describe.");
}

// ---- the request ----

static void group_describe_answer(struct request *req)
{
  const struct wire_consumer_group_describe_request *body = req->body;
  struct group_describe *work = req->state;
  struct wire_consumer_group_describe_response *response = &work->response;
  for (int32_t i = 0; i < response->groups_count; i++) {
    struct wire_consumer_group_describe_response_described_group *group = &response->groups[i];
    if (req->authorize != NULL) {
      group_describe_hide(req, group);
    }
    if (body->include_authorized_operations && group->error_code == WIRE_NONE) {
      group->authorized_operations = api_operations(req, RIGHT_GROUP, group->group_id, CLUSTER_VIEW_GROUP_OPERATIONS);
    }
  }
  group_calls_respond(work->calls, response);
}

static void group_describe_done(struct group_calls *calls)
{
  api_ask_rights(group_calls_request(calls), group_describe_rights, group_describe_answer);
}

void consumer_group_describe_handle(struct request *req)
{
  const struct wire_consumer_group_describe_request *body = req->body;
  if (!request_check_count(req, body->group_ids_count)) {
    return;
  }
  int32_t count = body->group_ids_count > 0 ? body->group_ids_count : 0;
  struct group_describe *work = request_array(req, 1, sizeof *work);
  struct wire_consumer_group_describe_response *response = &work->response;
  wire_consumer_group_describe_response_init(response);
  response->groups = request_array(req, count, sizeof *response->groups);
  response->groups_count = count;
  req->state = work;
  struct group_calls *calls = group_calls_new(req, count, group_describe_done);
  work->calls = calls;
  for (int32_t i = 0; i < count; i++) {
    struct wire_consumer_group_describe_response_described_group *group = &response->groups[i];
    wire_consumer_group_describe_response_described_group_init(group);
    group->group_id = body->group_ids[i];
    if (!api_may_group(req, RIGHT_DESCRIBE, body->group_ids[i])) {
      group->error_code = WIRE_GROUP_AUTHORIZATION_FAILED;
    } else if (body->group_ids[i].length == 0) {
      group->error_code = WIRE_INVALID_GROUP_ID;
    } else {
      group_calls_set(calls, i, body->group_ids[i], NULL, group);
    }
  }
  group_calls_submit(calls);
}
