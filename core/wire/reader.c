// SPDX-License-Identifier: Apache-2.0
#include "wire/reader.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"

void wire_reader_init(struct wire_reader *r, const void *data, size_t size)
{
  size_t budget = WIRE_DECODE_MAX;
  if (size < (WIRE_DECODE_MAX - WIRE_DECODE_BASE) / WIRE_DECODE_RATIO) {
    budget = WIRE_DECODE_BASE + size * WIRE_DECODE_RATIO;
  }
  *r = (struct wire_reader){.at = data, .end = size > 0 ? (const uint8_t *)data + size : data, .budget = budget};
}

size_t wire_reader_left(const struct wire_reader *r)
{
  return (size_t)(r->end - r->at);
}

void wire_reader_fail(struct wire_reader *r, int code, const char *what, const char *why)
{
  if (r->error == 0) {
    r->error = error_set(code, "%s: %s (%zu bytes left)", what, why, wire_reader_left(r));
  }
  r->at = r->end;
}

int wire_reader_begin(struct wire_reader *r, int16_t version, int16_t min, int16_t max, struct arena *arena,
                      const char *what)
{
  if (r->error == 0 && (version < min || version > max)) {
    r->error = error_set(ERR_UNSUPPORTED_VERSION, "%s: version %d, known are %d to %d", what, version, min, max);
  }
  r->arena = arena;
  return r->error;
}

/// Takes `size` bytes; NULL after a failure.
static const uint8_t *take(struct wire_reader *r, size_t size, const char *what)
{
  if (wire_reader_left(r) < size || r->error != 0) {
    wire_reader_fail(r, ERR_TRUNCATED, what, "the message ends early");
    return NULL;
  }
  const uint8_t *at = r->at;
  r->at += size;
  return at;
}

bool wire_reader_bool(struct wire_reader *r, const char *what)
{
  const uint8_t *at = take(r, 1, what);
  return at != NULL && *at != 0;
}

int8_t wire_reader_i8(struct wire_reader *r, const char *what)
{
  const uint8_t *at = take(r, 1, what);
  return at != NULL ? (int8_t)*at : 0;
}

uint16_t wire_reader_u16(struct wire_reader *r, const char *what)
{
  const uint8_t *at = take(r, 2, what);
  return at != NULL ? bytes_get_u16(at) : 0;
}

int16_t wire_reader_i16(struct wire_reader *r, const char *what)
{
  return (int16_t)wire_reader_u16(r, what);
}

uint32_t wire_reader_u32(struct wire_reader *r, const char *what)
{
  const uint8_t *at = take(r, 4, what);
  return at != NULL ? bytes_get_u32(at) : 0;
}

int32_t wire_reader_i32(struct wire_reader *r, const char *what)
{
  return (int32_t)wire_reader_u32(r, what);
}

static uint64_t read_u64(struct wire_reader *r, const char *what)
{
  const uint8_t *at = take(r, 8, what);
  return at != NULL ? bytes_get_u64(at) : 0;
}

int64_t wire_reader_i64(struct wire_reader *r, const char *what)
{
  return (int64_t)read_u64(r, what);
}

double wire_reader_f64(struct wire_reader *r, const char *what)
{
  uint64_t raw = read_u64(r, what);
  double value;
  memcpy(&value, &raw, sizeof value);
  return value;
}

struct uuid wire_reader_uuid(struct wire_reader *r, const char *what)
{
  struct uuid id = {{0}};
  const uint8_t *at = take(r, sizeof id.bytes, what);
  if (at != NULL) {
    memcpy(id.bytes, at, sizeof id.bytes);
  }
  return id;
}

uint32_t wire_reader_varint(struct wire_reader *r, const char *what)
{
  uint32_t value = 0;
  if (r->error != 0) {
    return 0;
  }
  int taken = varint_get_u32(r->at, r->end, &value);
  if (taken < 0) {
    wire_reader_fail(r, taken, what, taken == ERR_TRUNCATED ? "the message ends early" : "a varint over 5 bytes");
    return 0;
  }
  r->at += taken;
  return value;
}

