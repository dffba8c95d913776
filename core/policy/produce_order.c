// SPDX-License-Identifier: Apache-2.0
//
// The order in which batches of a partition are decided on. A batch enters when its turn at the partition's home
// begins, and leaves written as a whole, or refused with nothing of it written. Meanwhile its parts are at their homes,
// each in its own time; those who bring something that it waits for look whether it is the first and has all, and do
// what comes next, for it and for those behind it:
//
//   ORDER_PREPARING   its parts are made. Then: is one refused, or has the producer a gap before it? out
//   ORDER_LOOKING     it came behind others: what is stored of it is looked up again, now that those are written
//   ORDER_EMITTING    no log is known not to take its part: what its transforms emitted is written
//   (the end)         its parts are handed to their appenders
//
// Nobody waits here, and a transform never waits for a batch before its own, so a batch that is stuck in one (for a
// second, then it is given up) keeps others from being written, and not from being worked on.
//
// No thread owns the order: the lock of struct partition guards it, and `policy_is_deciding` says that some thread is
// at the first batch, which is then that thread's. Who finds it busy goes on; the other one looks again before it lets
// go.
#include "base/epoch.h"
#include "base/error.h"
#include "event/loop.h"
#include "os/clock.h"
#include "policy/produce_private.h"
#include "replica/gaps.h"

enum order_step { ORDER_PREPARING, ORDER_LOOKING, ORDER_EMITTING };

/// Bytes that waiting batches of all partitions may have in what was made of them; what comes then is refused for the
/// moment. Clients that send more than their brokers' disks take are held back by that, as their requests are limited.
static const int64_t ORDER_BYTES_MAX = INT64_C(256) * 1024 * 1024;

static _Atomic(int64_t) order_bytes; // of what was made and waits

bool policy_order_is_full(void)
{
  return atomic_load_explicit(&order_bytes, memory_order_relaxed) > ORDER_BYTES_MAX;
}

void policy_order_hold_batch(struct policy_produce *op)
{
  if (op->part_count == 1 && op->was_first) {
    return;
  }
  op->held_bytes = op->split.capacity + op->packed.capacity;
  atomic_fetch_add_explicit(&order_bytes, (int64_t)op->held_bytes, memory_order_relaxed);
}

void policy_order_hold(struct policy_part *part)
{
  // One part is written right away, but for what it emits or what is before it.
  if (part->op->part_count == 1 && part->op->was_first && part->emit_count == 0) {
    return;
  }
  part->held_bytes = part->rewritten.capacity;
  for (int i = 0; i < part->extra_count; i++) {
    part->held_bytes += part->extras[i].out.capacity;
  }
  for (int i = 0; i < part->emit_count; i++) {
    part->held_bytes += part->emits[i].out.capacity;
  }
  atomic_fetch_add_explicit(&order_bytes, (int64_t)part->held_bytes, memory_order_relaxed);
}

void policy_order_enter(struct policy_produce *op)
{
  struct partition *part = op->addressed;
  atomic_fetch_add_explicit(&op->pending, 1, memory_order_relaxed);
  pthread_mutex_lock(&part->policy_lock);
  op->was_first = list_is_empty(&part->policy_order);
  list_append(&part->policy_order, &op->node);
  pthread_mutex_unlock(&part->policy_lock);
}

// ---- a decision ----

/// Why nothing of a batch may be written; 0: all of it may.
static int order_result(const struct policy_produce *op)
{
  int result = op->result;
  for (int32_t i = 0; i < op->part_count && result == 0; i++) {
    result = op->parts[i].result;
  }
  return result;
}

/// A refused batch takes no sequences, and its producer has to know before it goes on. What is refused for its own
/// sequence or epoch leaves no gap, but for a batch of which only some shares would lie behind a missing one: what
/// comes next may have none there.
static void order_note_gap(struct policy_produce *op, int result)
{
  bool is_wrong = result == ERR_OUT_OF_ORDER_SEQUENCE || result == ERR_INVALID_PRODUCER_EPOCH;
  if (op->producer_id >= 0 && (!is_wrong || op->is_behind_gap)) {
    gaps_note(&op->addressed->gaps, op->producer_id, op->producer_epoch, op->sequence, clock_mono_ms());
  }
}

/// Whether batches of the producer that were before it have been refused; if not so, none is missing any more.
static int order_check_gap(struct policy_produce *op)
{
  struct gaps *gaps = atomic_load_explicit(&op->addressed->gaps, memory_order_acquire);
  if (gaps == NULL || op->producer_id < 0) {
    return 0;
  }
  if (gaps_refuse(gaps, op->producer_id, op->producer_epoch, op->sequence, clock_mono_ms())) {
    op->verdict.message = "A batch of the producer before this one was refused, and has to come first.";
    return error_set(ERR_OUT_OF_ORDER_SEQUENCE, "a batch before it was refused");
  }
  gaps_close(gaps, op->producer_id, op->producer_epoch, op->sequence,
             batch_next_sequence(op->sequence, op->verdict.header.last_offset_delta));
  return 0;
}

/// Begins to look up what is stored, where that may have changed.
static void order_look(struct policy_produce *op)
{
  for (int32_t i = 0; i < op->part_count && !op->was_first; i++) {
    atomic_fetch_add_explicit(&op->waiting, 1, memory_order_relaxed);
    if (!policy_part_look_again(&op->parts[i])) {
      atomic_fetch_sub_explicit(&op->waiting, 1, memory_order_relaxed);
    }
  }
}

