// SPDX-License-Identifier: Apache-2.0
#include "log/tail.h"

#include <stddef.h>

#include "base/list.h"
#include "base/mem.h"

void tail_destroy(struct tail *tail)
{
  mem_free(atomic_load_explicit(&tail->ring, memory_order_relaxed));
}

static void tail_ring_free(struct epoch_retired *retired)
{
  mem_free(CONTAINER_OF(retired, struct tail_ring, retired));
}

/// The ring with room for a batch that counts beside all that count now, up to TAIL_SIZE.
static struct tail_ring *tail_make_room(struct tail *tail)
{
  struct tail_ring *ring = atomic_load_explicit(&tail->ring, memory_order_relaxed);
  uint64_t head = ring == NULL ? 0 : atomic_load_explicit(&ring->head, memory_order_relaxed);
  // The oldest batch of a full ring counts no more for readers (tail_search).
  if (ring != NULL && (ring->size == TAIL_SIZE || head + 1 < ring->size)) {
    return ring;
  }
  uint64_t size = ring == NULL ? TAIL_SIZE_FIRST : ring->size * TAIL_GROWTH;
  struct tail_ring *larger = mem_zalloc(sizeof *larger + size * sizeof larger->entries[0]);
  larger->size = size;
  atomic_init(&larger->head, head);
  for (uint64_t number = 0; number < head; number++) {
    // Nobody writes to the old ring but this thread, and it has all batches so far.
    const struct tail_entry *from = &ring->entries[number % ring->size];
    struct tail_entry *to = &larger->entries[number % size];
    atomic_init(&to->base_offset, atomic_load_explicit(&from->base_offset, memory_order_relaxed));
    atomic_init(&to->last_offset, atomic_load_explicit(&from->last_offset, memory_order_relaxed));
    atomic_init(&to->segment_base, atomic_load_explicit(&from->segment_base, memory_order_relaxed));
    atomic_init(&to->pos, atomic_load_explicit(&from->pos, memory_order_relaxed));
    atomic_init(&to->size, atomic_load_explicit(&from->size, memory_order_relaxed));
  }
  atomic_store_explicit(&tail->ring, larger, memory_order_release);
  if (ring != NULL) {
    epoch_retire(&ring->retired, tail_ring_free);
  }
  return larger;
}

void tail_push(struct tail *tail, const struct tail_batch *batch)
{
  struct tail_ring *ring = tail_make_room(tail);
  uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  struct tail_entry *entry = &ring->entries[head % ring->size];
  // Release: a reader that meets a new value in an old entry also sees the head that gave the entry up.
  atomic_store_explicit(&entry->base_offset, batch->base_offset, memory_order_release);
  atomic_store_explicit(&entry->last_offset, batch->last_offset, memory_order_release);
  atomic_store_explicit(&entry->segment_base, batch->segment_base, memory_order_release);
  atomic_store_explicit(&entry->pos, (uint32_t)batch->pos, memory_order_release);
  atomic_store_explicit(&entry->size, (uint32_t)batch->size, memory_order_release);
  atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

void tail_clear(struct tail *tail)
{
  const struct tail_ring *ring = atomic_load_explicit(&tail->ring, memory_order_relaxed);
  if (ring != NULL) {
    atomic_store_explicit(&tail->first, atomic_load_explicit(&ring->head, memory_order_relaxed), memory_order_release);
  }
}

/// Takes entry `number`; false when its place was or is being reused.
static bool tail_get(const struct tail_ring *ring, uint64_t number, struct tail_batch *batch)
{
  const struct tail_entry *entry = &ring->entries[number % ring->size];
  batch->base_offset = atomic_load_explicit(&entry->base_offset, memory_order_acquire);
  batch->last_offset = atomic_load_explicit(&entry->last_offset, memory_order_acquire);
  batch->segment_base = atomic_load_explicit(&entry->segment_base, memory_order_acquire);
  batch->pos = atomic_load_explicit(&entry->pos, memory_order_acquire);
  batch->size = atomic_load_explicit(&entry->size, memory_order_acquire);
  return atomic_load_explicit(&ring->head, memory_order_acquire) < number + ring->size;
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
  const struct tail_ring *ring = atomic_load_explicit(&tail->ring, memory_order_acquire);
  if (ring == NULL) {
    return false;
  }
  uint64_t high = atomic_load_explicit(&ring->head, memory_order_acquire);
  uint64_t low = atomic_load_explicit(&tail->first, memory_order_acquire);
  if (high >= ring->size && low < high - (ring->size - 1)) {
    low = high - (ring->size - 1);
  }
  bool is_found = false;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    struct tail_batch one;
    if (!tail_get(ring, middle, &one)) {
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
