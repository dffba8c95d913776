// SPDX-License-Identifier: Apache-2.0
//
// JoinGroup. Who joins, and with what id:
//
//   no member id    dynamic, from version 4   an id is given out, MEMBER_ID_REQUIRED; it is used or expires (KIP-394)
//                   dynamic, before           a new member, which waits for the rebalance
//                   static, instance known    takes over: same place, another id; the one before is fenced (KIP-345)
//                   static, instance new      a new member
//   member id       given out before          a new member
//                   a member's                joins again: what it says may be new
//                   anybody else's            UNKNOWN_MEMBER_ID
//
// The answer comes when the rebalance is over. At once comes that to a member that says nothing new while there is no
// rebalance: it did not get the answer it had, or it wants its assignment again.
#include "coordinator/classic_private.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/slog.h"
#include "wire/error_codes.h"
#include "wire/join_group.h"

enum {
  JOIN_WITH_REQUIRED_ID = 4,   // version from which ids are given out first
  JOIN_WITH_PROTOCOL_TYPE = 7, // version from which an answer has a protocol type, and null for no protocol
  JOIN_WITH_SKIP = 9,          // version from which a leader that took over is told not to assign (KIP-814)
};

// ---- answers ----

static struct wire_string join_copy(struct group_request *request, struct wire_string text)
{
  if (text.length > 0) {
    text.data = arena_dup(request->arena, text.data, (size_t)text.length);
  }
  return text;
}

static struct wire_string join_no_protocol(const struct group_request *request)
{
  return wire_string_from(request->version >= JOIN_WITH_PROTOCOL_TYPE ? NULL : "");
}

void classic_join_fail(struct group_shard *shard, struct group_request *request, int16_t error,
                       struct wire_string member_id)
{
  struct wire_join_group_response *response = request->response;
  response->error_code = error;
  response->generation_id = -1;
  response->protocol_type = wire_string_from(NULL);
  response->protocol_name = join_no_protocol(request);
  response->leader = wire_string_from("");
  response->member_id = join_copy(request, member_id);
  group_answer(shard, request);
}

/// All members with what they say about the chosen protocol, for the leader.
static void join_answer_members(const struct classic_group *classic, struct group_request *request)
{
  struct wire_join_group_response *response = request->response;
  response->members = arena_alloc(request->arena, (size_t)classic->member_count * sizeof *response->members);
  LIST_EACH(&classic->members, node) {
    const struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    struct wire_bytes metadata = classic_member_metadata(member, classic->protocol);
    struct wire_join_group_response_join_group_response_member *out = &response->members[response->members_count++];
    wire_join_group_response_join_group_response_member_init(out);
    out->member_id = join_copy(request, classic_member_id(member));
    out->group_instance_id = join_copy(request, classic_member_instance(member));
    out->metadata.length = metadata.length;
    if (metadata.length > 0) {
      out->metadata.data = arena_dup(request->arena, metadata.data, (size_t)metadata.length);
    }
  }
}

void classic_join_succeed(struct classic_member *member, struct group_request *request, bool with_members,
                          struct wire_string leader, bool skip_assignment)
{
  const struct classic_group *classic = member->classic;
  struct wire_join_group_response *response = request->response;
  response->error_code = WIRE_NONE;
  response->generation_id = classic->generation;
  response->protocol_type = join_copy(request, wire_string_from(classic->protocol_type));
  response->protocol_name = join_copy(request, wire_string_from(classic->protocol));
  response->leader = join_copy(request, leader);
  response->skip_assignment = skip_assignment;
  response->member_id = join_copy(request, classic_member_id(member));
  if (with_members) {
    join_answer_members(classic, request);
  }
  group_answer(classic->shard, request);
}

// ---- waiting ----

void classic_join_wait(struct classic_member *member, struct group_request *request)
{
  struct group_request *before = classic_join_take(member);
  if (before != NULL) {
    classic_join_fail(member->classic->shard, before, WIRE_REBALANCE_IN_PROGRESS, classic_member_id(member));
  }
  member->join = request;
  member->join_order++;
  member->classic->joined_count++;
  request->state = member;
}

