// SPDX-License-Identifier: Apache-2.0
#include "replica/watch.h"

#include "base/check.h"
#include "event/loop.h"
#include "replica/partition.h"

static void watch_post(struct partition_watch *slot)
{
  if (!atomic_exchange(&slot->is_posted, true)) {
    partition_ref(slot->part);
    event_loop_post(slot->loop, &slot->mail);
  }
}

/// Sets the threshold to the smallest of the list, then looks again.
static void watch_rearm_slot(struct partition_watch *slot)
{
  int64_t smallest = INT64_MAX;
  LIST_EACH(&slot->waiters, node) {
    const struct watch *watch = CONTAINER_OF(node, struct watch, link);
    // The analyzer cannot follow the list. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    if (watch->threshold < smallest) {
      smallest = watch->threshold;
    }
  }
  atomic_store(&slot->threshold, smallest);
  if (atomic_load(&slot->part->visible_bytes) >= smallest) {
    watch_post(slot);
  }
}

/// On the worker: calls those whose threshold is reached.
static void watch_run(struct mail *mail)
{
  struct partition_watch *slot = CONTAINER_OF(mail, struct partition_watch, mail);
  struct partition *part = slot->part;
  atomic_store(&slot->is_posted, false);
  bool wake_all = atomic_exchange(&slot->wake_all, false);
  int64_t visible = atomic_load(&part->visible_bytes);

  struct list fired;
  list_create(&fired);
  LIST_EACH_SAFE(&slot->waiters, node) {
    struct watch *watch = CONTAINER_OF(node, struct watch, link);
    if (wake_all || watch->threshold <= visible) {
      list_remove(node);
      list_append(&fired, node);
    }
  }
  watch_rearm_slot(slot);
  // A callback may disarm, and so unlink, any other of them.
  while (!list_is_empty(&fired)) {
    struct watch *watch = CONTAINER_OF(fired.next, struct watch, link);
    watch_disarm(watch);
    watch->fired(watch);
  }
  partition_unref(part);
}

void watch_create(struct partition_watch *slot, struct partition *part, struct event_loop *loop)
{
  atomic_init(&slot->threshold, INT64_MAX);
  atomic_init(&slot->is_posted, false);
  atomic_init(&slot->wake_all, false);
  slot->mail.run = watch_run;
  slot->part = part;
  slot->loop = loop;
  list_create(&slot->waiters);
}

bool watch_arm(struct watch *watch, struct partition *part, int worker, int64_t threshold, watch_fn fired)
{
  CHECK(watch->part == NULL && worker < part->watch_count);
  struct partition_watch *slot = &part->watches[worker];
  watch->threshold = threshold;
  watch->fired = fired;
  if (threshold < atomic_load(&slot->threshold)) {
    atomic_store(&slot->threshold, threshold);
  }
  if (atomic_load(&part->visible_bytes) >= threshold) {
    return true;
  }
  watch->part = partition_ref(part);
  list_append(&slot->waiters, &watch->link);
  return false;
}

void watch_disarm(struct watch *watch)
{
  if (watch->part != NULL) {
    struct partition *part = watch->part;
    watch->part = NULL;
    list_remove(&watch->link);
    partition_unref(part);
  }
}

void watch_notify(struct partition *part)
{
  int64_t visible = atomic_load(&part->visible_bytes);
  for (int i = 0; i < part->watch_count; i++) {
    struct partition_watch *slot = &part->watches[i];
    if (visible >= atomic_load(&slot->threshold)) {
      atomic_store(&slot->threshold, INT64_MAX);
      watch_post(slot);
    }
  }
}

void watch_notify_all(struct partition *part)
{
  for (int i = 0; i < part->watch_count; i++) {
    atomic_store(&part->watches[i].wake_all, true);
    watch_post(&part->watches[i]);
  }
}
