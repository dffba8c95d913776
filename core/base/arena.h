// SPDX-License-Identifier: Apache-2.0
//
// Memory of one request: allocations are bumps of a pointer and are freed all together. One thread at a time.
#pragma once

#include <stddef.h>

struct arena_block;

/// Embed it; zero-initialised is a valid empty arena.
struct arena {
  struct arena_block *blocks; ///< newest first
  size_t used;                ///< bytes used of the newest block
  size_t total;               ///< bytes handed out since the last reset
};

/// Allocates `size` bytes aligned to 16, not zeroed (arena_zalloc: zeroed). Aborts when memory is out: check sizes that
/// a client chose first. Borrowed until arena_reset() or arena_destroy().
void *arena_alloc(struct arena *arena, size_t size);
void *arena_zalloc(struct arena *arena, size_t size);

/// Copies bytes, or a string with its length made NUL-terminated, into the arena.
void *arena_dup(struct arena *arena, const void *bytes, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Gives an empty arena one block for what was allocated in another: `total` bytes of that (struct arena), and one more
/// piece of `size` bytes. For what lives long, of which there is much.
void arena_reserve(struct arena *arena, size_t total, size_t size);

/// Frees everything but one block, which is kept for reuse.
void arena_reset(struct arena *arena);

/// Frees everything; the arena is empty and usable again.
void arena_destroy(struct arena *arena);
