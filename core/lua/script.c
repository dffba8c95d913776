// SPDX-License-Identifier: Apache-2.0
#include "lua/script.h"

#include <lauxlib.h>
#include <lua.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "lua/script_private.h"
#include "lua/state.h"
#include "lua/task.h"
#include "policy/probes.h"

/// For internal code, beyond lua_memory: a part of it too, as LuaJIT's table of texts doubles at once, whoever made
/// them.
static size_t script_reserve_bytes(size_t memory_bytes)
{
  return (size_t)24 * 1024 * 1024 + memory_bytes / 3;
}

/// Registry key of the table of events; its address counts.
static const char script_events_key;

/// A way into Lua.
struct script_entry {
  struct script *script;                        ///< whose
  const char *event;                            ///< function of the events table
  int (*push)(struct lua_State *vm, void *arg); ///< pushes its arguments
  void *arg;                                    ///< for `push`
  bool has_work;                                ///< tasks want to go on
};

static void script_on_stop(void *arg);
static void script_on_turn(struct timer *timer);
static void script_on_call_done(struct mail *mail);
static void script_break(struct script *script, const char *message);

// ---- life ----

int script_new(const struct script_options *options, struct script **script)
{
  struct script *made = mem_zalloc(sizeof *made);
  made->options = *options;
  made->listen_fd = -1;
  list_create(&made->calls);
  list_create(&made->sessions);
  list_create(&made->channels);
  list_create(&made->probe_asks);
  list_create(&made->asks);
  int result = event_loop_create(&made->loop, "luka-script");
  if (result < 0) {
    mem_free(made);
    return result;
  }
  made->loop.on_stop = script_on_stop;
  made->loop.arg = made;
  result = script_listen(made);
  if (result == 0) {
    script_open_probes(made);
    result = event_loop_start(&made->loop);
    if (result < 0) {
      script_stop_listening(made);
    }
  }
  if (result < 0) {
    event_loop_destroy(&made->loop);
    mem_free(made);
    return result;
  }
  *script = made;
  return 0;
}

/// New limits on their way.
struct script_limits {
  struct mail mail;      ///< carries them
  struct script *script; ///< whose
  size_t memory_bytes;   ///< lua_memory
  int budget_ms;         ///< lua_budget_ms
};

static void script_on_limits(struct mail *mail)
{
  struct script_limits *limits = CONTAINER_OF(mail, struct script_limits, mail);
  struct script *script = limits->script;
  script->options.memory_bytes = limits->memory_bytes;
  script->options.budget_ms = limits->budget_ms;
  if (script->state != NULL) {
    lua_state_set_limits(script->state, limits->memory_bytes, script_reserve_bytes(limits->memory_bytes),
                         limits->budget_ms);
  }
  mem_free(limits);
}

void script_set_limits(struct script *script, size_t memory_bytes, int budget_ms)
{
  struct script_limits *limits = mem_zalloc(sizeof *limits);
  *limits = (struct script_limits){
      .mail.run = script_on_limits, .script = script, .memory_bytes = memory_bytes, .budget_ms = budget_ms};
  event_loop_post(&script->loop, &limits->mail);
}

void script_stop(struct script *script)
{
  if (script != NULL) {
    probes_close(script->options.probes);
    event_loop_stop(&script->loop);
  }
}

void script_delete(struct script *script)
{
  if (script == NULL) {
    return;
  }
  script_stop(script);
  lua_state_delete(script->state);
  probes_set_watch(script->options.probes, NULL);
  script_free_policies(script);
  event_loop_destroy(&script->loop);
  mem_free(script);
}

/// Ends what there is. Calls that other threads have are waited for.
static void script_on_stop(void *arg)
{
  struct script *script = arg;
  script->is_stopping = true;
  timer_stop(&script->loop, &script->turn_timer);
  script_end_policies(script);
  script_stop_listening(script);
  script_close_sessions(script);
  script_return_asks(script);
  LIST_EACH_SAFE(&script->calls, node) {
    struct script_call *call = CONTAINER_OF(node, struct script_call, node);
    script_abandon(script, call->task);
  }
  script_close_channels(script);
  if (!list_is_empty(&script->calls)) {
    script->is_kept = uv_async_init(&script->loop.uv, &script->keep, NULL) == 0;
  }
}

// ---- into Lua ----

/// In protected mode: makes what every entry needs.
static int script_open(lua_State *vm)
{
  struct script *script = lua_touserdata(vm, 1);
  lua_pushlightuserdata(vm, (void *)&script_events_key);
  lua_getglobal(vm, "require");
  lua_pushliteral(vm, "luka.script");
  lua_call(vm, 1, 1);
  lua_getfield(vm, -1, "new");
  script_push_natives(vm, script);
  lua_createtable(vm, 0, 4);
  lua_pushinteger(vm, script->options.broker_id);
  lua_setfield(vm, -2, "broker");
  lua_pushstring(vm, script->options.cluster_id);
  lua_setfield(vm, -2, "cluster");
  lua_pushstring(vm, script->options.version);
  lua_setfield(vm, -2, "luka");
  lua_call(vm, 2, 1);
  lua_remove(vm, -2);
  lua_rawset(vm, LUA_REGISTRYINDEX);
  return 0;
}

