// SPDX-License-Identifier: Apache-2.0
#include "lua/task.h"

#include <lauxlib.h>
#include <lua.h>

#include "lua/state_private.h"
#include "os/clock.h"

enum {
  TASK_PASS_STEPS = 64,  ///< instructions in which internal code asks whether a coroutine was preempted
  TASK_FIRST_STEPS = 16, ///< instructions of a slice until the first look at the clock
};

static int task_run(lua_State *vm);
static int task_was_preempted(lua_State *vm);
static int task_is_deep(lua_State *vm);
static int task_memory(lua_State *vm);
static void task_hook(lua_State *vm, lua_Debug *event);

void lua_task_open(struct lua_State *vm)
{
  static const luaL_Reg functions[] = {
      {"run", task_run},
      {"was_preempted", task_was_preempted},
      {"is_deep", task_is_deep},
      {"memory", task_memory},
  };
  lua_newtable(vm);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    lua_pushcfunction(vm, functions[i].func);
    lua_setfield(vm, -2, functions[i].name);
  }
}

int64_t lua_task_current(const struct lua_state *state)
{
  return state->task_id;
}

int lua_task_owner(const struct lua_state *state)
{
  return state->owner;
}

int lua_task_pcall(struct lua_State *vm, int owner, int arguments, int results)
{
  struct lua_state *state = lua_state_of(vm);
  size_t cap_bytes = state->cap_bytes;
  state->cap_bytes = state->limits.memory_bytes;
  state->owner = owner;
  int status = lua_pcall(vm, arguments, results, 0);
  state->owner = 0;
  state->cap_bytes = cap_bytes;
  return status;
}

/// Lets the coroutine run until it ends, yields or is preempted; returns a status as of Lua.
static int task_resume(struct lua_state *state, lua_State *co, int64_t slice_ms, int arguments)
{
  size_t cap_bytes = state->cap_bytes;
  int64_t now_ms = clock_thread_ms();
  state->cap_bytes = state->limits.memory_bytes;
  state->slice_end_ms = now_ms + slice_ms;
  state->stretch_end_ms = now_ms + slice_ms + state->limits.budget_ms;
  state->preempted = NULL;
  state->looked_ms = now_ms;
  state->steps = TASK_FIRST_STEPS;
  lua_sethook(state->vm, task_hook, LUA_MASKCOUNT, state->steps);
  int status = lua_resume(co, arguments);
  lua_sethook(state->vm, NULL, 0, 0);
  state->task_id = 0;
  state->owner = 0;
  state->cap_bytes = cap_bytes;
  return status;
}

/// run(co, id, owner, slice_ms, ...) -> how, ...
static int task_run(lua_State *vm)
{
  struct lua_state *state = lua_state_of(vm);
  lua_State *co = lua_tothread(vm, 1);
  luaL_argcheck(vm, co != NULL && state->task_id == 0 && vm == state->vm, 1, "cannot be run here");
  int64_t id = (int64_t)luaL_checknumber(vm, 2);
  lua_Integer owner = luaL_checkinteger(vm, 3);
  luaL_argcheck(vm, owner > 0 && owner < STATE_OWNERS_MAX, 3, "is no owner");
  int64_t slice_ms = (int64_t)luaL_checknumber(vm, 4);
  int arguments = lua_gettop(vm) - 4;
  luaL_argcheck(vm, lua_checkstack(co, arguments + 1), 5, "too many arguments");
  lua_xmove(vm, co, arguments);
  state->task_id = id;
  state->owner = (int)owner;
  int status = task_resume(state, co, slice_ms, arguments);
  if (status != 0 && status != LUA_YIELD) {
    lua_pushliteral(vm, "failed");
    lua_xmove(co, vm, 1);
    return 2;
  }
  if (status == LUA_YIELD && state->preempted == co) {
    state->preempted = NULL;
    lua_pushliteral(vm, "preempted");
    return 1;
  }
  int results = lua_gettop(co);
  luaL_checkstack(vm, results + 1, "too many results");
  lua_pushstring(vm, status == 0 ? "done" : "yielded");
  lua_xmove(co, vm, results);
  return results + 1;
}

