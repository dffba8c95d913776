// SPDX-License-Identifier: Apache-2.0
#include "lua/walk.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <string.h>

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

static int walk_pairs(lua_State *vm)
{
  luaL_checktype(vm, 1, LUA_TTABLE);
  lua_pushvalue(vm, lua_upvalueindex(1));
  lua_pushvalue(vm, 1);
  lua_pushnil(vm);
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
  lua_pushvalue(vm, -1);
  lua_setglobal(vm, "next");
  lua_pushcclosure(vm, walk_pairs, 1);
  lua_setglobal(vm, "pairs");
}
