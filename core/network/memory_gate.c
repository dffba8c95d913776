// SPDX-License-Identifier: Apache-2.0
//
// No wake-up is lost: who begins to wait first says so (`waiting`) and then looks at `used`; who gives back first
// lowers `used` and then looks at `waiting`. Both with sequentially consistent atomics, so one of them sees the other.
#include "network/memory_gate.h"

#include "event/loop.h"

void memory_gate_create(struct memory_gate *gate, int64_t limit)
{
  atomic_init(&gate->used, 0);
  atomic_init(&gate->limit, limit);
  atomic_init(&gate->waiting, 0);
  pthread_mutex_init(&gate->lock, NULL);
  list_create(&gate->line);
}

void memory_gate_destroy(struct memory_gate *gate)
{
  pthread_mutex_destroy(&gate->lock);
}

/// Serves those who wait as long as the bound is not reached.
static void memory_gate_grant(struct memory_gate *gate)
{
  struct list granted;
  list_create(&granted);
  pthread_mutex_lock(&gate->lock);
  while (!list_is_empty(&gate->line) && atomic_load(&gate->used) < atomic_load(&gate->limit)) {
    struct memory_wait *wait = CONTAINER_OF(gate->line.next, struct memory_wait, node);
    list_remove(&wait->node);
    list_append(&granted, &wait->node);
    wait->state = MEMORY_WAIT_GRANTED;
    atomic_fetch_sub(&gate->waiting, 1);
    atomic_fetch_add(&gate->used, wait->bytes);
  }
  pthread_mutex_unlock(&gate->lock);
  while (!list_is_empty(&granted)) {
    // Its own again as soon as the mail is posted.
    struct memory_wait *wait = CONTAINER_OF(granted.next, struct memory_wait, node);
    list_remove(&wait->node);
    event_loop_post(wait->loop, &wait->mail);
  }
}

void memory_gate_set_limit(struct memory_gate *gate, int64_t limit)
{
  atomic_store(&gate->limit, limit);
  memory_gate_grant(gate);
}

bool memory_gate_is_open(const struct memory_gate *gate)
{
  return atomic_load_explicit(&gate->waiting, memory_order_relaxed) == 0 &&
         atomic_load_explicit(&gate->used, memory_order_relaxed) <
             atomic_load_explicit(&gate->limit, memory_order_relaxed);
}

bool memory_gate_take(struct memory_gate *gate, int64_t bytes)
{
  if (!memory_gate_is_open(gate)) {
    return false;
  }
  if (atomic_fetch_add(&gate->used, bytes) < atomic_load_explicit(&gate->limit, memory_order_relaxed)) {
    return true;
  }
  memory_gate_add(gate, -bytes);
  return false;
}

void memory_gate_add(struct memory_gate *gate, int64_t bytes)
{
  atomic_fetch_add(&gate->used, bytes);
  if (bytes < 0 && atomic_load(&gate->waiting) > 0) {
    memory_gate_grant(gate);
  }
}

bool memory_gate_wait(struct memory_gate *gate, struct memory_wait *wait, struct event_loop *loop, int64_t bytes,
                      mail_fn run)
{
  list_create(&wait->node);
  wait->mail.run = run;
  wait->loop = loop;
  wait->bytes = bytes;
  pthread_mutex_lock(&gate->lock);
  wait->state = MEMORY_WAIT_IN_LINE;
  list_append(&gate->line, &wait->node);
  bool is_first = atomic_fetch_add(&gate->waiting, 1) == 0;
  pthread_mutex_unlock(&gate->lock);
  memory_gate_grant(gate);
  return is_first;
}

bool memory_gate_leave(struct memory_gate *gate, struct memory_wait *wait)
{
  pthread_mutex_lock(&gate->lock);
  bool is_in_line = wait->state == MEMORY_WAIT_IN_LINE;
  if (is_in_line) {
    list_remove(&wait->node);
    wait->state = MEMORY_WAIT_NONE;
    atomic_fetch_sub(&gate->waiting, 1);
  }
  pthread_mutex_unlock(&gate->lock);
  return is_in_line;
}

void memory_share_settle(struct memory_share *share)
{
  int64_t bytes = share->drift;
  share->drift = 0;
  if (bytes != 0) {
    memory_gate_add(share->gate, bytes);
  }
}

void memory_share_add(struct memory_share *share, int64_t bytes)
{
  if (share->gate == NULL) {
    return;
  }
  share->drift += bytes;
  if (share->drift >= MEMORY_SHARE_STEP_BYTES || share->drift <= -MEMORY_SHARE_STEP_BYTES ||
      atomic_load_explicit(&share->gate->waiting, memory_order_relaxed) > 0) {
    memory_share_settle(share);
  }
}
