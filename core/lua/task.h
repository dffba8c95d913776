// SPDX-License-Identifier: Apache-2.0
//
// Tasks: coroutines in which user code runs under the limits of its state, side by side. A task that has run for a
// while is suspended by the count hook, wherever it is, and goes on when the others had their turn: an endless loop
// holds up nobody. What Lua makes of this is in lua/luka/script/task.lua.
//
//   scheduler (main thread of the state) -> run() -> task -> user's coroutine -> user's coroutine
//                                                                                   hook: lua_yield()
//             <- "preempted"             <- each level sees was_preempted() and yields on:
//             lua/luka/sandbox/coroutines.lua
//
// A C function that calls Lua back (string.format with __tostring, load) cannot be left and entered again. Code that it
// calls runs on until the budget of the state is used up; then each step raises until that function has been left.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lua_State;
struct lua_state;

/// Pushes a table of functions for internal code:
///
///   run(co, id, owner, slice_ms, ...) -> how, ...
///                                           runs task `id`, a coroutine, with these arguments; `how` is "done" with
///                                           results, "failed" with the error, "yielded" with values, or "preempted".
///                                           What it allocates counts as that of `owner`: 1 to 64 are consoles,
///                                           65 is the configuration
///   was_preempted(co) -> boolean            whether the coroutine, which was just resumed and yielded, was preempted.
///                                           Asked once, by whoever resumed it
///   is_deep() -> boolean                    as lua_state_is_deep()
///   memory() -> used, cap                   bytes
///   memory(owner) -> used                   bytes of an owner, garbage too
///
/// Call in protected mode.
void lua_task_open(struct lua_State *vm);

/// The number of the task that runs; 0: none does.
int64_t lua_task_current(const struct lua_state *state);

/// By whom the memory of the task that runs is counted; 0: none runs.
int lua_task_owner(const struct lua_state *state);

/// Calls the function below `arguments` values on the stack as lua_pcall() does, with no more memory than a task has.
///
/// @param owner  by whom that memory is counted
/// @return a status as of lua_pcall()
int lua_task_pcall(struct lua_State *vm, int owner, int arguments, int results);
