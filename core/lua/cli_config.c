// SPDX-License-Identifier: Apache-2.0
//
// luka.native.config: what the verbs of the command line (check, console, reload) may know of a configuration.
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lua/cli_private.h"

/// One call of evaluate(), in a userdata, so that an error of Lua leaves nothing behind.
struct cli_evaluation {
  struct arena arena;            ///< the overrides
  struct lua_config config;      ///< the result of evaluate()
  char *report;                  ///< the result of report(), owned
  bool is_loaded;                ///< `config` is to be destroyed
  struct lua_config_error error; ///< or why there is none
};

static int cli_evaluate(lua_State *vm);
static int cli_report(lua_State *vm);
static int cli_evaluation_close(lua_State *vm);

void lua_cli_config_push(struct lua_State *vm)
{
  lua_createtable(vm, 0, 2);
  lua_pushcfunction(vm, cli_evaluate);
  lua_setfield(vm, -2, "evaluate");
  lua_pushcfunction(vm, cli_report);
  lua_setfield(vm, -2, "report");
}

/// Makes room on the stack for an evaluation.
static struct cli_evaluation *cli_evaluation_new(lua_State *vm)
{
  struct cli_evaluation *run = lua_newuserdata(vm, sizeof *run);
  memset(run, 0, sizeof *run);
  lua_createtable(vm, 0, 1);
  lua_pushcfunction(vm, cli_evaluation_close);
  lua_setfield(vm, -2, "__gc");
  lua_setmetatable(vm, -2);
  return run;
}

/// Returns nil, one line, and perhaps a traceback.
static int cli_refuse(lua_State *vm, const struct cli_evaluation *run)
{
  lua_pushnil(vm);
  lua_pushstring(vm, run->error.message);
  lua_pushstring(vm, run->error.trace);
  return 3;
}

/// evaluate(path or nil, { { key, value }, ... } or nil, is_debug) -> { console = path or nil }; or nil, one
/// line, and with is_debug perhaps a traceback. The configuration runs in a state of its own, sandboxed and limited.
static int cli_evaluate(lua_State *vm)
{
  const char *path = luaL_optstring(vm, 1, NULL);
  bool is_debug = lua_toboolean(vm, 3);
  lua_settop(vm, 2);
  struct cli_evaluation *run = cli_evaluation_new(vm);
  int count = 0;
  const struct config_override *sets = lua_cli_overrides(vm, 2, &run->arena, &count);
  int result = lua_config_load(path, sets, count, is_debug, &run->config, &run->error);
  if (result < 0) {
    return cli_refuse(vm, run);
  }
  run->is_loaded = true;
  lua_createtable(vm, 0, 1);
  lua_pushstring(vm, run->config.console);
  lua_setfield(vm, -2, "console");
  return 1;
}

/// report(the same) -> what would be applied and where it is from (luka.Report in lua/luka/config/report.lua), in JSON;
/// or as above.
static int cli_report(lua_State *vm)
{
  const char *path = luaL_optstring(vm, 1, NULL);
  bool is_debug = lua_toboolean(vm, 3);
  lua_settop(vm, 2);
  struct cli_evaluation *run = cli_evaluation_new(vm);
  int count = 0;
  const struct config_override *sets = lua_cli_overrides(vm, 2, &run->arena, &count);
  int result = lua_config_report(path, sets, count, is_debug, &run->report, &run->error);
  if (result < 0) {
    return cli_refuse(vm, run);
  }
  lua_pushstring(vm, run->report);
  return 1;
}

static int cli_evaluation_close(lua_State *vm)
{
  struct cli_evaluation *run = lua_touserdata(vm, 1);
  if (run->is_loaded) {
    lua_config_destroy(&run->config);
    run->is_loaded = false;
  }
  mem_free(run->error.trace);
  run->error.trace = NULL;
  mem_free(run->report);
  run->report = NULL;
  arena_destroy(&run->arena);
  return 0;
}
