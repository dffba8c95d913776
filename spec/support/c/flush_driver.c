// SPDX-License-Identifier: Apache-2.0
#include "flush_driver.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/epoch.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "event/loop.h"
#include "log/log.h"
#include "log/log_manager.h"
#include "log_manager_driver.h"
#include "metadata/topic_config.h"
#include "os/errinj.h"
#include "record/build.h"
#include "replica/append.h"
#include "replica/flush.h"
#include "replica/log_settings.h"
#include "replica/manager.h"
#include "replica/partition.h"

enum { LOOPS_MAX = 8, ERRNO_IO = 5 };

struct run;
struct run_loop;

/// One append of one loop.
struct run_job {
  struct append_job job;
  struct run_loop *own;
  uint8_t *bytes;
};

/// What one loop does.
struct run_loop {
  struct event_loop loop;
  struct mail mail;
  struct run *run;
  struct run_job *jobs;
};

struct run {
  struct run_loop loops[LOOPS_MAX];
  struct event_loop *list[LOOPS_MAX];
  int count;
  int jobs;
  enum flush_event event;
  int64_t flush_messages;
  struct topic_config topic;
  struct log_manager_driver *logs;
  struct replica_manager *replicas;
  struct partition *part;
  uint8_t *batch;
  size_t batch_size;
  sem_t done;
  _Atomic(int64_t) left;
  _Atomic(int64_t) unsafe;
  _Atomic(int64_t) above;
  struct append_job deleting;
};

static void run_submit(struct run_loop *own, int first, int end);

/// Whether what ends at an offset may be acknowledged, with so much on disk.
static bool run_is_safe(const struct run *run, int64_t next, int64_t recovery_point, int64_t durable_offset)
{
  return run->flush_messages == 0 ? next <= durable_offset : next - recovery_point < run->flush_messages;
}

static void run_done(struct append_job *append)
{
  struct run_loop *own = CONTAINER_OF(append, struct run_job, job)->own;
  struct run *run = own->run;
  // The second half follows the first answer, and so the first flush.
  if (append == &own->jobs[0].job) {
    run_submit(own, run->jobs / 2, run->jobs);
  }
  if (append->result == 0) {
    int64_t next = append->batch.base_offset + 1;
    struct log *log = run->part->log;
    // The recovery point only grows, so that one which is read late proves too little, never too much.
    bool is_steady = run->event != FLUSH_SWITCHES;
    if (is_steady && !run_is_safe(run, next, log_recovery_point(log), log_durable_offset(log))) {
      atomic_fetch_add(&run->unsafe, 1);
    }
    struct partition_state state;
    partition_read_state(run->part, &state);
    atomic_fetch_add(&run->above, state.high_watermark < next);
  }
  if (atomic_fetch_sub(&run->left, 1) == 1) {
    sem_post(&run->done);
  }
}

static void run_delete(struct append_job *job)
{
  struct partition_state state;
  partition_read_state(job->part, &state);
  state.role = PARTITION_DELETED;
  partition_write_state(job->part, &state);
  job->released = flush_abort(job->part, ERR_NOT_FOUND);
}

/// Submits appends of a loop, on the loop.
static void run_submit(struct run_loop *own, int first, int end)
{
  struct run *run = own->run;
  for (int i = first; i < end; i++) {
    struct run_job *job = &own->jobs[i];
    job->own = own;
    job->bytes = mem_dup(run->batch, run->batch_size);
    job->job.reply = &own->loop;
    job->job.done = run_done;
    job->job.leader_epoch = -1;
    job->job.batch = (struct log_batch){.bytes = job->bytes, .size = run->batch_size, .max_timestamp = 1000};
    if (own == &run->loops[0] && i == run->jobs / 4 && run->event == FLUSH_DELETES) {
      run->deleting.change = run_delete;
      partition_submit(run->part, &run->deleting);
    }
    partition_submit(run->part, &job->job);
  }
}

static void run_start(struct mail *mail)
{
  struct run_loop *own = CONTAINER_OF(mail, struct run_loop, mail);
  run_submit(own, 0, own->run->jobs / 2);
}

