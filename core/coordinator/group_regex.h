// SPDX-License-Identifier: Apache-2.0
//
// Regular expressions of consumer groups (KIP-848): RE2, whose time is linear in the text and whose memory is bounded,
// whatever a client sends. The one file of C++ is behind this. Any thread; an expression belongs to one at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  GROUP_REGEX_LENGTH_MAX = 4096,        ///< bytes of an expression
  GROUP_REGEX_MEMORY_MAX = 1024 * 1024, ///< bytes that an expression may take, compiled and at work
};

struct group_regex;

/// Compiles an expression.
///
/// @param[out] why  NULL, or what is wrong with it, in Kafka's words ("missing closing ]"); borrowed for ever
/// @return owned: group_regex_delete(); NULL: it is none, or too large
struct group_regex *group_regex_new(const char *text, int32_t length, const char **why);

/// NULL is fine.
void group_regex_delete(struct group_regex *regex);

/// The whole of the name matches.
bool group_regex_matches(const struct group_regex *regex, const char *name, int32_t length);

#ifdef __cplusplus
}
#endif
