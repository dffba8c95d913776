// SPDX-License-Identifier: Apache-2.0
//
// A growing run of bytes with a ceiling: what codecs unpack into and batches are built in. The ceiling is what makes a
// decompression bomb harmless: growing past it is an error, never an allocation. One thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Embed it; record_buffer_init() or all zero (a buffer that may hold nothing). Owned: record_buffer_destroy().
struct record_buffer {
  uint8_t *bytes;  ///< borrowed until the buffer grows
  size_t size;     ///< bytes in use
  size_t capacity; ///< bytes allocated, at most `limit`
  size_t limit;    ///< largest size allowed
};

/// Makes an empty buffer that grows up to `limit` bytes.
void record_buffer_init(struct record_buffer *buffer, size_t limit);

/// Empties a used buffer and gives it a new limit; keeps its memory unless that is above the limit.
void record_buffer_reset(struct record_buffer *buffer, size_t limit);

/// Makes room for `more` bytes after `size`.
///
/// @return 0, ERR_LIMIT (no error_set())
int record_buffer_reserve(struct record_buffer *buffer, size_t more);

/// Makes room for `more` bytes, or for as many of them as the limit allows: a guess at what will come.
void record_buffer_hint(struct record_buffer *buffer, size_t more);

/// Makes some room, at least one byte: doubles the buffer, as far as the limit lets it.
///
/// @return 0, ERR_LIMIT (full; no error_set())
int record_buffer_grow(struct record_buffer *buffer);

/// Lowers the limit to `limit`, or to what is in use if that is more, and gives back what was allocated beyond it.
void record_buffer_trim(struct record_buffer *buffer, size_t limit);

/// Frees the memory; the buffer may hold nothing afterwards.
void record_buffer_destroy(struct record_buffer *buffer);
