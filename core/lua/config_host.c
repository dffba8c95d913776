// SPDX-License-Identifier: Apache-2.0
//
// What lua/luka/config/ asks of C: reading files, and the checks of Kafka's configs, names and addresses, which live in
// the layers below. Check functions return nothing when all is well, or a text for the error message.
#include "lua/config_private.h"

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "lua/value.h"
#include "metadata/topic_name.h"
#include "network/listener.h"
#include "os/stream.h"
#include "policy/partitioners.h"

static struct config_load *host_load(lua_State *vm)
{
  return lua_touserdata(vm, lua_upvalueindex(1));
}

/// The end of a check: nothing, or the sentence.
static int host_verdict(lua_State *vm, int result, const char *message)
{
  if (result >= 0) {
    return 0;
  }
  lua_pushstring(vm, message);
  return 1;
}

static int host_is_deep(lua_State *vm)
{
  lua_pushboolean(vm, lua_state_is_deep(lua_state_of(vm)));
  return 1;
}

/// position() -> file, line
static int host_position(lua_State *vm)
{
  const struct lua_state_position *position = lua_state_position(lua_state_of(vm));
  if (position->source[0] == '\0') {
    return 0;
  }
  lua_pushstring(vm, position->source);
  lua_pushinteger(vm, position->line);
  return 2;
}

static int host_print(lua_State *vm)
{
  slog_info("%s", luaL_checkstring(vm, 1));
  return 0;
}

/// builtin_partitioner(name) -> whether it is one of ours; or false and what is wrong with what it is told
static int host_builtin_partitioner(lua_State *vm)
{
  size_t length = 0;
  const char *name = luaL_checklstring(vm, 1, &length);
  struct policy_choice choice;
  char message[CONFIG_MESSAGE_SIZE] = "";
  int result = policy_choice_read(name, length, &choice, message, sizeof message);
  lua_pushboolean(vm, result == 0);
  if (result != ERR_CONFIG) {
    return 1;
  }
  lua_pushstring(vm, message);
  return 2;
}

