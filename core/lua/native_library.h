// SPDX-License-Identifier: Apache-2.0
//
// Libraries that are not ours, for the functions of a configuration: `local library = require "luka.native.library"`.
// What user code gets of them is made by lua/luka/sandbox/libraries.lua and unsafe.lua.
//
//   library.open(name) -> module
//       "cjson", "cjson.safe" or "lpeg", as their authors made it; or nil and a sentence. The shared object stays for
//       the life of the process
//   library.standard(name) -> module
//       "io" or "ffi" of LuaJIT; a table of its own each time
//   library.measure(value, nodes, bytes, depth)
//       raises when a value of tables and texts is larger than that: writing it would take long. Tables that are found
//       twice count twice
#pragma once

struct lua_State;

/// Pushes the module; a lua_CFunction for lua/modules.c. Any thread that owns a state.
int native_library_open(struct lua_State *vm);

/// Pushes LuaJIT's `ffi`. It is opened once in a state: opened again, LuaJIT would forget all types that the state
/// knows, and lose their memory. May raise.
void native_library_push_ffi(struct lua_State *vm);
