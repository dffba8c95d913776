// SPDX-License-Identifier: Apache-2.0
#include "lua/state.h"

#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lua/modules.h"
#include "lua/state_private.h"
#include "lua/walk.h"
#include "os/clock.h"

enum {
  STATE_TIMED_BLOCK_BYTES = 32 * 1024, ///< allocations from this size on look at the clock too
  STATE_STACK_BYTES = 512 * 1024,      ///< C stack that nested calls between C and Lua may use
  STATE_GC_PAUSE = 125,                ///< collect when the heap has grown by a quarter: the cap counts garbage too
  STATE_GC_PAUSE_SMALL = 300,          ///< the same while that is far from the cap: collecting less often costs less
  STATE_GC_STEP = 400,                 ///< how much faster than code allocates an incremental collection goes, percent
  STATE_GC_STEP_SMALL = 0,             ///< a small heap is collected in one go, before large blocks pile up
  STATE_LOOKS = 16,                    ///< new steps that put off a look at the clock until one is had all the same
  STATE_SMALL_SHARE = 16,              ///< far from the cap: below one of so many parts of it
};

/// A deadline that is not set yet, as the clock is only looked at for steps that are long.
#define STATE_DEADLINE_OPEN INT64_MAX

/// In front of each block of LuaJIT's, which is aligned like those of malloc().
struct state_block {
  _Alignas(16) int owner; ///< whose it is, see lua_state.owner
};

/// The one argument of state_enter().
struct state_call {
  int (*fn)(lua_State *vm); ///< what to run
  void *arg;                ///< for it
};

static void *state_alloc(void *arg, void *block, size_t old_size, size_t new_size);
static void *state_alloc_heap(void *arg, void *block, size_t old_size, size_t new_size);
static bool state_make(struct lua_state *state);
static bool state_is_late(struct lua_state *state);
static void state_expire(struct lua_state *state, lua_State *vm);
static void state_hook(lua_State *vm, lua_Debug *event);
static int state_open(lua_State *vm);
static void state_arm(struct lua_state *state);
static void state_collect(struct lua_state *state);
static void state_fail(struct lua_state *state, int status, struct lua_state_failure *failure);

int lua_state_new(const struct lua_state_limits *limits, struct lua_state **state)
{
  struct lua_state *made = mem_zalloc(sizeof *made);
  made->limits = *limits;
  if (made->limits.memory_bytes < LUA_STATE_MEMORY_MIN) {
    made->limits.memory_bytes = LUA_STATE_MEMORY_MIN;
  }
  made->cap_bytes = made->limits.memory_bytes;
  if (!state_make(made)) {
    mem_free(made);
    return error_set(ERR_SCRIPT, "LuaJIT cannot make a state: a GC64 build of LuaJIT 2.1 is needed");
  }
  struct lua_state_failure failure;
  if (lua_state_call(made, state_open, NULL, &failure) < 0) {
    lua_state_delete(made);
    return error_set(ERR_SCRIPT, "cannot open the Lua libraries: %s", failure.message);
  }
  *state = made;
  return 0;
}

void lua_state_set_limits(struct lua_state *state, size_t memory_bytes, size_t reserve_bytes, int budget_ms)
{
  state->limits.memory_bytes = memory_bytes < LUA_STATE_MEMORY_MIN ? LUA_STATE_MEMORY_MIN : memory_bytes;
  state->limits.reserve_bytes = reserve_bytes;
  state->limits.budget_ms = budget_ms;
  if (state->used_bytes > state->limits.memory_bytes / 2) {
    state_collect(state); // or garbage that was fine before would fail what comes next
  }
}

void lua_state_delete(struct lua_state *state)
{
  if (state != NULL) {
    if (state->heap != NULL) {
      lua_setallocf(state->vm, state->heap, state->heap_arg); // which frees all its memory at once
    }
    lua_close(state->vm);
    mem_free(state);
  }
}

