// SPDX-License-Identifier: Apache-2.0
//
// A queue behind one lock: jobs wait for disks, so the lock is never what costs.
#include "event/pool.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "os/thread.h"

struct pool {
  pthread_mutex_t lock;   ///< guards all below; held for a few instructions, last in the lock order
  pthread_cond_t arrived; ///< a job was queued, or the pool ends
  struct pool_job *head;  ///< oldest job
  struct pool_job *tail;  ///< newest job
  bool is_ending;         ///< threads end when the queue is empty
  int thread_count;       ///< threads started
  pthread_t threads[];    ///< the threads
};

static void pool_deliver(struct mail *mail)
{
  struct pool_job *job = (struct pool_job *)((char *)mail - offsetof(struct pool_job, mail));
  job->done(job);
}

/// Waits for a job; NULL when the pool has ended.
static struct pool_job *pool_take(struct pool *pool)
{
  pthread_mutex_lock(&pool->lock);
  while (pool->head == NULL && !pool->is_ending) {
    pthread_cond_wait(&pool->arrived, &pool->lock);
  }
  struct pool_job *job = pool->head;
  if (job != NULL) {
    pool->head = job->next;
    if (pool->head == NULL) {
      pool->tail = NULL;
    }
  }
  pthread_mutex_unlock(&pool->lock);
  return job;
}

static void *pool_run(void *arg)
{
  struct pool *pool = arg;
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  for (struct pool_job *job = pool_take(pool); job != NULL; job = pool_take(pool)) {
    // With no completion the job may be gone once `work` returns.
    struct event_loop *reply = job->reply;
    epoch_enter();
    job->work(job);
    epoch_leave();
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
  for (int i = 0; i < threads; i++) {
    char name[32];
    snprintf(name, sizeof name, "luka-pool-%d", i);
    if (thread_start(&pool->threads[pool->thread_count], name, pool_run, pool) == 0) {
      pool->thread_count++;
    } else {
      slog_warn("%s", error_last()->message);
    }
  }
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
  CHECK(pool->head == NULL);
  pthread_cond_destroy(&pool->arrived);
  pthread_mutex_destroy(&pool->lock);
  mem_free(pool);
}

void pool_submit(struct pool *pool, struct pool_job *job, pool_fn work, struct event_loop *reply, pool_fn done)
{
  CHECK((reply == NULL) == (done == NULL));
  job->next = NULL;
  job->mail.run = pool_deliver;
  job->work = work;
  job->reply = reply;
  job->done = done;
  pthread_mutex_lock(&pool->lock);
  CHECK(!pool->is_ending);
  if (pool->tail == NULL) {
    pool->head = job;
  } else {
    pool->tail->next = job;
  }
  pool->tail = job;
  pthread_cond_signal(&pool->arrived);
  pthread_mutex_unlock(&pool->lock);
}
