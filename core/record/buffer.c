// SPDX-License-Identifier: Apache-2.0
#include "record/buffer.h"

#include "base/error.h"
#include "base/mem.h"

enum { BUFFER_FIRST_BYTES = 4096 };

void record_buffer_init(struct record_buffer *buffer, size_t limit)
{
  *buffer = (struct record_buffer){.limit = limit};
}

void record_buffer_reset(struct record_buffer *buffer, size_t limit)
{
  buffer->size = 0;
  buffer->limit = limit;
  if (buffer->capacity > limit) {
    mem_free(buffer->bytes);
    buffer->bytes = NULL;
    buffer->capacity = 0;
  }
}

int record_buffer_reserve(struct record_buffer *buffer, size_t more)
{
  if (more <= buffer->capacity - buffer->size) {
    return 0;
  }
  if (more > buffer->limit - buffer->size) {
    return ERR_LIMIT;
  }
  size_t needed = buffer->size + more;
  size_t capacity = buffer->capacity > buffer->limit / 2 ? buffer->limit : buffer->capacity * 2;
  if (capacity < BUFFER_FIRST_BYTES) {
    capacity = BUFFER_FIRST_BYTES < buffer->limit ? BUFFER_FIRST_BYTES : buffer->limit;
  }
  if (capacity < needed) {
    capacity = needed;
  }
  buffer->bytes = mem_realloc(buffer->bytes, capacity);
  buffer->capacity = capacity;
  return 0;
}

void record_buffer_hint(struct record_buffer *buffer, size_t more)
{
  size_t most = buffer->limit - buffer->size;
  record_buffer_reserve(buffer, more < most ? more : most);
}

int record_buffer_grow(struct record_buffer *buffer)
{
  return record_buffer_reserve(buffer, buffer->capacity - buffer->size + 1);
}

void record_buffer_trim(struct record_buffer *buffer, size_t limit)
{
  if (limit < buffer->size) {
    limit = buffer->size;
  }
  if (buffer->capacity > limit && limit > 0) {
    buffer->bytes = mem_realloc(buffer->bytes, limit);
    buffer->capacity = limit;
  } else if (buffer->capacity > limit) {
    record_buffer_destroy(buffer);
  }
  buffer->limit = limit < buffer->limit ? limit : buffer->limit;
}

void record_buffer_destroy(struct record_buffer *buffer)
{
  mem_free(buffer->bytes);
  *buffer = (struct record_buffer){0};
}
