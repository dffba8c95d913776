// SPDX-License-Identifier: Apache-2.0
//
// What a classic group looks like: for DescribeGroups, and for consoles that want to know what a rebalance waits for.
#include "coordinator/classic_private.h"

#include "base/arena.h"
#include "coordinator/classic_inspect.h"
#include "wire/describe_groups.h"
#include "wire/error_codes.h"

enum {
  DESCRIBE_WITH_NOT_FOUND = 6, // version from which a group that is not there is an error (KIP-1043)
};

// ---- DescribeGroups ----

static struct wire_string describe_text(struct group_request *request, const char *text)
{
  return wire_string_from(arena_printf(request->arena, "%s", text));
}

static struct wire_bytes describe_bytes(struct group_request *request, struct wire_bytes bytes)
{
  if (bytes.length > 0) {
    bytes.data = arena_dup(request->arena, bytes.data, (size_t)bytes.length);
  }
  return bytes;
}

static void describe_members(const struct classic_group *classic, struct group_request *request)
{
  struct wire_describe_groups_response_described_group *response = request->response;
  bool is_stable = classic->state == CLASSIC_STABLE;
  response->members = arena_alloc(request->arena, (size_t)classic->member_count * sizeof *response->members);
  LIST_EACH(&classic->members, node) {
    const struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    struct wire_describe_groups_response_described_group_member *out = &response->members[response->members_count++];
    wire_describe_groups_response_described_group_member_init(out);
    out->member_id = describe_text(request, member->id.name);
    if (member->instance.name != NULL) {
      out->group_instance_id = describe_text(request, member->instance.name);
    }
    out->client_id = describe_text(request, member->client_id);
    out->client_host = describe_text(request, member->client_host);
    if (is_stable) {
      out->member_metadata = describe_bytes(request, classic_member_metadata(member, classic->protocol));
    }
    out->member_assignment =
        describe_bytes(request, (struct wire_bytes){.data = member->assignment, .length = member->assignment_size});
  }
}

void classic_describe(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  (void)now_ms;
  struct wire_describe_groups_response_described_group *response = request->response;
  response->group_state = wire_string_from("Dead");
  response->protocol_type = wire_string_from("");
  response->protocol_data = wire_string_from("");
  bool is_known = group != NULL && (group->kind != GROUP_EMPTY || group->offsets != NULL);
  if (!is_known || group->kind == GROUP_CONSUMER) {
    if (request->version >= DESCRIBE_WITH_NOT_FOUND) {
      const char *format = !is_known ? "Group %.*s not found." : "Group %.*s is not a classic group.";
      response->error_code = WIRE_GROUP_ID_NOT_FOUND;
      response->error_message =
          wire_string_from(arena_printf(request->arena, format, request->group.length < 0 ? 0 : request->group.length,
                                        request->group.length < 0 ? "" : request->group.data));
    }
  } else if (group->kind == GROUP_EMPTY) {
    response->group_state = wire_string_from("Empty");
  } else {
    const struct classic_group *classic = group->classic;
    response->group_state = wire_string_from(classic_state_name(group));
    response->protocol_type = describe_text(request, classic_protocol_type(group));
    if (classic->state == CLASSIC_STABLE && classic->protocol != NULL) {
      response->protocol_data = describe_text(request, classic->protocol);
    }
    describe_members(classic, request);
  }
  group_answer(shard, request);
}

// ---- consoles ----

/// Whether a rebalance waits for a member, and for what.
static enum classic_wait wait_of(const struct classic_group *classic, const struct classic_member *member)
{
  if (classic->state == CLASSIC_PREPARING && !classic->is_initial && member->join == NULL) {
    return member->is_pending ? CLASSIC_WAIT_FIRST_JOIN : CLASSIC_WAIT_JOIN;
  }
  bool syncs = classic->state == CLASSIC_COMPLETING || classic->state == CLASSIC_STABLE;
  if (syncs && member->must_sync && member->sync == NULL) {
    return member == classic->leader ? CLASSIC_WAIT_ASSIGNMENT : CLASSIC_WAIT_SYNC;
  }
  return CLASSIC_WAIT_NOTHING;
}

static void inspect_members(const struct classic_group *classic, const struct list *members, struct arena *arena,
                            struct classic_inspection *out)
{
  LIST_EACH(members, node) {
    const struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    enum classic_wait wait = wait_of(classic, member);
    if (wait == CLASSIC_WAIT_NOTHING || out->awaited_total++ >= CLASSIC_AWAITED_MAX) {
      continue;
    }
    struct classic_awaited *one = &out->awaited[out->awaited_count++];
    one->wait = wait;
    one->member_id = arena_printf(arena, "%s", member->id.name);
    one->instance_id = member->instance.name == NULL ? NULL : arena_printf(arena, "%s", member->instance.name);
    one->client_id = arena_printf(arena, "%s", member->client_id);
    one->client_host = arena_printf(arena, "%s", member->client_host);
    one->heard_ms = classic_heard_ms(member);
    one->until_ms = member->session.position != 0 ? member->session.due_ms : -1;
  }
}

void classic_list_heard(const struct group *group, struct arena *arena, struct group_heard_list *out)
{
  const struct classic_group *classic = group->classic;
  out->items = arena_alloc(arena, ((size_t)classic->member_count + 1) * sizeof *out->items);
  LIST_EACH(&classic->members, node) {
    const struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    out->items[out->count++] = (struct group_heard){
        .member_id = wire_string_from(arena_printf(arena, "%s", member->id.name)),
        .heard_ms = classic_heard_ms(member),
    };
  }
}

void classic_inspect(const struct group *group, struct arena *arena, struct classic_inspection *out)
{
  *out = (struct classic_inspection){.state = "Empty", .protocol_type = "", .reason = "", .until_ms = -1};
  if (group->kind != GROUP_CLASSIC) {
    return;
  }
  const struct classic_group *classic = group->classic;
  out->state = classic_state_name(group);
  out->state_ms = classic->state_ms;
  out->generation = classic->generation;
  out->protocol_type = arena_printf(arena, "%s", classic_protocol_type(group));
  out->protocol = classic->protocol == NULL ? NULL : arena_printf(arena, "%s", classic->protocol);
  out->leader_id = classic->leader == NULL ? NULL : arena_printf(arena, "%s", classic->leader->id.name);
  out->member_count = classic->member_count;
  out->joined_count = classic->joined_count;
  out->pending_count = classic->pending_count;
  out->reason = arena_printf(arena, "%s", classic->reason);
  out->rebalance_ms = classic->rebalance_ms;
  out->is_initial_delay = classic->state == CLASSIC_PREPARING && classic->is_initial;
  out->is_storing = classic->is_storing;
  if (classic->state == CLASSIC_PREPARING) {
    out->until_ms = classic->join_timer.due_ms;
  } else if (classic->sync_timer.position != 0) {
    out->until_ms = classic->sync_timer.due_ms;
  }
  out->awaited = arena_zalloc(arena, CLASSIC_AWAITED_MAX * sizeof *out->awaited);
  inspect_members(classic, &classic->members, arena, out);
  inspect_members(classic, &classic->pending, arena, out);
}
