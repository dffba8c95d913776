// SPDX-License-Identifier: Apache-2.0
//
// Adding partitions to topics, step by step, each a callback on the control loop; create_partitions.c decides.
//
//   decide -> write the new assignment and the nodes of the new partitions -> open their replicas -> publish -> answer
//
// The write is one multi: after a crash before it nothing has happened, after a crash behind it the next load opens
// what is missing. Partitions that were there before are not touched.
#include "base/mem.h"
#include "base/slog.h"
#include "controller/controller_private.h"
#include "controller/topic_plan.h"

static void grow_written(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (request->result != 0) {
    controller_fail_write(controller);
    return;
  }
  const struct metadata_image *image = metadata_cache_get(controller->settings.cache);
  for (int32_t i = 0; i < controller->topic_count; i++) {
    const struct metadata_topic *topic = controller->topics[i];
    const struct metadata_topic *old = metadata_image_topic(image, topic->name, (size_t)topic->name_length);
    int32_t added = topic->partition_count - old->partition_count;
    slog_info("changed topic %s: %d partition%s added", topic->name, added, controller_plural(added));
  }
  controller_apply(controller, CONTROLLER_OPEN_REPLICAS, (const struct metadata_topic *const *)controller->opened,
                   controller->topic_count, false, controller_replicas_opened);
}

void controller_grow_begin(struct controller *controller, struct controller_grow *grow)
{
  struct topic_plan_context context = controller_plan_context(controller);
  struct topic_plan_grown *grown = arena_alloc(grow->arena, (size_t)grow->topic_count * sizeof *grown);
  int32_t count = topic_plan_grow(&context, grow, grown);
  if (count == 0) {
    controller_finish(controller);
    return;
  }
  controller->topics = mem_array((size_t)count, sizeof *controller->topics);
  controller->opened = mem_array((size_t)count, sizeof *controller->opened);
  struct writes writes = {.arena = &controller->arena};
  writes_fence(&writes, controller->fence_version);
  for (int32_t i = 0; i < grow->topic_count; i++) {
    struct metadata_topic *topic = grown[i].topic;
    if (topic) {
      const struct metadata_topic *old = metadata_image_topic(context.image, topic->name, (size_t)topic->name_length);
      writes_add_partitions(&writes, topic, old->partition_count, controller->epoch);
      controller->opened[controller->topic_count] = grown[i].opened;
      controller->topics[controller->topic_count++] = topic;
    }
  }
  writes_submit(&writes, controller, grow_written);
}
