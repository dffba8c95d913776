// SPDX-License-Identifier: Apache-2.0
//
// Texts of configs become values. Accepts what Kafka accepts: blanks around a value, any case of true and false, lists
// with blanks around their commas. No units: "7d" and "10MB" are refused.
#include "metadata/config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"

enum { SHOWN_MAX = 512, NUMBER_TEXT_MAX = 64, NAME_TEXT_MAX = 128 };

const char *config_type_name(enum config_type type)
{
  switch (type) {
    case CONFIG_BOOL:
      return "BOOLEAN";
    case CONFIG_INT:
    case CONFIG_LEVEL:
      return "INT";
    case CONFIG_LONG:
      return "LONG";
    case CONFIG_DOUBLE:
      return "DOUBLE";
    case CONFIG_FLAGS:
    case CONFIG_REPLICAS:
    case CONFIG_LIST:
      return "LIST";
    case CONFIG_ENUM:
    case CONFIG_TEXT:
    case CONFIG_NAME:
      break;
  }
  return "STRING";
}

int config_clip(const char *text, size_t limit)
{
  size_t length = strnlen(text, limit + 1);
  if (length <= limit) {
    return (int)length;
  }
  length = limit;
  while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
    length--;
  }
  return (int)length;
}

/// Kafka's sentence for a value that is refused.
static int refuse(const struct config_def *def, const char *shown, char *message, const char *why)
{
  snprintf(message, CONFIG_MESSAGE_SIZE, "Invalid value %.*s for configuration %s: %s", config_clip(shown, SHOWN_MAX),
           shown, def->name, why);
  return ERR_CONFIG;
}

static int join_valid(const struct config_def *def, char *text, size_t size)
{
  size_t at = 0;
  for (int i = 0; i < CONFIG_VALID_MAX && def->valid[i] && at < size; i++) {
    at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? ", " : "", def->valid[i]);
  }
  return (int)at;
}

const char *config_describe(const struct config_def *def, char *text, size_t size)
{
  char list[256] = "";
  switch (def->type) {
    case CONFIG_BOOL:
      snprintf(text, size, "true or false");
      return text;
    case CONFIG_ENUM:
    case CONFIG_FLAGS:
      join_valid(def, list, sizeof list);
      snprintf(text, size, "%s: %s", def->type == CONFIG_ENUM ? "one of" : "a list of", list);
      return text;
    case CONFIG_LEVEL:
      snprintf(text, size, "a whole number from %lld to %lld, or -1", (long long)def->min, (long long)def->max);
      return text;
    case CONFIG_REPLICAS:
      snprintf(text, size, "* or a list of partition:broker pairs");
      return text;
    case CONFIG_LIST:
      snprintf(text, size, "a list of texts");
      return text;
    case CONFIG_TEXT:
    case CONFIG_NAME:
      snprintf(text, size, "a text");
      return text;
    case CONFIG_INT:
    case CONFIG_LONG:
    case CONFIG_DOUBLE:
      break;
  }
  const char *kind = def->type == CONFIG_DOUBLE ? "a number" : "a whole number";
  bool is_int = def->type == CONFIG_INT;
  int64_t min = is_int && def->min < INT32_MIN ? INT32_MIN : def->min;
  int64_t max = is_int && def->max > INT32_MAX ? INT32_MAX : def->max;
  if (min != INT64_MIN && max != INT64_MAX) {
    snprintf(text, size, "%s from %lld to %lld", kind, (long long)min, (long long)max);
  } else if (min != INT64_MIN) {
    snprintf(text, size, "%s of at least %lld", kind, (long long)min);
  } else {
    snprintf(text, size, "%s", kind);
  }
  return text;
}

/// The text without blanks (anything up to space, as Kafka trims) at both ends.
static const char *trim(const char *text, size_t *length)
{
  while (*text && (unsigned char)*text <= ' ') {
    text++;
  }
  size_t size = strlen(text);
  while (size > 0 && (unsigned char)text[size - 1] <= ' ') {
    size--;
  }
  *length = size;
  return text;
}

