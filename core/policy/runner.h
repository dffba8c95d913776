// SPDX-License-Identifier: Apache-2.0
//
// Threads that run policies on records, beside the workers: a function of the user's that is slow, or never returns,
// holds up nobody's connection. There are as many as workers, started when a set with policies of the user's comes.
//
//   worker: policy_runners_submit(job) -> queue of the partition's home -> runner: job->run(job) -> mail -> worker
//
// The home of a partition is one runner, so its jobs run one after another in the order in which they came, and local
// variables of a policy are its own. A runner is a plain thread with a queue under a lock: the queue can be taken away
// from a thread that does not come back. Jobs run outside the epoch; they enter it for what they read there.
//
// A call that never returns (a function with `jit = true`, which no hook can stop, or one of a C library) is noticed by
// a timer of the control loop, which runs while there are jobs: within a second it is reported by name, its job is
// answered with an error and abandoned, and a new thread with a new VM takes the queue. The lost thread ends if the
// call ever does. Whether a call makes progress is told by struct policy_progress: a record, not a batch, has to come
// to an end.
//
//   state of a job:   waits -> runs <-> calls -> done          abandoned is final, and is entered out of `calls` alone:
//                                         \----> abandoned     what a job does itself is never cut off
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/uuid.h"
#include "event/mail.h"
#include "policy/partitioners.h"
#include "policy/policy.h"
#include "policy/vm.h"
#include "record/split.h"

struct event_loop;
struct metric_samples;
struct policy_choices;
struct policy_job;
struct policy_runners;

enum {
  POLICY_STUCK_MS = 700,           ///< a record that takes longer is stuck, or twice its set's budget if that is more
  POLICY_STUCK_USED_MS = 100,      ///< provided that the thread had that much of a processor in that time; or
  POLICY_STUCK_WAITING_MS = 10000, ///< if it had less: it waits for something (`unsafe`), or the machine is overloaded
  POLICY_LOST_MAX = 8,             ///< lost threads from which on a policy that loses one more is switched off
};

/// Memory of a runner's thread that is kept from job to job; what a job leaves in it is gone with the next one.
struct policy_scratch {
  struct batch_records records; ///< of a batch that came in
  struct batch_records share;   ///< of a share of it
  struct batch_split split;     ///< a batch that is divided
  struct arena arena;           ///< for what a VM makes
  struct policy_turns turns;    ///< of batches that one of our partitioners divides here
};

/// Something to be done by a runner. On the heap of its own, as it may be abandoned: the runner's from submit until
/// `done`, or for ever.
struct policy_job {
  struct list node;            ///< private: in a queue
  struct mail mail;            ///< private: carries `done`
  _Atomic(int) state;          ///< private: see above
  const struct policy *policy; ///< private: which is called
  struct event_loop *reply;    ///< loop of `done`; NULL: it is called where the job ran, inside the epoch, and for an
                               ///< abandoned one on the control loop
  struct policy_scratch *scratch; ///< in `run`: memory of the thread
  struct policy_choices *choices; ///< in `run`: what the home remembers (policy/choices.h)
  int result;                     ///< out: 0; ERR_SCRIPT: there is no VM, or the job was abandoned; `failure` tells
  bool is_refused;                ///< out: no thread could be had, and it has never run; `result` is ERR_SCRIPT
  struct policy_failure failure;  ///< out

  /// Does the work, on a runner's thread, outside the epoch; may wait for disks and take long. Policies are called by
  /// policy_job_partition() and policy_job_transform() alone; once one of them says ERR_CLOSED it touches nothing more
  /// and returns.
  ///
  /// @param set  that `vm` was made for, borrowed for the call: what holds for a topic is looked up here, so that a
  ///             reload happens between two jobs. NULL: there are no policies any more
  /// @param vm   NULL when the set has no policies of the user's, or `result` says that there is none
  void (*run)(struct policy_job *job, const struct policy_set *set, struct policy_vm *vm);
  /// It has run, or has been abandoned: then the thread may still be using everything that the job refers to, and
  /// `done` must leave it alone but for answering whoever waits. On `reply`.
  void (*done)(struct policy_job *job, bool is_abandoned);
  /// An abandoned job has come back after all. On the lost thread, maybe before `done`, and never once
  /// policy_runners_stop() has returned: then what the job refers to stays until the process ends. NULL: it stays in
  /// any case.
  void (*returned)(struct policy_job *job);
};

