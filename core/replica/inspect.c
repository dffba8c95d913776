// SPDX-License-Identifier: Apache-2.0
#include "replica/inspect.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "log/log_manager.h"
#include "log/retention.h"
#include "metadata/image.h"
#include "os/clock.h"
#include "replica/manager.h"

/// Describes the segments of a log, and turns the times at which they may go into those of passes.
static void inspect_segments(struct replica_inspection *inspection, const struct log *log, struct replica_view *view)
{
  int64_t next_ms = -1;
  int64_t interval_ms = 1;
  log_manager_retention_times(replica_manager_logs(inspection->manager), &next_ms, &interval_ms);
  int room = REPLICA_INSPECT_SEGMENTS_MAX - inspection->segment_count;
  int count = log_segment_count(log);
  view->is_cut = count > room;
  count = count < room ? count : room;
  struct log_segment_info *infos = arena_alloc(&inspection->arena, (size_t)count * sizeof *infos);
  struct log_retention_verdict *verdicts = arena_alloc(&inspection->arena, (size_t)count * sizeof *verdicts);
  count = log_retention_plan(log, inspection->now_ms, view->state.high_watermark, infos, verdicts, count);
  view->segments = arena_alloc(&inspection->arena, (size_t)count * sizeof *view->segments);
  view->segment_count = count;
  inspection->segment_count += count;
  for (int i = 0; i < count; i++) {
    view->segments[i] = (struct replica_segment){.info = infos[i], .verdict = verdicts[i]};
    view->segments[i].verdict.due_ms = retention_pass_at(verdicts[i].due_ms, next_ms, interval_ms);
  }
  inspection->next_pass_ms = next_ms;
}

static void inspect_partition(struct replica_inspection *inspection, const struct metadata_topic *topic, int32_t index)
{
  struct replica_view *view = &inspection->views[inspection->count];
  const struct partition *part = replica_manager_find(inspection->manager, metadata_topic_log_id(topic), index);
  *view = (struct replica_view){.partition = index, .is_here = part != NULL};
  if (part == NULL) {
    inspection->count++;
    return;
  }
  partition_read_state(part, &view->state);
  if (view->state.role == PARTITION_LEADER || view->state.role == PARTITION_FOLLOWER) {
    const struct log *log = part->log;
    const char *dir = log_dir(log);
    const struct log_config *config = log_get_config(log);
    view->end_offset = log_end_offset(log);
    view->recovery_point = log_recovery_point(log);
    view->size_bytes = log_size_bytes(log);
    view->retention_ms = config->retention_ms;
    view->retention_bytes = config->retention_bytes;
    view->dir = arena_strndup(&inspection->arena, dir, strlen(dir));
    inspect_segments(inspection, log, view);
  }
  inspection->count++;
}

static void inspect_run(struct pool_job *job)
{
  struct replica_inspection *inspection = CONTAINER_OF(job, struct replica_inspection, job);
  const struct metadata_image *image = metadata_cache_get(inspection->metadata);
  const struct metadata_topic *topic = metadata_image_topic(image, inspection->topic, strlen(inspection->topic));
  inspection->now_ms = clock_wall_ms();
  if (topic == NULL) {
    inspection->result = ERR_NOT_FOUND;
    return;
  }
  inspection->partition_count = topic->partition_count;
  if (inspection->partition >= topic->partition_count) {
    inspection->result = ERR_OFFSET_OUT_OF_RANGE;
    return;
  }
  int32_t first = inspection->partition < 0 ? 0 : inspection->partition;
  int32_t end = inspection->partition < 0 ? topic->partition_count : first + 1;
  inspection->views = arena_zalloc(&inspection->arena, (size_t)(end - first) * sizeof *inspection->views);
  for (int32_t i = first; i < end; i++) {
    inspect_partition(inspection, topic, i);
  }
}

static void inspect_done(struct pool_job *job)
{
  struct replica_inspection *inspection = CONTAINER_OF(job, struct replica_inspection, job);
  inspection->done(inspection);
}

void replica_inspect(struct replica_inspection *inspection, struct replica_manager *manager,
                     struct metadata_cache *metadata, struct pool *pool, const char *topic, int32_t partition,
                     struct event_loop *reply, replica_inspection_fn done)
{
  *inspection = (struct replica_inspection){
      .manager = manager,
      .metadata = metadata,
      .done = done,
      .partition = partition < 0 ? -1 : partition,
      .next_pass_ms = -1,
  };
  snprintf(inspection->topic, sizeof inspection->topic, "%s", topic);
  pool_submit(pool, &inspection->job, inspect_run, reply, inspect_done);
}

void replica_inspection_destroy(struct replica_inspection *inspection)
{
  arena_destroy(&inspection->arena);
}
