// SPDX-License-Identifier: Apache-2.0
//
// Reads protocol fields from a frame. Every length is checked against the bytes that are left before it is used or
// memory is allocated for it, and what one frame makes of itself in memory has a limit: some elements take a byte on
// the wire and a hundred in memory. The first failure sticks: later reads return zeros and leave the error alone, so
// that the generated code checks once per loop turn and at the end. Used by the generated codec; a handler calls that.
// One thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"
#include "wire/types.h"

struct arena;

enum {
  WIRE_DECODE_BASE = 256 * 1024,      ///< bytes of memory that any frame may decode to
  WIRE_DECODE_RATIO = 12,             ///< and for each of its bytes; real requests need less
  WIRE_DECODE_MAX = 64 * 1024 * 1024, ///< but not more than this, records and strings not counted
};

/// Embed it; fill with wire_reader_init(). `what` below names the field in the error, "Message.Field".
struct wire_reader {
  const uint8_t *at;   ///< next byte
  const uint8_t *end;  ///< one past the last byte; inside a tagged field: its end
  struct arena *arena; ///< where arrays and nullable structs go; borrowed
  size_t budget;       ///< bytes that may still be taken from the arena
  int error;           ///< 0, or the ERR_* of the first failure
};

/// State of one section of tagged fields.
struct wire_tags {
  uint32_t left;      ///< fields not yet begun
  uint32_t tag;       ///< tag of the current field
  const uint8_t *end; ///< the reader's end outside the current field; NULL: no current field
  const char *what;   ///< struct name for errors
};

/// Starts to read `size` bytes at `data`, borrowed while the reader and what it returned are used. The budget of memory
/// is for all messages that are read with it.
void wire_reader_init(struct wire_reader *r, const void *data, size_t size);

/// Bytes not yet read.
size_t wire_reader_left(const struct wire_reader *r);

/// Records the first failure, with the field and the position; moves to the end, so that later reads fail too.
void wire_reader_fail(struct wire_reader *r, int code, const char *what, const char *why);

/// Opens a message: sets the arena and checks the version.
/// @return 0, or ERR_UNSUPPORTED_VERSION, or the reader's earlier error
int wire_reader_begin(struct wire_reader *r, int16_t version, int16_t min, int16_t max, struct arena *arena,
                      const char *what);

/// Fixed-size fields; 0 after a failure (ERR_TRUNCATED).
bool wire_reader_bool(struct wire_reader *r, const char *what);
int8_t wire_reader_i8(struct wire_reader *r, const char *what);
int16_t wire_reader_i16(struct wire_reader *r, const char *what);
uint16_t wire_reader_u16(struct wire_reader *r, const char *what);
int32_t wire_reader_i32(struct wire_reader *r, const char *what);
uint32_t wire_reader_u32(struct wire_reader *r, const char *what);
int64_t wire_reader_i64(struct wire_reader *r, const char *what);
double wire_reader_f64(struct wire_reader *r, const char *what);
struct uuid wire_reader_uuid(struct wire_reader *r, const char *what);

/// An unsigned varint of up to 5 bytes (ERR_MALFORMED beyond).
uint32_t wire_reader_varint(struct wire_reader *r, const char *what);

/// Strings, bytes and records, borrowed from the frame. Any negative length counts as null, as in Kafka; null where
/// `flags` lacks WIRE_NULLABLE is ERR_MALFORMED, and so is a string over WIRE_STRING_MAX.
struct wire_string wire_reader_string(struct wire_reader *r, int flags, const char *what);
struct wire_bytes wire_reader_bytes(struct wire_reader *r, int flags, const char *what);
struct wire_records wire_reader_records(struct wire_reader *r, int flags, const char *what);

/// Reads the count of an array and allocates its elements, not initialised, in the arena.
///
/// @param min_bytes   least bytes that an element takes on the wire, at least 1; the count must fit what is left
/// @param item_size   size of an element in memory
/// @param[out] count  elements; -1: null; 0 after a failure (ERR_TRUNCATED, ERR_MALFORMED, ERR_LIMIT)
/// @return the elements, or NULL when there are none
void *wire_reader_array(struct wire_reader *r, int flags, size_t min_bytes, size_t item_size, int32_t *count,
                        const char *what);

/// Whole arrays of simple elements; results as of wire_reader_array().
const int8_t *wire_reader_i8s(struct wire_reader *r, int flags, int32_t *count, const char *what);
const int16_t *wire_reader_i16s(struct wire_reader *r, int flags, int32_t *count, const char *what);
const int32_t *wire_reader_i32s(struct wire_reader *r, int flags, int32_t *count, const char *what);
const int64_t *wire_reader_i64s(struct wire_reader *r, int flags, int32_t *count, const char *what);
const struct uuid *wire_reader_uuids(struct wire_reader *r, int flags, int32_t *count, const char *what);
const struct wire_string *wire_reader_strings(struct wire_reader *r, int flags, int32_t *count, const char *what);

/// Reads the byte before a nullable struct.
/// @return `size` bytes of the arena, not initialised, or NULL: null, or a failure
void *wire_reader_nullable(struct wire_reader *r, size_t size, const char *what);

/// Walks a section of tagged fields; `r->end` is narrowed to the field while it is read, and a field that is not read
/// to its end is ERR_MALFORMED:
///
///   for (wire_reader_tags(r, &tags, "Struct"); wire_reader_next_tag(r, &tags);) {
///     switch (tags.tag) { case 0: ... break; default: wire_reader_skip_tag(r); }
///   }
void wire_reader_tags(struct wire_reader *r, struct wire_tags *tags, const char *what);
bool wire_reader_next_tag(struct wire_reader *r, struct wire_tags *tags);
void wire_reader_skip_tag(struct wire_reader *r);

/// Skips a whole section, for structs without tagged fields of their own.
void wire_reader_skip_tags(struct wire_reader *r, const char *what);