/// @param count    runners, one for each worker
/// @param control  loop whose timer watches them
/// @param cache    where new sets are found
struct policy_runners *policy_runners_new(int count, struct event_loop *control, struct policy_cache *cache);

/// The broker stops: calls that are under way at `at_ms` (clock_mono_ms()) are given up, however they progress. Any
/// thread.
void policy_runners_hurry(struct policy_runners *runners, int64_t at_ms);

/// Waits for jobs under way, but not for lost ones. When nobody submits any more, while the loops run. NULL is fine.
void policy_runners_stop(struct policy_runners *runners);

/// When the control loop has ended, too. NULL is fine.
void policy_runners_delete(struct policy_runners *runners);

/// Has every runner go over to the cache's current set, between two jobs: those submitted from now on meet it. Where no
/// VM can be made for it, which is logged, jobs that need one get the reason, and it is tried again once a second while
/// there are jobs. Control thread, or before it runs.
void policy_runners_reload(struct policy_runners *runners);

/// Whether batches may be with runners, or have to go there: the one test that topics without policies pay for. Any
/// thread.
bool policy_runners_are_needed(const struct policy_runners *runners);

/// Queues a job at the home of a partition. Any thread.
void policy_runners_submit(struct policy_runners *runners, const struct uuid *topic_id, int32_t partition,
                           struct policy_job *job);

/// Queues a job at the runner for what may take minutes (`archive` copies a segment): it has a thread and a VM of its
/// own, is started by the first such job, and nobody watches it. When the broker stops it has some seconds; then it is
/// left to itself, and what waits is never done. Any thread, inside the epoch.
///
/// @return 0; ERR_CLOSED when the broker stops, ERR_NOMEM ...: then the job is the caller's as before
int policy_runners_submit_slow(struct policy_runners *runners, struct policy_job *job);

/// Whether two partitions of a topic have the same home.
bool policy_runners_share_home(const struct policy_runners *runners, const struct uuid *topic_id, int32_t a, int32_t b);

/// The only way to call a VM out of a job: watched, and counted. As policy_vm_class.partition.
///
/// @return 0; ERR_SCRIPT with `failure` filled; ERR_CLOSED when the job was abandoned meanwhile
int policy_job_partition(struct policy_job *job, struct policy_vm *vm, const struct policy *policy,
                         const struct policy_batch *batch, int32_t partitions, int32_t *chosen,
                         struct policy_failure *failure);

/// The same for policy_vm_class.transform.
int policy_job_transform(struct policy_job *job, struct policy_vm *vm, const struct policy *policy,
                         const struct policy_batch *batch, const struct policy_client *client,
                         struct policy_output *output, struct policy_failure *failure);

/// The same for policy_vm_class.segment, with a time that counts what it waits for.
int policy_job_segment(struct policy_job *job, struct policy_vm *vm, const struct policy *policy,
                       const struct policy_segment *segment, bool *goes, struct policy_failure *failure);

/// Memory for a batch that goes from a runner to an appender, and comes back from another thread: what was given back,
/// or an empty buffer. Its pages are there already, which those of a fresh one are not. Any thread.
void policy_runners_take_buffer(struct policy_runners *runners, struct record_buffer *buffer);

/// Gives it back; the buffer may hold nothing afterwards.
void policy_runners_give_buffer(struct policy_runners *runners, struct record_buffer *buffer);

/// Threads that did not come back so far, and have not yet. Any thread.
int policy_runners_lost(const struct policy_runners *runners);

/// Source of metrics "policy.*" (base/metrics.h). Any thread. @param arg  the runners
void policy_runners_collect(void *arg, struct metric_samples *out);
