// SPDX-License-Identifier: Apache-2.0
//
// Kafka's configs for internal Lua code, as core/metadata/ defines them: `require "luka.native.config_defs"`.
//
//   defs.broker, defs.topic   lists of definitions, in the order of core/metadata/*_config_list.h: name, type (Kafka's:
//                             "LONG"), kind (ours: "level"), default, min, max, valid, takes (in words), doc,
//                             is_dynamic (clients may change it), is_reloadable (a reload puts it in force), and of a
//                             topic config broker_name, whose value is its default; what has no value is nil
//   defs.foreign              name -> false, or what serves here instead, of Kafka's broker configs that do not
#pragma once

struct lua_State;

/// Pushes the module; a lua_CFunction for lua/modules.c. Any thread that owns a Lua state.
int native_config_defs_open(struct lua_State *vm);
