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

enum {
  TEXT_CAPTURES_MAX = 32,
  TEXT_DEPTH_MAX = 200,   ///< nested attempts, each a C frame
  TEXT_POLL_STEPS = 4096, ///< between two looks at the clock; some 20 us
};

/// In place of a capture's length.
enum { CAPTURE_OPEN = -1, CAPTURE_POSITION = -2 };

/// One search.
struct text_search {
  lua_State *vm;           ///< for errors
  const char *text;        ///< what is searched; borrowed from the Lua stack
  const char *text_end;    ///< behind it
  const char *pattern;     ///< without its anchor
  const char *pattern_end; ///< behind it
  bool is_anchored;        ///< began with '^'
  int level;               ///< of the caller whom errors are about, as luaL_where() takes it
  int depth;               ///< frames of match_here()
  int steps;               ///< until the next look at the clock
  int count;               ///< captures begun
  struct {
    const char *start; ///< first byte
    ptrdiff_t length;  ///< bytes, CAPTURE_OPEN or CAPTURE_POSITION
  } captures[TEXT_CAPTURES_MAX];
};

static int text_find(lua_State *vm);
static int text_match(lua_State *vm);
static int text_gmatch(lua_State *vm);
static int text_gsub(lua_State *vm);
static int text_search(lua_State *vm);
static const char *match_here(struct text_search *search, const char *at, const char *pattern);

int native_text_open(struct lua_State *vm)
{
  static const luaL_Reg functions[] = {
      {"find", text_find}, {"match", text_match}, {"gmatch", text_gmatch}, {"gsub", text_gsub}, {"search", text_search},
  };
  lua_newtable(vm);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    lua_pushcfunction(vm, functions[i].func);
    lua_setfield(vm, -2, functions[i].name);
  }
  return 1;
}

/// Raises an error at the line of the caller.
static void search_refuse(const struct text_search *search, const char *message)
{
  luaL_where(search->vm, search->level);
  lua_pushstring(search->vm, message);
  lua_concat(search->vm, 2);
  lua_error(search->vm);
}

// ---- one item of a pattern ----

static void search_step(struct text_search *search)
{
  if (--search->steps <= 0) {
    search->steps = TEXT_POLL_STEPS;
    lua_state_poll(search->vm);
  }
}

/// Behind the item that begins at `pattern`: a character, an escape or a set.
static const char *item_end(const struct text_search *search, const char *pattern)
{
  const char *end = search->pattern_end;
  char first = *pattern++;
  if (first == '%') {
    if (pattern == end) {
      search_refuse(search, "malformed pattern (ends with '%')");
    }
    return pattern + 1;
  }
  if (first != '[') {
    return pattern;
  }
  if (pattern != end && *pattern == '^') {
    pattern++;
  }
  // A ']' right at the beginning is a member.
  do {
    if (pattern == end || (*pattern == '%' && pattern + 1 == end)) {
      search_refuse(search, "malformed pattern (missing ']')");
    }
    pattern += *pattern == '%' ? 2 : 1;
  } while (pattern == end || *pattern != ']');
  return pattern + 1;
}

/// Whether a byte is of the class of an escape such as %a; an escape that is none stands for itself.
static bool class_has(unsigned char byte, unsigned char letter)
{
  bool is_in = false;
  switch (tolower(letter)) {
    case 'a':
      is_in = isalpha(byte);
      break;
    case 'c':
      is_in = iscntrl(byte);
      break;
    case 'd':
      is_in = isdigit(byte);
      break;
    case 'g':
      is_in = isgraph(byte);
      break;
    case 'l':
      is_in = islower(byte);
      break;
    case 'p':
      is_in = ispunct(byte);
      break;
    case 's':
      is_in = isspace(byte);
      break;
    case 'u':
      is_in = isupper(byte);
      break;
    case 'w':
      is_in = isalnum(byte);
      break;
    case 'x':
      is_in = isxdigit(byte);
      break;
    case 'z':
      is_in = byte == '\0';
      break;
    default:
      return byte == letter;
  }
  return is_in != (isupper(letter) != 0);
}