struct group_request *classic_join_take(struct classic_member *member)
{
  struct group_request *request = member->join;
  if (request != NULL) {
    member->join = NULL;
    member->classic->joined_count--;
    request->state = NULL;
  }
  return request;
}

// ---- who joins ----

static int32_t join_rebalance_timeout_ms(const struct group_request *request)
{
  const struct wire_join_group_request *body = request->body;
  return request->version >= 1 ? body->rebalance_timeout_ms : body->session_timeout_ms;
}

static void join_reason(char *text, const struct group_request *request, struct wire_string member, const char *what)
{
  const struct wire_join_group_request *body = request->body;
  const char *said = body->reason.length > 0 ? "; it says: " : "";
  snprintf(text, CLASSIC_REASON_SIZE, "member %.*s %s%s%.*s", member.length, member.data, what, said,
           body->reason.length > 0 ? body->reason.length : 0, body->reason.length > 0 ? body->reason.data : "");
}

/// A member id that nobody has: the client's or the instance's name and a UUID.
static struct wire_string join_new_id(struct group_shard *shard, struct group_request *request)
{
  const struct wire_join_group_request *body = request->body;
  struct wire_string name = body->group_instance_id.length >= 0 ? body->group_instance_id : request->client_id;
  char uuid[37];
  group_new_uuid_text(shard, uuid);
  int32_t room = WIRE_STRING_MAX - (int32_t)sizeof uuid;
  int32_t length = name.length < 0 ? 0 : name.length > room ? room : name.length;
  return wire_string_from(arena_printf(request->arena, "%.*s-%s", length, length > 0 ? name.data : "", uuid));
}

/// Protocols of the request; NULL: they are more than a member may have, and it is answered.
static struct classic_protocols *join_protocols(struct classic_group *classic, struct group_request *request)
{
  const struct wire_join_group_request *body = request->body;
  struct classic_protocols *protocols = classic_protocols_new(body->protocols, body->protocols_count);
  if (protocols == NULL) {
    slog_debug("group '%s': a member has more or larger protocols than fit, and is refused", classic->group->id);
    classic_join_fail(classic->shard, request, WIRE_INVALID_REQUEST, body->member_id);
  }
  return protocols;
}

/// A new member, which waits for the rebalance. @param member  its id was given out before
static void join_as_new(struct classic_group *classic, struct classic_member *member, struct group_request *request,
                        struct wire_string id, int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  struct classic_protocols *protocols = join_protocols(classic, request);
  if (protocols == NULL) {
    return;
  }
  if (classic->bytes + protocols->size > CLASSIC_GROUP_BYTES_MAX) {
    mem_free(protocols);
    slog_debug("group '%s': its members take more than %d MiB, and one more is refused", classic->group->id,
               CLASSIC_GROUP_BYTES_MAX >> 20);
    classic_join_fail(classic->shard, request, WIRE_GROUP_MAX_SIZE_REACHED, wire_string_from(""));
    return;
  }
  if (member == NULL) {
    member = classic_member_new(classic, id, body->group_instance_id, request->client_id, request->client_host);
  }
  member->session_timeout_ms = body->session_timeout_ms;
  member->rebalance_timeout_ms = join_rebalance_timeout_ms(request);
  member->is_new = true;
  if (classic->member_count == 0) {
    mem_free(classic->protocol_type);
    classic->protocol_type = mem_zalloc((size_t)body->protocol_type.length + 1);
    memcpy(classic->protocol_type, body->protocol_type.data, (size_t)body->protocol_type.length);
  }
  classic_member_admit(member, protocols);
  classic->has_newcomer = classic->is_initial && classic->state == CLASSIC_PREPARING;
  classic_join_wait(member, request);
  classic_touch(member, now_ms);
  char reason[CLASSIC_REASON_SIZE];
  join_reason(reason, request, classic_member_id(member), "joins");
  classic_rebalance(classic, reason, now_ms);
}

