// SPDX-License-Identifier: Apache-2.0
//
// luka.native.config: what the verbs of the command line (check, console, reload, help) may know of a configuration.
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lua/cli_private.h"
#include "lua/config_watchdog.h"

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
static void cli_push_config(lua_State *vm, const struct lua_config *config);

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

/// evaluate(path or nil, { { key, value }, ... } or nil, is_debug, is_json) -> the configuration, or nil, one line, and
/// with is_debug perhaps a traceback. The configuration runs in a state of its own, sandboxed and limited; one that
/// cannot be stopped ends the process (lua/config_watchdog.h).
static int cli_evaluate(lua_State *vm)
{
  const char *path = luaL_optstring(vm, 1, NULL);
  bool is_debug = lua_toboolean(vm, 3);
  bool is_json = lua_toboolean(vm, 4);
  lua_settop(vm, 2);
  struct cli_evaluation *run = cli_evaluation_new(vm);
  int count = 0;
  const struct config_override *sets = lua_cli_overrides(vm, 2, &run->arena, &count);
  lua_config_watchdog_start(is_json);
  int result = lua_config_load(path, sets, count, is_debug, &run->config, &run->error);
  lua_config_watchdog_stop();
  if (result < 0) {
    return cli_refuse(vm, run);
  }
  run->is_loaded = true;
  cli_push_config(vm, &run->config);
  return 1;
}

/// report(the same) -> what would be applied and where it is from (luka.Report in lua/luka/config/report.lua), in JSON;
/// or as above.
static int cli_report(lua_State *vm)
{
  const char *path = luaL_optstring(vm, 1, NULL);
  bool is_debug = lua_toboolean(vm, 3);
  bool is_json = lua_toboolean(vm, 4);
  lua_settop(vm, 2);
  struct cli_evaluation *run = cli_evaluation_new(vm);
  int count = 0;
  const struct config_override *sets = lua_cli_overrides(vm, 2, &run->arena, &count);
  lua_config_watchdog_start(is_json);
  int result = lua_config_report(path, sets, count, is_debug, &run->report, &run->error);
  lua_config_watchdog_stop();
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

// ---- the configuration as a table (luka.Configuration in lua/luka/cli/init.lua) ----

static void cli_set_text(lua_State *vm, const char *name, const char *text)
{
  lua_pushstring(vm, text);
  lua_setfield(vm, -2, name);
}

static void cli_set_number(lua_State *vm, const char *name, int64_t number)
{
  lua_pushnumber(vm, (lua_Number)number);
  lua_setfield(vm, -2, name);
}

static void cli_set_texts(lua_State *vm, const char *name, const char *const *texts, int count)
{
  lua_createtable(vm, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushstring(vm, texts[i]);
    lua_rawseti(vm, -2, i + 1);
  }
  lua_setfield(vm, -2, name);
}

/// Sets field "configs" to a list of { name =, value =, is_set = }.
static void cli_set_broker_configs(lua_State *vm, const struct broker_config *broker)
{
  const struct config_def *defs = broker_config_defs();
  lua_createtable(vm, BROKER_CONFIG_COUNT, 0);
  int place = 0;
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    if (!broker_config_is_supported((enum broker_config_index)i)) {
      continue;
    }
    bool is_set = broker_config_is_set(broker, (enum broker_config_index)i);
    lua_createtable(vm, 0, 3);
    cli_set_text(vm, "name", defs[i].name);
    cli_set_text(vm, "value", is_set ? broker->text[i] : defs[i].default_text);
    lua_pushboolean(vm, is_set);
    lua_setfield(vm, -2, "is_set");
    lua_rawseti(vm, -2, ++place);
  }
  lua_setfield(vm, -2, "configs");
}

static void cli_push_topic(lua_State *vm, const struct lua_config_topic *topic)
{
  lua_createtable(vm, 0, 6);
  cli_set_text(vm, "name", topic->name);
  cli_set_text(vm, "source", topic->source);
  cli_set_number(vm, "line", topic->line);
  if (topic->partitions > 0) {
    cli_set_number(vm, "partitions", topic->partitions);
  }
  if (topic->replication_factor > 0) {
    cli_set_number(vm, "replication_factor", topic->replication_factor);
  }
  lua_createtable(vm, topic->config_count, 0);
  for (int i = 0; i < topic->config_count; i++) {
    lua_createtable(vm, 0, 2);
    cli_set_text(vm, "name", topic->configs[i].name);
    cli_set_text(vm, "value", topic->configs[i].value);
    lua_rawseti(vm, -2, i + 1);
  }
  lua_setfield(vm, -2, "configs");
}

static void cli_push_config(lua_State *vm, const struct lua_config *config)
{
  static const char *const levels[] = {"error", "warn", "info", "debug"};
  lua_createtable(vm, 0, 16);
  cli_set_number(vm, "id", config->id);
  lua_pushboolean(vm, config->is_id_set);
  lua_setfield(vm, -2, "is_id_set");
  cli_set_texts(vm, "listen", config->listen, config->listen_count);
  cli_set_texts(vm, "advertise", config->advertise, config->advertise_count);
  cli_set_texts(vm, "data", config->data, config->data_count);
  cli_set_text(vm, "metadata", config->metadata);
  cli_set_text(vm, "console", config->console);
  if (config->workers > 0) {
    cli_set_number(vm, "workers", config->workers);
  }
  if (config->log_level >= 0) {
    cli_set_text(vm, "log_level", levels[config->log_level]);
  }
  cli_set_number(vm, "lua_memory", config->lua_memory_bytes);
  cli_set_number(vm, "lua_budget_ms", config->lua_budget_ms);
  cli_set_number(vm, "log_dir_reserve_bytes", config->log_dir_reserve_bytes);
  cli_set_broker_configs(vm, &config->broker);
  lua_createtable(vm, config->topic_count, 0);
  for (int i = 0; i < config->topic_count; i++) {
    cli_push_topic(vm, &config->topics[i]);
    lua_rawseti(vm, -2, i + 1);
  }
  lua_setfield(vm, -2, "topics");
}
