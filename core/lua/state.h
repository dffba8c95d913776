// SPDX-License-Identifier: Apache-2.0
//
// A LuaJIT state that cannot hurt the process: its memory is capped, its time per call is bounded, the compiler is off
// (compiled code would not look at the clock; who turns it on watches the thread) and recursion through C functions
// stops before the C stack ends. What Lua code can reach is decided in lua/luka/sandbox/; this file gives it the means.
//
//   lua_state_new -> lua_state_call ... lua_state_call -> lua_state_delete
//
// A state belongs to one thread at a time, which needs a C stack of at least 1 MiB.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lua_State;
struct lua_state;

enum {
  LUA_STATE_TEXT_SIZE = 1024,         ///< longest error message with its NUL, bytes
  LUA_STATE_MEMORY_MIN = 1024 * 1024, ///< smallest memory cap, bytes
};

struct lua_state_limits {
  size_t memory_bytes;  ///< cap on all memory of the state, at least LUA_STATE_MEMORY_MIN
  size_t reserve_bytes; ///< what internal code may use beyond that, see lua_state_enter()
  int budget_ms;        ///< the thread's processor time of one lua_state_call(), at least 1; of a task: lua/task.h
  bool
      is_tracking; ///< notes each line of user code that runs, so that running out of memory or time has a line; slower
  bool is_compiled;  ///< the compiler is on: what it compiled looks at no clock, so the budget holds for the rest only
  bool has_own_heap; ///< takes memory from LuaJIT's allocator, which is faster; it is not counted by owner
  /// The budget is that of one step of a call, not of all of it: the call counts its steps here. NULL: of the call
  const _Atomic(int64_t) *step;
  int64_t (*call_ms)(int budget_ms); ///< then: what all steps of a call may take together
};

/// Where user code was last seen; user code is what comes from chunks whose name starts with '@'.
struct lua_state_position {
  char source[LUA_STATE_TEXT_SIZE]; ///< name of the chunk without the '@'; empty: no user code has run
  int line;                         ///< from 1
};

/// What went wrong in a call.
struct lua_state_failure {
  char message[LUA_STATE_TEXT_SIZE]; ///< as Lua gave it, or one that names the limit; cut when longer
  bool is_limit;                     ///< memory or time ran out
};

/// Makes a state with the libraries base, table, string, math, bit, coroutine, os and debug, for internal code, and
/// `require` for the modules of lua/luka/ (lua/modules.h). User code is given an environment of its own.
///
/// @param[out] state  owned: lua_state_delete()
/// @return 0; ERR_SCRIPT when LuaJIT refuses (not a GC64 build) or the libraries do not fit the cap
int lua_state_new(const struct lua_state_limits *limits, struct lua_state **state);

/// NULL is fine.
void lua_state_delete(struct lua_state *state);

/// Changes the memory cap, the reserve and the budget, for calls that come. Between calls.
void lua_state_set_limits(struct lua_state *state, size_t memory_bytes, size_t reserve_bytes, int budget_ms);

/// Runs `fn` in protected mode with `arg` as its one argument, a light userdata, under the limits.
///
/// Code that runs past its time gets errors that pcall cannot hold up: every further step raises, until this returns.
/// The state is usable afterwards.
///
/// @param[out] failure  filled on failure; may be NULL
/// @return 0, ERR_SCRIPT
int lua_state_call(struct lua_state *state, int (*fn)(struct lua_State *vm), void *arg,
                   struct lua_state_failure *failure);

/// The same for internal code: no limit of time, and the reserve of memory on top of the cap. User code that it runs
/// gets the limits of a task (lua/task.h).
///
/// @param[out] failure  filled on failure
/// @return 0, ERR_SCRIPT
int lua_state_enter(struct lua_state *state, int (*fn)(struct lua_State *vm), void *arg,
                    struct lua_state_failure *failure);

/// The state that owns a Lua thread; for C functions called from Lua.
struct lua_state *lua_state_of(struct lua_State *vm);

/// Where user code was last seen, when the limits ask to track it; otherwise where it was when its time had run out.
/// Borrowed as long as the state.
const struct lua_state_position *lua_state_position(const struct lua_state *state);

/// Whether C functions that call Lua back have used up their share of the C stack; user code must go no deeper.
bool lua_state_is_deep(const struct lua_state *state);

/// Whether the current call has run out of time.
bool lua_state_is_expired(const struct lua_state *state);

/// For C functions that may run long: raises "out of time" when the current call has none left. Of a state made by
/// lua_state_new().
void lua_state_poll(struct lua_State *vm);

/// For a C function that would lose what it has allocated if an error jumped over it: until `lua_state_take_back` the
/// state may have so many bytes more, and allocations look at no clock. Nothing that raises may be in between.
void lua_state_lend(struct lua_State *vm, size_t bytes);

/// Ends that. Collects when the state has more than it may; raises when that is of no use, without what was on the
/// stack, or when time is up.
void lua_state_take_back(struct lua_State *vm, size_t bytes);

/// Makes room between calls when garbage has come near the cap, and sets how much garbage may gather from here on.
void lua_state_tidy(struct lua_state *state);

/// The main thread, for who made the state; everything that may raise belongs into a call.
struct lua_State *lua_state_main(struct lua_state *state);

/// Bytes in use now, and the cap.
size_t lua_state_memory(const struct lua_state *state, size_t *cap);
