// SPDX-License-Identifier: Apache-2.0
//
// Words for what a policy did wrong: "partitioner of topic clicks: config.lua:12: attempt to index ...". They go to
// clients and to the log, so they are one line of UTF-8.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lua/policy_vm_private.h"

enum {
  FAILURE_PATH_MAX = 200, ///< bytes of a file's name
};

/// Cuts a text behind `size` bytes, or before the character that is cut by that.
static void failure_cut(char *text, size_t size)
{
  size_t length = strnlen(text, size + 1);
  if (length > size) {
    length = size;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
      length--;
    }
    text[length] = '\0';
  }
}

/// Bytes of the UTF-8 character at `at`; 0: it is none.
static size_t failure_character(const unsigned char *at)
{
  if (at[0] < 0x80) {
    return 1;
  }
  size_t size = at[0] >= 0xc2 && at[0] < 0xe0   ? 2
                : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                : 0;
  for (size_t i = 1; i < size; i++) {
    if ((at[i] & 0xc0) != 0x80) {
      return 0;
    }
  }
  if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
      (at[0] == 0xf4 && at[1] > 0x8f)) {
    return 0;
  }
  return size;
}

/// Makes one line of UTF-8 of what may be anything, in place.
static void failure_clean(char *text)
{
  for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
    size_t size = failure_character(at);
    if (size == 0) {
      *at = '?';
    } else if (size == 1 && iscntrl(*at)) {
      *at = ' ';
    }
    at += size == 0 ? 1 : size;
  }
}

/// Whether a text begins with a place in a file of the set, as Lua puts it there: "config.lua:12: ". A long path comes
/// as
/// "...policies/x.lua:12: ".
///
/// @param[out] source  the file
/// @param[out] rest    what follows the path: ":12: ..."
static bool failure_has_place(const struct policy_set *set, const char *text, const char **source, const char **rest)
{
  bool is_cut = strncmp(text, "...", 3) == 0;
  for (int i = 0; i < set->source_count; i++) {
    const char *path = set->sources[i].path;
    size_t length = strlen(path);
    const char *colon = strchr(text + (is_cut ? 3 : 0), ':');
    size_t given = colon != NULL ? (size_t)(colon - text) - (is_cut ? 3 : 0) : 0;
    bool is_same = is_cut ? given > 0 && given <= length && strncmp(path + length - given, text + 3, given) == 0
                          : strncmp(text, path, length) == 0 && text[length] == ':';
    const char *at = is_cut ? colon : text + length;
    if (is_same && at != NULL && isdigit((unsigned char)at[1])) {
      *source = path;
      *rest = at;
      return true;
    }
  }
  return false;
}

/// What follows a place in our own Lua code, which is there when the user's function ended in a tail call:
/// "luka/x.lua:7: ".
static const char *failure_skip_place(const char *text)
{
  static const char prefix[] = "luka/";
  const char *colon = strncmp(text, prefix, sizeof prefix - 1) == 0 ? strchr(text, ':') : NULL;
  if (colon == NULL || !isdigit((unsigned char)colon[1])) {
    return text;
  }
  const char *end = colon + 1 + strspn(colon + 1, "0123456789");
  return end[0] == ':' && end[1] == ' ' ? end + 2 : text;
}

void policy_vm_describe(const struct policy_set *set, const struct policy *policy, const char *topic, const char *text,
                        struct policy_failure *failure)
{
  char place[FAILURE_PATH_MAX + 16];
  const char *source = policy->source != NULL ? policy->source : "config.lua";
  const char *rest = text;
  if (failure_has_place(set, text, &source, &rest)) {
    snprintf(place, sizeof place, "%.*s", FAILURE_PATH_MAX, source);
  } else {
    snprintf(place, sizeof place, "%.*s:%d: ", FAILURE_PATH_MAX, source, policy->line);
    rest = failure_skip_place(text);
  }
  char title[POLICY_TITLE_SIZE];
  char line[sizeof title + sizeof place + LUA_STATE_TEXT_SIZE + 64];
  policy_title(policy, topic, title, sizeof title);
  snprintf(line, sizeof line, "%s: %s%s", title, place, rest);
  failure_cut(line, sizeof failure->text - 1);
  failure_clean(line);
  snprintf(failure->text, sizeof failure->text, "%s", line);
}

void policy_vm_fail(const struct policy_call *call, const struct policy_set *set, const char *text, int32_t index,
                    struct policy_failure *failure)
{
  policy_vm_describe(set, call->policy, call->topic, text, failure);
  failure->index = index;
}
