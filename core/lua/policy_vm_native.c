// SPDX-License-Identifier: Apache-2.0
//
// What lua/luka/policy/run.lua is given: the steps of the loop over records, and the words emit() and reject(). A step
// takes what the function returned for the record at hand and gives the next record: one call of C for each.
#include <lauxlib.h>
#include <lua.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lua/policy_vm_private.h"
#include "lua/value.h"
#include "record/batch.h"

/// Upvalues of all functions here.
enum {
  NATIVE_UP_CALL = 1, ///< light userdata: struct policy_call
  NATIVE_UP_RECORD,   ///< metatable of records
  NATIVE_UP_HEADERS,  ///< metatable of headers
};

static struct policy_call *native_call(lua_State *vm)
{
  return lua_touserdata(vm, lua_upvalueindex(NATIVE_UP_CALL));
}

/// Raises; with the place of the call when `level` is 1, without one when it is 0: then it is about what was returned.
static int native_raise(lua_State *vm, int level, const char *text)
{
  luaL_where(vm, level);
  if (level == 0) {
    lua_pop(vm, 1);
    lua_pushliteral(vm, "");
  }
  lua_pushstring(vm, text);
  lua_concat(vm, 2);
  return lua_error(vm);
}

// ---- records one after another ----

/// Goes to a record; pushes its object, or nothing behind the last one.
static int native_go(lua_State *vm, struct policy_call *call, int64_t index)
{
  call->serial += 1;
  call->is_rejected = false;
  if (index >= call->count) {
    return 0;
  }
  call->at = call->records + index;
  atomic_store_explicit(call->progress, index, memory_order_relaxed);
  policy_vm_push_ref(vm, call, lua_upvalueindex(NATIVE_UP_RECORD));
  return 1;
}

static int64_t native_index(const struct policy_call *call)
{
  return atomic_load_explicit(call->progress, memory_order_relaxed);
}

// first() -> record: the one at which the call is to begin, or go on
static int native_first(lua_State *vm)
{
  struct policy_call *call = native_call(vm);
  return native_go(vm, call, native_index(call));
}

/// Raises that something was returned which is no partition.
static int native_refuse_partition(lua_State *vm, const struct policy_call *call)
{
  char shown[64];
  int64_t number = 0;
  if (lua_type(vm, 1) == LUA_TNUMBER) {
    snprintf(shown, sizeof shown, "%.14g", lua_tonumber(vm, 1));
  } else if (lua_type(vm, 1) == LUA_TSTRING) {
    snprintf(shown, sizeof shown, "the string \"%.32s\"", lua_tostring(vm, 1));
  } else if (lua_type(vm, 1) == LUA_VALUE_CDATA && lua_value_get_int64(vm, 1, &number)) {
    snprintf(shown, sizeof shown, "%lld", (long long)number);
  } else if (lua_isnoneornil(vm, 1)) {
    snprintf(shown, sizeof shown, "nil");
  } else if (lua_isboolean(vm, 1)) {
    snprintf(shown, sizeof shown, lua_toboolean(vm, 1) ? "true" : "false");
  } else {
    snprintf(shown, sizeof shown, "a %s", luaL_typename(vm, 1));
  }
  char text[160];
  snprintf(text, sizeof text, "returned %s; a partition is a whole number from 0 to %d", shown, call->partitions - 1);
  return native_raise(vm, 0, text);
}

// choose(partition) -> record, the next one
static int native_choose(lua_State *vm)
{
  struct policy_call *call = native_call(vm);
  int64_t chosen = -1;
  if (lua_type(vm, 1) == LUA_TNUMBER) {
    lua_Number number = lua_tonumber(vm, 1);
    chosen = number >= 0 && number < call->partitions && number == (int32_t)number ? (int64_t)number : -1;
  } else if (lua_type(vm, 1) == LUA_VALUE_CDATA && !lua_value_get_int64(vm, 1, &chosen)) {
    chosen = -1;
  }
  if (chosen < 0 || chosen >= call->partitions) {
    return native_refuse_partition(vm, call);
  }
  int64_t index = native_index(call);
  call->chosen[index] = (int32_t)chosen;
  return native_go(vm, call, index + 1);
}

