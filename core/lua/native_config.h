// SPDX-License-Identifier: Apache-2.0
//
// The configuration for internal Lua code: `local native = require "luka.native.config"`.
//
//   native.broker, native.topic   lists of definitions, in the order of core/metadata/*_config_list.h: name, type
//                                 (Kafka's: "LONG"), kind (ours: "level"), default, min, max, valid, takes (in words),
//                                 doc, is_dynamic, is_supported, and of a topic config broker_name, whose value is its
//                                 default; what has no value is nil
//   native.foreign                name -> false, or what serves here instead, of Kafka's broker configs that do not
//   native.report(path, sets, is_debug) -> text
//                                 evaluates a configuration in a sandboxed state of its own, and gives what would be
//                                 applied as JSON (luka.config.report); or nil, the line that says what is wrong, and a
//                                 traceback when that was asked for. `path` is nil for none, `sets` a list of
//                                 { key, value }.
#pragma once

struct lua_State;

/// Pushes the module; a lua_CFunction for lua/modules.c. Any thread that owns a Lua state; report() reads files.
int native_config_open(struct lua_State *vm);
