// SPDX-License-Identifier: Apache-2.0
#include "replica_driver.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "base/epoch.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "event/loop.h"
#include "log/log.h"
#include "os/clock.h"
#include "record/build.h"
#include "replica/append.h"
#include "replica/append_gather.h"
#include "replica/high_watermark.h"
#include "replica/partition.h"
#include "replica/watch.h"

enum { DRIVER_LOOPS_MAX = 8 };

/// A partition with a log in a folder, and the loops that use it.
struct driver {
  struct event_loop loops[DRIVER_LOOPS_MAX];
  struct event_loop *loop_list[DRIVER_LOOPS_MAX];
  int loop_count;
  struct partition *part;
  struct epoch_thread epoch;
  uint8_t *batch;
  size_t batch_size;
  sem_t done;
};

static int driver_open_log(const char *dir, struct log **log)
{
  struct log_open_args args = {.dir = dir, .now_ms = clock_wall_ms(), .is_clean = true};
  log_config_default(&args.config);
  uuid_random(&args.topic_id);
  return log_open(&args, log);
}

static int driver_create(struct driver *driver, const char *dir, int loops)
{
  memset(driver, 0, sizeof *driver);
  epoch_register(&driver->epoch);
  epoch_enter();
  struct log *log = NULL;
  int result = driver_open_log(dir, &log);
  if (result < 0) {
    epoch_leave();
    epoch_unregister();
    return result;
  }
  driver->loop_count = loops;
  for (int i = 0; i < loops; i++) {
    event_loop_create(&driver->loops[i], "spec");
    driver->loop_list[i] = &driver->loops[i];
  }
  struct uuid id;
  uuid_random(&id);
  driver->part = partition_new(NULL, "spec", &id, 0, driver->loop_list, loops);
  driver->part->log = log;
  struct partition_state state = {.role = PARTITION_LEADER, .leader_epoch = 3};
  partition_write_state(driver->part, &state);
  epoch_leave();

  struct batch_options options;
  batch_options_init(&options);
  struct batch_builder builder;
  batch_builder_init(&builder, &options);
  struct record_input record = {.timestamp = 1000, .key_size = -1, .value = (const uint8_t *)"value", .value_size = 5};
  batch_builder_add(&builder, &record);
  uint8_t *bytes = NULL;
  batch_builder_finish(&builder, &bytes, &driver->batch_size);
  driver->batch = mem_dup(bytes, driver->batch_size);
  batch_builder_destroy(&builder);
  sem_init(&driver->done, 0, 0);
  for (int i = 0; i < loops; i++) {
    event_loop_start(&driver->loops[i]);
  }
  return 0;
}

static void driver_destroy(struct driver *driver)
{
  for (int i = 0; i < driver->loop_count; i++) {
    event_loop_stop(&driver->loops[i]);
  }
  for (int i = 0; i < driver->loop_count; i++) {
    event_loop_destroy(&driver->loops[i]);
  }
  epoch_enter();
  log_close(driver->part->log);
  epoch_leave();
  partition_unref(driver->part);
  epoch_collect();
  epoch_unregister();
  mem_free(driver->batch);
  sem_destroy(&driver->done);
}

// ---- appending ----

struct appending;

/// One append of one loop.
struct appending_job {
  struct append_job job;
  struct appending *owner;
  uint8_t *bytes;
};

/// What one loop appends.
struct appending {
  struct mail mail;
  struct driver *driver;
  struct event_loop *loop;
  struct appending_job *jobs;
  struct replica_append_probe *probe;
  _Atomic(uint8_t) *seen; ///< by offset, shared by all loops
  int64_t room;           ///< entries of `seen`
  int count;
  int left;
  int refused_each;
  int how;
  struct append_gather gather;
  pthread_t thread;
};

static void appending_done(struct append_job *append)
{
  struct appending_job *job = CONTAINER_OF(append, struct appending_job, job);
  struct appending *owner = job->owner;
  struct replica_append_probe *probe = owner->probe;
  if (event_loop_current() != owner->loop) {
    __atomic_fetch_add(&probe->misplaced, 1, __ATOMIC_SEQ_CST);
  }
  int64_t offset = append->batch.base_offset;
  if (append->result == ERR_UNKNOWN_LEADER_EPOCH) {
    __atomic_fetch_add(&probe->refused, 1, __ATOMIC_SEQ_CST);
  }
  if (append->result < 0 || offset < 0 || offset >= owner->room) {
    __atomic_fetch_add(&probe->failed, 1, __ATOMIC_SEQ_CST);
  } else {
    __atomic_fetch_add(&probe->appended, 1, __ATOMIC_SEQ_CST);
    if (atomic_exchange(&owner->seen[offset], 1) != 0) {
      __atomic_fetch_add(&probe->duplicates, 1, __ATOMIC_SEQ_CST);
    }
  }
  if (--owner->left == 0) {
    sem_post(&owner->driver->done);
  }
}

