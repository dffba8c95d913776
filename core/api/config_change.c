// SPDX-License-Identifier: Apache-2.0
#include "api/config_change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/broker_id.h"
#include "api/logger.h"
#include "api/request.h"
#include "api/topic_hooks.h"
#include "base/slog.h"
#include "metadata/config.h"
#include "wire/error_codes.h"

enum {
  CONFIG_CHANGE_WAIT_MS = 30000,   ///< as long as a broker of Kafka waits for its controller
  CONFIG_CHANGE_NAMES_SHOWN = 900, ///< bytes of clients' names in a message
};

enum { CONFIG_CHANGE_LOGGER = 8 }; ///< Kafka's number of the type of resource, beyond those that the controller knows

static void config_change_done(struct controller_alter *alter)
{
  topic_change_done(alter->arg);
}

struct topic_change *config_change_new(struct request *req, int32_t resource_count, bool is_incremental,
                                       topic_change_fn answer)
{
  struct topic_change *change = topic_change_new(req->worker, req, CONFIG_CHANGE_WAIT_MS, answer);
  struct controller_alter *alter = &change->alter;
  alter->arena = &change->arena;
  alter->resource_count = resource_count;
  alter->resources = arena_zalloc(&change->arena, (size_t)resource_count * sizeof *alter->resources);
  alter->is_incremental = is_incremental;
  alter->reply = req->worker->loop;
  alter->done = config_change_done;
  alter->arg = change;
  return change;
}

struct controller_alter_entry *config_change_resource(struct topic_change *change, int32_t index, int8_t type,
                                                      struct wire_string name, int32_t entry_count)
{
  struct controller_alter_resource *resource = &change->alter.resources[index];
  struct controller_alter_entry *entries = arena_zalloc(&change->arena, (size_t)entry_count * sizeof *entries);
  resource->type = type;
  resource->name = arena_strndup(&change->arena, name.data, (size_t)name.length);
  resource->name_length = (size_t)name.length;
  resource->entries = entries;
  resource->entry_count = entry_count;
  return entries;
}

int64_t config_change_weight(struct wire_string value)
{
  int64_t weight = 1;
  const char *end = value.data + (value.length > 0 ? value.length : 0);
  for (const char *at = value.data; value.length > 0 && (at = memchr(at, ',', (size_t)(end - at))) != NULL; at++) {
    weight++;
  }
  return weight;
}

// ---- checks ----

static void config_change_refuse(struct controller_alter_resource *resource, int16_t error, const char *message)
{
  resource->error_code = error;
  resource->error_message = message;
}

static int config_change_compare(const void *left, const void *right)
{
  const struct controller_alter_resource *a = *(struct controller_alter_resource *const *)left;
  const struct controller_alter_resource *b = *(struct controller_alter_resource *const *)right;
  if (a->type != b->type) {
    return a->type < b->type ? -1 : 1;
  }
  size_t shorter = a->name_length < b->name_length ? a->name_length : b->name_length;
  int order = memcmp(a->name, b->name, shorter);
  return order != 0 ? order : (a->name_length > b->name_length) - (a->name_length < b->name_length);
}

/// Refuses resources that come twice, all of them.
static void config_change_find_repeats(struct topic_change *change)
{
  int32_t count = change->alter.resource_count;
  struct controller_alter_resource **sorted = arena_alloc(&change->arena, (size_t)(count + 1) * sizeof *sorted);
  for (int32_t i = 0; i < count; i++) {
    sorted[i] = &change->alter.resources[i];
  }
  qsort(sorted, (size_t)count, sizeof *sorted, config_change_compare);
  for (int32_t i = 1; i < count; i++) {
    if (config_change_compare(&sorted[i - 1], &sorted[i]) == 0) {
      config_change_refuse(sorted[i - 1], WIRE_INVALID_REQUEST, "Each resource must appear at most once.");
      config_change_refuse(sorted[i], WIRE_INVALID_REQUEST, "Each resource must appear at most once.");
    }
  }
}