/// Reads a length or count. -1: null; 0 after a failure. May be larger than what is left: the caller checks.
static int64_t read_length(struct wire_reader *r, int flags, bool is_short, const char *what)
{
  int64_t length;
  if (flags & WIRE_FLEXIBLE) {
    length = (int64_t)wire_reader_varint(r, what) - 1;
  } else if (is_short) {
    length = wire_reader_i16(r, what);
  } else {
    length = wire_reader_i32(r, what);
  }
  if (r->error != 0) {
    return 0;
  }
  if (length < 0) {
    if (!(flags & WIRE_NULLABLE)) {
      wire_reader_fail(r, ERR_MALFORMED, what, "null is not allowed");
      return 0;
    }
    return -1;
  }
  return length;
}

struct wire_string wire_reader_string(struct wire_reader *r, int flags, const char *what)
{
  int64_t length = read_length(r, flags, true, what);
  if (length > WIRE_STRING_MAX) {
    wire_reader_fail(r, ERR_MALFORMED, what, "a string over 32767 bytes");
    length = 0;
  }
  if (length < 0) {
    return (struct wire_string){NULL, -1};
  }
  const uint8_t *at = take(r, (size_t)length, what);
  return (struct wire_string){(const char *)at, at != NULL ? (int32_t)length : 0};
}

struct wire_bytes wire_reader_bytes(struct wire_reader *r, int flags, const char *what)
{
  int64_t length = read_length(r, flags, false, what);
  if (length < 0) {
    return (struct wire_bytes){NULL, -1};
  }
  // A length over 2^31 cannot pass: a frame is shorter, but bytes for a spec may not be.
  if (length > INT32_MAX) {
    wire_reader_fail(r, ERR_TRUNCATED, what, "longer than the message");
    length = 0;
  }
  const uint8_t *at = take(r, (size_t)length, what);
  return (struct wire_bytes){at, at != NULL ? (int32_t)length : 0};
}

struct wire_records wire_reader_records(struct wire_reader *r, int flags, const char *what)
{
  struct wire_bytes bytes = wire_reader_bytes(r, flags, what);
  return (struct wire_records){.data = bytes.data, .length = bytes.length, .region = NULL};
}

/// Takes memory from the arena within the budget; NULL after a failure (ERR_LIMIT).
static void *read_alloc(struct wire_reader *r, size_t size, const char *what)
{
  size_t before = r->arena->total;
  if (size > r->budget) {
    wire_reader_fail(r, ERR_LIMIT, what, "the message takes too much memory");
    return NULL;
  }
  void *result = arena_alloc(r->arena, size);
  size_t taken = r->arena->total - before; // rounded up
  r->budget -= taken < r->budget ? taken : r->budget;
  return result;
}

void *wire_reader_array(struct wire_reader *r, int flags, size_t min_bytes, size_t item_size, int32_t *count,
                        const char *what)
{
  *count = 0;
  int64_t length = read_length(r, flags, false, what);
  if (length <= 0) {
    *count = (int32_t)length;
    return NULL;
  }
  if ((uint64_t)length > wire_reader_left(r) / min_bytes) {
    wire_reader_fail(r, ERR_TRUNCATED, what, "more elements than the message has room for");
    return NULL;
  }
  if (length > WIRE_ARRAY_MAX) {
    wire_reader_fail(r, ERR_LIMIT, what, "over 1000000 elements");
    return NULL;
  }
  void *items = read_alloc(r, (size_t)length * item_size, what);
  if (items != NULL) {
    *count = (int32_t)length;
  }
  return items;
}

// The room for all elements of a fixed size was checked with the count, so the loops below do not check again.

const int8_t *wire_reader_i8s(struct wire_reader *r, int flags, int32_t *count, const char *what)
{
  int8_t *items = wire_reader_array(r, flags, 1, sizeof *items, count, what);
  for (int32_t i = 0; i < *count; i++) {
    items[i] = (int8_t)*r->at++;
  }
  return items;
}

