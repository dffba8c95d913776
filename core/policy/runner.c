// SPDX-License-Identifier: Apache-2.0
//
// A runner is a queue, the thread that serves it now, and what has to stay when that thread does not come back. Threads
// are detached: a lost one owns itself, and with a reference the memory of all runners.
#include "policy/runner.h"

#include <stdio.h>
#include <time.h>

#include "base/check.h"
#include "base/epoch.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "event/loop.h"
#include "os/clock.h"
#include "os/thread.h"
#include "policy/choices.h"
#include "policy/runner_private.h"

enum {
  RUNNER_RETRY_MS = 1000,               // between two tries to make a VM that cannot be made
  RUNNER_SLOW_STOP_MS = 3000,           // for the slow runner to come to an end when the broker stops
  RUNNER_SLOW_WAIT_MS = 100,            // between two looks whether it has
  SCRATCH_KEPT_BYTES = 4 * 1024 * 1024, // memory of a thread that is kept between jobs, of each kind
};

static const struct metric POLICY_RUNNERS = {"policy.runners", NULL, METRIC_GAUGE, "threads that run policies"};
static const struct metric POLICY_JOBS = {"policy.jobs", NULL, METRIC_COUNTER, "batches that went there"};
static const struct metric POLICY_WAITING = {"policy.waiting", NULL, METRIC_GAUGE, "batches that wait for a thread"};
static const struct metric POLICY_LOST = {"policy.lost", NULL, METRIC_GAUGE, "threads that have not come back"};

static void *runner_run(void *arg);

static void runners_unref(struct policy_runners *runners)
{
  if (atomic_fetch_sub_explicit(&runners->refs, 1, memory_order_acq_rel) == 1) {
    while (runners->spare_count > 0) {
      record_buffer_destroy(&runners->spare[--runners->spare_count]);
    }
    pthread_mutex_destroy(&runners->spare_lock);
    pthread_mutex_destroy(&runners->lock);
    pthread_cond_destroy(&runners->ended);
    mem_free(runners);
  }
}

// ---- threads ----

void runner_count_alive(struct policy_runners *runners, int by)
{
  pthread_mutex_lock(&runners->lock);
  runners->alive += by;
  pthread_cond_broadcast(&runners->ended);
  pthread_mutex_unlock(&runners->lock);
}

int runner_start(struct policy_runners *runners, struct policy_runner *runner)
{
  struct runner_thread *thread = mem_zalloc(sizeof *thread);
  thread->runners = runners;
  thread->runner = runner;
  thread->version = -1;
  char name[32];
  snprintf(name, sizeof name, "luka-policy-%d", runner->index);
  atomic_fetch_add_explicit(&runners->refs, 1, memory_order_relaxed);
  runner_count_alive(runners, 1);
  runner->thread = thread;
  int result = thread_start(&thread->thread, name, runner_run, thread);
  if (result < 0) {
    slog_error("%s", error_last()->message);
    runner->thread = NULL;
    runner_count_alive(runners, -1);
    runners_unref(runners);
    mem_free(thread);
    return result;
  }
  pthread_detach(thread->thread);
  return 0;
}

static void runner_deliver(struct mail *mail)
{
  struct policy_job *job = CONTAINER_OF(mail, struct policy_job, mail);
  job->done(job, atomic_load_explicit(&job->state, memory_order_acquire) == JOB_ABANDONED);
}

void runner_post(struct policy_runners *runners, struct policy_job *job)
{
  job->mail.run = runner_deliver;
  event_loop_post(job->reply != NULL ? job->reply : runners->control, &job->mail);
}

/// Whether a runner needs a VM for a set.
static bool runner_needs_vm(const struct policy_runner *runner, const struct policy_set *set)
{
  return runner->is_slow ? policy_set_has(set, POLICY_RETENTION, POLICY_ARCHIVE)
                         : policy_set_has(set, POLICY_PARTITIONER, POLICY_WHERE);
}

