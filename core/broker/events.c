// SPDX-License-Identifier: Apache-2.0
#include "broker/events.h"

#include <stddef.h>
#include <string.h>

#include "base/list.h"
#include "coordinator/coordinator.h"
#include "coordinator/shard.h"
#include "event/loop.h"
#include "log/log_manager.h"
#include "metadata/image.h"
#include "policy/hooks.h"

// ---- logs ----

static void events_rolled(void *arg, const char *topic, int32_t partition, int64_t base_offset)
{
  struct events *events = arg;
  if (hooks_has(events->hooks, HOOK_LOG_ROLL)) {
    struct hook_told *told = hook_told_new(HOOK_LOG_ROLL);
    hook_add_text(&told->event, "topic", topic);
    hook_add_number(&told->event, "partition", partition);
    hook_add_number(&told->event, "base_offset", base_offset);
    hooks_tell(events->hooks, told);
  }
}

static void events_segment_deleted(void *arg, const char *topic, int32_t partition, int64_t base_offset,
                                   int64_t size_bytes)
{
  struct events *events = arg;
  if (hooks_has(events->hooks, HOOK_LOG_DELETE)) {
    struct hook_told *told = hook_told_new(HOOK_LOG_DELETE);
    hook_add_text(&told->event, "topic", topic);
    hook_add_number(&told->event, "partition", partition);
    hook_add_number(&told->event, "base_offset", base_offset);
    hook_add_number(&told->event, "size", size_bytes);
    hooks_tell(events->hooks, told);
  }
}

static void events_dir_failed(void *arg, const char *path, const char *why)
{
  struct events *events = arg;
  if (hooks_has(events->hooks, HOOK_DISK_FAIL)) {
    struct hook_told *told = hook_told_new(HOOK_DISK_FAIL);
    hook_add_text(&told->event, "path", path);
    hook_add_text(&told->event, "error", why);
    hooks_tell(events->hooks, told);
  }
}

void events_of_logs(struct events *events, struct log_manager_hooks *hooks)
{
  hooks->rolled = events_rolled;
  hooks->segment_deleted = events_segment_deleted;
  hooks->dir_failed = events_dir_failed;
  hooks->told_arg = events;
}

// ---- groups ----

static void events_group_changed(void *arg, const struct group_change *change)
{
  struct events *events = arg;
  enum hook hook = change->is_empty ? HOOK_GROUP_EMPTY : HOOK_GROUP_REBALANCE;
  if (hooks_has(events->hooks, hook)) {
    struct hook_told *told = hook_told_new(hook);
    hook_add_text(&told->event, "group", change->group);
    hook_add_text(&told->event, "type", change->type);
    hook_add_number(&told->event, "generation", change->generation);
    hook_add_number(&told->event, "members", change->members);
    hooks_tell(events->hooks, told);
  }
}

void events_of_groups(struct events *events, struct coordinator_options *options)
{
  options->changed = events_group_changed;
  options->changed_arg = events;
}

// ---- the image ----

static bool events_want_image(const struct events *events)
{
  return hooks_has(events->hooks, HOOK_LEADER_CHANGE) || hooks_has(events->hooks, HOOK_ISR_CHANGE) ||
         hooks_has(events->hooks, HOOK_BROKER_UP) || hooks_has(events->hooks, HOOK_BROKER_DOWN);
}

static void events_tell_leader(struct events *events, const struct metadata_topic *topic, int32_t partition,
                               const struct metadata_partition *before)
{
  const struct metadata_partition *part = &topic->partitions[partition];
  int32_t leader = before != NULL ? before->leader : METADATA_NO_LEADER;
  bool is_other = before == NULL || part->leader != leader || part->leader_epoch != before->leader_epoch;
  if (is_other && hooks_has(events->hooks, HOOK_LEADER_CHANGE)) {
    struct hook_told *told = hook_told_new(HOOK_LEADER_CHANGE);
    hook_add_text(&told->event, "topic", topic->name);
    hook_add_number(&told->event, "partition", partition);
    hook_add_number(&told->event, "leader", part->leader);
    hook_add_number(&told->event, "epoch", part->leader_epoch);
    hook_add_number(&told->event, "before", leader);
    hooks_tell(events->hooks, told);
  }
}

