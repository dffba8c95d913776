// SPDX-License-Identifier: Apache-2.0
//
// The part of the load that applies the topic blocks of the configuration: makes the image that they change, and lists
// what is to be opened with it.
#include "controller/load.h"

void loader_make_image(struct loader *loader)
{
  const struct controller *controller = loader->controller;
  struct metadata_draft *draft = metadata_draft_new(NULL);
  metadata_draft_set_cluster(draft, controller->cluster_id);
  metadata_draft_set_controller(draft, controller->settings.broker_id, controller->epoch);
  metadata_draft_set_config(draft, controller->config);
  loader_put_entities(loader, draft);
  for (int32_t i = 0; i < loader->broker_count; i++) {
    metadata_draft_put_broker(draft, loader->brokers[i]);
  }
  loader->broker_count = 0;
  for (int32_t i = 0; i < loader->kept_count; i++) {
    metadata_topic_ref(loader->kept[i]);
    metadata_draft_put_topic(draft, (struct metadata_topic *)loader->kept[i]);
  }
  metadata_draft_set_views(draft, controller->settings.views, controller->settings.view_count);
  loader->image = metadata_draft_finish(draft);
}

int loader_take_static(struct loader *loader, const struct metastore_op *ops, struct writes *writes)
{
  const struct controller *controller = loader->controller;
  // No hooks: blocks were checked with the configuration that they are part of.
  struct topic_plan_context context = {.image = loader->image, .config = controller->config, .make_id = uuid_random};
  return static_work_take(&loader->work, &context, controller, false, ops, writes);
}

/// Has the logs that are there opened with what the block sets.
static void keep_configs(struct loader *loader, const struct metadata_topic *before)
{
  for (int32_t i = 0; i < loader->kept_count; i++) {
    if (uuid_equal(&loader->kept[i]->id, &before->id)) {
      loader->kept[i] = before;
      return;
    }
  }
}

void loader_apply_static(struct loader *loader)
{
  const struct static_work *work = &loader->work;
  struct metadata_draft *draft = metadata_draft_new(loader->image);
  static_work_report(work);
  static_work_put(work, draft);
  loader->opened = arena_alloc(&loader->arena, (size_t)work->plan_count * sizeof *loader->opened);
  for (int32_t i = 0; i < work->plan_count; i++) {
    const struct static_topic_plan *plan = &work->plans[i];
    if (plan->before) {
      keep_configs(loader, plan->before);
    }
    if (plan->opened) {
      loader->opened[loader->opened_count++] = plan->opened;
    }
  }
  struct metadata_image *image = metadata_draft_finish(draft);
  metadata_image_unref(loader->image);
  loader->image = image;
}
