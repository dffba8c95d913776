// SPDX-License-Identifier: Apache-2.0
#include "controller/entity_nodes.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "metadata/metastore.h"

const char *entity_nodes_folder(enum metadata_entity_kind kind)
{
  switch (kind) {
    case METADATA_GROUP:
      return "groups";
    case METADATA_CLIENT_METRICS:
      return "client-metrics";
    case METADATA_USER:
      break;
  }
  return "users";
}

static bool is_plain(char c)
{
  return isascii((unsigned char)c) && (isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.');
}

const char *entity_nodes_encode(struct arena *arena, const char *name, size_t length)
{
  static const char digits[] = "0123456789ABCDEF";
  // No path may have these names; Kafka, which leaves the dots, cannot keep them.
  bool is_dots = length <= 2 && strspn(name, ".") == length;
  char *text = arena_alloc(arena, length * 3 + 1);
  size_t used = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)name[i];
    if (is_plain(name[i]) && !is_dots) {
      text[used++] = name[i];
    } else {
      text[used++] = '%';
      text[used++] = digits[byte >> 4];
      text[used++] = digits[byte & 15];
    }
  }
  text[used] = '\0';
  return text;
}

static int hex_value(char c)
{
  return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int entity_nodes_decode(struct arena *arena, const char *text, const char **name, size_t *length)
{
  char *bytes = arena_alloc(arena, strlen(text) + 1);
  size_t used = 0;
  for (const char *at = text; *at; at++) {
    if (is_plain(*at)) {
      bytes[used++] = *at;
      continue;
    }
    int high = *at == '%' ? hex_value(at[1]) : -1;
    int low = high >= 0 ? hex_value(at[2]) : -1;
    if (low < 0) {
      return error_set(ERR_CORRUPT, "not an encoded name");
    }
    bytes[used++] = (char)(high << 4 | low);
    at += 2;
  }
  bytes[used] = '\0';
  *name = bytes;
  *length = used;
  return 0;
}

const char *entity_nodes_path(struct arena *arena, enum metadata_entity_kind kind, const char *name, size_t length)
{
  const char *path =
      arena_printf(arena, "/config/%s/%s", entity_nodes_folder(kind), entity_nodes_encode(arena, name, length));
  return metastore_path_is_valid(path) ? path : NULL;
}
