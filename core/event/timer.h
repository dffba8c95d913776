// SPDX-License-Identifier: Apache-2.0
//
// Timers of one loop: a heap of embedded nodes behind a single uv_timer, so that starting and stopping one neither
// allocates nor closes a handle. Only on the loop's thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_loop;
struct timer;
typedef void (*timer_fn)(struct timer *timer);

/// Embed it; zero-initialised is a stopped timer. May be freed when stopped.
struct timer {
  int64_t due_ms;  ///< monotonic time to fire at
  uint64_t order;  ///< counts starts: of timers due at the same time the one started first fires first
  size_t position; ///< place in the heap plus one; 0: stopped
  timer_fn run;    ///< called once, the timer is stopped by then and may be started again or freed
};

/// Starts (or moves) a timer to fire `delay_ms` (>= 0) from now, never earlier. With 0 it fires in the next turn.
void timer_start(struct event_loop *loop, struct timer *timer, int64_t delay_ms, timer_fn run);

/// Stops; harmless when it is not running.
void timer_stop(struct event_loop *loop, struct timer *timer);

bool timer_is_running(const struct timer *timer);

/// For event/loop.c: fires what is due; a timer started meanwhile waits for the next turn.
void timer_run_due(struct event_loop *loop);
