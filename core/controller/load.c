// SPDX-License-Identifier: Apache-2.0
//
// The controller's start: registers the broker, becomes controller, reads the tree, mends what a crash or another tool
// left undone, applies the topic blocks of the configuration, has the replicas opened and publishes the first image.
// Each step is an answer of the metastore or of the replicas, on the control loop.
//
//   cluster id -> register and elect -> names -> nodes -> states -> mend -> finish deletions -> adopt -> topic blocks
//   -> open what was there -> open what the blocks add -> publish
//
// Deletions come first: a block may make a topic of the name that a deleted one had. Adopted topics come before the
// blocks, which may then set their configs.
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "controller/controller_private.h"
#include "controller/load.h"
#include "controller/topic_nodes.h"
#include "os/clock.h"

static void read_cluster(struct metastore_request *request);
static void cluster_written(struct metastore_request *request);
static void elected(struct metastore_request *request);
static void read_names(struct metastore_request *request);
static void read_nodes(struct metastore_request *request);
static void read_states(struct metastore_request *request);
static void mended(struct metastore_request *request);
static void doomed_deleted(struct controller *controller);
static void doomed_removed(struct metastore_request *request);
static void make_image(struct loader *loader);
static void read_adoption(struct metastore_request *request);
static void adopted(struct metastore_request *request);
static void ask_static(struct loader *loader);
static void read_static(struct metastore_request *request);
static void static_written(struct metastore_request *request);
static void open_replicas(struct loader *loader);
static void opened(struct controller *controller);
static void unmarked(struct metastore_request *request);
static void open_added(struct loader *loader);
static void publish(struct controller *controller);

static void submit(struct loader *loader, struct writes *writes, metastore_done_fn done)
{
  // The arena of the request before may hold what the loader still points to: it lives until the end.
  loader->arenas = mem_realloc(loader->arenas, (size_t)(loader->arena_count + 1) * sizeof *loader->arenas);
  loader->arenas[loader->arena_count++] = loader->controller->request.arena;
  loader->controller->request.arena = (struct arena){0};
  writes_submit(writes, loader->controller, done);
}

/// Ends the load. On failure error_last() says why.
static void end(struct loader *loader, int result)
{
  struct controller *controller = loader->controller;
  void (*ready)(void *, int) = loader->ready;
  void *arg = loader->arg;
  metastore_request_clear(&controller->request);
  loader_free(loader);
  controller->loader = NULL;
  ready(arg, result);
  controller_resume(controller, result == 0 ? CONTROLLER_READY : CONTROLLER_FAILED);
}

/// Ends the load when the metastore failed; returns whether it did.
static bool has_failed(struct loader *loader, const struct metastore_request *request)
{
  if (request->result == 0) {
    return false;
  }
  if (request->message) {
    end(loader, error_set(request->result, "cannot load the metadata: %s", request->message));
  } else {
    end(loader, error_set(request->result, "cannot load the metadata: %s: %s", request->ops[request->failed_op].path,
                          error_text(request->result)));
  }
  return true;
}

void controller_load(struct controller *controller, void (*ready)(void *arg, int result), void *arg)
{
  CHECK(controller->loader == NULL && controller->state == CONTROLLER_IDLE);
  struct loader *loader = mem_zalloc(sizeof *loader);
  controller->loader = loader;
  loader->controller = controller;
  loader->ready = ready;
  loader->arg = arg;
  struct writes writes = {.arena = &loader->arena};
  writes_read(&writes, METASTORE_GET, "/cluster");
  writes_read(&writes, METASTORE_GET, "/cluster/id");
  writes_read(&writes, METASTORE_GET, "/controller_epoch");
  loader_ask_marker(&writes);
  submit(loader, &writes, read_cluster);
}

// ---- the cluster, the broker, the controller ----

/// Takes over the id in the metastore, or decides on a new one.
static int settle_cluster_id(struct loader *loader, const struct metastore_op *get)
{
  struct controller *controller = loader->controller;
  const char *wanted = controller->settings.cluster_id;
  const char *id = wanted;
  char made[UUID_TEXT_SIZE];
  if (get->result == 0) {
    if (topic_nodes_read_cluster(&loader->arena, get->data, &id) < 0) {
      return topic_nodes_corrupt(get->path);
    }
    if (wanted && strcmp(wanted, id) != 0) {
      return error_set(ERR_CONFIG, "the data directories belong to cluster %s, the metastore to cluster %s", wanted,
                       id);
    }
  } else if (!wanted) {
    struct uuid fresh;
    uuid_random(&fresh);
    uuid_format(&fresh, made);
    id = made;
  }
  if (strlen(id) >= sizeof controller->cluster_id) {
    return error_set(ERR_CONFIG, "cluster id %.128s is longer than %d characters", id, METADATA_CLUSTER_ID_SIZE - 1);
  }
  memcpy(controller->cluster_id, id, strlen(id) + 1);
  return 0;
}

