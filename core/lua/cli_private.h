// SPDX-License-Identifier: Apache-2.0
//
// Between cli.c (the state of the command line) and cli_config.c (its way to the configuration).
#pragma once

#include "lua/cli.h"

struct lua_State;

/// Copies a list of { key, value }, as the command line takes it from --set, into an arena. Raises when it is no such
/// list.
///
/// @param index  place on the stack, counted from its bottom
/// @return `*count` of them, borrowed from the arena
const struct config_override *lua_cli_overrides(struct lua_State *vm, int index, struct arena *arena, int *count);

/// Pushes the module luka.native.config.
void lua_cli_config_push(struct lua_State *vm);
