// SPDX-License-Identifier: Apache-2.0
//
// `record` and `record.headers` of the interpreted state: userdata that hold a serial number. Strings are made when
// they are asked for. The compiled state has the same in lua/luka/ffi/policy.lua, and comes here for headers only.
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "base/error.h"
#include "lua/policy_vm_private.h"
#include "lua/value.h"
#include "record/batch.h"
#include "record/split.h"

/// What a record object holds, and one of headers.
struct record_ref {
  double serial; ///< struct policy_call.serial of its record
};

static const char *const record_names[POLICY_NAMES] = {
    [POLICY_NAME_KEY] = "key",
    [POLICY_NAME_VALUE] = "value",
    [POLICY_NAME_HEADERS] = "headers",
    [POLICY_NAME_TIMESTAMP] = "timestamp",
    [POLICY_NAME_TOPIC] = "topic",
    [POLICY_NAME_PARTITION] = "partition",
    [POLICY_NAME_OFFSET] = "offset",
    [POLICY_NAME_PRODUCER_ID] = "producer_id",
    [POLICY_NAME_PRODUCER_EPOCH] = "producer_epoch",
    [POLICY_NAME_SEQUENCE] = "sequence",
};

/// Upvalues of the functions of both metatables.
enum {
  RECORD_UP_CALL = 1, ///< light userdata: struct policy_call
  RECORD_UP_NAMES,    ///< of records: table from names to enum policy_name plus one
  RECORD_UP_HEADERS,  ///< of records: metatable of headers
};

static int record_get(lua_State *vm);
static int record_set(lua_State *vm);
static int record_show(lua_State *vm);
static int headers_show(lua_State *vm);
static int headers_get(lua_State *vm);
static int headers_set(lua_State *vm);
static int headers_count(lua_State *vm);
static int headers_pairs(lua_State *vm);
static int headers_next(lua_State *vm);

static void record_add(lua_State *vm, const char *name, lua_CFunction fn, const struct policy_call *call)
{
  lua_pushlightuserdata(vm, (void *)(uintptr_t)call);
  lua_pushcclosure(vm, fn, 1);
  lua_setfield(vm, -2, name);
}

/// Locks the metatable on top against user code.
static void record_lock(lua_State *vm)
{
  lua_pushboolean(vm, 0);
  lua_setfield(vm, -2, "__metatable");
}

void policy_vm_push_metas(struct lua_State *vm, const struct policy_call *call)
{
  static const luaL_Reg functions[] = {{"__index", record_get}, {"__newindex", record_set}};
  lua_newtable(vm);
  int record = lua_gettop(vm);
  lua_newtable(vm);
  record_add(vm, "__index", headers_get, call);
  record_add(vm, "__newindex", headers_set, call);
  record_add(vm, "__len", headers_count, call);
  record_add(vm, "__pairs", headers_pairs, call);
  record_add(vm, "__tostring", headers_show, call);
  record_lock(vm);
  lua_createtable(vm, 0, POLICY_NAMES);
  for (int i = 0; i < POLICY_NAMES; i++) {
    lua_pushinteger(vm, i + 1);
    lua_setfield(vm, -2, record_names[i]);
  }
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    lua_pushlightuserdata(vm, (void *)(uintptr_t)call);
    lua_pushvalue(vm, record + 2);
    lua_pushvalue(vm, record + 1);
    lua_pushcclosure(vm, functions[i].func, 3);
    lua_setfield(vm, record, functions[i].name);
  }
  lua_settop(vm, record + 1);
  lua_pushvalue(vm, record);
  record_add(vm, "__tostring", record_show, call);
  record_lock(vm);
  lua_pop(vm, 1);
}

void policy_vm_push_ref(struct lua_State *vm, const struct policy_call *call, int metatable)
{
  struct record_ref *ref = lua_newuserdata(vm, sizeof *ref);
  ref->serial = call->serial;
  lua_pushvalue(vm, metatable);
  lua_setmetatable(vm, -2);
}

