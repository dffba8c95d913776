// SPDX-License-Identifier: Apache-2.0
#include "lua/native_config_defs.h"

#include <lua.h>

#include "metadata/broker_config.h"
#include "metadata/group_config.h"
#include "metadata/topic_config.h"

enum { NATIVE_TAKES_SIZE = 512 };

static void native_push_defs(lua_State *vm, const struct config_def *defs, int count, bool is_broker);
static void native_push_foreign(lua_State *vm);

int native_config_defs_open(struct lua_State *vm)
{
  lua_newtable(vm);
  native_push_defs(vm, broker_config_defs(), BROKER_CONFIG_COUNT, true);
  lua_setfield(vm, -2, "broker");
  native_push_defs(vm, topic_config_defs(), TOPIC_CONFIG_COUNT, false);
  lua_setfield(vm, -2, "topic");
  native_push_defs(vm, group_config_defs(), GROUP_CONFIG_COUNT, false);
  lua_setfield(vm, -2, "group");
  native_push_foreign(vm);
  lua_setfield(vm, -2, "foreign");
  return 1;
}

static const char *native_kind(enum config_type type)
{
  switch (type) {
    case CONFIG_BOOL:
      return "bool";
    case CONFIG_INT:
      return "int";
    case CONFIG_LEVEL:
      return "level";
    case CONFIG_LONG:
      return "long";
    case CONFIG_DOUBLE:
      return "double";
    case CONFIG_ENUM:
      return "enum";
    case CONFIG_FLAGS:
      return "flags";
    case CONFIG_REPLICAS:
      return "replicas";
    case CONFIG_LIST:
      return "list";
    case CONFIG_TEXT:
    case CONFIG_NAME:
      break;
  }
  return "text";
}

/// Sets a field of the table on top; NULL: none.
static void native_set_text(lua_State *vm, const char *field, const char *text)
{
  if (text != NULL) {
    lua_pushstring(vm, text);
    lua_setfield(vm, -2, field);
  }
}

static void native_set_flag(lua_State *vm, const char *field, bool is_set)
{
  lua_pushboolean(vm, is_set);
  lua_setfield(vm, -2, field);
}

/// Pushes what all definitions have.
static void native_push_def(lua_State *vm, const struct config_def *def)
{
  char takes[NATIVE_TAKES_SIZE];
  lua_createtable(vm, 0, 12);
  native_set_text(vm, "name", def->name);
  native_set_text(vm, "type", config_type_name(def->type));
  native_set_text(vm, "kind", native_kind(def->type));
  native_set_text(vm, "default", def->default_text);
  native_set_text(vm, "broker_name", def->broker_name);
  native_set_text(vm, "takes", config_describe(def, takes, sizeof takes));
  native_set_text(vm, "doc", def->doc);
  if (def->min != INT64_MIN) {
    lua_pushnumber(vm, (lua_Number)def->min);
    lua_setfield(vm, -2, "min");
  }
  if (def->max != INT64_MAX) {
    lua_pushnumber(vm, (lua_Number)def->max);
    lua_setfield(vm, -2, "max");
  }
  if (def->valid[0] != NULL) {
    lua_newtable(vm);
    for (int i = 0; i < CONFIG_VALID_MAX && def->valid[i] != NULL; i++) {
      lua_pushstring(vm, def->valid[i]);
      lua_rawseti(vm, -2, i + 1);
    }
    lua_setfield(vm, -2, "valid");
  }
}

static void native_push_defs(lua_State *vm, const struct config_def *defs, int count, bool is_broker)
{
  lua_createtable(vm, count, 0);
  for (int i = 0; i < count; i++) {
    native_push_def(vm, &defs[i]);
    enum broker_config_index index = (enum broker_config_index)i;
    // Configs of topics and groups are all heeded at once.
    native_set_flag(vm, "is_supported", !is_broker || broker_config_is_supported(index));
    native_set_flag(vm, "is_dynamic", !is_broker || broker_config_is_changeable(defs[i].name));
    native_set_flag(vm, "is_reloadable", !is_broker || broker_config_is_reloadable(index));
    lua_rawseti(vm, -2, i + 1);
  }
}

static void native_push_foreign(lua_State *vm)
{
  int count = 0;
  const struct config_foreign *foreign = broker_config_foreign(&count);
  lua_createtable(vm, 0, count);
  for (int i = 0; i < count; i++) {
    if (foreign[i].hint != NULL) {
      lua_pushstring(vm, foreign[i].hint);
    } else {
      lua_pushboolean(vm, false);
    }
    lua_setfield(vm, -2, foreign[i].name);
  }
}
