// SPDX-License-Identifier: Apache-2.0
//
// A binary heap of pointers ordered by (due_ms, order); each timer knows its place, so stopping one is as cheap as
// starting one.
#include "event/timer.h"

#include "base/check.h"
#include "base/mem.h"
#include "event/loop.h"

static bool timer_is_before(const struct timer *a, const struct timer *b)
{
  return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void timer_place(struct event_loop *loop, struct timer *timer, size_t at)
{
  loop->heap[at] = timer;
  timer->position = at + 1;
}

static void timer_sift_up(struct event_loop *loop, struct timer *timer, size_t at)
{
  while (at > 0) {
    size_t parent = (at - 1) / 2;
    if (!timer_is_before(timer, loop->heap[parent])) {
      break;
    }
    timer_place(loop, loop->heap[parent], at);
    at = parent;
  }
  timer_place(loop, timer, at);
}

static void timer_sift_down(struct event_loop *loop, struct timer *timer, size_t at)
{
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= loop->heap_count) {
      break;
    }
    if (child + 1 < loop->heap_count && timer_is_before(loop->heap[child + 1], loop->heap[child])) {
      child++;
    }
    if (!timer_is_before(loop->heap[child], timer)) {
      break;
    }
    timer_place(loop, loop->heap[child], at);
    at = child;
  }
  timer_place(loop, timer, at);
}

void timer_start(struct event_loop *loop, struct timer *timer, int64_t delay_ms, timer_fn run)
{
  CHECK(delay_ms >= 0);
  timer_stop(loop, timer);
  int64_t now_ms = event_loop_now_ms(loop);
  // The clock shows whole milliseconds, rounded down: one more, so that it never fires early.
  timer->due_ms = delay_ms == 0 ? now_ms : delay_ms < INT64_MAX - now_ms - 1 ? now_ms + delay_ms + 1 : INT64_MAX;
  timer->order = loop->timer_order++;
  timer->run = run;
  if (loop->heap_count == loop->heap_room) {
    loop->heap_room = loop->heap_room == 0 ? 16 : 2 * loop->heap_room;
    loop->heap = mem_realloc(loop->heap, loop->heap_room * sizeof(struct timer *));
  }
  timer_sift_up(loop, timer, loop->heap_count++);
}

void timer_stop(struct event_loop *loop, struct timer *timer)
{
  if (timer->position == 0) {
    return;
  }
  size_t at = timer->position - 1;
  CHECK(at < loop->heap_count && loop->heap[at] == timer);
  timer->position = 0;
  struct timer *last = loop->heap[--loop->heap_count];
  if (last == timer) {
    return;
  }
  if (at > 0 && timer_is_before(last, loop->heap[(at - 1) / 2])) {
    timer_sift_up(loop, last, at);
  } else {
    timer_sift_down(loop, last, at);
  }
}

bool timer_is_running(const struct timer *timer)
{
  return timer->position != 0;
}

void timer_run_due(struct event_loop *loop)
{
  // All that starts from here on has a higher order, and among timers that are due now it sorts behind the older ones.
  uint64_t limit = loop->timer_order;
  while (loop->heap_count > 0) {
    struct timer *timer = loop->heap[0];
    if (timer->due_ms > loop->now_ms || timer->order >= limit) {
      break;
    }
    timer_stop(loop, timer);
    timer->run(timer);
  }
}
