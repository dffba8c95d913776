// SPDX-License-Identifier: Apache-2.0
//
// One pass over a log at a time: the next pass of the log manager finds the log in the list of those under way, and
// leaves it alone.
#include "policy/segments.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log.h"
#include "os/clock.h"
#include "policy/policy.h"
#include "policy/runner.h"
#include "policy/vm.h"
#include "replica/append.h"
#include "replica/high_watermark.h"
#include "replica/manager.h"
#include "replica/partition.h"

enum {
  SEGMENTS_PASS_MAX = 1024, ///< segments that one pass goes through; the next one goes on
  SEGMENTS_PATH_SIZE = 4096,
};

struct policy_segments {
  struct policy_cache *cache;     ///< where policies are found
  struct policy_runners *runners; ///< who runs them
  pthread_mutex_t lock;           ///< guards `passes`
  struct list passes;             ///< struct segments_pass, those under way
};

/// A pass over one log.
struct segments_pass {
  struct list node;                 ///< in the list
  struct policy_segments *segments; ///< whose
  struct partition *part;           ///< referenced
  struct policy_job job;            ///< on the slow runner
  struct append_job append;         ///< then, with the appender
  char *dir;                        ///< folder of the log, owned
  struct log_segment_info *infos;   ///< its segments but the active one, oldest first, owned
  int32_t *reasons;                 ///< for each, enum log_retention_reason by Kafka's rules if it may go; owned
  int count;                        ///< how many
  int64_t log_bytes;                ///< of the log, all segments
  int64_t high_watermark;           ///< nothing from it on goes
  bool is_roll_needed;              ///< the active segment is too old
  int64_t delete_before;            ///< out: what goes
  int going;                        ///< out: segments that go
  int64_t going_bytes;              ///< out: their bytes
};

static void pass_run(struct policy_job *job, const struct policy_set *set, struct policy_vm *vm);
static void pass_done(struct policy_job *job, bool is_abandoned);
static void pass_delete(struct append_job *job);
static void pass_end(struct append_job *job);

struct policy_segments *policy_segments_new(struct policy_cache *cache, struct policy_runners *runners)
{
  struct policy_segments *segments = mem_zalloc(sizeof *segments);
  segments->cache = cache;
  segments->runners = runners;
  pthread_mutex_init(&segments->lock, NULL);
  list_create(&segments->passes);
  return segments;
}

void policy_segments_delete(struct policy_segments *segments)
{
  if (segments != NULL) {
    pthread_mutex_destroy(&segments->lock);
    mem_free(segments);
  }
}

static void pass_free(struct segments_pass *pass)
{
  pthread_mutex_lock(&pass->segments->lock);
  list_remove(&pass->node);
  pthread_mutex_unlock(&pass->segments->lock);
  partition_unref(pass->part);
  mem_free(pass->dir);
  mem_free(pass->infos);
  mem_free(pass->reasons);
  mem_free(pass);
}

/// Looks at a log's segments as they are now.
static void pass_look(struct segments_pass *pass, struct log *log, int64_t high_watermark)
{
  struct log_segment_info *infos = mem_alloc(SEGMENTS_PASS_MAX * sizeof *infos);
  struct log_retention_verdict *verdicts = mem_alloc(SEGMENTS_PASS_MAX * sizeof *verdicts);
  int64_t now_ms = clock_wall_ms();
  int count = log_retention_plan(log, now_ms, high_watermark, infos, verdicts, SEGMENTS_PASS_MAX);
  struct log_retention pick;
  log_retention_pick(log, now_ms, high_watermark, &pick);
  struct log_retention_pass bounds;
  log_retention_begin(log, now_ms, high_watermark, &bounds);
  pass->infos = infos;
  pass->reasons = mem_zalloc((size_t)(count + 1) * sizeof *pass->reasons);
  pass->is_roll_needed = pick.is_roll_needed;
  pass->high_watermark = bounds.high_watermark;
  pass->log_bytes = log_size_bytes(log);
  for (int i = 0; i < count && !infos[i].is_active && infos[i].next_offset <= bounds.high_watermark; i++) {
    pass->reasons[pass->count++] = verdicts[i].is_going ? verdicts[i].reason : LOG_RETENTION_NONE;
  }
  mem_free(verdicts);
}

bool policy_segments_retention(void *arg, void *owner, struct log *log, int64_t high_watermark)
{
  struct policy_segments *segments = arg;
  struct partition *part = owner;
  const struct policy_set *set = policy_cache_get(segments->cache);
  const struct policy_topic *topic = policy_set_topic(set, part->topic, strlen(part->topic));
  if (topic == NULL || (topic->retention == NULL && topic->archive == NULL)) {
    return false;
  }
  pthread_mutex_lock(&segments->lock);
  bool is_under_way = false;
  LIST_EACH(&segments->passes, node) {
    is_under_way = is_under_way || CONTAINER_OF(node, struct segments_pass, node)->part == part;
  }
  pthread_mutex_unlock(&segments->lock);
  if (is_under_way || !partition_try_ref(part)) {
    return true;
  }
  struct segments_pass *pass = mem_zalloc(sizeof *pass);
  pass->segments = segments;
  pass->part = part;
  pass->dir = mem_strdup(log_dir(log));
  pass_look(pass, log, high_watermark);
  pthread_mutex_lock(&segments->lock);
  list_append(&segments->passes, &pass->node);
  pthread_mutex_unlock(&segments->lock);
  pass->job.run = pass_run;
  pass->job.done = pass_done; // where it ran
  int result = policy_runners_submit_slow(segments->runners, &pass->job);
  if (result < 0) {
    if (result != ERR_CLOSED) {
      slog_warn("retention of %s-%" PRId32 ": %s", part->topic, part->index, error_last()->message);
    }
    pass_free(pass);
  }
  return true;
}

