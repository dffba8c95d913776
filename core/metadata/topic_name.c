// SPDX-License-Identifier: Apache-2.0
//
// Topic names: 1 to 249 bytes of ASCII letters, digits, '.', '_' and '-'; not "." and "..", because a partition's
// folder is named after it.
#include "metadata/topic_name.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { SHOWN_MAX = 800 };

static bool is_legal(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

static int refuse(char *message, const char *format, const char *name, size_t length)
{
  if (message) {
    char shown[SHOWN_MAX + 1] = "";
    memcpy(shown, name, length < SHOWN_MAX ? length : SHOWN_MAX);
    if (length > SHOWN_MAX) {
      int clipped = SHOWN_MAX;
      while (clipped > 0 && ((unsigned char)name[clipped] & 0xc0) == 0x80) {
        clipped--;
      }
      shown[clipped] = '\0';
    }
    snprintf(message, TOPIC_NAME_MESSAGE_SIZE, format, shown);
  }
  return ERR_INVALID;
}

int topic_name_validate(const char *name, size_t length, char *message)
{
  if (length == 0) {
    return refuse(message, "Topic name is invalid: the empty string is not allowed%s", "", 0);
  }
  if (length == 1 && name[0] == '.') {
    return refuse(message, "Topic name is invalid: '%s' is not allowed", name, length);
  }
  if (length == 2 && name[0] == '.' && name[1] == '.') {
    return refuse(message, "Topic name is invalid: '%s' is not allowed", name, length);
  }
  if (length > TOPIC_NAME_MAX) {
    return refuse(message, "Topic name is invalid: the length of '%s' is longer than the max allowed length 249", name,
                  length);
  }
  for (size_t i = 0; i < length; i++) {
    if (!is_legal(name[i])) {
      return refuse(message,
                    "Topic name is invalid: '%s' contains one or more characters other than ASCII alphanumerics, '.', "
                    "'_' and '-'",
                    name, length);
    }
  }
  return 0;
}

bool topic_name_collides(const char *a, const char *b)
{
  for (; *a && *b; a++, b++) {
    bool is_mark = (*a == '.' || *a == '_') && (*b == '.' || *b == '_');
    if (*a != *b && !is_mark) {
      return false;
    }
  }
  return *a == *b;
}

bool topic_name_may_collide(const char *name)
{
  return strpbrk(name, "._") != NULL;
}

bool topic_name_is_internal(const char *name)
{
  return strcmp(name, "__consumer_offsets") == 0 || strcmp(name, "__transaction_state") == 0 ||
         strcmp(name, "__share_group_state") == 0;
}

bool topic_name_is_cluster_metadata(const char *name)
{
  return strcmp(name, "__cluster_metadata") == 0;
}