static void events_tell_isr(struct events *events, const struct metadata_topic *topic, int32_t partition,
                            const struct metadata_partition *before)
{
  const struct metadata_partition *part = &topic->partitions[partition];
  int32_t count = before != NULL ? before->isr_count : 0;
  bool is_other =
      part->isr_count != count || (count > 0 && memcmp(part->isr, before->isr, sizeof *part->isr * (size_t)count) != 0);
  if (is_other && hooks_has(events->hooks, HOOK_ISR_CHANGE)) {
    struct hook_told *told = hook_told_new(HOOK_ISR_CHANGE);
    hook_add_text(&told->event, "topic", topic->name);
    hook_add_number(&told->event, "partition", partition);
    hook_add_numbers(&told->event, "isr", part->isr, part->isr_count);
    hook_add_numbers(&told->event, "before", before != NULL ? before->isr : NULL, count);
    hooks_tell(events->hooks, told);
  }
}

/// A topic that is new, or another version of `before`.
static void events_topic(struct events *events, const struct metadata_topic *topic, const struct metadata_topic *before)
{
  if (topic == before || topic->source != NULL) {
    return;
  }
  bool is_same = before != NULL && uuid_equal(&before->id, &topic->id);
  for (int32_t i = 0; i < topic->partition_count; i++) {
    const struct metadata_partition *old = is_same && i < before->partition_count ? &before->partitions[i] : NULL;
    events_tell_leader(events, topic, i, old);
    events_tell_isr(events, topic, i, old);
  }
}

static void events_tell_broker(struct events *events, enum hook hook, int32_t id)
{
  if (hooks_has(events->hooks, hook)) {
    struct hook_told *told = hook_told_new(hook);
    hook_add_number(&told->event, "broker", id);
    hooks_tell(events->hooks, told);
  }
}

/// Both lists are sorted.
static void events_brokers(struct events *events, const struct metadata_image *image,
                           const struct metadata_image *before)
{
  int32_t count = before != NULL ? before->broker_count : 0;
  for (int32_t i = 0, j = 0; i < image->broker_count || j < count;) {
    int64_t now = i < image->broker_count ? image->brokers[i]->id : INT64_MAX;
    int64_t was = j < count ? before->brokers[j]->id : INT64_MAX;
    if (now < was) {
      events_tell_broker(events, HOOK_BROKER_UP, (int32_t)now);
    } else if (was < now) {
      events_tell_broker(events, HOOK_BROKER_DOWN, (int32_t)was);
    }
    i += now <= was;
    j += was <= now;
  }
}

void events_published(struct events *events, const struct metadata_image *image)
{
  if (!events->is_serving) {
    return;
  }
  const struct metadata_image *before = events->image;
  metadata_image_ref(image);
  events->image = image;
  if (events_want_image(events)) {
    events_brokers(events, image, before);
    for (int32_t i = 0; i < image->topic_count; i++) {
      const struct metadata_topic *topic = image->topics[i];
      events_topic(events, topic,
                   before != NULL ? metadata_image_topic(before, topic->name, (size_t)topic->name_length) : NULL);
    }
  }
  if (before != NULL) {
    metadata_image_unref(before);
  }
}

static void events_on_serve(struct mail *mail)
{
  struct events *events = CONTAINER_OF(mail, struct events, mail);
  events->is_serving = true;
  events_published(events, metadata_cache_get(events->metadata));
}

void events_serve(struct events *events)
{
  events->mail.run = events_on_serve;
  event_loop_post(events->control, &events->mail);
}

void events_destroy(struct events *events)
{
  if (events->image != NULL) {
    metadata_image_unref(events->image);
    events->image = NULL;
  }
}

// ---- reloads ----

void events_reloaded(struct events *events, const char *config_file)
{
  // Whether anybody wants to know is known when the new functions are in force, which they may not be yet.
  struct hook_told *told = hook_told_new(HOOK_RELOAD);
  hook_add_text(&told->event, "file", config_file);
  hooks_tell(events->hooks, told);
}
