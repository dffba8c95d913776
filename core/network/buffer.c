// SPDX-License-Identifier: Apache-2.0
//
// Sizes from 256 KiB up are mapped rather than taken from the heap: their pages exist when they are first written, and
// go back to the system when the buffer is freed.
#include "network/buffer.h"

#include <stdbool.h>
#include <sys/mman.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"

enum {
  BUFFER_CLASS_NONE = -1,
  BUFFER_MAP_BYTES = 256 * 1024, // smallest size that is mapped
  BUFFER_PAGE_BYTES = 4096,
};

/// The smallest class that holds `size`, and its size in bytes.
static int buffer_class_of(size_t size, size_t *class_size)
{
  size_t room = BUFFER_SMALL_BYTES;
  for (int i = 0; i < BUFFER_CLASSES; i++, room *= 4) {
    if (size <= room) {
      *class_size = room;
      return i;
    }
  }
  *class_size = (size + BUFFER_PAGE_BYTES - 1) / BUFFER_PAGE_BYTES * BUFFER_PAGE_BYTES;
  return BUFFER_CLASS_NONE;
}

/// Gives a buffer's memory back to the gate.
static void buffer_uncount(struct buffer *buffer)
{
  struct memory_share *share = &buffer->pool->share;
  if (!buffer->is_counted) {
    return;
  }
  buffer->is_counted = false;
  if (buffer->size > BUFFER_SMALL_BYTES) {
    memory_gate_add(share->gate, -(int64_t)buffer->size);
  } else {
    memory_share_add(share, -(int64_t)buffer->size);
  }
}

void buffer_discount(struct buffer *buffer)
{
  if (buffer->pool != NULL && buffer->size <= BUFFER_SMALL_BYTES) {
    buffer_uncount(buffer);
  }
}

size_t buffer_room(size_t size)
{
  size_t room = 0;
  buffer_class_of(size, &room);
  return room;
}

static void buffer_delete(struct buffer *buffer)
{
  if (buffer->size >= BUFFER_MAP_BYTES) {
    munmap(buffer->bytes, buffer->size);
  } else {
    mem_free(buffer->bytes);
  }
  mem_free(buffer);
}

void buffer_pool_destroy(struct buffer_pool *pool)
{
  CHECK(pool->used_bytes == 0);
  if (pool->share.gate != NULL) {
    memory_share_settle(&pool->share);
  }
  for (int i = 0; i < BUFFER_CLASSES; i++) {
    while (pool->free[i] != NULL) {
      struct buffer *buffer = pool->free[i];
      pool->free[i] = buffer->next;
      buffer_delete(buffer);
    }
  }
  pool->free_bytes = 0;
}

struct buffer *buffer_get(struct buffer_pool *pool, size_t size, bool is_counted)
{
  size_t room = 0;
  int size_class = buffer_class_of(size, &room);
  struct buffer *buffer = size_class == BUFFER_CLASS_NONE ? NULL : pool->free[size_class];
  if (buffer != NULL) {
    pool->free[size_class] = buffer->next;
    pool->free_bytes -= room;
  } else {
    uint8_t *bytes;
    if (room >= BUFFER_MAP_BYTES) {
      bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (bytes == MAP_FAILED) {
        error_set(ERR_NOMEM, "no address space for a request of %zu bytes", size);
        return NULL;
      }
    } else {
      bytes = mem_alloc(room);
    }
    buffer = mem_zalloc(sizeof *buffer);
    buffer->pool = pool;
    buffer->bytes = bytes;
    buffer->size = room;
    buffer->size_class = size_class;
  }
  buffer->next = NULL;
  buffer->refs = 1;
  buffer->is_counted = pool->share.gate != NULL && (is_counted || room > BUFFER_SMALL_BYTES);
  if (buffer->is_counted && room <= BUFFER_SMALL_BYTES) {
    memory_share_add(&pool->share, (int64_t)room);
  }
  pool->used_bytes += room;
  return buffer;
}

void buffer_ref(struct buffer *buffer)
{
  CHECK(buffer->refs > 0);
  buffer->refs++;
}

void buffer_unref(struct buffer *buffer)
{
  CHECK(buffer->refs > 0);
  if (--buffer->refs > 0) {
    return;
  }
  struct buffer_pool *pool = buffer->pool;
  if (pool == NULL) {
    buffer_delete(buffer);
    return;
  }
  pool->used_bytes -= buffer->size;
  buffer_uncount(buffer);
  if (buffer->size_class == BUFFER_CLASS_NONE || pool->free_bytes + buffer->size > BUFFER_POOL_LIMIT_BYTES) {
    buffer_delete(buffer);
    return;
  }
  buffer->next = pool->free[buffer->size_class];
  pool->free[buffer->size_class] = buffer;
  pool->free_bytes += buffer->size;
}

void buffer_detach(struct buffer *buffer)
{
  if (buffer->pool != NULL) {
    buffer->pool->used_bytes -= buffer->size;
    buffer_uncount(buffer);
    buffer->pool = NULL;
  }
}
