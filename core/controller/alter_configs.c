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
// A request may have tens of thousands of resources: what is done for each is done in slices (slices.c), and what is
// written is one write nevertheless, so that it is there as a whole or not at all.
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
  struct alter_found *found;       ///< one for each resource
  const char **paths;              ///< of their nodes; NULL: none is looked at
  const struct metastore_op *read; ///< the next answer of the metastore; at last the notifications that there are
  struct writes writes;            ///< what is read, then what is written
  struct alter_plan plan;          ///< what is to be done
  struct metadata_draft *draft;    ///< the next image while it is made; owned
  struct metadata_image *image;    ///< what will be published; one reference, owned
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
    if (work->draft) {
      metadata_draft_cancel(work->draft);
    }
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

static void decide_begin(struct controller *controller);

static void take_node(struct controller *controller, int32_t i)
{
  struct alter_work *work = controller->alter;
  if (work->paths[i]) {
    take_found(controller, &current_request(controller)->resources[i], work->read++, &work->found[i]);
  }
}

static void nodes_read(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (request->result != 0) {
    controller_fail_write(controller);
    return;
  }
  controller->alter->read = request->ops;
  controller_slices_run(controller, current_request(controller)->resource_count, take_node, decide_begin);
}

static void read_node(struct controller *controller, int32_t i)
{
  struct alter_work *work = controller->alter;
  work->paths[i] = node_path(controller, &controller->arena, &current_request(controller)->resources[i]);
  if (work->paths[i]) {
    writes_read(&work->writes, METASTORE_GET, work->paths[i]);
  }
}

static void read_nodes(struct controller *controller)
{
  struct writes *reads = &controller->alter->writes;
  writes_read(reads, METASTORE_CHILDREN, notifications_path);
  writes_submit(reads, controller, nodes_read);
}

void controller_alter_begin(struct controller *controller, struct controller_alter *alter)
{
  struct arena *arena = &controller->arena;
  struct alter_work *work = arena_zalloc(arena, sizeof *work);
  controller->alter = work;
  work->found = arena_zalloc(arena, (size_t)alter->resource_count * sizeof *work->found);
  work->paths = arena_zalloc(arena, (size_t)alter->resource_count * sizeof *work->paths);
  work->writes = (struct writes){.arena = arena};
  writes_reserve(&work->writes, (size_t)alter->resource_count + 1);
  controller_slices_run(controller, alter->resource_count, read_node, read_nodes);
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

static void write_resource(struct controller *controller, int32_t i)
{
  struct alter_work *work = controller->alter;
  if (work->plan.changes[i].is_changed) {
    write_change(&work->writes, controller, i);
  }
}

static void write_all(struct controller *controller)
{
  writes_submit(&controller->alter->writes, controller, configs_written);
}

static void delete_notification(struct controller *controller, int32_t i)
{
  struct writes *writes = &controller->alter->writes;
  writes_delete(writes, arena_printf(writes->arena, "%s/%s", notifications_path, controller->alter->read->names[i]));
}

static void write_resources(struct controller *controller)
{
  controller_slices_run(controller, current_request(controller)->resource_count, write_resource, write_all);
}

static void decide_resource(struct controller *controller, int32_t i)
{
  struct alter_work *work = controller->alter;
  const struct alter_plan_context context = {
      .image = metadata_cache_get(controller->settings.cache),
      .config = controller->config,
      .hooks = &controller->settings.hooks,
  };
  alter_plan_decide(&context, current_request(controller), i, &work->found[i], &work->plan);
}

static void decided(struct controller *controller)
{
  struct alter_work *work = controller->alter;
  alter_plan_end(current_request(controller), &work->plan);
  if (work->plan.change_count == 0) {
    controller_finish(controller);
    return;
  }
  // Sorted by name, so by age.
  size_t known = work->read->name_count;
  size_t old = known > NOTIFICATIONS_KEPT ? known - NOTIFICATIONS_KEPT : 0;
  work->writes = (struct writes){.arena = &controller->arena};
  writes_reserve(&work->writes, 1 + old + 2 * (size_t)work->plan.change_count);
  writes_fence(&work->writes, controller->fence_version);
  controller_slices_run(controller, (int32_t)old, delete_notification, write_resources);
}

static void decide_begin(struct controller *controller)
{
  struct controller_alter *alter = current_request(controller);
  alter_plan_begin(alter, &controller->alter->plan);
  controller_slices_run(controller, alter->resource_count, decide_resource, decided);
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

/// Has the next image have what a resource is now, and says so.
static void draft_resource(struct controller *controller, int32_t i)
{
  struct metadata_draft *draft = controller->alter->draft;
  struct alter_change *change = &controller->alter->plan.changes[i];
  if (!change->is_changed) {
    return;
  }
  log_change(&current_request(controller)->resources[i], change);
  if (change->topic) {
    metadata_topic_ref(change->topic);
    metadata_draft_put_topic(draft, change->topic);
    metadata_topic_ref(change->topic);
    controller->topics[controller->topic_count++] = change->topic;
  }
  if (change->is_emptied) {
    metadata_draft_remove_entity(draft, change->entity->kind, change->entity->name,
                                 (size_t)change->entity->name_length);
  } else if (change->entity) {
    metadata_entity_ref(change->entity);
    metadata_draft_put_entity(draft, change->entity);
  }
}

static void configs_applied(struct controller *controller);

/// Makes the next image, and has the logs of topics get other settings.
static void apply(struct controller *controller)
{
  struct alter_work *work = controller->alter;
  work->image = metadata_draft_finish(work->draft);
  work->draft = NULL;
  if (work->plan.config) {
    struct metadata_draft *draft = metadata_draft_new(work->image);
    metadata_draft_set_config(draft, work->plan.config);
    for (int32_t i = 0; i < work->image->topic_count; i++) {
      if (!work->image->topics[i]->source) { // a view has its source's
        lay_config(draft, work->image->topics[i], work->plan.config, controller);
      }
    }
    metadata_image_unref(work->image);
    work->image = metadata_draft_finish(draft);
  }
  controller_apply(controller, CONTROLLER_CONFIGURE_REPLICAS, (const struct metadata_topic *const *)controller->topics,
                   controller->topic_count, false, configs_applied);
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
  struct alter_work *work = controller->alter;
  const struct metadata_image *image = metadata_cache_get(controller->settings.cache);
  int32_t room = work->plan.config ? image->topic_count : 0;
  controller->topics = mem_array((size_t)room + (size_t)work->plan.change_count, sizeof(struct metadata_topic *));
  work->draft = metadata_draft_new(image);
  controller_slices_run(controller, current_request(controller)->resource_count, draft_resource, apply);
}
