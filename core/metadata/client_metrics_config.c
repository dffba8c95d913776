// SPDX-License-Identifier: Apache-2.0
#include "metadata/client_metrics_config.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { INTERVAL_MIN_MS = 100, INTERVAL_MAX_MS = 3600000, SHOWN_MAX = 256 };

enum { PLACE_INTERVAL, PLACE_MATCH };

static const struct config_def definitions[CLIENT_METRICS_CONFIG_COUNT] = {
    {.name = "interval.ms",
     .type = CONFIG_INT,
     .default_text = "300000",
     .min = INT64_MIN,
     .max = INT64_MAX,
     .doc = "How often clients push metrics."},
    {.name = "match",
     .type = CONFIG_LIST,
     .default_text = "",
     .doc = "Which clients are asked: name=pattern, name=pattern; empty: all."},
    {.name = "metrics",
     .type = CONFIG_LIST,
     .default_text = "",
     .doc = "Prefixes of the names of the metrics; empty: none."},
};

const struct config_def *client_metrics_config_defs(void)
{
  return definitions;
}

/// The names by which clients are matched.
static bool is_match_name(const char *name, size_t length)
{
  static const char *const names[] = {"client_id",
                                      "client_instance_id",
                                      "client_software_name",
                                      "client_software_version",
                                      "client_source_address",
                                      "client_source_port"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) {
      return true;
    }
  }
  return false;
}

/// Whether each entry is a known name, one equals sign, and a pattern.
static int check_match(const char *text, char *message)
{
  for (const char *at = text; *at;) {
    size_t length = strcspn(at, ",");
    const char *end = at + length;
    const char *start = at;
    while (start < end && *start == ' ') {
      start++;
    }
    while (end > start && end[-1] == ' ') {
      end--;
    }
    const char *equals = memchr(start, '=', (size_t)(end - start));
    bool is_pair = equals && equals + 1 < end && !memchr(equals + 1, '=', (size_t)(end - equals - 1));
    if (end > start && !(is_pair && is_match_name(start, (size_t)(equals - start)))) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "Illegal client matching pattern: %.*s",
               (int)(end - start < SHOWN_MAX ? end - start : SHOWN_MAX), start);
      return ERR_CONFIG;
    }
    at += length + (at[length] == ',');
  }
  return 0;
}

int client_metrics_config_check(const char *name, const char *text, bool *is_request_error, char *message)
{
  struct {
    int32_t value;
  } interval = {0}; // the only value that is looked at; its field is at the beginning
  int place = config_find(definitions, CLIENT_METRICS_CONFIG_COUNT, name);
  *is_request_error = true;
  if (place < 0) {
    snprintf(message, CONFIG_MESSAGE_SIZE, "Unknown client metrics configuration: %.*s", config_clip(name, SHOWN_MAX),
             name);
    return ERR_CONFIG;
  }
  *is_request_error = false;
  TRY(config_set(&definitions[place], text, &interval, message));
  if (place == PLACE_MATCH) {
    return check_match(text, message);
  }
  if (place == PLACE_INTERVAL && (interval.value < INTERVAL_MIN_MS || interval.value > INTERVAL_MAX_MS)) {
    *is_request_error = true;
    snprintf(message, CONFIG_MESSAGE_SIZE,
             "Invalid value %d for interval.ms, interval must be between %d and %d (1 hour)", interval.value,
             INTERVAL_MIN_MS, INTERVAL_MAX_MS);
    return ERR_CONFIG;
  }
  return 0;
}
