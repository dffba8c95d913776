// SPDX-License-Identifier: Apache-2.0
//
// The C types of protocol fields that C has no type for. All of them only point: what a reader returns is borrowed from
// the frame that was read, what a writer is given is borrowed until the write returns.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Text in UTF-8 (not checked here), not NUL-terminated.
struct wire_string {
  const char *data; ///< borrowed; may be NULL when length <= 0
  int32_t length;   ///< bytes, 0 to 32767; -1: null
};

struct wire_bytes {
  const uint8_t *data; ///< borrowed; may be NULL when length <= 0
  int32_t length;      ///< bytes; -1: null
};

/// Record batches: bytes in memory, or, for a writer only, a region of a file that the writer splices in.
struct wire_records {
  const uint8_t *data; ///< borrowed; NULL when length <= 0 or when region is set
  int32_t length;      ///< bytes; -1: null
  void *region;        ///< NULL, or the caller's handle of a file region of `length` bytes; a reader leaves it NULL
};

/// What a reader or writer is told about a string, bytes or an array; combined with |.
enum wire_flags {
  WIRE_FLEXIBLE = 1, ///< compact form (KIP-482): an unsigned varint of length + 1
  WIRE_NULLABLE = 2, ///< null is legal in this version
};

enum {
  WIRE_STRING_MAX = 32767,  ///< longest string, bytes; also in flexible versions
  WIRE_ARRAY_MAX = 1000000, ///< most elements of one array that is read
  WIRE_TAGS_MAX = 10000,    ///< most tagged fields of one section that is read
};

/// A NUL-terminated text as a string, NULL as null. Borrows `text`.
struct wire_string wire_string_from(const char *text);

/// True when `string` is not null and has exactly the bytes of `text`.
bool wire_string_is(struct wire_string string, const char *text);

/// True when both are null or have the same bytes.
bool wire_string_equal(struct wire_string a, struct wire_string b);