/// In protected mode: calls the event.
static int script_run(lua_State *vm)
{
  struct script_entry *entry = lua_touserdata(vm, 1);
  lua_pushlightuserdata(vm, (void *)&script_events_key);
  lua_rawget(vm, LUA_REGISTRYINDEX);
  lua_getfield(vm, -1, entry->event);
  int arguments = entry->push != NULL ? entry->push(vm, entry->arg) : 0;
  lua_call(vm, arguments, 1);
  entry->has_work = lua_toboolean(vm, -1);
  return 0;
}

static bool script_make_state(struct script *script)
{
  struct lua_state_limits limits = {
      .memory_bytes = script->options.memory_bytes,
      .reserve_bytes = script_reserve_bytes(script->options.memory_bytes),
      .budget_ms = script->options.budget_ms,
  };
  struct lua_state_failure failure;
  if (lua_state_new(&limits, &script->state) < 0) {
    slog_error("script: %s", error_last()->message);
    return false;
  }
  if (lua_state_enter(script->state, script_open, script, &failure) < 0) {
    script_break(script, failure.message);
    return false;
  }
  return true;
}

bool script_enter(struct script *script, const char *event, int (*push)(struct lua_State *vm, void *arg), void *arg)
{
  if (script->state == NULL && !script_make_state(script)) {
    return false;
  }
  struct script_entry entry = {.script = script, .event = event, .push = push, .arg = arg};
  struct lua_state_failure failure;
  if (lua_state_enter(script->state, script_run, &entry, &failure) < 0) {
    script_break(script, failure.message);
    return false;
  }
  if (entry.has_work && !script->is_stopping && !timer_is_running(&script->turn_timer)) {
    timer_start(&script->loop, &script->turn_timer, 0, script_on_turn);
  }
  return true;
}

/// Internal code failed, which nothing in a console should be able to bring about: the state may be in pieces. All
/// ends, and the next console gets a new one.
static void script_break(struct script *script, const char *message)
{
  slog_error("script: internal error, all consoles are closed, hooks and timers begin anew: %s", message);
  lua_state_delete(script->state);
  script->state = NULL;
  probes_set_watch(script->options.probes, NULL);
  script_return_asks(script);
  LIST_EACH_SAFE(&script->calls, node) {
    struct script_call *call = CONTAINER_OF(node, struct script_call, node);
    script_abandon(script, call->task);
  }
  script_close_sessions(script);
  script_end_policies(script);
  script_restore_policies(script);
}

static void script_on_turn(struct timer *timer)
{
  struct script *script = CONTAINER_OF(timer, struct script, turn_timer);
  if (script->state != NULL) {
    script_enter(script, "turn", NULL, NULL);
  }
}

// ---- calls ----

int script_call_start(struct lua_State *vm, struct script *script, struct script_call *call)
{
  call->script = script;
  call->ticket = ++script->tickets;
  call->task = lua_task_current(script->state);
  call->owner = lua_task_owner(script->state);
  call->is_abandoned = false;
  call->mail.run = script_on_call_done;
  list_append(&script->calls, &call->node);
  lua_pushnumber(vm, (lua_Number)call->ticket);
  return 1;
}

void script_call_done(struct script_call *call)
{
  event_loop_post(&call->script->loop, &call->mail);
}

void script_abandon(struct script *script, int64_t task)
{
  LIST_EACH_SAFE(&script->calls, node) {
    struct script_call *call = CONTAINER_OF(node, struct script_call, node);
    if (call->task == task && !call->is_abandoned) {
      call->is_abandoned = true;
      if (call->cancel != NULL) {
        call->cancel(call);
      }
    }
  }
}

/// In protected mode, with no more memory than a task has: the results.
static int script_push_results(lua_State *vm)
{
  struct script_call *call = lua_touserdata(vm, 1);
  return call->push(call, vm);
}

/// Pushes task, ticket, whether all is well, and the results or an error.
static int script_push_ticket(struct lua_State *vm, void *arg)
{
  struct script_call *call = arg;
  lua_pushnumber(vm, (lua_Number)call->task);
  lua_pushnumber(vm, (lua_Number)call->ticket);
  int top = lua_gettop(vm);
  lua_pushcfunction(vm, script_push_results);
  lua_pushlightuserdata(vm, call);
  int status = lua_task_pcall(vm, call->owner, 1, LUA_MULTRET);
  luaL_checkstack(vm, 1, "too many results");
  lua_pushboolean(vm, status == 0);
  lua_insert(vm, top + 1);
  return lua_gettop(vm) - top + 2;
}

static void script_on_call_done(struct mail *mail)
{
  struct script_call *call = CONTAINER_OF(mail, struct script_call, mail);
  struct script *script = call->script;
  list_remove(&call->node);
  if (!call->is_abandoned && script->state != NULL) {
    script_enter(script, "ticket", script_push_ticket, call);
  }
  call->free(call);
  if (script->is_kept && list_is_empty(&script->calls)) {
    script->is_kept = false;
    uv_close((uv_handle_t *)&script->keep, NULL);
  }
}
