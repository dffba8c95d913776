// SPDX-License-Identifier: Apache-2.0
//
// Hooks: functions of the configuration's user that are asked before something happens, and told after it has. They run
// on the script thread (core/lua); here is the way there and back, for all other threads:
//
//   loop: hooks_ask() --> line --wake--> script thread: hooks_next_ask(), functions run --> hooks_answer()
//         done(ask) <---------------------------------mail---------------------------------+
//   any thread: hooks_tell() --> line --wake--> script thread: hooks_next_told()
//
// Where there is no function for a hook, that costs one relaxed load (hooks_has()). An ask is answered within
// HOOKS_DEADLINE_MS, whatever its functions do: who asks has a timer, and what is not answered in time is refused, as
// is what an error kept from being decided. What is told waits in a line of bounded length; what does not fit is
// dropped, counted and logged.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "event/mail.h"
#include "event/timer.h"
#include "policy/policy.h"

struct event_loop;
struct hooks;

/// In the order of lua/luka/policy/names.lua.
enum hook {
  HOOK_BROKER_DOWN,
  HOOK_BROKER_START,
  HOOK_BROKER_STOP,
  HOOK_BROKER_UP,
  HOOK_CLIENT_AUTHORIZE,
  HOOK_CLIENT_CONNECT,
  HOOK_DISK_FAIL,
  HOOK_GROUP_EMPTY,
  HOOK_GROUP_JOIN,
  HOOK_GROUP_REBALANCE,
  HOOK_ISR_CHANGE,
  HOOK_LEADER_CHANGE,
  HOOK_LOG_DELETE,
  HOOK_LOG_ROLL,
  HOOK_PARTITIONS_CREATE,
  HOOK_RELOAD,
  HOOK_TOPIC_CONFIG,
  HOOK_TOPIC_CREATE,
  HOOK_TOPIC_DELETE,
  HOOK_PLACEMENT, ///< no hook of its own name: `placement` of the block defaults, asked the same way
  HOOKS,
};

enum {
  HOOK_FIELDS_MAX = 12,      ///< fields of an event
  HOOKS_ASKS_MAX = 4096,     ///< asks under way; beyond, they are refused
  HOOKS_TOLD_MAX = 1024,     ///< told events that wait; beyond, they are dropped
  HOOKS_DEADLINE_MS = 1000,  ///< wall time after which an ask is answered by its timer
  HOOKS_TASK_MS = 800,       ///< wall time after which the script thread gives an ask up
  HOOKS_STOP_WAIT_MS = 2000, ///< how long a stop waits for functions that are told broker.stop
};

enum hook_field_kind {
  HOOK_TEXT,    ///< a text, or nil
  HOOK_NUMBER,  ///< a whole number
  HOOK_FLAG,    ///< true or false
  HOOK_MAP,     ///< texts by name
  HOOK_NUMBERS, ///< a list of whole numbers
};

/// An entry of a HOOK_MAP.
struct hook_pair {
  const char *name;  ///< its name
  const char *value; ///< NULL: it has none, which Lua sees as false
};

/// A field of the table that functions get.
struct hook_field {
  const char *name;          ///< a literal
  enum hook_field_kind kind; ///< what it is
  bool is_open;              ///< what functions have put there is read back
  int32_t count;             ///< of `pairs` or `numbers`
  union {
    const char *text;              ///< HOOK_TEXT; NULL: nil
    int64_t number;                ///< HOOK_NUMBER
    bool flag;                     ///< HOOK_FLAG
    const struct hook_pair *pairs; ///< HOOK_MAP
    const int32_t *numbers;        ///< HOOK_NUMBERS
  };
};

/// What functions are asked about, or told. Texts and lists lie in its arena.
struct hook_event {
  enum hook hook;                            ///< which
  struct arena arena;                        ///< owned
  int field_count;                           ///< of `fields`
  struct hook_field fields[HOOK_FIELDS_MAX]; ///< what Lua sees
};

/// A question. Made by hooks_ask_new(), the hooks' from hooks_ask() on, freed by them after `done`.
struct hook_ask {
  struct hook_event event; ///< what is asked; as functions have changed it, in `done` with `result` 0
  /// Called once, on the loop that asked, in a turn of its own.
  void (*done)(struct hook_ask *ask);
  void *arg;  ///< for `done`
  int result; ///< in `done`: 0: go on; ERR_POLICY_VIOLATION: a function rejects it; ERR_SCRIPT: one failed;
              ///< ERR_TIMEOUT: none answered in time; ERR_CLOSED: the broker stops
  char text[POLICY_TEXT_SIZE]; ///< in `done`, where result is not 0: why, for the client

