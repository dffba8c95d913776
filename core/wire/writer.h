// SPDX-License-Identifier: Apache-2.0
//
// Writes protocol fields to a buffer that grows. Records that lie in a file are not copied: the writer writes their
// length and notes a splice, and the response becomes a chain of memory and file regions. The first failure sticks, as
// in the reader. Used by the generated codec; a handler calls that. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"
#include "wire/types.h"

/// A place in the output where bytes of a file region go.
struct wire_splice {
  size_t at;      ///< bytes of the buffer that come before the region
  void *region;   ///< the handle from wire_records.region; the writer never looks into it
  int32_t length; ///< bytes of the region, at least 1
};

enum { WIRE_WRITER_FEW = 4 }; ///< splices that a writer has room for

/// Embed it, where it stays; zero-initialised is a valid empty writer. Free with wire_writer_destroy().
struct wire_writer {
  uint8_t *data;               ///< the buffer, owned unless `is_lent`
  size_t size;                 ///< bytes written to it
  size_t capacity;             ///< bytes allocated
  struct wire_splice *splices; ///< in rising order of `at`; `few`, or owned
  size_t splice_count;         ///< splices noted
  size_t splice_capacity;      ///< splices allocated
  size_t splice_bytes;         ///< sum of their lengths
  int error;                   ///< 0, or the ERR_* of the first failure
  bool is_lent;                ///< the buffer is still the one of wire_writer_lend()
  int16_t error_code;          ///< the first field "ErrorCode" that is not 0, enum wire_error; 0: there was none
  struct wire_splice few[WIRE_WRITER_FEW]; ///< the first splices: an answer of few partitions needs no more
};

/// Frees the buffer and the list of splices (not the regions); the writer is empty and usable again.
void wire_writer_destroy(struct wire_writer *w);

/// Gives an empty writer memory to begin with, borrowed until it is destroyed: what fits needs no other.
void wire_writer_lend(struct wire_writer *w, uint8_t *bytes, size_t size);

/// Makes room for `size` more bytes, so that they are written without growing.
void wire_writer_reserve(struct wire_writer *w, size_t size);

/// Takes the buffer out, which is not a lent one; the splices stay until destroy. Owned: mem_free(). NULL when nothing
/// was ever written.
uint8_t *wire_writer_steal(struct wire_writer *w);

/// Drops what was written beyond `size` bytes, splices included, and clears the error; for an answer that failed
/// half-way. `size` is a value that w->size once had.
void wire_writer_truncate(struct wire_writer *w, size_t size);

/// Bytes of the whole output: the buffer and the file regions.
size_t wire_writer_total(const struct wire_writer *w);

/// Overwrites four bytes written earlier, such as the length in front of a frame.
void wire_writer_patch_i32(struct wire_writer *w, size_t at, int32_t value);

/// Records the first failure; `what` names the field, "Message.Field".
void wire_writer_fail(struct wire_writer *w, int code, const char *what, const char *why);

/// Opens a message: checks the version.
/// @return 0, or ERR_UNSUPPORTED_VERSION, or the writer's earlier error
int wire_writer_begin(struct wire_writer *w, int16_t version, int16_t min, int16_t max, const char *what);

/// Fails with ERR_UNSUPPORTED_VERSION: a field that this version lacks, and that may not be ignored, has been set.
void wire_writer_unsupported(struct wire_writer *w, int16_t version, const char *what);

/// Fixed-size fields.
void wire_writer_bool(struct wire_writer *w, bool value);
void wire_writer_i8(struct wire_writer *w, int8_t value);
void wire_writer_i16(struct wire_writer *w, int16_t value);
/// A field "ErrorCode": an i16 that the writer remembers, so that answers with errors can be counted.
void wire_writer_error_code(struct wire_writer *w, int16_t value);
void wire_writer_u16(struct wire_writer *w, uint16_t value);
void wire_writer_i32(struct wire_writer *w, int32_t value);
void wire_writer_u32(struct wire_writer *w, uint32_t value);
void wire_writer_i64(struct wire_writer *w, int64_t value);
void wire_writer_f64(struct wire_writer *w, double value);
void wire_writer_uuid(struct wire_writer *w, const struct uuid *value);

/// An unsigned varint.
void wire_writer_varint(struct wire_writer *w, uint32_t value);

/// Bytes as they are, without a length.
void wire_writer_raw(struct wire_writer *w, const void *bytes, size_t size);

/// Strings, bytes and records with their length. Null where `flags` lacks WIRE_NULLABLE is ERR_INVALID, a string over
/// WIRE_STRING_MAX or an output over 2 GiB is ERR_LIMIT.
void wire_writer_string(struct wire_writer *w, int flags, struct wire_string value, const char *what);
void wire_writer_bytes(struct wire_writer *w, int flags, struct wire_bytes value, const char *what);
void wire_writer_records(struct wire_writer *w, int flags, struct wire_records value, const char *what);

/// The count of an array, -1 for null; the elements follow one by one.
void wire_writer_count(struct wire_writer *w, int flags, int32_t count, const char *what);

/// Whole arrays of simple elements.
void wire_writer_i8s(struct wire_writer *w, int flags, const int8_t *items, int32_t count, const char *what);
void wire_writer_i16s(struct wire_writer *w, int flags, const int16_t *items, int32_t count, const char *what);
void wire_writer_i32s(struct wire_writer *w, int flags, const int32_t *items, int32_t count, const char *what);
void wire_writer_i64s(struct wire_writer *w, int flags, const int64_t *items, int32_t count, const char *what);
void wire_writer_uuids(struct wire_writer *w, int flags, const struct uuid *items, int32_t count, const char *what);
void wire_writer_strings(struct wire_writer *w, int flags, const struct wire_string *items, int32_t count,
                         const char *what);

/// Puts the tag of a tagged field, and its size when the payload has been written after it.
/// @return a mark for wire_writer_tag_end()
size_t wire_writer_tag_begin(struct wire_writer *w, uint32_t tag);
void wire_writer_tag_end(struct wire_writer *w, size_t mark);
