// SPDX-License-Identifier: Apache-2.0
//
// Lua's patterns: the search itself, for native_text.c. It counts its steps, and looks at the clock every few thousand
// (lua_state_poll()); errors are raised in the Lua state, so nothing that is owned may lie around.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lua_State;

enum {
  TEXT_CAPTURES_MAX = 32,
  TEXT_POLL_STEPS = 4096, ///< between two looks at the clock; some 20 us
};

/// In place of a capture's length.
enum { CAPTURE_OPEN = -1, CAPTURE_POSITION = -2 };

/// One search.
struct text_search {
  struct lua_State *vm;    ///< for errors
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

/// The first match that begins at `at` or behind it; with an anchor only at `at`. Raises for what is no pattern.
///
/// @param[out] start  where it begins
/// @return its end, or NULL
const char *text_search_from(struct text_search *search, const char *at, const char **start);

/// Raises an error at the line of the caller.
void text_search_refuse(const struct text_search *search, const char *message);