/// Asks one policy about one segment; a segment stays when that fails.
static bool pass_ask(struct segments_pass *pass, struct policy_vm *vm, const struct policy *policy, int index,
                     bool *goes)
{
  const struct log_segment_info *info = &pass->infos[index];
  char path[SEGMENTS_PATH_SIZE];
  snprintf(path, sizeof path, "%s/%020" PRId64 ".log", pass->dir, info->base_offset);
  int64_t now_ms = clock_wall_ms();
  int64_t age_ms = now_ms - log_segment_age_base_ms(info, now_ms);
  struct policy_segment segment = {
      .topic = pass->part->topic,
      .path = path,
      .partition = pass->part->index,
      .base_offset = info->base_offset,
      .next_offset = info->next_offset,
      .size_bytes = info->size_bytes,
      .age_ms = age_ms > 0 ? age_ms : 0,
      .log_bytes = pass->log_bytes - pass->going_bytes,
      .log_segments = pass->count + 1 - pass->going,
  };
  struct policy_failure failure;
  return policy_job_segment(&pass->job, vm, policy, &segment, goes, &failure) == 0;
}

static void pass_run(struct policy_job *job, const struct policy_set *set, struct policy_vm *vm)
{
  struct segments_pass *pass = CONTAINER_OF(job, struct segments_pass, job);
  if (job->result < 0) {
    slog_warn("retention of %s-%" PRId32 ": %s", pass->part->topic, pass->part->index, job->failure.text);
    return; // there is no VM
  }
  const struct policy_topic *topic = policy_set_topic(set, pass->part->topic, strlen(pass->part->topic));
  const struct policy *retention = topic != NULL ? topic->retention : NULL;
  const struct policy *archive = topic != NULL ? topic->archive : NULL;
  for (int i = 0; i < pass->count; i++) {
    bool goes = pass->reasons[i] != LOG_RETENTION_NONE;
    if (retention != NULL && pass->reasons[i] != LOG_RETENTION_START_OFFSET) {
      goes = false;
      if (!pass_ask(pass, vm, retention, i, &goes)) {
        break;
      }
    }
    bool may_go = true;
    if (!goes || (archive != NULL && !pass_ask(pass, vm, archive, i, &may_go)) || !may_go) {
      break;
    }
    pass->delete_before = pass->infos[i].next_offset;
    pass->going_bytes += pass->infos[i].size_bytes;
    pass->going++;
  }
  // retention.ms closes a segment that has become too old, unless a policy has taken its place.
  pass->is_roll_needed = pass->is_roll_needed && retention == NULL && topic != NULL && pass->going == pass->count;
}

static void pass_done(struct policy_job *job, bool is_abandoned)
{
  (void)is_abandoned; // the slow runner is not watched
  struct segments_pass *pass = CONTAINER_OF(job, struct segments_pass, job);
  if (job->result < 0 || (pass->going == 0 && !pass->is_roll_needed)) {
    pass_free(pass);
    return;
  }
  pass->append.change = pass_delete;
  pass->append.done = pass_end;
  partition_submit(pass->part, &pass->append);
}

/// With the appender held.
static void pass_delete(struct append_job *job)
{
  struct segments_pass *pass = CONTAINER_OF(job, struct segments_pass, append);
  struct partition *part = pass->part;
  struct partition_state state;
  partition_read_state(part, &state);
  if (state.role != PARTITION_LEADER && state.role != PARTITION_FOLLOWER) {
    return;
  }
  int64_t now_ms = clock_wall_ms();
  int result = pass->is_roll_needed ? log_roll(part->log, now_ms) : 0;
  int64_t before_bytes = log_size_bytes(part->log);
  int deleted = result < 0 || pass->going == 0 ? result : log_delete_before(part->log, pass->delete_before, now_ms);
  if (deleted < 0) {
    slog_warn("retention of %s-%" PRId32 " failed: %s", part->topic, part->index, error_last()->message);
    replica_manager_append_failed(part->manager, part, deleted);
    return;
  }
  if (deleted > 0) {
    slog_info("retention of %s-%" PRId32 ": deleted %d segments of %" PRId64
              " bytes, by its policy; the log starts at "
              "%" PRId64,
              part->topic, part->index, deleted, before_bytes - log_size_bytes(part->log), log_start_offset(part->log));
  }
  if (log_start_offset(part->log) != state.log_start_offset) {
    high_watermark_reset(part);
  }
}

static void pass_end(struct append_job *job)
{
  pass_free(CONTAINER_OF(job, struct segments_pass, append));
}
