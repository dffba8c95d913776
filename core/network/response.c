// SPDX-License-Identifier: Apache-2.0
#include "network/response.h"

#include <stddef.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "network/response_private.h"
#include "wire/writer.h"

enum { RESPONSE_LENGTH_SIZE = 4 }; // bytes of a frame's length field

struct response *response_new(void)
{
  struct response *resp = mem_zalloc(sizeof *resp);
  resp->parts = resp->own;
  resp->part_room = RESPONSE_PARTS_INLINE;
  return resp;
}

struct response *response_begin(struct response_pool *pool, struct wire_writer *w)
{
  struct response *resp = pool->free;
  if (resp != NULL) {
    pool->free = resp->next;
    pool->free_count--;
    memset(resp, 0, offsetof(struct response, own));
  } else {
    resp = mem_zalloc(sizeof *resp + RESPONSE_ROOM_BYTES);
  }
  resp->parts = resp->own;
  resp->part_room = RESPONSE_PARTS_INLINE;
  resp->pool = pool;
  wire_writer_lend(w, resp->room, RESPONSE_ROOM_BYTES);
  return resp;
}

void response_pool_destroy(struct response_pool *pool)
{
  while (pool->free != NULL) {
    struct response *resp = pool->free;
    pool->free = resp->next;
    mem_free(resp);
  }
  pool->free_count = 0;
}

static void response_release_part(struct response_part *part)
{
  if (part->release != NULL) {
    part->release(part->arg);
  }
}

void response_delete(struct response *resp)
{
  if (resp == NULL) {
    return;
  }
  for (size_t i = resp->part_at; i < resp->part_count; i++) {
    response_release_part(&resp->parts[i]);
  }
  if (resp->parts != resp->own) {
    mem_free(resp->parts);
  }
  struct response_pool *pool = resp->pool;
  if (pool != NULL && pool->free_count < RESPONSE_POOL_RESPONSES) {
    resp->next = pool->free;
    pool->free = resp;
    pool->free_count++;
    return;
  }
  mem_free(resp);
}

/// Makes room for `count` more parts.
static void response_reserve(struct response *resp, size_t count)
{
  size_t need = resp->part_count + count;
  if (need <= resp->part_room) {
    return;
  }
  size_t room = need > 2 * resp->part_room ? need : 2 * resp->part_room;
  bool is_own = resp->parts == resp->own;
  resp->parts = mem_realloc(is_own ? NULL : resp->parts, room * sizeof resp->parts[0]);
  if (is_own) {
    memcpy(resp->parts, resp->own, resp->part_count * sizeof resp->parts[0]);
  }
  resp->part_room = room;
}

static void response_add(struct response *resp, struct response_part part)
{
  CHECK(!resp->is_finished);
  response_reserve(resp, 1);
  resp->parts[resp->part_count++] = part;
  resp->size += part.length;
}

void response_add_memory(struct response *resp, const void *bytes, size_t size, response_release_fn release, void *arg)
{
  struct response_part part = {.bytes = bytes, .length = (int64_t)size, .fd = -1, .release = release, .arg = arg};
  if (size == 0) {
    response_release_part(&part);
    return;
  }
  resp->memory_bytes += part.length;
  response_add(resp, part);
}

void response_add_region(struct response *resp, const struct response_region *region)
{
  CHECK(region->pos >= 0 && region->length >= 0);
  struct response_part part = {.bytes = region->bytes,
                               .pos = region->pos,
                               .length = region->length,
                               .fd = region->bytes == NULL ? region->fd : -1,
                               .release = region->release,
                               .arg = region->arg};
  if (region->length == 0) {
    response_release_part(&part);
    return;
  }
  resp->memory_bytes += region->bytes != NULL ? part.length : 0;
  response_add(resp, part);
}

int response_finish(struct response *resp)
{
  CHECK(resp->part_count > 0 && resp->parts[0].bytes != NULL && resp->parts[0].length >= RESPONSE_LENGTH_SIZE);
  if (resp->size - RESPONSE_LENGTH_SIZE > INT32_MAX) {
    return error_set(ERR_LIMIT, "a response of %lld bytes does not fit a frame", (long long)resp->size);
  }
  bytes_put_u32((uint8_t *)(uintptr_t)resp->parts[0].bytes, (uint32_t)(resp->size - RESPONSE_LENGTH_SIZE));
  resp->is_finished = true;
  return 0;
}

int response_take_writer(struct response *resp, struct wire_writer *w)
{
  if (w->error < 0) {
    return w->error;
  }
  CHECK(w->size >= RESPONSE_LENGTH_SIZE && (w->splice_count == 0 || w->splices[0].at >= RESPONSE_LENGTH_SIZE));
  size_t total = wire_writer_total(w);
  if (total - RESPONSE_LENGTH_SIZE > INT32_MAX) {
    return error_set(ERR_LIMIT, "a response of %zu bytes does not fit a frame", total);
  }
  response_reserve(resp, 2 * w->splice_count + 1);
  size_t size = w->size;
  bool is_own = w->is_lent;
  CHECK(!is_own || w->data == resp->room);
  uint8_t *data = is_own ? w->data : wire_writer_steal(w);
  size_t at = 0;
  size_t last = 0; // the last part of memory, which gives the buffer back
  for (size_t i = 0; i <= w->splice_count; i++) {
    size_t end = i < w->splice_count ? w->splices[i].at : size;
    if (end > at) {
      last = resp->part_count;
      response_add_memory(resp, data + at, end - at, NULL, NULL);
      at = end;
    }
    if (i < w->splice_count) {
      const struct response_region *region = w->splices[i].region;
      CHECK(region->length == w->splices[i].length);
      response_add_region(resp, region);
    }
  }
  if (!is_own) {
    resp->parts[last].release = mem_free;
    resp->parts[last].arg = data;
  }
  wire_writer_destroy(w);
  int result = response_finish(resp);
  CHECK(result == 0);
  return 0;
}

int64_t response_memory(const struct response *resp)
{
  return resp->memory_bytes + (resp->pool != NULL ? RESPONSE_ROOM_BYTES : 0) +
         (int64_t)(sizeof *resp + resp->part_room * sizeof resp->parts[0]);
}

int64_t response_size(const struct response *resp)
{
  return resp->size;
}

void response_advance(struct response *resp, int64_t count)
{
  struct response_part *part = &resp->parts[resp->part_at];
  resp->part_done += count;
  CHECK(resp->part_done <= part->length);
  if (resp->part_done == part->length) {
    resp->part_at++;
    resp->part_done = 0;
    response_release_part(part);
  }
}

bool response_is_sent(const struct response *resp)
{
  return resp->part_at == resp->part_count;
}
