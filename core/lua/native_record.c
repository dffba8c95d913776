// SPDX-License-Identifier: Apache-2.0
#include "lua/native_record.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"
#include "lua/native_record_private.h"
#include "lua/value.h"
#include "record/batch.h"
#include "record/codec.h"
#include "record/iterate.h"
#include "record/message_set.h"

/// Name of the cursors' metatable in the registry.
static const char cursor_name[] = "luka.record.cursor";

/// Reads the records of one batch. A userdata, whose environment keeps the byte string alive.
struct record_cursor {
  struct batch_iterator batch;      ///< for format 2
  struct message_iterator messages; ///< for formats 0 and 1
  bool is_old;                      ///< which of the two
  bool is_done;                     ///< at the end, or failed, or closed
};

/// The bytes from a position on.
struct record_input_bytes {
  const uint8_t *at; ///< the first
  size_t size;       ///< how many; 0 at the end
};

static int record_batch(lua_State *vm);
static int record_records(lua_State *vm);
static int record_open(lua_State *vm);
static int record_crc(lua_State *vm);
static int cursor_next(lua_State *vm);
static int cursor_close(lua_State *vm);

int native_record_open(lua_State *vm)
{
  static const luaL_Reg functions[] = {
      {"batch", record_batch},        {"records", record_records}, {"open", record_open},
      {"build", native_record_build}, {"crc32c", record_crc},      {NULL, NULL},
  };
  static const luaL_Reg methods[] = {
      {"next", cursor_next},
      {"close", cursor_close},
      {NULL, NULL},
  };
  luaL_newmetatable(vm, cursor_name);
  lua_newtable(vm);
  luaL_setfuncs(vm, methods, 0);
  lua_setfield(vm, -2, "__index");
  lua_pushcfunction(vm, cursor_close);
  lua_setfield(vm, -2, "__gc");
  lua_pushboolean(vm, 0);
  lua_setfield(vm, -2, "__metatable");
  lua_pop(vm, 1);
  lua_newtable(vm);
  luaL_setfuncs(vm, functions, 0);
  return 1;
}

// ---- arguments ----

/// Arguments 1 and 2: bytes and position. Borrowed while the string is on the stack.
static struct record_input_bytes record_check_bytes(lua_State *vm)
{
  size_t size = 0;
  const char *bytes = luaL_checklstring(vm, 1, &size);
  int64_t position = 1;
  if (!lua_isnoneornil(vm, 2) && !lua_value_get_int64(vm, 2, &position)) {
    luaL_argerror(vm, 2, "a position is a whole number");
  }
  luaL_argcheck(vm, position >= 1 && (uint64_t)position - 1 <= size, 2, "a position is in the bytes, or just behind");
  size_t skipped = (size_t)position - 1;
  return (struct record_input_bytes){.at = (const uint8_t *)bytes + skipped, .size = size - skipped};
}

/// An argument that counts bytes or records.
static size_t record_check_count(lua_State *vm, int index)
{
  int64_t count = 0;
  luaL_argcheck(vm, lua_value_get_int64(vm, index, &count) && count >= 0, index, "expected a whole number");
  return (size_t)count;
}

// ---- headers ----

/// Sets a field that is left out when it says "none".
static void record_set_unless(lua_State *vm, const char *name, int64_t value, int64_t none)
{
  if (value != none) {
    lua_value_set_int64(vm, name, value);
  }
}

static void record_set_boolean(lua_State *vm, const char *name, bool value)
{
  lua_pushboolean(vm, value);
  lua_setfield(vm, -2, name);
}

static void record_set_codec(lua_State *vm, int codec)
{
  const char *name = codec_name(codec);
  if (name != NULL) {
    lua_pushstring(vm, name);
  } else {
    lua_pushfstring(vm, "codec %d", codec);
  }
  lua_setfield(vm, -2, "compression");
}

static void record_set_time_type(lua_State *vm, bool is_append_time)
{
  lua_pushstring(vm, is_append_time ? "LogAppendTime" : "CreateTime");
  lua_setfield(vm, -2, "timestamp_type");
}

