// SPDX-License-Identifier: Apache-2.0
//
// Events of hooks as Lua tables, and back: what a function has put into a field that is open is read when it is done.
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/script_private.h"
#include "lua/value.h"
#include "policy/hooks.h"

enum {
  EVENT_ENTRIES_MAX = 10000,     ///< most entries of a field that is read back
  EVENT_BYTES_MAX = 1024 * 1024, ///< most bytes of their texts
};

// ---- there ----

static void event_push_field(lua_State *vm, const struct hook_field *field)
{
  switch (field->kind) {
    case HOOK_TEXT:
      lua_pushstring(vm, field->text);
      break;
    case HOOK_NUMBER:
      lua_pushnumber(vm, (lua_Number)field->number);
      break;
    case HOOK_FLAG:
      lua_pushboolean(vm, field->flag);
      break;
    case HOOK_MAP:
      lua_createtable(vm, 0, field->count);
      for (int32_t i = 0; i < field->count; i++) {
        lua_pushstring(vm, field->pairs[i].name);
        if (field->pairs[i].value != NULL) {
          lua_pushstring(vm, field->pairs[i].value);
        } else {
          lua_pushboolean(vm, false);
        }
        lua_rawset(vm, -3);
      }
      break;
    case HOOK_NUMBERS:
      lua_createtable(vm, field->count, 0);
      for (int32_t i = 0; i < field->count; i++) {
        lua_pushinteger(vm, field->numbers[i]);
        lua_rawseti(vm, -2, i + 1);
      }
      break;
  }
}

void script_push_event(struct lua_State *vm, const struct hook_event *event)
{
  luaL_checkstack(vm, 4, "too deep");
  const char *names[HOOK_FIELDS_MAX + 1] = {NULL};
  lua_createtable(vm, 0, event->field_count);
  for (int i = 0; i < event->field_count; i++) {
    names[i] = event->fields[i].name;
    event_push_field(vm, &event->fields[i]);
    lua_setfield(vm, -2, names[i]);
  }
  luaL_Buffer text;
  luaL_buffinit(vm, &text);
  luaL_addstring(&text, hook_name(event->hook));
  for (int i = 0; i < event->field_count; i++) {
    luaL_addstring(&text, i == 0 ? " has " : i + 1 < event->field_count ? ", " : " and ");
    luaL_addstring(&text, names[i]);
  }
  luaL_pushresult(&text);
  lua_value_restrict(vm, names);
}

// ---- back ----

/// The text of a string, a number or a boolean at the top of the stack, in the event's arena; NULL: it is none of
/// these.
static const char *event_text(lua_State *vm, struct hook_event *event, int64_t *room)
{
  char number[64];
  size_t size = 0;
  const char *text = NULL;
  if (lua_type(vm, -1) == LUA_TSTRING) {
    text = lua_tolstring(vm, -1, &size);
  } else if (lua_type(vm, -1) == LUA_TNUMBER) {
    double value = lua_tonumber(vm, -1);
    size = (size_t)snprintf(number, sizeof number, value == floor(value) ? "%.0f" : "%.14g", value);
    text = fabs(value) <= 9007199254740992.0 ? number : NULL;
  } else if (lua_isboolean(vm, -1)) {
    text = lua_toboolean(vm, -1) ? "true" : "false";
    size = strlen(text);
  }
  *room -= (int64_t)size;
  return text != NULL && *room >= 0 && memchr(text, '\0', size) == NULL ? arena_strndup(&event->arena, text, size)
                                                                        : NULL;
}

static const char *event_read_map(lua_State *vm, struct hook_event *event, struct hook_field *field, int64_t *room)
{
  int32_t count = 0;
  for (lua_pushnil(vm); lua_next(vm, -2) != 0; lua_pop(vm, 1)) {
    count++;
  }
  if (count > EVENT_ENTRIES_MAX) {
    return "has too many entries";
  }
  struct hook_pair *pairs = arena_zalloc(&event->arena, sizeof *pairs * (size_t)(count + 1));
  int32_t at = 0;
  for (lua_pushnil(vm); lua_next(vm, -2) != 0; lua_pop(vm, 1)) {
    size_t size = 0;
    const char *name = lua_type(vm, -2) == LUA_TSTRING ? lua_tolstring(vm, -2, &size) : NULL;
    *room -= (int64_t)size;
    pairs[at].value = event_text(vm, event, room);
    if (name == NULL || *room < 0 || strlen(name) != size || pairs[at].value == NULL) {
      lua_pop(vm, 2);
      return "has to be a table of texts by name";
    }
    pairs[at++].name = arena_strndup(&event->arena, name, size);
  }
  field->pairs = pairs;
  field->count = count;
  return NULL;
}

