// SPDX-License-Identifier: Apache-2.0
#include "lua/native_text.h"

#include <ctype.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lua/state.h"
#include "lua/text_search.h"

static int text_find(lua_State *vm);
static int text_match(lua_State *vm);
static int text_gmatch(lua_State *vm);
static int text_gsub(lua_State *vm);
static int text_search(lua_State *vm);
static int text_poll(lua_State *vm);

int native_text_open(struct lua_State *vm)
{
  static const luaL_Reg functions[] = {
      {"find", text_find}, {"match", text_match},   {"gmatch", text_gmatch},
      {"gsub", text_gsub}, {"search", text_search}, {"poll", text_poll},
  };
  lua_newtable(vm);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    lua_pushcfunction(vm, functions[i].func);
    lua_setfield(vm, -2, functions[i].name);
  }
  return 1;
}

/// poll(): for functions that take a while with a long text, see lua_state_poll()
static int text_poll(lua_State *vm)
{
  lua_state_poll(vm);
  return 0;
}

/// Takes text and pattern from the arguments 1 and 2.
static void search_create(lua_State *vm, struct text_search *search, bool has_anchor)
{
  size_t text_size = 0;
  size_t pattern_size = 0;
  search->vm = vm;
  search->text = luaL_checklstring(vm, 1, &text_size);
  search->text_end = search->text + text_size;
  search->pattern = luaL_checklstring(vm, 2, &pattern_size);
  search->pattern_end = search->pattern + pattern_size;
  search->steps = TEXT_POLL_STEPS;
  search->level = 1;
  search->is_anchored = has_anchor && pattern_size > 0 && search->pattern[0] == '^';
  search->pattern += search->is_anchored;
}

/// Where argument `index` says that a search begins: from 1, or from the end below 0.
static const char *search_begin(const struct text_search *search, int index)
{
  ptrdiff_t size = search->text_end - search->text;
  ptrdiff_t begin = luaL_optinteger(search->vm, index, 1);
  begin = begin < 0 ? begin + size : begin - 1;
  begin = begin < 0 ? 0 : begin;
  return search->text + (begin > size ? size : begin);
}

/// The bytes of a capture; capture 0 of a pattern without any is the whole match. Its position instead, from 1, when it
/// is one.
///
/// @return the position, or 0
static ptrdiff_t search_capture(const struct text_search *search, int index, const char *start, const char *stop,
                                const char **bytes, size_t *size)
{
  if (index >= search->count) {
    if (index > 0) {
      text_search_refuse(search, "invalid capture index");
    }
    *bytes = start;
    *size = (size_t)(stop - start);
    return 0;
  }
  ptrdiff_t length = search->captures[index].length;
  if (length == CAPTURE_OPEN) {
    text_search_refuse(search, "unfinished capture");
  }
  *bytes = search->captures[index].start;
  *size = length > 0 ? (size_t)length : 0;
  return length == CAPTURE_POSITION ? *bytes - search->text + 1 : 0;
}

/// Pushes all captures, or the whole match when there are none and `start` is given; returns how many.
static int search_push(const struct text_search *search, const char *start, const char *stop)
{
  int count = search->count == 0 && start != NULL ? 1 : search->count;
  luaL_checkstack(search->vm, count, "too many captures");
  for (int i = 0; i < count; i++) {
    const char *bytes = NULL;
    size_t size = 0;
    ptrdiff_t position = search_capture(search, i, start, stop, &bytes, &size);
    if (position > 0) {
      lua_pushinteger(search->vm, position);
    } else {
      lua_pushlstring(search->vm, bytes, size);
    }
  }
  return count;
}

/// find(s, pattern [, begin [, is_plain]])
static int text_find(lua_State *vm)
{
  struct text_search search;
  search_create(vm, &search, true);
  const char *at = search_begin(&search, 3);
  const char *start = NULL;
  const char *stop = NULL;
  size_t size = 0;
  const char *pattern = lua_tolstring(vm, 2, &size);
  search.count = 0;
  if (lua_toboolean(vm, 4) || (strpbrk(pattern, "^$*+?.([%-") == NULL && strlen(pattern) == size)) {
    // Takes linear time.
    start = memmem(at, (size_t)(search.text_end - at), pattern, size);
    stop = start != NULL ? start + size : NULL;
  } else {
    stop = text_search_from(&search, at, &start);
  }
  if (stop == NULL) {
    lua_pushnil(vm);
    return 1;
  }
  lua_pushinteger(vm, start - search.text + 1);
  lua_pushinteger(vm, stop - search.text);
  return 2 + search_push(&search, NULL, NULL);
}

