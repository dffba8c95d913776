// SPDX-License-Identifier: Apache-2.0
//
// Drives core/event/ for its specs: FFI cannot be called back on other threads, so what happens there is C, and the
// specs look at the figures.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Pushes `count` mails to a box and runs it; writes their numbers in the order in which they ran.
/// @return how many pushes asked for a wake-up
int mail_probe_order(int count, int *order);

/// What happened when several threads posted to one loop.
struct mail_probe {
  int64_t run;        ///< mails run
  int64_t misordered; ///< mails of one thread that ran before an earlier one of it
  int64_t foreign;    ///< mails that ran elsewhere than on the loop's thread, or outside the epoch
};
void mail_probe_threads(int threads, int mails_each, struct mail_probe *probe);

/// A heap of timers with numbers from 0 to 999 on a clock set by hand.
struct timer_probe;
struct timer_probe *timer_probe_new(void);
void timer_probe_delete(struct timer_probe *probe);
void timer_probe_start(struct timer_probe *probe, int number, int64_t delay_ms);
/// Starts a timer that starts itself again, with `again_ms`, each time it fires.
void timer_probe_repeat(struct timer_probe *probe, int number, int64_t delay_ms, int64_t again_ms);
void timer_probe_stop(struct timer_probe *probe, int number);
bool timer_probe_is_running(struct timer_probe *probe, int number);
/// Sets the clock, fires what is due, writes the numbers (at most 1000) in order.
/// @return how many fired
int timer_probe_run(struct timer_probe *probe, int64_t now_ms, int *fired);

/// What happened on a loop that was started, given work and stopped.
struct loop_probe {
  bool early_mail_ran;      ///< a mail posted before the start ran
  bool late_mail_ran;       ///< a mail posted right before the stop ran
  bool knows_itself;        ///< event_loop_current() was the loop on its thread, and NULL on the main thread
  bool inside_epoch;        ///< callbacks ran inside the epoch
  bool stop_on_thread;      ///< on_stop was called on the loop's thread, once
  bool freed_while_waiting; ///< what was retired while the loop waited was freed: waiting pins nothing
  bool pinned_in_callback;  ///< what was retired while a callback ran was not freed before the callback ended
  int64_t timer_ms;         ///< how long a timer of 30 ms took
  int64_t turns_for_timer;  ///< turns of the loop between starting that timer and firing it
};
void loop_probe_run(struct loop_probe *probe);

/// What happened to jobs given to a pool.
struct pool_probe {
  int64_t worked;     ///< jobs whose work ran
  int64_t done;       ///< completions that ran
  int64_t misplaced;  ///< completions elsewhere than on the loop asked for, or work on that loop
  int64_t outside;    ///< works that ran outside the epoch
  int64_t misordered; ///< jobs that one thread took out of order
};
/// Submits `jobs`, every other one without completion, waits for the completions and deletes the pool.
void pool_probe_run(int threads, int jobs, struct pool_probe *probe);

/// What happened to long jobs, twice as many as threads, that each wait (up to ten seconds) for one short job that was
/// submitted after them.
struct pool_long_probe {
  int most_at_once;    ///< most long jobs that ran at the same time
  int long_worked;     ///< long jobs whose work ran
  int gave_up;         ///< long jobs that did not see the short one in time
  int misordered;      ///< long jobs that ran to the end before an earlier one began
  bool is_short_first; ///< the short job ran before any long job was through
};
void pool_long_probe_run(int threads, struct pool_long_probe *probe);
/// The same with one thread: the long jobs wait for nothing.
void pool_long_probe_alone(struct pool_long_probe *probe);