/// Sets what becomes of the record at hand, unless it was rejected.
static void native_act(struct policy_call *call, enum policy_action action)
{
  if (!call->is_rejected) {
    call->output->actions[native_index(call)] = (uint8_t)action;
    call->is_changed = call->is_changed || action != POLICY_KEEP;
  }
}

// sieve(value) -> record, the next one; the one at hand is kept when the value is true
static int native_sieve(lua_State *vm)
{
  struct policy_call *call = native_call(vm);
  native_act(call, lua_toboolean(vm, 1) ? POLICY_KEEP : POLICY_DROP);
  return native_go(vm, call, native_index(call) + 1);
}

// ---- records that are made ----

/// Takes the headers of a table, by what luka.policy.run's `spread` makes of it: lists of names and of values, in which
/// false is null.
static void native_take_headers_table(lua_State *vm, struct policy_call *call, int index, int level)
{
  int top = lua_gettop(vm);
  luaL_checkstack(vm, 8, "headers");
  lua_getfield(vm, LUA_REGISTRYINDEX, POLICY_VM_SPREAD);
  lua_pushvalue(vm, index);
  lua_call(vm, 1, 2);
  if (lua_isnil(vm, top + 1)) {
    native_raise(vm, level, lua_tostring(vm, top + 2));
  }
  call->scratch_size = 0;
  call->header_count = 0;
  int count = (int)lua_objlen(vm, top + 1);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(vm, top + 1, i);
    lua_rawgeti(vm, top + 2, i);
    size_t name_size = 0;
    size_t value_size = 0;
    const char *name = lua_tolstring(vm, -2, &name_size);
    const char *value = lua_tolstring(vm, -1, &value_size);
    policy_vm_check_limit(vm, call, policy_vm_make_header(call, name, name_size, value, value_size));
    lua_pop(vm, 2);
  }
  lua_settop(vm, top);
}

/// Takes the headers that are the value at `index` into a view: nil, a table, or the headers of the record at hand.
static void native_take_headers(lua_State *vm, struct policy_call *call, int index, int level, struct record_view *view)
{
  if (lua_isnil(vm, index)) {
    view->headers = NULL;
    view->headers_size = 0;
    view->header_count = 0;
  } else if (policy_vm_is_ref(vm, index, lua_upvalueindex(NATIVE_UP_HEADERS))) {
    if (!policy_vm_is_at_hand(vm, index, call)) {
      native_raise(vm, level, "headers cannot be used after the call that their record was given to");
    }
    view->headers = call->at->headers;
    view->headers_size = call->at->headers_size;
    view->header_count = call->at->header_count;
  } else if (lua_istable(vm, index)) {
    native_take_headers_table(vm, call, index, level);
    policy_vm_check_limit(vm, call, policy_vm_take_headers(call, view));
  } else {
    native_raise(vm, level, "headers have to be a table or nil");
  }
}

// set_headers(value): for an assignment to record.headers, two calls up
static int native_set_headers(lua_State *vm)
{
  struct policy_call *call = native_call(vm);
  struct record_view view = *call->at;
  native_take_headers(vm, call, 1, 2, &view);
  policy_vm_edit(call);
  call->edited.headers = view.headers;
  call->edited.headers_size = view.headers_size;
  call->edited.header_count = view.header_count;
  return 0;
}

/// Key or value of a record that is made, at the top of the stack.
static const uint8_t *native_take_bytes(lua_State *vm, struct policy_call *call, const char *what, int level,
                                        int32_t *size)
{
  size_t length = 0;
  const uint8_t *kept = NULL;
  if (lua_type(vm, -1) != LUA_TSTRING) {
    char text[96];
    snprintf(text, sizeof text, "%s has to be a string or nil, not a %s", what, luaL_typename(vm, -1));
    native_raise(vm, level, text);
  }
  const char *bytes = lua_tolstring(vm, -1, &length);
  policy_vm_check_limit(vm, call, policy_vm_keep_bytes(call, bytes, length, &kept));
  *size = (int32_t)length;
  return kept;
}