/// match(s, pattern [, begin])
static int text_match(lua_State *vm)
{
  struct text_search search;
  const char *start = NULL;
  search_create(vm, &search, true);
  const char *stop = text_search_from(&search, search_begin(&search, 3), &start);
  if (stop == NULL) {
    lua_pushnil(vm);
    return 1;
  }
  return search_push(&search, start, stop);
}

/// search(s, pattern, from): errors are about the caller of the function that calls it.
static int text_search(lua_State *vm)
{
  struct text_search search;
  const char *start = NULL;
  search_create(vm, &search, true);
  search.level = 2;
  const char *stop = text_search_from(&search, search_begin(&search, 3), &start);
  if (stop == NULL) {
    lua_pushnil(vm);
    return 1;
  }
  lua_pushinteger(vm, start - search.text + 1);
  lua_pushinteger(vm, stop - search.text);
  return 2 + search_push(&search, start, stop);
}

/// The iterator: its upvalues are the text, the pattern and how far it came.
static int text_gmatch_next(lua_State *vm)
{
  lua_settop(vm, 0);
  lua_pushvalue(vm, lua_upvalueindex(1));
  lua_pushvalue(vm, lua_upvalueindex(2));
  struct text_search search;
  const char *start = NULL;
  search_create(vm, &search, false);
  ptrdiff_t from = lua_tointeger(vm, lua_upvalueindex(3));
  const char *stop =
      from <= search.text_end - search.text ? text_search_from(&search, search.text + from, &start) : NULL;
  if (stop == NULL) {
    return 0;
  }
  lua_pushinteger(vm, stop - search.text + (stop == start));
  lua_replace(vm, lua_upvalueindex(3));
  return search_push(&search, start, stop);
}

/// gmatch(s, pattern): '^' is no anchor here.
static int text_gmatch(lua_State *vm)
{
  luaL_checkstring(vm, 1);
  luaL_checkstring(vm, 2);
  lua_settop(vm, 2);
  lua_pushinteger(vm, 0);
  lua_pushcclosure(vm, text_gmatch_next, 3);
  return 1;
}

/// Adds a replacement in which %0 to %9 stand for the match and its captures.
static void gsub_add(struct text_search *search, luaL_Buffer *result, const char *text, size_t size, const char *start,
                     const char *stop)
{
  for (size_t i = 0; i < size; i++) {
    if (text[i] != '%') {
      luaL_addchar(result, text[i]);
      continue;
    }
    i++;
    // A '%' at the very end stands for the zero byte behind the text, as in Lua 5.1.
    char letter = i < size ? text[i] : '\0';
    if (!isdigit((unsigned char)letter)) {
      luaL_addchar(result, letter);
    } else if (letter == '0') {
      luaL_addlstring(result, start, (size_t)(stop - start));
    } else {
      const char *bytes = NULL;
      size_t length = 0;
      ptrdiff_t position = search_capture(search, letter - '1', start, stop, &bytes, &length);
      char digits[24];
      if (position > 0) {
        length = (size_t)snprintf(digits, sizeof digits, "%td", position);
        bytes = digits;
      }
      luaL_addlstring(result, bytes, length);
    }
  }
}

/// gsub(s, pattern, text [, max])
static int text_gsub(lua_State *vm)
{
  struct text_search search;
  search_create(vm, &search, true);
  size_t size = 0;
  const char *text = luaL_checklstring(vm, 3, &size);
  ptrdiff_t max = luaL_optinteger(vm, 4, search.text_end - search.text + 1);
  ptrdiff_t count = 0;
  const char *at = search.text;
  luaL_Buffer result;
  luaL_buffinit(vm, &result);
  while (count < max) {
    const char *start = NULL;
    const char *stop = text_search_from(&search, at, &start);
    if (stop == NULL) {
      break;
    }
    count++;
    luaL_addlstring(&result, at, (size_t)(start - at));
    gsub_add(&search, &result, text, size, start, stop);
    at = stop;
    if (stop == start) {
      if (at == search.text_end) {
        break;
      }
      luaL_addchar(&result, *at);
      at++;
    }
    if (search.is_anchored) {
      break;
    }
  }
  luaL_addlstring(&result, at, (size_t)(search.text_end - at));
  luaL_pushresult(&result);
  lua_pushinteger(vm, count);
  return 2;
}