static int config_change_compare_names(const void *left, const void *right)
{
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/// Refuses a config that comes twice.
static bool config_change_has_repeat(struct topic_change *change, const struct controller_alter_resource *resource)
{
  const char **names = arena_alloc(&change->arena, (size_t)(resource->entry_count + 1) * sizeof *names);
  for (int32_t i = 0; i < resource->entry_count; i++) {
    names[i] = resource->entries[i].name;
  }
  qsort(names, (size_t)resource->entry_count, sizeof *names, config_change_compare_names);
  for (int32_t i = 1; i < resource->entry_count; i++) {
    if (strcmp(names[i - 1], names[i]) == 0) {
      return true;
    }
  }
  return false;
}

/// The message for configs without a value, or NULL when all have one.
static const char *config_change_missing(struct topic_change *change, const struct controller_alter_resource *resource)
{
  char names[CONFIG_CHANGE_NAMES_SHOWN + 300];
  size_t used = 0;
  bool is_missing = false; // the name may be empty, too
  for (int32_t i = 0; i < resource->entry_count && used < CONFIG_CHANGE_NAMES_SHOWN; i++) {
    const struct controller_alter_entry *entry = &resource->entries[i];
    if (entry->value == NULL && entry->operation != CONTROLLER_UNSET) {
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", is_missing ? ", " : "",
                               config_clip(entry->name, 256), entry->name);
      is_missing = true;
    }
  }
  return is_missing ? arena_printf(&change->arena, "Null value not supported for : %s", names) : NULL;
}

/// Whether a resource names this broker, whose id its name becomes; otherwise it has its error.
static bool config_change_is_this_broker(struct topic_change *change, struct controller_alter_resource *resource)
{
  int32_t id = 0;
  int32_t own = change->req->api->broker_id;
  int shown = config_clip(resource->name, 100);
  struct wire_string name = {resource->name, (int32_t)resource->name_length};
  bool is_logger = resource->type == CONFIG_CHANGE_LOGGER;
  if (!broker_id_read(name, &id)) {
    config_change_refuse(
        resource, WIRE_INVALID_REQUEST,
        arena_printf(&change->arena, "Node id must be an integer, but it is: %.*s", shown, resource->name));
  } else if (id != own) {
    const char *format = is_logger ? "Unexpected node id. Expected %d, but received %d"
                                   : "Unexpected broker id, expected %d, but received %d";
    config_change_refuse(resource, WIRE_INVALID_REQUEST, arena_printf(&change->arena, format, own, id));
  } else {
    resource->name = arena_printf(&change->arena, "%d", id);
    resource->name_length = strlen(resource->name);
    return true;
  }
  return false;
}

/// Why the level of a logger cannot be changed so, or NULL.
static const char *config_change_logger_fault(struct topic_change *change, const struct controller_alter_entry *entry,
                                              int16_t *error)
{
  int shown = config_clip(entry->name, 256);
  enum slog_level level = SLOG_INFO;
  *error = WIRE_INVALID_REQUEST;
  switch (entry->operation) {
    case CONTROLLER_SET:
    case CONTROLLER_UNSET:
      break;
    case CONTROLLER_APPEND:
    case CONTROLLER_SUBTRACT:
      return arena_printf(&change->arena, "%s operation is not allowed for the BROKER_LOGGER resource",
                          entry->operation == CONTROLLER_APPEND ? "APPEND" : "SUBTRACT");
    default:
      return arena_printf(&change->arena, "Unknown operation type %d is not allowed for the BROKER_LOGGER resource",
                          entry->operation);
  }
  if (strcmp(entry->name, LOGGER_NAME) == 0 && entry->operation == CONTROLLER_UNSET) {
    return "Removing the log level of the root logger is not allowed";
  }
  *error = WIRE_INVALID_CONFIG;
  if (strcmp(entry->name, LOGGER_NAME) != 0) {
    return arena_printf(&change->arena, "Logger %.*s does not exist!", shown, entry->name);
  }
  if (!logger_level_read(entry->value, &level)) {
    return arena_printf(&change->arena,
                        "Cannot set the log level of %s to %.*s as it is not a supported log level. Valid log levels "
                        "are DEBUG, ERROR, INFO, WARN",
                        LOGGER_NAME, config_clip(entry->value, 256), entry->value);
  }
  return NULL;
}

