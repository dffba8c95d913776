// SPDX-License-Identifier: Apache-2.0
//
// One evaluation of a configuration, between config.c (the call and its result) and config_host.c (what Lua asks of C).
#pragma once

#include "lua/config.h"

struct lua_State;

struct config_load {
  const char *path;                   ///< file, or NULL
  const struct config_override *sets; ///< overrides
  int set_count;                      ///< how many
  bool is_debug;                      ///< with traceback
  bool is_reload;                     ///< reads regular files only
  bool wants_report;                  ///< asks for the report
  struct lua_config *config;          ///< being filled
  struct lua_config_error *error;     ///< for errors in the configuration
  bool is_refused;                    ///< Lua found an error, which is in `error`
  char *report;                       ///< what would be applied, as JSON; owned
  char *text;                         ///< last file read, owned; here because errors of Lua jump over C frames
};

/// Makes the set of policies of the table on top of the stack, as luka.config.policies made and checked it.
void config_take_policies(struct lua_State *vm, struct lua_config *config);

/// Pushes the table of host functions (luka.Host in lua/luka/config/init.lua). In protected mode; `load` is borrowed
/// while Lua runs.
void config_host_push(struct lua_State *vm, struct config_load *load);
