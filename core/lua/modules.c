// SPDX-License-Identifier: Apache-2.0
#include "lua/modules.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lua/native_config_defs.h"
#include "lua/native_clock.h"
#include "lua/native_file.h"
#include "lua/native_hash.h"
#include "lua/native_json.h"
#include "lua/native_library.h"
#include "lua/native_record.h"
#include "lua/native_shared.h"
#include "lua/native_text.h"
#include "os/file.h"

enum { MODULES_FILE_MAX = 4 * 1024 * 1024 };

/// Modules written in C, for internal code: `require "luka.native.json"`.
static const struct {
  const char *name;   ///< as require names it
  lua_CFunction open; ///< pushes the module
} modules_native[] = {
    {"luka.native.config_defs", native_config_defs_open},
    {"luka.native.clock", native_clock_open},
    {"luka.native.file", native_file_open},
    {"luka.native.hash", native_hash_open},
    {"luka.native.json", native_json_open},
    {"luka.native.library", native_library_open},
    {"luka.native.record", native_record_open},
    {"luka.native.shared", native_shared_open},
    {"luka.native.text", native_text_open},
};

/// Registry key of the table of modules that are loaded; its address counts.
static const char modules_loaded_key;

static int modules_require(lua_State *vm);
static void modules_load(lua_State *vm, const char *name);
static lua_CFunction modules_find_native(const char *name);
static int modules_load_file(lua_State *vm, const char *folder, const struct lua_module *module);

void lua_modules_open(struct lua_State *vm)
{
  static const char *const libraries[] = {"bit", "coroutine", "debug", "math", "os", "string", "table"};
  lua_pushlightuserdata(vm, (void *)&modules_loaded_key);
  lua_newtable(vm);
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
    lua_getglobal(vm, libraries[i]);
    lua_setfield(vm, -2, libraries[i]);
  }
  lua_rawset(vm, LUA_REGISTRYINDEX);
  lua_pushcfunction(vm, modules_require);
  lua_setglobal(vm, "require");
}

void lua_modules_add(struct lua_State *vm, const char *name)
{
  lua_pushlightuserdata(vm, (void *)&modules_loaded_key);
  lua_rawget(vm, LUA_REGISTRYINDEX);
  lua_insert(vm, -2);
  lua_setfield(vm, -2, name);
  lua_pop(vm, 1);
}

/// The embedded module of that name; NULL when there is none.
static const struct lua_module *modules_find(const char *name)
{
  for (size_t i = 0; i < lua_modules_count; i++) {
    if (strcmp(lua_modules[i].name, name) == 0) {
      return &lua_modules[i];
    }
  }
  return NULL;
}

/// require(name) of internal code.
static int modules_require(lua_State *vm)
{
  const char *name = luaL_checkstring(vm, 1);
  lua_settop(vm, 1);
  lua_pushlightuserdata(vm, (void *)&modules_loaded_key);
  lua_rawget(vm, LUA_REGISTRYINDEX);
  lua_getfield(vm, 2, name);
  if (!lua_isnil(vm, -1)) {
    return 1;
  }
  lua_pop(vm, 1);
  lua_CFunction native = modules_find_native(name);
  if (native != NULL) {
    lua_pushcfunction(vm, native);
  } else {
    modules_load(vm, name);
  }
  lua_pushvalue(vm, 1);
  lua_call(vm, 1, 1);
  lua_pushvalue(vm, -1);
  lua_setfield(vm, 2, name);
  return 1;
}

/// What opens a module written in C; NULL when there is none of that name.
static lua_CFunction modules_find_native(const char *name)
{
  for (size_t i = 0; i < sizeof modules_native / sizeof modules_native[0]; i++) {
    if (strcmp(modules_native[i].name, name) == 0) {
      return modules_native[i].open;
    }
  }
  return NULL;
}

/// Pushes the chunk of a module, or raises.
static void modules_load(lua_State *vm, const char *name)
{
  const struct lua_module *module = modules_find(name);
  if (module == NULL) {
    luaL_error(vm, "there is no module '%s'", name);
    return;
  }
  const char *folder = getenv("LUKA_LUA_PATH");
  int status = 0;
  if (folder != NULL && folder[0] != '\0') {
    status = modules_load_file(vm, folder, module);
  } else {
    // '=' marks internal code: lua_state_position() looks for '@'.
    lua_pushfstring(vm, "=%s", module->path);
    status = luaL_loadbufferx(vm, module->text, module->size, lua_tostring(vm, -1), "t");
    lua_remove(vm, -2);
  }
  if (status != 0) {
    lua_error(vm);
  }
}

/// Pushes the chunk of a module read from a folder, or an error; returns 0 or an error status as of Lua.
static int modules_load_file(lua_State *vm, const char *folder, const struct lua_module *module)
{
  lua_pushfstring(vm, "%s/%s", folder, module->path);
  char *text = NULL;
  size_t size = 0;
  if (file_read_all(lua_tostring(vm, -1), MODULES_FILE_MAX, &text, &size) < 0) {
    lua_pushstring(vm, error_last()->message);
    return LUA_ERRRUN;
  }
  lua_pushfstring(vm, "=%s", lua_tostring(vm, -1));
  int status = luaL_loadbufferx(vm, text, size, lua_tostring(vm, -1), "t");
  mem_free(text);
  return status;
}
