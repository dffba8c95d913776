// SPDX-License-Identifier: Apache-2.0
//
// SyncGroup: the leader brings the assignment, everybody takes theirs. Members wait until the assignment is written;
// whoever asks later gets it at once.
#include "coordinator/classic_private.h"

#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "wire/error_codes.h"
#include "wire/sync_group.h"

enum {
  SYNC_WITH_PROTOCOL = 5, // version that says protocol type and name (KIP-559)
};

static void sync_answer(struct group_shard *shard, struct group_request *request, int16_t error)
{
  struct wire_sync_group_response *response = request->response;
  response->error_code = error;
  response->protocol_type = wire_string_from(NULL);
  response->protocol_name = wire_string_from(NULL);
  response->assignment = (struct wire_bytes){0};
  group_answer(shard, request);
}

static struct wire_string sync_text(struct group_request *request, const char *text)
{
  return wire_string_from(text == NULL ? NULL : arena_printf(request->arena, "%s", text));
}

/// Gives a member what it has.
static void sync_succeed(const struct classic_member *member, struct group_request *request)
{
  const struct classic_group *classic = member->classic;
  struct wire_sync_group_response *response = request->response;
  response->error_code = WIRE_NONE;
  response->protocol_type = sync_text(request, classic->protocol_type);
  response->protocol_name = sync_text(request, classic->protocol);
  response->assignment = (struct wire_bytes){.length = member->assignment_size};
  if (member->assignment_size > 0) {
    response->assignment.data = arena_dup(request->arena, member->assignment, (size_t)member->assignment_size);
  }
  group_answer(classic->shard, request);
}

void classic_sync_fail(struct classic_member *member, int16_t error)
{
  struct group_request *request = member->sync;
  if (request != NULL) {
    member->sync = NULL;
    request->state = NULL;
    sync_answer(member->classic->shard, request, error);
  }
}

/// Whose assignment is being written. A group may end, and another begin under its name, before it is.
struct sync_store {
  int32_t generation; ///< generation
  char leader[];      ///< member id of the leader
};

static struct sync_store *sync_store_new(const struct classic_group *classic)
{
  size_t size = (size_t)classic->leader->id.size + 1;
  struct sync_store *store = mem_alloc(sizeof *store + size);
  store->generation = classic->generation;
  memcpy(store->leader, classic->leader->id.name, size);
  return store;
}

/// Whether the group still waits for it.
static bool sync_is_awaited(const struct classic_group *classic, const struct sync_store *store)
{
  return classic != NULL && classic->state == CLASSIC_COMPLETING && classic->is_storing &&
         classic->generation == store->generation && strcmp(classic->leader->id.name, store->leader) == 0;
}

/// The assignment of a generation is on the log, where classic_replay() gave it to the members, or failed to get there.
static void sync_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  struct classic_group *classic = classic_settle(group, now_ms);
  bool is_awaited = sync_is_awaited(classic, arg);
  mem_free(arg);
  if (!is_awaited) {
    return; // a rebalance has begun meanwhile
  }
  classic->is_storing = false;
  if (error == WIRE_NONE) {
    classic_set_state(classic, CLASSIC_STABLE, now_ms);
  }
  LIST_EACH(&classic->members, node) {
    struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    struct group_request *request = member->sync;
    member->sync = NULL;
    if (request == NULL) {
      continue;
    }
    request->state = NULL;
    classic_touch(member, now_ms);
    if (error == WIRE_NONE) {
      sync_succeed(member, request);
    } else {
      sync_answer(classic->shard, request, classic_write_error(error));
    }
  }
  if (error != WIRE_NONE) {
    classic_rebalance(classic, "the assignment was not written", now_ms);
  }
}

static bool sync_disagrees(struct wire_string said, const char *known)
{
  return said.length >= 0 && known != NULL && !wire_string_is(said, known);
}

static int16_t sync_validate(struct group *group, const struct group_request *request, struct classic_member **member)
{
  const struct wire_sync_group_request *body = request->body;
  if (request->version >= SYNC_WITH_PROTOCOL && (body->protocol_type.length < 0 || body->protocol_name.length < 0)) {
    return WIRE_INCONSISTENT_GROUP_PROTOCOL;
  }
  if (body->group_id.length <= 0) {
    return WIRE_INVALID_GROUP_ID;
  }
  if (group == NULL || group->kind != GROUP_CLASSIC) {
    return WIRE_UNKNOWN_MEMBER_ID;
  }
  const struct classic_group *classic = group->classic;
  int16_t error = classic_validate_member(group->classic, body->member_id, body->group_instance_id, member);
  if (error != WIRE_NONE) {
    return error;
  }
  if (body->generation_id != classic->generation) {
    return WIRE_ILLEGAL_GENERATION;
  }
  if (sync_disagrees(body->protocol_type, classic->protocol_type) ||
      sync_disagrees(body->protocol_name, classic->protocol)) {
    return WIRE_INCONSISTENT_GROUP_PROTOCOL;
  }
  return classic->state == CLASSIC_PREPARING ? WIRE_REBALANCE_IN_PROGRESS : WIRE_NONE;
}

void classic_sync(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  struct classic_member *member = NULL;
  int16_t error = sync_validate(group, request, &member);
  if (error != WIRE_NONE) {
    sync_answer(shard, request, error);
    return;
  }
  struct classic_group *classic = group->classic;
  classic_member_synced(member);
  if (classic->state == CLASSIC_STABLE) {
    classic_touch(member, now_ms);
    sync_succeed(member, request);
    return;
  }
  classic_sync_fail(member, WIRE_REBALANCE_IN_PROGRESS); // one that it sent before, and does not wait for any more
  member->sync = request;
  request->state = member;
  classic_touch(member, now_ms);
  if (member == classic->leader && !classic->is_storing) {
    classic->is_storing = true;
    classic_store(classic, request->body, sync_written, sync_store_new(classic), now_ms);
  }
}