static void read_cluster(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  const struct metastore_op *ops = request->ops;
  int result = settle_cluster_id(loader, &ops[1]);
  if (result < 0) {
    end(loader, result);
    return;
  }
  struct writes writes = {.arena = &loader->arena};
  if (ops[0].result == ERR_NOT_FOUND) {
    writes_create(&writes, "/cluster", NULL);
  }
  if (ops[1].result == ERR_NOT_FOUND) {
    writes_create(&writes, "/cluster/id", topic_nodes_cluster(&loader->arena, controller->cluster_id));
  }
  loader_mark_adoption(loader, &ops[3], &writes);
  if (ops[2].result == ERR_NOT_FOUND) {
    writes_create(&writes, "/controller_epoch", "0");
  } else {
    char *end_of_number = NULL;
    const char *text = ops[2].data ? ops[2].data : "";
    long epoch = strtol(text, &end_of_number, 10);
    if (end_of_number == text || *end_of_number != '\0' || epoch < 0 || epoch >= INT32_MAX) {
      end(loader, error_set(ERR_CORRUPT, "metastore node /controller_epoch: not a number"));
      return;
    }
    controller->epoch = (int32_t)epoch;
    controller->fence_version = ops[2].stat.version;
  }
  if (writes.count > 0) {
    submit(loader, &writes, cluster_written);
  } else {
    cluster_written(request);
  }
}

static void cluster_written(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  const struct controller_settings *settings = &controller->settings;
  struct arena *arena = &loader->arena;
  struct writes writes = {.arena = arena};
  int64_t now_ms = clock_wall_ms();
  writes_create(&writes, arena_printf(arena, "/brokers/ids/%d", settings->broker_id),
                topic_nodes_broker(arena, settings->rack, settings->endpoints, settings->endpoint_count, now_ms));
  writes.ops[0].flags = METASTORE_EPHEMERAL;
  writes_create(&writes, "/controller", topic_nodes_controller(arena, settings->broker_id, now_ms));
  writes.ops[1].flags = METASTORE_EPHEMERAL;
  writes_set(&writes, "/controller_epoch", arena_printf(arena, "%d", controller->epoch + 1));
  writes.ops[2].version = controller->fence_version;
  submit(loader, &writes, elected);
}

static void elected(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (request->result == ERR_EXISTS && request->failed_op == 0) {
    end(loader, error_set(ERR_EXISTS, "broker id %d is registered by another broker", controller->settings.broker_id));
    return;
  }
  if ((request->result == ERR_EXISTS && request->failed_op == 1) || request->result == ERR_BAD_VERSION) {
    end(loader, error_set(ERR_EXISTS, "another broker is the controller of this metastore"));
    return;
  }
  if (has_failed(loader, request)) {
    return;
  }
  controller->epoch++;
  controller->fence_version = request->ops[2].stat.version;
  struct writes writes = {.arena = &loader->arena};
  writes_read(&writes, METASTORE_CHILDREN, "/brokers/ids");
  writes_read(&writes, METASTORE_CHILDREN, "/brokers/topics");
  writes_read(&writes, METASTORE_CHILDREN, "/admin/delete_topics");
  loader_ask_config(loader, &writes);
  loader_ask_entity_names(loader, &writes);
  submit(loader, &writes, read_names);
}

// ---- reading ----

static void read_names(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  struct writes writes = {.arena = &loader->arena};
  int result = loader_take_config(loader, &request->ops[LOADER_NAME_READS]);
  if (result < 0) {
    end(loader, result);
    return;
  }
  loader_take_names(loader, request->ops);
  loader_take_entity_names(loader, &request->ops[LOADER_NAME_READS + LOADER_CONFIG_READS]);
  loader_ask_nodes(loader, &writes);
  loader_ask_entities(loader, &writes);
  submit(loader, &writes, read_nodes);
}

