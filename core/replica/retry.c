// SPDX-License-Identifier: Apache-2.0
#include "replica/retry.h"

#include <stddef.h>

#include "base/check.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/loop.h"
#include "event/pool.h"
#include "event/timer.h"
#include "log/log.h"
#include "log/log_manager.h"
#include "replica/append.h"
#include "replica/log_settings.h"
#include "replica/partition.h"

enum {
  RETRY_INTERVAL_MS = 1000,
  RETRY_BATCH = 64, // opened by one job
};

/// One log that did not open.
struct replica_retry {
  struct list link;                ///< in `waiting` or `tried`
  struct replica_retries *retries; ///< whose
  struct partition *part;          ///< referenced
  struct log_config config;        ///< what `wanted` points to
  struct log_config newer;         ///< what came while it was being opened
  bool is_changed;                 ///< `newer` is there
  struct log_wanted wanted;        ///< for the log manager
  int32_t leader_epoch;            ///< as the controller said
  bool is_leader;                  ///< this broker leads it
  struct append_job job;           ///< gives the partition its log
};

struct replica_retries {
  struct log_manager *logs;   ///< borrowed
  struct pool *pool;          ///< borrowed
  struct event_loop *control; ///< borrowed
  replica_retried_fn opened;  ///< told of each that opens
  struct timer timer;         ///< for the next round
  struct pool_job pool_job;   ///< one round
  struct list waiting;        ///< for the next round, oldest first
  struct list tried;          ///< in this round; the pool's until it is done
  int32_t pending;            ///< partitions that wait for their appender
  bool is_trying;             ///< a round is under way
  bool is_paused;             ///< no more rounds
  void (*dropped)(void *arg); ///< who waits for the end of the round, or NULL
  void *arg;                  ///< for `dropped`
};

struct replica_retries *replica_retries_new(struct log_manager *logs, struct pool *pool, struct event_loop *control,
                                            replica_retried_fn opened)
{
  struct replica_retries *retries = mem_zalloc(sizeof *retries);
  retries->logs = logs;
  retries->pool = pool;
  retries->control = control;
  retries->opened = opened;
  list_create(&retries->waiting);
  list_create(&retries->tried);
  return retries;
}

static void retry_free(struct replica_retry *retry)
{
  partition_unref(retry->part);
  mem_free(retry);
}

static void retry_free_all(struct list *list)
{
  LIST_EACH_SAFE(list, node) {
    list_remove(node);
    retry_free(CONTAINER_OF(node, struct replica_retry, link));
  }
}

void replica_retries_delete(struct replica_retries *retries)
{
  if (retries != NULL) {
    retry_free_all(&retries->waiting);
    retry_free_all(&retries->tried);
    mem_free(retries);
  }
}

void replica_retries_pause(struct replica_retries *retries)
{
  retries->is_paused = true;
  timer_stop(retries->control, &retries->timer);
}

// ---- a round ----

static void retry_work(struct pool_job *job)
{
  struct replica_retries *retries = CONTAINER_OF(job, struct replica_retries, pool_job);
  LIST_EACH_SAFE(&retries->tried, node) {
    // The outcome is in `wanted`; that it fails still was said the first time.
    log_manager_open_log(retries->logs, &CONTAINER_OF(node, struct replica_retry, link)->wanted);
  }
}

static void retry_tick(struct timer *timer);

static void retry_round_over(struct replica_retries *retries)
{
  void (*dropped)(void *arg) = retries->dropped;
  retries->is_trying = false;
  retries->dropped = NULL;
  if (!list_is_empty(&retries->waiting) && !retries->is_paused) {
    timer_start(retries->control, &retries->timer, RETRY_INTERVAL_MS, retry_tick);
  }
  if (dropped != NULL) {
    dropped(retries->arg);
  }
}

/// While holding the appender.
static void retry_give(struct append_job *job)
{
  struct replica_retry *retry = CONTAINER_OF(job, struct replica_retry, job);
  retry->retries->opened(retry->part, &retry->wanted, retry->leader_epoch, retry->is_leader);
  if (retry->is_changed) {
    log_settings_apply(job, &retry->newer);
  }
}

