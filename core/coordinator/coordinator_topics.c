// SPDX-License-Identifier: Apache-2.0
//
// What shards ask about the cluster's topics and the configs of groups, answered from the metadata image; and what
// changed in it from one look to the next.
#include <string.h>

#include "base/mem.h"
#include "coordinator/coordinator_private.h"
#include "event/loop.h"
#include "metadata/image.h"

static const struct metadata_image *topics_image(void *arg)
{
  const struct coordinator_worker *worker = arg;
  return metadata_cache_get(worker->coordinator->options.metadata);
}

static bool topics_find(void *arg, const char *name, int32_t length, struct uuid *id, int32_t *partitions)
{
  const struct metadata_topic *topic = metadata_image_topic(topics_image(arg), name, (size_t)length);
  if (topic == NULL) {
    return false;
  }
  *id = topic->id;
  *partitions = topic->partition_count;
  return true;
}

static bool topics_find_id(void *arg, const struct uuid *id, const char **name, int32_t *length, int32_t *partitions)
{
  const struct metadata_topic *topic = metadata_image_topic_by_id(topics_image(arg), id);
  if (topic == NULL) {
    return false;
  }
  *name = topic->name;
  *length = topic->name_length;
  *partitions = topic->partition_count;
  return true;
}

static bool topics_at(void *arg, int32_t index, const char **name, int32_t *length)
{
  const struct metadata_image *image = topics_image(arg);
  if (index < 0 || index >= image->topic_count) {
    return false;
  }
  const struct metadata_topic *topic = image->topics[index];
  *name = topic->name;
  *length = topic->name_length;
  return true;
}

static int64_t topics_version(void *arg)
{
  const struct coordinator_worker *worker = arg;
  return atomic_load_explicit(&worker->topics_version, memory_order_relaxed);
}

static void topics_settings(void *arg, const char *group, int32_t length, struct group_consumer_settings *out)
{
  const struct group_config *config = metadata_image_group_config(topics_image(arg), group, (size_t)length);
  *out = (struct group_consumer_settings){
      .session_timeout_ms = config->consumer_session_timeout_ms,
      .heartbeat_interval_ms = config->consumer_heartbeat_interval_ms,
      .assignment_interval_ms = config->consumer_assignment_interval_ms,
  };
}

static int64_t topics_wall_ms(void *arg)
{
  const struct coordinator_worker *worker = arg;
  return event_loop_wall_ms(worker->loop);
}

static void topics_changed(void *arg, const struct group_change *change)
{
  const struct coordinator_options *options = &((struct coordinator_worker *)arg)->coordinator->options;
  if (options->changed != NULL) {
    options->changed(options->changed_arg, change);
  }
}

void coordinator_topics(struct coordinator_worker *arg, struct group_shard_topics *topics)
{
  *topics = (struct group_shard_topics){
      .arg = arg,
      .find = topics_find,
      .find_id = topics_find_id,
      .at = topics_at,
      .version = topics_version,
      .settings = topics_settings,
      .wall_ms = topics_wall_ms,
      .changed = topics_changed,
  };
}

/// What went, and whether anything came or grew.
struct topics_change {
  const char **gone;  ///< names; owned array
  int32_t gone_count; ///< how many
  bool is_changed;    ///< a topic or partition came or went
};

static void topics_add_gone(struct topics_change *change, const struct metadata_image *old,
                            const struct metadata_topic *topic)
{
  if (change->gone == NULL) {
    change->gone = mem_array((size_t)old->topic_count, sizeof(char *));
  }
  change->gone[change->gone_count++] = topic->name;
  change->is_changed = true;
}

/// Walks both images, which are sorted by name; topics that did not change are the same in both.
static void topics_compare(const struct metadata_image *old, const struct metadata_image *image,
                           struct topics_change *change)
{
  int32_t i = 0;
  int32_t j = 0;
  while (i < old->topic_count || j < image->topic_count) {
    const struct metadata_topic *before = i < old->topic_count ? old->topics[i] : NULL;
    const struct metadata_topic *after = j < image->topic_count ? image->topics[j] : NULL;
    int order = before == NULL ? 1 : after == NULL ? -1 : before == after ? 0 : strcmp(before->name, after->name);
    if (order < 0 && before->source != NULL && metadata_image_topic_by_id(image, &before->source->id) != NULL) {
      // A view that the configuration does not define any more: it may again, and its offsets are those of its source.
      change->is_changed = true;
    } else if (order < 0) {
      topics_add_gone(change, old, before);
    } else if (order > 0) {
      change->is_changed = true;
    } else if (before != after && !uuid_equal(&before->id, &after->id)) {
      topics_add_gone(change, old, before); // and another one came by that name
    } else if (before->partition_count != after->partition_count) {
      change->is_changed = true;
    }
    i += order <= 0 ? 1 : 0;
    j += order >= 0 ? 1 : 0;
  }
}

void coordinator_compare_topics(struct coordinator_worker *worker, const struct metadata_image *old,
                                const struct metadata_image *image)
{
  struct topics_change change = {0};
  topics_compare(old, image, &change);
  if (change.is_changed) {
    atomic_fetch_add_explicit(&worker->topics_version, 1, memory_order_relaxed);
  }
  for (int32_t i = 0; change.is_changed && i < worker->shard_count; i++) {
    struct coordinator_shard *entry = worker->shards[i];
    if (entry == NULL) {
      continue;
    }
    if (entry->state == COORDINATOR_READY) {
      int64_t now_ms = coordinator_now_ms(worker);
      group_shard_topics_deleted(entry->shard, change.gone, change.gone_count, now_ms);
      group_shard_topics_changed(entry->shard, now_ms);
      coordinator_mark(entry);
    } else if (change.gone_count > 0) {
      coordinator_load_deleted(entry, change.gone, change.gone_count);
    }
  }
  mem_free(change.gone);
}
