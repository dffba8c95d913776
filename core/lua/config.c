// SPDX-License-Identifier: Apache-2.0
#include "lua/config.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lua/config_private.h"
#include "policy/policy.h"

/// Registry keys of the functions that evaluate once more and that make the report; their addresses count.
static const char config_again_key;
static const char config_report_key;

static int config_run(lua_State *vm);
static int config_run_again(lua_State *vm);
static int config_make_report(lua_State *vm);
static void config_take(lua_State *vm, struct lua_config *config);
static void config_take_topics(lua_State *vm, struct lua_config *config);
static void config_explain(const struct config_load *load, const struct lua_state *state,
                           const struct lua_state_failure *failure);

/// Evaluates; on failure there is a message in load->error.
static int config_evaluate(struct config_load *load)
{
  *load->error = (struct lua_config_error){.trace = NULL};
  memset(load->config, 0, sizeof *load->config);
  broker_config_create(&load->config->broker);
  struct lua_state_limits limits = {
      .memory_bytes = LUA_CONFIG_MEMORY_BYTES, .budget_ms = LUA_CONFIG_BUDGET_MS, .is_tracking = true};
  struct lua_state *state = NULL;
  int result = lua_state_new(&limits, &state);
  if (result < 0) {
    snprintf(load->error->message, sizeof load->error->message, "%s", error_last()->message);
  } else {
    struct lua_state_failure failure;
    result = lua_state_call(state, config_run, load, &failure);
    if (result == 0 && !load->is_refused) {
      // In a call of its own, that has all the time again. One that is out of it, or of memory, shows nothing.
      int again = lua_state_call(state, config_run_again, load, &failure);
      result = again < 0 && !failure.is_limit ? again : 0;
    }
    if (result == 0 && !load->is_refused && load->wants_report) {
      // In a call of its own, so that a configuration is not refused for the time that telling about it takes.
      result = lua_state_call(state, config_make_report, load, &failure);
    }
    if (result < 0) {
      config_explain(load, state, &failure);
    }
  }
  lua_state_delete(state);
  mem_free(load->text);
  if (result < 0 || load->is_refused) {
    lua_config_destroy(load->config);
    return error_set(ERR_CONFIG, "%s", load->error->message);
  }
  return 0;
}

int lua_config_load(const char *path, const struct config_override *sets, int count, bool is_debug,
                    struct lua_config *config, struct lua_config_error *error)
{
  struct config_load load = {
      .path = path, .sets = sets, .set_count = count, .is_debug = is_debug, .config = config, .error = error};
  return config_evaluate(&load);
}

int lua_config_reload(const char *path, const struct config_override *sets, int count, struct lua_config *config,
                      struct lua_config_error *error)
{
  struct config_load load = {
      .path = path, .sets = sets, .set_count = count, .is_reload = true, .config = config, .error = error};
  return config_evaluate(&load);
}

int lua_config_report(const char *path, const struct config_override *sets, int count, bool is_debug, char **report,
                      struct lua_config_error *error)
{
  struct lua_config config;
  struct config_load load = {.path = path,
                             .sets = sets,
                             .set_count = count,
                             .is_debug = is_debug,
                             .config = &config,
                             .error = error,
                             .wants_report = true};
  int result = config_evaluate(&load);
  if (result < 0) {
    mem_free(load.report);
    return result;
  }
  lua_config_destroy(&config);
  *report = load.report;
  return 0;
}

void lua_config_destroy(struct lua_config *config)
{
  if (config->policies != NULL) {
    policy_set_unref(config->policies);
  }
  broker_config_destroy(&config->broker);
  arena_destroy(&config->arena);
}

