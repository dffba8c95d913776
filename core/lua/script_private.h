// SPDX-License-Identifier: Apache-2.0
//
// The inside of the script thread, for script.c (life, calls, ways into Lua), script_session.c (consoles),
// script_channel.c (connections to this broker), script_policies.c and script_event.c (functions of the configuration)
// and script_native.c (what Lua can call). All of it belongs to the
// script thread, but for what script_new() does before it runs.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "event/loop.h"
#include "event/timer.h"
#include "lua/script.h"

struct hook_ask;
struct hook_event;
struct lua_state;
struct policy_set;

/// Functions of a configuration, as the state has evaluated them.
struct script_set {
  const struct policy_set *set; ///< one reference; NULL: there are none
  int64_t generation;           ///< by which Lua knows it
};

struct script {
  struct event_loop loop;        ///< its loop
  struct script_options options; ///< as given
  struct lua_state *state;       ///< NULL: not needed yet, or broken
  struct timer turn_timer;       ///< lets tasks go on
  struct list calls;             ///< calls under way
  int64_t tickets;               ///< number of the latest call
  bool is_stopping;              ///< nothing new is begun
  uv_async_t keep;               ///< while stopping: keeps the loop until the last call is through
  bool is_kept;                  ///< `keep` is open

  struct list sessions;      ///< consoles
  int session_count;         ///< how many
  int64_t session_ids;       ///< number of the latest
  int listen_fd;             ///< -1: not listening
  uint64_t listen_inode;     ///< file of the socket
  uv_poll_t listen_poll;     ///< watches it
  struct timer listen_timer; ///< accepts again after descriptors ran out

  struct list probe_asks;  ///< questions about requests (policy/probes.h) that it has
  int64_t probe_logged_ms; ///< when a failure of a function was last logged
  int64_t probe_numbers;   ///< number of the latest

  struct list channels; ///< connections to this broker
  int idle_channels;    ///< those that nothing is asked on

  struct script_set wanted;   ///< being evaluated, or evaluated and not in force
  struct script_set current;  ///< in force
  struct script_set previous; ///< was in force before: its functions may still be at work
  struct script_load *load;   ///< who waits for the evaluation; NULL: nobody
  int64_t generations;        ///< the latest
  bool is_serving;            ///< timers run
  struct list asks;           ///< taken, not answered
  atomic_bool is_woken;       ///< wake_mail is on its way
  struct mail wake_mail;      ///< something waits in the lines of the hooks
  struct mail start_mail;     ///< carries script_serve()
  struct timer tick_timer;    ///< looks whether something takes too long
};

// ---- script.c ----

/// Runs a function of lua/luka/script/init.lua: it is on the stack when `push` is called, which pushes the arguments
/// and returns how many. Makes the state where there is none. When that fails all sessions are closed.
///
/// @return false when the state is broken
bool script_enter(struct script *script, const char *event, int (*push)(struct lua_State *vm, void *arg), void *arg);

/// Nobody waits any more for the calls of a task.
void script_abandon(struct script *script, int64_t task);

// ---- script_session.c ----

/// Starts to accept; before the thread runs.
int script_listen(struct script *script);

/// Closes the socket and all sessions.
void script_close_sessions(struct script *script);

/// Stops accepting.
void script_stop_listening(struct script *script);

// send(session, text, is_reply) -> bytes queued: a frame; nothing when the session is gone
int script_session_send(struct lua_State *vm);
// close(session): after what was sent is through
int script_session_close(struct lua_State *vm);
// queued(session) -> bytes that the client has not taken; 0 when it is gone
int script_session_queued(struct lua_State *vm);
// drained(session) -> ticket: for when few are left
int script_session_drained(struct lua_State *vm);

// ---- script_channel.c ----

// channel(request) -> ticket: for the response; nil and a sentence when there is none
int script_channel_call(struct lua_State *vm);

/// Closes the connections.
void script_close_channels(struct script *script);

// ---- script_probe.c ----

/// Takes questions about requests, and notes for traces, from now on; before the thread runs.
void script_open_probes(struct script *script);

/// Gives all questions back: their requests go on.
void script_return_asks(struct script *script);

// probe_watch(keys, parts): which requests are asked about (a list of api keys), which clients are traced
int script_probe_watch(struct lua_State *vm);
// probe_body(number) -> the request's body; nil: it is too large
int script_probe_body(struct lua_State *vm);
// probe_answer(number, outcome, delay_ms, body, error code): nothing when the question is gone
int script_probe_answer(struct lua_State *vm);
// probe_dropped() -> notes that found no room
int script_probe_dropped(struct lua_State *vm);
// probe_log(text): a warning, one a second at most
int script_probe_log(struct lua_State *vm);

// ---- script_policies.c ----

/// Pushes the functions for lua/luka/script/policies.lua into the table on top.
void script_add_policy_natives(struct lua_State *vm, struct script *script);

/// Everything under way is answered and ends: the state is gone, or the script stops.
void script_end_policies(struct script *script);

/// The state is gone: the functions in force are evaluated anew, in the next one.
void script_restore_policies(struct script *script);

/// Gives up what is held. When the thread has ended.
void script_free_policies(struct script *script);

// ---- script_event.c ----

/// Pushes an event as a table.
void script_push_event(struct lua_State *vm, const struct hook_event *event);

/// Reads open fields back from the table at a place of the stack. Others have to be what they were: a function that
/// changes one would be ignored without a word otherwise.
///
/// @param[out] text  what is wrong, POLICY_TEXT_SIZE bytes
/// @return whether all of them are what they have to be
bool script_read_event(struct lua_State *vm, int place, struct hook_event *event, char *text);

// ---- script_native.c ----

/// Adds a function, whose upvalues are the script and an argument, to the table on top.
void script_add_native(struct lua_State *vm, struct script *script, const char *name, int (*fn)(struct lua_State *vm),
                       const void *arg);

/// Pushes the `native` table.
void script_push_natives(struct lua_State *vm, struct script *script);
