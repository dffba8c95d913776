// SPDX-License-Identifier: Apache-2.0
#include "replica/manager.h"

#include "base/check.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "event/loop.h"
#include "event/pool.h"
#include "log/log.h"
#include "log/log_manager.h"
#include "metadata/image.h"
#include "os/clock.h"
#include "replica/append.h"
#include "replica/flush.h"
#include "replica/high_watermark.h"
#include "replica/log_settings.h"
#include "replica/partition.h"
#include "replica/retry.h"
#include "replica/table.h"
#include "replica/watch.h"

enum { REPLICA_LOG_INTERVAL_MS = 1000 };

struct replica_manager {
  struct replica_manager_options options; ///< borrowed things
  struct partition_directory directory;   ///< written by the control thread
  struct replica_retries *retries;        ///< logs that did not open for now; owned
  struct replica_totals totals;           ///< what was appended in all
};

/// One replica of a change.
struct replica_entry {
  struct log_config config;      ///< what its log is opened with
  struct partition *part;        ///< referenced
  int32_t leader_epoch;          ///< as the controller says
  bool is_leader;                ///< this broker leads it
  struct append_job job;         ///< opening: the log is given; dropping: the change of role; configuring: of settings
  struct replica_change *change; ///< of `job`: the change it is part of
};

/// A change under way: the replicas of some topics on this broker.
struct replica_change {
  struct replica_manager *manager; ///< borrowed
  struct pool_job pool;            ///< opens or deletes the logs
  struct replica_entry *entries;   ///< owned
  struct log_wanted *wanted;       ///< opening: beside the entries, owned
  int32_t count;                   ///< entries
  int32_t pending;                 ///< jobs not done yet
  replica_change_done_fn done;     ///< told on the control loop
  void *arg;                       ///< for done
};

static void replica_retried(struct partition *part, const struct log_wanted *wanted, int32_t leader_epoch,
                            bool is_leader);

struct replica_manager *replica_manager_new(const struct replica_manager_options *options)
{
  struct replica_manager *manager = mem_zalloc(sizeof *manager);
  manager->options = *options;
  partition_directory_create(&manager->directory);
  manager->retries = replica_retries_new(options->logs, options->pool, options->control, replica_retried);
  return manager;
}

void replica_manager_delete(struct replica_manager *manager)
{
  if (manager != NULL) {
    replica_retries_delete(manager->retries);
    partition_directory_destroy(&manager->directory);
    mem_free(manager);
  }
}

void replica_manager_pause(struct replica_manager *manager)
{
  replica_retries_pause(manager->retries);
}

struct partition *replica_manager_find(struct replica_manager *manager, const struct uuid *topic_id, int32_t index)
{
  return partition_directory_find(&manager->directory, topic_id, index);
}

const struct partition_table *replica_manager_all(const struct replica_manager *manager)
{
  return partition_directory_all(&manager->directory);
}

struct log_manager *replica_manager_logs(const struct replica_manager *manager)
{
  return manager->options.logs;
}

struct replica_totals *replica_manager_totals(struct replica_manager *manager)
{
  return &manager->totals;
}

// ---- changes ----

static bool replica_is_here(const struct replica_manager *manager, const struct metadata_partition *partition)
{
  for (int32_t i = 0; i < partition->replica_count; i++) {
    if (partition->replicas[i] == manager->options.broker_id) {
      return true;
    }
  }
  return false;
}

/// Counts the replicas that topics have here.
static int32_t replica_count(const struct replica_manager *manager, const struct metadata_topic *const *topics,
                             int32_t count)
{
  int32_t replicas = 0;
  for (int32_t i = 0; i < count; i++) {
    for (int32_t j = 0; j < topics[i]->partition_count; j++) {
      replicas += replica_is_here(manager, &topics[i]->partitions[j]) ? 1 : 0;
    }
  }
  return replicas;
}

