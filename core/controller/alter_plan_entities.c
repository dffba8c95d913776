// SPDX-License-Identifier: Apache-2.0
//
// Decisions on what is set on groups, on subscriptions to clients' metrics, and on users: the credentials with which
// they log in, each under the name of its mechanism (KIP-554).
#include <string.h>

#include "base/arena.h"
#include "controller/alter_plan_private.h"
#include "controller/entity_nodes.h"
#include "metadata/client_metrics_config.h"
#include "wire/error_codes.h"

/// @return the error's code
static int16_t decide_group(struct alter_decision *decision)
{
  char message[CONFIG_MESSAGE_SIZE];
  struct config_entry *checked = arena_alloc(decision->arena, (size_t)(decision->count + 1) * sizeof *checked);
  int32_t count = 0;
  if (decision->resource->name_length == 0) {
    return alter_refuse(decision, WIRE_INVALID_REQUEST, "Default group resources are not allowed.");
  }
  for (int32_t i = 0; i < decision->count; i++) {
    // What another release left in the node stays there, and is no reason to refuse the rest.
    if (group_config_find(decision->configs[i].name) >= 0 || !alter_is_untouched(decision, &decision->configs[i])) {
      checked[count++] = decision->configs[i];
    }
  }
  return group_config_check(decision->context->config, checked, count, message) < 0
             ? alter_refuse(decision, WIRE_INVALID_CONFIG, message)
             : 0;
}

/// @return the error's code
static int16_t decide_client_metrics(struct alter_decision *decision)
{
  char message[CONFIG_MESSAGE_SIZE];
  if (decision->resource->name_length == 0) {
    return alter_refuse(decision, WIRE_INVALID_REQUEST, "Subscription name can't be empty");
  }
  for (int32_t i = 0; i < decision->count; i++) {
    const struct config_entry *entry = &decision->configs[i];
    bool is_request_error = false;
    if (!alter_is_untouched(decision, entry) &&
        client_metrics_config_check(entry->name, entry->value, &is_request_error, message) < 0) {
      return alter_refuse(decision, is_request_error ? WIRE_INVALID_REQUEST : WIRE_INVALID_CONFIG, message);
    }
  }
  return 0;
}

static bool has_entry(const struct alter_found *found, const char *name)
{
  for (int32_t i = 0; i < found->config_count; i++) {
    if (strcmp(found->configs[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

/// Refuses to take away what is not there, and more than one change of a user. @return the error's code
static int16_t check_user(struct alter_decision *decision)
{
  const struct controller_alter_resource *resource = decision->resource;
  if (resource->entries[0].operation == CONTROLLER_UNSET && !has_entry(decision->found, resource->entries[0].name)) {
    return alter_refuse(decision, WIRE_RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist");
  }
  return resource->entry_count > 1 ? alter_refuse(decision, WIRE_DUPLICATE_RESOURCE,
                                                  "A user credential cannot be altered twice in the same request")
                                   : 0;
}

void alter_decide_entity(struct alter_decision *decision, struct alter_change *change)
{
  const struct controller_alter_resource *resource = decision->resource;
  enum metadata_entity_kind kind = (enum metadata_entity_kind)resource->type;
  int16_t error = kind == METADATA_USER ? check_user(decision) : 0;
  if (error == 0) {
    error = alter_operate(decision);
  }
  if (error == 0 && kind == METADATA_GROUP) {
    error = decide_group(decision);
  } else if (error == 0 && kind == METADATA_CLIENT_METRICS) {
    error = decide_client_metrics(decision);
  }
  if (error == 0 && !entity_nodes_path(decision->arena, kind, resource->name, resource->name_length)) {
    error = alter_refuse(decision, WIRE_INVALID_REQUEST,
                         "The name is too long to be kept: its configs are kept in a node whose path has 480 bytes.");
  }
  if (error == 0 && alter_is_changed(decision)) {
    change->is_emptied = decision->count == 0;
    change->entity =
        metadata_entity_new(kind, resource->name, resource->name_length, decision->configs, decision->count);
  }
}
