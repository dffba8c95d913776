// SPDX-License-Identifier: Apache-2.0
//
// Errors of Lua jump over C frames, so whatever jansson allocates hangs from a holder: a new value is put into its
// parent before anything that may raise. What raises runs in protected mode, and the holder is emptied in any case:
// what it holds is not counted as the state's, and a collector that sees a small userdata would take its time.
#include "lua/native_json.h"

#include <jansson.h>
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lua/value.h"

enum {
  JSON_DEPTH_MAX = 100, ///< tables in tables
  JSON_DIGITS = 16,     ///< of numbers that are not whole
  JSON_INDENT_MAX = 8,  ///< spaces a level
};

static const char json_holder_name[] = "luka.json";

/// What a call has allocated outside of Lua.
struct json_holder {
  json_t *root; ///< tree, owned
  char *text;   ///< encoded, owned
  int indent;   ///< spaces a level, of what is encoded
};

static int json_encode(lua_State *vm);
static int json_decode(lua_State *vm);
static int json_mark_array(lua_State *vm);
static int json_mark_object(lua_State *vm);
static int json_collect(lua_State *vm);
static int json_encode_held(lua_State *vm);
static int json_decode_held(lua_State *vm);
static json_t *json_of(lua_State *vm, int index, int depth);
static void json_fill(lua_State *vm, int index, json_t *into, int depth);
static void json_push(lua_State *vm, const json_t *value);

int native_json_open(struct lua_State *vm)
{
  static const luaL_Reg functions[] = {
      {"encode", json_encode},
      {"decode", json_decode},
      {"array", json_mark_array},
      {"object", json_mark_object},
  };
  luaL_newmetatable(vm, json_holder_name);
  lua_pushcfunction(vm, json_collect);
  lua_setfield(vm, -2, "__gc");
  lua_newtable(vm);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    lua_pushcfunction(vm, functions[i].func);
    lua_setfield(vm, -2, functions[i].name);
  }
  lua_pushlightuserdata(vm, NULL);
  lua_setfield(vm, -2, "null");
  return 1;
}

/// Pushes an empty holder.
static struct json_holder *json_hold(lua_State *vm)
{
  struct json_holder *holder = lua_newuserdata(vm, sizeof *holder);
  *holder = (struct json_holder){.root = NULL};
  luaL_getmetatable(vm, json_holder_name);
  lua_setmetatable(vm, -2);
  return holder;
}

static void json_release(struct json_holder *holder)
{
  json_decref(holder->root);
  free(holder->text);
  *holder = (struct json_holder){.root = NULL};
}

/// Calls `run` with the one argument at index 1 and the holder at index 2; empties the holder, whatever comes of it.
/// Errors get the place that they would have without this call in between.
static int json_run_held(lua_State *vm, lua_CFunction run, struct json_holder *holder)
{
  lua_pushcfunction(vm, run);
  lua_pushvalue(vm, 1);
  lua_pushvalue(vm, 2);
  int status = lua_pcall(vm, 2, 1, 0);
  json_release(holder);
  if (status == 0) {
    return 1;
  }
  if (status != LUA_ERRMEM && lua_type(vm, -1) == LUA_TSTRING) {
    luaL_where(vm, 1);
    lua_insert(vm, -2);
    lua_concat(vm, 2);
  }
  return lua_error(vm);
}

static int json_collect(lua_State *vm)
{
  json_release(luaL_checkudata(vm, 1, json_holder_name));
  return 0;
}

/// array(table): a metatable with `is_array`.
static int json_mark_array(lua_State *vm)
{
  luaL_checktype(vm, 1, LUA_TTABLE);
  lua_settop(vm, 1);
  lua_createtable(vm, 0, 1);
  lua_pushboolean(vm, true);
  lua_setfield(vm, -2, "is_array");
  lua_setmetatable(vm, 1);
  return 1;
}

/// object(table, keys): a metatable with `keys`.
static int json_mark_object(lua_State *vm)
{
  luaL_checktype(vm, 1, LUA_TTABLE);
  lua_settop(vm, 2);
  lua_createtable(vm, 0, 1);
  lua_insert(vm, 2);
  if (lua_isnil(vm, 3)) {
    lua_pop(vm, 1);
    lua_newtable(vm);
  }
  lua_setfield(vm, 2, "keys");
  lua_setmetatable(vm, 1);
  return 1;
}

// ---- encoding ----

static int json_encode(lua_State *vm)
{
  luaL_checkany(vm, 1);
  int indent = (int)luaL_optinteger(vm, 2, 0);
  luaL_argcheck(vm, indent >= 0 && indent <= JSON_INDENT_MAX, 2, "out of range");
  lua_settop(vm, 1);
  struct json_holder *holder = json_hold(vm);
  holder->indent = indent;
  return json_run_held(vm, json_encode_held, holder);
}

