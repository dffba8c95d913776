// SPDX-License-Identifier: Apache-2.0
//
// GroupMetadata, the one record of a classic group, written in version 3 as Apache Kafka does: type, generation,
// protocol, leader, and of each member its subscription and its assignment. Read back from the log it makes the group;
// read when it has been written it makes the assignment of the generation that waits for it.
#include "coordinator/classic_private.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "coordinator/records.h"
#include "wire/coordinator_record.h"
#include "wire/reader.h"
#include "wire/sync_group.h"

enum { RECORD_VERSION = 3 };

// ---- writing ----

/// Adds the record to a write. @param value  NULL: a tombstone
static void record_add(const struct group *group, struct group_write *write,
                       const struct wire_group_metadata_value *value)
{
  struct wire_group_metadata_key key;
  wire_group_metadata_key_init(&key);
  key.group = (struct wire_string){.data = group->id, .length = group->id_size};
  group_write_add_message(write, RECORD_GROUP_METADATA, &wire_group_metadata_key_codec, &key,
                          value == NULL ? NULL : &wire_group_metadata_value_codec, value, RECORD_VERSION);
}

static void record_head(const struct classic_group *classic, struct wire_group_metadata_value *value)
{
  wire_group_metadata_value_init(value);
  value->protocol_type = wire_string_from(classic->protocol_type == NULL ? "" : classic->protocol_type);
  value->generation = classic->generation;
  value->protocol = wire_string_from(classic->protocol);
  value->leader = classic->leader == NULL ? wire_string_from(NULL) : classic_member_id(classic->leader);
  value->current_state_timestamp = classic->state_ms;
}

/// What the leader gives to a member.
struct record_given {
  struct name_node node;        ///< by member id
  struct wire_bytes assignment; ///< borrowed from the request
};

/// The leader's assignments by member id; of those for the same member the last counts, as in Kafka.
static void record_gather(struct name_table *given, const struct wire_sync_group_request *request, struct arena *arena)
{
  for (int32_t i = 0; request != NULL && i < request->assignments_count; i++) {
    struct wire_string id = request->assignments[i].member_id;
    struct name_node *node = name_table_find(given, id.data, id.length);
    if (node == NULL) {
      struct record_given *one = arena_zalloc(arena, sizeof *one);
      node = &one->node;
      name_table_add(given, node, id.data, id.length);
    }
    CONTAINER_OF(node, struct record_given, node)->assignment = request->assignments[i].assignment;
  }
}

static struct wire_bytes record_assignment(const struct classic_member *member, const struct name_table *given)
{
  struct name_node *node = name_table_find(given, member->id.name, member->id.size);
  return node == NULL ? (struct wire_bytes){0} : CONTAINER_OF(node, struct record_given, node)->assignment;
}

void classic_store(struct classic_group *classic, const struct wire_sync_group_request *request,
                   group_written_fn written, void *arg, int64_t now_ms)
{
  struct arena arena = {0};
  struct name_table given = {0};
  record_gather(&given, request, &arena);
  struct wire_group_metadata_value value;
  record_head(classic, &value);
  value.members = arena_alloc(&arena, (size_t)classic->member_count * sizeof *value.members);
  LIST_EACH(&classic->members, node) {
    const struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    struct wire_group_metadata_value_member_metadata *out = &value.members[value.members_count++];
    wire_group_metadata_value_member_metadata_init(out);
    out->member_id = classic_member_id(member);
    out->group_instance_id = classic_member_instance(member);
    out->client_id = wire_string_from(member->client_id);
    out->client_host = wire_string_from(member->client_host);
    out->rebalance_timeout = member->rebalance_timeout_ms;
    out->session_timeout = member->session_timeout_ms;
    out->subscription = classic_member_metadata(member, classic->protocol);
    out->assignment = request != NULL
                          ? record_assignment(member, &given)
                          : (struct wire_bytes){.data = member->assignment, .length = member->assignment_size};
  }
  struct group_write *write = group_write_new(classic->group, false, written, arg);
  record_add(classic->group, write, &value);
  name_table_destroy(&given);
  arena_destroy(&arena);
  group_write_submit(write, now_ms);
}

void classic_store_empty(struct classic_group *classic, group_written_fn written, int64_t now_ms)
{
  struct wire_group_metadata_value value;
  record_head(classic, &value);
  struct group_write *write = group_write_new(classic->group, false, written, NULL);
  record_add(classic->group, write, &value);
  group_write_submit(write, now_ms);
}

void classic_write_tombstones(struct group *group, struct group_write *write)
{
  record_add(group, write, NULL);
}

// ---- reading ----

