// SPDX-License-Identifier: Apache-2.0
//
// The queue of changes: one is worked on at a time, through the metastore, the replicas and the image, each step a
// callback on the control loop.
//
//   create: decide -> write nodes -> open replicas -> publish -> answer
//   grow:   decide -> write nodes -> open the new replicas -> publish -> answer
//   delete: decide -> write /admin/delete_topics -> publish without them -> delete replicas -> delete nodes -> answer
//
// A crash after the first write of a deletion leaves the request node behind; the next load finishes the deletion.
#include "controller/controller.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "controller/controller_private.h"
#include "controller/load.h"
#include "controller/topic_nodes.h"
#include "controller/topic_plan.h"
#include "event/loop.h"
#include "os/clock.h"
#include "wire/error_codes.h"

enum { REFUSAL_INTERVAL_MS = 10000 };

static const char not_controller[] = "This is not the correct controller for this cluster.";

static void run_queue(struct controller *controller);
static void complete_all(struct controller *controller);

struct controller *controller_new(const struct controller_settings *settings)
{
  struct controller *controller = mem_zalloc(sizeof *controller);
  controller->settings = *settings;
  list_create(&controller->queue);
  return controller;
}

static void drop_topics(struct controller *controller)
{
  for (int32_t i = 0; i < controller->topic_count; i++) {
    metadata_topic_unref(controller->topics[i]);
    if (controller->opened) {
      metadata_topic_unref(controller->opened[i]);
    }
  }
  mem_free(controller->opened);
  controller->opened = NULL;
  mem_free(controller->topics);
  controller->topics = NULL;
  controller->topic_count = 0;
}

void controller_delete(struct controller *controller)
{
  if (!controller) {
    return;
  }
  if (controller->loader) {
    loader_free(controller->loader);
  }
  controller_alter_drop(controller->alter); // before its request ends, whose arena it is in
  controller_reload_drop(controller->reload);
  complete_all(controller);
  unremoved_drop(controller);
  drop_topics(controller);
  if (controller->config) {
    broker_config_unref(controller->config);
  }
  metastore_request_clear(&controller->request);
  arena_destroy(&controller->arena);
  mem_free(controller);
}

const char *controller_cluster_id(const struct controller *controller)
{
  return controller->cluster_id;
}

// ---- answers ----

static struct controller_create *create_of(struct controller_request *request)
{
  return CONTAINER_OF(request, struct controller_create, base);
}

static struct controller_drop *drop_of(struct controller_request *request)
{
  return CONTAINER_OF(request, struct controller_drop, base);
}

static struct controller_grow *grow_of(struct controller_request *request)
{
  return CONTAINER_OF(request, struct controller_grow, base);
}

static struct controller_producer_id *producer_id_of(struct controller_request *request)
{
  return CONTAINER_OF(request, struct controller_producer_id, base);
}

static struct controller_alter *alter_of(struct controller_request *request)
{
  return CONTAINER_OF(request, struct controller_alter, base);
}

static struct controller_reload *reload_of(struct controller_request *request)
{
  return CONTAINER_OF(request, struct controller_reload, base);
}

static void deliver(struct mail *mail)
{
  struct controller_request *request = CONTAINER_OF(mail, struct controller_request, mail);
  switch (request->kind) {
    case CONTROLLER_CREATE:
      create_of(request)->done(create_of(request));
      break;
    case CONTROLLER_DROP:
      drop_of(request)->done(drop_of(request));
      break;
    case CONTROLLER_GROW:
      grow_of(request)->done(grow_of(request));
      break;
    case CONTROLLER_PRODUCER_ID:
      producer_id_of(request)->done(producer_id_of(request));
      break;
    case CONTROLLER_ALTER:
      alter_of(request)->done(alter_of(request));
      break;
    case CONTROLLER_RELOAD:
      reload_of(request)->done(reload_of(request));
      break;
  }
}

static void fail_drop(struct controller_drop *drop, int16_t code, const char *message, bool is_all)
{
  for (int32_t i = 0; i < drop->topic_count; i++) {
    struct controller_old_topic *topic = &drop->topics[i];
    if (is_all || (topic->error_code == WIRE_NONE && !topic->is_repeat)) {
      topic->is_repeat = false;
      topic->error_code = code;
      topic->error_message = message;
    }
  }
}

static void fail_grow(struct controller_grow *grow, int16_t code, const char *message, bool is_all)
{
  for (int32_t i = 0; i < grow->topic_count; i++) {
    struct controller_grown_topic *topic = &grow->topics[i];
    if (is_all || (topic->error_code == WIRE_NONE && !topic->is_repeat)) {
      topic->is_repeat = false;
      topic->error_code = code;
      topic->error_message = message;
    }
  }
}