int lua_state_call(struct lua_state *state, int (*fn)(struct lua_State *vm), void *arg,
                   struct lua_state_failure *failure)
{
  state->stack_base = (uintptr_t)__builtin_frame_address(0);
  state->is_expired = false;
  state->cap_bytes = state->limits.memory_bytes;
  if (state->limits.step != NULL) {
    state->seen_step = atomic_load_explicit(state->limits.step, memory_order_relaxed);
    state->deadline_ms = STATE_DEADLINE_OPEN;
    state->call_end_ms = clock_thread_ms() + state->limits.call_ms(state->limits.budget_ms);
    state->is_call_late = false;
  } else {
    state->deadline_ms = clock_thread_ms() + state->limits.budget_ms;
  }
  state->position.source[0] = '\0';
  state->position.line = 0;
  state_arm(state);
  int status = lua_cpcall(state->vm, fn, arg);
  lua_sethook(state->vm, NULL, 0, 0);
  state->deadline_ms = 0;
  // A call that caught the last error and returned in the same step is late all the same.
  if (status == 0 && !state->is_expired) {
    return 0;
  }
  if (failure != NULL) {
    state_fail(state, status, failure);
  }
  lua_settop(state->vm, 0);
  state_collect(state);
  return error_set(ERR_SCRIPT, "%s", failure != NULL ? failure->message : "a Lua call failed");
}

int lua_state_enter(struct lua_state *state, int (*fn)(struct lua_State *vm), void *arg,
                    struct lua_state_failure *failure)
{
  state->stack_base = (uintptr_t)__builtin_frame_address(0);
  state->is_expired = false;
  state->cap_bytes = state->limits.memory_bytes + state->limits.reserve_bytes;
  int status = lua_cpcall(state->vm, fn, arg);
  if (status == 0) {
    return 0;
  }
  state_fail(state, status, failure);
  lua_settop(state->vm, 0);
  return error_set(ERR_SCRIPT, "%s", failure->message);
}

struct lua_state *lua_state_of(struct lua_State *vm)
{
  void *state = NULL;
  lua_getallocf(vm, &state);
  return state;
}

const struct lua_state_position *lua_state_position(const struct lua_state *state)
{
  return &state->position;
}

bool lua_state_is_deep(const struct lua_state *state)
{
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  return here < state->stack_base && state->stack_base - here > STATE_STACK_BYTES;
}

bool lua_state_is_expired(const struct lua_state *state)
{
  return state->is_expired;
}

void lua_state_poll(struct lua_State *vm)
{
  struct lua_state *state = lua_state_of(vm);
  if (state->task_id != 0) {
    task_poll(vm);
  } else if (state->deadline_ms != 0 && state_is_late(state)) {
    state_expire(state, vm);
  }
}

void lua_state_lend(struct lua_State *vm, size_t bytes)
{
  struct lua_state *state = lua_state_of(vm);
  state->cap_bytes += bytes;
  state->is_lent = true;
}

void lua_state_take_back(struct lua_State *vm, size_t bytes)
{
  struct lua_state *state = lua_state_of(vm);
  state->cap_bytes -= bytes;
  state->is_lent = false;
  if (state->used_bytes > state->cap_bytes) {
    state_collect(state);
  }
  if (state->used_bytes > state->cap_bytes) {
    lua_settop(vm, 0);
    state_collect(state); // or the next one would begin beyond the cap
    luaL_error(vm, "not enough memory");
  }
  lua_state_poll(vm);
}

void lua_state_tidy(struct lua_state *state)
{
  if (state->used_bytes > state->limits.memory_bytes / 2) {
    state_collect(state);
  }
  bool is_small = state->used_bytes < state->limits.memory_bytes / STATE_SMALL_SHARE;
  lua_gc(state->vm, LUA_GCSETPAUSE, is_small ? STATE_GC_PAUSE_SMALL : STATE_GC_PAUSE);
  lua_gc(state->vm, LUA_GCSETSTEPMUL, is_small ? STATE_GC_STEP_SMALL : STATE_GC_STEP);
}

struct lua_State *lua_state_main(struct lua_state *state)
{
  return state->vm;
}

size_t lua_state_memory(const struct lua_state *state, size_t *cap)
{
  if (cap != NULL) {
    *cap = state->limits.memory_bytes;
  }
  return state->used_bytes;
}