/// Begins to write what was emitted.
static void order_emit(struct policy_produce *op)
{
  for (int32_t i = 0; i < op->part_count; i++) {
    struct policy_part *part = &op->parts[i];
    policy_part_take_look(part);
    if (op->part_count > 1 && part->result == 0 && !part->is_stored) {
      part->result = partition_check_append(part->part, part->bytes);
      op->is_behind_gap = op->is_behind_gap || part->result == ERR_OUT_OF_ORDER_SEQUENCE;
    }
  }
  if (order_result(op) < 0) {
    return;
  }
  for (int32_t i = 0; i < op->part_count; i++) {
    struct policy_part *part = &op->parts[i];
    if (!part->is_stored && part->emit_count > 0) {
      atomic_fetch_add_explicit(&op->waiting, part->emit_count, memory_order_relaxed);
      policy_extra_write(part);
    }
  }
}

/// Writes a batch of which all is there.
static void order_write(struct policy_produce *op)
{
  for (int32_t i = 0; i < op->part_count; i++) {
    if (!op->parts[i].is_stored) {
      policy_part_submit(&op->parts[i]);
    }
  }
}

/// Does what comes next for the first batch, which waits for nothing.
///
/// @return false: it may wait for something again, and counts one too many; true: it has been written or refused
static bool order_step(struct policy_produce *op)
{
  atomic_store_explicit(&op->waiting, 1, memory_order_relaxed); // until all of the step has begun
  switch (op->step) {
    case ORDER_PREPARING:
      op->result = op->result == 0 && order_result(op) == 0 ? order_check_gap(op) : op->result;
      if (order_result(op) == 0) {
        op->step = ORDER_LOOKING;
        order_look(op);
      }
      break;
    case ORDER_LOOKING:
      op->step = ORDER_EMITTING;
      order_emit(op);
      break;
    default:
      for (int32_t i = 0; i < op->part_count; i++) {
        if (!op->parts[i].is_stored) {
          policy_extra_check(&op->parts[i]);
        }
      }
      if (order_result(op) == 0) {
        order_write(op);
        return true;
      }
  }
  int result = order_result(op);
  if (result < 0) {
    order_note_gap(op, result);
  }
  return result < 0;
}

/// Does so until it has to wait. @return whether it is decided on
static bool order_go_on(struct policy_produce *op)
{
  do {
    if (order_step(op)) {
      return true;
    }
  } while (atomic_fetch_sub_explicit(&op->waiting, 1, memory_order_acq_rel) == 1);
  return false;
}

// ---- one after the other ----

static void order_told(struct mail *mail)
{
  policy_produce_release(CONTAINER_OF(mail, struct policy_produce, decided_mail));
}

/// Lets a batch go that was decided on. Holding the lock.
static void order_leave(struct policy_produce *op, const struct policy_produce *own)
{
  list_remove(&op->node);
  int64_t held_bytes = (int64_t)op->held_bytes;
  for (int32_t i = 0; i < op->part_count; i++) {
    held_bytes += (int64_t)op->parts[i].held_bytes;
  }
  if (held_bytes > 0) {
    atomic_fetch_sub_explicit(&order_bytes, held_bytes, memory_order_relaxed);
  }
  atomic_fetch_sub_explicit(&op->addressed->policy_jobs, 1, memory_order_release);
  if (op == own) {
    atomic_fetch_sub_explicit(&op->pending, 1, memory_order_acq_rel);
  } else {
    op->decided_mail.run = order_told;
    event_loop_post(op->reply, &op->decided_mail);
  }
}

/// The first batch that waits for nothing; NULL: there is none. Holding the lock.
static struct policy_produce *order_first(struct partition *part)
{
  if (list_is_empty(&part->policy_order)) {
    return NULL;
  }
  struct policy_produce *op = CONTAINER_OF(part->policy_order.next, struct policy_produce, node);
  return atomic_load_explicit(&op->waiting, memory_order_acquire) == 0 ? op : NULL;
}

/// Decides on all batches that can be. Inside the epoch.
static void order_decide(struct partition *part, const struct policy_produce *own)
{
  pthread_mutex_lock(&part->policy_lock);
  if (!part->policy_is_deciding) {
    part->policy_is_deciding = true;
    for (struct policy_produce *op = order_first(part); op != NULL; op = order_first(part)) {
      pthread_mutex_unlock(&part->policy_lock);
      bool is_decided = order_go_on(op);
      pthread_mutex_lock(&part->policy_lock);
      if (is_decided) {
        order_leave(op, own);
      }
    }
    part->policy_is_deciding = false;
  }
  pthread_mutex_unlock(&part->policy_lock);
}

void policy_order_came(struct policy_produce *op, bool is_own)
{
  // The epoch keeps the partition: when somebody else decides on the batch, it may be gone at once.
  bool was_inside = epoch_is_inside();
  epoch_enter();
  struct partition *part = op->addressed;
  if (atomic_fetch_sub_explicit(&op->waiting, 1, memory_order_acq_rel) == 1) {
    order_decide(part, is_own ? op : NULL);
  }
  if (!was_inside) {
    epoch_leave();
  }
}

void policy_order_refuse(struct policy_produce *op)
{
  order_note_gap(op, op->result);
  atomic_fetch_sub_explicit(&op->addressed->policy_jobs, 1, memory_order_release);
}
