// SPDX-License-Identifier: Apache-2.0
#include "policy_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/epoch.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "event/loop.h"
#include "policy/policy.h"
#include "policy/runner.h"
#include "policy/runner_private.h"

/// A job of the spec's.
struct driven_job {
  struct policy_job job;
  struct policy_driver *driver;
  struct driver_job seen;
  char topic[32];
  int32_t partition;
  int32_t records;
  struct policy_failure failure;
};

struct policy_driver {
  struct policy_driver *next; ///< in `driver_kept`
  struct event_loop control;
  struct event_loop home; ///< jobs are answered here
  struct epoch_thread epoch;
  struct policy_cache cache;
  struct policy_runners *runners;
  struct uuid topic_id;
  struct driven_job *jobs;
  struct mail reload_mail;
  const struct policy_set *wanted;
  pthread_mutex_t lock; ///< guards `reloads`
  pthread_cond_t changed;
  int reloads;
  int count;
  _Atomic(int) done;
  _Atomic(int) began;
  _Atomic(int) returned;
};

static struct policy_driver *driver_kept; // for the leak checker

static void driver_run(struct policy_job *job, const struct policy_set *set, struct policy_vm *vm)
{
  struct driven_job *driven = CONTAINER_OF(job, struct driven_job, job);
  struct driver_job *seen = &driven->seen;
  seen->began = atomic_fetch_add(&driven->driver->began, 1) + 1;
  seen->generation = set != NULL ? set->generation : 0;
  seen->had_vm = vm != NULL;
  const struct policy_topic *topic = policy_set_topic(set, driven->topic, strlen(driven->topic));
  if (topic == NULL || vm == NULL) {
    return;
  }
  struct record_view *records = mem_array((size_t)driven->records, sizeof *records);
  struct policy_batch batch = {
      .topic = driven->topic, .partition = driven->partition, .count = driven->records, .records = records};
  arena_reset(&job->scratch->arena);
  struct policy_output output = {
      .arena = &job->scratch->arena,
      .actions = arena_zalloc(&job->scratch->arena, (size_t)driven->records),
      .limit_bytes = 1024 * 1024,
  };
  int result = policy_job_transform(job, vm, topic->transform, &batch, NULL, &output, &driven->failure);
  mem_free(records);
  if (result != ERR_CLOSED) {
    seen->result = result;
    snprintf(seen->text, sizeof seen->text, "%s", driven->failure.text);
  }
}

static void driver_done(struct policy_job *job, bool is_abandoned)
{
  struct driven_job *driven = CONTAINER_OF(job, struct driven_job, job);
  struct policy_driver *driver = driven->driver;
  struct event_loop *expected = job->reply;
  driven->seen.is_misplaced = event_loop_current() != expected || !epoch_is_inside();
  driven->seen.is_abandoned = is_abandoned;
  if (job->result < 0) {
    driven->seen.result = job->result;
    snprintf(driven->seen.text, sizeof driven->seen.text, "%s", job->failure.text);
  }
  driven->seen.done = atomic_load(&driver->done) + 1;
  atomic_fetch_add(&driver->done, 1);
}

static void driver_returned(struct policy_job *job)
{
  struct driven_job *driven = CONTAINER_OF(job, struct driven_job, job);
  driven->seen.has_returned = true;
  atomic_fetch_add(&driven->driver->returned, 1);
}

struct policy_driver *policy_driver_new(int runners)
{
  struct policy_driver *driver = mem_zalloc(sizeof *driver);
  driver->jobs = mem_array(POLICY_DRIVER_JOBS, sizeof *driver->jobs);
  epoch_register(&driver->epoch);
  pthread_mutex_init(&driver->lock, NULL);
  pthread_cond_init(&driver->changed, NULL);
  uuid_random(&driver->topic_id);
  CHECK(event_loop_create(&driver->control, "control") == 0 && event_loop_create(&driver->home, "home") == 0);
  CHECK(event_loop_start(&driver->control) == 0 && event_loop_start(&driver->home) == 0);
  driver->runners = policy_runners_new(runners, &driver->control, &driver->cache);
  return driver;
}

void policy_driver_delete(struct policy_driver *driver)
{
  policy_runners_stop(driver->runners);
  bool has_lost = policy_runners_lost(driver->runners) > 0;
  event_loop_stop(&driver->home);
  event_loop_stop(&driver->control);
  policy_runners_delete(driver->runners);
  policy_cache_publish(&driver->cache, NULL);
  event_loop_destroy(&driver->home);
  event_loop_destroy(&driver->control);
  epoch_collect();
  epoch_collect();
  epoch_unregister();
  if (has_lost) { // those may still be using their jobs
    driver->next = driver_kept;
    driver_kept = driver;
    return;
  }
  mem_free(driver->jobs);
  mem_free(driver);
}

void policy_driver_hurry(struct policy_driver *driver)
{
  policy_runners_hurry(driver->runners, 0);
}

static void driver_reload(struct mail *mail)
{
  struct policy_driver *driver = CONTAINER_OF(mail, struct policy_driver, reload_mail);
  policy_cache_publish(&driver->cache, driver->wanted);
  policy_runners_reload(driver->runners);
  pthread_mutex_lock(&driver->lock);
  driver->reloads++;
  pthread_cond_signal(&driver->changed);
  pthread_mutex_unlock(&driver->lock);
}

void policy_driver_reload(struct policy_driver *driver, const struct policy_set *set)
{
  driver->wanted = set;
  driver->reload_mail.run = driver_reload;
  pthread_mutex_lock(&driver->lock);
  int before = driver->reloads;
  event_loop_post(&driver->control, &driver->reload_mail);
  while (driver->reloads == before) {
    pthread_cond_wait(&driver->changed, &driver->lock);
  }
  pthread_mutex_unlock(&driver->lock);
}

static struct driven_job *driver_next(struct policy_driver *driver)
{
  CHECK(driver->count < POLICY_DRIVER_JOBS);
  struct driven_job *driven = &driver->jobs[driver->count++];
  driven->driver = driver;
  driven->seen.generation = -1;
  driven->job.reply = &driver->home;
  driven->job.run = driver_run;
  driven->job.done = driver_done;
  driven->job.returned = driver_returned;
  return driven;
}

int policy_driver_submit(struct policy_driver *driver, const char *topic, int32_t partition, int32_t records)
{
  struct driven_job *driven = driver_next(driver);
  snprintf(driven->topic, sizeof driven->topic, "%s", topic);
  driven->partition = partition;
  driven->records = records;
  policy_runners_submit(driver->runners, &driver->topic_id, partition, &driven->job);
  return driver->count - 1;
}

int policy_driver_submit_slow(struct policy_driver *driver)
{
  struct driven_job *driven = driver_next(driver);
  driven->job.reply = NULL;
  policy_runners_submit_slow(driver->runners, &driven->job);
  return driver->count - 1;
}

const struct driver_job *policy_driver_job(struct policy_driver *driver, int number)
{
  return &driver->jobs[number].seen;
}

int policy_driver_done(struct policy_driver *driver)
{
  return atomic_load(&driver->done);
}

int policy_driver_returned(struct policy_driver *driver)
{
  return atomic_load(&driver->returned);
}

int policy_driver_lost(struct policy_driver *driver)
{
  return policy_runners_lost(driver->runners);
}

bool policy_driver_is_needed(struct policy_driver *driver)
{
  return policy_runners_are_needed(driver->runners);
}

bool policy_driver_is_watching(struct policy_driver *driver)
{
  return atomic_load(&driver->runners->is_watching);
}