static void read_nodes(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  int result = loader_take_nodes(loader, request->ops);
  if (result == 0) {
    result = loader_take_entities(loader, request->ops);
  }
  if (result < 0) {
    end(loader, result);
    return;
  }
  struct writes writes = {.arena = &loader->arena};
  loader_ask_states(loader, &writes);
  submit(loader, &writes, read_states);
}

static void read_states(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  struct writes writes = {.arena = &loader->arena};
  int result = loader_take_states(loader, request->ops, &writes);
  if (result < 0) {
    end(loader, result);
    return;
  }
  submit(loader, &writes, mended);
}

// ---- deletions that were cut short ----

/// Ends the load when the replicas' layer failed; returns whether it did.
static bool has_change_failed(struct loader *loader)
{
  int result = loader->controller->change.result;
  if (result < 0) {
    end(loader, result);
  }
  return result < 0;
}

static void mended(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  loader_make_topics(loader);
  if (loader->doomed_count == 0) {
    make_image(loader);
    return;
  }
  controller_apply(controller, CONTROLLER_DELETE_REPLICAS, loader->doomed, loader->doomed_there, true, doomed_deleted);
}

static void doomed_deleted(struct controller *controller)
{
  struct loader *loader = controller->loader;
  if (has_change_failed(loader)) {
    return;
  }
  struct writes writes = {.arena = &loader->arena};
  loader_remove_doomed(loader, &writes);
  submit(loader, &writes, doomed_removed);
}

static void doomed_removed(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  make_image(loader);
}

// ---- adoption ----

static void make_image(struct loader *loader)
{
  loader_make_image(loader);
  if (loader->controller->settings.adoption == NULL) {
    ask_static(loader);
    return;
  }
  struct writes reads = {.arena = &loader->arena};
  int result = loader_ask_adoption(loader, &reads);
  if (result < 0) {
    end(loader, result);
  } else {
    submit(loader, &reads, read_adoption);
  }
}

static void read_adoption(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  struct writes writes = {.arena = &loader->arena};
  int result = loader_take_adoption(loader, request->ops, &writes);
  if (result < 0) {
    end(loader, result);
  } else {
    submit(loader, &writes, adopted);
  }
}

static void adopted(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  loader_apply_adoption(loader);
  ask_static(loader);
}

// ---- topic blocks ----

static void ask_static(struct loader *loader)
{
  int result = controller_check_views(loader->image);
  if (result < 0) {
    end(loader, result);
    return;
  }
  if (loader->controller->settings.static_topic_count == 0) {
    open_replicas(loader);
    return;
  }
  struct writes reads = {.arena = &loader->arena};
  loader->work.blocks = loader->controller->settings.static_topics;
  loader->work.block_count = loader->controller->settings.static_topic_count;
  static_work_ask(&loader->work, &reads);
  submit(loader, &reads, read_static);
}

static void read_static(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  struct writes writes = {.arena = &loader->arena};
  int result = loader_take_static(loader, request->ops, &writes);
  if (result < 0) {
    end(loader, result);
  } else if (writes.count > 0) {
    submit(loader, &writes, static_written);
  } else {
    static_written(request);
  }
}

static void static_written(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct loader *loader = controller->loader;
  if (has_failed(loader, request)) {
    return;
  }
  loader_apply_static(loader);
  open_replicas(loader);
}

// ---- replicas and the first image ----

static void open_replicas(struct loader *loader)
{
  controller_apply(loader->controller, CONTROLLER_OPEN_REPLICAS, loader->kept, loader->kept_count, true, opened);
}

static void opened(struct controller *controller)
{
  struct loader *loader = controller->loader;
  if (has_change_failed(loader)) {
    return;
  }
  if (controller->settings.adoption == NULL) {
    open_added(loader);
    return;
  }
  struct writes writes = {.arena = &loader->arena};
  loader_unmark_adoption(loader, &writes);
  submit(loader, &writes, unmarked);
}

static void unmarked(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (!has_failed(controller->loader, request)) {
    open_added(controller->loader);
  }
}

static void open_added(struct loader *loader)
{
  struct controller *controller = loader->controller;
  if (loader->opened_count == 0) {
    publish(controller);
    return;
  }
  controller_apply(controller, CONTROLLER_OPEN_REPLICAS, loader->opened, loader->opened_count, false, publish);
}

static void publish(struct controller *controller)
{
  struct loader *loader = controller->loader;
  controller_warn_views(loader->image);
  controller_publish(controller, loader->image);
  loader->image = NULL;
  end(loader, 0);
}