int policy_vm_check_limit(struct lua_State *vm, const struct policy_call *call, int result)
{
  if (result < 0) {
    return luaL_error(vm, "more than %d bytes of records were made of one batch", (int)call->output->limit_bytes);
  }
  return 0;
}

bool policy_vm_is_ref(struct lua_State *vm, int index, int metatable)
{
  if (lua_type(vm, index) != LUA_TUSERDATA || !lua_getmetatable(vm, index)) {
    return false;
  }
  bool is_ref = lua_rawequal(vm, -1, metatable);
  lua_pop(vm, 1);
  return is_ref;
}

bool policy_vm_is_at_hand(struct lua_State *vm, int index, const struct policy_call *call)
{
  const struct record_ref *ref = lua_touserdata(vm, index);
  return ref->serial == call->serial;
}

/// The call, when the object at index 1 is that of the record at hand. Functions of a metatable are only ever called
/// with what has it: user code cannot reach them.
static inline struct policy_call *record_check(lua_State *vm)
{
  struct policy_call *call = lua_touserdata(vm, lua_upvalueindex(RECORD_UP_CALL));
  const struct record_ref *ref = lua_touserdata(vm, 1);
  if (ref == NULL || ref->serial != call->serial) {
    luaL_error(vm, "a record cannot be used after the call that it was given to; keep its key or value instead");
  }
  return call;
}

static void record_push_bytes(lua_State *vm, const uint8_t *bytes, int32_t size)
{
  if (bytes == NULL) {
    lua_pushnil(vm);
  } else {
    lua_pushlstring(vm, (const char *)bytes, (size_t)size);
  }
}

/// Which field the value at index 2 names; raises when there is no such.
static enum policy_name record_name(lua_State *vm)
{
  lua_pushvalue(vm, 2);
  lua_rawget(vm, lua_upvalueindex(RECORD_UP_NAMES));
  int name = (int)lua_tointeger(vm, -1);
  lua_pop(vm, 1);
  if (name > 0) {
    return (enum policy_name)(name - 1);
  }
  const char *shown = lua_type(vm, 2) == LUA_TSTRING ? lua_tostring(vm, 2) : luaL_typename(vm, 2);
  luaL_error(vm,
             "a record has no field %s: it has key, value, headers, timestamp, topic, partition, offset, producer_id, "
             "producer_epoch and sequence",
             shown);
  return POLICY_NAME_KEY; // not reached: luaL_error() does not return
}

/// What the batch says of its producer: nothing but nil when that is not idempotent. Of a share of a batch it is the
/// client that sent the whole.
static void record_push_producer(lua_State *vm, const struct policy_call *call, enum policy_name name)
{
  const struct batch_header *header = call->header;
  if (header == NULL || header->producer_id < 0 || header->base_sequence < 0) {
    lua_pushnil(vm);
  } else if (name == POLICY_NAME_PRODUCER_ID) {
    lua_value_push_int64(vm, batch_client_producer_id(header->producer_id));
  } else if (name == POLICY_NAME_PRODUCER_EPOCH) {
    lua_pushinteger(vm, header->producer_epoch);
  } else {
    uint64_t delta = (uint64_t)call->at->offset - (uint64_t)header->base_offset;
    lua_pushinteger(vm, (lua_Integer)(((uint64_t)header->base_sequence + delta) & INT32_MAX)); // after the last comes 0
  }
}

/// record[name]
static int record_get(lua_State *vm)
{
  const struct policy_call *call = record_check(vm);
  const struct record_view *at = call->at;
  enum policy_name name = record_name(vm);
  switch (name) {
    case POLICY_NAME_KEY:
      record_push_bytes(vm, at->key, at->key_size);
      break;
    case POLICY_NAME_VALUE:
      record_push_bytes(vm, at->value, at->value_size);
      break;
    case POLICY_NAME_HEADERS:
      policy_vm_push_ref(vm, call, lua_upvalueindex(RECORD_UP_HEADERS));
      break;
    case POLICY_NAME_TIMESTAMP:
      lua_value_push_int64(vm, at->timestamp);
      break;
    case POLICY_NAME_TOPIC:
      lua_pushstring(vm, call->topic);
      break;
    case POLICY_NAME_PARTITION:
      lua_pushinteger(vm, call->partition);
      break;
    case POLICY_NAME_PRODUCER_ID:
    case POLICY_NAME_PRODUCER_EPOCH:
    case POLICY_NAME_SEQUENCE:
      record_push_producer(vm, call, name);
      break;
    default:
      if (call->has_offset) {
        lua_value_push_int64(vm, at->offset);
      } else {
        lua_pushnil(vm);
      }
      break;
  }
  return 1;
}

