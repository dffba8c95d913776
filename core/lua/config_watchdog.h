// SPDX-License-Identifier: Apache-2.0
//
// Evaluates a configuration in a process that has not begun its work: a library function that never ends, which nothing
// in Lua can stop, or a pipe that nobody writes to, ends the process with one line and COMMAND_USAGE. For the command
// line, on the main thread, while there is no other. A running broker evaluates with lua_config_load().
#pragma once

#include <stdbool.h>

#include "lua/config.h"

/// lua_config_load() under a watchdog; see there for the arguments.
///
/// @param is_json  the watchdog's line is one of the log in JSON
/// @return 0, ERR_CONFIG
int lua_config_load_watched(const char *path, const struct config_override *sets, int count, bool is_debug,
                            bool is_json, struct lua_config *config, struct lua_config_error *error);
