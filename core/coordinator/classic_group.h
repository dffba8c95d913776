// SPDX-License-Identifier: Apache-2.0
//
// Groups of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup. Called by the shard alone, most of it
// through struct group_kind_calls (shard_private.h), which says what each does.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coordinator/shard_private.h"

struct classic_group;
struct group_request;

/// Serve a request of that name. `group` is the group of that id, NULL: there is none.
void classic_join(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void classic_sync(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void classic_heartbeat(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void classic_leave(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);

/// DescribeGroups, of whatever kind the group is: other kinds are no classic groups, those with offsets alone are
/// empty.
void classic_describe(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);

/// As struct group_kind_calls says, for GROUP_CLASSIC.
int16_t classic_check_commit(struct group *group, const struct group_request *request, int64_t now_ms);
const char *classic_state_name(const struct group *group);
const char *classic_protocol_type(const struct group *group);
bool classic_is_empty(const struct group *group);
enum group_expiry classic_expiry(const struct group *group, int64_t *since_ms);
bool classic_is_subscribed(const struct group *group, const char *topic, int32_t length);
void classic_loaded(struct group *group, int64_t now_ms);
void classic_write_tombstones(struct group *group, struct group_write *write);
void classic_stop(struct group *group, int16_t error);
void classic_free(struct group *group);
void classic_list_heard(const struct group *group, struct arena *arena, struct group_heard_list *out);
int classic_dump(const struct group *group, char *text, size_t size);

/// A record of GroupMetadataKey, as group_replay_fn says (shard_kinds.h).
///
/// @return 0, ERR_UNSUPPORTED_VERSION, ERR_TRUNCATED, ERR_MALFORMED
int classic_replay(struct group_shard *shard, int16_t kind, const uint8_t *key, int32_t key_size, int16_t value_version,
                   const uint8_t *value, int32_t value_size);
