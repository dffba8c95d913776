// SPDX-License-Identifier: Apache-2.0
#include "log/tail.h"

#include <stddef.h>

#include "base/mem.h"

void tail_destroy(struct tail *tail)
{
  mem_free(atomic_load_explicit(&tail->entries, memory_order_relaxed));
}

void tail_push(struct tail *tail, const struct tail_batch *batch)
{
  struct tail_entry *entries = atomic_load_explicit(&tail->entries, memory_order_relaxed);
  if (entries == NULL) {
    entries = mem_array(TAIL_SIZE, sizeof *entries);
    atomic_store_explicit(&tail->entries, entries, memory_order_release);
  }
  uint64_t head = atomic_load_explicit(&tail->head, memory_order_relaxed);
  struct tail_entry *entry = &entries[head % TAIL_SIZE];
  // Release: a reader that meets a new value in an old entry also sees the head that gave the entry up.
  atomic_store_explicit(&entry->base_offset, batch->base_offset, memory_order_release);
  atomic_store_explicit(&entry->last_offset, batch->last_offset, memory_order_release);
  atomic_store_explicit(&entry->segment_base, batch->segment_base, memory_order_release);
  atomic_store_explicit(&entry->pos, (uint32_t)batch->pos, memory_order_release);
  atomic_store_explicit(&entry->size, (uint32_t)batch->size, memory_order_release);
  atomic_store_explicit(&tail->head, head + 1, memory_order_release);
}

void tail_clear(struct tail *tail)
{
  atomic_store_explicit(&tail->first, atomic_load_explicit(&tail->head, memory_order_relaxed), memory_order_release);
}

/// Takes entry `number`; false when its place was or is being reused.
static bool tail_get(struct tail *tail, const struct tail_entry *entries, uint64_t number, struct tail_batch *batch)
{
  const struct tail_entry *entry = &entries[number % TAIL_SIZE];
  batch->base_offset = atomic_load_explicit(&entry->base_offset, memory_order_acquire);
  batch->last_offset = atomic_load_explicit(&entry->last_offset, memory_order_acquire);
  batch->segment_base = atomic_load_explicit(&entry->segment_base, memory_order_acquire);
  batch->pos = atomic_load_explicit(&entry->pos, memory_order_acquire);
  batch->size = atomic_load_explicit(&entry->size, memory_order_acquire);
  return atomic_load_explicit(&tail->head, memory_order_acquire) < number + TAIL_SIZE;
}

/// True when a batch lies at or before the wanted place: `segment_base` INT64_MIN searches by offset alone.
static bool tail_is_at_or_before(const struct tail_batch *batch, int64_t segment_base, int64_t limit)
{
  if (segment_base == INT64_MIN) {
    return batch->base_offset <= limit;
  }
  return batch->segment_base < segment_base || (batch->segment_base == segment_base && batch->pos <= limit);
}

/// The last batch at or before a place; offsets, segments and positions rise from entry to entry.
static bool tail_search(struct tail *tail, int64_t segment_base, int64_t limit, struct tail_batch *batch)
{
  const struct tail_entry *entries = atomic_load_explicit(&tail->entries, memory_order_acquire);
  if (entries == NULL) {
    return false;
  }
  uint64_t high = atomic_load_explicit(&tail->head, memory_order_acquire);
  uint64_t low = atomic_load_explicit(&tail->first, memory_order_acquire);
  if (high >= TAIL_SIZE && low < high - (TAIL_SIZE - 1)) {
    low = high - (TAIL_SIZE - 1);
  }
  bool is_found = false;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    struct tail_batch one;
    if (!tail_get(tail, entries, middle, &one)) {
      // Reused: everything up to here is gone. What was found is older still.
      is_found = false;
      low = middle + 1;
    } else if (tail_is_at_or_before(&one, segment_base, limit)) {
      *batch = one;
      is_found = true;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return is_found;
}

bool tail_find(struct tail *tail, int64_t offset, struct tail_batch *batch)
{
  return tail_search(tail, INT64_MIN, offset, batch);
}

bool tail_find_pos(struct tail *tail, int64_t segment_base, int64_t pos, struct tail_batch *batch)
{
  struct tail_batch found;
  if (!tail_search(tail, segment_base, pos, &found) || found.segment_base != segment_base) {
    return false;
  }
  *batch = found;
  return true;
}
