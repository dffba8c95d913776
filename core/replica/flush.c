// SPDX-License-Identifier: Apache-2.0
#include "replica/flush.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "event/pool.h"
#include "log/log.h"
#include "log/log_manager.h"
#include "replica/append.h"
#include "replica/high_watermark.h"
#include "replica/manager.h"
#include "replica/partition.h"

/// A flush of one partition: on the pool, then with the appender.
struct flush {
  struct pool_job job;    ///< brings the log to disk, or
  struct log_sync sync;   ///< the sync journal does
  struct append_job turn; ///< then tells who waits
  struct partition *part; ///< referenced
  int64_t bytes;          ///< held when it began; they are on disk afterwards
  bool is_journaled;      ///< by the sync journal
  int result;             ///< of log_flush(), or as struct log_sync has it
};

/// Next to a flush it is free.
static _Atomic(int64_t) flush_appends;

int64_t flush_count_appends(void)
{
  return atomic_load_explicit(&flush_appends, memory_order_relaxed);
}

int64_t flush_safe_offset(const struct partition *part)
{
  int64_t end_offset = log_end_offset(part->log);
  const struct log_config *config = log_get_config(part->log);
  if (!log_config_waits_for_disk(config)) {
    return end_offset;
  }
  int64_t flushed_offset = log_recovery_point(part->log);
  if (end_offset - flushed_offset >= config->flush_messages) {
    return flushed_offset;
  }
  return config->is_sync ? log_durable_offset(part->log) : end_offset;
}

bool flush_is_due(const struct append_job *job, int64_t safe_offset)
{
  const struct log_batch *batch = &job->batch;
  return batch->result == 0 && !job->is_unacknowledged && batch->base_offset + batch->last_offset_delta >= safe_offset;
}

void flush_hold(struct partition *part, struct append_job *job)
{
  job->next = NULL;
  *part->held_end = job;
  part->held_end = &job->next;
  part->held_count++;
}

struct append_job *flush_abort(struct partition *part, int result)
{
  struct append_job *jobs = part->held;
  for (struct append_job *job = jobs; job != NULL; job = job->next) {
    job->result = result;
  }
  part->held = NULL;
  part->held_end = &part->held;
  part->held_count = part->told_count = 0;
  return jobs;
}

/// Gives back those whose batch lies below an offset.
static struct append_job *flush_release(struct partition *part, int64_t safe_offset)
{
  struct append_job *released = NULL;
  struct append_job **released_end = &released;
  struct append_job *next = part->held;
  int64_t count = 0;
  part->held = NULL;
  part->held_end = &part->held;
  part->held_count = 0;
  for (struct append_job *job = next; job != NULL; job = next) {
    next = job->next;
    if (flush_is_due(job, safe_offset)) {
      flush_hold(part, job);
    } else {
      job->next = NULL;
      *released_end = job;
      released_end = &job->next;
      count++;
    }
  }
  // Those that go are the oldest, and were told of first.
  part->told_count = part->told_count > count ? part->told_count - (int32_t)count : 0;
  if (count > 0) {
    atomic_fetch_add_explicit(&flush_appends, count, memory_order_relaxed);
  }
  return released;
}

// ---- one flush ----

static struct append_job *flush_begin_alone(struct partition *part);

static void flush_free(struct append_job *job)
{
  struct flush *flush = CONTAINER_OF(job, struct flush, turn);
  partition_unref(flush->part);
  mem_free(flush);
}

/// Moves the high watermark, gives back who waited for that, and goes on flushing if more is needed.
///
/// @param bytes  as high_watermark_raise() has it
static struct append_job *flush_move(struct partition *part, int64_t bytes)
{
  int64_t safe_offset = flush_safe_offset(part);
  high_watermark_raise(part, bytes);
  struct append_job *released = flush_release(part, safe_offset);
  if (safe_offset < log_end_offset(part->log)) {
    struct append_job **end = &released;
    while (*end != NULL) {
      end = &(*end)->next;
    }
    *end = flush_begin(part);
  }
  return released;
}

struct append_job *flush_settle(struct partition *part)
{
  return flush_move(part, 0);
}

/// True when nothing was lost and a later flush may succeed.
static bool flush_may_pass(int result)
{
  return result == ERR_NO_SPACE || result == ERR_NO_FILES;
}