/// Runs luka.config.load() in protected mode and takes over what it returns.
static int config_run(lua_State *vm)
{
  struct config_load *load = lua_touserdata(vm, 1);
  lua_getglobal(vm, "require");
  lua_pushliteral(vm, "luka.config");
  lua_call(vm, 1, 1);
  lua_getfield(vm, -1, "load");
  config_host_push(vm, load);
  if (load->path != NULL) {
    lua_pushstring(vm, load->path);
  } else {
    lua_pushnil(vm);
  }
  lua_createtable(vm, load->set_count, 0);
  for (int i = 0; i < load->set_count; i++) {
    lua_createtable(vm, 2, 0);
    lua_pushstring(vm, load->sets[i].key);
    lua_rawseti(vm, -2, 1);
    lua_pushstring(vm, load->sets[i].value);
    lua_rawseti(vm, -2, 2);
    lua_rawseti(vm, -2, i + 1);
  }
  lua_pushboolean(vm, load->is_debug);
  lua_pushboolean(vm, load->wants_report);
  lua_call(vm, 5, 3);
  if (lua_istable(vm, -3)) {
    lua_pop(vm, 2);
    config_take(vm, load->config);
    lua_pushlightuserdata(vm, (void *)&config_report_key);
    lua_getfield(vm, -2, "report");
    lua_rawset(vm, LUA_REGISTRYINDEX);
    lua_pushlightuserdata(vm, (void *)&config_again_key);
    lua_getfield(vm, -2, "again");
    lua_rawset(vm, LUA_REGISTRYINDEX);
    return 0;
  }
  load->is_refused = true;
  snprintf(load->error->message, sizeof load->error->message, "%s", luaL_checkstring(vm, -2));
  if (lua_isstring(vm, -1)) {
    load->error->trace = mem_strdup(lua_tostring(vm, -1));
  }
  return 0;
}

/// Refuses a configuration that gives other functions when it is evaluated at another time.
static int config_run_again(lua_State *vm)
{
  struct config_load *load = lua_touserdata(vm, 1);
  lua_pushlightuserdata(vm, (void *)&config_again_key);
  lua_rawget(vm, LUA_REGISTRYINDEX);
  if (lua_isnil(vm, -1)) {
    return 0; // it has no functions
  }
  lua_call(vm, 0, 1);
  if (!lua_isnil(vm, -1)) {
    load->is_refused = true;
    snprintf(load->error->message, sizeof load->error->message, "%s", luaL_checkstring(vm, -1));
  }
  return 0;
}

static int config_make_report(lua_State *vm)
{
  struct config_load *load = lua_touserdata(vm, 1);
  lua_pushlightuserdata(vm, (void *)&config_report_key);
  lua_rawget(vm, LUA_REGISTRYINDEX);
  lua_call(vm, 0, 1);
  load->report = mem_strdup(luaL_checkstring(vm, -1));
  return 0;
}

/// A copy of the text on top of the stack, which is popped; NULL for none.
static const char *config_text(lua_State *vm, struct lua_config *config)
{
  const char *copy = NULL;
  if (lua_type(vm, -1) == LUA_TSTRING) {
    size_t size = 0;
    const char *text = lua_tolstring(vm, -1, &size);
    copy = arena_strndup(&config->arena, text, size);
  }
  lua_pop(vm, 1);
  return copy;
}

/// The integer in field `name` of the table on top; 0 for none.
static int64_t config_integer(lua_State *vm, const char *name)
{
  lua_getfield(vm, -1, name);
  int64_t value = (int64_t)lua_tonumber(vm, -1);
  lua_pop(vm, 1);
  return value;
}

/// The list of texts in field `name` of the table on top, whose length is in `count`; NULL and 0 for none.
static const char *const *config_texts(lua_State *vm, struct lua_config *config, const char *name, int *count)
{
  *count = 0;
  lua_getfield(vm, -1, name);
  if (!lua_istable(vm, -1)) {
    lua_pop(vm, 1);
    return NULL;
  }
  *count = (int)lua_objlen(vm, -1);
  const char **texts = arena_zalloc(&config->arena, (size_t)(*count + 1) * sizeof *texts);
  for (int i = 0; i < *count; i++) {
    lua_rawgeti(vm, -1, i + 1);
    texts[i] = config_text(vm, config);
  }
  lua_pop(vm, 1);
  return texts;
}