/// An id is given out. There may be so many that nobody uses; the oldest gives way, as it is the least likely to be.
static void join_give_id(struct classic_group *classic, struct group_request *request, struct wire_string id,
                         int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  while (classic->pending_count >= CLASSIC_PENDING_MAX ||
         (classic->pending_count > 0 && classic->pending_bytes > CLASSIC_PENDING_BYTES_MAX)) {
    classic_member_delete(CONTAINER_OF(classic->pending.next, struct classic_member, link));
  }
  struct classic_member *member =
      classic_member_new(classic, id, wire_string_from(NULL), request->client_id, request->client_host);
  member->session_timeout_ms = body->session_timeout_ms;
  classic_touch(member, now_ms);
  classic_join_fail(classic->shard, request, WIRE_MEMBER_ID_REQUIRED, id);
}

/// What a member that joins again says is taken over, and it waits for the rebalance.
static void join_again(struct classic_member *member, struct group_request *request, const char *what, int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  struct classic_group *classic = member->classic;
  struct classic_protocols *protocols = join_protocols(classic, request);
  if (protocols == NULL) {
    return;
  }
  mem_free(classic_member_set_protocols(member, protocols));
  member->session_timeout_ms = body->session_timeout_ms;
  member->rebalance_timeout_ms = join_rebalance_timeout_ms(request);
  classic_join_wait(member, request);
  classic_touch(member, now_ms);
  char reason[CLASSIC_REASON_SIZE];
  join_reason(reason, request, classic_member_id(member), what);
  classic_rebalance(classic, reason, now_ms);
}

static void join_as_member(struct classic_member *member, struct group_request *request, int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  struct classic_group *classic = member->classic;
  bool is_leader = member == classic->leader;
  bool is_same = classic_protocols_match(member->protocols, body->protocols, body->protocols_count);
  switch (classic->state) {
    case CLASSIC_PREPARING:
      join_again(member, request, "joins again", now_ms);
      return;
    case CLASSIC_COMPLETING:
      if (!is_same) {
        join_again(member, request, "joins again with other metadata", now_ms);
        return;
      }
      classic_join_succeed(member, request, is_leader, classic_member_id(classic->leader), false);
      break;
    case CLASSIC_STABLE:
      // A leader may see what its own metadata does not tell, such as new partitions.
      if (is_leader || !is_same) {
        join_again(member, request, is_leader ? "joins again, and leads" : "joins again with other metadata", now_ms);
        return;
      }
      classic_join_succeed(member, request, false, classic_member_id(classic->leader), false);
      break;
    default:
      classic_join_fail(classic->shard, request, WIRE_UNKNOWN_MEMBER_ID, body->member_id);
      return;
  }
}

// ---- a static member that starts again ----

/// What is undone when the new id is not written.
struct join_takeover {
  struct classic_protocols *protocols; ///< before, owned
  char *old_id;                        ///< owned
  char *new_id;                        ///< owned
  char *old_leader;                    ///< the leader's id before, owned
  uint64_t join_order;                 ///< of the JoinGroup that waits
  int32_t session_timeout_ms;          ///< before
  int32_t rebalance_timeout_ms;        ///< before
};

static void takeover_delete(struct join_takeover *takeover)
{
  mem_free(takeover->protocols);
  mem_free(takeover->old_id);
  mem_free(takeover->new_id);
  mem_free(takeover->old_leader);
  mem_free(takeover);
}

/// The new id was not written: the old one is in force again.
static void takeover_undo(struct classic_member *member, struct join_takeover *takeover, int16_t error, int64_t now_ms)
{
  struct classic_group *classic = member->classic;
  struct group_request *request = classic_join_take(member);
  mem_free(classic_member_rename(member, wire_string_from(takeover->old_id)));
  if (classic->state == CLASSIC_STABLE) {
    // All can do the protocol that is in force. During a rebalance others may count on what this one says now.
    mem_free(classic_member_set_protocols(member, takeover->protocols));
    takeover->protocols = NULL;
  }
  member->session_timeout_ms = takeover->session_timeout_ms;
  member->rebalance_timeout_ms = takeover->rebalance_timeout_ms;
  classic_touch(member, now_ms);
  classic_join_fail(classic->shard, request, classic_write_error(error), wire_string_from(""));
}

