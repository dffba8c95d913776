// SPDX-License-Identifier: Apache-2.0
#include "lua/native_shared.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "policy/shared.h"

enum { SHARED_KEYS_DEFAULT = 1000, SHARED_KEYS_MAX = 100000 };

static const char shared_dict_name[] = "luka.shared";

/// Registry key of whether dictionaries may be used; its address counts.
static const char shared_ready_key;

/// What user code has of one.
struct shared_dict_ref {
  uint32_t dict; ///< its number
};

static int shared_of_name(lua_State *vm);
static int shared_make_ready(lua_State *vm);
static int shared_do_get(lua_State *vm);
static int shared_do_set(lua_State *vm);
static int shared_do_add(lua_State *vm);
static int shared_do_incr(lua_State *vm);
static int shared_do_delete(lua_State *vm);
static int shared_do_keys(lua_State *vm);

int native_shared_open(struct lua_State *vm)
{
  static const luaL_Reg methods[] = {
      {"get", shared_do_get},       {"set", shared_do_set},   {"add", shared_do_add}, {"incr", shared_do_incr},
      {"delete", shared_do_delete}, {"keys", shared_do_keys}, {NULL, NULL},
  };
  luaL_newmetatable(vm, shared_dict_name);
  lua_newtable(vm);
  luaL_setfuncs(vm, methods, 0);
  lua_setfield(vm, -2, "__index");
  lua_pushboolean(vm, false);
  lua_setfield(vm, -2, "__metatable");
  lua_newtable(vm);
  lua_pushcfunction(vm, shared_of_name);
  lua_setfield(vm, -2, "open");
  lua_pushcfunction(vm, shared_make_ready);
  lua_setfield(vm, -2, "ready");
  return 1;
}

/// open(name)
static int shared_of_name(lua_State *vm)
{
  size_t length = 0;
  const char *name = lua_type(vm, 1) == LUA_TSTRING ? lua_tolstring(vm, 1, &length) : NULL;
  if (name == NULL) {
    bool is_none = lua_isnone(vm, 1);
    return luaL_error(vm, "shared: got %s%s, expected a name: shared \"counters\"", is_none ? "" : "a ",
                      is_none ? "nothing" : luaL_typename(vm, 1));
  }
  uint32_t dict = 0;
  int result = shared_open(name, length, &dict);
  if (result == ERR_LIMIT) {
    return luaL_error(vm, "shared: there are %d dictionaries already, which is the most there can be",
                      SHARED_DICTS_MAX);
  }
  if (result < 0) {
    return luaL_error(vm, "shared: a name has 1 to %d bytes", SHARED_NAME_MAX);
  }
  struct shared_dict_ref *ref = lua_newuserdata(vm, sizeof *ref);
  ref->dict = dict;
  luaL_getmetatable(vm, shared_dict_name);
  lua_setmetatable(vm, -2);
  return 1;
}

/// ready(): what user code does from now on is no evaluation.
static int shared_make_ready(lua_State *vm)
{
  lua_pushlightuserdata(vm, (void *)&shared_ready_key);
  lua_pushboolean(vm, true);
  lua_rawset(vm, LUA_REGISTRYINDEX);
  return 0;
}

/// The dictionary that a method is of.
static uint32_t shared_self(lua_State *vm, const char *method)
{
  const struct shared_dict_ref *ref = lua_touserdata(vm, 1);
  int is_one = 0;
  if (lua_type(vm, 1) == LUA_TUSERDATA && lua_getmetatable(vm, 1)) {
    luaL_getmetatable(vm, shared_dict_name);
    is_one = lua_rawequal(vm, -1, -2);
    lua_pop(vm, 2);
  }
  if (!is_one) {
    luaL_error(vm, "%s of a shared dictionary is called with a colon: dictionary:%s(...)", method, method);
  }
  lua_pushlightuserdata(vm, (void *)&shared_ready_key);
  lua_rawget(vm, LUA_REGISTRYINDEX);
  if (!lua_toboolean(vm, -1)) {
    luaL_error(vm, "%s: shared dictionaries are for functions, not for the time when the configuration is evaluated",
               method);
  }
  lua_pop(vm, 1);
  return ref->dict;
}

/// The key in argument 2.
static struct shared_key shared_key_of(lua_State *vm, const char *method)
{
  struct shared_key key = {.dict = shared_self(vm, method)};
  int type = lua_type(vm, 2);
  if (type == LUA_TSTRING || type == LUA_TNUMBER) {
    key.text = lua_tolstring(vm, 2, &key.size);
  }
  if (key.text == NULL) {
    luaL_error(vm, "%s: the key is a %s, expected a string or a number", method, luaL_typename(vm, 2));
  }
  if (key.size == 0 || key.size > SHARED_KEY_MAX) {
    luaL_error(vm, "%s: the key has %d bytes, expected 1 to %d", method, (int)key.size, SHARED_KEY_MAX);
  }
  return key;
}