static void retry_given(struct append_job *job)
{
  struct replica_retry *retry = CONTAINER_OF(job, struct replica_retry, job);
  struct replica_retries *retries = retry->retries;
  slog_info("partition %s-%d is open after all", retry->part->topic, retry->part->index);
  retry_free(retry);
  if (--retries->pending == 0) {
    retry_round_over(retries);
  }
}

/// Control thread: what became of each.
static void retry_done(struct pool_job *job)
{
  struct replica_retries *retries = CONTAINER_OF(job, struct replica_retries, pool_job);
  retries->pending = 1;
  LIST_EACH_SAFE(&retries->tried, node) {
    struct replica_retry *retry = CONTAINER_OF(node, struct replica_retry, link);
    list_remove(node);
    if (retry->wanted.log != NULL) {
      retries->pending++;
      retry->job.reply = retries->control;
      retry->job.change = retry_give;
      retry->job.done = retry_given;
      partition_submit(retry->part, &retry->job);
    } else if (log_manager_may_pass(retry->wanted.error) && !retry->part->is_removed) {
      retry->config = retry->is_changed ? retry->newer : retry->config;
      retry->is_changed = false;
      list_append(&retries->waiting, node);
    } else {
      if (!retry->part->is_removed) {
        slog_error("partition %s-%d stays offline: %s", retry->part->topic, retry->part->index,
                   error_text(retry->wanted.error));
      }
      retry_free(retry);
    }
  }
  if (--retries->pending == 0) {
    retry_round_over(retries);
  }
}

static void retry_tick(struct timer *timer)
{
  struct replica_retries *retries = CONTAINER_OF(timer, struct replica_retries, timer);
  for (int i = 0; i < RETRY_BATCH && !list_is_empty(&retries->waiting); i++) {
    struct list *node = retries->waiting.next;
    list_remove(node);
    list_append(&retries->tried, node);
  }
  retries->is_trying = true;
  pool_submit_long(retries->pool, &retries->pool_job, retry_work, retries->control, retry_done);
}

// ---- who waits ----

void replica_retries_add(struct replica_retries *retries, struct partition *part, const struct log_wanted *wanted,
                         int32_t leader_epoch, bool is_leader)
{
  struct replica_retry *retry = mem_zalloc(sizeof *retry);
  retry->retries = retries;
  retry->part = partition_ref(part);
  retry->config = *wanted->config;
  retry->wanted = *wanted;
  retry->wanted.config = &retry->config;
  retry->leader_epoch = leader_epoch;
  retry->is_leader = is_leader;
  list_append(&retries->waiting, &retry->link);
  if (!retries->is_trying && !retries->is_paused && !timer_is_running(&retries->timer)) {
    timer_start(retries->control, &retries->timer, RETRY_INTERVAL_MS, retry_tick);
  }
}

void replica_retries_configure(struct replica_retries *retries, const struct partition *part,
                               const struct log_config *config)
{
  LIST_EACH(&retries->waiting, node) {
    struct replica_retry *retry = CONTAINER_OF(node, struct replica_retry, link);
    if (retry->part == part) {
      retry->config = *config;
    }
  }
  LIST_EACH(&retries->tried, node) {
    struct replica_retry *retry = CONTAINER_OF(node, struct replica_retry, link);
    if (retry->part == part) {
      retry->newer = *config;
      retry->is_changed = true;
    }
  }
}

bool replica_retries_drop(struct replica_retries *retries, void (*done)(void *arg), void *arg)
{
  LIST_EACH_SAFE(&retries->waiting, node) {
    struct replica_retry *retry = CONTAINER_OF(node, struct replica_retry, link);
    if (retry->part->is_removed) {
      list_remove(node);
      retry_free(retry);
    }
  }
  if (!retries->is_trying) {
    return false;
  }
  CHECK(retries->dropped == NULL); // the controller makes one change at a time
  retries->dropped = done;
  retries->arg = arg;
  return true;
}
