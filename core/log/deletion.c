// SPDX-License-Identifier: Apache-2.0
#include "log/deletion.h"

#include <stddef.h>

#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/loop.h"
#include "log/log.h"
#include "os/clock.h"
#include "os/dir.h"

/// One thing that is to go: a path, or a segment.
struct deletion {
  struct deletion *next;       ///< due after this one
  int64_t due_ms;              ///< monotonic time
  char *path;                  ///< owned; NULL for a segment
  struct log_deleted *segment; ///< owned; NULL for a path
};

static void arm(struct mail *mail);
static void expire(struct timer *timer);
static void remove_due(struct pool_job *job);

void deletion_create(struct deletion_queue *queue, struct event_loop *loop, struct pool *pool)
{
  *queue = (struct deletion_queue){.loop = loop, .pool = pool};
  pthread_mutex_init(&queue->lock, NULL);
}

void deletion_destroy(struct deletion_queue *queue)
{
  while (queue->first != NULL) {
    struct deletion *deletion = queue->first;
    queue->first = deletion->next;
    if (deletion->segment != NULL) {
      log_deleted_free(deletion->segment);
    }
    mem_free(deletion->path);
    mem_free(deletion);
  }
  pthread_mutex_destroy(&queue->lock);
}

/// Posts the mail that starts the timer. While holding the lock, with the queue not empty.
static void schedule(struct deletion_queue *queue)
{
  queue->is_scheduled = queue->loop != NULL && queue->is_started;
  if (queue->is_scheduled) {
    queue->mail.run = arm;
    event_loop_post(queue->loop, &queue->mail);
  }
}

/// Puts one thing in its place by time, and has the timer started if nothing is on its way. With a new head the timer
/// that runs is too late: the mail of a second arming moves it.
static void insert(struct deletion_queue *queue, struct deletion *deletion)
{
  pthread_mutex_lock(&queue->lock);
  if (queue->last == NULL || queue->last->due_ms <= deletion->due_ms) {
    *(queue->last == NULL ? &queue->first : &queue->last->next) = deletion;
    queue->last = deletion;
  } else {
    struct deletion **link = &queue->first;
    while ((*link)->due_ms <= deletion->due_ms) {
      link = &(*link)->next;
    }
    deletion->next = *link;
    *link = deletion;
  }
  if (!queue->is_scheduled) {
    schedule(queue);
  } else if (queue->is_armed && queue->first == deletion) {
    queue->is_armed = false;
    schedule(queue);
  }
  pthread_mutex_unlock(&queue->lock);
}

/// The monotonic time in `delay_ms` from now; file.delete.delay.ms may be as large as a number gets.
static int64_t due_in(int64_t delay_ms)
{
  int64_t now_ms = clock_mono_ms();
  return delay_ms <= 0 ? now_ms : delay_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + delay_ms;
}

void deletion_add(struct deletion_queue *queue, const char *path, int64_t delay_ms)
{
  struct deletion *deletion = mem_zalloc(sizeof *deletion);
  deletion->path = mem_strdup(path);
  deletion->due_ms = due_in(delay_ms);
  insert(queue, deletion);
}

void deletion_add_segment(struct deletion_queue *queue, struct log_deleted *deleted)
{
  struct deletion *deletion = mem_zalloc(sizeof *deletion);
  int64_t now_ms = clock_wall_ms();
  deletion->segment = deleted;
  deletion->due_ms = due_in(deleted->due_ms > now_ms ? deleted->due_ms - now_ms : 0);
  insert(queue, deletion);
}

/// On the loop: starts the timer for the head of the queue.
static void arm(struct mail *mail)
{
  struct deletion_queue *queue = CONTAINER_OF(mail, struct deletion_queue, mail);
  pthread_mutex_lock(&queue->lock);
  bool is_wanted = queue->first != NULL && queue->is_started;
  int64_t due_ms = is_wanted ? queue->first->due_ms : 0;
  queue->is_scheduled = is_wanted;
  queue->is_armed = is_wanted;
  pthread_mutex_unlock(&queue->lock);
  if (is_wanted) {
    int64_t delay_ms = due_ms - clock_mono_ms();
    timer_start(queue->loop, &queue->timer, delay_ms > 0 ? delay_ms : 0, expire);
  }
}

/// On the loop: the head is due.
static void expire(struct timer *timer)
{
  struct deletion_queue *queue = CONTAINER_OF(timer, struct deletion_queue, timer);
  pthread_mutex_lock(&queue->lock);
  bool is_wanted = queue->is_armed && queue->is_started;
  queue->is_armed = false;
  pthread_mutex_unlock(&queue->lock);
  if (is_wanted) {
    pool_submit_long(queue->pool, &queue->job, remove_due, NULL, NULL);
  }
}

static void remove_one(struct deletion *deletion)
{
  int result = 0;
  if (deletion->segment != NULL) {
    result = log_deleted_remove(deletion->segment);
  } else {
    result = dir_exists(deletion->path) ? dir_remove_all(deletion->path) : dir_remove_file(deletion->path);
  }
  if (result < 0 && result != ERR_NOT_FOUND) {
    slog_warn("cannot remove deleted files: %s", error_last()->message);
  }
  mem_free(deletion->path);
  mem_free(deletion);
}

/// On the pool: removes what is due, then asks for the timer again if something waits.
static void remove_due(struct pool_job *job)
{
  struct deletion_queue *queue = CONTAINER_OF(job, struct deletion_queue, job);
  for (;;) {
    pthread_mutex_lock(&queue->lock);
    struct deletion *deletion = queue->first;
    if (deletion == NULL || !queue->is_started || deletion->due_ms > clock_mono_ms()) {
      queue->is_scheduled = false;
      if (deletion != NULL) {
        schedule(queue);
      }
      pthread_mutex_unlock(&queue->lock);
      return;
    }
    queue->first = deletion->next;
    if (queue->first == NULL) {
      queue->last = NULL;
    }
    pthread_mutex_unlock(&queue->lock);
    remove_one(deletion);
  }
}

void deletion_start(struct deletion_queue *queue)
{
  pthread_mutex_lock(&queue->lock);
  queue->is_started = true;
  if (queue->first != NULL && !queue->is_scheduled) {
    schedule(queue);
  }
  pthread_mutex_unlock(&queue->lock);
}

void deletion_stop(struct deletion_queue *queue)
{
  pthread_mutex_lock(&queue->lock);
  queue->is_started = false;
  pthread_mutex_unlock(&queue->lock);
  if (queue->loop != NULL) {
    timer_stop(queue->loop, &queue->timer);
  }
}
