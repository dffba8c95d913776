// SPDX-License-Identifier: Apache-2.0
//
// Two queues behind one lock: jobs wait for disks, so the lock is never what costs. Long jobs have a queue of their
// own, because they may have to wait while others need not; otherwise the older job of the two queues is next.
#include "event/pool.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "base/check.h"
#include "base/epoch.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "event/loop.h"
#include "os/thread.h"

static const struct metric POOL_THREADS = {"pool.threads", NULL, METRIC_GAUGE, "threads for what waits for disks"};
static const struct metric POOL_JOBS = {"pool.jobs", NULL, METRIC_COUNTER, "jobs that they took"};
static const struct metric POOL_WAITING = {"pool.waiting", NULL, METRIC_GAUGE, "jobs that wait for a thread"};

/// Jobs of one kind, oldest first.
struct pool_queue {
  struct pool_job *head; ///< oldest job
  struct pool_job *tail; ///< newest job
};

struct pool {
  pthread_mutex_t lock;     ///< guards all below; held for a few instructions, last in the lock order
  pthread_cond_t arrived;   ///< a job may be taken, or the pool ends
  struct pool_queue jobs;   ///< from pool_submit()
  struct pool_queue longer; ///< from pool_submit_long()
  uint64_t order;           ///< of the next job: how many were submitted
  uint64_t taken;           ///< jobs that threads took
  int long_running;         ///< long jobs that threads are at
  bool is_ending;           ///< threads end when there is no job for them
  int thread_count;         ///< threads started
  pthread_t threads[];      ///< the threads
};

static void pool_deliver(struct mail *mail)
{
  struct pool_job *job = (struct pool_job *)((char *)mail - offsetof(struct pool_job, mail));
  job->done(job);
}

/// The queue whose oldest job is next, or NULL. One thread is kept free of long jobs, unless it is the only one.
static struct pool_queue *pool_next(struct pool *pool)
{
  int long_max = pool->thread_count > 1 ? pool->thread_count - 1 : 1;
  bool may_long = pool->longer.head != NULL && pool->long_running < long_max;
  if (may_long && (pool->jobs.head == NULL || pool->longer.head->order < pool->jobs.head->order)) {
    return &pool->longer;
  }
  return pool->jobs.head != NULL ? &pool->jobs : NULL;
}

/// Waits for a job; NULL when the pool ends and has none for this thread: long jobs that are left over go to the
/// threads that are at one now.
static struct pool_job *pool_take(struct pool *pool)
{
  struct pool_job *job = NULL;
  pthread_mutex_lock(&pool->lock);
  struct pool_queue *queue = pool_next(pool);
  while (queue == NULL && !pool->is_ending) {
    pthread_cond_wait(&pool->arrived, &pool->lock);
    queue = pool_next(pool);
  }
  if (queue != NULL) {
    job = queue->head;
    queue->head = job->next;
    if (queue->head == NULL) {
      queue->tail = NULL;
    }
    pool->long_running += job->is_long ? 1 : 0;
    pool->taken++;
  }
  pthread_mutex_unlock(&pool->lock);
  return job;
}

static void pool_end_long(struct pool *pool)
{
  pthread_mutex_lock(&pool->lock);
  pool->long_running--;
  if (pool_next(pool) != NULL) {
    pthread_cond_signal(&pool->arrived); // this thread may take another kind of job next
  }
  pthread_mutex_unlock(&pool->lock);
}

static void *pool_run(void *arg)
{
  struct pool *pool = arg;
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  for (struct pool_job *job = pool_take(pool); job != NULL; job = pool_take(pool)) {
    // With no completion the job may be gone once `work` returns.
    struct event_loop *reply = job->reply;
    bool is_long = job->is_long;
    epoch_enter();
    job->work(job);
    epoch_leave();
    if (is_long) {
      pool_end_long(pool);
    }
    if (reply != NULL) {
      event_loop_post(reply, &job->mail);
    }
  }
  epoch_unregister();
  return NULL;
}

struct pool *pool_new(int threads)
{
  CHECK(threads >= 1);
  struct pool *pool = mem_zalloc(sizeof *pool + (size_t)threads * sizeof pool->threads[0]);
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->arrived, NULL);
  pthread_mutex_lock(&pool->lock); // the first threads look at their number
  for (int i = 0; i < threads; i++) {
    char name[32];
    snprintf(name, sizeof name, "luka-pool-%d", i);
    if (thread_start(&pool->threads[pool->thread_count], name, pool_run, pool) == 0) {
      pool->thread_count++;
    } else {
      slog_warn("%s", error_last()->message);
    }
  }
  pthread_mutex_unlock(&pool->lock);
  if (pool->thread_count == 0) {
    pool_delete(pool);
    return NULL;
  }
  return pool;
}

void pool_delete(struct pool *pool)
{
  if (pool == NULL) {
    return;
  }
  pthread_mutex_lock(&pool->lock);
  pool->is_ending = true;
  pthread_cond_broadcast(&pool->arrived);
  pthread_mutex_unlock(&pool->lock);
  for (int i = 0; i < pool->thread_count; i++) {
    pthread_join(pool->threads[i], NULL);
  }
  CHECK(pool->jobs.head == NULL && pool->longer.head == NULL);
  pthread_cond_destroy(&pool->arrived);
  pthread_mutex_destroy(&pool->lock);
  mem_free(pool);
}

static void pool_add(struct pool *pool, struct pool_queue *queue, struct pool_job *job)
{
  CHECK((job->reply == NULL) == (job->done == NULL));
  job->next = NULL;
  job->mail.run = pool_deliver;
  pthread_mutex_lock(&pool->lock);
  CHECK(!pool->is_ending);
  job->order = pool->order++;
  job->is_long = queue == &pool->longer;
  if (queue->tail == NULL) {
    queue->head = job;
  } else {
    queue->tail->next = job;
  }
  queue->tail = job;
  pthread_cond_signal(&pool->arrived);
  pthread_mutex_unlock(&pool->lock);
}

void pool_submit(struct pool *pool, struct pool_job *job, pool_fn work, struct event_loop *reply, pool_fn done)
{
  job->work = work;
  job->reply = reply;
  job->done = done;
  pool_add(pool, &pool->jobs, job);
}

void pool_submit_long(struct pool *pool, struct pool_job *job, pool_fn work, struct event_loop *reply, pool_fn done)
{
  job->work = work;
  job->reply = reply;
  job->done = done;
  pool_add(pool, &pool->longer, job);
}

void pool_collect(void *arg, struct metric_samples *out)
{
  struct pool *pool = arg;
  pthread_mutex_lock(&pool->lock);
  int threads = pool->thread_count;
  uint64_t taken = pool->taken;
  uint64_t waiting = pool->order - pool->taken;
  pthread_mutex_unlock(&pool->lock);
  metrics_put(out, &POOL_THREADS, NULL, threads);
  metrics_put(out, &POOL_JOBS, NULL, (int64_t)taken);
  metrics_put(out, &POOL_WAITING, NULL, (int64_t)waiting);
}
