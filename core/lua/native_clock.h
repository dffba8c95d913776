// SPDX-License-Identifier: Apache-2.0
//
// The clock for internal Lua code, whose os.time() knows only seconds: `local clock = require "luka.native.clock"`.
//
//   clock.now() -> ms since 1970, as records have it
//   clock.poll()   raises when the running call or task is out of time; not in the state of the command line
#pragma once

struct lua_State;

/// Pushes the module; a lua_CFunction for lua/modules.c.
int native_clock_open(struct lua_State *vm);