struct looking {
  struct append_job job;
  sem_t done;
};

static void looking_change(struct append_job *job)
{
  (void)job;
}

static void looking_done(struct append_job *job)
{
  sem_post(&CONTAINER_OF(job, struct looking, job)->done);
}

/// A change by a thread that waits for it.
static void appending_look(struct partition *part)
{
  struct looking look = {.job = {.change = looking_change, .done = looking_done}};
  sem_init(&look.done, 0, 0);
  partition_submit(part, &look.job);
  while (sem_wait(&look.done) != 0) {
  }
  sem_destroy(&look.done);
}

static void appending_submit(struct appending *owner)
{
  for (int i = 0; i < owner->count; i++) {
    struct appending_job *job = &owner->jobs[i];
    job->owner = owner;
    job->bytes = mem_dup(owner->driver->batch, owner->driver->batch_size);
    job->job.reply = owner->loop;
    job->job.done = appending_done;
    job->job.leader_epoch = owner->refused_each > 0 && i % owner->refused_each == 0 ? 4 : 3;
    job->job.batch = (struct log_batch){.bytes = job->bytes, .size = owner->driver->batch_size, .max_timestamp = 1000};
    if (owner->how != REPLICA_APPEND_GATHER) {
      partition_submit(owner->driver->part, &job->job);
      if (owner->how == REPLICA_APPEND_THREAD && i % 37 == 0) {
        appending_look(owner->driver->part);
      }
      continue;
    }
    append_gather_add(&owner->gather, owner->driver->part, &job->job);
    if (i % 37 == 0) { // no divisor of a row's length: rows end in both ways
      append_gather_submit(&owner->gather);
    }
  }
  append_gather_submit(&owner->gather);
}

static void appending_start(struct mail *mail)
{
  appending_submit(CONTAINER_OF(mail, struct appending, mail));
}

static void *appending_run(void *arg)
{
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  epoch_enter();
  appending_submit(arg);
  epoch_leave();
  epoch_unregister();
  return NULL;
}

struct reading {
  struct driver *driver;
  _Atomic(bool) stop;
  int64_t torn;
};

/// Reads snapshots while they are written: the last stable offset is always the high watermark here.
static void *reading_run(void *arg)
{
  struct reading *reading = arg;
  while (!atomic_load(&reading->stop)) {
    struct partition_state state;
    partition_read_state(reading->driver->part, &state);
    if (state.high_watermark != state.last_stable_offset || state.leader_epoch != 3 || state.role != PARTITION_LEADER) {
      reading->torn++;
    }
  }
  return NULL;
}

int replica_append_run(const char *dir, int loops, int jobs, int refused_each, int how,
                       struct replica_append_probe *probe)
{
  struct driver driver;
  memset(probe, 0, sizeof *probe);
  TRY(driver_create(&driver, dir, loops));
  int64_t room = (int64_t)loops * jobs;
  _Atomic(uint8_t) *seen = mem_array((size_t)room, sizeof *seen);
  struct appending *owners = mem_array((size_t)loops, sizeof *owners);
  struct reading reading = {.driver = &driver};
  pthread_t reader;
  pthread_create(&reader, NULL, reading_run, &reading);
  for (int i = 0; i < loops; i++) {
    owners[i] = (struct appending){.driver = &driver,
                                   .loop = &driver.loops[i],
                                   .jobs = mem_array((size_t)jobs, sizeof *owners[i].jobs),
                                   .probe = probe,
                                   .seen = seen,
                                   .room = room,
                                   .count = jobs,
                                   .left = jobs,
                                   .refused_each = refused_each,
                                   .how = how == REPLICA_APPEND_MIXED ? i % REPLICA_APPEND_MIXED : how};
    if (owners[i].how == REPLICA_APPEND_THREAD) {
      pthread_create(&owners[i].thread, NULL, appending_run, &owners[i]);
    } else {
      owners[i].mail.run = appending_start;
      event_loop_post(&driver.loops[i], &owners[i].mail);
    }
  }
  for (int i = 0; i < loops; i++) {
    sem_wait(&driver.done);
  }
  for (int i = 0; i < loops; i++) {
    if (owners[i].how == REPLICA_APPEND_THREAD) {
      pthread_join(owners[i].thread, NULL);
    }
  }
  atomic_store(&reading.stop, true);
  pthread_join(reader, NULL);
  probe->torn = reading.torn;
  struct partition_state state;
  partition_read_state(driver.part, &state);
  probe->high_watermark = state.high_watermark;
  epoch_enter();
  probe->end_offset = log_end_offset(driver.part->log);
  epoch_leave();
  probe->visible_bytes = atomic_load(&driver.part->visible_bytes);
  // Completions may come in another order, by mail or at once: what counts is the order of submission.
  for (int i = 0; i < loops; i++) {
    int64_t before = -1;
    for (int j = 0; j < jobs; j++) {
      const struct append_job *job = &owners[i].jobs[j].job;
      if (job->result == 0) {
        probe->misordered += job->batch.base_offset > before ? 0 : 1;
        before = job->batch.base_offset;
      }
    }
  }
  for (int64_t i = 0; i < probe->end_offset && i < room; i++) {
    probe->gaps += seen[i] ? 0 : 1;
  }
  driver_destroy(&driver);
  for (int i = 0; i < loops; i++) {
    for (int j = 0; j < jobs; j++) {
      mem_free(owners[i].jobs[j].bytes);
    }
    mem_free(owners[i].jobs);
  }
  mem_free(owners);
  mem_free(seen);
  return 0;
}

