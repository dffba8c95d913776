// SPDX-License-Identifier: Apache-2.0
//
// Deleting topics, step by step, each a callback on the control loop; topic_plan_delete.c decides.
//
//   decide -> write that they are to be deleted -> publish -> take the replicas away -> remove the nodes -> answer
//
// After a crash behind the first write the next load finishes the deletion.
#include "base/error.h"
#include "base/slog.h"
#include "controller/controller_private.h"
#include "controller/topic_nodes.h"
#include "controller/topic_plan.h"

static void delete_removed(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (request->result != 0) {
    // The topics are gone for clients, and their nodes are in the way of new ones.
    unremoved_add(controller, controller->topics, controller->topic_count);
    slog_error("cannot remove the nodes of deleted topics: %s",
               request->message ? request->message : error_text(request->result));
  }
  controller_finish(controller);
}

static void delete_applied(struct controller *controller)
{
  struct writes writes = {.arena = &controller->arena};
  writes_fence(&writes, controller->fence_version);
  for (int32_t i = 0; i < controller->topic_count; i++) {
    writes_delete_topic(&writes, controller->topics[i]);
    slog_info("deleted topic %s", controller->topics[i]->name);
  }
  writes_submit(&writes, controller, delete_removed);
}

static void delete_asked(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (request->result != 0) {
    controller_fail_write(controller);
    return;
  }
  struct metadata_draft *draft = metadata_draft_new(metadata_cache_get(controller->settings.cache));
  for (int32_t i = 0; i < controller->topic_count; i++) {
    metadata_draft_remove_topic(draft, controller->topics[i]->name);
  }
  controller_publish(controller, metadata_draft_finish(draft));
  controller_apply(controller, CONTROLLER_DELETE_REPLICAS, controller_changed_topics(controller),
                   controller->topic_count, false, delete_applied);
}

void controller_delete_begin(struct controller *controller, struct controller_drop *drop)
{
  struct topic_plan_context context = controller_plan_context(controller);
  const struct metadata_topic **doomed = arena_alloc(drop->arena, (size_t)drop->topic_count * sizeof *doomed);
  int32_t count = topic_plan_delete(&context, drop, doomed);
  if (count == 0) {
    controller_finish(controller);
    return;
  }
  controller_keep_topics(controller, doomed, drop->topic_count, count);
  struct writes writes = {.arena = &controller->arena};
  writes_fence(&writes, controller->fence_version);
  for (int32_t i = 0; i < count; i++) {
    metadata_topic_ref(controller->topics[i]);
    writes_create(&writes, topic_nodes_path_delete(&controller->arena, controller->topics[i]->name), NULL);
  }
  writes_submit(&writes, controller, delete_asked);
}