static void fail_alter(struct controller_alter *alter, int16_t code, const char *message)
{
  for (int32_t i = 0; i < alter->resource_count; i++) {
    struct controller_alter_resource *resource = &alter->resources[i];
    if (resource->error_code == WIRE_NONE && !resource->is_settled) {
      resource->error_code = code;
      resource->error_message = message;
    }
  }
}

static void fail_create(struct controller_create *create, int16_t code, const char *message, bool is_all)
{
  for (int32_t i = 0; i < create->topic_count; i++) {
    struct controller_new_topic *topic = &create->topics[i];
    if (is_all || (topic->error_code == WIRE_NONE && !topic->is_repeat)) {
      topic->is_repeat = false;
      topic->error_code = code;
      topic->error_message = message;
      topic->id = (struct uuid){{0}};
      topic->partition_count = -1;
      topic->made_replication_factor = -1;
      topic->shown_count = 0;
    }
  }
}

/// Gives an error to every topic that would have been changed, or to the producer; `is_all`: to every topic.
static void fail_request(struct controller_request *request, int16_t code, const char *message, bool is_all)
{
  switch (request->kind) {
    case CONTROLLER_CREATE:
      fail_create(create_of(request), code, message, is_all);
      break;
    case CONTROLLER_DROP:
      fail_drop(drop_of(request), code, message, is_all);
      break;
    case CONTROLLER_GROW:
      fail_grow(grow_of(request), code, message, is_all);
      break;
    case CONTROLLER_ALTER:
      fail_alter(alter_of(request), code, message);
      break;
    case CONTROLLER_RELOAD:
      reload_of(request)->error = message;
      break;
    case CONTROLLER_PRODUCER_ID:
      producer_id_of(request)->id = -1;
      producer_id_of(request)->error_code = code;
      break;
  }
}

/// The loop that a request's `done` runs on.
static struct event_loop *reply_of(struct controller_request *request)
{
  switch (request->kind) {
    case CONTROLLER_CREATE:
      return create_of(request)->reply;
    case CONTROLLER_DROP:
      return drop_of(request)->reply;
    case CONTROLLER_GROW:
      return grow_of(request)->reply;
    case CONTROLLER_ALTER:
      return alter_of(request)->reply;
    case CONTROLLER_RELOAD:
      return reload_of(request)->reply;
    default:
      return producer_id_of(request)->reply;
  }
}

/// Where the texts of a request's answer are.
static struct arena *arena_of(struct controller *controller, struct controller_request *request)
{
  switch (request->kind) {
    case CONTROLLER_CREATE:
      return create_of(request)->arena;
    case CONTROLLER_DROP:
      return drop_of(request)->arena;
    case CONTROLLER_GROW:
      return grow_of(request)->arena;
    case CONTROLLER_ALTER:
      return alter_of(request)->arena;
    case CONTROLLER_RELOAD:
      return reload_of(request)->arena;
    default:
      return &controller->arena;
  }
}

/// Has a request's `done` run, on its loop.
static void answer(struct controller_request *request)
{
  struct event_loop *reply = reply_of(request);
  request->mail.run = deliver;
  if (reply) {
    event_loop_post(reply, &request->mail);
  } else {
    deliver(&request->mail);
  }
}

/// The loops have ended: tells all who wait, in place.
static void complete_all(struct controller *controller)
{
  if (controller->current) {
    fail_request(controller->current, WIRE_NOT_CONTROLLER, not_controller, false);
    deliver(&controller->current->mail);
    controller->current = NULL;
  }
  while (!list_is_empty(&controller->queue)) {
    struct controller_request *request = CONTAINER_OF(controller->queue.next, struct controller_request, node);
    list_remove(&request->node);
    fail_request(request, WIRE_NOT_CONTROLLER, not_controller, true);
    deliver(&request->mail);
  }
}

static void tell_stopped(struct controller *controller)
{
  void (*stopped)(void *) = controller->stopped;
  if (stopped && !controller->current && list_is_empty(&controller->queue)) {
    controller->stopped = NULL;
    stopped(controller->stopped_arg);
  }
}

/// Says why a topic is not created automatically, at most every 10 s: nobody reads the answer, and clients ask again
/// and again.
static void log_auto_refusal(struct controller *controller, const struct controller_create *create)
{
  int64_t now_ms = clock_mono_ms();
  for (int32_t i = 0; i < create->topic_count; i++) {
    const struct controller_new_topic *topic = &create->topics[i];
    bool is_due = controller->refusal_logged_ms == 0 || now_ms - controller->refusal_logged_ms >= REFUSAL_INTERVAL_MS;
    if (topic->error_code != WIRE_NONE && topic->error_code != WIRE_NOT_CONTROLLER && is_due) {
      controller->refusal_logged_ms = now_ms;
      slog_warn("topic %s is not created automatically: %s", topic->name,
                topic->error_message ? topic->error_message : wire_error_name(topic->error_code));
    }
  }
}