  // Private.
  struct hooks *hooks;        ///< whose
  struct event_loop *loop;    ///< who asked
  struct timer timer;         ///< ends the wait
  struct mail mail;           ///< carries it back
  struct list node;           ///< in a line
  bool is_over;               ///< `done` was called; of the loop
  int64_t number;             ///< by which Lua knows it
  int answer;                 ///< the script thread's `result`
  char why[POLICY_TEXT_SIZE]; ///< the script thread's `text`
};

/// Something that has happened. Made by hook_told_new(), the hooks' from hooks_tell() on.
struct hook_told {
  struct hook_event event; ///< what
  struct list node;        ///< private: in the line
};

/// What it is called: "topic.create". For ever.
const char *hook_name(enum hook hook);

/// A hook by its name; HOOKS: none. @param name  NUL-terminated
enum hook hook_find(const char *name);

// ---- for who asks and tells ----

/// Whether there are functions for a hook: the one test that goes ahead of everything else. Any thread; `hooks` may be
/// NULL.
bool hooks_has(const struct hooks *hooks, enum hook hook);

/// A number that rises when other functions have come into force. Any thread.
uint64_t hooks_generation(const struct hooks *hooks);

/// Adds a field; texts are copied. NUL-terminated; NULL: nil.
struct hook_field *hook_add_text(struct hook_event *event, const char *name, const char *text);
/// The same for `length` bytes; -1: nil.
struct hook_field *hook_add_bytes(struct hook_event *event, const char *name, const char *text, int64_t length);
struct hook_field *hook_add_number(struct hook_event *event, const char *name, int64_t number);
struct hook_field *hook_add_flag(struct hook_event *event, const char *name, bool flag);
/// Adds texts by name, copied.
struct hook_field *hook_add_map(struct hook_event *event, const char *name, const struct hook_pair *pairs,
                                int32_t count);
/// Adds a list of numbers, copied.
struct hook_field *hook_add_numbers(struct hook_event *event, const char *name, const int32_t *numbers, int32_t count);

/// A field by its name; it has to be there.
const struct hook_field *hook_field(const struct hook_event *event, const char *name);

/// Owned until hooks_ask().
struct hook_ask *hooks_ask_new(struct hooks *hooks, enum hook hook, void (*done)(struct hook_ask *ask), void *arg);

/// Gives up a question that was not asked.
void hooks_ask_delete(struct hook_ask *ask);

/// Asks. On a loop, which has to run until `done` was called.
void hooks_ask(struct hook_ask *ask);

/// Owned until hooks_tell().
struct hook_told *hook_told_new(enum hook hook);

/// Tells; `told` is taken. Any thread; never blocks.
void hooks_tell(struct hooks *hooks, struct hook_told *told);

// ---- for core/broker ----

/// @return owned: hooks_delete()
struct hooks *hooks_new(void);

/// Sets who is woken when something waits: called on any thread. Before anybody asks.
void hooks_set_wake(struct hooks *hooks, void (*wake)(void *arg), void *arg);

/// Waits until what was told so far has been dealt with, but not longer than `wait_ms`. No loop's thread.
void hooks_wait_told(struct hooks *hooks, int64_t wait_ms);

/// From now on everything is refused, and nothing told; what waits is answered. Any thread.
void hooks_close(struct hooks *hooks);

/// Once all loops have ended. NULL is fine.
void hooks_delete(struct hooks *hooks);

// ---- for the script thread ----

/// Says for which hooks there are functions, which are in force now: bit `1 << hook`.
void hooks_publish(struct hooks *hooks, uint32_t mask);

/// The next ask that waits, or NULL; to be answered.
struct hook_ask *hooks_next_ask(struct hooks *hooks);

/// Answers; `ask` is the loop's from now on. @param text  why, with a result that is not 0
void hooks_answer(struct hook_ask *ask, int result, const char *text);

/// The next told event, or NULL; owned: hook_told_delete(). The one before has been dealt with.
struct hook_told *hooks_next_told(struct hooks *hooks);

/// NULL is fine.
void hook_told_delete(struct hook_told *told);
