// SPDX-License-Identifier: Apache-2.0
//
// Runs one spec file: a LuaJIT with the whole of libluka linked in, so that FFI reaches every function of the core and
// the sanitizers see both. Each spec file gets a process of its own, so a crash fails one file. usage: luka-spec FILE
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

#include "lua/native_json.h"

/// Memory from malloc, so that the leak checker follows pointers held by Lua.
static void *runner_alloc(void *arg, void *block, size_t old_size, size_t new_size)
{
  (void)arg;
  (void)old_size;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

int main(int argc, char **argv)
{
  if (argc < 2) {
    fprintf(stderr, "usage: luka-spec FILE [ARG...]\n");
    return 2;
  }
  lua_State *lua = lua_newstate(runner_alloc, NULL);
  if (lua == NULL) {
    fprintf(stderr, "luka-spec: cannot create a Lua state\n");
    return 1;
  }
  luaL_openlibs(lua);
  // For specs of Lua modules that need it.
  lua_getglobal(lua, "package");
  lua_getfield(lua, -1, "preload");
  lua_pushcfunction(lua, native_json_open);
  lua_setfield(lua, -2, "luka.native.json");
  lua_pop(lua, 2);
  lua_newtable(lua);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(lua, argv[i]);
    lua_rawseti(lua, -2, i);
  }
  lua_setglobal(lua, "arg");
  if (luaL_dofile(lua, "spec/support/run.lua") != 0) {
    fprintf(stderr, "luka-spec: %s\n", lua_tostring(lua, -1));
    return 1;
  }
  int failed = (int)lua_tointeger(lua, -1);
  lua_close(lua);
  return failed == 0 ? 0 : 1;
}