static void takeover_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  struct join_takeover *takeover = arg;
  struct classic_group *classic = classic_settle(group, now_ms);
  struct classic_member *member =
      classic == NULL ? NULL : classic_member_find(classic, wire_string_from(takeover->new_id));
  bool waits = member != NULL && member->join != NULL && member->join_order == takeover->join_order;
  if (waits && error != WIRE_NONE) {
    takeover_undo(member, takeover, error, now_ms);
  } else if (waits && classic->state == CLASSIC_STABLE) {
    struct group_request *request = classic_join_take(member);
    classic_touch(member, now_ms);
    if (request->version >= JOIN_WITH_SKIP) {
      bool is_leader = member == classic->leader;
      classic_join_succeed(member, request, is_leader, classic_member_id(classic->leader), is_leader);
    } else {
      // It must not think that it leads: it would assign, and nobody would join.
      classic_join_succeed(member, request, false, wire_string_from(takeover->old_leader), false);
    }
  } // while a rebalance is under way the JoinGroup is part of that
  takeover_delete(takeover);
}

/// @param member  the one before
static void join_take_over(struct classic_member *member, struct group_request *request, struct wire_string id,
                           int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  struct classic_group *classic = member->classic;
  struct classic_protocols *protocols = join_protocols(classic, request);
  if (protocols == NULL) {
    return;
  }
  struct join_takeover *takeover = mem_zalloc(sizeof *takeover);
  takeover->old_leader = mem_strdup(classic->leader == NULL ? "" : classic->leader->id.name);
  takeover->session_timeout_ms = member->session_timeout_ms;
  takeover->rebalance_timeout_ms = member->rebalance_timeout_ms;
  struct group_request *fenced = classic_join_take(member);
  if (fenced != NULL) {
    classic_join_fail(classic->shard, fenced, WIRE_FENCED_INSTANCE_ID, classic_member_id(member));
  }
  classic_sync_fail(member, WIRE_FENCED_INSTANCE_ID);
  takeover->old_id = classic_member_rename(member, id);
  takeover->new_id = mem_strdup(member->id.name);
  takeover->protocols = classic_member_set_protocols(member, protocols);
  member->session_timeout_ms = body->session_timeout_ms;
  member->rebalance_timeout_ms = join_rebalance_timeout_ms(request);
  classic_join_wait(member, request);
  takeover->join_order = member->join_order;
  classic_touch(member, now_ms);
  slog_debug("group '%s': static member %s is %s now, was %s", classic->group->id, member->instance.name,
             member->id.name, takeover->old_id);
  const struct classic_protocol *next = classic_select_protocol(classic);
  bool is_same = next != NULL && classic->protocol != NULL && wire_string_is(next->name, classic->protocol) &&
                 classic_same_topics(classic, member, takeover->protocols);
  if (classic->state == CLASSIC_STABLE && is_same) {
    classic_store(classic, NULL, takeover_written, takeover, now_ms);
    return;
  }
  // While COMPLETING the leader may have assigned to the id before already: the new one would get nothing. While STABLE
  // the assignment that there is does not fit: other topics, or another protocol.
  char reason[CLASSIC_REASON_SIZE];
  join_reason(reason, request, classic_member_id(member), "took over from another of the same instance id");
  takeover_delete(takeover);
  classic_rebalance(classic, reason, now_ms);
}

// ---- the request ----

