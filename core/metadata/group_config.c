// SPDX-License-Identifier: Apache-2.0
//
// Configs of groups: definitions, the broker's bounds, and what belongs together. The order of checks and their
// sentences are Kafka's.
#include "metadata/group_config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/error.h"
#include "metadata/broker_config.h"
#include "metadata/config_private.h"

enum {
  SHOWN_MAX = 256,          // bytes of a text in a message
  NO_CONFIG = -1,           // no broker config bounds it
  WARMUP_REPLICAS_MAX = 20, // Kafka's own bounds, which no public broker config moves
  TASK_OFFSET_INTERVAL_MIN_MS = 15000,
};

static const struct config_def definitions[GROUP_CONFIG_COUNT] = {
#define GROUP_CONFIG_X(type, field, name, def, min, max, valid, broker, doc) \
  {name, CONFIG_##type, (uint16_t)CONFIG_AT_##type(group_config, field), def, min, max, valid, broker, doc},
#include "metadata/group_config_list.h"
#undef GROUP_CONFIG_X
};

/// How far a value may go.
struct bounds {
  enum group_config_index config; ///< of what
  int min_index;                  ///< broker config with the least value, or NO_CONFIG
  int max_index;                  ///< with the greatest, or NO_CONFIG
  int32_t min;                    ///< the least value without such a config
  int32_t max;                    ///< the greatest
};

static const struct bounds all_bounds[] = {
#define BOTH(kind, what)                                                                                            \
  {                                                                                                                 \
    GROUP_CONFIG_##kind##_##what, BROKER_CONFIG_group_##kind##_min_##what, BROKER_CONFIG_group_##kind##_max_##what, \
        INT32_MIN, INT32_MAX                                                                                        \
  }
    BOTH(consumer, heartbeat_interval_ms),
    BOTH(consumer, session_timeout_ms),
    BOTH(consumer, assignment_interval_ms),
    BOTH(share, heartbeat_interval_ms),
    BOTH(share, session_timeout_ms),
    BOTH(share, record_lock_duration_ms),
    BOTH(share, delivery_count_limit),
    BOTH(share, partition_max_record_locks),
    BOTH(share, assignment_interval_ms),
    BOTH(streams, heartbeat_interval_ms),
    BOTH(streams, session_timeout_ms),
    BOTH(streams, assignment_interval_ms),
#undef BOTH
    {GROUP_CONFIG_streams_num_standby_replicas, NO_CONFIG, BROKER_CONFIG_group_streams_max_standby_replicas, INT32_MIN,
     INT32_MAX},
    {GROUP_CONFIG_streams_num_warmup_replicas, NO_CONFIG, NO_CONFIG, INT32_MIN, WARMUP_REPLICAS_MAX},
    {GROUP_CONFIG_streams_task_offset_interval_ms, NO_CONFIG, NO_CONFIG, TASK_OFFSET_INTERVAL_MIN_MS, INT32_MAX},
};

enum { BOUNDS_COUNT = sizeof all_bounds / sizeof *all_bounds };

const struct config_def *group_config_defs(void)
{
  return definitions;
}

int group_config_find(const char *name)
{
  return config_find(definitions, GROUP_CONFIG_COUNT, name);
}

bool group_config_is_hidden(enum group_config_index index)
{
  return index == GROUP_CONFIG_streams_num_warmup_replicas || index == GROUP_CONFIG_streams_task_offset_interval_ms;
}

// ---- bounds ----

static int32_t *value_of(struct group_config *values, enum group_config_index index)
{
  return (int32_t *)(void *)((char *)values + definitions[index].field);
}

/// The value of an INT config of the broker.
static int32_t broker_value(const struct broker_config *config, int index)
{
  const char *field = (const char *)config + broker_config_defs()[index].field;
  return *(const int32_t *)(const void *)field;
}

static int32_t least(const struct bounds *bounds, const struct broker_config *config)
{
  return bounds->min_index == NO_CONFIG ? bounds->min : broker_value(config, bounds->min_index);
}

static int32_t greatest(const struct bounds *bounds, const struct broker_config *config)
{
  return bounds->max_index == NO_CONFIG ? bounds->max : broker_value(config, bounds->max_index);
}

/// Kafka's sentence for a value that the broker's bounds do not admit.
static int check_bounds(const struct broker_config *config, struct group_config *values, char *message)
{
  for (int i = 0; i < BOUNDS_COUNT; i++) {
    const struct bounds *bounds = &all_bounds[i];
    const char *name = definitions[bounds->config].name;
    int32_t value = *value_of(values, bounds->config);
    int32_t min = least(bounds, config);
    int32_t max = greatest(bounds, config);
    if (value >= min && value <= max) {
      continue;
    }
    if (min == INT32_MIN) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "%s must be less than or equal to %d", name, max);
    } else if (max == INT32_MAX && bounds->max_index == NO_CONFIG) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "%s must be greater than or equal to %d", name, min);
    } else {
      snprintf(message, CONFIG_MESSAGE_SIZE, "%s must be in the range %d to %d inclusive.", name, min, max);
    }
    return ERR_CONFIG;
  }
  return 0;
}

