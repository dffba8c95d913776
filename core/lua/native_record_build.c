// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "base/error.h"
#include "lua/native_record_private.h"
#include "lua/value.h"
#include "record/batch.h"
#include "record/build.h"
#include "record/codec.h"

enum {
  BUILD_LIMIT_BYTES = 16 * 1024 * 1024, ///< of a batch before compression, unless the options say otherwise
  BUILD_RECORDS = 1,                    ///< stack index of the list of records
  BUILD_OPTIONS = 2,                    ///< and of the options, a table or nil
};

/// Name of the builders' metatable in the registry.
static const char builder_name[] = "luka.record.builder";

static int builder_gc(lua_State *vm)
{
  batch_builder_destroy(luaL_checkudata(vm, 1, builder_name));
  return 0;
}

/// Pushes a builder that the collector frees.
static struct batch_builder *builder_push(lua_State *vm, const struct batch_options *options)
{
  struct batch_builder *builder = lua_newuserdata(vm, sizeof *builder);
  memset(builder, 0, sizeof *builder);
  if (luaL_newmetatable(vm, builder_name)) {
    lua_pushcfunction(vm, builder_gc);
    lua_setfield(vm, -2, "__gc");
  }
  lua_setmetatable(vm, -2);
  batch_builder_init(builder, options);
  return builder;
}

/// Pushes field `name` of the table at `index`, without metamethods.
static int build_get(lua_State *vm, int index, const char *name)
{
  lua_pushstring(vm, name);
  lua_rawget(vm, index);
  return lua_type(vm, -1);
}

/// Reads an integer option; `*value` stays when it is not given.
static int build_option(lua_State *vm, const char *name, int64_t lowest, int64_t highest, int64_t *value)
{
  if (lua_isnil(vm, BUILD_OPTIONS)) {
    return 0;
  }
  int64_t given = 0;
  int result = 0;
  if (build_get(vm, BUILD_OPTIONS, name) != LUA_TNIL) {
    if (!lua_value_get_int64(vm, -1, &given)) {
      result = error_set(ERR_INVALID, "%s is not a whole number", name);
    } else if (given < lowest || given > highest) {
      result =
          error_set(ERR_INVALID, "%s: got %" PRId64 ", expected %" PRId64 " to %" PRId64, name, given, lowest, highest);
    } else {
      *value = given;
    }
  }
  lua_pop(vm, 1);
  return result;
}

static int build_codec(lua_State *vm, int *codec)
{
  if (lua_isnil(vm, BUILD_OPTIONS)) {
    return 0;
  }
  int result = 0;
  if (build_get(vm, BUILD_OPTIONS, "compression") != LUA_TNIL) {
    const char *name = lua_type(vm, -1) == LUA_TSTRING ? lua_tostring(vm, -1) : "?";
    result = codec_from_name(name);
    if (result < 0) {
      result = error_set(ERR_INVALID, "compression: got '%.40s', expected none, gzip, snappy, lz4 or zstd", name);
    } else {
      *codec = result;
      result = 0;
    }
  }
  lua_pop(vm, 1);
  return result;
}

/// @param[out] timestamp  of records that have none
static int build_options(lua_State *vm, struct batch_options *options, int64_t *timestamp)
{
  batch_options_init(options);
  int64_t leader_epoch = options->leader_epoch;
  int64_t producer_epoch = options->producer_epoch;
  int64_t base_sequence = options->base_sequence;
  int64_t limit = BUILD_LIMIT_BYTES;
  *timestamp = BATCH_NO_TIMESTAMP;
  TRY(build_option(vm, "base_offset", 0, INT64_MAX, &options->base_offset));
  TRY(build_option(vm, "leader_epoch", -1, INT32_MAX, &leader_epoch));
  TRY(build_option(vm, "producer_id", -1, INT64_MAX, &options->producer_id));
  TRY(build_option(vm, "producer_epoch", -1, INT16_MAX, &producer_epoch));
  TRY(build_option(vm, "base_sequence", -1, INT32_MAX, &base_sequence));
  TRY(build_option(vm, "limit", BATCH_HEADER_SIZE, INT32_MAX, &limit));
  TRY(build_option(vm, "timestamp", INT64_MIN, INT64_MAX, timestamp));
  TRY(build_codec(vm, &options->codec));
  if (!lua_isnil(vm, BUILD_OPTIONS)) {
    build_get(vm, BUILD_OPTIONS, "is_transactional");
    options->is_transactional = lua_toboolean(vm, -1);
    lua_pop(vm, 1);
  }
  options->leader_epoch = (int32_t)leader_epoch;
  options->producer_epoch = (int16_t)producer_epoch;
  options->base_sequence = (int32_t)base_sequence;
  options->limit_bytes = (size_t)limit;
  return 0;
}