/// A member of a record. @return ERR_MALFORMED: the record has it twice
static int replay_member(struct classic_group *classic, const struct wire_group_metadata_value *value, int32_t i)
{
  const struct wire_group_metadata_value_member_metadata *in = &value->members[i];
  if (classic_member_find(classic, in->member_id) != NULL ||
      classic_member_static(classic, in->group_instance_id) != NULL) {
    return error_set(ERR_MALFORMED, "group %s: a record names a member twice", classic->group->id);
  }
  char *host = mem_zalloc((size_t)(in->client_host.length > 0 ? in->client_host.length : 0) + 1);
  if (in->client_host.length > 0) {
    memcpy(host, in->client_host.data, (size_t)in->client_host.length);
  }
  struct classic_member *member =
      classic_member_new(classic, in->member_id, in->group_instance_id, in->client_id, host);
  mem_free(host);
  member->session_timeout_ms = in->session_timeout;
  member->rebalance_timeout_ms = in->rebalance_timeout == -1 ? in->session_timeout : in->rebalance_timeout;
  classic_member_admit(member, classic_protocols_of_one(value->protocol, in->subscription));
  classic_member_assign(member, in->assignment);
  if (wire_string_equal(in->member_id, value->leader)) {
    classic->leader = member;
  }
  return 0;
}

static char *replay_text(struct wire_string text)
{
  if (text.length <= 0) {
    return NULL;
  }
  char *copy = mem_zalloc((size_t)text.length + 1);
  memcpy(copy, text.data, (size_t)text.length);
  return copy;
}

/// The group as a record says it is; what was known before is gone, also when the record is not right.
static int replay_load(struct group *group, const struct wire_group_metadata_value *value)
{
  if (group->kind != GROUP_EMPTY) {
    group_kind_of(group)->free(group);
  }
  struct classic_group *classic = classic_new(group);
  classic->generation = value->generation;
  classic->protocol_type = replay_text(value->protocol_type);
  classic->protocol = replay_text(value->protocol);
  classic->state_ms = value->current_state_timestamp;
  classic->state = value->members_count > 0 ? CLASSIC_STABLE : CLASSIC_EMPTY;
  for (int32_t i = 0; i < value->members_count; i++) {
    int result = replay_member(classic, value, i);
    if (result != 0) {
      classic_free(group);
      return result;
    }
  }
  if (value->leader.length < 0) {
    classic->leader = NULL; // not the first member: see classic_loaded()
  }
  return 0;
}

/// A record of a group that lives: the assignment of the generation that waits for it.
static void replay_assign(struct classic_group *classic, const struct wire_group_metadata_value *value)
{
  if (classic->state != CLASSIC_COMPLETING || !classic->is_storing || classic->generation != value->generation ||
      !wire_string_equal(classic_member_id(classic->leader), value->leader)) {
    return;
  }
  for (int32_t i = 0; i < value->members_count; i++) {
    struct classic_member *member = classic_member_find(classic, value->members[i].member_id);
    if (member != NULL && !member->is_pending) {
      classic_member_assign(member, value->members[i].assignment);
    }
  }
}

/// @param value  NULL: a tombstone
static int replay_group(struct group_shard *shard, struct wire_string id, const struct wire_group_metadata_value *value)
{
  struct group *group = value == NULL ? group_find(shard, id) : group_obtain(shard, id);
  if (group == NULL || (value == NULL && group->kind != GROUP_CLASSIC)) {
    return 0;
  }
  int result = 0;
  if (value == NULL) {
    classic_free(group);
  } else if (group->kind == GROUP_CLASSIC && group->classic->is_live) {
    replay_assign(group->classic, value);
  } else {
    result = replay_load(group, value);
  }
  group_release_if_unused(group);
  return result;
}

int classic_replay(struct group_shard *shard, int16_t kind, const uint8_t *key, int32_t key_size, int16_t value_version,
                   const uint8_t *value, int32_t value_size)
{
  (void)kind;
  struct arena arena = {0};
  struct wire_reader r;
  struct wire_group_metadata_key id;
  wire_reader_init(&r, key, (size_t)key_size);
  int result = wire_group_metadata_key_read(&id, &r, 0, &arena);
  if (result == 0 && value == NULL) {
    result = replay_group(shard, id.group, NULL);
  } else if (result == 0) {
    struct wire_group_metadata_value parsed;
    wire_reader_init(&r, value, (size_t)value_size);
    result = wire_group_metadata_value_read(&parsed, &r, value_version, &arena);
    result = result == 0 ? replay_group(shard, id.group, &parsed) : result;
  }
  arena_destroy(&arena);
  return result;
}
