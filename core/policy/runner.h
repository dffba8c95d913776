// SPDX-License-Identifier: Apache-2.0
//
// Threads that run policies on records, beside the workers: a function of the user's that is slow, or never returns,
// holds up nobody's connection. There are as many as workers, started when a set with policies of the user's comes.
//
//   worker: policy_runner_submit(job) -> queue of the partition's home -> runner: job->run(job, vm) -> mail -> worker
//
// The home of a partition is one runner, so its jobs run one after another in the order in which they came, and local
// variables of a policy are its own. A runner is a plain thread with a queue under a lock: the queue can be taken away
// from a thread that does not come back. Jobs run outside the epoch; they enter it for what they read there.
//
// A compiled function that never returns (`jit = true`: no hook can stop it) is noticed by a timer of the control loop:
// within a second it is reported by name, its job is answered with an error and abandoned, and a new thread with a new
// VM takes the queue. The lost thread ends if the function ever does.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/uuid.h"
#include "event/mail.h"
#include "policy/policy.h"
#include "policy/vm.h"

struct event_loop;
struct metric_samples;
struct policy_job;
struct policy_runners;

/// Something to be done by a runner. On the heap of its own, as it may be abandoned: the runner's from submit until
/// `done`, or for ever.
struct policy_job {
  struct list node;         ///< private: in a queue
  struct mail mail;         ///< private: carries `done`
  _Atomic(int) state;       ///< private: waits, runs, done, abandoned
  struct event_loop *reply; ///< loop of `done`; NULL: it is called where the job ran, inside the epoch
  int result;               ///< out: 0; ERR_SCRIPT: the VM cannot be made, or the job was abandoned; `failure` tells
  struct policy_failure failure; ///< out

  /// Does the work, on a runner's thread, outside the epoch; may wait for disks and take long.
  ///
  /// @param set  that `vm` was made for, borrowed for the call: what holds for a topic is looked up here, so that a
  ///             reload happens between two jobs. NULL: there are no policies any more
  /// @param vm   NULL when the set has no policies of the user's
  void (*run)(struct policy_job *job, const struct policy_set *set, struct policy_vm *vm);
  /// It has run, or has been abandoned: `is_abandoned`, then the thread may still be using everything that the job
  /// refers to, and `done` must leave it alone but for answering whoever waits. On `reply`.
  void (*done)(struct policy_job *job, bool is_abandoned);
  /// An abandoned job has come back after all. On the lost thread, after `done`; frees it.
  void (*returned)(struct policy_job *job);
};

/// @param count    runners, one for each worker
/// @param control  loop whose timer watches them
/// @param cache    where new sets are found
struct policy_runners *policy_runners_new(int count, struct event_loop *control, struct policy_cache *cache);

/// Waits for jobs under way, but not for lost ones. When nobody submits any more, while the loops run. NULL is fine.
void policy_runners_stop(struct policy_runners *runners);
void policy_runners_delete(struct policy_runners *runners);

/// Has every runner go over to the cache's current set, between two jobs. Control thread.
void policy_runners_reload(struct policy_runners *runners);

/// Queues a job at the home of a partition. Any thread that is a loop.
void policy_runners_submit(struct policy_runners *runners, const struct uuid *topic_id, int32_t partition,
                           struct policy_job *job);

/// Queues a job at the runner for what may take minutes (`archive` copies a segment), which has a thread and a VM of
/// its own and is not watched: it is started by the first such job. Any thread.
void policy_runners_submit_slow(struct policy_runners *runners, struct policy_job *job);

/// Source of metrics "policy.*" (base/metrics.h). Any thread.
void policy_runners_collect(void *arg, struct metric_samples *out);