/// Goes over to the latest set, with a new VM if it needs one. Where there is none to be had the set is known all the
/// same, and what has policies there is refused: functions of before are no substitute for those that have come. It
/// tries again from time to time. Holding the runner's lock, which is let go meanwhile.
static void runner_adopt(struct policy_runner *runner, struct runner_thread *thread)
{
  const struct policy_set *set = runner->latest != NULL ? policy_set_ref(runner->latest) : NULL;
  const struct policy_set *old_set = thread->set;
  struct policy_vm *old_vm = thread->vm;
  thread->version = runner->version;
  thread->set = NULL;
  thread->vm = NULL;
  pthread_mutex_unlock(&runner->lock);
  // Before there is another one: its memory may be what the other one lacks.
  if (old_vm != NULL) {
    old_vm->class->free(old_vm);
  }
  if (old_set != NULL) {
    policy_set_unref(old_set);
  }
  struct policy_vm *vm = NULL;
  int result = set != NULL && runner_needs_vm(runner, set) ? set->new_vm(set, &vm) : 0;
  thread->failure.text[0] = '\0';
  if (result < 0) {
    slog_error("policies: runner %d has none: %s", runner->index, error_last()->message);
    snprintf(thread->failure.text, sizeof thread->failure.text, "policies cannot be run: %.400s",
             error_last()->message);
    thread->failure.index = -1;
    thread->retry_ms = clock_mono_ms() + RUNNER_RETRY_MS;
  }
  pthread_mutex_lock(&runner->lock);
  thread->set = set;
  thread->vm = vm;
}

/// Whether it is time to make the VM of the latest set, for the first time or again. Holding the lock.
static bool runner_is_to_adopt(const struct policy_runner *runner, const struct runner_thread *thread)
{
  return thread->version != runner->version ||
         (thread->failure.text[0] != '\0' && !list_is_empty(&runner->queue) && clock_mono_ms() >= thread->retry_ms);
}

/// The next job, NULL: the end.
static struct policy_job *runner_take(struct policy_runner *runner, struct runner_thread *thread)
{
  struct policy_job *job = NULL;
  pthread_mutex_lock(&runner->lock);
  thread->job = NULL;
  for (;;) {
    if (runner_is_to_adopt(runner, thread)) {
      runner_adopt(runner, thread);
    } else if (!list_is_empty(&runner->queue)) {
      job = CONTAINER_OF(runner->queue.next, struct policy_job, node);
      list_remove(&job->node);
      runner->jobs++;
      thread->job = job;
      atomic_store_explicit(&job->state, JOB_RUNS, memory_order_relaxed);
      break;
    } else if (runner->is_ending) {
      runner->thread = NULL;
      break;
    } else {
      pthread_cond_wait(&runner->arrived, &runner->lock);
    }
  }
  pthread_mutex_unlock(&runner->lock);
  return job;
}

void runner_refuse(struct policy_runners *runners, struct policy_runner *runner)
{
  while (!list_is_empty(&runner->queue)) {
    struct policy_job *job = CONTAINER_OF(runner->queue.next, struct policy_job, node);
    list_remove(&job->node);
    runner->jobs++;
    job->result = ERR_SCRIPT;
    job->is_refused = true;
    job->failure.index = -1;
    snprintf(job->failure.text, sizeof job->failure.text, "policies cannot be run: no thread can be started");
    atomic_store_explicit(&job->state, JOB_DONE, memory_order_release);
    runner_post(runners, job);
  }
}

static void records_trim(struct batch_records *records)
{
  size_t array_bytes = (size_t)records->room * sizeof *records->records;
  if (array_bytes + records->iterator.unpacked.capacity > SCRATCH_KEPT_BYTES) {
    batch_records_close(records);
  }
}

/// Frees what an unusually large batch has left: a few packed bytes may have been a hundred times as many.
static void scratch_trim(struct policy_scratch *scratch)
{
  records_trim(&scratch->records);
  records_trim(&scratch->share);
  if (scratch->split.plain.capacity + scratch->split.out.capacity > SCRATCH_KEPT_BYTES) {
    batch_split_destroy(&scratch->split);
  }
  if (scratch->arena.total > SCRATCH_KEPT_BYTES) {
    arena_reset(&scratch->arena);
  }
}

/// Runs a job. @return false when it was abandoned, and this thread is lost
static bool runner_do(struct runner_thread *thread, struct policy_job *job)
{
  job->scratch = &thread->scratch;
  job->choices = thread->runner->choices;
  job->result = 0;
  if (thread->failure.text[0] != '\0') {
    job->result = ERR_SCRIPT;
    job->failure = thread->failure;
  }
  job->run(job, thread->set, thread->vm);
  int state = JOB_RUNS;
  if (!atomic_compare_exchange_strong(&job->state, &state, JOB_DONE)) {
    CHECK(state == JOB_ABANDONED);
    return false;
  }
  scratch_trim(&thread->scratch);
  // The watch may be looking at it, and it goes with `done`.
  pthread_mutex_lock(&thread->runner->lock);
  thread->job = NULL;
  pthread_mutex_unlock(&thread->runner->lock);
  if (job->reply == NULL) {
    epoch_enter();
    job->done(job, false);
    epoch_leave();
  } else {
    runner_post(thread->runners, job);
  }
  return true;
}