/// Raises when the running policy may not change records.
static void record_check_edit(lua_State *vm, const struct policy_call *call)
{
  if (!call->may_edit) {
    luaL_error(vm, "records can only be changed by a transform");
  }
}

static const char *record_check_text(lua_State *vm, int index, const char *what, size_t *size)
{
  *size = 0;
  if (lua_isnil(vm, index)) {
    return NULL;
  }
  if (lua_type(vm, index) != LUA_TSTRING) {
    luaL_error(vm, "%s has to be a string or nil, not a %s", what,
               lua_type(vm, index) == LUA_VALUE_CDATA ? "cdata" : luaL_typename(vm, index));
  }
  return lua_tolstring(vm, index, size);
}

static int64_t record_check_timestamp(lua_State *vm, int index)
{
  int64_t value = 0;
  if (!lua_value_get_int64(vm, index, &value) || value < BATCH_NO_TIMESTAMP) {
    luaL_error(vm, "timestamp has to be a whole number of milliseconds, or -1 for none");
  }
  return value;
}

/// record[name] = value
static int record_set(lua_State *vm)
{
  struct policy_call *call = record_check(vm);
  enum policy_name name = record_name(vm);
  record_check_edit(vm, call);
  size_t size = 0;
  switch (name) {
    case POLICY_NAME_KEY:
    case POLICY_NAME_VALUE: {
      const char *text = record_check_text(vm, 3, record_names[name], &size);
      int field = name == POLICY_NAME_KEY ? POLICY_FIELD_KEY : POLICY_FIELD_VALUE;
      return policy_vm_check_limit(vm, call, policy_vm_set_bytes(call, field, text, size));
    }
    case POLICY_NAME_TIMESTAMP: {
      int64_t timestamp = record_check_timestamp(vm, 3);
      policy_vm_edit(call);
      call->edited.timestamp = timestamp;
      return 0;
    }
    case POLICY_NAME_HEADERS:
      lua_getfield(vm, LUA_REGISTRYINDEX, POLICY_VM_SET_HEADERS);
      lua_pushvalue(vm, 3);
      lua_call(vm, 1, 0);
      return 0;
    default:
      return luaL_error(vm, "%s of a record cannot be set; emit() writes records to other topics", record_names[name]);
  }
}

static int record_show(lua_State *vm)
{
  lua_pushliteral(vm, "record");
  return 1;
}

// ---- headers ----

/// Pushes { key =, value = }.
static void headers_push(lua_State *vm, const struct record_header_view *header)
{
  lua_createtable(vm, 0, 2);
  lua_pushlstring(vm, (const char *)header->key, (size_t)header->key_size);
  lua_setfield(vm, -2, "key");
  record_push_bytes(vm, header->value, header->value_size);
  lua_setfield(vm, -2, "value");
}

/// headers[name] -> the last value of it; headers[i] -> { key =, value = }
static int headers_get(lua_State *vm)
{
  struct policy_call *call = record_check(vm);
  if (lua_type(vm, 2) == LUA_TSTRING) {
    size_t size = 0;
    const char *name = lua_tolstring(vm, 2, &size);
    if (!policy_vm_find_header(call, name, size)) {
      return 0;
    }
    record_push_bytes(vm, call->found, call->found_size);
    return 1;
  }
  if (lua_type(vm, 2) != LUA_TNUMBER) {
    return luaL_error(vm, "headers are found by name or number, not by a %s", luaL_typename(vm, 2));
  }
  lua_Number wanted = lua_tonumber(vm, 2);
  struct record_header_iterator headers;
  struct record_header_view header;
  record_headers_open(call->at, &headers);
  for (int32_t i = 1; record_headers_next(&headers, &header) > 0; i++) {
    if (i == wanted) {
      headers_push(vm, &header);
      return 1;
    }
  }
  return 0;
}