/// The last offset of a batch; wraps around when the header lies.
static int64_t record_last_offset(const struct batch_header *header)
{
  return (int64_t)((uint64_t)header->base_offset + (uint64_t)(int64_t)header->last_offset_delta);
}

/// Pushes the table of a header of format 2.
static void record_push_header(lua_State *vm, const struct batch_header *header)
{
  lua_createtable(vm, 0, 20);
  lua_value_set_int64(vm, "base_offset", header->base_offset);
  lua_value_set_int64(vm, "last_offset", record_last_offset(header));
  lua_value_set_int64(vm, "size", (int64_t)header->size);
  lua_value_set_int64(vm, "magic", header->magic);
  lua_value_set_int64(vm, "crc", header->crc);
  lua_value_set_int64(vm, "attributes", header->attributes);
  lua_value_set_int64(vm, "count", header->record_count);
  record_set_codec(vm, header->attributes & BATCH_CODEC_MASK);
  record_set_time_type(vm, (header->attributes & BATCH_APPEND_TIME) != 0);
  bool has_horizon = (header->attributes & BATCH_DELETE_HORIZON) != 0;
  record_set_unless(vm, has_horizon ? "delete_horizon" : "base_timestamp", header->base_timestamp, BATCH_NO_TIMESTAMP);
  record_set_unless(vm, "max_timestamp", header->max_timestamp, BATCH_NO_TIMESTAMP);
  record_set_unless(vm, "leader_epoch", header->leader_epoch, BATCH_NO_LEADER_EPOCH);
  record_set_unless(vm, "producer_id", header->producer_id, BATCH_NO_PRODUCER_ID);
  record_set_unless(vm, "producer_epoch", header->producer_epoch, BATCH_NO_PRODUCER_EPOCH);
  record_set_unless(vm, "base_sequence", header->base_sequence, BATCH_NO_SEQUENCE);
  record_set_boolean(vm, "is_transactional", (header->attributes & BATCH_TRANSACTIONAL) != 0);
  record_set_boolean(vm, "is_control", (header->attributes & BATCH_CONTROL) != 0);
}

/// Adds what is only known of a compressed message set that was unpacked.
static void record_set_inside(lua_State *vm, const struct record_input_bytes *in, size_t limit);

/// Pushes the table of a message of format 0 or 1.
static void record_push_message(lua_State *vm, struct message *message)
{
  lua_createtable(vm, 0, 14);
  lua_value_set_int64(vm, "last_offset", message->offset);
  lua_value_set_int64(vm, "size", (int64_t)message->size);
  lua_value_set_int64(vm, "magic", message->magic);
  lua_value_set_int64(vm, "crc", bytes_get_u32(message->bytes + MESSAGE_CRC_POS));
  lua_value_set_int64(vm, "attributes", message->attributes);
  record_set_codec(vm, message->attributes & MESSAGE_CODEC_MASK);
  if ((message->attributes & MESSAGE_CODEC_MASK) == CODEC_NONE) {
    lua_value_set_int64(vm, "base_offset", message->offset);
    lua_value_set_int64(vm, "count", 1);
  }
  if (message_parse(message) == 0 && message->magic > 0) {
    record_set_time_type(vm, (message->attributes & MESSAGE_APPEND_TIME) != 0);
    record_set_unless(vm, "max_timestamp", message->timestamp, BATCH_NO_TIMESTAMP);
  }
  record_set_boolean(vm, "is_transactional", false);
  record_set_boolean(vm, "is_control", false);
  record_set_boolean(vm, "is_intact", message_is_intact(message));
}

/// Returns nil and what stopped a header from being read. A cut batch whose header is there is shown with the error.
static int record_fail_header(lua_State *vm, int result, const struct batch_header *header)
{
  int count = lua_value_fail(vm, result);
  if (header != NULL) {
    record_push_header(vm, header);
    lua_setfield(vm, -2, "batch");
  }
  return count;
}

