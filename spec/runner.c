// SPDX-License-Identifier: Apache-2.0
//
// Runs one spec file: a LuaJIT with the whole of libluka linked in, so that FFI reaches every function of the core and
// the sanitizers see both. Each spec file gets a process of its own, so a crash fails one file. usage: luka-spec FILE
//
// With --lua it runs another Lua file instead, in a state like that of the command line, which has all modules of
// lua/luka/ and those made in C: scripts/docs.lua. With --run it runs one in the state of a spec:
// scripts/bench/run.lua.
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/cli.h"
#include "lua/native_json.h"
#include "lua/walk.h"

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

/// Opens the libraries, and for another file than a spec our modules as well.
static int runner_open(lua_State *lua)
{
  if (!lua_toboolean(lua, 1)) {
    luaL_openlibs(lua);
    lua_walk_open(lua);
    // For specs of Lua modules that need it.
    lua_getglobal(lua, "package");
    lua_getfield(lua, -1, "preload");
    lua_pushcfunction(lua, native_json_open);
    lua_setfield(lua, -2, "luka.native.json");
    return 0;
  }
  lua_cli_open(lua);
  lua_getglobal(lua, "package");
  lua_pushliteral(lua, "./?.lua");
  lua_setfield(lua, -2, "path");
  return 0;
}

int main(int argc, char **argv)
{
  bool is_script = argc > 2 && strcmp(argv[1], "--lua") == 0;
  bool is_run = argc > 2 && strcmp(argv[1], "--run") == 0;
  if (argc < 2) {
    fprintf(stderr, "usage: luka-spec FILE [ARG...]\n       luka-spec --lua|--run FILE [ARG...]\n");
    return 2;
  }
  lua_State *lua = lua_newstate(runner_alloc, NULL);
  if (lua == NULL) {
    fprintf(stderr, "luka-spec: cannot create a Lua state\n");
    return 1;
  }
  lua_pushcfunction(lua, runner_open);
  lua_pushboolean(lua, is_script);
  if (lua_pcall(lua, 1, 0, 0) != 0) {
    fprintf(stderr, "luka-spec: %s\n", lua_tostring(lua, -1));
    return 1;
  }
  // arg[0] is the program for a spec, and the script for a script.
  int first = is_script || is_run ? 2 : 0;
  lua_newtable(lua);
  for (int i = first; i < argc; i++) {
    lua_pushstring(lua, argv[i]);
    lua_rawseti(lua, -2, i - first);
  }
  lua_setglobal(lua, "arg");
  if (luaL_dofile(lua, first > 0 ? argv[2] : "spec/support/run.lua") != 0) {
    fprintf(stderr, "luka-spec: %s\n", lua_tostring(lua, -1));
    return 1;
  }
  int failed = (int)lua_tointeger(lua, -1);
  lua_close(lua);
  return failed == 0 ? 0 : 1;
}
