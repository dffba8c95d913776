// SPDX-License-Identifier: Apache-2.0
//
// Deleted topics whose nodes could not be removed, when the metastore's disk was full, say. Their names stay taken
// until that is done; it is tried again before every later change of topics, and at the next start. Control thread.
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "controller/controller_private.h"

void unremoved_add(struct controller *controller, struct metadata_topic *const *topics, int32_t count)
{
  size_t room = (size_t)controller->unremoved_count + (size_t)count;
  controller->unremoved = mem_realloc(controller->unremoved, room * sizeof *controller->unremoved);
  for (int32_t i = 0; i < count; i++) {
    metadata_topic_ref(topics[i]);
    controller->unremoved[controller->unremoved_count++] = topics[i];
  }
}

void unremoved_drop(struct controller *controller)
{
  for (int32_t i = 0; i < controller->unremoved_count; i++) {
    metadata_topic_unref(controller->unremoved[i]);
  }
  mem_free(controller->unremoved);
  controller->unremoved = NULL;
  controller->unremoved_count = 0;
}

static void unremoved_removed(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (request->result == 0) {
    slog_info("the nodes of %d deleted topic%s are removed after all", controller->unremoved_count,
              controller_plural(controller->unremoved_count));
    unremoved_drop(controller);
  } else {
    slog_error("cannot remove the nodes of deleted topics: %s",
               request->message ? request->message : error_text(request->result));
  }
  controller->unremoved_done(controller);
}

void unremoved_retry(struct controller *controller, void (*done)(struct controller *controller))
{
  struct writes writes = {.arena = &controller->arena};
  controller->unremoved_done = done;
  writes_fence(&writes, controller->fence_version);
  for (int32_t i = 0; i < controller->unremoved_count; i++) {
    writes_delete_topic(&writes, controller->unremoved[i]);
  }
  writes_submit(&writes, controller, unremoved_removed);
}
