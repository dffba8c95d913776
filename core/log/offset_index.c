// SPDX-License-Identifier: Apache-2.0
#include "log/offset_index.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/index_file.h"

void offset_index_create(struct offset_index *index, uint32_t count, int32_t size_limit)
{
  atomic_init(&index->count, count);
  atomic_init(&index->written, count);
  atomic_init(&index->ring, NULL);
  uint32_t room = (uint32_t)size_limit / OFFSET_INDEX_ENTRY_SIZE;
  index->room = room > count ? room : count;
}

void offset_index_destroy(struct offset_index *index)
{
  mem_free(atomic_load_explicit(&index->ring, memory_order_relaxed));
}

bool offset_index_is_waiting(const struct offset_index *index)
{
  return atomic_load_explicit(&index->count, memory_order_relaxed) -
             atomic_load_explicit(&index->written, memory_order_relaxed) >=
         OFFSET_INDEX_WRITE_AT;
}

void offset_index_add(struct offset_index *index, int64_t relative_offset, int64_t pos)
{
  uint32_t count = atomic_load_explicit(&index->count, memory_order_relaxed);
  uint32_t waiting = count - atomic_load_explicit(&index->written, memory_order_relaxed);
  if (waiting >= OFFSET_INDEX_RING || count >= index->room) {
    return;
  }
  struct offset_index_ring *ring = atomic_load_explicit(&index->ring, memory_order_relaxed);
  if (ring == NULL) {
    ring = mem_zalloc(sizeof *ring);
    atomic_store_explicit(&index->ring, ring, memory_order_release);
  }
  // Release: a reader that meets this entry in the place of an older one also sees that the older one is written.
  atomic_store_explicit(&ring->entries[count % OFFSET_INDEX_RING], (uint64_t)relative_offset << 32 | (uint32_t)pos,
                        memory_order_release);
  atomic_store_explicit(&index->count, count + 1, memory_order_release);
}

int offset_index_write(struct offset_index *index, const char *path)
{
  uint32_t count = atomic_load_explicit(&index->count, memory_order_relaxed);
  uint32_t written = atomic_load_explicit(&index->written, memory_order_relaxed);
  if (count == written) {
    return 0;
  }
  struct offset_index_ring *ring = atomic_load_explicit(&index->ring, memory_order_relaxed);
  uint8_t bytes[OFFSET_INDEX_RING * OFFSET_INDEX_ENTRY_SIZE];
  for (uint32_t i = written; i < count; i++) {
    bytes_put_u64(bytes + (size_t)(i - written) * OFFSET_INDEX_ENTRY_SIZE,
                  atomic_load_explicit(&ring->entries[i % OFFSET_INDEX_RING], memory_order_relaxed));
  }
  TRY(index_file_write(path, OFFSET_INDEX_ENTRY_SIZE, written, bytes, count - written));
  atomic_store_explicit(&index->written, count, memory_order_release);
  return 0;
}

void offset_index_truncate(struct offset_index *index, uint32_t count)
{
  if (count < atomic_load_explicit(&index->count, memory_order_relaxed)) {
    atomic_store_explicit(&index->count, count, memory_order_release);
    if (count < atomic_load_explicit(&index->written, memory_order_relaxed)) {
      atomic_store_explicit(&index->written, count, memory_order_release);
    }
  }
}

/// One entry, for a reader; false when it cannot be had (no mapping, or shorter).
static bool offset_index_get(struct offset_index *index, const uint8_t *map, size_t map_size, uint32_t number,
                             uint64_t *entry)
{
  if (number >= atomic_load_explicit(&index->written, memory_order_acquire)) {
    struct offset_index_ring *ring = atomic_load_explicit(&index->ring, memory_order_acquire);
    if (ring == NULL) {
      return false;
    }
    *entry = atomic_load_explicit(&ring->entries[number % OFFSET_INDEX_RING], memory_order_acquire);
    if (number >= atomic_load_explicit(&index->written, memory_order_acquire)) {
      return true;
    }
    // It was written meanwhile, and its place in the ring may hold another one.
  }
  if (map == NULL || ((size_t)number + 1) * OFFSET_INDEX_ENTRY_SIZE > map_size) {
    return false;
  }
  *entry = bytes_get_u64(map + (size_t)number * OFFSET_INDEX_ENTRY_SIZE);
  return true;
}

/// The last entry before number `below` whose upper or lower half is at most `limit`; both halves rise from entry to
/// entry.
static int64_t offset_index_search(struct offset_index *index, const uint8_t *map, size_t map_size, uint32_t below,
                                   int64_t limit, int shift, uint64_t *found_entry)
{
  uint32_t low = 0;
  uint32_t high = atomic_load_explicit(&index->count, memory_order_acquire);
  int64_t found = -1;
  high = high < below ? high : below;
  *found_entry = 0;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    uint64_t entry = 0;
    if (!offset_index_get(index, map, map_size, middle, &entry)) {
      high = middle;
      continue;
    }
    if ((int64_t)(uint32_t)(entry >> shift) <= limit) {
      found = middle;
      *found_entry = entry;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return found;
}

int64_t offset_index_floor(struct offset_index *index, const uint8_t *map, size_t map_size, int64_t relative_offset,
                           int64_t *pos)
{
  int64_t entry_offset = 0;
  return offset_index_floor_below(index, map, map_size, UINT32_MAX, relative_offset, &entry_offset, pos);
}

int64_t offset_index_floor_below(struct offset_index *index, const uint8_t *map, size_t map_size, uint32_t below,
                                 int64_t relative_offset, int64_t *entry_offset, int64_t *pos)
{
  uint64_t entry = 0;
  int64_t number = offset_index_search(index, map, map_size, below, relative_offset, 32, &entry);
  *entry_offset = (int64_t)(entry >> 32);
  *pos = (int64_t)(uint32_t)entry;
  return number;
}

int64_t offset_index_pos(struct offset_index *index, const uint8_t *map, size_t map_size, int64_t number)
{
  uint64_t entry = 0;
  if (number >= atomic_load_explicit(&index->count, memory_order_acquire) ||
      !offset_index_get(index, map, map_size, (uint32_t)number, &entry)) {
    return -1;
  }
  return (int64_t)(uint32_t)entry;
}

int64_t offset_index_floor_pos(struct offset_index *index, const uint8_t *map, size_t map_size, int64_t pos,
                               int64_t *found_pos)
{
  uint64_t entry = 0;
  int64_t number = offset_index_search(index, map, map_size, UINT32_MAX, pos, 0, &entry);
  *found_pos = (int64_t)(uint32_t)entry;
  return number;
}

void offset_index_decode(const uint8_t *entry, int64_t *relative_offset, int64_t *pos)
{
  *relative_offset = (int64_t)(int32_t)bytes_get_u32(entry);
  *pos = (int64_t)(int32_t)bytes_get_u32(entry + 4);
}

uint32_t offset_index_valid(const uint8_t *bytes, uint32_t count, int64_t log_size)
{
  int64_t last_offset = 0;
  int64_t last_pos = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t relative_offset = 0;
    int64_t pos = 0;
    offset_index_decode(bytes + (size_t)i * OFFSET_INDEX_ENTRY_SIZE, &relative_offset, &pos);
    if (relative_offset <= last_offset || pos <= last_pos || pos >= log_size) {
      return i;
    }
    last_offset = relative_offset;
    last_pos = pos;
  }
  return count;
}
