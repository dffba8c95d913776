// SPDX-License-Identifier: Apache-2.0
#include "replica/partition.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/error.h"
#include "replica/append.h"
#include "replica/flush.h"
#include "replica/gaps.h"
#include "replica/watch.h"

struct partition *partition_new(struct replica_manager *manager, const char *topic, const struct uuid *topic_id,
                                int32_t index, struct event_loop *const *loops, int loop_count)
{
  struct partition *part = mem_zalloc(sizeof *part + (size_t)loop_count * sizeof part->watches[0]);
  part->topic = mem_strdup(topic);
  part->topic_id = *topic_id;
  part->index = index;
  part->manager = manager;
  part->held_end = &part->held;
  pthread_mutex_init(&part->policy_lock, NULL);
  list_create(&part->policy_order);
  atomic_init(&part->refs, 1);
  atomic_init(&part->role, PARTITION_OFFLINE);
  atomic_init(&part->leader_epoch, -1);
  part->watch_count = loop_count;
  for (int i = 0; i < loop_count; i++) {
    watch_create(&part->watches[i], part, loops[i]);
  }
  return part;
}

struct partition *partition_ref(struct partition *part)
{
  partition_ref_by(part, 1);
  return part;
}

void partition_ref_by(struct partition *part, int32_t count)
{
  CHECK(atomic_fetch_add_explicit(&part->refs, count, memory_order_relaxed) > 0);
}

bool partition_try_ref(struct partition *part)
{
  int32_t refs = atomic_load_explicit(&part->refs, memory_order_relaxed);
  while (refs > 0) {
    if (atomic_compare_exchange_weak(&part->refs, &refs, refs + 1)) {
      return true;
    }
  }
  return false;
}

static void partition_free(struct epoch_retired *retired)
{
  struct partition *part = CONTAINER_OF(retired, struct partition, retired);
  for (int i = 0; i < part->watch_count; i++) {
    CHECK(list_is_empty(&part->watches[i].waiters));
  }
  CHECK(list_is_empty(&part->policy_order));
  pthread_mutex_destroy(&part->policy_lock);
  gaps_delete(atomic_load_explicit(&part->gaps, memory_order_relaxed));
  mem_free(part->topic);
  mem_free(part);
}

void partition_unref(struct partition *part)
{
  partition_unref_by(part, 1);
}

void partition_unref_by(struct partition *part, int32_t count)
{
  if (atomic_fetch_sub_explicit(&part->refs, count, memory_order_acq_rel) == count) {
    epoch_retire(&part->retired, partition_free);
  }
}

void partition_read_state(const struct partition *part, struct partition_state *state)
{
  for (;;) {
    // The acquire loads keep the second reading of the sequence behind them; whoever sees a new field sees the odd
    // sequence that was stored before it.
    uint64_t before = atomic_load_explicit(&part->sequence, memory_order_acquire);
    state->role = (enum partition_role)atomic_load_explicit(&part->role, memory_order_acquire);
    state->leader_epoch = atomic_load_explicit(&part->leader_epoch, memory_order_acquire);
    state->log_start_offset = atomic_load_explicit(&part->log_start_offset, memory_order_acquire);
    state->high_watermark = atomic_load_explicit(&part->high_watermark, memory_order_acquire);
    state->last_stable_offset = atomic_load_explicit(&part->last_stable_offset, memory_order_acquire);
    state->epoch_start_offset = atomic_load_explicit(&part->epoch_start_offset, memory_order_acquire);
    uint64_t after = atomic_load_explicit(&part->sequence, memory_order_relaxed);
    if (before == after && (before & 1) == 0) {
      return;
    }
  }
}

void partition_write_state(struct partition *part, const struct partition_state *state)
{
  uint64_t sequence = atomic_fetch_add_explicit(&part->sequence, 1, memory_order_acq_rel);
  CHECK((sequence & 1) == 0);
  atomic_store_explicit(&part->role, (int32_t)state->role, memory_order_release);
  atomic_store_explicit(&part->leader_epoch, state->leader_epoch, memory_order_release);
  atomic_store_explicit(&part->log_start_offset, state->log_start_offset, memory_order_release);
  atomic_store_explicit(&part->high_watermark, state->high_watermark, memory_order_release);
  atomic_store_explicit(&part->last_stable_offset, state->last_stable_offset, memory_order_release);
  atomic_store_explicit(&part->epoch_start_offset, state->epoch_start_offset, memory_order_release);
  atomic_store_explicit(&part->sequence, sequence + 2, memory_order_release);
}

struct append_job *partition_go_offline(struct partition *part)
{
  struct partition_state state;
  partition_read_state(part, &state);
  if (state.role == PARTITION_DELETED) {
    return flush_abort(part, ERR_NOT_FOUND);
  }
  state.role = PARTITION_OFFLINE;
  partition_write_state(part, &state);
  watch_notify_all(part);
  return flush_abort(part, ERR_STORAGE_OFFLINE);
}

int partition_check_epoch(const struct partition_state *state, int32_t epoch)
{
  if (epoch == -1 || epoch == state->leader_epoch) {
    return 0;
  }
  return epoch < state->leader_epoch ? ERR_FENCED_LEADER_EPOCH : ERR_UNKNOWN_LEADER_EPOCH;
}

int partition_check_leader(const struct partition_state *state)
{
  switch (state->role) {
    case PARTITION_LEADER:
      return 0;
    case PARTITION_FOLLOWER:
      return ERR_NOT_LEADER;
    case PARTITION_DELETED:
      return ERR_NOT_FOUND;
    default:
      return ERR_STORAGE_OFFLINE;
  }
}
