// SPDX-License-Identifier: Apache-2.0
//
// The inside of a Lua state, for state.c (memory, time of calls) and task.c (time of tasks).
#pragma once

#include <stdint.h>

#include "lua/state.h"

enum {
  STATE_HOOK_STEPS = 250, ///< instructions between two looks at the clock; fewer cost much, more take long in C
  STATE_OWNERS_MAX = 66,  ///< owners of memory: none, one for each console, and the configuration
};

struct lua_state {
  struct lua_State *vm;                 ///< main thread of the state
  struct lua_state_limits limits;       ///< as given
  size_t used_bytes;                    ///< allocated by LuaJIT now
  size_t cap_bytes;                     ///< most that it may be for the code that runs
  int owner;                            ///< for whom memory is allocated now; 0: internal code
  size_t owner_bytes[STATE_OWNERS_MAX]; ///< allocated by each
  int64_t deadline_ms;                  ///< the thread's processor time; 0: no call with a budget is running
  int64_t call_end_ms;                  ///< likewise, for all steps of the call together
  int looks;                            ///< at the clock that were put off, for a step that was new
  int64_t seen_step;                    ///< of limits.step, when the deadline was set or put off
  bool is_expired;                      ///< the running call passed its deadline
  bool is_call_late;                    ///< then: that of all steps together
  bool is_lent;                         ///< see lua_state_lend()
  void *(*heap)(void *arg, void *block, size_t old_size, size_t new_size); ///< LuaJIT's allocator; NULL: malloc()
  void *heap_arg;                                                          ///< for it
  uintptr_t stack_base;               ///< address of the frame of the outermost call; the stack grows down from it
  struct lua_state_position position; ///< see lua_state_position()

  // The task that runs, see task.c.
  int64_t task_id;             ///< its number; 0: none runs
  int64_t slice_end_ms;        ///< the thread's processor time at which it lets others run
  int64_t stretch_end_ms;      ///< likewise, at which it is stopped where it cannot let others run
  int steps;                   ///< instructions between two looks at the clock
  int64_t looked_ms;           ///< the thread's processor time at the last look
  struct lua_State *preempted; ///< coroutine that the hook suspended, and nobody has been told yet; NULL: none
  int pass_steps;              ///< then: instructions left to tell
};

/// For the allocator: has a task that is past its slice suspended at its next instruction.
void task_hurry(struct lua_state *state);

/// lua_state_poll() in a task: has it suspended as soon as it can be, and raises once it is past its budget.
void task_poll(struct lua_State *vm);
