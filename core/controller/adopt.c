// SPDX-License-Identifier: Apache-2.0
#include "controller/adopt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slog.h"
#include "controller/topic_plan_private.h"
#include "metadata/topic_name.h"

// ---- groups ----

static int compare_ids(const void *left, const void *right)
{
  const struct adopt_group *a = *(const struct adopt_group *const *)left;
  const struct adopt_group *b = *(const struct adopt_group *const *)right;
  return memcmp(a->id.bytes, b->id.bytes, sizeof a->id.bytes);
}

/// Two topics of one id are one topic and a copy of its folders.
static int check_ids(const struct controller_adoption *adoption, struct arena *arena, const struct adopt_group *groups,
                     int32_t count)
{
  const struct adopt_group **sorted = arena_alloc(arena, ((size_t)count + 1) * sizeof *sorted);
  for (int32_t i = 0; i < count; i++) {
    sorted[i] = &groups[i];
  }
  qsort(sorted, (size_t)count, sizeof *sorted, compare_ids);
  for (int32_t i = 1; i < count; i++) {
    const struct adopt_group *a = sorted[i - 1];
    const struct adopt_group *b = sorted[i];
    if (!uuid_is_zero(&b->id) && uuid_equal(&a->id, &b->id)) {
      const struct controller_found *one = &adoption->found[a->first];
      const struct controller_found *two = &adoption->found[b->first];
      return error_set(ERR_CONFIG,
                       "cannot adopt %s/%.100s-%" PRId32 " and %s/%.100s-%" PRId32
                       ": two topics of one topic id; move the copy away",
                       one->dir, one->topic, one->partition, two->dir, two->topic, two->partition);
    }
  }
  return 0;
}

/// Takes a folder's id over as its topic's.
static int take_id(const struct controller_adoption *adoption, struct adopt_group *group,
                   const struct controller_found *found)
{
  if (uuid_is_zero(&found->topic_id) || uuid_equal(&group->id, &found->topic_id)) {
    return 0;
  }
  if (!uuid_is_zero(&group->id)) {
    const struct controller_found *first = &adoption->found[group->first];
    return error_set(ERR_CONFIG,
                     "cannot adopt topic %.100s: %s/%.100s-%" PRId32
                     " has another topic id than the partitions before it, from %s/%.100s-%" PRId32
                     " on; move away what is left of a deleted topic",
                     group->name, found->dir, found->topic, found->partition, first->dir, first->topic,
                     first->partition);
  }
  group->id = found->topic_id;
  return 0;
}

/// How many partitions a topic gets of which these were found. The coordinators find their partition by the number of
/// them, so that the broker's own topics are never made with fewer than they are created with, unless all are there.
static int32_t count_partitions(const struct controller_adoption *adoption, const struct adopt_group *group,
                                int32_t highest)
{
  bool is_whole = group->count == highest + 1;
  bool is_internal = topic_name_is_internal(group->name);
  int32_t usual = topic_plan_internal_partitions(adoption->offsets_partitions, group->name);
  return is_internal && !is_whole && highest < usual ? usual : highest + 1;
}

int adopt_group(const struct controller_adoption *adoption, struct arena *arena, struct adopt_group **groups,
                int32_t *count)
{
  struct adopt_group *made = arena_zalloc(arena, ((size_t)adoption->count + 1) * sizeof *made);
  int32_t used = 0;
  int64_t missing = 0;
  for (int32_t i = 0; i < adoption->count; used++) {
    struct adopt_group *group = &made[used];
    const struct controller_found *found = &adoption->found[i];
    group->name = found->topic;
    group->first = i;
    int32_t highest = 0;
    for (; i < adoption->count && strcmp(adoption->found[i].topic, group->name) == 0; i++) {
      found = &adoption->found[i];
      TRY(take_id(adoption, group, found));
      highest = found->partition;
      group->count++;
    }
    missing += (int64_t)highest + 1 - group->count;
    if (missing > ADOPT_MISSING_MAX) {
      return error_set(ERR_CONFIG,
                       "cannot adopt %s/%.100s-%" PRId32
                       ": the partitions below it that have no folder, and those of other topics, are more than %d; "
                       "move it away if it is no partition",
                       found->dir, found->topic, found->partition, ADOPT_MISSING_MAX);
    }
    group->partition_count = count_partitions(adoption, group, highest);
  }
  TRY(check_ids(adoption, arena, made, used));
  *groups = made;
  *count = used;
  return 0;
}

int controller_check_adoption(const struct controller_adoption *adoption)
{
  struct arena arena = {0};
  struct adopt_group *groups = NULL;
  int32_t count = 0;
  int result = adopt_group(adoption, &arena, &groups, &count);
  arena_destroy(&arena);
  return result;
}

// ---- topics ----

static const struct config_entry kept_configs[] = {
    {"cleanup.policy", "delete"},
    {"retention.bytes", "-1"},
    {"retention.ms", "-1"},
};

