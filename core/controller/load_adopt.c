// SPDX-License-Identifier: Apache-2.0
//
// The part of the load that adopts what Kafka wrote: groups the folders found, asks for what the metastore has in their
// place, has adopt.c decide, adds what has to be written, and says what was done.
//
// A node marks an adoption that is under way:
//
//   /luka/adoption   {"version":1}
//
// It is made with the cluster's id, or before topics are read, and removed when all directories are this broker's and
// their logs are open. A start that finds it goes on with the adoption as if it had been asked to.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/slog.h"
#include "controller/load.h"

enum { ADOPT_NAMED_MAX = 20 }; // topics that get a line of their own

static const char marker_path[] = CONTROLLER_ADOPTION_PATH;

void loader_ask_marker(struct writes *reads)
{
  writes_read(reads, METASTORE_GET, marker_path);
}

void loader_mark_adoption(const struct loader *loader, const struct metastore_op *get, struct writes *writes)
{
  if (loader->controller->settings.adoption && get->result == ERR_NOT_FOUND) {
    writes_create(writes, marker_path, "{\"version\":1}");
  }
}

void loader_unmark_adoption(const struct loader *loader, struct writes *writes)
{
  writes_fence(writes, loader->controller->fence_version);
  writes_delete(writes, marker_path);
}

// ---- asking ----

static const struct metadata_topic *known_topic(const struct loader *loader, const struct adopt_group *group)
{
  return metadata_image_topic(loader->image, group->name, strlen(group->name));
}

/// Drops the topics whose deletion was finished just now: their folders are on their way out.
static void drop_doomed(struct loader *loader)
{
  int32_t kept = 0;
  for (int32_t i = 0, j = 0; i < loader->group_count; i++) {
    while (j < loader->topic_count && strcmp(loader->topics[j].name, loader->groups[i].name) < 0) {
      j++;
    }
    bool is_doomed = j < loader->topic_count && loader->topics[j].is_doomed &&
                     strcmp(loader->topics[j].name, loader->groups[i].name) == 0;
    if (!is_doomed) {
      loader->groups[kept++] = loader->groups[i];
    }
  }
  loader->group_count = kept;
}

int loader_ask_adoption(struct loader *loader, struct writes *reads)
{
  TRY(adopt_group(loader->controller->settings.adoption, &loader->arena, &loader->groups, &loader->group_count));
  drop_doomed(loader);
  writes_read(reads, METASTORE_GET, producer_ids_path());
  for (int32_t i = 0; i < loader->group_count; i++) {
    if (known_topic(loader, &loader->groups[i]) == NULL) {
      writes_read(reads, METASTORE_GET, topic_nodes_path_config(&loader->arena, loader->groups[i].name));
    }
  }
  return 0;
}

// ---- deciding ----

/// Adds the new states of partitions that get a later leader epoch.
static void write_raised(struct loader *loader, const struct adopt_topic *adopted, const struct metadata_topic *old,
                         struct writes *writes)
{
  for (int32_t i = 0; i < adopted->old_count && adopted->raised > 0; i++) {
    const struct metadata_partition *part = &adopted->topic->partitions[i];
    if (part->leader_epoch != old->partitions[i].leader_epoch) {
      writes_set(writes, topic_nodes_path_state(&loader->arena, old->name, i),
                 topic_nodes_state(&loader->arena, part->leader, part->leader_epoch, part->isr, part->isr_count,
                                   loader->controller->epoch));
      writes->ops[writes->count - 1].version = old->partitions[i].partition_epoch;
    }
  }
}

/// Adds what an adopted topic needs.
static void write_topic(struct loader *loader, const struct adopt_topic *adopted, const struct metadata_topic *old,
                        bool has_config, struct writes *writes)
{
  const struct metadata_topic *topic = adopted->topic;
  int32_t epoch = loader->controller->epoch;
  if (old) {
    write_raised(loader, adopted, old, writes);
    if (topic->partition_count > old->partition_count) {
      writes_add_partitions(writes, topic, old->partition_count, epoch);
    }
    return;
  }
  if (has_config) {
    writes_delete(writes, topic_nodes_path_config(&loader->arena, topic->name)); // left over without its topic
  }
  writes_create_topic(writes, topic, epoch);
}

