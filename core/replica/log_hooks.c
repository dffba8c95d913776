// SPDX-License-Identifier: Apache-2.0
//
// What the log manager asks of the partitions whose logs it keeps (struct log_manager_hooks): work that needs the
// appender, the high watermark, and being told of failed disks and of flushes. Called on the pool, some also by whoever
// holds an appender; a partition is known there only by a pointer that the epoch keeps valid.
#include "base/list.h"
#include "base/mem.h"
#include "log/log.h"
#include "log/log_manager.h"
#include "replica/append.h"
#include "replica/flush.h"
#include "replica/high_watermark.h"
#include "replica/manager.h"
#include "replica/partition.h"

/// Work of the log manager that needs the appender of a partition.
struct replica_log_work {
  struct append_job job; ///< the change
  log_work_fn work;      ///< what to do
  void *arg;             ///< for work
};

static void replica_log_work_run(struct append_job *job)
{
  struct replica_log_work *work = CONTAINER_OF(job, struct replica_log_work, job);
  struct partition *part = job->part;
  struct partition_state state;
  partition_read_state(part, &state);
  bool is_here = state.role == PARTITION_LEADER || state.role == PARTITION_FOLLOWER;
  work->work(work->arg, is_here ? part->log : NULL, state.high_watermark);
  if (is_here && log_start_offset(part->log) != state.log_start_offset) {
    high_watermark_reset(part);
  }
}

static void replica_log_work_done(struct append_job *job)
{
  mem_free(CONTAINER_OF(job, struct replica_log_work, job));
}

static void replica_with_appender(void *arg, void *owner, struct log *log, log_work_fn work, void *work_arg)
{
  (void)arg;
  (void)log; // the partition's
  struct partition *part = owner;
  if (!partition_try_ref(part)) {
    work(work_arg, NULL, -1);
    return;
  }
  struct replica_log_work *entry = mem_zalloc(sizeof *entry);
  entry->work = work;
  entry->arg = work_arg;
  entry->job.change = replica_log_work_run;
  entry->job.done = replica_log_work_done;
  partition_submit(part, &entry->job);
  partition_unref(part);
}

static int64_t replica_high_watermark(void *arg, void *owner, struct log *log)
{
  (void)arg;
  (void)log;
  struct partition_state state;
  partition_read_state(owner, &state);
  return state.high_watermark;
}

static void replica_offline_run(struct append_job *job)
{
  job->released = partition_go_offline(job->part);
}

static void replica_offline_done(struct append_job *job)
{
  mem_free(job);
}

/// The log's directory is offline: nothing more is served from it.
static void replica_log_failed(void *arg, void *owner, struct log *log, int cause)
{
  (void)arg;
  (void)log;
  (void)cause; // logged once, for the directory
  struct partition *part = owner;
  if (!partition_try_ref(part)) {
    return;
  }
  struct append_job *job = mem_zalloc(sizeof *job);
  job->change = replica_offline_run;
  job->done = replica_offline_done;
  partition_submit(part, job);
  partition_unref(part);
}

static void replica_flushed_run(struct append_job *job)
{
  struct partition_state state;
  partition_read_state(job->part, &state);
  if (partition_check_leader(&state) == 0) {
    job->released = flush_settle(job->part);
  }
}

static void replica_flushed_done(struct append_job *job)
{
  mem_free(job);
}

/// The log manager has flushed a log by itself, which somebody may wait for.
static void replica_log_flushed(void *arg, void *owner, struct log *log)
{
  (void)arg;
  (void)log;
  struct partition *part = owner;
  if (!partition_try_ref(part)) {
    return;
  }
  struct append_job *job = mem_zalloc(sizeof *job);
  job->change = replica_flushed_run;
  job->done = replica_flushed_done;
  partition_submit(part, job);
  partition_unref(part);
}

void replica_manager_log_hooks(struct replica_manager *manager, struct log_manager_hooks *hooks)
{
  *hooks = (struct log_manager_hooks){
      .with_appender = replica_with_appender,
      .high_watermark = replica_high_watermark,
      .log_failed = replica_log_failed,
      .log_flushed = replica_log_flushed,
      .arg = manager,
  };
}