/// headers[name] = value or nil
static int headers_set_named(lua_State *vm, struct policy_call *call)
{
  struct policy_header_change change = {.index = -1};
  change.name = lua_tolstring(vm, 2, &change.name_size);
  change.value = record_check_text(vm, 3, "the value of a header", &change.value_size);
  change.is_removal = change.value == NULL;
  if (change.is_removal && !policy_vm_find_header(call, change.name, change.name_size)) {
    return 0;
  }
  return policy_vm_check_limit(vm, call, policy_vm_set_header(call, &change));
}

/// headers[i] = { key =, value = } or nil
static int headers_set_numbered(lua_State *vm, struct policy_call *call)
{
  struct policy_header_change change = {.is_removal = lua_isnil(vm, 3)};
  lua_Number wanted = lua_tonumber(vm, 2);
  int32_t last = call->at->header_count + !change.is_removal;
  change.index = wanted >= 1 && wanted <= last ? (int32_t)wanted - 1 : -1;
  if (change.index < 0 || change.index + 1 != wanted) {
    return change.is_removal ? 0 : luaL_error(vm, "there are %d headers, so the next one is number %d", last - 1, last);
  }
  if (!change.is_removal) {
    if (!lua_istable(vm, 3)) {
      return luaL_error(vm, "a numbered header has to be a table { key =, value = } or nil");
    }
    lua_settop(vm, 3);
    lua_pushliteral(vm, "key");
    lua_rawget(vm, 3);
    lua_pushliteral(vm, "value");
    lua_rawget(vm, 3);
    change.name = record_check_text(vm, 4, "the key of a header", &change.name_size);
    change.value = record_check_text(vm, 5, "the value of a header", &change.value_size);
    if (change.name == NULL) {
      return luaL_error(vm, "a header has to have a key");
    }
  }
  return policy_vm_check_limit(vm, call, policy_vm_set_header(call, &change));
}

static int headers_set(lua_State *vm)
{
  struct policy_call *call = record_check(vm);
  record_check_edit(vm, call);
  if (lua_type(vm, 2) == LUA_TSTRING) {
    return headers_set_named(vm, call);
  }
  if (lua_type(vm, 2) == LUA_TNUMBER) {
    return headers_set_numbered(vm, call);
  }
  return luaL_error(vm, "headers are set by name or number, not by a %s", luaL_typename(vm, 2));
}

static int headers_show(lua_State *vm)
{
  lua_pushliteral(vm, "headers");
  return 1;
}

static int headers_count(lua_State *vm)
{
  lua_pushinteger(vm, record_check(vm)->at->header_count);
  return 1;
}

/// pairs(headers): name and value of each, in order, as they are when it begins.
static int headers_pairs(lua_State *vm)
{
  const struct policy_call *call = record_check(vm);
  struct record_header_iterator headers;
  record_headers_open(call->at, &headers);
  lua_pushlightuserdata(vm, (void *)(uintptr_t)call);
  lua_pushnumber(vm, call->serial);
  struct record_header_iterator *state = lua_newuserdata(vm, sizeof *state);
  *state = headers;
  lua_pushcclosure(vm, headers_next, 3);
  return 1;
}

static int headers_next(lua_State *vm)
{
  const struct policy_call *call = lua_touserdata(vm, lua_upvalueindex(1));
  if (lua_tonumber(vm, lua_upvalueindex(2)) != call->serial) {
    return luaL_error(vm, "headers cannot be used after the call that their record was given to");
  }
  struct record_header_view header;
  if (record_headers_next(lua_touserdata(vm, lua_upvalueindex(3)), &header) <= 0) {
    return 0;
  }
  lua_pushlstring(vm, (const char *)header.key, (size_t)header.key_size);
  record_push_bytes(vm, header.value, header.value_size);
  return 2;
}
