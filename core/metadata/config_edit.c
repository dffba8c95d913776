// SPDX-License-Identifier: Apache-2.0
#include "metadata/config_edit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/// A comma-separated list taken apart.
struct parts {
  char **texts; ///< each without blanks around it, in the arena
  int count;    ///< how many
};

bool config_is_list(const struct config_def *def)
{
  return def->type == CONFIG_FLAGS || def->type == CONFIG_REPLICAS || def->type == CONFIG_LIST;
}

/// Cuts the blanks (anything up to space, as Java trims) off both ends, in place.
static char *trim(char *text)
{
  while (*text && (unsigned char)*text <= ' ') {
    text++;
  }
  size_t length = strlen(text);
  while (length > 0 && (unsigned char)text[length - 1] <= ' ') {
    length--;
  }
  text[length] = '\0';
  return text;
}

/// Takes a list apart. As Java does it, empty values at the end are none, unless the whole text is empty.
static struct parts split(struct arena *arena, const char *text, int room_for)
{
  int commas = 0;
  for (const char *at = text; *at; at++) {
    commas += *at == ',';
  }
  struct parts parts = {.texts = arena_alloc(arena, (size_t)(commas + 1 + room_for) * sizeof *parts.texts)};
  char *copy = arena_strndup(arena, text, strlen(text));
  for (char *comma = NULL; copy; copy = comma ? comma + 1 : NULL) {
    comma = strchr(copy, ',');
    if (comma) {
      *comma = '\0';
    }
    parts.texts[parts.count++] = trim(copy);
  }
  while (commas > 0 && parts.count > 0 && parts.texts[parts.count - 1][0] == '\0') {
    parts.count--;
  }
  return parts;
}

static void drop_empty(struct parts *parts)
{
  int kept = 0;
  for (int i = 0; i < parts->count; i++) {
    if (parts->texts[i][0] != '\0') {
      parts->texts[kept++] = parts->texts[i];
    }
  }
  parts->count = kept;
}

/// A value with its place in its list.
struct placed {
  const char *text; ///< borrowed
  int place;        ///< in the list
};

static int compare_placed(const void *left, const void *right)
{
  const struct placed *a = left;
  const struct placed *b = right;
  int order = strcmp(a->text, b->text);
  return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

/// The values of a list, sorted, so that long lists are compared in little time.
static struct placed *sort(struct arena *arena, const struct parts *parts)
{
  struct placed *sorted = arena_alloc(arena, (size_t)(parts->count + 1) * sizeof *sorted);
  for (int i = 0; i < parts->count; i++) {
    sorted[i] = (struct placed){parts->texts[i], i};
  }
  qsort(sorted, (size_t)parts->count, sizeof *sorted, compare_placed);
  return sorted;
}

/// Takes out the values that are marked with NULL.
static void drop_marked(struct parts *parts)
{
  int kept = 0;
  for (int i = 0; i < parts->count; i++) {
    if (parts->texts[i]) {
      parts->texts[kept++] = parts->texts[i];
    }
  }
  parts->count = kept;
}

static const char *join(struct arena *arena, const struct parts *parts)
{
  size_t size = 1;
  for (int i = 0; i < parts->count; i++) {
    size += strlen(parts->texts[i]) + 1;
  }
  char *text = arena_alloc(arena, size);
  size_t used = 0;
  for (int i = 0; i < parts->count; i++) {
    size_t length = strlen(parts->texts[i]);
    if (i > 0) {
      text[used++] = ',';
    }
    memcpy(text + used, parts->texts[i], length);
    used += length;
  }
  text[used] = '\0';
  return text;
}

const char *config_list_append(struct arena *arena, const char *list, const char *values)
{
  struct parts added = split(arena, values, 0);
  struct parts parts = split(arena, list ? list : "", added.count);
  drop_empty(&parts);
  int old_count = parts.count;
  memcpy(parts.texts + old_count, added.texts, (size_t)added.count * sizeof *parts.texts);
  parts.count += added.count;
  const struct placed *sorted = sort(arena, &parts);
  for (int i = 1; i < parts.count; i++) {
    if (sorted[i].place >= old_count && strcmp(sorted[i - 1].text, sorted[i].text) == 0) {
      parts.texts[sorted[i].place] = NULL;
    }
  }
  drop_marked(&parts);
  return join(arena, &parts);
}

const char *config_list_subtract(struct arena *arena, const char *list, const char *values)
{
  struct parts taken = split(arena, values, 0);
  struct parts parts = split(arena, list ? list : "", 0);
  drop_empty(&parts);
  const struct placed *old = sort(arena, &parts);
  const struct placed *gone = sort(arena, &taken);
  for (int i = 0, j = 0; i < parts.count && j < taken.count;) {
    int order = strcmp(old[i].text, gone[j].text);
    if (order == 0) {
      parts.texts[old[i].place] = NULL;
    }
    i += order <= 0;
    j += order >= 0;
  }
  drop_marked(&parts);
  return join(arena, &parts);
}

// ---- texts as they are shown ----

/// The shortest digits that read back as the same number, in Java's notation.
static const char *shown_double(struct arena *arena, double value)
{
  char digits[40];
  for (int precision = 1; precision <= 17; precision++) {
    snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (strtod(digits, NULL) == value) {
      break;
    }
  }
  double size = fabs(value);
  if (value == 0 || (size >= 1e-3 && size < 1e7)) {
    return arena_printf(arena, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
  }
  // Java: 1.0E-5, not 1e-05.
  char *power = strchr(digits, 'e');
  int exponent = 0;
  if (power) {
    exponent = (int)strtol(power + 1, NULL, 10);
    *power = '\0';
  } else {
    snprintf(digits, sizeof digits, "%.16e", value);
    exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    snprintf(digits, sizeof digits, "%g", value / pow(10, exponent));
  }
  return arena_printf(arena, "%s%sE%d", digits, strchr(digits, '.') ? "" : ".0", exponent);
}

const char *config_shown_text(struct arena *arena, const struct config_def *def, const char *text)
{
  struct parts parts;
  char *copy = trim(arena_strndup(arena, text, strlen(text)));
  switch (def->type) {
    case CONFIG_INT:
    case CONFIG_LEVEL:
    case CONFIG_LONG:
      return arena_printf(arena, "%lld", strtoll(copy, NULL, 10));
    case CONFIG_BOOL:
      return copy[0] == 't' || copy[0] == 'T' ? "true" : "false";
    case CONFIG_DOUBLE:
      return shown_double(arena, strtod(copy, NULL));
    case CONFIG_FLAGS:
    case CONFIG_REPLICAS:
    case CONFIG_LIST:
      parts = split(arena, copy, 0);
      return join(arena, &parts);
    case CONFIG_ENUM:
    case CONFIG_NAME:
      return copy;
    case CONFIG_TEXT:
      break;
  }
  return text;
}
