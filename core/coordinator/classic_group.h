// SPDX-License-Identifier: Apache-2.0
//
// Groups of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup. Called by the shard alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct classic_group;
struct group;
struct group_request;
struct group_shard;
struct wire_group_metadata_value;

/// Serve a request of that name. `group` is the group of that id, NULL: there is none.
void classic_join(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void classic_sync(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void classic_heartbeat(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void classic_leave(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void classic_describe(struct group_shard *shard, struct group *group, struct group_request *request);

/// Whether a commit may be stored, by whom it says it comes from: enum wire_error. One that comes from a member counts
/// as its heartbeat. @param group  GROUP_CLASSIC
int16_t classic_check_commit(struct group *group, const struct group_request *request, int64_t now_ms);

/// Kafka's name of its state: "Stable".
const char *classic_state_name(const struct classic_group *classic);

/// Its protocol type, "consumer"; empty: none has been chosen.
const char *classic_protocol_type(const struct classic_group *classic);

/// Since when it has had no members, wall clock; -1: it has some. From then on its offsets age.
int64_t classic_empty_since_ms(const struct classic_group *classic);

/// Whether a topic's offsets are in use: the group has members that are subscribed to it.
bool classic_is_subscribed(const struct classic_group *classic, const char *topic, int32_t length);

/// A record of GroupMetadataKey; NULL: a tombstone.
///
/// @return 0, ERR_MALFORMED
int classic_replay(struct group *group, const struct wire_group_metadata_value *value);

/// The log was read: sessions begin.
void classic_loaded(struct group *group, int64_t now_ms);

/// Adds the tombstone of its record to a write that deletes the group.
struct group_write;
void classic_write_tombstone(struct group *group, struct group_write *write);

/// Answers all that waits in it with `error`.
void classic_stop(struct group *group, int16_t error);

/// Frees it, with its timers stopped; nobody waits in it any more. NULL is fine.
void classic_delete(struct group_shard *shard, struct classic_group *classic);