/// A configuration on its way to the appender.
struct run_config {
  struct append_job job;
  struct log_config config;
};

static void run_configure(struct append_job *job)
{
  log_settings_apply(job, &CONTAINER_OF(job, struct run_config, job)->config);
}

static void run_configured(struct append_job *job)
{
  mem_free(CONTAINER_OF(job, struct run_config, job));
}

static void run_switch(struct run *run)
{
  static const int64_t values[] = {1, 5, INT64_MAX};
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  for (int i = 0; i < 300; i++) {
    epoch_enter();
    run->topic.flush_messages = values[i % 3];
    run->topic.luka_producer_type = i % 2 == 0 ? TOPIC_PRODUCER_SYNC : TOPIC_PRODUCER_ASYNC;
    struct run_config *change = mem_zalloc(sizeof *change);
    log_settings_from_topic(&run->topic, &change->config);
    change->job.change = run_configure;
    change->job.done = run_configured;
    partition_submit(run->part, &change->job);
    epoch_leave();
  }
  epoch_unregister();
}

static void *run_switch_thread(void *arg)
{
  run_switch(arg);
  return NULL;
}

static struct log *run_find_none(struct log_sync *sync)
{
  (void)sync;
  return NULL;
}

static void run_asked(struct log_sync *sync, int result)
{
  (void)result;
  mem_free(sync);
}

/// Asks for the sync journal until it is there.
static void run_wait_for_journal(struct run *run)
{
  struct log_sync *sync = mem_zalloc(sizeof *sync);
  sync->find = run_find_none;
  sync->done = run_asked;
  while (!log_manager_sync(log_manager_driver_manager(run->logs), run->part->log, sync, 0)) {
    usleep(1000);
  }
}

static int run_open(struct run *run, const char *dir)
{
  const char *dirs[] = {dir};
  struct log_manager_config config = {.dirs = dirs,
                                      .dir_count = 1,
                                      .node_id = -1,
                                      .recovery_threads = 1,
                                      .retention_check_ms = 3600000,
                                      .flush_checkpoint_ms = 20,
                                      .start_offset_checkpoint_ms = 3600000,
                                      .high_watermark_checkpoint_ms = 3600000};
  TRY(log_manager_driver_new(&config, 4, &run->logs));
  struct log_manager *logs = log_manager_driver_manager(run->logs);
  run->replicas =
      replica_manager_new(&(struct replica_manager_options){.logs = logs, .pool = config.pool, .control = config.loop});
  struct log_manager_hooks hooks;
  replica_manager_log_hooks(run->replicas, &hooks);
  log_manager_set_hooks(logs, &hooks);
  struct uuid id;
  uuid_random(&id);
  run->part = partition_new(run->replicas, "t", &id, 0, run->list, run->count);
  struct topic_config_defaults defaults;
  topic_config_defaults_create(&defaults);
  run->topic = defaults.values;
  if (run->flush_messages == 0) {
    run->topic.luka_producer_type = TOPIC_PRODUCER_SYNC;
  } else {
    run->topic.flush_messages = run->flush_messages;
  }
  struct log_config log_config;
  log_settings_from_topic(&run->topic, &log_config);
  struct log_wanted wanted = {.topic = "t", .topic_id = id, .config = &log_config, .is_new = true, .owner = run->part};
  TRY(log_manager_claim(logs, 1, "cluster", "/m/luka.mdb"));
  TRY(log_manager_start(logs, &wanted, 1, false));
  run->part->log = wanted.log;
  partition_write_state(run->part, &(struct partition_state){.role = PARTITION_LEADER, .leader_epoch = 0});
  log_manager_driver_run(run->logs);
  if (run->flush_messages == 0) {
    run_wait_for_journal(run);
  }
  return 0;
}

static void run_make_batch(struct run *run)
{
  struct batch_options options;
  batch_options_init(&options);
  struct batch_builder builder;
  batch_builder_init(&builder, &options);
  struct record_input record = {.timestamp = 1000, .key_size = -1, .value = (const uint8_t *)"value", .value_size = 5};
  batch_builder_add(&builder, &record);
  uint8_t *bytes = NULL;
  batch_builder_finish(&builder, &bytes, &run->batch_size);
  run->batch = mem_dup(bytes, run->batch_size);
  batch_builder_destroy(&builder);
}

