// SPDX-License-Identifier: Apache-2.0
//
// JSON for answers of services, whose makers know neither Lua nor JSON.
#include <jansson.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "lua/script.h"

static json_t *json_of(const char *text)
{
  json_t *value = json_string(text);
  if (value != NULL) {
    return value;
  }
  char *copy = mem_strdup(text);
  for (char *at = copy; *at != '\0'; at++) {
    *at = (unsigned char)*at < 0x80 ? *at : '?';
  }
  value = json_string(copy);
  mem_free(copy);
  return value;
}

char *script_json_rows(const char *const *names, int columns, const char *const *values, int rows)
{
  json_t *list = json_array();
  for (int i = 0; i < rows; i++) {
    json_t *object = json_object();
    for (int j = 0; j < columns; j++) {
      const char *text = values[(size_t)i * (size_t)columns + (size_t)j];
      if (text != NULL) {
        json_object_set_new(object, names[j], json_of(text));
      }
    }
    json_array_append_new(list, object);
  }
  char *text = json_dumps(list, JSON_COMPACT);
  CHECK(text != NULL);
  json_decref(list);
  char *copy = mem_strdup(text);
  free(text);
  return copy;
}