static int check_bounds(const struct config_def *def, int64_t value, char *message)
{
  char shown[NUMBER_TEXT_MAX];
  char why[128];
  snprintf(shown, sizeof shown, "%lld", (long long)value);
  if (def->type == CONFIG_LEVEL) {
    if (value != -1 && (value < def->min || value > def->max)) {
      snprintf(why, sizeof why, "Value must be between %lld and %lld or equal to -1", (long long)def->min,
               (long long)def->max);
      return refuse(def, shown, message, why);
    }
    return 0;
  }
  if (value < def->min) {
    snprintf(why, sizeof why, "Value must be at least %lld", (long long)def->min);
    return refuse(def, shown, message, why);
  }
  if (value > def->max) {
    snprintf(why, sizeof why, "Value must be no more than %lld", (long long)def->max);
    return refuse(def, shown, message, why);
  }
  return 0;
}

static int set_whole(const struct config_def *def, const char *text, void *field, char *message)
{
  size_t length = 0;
  const char *at = trim(text, &length);
  char digits[NUMBER_TEXT_MAX];
  char why[64];
  snprintf(why, sizeof why, "Not a number of type %s", config_type_name(def->type));
  size_t sign = length > 0 && (at[0] == '-' || at[0] == '+') ? 1 : 0;
  if (length == sign || length >= sizeof digits) {
    return refuse(def, text, message, why);
  }
  for (size_t i = sign; i < length; i++) {
    if (at[i] < '0' || at[i] > '9') {
      return refuse(def, text, message, why);
    }
  }
  memcpy(digits, at, length);
  digits[length] = '\0';
  errno = 0;
  long long value = strtoll(digits, NULL, 10);
  bool is_long = def->type == CONFIG_LONG;
  if (errno != 0 || (!is_long && (value < INT32_MIN || value > INT32_MAX))) {
    return refuse(def, text, message, why);
  }
  TRY(check_bounds(def, value, message));
  if (field && is_long) {
    *(int64_t *)field = value;
  } else if (field) {
    *(int32_t *)field = (int32_t)value;
  }
  return 0;
}

static int set_double(const struct config_def *def, const char *text, void *field, char *message)
{
  size_t length = 0;
  const char *at = trim(text, &length);
  char digits[NUMBER_TEXT_MAX];
  if (length == 0 || length >= sizeof digits || strspn(at, "+-0123456789.eE") < length) {
    return refuse(def, text, message, "Not a number of type DOUBLE");
  }
  memcpy(digits, at, length);
  digits[length] = '\0';
  char *end = NULL;
  double value = strtod(digits, &end);
  if (*end != '\0' || !isfinite(value)) {
    return refuse(def, text, message, "Not a number of type DOUBLE");
  }
  char why[64];
  char shown[NUMBER_TEXT_MAX];
  snprintf(shown, sizeof shown, value == floor(value) && fabs(value) < 1e7 ? "%.1f" : "%g", value);
  if (def->min != INT64_MIN && value < (double)def->min) {
    snprintf(why, sizeof why, "Value must be at least %lld", (long long)def->min);
    return refuse(def, shown, message, why);
  }
  if (def->max != INT64_MAX && value > (double)def->max) {
    snprintf(why, sizeof why, "Value must be no more than %lld", (long long)def->max);
    return refuse(def, shown, message, why);
  }
  if (field) {
    *(double *)field = value;
  }
  return 0;
}

static int set_bool(const struct config_def *def, const char *text, void *field, char *message)
{
  size_t length = 0;
  const char *at = trim(text, &length);
  bool is_true = length == 4 && strncasecmp(at, "true", 4) == 0;
  if (!is_true && !(length == 5 && strncasecmp(at, "false", 5) == 0)) {
    return refuse(def, text, message, "Expected value to be either true or false");
  }
  if (field) {
    *(bool *)field = is_true;
  }
  return 0;
}