/// Whether a file is nothing that a reload may read.
static bool host_is_refused(const struct config_load *load, const char *path)
{
  struct stat found;
  return load->is_reload && stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

/// read(path) -> text, or nil, why not, whether there is no such file
static int host_read(lua_State *vm)
{
  struct config_load *load = host_load(vm);
  const char *path = luaL_checkstring(vm, 1);
  mem_free(load->text);
  load->text = NULL;
  size_t size = 0;
  if (host_is_refused(load, path)) {
    lua_pushnil(vm);
    lua_pushliteral(vm, "is no regular file, and a broker that runs reads no others");
    return 2;
  }
  int result =
      stream_read_all(path, LUA_CONFIG_FILE_MAX, LUA_CONFIG_SILENCE_MS, LUA_CONFIG_READ_MS, &load->text, &size);
  if (result == 0) {
    lua_pushlstring(vm, load->text, size);
    return 1;
  }
  int err = error_last()->os_errno;
  lua_pushnil(vm);
  if (result == ERR_LIMIT) {
    lua_pushfstring(vm, "is larger than %d bytes", LUA_CONFIG_FILE_MAX);
  } else if (result == ERR_TIMEOUT) {
    lua_pushliteral(vm, "cannot be read: it is a pipe or a terminal, and nothing more comes");
  } else {
    lua_pushfstring(vm, "cannot be read: %s", strerror(err));
  }
  lua_pushboolean(vm, err == ENOENT || err == ENOTDIR);
  return 3;
}

/// check_broker(name, text) -> what the config takes, when the text is not that
static int host_check_config(lua_State *vm, const struct config_def *defs, int count)
{
  const char *name = luaL_checkstring(vm, 1);
  const char *text = luaL_checkstring(vm, 2);
  int index = config_find(defs, count, name);
  char message[CONFIG_MESSAGE_SIZE] = "a known config";
  int result = index < 0 ? index : config_set(&defs[index], text, NULL, message);
  if (index >= 0 && result < 0) {
    config_describe(&defs[index], message, sizeof message);
  }
  return host_verdict(vm, result, message);
}

static int host_check_broker(lua_State *vm)
{
  return host_check_config(vm, broker_config_defs(), BROKER_CONFIG_COUNT);
}

static int host_check_topic(lua_State *vm)
{
  return host_check_config(vm, topic_config_defs(), TOPIC_CONFIG_COUNT);
}

static int host_check_topic_name(lua_State *vm)
{
  size_t length = 0;
  const char *name = luaL_checklstring(vm, 1, &length);
  char message[TOPIC_NAME_MESSAGE_SIZE] = "";
  int result = topic_name_validate(name, length, message);
  if (result == 0 && topic_name_is_cluster_metadata(name)) {
    snprintf(message, sizeof message, "is a name that nobody may use");
    result = ERR_INVALID;
  }
  return host_verdict(vm, result, message);
}

static int host_check_listen(lua_State *vm)
{
  struct listener_address address;
  return host_verdict(vm, listener_parse(luaL_checkstring(vm, 1), &address), error_last()->message);
}

static int host_check_advertised(lua_State *vm)
{
  struct listener_address address;
  return host_verdict(vm, listener_parse_advertised(luaL_checkstring(vm, 1), &address), error_last()->message);
}

/// set_broker(name, text, path, place): keeps a config that was checked, or says what is wrong.
static int host_set_broker(lua_State *vm)
{
  struct lua_config *config = host_load(vm)->config;
  const char *name = luaL_checkstring(vm, 1);
  size_t length = 0;
  const char *path = luaL_checklstring(vm, 3, &length);
  size_t place_length = 0;
  const char *place = luaL_checklstring(vm, 4, &place_length);
  int result = broker_config_set(&config->broker, name, luaL_checkstring(vm, 2));
  if (result == 0) {
    int index = config_find(broker_config_defs(), BROKER_CONFIG_COUNT, name);
    config->paths[index] = arena_strndup(&config->arena, path, length);
    config->places[index] = arena_strndup(&config->arena, place, place_length);
  }
  return host_verdict(vm, result, error_last()->message);
}

/// clear_broker(): forgets what set_broker() kept.
static int host_clear_broker(lua_State *vm)
{
  struct broker_config *config = &host_load(vm)->config->broker;
  broker_config_destroy(config);
  broker_config_create(config);
  return 0;
}

static int host_resolve_broker(lua_State *vm)
{
  return host_verdict(vm, broker_config_resolve(&host_load(vm)->config->broker), error_last()->message);
}

/// resolve_topic({ { name, text }, ... })
static int host_resolve_topic(lua_State *vm)
{
  struct config_entry overrides[TOPIC_CONFIG_COUNT];
  luaL_checktype(vm, 1, LUA_TTABLE);
  int count = (int)lua_objlen(vm, 1);
  luaL_argcheck(vm, count <= TOPIC_CONFIG_COUNT, 1, "too many configs");
  luaL_checkstack(vm, 2 * count + 2, "too many configs");
  for (int i = 0; i < count; i++) {
    lua_rawgeti(vm, 1, i + 1);
    int pair = lua_gettop(vm);
    lua_rawgeti(vm, pair, 1);
    lua_rawgeti(vm, pair, 2);
    lua_remove(vm, pair);
    // The table keeps both strings alive.
    overrides[i].name = luaL_checkstring(vm, -2);
    overrides[i].value = luaL_checkstring(vm, -1);
  }
  struct topic_config values;
  char message[CONFIG_MESSAGE_SIZE] = "";
  int result = topic_config_resolve(&host_load(vm)->config->broker.topic, overrides, count, &values, message);
  return host_verdict(vm, result, message);
}

void config_host_push(struct lua_State *vm, struct config_load *load)
{
  static const luaL_Reg functions[] = {
      {"is_deep", host_is_deep},
      {"position", host_position},
      {"print", host_print},
      {"log", lua_value_log},
      {"builtin_partitioner", host_builtin_partitioner},
      {"read", host_read},
      {"check_broker", host_check_broker},
      {"check_topic", host_check_topic},
      {"check_topic_name", host_check_topic_name},
      {"check_listen", host_check_listen},
      {"check_advertised", host_check_advertised},
      {"set_broker", host_set_broker},
      {"clear_broker", host_clear_broker},
      {"resolve_broker", host_resolve_broker},
      {"resolve_topic", host_resolve_topic},
  };
  lua_newtable(vm);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    lua_pushlightuserdata(vm, load);
    lua_pushcclosure(vm, functions[i].func, 1);
    lua_setfield(vm, -2, functions[i].name);
  }
  lua_pushinteger(vm, LUA_CONFIG_MEMORY_BYTES);
  lua_setfield(vm, -2, "memory_bytes");
}
