// SPDX-License-Identifier: Apache-2.0
//
// The hook group.join, asked for JoinGroup and for the first ConsumerGroupHeartbeat of a member. Clients of groups know
// nothing of POLICY_VIOLATION; what is refused gets GROUP_AUTHORIZATION_FAILED, which all of them tell their user, and
// the reason where the answer has room for it, and in the log.
#include <stdatomic.h>

#include "api/api.h"
#include "api/hooks.h"
#include "api/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "os/clock.h"

enum { GROUP_HOOKS_LOG_INTERVAL_MS = 1000 };

/// A request that waits; in its arena.
struct join_ask {
  struct request *req;       ///< which
  struct api_join join;      ///< what it asks for
  api_hook_go_fn go;         ///< goes on with it
  api_hook_refuse_fn refuse; ///< refuses it
};

static _Atomic(int64_t) group_hooks_logged_ms;

static void join_log(const struct join_ask *asking, const char *text)
{
  int64_t now_ms = clock_mono_ms();
  int64_t last_ms = atomic_load(&group_hooks_logged_ms);
  if ((last_ms == 0 || now_ms - last_ms >= GROUP_HOOKS_LOG_INTERVAL_MS) &&
      atomic_compare_exchange_strong(&group_hooks_logged_ms, &last_ms, now_ms)) {
    struct wire_string group = asking->join.group;
    slog_info("group '%.*s': a member may not join: %s", group.length > 0 ? group.length : 0, group.data, text);
  }
}

static void join_take(int32_t *value, const struct hook_event *event, const char *name)
{
  if (value != NULL) {
    *value = (int32_t)hook_field(event, name)->number;
  }
}

static void join_answered(struct hook_ask *ask)
{
  struct join_ask *asking = ask->arg;
  if (ask->result == 0) {
    join_take(asking->join.session_timeout_ms, &ask->event, "session_timeout_ms");
    join_take(asking->join.rebalance_timeout_ms, &ask->event, "rebalance_timeout_ms");
    asking->go(asking->req);
  } else {
    join_log(asking, ask->text);
    asking->refuse(asking->req, ask->text);
  }
}

/// A time that functions may change; nil where this kind of member has none.
static void join_add_time(struct hook_event *event, const char *name, const int32_t *time_ms)
{
  if (time_ms == NULL) {
    hook_add_text(event, name, NULL);
  } else {
    hook_add_number(event, name, *time_ms)->is_open = true;
  }
}

void api_ask_join(struct request *req, const struct api_join *join, api_hook_go_fn go, api_hook_refuse_fn refuse)
{
  if (!api_meets_hook(req, HOOK_GROUP_JOIN)) {
    go(req);
    return;
  }
  struct join_ask *asking = arena_alloc(&req->arena, sizeof *asking);
  *asking = (struct join_ask){.req = req, .join = *join, .go = go, .refuse = refuse};
  struct hook_ask *ask = hooks_ask_new(req->api->hooks, HOOK_GROUP_JOIN, join_answered, asking);
  struct hook_event *event = &ask->event;
  struct api_asker asker;
  api_asker_describe(&asker, &event->arena, req);
  hook_add_bytes(event, "group", join->group.data, join->group.length);
  hook_add_text(event, "type", join->type);
  hook_add_bytes(event, "member", join->member.data, join->member.length);
  hook_add_bytes(event, "instance", join->instance.data, join->instance.length);
  join_add_time(event, "session_timeout_ms", join->session_timeout_ms);
  join_add_time(event, "rebalance_timeout_ms", join->rebalance_timeout_ms);
  api_asker_add(&asker, event);
  hooks_ask(ask);
}
