// SPDX-License-Identifier: Apache-2.0
#include "log/time_index.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/index_file.h"
#include "os/file.h"

/// Where a lookup reads entries: the file, opened once, and the ring.
struct time_index_reader {
  struct time_index *index; ///< the index
  const char *path;         ///< its file
  int fd;                   ///< -1: not opened yet
};

static int time_index_get(struct time_index_reader *reader, uint32_t number, struct time_index_entry *entry);

void time_index_create(struct time_index *index, uint32_t count, const struct time_index_entry *last,
                       int32_t size_limit)
{
  atomic_init(&index->count, count);
  atomic_init(&index->written, count);
  atomic_init(&index->ring, NULL);
  uint32_t room = (uint32_t)size_limit / TIME_INDEX_ENTRY_SIZE;
  index->room = room > count ? room : count;
  index->last = *last;
}

void time_index_destroy(struct time_index *index)
{
  mem_free(atomic_load_explicit(&index->ring, memory_order_relaxed));
}

bool time_index_is_waiting(const struct time_index *index)
{
  return atomic_load_explicit(&index->count, memory_order_relaxed) -
             atomic_load_explicit(&index->written, memory_order_relaxed) >=
         TIME_INDEX_WRITE_AT;
}

void time_index_add(struct time_index *index, int64_t timestamp, int64_t relative_offset, bool is_closing)
{
  if (timestamp <= index->last.timestamp || relative_offset < index->last.relative_offset) {
    return;
  }
  uint32_t count = atomic_load_explicit(&index->count, memory_order_relaxed);
  uint32_t waiting = count - atomic_load_explicit(&index->written, memory_order_relaxed);
  if (waiting >= TIME_INDEX_RING || count + (is_closing ? 0 : 1) >= index->room) {
    return;
  }
  struct time_index_ring *ring = atomic_load_explicit(&index->ring, memory_order_relaxed);
  if (ring == NULL) {
    ring = mem_zalloc(sizeof *ring);
    atomic_store_explicit(&index->ring, ring, memory_order_release);
  }
  uint32_t place = count % TIME_INDEX_RING;
  atomic_store_explicit(&ring->timestamps[place], timestamp, memory_order_release);
  atomic_store_explicit(&ring->offsets[place], relative_offset, memory_order_release);
  atomic_store_explicit(&index->count, count + 1, memory_order_release);
  index->last = (struct time_index_entry){timestamp, relative_offset};
}

int time_index_write(struct time_index *index, const char *path)
{
  uint32_t count = atomic_load_explicit(&index->count, memory_order_relaxed);
  uint32_t written = atomic_load_explicit(&index->written, memory_order_relaxed);
  if (count == written) {
    return 0;
  }
  struct time_index_ring *ring = atomic_load_explicit(&index->ring, memory_order_relaxed);
  uint8_t bytes[TIME_INDEX_RING * TIME_INDEX_ENTRY_SIZE];
  for (uint32_t i = written; i < count; i++) {
    uint8_t *at = bytes + (size_t)(i - written) * TIME_INDEX_ENTRY_SIZE;
    uint32_t place = i % TIME_INDEX_RING;
    bytes_put_u64(at, (uint64_t)atomic_load_explicit(&ring->timestamps[place], memory_order_relaxed));
    bytes_put_u32(at + 8, (uint32_t)atomic_load_explicit(&ring->offsets[place], memory_order_relaxed));
  }
  TRY(index_file_write(path, TIME_INDEX_ENTRY_SIZE, written, bytes, count - written));
  atomic_store_explicit(&index->written, count, memory_order_release);
  return 0;
}

int time_index_truncate(struct time_index *index, const char *path, int64_t relative_offset)
{
  struct time_index_reader reader = {.index = index, .path = path, .fd = -1};
  uint32_t count = atomic_load_explicit(&index->count, memory_order_relaxed);
  struct time_index_entry last = {-1, 0};
  int result = 0;
  while (count > 0) {
    struct time_index_entry entry = {-1, 0};
    result = time_index_get(&reader, count - 1, &entry);
    if (result < 0) {
      break;
    }
    if (entry.relative_offset < relative_offset) {
      last = entry;
      break;
    }
    count--;
  }
  file_close(reader.fd);
  TRY(result);
  atomic_store_explicit(&index->count, count, memory_order_release);
  if (count < atomic_load_explicit(&index->written, memory_order_relaxed)) {
    atomic_store_explicit(&index->written, count, memory_order_release);
  }
  index->last = last;
  return 0;
}

int time_index_floor(struct time_index *index, const char *path, int64_t timestamp, struct time_index_entry *entry)
{
  struct time_index_reader reader = {.index = index, .path = path, .fd = -1};
  uint32_t low = 0;
  uint32_t high = atomic_load_explicit(&index->count, memory_order_acquire);
  int result = 0;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    struct time_index_entry one = {-1, 0};
    int got = time_index_get(&reader, middle, &one);
    if (got < 0) {
      result = got;
      break;
    }
    if (one.timestamp <= timestamp) {
      *entry = one;
      result = 1;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  file_close(reader.fd);
  return result;
}

void time_index_decode(const uint8_t *bytes, struct time_index_entry *entry)
{
  entry->timestamp = (int64_t)bytes_get_u64(bytes);
  entry->relative_offset = (int64_t)(int32_t)bytes_get_u32(bytes + 8);
}

uint32_t time_index_valid(const uint8_t *bytes, uint32_t count)
{
  struct time_index_entry last = {-1, 0};
  for (uint32_t i = 0; i < count; i++) {
    struct time_index_entry entry = {-1, 0};
    time_index_decode(bytes + (size_t)i * TIME_INDEX_ENTRY_SIZE, &entry);
    if (entry.timestamp <= last.timestamp || entry.relative_offset < last.relative_offset) {
      return i;
    }
    last = entry;
  }
  return count;
}

/// One entry, wherever it is.
static int time_index_get(struct time_index_reader *reader, uint32_t number, struct time_index_entry *entry)
{
  struct time_index *index = reader->index;
  if (number >= atomic_load_explicit(&index->written, memory_order_acquire)) {
    struct time_index_ring *ring = atomic_load_explicit(&index->ring, memory_order_acquire);
    uint32_t place = number % TIME_INDEX_RING;
    entry->timestamp = atomic_load_explicit(&ring->timestamps[place], memory_order_acquire);
    entry->relative_offset = atomic_load_explicit(&ring->offsets[place], memory_order_acquire);
    if (number >= atomic_load_explicit(&index->written, memory_order_acquire)) {
      return 0;
    }
    // It was written meanwhile, and its place in the ring may hold another one.
  }
  if (reader->fd < 0) {
    TRY(file_open(reader->path, FILE_READ, &reader->fd));
  }
  uint8_t bytes[TIME_INDEX_ENTRY_SIZE];
  TRY(file_read_at(reader->fd, bytes, sizeof bytes, (int64_t)number * TIME_INDEX_ENTRY_SIZE));
  time_index_decode(bytes, entry);
  return 0;
}
