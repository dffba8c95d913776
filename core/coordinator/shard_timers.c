// SPDX-License-Identifier: Apache-2.0
//
// Timers of a shard: a binary heap of embedded nodes, by time and by the order in which they were started, so that the
// same calls give the same run.
#include "base/mem.h"
#include "coordinator/shard_state.h"

enum { TIMERS_ROOM_MIN = 16 };

static bool timer_is_before(const struct group_timer *a, const struct group_timer *b)
{
  return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void timer_place(struct group_shard *shard, size_t at, struct group_timer *timer)
{
  shard->heap[at] = timer;
  timer->position = at + 1;
}

static void timer_rise(struct group_shard *shard, size_t at, struct group_timer *timer)
{
  while (at > 0) {
    size_t parent = (at - 1) / 2;
    if (!timer_is_before(timer, shard->heap[parent])) {
      break;
    }
    timer_place(shard, at, shard->heap[parent]);
    at = parent;
  }
  timer_place(shard, at, timer);
}

static void timer_sink(struct group_shard *shard, size_t at, struct group_timer *timer)
{
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= shard->heap_count) {
      break;
    }
    if (child + 1 < shard->heap_count && timer_is_before(shard->heap[child + 1], shard->heap[child])) {
      child++;
    }
    if (!timer_is_before(shard->heap[child], timer)) {
      break;
    }
    timer_place(shard, at, shard->heap[child]);
    at = child;
  }
  timer_place(shard, at, timer);
}

void group_timer_start(struct group_shard *shard, struct group_timer *timer, int64_t due_ms, group_timer_fn run)
{
  bool is_running = timer->position != 0;
  size_t at = timer->position - 1;
  if (!is_running) {
    if (shard->heap_count == shard->heap_room) {
      shard->heap_room = shard->heap_room > 0 ? shard->heap_room * 2 : TIMERS_ROOM_MIN;
      shard->heap = mem_realloc(shard->heap, shard->heap_room * sizeof(struct group_timer *));
    }
    at = shard->heap_count++;
  }
  bool is_later = is_running && due_ms >= timer->due_ms;
  timer->due_ms = due_ms;
  timer->order = shard->timer_order++;
  timer->run = run;
  if (is_later) {
    timer_sink(shard, at, timer);
  } else {
    timer_rise(shard, at, timer);
  }
}

void group_timer_stop(struct group_shard *shard, struct group_timer *timer)
{
  if (timer->position == 0) {
    return;
  }
  size_t at = timer->position - 1;
  timer->position = 0;
  struct group_timer *last = shard->heap[--shard->heap_count];
  if (last == timer) {
    return;
  }
  if (at > 0 && timer_is_before(last, shard->heap[(at - 1) / 2])) {
    timer_rise(shard, at, last);
  } else {
    timer_sink(shard, at, last);
  }
}

int64_t group_shard_next_ms(const struct group_shard *shard)
{
  return shard->heap_count > 0 ? shard->heap[0]->due_ms : INT64_MAX;
}

void group_shard_run_timers(struct group_shard *shard, int64_t now_ms)
{
  // One that is started meanwhile for now is left to the next call: a timer that starts itself would never end.
  uint64_t order = shard->timer_order;
  while (shard->heap_count > 0 && shard->heap[0]->due_ms <= now_ms && shard->heap[0]->order < order) {
    struct group_timer *timer = shard->heap[0];
    group_timer_stop(shard, timer);
    timer->run(shard, timer, now_ms);
  }
}
