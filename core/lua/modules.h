// SPDX-License-Identifier: Apache-2.0
//
// The Lua side of the program, built in: the sources of lua/luka/ are embedded by scripts/generate/embed.lua as text
// (bytecode would have to come from the very LuaJIT that runs it; all of it parses in about a millisecond). For
// development, the environment variable LUKA_LUA_PATH names a folder that is read instead (`LUKA_LUA_PATH=lua`).
#pragma once

#include <stddef.h>

struct lua_State;

/// One embedded module; for ever.
struct lua_module {
  const char *name; ///< as require names it, "luka.config"
  const char *path; ///< where it comes from, "luka/config/init.lua"
  const char *text; ///< its source
  size_t size;      ///< bytes of text
};

/// All modules, sorted by name; made by the build.
extern const struct lua_module lua_modules[];
extern const size_t lua_modules_count;

/// Gives internal code of a state `require` for these modules, and for the libraries that are open. Call in protected
/// mode.
void lua_modules_open(struct lua_State *vm);

/// Pops a value and makes it the module `name` of this state, after lua_modules_open(). Call in protected mode.
void lua_modules_add(struct lua_State *vm, const char *name);
