// SPDX-License-Identifier: Apache-2.0
#include "lua/value.h"

#include <ctype.h>
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "base/error.h"
#include "base/slog.h"

enum { VALUE_CODE_SIZE = 64 }; ///< longest name of an error code with its NUL

/// Largest integer that a Lua number holds exactly, as are all below it.
static const int64_t value_exact_max = INT64_C(1) << 53;

/// Registry keys; their addresses count.
static const char value_join_key;
static const char value_split_key;
static const char value_error_key;

/// LuaJIT's C API cannot make or read int64 cdata, but its language can.
static const char value_join_source[] = "local high, low = ... return high * 0x100000000LL + low";

/// Raises for cdata that is no integer.
static const char value_split_source[] =
    "local value = ... local low = value % 0x100000000LL\n"
    "return tonumber((value - low) / 0x100000000LL), tonumber(low)";

/// Pushes the function of a source, which is compiled once for each state.
static void value_push_function(lua_State *vm, const char *key, const char *source)
{
  lua_pushlightuserdata(vm, (void *)key);
  lua_rawget(vm, LUA_REGISTRYINDEX);
  if (!lua_isnil(vm, -1)) {
    return;
  }
  lua_pop(vm, 1);
  if (luaL_loadbufferx(vm, source, strlen(source), "=value.c", "t") != 0) {
    lua_error(vm);
  }
  lua_pushlightuserdata(vm, (void *)key);
  lua_pushvalue(vm, -2);
  lua_rawset(vm, LUA_REGISTRYINDEX);
}

void lua_value_push_int64(lua_State *vm, int64_t value)
{
  if (value >= -value_exact_max && value <= value_exact_max) {
    lua_pushnumber(vm, (lua_Number)value);
    return;
  }
  luaL_checkstack(vm, 4, NULL);
  value_push_function(vm, &value_join_key, value_join_source);
  uint32_t low = (uint32_t)(uint64_t)value;
  int64_t high = (value - (int64_t)low) / (INT64_C(1) << 32);
  lua_pushnumber(vm, (lua_Number)high);
  lua_pushnumber(vm, (lua_Number)low);
  lua_call(vm, 2, 1);
}

void lua_value_set_int64(lua_State *vm, const char *name, int64_t value)
{
  lua_value_push_int64(vm, value);
  lua_setfield(vm, -2, name);
}

bool lua_value_get_int64(lua_State *vm, int index, int64_t *value)
{
  int type = lua_type(vm, index);
  if (type == LUA_TNUMBER) {
    lua_Number number = lua_tonumber(vm, index);
    if (!(number >= -0x1p63 && number < 0x1p63) || number != (lua_Number)(int64_t)number) {
      return false;
    }
    *value = (int64_t)number;
    return true;
  }
  if (type != LUA_VALUE_CDATA) {
    return false;
  }
  luaL_checkstack(vm, 4, NULL);
  lua_pushvalue(vm, index);
  value_push_function(vm, &value_split_key, value_split_source);
  lua_insert(vm, -2);
  if (lua_pcall(vm, 1, 2, 0) != 0) {
    lua_pop(vm, 1);
    return false;
  }
  lua_Number high = lua_tonumber(vm, -2);
  lua_Number low = lua_tonumber(vm, -1);
  lua_pop(vm, 2);
  if (!(high >= -0x1p31 - 1 && high < 0x1p31)) {
    return false;
  }
  // Division of negative numbers rounds towards zero, so that `low` may be negative: the sum is right all the same.
  *value = (int64_t)((uint64_t)(int64_t)high * (UINT64_C(1) << 32) + (uint64_t)(int64_t)low);
  return true;
}

static int value_error_text(lua_State *vm)
{
  luaL_checktype(vm, 1, LUA_TTABLE);
  lua_pushliteral(vm, "message");
  lua_rawget(vm, 1);
  return 1;
}

/// Pushes the metatable of errors.
static void value_push_error_meta(lua_State *vm)
{
  lua_pushlightuserdata(vm, (void *)&value_error_key);
  lua_rawget(vm, LUA_REGISTRYINDEX);
  if (!lua_isnil(vm, -1)) {
    return;
  }
  lua_pop(vm, 1);
  lua_newtable(vm);
  lua_pushcfunction(vm, value_error_text);
  lua_setfield(vm, -2, "__tostring");
  lua_pushboolean(vm, 0);
  lua_setfield(vm, -2, "__metatable");
  lua_pushlightuserdata(vm, (void *)&value_error_key);
  lua_pushvalue(vm, -2);
  lua_rawset(vm, LUA_REGISTRYINDEX);
}

void lua_value_push_error(lua_State *vm, int code, const char *message)
{
  char name[VALUE_CODE_SIZE] = "";
  const char *full = error_name(code);
  full = strncmp(full, "ERR_", 4) == 0 ? full + 4 : full;
  for (size_t i = 0; i + 1 < sizeof name && full[i] != '\0'; i++) {
    name[i] = (char)tolower((unsigned char)full[i]);
    name[i + 1] = '\0';
  }
  luaL_checkstack(vm, 5, NULL);
  lua_createtable(vm, 0, 2);
  lua_pushstring(vm, name);
  lua_setfield(vm, -2, "code");
  lua_pushstring(vm, message);
  lua_setfield(vm, -2, "message");
  value_push_error_meta(vm);
  lua_setmetatable(vm, -2);
}

int lua_value_fail(lua_State *vm, int code)
{
  const struct error_detail *last = error_last();
  lua_pushnil(vm);
  lua_value_push_error(vm, code, last->code == code ? last->message : error_text(code));
  return 2;
}

int lua_value_log(lua_State *vm)
{
  static const char *const levels[] = {"error", "warn", "info", "debug", NULL};
  enum slog_level level = (enum slog_level)luaL_checkoption(vm, 1, "info", levels);
  const char *text = luaL_checkstring(vm, 2);
  if (slog_is_on(level)) {
    slog_write(level, "%s", text);
  }
  return 0;
}

/// __index and __newindex of restricted tables: called for names that are not there.
static int value_find_optional(lua_State *vm)
{
  lua_pushvalue(vm, 2);
  lua_rawget(vm, lua_upvalueindex(1));
  if (lua_isnil(vm, -1)) {
    return luaL_error(vm, "there is no %s: %s",
                      lua_type(vm, 2) == LUA_TSTRING ? lua_tostring(vm, 2) : "field without a name",
                      lua_tostring(vm, lua_upvalueindex(2)));
  }
  lua_settop(vm, 3);
  if (lua_isnil(vm, 3)) {
    return 0;
  }
  lua_rawset(vm, 1);
  return 0;
}

void lua_value_restrict(lua_State *vm, const char *const *optional)
{
  luaL_checkstack(vm, 6, "too deep");
  int text = lua_gettop(vm);
  lua_newtable(vm);
  for (; *optional != NULL; optional++) {
    lua_pushboolean(vm, true);
    lua_setfield(vm, -2, *optional);
  }
  lua_createtable(vm, 0, 3);
  lua_pushvalue(vm, text + 1);
  lua_pushvalue(vm, text);
  lua_pushcclosure(vm, value_find_optional, 2);
  lua_pushvalue(vm, -1);
  lua_setfield(vm, -3, "__index");
  lua_setfield(vm, -2, "__newindex");
  lua_pushboolean(vm, false);
  lua_setfield(vm, -2, "__metatable");
  lua_setmetatable(vm, text - 1);
  lua_settop(vm, text - 1);
}