static int task_was_preempted(lua_State *vm)
{
  struct lua_state *state = lua_state_of(vm);
  const lua_State *co = lua_tothread(vm, 1);
  luaL_argcheck(vm, co != NULL, 1, "coroutine expected");
  bool is_preempted = state->preempted == co;
  lua_pushboolean(vm, is_preempted);
  if (is_preempted) {
    // Past the budget somebody around cannot be left: at the next instruction that is not here, but there, this raises.
    bool is_overdue = clock_thread_ms() >= state->stretch_end_ms;
    state->preempted = NULL;
    lua_sethook(state->vm, task_hook, LUA_MASKCOUNT, is_overdue ? 1 : state->steps);
  }
  return 1;
}

static int task_is_deep(lua_State *vm)
{
  lua_pushboolean(vm, lua_state_is_deep(lua_state_of(vm)));
  return 1;
}

static int task_memory(lua_State *vm)
{
  struct lua_state *state = lua_state_of(vm);
  if (!lua_isnoneornil(vm, 1)) {
    lua_Integer owner = luaL_checkinteger(vm, 1);
    luaL_argcheck(vm, owner >= 0 && owner < STATE_OWNERS_MAX, 1, "is no owner");
    lua_pushnumber(vm, (lua_Number)state->owner_bytes[owner]);
    return 1;
  }
  size_t cap = 0;
  lua_pushnumber(vm, (lua_Number)lua_state_memory(state, &cap));
  lua_pushnumber(vm, (lua_Number)cap);
  return 2;
}

/// Raises that the task is past its budget, and does so again at each instruction until it can be suspended.
static void task_stop(struct lua_state *state, lua_State *vm)
{
  lua_sethook(state->vm, task_hook, LUA_MASKCOUNT, 1);
  luaL_error(vm, "took longer than %d ms inside a function that cannot be interrupted", state->limits.budget_ms);
}

void task_hurry(struct lua_state *state)
{
  if (clock_thread_ms() >= state->slice_end_ms) {
    lua_sethook(state->vm, task_hook, LUA_MASKCOUNT, 1);
  }
}

void task_poll(struct lua_State *vm)
{
  struct lua_state *state = lua_state_of(vm);
  int64_t now_ms = clock_thread_ms();
  if (now_ms >= state->stretch_end_ms) {
    task_stop(state, vm);
  } else if (now_ms >= state->slice_end_ms) {
    lua_sethook(state->vm, task_hook, LUA_MASKCOUNT, 1);
  }
}

/// Sets how soon the next look at the clock is. An instruction may call a function that takes long in C, such as a
/// comparison of long texts: code that does is looked at more often, other code at most every STATE_HOOK_STEPS.
static void task_pace(struct lua_state *state, int64_t now_ms)
{
  int steps = now_ms - state->looked_ms > 1 ? state->steps / 4 : state->steps * 2;
  steps = steps < 1 ? 1 : steps > STATE_HOOK_STEPS ? STATE_HOOK_STEPS : steps;
  state->looked_ms = now_ms;
  if (steps != state->steps) {
    state->steps = steps;
    lua_sethook(state->vm, task_hook, LUA_MASKCOUNT, steps);
  }
}

/// Called after every `steps` instructions of a task, or at each once it is past its budget. Internal code
/// that has to hear of a coroutine that was preempted is left alone; but not for long, as it may have failed for want
/// of memory.
static void task_hook(lua_State *vm, lua_Debug *event)
{
  struct lua_state *state = lua_state_of(vm);
  (void)event;
  if (vm == state->vm || (state->preempted != NULL && --state->pass_steps > 0)) {
    return;
  }
  state->preempted = NULL;
  int64_t now_ms = clock_thread_ms();
  if (now_ms < state->slice_end_ms) {
    task_pace(state, now_ms);
    return;
  }
  if (lua_isyieldable(vm)) {
    state->preempted = vm;
    state->pass_steps = TASK_PASS_STEPS;
    lua_sethook(state->vm, task_hook, LUA_MASKCOUNT, 1);
    lua_yield(vm, 0);
  } else if (now_ms >= state->stretch_end_ms) {
    task_stop(state, vm);
  }
}
