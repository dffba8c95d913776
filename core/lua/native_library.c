// SPDX-License-Identifier: Apache-2.0
#include "lua/native_library.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lua/state.h"

enum {
  LIBRARY_PATH_SIZE = 256,
  LIBRARY_STACK_SLOTS = 4,
  LIBRARY_DECODED_BYTES = 64 * 1024, ///< memory that a decoded text takes beside what its bytes take
  LIBRARY_DECODED_TIMES = 40,        ///< bytes of memory for a byte of text: "[[],[],[" has a table for three
};

/// A module for Lua written in C by others.
struct library {
  const char *name;    ///< as require names it
  const char *object;  ///< name of the shared object that the system's loader finds: what Debian installs
  const char *file;    ///< the same in a folder of modules for Lua
  const char *symbol;  ///< what opens it
  const char *package; ///< of Debian
};

static const struct library libraries[] = {
    {"cjson", "liblua5.1-cjson.so.0", "cjson.so", "luaopen_cjson", "lua-cjson"},
    {"cjson.safe", "liblua5.1-cjson.so.0", "cjson.so", "luaopen_cjson_safe", "lua-cjson"},
    {"lpeg", "liblua5.1-lpeg.so.2", "lpeg.so", "luaopen_lpeg", "lua-lpeg"},
};

/// Where modules for Lua 5.1 are, if the system's loader does not find them.
static const char *const library_folders[] = {"/usr/local/lib/lua/5.1", "/usr/lib/lua/5.1", "/usr/lib64/lua/5.1"};

/// The size of a value that is left until it is too large.
struct measure {
  int64_t nodes; ///< values
  int64_t bytes; ///< of texts
  int depth;     ///< tables in tables
};

static int library_open(lua_State *vm);
static int library_standard(lua_State *vm);
static int library_measure(lua_State *vm);
static int library_decode(lua_State *vm);

int native_library_open(struct lua_State *vm)
{
  static const luaL_Reg functions[] = {
      {"open", library_open}, {"standard", library_standard}, {"measure", library_measure}, {"decode", library_decode},
      {NULL, NULL},
  };
  lua_newtable(vm);
  luaL_setfuncs(vm, functions, 0);
  return 1;
}