/// A lost thread has come back: gives its job back, unless nobody is there any more who could take it.
static void runner_return(struct policy_runners *runners, struct policy_job *job)
{
  pthread_mutex_lock(&runners->lock);
  atomic_fetch_sub(&runners->lost, 1);
  if (!runners->is_stopped && job->returned != NULL) {
    job->returned(job);
  }
  pthread_mutex_unlock(&runners->lock);
}

static void scratch_destroy(struct policy_scratch *scratch)
{
  batch_records_close(&scratch->records);
  batch_records_close(&scratch->share);
  batch_split_destroy(&scratch->split);
  arena_destroy(&scratch->arena);
}

static void *runner_run(void *arg)
{
  struct runner_thread *thread = arg;
  struct policy_runners *runners = thread->runners;
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  // Refused where the broker was started with another policy, which is then the one to keep.
  if (thread_set_batch(true) < 0) {
    slog_debug("runner: %s", error_last()->message);
  }
  bool is_lost = false;
  for (struct policy_job *job = runner_take(thread->runner, thread); job != NULL;
       job = runner_take(thread->runner, thread)) {
    if (!runner_do(thread, job)) {
      is_lost = true;
      runner_return(runners, job);
      break;
    }
  }
  if (thread->vm != NULL) {
    thread->vm->class->free(thread->vm);
  }
  if (thread->set != NULL) {
    policy_set_unref(thread->set);
  }
  scratch_destroy(&thread->scratch);
  mem_free(thread);
  epoch_unregister();
  if (!is_lost) {
    runner_count_alive(runners, -1);
  }
  runners_unref(runners);
  return NULL;
}

// ---- calls ----

/// Before a call: the watch may abandon the job from now on.
static int runner_begin_call(struct policy_job *job, const struct policy *policy, struct policy_failure *failure)
{
  if (atomic_load_explicit(&policy->counters->is_off, memory_order_relaxed)) {
    char title[POLICY_TEXT_SIZE - 96];
    policy_title_at(policy, NULL, title, sizeof title);
    snprintf(failure->text, sizeof failure->text,
             "%s is off until the next reload, since too many of its calls did not return", title);
    failure->index = -1;
    return ERR_SCRIPT;
  }
  job->policy = policy;
  atomic_store_explicit(&job->state, JOB_CALLS, memory_order_release);
  return 0;
}

/// After it: ERR_CLOSED when the job was abandoned.
static int runner_end_call(struct policy_job *job, const struct policy *policy, int64_t calls, int64_t ns, int result,
                           const struct policy_failure *failure)
{
  int state = JOB_CALLS;
  if (!atomic_compare_exchange_strong(&job->state, &state, JOB_RUNS)) {
    return ERR_CLOSED;
  }
  policy_count(policy, calls, ns, result < 0 ? failure->text : NULL);
  return result;
}

/// The header of the batch that records are of; on their way out they are copies, of the only batch that there is.
static const struct batch_header *runner_header(const struct policy_job *job, const struct policy_batch *batch)
{
  const struct policy_scratch *scratch = job->scratch;
  bool is_share = scratch->share.records != NULL && batch->records == scratch->share.records;
  return &(is_share ? &scratch->share : &scratch->records)->iterator.header;
}

int policy_job_partition(struct policy_job *job, struct policy_vm *vm, const struct policy *policy,
                         const struct policy_batch *batch, int32_t partitions, int32_t *chosen,
                         struct policy_failure *failure)
{
  TRY(runner_begin_call(job, policy, failure));
  struct policy_batch known = *batch;
  known.header = runner_header(job, batch);
  int64_t start_ns = clock_thread_ns();
  int result = vm->class->partition(vm, policy, &known, partitions, chosen, failure);
  return runner_end_call(job, policy, batch->count, clock_thread_ns() - start_ns, result, failure);
}

int policy_job_transform(struct policy_job *job, struct policy_vm *vm, const struct policy *policy,
                         const struct policy_batch *batch, const struct policy_client *client,
                         struct policy_output *output, struct policy_failure *failure)
{
  TRY(runner_begin_call(job, policy, failure));
  struct policy_batch known = *batch;
  known.header = runner_header(job, batch);
  int64_t start_ns = clock_thread_ns();
  int result = vm->class->transform(vm, policy, &known, client, output, failure);
  return runner_end_call(job, policy, batch->count, clock_thread_ns() - start_ns, result, failure);
}

int policy_job_segment(struct policy_job *job, struct policy_vm *vm, const struct policy *policy,
                       const struct policy_segment *segment, bool *goes, struct policy_failure *failure)
{
  TRY(runner_begin_call(job, policy, failure));
  int64_t start_ns = clock_mono_ns();
  int result = vm->class->segment(vm, policy, segment, goes, failure);
  return runner_end_call(job, policy, 1, clock_mono_ns() - start_ns, result, failure);
}

