// SPDX-License-Identifier: Apache-2.0
#include "wire/writer.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/varint.h"

enum { WRITER_FIRST_BYTES = 512 };

void wire_writer_destroy(struct wire_writer *w)
{
  if (!w->is_lent) {
    mem_free(w->data);
  }
  if (w->splices != w->few) {
    mem_free(w->splices);
  }
  *w = (struct wire_writer){0};
}

void wire_writer_lend(struct wire_writer *w, uint8_t *bytes, size_t size)
{
  CHECK(w->data == NULL);
  w->data = bytes;
  w->capacity = size;
  w->is_lent = true;
}

void wire_writer_reserve(struct wire_writer *w, size_t size)
{
  if (w->capacity - w->size >= size) {
    return;
  }
  CHECK(size <= INT32_MAX);
  size_t capacity = w->capacity > 0 ? w->capacity : WRITER_FIRST_BYTES;
  while (capacity - w->size < size) {
    capacity *= 2;
  }
  uint8_t *lent = w->is_lent ? w->data : NULL;
  w->data = mem_realloc(lent != NULL ? NULL : w->data, capacity);
  if (lent != NULL) {
    memcpy(w->data, lent, w->size);
    w->is_lent = false;
  }
  w->capacity = capacity;
}

uint8_t *wire_writer_steal(struct wire_writer *w)
{
  CHECK(!w->is_lent);
  uint8_t *data = w->data;
  w->data = NULL;
  w->size = 0;
  w->capacity = 0;
  return data;
}

void wire_writer_truncate(struct wire_writer *w, size_t size)
{
  CHECK(size <= w->size);
  w->size = size;
  while (w->splice_count > 0 && w->splices[w->splice_count - 1].at > size) {
    w->splice_bytes -= (size_t)w->splices[--w->splice_count].length;
  }
  w->error = 0;
}

size_t wire_writer_total(const struct wire_writer *w)
{
  return w->size + w->splice_bytes;
}

void wire_writer_patch_i32(struct wire_writer *w, size_t at, int32_t value)
{
  CHECK(at <= w->size && w->size - at >= 4);
  bytes_put_u32(w->data + at, (uint32_t)value);
}

void wire_writer_fail(struct wire_writer *w, int code, const char *what, const char *why)
{
  if (w->error == 0) {
    w->error = error_set(code, "%s: %s", what, why);
  }
}

int wire_writer_begin(struct wire_writer *w, int16_t version, int16_t min, int16_t max, const char *what)
{
  if (w->error == 0 && (version < min || version > max)) {
    w->error = error_set(ERR_UNSUPPORTED_VERSION, "%s: version %d, known are %d to %d", what, version, min, max);
  }
  return w->error;
}

void wire_writer_unsupported(struct wire_writer *w, int16_t version, const char *what)
{
  if (w->error == 0) {
    w->error = error_set(ERR_UNSUPPORTED_VERSION, "%s is set, but version %d has no such field", what, version);
  }
}

/// Room for `size` bytes at the end, counted as written. NULL after a failure, or when the output gets over 2 GiB.
static uint8_t *grow(struct wire_writer *w, size_t size)
{
  if (size <= w->capacity - w->size && w->capacity <= INT32_MAX && w->splice_count == 0) {
    uint8_t *next = w->data + w->size;
    w->size += size;
    return next;
  }
  if (size > INT32_MAX || wire_writer_total(w) > INT32_MAX - size) {
    wire_writer_fail(w, ERR_LIMIT, "message", "over 2 GiB");
    return NULL;
  }
  wire_writer_reserve(w, size);
  uint8_t *at = w->data + w->size;
  w->size += size;
  return at;
}

void wire_writer_i8(struct wire_writer *w, int8_t value)
{
  uint8_t *at = grow(w, 1);
  if (at != NULL) {
    *at = (uint8_t)value;
  }
}

void wire_writer_bool(struct wire_writer *w, bool value)
{
  wire_writer_i8(w, value ? 1 : 0);
}

void wire_writer_u16(struct wire_writer *w, uint16_t value)
{
  uint8_t *at = grow(w, 2);
  if (at != NULL) {
    bytes_put_u16(at, value);
  }
}

void wire_writer_i16(struct wire_writer *w, int16_t value)
{
  wire_writer_u16(w, (uint16_t)value);
}

void wire_writer_error_code(struct wire_writer *w, int16_t value)
{
  if (value != 0 && w->error_code == 0) {
    w->error_code = value;
  }
  wire_writer_u16(w, (uint16_t)value);
}

void wire_writer_u32(struct wire_writer *w, uint32_t value)
{
  uint8_t *at = grow(w, 4);
  if (at != NULL) {
    bytes_put_u32(at, value);
  }
}

void wire_writer_i32(struct wire_writer *w, int32_t value)
{
  wire_writer_u32(w, (uint32_t)value);
}

void wire_writer_i64(struct wire_writer *w, int64_t value)
{
  uint8_t *at = grow(w, 8);
  if (at != NULL) {
    bytes_put_u64(at, (uint64_t)value);
  }
}

void wire_writer_f64(struct wire_writer *w, double value)
{
  int64_t raw;
  memcpy(&raw, &value, sizeof raw);
  wire_writer_i64(w, raw);
}

void wire_writer_uuid(struct wire_writer *w, const struct uuid *value)
{
  wire_writer_raw(w, value->bytes, sizeof value->bytes);
}

void wire_writer_varint(struct wire_writer *w, uint32_t value)
{
  uint8_t *at = grow(w, (size_t)varint_size_u32(value));
  if (at != NULL) {
    varint_put_u32(at, value);
  }
}