static struct replica_change *replica_change_new(struct replica_manager *manager, int32_t count,
                                                 replica_change_done_fn done, void *arg)
{
  struct replica_change *change = mem_zalloc(sizeof *change);
  change->manager = manager;
  change->entries = mem_array((size_t)count, sizeof *change->entries);
  change->wanted = mem_array((size_t)count, sizeof *change->wanted);
  change->done = done;
  change->arg = arg;
  return change;
}

static void replica_change_finish(struct replica_change *change, int result)
{
  replica_change_done_fn done = change->done;
  void *arg = change->arg;
  for (int32_t i = 0; i < change->count; i++) {
    partition_unref(change->entries[i].part);
  }
  mem_free(change->entries);
  mem_free(change->wanted);
  mem_free(change);
  done(arg, result);
}

// ---- opening ----

/// Lists the replicas that topics have here, each with a partition that is still offline.
static void replica_gather(struct replica_change *change, const struct metadata_topic *const *topics, int32_t count,
                           bool is_load)
{
  struct replica_manager *manager = change->manager;
  for (int32_t i = 0; i < count; i++) {
    const struct metadata_topic *topic = topics[i];
    for (int32_t j = 0; j < topic->partition_count; j++) {
      const struct metadata_partition *known = &topic->partitions[j];
      if (!replica_is_here(manager, known)) {
        continue;
      }
      struct replica_entry *entry = &change->entries[change->count];
      log_settings_from_topic(&topic->config, &entry->config);
      entry->part =
          partition_new(manager, topic->name, &topic->id, j, manager->options.workers, manager->options.worker_count);
      entry->leader_epoch = known->leader_epoch;
      entry->is_leader = known->leader == manager->options.broker_id;
      change->wanted[change->count] = (struct log_wanted){
          .topic = entry->part->topic,
          .partition = j,
          .topic_id = topic->id,
          .config = &entry->config,
          .is_new = !is_load,
          .owner = entry->part,
      };
      change->count++;
    }
  }
}

/// Gives a partition its log, which is open, and its role; unless it is deleted or its disk has failed. While holding
/// the appender: the log manager knows the partition already, and may say at any time that the disk has failed.
static void replica_give_log(struct partition *part, const struct log_wanted *wanted, int32_t leader_epoch,
                             bool is_leader)
{
  struct partition_state state;
  partition_read_state(part, &state);
  // Readers look at it when they have seen the role; whoever drops the partition deletes the log.
  part->log = wanted->log;
  if (state.role == PARTITION_DELETED) {
    return;
  }
  state.leader_epoch = leader_epoch;
  if (log_manager_is_offline(part->manager->options.logs, wanted->log)) {
    state.role = PARTITION_OFFLINE;
    partition_write_state(part, &state);
    return;
  }
  state.role = is_leader ? PARTITION_LEADER : PARTITION_FOLLOWER;
  if (is_leader) {
    log_assign_leader_epoch(part->log, leader_epoch);
  }
  state.log_start_offset = log_start_offset(part->log);
  state.epoch_start_offset = log_end_offset(part->log);
  state.high_watermark = is_leader ? log_end_offset(part->log) : wanted->high_watermark;
  state.last_stable_offset = high_watermark_stable_offset(part, state.high_watermark);
  partition_write_state(part, &state);
}

/// The same for one whose log did not open at once. While holding the appender.
static void replica_retried(struct partition *part, const struct log_wanted *wanted, int32_t leader_epoch,
                            bool is_leader)
{
  replica_give_log(part, wanted, leader_epoch, is_leader);
  watch_notify_all(part);
}

/// Begins a partition whose log did not open.
static void replica_begin_offline(struct replica_entry *entry, struct log_wanted *wanted)
{
  struct partition *part = entry->part;
  struct partition_state state = {.role = PARTITION_OFFLINE, .leader_epoch = entry->leader_epoch};
  partition_write_state(part, &state);
  bool may_pass = log_manager_may_pass(wanted->error);
  slog_error("partition %s-%d is offline%s: %s", part->topic, part->index, may_pass ? " for now" : "",
             error_text(wanted->error));
  if (may_pass) {
    replica_retries_add(part->manager->retries, part, wanted, entry->leader_epoch, entry->is_leader);
  }
}