// ---- for others ----

struct policy_runners *policy_runners_new(int count, struct event_loop *control, struct policy_cache *cache)
{
  CHECK(count > 0);
  struct policy_runners *runners = mem_zalloc(sizeof *runners + (size_t)(count + 1) * sizeof runners->runners[0]);
  atomic_init(&runners->refs, 1);
  atomic_init(&runners->hurry_ms, INT64_MAX);
  runners->control = control;
  runners->cache = cache;
  runners->count = count;
  pthread_mutex_init(&runners->lock, NULL);
  pthread_mutex_init(&runners->spare_lock, NULL);
  pthread_cond_init(&runners->ended, NULL);
  for (int i = 0; i <= count; i++) {
    struct policy_runner *runner = &runners->runners[i];
    runner->index = i;
    runner->is_slow = i == count;
    runner->choices = policy_choices_new();
    list_create(&runner->queue);
    pthread_mutex_init(&runner->lock, NULL);
    pthread_cond_init(&runner->arrived, NULL);
  }
  return runners;
}

/// Waits for a moment, or until a thread has ended.
static void runners_wait_ended(struct policy_runners *runners, int64_t ms)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += (long)ms * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&runners->lock);
  if (runners->alive > 0) {
    pthread_cond_timedwait(&runners->ended, &runners->lock, &until);
  }
  pthread_mutex_unlock(&runners->lock);
}

/// Gives the slow runner a while to come to an end: what it is at may take hours. Then it is left alone.
static void runners_wait_slow(struct policy_runners *runners)
{
  struct policy_runner *slow = &runners->runners[runners->count];
  int64_t end_ms = clock_mono_ms() + RUNNER_SLOW_STOP_MS;
  for (;;) {
    pthread_mutex_lock(&slow->lock);
    struct runner_thread *thread = slow->thread;
    int state = JOB_CALLS;
    bool is_left = thread != NULL && clock_mono_ms() >= end_ms && thread->job != NULL &&
                   atomic_compare_exchange_strong(&thread->job->state, &state, JOB_ABANDONED);
    if (is_left) {
      slog_warn("policies: a segment's policy does not come to an end, and is left to itself");
      atomic_fetch_add(&runners->lost, 1);
      slow->thread = NULL;
      runner_count_alive(runners, -1);
    }
    pthread_mutex_unlock(&slow->lock);
    if (thread == NULL || is_left) {
      return;
    }
    runners_wait_ended(runners, RUNNER_SLOW_WAIT_MS);
  }
}

void policy_runners_hurry(struct policy_runners *runners, int64_t at_ms)
{
  atomic_store_explicit(&runners->hurry_ms, at_ms, memory_order_relaxed);
}

void policy_runners_stop(struct policy_runners *runners)
{
  if (runners == NULL) {
    return;
  }
  for (int i = 0; i <= runners->count; i++) {
    struct policy_runner *runner = &runners->runners[i];
    pthread_mutex_lock(&runner->lock);
    runner->is_ending = true;
    pthread_cond_signal(&runner->arrived);
    pthread_mutex_unlock(&runner->lock);
  }
  runners_wait_slow(runners);
  pthread_mutex_lock(&runners->lock);
  while (runners->alive > 0) {
    pthread_cond_wait(&runners->ended, &runners->lock);
  }
  runners->is_stopped = true;
  pthread_mutex_unlock(&runners->lock);
}

void policy_runners_delete(struct policy_runners *runners)
{
  if (runners == NULL) {
    return;
  }
  for (int i = 0; i <= runners->count; i++) {
    struct policy_runner *runner = &runners->runners[i];
    CHECK(runner->thread == NULL && (runner->is_slow || list_is_empty(&runner->queue)));
    if (runner->latest != NULL) {
      policy_set_unref(runner->latest);
    }
    policy_choices_delete(runner->choices);
    pthread_cond_destroy(&runner->arrived);
    pthread_mutex_destroy(&runner->lock);
  }
  runners_unref(runners);
}