static void run_probe(struct run *run, struct flush_probe *probe)
{
  struct partition_state state;
  partition_read_state(run->part, &state);
  probe->high_watermark = state.high_watermark;
  probe->end_offset = log_end_offset(run->part->log);
  probe->recovery_point = log_recovery_point(run->part->log);
  probe->durable_offset = log_durable_offset(run->part->log);
  probe->visible_bytes = atomic_load(&run->part->visible_bytes);
  probe->batch_bytes = (int64_t)run->batch_size;
  probe->unsafe = atomic_load(&run->unsafe);
  probe->above = atomic_load(&run->above);
  for (int i = 0; i < run->count; i++) {
    for (int j = 0; j < run->jobs; j++) {
      const struct append_job *job = &run->loops[i].jobs[j].job;
      probe->appended += job->result == 0;
      probe->failed += job->result < 0;
      bool is_steady = run->event != FLUSH_SWITCHES;
      probe->lost += is_steady && job->result == 0 &&
                     !run_is_safe(run, job->batch.base_offset + 1, probe->recovery_point, probe->durable_offset);
    }
  }
}

static void run_appends(struct run *run)
{
  pthread_t switching;
  if (run->event == FLUSH_FAILS) {
    errinj_set(ERRINJ_LOG_FLUSH, 2, ERRNO_IO);
  }
  for (int i = 0; i < run->count; i++) {
    event_loop_post(&run->loops[i].loop, &run->loops[i].mail);
  }
  if (run->event == FLUSH_SWITCHES) {
    pthread_create(&switching, NULL, run_switch_thread, run);
  }
  if (run->event == FLUSH_STOPS) {
    log_manager_driver_pause(run->logs);
  }
  while (sem_wait(&run->done) != 0) {
  }
  if (run->event == FLUSH_SWITCHES) {
    pthread_join(switching, NULL);
  }
  errinj_set(ERRINJ_LOG_FLUSH, 0, 0);
}

int flush_run(const char *dir, int loops, int jobs, int64_t flush_messages, enum flush_event event,
              struct flush_probe *probe)
{
  struct run *run = mem_zalloc(sizeof *run);
  struct epoch_thread epoch = {0};
  memset(probe, 0, sizeof *probe);
  epoch_register(&epoch);
  run->count = loops;
  run->jobs = jobs;
  run->event = event;
  run->flush_messages = flush_messages;
  atomic_store(&run->left, (int64_t)loops * jobs);
  sem_init(&run->done, 0, 0);
  run_make_batch(run);
  for (int i = 0; i < loops; i++) {
    event_loop_create(&run->loops[i].loop, "spec");
    run->list[i] = &run->loops[i].loop;
    run->loops[i].run = run;
    run->loops[i].mail.run = run_start;
    run->loops[i].jobs = mem_array((size_t)jobs, sizeof *run->loops[i].jobs);
  }
  epoch_enter();
  int result = run_open(run, dir);
  epoch_leave();
  for (int i = 0; i < loops; i++) {
    event_loop_start(&run->loops[i].loop);
  }
  if (result == 0) {
    run_appends(run);
  }
  for (int i = 0; i < loops; i++) {
    event_loop_stop(&run->loops[i].loop);
  }
  // The pool may still be at a flush that nobody waits for.
  log_manager_driver_end_pool(run->logs);
  epoch_enter();
  run_probe(run, probe);
  int stopped = log_manager_driver_stop(run->logs);
  result = result == 0 && event != FLUSH_FAILS ? stopped : result;
  epoch_leave();
  partition_unref(run->part);
  epoch_collect();
  for (int i = 0; i < loops; i++) {
    event_loop_destroy(&run->loops[i].loop);
    for (int j = 0; j < jobs; j++) {
      mem_free(run->loops[i].jobs[j].bytes);
    }
    mem_free(run->loops[i].jobs);
  }
  replica_manager_delete(run->replicas);
  sem_destroy(&run->done);
  mem_free(run->batch);
  mem_free(run);
  epoch_unregister();
  return result;
}