/// Resolves the configs of a new topic; of the broker's own topics those that fit.
static void resolve(const struct metadata_image *image, const char *name, struct arena *arena,
                    const struct config_entry **configs, int32_t *count, struct topic_config *config)
{
  char message[CONFIG_MESSAGE_SIZE];
  *configs = kept_configs;
  *count = (int32_t)(sizeof kept_configs / sizeof kept_configs[0]);
  if (topic_name_is_internal(name)) {
    *configs = topic_plan_internal_configs(image->config, image, arena, name, count);
  }
  if (topic_config_resolve(&image->config->topic, *configs, *count, config, message) < 0) {
    // The broker's own settings contradict these: without them records would go.
    slog_warn("topic %s: %s", name, message);
    *config = image->config->topic.values;
    config->retention_ms = -1;
    config->retention_bytes = -1;
  }
}

/// The replicas of a partition: this broker alone.
static struct metadata_partition_spec own_partition(const struct controller_settings *settings, int32_t leader_epoch)
{
  return (struct metadata_partition_spec){.leader = settings->broker_id,
                                          .leader_epoch = leader_epoch,
                                          .replicas = &settings->broker_id,
                                          .replica_count = 1,
                                          .isr = &settings->broker_id,
                                          .isr_count = 1};
}

static struct metadata_partition_spec old_partition(const struct metadata_partition *part)
{
  return (struct metadata_partition_spec){.leader = part->leader,
                                          .leader_epoch = part->leader_epoch,
                                          .partition_epoch = part->partition_epoch,
                                          .replicas = part->replicas,
                                          .replica_count = part->replica_count,
                                          .isr = part->isr,
                                          .isr_count = part->isr_count};
}

/// The leader epoch of a new partition: after all that its log has seen.
static int32_t next_epoch(int32_t found)
{
  return found < 0 ? 0 : found >= ADOPT_EPOCH_MAX ? ADOPT_EPOCH_MAX : found + 1;
}

/// What becomes of the partitions of a topic, in the arena; counts in `topic` what is new about them.
static struct metadata_partition_spec *plan_partitions(const struct controller_adoption *adoption,
                                                       const struct adopt_group *group,
                                                       const struct metadata_topic *old, int32_t count,
                                                       const struct controller_settings *settings, struct arena *arena,
                                                       struct adopt_topic *topic)
{
  struct metadata_partition_spec *specs = arena_zalloc(arena, (size_t)count * sizeof *specs);
  for (int32_t i = 0; i < count; i++) {
    specs[i] = old && i < topic->old_count ? old_partition(&old->partitions[i]) : own_partition(settings, 0);
  }
  topic->missing = count - topic->old_count;
  for (int32_t i = 0; i < group->count; i++) {
    const struct controller_found *found = &adoption->found[group->first + i];
    struct metadata_partition_spec *spec = &specs[found->partition];
    int32_t epoch = next_epoch(found->leader_epoch);
    if (found->partition >= topic->old_count) {
      spec->leader_epoch = epoch;
      topic->missing--;
    } else if (found->leader_epoch > spec->leader_epoch && epoch > spec->leader_epoch) {
      spec->leader_epoch = epoch;
      spec->partition_epoch++;
      topic->raised++;
    }
  }
  return specs;
}

int adopt_plan(const struct controller_adoption *adoption, const struct adopt_group *group,
               const struct metadata_topic *old, const struct metadata_image *image,
               const struct controller_settings *settings, struct arena *arena, struct adopt_topic *topic)
{
  const struct controller_found *found = &adoption->found[group->first];
  int32_t old_count = old ? old->partition_count : 0;
  *topic = (struct adopt_topic){.old_count = old_count};
  if (old && !uuid_is_zero(&group->id) && !uuid_equal(&group->id, &old->id)) {
    return error_set(ERR_CONFIG,
                     "cannot adopt %s/%.100s-%" PRId32
                     ": its topic id is not that of the topic of this name; move it away, or delete the topic",
                     found->dir, found->topic, found->partition);
  }
  const struct metadata_topic *same = uuid_is_zero(&group->id) ? NULL : metadata_image_topic_by_id(image, &group->id);
  if (same && same != old) {
    return error_set(ERR_CONFIG,
                     "cannot adopt %s/%.100s-%" PRId32 ": its topic id is that of topic %.100s; move the copy away",
                     found->dir, found->topic, found->partition, same->name);
  }
  int32_t count = group->partition_count > old_count ? group->partition_count : old_count;
  struct metadata_partition_spec *specs = plan_partitions(adoption, group, old, count, settings, arena, topic);
  if (count == old_count && topic->raised == 0) {
    return 0;
  }
  if (old) {
    topic->topic = metadata_topic_new(old->name, &old->id, old->version + (count > old_count), specs, count,
                                      old->overrides, old->override_count, &old->config);
    return 0;
  }
  const struct config_entry *configs = NULL;
  int32_t config_count = 0;
  struct topic_config config;
  struct uuid id = group->id;
  resolve(image, group->name, arena, &configs, &config_count, &config);
  if (uuid_is_zero(&id)) {
    uuid_random(&id);
  }
  topic->topic = metadata_topic_new(group->name, &id, 0, specs, count, configs, config_count, &config);
  return 0;
}
