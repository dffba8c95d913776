// SPDX-License-Identifier: Apache-2.0
//
// The `native` table of internal Lua code: functions of the script thread itself, those that the options name, and
// services (script.h).
#include <ctype.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lua/script_private.h"
#include "lua/state.h"
#include "lua/task.h"

static int native_sleep(lua_State *vm);
static int native_abandon(lua_State *vm);
static int native_service(lua_State *vm);
static int native_stop(lua_State *vm);

void script_add_native(struct lua_State *vm, struct script *script, const char *name, int (*fn)(struct lua_State *vm),
                       const void *arg)
{
  lua_pushlightuserdata(vm, script);
  lua_pushlightuserdata(vm, (void *)(uintptr_t)arg);
  lua_pushcclosure(vm, fn, 2);
  lua_setfield(vm, -2, name);
}

void script_push_natives(struct lua_State *vm, struct script *script)
{
  const struct script_options *options = &script->options;
  lua_task_open(vm);
  script_add_native(vm, script, "send", script_session_send, NULL);
  script_add_native(vm, script, "close", script_session_close, NULL);
  script_add_native(vm, script, "queued", script_session_queued, NULL);
  script_add_native(vm, script, "drained", script_session_drained, NULL);
  script_add_native(vm, script, "channel", script_channel_call, NULL);
  script_add_native(vm, script, "sleep", native_sleep, NULL);
  script_add_native(vm, script, "abandon", native_abandon, NULL);
  script_add_native(vm, script, "stop", native_stop, NULL);
  script_add_native(vm, script, "probe_watch", script_probe_watch, NULL);
  script_add_native(vm, script, "probe_body", script_probe_body, NULL);
  script_add_native(vm, script, "probe_answer", script_probe_answer, NULL);
  script_add_native(vm, script, "probe_dropped", script_probe_dropped, NULL);
  script_add_native(vm, script, "probe_log", script_probe_log, NULL);
  for (int i = 0; i < options->native_count; i++) {
    script_add_native(vm, script, options->natives[i].name, options->natives[i].fn, options->natives[i].arg);
  }
  script_add_policy_natives(vm, script);
  lua_createtable(vm, 0, options->service_count);
  for (int i = 0; i < options->service_count; i++) {
    script_add_native(vm, script, options->services[i].name, native_service, &options->services[i]);
  }
  lua_setfield(vm, -2, "services");
}

struct script *script_check(struct lua_State *vm)
{
  struct script *script = lua_touserdata(vm, lua_upvalueindex(1));
  if (lua_task_current(script->state) == 0) {
    luaL_error(vm, "no task runs that could wait");
  }
  return script;
}

void *script_arg(struct lua_State *vm)
{
  return lua_touserdata(vm, lua_upvalueindex(2));
}

// abandon(task): nobody waits for its calls any more
static int native_abandon(lua_State *vm)
{
  script_abandon(lua_touserdata(vm, lua_upvalueindex(1)), (int64_t)luaL_checknumber(vm, 1));
  return 0;
}

// stop(): has the broker stopped; also outside of tasks
static int native_stop(lua_State *vm)
{
  const struct script *script = lua_touserdata(vm, lua_upvalueindex(1));
  if (script->options.ask_stop == NULL) {
    return luaL_error(vm, "this broker is part of a program, which stops it");
  }
  script->options.ask_stop(script->options.arg);
  return 0;
}

// ---- sleep ----

struct sleep_call {
  struct script_call base; ///< what Lua waits for
  struct timer timer;      ///< ends it
};

static int sleep_push(struct script_call *base, struct lua_State *vm)
{
  (void)base;
  (void)vm;
  return 0;
}

static void sleep_on_timer(struct timer *timer)
{
  script_call_done(&CONTAINER_OF(timer, struct sleep_call, timer)->base);
}

static void sleep_cancel(struct script_call *base)
{
  struct sleep_call *call = CONTAINER_OF(base, struct sleep_call, base);
  if (timer_is_running(&call->timer)) {
    timer_stop(&base->script->loop, &call->timer);
    script_call_done(base);
  }
}

static void sleep_free(struct script_call *base)
{
  mem_free(CONTAINER_OF(base, struct sleep_call, base));
}

// sleep(ms) -> ticket
static int native_sleep(lua_State *vm)
{
  struct script *script = script_check(vm);
  lua_Number ms = luaL_checknumber(vm, 1);
  luaL_argcheck(vm, ms >= 0 && ms <= INT_MAX, 1, "milliseconds from 0 to 2147483647 expected");
  struct sleep_call *call = mem_zalloc(sizeof *call);
  call->base = (struct script_call){.push = sleep_push, .cancel = sleep_cancel, .free = sleep_free};
  int results = script_call_start(vm, script, &call->base);
  timer_start(&script->loop, &call->timer, (int64_t)ms, sleep_on_timer);
  return results;
}

// ---- services ----

/// Pushes the answer; or nil, a sentence and a code.
static int request_push(struct script_call *base, struct lua_State *vm)
{
  const struct script_request *request = CONTAINER_OF(base, struct script_request, call);
  if (request->result == 0) {
    lua_pushstring(vm, request->answer != NULL ? request->answer : "null");
    return 1;
  }
  char code[64];
  const char *name = error_name(request->result);
  snprintf(code, sizeof code, "%s", strncmp(name, "ERR_", 4) == 0 ? name + 4 : name);
  for (char *at = code; *at != '\0'; at++) {
    *at = (char)tolower((unsigned char)*at);
  }
  lua_pushnil(vm);
  lua_pushstring(vm, request->answer != NULL ? request->answer : error_text(request->result));
  lua_pushstring(vm, code);
  return 3;
}

static void request_free(struct script_call *base)
{
  struct script_request *request = CONTAINER_OF(base, struct script_request, call);
  mem_free(request->argument);
  mem_free(request->answer);
  mem_free(request);
}

// services.NAME(json) -> ticket
static int native_service(lua_State *vm)
{
  struct script *script = script_check(vm);
  const struct script_service *service = script_arg(vm);
  const char *argument = luaL_checkstring(vm, 1);
  struct script_request *request = mem_zalloc(sizeof *request);
  request->call = (struct script_call){.push = request_push, .free = request_free};
  request->argument = mem_strdup(argument);
  int results = script_call_start(vm, script, &request->call);
  service->run(service->arg, request);
  return results;
}

void script_request_done(struct script_request *request, int result, char *answer)
{
  request->result = result;
  request->answer = answer;
  script_call_done(&request->call);
}
