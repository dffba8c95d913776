// SPDX-License-Identifier: Apache-2.0
#include "wire/types.h"

#include <string.h>

#include "base/check.h"

struct wire_string wire_string_from(const char *text)
{
  if (text == NULL) {
    return (struct wire_string){NULL, -1};
  }
  size_t length = strlen(text);
  CHECK(length <= INT32_MAX);
  return (struct wire_string){text, (int32_t)length};
}

bool wire_string_is(struct wire_string string, const char *text)
{
  size_t length = strlen(text);
  return string.length >= 0 && (size_t)string.length == length &&
         (length == 0 || memcmp(string.data, text, length) == 0);
}

bool wire_string_equal(struct wire_string a, struct wire_string b)
{
  if (a.length < 0 || b.length < 0) {
    return a.length < 0 && b.length < 0;
  }
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, (size_t)a.length) == 0);
}
