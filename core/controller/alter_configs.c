// SPDX-License-Identifier: Apache-2.0
//
// Changing configs: of topics, of this broker, of all brokers, of groups, of subscriptions to clients' metrics, and of
// users (entity_nodes.h). Control thread.
//
//   read the nodes -> decide (alter_plan.c) -> write nodes and notifications -> logs get their settings -> publish ->
//   answer
//
//   /config/topics/NAME, /config/brokers/ID, /config/brokers/<default>   {"version":1,"config":{...}}
//   /config/changes/config_change_0000000012                             {"version":2,"entity_path":"topics/NAME"}
//
// The notifications are for those who watch Kafka's layout; only the newest are kept. What is set on brokers is the
// default of topics: a change of it is laid over all topics.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "controller/alter_plan.h"
#include "controller/controller_private.h"
#include "controller/entity_nodes.h"
#include "controller/topic_nodes.h"
#include "wire/error_codes.h"

enum {
  NOTIFICATIONS_KEPT = 100, ///< of earlier changes, in /config/changes
  SHOWN_MAX = 300,          ///< bytes of a change that the log shows
};

static const char notifications_path[] = "/config/changes";

/// A change of configs under way; in the controller's arena.
struct alter_work {
  struct alter_found *found;    ///< one for each resource
  const char **paths;           ///< of their nodes; NULL: none is looked at
  struct alter_plan plan;       ///< what is to be done
  struct metadata_image *image; ///< what will be published; one reference, owned
};

void controller_set_config(struct controller *controller, struct broker_config *config)
{
  const struct controller_hooks *hooks = &controller->settings.hooks;
  if (controller->config) {
    broker_config_unref(controller->config);
  }
  controller->config = config;
  if (hooks->configured) {
    hooks->configured(hooks->arg, config);
  }
}

static struct controller_alter *current_request(struct controller *controller)
{
  return CONTAINER_OF(controller->current, struct controller_alter, base);
}

void controller_alter_drop(struct alter_work *work)
{
  if (work) {
    alter_plan_destroy(&work->plan);
    if (work->image) {
      metadata_image_unref(work->image);
    }
  }
}

// ---- reading ----

/// The node of a resource that can have one; names of clients go into a path only when a topic has them.
static const char *node_path(const struct controller *controller, struct arena *arena,
                             const struct controller_alter_resource *resource)
{
  if (resource->error_code != WIRE_NONE || resource->is_settled) {
    return NULL;
  }
  if (resource->type == CONTROLLER_BROKER) {
    return topic_nodes_path_broker_config(arena, resource->name_length > 0 ? controller->settings.broker_id : -1);
  }
  if (resource->type != CONTROLLER_TOPIC) {
    return resource->name_length > 0 ? entity_nodes_path(arena, (enum metadata_entity_kind)resource->type,
                                                         resource->name, resource->name_length)
                                     : NULL;
  }
  const struct metadata_image *image = metadata_cache_get(controller->settings.cache);
  const struct metadata_topic *topic = metadata_image_topic(image, resource->name, resource->name_length);
  return topic && !topic->source ? topic_nodes_path_config(arena, topic->name) : NULL;
}

/// Takes over what a node has; it was written or checked by a controller, so damage is rare.
static void take_found(struct controller *controller, struct controller_alter_resource *resource,
                       const struct metastore_op *op, struct alter_found *found)
{
  struct config_entry *configs = NULL;
  found->is_there = op->result == 0;
  if (!found->is_there || op->size == 0) {
    return;
  }
  if (topic_nodes_read_config(&controller->arena, op->data, &configs, &found->config_count) < 0) {
    slog_error("metastore node %s: %s", op->path, error_last()->message);
    resource->error_code = WIRE_UNKNOWN_SERVER_ERROR;
    resource->error_message = "The stored configuration cannot be read.";
    return;
  }
  found->configs = configs;
}

static void decide_and_write(struct controller *controller, const struct metastore_op *notifications);

static void nodes_read(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct controller_alter *alter = current_request(controller);
  if (request->result != 0) {
    controller_fail_write(controller);
    return;
  }
  const struct metastore_op *op = request->ops;
  for (int32_t i = 0; i < alter->resource_count; i++) {
    if (controller->alter->paths[i]) {
      take_found(controller, &alter->resources[i], op++, &controller->alter->found[i]);
    }
  }
  decide_and_write(controller, op);
}