/// Place of a text in the list of valid ones, or -1 with Kafka's sentence.
static int find_valid(const struct config_def *def, const char *text, size_t length, char *message)
{
  for (int i = 0; i < CONFIG_VALID_MAX && def->valid[i]; i++) {
    if (strlen(def->valid[i]) == length && memcmp(def->valid[i], text, length) == 0) {
      return i;
    }
  }
  char list[256] = "";
  char why[320];
  char shown[SHOWN_MAX + 8];
  join_valid(def, list, sizeof list);
  snprintf(why, sizeof why, "String must be one of: %s", list);
  snprintf(shown, sizeof shown, "%.*s", (int)(length < SHOWN_MAX ? length : SHOWN_MAX), text);
  shown[config_clip(shown, SHOWN_MAX)] = '\0';
  refuse(def, shown, message, why);
  return -1;
}

static int set_enum(const struct config_def *def, const char *text, void *field, char *message)
{
  size_t length = 0;
  const char *at = trim(text, &length);
  int place = find_valid(def, at, length, message);
  if (place < 0) {
    return ERR_CONFIG;
  }
  if (field) {
    *(int32_t *)field = place;
  }
  return 0;
}

static int set_name(const struct config_def *def, const char *text, char *field, char *message)
{
  size_t length = 0;
  const char *at = trim(text, &length);
  if (length >= CONFIG_NAME_SIZE) {
    char why[64];
    snprintf(why, sizeof why, "it may have %d bytes at most", CONFIG_NAME_SIZE - 1);
    return refuse(def, text, message, why);
  }
  if (field) {
    memset(field, 0, CONFIG_NAME_SIZE);
    memcpy(field, at, length);
  }
  return 0;
}

/// Takes the next entry off a comma-separated list (trimmed as a whole); NULL after the last.
static const char *next_entry(const char **at, const char *end, size_t *length)
{
  if (!*at) {
    return NULL;
  }
  const char *start = *at;
  const char *comma = memchr(start, ',', (size_t)(end - start));
  const char *stop = comma ? comma : end;
  *at = comma ? comma + 1 : NULL;
  while (start < stop && isspace((unsigned char)*start)) {
    start++;
  }
  while (stop > start && isspace((unsigned char)stop[-1])) {
    stop--;
  }
  *length = (size_t)(stop - start);
  return start;
}

static int set_flags(const struct config_def *def, const char *text, void *field, char *message)
{
  size_t size = 0;
  const char *at = trim(text, &size);
  const char *end = at + size;
  int32_t flags = 0;
  const char *entry;
  size_t length = 0;
  for (const char *rest = size > 0 ? at : NULL; (entry = next_entry(&rest, end, &length)) != NULL;) {
    if (length == 0) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "Configuration '%s' values must not be empty.", def->name);
      return ERR_CONFIG;
    }
    int place = find_valid(def, entry, length, message);
    if (place < 0) {
      return ERR_CONFIG;
    }
    if (flags & (1 << place)) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "Configuration '%s' values must not be duplicated.", def->name);
      return ERR_CONFIG;
    }
    flags |= 1 << place;
  }
  if (field) {
    *(int32_t *)field = flags;
  }
  return 0;
}

static int set_list(const struct config_def *def, const char *text, char *message)
{
  size_t size = 0;
  const char *at = trim(text, &size);
  const char *end = at + size;
  size_t length = 0;
  for (const char *rest = size > 0 ? at : NULL; next_entry(&rest, end, &length) != NULL;) {
    if (length == 0) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "Configuration '%s' values must not be empty.", def->name);
      return ERR_CONFIG;
    }
  }
  return 0;
}

bool config_list_has(const char *list, const char *text)
{
  size_t size = 0;
  size_t wanted_length = 0;
  const char *wanted = trim(text, &wanted_length);
  const char *at = trim(list, &size);
  const char *end = at + size;
  const char *entry;
  size_t length = 0;
  for (const char *rest = size > 0 ? at : NULL; (entry = next_entry(&rest, end, &length)) != NULL;) {
    if (length == wanted_length && memcmp(entry, wanted, length) == 0) {
      return true;
    }
  }
  return false;
}

/// A text of a list.
struct list_entry {
  const char *text; // borrowed
  size_t length;    // bytes
};

