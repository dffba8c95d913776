// SPDX-License-Identifier: Apache-2.0
//
// One turn of a loop, in libuv's order:
//
//   timers -> prepare (end of the turn before: on_turn, set the clock, leave the epoch) -> wait -> callbacks
//   (each enters the epoch first) -> closing callbacks -> again
//
// The clock is set only in prepare, so timers that come and go within a turn cost no call into libuv.
#include "event/loop.h"

#include <stdio.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/thread.h"

static _Thread_local struct event_loop *event_loop_self;

static void loop_on_wake(uv_async_t *wake)
{
  struct event_loop *loop = wake->data;
  event_loop_awake(loop);
  mailbox_run(&loop->mailbox);
}

static void loop_on_clock(uv_timer_t *clock)
{
  struct event_loop *loop = clock->data;
  loop->armed_ms = INT64_MAX;
  event_loop_awake(loop);
  timer_run_due(loop);
}

/// Sets the uv timer for the earliest of ours.
static void loop_set_clock(struct event_loop *loop)
{
  int64_t due_ms = loop->heap_count > 0 ? loop->heap[0]->due_ms : INT64_MAX;
  if (due_ms == loop->armed_ms) {
    return;
  }
  loop->armed_ms = due_ms;
  if (due_ms == INT64_MAX) {
    uv_timer_stop(&loop->clock);
    return;
  }
  uv_update_time(&loop->uv);
  int64_t now_ms = clock_mono_ms();
  uv_timer_start(&loop->clock, loop_on_clock, due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0, 0);
}

static void loop_on_prepare(uv_prepare_t *prepare)
{
  struct event_loop *loop = prepare->data;
  if (!loop->is_awake) {
    return;
  }
  if (loop->on_turn != NULL) {
    loop->on_turn(loop->arg);
  }
  loop_set_clock(loop);
  loop->is_awake = false;
  epoch_leave();
}

static void loop_read_clock(struct event_loop *loop)
{
  loop->now_ns = clock_mono_ns();
  loop->now_ms = loop->now_ns / 1000000;
}

int event_loop_create(struct event_loop *loop, const char *name)
{
  int err = uv_loop_init(&loop->uv);
  if (err == 0) {
    err = uv_async_init(&loop->uv, &loop->wake, loop_on_wake);
    if (err != 0) {
      uv_loop_close(&loop->uv);
    }
  }
  if (err != 0) {
    return error_set_errno(-err, "cannot create an event loop");
  }
  uv_prepare_init(&loop->uv, &loop->prepare);
  uv_timer_init(&loop->uv, &loop->clock);
  loop->wake.data = loop;
  loop->prepare.data = loop;
  loop->clock.data = loop;
  uv_prepare_start(&loop->prepare, loop_on_prepare);
  loop->armed_ms = INT64_MAX;
  loop_read_clock(loop);
  snprintf(loop->name, sizeof loop->name, "%s", name);
  return 0;
}

static void *loop_run(void *arg)
{
  struct event_loop *loop = arg;
  event_loop_self = loop;
  epoch_register(&loop->epoch);
  event_loop_awake(loop); // so that what was added before the start is seen by on_turn and by the clock
  uv_run(&loop->uv, UV_RUN_DEFAULT);
  event_loop_awake(loop);
  mailbox_run(&loop->mailbox);
  loop->is_awake = false;
  epoch_leave();
  epoch_unregister();
  event_loop_self = NULL;
  return NULL;
}

int event_loop_start(struct event_loop *loop)
{
  CHECK(!loop->is_started);
  TRY(thread_start(&loop->thread, loop->name, loop_run, loop));
  loop->is_started = true;
  return 0;
}

static void loop_stop_here(struct mail *mail)
{
  struct event_loop *loop = (struct event_loop *)((char *)mail - offsetof(struct event_loop, stop_mail));
  // The loop's own handles go on working, but no longer keep it running.
  uv_unref((uv_handle_t *)&loop->wake);
  uv_unref((uv_handle_t *)&loop->prepare);
  uv_unref((uv_handle_t *)&loop->clock);
  if (loop->on_stop != NULL) {
    loop->on_stop(loop->arg);
  }
}

void event_loop_stop(struct event_loop *loop)
{
  if (!loop->is_started) {
    return;
  }
  CHECK(event_loop_self != loop);
  loop->stop_mail.run = loop_stop_here;
  event_loop_post(loop, &loop->stop_mail);
  pthread_join(loop->thread, NULL);
  loop->is_started = false;
}

void event_loop_destroy(struct event_loop *loop)
{
  CHECK(!loop->is_started);
  uv_close((uv_handle_t *)&loop->wake, NULL);
  uv_close((uv_handle_t *)&loop->prepare, NULL);
  uv_close((uv_handle_t *)&loop->clock, NULL);
  uv_run(&loop->uv, UV_RUN_DEFAULT);
  CHECK(uv_loop_close(&loop->uv) == 0);
  mem_free(loop->heap);
  loop->heap = NULL;
  loop->heap_count = 0;
  loop->heap_room = 0;
}

void event_loop_post(struct event_loop *loop, struct mail *mail)
{
  if (mailbox_push(&loop->mailbox, mail)) {
    uv_async_send(&loop->wake);
  }
}

void event_loop_run_mails(struct event_loop *loop)
{
  mailbox_run(&loop->mailbox);
}

void event_loop_awake(struct event_loop *loop)
{
  if (!loop->is_awake) {
    loop->is_awake = true;
    epoch_enter();
    loop_read_clock(loop);
    loop->wall_ms = INT64_MIN;
  }
}

int64_t event_loop_now_ms(const struct event_loop *loop)
{
  return loop->is_awake ? loop->now_ms : clock_mono_ms();
}

int64_t event_loop_wall_ms(struct event_loop *loop)
{
  CHECK(loop->is_awake);
  if (loop->wall_ms == INT64_MIN) {
    loop->wall_ms = clock_wall_ms();
  }
  return loop->wall_ms;
}

struct event_loop *event_loop_current(void)
{
  return event_loop_self;
}