/// Returns the header of a message set's next message.
static int record_return_message(lua_State *vm, const struct record_input_bytes *in)
{
  const uint8_t *at = in->at;
  struct message message;
  int more = message_next(&at, in->at + in->size, &message);
  if (more < 0) {
    return lua_value_fail(vm, more);
  }
  if (more == 0) {
    return lua_value_fail(vm, error_set(ERR_TRUNCATED, "message cut after %zu bytes", in->size));
  }
  record_push_message(vm, &message);
  if ((message.attributes & MESSAGE_CODEC_MASK) != CODEC_NONE && !lua_isnoneornil(vm, 3)) {
    record_set_inside(vm, in, record_check_count(vm, 3));
  }
  return 1;
}

static int record_batch(lua_State *vm)
{
  lua_settop(vm, 3);
  struct record_input_bytes in = record_check_bytes(vm);
  if (in.size == 0) {
    lua_pushnil(vm);
    return 1;
  }
  struct batch_header header;
  int result = batch_header_peek(in.at, in.size, &header);
  if (result == ERR_UNSUPPORTED_FORMAT) {
    return record_return_message(vm, &in);
  }
  if (result < 0) {
    return record_fail_header(vm, result, NULL);
  }
  if (header.size > in.size) {
    result = error_set(ERR_TRUNCATED, "batch of %zu bytes cut after %zu", header.size, in.size);
    return record_fail_header(vm, result, &header);
  }
  record_push_header(vm, &header);
  record_set_boolean(vm, "is_intact", batch_check(in.at, in.size, NULL) == 0);
  return 1;
}

// ---- records ----

/// Pushes a cursor that is not open yet, and keeps the string of argument 1 for it.
static struct record_cursor *cursor_push(lua_State *vm)
{
  struct record_cursor *cursor = lua_newuserdata(vm, sizeof *cursor);
  *cursor = (struct record_cursor){.is_done = true};
  luaL_getmetatable(vm, cursor_name);
  lua_setmetatable(vm, -2);
  lua_createtable(vm, 1, 0);
  lua_pushvalue(vm, 1);
  lua_rawseti(vm, -2, 1);
  lua_setfenv(vm, -2);
  return cursor;
}

static void cursor_release(struct record_cursor *cursor)
{
  batch_iterator_close(&cursor->batch);
  message_iterator_close(&cursor->messages);
  cursor->is_done = true;
}

static int cursor_begin(struct record_cursor *cursor, const struct record_input_bytes *in, size_t limit)
{
  int result = batch_iterator_open(&cursor->batch, in->at, in->size, limit);
  if (result == ERR_UNSUPPORTED_FORMAT) {
    const uint8_t *at = in->at;
    struct message message;
    int more = message_next(&at, in->at + in->size, &message);
    if (more == 0) {
      return error_set(ERR_TRUNCATED, "message cut after %zu bytes", in->size);
    }
    TRY(more);
    cursor->is_old = true;
    result = message_iterator_open(&cursor->messages, &message, limit);
  }
  TRY(result);
  cursor->is_done = false;
  return 0;
}

/// Reads the arguments bytes, position and limit, and pushes an open cursor.
///
/// @return the cursor, or NULL: nil and an error are pushed
static struct record_cursor *cursor_check_open(lua_State *vm)
{
  struct record_input_bytes in = record_check_bytes(vm);
  size_t limit = record_check_count(vm, 3);
  struct record_cursor *cursor = cursor_push(vm);
  int result = cursor_begin(cursor, &in, limit);
  if (result < 0) {
    cursor_release(cursor);
    lua_value_fail(vm, result);
    return NULL;
  }
  return cursor;
}

/// Sets a field to bytes, unless they are null.
static void record_set_bytes(lua_State *vm, const char *name, const uint8_t *bytes, int32_t size)
{
  if (size >= 0) {
    lua_pushlstring(vm, bytes != NULL ? (const char *)bytes : "", (size_t)size);
    lua_setfield(vm, -2, name);
  }
}

/// Pushes the list of a record's headers.
static void record_push_headers(lua_State *vm, const struct record_view *record)
{
  struct record_header_iterator headers;
  struct record_header_view header;
  lua_newtable(vm);
  if (record->header_count == 0) {
    return; // Messages of the old formats do not even have a place for them.
  }
  record_headers_open(record, &headers);
  for (int i = 1; record_headers_next(&headers, &header) > 0; i++) {
    lua_createtable(vm, 0, 2);
    record_set_bytes(vm, "key", header.key, header.key_size);
    record_set_bytes(vm, "value", header.value, header.value_size);
    lua_rawseti(vm, -2, i);
  }
}