static bool event_is_whole(lua_State *vm, int64_t least, int64_t most)
{
  double number = lua_type(vm, -1) == LUA_TNUMBER ? lua_tonumber(vm, -1) : NAN;
  return number == floor(number) && number >= (double)least && number <= (double)most;
}

static const char *event_read_numbers(lua_State *vm, struct hook_event *event, struct hook_field *field)
{
  size_t count = lua_objlen(vm, -1);
  if (count > INT32_MAX / 8) {
    return "has too many entries";
  }
  int32_t *numbers = arena_alloc(&event->arena, sizeof *numbers * (count + 1));
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(vm, -1, (int)i + 1);
    bool is_whole = event_is_whole(vm, INT32_MIN, INT32_MAX);
    numbers[i] = is_whole ? (int32_t)lua_tonumber(vm, -1) : 0;
    lua_pop(vm, 1);
    if (!is_whole) {
      return "has to be a list of whole numbers";
    }
  }
  field->numbers = numbers;
  field->count = (int32_t)count;
  return NULL;
}

/// Reads the value on top of the stack; what is wrong with it, or NULL.
static const char *event_read_field(lua_State *vm, struct hook_event *event, struct hook_field *field, int64_t *room)
{
  switch (field->kind) {
    case HOOK_TEXT: {
      const char *text = event_text(vm, event, room);
      if (text == NULL) {
        return "has to be a text";
      }
      field->text = text;
      return NULL;
    }
    case HOOK_NUMBER:
      if (!event_is_whole(vm, INT32_MIN, INT32_MAX)) {
        return "has to be a whole number";
      }
      field->number = (int64_t)lua_tonumber(vm, -1);
      return NULL;
    case HOOK_FLAG:
      if (!lua_isboolean(vm, -1)) {
        return "has to be true or false";
      }
      field->flag = lua_toboolean(vm, -1);
      return NULL;
    case HOOK_MAP:
      return lua_istable(vm, -1) ? event_read_map(vm, event, field, room) : "has to be a table of texts by name";
    case HOOK_NUMBERS:
      return lua_istable(vm, -1) ? event_read_numbers(vm, event, field) : "has to be a list of whole numbers";
  }
  return NULL;
}

/// Whether the value on top of the stack is what functions were given, in all its entries.
static bool event_is_same(lua_State *vm, const struct hook_field *field)
{
  event_push_field(vm, field);
  bool is_same = lua_rawequal(vm, -1, -2);
  if (!is_same && lua_istable(vm, -1) && lua_istable(vm, -2)) {
    int given = lua_gettop(vm);
    int is = given - 1;
    int64_t left = 0; // entries that are there and have not been found yet
    for (lua_pushnil(vm); lua_next(vm, given) != 0; lua_pop(vm, 1)) {
      left++;
    }
    is_same = true;
    for (lua_pushnil(vm); is_same && lua_next(vm, is) != 0; lua_pop(vm, 1)) {
      lua_pushvalue(vm, -2);
      lua_rawget(vm, given);
      is_same = lua_rawequal(vm, -1, -2);
      lua_pop(vm, 1);
      left--;
    }
    is_same = is_same && left == 0;
    lua_settop(vm, given);
  }
  lua_pop(vm, 1);
  return is_same;
}

/// What to say of a field that a function has changed, and may not.
static void event_refuse(const struct hook_event *event, const struct hook_field *field, char *text)
{
  const char *open[HOOK_FIELDS_MAX];
  int count = 0;
  for (int i = 0; i < event->field_count; i++) {
    if (event->fields[i].is_open) {
      open[count++] = event->fields[i].name;
    }
  }
  int length = snprintf(text, POLICY_TEXT_SIZE, "%s cannot be changed, %s", field->name,
                        count == 0 ? "and nothing else of it can" : "only ");
  for (int i = 0; i < count; i++) {
    const char *before = i == 0 ? "" : i + 1 < count ? ", " : " and ";
    length += snprintf(text + length, (size_t)(POLICY_TEXT_SIZE - length), "%s%s", before, open[i]);
  }
}

bool script_read_event(struct lua_State *vm, int place, struct hook_event *event, char *text)
{
  int64_t room = EVENT_BYTES_MAX;
  luaL_checkstack(vm, 12, "too deep");
  for (int i = 0; i < event->field_count; i++) {
    struct hook_field *field = &event->fields[i];
    lua_pushstring(vm, field->name);
    lua_rawget(vm, place);
    if (!field->is_open) {
      bool is_same = event_is_same(vm, field);
      lua_pop(vm, 1);
      if (!is_same) {
        event_refuse(event, field, text);
        return false;
      }
      continue;
    }
    const char *wrong = event_read_field(vm, event, field, &room);
    lua_pop(vm, 1);
    if (wrong != NULL) {
      snprintf(text, POLICY_TEXT_SIZE, "%s %s", field->name, wrong);
      return false;
    }
  }
  return true;
}