/// The value in argument 3.
static struct shared_value shared_value_of(lua_State *vm, const char *method)
{
  struct shared_value value = {.type = SHARED_NUMBER};
  switch (lua_type(vm, 3)) {
    case LUA_TNUMBER:
      value.number = lua_tonumber(vm, 3);
      break;
    case LUA_TBOOLEAN:
      value.type = SHARED_BOOLEAN;
      value.boolean = lua_toboolean(vm, 3);
      break;
    case LUA_TSTRING:
      value.type = SHARED_TEXT;
      value.text = lua_tolstring(vm, 3, &value.size);
      if (value.size > SHARED_TEXT_MAX) {
        luaL_error(vm, "%s: the value has %d bytes, expected at most %d", method, (int)value.size, SHARED_TEXT_MAX);
      }
      break;
    default:
      luaL_error(vm, "%s: the value is a %s, expected a string, a number or a boolean", method, luaL_typename(vm, 3));
  }
  return value;
}

/// A time to live in an argument; -1: none.
static int64_t shared_ttl_of(lua_State *vm, int index, const char *method)
{
  if (lua_isnoneornil(vm, index)) {
    return -1;
  }
  double ttl = lua_type(vm, index) == LUA_TNUMBER ? lua_tonumber(vm, index) : 0;
  if (!(ttl >= 1 && ttl <= (double)INT64_MAX / 1e6)) {
    luaL_error(vm, "%s: the time to live is not right, expected a number of ms, at least 1: hours(1)", method);
  }
  return (int64_t)ttl;
}

static int shared_do_get(lua_State *vm)
{
  char room[SHARED_TEXT_MAX];
  struct shared_key key = shared_key_of(vm, "get");
  struct shared_value value;
  if (shared_get(&key, room, &value) < 0) {
    lua_pushnil(vm);
  } else if (value.type == SHARED_TEXT) {
    lua_pushlstring(vm, value.text, value.size);
  } else if (value.type == SHARED_BOOLEAN) {
    lua_pushboolean(vm, value.boolean);
  } else {
    lua_pushnumber(vm, value.number);
  }
  return 1;
}

static int shared_do_set(lua_State *vm)
{
  struct shared_key key = shared_key_of(vm, "set");
  if (lua_isnil(vm, 3)) {
    shared_delete(&key);
    return 0;
  }
  struct shared_value value = shared_value_of(vm, "set");
  shared_set(&key, &value, shared_ttl_of(vm, 4, "set"));
  return 0;
}

static int shared_do_add(lua_State *vm)
{
  struct shared_key key = shared_key_of(vm, "add");
  struct shared_value value = shared_value_of(vm, "add");
  lua_pushboolean(vm, shared_add(&key, &value, shared_ttl_of(vm, 4, "add")) == 0);
  return 1;
}

/// A number in an argument.
static double shared_number_of(lua_State *vm, int index)
{
  if (lua_type(vm, index) != LUA_TNUMBER) {
    luaL_error(vm, "incr: got %s%s, expected a number: counters:incr(key, 1, 0)",
               lua_isnoneornil(vm, index) ? "" : "a ", luaL_typename(vm, index));
  }
  return lua_tonumber(vm, index);
}

static int shared_do_incr(lua_State *vm)
{
  struct shared_key key = shared_key_of(vm, "incr");
  double by = shared_number_of(vm, 3);
  bool has_initial = !lua_isnoneornil(vm, 4);
  double initial = has_initial ? shared_number_of(vm, 4) : 0;
  double sum = 0;
  int result = shared_increment(&key, by, has_initial ? &initial : NULL, shared_ttl_of(vm, 5, "incr"), &sum);
  if (result < 0) {
    lua_pushnil(vm);
    lua_pushstring(vm, result == ERR_NOT_FOUND ? "there is nothing under this key" : "it is no number");
    return 2;
  }
  lua_pushnumber(vm, sum);
  return 1;
}

static int shared_do_delete(lua_State *vm)
{
  struct shared_key key = shared_key_of(vm, "delete");
  lua_pushboolean(vm, shared_delete(&key) == 0);
  return 1;
}

static int shared_do_keys(lua_State *vm)
{
  uint32_t dict = shared_self(vm, "keys");
  double max = luaL_optnumber(vm, 2, SHARED_KEYS_DEFAULT);
  if (!(max >= 1 && max <= SHARED_KEYS_MAX)) {
    return luaL_error(vm, "keys: expected a number from 1 to %d", SHARED_KEYS_MAX);
  }
  lua_settop(vm, 1);
  lua_newtable(vm); // the list
  lua_newtable(vm); // what is in it
  char keys[SHARED_TEXT_MAX];
  struct shared_cursor cursor = {.shard = 0};
  int count = 0;
  for (size_t used = 1; used > 0 && count < (int)max;) {
    used = shared_keys(dict, &cursor, keys, sizeof keys);
    for (size_t at = 0; at < used && count < (int)max;) {
      uint16_t size = 0;
      memcpy(&size, keys + at, sizeof size);
      lua_pushlstring(vm, keys + at + sizeof size, size);
      at += sizeof size + size;
      lua_pushvalue(vm, -1);
      lua_rawget(vm, 3);
      bool is_seen = lua_toboolean(vm, -1);
      lua_pop(vm, 1);
      if (is_seen) {
        lua_pop(vm, 1);
        continue;
      }
      lua_pushvalue(vm, -1);
      lua_pushboolean(vm, true);
      lua_rawset(vm, 3);
      lua_rawseti(vm, 2, ++count);
    }
  }
  lua_settop(vm, 2);
  return 1;
}