/// Whether a block may become larger: there is room for it, and large ones look at the clock.
static bool state_may_grow(struct lua_state *state, size_t old_size, size_t new_size)
{
  if (state->used_bytes > state->cap_bytes || new_size - old_size > state->cap_bytes - state->used_bytes) {
    return false;
  }
  if (new_size >= STATE_TIMED_BLOCK_BYTES && state->deadline_ms != 0 && !state->is_lent && state_is_late(state)) {
    state->is_expired = true;
    return false;
  }
  return true;
}

/// LuaJIT's allocator; counts by owner. Refusing raises "not enough memory" in Lua, so only growth is refused: the
/// collector shrinks blocks where it cannot cope with an error. Library functions that fill large blocks run long
/// between two steps of the hook, so large blocks look at the clock as well.
static void *state_alloc(void *arg, void *block, size_t old_size, size_t new_size)
{
  struct lua_state *state = arg;
  struct state_block *head = block != NULL ? (struct state_block *)block - 1 : NULL;
  int owner = head != NULL ? head->owner : state->owner;
  if (block == NULL) {
    old_size = 0;
  }
  if (new_size == 0) {
    free(head);
    state->used_bytes -= old_size;
    state->owner_bytes[owner] -= old_size;
    return NULL;
  }
  if (new_size > old_size) {
    if (!state_may_grow(state, old_size, new_size)) {
      return NULL;
    }
    if (new_size >= STATE_TIMED_BLOCK_BYTES && state->task_id != 0) {
      task_hurry(state);
    }
  }
  head = realloc(head, sizeof *head + new_size);
  if (head == NULL) {
    return NULL;
  }
  head->owner = owner;
  state->used_bytes = state->used_bytes - old_size + new_size;
  state->owner_bytes[owner] = state->owner_bytes[owner] - old_size + new_size;
  return head + 1;
}

/// The same on top of LuaJIT's own allocator; blocks have no owner.
static void *state_alloc_heap(void *arg, void *block, size_t old_size, size_t new_size)
{
  struct lua_state *state = arg;
  if (new_size > old_size && !state_may_grow(state, old_size, new_size)) {
    return NULL;
  }
  void *made = state->heap(state->heap_arg, block, old_size, new_size);
  if (made != NULL || new_size == 0) {
    state->used_bytes = state->used_bytes - old_size + new_size;
  }
  return made;
}

/// Makes the Lua state; false: LuaJIT cannot.
static bool state_make(struct lua_state *state)
{
  if (!state->limits.has_own_heap) {
    state->vm = lua_newstate(state_alloc, state);
    return state->vm != NULL;
  }
  state->vm = luaL_newstate();
  if (state->vm == NULL) {
    return false;
  }
  state->heap = lua_getallocf(state->vm, &state->heap_arg);
  lua_setallocf(state->vm, state_alloc_heap, state);
  state->used_bytes = (size_t)lua_gc(state->vm, LUA_GCCOUNT, 0) * 1024 + (size_t)lua_gc(state->vm, LUA_GCCOUNTB, 0);
  return true;
}

/// Whether time is up. A step that is new since the last look is given its time when a second look finds it still
/// running: most are done by then, and the clock is a system call.
static bool state_is_late(struct lua_state *state)
{
  if (state->is_expired) {
    return true;
  }
  if (state->limits.step != NULL) {
    int64_t step = atomic_load_explicit(state->limits.step, memory_order_relaxed);
    if (step != state->seen_step) {
      state->seen_step = step;
      state->deadline_ms = STATE_DEADLINE_OPEN;
      state->looks++;
      if (state->looks % STATE_LOOKS != 0) {
        return false;
      }
    }
    int64_t now_ms = clock_thread_ms();
    state->is_call_late = now_ms > state->call_end_ms;
    if (state->deadline_ms == STATE_DEADLINE_OPEN) {
      state->deadline_ms = now_ms + state->limits.budget_ms;
    }
    return state->is_call_late || now_ms > state->deadline_ms;
  }
  return clock_thread_ms() > state->deadline_ms;
}

