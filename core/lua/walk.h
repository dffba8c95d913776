// SPDX-License-Identifier: Apache-2.0
//
// Walking tables where LuaJIT's compiler is on. From September 2021 to April 2022 LuaJIT made code for next() that on
// x64 now and then cuts an address in half: whether it does depends on which registers were free, so that one run in a
// thousand ends with SIGSEGV (https://github.com/LuaJIT/LuaJIT/issues/829). Debian 12 has a LuaJIT of March 2022.
#pragma once

struct lua_State;

/// Replaces next() and pairs() by functions that the compiler leaves alone, if this LuaJIT may have the fault: they are
/// called, which is slower than code of LuaJIT's own. Versions without it keep theirs.
///
/// In protected mode, with the libraries base and jit open, before any code that keeps the functions.
void lua_walk_open(struct lua_State *vm);
