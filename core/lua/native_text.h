// SPDX-License-Identifier: Apache-2.0
//
// Lua's patterns for user code: `local text = require "luka.native.text"`. The library's own find, match, gmatch and
// gsub may run for hours inside C, where no hook looks at the clock: ("a"):rep(99):find(("a-"):rep(99) .. "b"). These
// count their steps and look at it (lua_state_poll()). The language of patterns is that of LuaJIT, but that a pattern
// may contain zero bytes.
//
//   find, match, gmatch                as in the library `string`
//   gsub(s, pattern, text [, max])     the same, for a replacement that is a text; sandbox/text.lua does the others
//   search(s, pattern, from)           first match at or behind `from`: start, stop, captures (or the whole); or nil
#pragma once

struct lua_State;

/// Pushes the module; a lua_CFunction for lua/modules.c. For states made by lua_state_new() only.
int native_text_open(struct lua_State *vm);