/// While holding the appender.
static void replica_begin_log(struct append_job *job)
{
  struct replica_entry *entry = CONTAINER_OF(job, struct replica_entry, job);
  const struct log_wanted *wanted = &entry->change->wanted[entry - entry->change->entries];
  replica_give_log(entry->part, wanted, entry->leader_epoch, entry->is_leader);
}

/// Control thread, or start-up: one more partition has its log. With the last one all can be found.
static void replica_begin_next(struct replica_change *change)
{
  if (--change->pending > 0) {
    return;
  }
  struct partition **parts = mem_array((size_t)change->count, sizeof *parts);
  for (int32_t i = 0; i < change->count; i++) {
    parts[i] = change->entries[i].part;
  }
  partition_directory_change(&change->manager->directory, parts, (size_t)change->count, NULL, 0);
  mem_free(parts);
  replica_change_finish(change, 0);
}

static void replica_begun(struct append_job *job)
{
  replica_begin_next(CONTAINER_OF(job, struct replica_entry, job)->change);
}

/// Control thread, or start-up: logs are open, or are not.
static void replica_opened(struct replica_change *change)
{
  change->pending = change->count + 1;
  for (int32_t i = 0; i < change->count; i++) {
    struct replica_entry *entry = &change->entries[i];
    if (change->wanted[i].log == NULL) {
      replica_begin_offline(entry, &change->wanted[i]);
      change->pending--;
      continue;
    }
    entry->change = change;
    entry->job.reply = event_loop_current();
    entry->job.change = replica_begin_log;
    entry->job.done = replica_begun;
    partition_submit(entry->part, &entry->job);
  }
  replica_begin_next(change);
}

static void replica_open_work(struct pool_job *job)
{
  struct replica_change *change = CONTAINER_OF(job, struct replica_change, pool);
  for (int32_t i = 0; i < change->count; i++) {
    // What went wrong is in the entry; the partition is offline then.
    if (log_manager_open_log(change->manager->options.logs, &change->wanted[i]) < 0) {
      slog_error("cannot open the log of %s-%d: %s", change->wanted[i].topic, change->wanted[i].partition,
                 error_last()->message);
    }
  }
}

static void replica_open_done(struct pool_job *job)
{
  replica_opened(CONTAINER_OF(job, struct replica_change, pool));
}

void replica_manager_open(struct replica_manager *manager, const struct metadata_topic *const *topics, int32_t count,
                          bool is_load, replica_change_done_fn done, void *arg)
{
  struct replica_change *change = replica_change_new(manager, replica_count(manager, topics, count), done, arg);
  replica_gather(change, topics, count, is_load);
  if (!is_load) {
    pool_submit_long(manager->options.pool, &change->pool, replica_open_work, manager->options.control,
                     replica_open_done);
    return;
  }
  int result =
      log_manager_start(manager->options.logs, change->wanted, (size_t)change->count, manager->options.is_adopting);
  if (result < 0) {
    replica_change_finish(change, result);
    return;
  }
  replica_opened(change);
}

// ---- dropping ----

/// While holding the appender: from here on nothing is appended and every reader is told.
static void replica_drop_role(struct append_job *job)
{
  struct partition_state state;
  partition_read_state(job->part, &state);
  state.role = PARTITION_DELETED;
  partition_write_state(job->part, &state);
  watch_notify_all(job->part);
  job->released = flush_abort(job->part, ERR_NOT_FOUND);
}

static void replica_drop_work(struct pool_job *job)
{
  struct replica_change *change = CONTAINER_OF(job, struct replica_change, pool);
  for (int32_t i = 0; i < change->count; i++) {
    struct partition *part = change->entries[i].part;
    struct log_manager *logs = change->manager->options.logs;
    int result = part->log != NULL ? log_manager_delete_log(logs, part->log)
                                   : log_manager_delete_failed(logs, part->topic, part->index, &part->topic_id);
    if (result < 0) {
      slog_error("cannot delete the log of %s-%d: %s", part->topic, part->index, error_last()->message);
    }
  }
}