/// Whether the set from `set`, its '[', to `last`, its ']', has a byte.
static bool set_has(unsigned char byte, const char *set, const char *last)
{
  bool is_member = true;
  const char *at = set + 1;
  if (*at == '^') {
    is_member = false;
    at++;
  }
  while (at < last) {
    if (*at == '%') {
      if (class_has(byte, (unsigned char)at[1])) {
        return is_member;
      }
      at += 2;
    } else if (at[1] == '-' && at + 2 < last) {
      if ((unsigned char)at[0] <= byte && byte <= (unsigned char)at[2]) {
        return is_member;
      }
      at += 3;
    } else {
      if ((unsigned char)*at == byte) {
        return is_member;
      }
      at++;
    }
  }
  return !is_member;
}

/// Whether the byte at `at`, if there is one, matches the item from `item` to `end`.
static bool item_has(struct text_search *search, const char *at, const char *item, const char *end)
{
  search_step(search);
  if (at >= search->text_end) {
    return false;
  }
  switch (*item) {
    case '.':
      return true;
    case '%':
      return class_has((unsigned char)*at, (unsigned char)item[1]);
    case '[':
      return set_has((unsigned char)*at, item, end - 1);
    default:
      return *item == *at;
  }
}

// ---- matching: each function returns the end of the match, or NULL ----

/// As many as there are, then fewer.
static const char *match_most(struct text_search *search, const char *at, const char *item, const char *end)
{
  ptrdiff_t count = 0;
  while (item_has(search, at + count, item, end)) {
    count++;
  }
  for (; count >= 0; count--) {
    const char *stop = match_here(search, at + count, end + 1);
    if (stop != NULL) {
      return stop;
    }
  }
  return NULL;
}

/// None, then more.
static const char *match_least(struct text_search *search, const char *at, const char *item, const char *end)
{
  for (;;) {
    const char *stop = match_here(search, at, end + 1);
    if (stop != NULL || !item_has(search, at, item, end)) {
      return stop;
    }
    at++;
  }
}

static const char *match_open(struct text_search *search, const char *at, const char *rest, ptrdiff_t length)
{
  if (search->count >= TEXT_CAPTURES_MAX) {
    search_refuse(search, "too many captures");
  }
  search->captures[search->count].start = at;
  search->captures[search->count].length = length;
  search->count++;
  const char *stop = match_here(search, at, rest);
  if (stop == NULL) {
    search->count--;
  }
  return stop;
}

static const char *match_close(struct text_search *search, const char *at, const char *rest)
{
  int index = search->count - 1;
  while (index >= 0 && search->captures[index].length != CAPTURE_OPEN) {
    index--;
  }
  if (index < 0) {
    search_refuse(search, "invalid pattern capture");
    return NULL;
  }
  search->captures[index].length = at - search->captures[index].start;
  const char *stop = match_here(search, at, rest);
  if (stop == NULL) {
    search->captures[index].length = CAPTURE_OPEN;
  }
  return stop;
}

/// %1 to %9: the text of an earlier capture once more.
static const char *match_again(struct text_search *search, const char *at, char digit)
{
  int index = digit - '1';
  if (index < 0 || index >= search->count || search->captures[index].length == CAPTURE_OPEN) {
    search_refuse(search, "invalid capture index");
    return NULL;
  }
  ptrdiff_t length = search->captures[index].length;
  if (length < 0 || search->text_end - at < length || memcmp(search->captures[index].start, at, (size_t)length) != 0) {
    return NULL;
  }
  return at + length;
}

/// %bxy: from x to the y that balances it.
static const char *match_balanced(struct text_search *search, const char *at, const char *pair)
{
  if (search->pattern_end - pair < 2) {
    search_refuse(search, "unbalanced pattern");
  }
  if (at == search->text_end || *at != pair[0]) {
    return NULL;
  }
  int64_t open = 1;
  while (++at < search->text_end) {
    search_step(search);
    if (*at == pair[1]) {
      if (--open == 0) {
        return at + 1;
      }
    } else if (*at == pair[0]) {
      open++;
    }
  }
  return NULL;
}

/// %f[set]: between a byte that the set has not and one that it has; beyond the ends are zero bytes.
///
/// @return behind the set in the pattern, or NULL
static const char *match_frontier(struct text_search *search, const char *at, const char *set)
{
  if (set == search->pattern_end || *set != '[') {
    search_refuse(search, "missing '[' after '%f' in pattern");
  }
  const char *end = item_end(search, set);
  unsigned char before = at == search->text ? '\0' : (unsigned char)at[-1];
  unsigned char behind = at == search->text_end ? '\0' : (unsigned char)*at;
  return !set_has(before, set, end - 1) && set_has(behind, set, end - 1) ? end : NULL;
}