static int compare_entries(const void *left, const void *right)
{
  const struct list_entry *a = left;
  const struct list_entry *b = right;
  int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
  return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

bool config_list_has_repeat(const char *list)
{
  size_t size = 0;
  const char *at = trim(list, &size);
  const char *end = at + size;
  struct list_entry *entries = mem_array(size + 2, sizeof *entries);
  size_t count = 0;
  bool has_repeat = false;
  for (const char *rest = size > 0 ? at : NULL;
       (entries[count].text = next_entry(&rest, end, &entries[count].length)) != NULL;) {
    count++;
  }
  qsort(entries, count, sizeof *entries, compare_entries);
  for (size_t i = 1; i < count; i++) {
    has_repeat = has_repeat || compare_entries(&entries[i - 1], &entries[i]) == 0;
  }
  mem_free(entries);
  return has_repeat;
}

static bool is_replica_pair(const char *text, size_t length)
{
  size_t colon = 0;
  size_t i = 0;
  while (i < length && isdigit((unsigned char)text[i])) {
    i++;
  }
  colon = i;
  if (i == 0 || i == length || text[i] != ':') {
    return false;
  }
  for (i++; i < length && isdigit((unsigned char)text[i]); i++) {
  }
  return i == length && i > colon + 1;
}

static int set_replicas(const struct config_def *def, const char *text, char *message)
{
  size_t size = 0;
  const char *at = trim(text, &size);
  const char *end = at + size;
  bool is_good = true;
  char shown[SHOWN_MAX] = "[";
  size_t used = 1;
  const char *entry;
  size_t length = 0;
  for (const char *rest = size > 0 ? at : NULL; (entry = next_entry(&rest, end, &length)) != NULL;) {
    is_good = is_good && (length == 0 || is_replica_pair(entry, length));
    if (used + length + 4 < sizeof shown) {
      used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%.*s", used > 1 ? ", " : "", (int)length, entry);
    }
  }
  if (is_good || (size == 1 && *at == '*')) {
    return 0;
  }
  snprintf(shown + used, sizeof shown - used, "]");
  char why[256];
  snprintf(why, sizeof why,
           "%s must be the literal '*' or a list of replicas in the following format: "
           "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
           def->name);
  return refuse(def, shown, message, why);
}

int config_set(const struct config_def *def, const char *text, void *values, char *message)
{
  void *field = values ? (char *)values + def->field : NULL;
  switch (def->type) {
    case CONFIG_BOOL:
      return set_bool(def, text, field, message);
    case CONFIG_INT:
    case CONFIG_LEVEL:
    case CONFIG_LONG:
      return set_whole(def, text, field, message);
    case CONFIG_DOUBLE:
      return set_double(def, text, field, message);
    case CONFIG_ENUM:
      return set_enum(def, text, field, message);
    case CONFIG_FLAGS:
      return set_flags(def, text, field, message);
    case CONFIG_REPLICAS:
      return set_replicas(def, text, message);
    case CONFIG_LIST:
      return set_list(def, text, message);
    case CONFIG_NAME:
      return set_name(def, text, field, message);
    case CONFIG_TEXT:
      break;
  }
  return 0;
}

int config_find(const struct config_def *defs, int count, const char *name)
{
  for (int i = 0; i < count; i++) {
    if (strcmp(defs[i].name, name) == 0) {
      return i;
    }
  }
  return -1;
}

/// Edits (insert, drop, change a byte) that turn one name into the other; names of up to NAME_TEXT_MAX bytes.
static int edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
  int row[NAME_TEXT_MAX + 1];
  for (size_t j = 0; j <= b_length; j++) {
    row[j] = (int)j;
  }
  for (size_t i = 1; i <= a_length; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= b_length; j++) {
      int change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      int drop = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      row[j] = change < drop ? change : drop;
    }
  }
  return row[b_length];
}

const char *config_nearest(const char *name, const char *const *names, int count)
{
  size_t length = strlen(name);
  if (length > NAME_TEXT_MAX) {
    return NULL;
  }
  const char *nearest = NULL;
  int best = (int)length / 4 + 2;
  for (int i = 0; i < count; i++) {
    size_t other = strlen(names[i]);
    if (other > NAME_TEXT_MAX) {
      continue;
    }
    int distance = edit_distance(name, length, names[i], other);
    if (distance < best) {
      best = distance;
      nearest = names[i];
    }
  }
  return nearest;
}
