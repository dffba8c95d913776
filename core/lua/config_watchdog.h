// SPDX-License-Identifier: Apache-2.0
//
// A watchdog for the evaluation of a configuration in a process that has not begun its work: a library function that
// never ends, which nothing in Lua can stop, or a pipe that nobody writes to, ends the process with one line and status
// 2. For the command line, on the main thread, while there is no other.
#pragma once

#include <stdbool.h>

/// Starts it; call before lua_config_load().
///
/// @param is_json  its line is one of the log in JSON
void lua_config_watchdog_start(bool is_json);

/// Stops it.
void lua_config_watchdog_stop(void);
