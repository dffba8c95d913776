// SPDX-License-Identifier: Apache-2.0
//
// The command line, which is written in Lua (lua/luka/cli/): this makes the state that it runs in, and hands over what
// `luka serve` was asked to do. That state is trusted, as it runs the code of the program only: no limits, the compiler
// on, all libraries with ffi, the modules of lua/luka/, and these made in C:
//
//   luka.native.cli     what the process is and how it says what went wrong (cli.c)
//   luka.native.config  the configuration, evaluated in a sandboxed state of its own (cli_config.c)
//
// Called by core/broker/command.c on the main thread, before any other exists.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "lua/config.h"

struct lua_State;

/// How `luka serve` was called.
struct lua_cli_serve {
  const char *path;                   ///< configuration file; NULL: none
  const struct config_override *sets; ///< --set, in the order of the command line
  int set_count;                      ///< how many
  int log_level;                      ///< --log-level, enum slog_level; -1: not given
  bool is_json;                       ///< --log-format json
  bool is_adopting;                   ///< --adopt
  bool is_debug;                      ///< --debug
  struct arena arena;                 ///< holds the texts
};

/// Runs the command line, to its end unless it asks for a broker. The state is closed on return.
///
/// @param[out] is_serving  a broker is to be started, with what is in `serve`
/// @param[out] serve       caller's memory; owned: lua_cli_destroy(), whatever the outcome
/// @return the exit status of the process; 0 when a broker is to be started
int lua_cli_run(int argc, char **argv, bool *is_serving, struct lua_cli_serve *serve);

/// Frees what lua_cli_run() made.
void lua_cli_destroy(struct lua_cli_serve *serve);

/// Opens all libraries in a fresh state and makes our modules known: what lua_cli_run() does first. Nothing is read
/// from a path of the system or of the user. In protected mode.
void lua_cli_open(struct lua_State *vm);

/// Prints the one line on standard error that says why something was not done.
///
/// @param is_json  as a line of the log, which slog_setup() has made JSON; otherwise the text alone, with '?' for bytes
/// that would break the line
void lua_cli_fail(const char *text, bool is_json);
