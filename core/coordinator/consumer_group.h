// SPDX-License-Identifier: Apache-2.0
//
// Groups of the consumer protocol (KIP-848): members send heartbeats, the coordinator assigns. Called by the shard
// alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct consumer_group;
struct group;
struct group_request;
struct group_shard;
struct group_write;

/// Serve a request of that name. `group` is the group of that id, NULL: there is none. Classic requests come to a group
/// of this kind from members that use the classic protocol while the group migrates.
void consumer_heartbeat(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void consumer_describe(struct group_shard *shard, struct group *group, struct group_request *request);
void consumer_classic_join(struct group_shard *shard, struct group *group, struct group_request *request,
                           int64_t now_ms);
void consumer_classic_sync(struct group_shard *shard, struct group *group, struct group_request *request,
                           int64_t now_ms);
void consumer_classic_heartbeat(struct group_shard *shard, struct group *group, struct group_request *request,
                                int64_t now_ms);
void consumer_classic_leave(struct group_shard *shard, struct group *group, struct group_request *request,
                            int64_t now_ms);

/// As those of classic_group.h.
int16_t consumer_check_commit(struct group *group, const struct group_request *request, int64_t now_ms);
int16_t consumer_check_fetch(struct group *group, const struct group_request *request);
const char *consumer_state_name(const struct consumer_group *consumer);
int64_t consumer_empty_since_ms(const struct consumer_group *consumer);
bool consumer_is_subscribed(const struct consumer_group *consumer, const char *topic, int32_t length);
void consumer_loaded(struct group *group, int64_t now_ms);
void consumer_write_tombstones(struct group *group, struct group_write *write);
void consumer_topics_changed(struct group *group, int64_t now_ms);
void consumer_stop(struct group *group, int16_t error);
void consumer_delete(struct group_shard *shard, struct consumer_group *consumer);

/// A record of one of the keys 3 to 8 and 16.
///
/// @param key_version  the number that the key begins with
/// @param value        NULL: a tombstone
/// @return 0, ERR_TRUNCATED, ERR_MALFORMED ...
int consumer_replay(struct group_shard *shard, int16_t key_version, const uint8_t *key, int32_t key_size,
                    const uint8_t *value, int32_t value_size);