/// Takes one field of a table that is a record: its name is at -2, its value on top.
static void native_take_field(lua_State *vm, struct policy_call *call, int level, struct record_view *view)
{
  const char *name = lua_type(vm, -2) == LUA_TSTRING ? lua_tostring(vm, -2) : "";
  if (strcmp(name, "key") == 0) {
    view->key = native_take_bytes(vm, call, name, level, &view->key_size);
  } else if (strcmp(name, "value") == 0) {
    view->value = native_take_bytes(vm, call, name, level, &view->value_size);
  } else if (strcmp(name, "headers") == 0) {
    native_take_headers(vm, call, lua_gettop(vm), level, view);
  } else if (strcmp(name, "timestamp") == 0) {
    if (!lua_value_get_int64(vm, -1, &view->timestamp) || view->timestamp < BATCH_NO_TIMESTAMP) {
      native_raise(vm, level, "timestamp has to be a whole number of milliseconds, or -1 for none");
    }
  } else {
    char text[160];
    snprintf(text, sizeof text, "a table that is a record has key, value, headers and timestamp, and not %s%.32s",
             name[0] != '\0' ? "" : luaL_typename(vm, -2), name);
    native_raise(vm, level, text);
  }
}

/// Makes a view of the record object or table at `index`.
static void native_take(lua_State *vm, struct policy_call *call, int index, int level, struct record_view *view)
{
  if (policy_vm_is_ref(vm, index, lua_upvalueindex(NATIVE_UP_RECORD))) {
    if (!policy_vm_is_at_hand(vm, index, call)) {
      native_raise(vm, level,
                   "this is a record of an earlier call; make a table { key =, value = } of what is to be kept");
    }
    *view = *call->at;
    return;
  }
  if (!lua_istable(vm, index)) {
    char text[96];
    snprintf(text, sizeof text, "a record or a table { key =, value = } is needed, not %s%s",
             lua_isnil(vm, index) ? "" : "a ", luaL_typename(vm, index));
    native_raise(vm, level, text);
  }
  *view = (struct record_view){.timestamp = call->at->timestamp, .key_size = -1, .value_size = -1};
  luaL_checkstack(vm, 4, "records");
  lua_pushnil(vm);
  while (lua_next(vm, index) != 0) {
    native_take_field(vm, call, level, view);
    lua_pop(vm, 1);
  }
}

/// Takes a list of records: the first has the place of the record at hand, the others come in addition.
static void native_take_list(lua_State *vm, struct policy_call *call, int count)
{
  struct record_view view;
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(vm, 1, i);
    native_take(vm, call, lua_gettop(vm), 0, &view);
    int result = i == 1 ? policy_vm_replace(call, &view) : policy_vm_add(call, &view, NULL, -1);
    policy_vm_check_limit(vm, call, result);
    lua_pop(vm, 1);
  }
}

/// Takes a table that a transform returned: a record, or a list of them, which may be empty.
static void native_take_table(lua_State *vm, struct policy_call *call)
{
  lua_settop(vm, 1);
  int count = (int)lua_objlen(vm, 1);
  lua_pushnil(vm);
  bool is_empty = lua_next(vm, 1) == 0;
  lua_settop(vm, 1);
  if (is_empty) {
    native_act(call, POLICY_DROP);
  } else if (count > 0) {
    native_take_list(vm, call, count);
  } else {
    struct record_view view;
    native_take(vm, call, 1, 0, &view);
    policy_vm_check_limit(vm, call, policy_vm_replace(call, &view));
  }
}