static void replica_drop_done(struct pool_job *job)
{
  replica_change_finish(CONTAINER_OF(job, struct replica_change, pool), 0);
}

/// Control thread: one more partition has given up its role.
static void replica_drop_next(struct replica_change *change)
{
  if (--change->pending == 0) {
    const struct replica_manager_options *options = &change->manager->options;
    pool_submit_long(options->pool, &change->pool, replica_drop_work, options->control, replica_drop_done);
  }
}

static void replica_drop_retried(void *arg)
{
  replica_drop_next(arg);
}

/// Adds to what partitions that are gone have counted; seen after the table without them is. Control thread.
static void replica_add_gone(_Atomic(int64_t) *gone, const _Atomic(int64_t) *count)
{
  atomic_store_explicit(gone, metric_read(gone) + metric_read(count), memory_order_release);
}

static void replica_dropped_role(struct append_job *job)
{
  struct partition_counters *gone = &job->part->manager->totals.gone;
  const struct partition_counters *counters = &job->part->counters;
  replica_add_gone(&gone->records, &counters->records);
  replica_add_gone(&gone->batches, &counters->batches);
  replica_add_gone(&gone->bytes, &counters->bytes);
  replica_drop_next(CONTAINER_OF(job, struct replica_entry, job)->change);
}

void replica_manager_drop(struct replica_manager *manager, const struct metadata_topic *const *topics, int32_t count,
                          replica_change_done_fn done, void *arg)
{
  int32_t room = replica_count(manager, topics, count);
  struct replica_change *change = replica_change_new(manager, room, done, arg);
  struct partition **parts = mem_array((size_t)room, sizeof *parts);
  for (int32_t i = 0; i < count; i++) {
    for (int32_t j = 0; j < topics[i]->partition_count; j++) {
      struct partition *part = replica_manager_find(manager, &topics[i]->id, j);
      if (part != NULL) {
        CHECK(change->count < room);
        parts[change->count] = part;
        change->entries[change->count++].part = partition_ref(part);
      }
    }
  }
  partition_directory_change(&manager->directory, NULL, 0, parts, (size_t)change->count);
  mem_free(parts);
  change->pending = change->count + 1;
  change->pending += replica_retries_drop(manager->retries, replica_drop_retried, change) ? 1 : 0;
  for (int32_t i = 0; i < change->count; i++) {
    struct append_job *job = &change->entries[i].job;
    job->reply = manager->options.control;
    job->change = replica_drop_role;
    job->done = replica_dropped_role;
    change->entries[i].change = change;
    partition_submit(change->entries[i].part, job);
  }
  replica_drop_next(change);
}

// ---- new settings ----

/// While holding the appender: the log has the topic's new configs from the next append on.
static void replica_configure_log(struct append_job *job)
{
  log_settings_apply(job, &CONTAINER_OF(job, struct replica_entry, job)->config);
}

/// Control thread: one more log has its settings.
static void replica_configure_next(struct replica_change *change)
{
  if (--change->pending == 0) {
    replica_change_finish(change, 0);
  }
}

static void replica_configured(struct append_job *job)
{
  replica_configure_next(CONTAINER_OF(job, struct replica_entry, job)->change);
}

void replica_manager_configure(struct replica_manager *manager, const struct metadata_topic *const *topics,
                               int32_t count, replica_change_done_fn done, void *arg)
{
  int32_t room = replica_count(manager, topics, count);
  struct replica_change *change = replica_change_new(manager, room, done, arg);
  for (int32_t i = 0; i < count; i++) {
    for (int32_t j = 0; j < topics[i]->partition_count; j++) {
      struct partition *part = replica_manager_find(manager, &topics[i]->id, j);
      if (part != NULL && replica_is_here(manager, &topics[i]->partitions[j])) {
        struct replica_entry *entry = &change->entries[change->count++];
        entry->part = partition_ref(part);
        entry->change = change;
        log_settings_from_topic(&topics[i]->config, &entry->config);
      }
    }
  }
  change->pending = change->count + 1;
  for (int32_t i = 0; i < change->count; i++) {
    struct append_job *job = &change->entries[i].job;
    replica_retries_configure(manager->retries, change->entries[i].part, &change->entries[i].config);
    job->reply = manager->options.control;
    job->change = replica_configure_log;
    job->done = replica_configured;
    partition_submit(change->entries[i].part, job);
  }
  replica_configure_next(change);
}

