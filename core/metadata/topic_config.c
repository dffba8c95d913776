// SPDX-License-Identifier: Apache-2.0
//
// Topic configs: definitions, resolving, and the checks of what belongs together.
#include "metadata/topic_config.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "metadata/config_private.h"

static const struct config_def definitions[TOPIC_CONFIG_COUNT] = {
#define TOPIC_CONFIG_X(type, field, name, def, min, max, valid, broker, doc) \
  {name, CONFIG_##type, (uint16_t)CONFIG_AT_##type(topic_config, field), def, min, max, valid, broker, doc},
#include "metadata/topic_config_list.h"
#undef TOPIC_CONFIG_X
};

const struct config_def *topic_config_defs(void)
{
  return definitions;
}

void topic_config_defaults_create(struct topic_config_defaults *defaults)
{
  char message[CONFIG_MESSAGE_SIZE];
  memset(defaults, 0, sizeof *defaults);
  for (int i = 0; i < TOPIC_CONFIG_COUNT; i++) {
    CHECK(config_set(&definitions[i], definitions[i].default_text, &defaults->values, message) == 0);
    defaults->text[i] = definitions[i].default_text;
    defaults->source[i] = CONFIG_SOURCE_DEFAULT;
  }
}

const char *topic_config_partitioner(const struct topic_config *config)
{
  const char *name = config->luka_partitioner;
  return name[0] == '\0' || strcmp(name, "none") == 0 ? NULL : name;
}

int topic_config_find(const char *name)
{
  return config_find(definitions, TOPIC_CONFIG_COUNT, name);
}

int topic_config_check(const struct topic_config *values, bool is_remote_storage_on, char *message)
{
  if (values->min_compaction_lag_ms > values->max_compaction_lag_ms) {
    snprintf(message, CONFIG_MESSAGE_SIZE,
             "conflict topic config setting min.compaction.lag.ms (%lld) > max.compaction.lag.ms (%lld)",
             (long long)values->min_compaction_lag_ms, (long long)values->max_compaction_lag_ms);
    return ERR_CONFIG;
  }
  if (values->remote_storage_enable && !is_remote_storage_on) {
    snprintf(message, CONFIG_MESSAGE_SIZE,
             "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log "
             "storage.");
    return ERR_CONFIG;
  }
  return 0;
}

/// Names the configs without a value, as Kafka does: all of them, separated by commas.
static int check_values_given(const struct config_entry *overrides, int count, char *message)
{
  size_t at = 0;
  for (int i = 0; i < count; i++) {
    if (overrides[i].value) {
      continue;
    }
    if (at == 0) {
      at = (size_t)snprintf(message, CONFIG_MESSAGE_SIZE, "Null value not supported for topic configs: ");
    } else if (at + 2 < CONFIG_MESSAGE_SIZE) {
      at += (size_t)snprintf(message + at, CONFIG_MESSAGE_SIZE - at, ",");
    }
    int length = config_clip(overrides[i].name, CONFIG_MESSAGE_SIZE - 1 - at);
    at += (size_t)snprintf(message + at, CONFIG_MESSAGE_SIZE - at, "%.*s", length, overrides[i].name);
  }
  return at > 0 ? ERR_CONFIG : 0;
}

int topic_config_resolve(const struct topic_config_defaults *defaults, const struct config_entry *overrides, int count,
                         struct topic_config *values, char *message)
{
  const char *texts[TOPIC_CONFIG_COUNT] = {NULL};
  TRY(check_values_given(overrides, count, message));
  for (int i = 0; i < count; i++) {
    int place = topic_config_find(overrides[i].name);
    if (place < 0) {
      snprintf(message, CONFIG_MESSAGE_SIZE, "Unknown topic config name: %.*s", config_clip(overrides[i].name, 512),
               overrides[i].name);
      return ERR_CONFIG;
    }
    texts[place] = overrides[i].value;
  }
  struct topic_config result = defaults->values;
  for (int i = 0; i < TOPIC_CONFIG_COUNT; i++) {
    if (texts[i]) {
      TRY(config_set(&definitions[i], texts[i], &result, message));
    }
  }
  TRY(topic_config_check(&result, defaults->is_remote_storage_on, message));
  *values = result;
  return 0;
}

void topic_config_lay(const struct topic_config_defaults *defaults, const struct config_entry *overrides, int count,
                      struct topic_config *values)
{
  char message[CONFIG_MESSAGE_SIZE];
  *values = defaults->values;
  for (int i = 0; i < count; i++) {
    int place = topic_config_find(overrides[i].name);
    CHECK(place >= 0 && config_set(&definitions[place], overrides[i].value, values, message) == 0);
  }
}

/// Compares a member; texts that are not kept have none.
#define SAME_VALUE(field) is_same = is_same && left->field == right->field;
#define SAME_BOOL(field) SAME_VALUE(field)
#define SAME_INT(field) SAME_VALUE(field)
#define SAME_LEVEL(field) SAME_VALUE(field)
#define SAME_LONG(field) SAME_VALUE(field)
#define SAME_DOUBLE(field) SAME_VALUE(field)
#define SAME_ENUM(field) SAME_VALUE(field)
#define SAME_FLAGS(field) SAME_VALUE(field)
#define SAME_REPLICAS(field)
#define SAME_LIST(field)
#define SAME_TEXT(field)
#define SAME_NAME(field) is_same = is_same && strcmp(left->field, right->field) == 0;

bool topic_config_equal(const struct topic_config *left, const struct topic_config *right)
{
  bool is_same = true;
#define TOPIC_CONFIG_X(type, field, name, def, min, max, valid, broker, doc) SAME_##type(field)
#include "metadata/topic_config_list.h"
#undef TOPIC_CONFIG_X
  return is_same;
}

int topic_config_list(const struct topic_config_defaults *defaults, const struct config_entry *overrides, int count,
                      struct config_shown *shown)
{
  int shown_count = 0;
  for (int i = 0; i < TOPIC_CONFIG_COUNT; i++) {
    const char *text = NULL;
    for (int j = 0; j < count; j++) {
      if (strcmp(overrides[j].name, definitions[i].name) == 0) {
        text = overrides[j].value;
      }
    }
    if (!text && i >= TOPIC_CONFIG_KAFKA_COUNT && defaults->source[i] == CONFIG_SOURCE_DEFAULT) {
      continue; // Kafka's tools know nothing of it, and nobody has set it
    }
    shown[shown_count++] = (struct config_shown){
        .name = definitions[i].name,
        .value = text ? text : defaults->text[i],
        .source = (int8_t)(text ? CONFIG_SOURCE_TOPIC : defaults->source[i]),
    };
  }
  return shown_count;
}
