// SPDX-License-Identifier: Apache-2.0
//
// How C-made modules exchange what plain Lua values cannot hold: offsets and timestamps, which are numbers while that
// is exact and int64 cdata beyond (DESIGN.md: both are accepted back), and expected failures, which are returned as nil
// and an error with `code` and `message`. All functions may raise: no owned C memory in the callers' hands.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lua_State;

enum { LUA_VALUE_CDATA = 10 }; ///< what lua_type() says of FFI objects; LuaJIT has no name for it in its headers

/// Pushes an integer: a number up to 2^53 either way, an int64 cdata beyond.
void lua_value_push_int64(struct lua_State *vm, int64_t value);

/// Sets field `name` of the table on top of the stack to an integer.
void lua_value_set_int64(struct lua_State *vm, const char *name, int64_t value);

/// Reads an integer given as a whole number or as an int64 or uint64 cdata.
///
/// @param[out] value  untouched on failure
/// @return false: it is something else, has a fraction or is out of range
bool lua_value_get_int64(struct lua_State *vm, int index, int64_t *value);

/// Pushes an error: a table with `code` (the name of an ERR_* in lower case, "corrupt_batch") and `message`; tostring()
/// gives the message.
void lua_value_push_error(struct lua_State *vm, int code, const char *message);

/// Pushes nil and an error made of error_last(); returns 2, so that it can stand in a C function's return statement.
///
/// @param code  ERR_*; when error_last() is about something else, its general text is the message
int lua_value_fail(struct lua_State *vm, int code);

/// Makes it an error to read or set other names of the table on top than those it has, or could have: a misspelt one is
/// found at the first call. Pops the text on top, which says which there are: "a segment has topic and path".
///
/// @param optional  names that may be nil, and be set; NULL ends them
void lua_value_restrict(struct lua_State *vm, const char *const *optional);

/// A function for Lua, log(level, text): a line in the diagnostic log, by "error", "warn", "info" or "debug".
int lua_value_log(struct lua_State *vm);
