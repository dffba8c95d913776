// SPDX-License-Identifier: Apache-2.0
//
// Runners as runner.c and runner_watch.c see them.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "event/mail.h"
#include "event/timer.h"
#include "policy/runner.h"

enum {
  RUNNERS_SPARE = 32,                   ///< buffers that are kept
  RUNNERS_SPARE_BYTES_MAX = 512 * 1024, ///< of which none is larger
};

enum policy_job_state { JOB_WAITS, JOB_RUNS, JOB_CALLS, JOB_DONE, JOB_ABANDONED };

struct policy_runner;

/// A thread. `vm`, `job` and `is_lost` are guarded by the runner's lock; the rest is the thread's own.
struct runner_thread {
  struct policy_runners *runners; ///< referenced
  struct policy_runner *runner;   ///< whose queue it serves
  pthread_t thread;               ///< itself; for the watch, until it is lost
  const struct policy_set *set;   ///< that `vm` knows, referenced; NULL: none
  struct policy_vm *vm;           ///< NULL: none is needed, or `failure` says why there is none
  struct policy_job *job;         ///< under way; NULL: none
  int64_t version;                ///< of the set that it has tried last
  int64_t retry_ms;               ///< where it has no VM: when it tries again, with the next job; monotonic
  struct policy_failure failure;  ///< why there is no VM; empty: there is one, or none is needed
  struct policy_scratch scratch;  ///< memory for its jobs
};

/// What the watch saw when it last looked. Control thread.
struct runner_look {
  const struct runner_thread *thread; ///< whose; only compared
  int64_t jobs;                       ///< jobs begun until then
  int64_t calls;                      ///< struct policy_progress
  int64_t record;                     ///< likewise
  int64_t since_ms;                   ///< since when nothing has changed, monotonic
  int64_t used_ms;                    ///< processor time of the thread then
  int64_t call_used_ms;               ///< likewise when the call was first seen
};

struct policy_runner {
  pthread_mutex_t lock;            ///< guards what follows, but for what is said to be others'. A leaf
  pthread_cond_t arrived;          ///< there is a job, a set, or the end
  struct list queue;               ///< jobs, oldest first
  struct runner_thread *thread;    ///< serves the queue; NULL: none
  const struct policy_set *latest; ///< to go over to, referenced; NULL: there are no policies
  int64_t version;                 ///< of that
  int64_t jobs;                    ///< begun so far
  int64_t submitted;               ///< so far
  bool is_ending;                  ///< the thread ends when the queue is empty
  struct policy_choices *choices;  ///< owned; for the thread that serves it
  struct runner_look look;         ///< the control thread's
  bool is_slow;                    ///< the one for what may take minutes: not watched
  int index;                       ///< its number
};

struct policy_runners {
  _Atomic(int) refs;          ///< the owner's, and one for each thread
  _Atomic(int) lost;          ///< threads that have not come back
  _Atomic(bool) is_needed;    ///< see policy_runners_are_needed()
  _Atomic(bool) is_watching;  ///< the timer runs, or the mail that starts it is on its way
  _Atomic(int64_t) hurry_ms;  ///< monotonic time from which on no call may last; INT64_MAX: while it progresses
  bool has_policies;          ///< the latest set has some of the user's. Control thread
  pthread_mutex_t lock;       ///< guards `alive` and `is_stopped`; held while a lost thread gives back its job
  pthread_cond_t ended;       ///< `alive` has changed
  int alive;                  ///< threads that serve a queue
  bool is_stopped;            ///< what lost threads have stays with them
  struct event_loop *control; ///< whose timer watches
  struct policy_cache *cache; ///< where sets are found
  pthread_mutex_t spare_lock; ///< guards `spare`. A leaf
  struct record_buffer spare[RUNNERS_SPARE]; ///< memory to use again, owned
  int spare_count;                           ///< how many
  struct timer watch;                        ///< looks. Control thread
  struct mail watch_mail;                    ///< has it started
  int count;                                 ///< runners that are partitions' homes
  struct policy_runner runners[];            ///< those, and the slow one behind them
};

/// Starts a thread for the queue. Holding the runner's lock.
int runner_start(struct policy_runners *runners, struct policy_runner *runner);

/// Ends a job that no thread is at: `done`, where it is to be called, or else on the control loop.
void runner_post(struct policy_runners *runners, struct policy_job *job);

/// Answers all that waits for a thread that cannot be had. Holding the runner's lock.
void runner_refuse(struct policy_runners *runners, struct policy_runner *runner);

/// Counts threads that serve a queue.
void runner_count_alive(struct policy_runners *runners, int by);

/// Has the watch started. Any thread.
void runners_begin_watch(struct policy_runners *runners);