// ---- waiting ----

struct waiting {
  struct mail mail;
  struct watch watch;
  struct driver *driver;
  struct replica_watch_probe *probe;
  int64_t want_bytes; ///< all that will ever be visible
};

static void waiting_look(struct waiting *waiting);

static void waiting_fired(struct watch *watch)
{
  struct waiting *waiting = CONTAINER_OF(watch, struct waiting, watch);
  waiting->probe->early += atomic_load(&waiting->driver->part->visible_bytes) < watch->threshold ? 1 : 0;
  waiting->probe->fired++;
  waiting_look(waiting);
}

static void waiting_look(struct waiting *waiting)
{
  struct partition *part = waiting->driver->part;
  for (;;) {
    int64_t visible = atomic_load(&part->visible_bytes);
    if (visible >= waiting->want_bytes) {
      waiting->probe->is_done = 1;
      sem_post(&waiting->driver->done);
      return;
    }
    if (!watch_arm(&waiting->watch, part, 0, visible + 1, waiting_fired)) {
      return;
    }
    waiting->probe->fired++;
  }
}

static void waiting_start(struct mail *mail)
{
  waiting_look(CONTAINER_OF(mail, struct waiting, mail));
}

int replica_watch_run(const char *dir, int count, struct replica_watch_probe *probe)
{
  struct driver driver;
  memset(probe, 0, sizeof *probe);
  TRY(driver_create(&driver, dir, 2));
  struct waiting waiting = {
      .driver = &driver, .probe = probe, .want_bytes = (int64_t)driver.batch_size * count, .mail.run = waiting_start};
  event_loop_post(&driver.loops[0], &waiting.mail);
  struct replica_append_probe appended = {0};
  _Atomic(uint8_t) *seen = mem_array((size_t)count, sizeof *seen);
  struct appending owner = {.driver = &driver,
                            .loop = &driver.loops[1],
                            .jobs = mem_array((size_t)count, sizeof *owner.jobs),
                            .probe = &appended,
                            .seen = seen,
                            .room = count,
                            .count = count,
                            .left = count,
                            .mail.run = appending_start};
  event_loop_post(&driver.loops[1], &owner.mail);
  sem_wait(&driver.done);
  sem_wait(&driver.done);
  probe->appended = appended.appended;
  driver_destroy(&driver);
  for (int j = 0; j < count; j++) {
    mem_free(owner.jobs[j].bytes);
  }
  mem_free(owner.jobs);
  mem_free(seen);
  return 0;
}

// ---- deletion ----

struct deletion {
  struct mail mail;
  struct watch watch;
  struct append_job job;
  struct driver *driver;
  int fired;
};

static void deletion_fired(struct watch *watch)
{
  struct deletion *deletion = CONTAINER_OF(watch, struct deletion, watch);
  deletion->fired++;
  sem_post(&deletion->driver->done);
}

static void deletion_change(struct append_job *job)
{
  struct partition_state state;
  partition_read_state(job->part, &state);
  state.role = PARTITION_DELETED;
  partition_write_state(job->part, &state);
  watch_notify_all(job->part);
}

static void deletion_start(struct mail *mail)
{
  struct deletion *deletion = CONTAINER_OF(mail, struct deletion, mail);
  watch_arm(&deletion->watch, deletion->driver->part, 0, INT64_MAX - 1, deletion_fired);
  deletion->job.change = deletion_change;
  partition_submit(deletion->driver->part, &deletion->job);
}

int replica_watch_delete_run(const char *dir)
{
  struct driver driver;
  TRY(driver_create(&driver, dir, 1));
  struct deletion deletion = {.driver = &driver, .mail.run = deletion_start};
  event_loop_post(&driver.loops[0], &deletion.mail);
  sem_wait(&driver.done);
  driver_destroy(&driver);
  return deletion.fired;
}
