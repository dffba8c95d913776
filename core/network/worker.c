// SPDX-License-Identifier: Apache-2.0
//
// A worker: its loop's turn is where its connections are looked at.
//
// A busy worker is scheduled as batch work. Where clients and workers share processors, each answer lets its client
// send the next request, which wakes a worker that waits; if that interrupts the client at once, each turn brings two
// or three requests, and every one pays for its share of a wake-up, a wait and two changes of context. A worker that
// waits for its turn at the processor finds many requests instead; or room for more of a large fetch, as what it sends
// is taken piece by piece. With few requests a second nobody would share those costs, and what counts is the first
// one's latency: then it is woken as everybody is. On an idle processor there is no difference. The same idea as
// moderated interrupts of a network card.
#include <stddef.h>
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "network/connection_private.h"
#include "network/server_private.h"
#include "os/thread.h"

enum {
  WORKER_LOG_LINES = 20,          // lines a second about bad clients
  WORKER_PACE_MS = 10,            // shortest window in which frames and pieces are counted
  WORKER_PACE_PIECES = 10,        // of them in each millisecond of it that make a worker busy
  WORKER_PIECE_BYTES = 64 * 1024, // of a file that are sent: as much work as a frame
};

#define WORKER_CONNECTION(link, member) ((struct connection *)((char *)(link)-offsetof(struct connection, member)))

/// Tells server_drain() that this worker is through. Only between turns: core/api goes on working on a request after it
/// has answered it.
static void worker_report_drained(struct worker *worker)
{
  struct server *server = worker->server;
  worker->is_drained = true;
  timer_stop(&worker->loop, &worker->drain_timer);
  timer_stop(&worker->loop, &worker->progress_timer);
  pthread_mutex_lock(&server->lock);
  server->workers_drained++;
  pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->lock);
}

/// Tells the scheduler when the worker has become busy, or is no more.
static void worker_keep_pace(struct worker *worker)
{
  struct worker_pace *pace = &worker->pace;
  int64_t elapsed_ms = worker->loop.now_ms - pace->since_ms;
  if (elapsed_ms < WORKER_PACE_MS || pace->is_fixed) {
    return;
  }
  int64_t pieces =
      metric_read(&worker->counters.frames) + metric_read(&worker->counters.sent_file_bytes) / WORKER_PIECE_BYTES;
  bool is_busy = (pieces - pace->pieces) / elapsed_ms >= WORKER_PACE_PIECES;
  pace->since_ms = worker->loop.now_ms;
  pace->pieces = pieces;
  if (is_busy != pace->is_busy) {
    pace->is_busy = is_busy;
    pace->is_fixed = thread_set_batch(is_busy) < 0;
  }
}

static void worker_on_turn(void *arg)
{
  struct worker *worker = arg;
  worker_keep_pace(worker);
  const struct connection_callbacks *callbacks = &worker->server->callbacks;
  do {
    worker->has_offered = false;
    if (worker->is_served && callbacks->on_turn != NULL) {
      callbacks->on_turn(callbacks->arg, worker);
    }
    // Taken off first: what core/api does meanwhile, here or to others, makes a connection dirty again.
    while (!list_is_empty(&worker->dirty)) {
      struct connection *conn = WORKER_CONNECTION(worker->dirty.next, dirty_node);
      list_remove(&conn->dirty_node);
      connection_turn(conn);
    }
    // Frames that had to wait have been offered now: what core/api gathered of them is its to flush.
  } while (worker->has_offered);
  if (worker->is_draining && !worker->is_drained && worker->live_frames == 0 && list_is_empty(&worker->connections)) {
    worker_report_drained(worker);
  }
}

static void worker_close_all(struct worker *worker)
{
  while (!list_is_empty(&worker->connections)) {
    connection_close(WORKER_CONNECTION(worker->connections.next, node));
  }
}

static void worker_on_start(struct mail *mail)
{
  struct worker *worker = (struct worker *)((char *)mail - offsetof(struct worker, start_mail));
  const struct connection_callbacks *callbacks = &worker->server->callbacks;
  if (callbacks->on_start != NULL) {
    callbacks->on_start(callbacks->arg, worker);
  }
  worker->is_served = true;
}

void worker_end(struct worker *worker)
{
  const struct connection_callbacks *callbacks = &worker->server->callbacks;
  CHECK(worker->is_drained && worker->live_frames == 0 && list_is_empty(&worker->connections));
  worker->is_served = false;
  if (callbacks->on_stop != NULL) {
    callbacks->on_stop(callbacks->arg, worker);
  }
}

int worker_create(struct worker *worker, struct server *server, int index)
{
  char name[32];
  snprintf(name, sizeof name, "luka-worker-%d", index);
  int result = event_loop_create(&worker->loop, name);
  if (result < 0) {
    return result;
  }
  worker->server = server;
  worker->index = index;
  list_create(&worker->connections);
  list_create(&worker->dirty);
  worker->pool.share.gate = &server->requests;
  worker->answers.gate = &server->answers;
  worker->pressure_mail.run = worker_on_pressure;
  worker->loop.on_turn = worker_on_turn;
  worker->loop.arg = worker;
  worker->start_mail.run = worker_on_start;
  event_loop_post(&worker->loop, &worker->start_mail);
  result = event_loop_start(&worker->loop);
  if (result < 0) {
    event_loop_destroy(&worker->loop);
  }
  return result;
}

void worker_destroy(struct worker *worker)
{
  event_loop_destroy(&worker->loop);
  while (worker->free_frames != NULL) {
    struct frame *frame = worker->free_frames;
    worker->free_frames = frame->next;
    mem_free(frame);
  }
  response_pool_destroy(&worker->responses);
  buffer_pool_destroy(&worker->pool);
}

static void worker_on_deadline(struct timer *timer)
{
  struct worker *worker = (struct worker *)((char *)timer - offsetof(struct worker, drain_timer));
  worker_close_all(worker);
}

void worker_drain(struct worker *worker, int64_t deadline_ms)
{
  const struct connection_callbacks *callbacks = &worker->server->callbacks;
  if (worker->is_drained) {
    return;
  }
  worker->is_draining = true;
  if (callbacks->on_drain != NULL) {
    callbacks->on_drain(callbacks->arg, worker);
  }
  for (struct list *link = worker->connections.next; link != &worker->connections; link = link->next) {
    connection_mark_dirty(WORKER_CONNECTION(link, node));
  }
  timer_start(&worker->loop, &worker->drain_timer, deadline_ms, worker_on_deadline);
}

bool worker_may_log(struct worker *worker)
{
  int64_t second = event_loop_now_ms(&worker->loop) / 1000;
  if (second != worker->log_second) {
    worker->log_second = second;
    worker->log_lines = 0;
  }
  return worker->log_lines++ < WORKER_LOG_LINES;
}
