// SPDX-License-Identifier: Apache-2.0
//
// Input buffers: counted memory that frames are slices of, from a pool of each worker. Sizes are 16 KiB and its
// multiples by 4 up to 4 MiB; a larger one is mapped for its frame alone, so that a length a client made up costs
// address space and no memory until bytes arrive. Only on the worker's thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network/memory_gate.h"

enum {
  BUFFER_SMALL_BYTES = 16 * 1024,           ///< smallest size
  BUFFER_CLASSES = 5,                       ///< 16 KiB, 64 KiB, 256 KiB, 1 MiB, 4 MiB
  BUFFER_POOL_LIMIT_BYTES = 8 * 1024 * 1024 ///< idle memory a pool keeps
};

/// Shared: buffer_ref(), buffer_unref().
struct buffer {
  struct buffer_pool *pool; ///< where it goes back to; NULL: nowhere, see buffer_detach()
  struct buffer *next;      ///< next in the free list
  uint8_t *bytes;           ///< its memory
  size_t size;              ///< bytes of memory
  int refs;                 ///< who uses it; 0 in the free list
  bool is_counted;          ///< by the pool's gate
  int size_class;           ///< index of the free list, -1: mapped for itself
};

/// Embed it; zero-initialised is a valid empty pool.
struct buffer_pool {
  struct buffer *free[BUFFER_CLASSES]; ///< idle buffers by size
  size_t free_bytes;                   ///< memory of the idle ones
  size_t used_bytes;                   ///< memory of those in use
  struct memory_share share;           ///< where memory in use is counted
};

/// Gives back the idle buffers; none is in use any more.
void buffer_pool_destroy(struct buffer_pool *pool);

/// The memory that a buffer for `size` bytes takes.
size_t buffer_room(size_t size);

/// A buffer of at least `size` bytes with one reference.
///
/// @param is_counted  it is given back to the pool's gate when it goes. Larger ones than the smallest always are, and
///                    have been taken from there already, buffer_room() of them.
/// @return NULL when the system refuses so much address space
struct buffer *buffer_get(struct buffer_pool *pool, size_t size, bool is_counted);

/// Counts a small buffer no more.
void buffer_discount(struct buffer *buffer);

void buffer_ref(struct buffer *buffer);
void buffer_unref(struct buffer *buffer);

/// Takes a buffer that is in use out of its pool, which may go before it does: nobody can say when its last reference
/// is given back. It is counted no more.
void buffer_detach(struct buffer *buffer);