// ---- texts ----

/// Reads digits with a sign, as a part of a duration; returns whether there were any.
static bool read_part(const char **at, bool *is_negative, double *value)
{
  const char *text = *at;
  *is_negative = *text == '-';
  text += *text == '-' || *text == '+';
  const char *digits = text;
  for (*value = 0; *text >= '0' && *text <= '9'; text++) {
    *value = *value * 10 + (*text - '0');
  }
  *at = text;
  return text > digits;
}

/// Whether a text is a duration as Java reads it (PnDTnHnMn.nS, each part signed, any case), and not below zero.
static bool is_duration(const char *text)
{
  static const struct {
    char unit;      // its letter
    double seconds; // how many
  } parts[] = {{'D', 86400}, {'H', 3600}, {'M', 60}, {'S', 1}};
  bool is_all_negative = *text == '-';
  text += *text == '-' || *text == '+';
  if ((*text | 0x20) != 'p') {
    return false;
  }
  text++;
  double total = 0;
  bool is_time = false;
  bool has_part = false;
  for (size_t next = 0; *text;) {
    if (!is_time && (*text | 0x20) == 't') {
      is_time = true;
      has_part = false;
      next = 1;
      text++;
      continue;
    }
    bool is_negative = false;
    double value = 0;
    if (!read_part(&text, &is_negative, &value)) {
      return false;
    }
    if (*text == '.' || *text == ',') { // a fraction, of seconds only, which are the last part
      text++;
      text += strspn(text, "0123456789");
      next = (*text | 0x20) == 's' ? next : sizeof parts / sizeof *parts;
    }
    while (next < sizeof parts / sizeof *parts && (*text & ~0x20) != parts[next].unit) {
      next++;
    }
    if (next == sizeof parts / sizeof *parts || (next == 0) == is_time) {
      return false;
    }
    total += (is_negative ? -value : value) * parts[next++].seconds;
    has_part = true;
    text++;
  }
  return has_part && (is_all_negative ? -total : total) >= 0;
}

static int check_offset_reset(const char *text, char *message)
{
  static const char prefix[] = "by_duration:";
  const char *name = definitions[GROUP_CONFIG_share_auto_offset_reset].name;
  size_t length = strlen(text);
  const char *start = text;
  while (*start && (unsigned char)*start <= ' ') {
    start++;
  }
  while (text + length > start && (unsigned char)text[length - 1] <= ' ') {
    length--;
  }
  char word[SHOWN_MAX] = "";
  snprintf(word, sizeof word, "%.*s", (int)(text + length - start), start);
  bool is_good = strcmp(word, "earliest") == 0 || strcmp(word, "latest") == 0 ||
                 (strncmp(word, prefix, sizeof prefix - 1) == 0 && is_duration(word + sizeof prefix - 1));
  if (is_good) {
    return 0;
  }
  int shown = config_clip(text, SHOWN_MAX);
  snprintf(
      message, CONFIG_MESSAGE_SIZE,
      "Invalid value %.*s for configuration %s: Invalid value `%.*s` for configuration %s. The value must be either "
      "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
      shown, text, name, shown, text, name);
  return ERR_CONFIG;
}

/// Checks a text of one config by itself.
static int check_value(int index, const char *text, struct group_config *values, char *message)
{
  TRY(config_set(&definitions[index], text, values, message));
  return index == GROUP_CONFIG_share_auto_offset_reset ? check_offset_reset(text, message) : 0;
}