void controller_alter_begin(struct controller *controller, struct controller_alter *alter)
{
  struct arena *arena = &controller->arena;
  struct alter_work *work = arena_zalloc(arena, sizeof *work);
  struct writes reads = {.arena = arena};
  controller->alter = work;
  work->found = arena_zalloc(arena, (size_t)alter->resource_count * sizeof *work->found);
  work->paths = arena_zalloc(arena, (size_t)alter->resource_count * sizeof *work->paths);
  for (int32_t i = 0; i < alter->resource_count; i++) {
    work->paths[i] = node_path(controller, arena, &alter->resources[i]);
    if (work->paths[i]) {
      writes_read(&reads, METASTORE_GET, work->paths[i]);
    }
  }
  writes_read(&reads, METASTORE_CHILDREN, notifications_path);
  writes_submit(&reads, controller, nodes_read);
}

// ---- writing ----

static void write_notification(struct writes *writes, const struct controller *controller,
                               const struct controller_alter_resource *resource)
{
  const char *folder = "topics";
  const char *entity = resource->name;
  if (resource->type == CONTROLLER_BROKER) {
    folder = "brokers";
    entity =
        resource->name_length > 0 ? arena_printf(writes->arena, "%d", controller->settings.broker_id) : "<default>";
  } else if (resource->type != CONTROLLER_TOPIC) {
    folder = entity_nodes_folder((enum metadata_entity_kind)resource->type);
    entity = entity_nodes_encode(writes->arena, resource->name, resource->name_length);
  }
  const char *path = arena_printf(writes->arena, "%s/config_change_", notifications_path);
  writes_create(writes, path, topic_nodes_config_change(writes->arena, folder, entity));
  writes->ops[writes->count - 1].flags = METASTORE_SEQUENTIAL;
}

static void write_change(struct writes *writes, struct controller *controller, int32_t index)
{
  const struct alter_work *work = controller->alter;
  const struct alter_change *change = &work->plan.changes[index];
  const char *text = topic_nodes_config(writes->arena, change->configs, change->config_count);
  // Users keep an empty node, as in Kafka: their clients may be below it.
  bool is_gone = change->is_emptied && change->entity->kind != METADATA_USER;
  if (is_gone) {
    writes_delete(writes, work->paths[index]);
  } else if (work->found[index].is_there) {
    writes_set(writes, work->paths[index], text);
  } else {
    writes_create(writes, work->paths[index], text);
  }
  write_notification(writes, controller, &current_request(controller)->resources[index]);
}

static void configs_written(struct metastore_request *request);

static void decide_and_write(struct controller *controller, const struct metastore_op *notifications)
{
  struct controller_alter *alter = current_request(controller);
  struct alter_work *work = controller->alter;
  struct alter_plan_context context = {
      .image = metadata_cache_get(controller->settings.cache),
      .config = controller->config,
      .hooks = &controller->settings.hooks,
  };
  alter_plan_make(&context, alter, work->found, &work->plan);
  if (work->plan.change_count == 0) {
    controller_finish(controller);
    return;
  }
  struct writes writes = {.arena = &controller->arena};
  writes_fence(&writes, controller->fence_version);
  // Sorted by name, so by age.
  for (size_t i = 0; i + NOTIFICATIONS_KEPT < notifications->name_count; i++) {
    writes_delete(&writes, arena_printf(writes.arena, "%s/%s", notifications_path, notifications->names[i]));
  }
  for (int32_t i = 0; i < alter->resource_count; i++) {
    if (work->plan.changes[i].is_changed) {
      write_change(&writes, controller, i);
    }
  }
  writes_submit(&writes, controller, configs_written);
}

// ---- applying ----

/// Says what became of a user's credentials, which themselves are nobody's business.
static void log_user(const struct controller_alter_resource *resource)
{
  for (int32_t i = 0; i < resource->entry_count; i++) {
    slog_info("credentials of user %s: %s %s", resource->name, resource->entries[i].name,
              resource->entries[i].operation == CONTROLLER_UNSET ? "deleted" : "set");
  }
}

static const char *shown_type(const struct controller_alter_resource *resource)
{
  switch (resource->type) {
    case CONTROLLER_TOPIC:
      return "topic ";
    case CONTROLLER_GROUP:
      return "group ";
    case CONTROLLER_CLIENT_METRICS:
      return "client metrics subscription ";
    default:
      return resource->name_length > 0 ? "broker " : "all brokers";
  }
}