// ---- what the disks say ----

bool replica_manager_has_space(struct replica_manager *manager, struct partition *part)
{
  // Specs drive partitions without a manager.
  return manager == NULL || log_manager_has_space(manager->options.logs, part->log);
}

void replica_manager_write_log_starts(struct replica_manager *manager)
{
  log_manager_write_start_offsets(manager->options.logs);
}

bool replica_manager_is_offline(const struct replica_manager *manager, const struct partition *part)
{
  return log_manager_is_offline(manager->options.logs, part->log);
}

/// Logs the latest error of this thread, at most once a second for a partition.
static void replica_report(struct partition *part, const char *what)
{
  int64_t now_ms = clock_mono_ms();
  int64_t logged_ms = atomic_load_explicit(&part->failure_logged_ms, memory_order_relaxed);
  if ((logged_ms == 0 || now_ms - logged_ms >= REPLICA_LOG_INTERVAL_MS) &&
      atomic_compare_exchange_strong(&part->failure_logged_ms, &logged_ms, now_ms)) {
    slog_error("%s %s-%d failed: %s", what, part->topic, part->index, error_last()->message);
  }
}

/// A disk that gives errors is not used any more; a full one is.
static void replica_fail_dir(struct replica_manager *manager, struct partition *part, int error)
{
  if (manager != NULL && (error == ERR_IO || error == ERR_READ_ONLY)) {
    log_manager_fail_dir(manager->options.logs, part->log, error);
  }
}

bool replica_manager_submit_flush(struct replica_manager *manager, struct pool_job *job,
                                  void (*work)(struct pool_job *job))
{
  return manager != NULL && log_manager_submit(manager->options.logs, job, work);
}

bool replica_manager_submit_sync(struct replica_manager *manager, struct partition *part, struct log_sync *sync,
                                 int32_t appends)
{
  return manager != NULL && log_manager_sync(manager->options.logs, part->log, sync, appends);
}

void replica_manager_sync_more(struct replica_manager *manager, struct partition *part, int32_t appends)
{
  log_manager_sync_more(manager->options.logs, part->log, appends);
}

void replica_manager_flush_failed(struct replica_manager *manager, struct partition *part, int error)
{
  replica_report(part, "flush of");
  if (log_manager_may_pass(error)) {
    return;
  }
  struct error_detail detail = *error_last();
  replica_fail_dir(manager, part, error_record(ERR_IO, 0, detail.file, detail.line, "%s", detail.message));
}

/// Whether there is no more space than the reserve, now that an append found none.
static bool replica_is_disk_short(struct replica_manager *manager, struct partition *part)
{
  if (manager != NULL && replica_manager_has_space(manager, part)) {
    log_manager_forget_space(manager->options.logs, part->log);
  }
  return !replica_manager_has_space(manager, part);
}

void replica_manager_append_failed(struct replica_manager *manager, struct partition *part, int error)
{
  // Of a full disk the log gets one line for all its partitions.
  if (error != ERR_NO_SPACE || !replica_is_disk_short(manager, part)) {
    replica_report(part, "append to");
  }
  replica_fail_dir(manager, part, error);
}

void replica_manager_read_failed(struct replica_manager *manager, struct partition *part, const struct log_slice *slice,
                                 int error)
{
  struct partition_state state;
  partition_read_state(part, &state);
  // Without a role the log may be gone already.
  bool is_here = state.role == PARTITION_LEADER || state.role == PARTITION_FOLLOWER;
  if (error == ERR_IO && is_here && (slice == NULL || log_slice_is_current(part->log, slice))) {
    replica_report(part, "reading");
    replica_fail_dir(manager, part, error);
  }
}
