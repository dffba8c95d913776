// SPDX-License-Identifier: Apache-2.0
//
// JSON for internal Lua code, by jansson: `local json = require "luka.native.json"`.
//
//   json.encode(value [, indent]) -> text
//       raises for what JSON has not: functions, NaN, text that is not UTF-8, cycles
//   json.decode(text) -> value
//       or nil and a sentence
//   json.array(table) -> table
//       marks a table as a list, also when it is empty
//   json.object(table [, keys]) -> table
//       marks it as an object; `keys` come first, in that order
//   json.null
//       null in lists and as a whole; members that are null are left out by decode
//
// A table is a list when it is marked or has a first element, otherwise an object, whose keys are sorted. Whole numbers
// keep all digits: int64 cdata on both sides beyond 2^53.
#pragma once

struct lua_State;

/// Pushes the module; a lua_CFunction for lua/modules.c. No state outside of the Lua state: any thread that owns one.
int native_json_open(struct lua_State *vm);
