// SPDX-License-Identifier: Apache-2.0
//
// A thread with a libuv loop, a mailbox and timers. Workers, control and script threads are loops. The thread is
// registered with the epoch reclaimer: inside while it runs callbacks, outside while it waits, so whatever a callback
// loads from a shared pointer stays valid until the end of the turn.
//
// Every uv callback of our own starts with event_loop_awake(loop): libuv runs I/O callbacks before its check phase.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/epoch.h"
#include "event/mail.h"
#include "event/timer.h"

/// Owned by its thread but for `mailbox`, which any thread posts to.
struct event_loop {
  uv_loop_t uv;               ///< the loop; handles on it belong to this thread
  uv_async_t wake;            ///< woken by event_loop_post()
  uv_prepare_t prepare;       ///< before waiting: end-of-turn work, then outside the epoch
  uv_timer_t clock;           ///< fires for the earliest timer
  struct mailbox mailbox;     ///< mails to run here
  struct mail stop_mail;      ///< posted by event_loop_stop()
  struct epoch_thread epoch;  ///< this thread's registration
  struct timer **heap;        ///< timers by due time
  size_t heap_count;          ///< timers in the heap
  size_t heap_room;           ///< slots allocated
  uint64_t timer_order;       ///< order of the next timer to start
  int64_t armed_ms;           ///< what `clock` is set to, INT64_MAX: not set
  int64_t now_ms;             ///< monotonic time of this turn
  int64_t now_ns;             ///< the same in nanoseconds
  int64_t wall_ms;            ///< wall clock of this turn, INT64_MIN: not read yet
  pthread_t thread;           ///< the thread
  char name[16];              ///< thread name, for logs and debuggers
  void (*on_turn)(void *arg); ///< called before each wait, or NULL: flush what the turn gathered
  void (*on_stop)(
      void *arg);  ///< called on the thread when asked to stop, or NULL: close handles; when none is left it ends
  void *arg;       ///< for on_turn and on_stop
  bool is_awake;   ///< inside the epoch, clock read
  bool is_started; ///< the thread runs
};

/// Prepares a loop in caller's memory (zeroed); nothing runs yet, but mails may be posted, and handles and timers added
/// by the caller, until event_loop_start(). Set on_turn, on_stop and arg in between.
///
/// @return 0, ERR_NO_FILES, ERR_NOMEM ...
int event_loop_create(struct event_loop *loop, const char *name);

/// Starts the thread.
int event_loop_start(struct event_loop *loop);

/// Asks the thread to stop, from any other thread, and waits until it has; mails posted before it was asked have run.
/// Nobody posts after that. Harmless when it does not run.
void event_loop_stop(struct event_loop *loop);

/// Frees a stopped or never started loop. Mails that are still in the box are dropped by their owners' rules.
void event_loop_destroy(struct event_loop *loop);

/// Posts a mail. Any thread; never blocks.
void event_loop_post(struct event_loop *loop, struct mail *mail);

/// Runs the mails that wait, in the middle of a turn: for whoever has to know all that was posted before now. Not from
/// inside a mail. Only on the loop's thread.
void event_loop_run_mails(struct event_loop *loop);

/// Marks the start of work in a uv callback: enters the epoch, reads the clock. Cheap when already awake.
void event_loop_awake(struct event_loop *loop);

/// Monotonic milliseconds of this turn. Only on the loop's thread.
int64_t event_loop_now_ms(const struct event_loop *loop);

/// Wall clock of this turn, read once in it. Only on the loop's thread, in a turn.
int64_t event_loop_wall_ms(struct event_loop *loop);

/// The loop of the calling thread, or NULL.
struct event_loop *event_loop_current(void);