static int json_encode_held(lua_State *vm)
{
  struct json_holder *holder = lua_touserdata(vm, 2);
  holder->root = json_of(vm, 1, 0);
  if (json_is_array(holder->root) || json_is_object(holder->root)) {
    json_fill(vm, 1, holder->root, 0);
  }
  size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(JSON_DIGITS);
  holder->text =
      json_dumps(holder->root, flags | (holder->indent > 0 ? (size_t)JSON_INDENT(holder->indent) : JSON_COMPACT));
  if (holder->text == NULL) {
    return luaL_error(vm, "not enough memory");
  }
  lua_pushstring(vm, holder->text);
  return 1;
}

/// A value; NULL, which raises, when JSON has none for it.
static json_t *json_number_of(lua_State *vm, int index)
{
  double number = lua_tonumber(vm, index);
  if (number == floor(number) && fabs(number) < 9.2e18) {
    return json_integer((json_int_t)number);
  }
  return json_real(number);
}

/// An integer of 64 bits; NULL, which raises, when it is none that JSON may have.
static json_t *json_int64_of(lua_State *vm, int index)
{
  int64_t value = 0;
  return lua_value_get_int64(vm, index, &value) ? json_integer(value) : NULL;
}

/// Whether the table at `index` (absolute) is a list.
static bool json_is_list(lua_State *vm, int index)
{
  if (lua_getmetatable(vm, index)) {
    lua_pushliteral(vm, "is_array");
    lua_rawget(vm, -2);
    bool is_array = lua_toboolean(vm, -1);
    lua_pop(vm, 1);
    lua_pushliteral(vm, "keys");
    lua_rawget(vm, -2);
    bool is_object = lua_istable(vm, -1);
    lua_pop(vm, 2);
    if (is_array || is_object) {
      return is_array;
    }
  }
  lua_rawgeti(vm, index, 1);
  bool has_first = !lua_isnil(vm, -1);
  lua_pop(vm, 1);
  return has_first;
}

/// The value at `index` (absolute) as JSON, tables empty: the caller keeps the result safe, then calls json_fill().
/// Raises for what JSON has not.
static json_t *json_of(lua_State *vm, int index, int depth)
{
  json_t *value = NULL;
  size_t size = 0;
  const char *text = NULL;
  int type = lua_type(vm, index);
  switch (type) {
    case LUA_TNIL:
      return json_null();
    case LUA_TBOOLEAN:
      return json_boolean(lua_toboolean(vm, index));
    case LUA_TNUMBER:
      value = json_number_of(vm, index);
      break;
    case LUA_TSTRING:
      text = lua_tolstring(vm, index, &size);
      value = json_stringn(text, size);
      break;
    case LUA_TLIGHTUSERDATA:
      value = lua_touserdata(vm, index) == NULL ? json_null() : NULL;
      break;
    case LUA_VALUE_CDATA:
      value = json_int64_of(vm, index);
      break;
    case LUA_TTABLE:
      if (depth >= JSON_DEPTH_MAX) {
        luaL_error(vm, "JSON: tables are nested too deep, or in a circle");
      }
      value = json_is_list(vm, index) ? json_array() : json_object();
      break;
    default:
      break;
  }
  if (value == NULL) {
    luaL_error(vm, "JSON has no such %s", type == LUA_VALUE_CDATA ? "number" : lua_typename(vm, type));
  }
  return value;
}

/// Puts the value on top of the stack, which is popped, into a list (`key` is NULL) or an object.
static void json_put(lua_State *vm, json_t *into, const char *key, int depth)
{
  int index = lua_gettop(vm);
  json_t *value = json_of(vm, index, depth + 1);
  int result = key == NULL ? json_array_append_new(into, value) : json_object_set_new(into, key, value);
  if (result < 0) {
    luaL_error(vm, "JSON: a key is not UTF-8");
  }
  if (lua_istable(vm, index)) {
    json_fill(vm, index, value, depth + 1);
  }
  lua_pop(vm, 1);
}

/// Pushes the table of an object's keys in their order: those of the mark, then the others sorted.
static void json_push_keys(lua_State *vm, int index)
{
  int count = 0;
  lua_newtable(vm);
  int keys = lua_gettop(vm);
  lua_newtable(vm);
  int seen = lua_gettop(vm);
  if (lua_getmetatable(vm, index)) {
    lua_pushliteral(vm, "keys");
    lua_rawget(vm, -2);
    for (int i = 1; lua_istable(vm, -1); i++) {
      lua_rawgeti(vm, -1, i);
      if (lua_type(vm, -1) != LUA_TSTRING) {
        break;
      }
      lua_pushvalue(vm, -1);
      lua_pushboolean(vm, true);
      lua_rawset(vm, seen);
      lua_rawseti(vm, keys, ++count);
    }
    lua_settop(vm, seen);
  }
  int first = count;
  lua_newtable(vm);
  int rest = lua_gettop(vm);
  lua_pushnil(vm);
  while (lua_next(vm, index) != 0) {
    lua_pop(vm, 1);
    if (lua_type(vm, -1) != LUA_TSTRING) {
      luaL_error(vm, "JSON: a key is a %s", lua_typename(vm, lua_type(vm, -1)));
    }
    lua_pushvalue(vm, -1);
    lua_rawget(vm, seen);
    bool is_seen = lua_toboolean(vm, -1);
    lua_pop(vm, 1);
    if (!is_seen) {
      lua_pushvalue(vm, -1);
      lua_rawseti(vm, rest, ++count - first);
    }
  }
  lua_getglobal(vm, "table");
  lua_getfield(vm, -1, "sort");
  lua_pushvalue(vm, rest);
  lua_call(vm, 1, 0);
  for (int i = first; i < count; i++) {
    lua_rawgeti(vm, rest, i - first + 1);
    lua_rawseti(vm, keys, i + 1);
  }
  lua_settop(vm, keys);
}

