// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

enum { ARENA_BLOCK_BYTES = 4096, ARENA_ALIGN = 16 };

struct arena_block {
  struct arena_block *next; ///< older block
  size_t size;              ///< bytes in data
  _Alignas(ARENA_ALIGN) char data[];
};

static struct arena_block *arena_block_new(size_t size)
{
  struct arena_block *block = mem_alloc(sizeof *block + size);
  block->size = size;
  block->next = NULL;
  return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
  CHECK(size <= SIZE_MAX / 2);
  size_t need = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
  struct arena_block *block = arena->blocks;
  if (block == NULL || block->size - arena->used < need) {
    size_t standard = ARENA_BLOCK_BYTES - sizeof *block;
    struct arena_block *fresh = arena_block_new(need > standard ? need : standard);
    if (block != NULL && need > standard) {
      // A large allocation gets a block of its own, behind the current one, which still has room.
      fresh->next = block->next;
      block->next = fresh;
      arena->total += need;
      return fresh->data;
    }
    fresh->next = block;
    arena->blocks = fresh;
    arena->used = 0;
    block = fresh;
  }
  void *result = block->data + arena->used;
  arena->used += need;
  arena->total += need;
  return result;
}

void *arena_zalloc(struct arena *arena, size_t size)
{
  return memset(arena_alloc(arena, size), 0, size);
}

void *arena_dup(struct arena *arena, const void *bytes, size_t size)
{
  void *copy = arena_alloc(arena, size);
  if (size > 0) {
    memcpy(copy, bytes, size);
  }
  return copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
  char *copy = arena_alloc(arena, length + 1);
  if (length > 0) {
    memcpy(copy, text, length);
  }
  copy[length] = '\0';
  return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  CHECK(length >= 0);
  char *text = arena_alloc(arena, (size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

void arena_reserve(struct arena *arena, size_t total, size_t size)
{
  CHECK(arena->blocks == NULL && total <= SIZE_MAX / 4 && size <= SIZE_MAX / 4);
  arena->blocks = arena_block_new(total + ((size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1)));
  arena->used = 0;
}

void arena_reset(struct arena *arena)
{
  struct arena_block *keep = NULL;
  for (struct arena_block *block = arena->blocks; block != NULL;) {
    struct arena_block *next = block->next;
    if (keep == NULL && block->size <= ARENA_BLOCK_BYTES) {
      keep = block;
    } else {
      mem_free(block);
    }
    block = next;
  }
  if (keep != NULL) {
    keep->next = NULL;
  }
  arena->blocks = keep;
  arena->used = 0;
  arena->total = 0;
}

void arena_destroy(struct arena *arena)
{
  for (struct arena_block *block = arena->blocks; block != NULL;) {
    struct arena_block *next = block->next;
    mem_free(block);
    block = next;
  }
  *arena = (struct arena){0};
}