/// Changes how much the broker's log says; done here, as it is this process's alone, and not kept.
static void config_change_loggers(struct topic_change *change, struct controller_alter_resource *resource)
{
  resource->is_settled = config_change_is_this_broker(change, resource);
  for (int32_t i = 0; i < resource->entry_count && resource->error_code == WIRE_NONE; i++) {
    int16_t error = WIRE_NONE;
    const char *fault = config_change_logger_fault(change, &resource->entries[i], &error);
    if (fault != NULL) {
      config_change_refuse(resource, error, fault);
    }
  }
  if (!resource->is_settled || resource->error_code != WIRE_NONE || resource->entry_count == 0 ||
      change->alter.is_validate_only) {
    return;
  }
  enum slog_level level = SLOG_INFO;
  logger_level_read(resource->entries[0].value, &level); // the only one: names come once
  slog_set_level(level);
  slog_info("the log's level is set to %s", logger_level_name(level));
}

static void config_change_check(struct topic_change *change, struct controller_alter_resource *resource)
{
  struct wire_string name = {resource->name, (int32_t)resource->name_length};
  int16_t error = WIRE_NONE;
  const char *denial = NULL;
  if (!api_may_config(change->req, RIGHT_ALTER_CONFIGS, resource->type, name, &error, &denial)) {
    bool has_text = error != WIRE_CLUSTER_AUTHORIZATION_FAILED; // as Kafka has it
    config_change_refuse(resource, error, has_text ? denial : NULL);
    return;
  }
  const char *missing = NULL;
  if (config_change_has_repeat(change, resource)) {
    config_change_refuse(resource, WIRE_INVALID_REQUEST, "Error due to duplicate config keys");
    return;
  }
  missing = config_change_missing(change, resource);
  if (missing != NULL) {
    config_change_refuse(resource, WIRE_INVALID_REQUEST, missing);
    return;
  }
  switch (resource->type) {
    case CONTROLLER_TOPIC:
      return;
    case CONTROLLER_BROKER:
      if (resource->name_length > 0) {
        config_change_is_this_broker(change, resource);
      }
      return;
    case CONFIG_CHANGE_LOGGER:
      if (change->alter.is_incremental) {
        config_change_loggers(change, resource);
        return;
      }
      break;
    case CONTROLLER_CLIENT_METRICS:
    case CONTROLLER_GROUP:
      return;
    default:
      break;
  }
  config_change_refuse(resource, WIRE_INVALID_REQUEST,
                       arena_printf(&change->arena, "Unknown resource type %d", resource->type));
}

void config_change_send(struct topic_change *change)
{
  struct controller_alter *alter = &change->alter;
  bool is_open = false;
  for (int32_t i = 0; i < alter->resource_count; i++) {
    is_open = is_open || (alter->resources[i].error_code == WIRE_NONE && !alter->resources[i].is_settled);
  }
  if (is_open) {
    controller_alter_configs(change->worker->api->controller, alter); // the request may have been answered
  } else {
    topic_change_done(change);
  }
}

void config_change_submit(struct topic_change *change)
{
  struct controller_alter *alter = &change->alter;
  config_change_find_repeats(change);
  for (int32_t i = 0; i < alter->resource_count; i++) {
    if (alter->resources[i].error_code == WIRE_NONE) {
      config_change_check(change, &alter->resources[i]);
    }
  }
  // Once more: "1" and "+1" are the same broker.
  config_change_find_repeats(change);
  topic_hooks_alter(change, change->req);
}

void config_change_result(const struct topic_change *change, bool is_timed_out, int32_t index, int16_t *error,
                          struct wire_string *message)
{
  if (is_timed_out) {
    *error = WIRE_REQUEST_TIMED_OUT;
    *message = wire_string_from("The configs are not changed yet; changing them goes on.");
    return;
  }
  const struct controller_alter_resource *resource = &change->alter.resources[index];
  *error = resource->error_code;
  *message = wire_string_from(resource->error_code != WIRE_NONE ? resource->error_message : NULL);
}
