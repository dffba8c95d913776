// SPDX-License-Identifier: Apache-2.0
//
// Broker configs: setting them by Kafka's names, and what follows from several of them together. Called by the thread
// that starts the broker, before any other reads the result, and by the control thread for snapshots
// (broker_config_overlay.c).
#include "metadata/broker_config.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "metadata/config_private.h"

/// Configs that are defined, as Kafka's defaults hold for them, but that nothing heeds yet: whoever sets one would rely
/// on what does not happen: share groups and streams groups, whose configs are kept and checked by these.
static const enum broker_config_index unsupported[] = {
    BROKER_CONFIG_group_share_assignment_interval_ms,         BROKER_CONFIG_group_share_delivery_count_limit,
    BROKER_CONFIG_group_share_heartbeat_interval_ms,          BROKER_CONFIG_group_share_max_assignment_interval_ms,
    BROKER_CONFIG_group_share_max_delivery_count_limit,       BROKER_CONFIG_group_share_max_heartbeat_interval_ms,
    BROKER_CONFIG_group_share_max_partition_max_record_locks, BROKER_CONFIG_group_share_max_record_lock_duration_ms,
    BROKER_CONFIG_group_share_max_session_timeout_ms,         BROKER_CONFIG_group_share_min_assignment_interval_ms,
    BROKER_CONFIG_group_share_min_delivery_count_limit,       BROKER_CONFIG_group_share_min_heartbeat_interval_ms,
    BROKER_CONFIG_group_share_min_partition_max_record_locks, BROKER_CONFIG_group_share_min_record_lock_duration_ms,
    BROKER_CONFIG_group_share_min_session_timeout_ms,         BROKER_CONFIG_group_share_partition_max_record_locks,
    BROKER_CONFIG_group_share_record_lock_duration_ms,        BROKER_CONFIG_group_share_session_timeout_ms,
    BROKER_CONFIG_group_streams_assignment_interval_ms,       BROKER_CONFIG_group_streams_assignors,
    BROKER_CONFIG_group_streams_heartbeat_interval_ms,        BROKER_CONFIG_group_streams_initial_rebalance_delay_ms,
    BROKER_CONFIG_group_streams_max_assignment_interval_ms,   BROKER_CONFIG_group_streams_max_heartbeat_interval_ms,
    BROKER_CONFIG_group_streams_max_session_timeout_ms,       BROKER_CONFIG_group_streams_max_standby_replicas,
    BROKER_CONFIG_group_streams_min_assignment_interval_ms,   BROKER_CONFIG_group_streams_min_heartbeat_interval_ms,
    BROKER_CONFIG_group_streams_min_session_timeout_ms,       BROKER_CONFIG_group_streams_num_standby_replicas,
    BROKER_CONFIG_group_streams_rack_aware_assignment_tags,   BROKER_CONFIG_group_streams_session_timeout_ms,
};

/// Configs that are read at the start only: what was registered or bound then, and what each connection was given when
/// it was made.
static const enum broker_config_index start_only[] = {
    BROKER_CONFIG_broker_rack,
    BROKER_CONFIG_connections_max_idle_ms,
    BROKER_CONFIG_socket_listen_backlog_size,
    BROKER_CONFIG_socket_receive_buffer_bytes,
    BROKER_CONFIG_socket_request_max_bytes,
    BROKER_CONFIG_socket_send_buffer_bytes,
};

enum { MADE_RETENTION, MADE_ROLL, MADE_JITTER, MADE_FLUSH };
enum { MS_PER_MINUTE = 60 * 1000, MS_PER_HOUR = 60 * MS_PER_MINUTE };

static const struct config_def definitions[BROKER_CONFIG_COUNT] = {
#define BROKER_CONFIG_X(type, field, name, def, min, max, valid, doc) \
  {name, CONFIG_##type, (uint16_t)CONFIG_AT_##type(broker_config, field), def, min, max, valid, NULL, doc},
#include "metadata/broker_config_list.h"
#undef BROKER_CONFIG_X
};

const struct config_def *broker_config_defs(void)
{
  return definitions;
}

void broker_config_create(struct broker_config *config)
{
  char message[CONFIG_MESSAGE_SIZE];
  memset(config, 0, sizeof *config);
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    if (definitions[i].default_text) {
      CHECK(config_set(&definitions[i], definitions[i].default_text, config, message) == 0);
    }
  }
  CHECK(broker_config_resolve(config) == 0);
}

