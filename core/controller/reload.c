// SPDX-License-Identifier: Apache-2.0
//
// Putting another configuration in force while the broker runs: all of it or, with an error, none. Control thread.
//
//   lay what clients set over the new configs -> read what the blocks need -> decide on all blocks -> write, one multi
//   -> open what is new -> logs get their settings -> publish -> answer
//
// Until the multi is through nothing has changed; behind it nothing can fail any more. A crash before it leaves the old
// topics, one behind it the new ones; the broker configs are read from config.lua at the next start in either case.
#include "base/error.h"
#include "base/mem.h"
#include "controller/controller_private.h"
#include "controller/static_work.h"

/// A reload under way; in its request's arena.
struct reload_work {
  struct static_work blocks;            ///< the topic blocks
  struct broker_config *config;         ///< what will be in force; one reference, owned
  struct metadata_image *base;          ///< the image in force, with the new views; one reference, owned
  struct metadata_image *image;         ///< what will be published; one reference, owned
  const struct metadata_topic **opened; ///< topics with the replicas that the blocks add, borrowed from their plans
  int32_t opened_count;                 ///< how many
  struct metadata_topic **configured;   ///< topics whose logs get other settings; one reference each, owned
  int32_t configured_count;             ///< how many
};

void controller_reload_drop(struct reload_work *work)
{
  if (!work) {
    return;
  }
  static_work_destroy(&work->blocks);
  if (work->config) {
    broker_config_unref(work->config);
  }
  if (work->base) {
    metadata_image_unref(work->base);
  }
  if (work->image) {
    metadata_image_unref(work->image);
  }
  for (int32_t i = 0; i < work->configured_count; i++) {
    metadata_topic_unref(work->configured[i]);
  }
  mem_free(work->configured);
}

static struct controller_reload *current_request(struct controller *controller)
{
  return CONTAINER_OF(controller->current, struct controller_reload, base);
}

/// Ends the reload with nothing done.
static void refuse(struct controller *controller, const char *before, const char *message)
{
  struct controller_reload *reload = current_request(controller);
  reload->error = arena_printf(reload->arena, "%s%s", before, message);
  controller_finish(controller);
}

// ---- the broker's configs ----

/// Makes what will be in force: the new static layer, and what clients have set over it.
static int make_config(const struct controller *controller, const struct broker_config *wanted,
                       struct broker_config **made, char *message)
{
  const struct broker_config *running = controller->config;
  struct config_entry cluster[BROKER_CONFIG_COUNT];
  struct config_entry own[BROKER_CONFIG_COUNT];
  int cluster_count = broker_config_layer_entries(running, BROKER_LAYER_CLUSTER, cluster);
  int own_count = broker_config_layer_entries(running, BROKER_LAYER_OWN, own);
  struct broker_config merged;
  broker_config_merge(running, wanted, &merged);
  int result = broker_config_overlay(&merged, cluster, cluster_count, own, own_count, made, message);
  broker_config_destroy(&merged);
  return result;
}

// ---- views ----

/// Makes the image that blocks are decided on: a name that is no view's any more is free for a topic.
static int take_views(struct controller *controller, const struct controller_reload *reload, struct reload_work *work)
{
  struct metadata_draft *draft = metadata_draft_new(metadata_cache_get(controller->settings.cache));
  metadata_draft_set_views(draft, reload->views, reload->view_count);
  work->base = metadata_draft_finish(draft);
  return controller_check_views(work->base);
}

// ---- reading ----

static void blocks_read(struct metastore_request *request);

void controller_reload_begin(struct controller *controller, struct controller_reload *reload)
{
  struct reload_work *work = arena_zalloc(reload->arena, sizeof *work);
  struct writes reads = {.arena = reload->arena};
  char message[CONFIG_MESSAGE_SIZE];
  controller->reload = work;
  if (make_config(controller, reload->config, &work->config, message) < 0) {
    refuse(controller, "what was set at run time does not go with it: ", message);
    return;
  }
  if (take_views(controller, reload, work) < 0) {
    refuse(controller, "", error_last()->message);
    return;
  }
  work->blocks.blocks = reload->topics;
  work->blocks.block_count = reload->topic_count;
  static_work_ask(&work->blocks, &reads);
  writes_submit(&reads, controller, blocks_read);
}

// ---- deciding ----

/// What came of the blocks, for the answer.
static void describe_blocks(const struct controller *controller, struct controller_reload *reload)
{
  const struct static_work *work = &controller->reload->blocks;
  reload->blocks = arena_zalloc(reload->arena, (size_t)(work->plan_count + 1) * sizeof *reload->blocks);
  for (int32_t i = 0; i < work->plan_count; i++) {
    const struct static_topic_plan *plan = &work->plans[i];
    struct controller_block *block = &reload->blocks[i];
    block->outcome = plan->is_gone      ? CONTROLLER_BLOCK_GONE
                     : plan->is_new     ? CONTROLLER_BLOCK_CREATED
                     : plan->is_applied ? CONTROLLER_BLOCK_CHANGED
                                        : CONTROLLER_BLOCK_SAME;
    if (plan->topic) {
      block->partitions = plan->topic->partition_count;
      block->partitions_before = plan->is_new ? 0 : plan->topic->partition_count - plan->added_partitions;
    }
    block->set_count = plan->set_configs;
    block->changes = plan->changes;
  }
}