const int16_t *wire_reader_i16s(struct wire_reader *r, int flags, int32_t *count, const char *what)
{
  int16_t *items = wire_reader_array(r, flags, sizeof *items, sizeof *items, count, what);
  for (int32_t i = 0; i < *count; i++, r->at += sizeof *items) {
    items[i] = (int16_t)bytes_get_u16(r->at);
  }
  return items;
}

const int32_t *wire_reader_i32s(struct wire_reader *r, int flags, int32_t *count, const char *what)
{
  int32_t *items = wire_reader_array(r, flags, sizeof *items, sizeof *items, count, what);
  for (int32_t i = 0; i < *count; i++, r->at += sizeof *items) {
    items[i] = (int32_t)bytes_get_u32(r->at);
  }
  return items;
}

const int64_t *wire_reader_i64s(struct wire_reader *r, int flags, int32_t *count, const char *what)
{
  int64_t *items = wire_reader_array(r, flags, sizeof *items, sizeof *items, count, what);
  for (int32_t i = 0; i < *count; i++, r->at += sizeof *items) {
    items[i] = (int64_t)bytes_get_u64(r->at);
  }
  return items;
}

const struct uuid *wire_reader_uuids(struct wire_reader *r, int flags, int32_t *count, const char *what)
{
  struct uuid *items = wire_reader_array(r, flags, sizeof items->bytes, sizeof *items, count, what);
  for (int32_t i = 0; i < *count; i++, r->at += sizeof items->bytes) {
    memcpy(items[i].bytes, r->at, sizeof items->bytes);
  }
  return items;
}

const struct wire_string *wire_reader_strings(struct wire_reader *r, int flags, int32_t *count, const char *what)
{
  size_t min_bytes = flags & WIRE_FLEXIBLE ? 1 : 2;
  struct wire_string *items = wire_reader_array(r, flags, min_bytes, sizeof *items, count, what);
  for (int32_t i = 0; i < *count; i++) {
    items[i] = wire_reader_string(r, flags & WIRE_FLEXIBLE, what);
  }
  return items;
}

void *wire_reader_nullable(struct wire_reader *r, size_t size, const char *what)
{
  int8_t mark = wire_reader_i8(r, what);
  if (r->error != 0 || mark < 0) {
    return NULL;
  }
  return read_alloc(r, size, what);
}

void wire_reader_tags(struct wire_reader *r, struct wire_tags *tags, const char *what)
{
  *tags = (struct wire_tags){.what = what};
  uint32_t count = wire_reader_varint(r, what);
  if (count > WIRE_TAGS_MAX) {
    wire_reader_fail(r, ERR_LIMIT, what, "over 10000 tagged fields");
    count = 0;
  }
  tags->left = count;
}

bool wire_reader_next_tag(struct wire_reader *r, struct wire_tags *tags)
{
  if (tags->end != NULL) {
    if (r->at != r->end) {
      wire_reader_fail(r, ERR_MALFORMED, tags->what, "a tagged field is shorter than its size says");
    }
    r->end = tags->end;
    tags->end = NULL;
  }
  if (r->error != 0) {
    r->at = r->end;
    return false;
  }
  if (tags->left == 0) {
    return false;
  }
  tags->left--;
  tags->tag = wire_reader_varint(r, tags->what);
  uint32_t size = wire_reader_varint(r, tags->what);
  if (r->error != 0) {
    return false;
  }
  if (size > wire_reader_left(r)) {
    wire_reader_fail(r, ERR_TRUNCATED, tags->what, "a tagged field is longer than the message");
    return false;
  }
  tags->end = r->end;
  r->end = r->at + size;
  return true;
}

void wire_reader_skip_tag(struct wire_reader *r)
{
  r->at = r->end;
}

void wire_reader_skip_tags(struct wire_reader *r, const char *what)
{
  struct wire_tags tags;
  for (wire_reader_tags(r, &tags, what); wire_reader_next_tag(r, &tags);) {
    wire_reader_skip_tag(r);
  }
}