/// The function that opens a module; NULL: it is not installed.
static lua_CFunction library_find(const struct library *library)
{
  void *object = dlopen(library->object, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; object == NULL && i < sizeof library_folders / sizeof library_folders[0]; i++) {
    char path[LIBRARY_PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", library_folders[i], library->file);
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  void *symbol = object != NULL ? dlsym(object, library->symbol) : NULL;
  lua_CFunction open = NULL;
  memcpy(&open, &symbol, sizeof open);
  return open;
}

/// Whether such a module would find our LuaJIT, and not another Lua that is in the process as well.
static bool library_finds_us(void)
{
  lua_State *(*ours)(lua_State *) = lua_newthread;
  void *found = dlsym(RTLD_DEFAULT, "lua_newthread");
  return found != NULL && memcmp(&found, &ours, sizeof found) == 0;
}

static int library_open(lua_State *vm)
{
  const char *name = luaL_checkstring(vm, 1);
  const struct library *library = NULL;
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
    if (strcmp(libraries[i].name, name) == 0) {
      library = &libraries[i];
    }
  }
  if (library == NULL) {
    return luaL_argerror(vm, 1, "no such library");
  }
  lua_CFunction open = library_finds_us() ? library_find(library) : NULL;
  if (open != NULL) {
    lua_pushcfunction(vm, open);
    lua_pushstring(vm, name);
    lua_call(vm, 1, 1);
    return 1;
  }
  lua_pushnil(vm);
  if (library_finds_us()) {
    lua_pushfstring(vm, "is not installed: it is in Debian's package %s", library->package);
  } else {
    lua_pushliteral(vm, "cannot be used: there is another Lua in this process, and its functions are found first");
  }
  return 2;
}

void native_library_push_ffi(struct lua_State *vm)
{
  static const char opened_key; // in the registry; its address counts
  lua_pushlightuserdata(vm, (void *)&opened_key);
  lua_rawget(vm, LUA_REGISTRYINDEX);
  if (!lua_isnil(vm, -1)) {
    return;
  }
  lua_pop(vm, 1);
  lua_pushcfunction(vm, luaopen_ffi);
  lua_pushliteral(vm, LUA_FFILIBNAME);
  lua_call(vm, 1, 1);
  lua_pushlightuserdata(vm, (void *)&opened_key);
  lua_pushvalue(vm, -2);
  lua_rawset(vm, LUA_REGISTRYINDEX);
}

/// standard(name): opens a library of LuaJIT that internal code does without. A table of its own each time.
static int library_standard(lua_State *vm)
{
  static const char *const names[] = {"io", "ffi", NULL};
  if (luaL_checkoption(vm, 1, NULL, names) == 0) {
    lua_pushcfunction(vm, luaopen_io);
    lua_pushliteral(vm, LUA_IOLIBNAME);
    lua_call(vm, 1, 1);
    return 1;
  }
  lua_newtable(vm);
  native_library_push_ffi(vm);
  for (lua_pushnil(vm); lua_next(vm, -2) != 0; lua_pop(vm, 1)) {
    lua_pushvalue(vm, -2);
    lua_pushvalue(vm, -2);
    lua_settable(vm, -6);
  }
  lua_pop(vm, 1);
  return 1;
}

/// Counts the value on top of the stack.
static void library_count(lua_State *vm, struct measure *left, int depth)
{
  if (--left->nodes < 0) {
    luaL_error(vm, "the value is too large: it has too many parts");
  }
  if (lua_type(vm, -1) == LUA_TSTRING) {
    left->bytes -= (int64_t)lua_objlen(vm, -1);
    if (left->bytes < 0) {
      luaL_error(vm, "the value is too large: its texts are too long");
    }
  } else if (lua_type(vm, -1) == LUA_TTABLE) {
    if (depth >= left->depth) {
      luaL_error(vm, "the value is too large: there are more than %d tables in tables", left->depth);
    }
    luaL_checkstack(vm, LIBRARY_STACK_SLOTS, "too many tables in tables");
    for (lua_pushnil(vm); lua_next(vm, -2) != 0; lua_pop(vm, 1)) {
      library_count(vm, left, depth + 1);
      if (lua_type(vm, -2) == LUA_TSTRING) {
        left->bytes -= (int64_t)lua_objlen(vm, -2);
      }
    }
  }
}

/// measure(value, nodes, bytes, depth) -> how many nodes and bytes it has; raises when they are more
static int library_measure(lua_State *vm)
{
  struct measure left = {.nodes = (int64_t)luaL_checknumber(vm, 2),
                         .bytes = (int64_t)luaL_checknumber(vm, 3),
                         .depth = luaL_checkint(vm, 4)};
  lua_pushvalue(vm, 1);
  library_count(vm, &left, 0);
  lua_pushnumber(vm, lua_tonumber(vm, 2) - (lua_Number)left.nodes);
  lua_pushnumber(vm, lua_tonumber(vm, 3) - (lua_Number)left.bytes);
  return 2;
}

/// decode(fn, text): fn(text), for a C function that makes values of a text and loses memory when these do not fit. So
/// it may make them, and what is too much raises afterwards.
static int library_decode(lua_State *vm)
{
  size_t size = 0;
  luaL_checklstring(vm, 2, &size);
  lua_settop(vm, 2);
  size_t bytes = LIBRARY_DECODED_BYTES + LIBRARY_DECODED_TIMES * size;
  lua_state_lend(vm, bytes);
  int status = lua_pcall(vm, 1, LUA_MULTRET, 0);
  lua_state_take_back(vm, bytes);
  if (status == 0) {
    return lua_gettop(vm);
  }
  if (lua_type(vm, -1) == LUA_TSTRING) {
    luaL_where(vm, 1); // of the call, which lua_pcall() hides
    lua_insert(vm, -2);
    lua_concat(vm, 2);
  }
  return lua_error(vm);
}