static void blocks_written(struct metastore_request *request);
static void make_image(struct controller *controller);
static void apply(struct controller *controller);

static void blocks_read(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  struct controller_reload *reload = current_request(controller);
  struct reload_work *work = controller->reload;
  if (request->result != 0) {
    controller_fail_write(controller);
    return;
  }
  struct topic_plan_context context = controller_plan_context(controller);
  context.config = work->config;
  context.hooks = NULL; // blocks were checked with the configuration that they are part of, which is not in force yet
  context.image = work->base;
  struct writes writes = {.arena = reload->arena};
  if (static_work_take(&work->blocks, &context, controller, true, request->ops, &writes) < 0) {
    refuse(controller, "", error_last()->message);
    return;
  }
  describe_blocks(controller, reload);
  if (writes.count > 0) {
    writes_submit(&writes, controller, blocks_written);
  } else {
    make_image(controller);
    apply(controller);
  }
}

static void blocks_written(struct metastore_request *request)
{
  struct controller *controller = request->arg;
  if (request->result != 0) {
    controller_fail_write(controller);
    return;
  }
  make_image(controller);
  apply(controller);
}

// ---- applying ----

/// Lists what a block's topic needs: replicas opened, and logs that are there configured.
static void list_planned(struct reload_work *work, const struct static_topic_plan *plan,
                         const struct metadata_image *old)
{
  if (!plan->topic) {
    return;
  }
  const struct metadata_topic *topic = metadata_image_topic(old, plan->topic->name, (size_t)plan->topic->name_length);
  // The plan was made with the new configs; a topic that only grows may have other defaults.
  struct metadata_topic *changed = topic && !plan->before ? controller_lay_config(topic, work->config) : plan->before;
  if (changed) {
    work->configured[work->configured_count++] = changed;
  }
  if (plan->before) {
    metadata_topic_ref(plan->before);
  }
  if (plan->opened) {
    work->opened[work->opened_count++] = plan->opened;
  }
}

/// Makes the next image, and lists what is to be opened and configured with it.
static void make_image(struct controller *controller)
{
  struct reload_work *work = controller->reload;
  struct arena *arena = current_request(controller)->arena;
  const struct metadata_image *old = work->base;
  size_t plan_count = (size_t)work->blocks.plan_count;
  work->opened = arena_alloc(arena, (plan_count + 1) * sizeof *work->opened);
  work->configured = mem_array((size_t)old->topic_count + plan_count + 1, sizeof *work->configured);
  for (int32_t i = 0; i < work->blocks.plan_count; i++) {
    list_planned(work, &work->blocks.plans[i], old);
  }
  struct metadata_draft *draft = metadata_draft_new(old);
  static_work_put(&work->blocks, draft);
  struct metadata_image *planned = metadata_draft_finish(draft);
  draft = metadata_draft_new(planned);
  metadata_draft_set_config(draft, work->config);
  for (int32_t i = 0; i < planned->topic_count; i++) {
    struct metadata_topic *laid =
        planned->topics[i]->source ? NULL : controller_lay_config(planned->topics[i], work->config);
    if (laid) {
      metadata_topic_ref(laid);
      work->configured[work->configured_count++] = laid;
      metadata_draft_put_topic(draft, laid);
    }
  }
  work->image = metadata_draft_finish(draft);
  metadata_image_unref(planned);
}

static void configured(struct controller *controller)
{
  struct reload_work *work = controller->reload;
  struct controller_reload *reload = current_request(controller);
  broker_config_ref(controller->config);
  broker_config_ref(work->config);
  reload->before = controller->config;
  reload->after = work->config;
  controller_set_config(controller, work->config);
  work->config = NULL;
  controller_warn_views(work->image);
  controller_publish(controller, work->image);
  work->image = NULL;
  controller_finish(controller);
}

static void opened(struct controller *controller)
{
  const struct reload_work *work = controller->reload;
  if (work->configured_count == 0) {
    configured(controller);
    return;
  }
  controller_apply(controller, CONTROLLER_CONFIGURE_REPLICAS, (const struct metadata_topic *const *)work->configured,
                   work->configured_count, false, configured);
}

static void apply(struct controller *controller)
{
  const struct reload_work *work = controller->reload;
  if (work->opened_count == 0) {
    opened(controller);
    return;
  }
  controller_apply(controller, CONTROLLER_OPEN_REPLICAS, work->opened, work->opened_count, false, opened);
}
