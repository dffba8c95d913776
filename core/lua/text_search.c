// SPDX-License-Identifier: Apache-2.0
#include "lua/text_search.h"

#include <ctype.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>
#include <string.h>

#include "lua/state.h"

enum {
  TEXT_DEPTH_MAX = 200, ///< nested attempts, each a C frame
  TEXT_STEP_BYTES = 32, ///< bytes that are compared in the time of a step
};

static const char *match_here(struct text_search *search, const char *at, const char *pattern);

void text_search_refuse(const struct text_search *search, const char *message)
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

/// A comparison of that many bytes counts as so many steps.
static void search_steps(struct text_search *search, ptrdiff_t bytes)
{
  ptrdiff_t steps = bytes / TEXT_STEP_BYTES;
  search->steps = steps < search->steps ? search->steps - (int)steps : 0;
  search_step(search);
}

/// Behind the item that begins at `pattern`: a character, an escape or a set.
static const char *item_end(const struct text_search *search, const char *pattern)
{
  const char *end = search->pattern_end;
  char first = *pattern++;
  if (first == '%') {
    if (pattern == end) {
      text_search_refuse(search, "malformed pattern (ends with '%')");
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
      text_search_refuse(search, "malformed pattern (missing ']')");
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
    text_search_refuse(search, "too many captures");
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
    text_search_refuse(search, "invalid pattern capture");
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
    text_search_refuse(search, "invalid capture index");
    return NULL;
  }
  ptrdiff_t length = search->captures[index].length;
  if (length < 0 || search->text_end - at < length) {
    return NULL;
  }
  search_steps(search, length);
  return memcmp(search->captures[index].start, at, (size_t)length) == 0 ? at + length : NULL;
}

/// %bxy: from x to the y that balances it.
static const char *match_balanced(struct text_search *search, const char *at, const char *pair)
{
  if (search->pattern_end - pair < 2) {
    text_search_refuse(search, "unbalanced pattern");
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
    text_search_refuse(search, "missing '[' after '%f' in pattern");
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
    text_search_refuse(search, "pattern too complex");
  }
  const char *stop = match_rest(search, at, pattern);
  search->depth--;
  return stop;
}

const char *text_search_from(struct text_search *search, const char *at, const char **start)
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
