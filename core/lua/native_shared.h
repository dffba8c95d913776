// SPDX-License-Identifier: Apache-2.0
//
// Shared dictionaries for user code: `shared.open("name")` of `require "luka.native.shared"` gives one
// (policy/shared.h).
//
//   get(key) -> value              nil: there is none
//   set(key, value [, ttl_ms])     nil deletes
//   add(key, value [, ttl_ms])     true; false: there is one already
//   incr(key, by [, initial [, ttl_ms]])   the sum; or nil and a sentence: there is nothing, and no initial value, or
//   no
//                                  number
//   delete(key)                    whether there was one
//   keys([max])                    a list of at most 1000 by default
//
// Keys are texts or numbers, values texts, numbers and booleans. Each call is one step for all states.
//
// They work only after shared.ready(): what a configuration does while it is evaluated would be done once for each
// state, and by configurations that are refused.
#pragma once

struct lua_State;

/// Pushes the module; a lua_CFunction for lua/modules.c. Any thread that owns a state.
int native_shared_open(struct lua_State *vm);