void policy_runners_reload(struct policy_runners *runners)
{
  const struct policy_set *set = policy_cache_get(runners->cache);
  runners->has_policies = policy_set_has(set, POLICY_PARTITIONER, POLICY_WHERE);
  for (int i = 0; i <= runners->count; i++) {
    struct policy_runner *runner = &runners->runners[i];
    pthread_mutex_lock(&runner->lock);
    const struct policy_set *before = runner->latest;
    runner->latest = set != NULL ? policy_set_ref(set) : NULL;
    runner->version++;
    if (runners->has_policies && runner->thread == NULL && !runner->is_slow) {
      runner_start(runners, runner); // a failure is logged, and tried again with the first job
    }
    pthread_cond_signal(&runner->arrived);
    pthread_mutex_unlock(&runner->lock);
    if (before != NULL) {
      policy_set_unref(before);
    }
  }
  if (runners->has_policies) {
    atomic_store(&runners->is_needed, true);
  } else {
    runners_begin_watch(runners); // it sees when nobody needs them any more
  }
}

bool policy_runners_are_needed(const struct policy_runners *runners)
{
  return atomic_load_explicit(&runners->is_needed, memory_order_acquire);
}

static int runners_home(const struct policy_runners *runners, const struct uuid *topic_id, int32_t partition)
{
  uint64_t hash = hash_bytes(topic_id, sizeof *topic_id, 0);
  // Neighbours live apart.
  return (int)((hash + (uint32_t)partition) % (uint64_t)runners->count);
}

bool policy_runners_share_home(const struct policy_runners *runners, const struct uuid *topic_id, int32_t a, int32_t b)
{
  return runners_home(runners, topic_id, a) == runners_home(runners, topic_id, b);
}

void policy_runners_submit(struct policy_runners *runners, const struct uuid *topic_id, int32_t partition,
                           struct policy_job *job)
{
  struct policy_runner *runner = &runners->runners[runners_home(runners, topic_id, partition)];
  atomic_store_explicit(&job->state, JOB_WAITS, memory_order_relaxed);
  pthread_mutex_lock(&runner->lock);
  runner->submitted++;
  list_append(&runner->queue, &job->node);
  pthread_cond_signal(&runner->arrived);
  pthread_mutex_unlock(&runner->lock);
  runners_begin_watch(runners);
}

int policy_runners_submit_slow(struct policy_runners *runners, struct policy_job *job)
{
  struct policy_runner *runner = &runners->runners[runners->count];
  atomic_store_explicit(&job->state, JOB_WAITS, memory_order_relaxed);
  pthread_mutex_lock(&runner->lock);
  int result = runner->is_ending ? error_set(ERR_CLOSED, "the broker stops") : 0;
  if (result == 0 && runner->thread == NULL) {
    result = runner_start(runners, runner);
  }
  if (result == 0) {
    runner->submitted++;
    list_append(&runner->queue, &job->node);
    pthread_cond_signal(&runner->arrived);
  }
  pthread_mutex_unlock(&runner->lock);
  return result;
}

void policy_runners_take_buffer(struct policy_runners *runners, struct record_buffer *buffer)
{
  *buffer = (struct record_buffer){0};
  pthread_mutex_lock(&runners->spare_lock);
  if (runners->spare_count > 0) {
    *buffer = runners->spare[--runners->spare_count];
  }
  pthread_mutex_unlock(&runners->spare_lock);
}

void policy_runners_give_buffer(struct policy_runners *runners, struct record_buffer *buffer)
{
  bool is_kept = false;
  if (buffer->capacity > 0 && buffer->capacity <= RUNNERS_SPARE_BYTES_MAX) {
    pthread_mutex_lock(&runners->spare_lock);
    is_kept = runners->spare_count < RUNNERS_SPARE;
    if (is_kept) {
      runners->spare[runners->spare_count++] = *buffer;
    }
    pthread_mutex_unlock(&runners->spare_lock);
  }
  if (!is_kept) {
    record_buffer_destroy(buffer);
  }
  *buffer = (struct record_buffer){0};
}

int policy_runners_lost(const struct policy_runners *runners)
{
  return atomic_load_explicit(&runners->lost, memory_order_relaxed);
}

void policy_runners_collect(void *arg, struct metric_samples *out)
{
  struct policy_runners *runners = arg;
  int64_t threads = 0;
  int64_t jobs = 0;
  int64_t waiting = 0;
  for (int i = 0; i <= runners->count; i++) {
    struct policy_runner *runner = &runners->runners[i];
    pthread_mutex_lock(&runner->lock);
    threads += runner->thread != NULL ? 1 : 0;
    jobs += runner->jobs;
    waiting += runner->submitted - runner->jobs;
    pthread_mutex_unlock(&runner->lock);
  }
  metrics_put(out, &POLICY_RUNNERS, NULL, threads);
  metrics_put(out, &POLICY_JOBS, NULL, jobs);
  metrics_put(out, &POLICY_WAITING, NULL, waiting);
  metrics_put(out, &POLICY_LOST, NULL, policy_runners_lost(runners));
}