// decide(value) -> record, the next one
static int native_decide(lua_State *vm)
{
  struct policy_call *call = native_call(vm);
  if (call->is_rejected) {
    return native_go(vm, call, native_index(call) + 1);
  }
  if (policy_vm_is_ref(vm, 1, lua_upvalueindex(NATIVE_UP_RECORD))) {
    if (!policy_vm_is_at_hand(vm, 1, call)) {
      return native_raise(vm, 0, "returned the record of an earlier call");
    }
    if (call->at == &call->edited) {
      policy_vm_replace(call, call->at);
    }
  } else if (lua_isnoneornil(vm, 1)) {
    native_act(call, POLICY_DROP);
  } else if (lua_istable(vm, 1)) {
    native_take_table(vm, call);
  } else {
    char text[160];
    const char *shown = lua_isboolean(vm, 1) ? (lua_toboolean(vm, 1) ? "true" : "false") : luaL_typename(vm, 1);
    snprintf(text, sizeof text, "returned %s%s; nil drops the record, a record or a list of records takes its place",
             lua_isboolean(vm, 1) ? "" : "a ", shown);
    return native_raise(vm, 0, text);
  }
  return native_go(vm, call, native_index(call) + 1);
}

// ---- words ----

// emit(topic, record [, partition])
static int native_emit(lua_State *vm)
{
  struct policy_call *call = native_call(vm);
  if (!call->may_emit) {
    return native_raise(vm, 1, "emit() is for transforms of what is produced");
  }
  size_t size = 0;
  const char *topic = lua_type(vm, 1) == LUA_TSTRING ? lua_tolstring(vm, 1, &size) : NULL;
  if (topic == NULL || size == 0 || strlen(topic) != size) {
    return native_raise(vm, 1, "emit() needs the name of a topic, and a record");
  }
  lua_Number partition = lua_isnoneornil(vm, 3) ? -1 : lua_isnumber(vm, 3) ? lua_tonumber(vm, 3) : -2;
  if (!(partition >= -1 && partition <= INT32_MAX) || partition != (int32_t)partition) {
    return native_raise(vm, 1, "the partition given to emit() is no number of one");
  }
  lua_settop(vm, 2);
  struct record_view view;
  native_take(vm, call, 2, 1, &view);
  return policy_vm_check_limit(vm, call, policy_vm_add(call, &view, topic, (int32_t)partition));
}

// reject(reason)
static int native_reject(lua_State *vm)
{
  struct policy_call *call = native_call(vm);
  if (!call->may_emit && !(call->may_edit && call->policy->kind == POLICY_TRANSFORM_FETCH)) {
    return native_raise(vm, 1, "reject() is for transform and transform_fetch");
  }
  size_t size = 0;
  const char *text = lua_type(vm, 1) == LUA_TSTRING ? lua_tolstring(vm, 1, &size) : NULL;
  if (text == NULL) {
    return native_raise(vm, 1, "reject() needs a text that says why");
  }
  policy_vm_check_limit(vm, call, policy_vm_reject(call, text, size));
  lua_settop(vm, 1);
  return lua_error(vm);
}

// ---- for the compiled state ----

// record() -> record, headers() -> headers: objects for the record at hand
static int native_record(lua_State *vm)
{
  policy_vm_push_ref(vm, native_call(vm), lua_upvalueindex(NATIVE_UP_RECORD));
  return 1;
}

static int native_headers(lua_State *vm)
{
  policy_vm_push_ref(vm, native_call(vm), lua_upvalueindex(NATIVE_UP_HEADERS));
  return 1;
}

void policy_vm_push_natives(struct lua_State *vm, struct policy_call *call)
{
  static const luaL_Reg functions[] = {
      {"first", native_first},   {"choose", native_choose},   {"sieve", native_sieve},
      {"decide", native_decide}, {"emit", native_emit},       {"reject", native_reject},
      {"record", native_record}, {"headers", native_headers}, {"set_headers", native_set_headers},
  };
  lua_newtable(vm);
  int natives = lua_gettop(vm);
  policy_vm_push_metas(vm, call);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    lua_pushlightuserdata(vm, call);
    lua_pushvalue(vm, natives + 1);
    lua_pushvalue(vm, natives + 2);
    lua_pushcclosure(vm, functions[i].func, 3);
    lua_setfield(vm, natives, functions[i].name);
  }
  lua_setfield(vm, natives, "headers_meta");
  lua_setfield(vm, natives, "record_meta");
  // For an assignment to record.headers, which comes by a function of the metatable.
  lua_getfield(vm, natives, "set_headers");
  lua_setfield(vm, LUA_REGISTRYINDEX, POLICY_VM_SET_HEADERS);
}