void broker_config_destroy(struct broker_config *config)
{
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    for (int layer = 0; layer < BROKER_LAYER_COUNT; layer++) {
      mem_free(config->layers[layer][i]);
      config->layers[layer][i] = NULL;
    }
    config->text[i] = NULL;
  }
}

static bool is_among(enum broker_config_index index, const enum broker_config_index *list, size_t count)
{
  size_t i = 0;
  while (i < count && list[i] != index) {
    i++;
  }
  return i < count;
}

bool broker_config_is_supported(enum broker_config_index index)
{
  return !is_among(index, unsupported, sizeof unsupported / sizeof *unsupported);
}

bool broker_config_is_reloadable(enum broker_config_index index)
{
  return broker_config_is_supported(index) && !is_among(index, start_only, sizeof start_only / sizeof *start_only);
}

bool broker_config_is_set(const struct broker_config *config, enum broker_config_index index)
{
  return config->text[index] != NULL;
}

enum config_source broker_config_layer_source(enum broker_config_layer layer)
{
  switch (layer) {
    case BROKER_LAYER_OWN:
      return CONFIG_SOURCE_DYNAMIC_BROKER;
    case BROKER_LAYER_CLUSTER:
      return CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER;
    case BROKER_LAYER_STATIC:
      return CONFIG_SOURCE_STATIC_BROKER;
    case BROKER_LAYER_COUNT:
      break;
  }
  return CONFIG_SOURCE_DEFAULT;
}

enum config_source broker_config_source(const struct broker_config *config, enum broker_config_index index)
{
  enum broker_config_layer layer = BROKER_LAYER_OWN;
  while (layer < BROKER_LAYER_COUNT && !config->layers[layer][index]) {
    layer++;
  }
  return broker_config_layer_source(layer);
}

static int refuse_unsupported(const char *name)
{
  return error_set(ERR_CONFIG, "broker config '%s' is known to Kafka but not supported by Luka yet", name);
}

/// The error for a name that is not in the list.
static int refuse_name(const char *name)
{
  int foreign_count = 0;
  const struct config_foreign *foreign = broker_config_foreign(&foreign_count);
  for (int i = 0; i < foreign_count; i++) {
    if (strcmp(foreign[i].name, name) != 0) {
      continue;
    }
    if (foreign[i].hint) {
      return error_set(ERR_CONFIG, "broker config '%s' is set by %s here", name, foreign[i].hint);
    }
    return refuse_unsupported(name);
  }
  const char *names[BROKER_CONFIG_COUNT];
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    names[i] = definitions[i].name;
  }
  const char *nearest = config_nearest(name, names, BROKER_CONFIG_COUNT);
  int length = config_clip(name, 128);
  if (nearest) {
    return error_set(ERR_CONFIG, "unknown broker config '%.*s'; did you mean '%s'?", length, name, nearest);
  }
  return error_set(ERR_CONFIG, "unknown broker config '%.*s'", length, name);
}

int broker_config_set(struct broker_config *config, const char *name, const char *text)
{
  int index = config_find(definitions, BROKER_CONFIG_COUNT, name);
  if (index < 0) {
    return refuse_name(name);
  }
  if (!broker_config_is_supported((enum broker_config_index)index)) {
    return refuse_unsupported(name);
  }
  char message[CONFIG_MESSAGE_SIZE];
  if (config_set(&definitions[index], text, config, message) < 0) {
    char range[320];
    return error_set(ERR_CONFIG, "broker config %s = '%.*s' is not allowed: it takes %s", name, config_clip(text, 128),
                     text, config_describe(&definitions[index], range, sizeof range));
  }
  mem_free(config->layers[BROKER_LAYER_STATIC][index]);
  config->layers[BROKER_LAYER_STATIC][index] = mem_strdup(text);
  config->text[index] = config->layers[BROKER_LAYER_STATIC][index];
  return 0;
}

/// The first of several configs that is set gives the time: `unit_ms` are the milliseconds per unit of each.
static int64_t first_set(const struct broker_config *config, const int *indexes, const int64_t *unit_ms, int count,
                         enum config_source *source)
{
  for (int i = 0; i < count; i++) {
    const struct config_def *def = &definitions[indexes[i]];
    bool has_text = config->text[indexes[i]] != NULL;
    if (!has_text && i < count - 1) {
      continue;
    }
    *source = broker_config_source(config, (enum broker_config_index)indexes[i]);
    const char *field = (const char *)config + def->field;
    int64_t value = def->type == CONFIG_LONG ? *(const int64_t *)field : *(const int32_t *)field;
    return value * unit_ms[i];
  }
  return 0;
}

