// SPDX-License-Identifier: Apache-2.0
//
// Groups of the consumer protocol (KIP-848): members send heartbeats, the coordinator assigns. Called by the shard
// alone, most of it through struct group_kind_calls (shard_private.h), which says what each does.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coordinator/shard_private.h"

struct consumer_group;
struct group_request;
struct uuid;

/// Serve a request of that name. `group` is the group of that id, NULL: there is none. Classic requests come to a group
/// of this kind from members that use the classic protocol while the group migrates.
void consumer_heartbeat(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void consumer_describe(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void consumer_classic_join(struct group_shard *shard, struct group *group, struct group_request *request,
                           int64_t now_ms);
void consumer_classic_sync(struct group_shard *shard, struct group *group, struct group_request *request,
                           int64_t now_ms);
void consumer_classic_heartbeat(struct group_shard *shard, struct group *group, struct group_request *request,
                                int64_t now_ms);
void consumer_classic_leave(struct group_shard *shard, struct group *group, struct group_request *request,
                            int64_t now_ms);

/// As struct group_kind_calls says, for GROUP_CONSUMER.
int16_t consumer_check_commit(struct group *group, const struct group_request *request, int64_t now_ms);
int16_t consumer_check_commit_part(const struct group *group, const struct group_request *request,
                                   struct wire_string name, const struct uuid *id, int32_t partition);
int16_t consumer_check_fetch(struct group *group, const struct group_request *request);
const char *consumer_state_name(const struct group *group);
const char *consumer_protocol_type(const struct group *group);
bool consumer_is_empty(const struct group *group);
enum group_expiry consumer_expiry(const struct group *group, int64_t *since_ms);
bool consumer_is_subscribed(const struct group *group, const char *topic, int32_t length);
void consumer_loaded(struct group *group, int64_t now_ms);
void consumer_write_tombstones(struct group *group, struct group_write *write);
void consumer_stop(struct group *group, int16_t error);
void consumer_free(struct group *group);
void consumer_list_heard(const struct group *group, struct arena *arena, struct group_heard_list *out);
int consumer_dump(const struct group *group, char *text, size_t size);

/// A record of one of the keys 3 to 8 and 16.
///
/// @param kind   enum coordinator_record_key
/// @param key    what follows that number
/// @param value  what follows its version; NULL: a tombstone
/// @return 0, ERR_TRUNCATED, ERR_MALFORMED ...
int consumer_replay(struct group_shard *shard, int16_t kind, const uint8_t *key, int32_t key_size,
                    int16_t value_version, const uint8_t *value, int32_t value_size);