void wire_writer_raw(struct wire_writer *w, const void *bytes, size_t size)
{
  if (size == 0) {
    return;
  }
  uint8_t *at = grow(w, size);
  if (at != NULL) {
    memcpy(at, bytes, size);
  }
}

/// Writes a length or count; false when nothing follows: null, or a failure.
static bool put_length(struct wire_writer *w, int flags, int32_t length, bool is_short, const char *what)
{
  if (length < 0) {
    if (!(flags & WIRE_NULLABLE)) {
      wire_writer_fail(w, ERR_INVALID, what, "null is not allowed in this version");
      return false;
    }
    length = -1;
  }
  if (flags & WIRE_FLEXIBLE) {
    wire_writer_varint(w, (uint32_t)length + 1);
  } else if (is_short) {
    wire_writer_i16(w, (int16_t)length);
  } else {
    wire_writer_i32(w, length);
  }
  return length > 0 && w->error == 0;
}

void wire_writer_string(struct wire_writer *w, int flags, struct wire_string value, const char *what)
{
  if (value.length > WIRE_STRING_MAX) {
    wire_writer_fail(w, ERR_LIMIT, what, "a string over 32767 bytes");
  } else if (put_length(w, flags, value.length, true, what)) {
    wire_writer_raw(w, value.data, (size_t)value.length);
  }
}

void wire_writer_bytes(struct wire_writer *w, int flags, struct wire_bytes value, const char *what)
{
  if (put_length(w, flags, value.length, false, what)) {
    wire_writer_raw(w, value.data, (size_t)value.length);
  }
}

static void writer_grow_splices(struct wire_writer *w)
{
  if (w->splices == NULL) {
    w->splices = w->few;
    w->splice_capacity = WIRE_WRITER_FEW;
    return;
  }
  bool are_few = w->splices == w->few;
  w->splice_capacity *= 2;
  w->splices = mem_realloc(are_few ? NULL : w->splices, w->splice_capacity * sizeof *w->splices);
  if (are_few) {
    memcpy(w->splices, w->few, sizeof w->few);
  }
}

void wire_writer_records(struct wire_writer *w, int flags, struct wire_records value, const char *what)
{
  if (!put_length(w, flags, value.length, false, what)) {
    return;
  }
  if (value.region == NULL) {
    wire_writer_raw(w, value.data, (size_t)value.length);
    return;
  }
  if (wire_writer_total(w) > (size_t)(INT32_MAX - value.length)) {
    wire_writer_fail(w, ERR_LIMIT, what, "the message gets over 2 GiB");
    return;
  }
  if (w->splice_count == w->splice_capacity) {
    writer_grow_splices(w);
  }
  w->splices[w->splice_count++] = (struct wire_splice){w->size, value.region, value.length};
  w->splice_bytes += (size_t)value.length;
}

void wire_writer_count(struct wire_writer *w, int flags, int32_t count, const char *what)
{
  put_length(w, flags, count, false, what);
}

void wire_writer_i8s(struct wire_writer *w, int flags, const int8_t *items, int32_t count, const char *what)
{
  if (put_length(w, flags, count, false, what)) {
    wire_writer_raw(w, items, (size_t)count);
  }
}

void wire_writer_i16s(struct wire_writer *w, int flags, const int16_t *items, int32_t count, const char *what)
{
  wire_writer_count(w, flags, count, what);
  for (int32_t i = 0; i < count && w->error == 0; i++) {
    wire_writer_i16(w, items[i]);
  }
}

void wire_writer_i32s(struct wire_writer *w, int flags, const int32_t *items, int32_t count, const char *what)
{
  wire_writer_count(w, flags, count, what);
  for (int32_t i = 0; i < count && w->error == 0; i++) {
    wire_writer_i32(w, items[i]);
  }
}

void wire_writer_i64s(struct wire_writer *w, int flags, const int64_t *items, int32_t count, const char *what)
{
  wire_writer_count(w, flags, count, what);
  for (int32_t i = 0; i < count && w->error == 0; i++) {
    wire_writer_i64(w, items[i]);
  }
}

void wire_writer_uuids(struct wire_writer *w, int flags, const struct uuid *items, int32_t count, const char *what)
{
  wire_writer_count(w, flags, count, what);
  for (int32_t i = 0; i < count && w->error == 0; i++) {
    wire_writer_uuid(w, &items[i]);
  }
}

void wire_writer_strings(struct wire_writer *w, int flags, const struct wire_string *items, int32_t count,
                         const char *what)
{
  wire_writer_count(w, flags, count, what);
  for (int32_t i = 0; i < count && w->error == 0; i++) {
    wire_writer_string(w, flags & WIRE_FLEXIBLE, items[i], what);
  }
}

size_t wire_writer_tag_begin(struct wire_writer *w, uint32_t tag)
{
  wire_writer_varint(w, tag);
  wire_writer_i8(w, 0);
  return w->size;
}

void wire_writer_tag_end(struct wire_writer *w, size_t mark)
{
  if (w->error != 0) {
    return;
  }
  // One byte was left for the size; a payload over 127 bytes is moved to make room for more.
  size_t size = w->size - mark;
  size_t extra = (size_t)varint_size_u32((uint32_t)size) - 1;
  if (extra > 0) {
    if (grow(w, extra) == NULL) {
      return;
    }
    memmove(w->data + mark + extra, w->data + mark, size);
  }
  varint_put_u32(w->data + mark - 1, (uint32_t)size);
}