/// Notes that time is up, and where; raises, now and at each instruction to come.
static void state_expire(struct lua_state *state, lua_State *vm)
{
  lua_Debug frame;
  if (!state->is_expired && !state->limits.is_tracking) {
    for (int level = 0; state->position.line == 0 && lua_getstack(vm, level, &frame); level++) {
      if (lua_getinfo(vm, "Sl", &frame) && frame.source[0] == '@' && frame.currentline > 0) {
        snprintf(state->position.source, sizeof state->position.source, "%s", frame.source + 1);
        state->position.line = frame.currentline;
      }
    }
  }
  state->is_expired = true;
  lua_sethook(vm, state_hook, LUA_MASKCOUNT, 1);
  luaL_error(vm, "out of time");
}

/// Called after every STATE_HOOK_STEPS instructions, and for each line when the state tracks lines. Once time is up it
/// comes back at every instruction and raises each time, so that code cannot go on in the body of a pcall loop.
static void state_hook(lua_State *vm, lua_Debug *event)
{
  struct lua_state *state = lua_state_of(vm);
  if (event->event == LUA_HOOKLINE && !state->is_expired) {
    lua_getinfo(vm, "S", event);
    if (event->source[0] == '@') {
      snprintf(state->position.source, sizeof state->position.source, "%s", event->source + 1);
      state->position.line = event->currentline;
    }
    return;
  }
  if (state_is_late(state)) {
    state_expire(state, vm);
  }
}

static void state_arm(struct lua_state *state)
{
  lua_sethook(state->vm, state_hook, LUA_MASKCOUNT | (state->limits.is_tracking ? LUA_MASKLINE : 0), STATE_HOOK_STEPS);
}

/// Collects between calls, where an error would end the process: the collector allocates a smaller table of strings
/// before it frees the large one.
static void state_collect(struct lua_state *state)
{
  size_t cap_bytes = state->cap_bytes;
  state->cap_bytes = SIZE_MAX;
  lua_gc(state->vm, LUA_GCCOLLECT, 0);
  state->cap_bytes = cap_bytes;
}

static int state_open(lua_State *vm)
{
  static const luaL_Reg libraries[] = {
      {"", luaopen_base},
      {LUA_TABLIBNAME, luaopen_table},
      {LUA_STRLIBNAME, luaopen_string},
      {LUA_MATHLIBNAME, luaopen_math},
      {LUA_BITLIBNAME, luaopen_bit},
      {LUA_OSLIBNAME, luaopen_os},
      {LUA_DBLIBNAME, luaopen_debug},
  };
  bool is_compiled = lua_state_of(vm)->limits.is_compiled;
  luaJIT_setmode(vm, 0, LUAJIT_MODE_ENGINE | (is_compiled ? LUAJIT_MODE_ON : LUAJIT_MODE_OFF));
  lua_gc(vm, LUA_GCSETPAUSE, STATE_GC_PAUSE);
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
    lua_pushcfunction(vm, libraries[i].func);
    lua_pushstring(vm, libraries[i].name);
    lua_call(vm, 1, 0);
  }
  if (is_compiled) {
    lua_pushcfunction(vm, luaopen_jit); // which is where the compiler gets its parameters
    lua_pushliteral(vm, LUA_JITLIBNAME);
    lua_call(vm, 1, 0);
    lua_walk_open(vm);
  }
  lua_modules_open(vm);
  return 0;
}

/// Words for the error on top of the stack; allocates nothing in the state.
static void state_fail(struct lua_state *state, int status, struct lua_state_failure *failure)
{
  failure->is_limit = true;
  if (state->is_expired && state->limits.step != NULL && state->is_call_late) {
    snprintf(failure->message, sizeof failure->message, "took longer than %lld ms for the records of one batch",
             (long long)state->limits.call_ms(state->limits.budget_ms));
  } else if (state->is_expired) {
    snprintf(failure->message, sizeof failure->message, "took longer than %d ms", state->limits.budget_ms);
  } else if (status == LUA_ERRMEM) {
    snprintf(failure->message, sizeof failure->message, "not enough memory");
  } else {
    failure->is_limit = false;
    int type = lua_type(state->vm, -1);
    if (type == LUA_TSTRING) {
      snprintf(failure->message, sizeof failure->message, "%s", lua_tostring(state->vm, -1));
    } else {
      snprintf(failure->message, sizeof failure->message, "the error is a %s", lua_typename(state->vm, type));
    }
  }
}