/// Copies the result of luka.config.load(), which is on top of the stack and has been checked by it.
static void config_take(lua_State *vm, struct lua_config *config)
{
  static const char *const levels[] = {"error", "warn", "info", "debug"};
  lua_getfield(vm, -1, "broker");
  config->id = (int32_t)config_integer(vm, "id");
  lua_getfield(vm, -1, "is_id_set");
  config->is_id_set = lua_toboolean(vm, -1);
  lua_pop(vm, 1);
  config->listen = config_texts(vm, config, "listen", &config->listen_count);
  config->advertise = config_texts(vm, config, "advertise", &config->advertise_count);
  config->data = config_texts(vm, config, "data", &config->data_count);
  lua_getfield(vm, -1, "metadata");
  config->metadata = config_text(vm, config);
  lua_getfield(vm, -1, "console");
  config->console = config_text(vm, config);
  config->workers = (int)config_integer(vm, "workers");
  config->lua_threads = (int)config_integer(vm, "lua_threads");
  config->lua_memory_bytes = config_integer(vm, "lua_memory");
  config->lua_budget_ms = (int)config_integer(vm, "lua_budget_ms");
  config->lua_shared_memory_bytes = config_integer(vm, "lua_shared_memory");
  config->log_dir_reserve_bytes = config_integer(vm, "log_dir_reserve_bytes");
  config->log_level = -1;
  lua_getfield(vm, -1, "unsafe");
  config->is_unsafe = lua_toboolean(vm, -1);
  lua_pop(vm, 1);
  lua_getfield(vm, -1, "log_level");
  for (int i = 0; i < 4; i++) {
    if (lua_isstring(vm, -1) && strcmp(lua_tostring(vm, -1), levels[i]) == 0) {
      config->log_level = i;
    }
  }
  lua_pop(vm, 2);
  lua_getfield(vm, -1, "topics");
  config_take_topics(vm, config);
  lua_pop(vm, 1);
  config->warnings = config_texts(vm, config, "warnings", &config->warning_count);
  lua_getfield(vm, -1, "policies");
  if (lua_istable(vm, -1)) {
    config_take_policies(vm, config);
  }
  lua_pop(vm, 1);
}

/// Copies the pairs { name, text } in field "configs" of the table on top.
static void config_take_configs(lua_State *vm, struct lua_config *config, struct lua_config_topic *topic)
{
  lua_getfield(vm, -1, "configs");
  topic->config_count = (int)lua_objlen(vm, -1);
  struct config_entry *configs = arena_zalloc(&config->arena, (size_t)(topic->config_count + 1) * sizeof *configs);
  for (int i = 0; i < topic->config_count; i++) {
    lua_rawgeti(vm, -1, i + 1);
    lua_rawgeti(vm, -1, 1);
    configs[i].name = config_text(vm, config);
    lua_rawgeti(vm, -1, 2);
    configs[i].value = config_text(vm, config);
    lua_pop(vm, 1);
  }
  topic->configs = configs;
  lua_pop(vm, 1);
}

/// Copies the topics, whose list is on top of the stack.
static void config_take_topics(lua_State *vm, struct lua_config *config)
{
  config->topic_count = (int)lua_objlen(vm, -1);
  struct lua_config_topic *topics = arena_zalloc(&config->arena, (size_t)(config->topic_count + 1) * sizeof *topics);
  for (int i = 0; i < config->topic_count; i++) {
    lua_rawgeti(vm, -1, i + 1);
    topics[i].partitions = (int32_t)config_integer(vm, "partitions");
    topics[i].replication_factor = (int32_t)config_integer(vm, "replication_factor");
    topics[i].line = (int)config_integer(vm, "line");
    lua_getfield(vm, -1, "name");
    topics[i].name = config_text(vm, config);
    lua_getfield(vm, -1, "text");
    topics[i].text = config_text(vm, config);
    lua_getfield(vm, -1, "source");
    topics[i].source = config_text(vm, config);
    config_take_configs(vm, config, &topics[i]);
    lua_pop(vm, 1);
  }
  config->topics = topics;
}

/// Writes the message for a call that Lua could not end: it ran out of time or memory, or our own code is wrong.
static void config_explain(const struct config_load *load, const struct lua_state *state,
                           const struct lua_state_failure *failure)
{
  char *message = load->error->message;
  size_t size = sizeof load->error->message;
  if (!failure->is_limit) {
    snprintf(message, size, "internal error: %.900s", failure->message);
    return;
  }
  const struct lua_state_position *position = lua_state_position(state);
  const char *source = position->source[0] != '\0' ? position->source : load->path != NULL ? load->path : "--set";
  char where[LUA_STATE_TEXT_SIZE / 2];
  snprintf(where, sizeof where, position->line > 0 ? "%.480s:%d" : "%.480s", source, position->line);
  if (lua_state_is_expired(state)) {
    snprintf(message, size, "%s: evaluation took longer than %d ms (an endless loop?)", where, LUA_CONFIG_BUDGET_MS);
  } else {
    snprintf(message, size, "%s: not enough memory: evaluation may use %d MiB", where,
             LUA_CONFIG_MEMORY_BYTES / (1024 * 1024));
  }
}