/// Whether there is room. A group that is larger than it may be shrinks by who joins again first.
static bool join_has_room(const struct classic_group *classic, const struct classic_member *member)
{
  int32_t max = group_shard_config(classic->shard)->group_max_size;
  bool is_member = member != NULL && !member->is_pending;
  switch (classic->state) {
    case CLASSIC_PREPARING:
      return (is_member && member->join != NULL) || classic->joined_count < max;
    case CLASSIC_COMPLETING:
    case CLASSIC_STABLE:
      return is_member || classic->member_count < max;
    default:
      return true;
  }
}

static void join_without_id(struct classic_group *classic, struct group_request *request, int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  struct wire_string id = join_new_id(classic->shard, request);
  struct classic_member *known = classic_member_static(classic, body->group_instance_id);
  if (known != NULL) {
    join_take_over(known, request, id, now_ms);
  } else if (body->group_instance_id.length < 0 && request->version >= JOIN_WITH_REQUIRED_ID) {
    join_give_id(classic, request, id, now_ms);
  } else {
    join_as_new(classic, NULL, request, id, now_ms);
  }
}

static void join_with_id(struct classic_group *classic, struct classic_member *member, struct group_request *request,
                         int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  if (member != NULL && member->is_pending && body->group_instance_id.length < 0) {
    join_as_new(classic, member, request, body->member_id, now_ms);
    return;
  }
  int16_t error = classic_validate_member(classic, body->member_id, body->group_instance_id, &member);
  if (error != WIRE_NONE) {
    classic_join_fail(classic->shard, request, error, body->member_id);
    return;
  }
  join_as_member(member, request, now_ms);
}

static void join_group(struct classic_group *classic, struct group_request *request, int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  struct classic_member *member = body->member_id.length > 0 ? classic_member_find(classic, body->member_id) : NULL;
  if (!join_has_room(classic, member)) {
    struct group_shard *shard = classic->shard;
    if (member != NULL && member->is_pending) {
      classic_member_delete(member);
    } else if (member != NULL) {
      char reason[CLASSIC_REASON_SIZE];
      join_reason(reason, request, classic_member_id(member), "has no room any more");
      classic_remove_and_go_on(member, reason, now_ms);
    }
    classic_join_fail(shard, request, WIRE_GROUP_MAX_SIZE_REACHED, wire_string_from(""));
  } else if (!classic_supports(classic, body->protocol_type, body->protocols, body->protocols_count)) {
    classic_join_fail(classic->shard, request, WIRE_INCONSISTENT_GROUP_PROTOCOL, body->member_id);
  } else if (body->member_id.length > 0) {
    join_with_id(classic, member, request, now_ms);
  } else {
    join_without_id(classic, request, now_ms);
  }
}

/// That a group exists was not written: it does not.
static void created_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  (void)arg;
  (void)now_ms;
  if (error != WIRE_NONE && group->kind == GROUP_CLASSIC) {
    classic_stop(group, classic_write_error(error));
    classic_free(group);
  }
}

void classic_join(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  const struct group_settings *config = group_shard_config(shard);
  int16_t error = WIRE_NONE;
  if (body->group_id.length <= 0) {
    error = WIRE_INVALID_GROUP_ID;
  } else if (body->session_timeout_ms < config->group_min_session_timeout_ms ||
             body->session_timeout_ms > config->group_max_session_timeout_ms) {
    error = WIRE_INVALID_SESSION_TIMEOUT;
  } else if (body->member_id.length > 0 && (group == NULL || group->kind != GROUP_CLASSIC)) {
    error = WIRE_UNKNOWN_MEMBER_ID;
  }
  if (error != WIRE_NONE) {
    classic_join_fail(shard, request, error, body->member_id);
    return;
  }
  bool is_new = group == NULL || (group->kind == GROUP_EMPTY && group->offsets == NULL);
  group = group_obtain(shard, request->group);
  if (group->kind == GROUP_EMPTY) {
    struct classic_group *classic = classic_new(group);
    classic->is_live = true;
    classic->state_ms = group_wall_ms(shard, now_ms);
    if (is_new) {
      classic_store_empty(classic, created_written, now_ms);
    }
  }
  join_group(group->classic, request, now_ms);
}