/// While holding the appender: the flush is over.
static void flush_turn(struct append_job *job)
{
  struct flush *flush = CONTAINER_OF(job, struct flush, turn);
  struct partition *part = flush->part;
  part->is_flushing = false;
  part->is_syncing = false;
  struct partition_state state;
  partition_read_state(part, &state);
  int role = partition_check_leader(&state);
  if (role < 0) {
    job->released = flush_abort(part, role);
  } else if (flush->result == ERR_AGAIN) {
    job->released = flush_begin_alone(part);
  } else if (flush->result == 0) {
    bool is_done = !flush->is_journaled || log_sync_done(part->log, &flush->sync.range);
    job->released = flush_move(part, is_done ? flush->bytes : 0);
  } else if (flush_may_pass(flush->result)) {
    job->released = flush_abort(part, flush->result);
  } else {
    job->released = partition_go_offline(part);
  }
}

/// Gives the appender what became of a flush.
static void flush_report(struct flush *flush, int result)
{
  flush->result = result;
  flush->turn.change = flush_turn;
  flush->turn.done = flush_free;
  partition_submit(flush->part, &flush->turn);
}

/// On the pool.
static void flush_work(struct pool_job *job)
{
  struct flush *flush = CONTAINER_OF(job, struct flush, job);
  struct partition *part = flush->part;
  struct partition_state state;
  // A log that has a role now stays in memory until this job ends, whatever happens to the partition.
  partition_read_state(part, &state);
  int result = partition_check_leader(&state);
  if (result == 0) {
    result = log_flush(part->log, INT64_MAX);
    partition_read_state(part, &state);
    if (result < 0 && partition_check_leader(&state) == 0) {
      replica_manager_flush_failed(part->manager, part, result);
    }
  }
  flush_report(flush, result);
}

/// Without the sync journal.
static struct append_job *flush_begin_alone(struct partition *part)
{
  struct flush *flush = mem_zalloc(sizeof *flush);
  flush->part = partition_ref(part);
  flush->bytes = part->held_bytes;
  part->is_flushing = true;
  if (replica_manager_submit_flush(part->manager, &flush->job, flush_work)) {
    return NULL;
  }
  part->is_flushing = false;
  flush_free(&flush->turn);
  return flush_abort(part, ERR_STORAGE_OFFLINE);
}

// ---- the sync journal ----

/// On the pool: as flush_work() finds the log.
static struct log *flush_find_log(struct log_sync *sync)
{
  const struct flush *flush = CONTAINER_OF(sync, struct flush, sync);
  struct partition_state state;
  partition_read_state(flush->part, &state);
  return partition_check_leader(&state) == 0 ? flush->part->log : NULL;
}

/// On the pool.
static void flush_synced(struct log_sync *sync, int result)
{
  struct flush *flush = CONTAINER_OF(sync, struct flush, sync);
  flush->bytes = sync->range.bytes;
  flush_report(flush, result);
}

/// Has the sync journal take what is held, where it is for that. @return false: not now
static bool flush_begin_journaled(struct partition *part)
{
  const struct log_config *config = log_get_config(part->log);
  bool is_flush_due = log_unflushed_offsets(part->log) >= config->flush_messages;
  if (!config->is_sync || is_flush_due || part->held_bytes > LOG_SYNC_BYTES_MAX) {
    return false;
  }
  struct flush *flush = mem_zalloc(sizeof *flush);
  flush->part = partition_ref(part);
  flush->is_journaled = true;
  flush->sync.find = flush_find_log;
  flush->sync.done = flush_synced;
  flush->sync.partition = part->index;
  bool is_taken = replica_manager_submit_sync(part->manager, part, &flush->sync, part->held_count - part->told_count);
  part->is_flushing = part->is_syncing = is_taken;
  if (is_taken) {
    part->told_count = part->held_count;
  } else {
    flush_free(&flush->turn);
  }
  return is_taken;
}

struct append_job *flush_begin(struct partition *part)
{
  if (!part->is_flushing) {
    return flush_begin_journaled(part) ? NULL : flush_begin_alone(part);
  }
  if (part->is_syncing) {
    replica_manager_sync_more(part->manager, part, part->held_count - part->told_count);
    part->told_count = part->held_count;
  }
  return NULL;
}