/// Says what a resource is set to.
static void log_change(const struct controller_alter_resource *resource, const struct alter_change *change)
{
  if (resource->type == CONTROLLER_USER) {
    log_user(resource);
    return;
  }
  char text[SHOWN_MAX + 1] = "";
  size_t used = 0;
  for (int32_t i = 0; i < change->config_count && used < SHOWN_MAX; i++) {
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", i > 0 ? ", " : "", change->configs[i].name,
                             change->configs[i].value);
  }
  if (used > SHOWN_MAX - 3) {
    memcpy(text + config_clip(text, SHOWN_MAX - 3), "...", 4);
  }
  slog_info("configs of %s%s: %s", shown_type(resource), resource->name, used > 0 ? text : "none set");
}

struct metadata_topic *controller_lay_config(const struct metadata_topic *topic, const struct broker_config *config)
{
  struct topic_config values;
  topic_config_lay(&config->topic, topic->overrides, topic->override_count, &values);
  return topic_config_equal(&values, &topic->config)
             ? NULL
             : metadata_topic_with_config(topic, topic->overrides, topic->override_count, &values);
}

/// Lays a new broker configuration over the topics, those that the request changes included.
static void lay_config(struct metadata_draft *draft, const struct metadata_topic *topic,
                       const struct broker_config *config, struct controller *controller)
{
  struct metadata_topic *laid = controller_lay_config(topic, config);
  if (laid) {
    metadata_topic_ref(laid);
    controller->topics[controller->topic_count++] = laid;
    metadata_draft_put_topic(draft, laid);
  }
}

/// Makes the next image, and lists the topics whose logs get other settings.
static void make_image(struct controller *controller)
{
  const struct controller_alter *alter = current_request(controller);
  struct alter_work *work = controller->alter;
  const struct metadata_image *image = metadata_cache_get(controller->settings.cache);
  struct metadata_draft *draft = metadata_draft_new(image);
  int32_t room = work->plan.config ? image->topic_count : work->plan.change_count;
  for (int32_t i = 0; i < alter->resource_count; i++) {
    struct alter_change *change = &work->plan.changes[i];
    if (change->topic) {
      metadata_topic_ref(change->topic);
      metadata_draft_put_topic(draft, change->topic);
    }
    if (change->is_emptied) {
      metadata_draft_remove_entity(draft, change->entity->kind, change->entity->name,
                                   (size_t)change->entity->name_length);
    } else if (change->entity) {
      metadata_entity_ref(change->entity);
      metadata_draft_put_entity(draft, change->entity);
    }
  }
  controller->topics = mem_array((size_t)room + (size_t)work->plan.change_count, sizeof *controller->topics);
  for (int32_t i = 0; i < alter->resource_count; i++) {
    struct metadata_topic *topic = work->plan.changes[i].topic;
    if (topic) {
      metadata_topic_ref(topic);
      controller->topics[controller->topic_count++] = topic;
    }
  }
  work->image = metadata_draft_finish(draft);
  if (!work->plan.config) {
    return;
  }
  draft = metadata_draft_new(work->image);
  metadata_draft_set_config(draft, work->plan.config);
  for (int32_t i = 0; i < work->image->topic_count; i++) {
    if (!work->image->topics[i]->source) {
      lay_config(draft, work->image->topics[i], work->plan.config, controller);
    }
  }
  metadata_image_unref(work->image);
  work->image = metadata_draft_finish(draft);
}

static void configs_applied(struct controller *controller)
{
  struct alter_work *work = controller->alter;
  if (work->plan.config) {
    controller_set_config(controller, work->plan.config);
    work->plan.config = NULL;
  }
  controller_publish(controller, work->image);
  work->image = NULL;
  controller_finish(controller);
}

static void configs_written(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (request->result != 0) {
    controller_fail_write(controller);
    return;
  }
  const struct controller_alter *alter = current_request(controller);
  for (int32_t i = 0; i < alter->resource_count; i++) {
    if (controller->alter->plan.changes[i].is_changed) {
      log_change(&alter->resources[i], &controller->alter->plan.changes[i]);
    }
  }
  make_image(controller);
  controller_apply(controller, CONTROLLER_CONFIGURE_REPLICAS, (const struct metadata_topic *const *)controller->topics,
                   controller->topic_count, false, configs_applied);
}