void controller_finish(struct controller *controller)
{
  struct controller_request *request = controller->current;
  if (request->kind == CONTROLLER_CREATE && create_of(request)->is_auto) {
    log_auto_refusal(controller, create_of(request));
  }
  controller->current = NULL;
  drop_topics(controller);
  controller_alter_drop(controller->alter);
  controller->alter = NULL;
  controller_reload_drop(controller->reload);
  controller->reload = NULL;
  metastore_request_clear(&controller->request);
  arena_reset(&controller->arena);
  answer(request);
  run_queue(controller);
  tell_stopped(controller);
}

void controller_fail_write(struct controller *controller)
{
  const struct metastore_request *request = &controller->request;
  struct arena *arena = arena_of(controller, controller->current);
  const struct metastore_op *op = &request->ops[request->failed_op];
  if (op->kind == METASTORE_CHECK && (request->result == ERR_BAD_VERSION || request->result == ERR_NOT_FOUND)) {
    slog_warn("another broker has become controller");
    controller->state = CONTROLLER_FAILED;
    fail_request(controller->current, WIRE_NOT_CONTROLLER, not_controller, false);
  } else {
    bool is_storage = request->result == ERR_IO || request->result == ERR_NO_SPACE || request->result == ERR_READ_ONLY;
    const char *why =
        request->message ? request->message : arena_printf(arena, "%s: %s", op->path, error_text(request->result));
    slog_error("cannot write the metadata: %s", why);
    fail_request(controller->current, is_storage ? WIRE_KAFKA_STORAGE_ERROR : WIRE_UNKNOWN_SERVER_ERROR,
                 arena_printf(arena, "The metadata cannot be written: %s", why), false);
  }
  controller_finish(controller);
}

// ---- steps that creating and deleting share ----

const char *controller_plural(int32_t count)
{
  return count == 1 ? "" : "s";
}

void controller_apply(struct controller *controller, enum controller_change_kind kind,
                      const struct metadata_topic *const *topics, int32_t count, bool is_load,
                      void (*done)(struct controller *controller))
{
  controller->change = (struct controller_change){
      .kind = kind, .topics = topics, .topic_count = count, .is_load = is_load, .controller = controller};
  controller->change_done = done;
  controller->settings.hooks.apply(controller->settings.hooks.arg, &controller->change);
}

void controller_change_done(struct controller_change *change)
{
  struct controller *controller = change->controller;
  void (*done)(struct controller *) = controller->change_done;
  CHECK(done != NULL);
  controller->change_done = NULL;
  done(controller);
}

int controller_check_views(const struct metadata_image *image)
{
  const struct topic_view *view = metadata_image_hidden_view(image);
  return view ? error_set(ERR_CONFIG, "%s: there is a topic '%s', so no view can have that name", view->place,
                          view->name)
              : 0;
}

void controller_warn_views(const struct metadata_image *image)
{
  int32_t at = 0;
  for (const struct topic_view *view; (view = metadata_image_lost_view(image, &at)) != NULL;) {
    slog_warn("%s: view \"%s\" shows topic \"%s\", which is not there: the view is when the topic is created",
              view->place, view->name, view->from);
  }
}

void controller_publish(struct controller *controller, struct metadata_image *image)
{
  const struct controller_hooks *hooks = &controller->settings.hooks;
  metadata_cache_publish(controller->settings.cache, image);
  if (hooks->published) {
    hooks->published(hooks->arg, image);
  }
}

const struct metadata_topic *const *controller_changed_topics(const struct controller *controller)
{
  return (const struct metadata_topic *const *)controller->topics;
}

void controller_keep_topics(struct controller *controller, const struct metadata_topic **plan, int32_t slots,
                            int32_t count)
{
  controller->topics = mem_array((size_t)count, sizeof *controller->topics);
  for (int32_t i = 0; i < slots; i++) {
    if (plan[i]) {
      controller->topics[controller->topic_count++] = (struct metadata_topic *)plan[i];
    }
  }
  CHECK(controller->topic_count == count);
}

struct topic_plan_context controller_plan_context(const struct controller *controller)
{
  return (struct topic_plan_context){
      .image = metadata_cache_get(controller->settings.cache),
      .config = controller->config,
      .make_id = uuid_random,
      .hooks = &controller->settings.hooks,
  };
}

// ---- creating ----

void controller_replicas_opened(struct controller *controller)
{
  struct metadata_draft *draft = metadata_draft_new(metadata_cache_get(controller->settings.cache));
  for (int32_t i = 0; i < controller->topic_count; i++) {
    metadata_topic_ref(controller->topics[i]);
    metadata_draft_put_topic(draft, controller->topics[i]);
  }
  controller_publish(controller, metadata_draft_finish(draft));
  controller_finish(controller);
}