int loader_take_adoption(struct loader *loader, const struct metastore_op *ops, struct writes *writes)
{
  const struct controller_settings *settings = &loader->controller->settings;
  const struct metastore_op *configs = ops + 1;
  loader->adopted = arena_zalloc(&loader->arena, ((size_t)loader->group_count + 1) * sizeof *loader->adopted);
  writes_fence(writes, loader->controller->fence_version);
  TRY(producer_ids_raise(&ops[0], settings->broker_id, settings->adoption->producer_id, writes));
  for (int32_t i = 0; i < loader->group_count; i++) {
    const struct adopt_group *group = &loader->groups[i];
    const struct metadata_topic *old = known_topic(loader, group);
    struct adopt_topic *adopted = &loader->adopted[loader->adopted_count];
    bool has_config = old == NULL && (configs++)->result == 0;
    TRY(adopt_plan(settings->adoption, group, old, loader->image, settings, &loader->arena, adopted));
    if (adopted->topic) {
      loader->adopted_count++;
      write_topic(loader, adopted, old, has_config, writes);
    }
  }
  return 0;
}

// ---- done ----

/// Puts an adopted topic among those whose replicas are opened, in place of what it was.
static void keep_topic(struct loader *loader, const struct adopt_topic *adopted)
{
  for (int32_t i = 0; i < loader->kept_count && adopted->old_count > 0; i++) {
    if (uuid_equal(&loader->kept[i]->id, &adopted->topic->id)) {
      loader->kept[i] = adopted->topic;
      return;
    }
  }
  loader->kept[loader->kept_count++] = adopted->topic;
}

static void report_topic(const struct adopt_topic *adopted)
{
  char missing[64] = "";
  if (adopted->missing > 0) {
    snprintf(missing, sizeof missing, ", %d of them without a folder", adopted->missing);
  }
  const struct metadata_topic *topic = adopted->topic;
  int32_t added = topic->partition_count - adopted->old_count;
  const char *plural = controller_plural(added);
  if (adopted->raised > 0) {
    slog_info("topic %s: %d partition%s go on after the leader epochs in their logs, which are newer than those known",
              topic->name, adopted->raised, controller_plural(adopted->raised));
  }
  if (adopted->old_count > 0 && added > 0) {
    slog_info("adopted %d partition%s%s of topic %s, which is known", added, plural, missing, topic->name);
  } else if (adopted->old_count == 0 && topic->is_internal) {
    slog_info("adopted topic %s with %d partition%s%s", topic->name, added, plural, missing);
  } else if (adopted->old_count == 0) {
    slog_info(
        "adopted topic %s with %d partition%s%s: retention.ms=-1, retention.bytes=-1, cleanup.policy=delete until "
        "someone sets them",
        topic->name, added, plural, missing);
  }
}

void loader_apply_adoption(struct loader *loader)
{
  struct metadata_draft *draft = metadata_draft_new(loader->image);
  size_t room = (size_t)loader->kept_count + (size_t)loader->adopted_count + 1;
  const struct metadata_topic **kept = arena_alloc(&loader->arena, room * sizeof *kept);
  for (int32_t i = 0; i < loader->kept_count; i++) {
    kept[i] = loader->kept[i];
  }
  loader->kept = kept;
  for (int32_t i = 0; i < loader->adopted_count; i++) {
    struct adopt_topic *adopted = &loader->adopted[i];
    keep_topic(loader, adopted);
    if (i < ADOPT_NAMED_MAX) {
      report_topic(adopted);
    }
    metadata_topic_ref(adopted->topic);
    metadata_draft_put_topic(draft, adopted->topic);
  }
  if (loader->adopted_count > ADOPT_NAMED_MAX) {
    slog_info("adopted %d more topics in the same way", loader->adopted_count - ADOPT_NAMED_MAX);
  }
  struct metadata_image *image = metadata_draft_finish(draft);
  metadata_image_unref(loader->image);
  loader->image = image;
}