/// The rest of the match behind a plain item and its suffix, from `item` to `end`, where that needs another frame.
static const char *match_suffix(struct text_search *search, const char *at, const char *item, const char *end)
{
  switch (*end) {
    case '*':
      return match_most(search, at, item, end);
    case '+':
      return item_has(search, at, item, end) ? match_most(search, at + 1, item, end) : NULL;
    default:
      return match_least(search, at, item, end);
  }
}

/// Steps over an escape that is more than a class. Leaves `*pattern` alone when it is none.
///
/// @return where the match goes on, or NULL
static const char *match_escape(struct text_search *search, const char *at, const char **pattern)
{
  const char *escape = *pattern;
  char letter = escape + 1 == search->pattern_end ? '\0' : escape[1];
  if (letter == 'b') {
    *pattern = escape + 4;
    return match_balanced(search, at, escape + 2);
  }
  if (letter == 'f') {
    const char *end = match_frontier(search, at, escape + 2);
    *pattern = end;
    return end != NULL ? at : NULL;
  }
  if (isdigit((unsigned char)letter)) {
    *pattern = escape + 2;
    return match_again(search, at, letter);
  }
  return at;
}

static const char *match_rest(struct text_search *search, const char *at, const char *pattern)
{
  const char *pattern_end = search->pattern_end;
  while (pattern != pattern_end) {
    if (*pattern == '(') {
      bool is_position = pattern + 1 != pattern_end && pattern[1] == ')';
      return match_open(search, at, pattern + (is_position ? 2 : 1), is_position ? CAPTURE_POSITION : CAPTURE_OPEN);
    }
    if (*pattern == ')') {
      return match_close(search, at, pattern + 1);
    }
    if (*pattern == '$' && pattern + 1 == pattern_end) {
      return at == search->text_end ? at : NULL;
    }
    if (*pattern == '%') {
      const char *before = pattern;
      at = match_escape(search, at, &pattern);
      if (at == NULL) {
        return NULL;
      }
      if (pattern != before) {
        search_step(search);
        continue;
      }
    }
    const char *end = item_end(search, pattern);
    char suffix = end == pattern_end ? '\0' : *end;
    if (suffix == '*' || suffix == '+' || suffix == '-') {
      return match_suffix(search, at, pattern, end);
    }
    bool is_there = item_has(search, at, pattern, end);
    if (suffix == '?') {
      const char *stop = is_there ? match_here(search, at + 1, end + 1) : NULL;
      if (stop != NULL) {
        return stop;
      }
      pattern = end + 1;
      continue;
    }
    if (!is_there) {
      return NULL;
    }
    at++;
    pattern = end;
  }
  return at;
}

static const char *match_here(struct text_search *search, const char *at, const char *pattern)
{
  if (++search->depth > TEXT_DEPTH_MAX) {
    search_refuse(search, "pattern too complex");
  }
  const char *stop = match_rest(search, at, pattern);
  search->depth--;
  return stop;
}

/// The first match that begins at `at` or behind it; with an anchor only at `at`.
///
/// @param[out] start  where it begins
/// @return its end, or NULL
static const char *search_from(struct text_search *search, const char *at, const char **start)
{
  for (; at <= search->text_end; at++) {
    search->count = 0;
    search->depth = 0;
    search_step(search);
    const char *stop = match_here(search, at, search->pattern);
    if (stop != NULL) {
      *start = at;
      return stop;
    }
    if (search->is_anchored) {
      return NULL;
    }
  }
  return NULL;
}

// ---- functions ----

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
      search_refuse(search, "invalid capture index");
    }
    *bytes = start;
    *size = (size_t)(stop - start);
    return 0;
  }
  ptrdiff_t length = search->captures[index].length;
  if (length == CAPTURE_OPEN) {
    search_refuse(search, "unfinished capture");
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
    stop = search_from(&search, at, &start);
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
  const char *stop = search_from(&search, search_begin(&search, 3), &start);
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
  const char *stop = search_from(&search, search_begin(&search, 3), &start);
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
  const char *stop = from <= search.text_end - search.text ? search_from(&search, search.text + from, &start) : NULL;
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
    const char *stop = search_from(&search, at, &start);
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
