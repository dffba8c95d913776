// SPDX-License-Identifier: Apache-2.0
//
// The watch over runners, a timer of the control loop that runs while they have something to do: an idle broker has no
// wake-ups. It sees records go by, and when one does not, it takes the queue away from the thread.
#include <stdio.h>

#include "base/error.h"
#include "base/list.h"
#include "base/slog.h"
#include "event/loop.h"
#include "os/thread.h"
#include "policy/runner_private.h"

enum { RUNNER_LOOK_MS = 100 }; // between two looks at runners that have jobs

/// Takes the queue from a thread that is stuck in a call. Holding the runner's lock.
static void runner_abandon(struct policy_runners *runners, struct policy_runner *runner, int64_t stuck_ms)
{
  struct policy_job *job = runner->thread->job;
  int state = JOB_CALLS;
  // A lost thread takes this lock before it ends.
  pthread_mutex_lock(&runners->lock);
  bool is_lost = atomic_compare_exchange_strong(&job->state, &state, JOB_ABANDONED);
  if (is_lost && thread_set_idle(runner->thread->thread) < 0) {
    slog_warn("%s", error_last()->message);
  }
  pthread_mutex_unlock(&runners->lock);
  if (!is_lost) {
    return; // it has come back just now
  }
  const struct policy *policy = job->policy;
  int lost = atomic_fetch_add(&runners->lost, 1) + 1;
  job->result = ERR_SCRIPT;
  job->failure.index = -1;
  char title[POLICY_TEXT_SIZE - 64];
  policy_title_at(policy, NULL, title, sizeof title);
  snprintf(job->failure.text, sizeof job->failure.text, "%s has not returned for %lld ms", title, (long long)stuck_ms);
  policy_count(policy, 0, 0, job->failure.text);
  slog_error("%s: its thread is given up, %d %s not come back so far", job->failure.text, lost,
             lost == 1 ? "has" : "have");
  if (lost >= POLICY_LOST_MAX) {
    atomic_store(&policy->counters->is_off, true);
    slog_error("%s is off until the next reload", title);
  }
  runner->thread = NULL;
  runner_count_alive(runners, -1);
  runner_post(runners, job);
  if ((!runner->is_ending || !list_is_empty(&runner->queue)) && runner_start(runners, runner) < 0) {
    runner_refuse(runners, runner); // at the end of the broker nobody would try again
  }
}

/// Whether a thread's call makes no progress any more. Holding the runner's lock.
static bool runner_is_stuck(const struct policy_runners *runners, struct policy_runner *runner, int64_t now_ms,
                            int64_t *stuck_ms)
{
  const struct runner_thread *thread = runner->thread;
  struct runner_look *look = &runner->look;
  const struct policy_job *job = thread->job;
  if (job == NULL || thread->vm == NULL || atomic_load_explicit(&job->state, memory_order_acquire) != JOB_CALLS) {
    look->thread = NULL;
    return false;
  }
  int64_t calls = atomic_load_explicit(&thread->vm->progress.calls, memory_order_relaxed);
  int64_t record = atomic_load_explicit(&thread->vm->progress.record, memory_order_relaxed);
  int64_t used_ms = thread_used_ms(thread->thread);
  bool is_same_call = look->thread == thread && look->jobs == runner->jobs && look->calls == calls;
  if (!is_same_call || look->record != record) {
    *look = (struct runner_look){.thread = thread,
                                 .jobs = runner->jobs,
                                 .calls = calls,
                                 .record = record,
                                 .since_ms = now_ms,
                                 .used_ms = used_ms,
                                 .call_used_ms = is_same_call ? look->call_used_ms : used_ms};
    // Interpreted functions look at the clock themselves.
    if (used_ms - look->call_used_ms > policy_call_budget_ms(thread->set->budget_ms)) {
      atomic_store_explicit(&thread->vm->progress.stop, (int32_t)calls, memory_order_relaxed);
    }
    return now_ms >= atomic_load_explicit(&runners->hurry_ms, memory_order_relaxed);
  }
  // A budget is processor time, and the VM sees to it itself where it can.
  int64_t budget_ms = thread->set->budget_ms;
  int64_t limit_ms = 2 * budget_ms > POLICY_STUCK_MS ? 2 * budget_ms : POLICY_STUCK_MS;
  int64_t limit_used_ms = 2 * budget_ms > POLICY_STUCK_USED_MS ? 2 * budget_ms : POLICY_STUCK_USED_MS;
  *stuck_ms = now_ms - look->since_ms;
  return (*stuck_ms >= limit_ms && used_ms - look->used_ms >= limit_used_ms) ||
         *stuck_ms >= limit_ms + POLICY_STUCK_WAITING_MS;
}

/// Looks at one runner. @return whether it has something to do
static bool runner_look(struct policy_runners *runners, struct policy_runner *runner, int64_t now_ms)
{
  pthread_mutex_lock(&runner->lock);
  int64_t stuck_ms = 0;
  if (runner->thread != NULL) {
    if (runner_is_stuck(runners, runner, now_ms, &stuck_ms)) {
      runner_abandon(runners, runner, stuck_ms);
    }
  } else if (!list_is_empty(&runner->queue) && runner_start(runners, runner) < 0) {
    runner_refuse(runners, runner);
  }
  bool is_busy = !list_is_empty(&runner->queue) || (runner->thread != NULL && runner->thread->job != NULL);
  pthread_mutex_unlock(&runner->lock);
  return is_busy;
}

static void runners_watch(struct timer *timer)
{
  struct policy_runners *runners = CONTAINER_OF(timer, struct policy_runners, watch);
  int64_t now_ms = event_loop_now_ms(runners->control);
  // First, so that who submits from now on starts the timer if this look does not see it.
  atomic_store(&runners->is_watching, false);
  bool is_busy = false;
  for (int i = 0; i < runners->count; i++) {
    is_busy |= runner_look(runners, &runners->runners[i], now_ms);
  }
  if (!is_busy) {
    atomic_store(&runners->is_needed, runners->has_policies);
  } else if (!atomic_exchange(&runners->is_watching, true)) {
    timer_start(runners->control, &runners->watch, RUNNER_LOOK_MS, runners_watch);
  }
}

static void runners_start_watch(struct mail *mail)
{
  struct policy_runners *runners = CONTAINER_OF(mail, struct policy_runners, watch_mail);
  timer_start(runners->control, &runners->watch, RUNNER_LOOK_MS, runners_watch);
}

void runners_begin_watch(struct policy_runners *runners)
{
  if (!atomic_load(&runners->is_watching) && !atomic_exchange(&runners->is_watching, true)) {
    runners->watch_mail.run = runners_start_watch;
    event_loop_post(runners->control, &runners->watch_mail);
  }
}