static void record_push(lua_State *vm, const struct record_view *record)
{
  lua_createtable(vm, 0, 5);
  lua_value_set_int64(vm, "offset", record->offset);
  record_set_unless(vm, "timestamp", record->timestamp, BATCH_NO_TIMESTAMP);
  record_set_bytes(vm, "key", record->key, record->key_size);
  record_set_bytes(vm, "value", record->value, record->value_size);
  record_push_headers(vm, record);
  lua_setfield(vm, -2, "headers");
}

/// A message of an old format, as a record.
static struct record_view record_of_message(const struct message *message)
{
  return (struct record_view){
      .offset = message->offset,
      .timestamp = message->timestamp,
      .key = message->key,
      .value = message->value,
      .key_size = message->key_size,
      .value_size = message->value_size,
  };
}

/// Gives the next record.
///
/// @return 1, 0 at the end, or what is wrong; the cursor is done then
static int cursor_step(struct record_cursor *cursor, struct record_view *record)
{
  if (cursor->is_done) {
    return 0;
  }
  int more = 0;
  if (cursor->is_old) {
    struct message message;
    more = message_iterator_next(&cursor->messages, &message);
    if (more > 0 && message.magic != cursor->messages.outer.magic) {
      more = error_set(ERR_INVALID_RECORD, "a message of format %d in a wrapper of format %d", message.magic,
                       cursor->messages.outer.magic);
    }
    if (more > 0) {
      *record = record_of_message(&message);
    }
  } else {
    more = batch_iterator_next(&cursor->batch, record);
  }
  if (more <= 0) {
    cursor_release(cursor);
  }
  return more;
}

static void record_set_inside(lua_State *vm, const struct record_input_bytes *in, size_t limit)
{
  struct record_cursor *cursor = cursor_push(vm);
  int64_t base_offset = 0;
  int64_t count = 0;
  struct record_view record;
  int more = cursor_begin(cursor, in, limit);
  if (more == 0) {
    while ((more = cursor_step(cursor, &record)) > 0) {
      base_offset = count == 0 ? record.offset : base_offset;
      count++;
    }
  }
  cursor_release(cursor);
  lua_pop(vm, 1);
  if (more == 0) {
    lua_value_set_int64(vm, "base_offset", base_offset);
    lua_value_set_int64(vm, "count", count);
  }
}

static int record_open(lua_State *vm)
{
  lua_settop(vm, 3);
  return cursor_check_open(vm) != NULL ? 1 : 2;
}

static int record_records(lua_State *vm)
{
  lua_settop(vm, 4);
  size_t left = lua_isnil(vm, 4) ? SIZE_MAX : record_check_count(vm, 4);
  struct record_cursor *cursor = cursor_check_open(vm);
  if (cursor == NULL) {
    return 2;
  }
  lua_newtable(vm);
  struct record_view record;
  int more = 1;
  for (int i = 1; left > 0 && (more = cursor_step(cursor, &record)) > 0; i++, left--) {
    record_push(vm, &record);
    lua_rawseti(vm, -2, i);
  }
  if (more < 0) {
    return lua_value_fail(vm, more);
  }
  cursor_release(cursor);
  return 1;
}

static int record_crc(lua_State *vm)
{
  struct record_input_bytes in = record_check_bytes(vm);
  lua_pushnumber(vm, crc32c(in.at, in.size));
  return 1;
}

static int cursor_next(lua_State *vm)
{
  struct record_cursor *cursor = luaL_checkudata(vm, 1, cursor_name);
  struct record_view record;
  int more = cursor_step(cursor, &record);
  if (more < 0) {
    return lua_value_fail(vm, more);
  }
  if (more == 0) {
    lua_pushnil(vm);
  } else {
    record_push(vm, &record);
  }
  return 1;
}

static int cursor_close(lua_State *vm)
{
  cursor_release(luaL_checkudata(vm, 1, cursor_name));
  return 0;
}