/// Fills a list or an object with what the table at `index` (absolute) has.
static void json_fill(lua_State *vm, int index, json_t *into, int depth)
{
  luaL_checkstack(vm, 16, "JSON: tables are nested too deep");
  if (json_is_array(into)) {
    int count = (int)lua_objlen(vm, index);
    for (int i = 1; i <= count; i++) {
      lua_rawgeti(vm, index, i);
      json_put(vm, into, NULL, depth);
    }
    return;
  }
  json_push_keys(vm, index);
  int keys = lua_gettop(vm);
  int count = (int)lua_objlen(vm, keys);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(vm, keys, i);
    size_t length = 0;
    const char *key = lua_tolstring(vm, -1, &length);
    if (strlen(key) != length) {
      luaL_error(vm, "JSON: a key contains a zero byte");
    }
    lua_pushvalue(vm, -1);
    lua_rawget(vm, index);
    if (lua_isnil(vm, -1)) {
      lua_pop(vm, 2);
      continue;
    }
    json_put(vm, into, key, depth);
    lua_pop(vm, 1);
  }
  lua_settop(vm, keys - 1);
}

// ---- decoding ----

/// Whether a value has more levels than `levels`.
static bool json_is_deeper(const json_t *value, int levels)
{
  size_t count = json_is_array(value) ? json_array_size(value) : 0;
  for (size_t i = 0; i < count; i++) {
    if (levels == 0 || json_is_deeper(json_array_get(value, i), levels - 1)) {
      return true;
    }
  }
  const char *key = NULL;
  json_t *member = NULL;
  json_object_foreach((json_t *)value, key, member)
  {
    if (levels == 0 || json_is_deeper(member, levels - 1)) {
      return true;
    }
  }
  return false;
}

static int json_decode(lua_State *vm)
{
  size_t size = 0;
  const char *text = luaL_checklstring(vm, 1, &size);
  lua_settop(vm, 1);
  struct json_holder *holder = json_hold(vm);
  json_error_t error;
  holder->root = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
  if (holder->root == NULL) {
    lua_pushnil(vm);
    lua_pushfstring(vm, "byte %d: %s", error.position, error.text);
    return 2;
  }
  if (json_is_deeper(holder->root, JSON_DEPTH_MAX)) {
    json_release(holder);
    lua_pushnil(vm);
    lua_pushliteral(vm, "nested too deep");
    return 2;
  }
  return json_run_held(vm, json_decode_held, holder);
}

static int json_decode_held(lua_State *vm)
{
  const struct json_holder *holder = lua_touserdata(vm, 2);
  json_push(vm, holder->root);
  return 1;
}

/// Pushes a value.
static void json_push(lua_State *vm, const json_t *value)
{
  luaL_checkstack(vm, 8, "JSON is nested too deep");
  switch (json_typeof(value)) {
    case JSON_OBJECT: {
      lua_createtable(vm, 0, (int)json_object_size(value));
      const char *key = NULL;
      json_t *member = NULL;
      json_object_foreach((json_t *)value, key, member)
      {
        if (!json_is_null(member)) {
          lua_pushstring(vm, key);
          json_push(vm, member);
          lua_rawset(vm, -3);
        }
      }
      return;
    }
    case JSON_ARRAY:
      lua_createtable(vm, (int)json_array_size(value), 0);
      for (size_t i = 0; i < json_array_size(value); i++) {
        json_push(vm, json_array_get(value, i));
        lua_rawseti(vm, -2, (int)i + 1);
      }
      return;
    case JSON_STRING:
      lua_pushlstring(vm, json_string_value(value), json_string_length(value));
      return;
    case JSON_INTEGER:
      lua_value_push_int64(vm, json_integer_value(value));
      return;
    case JSON_REAL:
      lua_pushnumber(vm, json_real_value(value));
      return;
    case JSON_TRUE:
    case JSON_FALSE:
      lua_pushboolean(vm, json_is_true(value));
      return;
    default:
      lua_pushlightuserdata(vm, NULL);
      return;
  }
}
