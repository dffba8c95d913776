// SPDX-License-Identifier: Apache-2.0
//
// An error as the answer to a request to a group, whatever it asks: while the shard is loaded, when it is no more, when
// a write failed.
#include "base/arena.h"
#include "coordinator/group_request.h"
#include "coordinator/shard_private.h"
#include "wire/apis.h"
#include "wire/consumer_group_describe.h"
#include "wire/consumer_group_heartbeat.h"
#include "wire/delete_groups.h"
#include "wire/describe_groups.h"
#include "wire/heartbeat.h"
#include "wire/join_group.h"
#include "wire/leave_group.h"
#include "wire/list_groups.h"
#include "wire/offset_commit.h"
#include "wire/offset_delete.h"
#include "wire/offset_fetch.h"
#include "wire/sync_group.h"

enum { FAIL_OFFSET_FETCH_TOP_VERSION = 2 }; // first version of OffsetFetch with an error of the whole group

/// Each partition has the error.
static void fail_offset_commit(struct group_request *request, int16_t error)
{
  const struct wire_offset_commit_request *body = request->body;
  struct wire_offset_commit_response *resp = request->response;
  resp->topics_count = body->topics_count;
  resp->topics = arena_zalloc(request->arena, (size_t)body->topics_count * sizeof *resp->topics);
  for (int32_t i = 0; i < body->topics_count; i++) {
    const struct wire_offset_commit_request_offset_commit_request_topic *topic = &body->topics[i];
    struct wire_offset_commit_response_offset_commit_response_topic *out = &resp->topics[i];
    out->name = topic->name;
    out->topic_id = topic->topic_id;
    out->partitions_count = topic->partitions_count;
    out->partitions = arena_zalloc(request->arena, (size_t)topic->partitions_count * sizeof *out->partitions);
    for (int32_t j = 0; j < topic->partitions_count; j++) {
      out->partitions[j].partition_index = topic->partitions[j].partition_index;
      out->partitions[j].error_code = error;
    }
  }
}

/// The group has the error; in versions without such a field each partition that was asked for.
static void fail_offset_fetch(struct group_request *request, int16_t error)
{
  const struct wire_offset_fetch_request_offset_fetch_request_group *body = request->body;
  struct wire_offset_fetch_response_offset_fetch_response_group *resp = request->response;
  resp->error_code = error;
  resp->topics_count = 0;
  if (request->version >= FAIL_OFFSET_FETCH_TOP_VERSION || body->topics_count <= 0) {
    return;
  }
  resp->topics_count = body->topics_count;
  resp->topics = arena_zalloc(request->arena, (size_t)body->topics_count * sizeof *resp->topics);
  for (int32_t i = 0; i < body->topics_count; i++) {
    struct wire_offset_fetch_response_offset_fetch_response_topics *out = &resp->topics[i];
    out->name = body->topics[i].name;
    out->partitions_count = body->topics[i].partition_indexes_count;
    out->partitions = arena_zalloc(request->arena, (size_t)out->partitions_count * sizeof *out->partitions);
    for (int32_t j = 0; j < out->partitions_count; j++) {
      wire_offset_fetch_response_offset_fetch_response_partitions_init(&out->partitions[j]);
      out->partitions[j].partition_index = body->topics[i].partition_indexes[j];
      out->partitions[j].committed_offset = -1;
      out->partitions[j].metadata = wire_string_from("");
      out->partitions[j].error_code = error;
    }
  }
}

static void fail_offset_delete(struct group_request *request, int16_t error)
{
  struct wire_offset_delete_response *resp = request->response;
  resp->error_code = error;
  resp->topics_count = 0;
}

void group_request_fail(struct group_request *request, int16_t error)
{
  void *response = request->response;
  switch (request->key) {
    case WIRE_API_OFFSET_COMMIT:
      fail_offset_commit(request, error);
      break;
    case WIRE_API_OFFSET_FETCH:
      fail_offset_fetch(request, error);
      break;
    case WIRE_API_OFFSET_DELETE:
      fail_offset_delete(request, error);
      break;
    case WIRE_API_JOIN_GROUP:
      ((struct wire_join_group_response *)response)->error_code = error;
      break;
    case WIRE_API_SYNC_GROUP:
      ((struct wire_sync_group_response *)response)->error_code = error;
      break;
    case WIRE_API_HEARTBEAT:
      ((struct wire_heartbeat_response *)response)->error_code = error;
      break;
    case WIRE_API_LEAVE_GROUP:
      ((struct wire_leave_group_response *)response)->error_code = error;
      break;
    case WIRE_API_DESCRIBE_GROUPS:
      ((struct wire_describe_groups_response_described_group *)response)->error_code = error;
      break;
    case WIRE_API_DELETE_GROUPS:
      ((struct wire_delete_groups_response_deletable_group_result *)response)->error_code = error;
      break;
    case WIRE_API_LIST_GROUPS:
      ((struct wire_list_groups_response *)response)->error_code = error;
      break;
    case WIRE_API_CONSUMER_GROUP_HEARTBEAT:
      ((struct wire_consumer_group_heartbeat_response *)response)->error_code = error;
      break;
    case WIRE_API_CONSUMER_GROUP_DESCRIBE:
      ((struct wire_consumer_group_describe_response_described_group *)response)->error_code = error;
      break;
    default:
      break;
  }
}
