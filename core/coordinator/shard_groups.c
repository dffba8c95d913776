// SPDX-License-Identifier: Apache-2.0
//
// ListGroups and DeleteGroups in the shard: what concerns groups of every kind.
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/slog.h"
#include "coordinator/group_request.h"
#include "coordinator/shard_state.h"
#include "wire/delete_groups.h"
#include "wire/error_codes.h"
#include "wire/list_groups.h"

// ---- list ----

/// Whether a filter lets a name pass; case does not matter, an empty filter lets all pass.
static bool list_passes(const struct wire_string *filter, int32_t count, const char *name)
{
  size_t length = strlen(name);
  for (int32_t i = 0; i < count; i++) {
    if (filter[i].length == (int32_t)length && strncasecmp(filter[i].data, name, length) == 0) {
      return true;
    }
  }
  return count <= 0;
}

void group_list_serve(struct group_shard *shard, struct group *of_none, struct group_request *request, int64_t now_ms)
{
  (void)of_none;
  (void)now_ms;
  const struct wire_list_groups_request *body = request->body;
  struct wire_list_groups_response *resp = request->response;
  struct arena *arena = request->arena;
  resp->groups = arena_alloc(arena, (size_t)shard->group_count * sizeof *resp->groups);
  resp->groups_count = 0;
  for (uint32_t i = 0; i < shard->slot_count; i++) {
    for (const struct group *group = shard->slots[i]; group != NULL; group = group->next) {
      const struct group_kind_calls *kind = group_kind_of(group);
      const char *state = kind->state_name(group);
      bool is_known = group->kind != GROUP_EMPTY || group->offsets != NULL;
      if (!is_known || !list_passes(body->states_filter, body->states_filter_count, state) ||
          !list_passes(body->types_filter, body->types_filter_count, kind->type)) {
        continue;
      }
      struct wire_list_groups_response_listed_group *out = &resp->groups[resp->groups_count++];
      wire_list_groups_response_listed_group_init(out);
      const char *protocol_type = group_protocol_type(group);
      out->group_id = (struct wire_string){arena_dup(arena, group->id, (size_t)group->id_size), group->id_size};
      out->protocol_type = wire_string_from(arena_strndup(arena, protocol_type, strlen(protocol_type)));
      out->group_state = wire_string_from(state);
      out->group_type = wire_string_from(kind->type);
    }
  }
  group_answer(shard, request);
}

// ---- delete ----

static void group_delete_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  (void)now_ms;
  struct group_request *request = arg;
  if (error != WIRE_NONE) {
    group_request_fail(request, error);
  } else {
    slog_info("deleted group '%s'", group->id);
  }
  group_answer(group->shard, request);
}

void group_delete_serve(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  if (group == NULL || !group_is_empty(group)) {
    group_request_fail(request, group == NULL ? WIRE_GROUP_ID_NOT_FOUND : WIRE_NON_EMPTY_GROUP);
    group_answer(shard, request);
    return;
  }
  struct group_tombstones *tombstones = group_tombstones_new(group, group_delete_written, request);
  group_write_deletion(tombstones, now_ms);
  group_tombstones_submit(tombstones, now_ms);
}