/// What Kafka requires of a group beyond each value's own range.
static int check_together(const struct broker_config *config, const char *const *texts, struct group_config *values,
                          char *message)
{
  static const enum group_config_index pairs[][2] = {
      {GROUP_CONFIG_consumer_session_timeout_ms, GROUP_CONFIG_consumer_heartbeat_interval_ms},
      {GROUP_CONFIG_share_session_timeout_ms, GROUP_CONFIG_share_heartbeat_interval_ms},
      {GROUP_CONFIG_streams_session_timeout_ms, GROUP_CONFIG_streams_heartbeat_interval_ms},
  };
  TRY(check_bounds(config, values, message));
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (*value_of(values, pairs[i][0]) <= *value_of(values, pairs[i][1])) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "%s must be greater than %s", definitions[pairs[i][0]].name,
               definitions[pairs[i][1]].name);
      return ERR_CONFIG;
    }
  }
  const char *assignor = texts[GROUP_CONFIG_streams_assignor_name];
  const char *assignors = config->groups.text[GROUP_CONFIG_streams_assignor_name];
  if (assignor && !config_list_has(assignors, assignor)) {
    snprintf(message, CONFIG_MESSAGE_SIZE,
             "streams.assignor.name '%.*s' is not a registered task assignor. Registered assignors are: [%.*s].",
             config_clip(assignor, SHOWN_MAX), assignor, config_clip(assignors, SHOWN_MAX), assignors);
    return ERR_CONFIG;
  }
  const char *tags = texts[GROUP_CONFIG_streams_rack_aware_assignment_tags];
  if (tags && config_list_has_repeat(tags)) {
    snprintf(message, CONFIG_MESSAGE_SIZE, "streams.rack.aware.assignment.tags must not contain duplicate tag keys.");
    return ERR_CONFIG;
  }
  const char *topic = texts[GROUP_CONFIG_errors_deadletterqueue_topic_name];
  if (topic && strncmp(topic, "__", 2) == 0) {
    snprintf(message, CONFIG_MESSAGE_SIZE,
             "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'");
    return ERR_CONFIG;
  }
  return 0;
}

int group_config_check(const struct broker_config *config, const struct config_entry *entries, int count, char *message)
{
  const char *texts[GROUP_CONFIG_COUNT] = {NULL};
  struct group_config values = config->groups.values;
  for (int i = 0; i < count; i++) {
    int index = group_config_find(entries[i].name);
    if (index < 0) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "Unknown group config name: %.*s", config_clip(entries[i].name, SHOWN_MAX),
               entries[i].name);
      return ERR_CONFIG;
    }
    texts[index] = entries[i].value;
  }
  for (int i = 0; i < GROUP_CONFIG_COUNT; i++) {
    if (texts[i]) {
      TRY(check_value(i, texts[i], &values, message));
    }
  }
  return check_together(config, texts, &values, message);
}

int group_config_lay(const struct broker_config *config, const struct config_entry *entries, int count,
                     struct group_config *values)
{
  char message[CONFIG_MESSAGE_SIZE];
  int changed = 0;
  *values = config->groups.values;
  for (int i = 0; i < count; i++) {
    int index = group_config_find(entries[i].name);
    if (index >= 0) {
      (void)config_set(&definitions[index], entries[i].value, values, message); // one that fails changes nothing
    }
  }
  for (int i = 0; i < BOUNDS_COUNT; i++) {
    const struct bounds *bounds = &all_bounds[i];
    int32_t *value = value_of(values, bounds->config);
    int32_t min = least(bounds, config);
    int32_t max = greatest(bounds, config);
    int32_t allowed = *value < min ? min : *value > max ? max : *value;
    changed += allowed != *value;
    *value = allowed;
  }
  return changed;
}

// ---- the broker's side ----

int group_config_resolve_defaults(struct broker_config *config, char *message)
{
  struct group_config_defaults *defaults = &config->groups;
  memset(defaults, 0, sizeof *defaults);
  for (int i = 0; i < GROUP_CONFIG_COUNT; i++) {
    const struct config_def *def = &definitions[i];
    int index = def->broker_name ? config_find(broker_config_defs(), BROKER_CONFIG_COUNT, def->broker_name) : -1;
    const char *text = index >= 0 ? config->text[index] : NULL;
    defaults->text[i] = text ? text : def->default_text;
    defaults->source[i] =
        (uint8_t)(text ? broker_config_source(config, (enum broker_config_index)index) : CONFIG_SOURCE_DEFAULT);
    if (config_set(def, defaults->text[i], &defaults->values, message) < 0) {
      return ERR_CONFIG;
    }
  }
  for (int i = 0; i < BOUNDS_COUNT; i++) {
    const struct bounds *bounds = &all_bounds[i];
    const char *name = definitions[bounds->config].broker_name;
    int32_t value = *value_of(&defaults->values, bounds->config);
    if (bounds->max_index != NO_CONFIG && value > greatest(bounds, config)) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "%s must be less than or equal to %s", name,
               broker_config_defs()[bounds->max_index].name);
      return ERR_CONFIG;
    }
    if (bounds->min_index != NO_CONFIG && value < least(bounds, config)) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "%s must be greater than or equal to %s", name,
               broker_config_defs()[bounds->min_index].name);
      return ERR_CONFIG;
    }
  }
  if (defaults->values.consumer_session_timeout_ms <= defaults->values.consumer_heartbeat_interval_ms) {
    snprintf(message, CONFIG_MESSAGE_SIZE,
             "group.consumer.heartbeat.interval.ms must be less than group.consumer.session.timeout.ms");
    return ERR_CONFIG;
  }
  return 0;
}
