// SPDX-License-Identifier: Apache-2.0
//
// Runs a piece of Lua in a lua_state, for specs: FFI cannot make C functions for another state.
#pragma once

struct lua_State;

enum { LUA_CHUNK_RESULT_SIZE = 256 };

struct lua_chunk {
  const char *text;                   ///< source, borrowed
  char result[LUA_CHUNK_RESULT_SIZE]; ///< what it returned, as a text
};

/// For lua_state_call(): loads and calls the `struct lua_chunk` it is given, as the user code "chunk.lua".
int lua_chunk_run(struct lua_State *vm);

/// For lua_state_enter(): the same for internal code, which finds the functions of lua/task.h in the global `native`.
int lua_chunk_enter(struct lua_State *vm);