static void put_made(struct broker_config *config, int made, int topic_index, int64_t value, enum config_source source)
{
  snprintf(config->made_text[made], sizeof config->made_text[made], "%lld", (long long)value);
  config->topic.text[topic_index] = config->made_text[made];
  config->topic.source[topic_index] = (uint8_t)source;
}

/// Retention, roll, jitter and flush times, each of which several configs can give.
static int resolve_times(struct broker_config *config)
{
  const int64_t units[] = {1, MS_PER_MINUTE, MS_PER_HOUR};
  const int64_t roll_units[] = {1, MS_PER_HOUR};
  const int64_t flush_units[] = {1, 1};
  const int retention[] = {BROKER_CONFIG_log_retention_ms, BROKER_CONFIG_log_retention_minutes,
                           BROKER_CONFIG_log_retention_hours};
  const int roll[] = {BROKER_CONFIG_log_roll_ms, BROKER_CONFIG_log_roll_hours};
  const int jitter[] = {BROKER_CONFIG_log_roll_jitter_ms, BROKER_CONFIG_log_roll_jitter_hours};
  const int flush[] = {BROKER_CONFIG_log_flush_interval_ms, BROKER_CONFIG_log_flush_scheduler_interval_ms};
  enum config_source source = CONFIG_SOURCE_DEFAULT;

  int64_t value = first_set(config, retention, units, 3, &source);
  if (value == 0) {
    return error_set(ERR_CONFIG, "broker config log.retention.ms (or minutes, hours) is 0; it takes -1, or 1 and more");
  }
  config->topic.values.retention_ms = value < 0 ? -1 : value;
  put_made(config, MADE_RETENTION, TOPIC_CONFIG_retention_ms, config->topic.values.retention_ms, source);

  value = first_set(config, roll, roll_units, 2, &source);
  if (value < 1) {
    return error_set(ERR_CONFIG, "broker config log.roll.ms = %lld is not allowed: it takes 1 and more",
                     (long long)value);
  }
  config->topic.values.segment_ms = value;
  put_made(config, MADE_ROLL, TOPIC_CONFIG_segment_ms, value, source);

  value = first_set(config, jitter, roll_units, 2, &source);
  if (value < 0) {
    return error_set(ERR_CONFIG, "broker config log.roll.jitter.ms = %lld is not allowed: it takes 0 and more",
                     (long long)value);
  }
  config->topic.values.segment_jitter_ms = value;
  put_made(config, MADE_JITTER, TOPIC_CONFIG_segment_jitter_ms, value, source);

  value = first_set(config, flush, flush_units, 2, &source);
  if (value < 0) {
    return error_set(ERR_CONFIG, "broker config log.flush.interval.ms = %lld is not allowed: it takes 0 and more",
                     (long long)value);
  }
  config->topic.values.flush_ms = value;
  put_made(config, MADE_FLUSH, TOPIC_CONFIG_flush_ms, value, source);
  return 0;
}

int broker_config_resolve(struct broker_config *config)
{
  char message[CONFIG_MESSAGE_SIZE];
  const struct config_def *topic_defs = topic_config_defs();
  topic_config_defaults_create(&config->topic);
  if (group_config_resolve_defaults(config, message) < 0) {
    return error_set(ERR_CONFIG, "%s", message);
  }
  TRY(resolve_times(config));
  for (int i = 0; i < TOPIC_CONFIG_COUNT; i++) {
    const char *name = topic_defs[i].broker_name;
    int index = name ? config_find(definitions, BROKER_CONFIG_COUNT, name) : -1;
    bool is_made = config->topic.text[i] != topic_defs[i].default_text;
    if (index < 0 || is_made || !config->text[index]) {
      continue;
    }
    if (config_set(&topic_defs[i], config->text[index], &config->topic.values, message) < 0) {
      return error_set(ERR_CONFIG, "broker config %s cannot be the default of %s: %s", name, topic_defs[i].name,
                       message);
    }
    config->topic.text[i] = config->text[index];
    config->topic.source[i] = (uint8_t)broker_config_source(config, (enum broker_config_index)index);
  }
  if (topic_config_check(&config->topic.values, config->topic.is_remote_storage_on, message) < 0) {
    return error_set(ERR_CONFIG, "broker configs do not agree: %s", message);
  }
  return 0;
}
