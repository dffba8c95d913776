// SPDX-License-Identifier: Apache-2.0
//
// The script thread: an event loop with one limited Lua state (lua/state.h) in which user code runs: that of
// consoles on a Unix socket, and hooks and timers of the configuration (script_policies.c). What it does is written in
// Lua (lua/luka/script/); this is the way in and out:
//
//   client -- socket -- session (script_session.c) --> lua/luka/script/init.lua: events
//   task (a coroutine with user code) --> word --> native function --> other thread
//                                         await(ticket) <-- script_call_done() <---+
//
// The state is made when the first console connects, or for a configuration with hooks, timers or a placement, so a
// broker without them that nobody talks to has none. Nothing here waits.
//
// Two ways for other parts to give functions to internal Lua code, which finds them in the `native` table:
//
//   a service  a C function without any Lua: takes and answers JSON, from any thread, when it likes
//              (struct script_service). `native.NAME(argument)` waits for the answer and gives it, decoded; a failure
//              is raised as a luka.Error.
//   a native   a lua_CFunction (struct script_native), for core/lua: gives what it gives. One that has to wait for
//              another thread starts a script_call and returns its ticket; Lua waits with task.await(ticket) and gets
//              what `push` pushes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "event/mail.h"

struct event_loop;
struct hooks;
struct lua_State;
struct probes;
struct policy_set;
struct script;

enum { SCRIPT_SESSIONS_MAX = 64 }; ///< consoles at a time

/// Something that Lua waits for; embed it. The script's from script_call_start() until `free` is called.
///
///     static int segments(lua_State *vm) // segments(topic) -> ticket
///     {
///       struct script *script = script_check(vm);
///       const char *topic = luaL_checkstring(vm, 1);       // may raise: before anything is allocated
///       struct segments_call *call = mem_zalloc(sizeof *call);
///       call->base = (struct script_call){.push = segments_push, .free = segments_free};
///       ...
///       int results = script_call_start(vm, script, &call->base);
///       pool_submit(...);                                  // ends with script_call_done(&call->base)
///       return results;
///     }
struct script_call {
  /// Pushes the results of the call and returns how many. May raise; only called while somebody waits.
  int (*push)(struct script_call *call, struct lua_State *vm);
  /// Nobody waits any more: the end may come at once, but it has to come. May be NULL.
  void (*cancel)(struct script_call *call);
  /// The end.
  void (*free)(struct script_call *call);

  // Private.
  struct list node;      ///< among the calls under way
  struct mail mail;      ///< carries it back to the script thread
  struct script *script; ///< whose
  int64_t ticket;        ///< its number
  int64_t task;          ///< the task that it belongs to
  int owner;             ///< by whom the memory of its results is counted
  bool is_abandoned;     ///< nobody waits
};

/// A C function for Lua; `fn` is a lua_CFunction.
struct script_native {
  const char *name;                ///< in the `native` table
  int (*fn)(struct lua_State *vm); ///< called on the script thread, in a task
  void *arg;                       ///< script_arg() gives it
};

/// One call of a service. The service's from `run` until script_request_done().
struct script_request {
  struct script_call call; ///< private
  char *argument;          ///< JSON text, "null" for no argument; borrowed
  int result;              ///< private: 0 or an ERR_*
  char *answer;            ///< private: JSON, or what went wrong
};

/// A C function for Lua that needs no Lua itself.
struct script_service {
  const char *name;                                       ///< in the `native` table
  void (*run)(void *arg, struct script_request *request); ///< called on the script thread; must not wait
  void *arg;                                              ///< for it
};

/// All borrowed until script_delete().
struct script_options {
  int32_t broker_id;                     ///< of this broker
  const char *cluster_id;                ///< of its cluster
  const char *version;                   ///< of Luka
  const char *console;                   ///< path of the console's socket; NULL: there is none
  struct hooks *hooks;                   ///< asks and told events
  size_t memory_bytes;                   ///< lua_memory
  int budget_ms;                         ///< lua_budget_ms
  int (*connect)(void *arg, int *fd);    ///< gives one end of a connection to this broker; any thread
  void (*ask_stop)(void *arg);           ///< has the broker stopped, soon; any thread. NULL: nobody can do that
  struct probes *probes;                 ///< where functions see requests
  void *arg;                             ///< for `connect` and `ask_stop`
  const struct script_native *natives;   ///< functions for Lua
  int native_count;                      ///< how many
  const struct script_service *services; ///< functions for Lua
  int service_count;                     ///< how many
};

/// An evaluation that somebody waits for. Embed it; the script's until `done`.
struct script_load {
  struct mail mail;                       ///< private
  struct script *script;                  ///< private
  const struct policy_set *set;           ///< private
  struct event_loop *reply;               ///< loop of `done`; NULL: the script thread's
  void (*done)(struct script_load *load); ///< called once
  char error[1024];                       ///< in `done`: a line, empty: all is well
};

/// Opens the socket and starts the thread.
///
/// @param[out] script  owned: script_delete()
/// @return 0; those of unix_socket_listen(), ERR_NO_FILES ...
int script_new(const struct script_options *options, struct script **script);

/// Changes lua_memory and lua_budget_ms, for what runs from then on. Any thread, until script_stop().
void script_set_limits(struct script *script, size_t memory_bytes, int budget_ms);

/// Evaluates the functions of a set for the script thread: hooks, timers, placement. Those in force stay. One at a
/// time; any thread, until script_stop().
///
/// @param set  a reference is taken; NULL: there are none
void script_load(struct script *script, const struct policy_set *set, struct script_load *load);

/// Puts what was loaded in force, all at once: timers of before end. Any thread, after `done` without an error.
void script_commit(struct script *script);

/// The same at once, from within the `done` of a load without a loop of its own.
void script_commit_here(struct script *script);

/// Forgets what was loaded instead.
void script_discard(struct script *script);

/// Lets timers run, once this broker serves. Any thread.
void script_serve(struct script *script);

/// Something waits in the lines of the hooks (policy/hooks.h). Any thread, until script_stop().
void script_wake(struct script *script);

/// Ends tasks and sessions, removes the socket, waits for calls under way, then ends the thread. While other threads
/// still run, as they have to answer. NULL is fine.
void script_stop(struct script *script);

/// Frees it; stops it first. NULL is fine.
void script_delete(struct script *script);

// ---- for native functions; on the script thread ----

/// The script whose native function this is; raises when no task runs, as nobody could wait for a ticket.
struct script *script_check(struct lua_State *vm);

/// The `arg` of the native function that was called.
void *script_arg(struct lua_State *vm);

/// Registers a call and pushes its ticket; returns 1, the number of results. Raises nothing.
int script_call_start(struct lua_State *vm, struct script *script, struct script_call *call);

/// The call is through: its results are pushed on the script thread, soon. Once; any thread.
void script_call_done(struct script_call *call);

// ---- for services ----

/// Makes a JSON list of objects whose fields are texts, for an answer. Any thread.
///
/// @param names   of the fields, `columns` of them
/// @param values  `rows` times `columns` texts; NULL: that object has no such field. In a text that is no UTF-8 bytes
///                beyond ASCII become '?'
/// @return owned: mem_free()
char *script_json_rows(const char *const *names, int columns, const char *const *values, int rows);

/// Answers a request. Any thread, also within `run`.
///
/// @param result  0, or an ERR_*, whose name is the code of the luka.Error: ERR_CONFIG is "config"
/// @param answer  JSON text, or with an error a sentence; taken (mem_alloc); NULL: null, or the error's own text
void script_request_done(struct script_request *request, int result, char *answer);
