// SPDX-License-Identifier: Apache-2.0
#include "lua/walk.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <string.h>

enum { WALK_CDATA = 10 }; // lua_type() of what the FFI makes

static int walk_next(lua_State *vm)
{
  luaL_checktype(vm, 1, LUA_TTABLE);
  lua_settop(vm, 2);
  if (lua_next(vm, 1)) {
    return 2;
  }
  lua_pushnil(vm);
  return 1;
}

/// Upvalues: the next() above, LuaJIT's own pairs() and next(). What has a metamethod of its own for this has it still,
/// as FFI types do, and tables where LuaJIT was built so.
static int walk_pairs(lua_State *vm)
{
  bool is_plain = lua_istable(vm, 1) && !luaL_getmetafield(vm, 1, "__pairs");
  if (!is_plain && !lua_istable(vm, 1) && lua_type(vm, 1) != WALK_CDATA) {
    luaL_checktype(vm, 1, LUA_TTABLE);
  }
  if (is_plain) {
    lua_pushvalue(vm, lua_upvalueindex(1));
    lua_pushvalue(vm, 1);
    lua_pushnil(vm);
    return 3;
  }
  lua_settop(vm, 1);
  lua_pushvalue(vm, lua_upvalueindex(2));
  lua_insert(vm, 1);
  lua_call(vm, 1, 3);
  if (lua_rawequal(vm, 1, lua_upvalueindex(3))) {
    lua_pushvalue(vm, lua_upvalueindex(1));
    lua_replace(vm, 1);
  }
  return 3;
}

/// Whether this LuaJIT may have the fault. All versions from 2017 to August 2023 are called 2.1.0-beta3; those since
/// then have a date in place of that.
static bool walk_is_needed(lua_State *vm)
{
  lua_getglobal(vm, LUA_JITLIBNAME);
  lua_getfield(vm, -1, "version");
  lua_getfield(vm, -2, "arch");
  bool is_needed = strstr(luaL_checkstring(vm, -2), "beta") != NULL && strcmp(luaL_checkstring(vm, -1), "x64") == 0;
  lua_pop(vm, 3);
  return is_needed;
}

void lua_walk_open(struct lua_State *vm)
{
  if (!walk_is_needed(vm)) {
    return;
  }
  lua_pushcfunction(vm, walk_next);
  lua_getglobal(vm, "pairs");
  lua_getglobal(vm, "next");
  lua_pushvalue(vm, -3);
  lua_setglobal(vm, "next");
  lua_pushcclosure(vm, walk_pairs, 3);
  lua_setglobal(vm, "pairs");
}