/// Reads a string of the table at `index`; the table keeps it alive.
///
/// @param number  of the record, for the message
/// @param what    the same, in front of the name: "" or "headers' "
static int build_bytes(lua_State *vm, int index, const char *name, int number, const char *what, const uint8_t **bytes,
                       int32_t *size)
{
  int type = build_get(vm, index, name);
  int result = 0;
  if (type == LUA_TSTRING) {
    size_t length = 0;
    *bytes = (const uint8_t *)lua_tolstring(vm, -1, &length);
    *size = (int32_t)length;
    if (length > INT32_MAX) {
      result = error_set(ERR_INVALID, "record %d: %s%s is too long", number, what, name);
    }
  } else if (type == LUA_TNIL) {
    *bytes = NULL;
    *size = -1;
  } else {
    result = error_set(ERR_INVALID, "record %d: %s%s is a %s, expected a string or nil", number, what, name,
                       lua_typename(vm, type));
  }
  lua_pop(vm, 1);
  return result;
}

/// Reads one header, the table on top of the stack.
static int build_header(lua_State *vm, int number, struct record_header_input *header)
{
  if (!lua_istable(vm, -1)) {
    return error_set(ERR_INVALID, "record %d: a header is a table with key and value", number);
  }
  int index = lua_gettop(vm);
  TRY(build_bytes(vm, index, "key", number, "a header's ", &header->key, &header->key_size));
  if (header->key_size < 0) {
    return error_set(ERR_INVALID, "record %d: a header has no key", number);
  }
  return build_bytes(vm, index, "value", number, "a header's ", &header->value, &header->value_size);
}

/// Reads the headers of the record at `index`; leaves an array on the stack that lasts as long as it is there.
static int build_headers(lua_State *vm, int index, int number, struct record_input *input)
{
  int type = build_get(vm, index, "headers");
  if (type == LUA_TNIL) {
    return 0;
  }
  if (type != LUA_TTABLE) {
    return error_set(ERR_INVALID, "record %d: headers are a list of tables with key and value", number);
  }
  int list = lua_gettop(vm);
  size_t count = lua_objlen(vm, list);
  if (count > INT32_MAX / sizeof(struct record_header_input)) {
    return error_set(ERR_INVALID, "record %d: too many headers", number);
  }
  struct record_header_input *headers = lua_newuserdata(vm, count * sizeof *headers + 1);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(vm, list, (int)i + 1);
    TRY(build_header(vm, number, &headers[i]));
    lua_pop(vm, 1);
  }
  input->headers = headers;
  input->header_count = (int32_t)count;
  return 0;
}

/// Adds the record on top of the stack.
static int build_add(lua_State *vm, struct batch_builder *builder, int number, int64_t timestamp)
{
  if (!lua_istable(vm, -1)) {
    return error_set(ERR_INVALID, "record %d is a %s, expected a table", number, luaL_typename(vm, -1));
  }
  int index = lua_gettop(vm);
  struct record_input input = {.timestamp = timestamp};
  TRY(build_bytes(vm, index, "key", number, "", &input.key, &input.key_size));
  TRY(build_bytes(vm, index, "value", number, "", &input.value, &input.value_size));
  if (build_get(vm, index, "timestamp") != LUA_TNIL && !lua_value_get_int64(vm, -1, &input.timestamp)) {
    return error_set(ERR_INVALID, "record %d: timestamp is not a whole number of milliseconds", number);
  }
  lua_pop(vm, 1);
  TRY(build_headers(vm, index, number, &input));
  int result = batch_builder_add(builder, &input);
  if (result == ERR_LIMIT) {
    return error_set(ERR_LIMIT, "the batch would be larger than %zu bytes", builder->options.limit_bytes);
  }
  return result;
}

int native_record_build(lua_State *vm)
{
  luaL_checktype(vm, BUILD_RECORDS, LUA_TTABLE);
  luaL_argcheck(vm, lua_isnoneornil(vm, BUILD_OPTIONS) || lua_istable(vm, BUILD_OPTIONS), BUILD_OPTIONS,
                "expected a table");
  lua_settop(vm, BUILD_OPTIONS);
  struct batch_options options;
  int64_t timestamp = BATCH_NO_TIMESTAMP;
  int result = build_options(vm, &options, &timestamp);
  if (result < 0) {
    return lua_value_fail(vm, result);
  }
  struct batch_builder *builder = builder_push(vm, &options);
  int top = lua_gettop(vm);
  size_t count = lua_objlen(vm, BUILD_RECORDS);
  for (size_t i = 1; i <= count && result == 0; i++) {
    lua_rawgeti(vm, BUILD_RECORDS, (int)i);
    result = build_add(vm, builder, (int)i, timestamp);
    lua_settop(vm, top);
  }
  uint8_t *bytes = NULL;
  size_t size = 0;
  if (result == 0) {
    result = batch_builder_finish(builder, &bytes, &size);
  }
  if (result < 0) {
    lua_value_fail(vm, result);
    batch_builder_destroy(builder);
    return 2;
  }
  lua_pushlstring(vm, (const char *)bytes, size);
  batch_builder_destroy(builder);
  return 1;
}
