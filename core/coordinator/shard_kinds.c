// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard_kinds.h"

#include <stddef.h>

#include "coordinator/classic_group.h"
#include "coordinator/consumer_group.h"
#include "coordinator/group_request.h"
#include "coordinator/records.h"
#include "coordinator/shard_state.h"
#include "wire/apis.h"
#include "wire/error_codes.h"
#include "wire/offset_commit.h"

// ---- groups that have offsets alone ----

/// Kafka takes them for classic groups that are empty: who says that it is a member is none.
static int16_t empty_check_commit(struct group *group, const struct group_request *request, int64_t now_ms)
{
  (void)group;
  (void)now_ms;
  const struct wire_offset_commit_request *body = request->body;
  return body->generation_id_or_member_epoch < 0 ? WIRE_NONE : WIRE_UNKNOWN_MEMBER_ID;
}

static const char *empty_state_name(const struct group *group)
{
  (void)group;
  return "Empty";
}

static enum group_expiry empty_expiry(const struct group *group, int64_t *since_ms)
{
  (void)group;
  *since_ms = -1;
  return GROUP_EXPIRES_COMMIT;
}

// ---- the tables ----

static const struct group_kind_calls GROUP_KINDS[GROUP_KIND_COUNT] = {
    [GROUP_EMPTY] =
        {
            .type = "classic",
            .check_commit = empty_check_commit,
            .state_name = empty_state_name,
            .expiry = empty_expiry,
        },
    [GROUP_CLASSIC] =
        {
            .type = "classic",
            .check_commit = classic_check_commit,
            .state_name = classic_state_name,
            .protocol_type = classic_protocol_type,
            .is_empty = classic_is_empty,
            .expiry = classic_expiry,
            .is_subscribed = classic_is_subscribed,
            .loaded = classic_loaded,
            .write_tombstones = classic_write_tombstones,
            .stop = classic_stop,
            .free = classic_free,
            .list_heard = classic_list_heard,
            .dump = classic_dump,
        },
    [GROUP_CONSUMER] =
        {
            .type = "consumer",
            .check_commit = consumer_check_commit,
            .check_commit_part = consumer_check_commit_part,
            .check_fetch = consumer_check_fetch,
            .state_name = consumer_state_name,
            .protocol_type = consumer_protocol_type,
            .is_empty = consumer_is_empty,
            .expiry = consumer_expiry,
            .is_subscribed = consumer_is_subscribed,
            .loaded = consumer_loaded,
            .write_tombstones = consumer_write_tombstones,
            .stop = consumer_stop,
            .free = consumer_free,
            .list_heard = consumer_list_heard,
            .dump = consumer_dump,
        },
};

static const struct group_route GROUP_ROUTES[] = {
    {WIRE_API_JOIN_GROUP, true, false, classic_join, consumer_classic_join},
    {WIRE_API_SYNC_GROUP, true, false, classic_sync, consumer_classic_sync},
    {WIRE_API_HEARTBEAT, true, false, classic_heartbeat, consumer_classic_heartbeat},
    {WIRE_API_LEAVE_GROUP, true, false, classic_leave, consumer_classic_leave},
    {WIRE_API_DESCRIBE_GROUPS, true, false, classic_describe, NULL},
    {WIRE_API_OFFSET_COMMIT, true, false, offset_commit_serve, NULL},
    {WIRE_API_OFFSET_FETCH, false, false, offset_fetch_serve, NULL},
    {WIRE_API_OFFSET_DELETE, true, true, offset_delete_serve, NULL},
    {WIRE_API_DELETE_GROUPS, true, true, group_delete_serve, NULL},
    {WIRE_API_LIST_GROUPS, false, false, group_list_serve, NULL},
    {WIRE_API_CONSUMER_GROUP_HEARTBEAT, true, false, consumer_heartbeat, NULL},
    {WIRE_API_CONSUMER_GROUP_DESCRIBE, true, false, consumer_describe, NULL},
};

const struct group_kind_calls *group_kind_of(const struct group *group)
{
  return &GROUP_KINDS[group->kind];
}

const struct group_route *group_route_of(int16_t key)
{
  for (size_t i = 0; i < sizeof GROUP_ROUTES / sizeof GROUP_ROUTES[0]; i++) {
    if (GROUP_ROUTES[i].key == key) {
      return &GROUP_ROUTES[i];
    }
  }
  return NULL;
}

group_replay_fn group_replay_of(int16_t kind)
{
  switch (kind) {
    case RECORD_GROUP_METADATA:
      return classic_replay;
    case RECORD_CONSUMER_GROUP_METADATA:
    case RECORD_CONSUMER_GROUP_PARTITION_METADATA:
    case RECORD_CONSUMER_GROUP_MEMBER_METADATA:
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
    case RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
    case RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION:
      return consumer_replay;
    default:
      return NULL;
  }
}