static void create_written(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (request->result != 0) {
    controller_fail_write(controller);
    return;
  }
  for (int32_t i = 0; i < controller->topic_count; i++) {
    const struct metadata_topic *topic = controller->topics[i];
    slog_info("created topic %s with %d partition%s", topic->name, topic->partition_count,
              controller_plural(topic->partition_count));
  }
  controller_apply(controller, CONTROLLER_OPEN_REPLICAS, controller_changed_topics(controller), controller->topic_count,
                   false, controller_replicas_opened);
}

static void create_begin(struct controller *controller, struct controller_create *create)
{
  struct topic_plan_context context = controller_plan_context(controller);
  struct metadata_topic **made = arena_alloc(create->arena, (size_t)create->topic_count * sizeof *made);
  int32_t count = topic_plan_create(&context, create, made);
  if (count == 0) {
    controller_finish(controller);
    return;
  }
  controller_keep_topics(controller, (const struct metadata_topic **)made, create->topic_count, count);
  struct writes writes = {.arena = &controller->arena};
  writes_fence(&writes, controller->fence_version);
  for (int32_t i = 0; i < count; i++) {
    writes_create_topic(&writes, controller->topics[i], controller->epoch);
  }
  writes_submit(&writes, controller, create_written);
}

// ---- the queue ----

/// Begins to change topics, as the current request wants it.
static void begin_change(struct controller *controller)
{
  if (controller->current->kind == CONTROLLER_DROP) {
    controller_delete_begin(controller, drop_of(controller->current));
  } else if (controller->current->kind == CONTROLLER_GROW) {
    controller_grow_begin(controller, grow_of(controller->current));
  } else if (controller->current->kind == CONTROLLER_ALTER) {
    controller_alter_begin(controller, alter_of(controller->current));
  } else if (controller->current->kind == CONTROLLER_RELOAD) {
    controller_reload_begin(controller, reload_of(controller->current));
  } else {
    create_begin(controller, create_of(controller->current));
  }
}

static void run_queue(struct controller *controller)
{
  // controller_finish() may be called from within: the loop here goes on, instead of a stack that grows with the queue.
  if (controller->is_running || controller->state == CONTROLLER_IDLE) {
    return;
  }
  controller->is_running = true;
  while (!controller->current && !list_is_empty(&controller->queue)) {
    struct controller_request *request = CONTAINER_OF(controller->queue.next, struct controller_request, node);
    list_remove(&request->node);
    controller->current = request;
    if (controller->state == CONTROLLER_FAILED) {
      fail_request(request, WIRE_NOT_CONTROLLER, not_controller, true);
      controller_finish(controller);
    } else if (request->kind == CONTROLLER_PRODUCER_ID) {
      controller_give_producer_id(controller);
    } else if (controller->unremoved_count > 0) {
      unremoved_retry(controller, begin_change);
    } else {
      begin_change(controller);
    }
  }
  controller->is_running = false;
}

void controller_resume(struct controller *controller, enum controller_state state)
{
  controller->state = state;
  run_queue(controller);
}

void controller_stop(struct controller *controller, void (*stopped)(void *arg), void *arg)
{
  CHECK(controller->loader == NULL && controller->stopped == NULL);
  controller->stopped = stopped;
  controller->stopped_arg = arg;
  controller_resume(controller, CONTROLLER_FAILED);
  tell_stopped(controller);
}

static void arrive(struct mail *mail)
{
  struct controller_request *request = CONTAINER_OF(mail, struct controller_request, mail);
  list_append(&request->controller->queue, &request->node);
  run_queue(request->controller);
}

static void post(struct controller *controller, struct controller_request *request, enum controller_request_kind kind)
{
  request->controller = controller;
  request->kind = kind;
  request->mail.run = arrive;
  event_loop_post(controller->settings.loop, &request->mail);
}

void controller_create_topics(struct controller *controller, struct controller_create *create)
{
  post(controller, &create->base, CONTROLLER_CREATE);
}

void controller_delete_topics(struct controller *controller, struct controller_drop *drop)
{
  post(controller, &drop->base, CONTROLLER_DROP);
}

void controller_add_partitions(struct controller *controller, struct controller_grow *grow)
{
  post(controller, &grow->base, CONTROLLER_GROW);
}

void controller_alter_configs(struct controller *controller, struct controller_alter *alter)
{
  post(controller, &alter->base, CONTROLLER_ALTER);
}

void controller_reload(struct controller *controller, struct controller_reload *reload)
{
  post(controller, &reload->base, CONTROLLER_RELOAD);
}

void controller_new_producer_id(struct controller *controller, struct controller_producer_id *request)
{
  request->id = -1;
  request->error_code = WIRE_NONE;
  post(controller, &request->base, CONTROLLER_PRODUCER_ID);
}
