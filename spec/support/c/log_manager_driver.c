// SPDX-License-Identifier: Apache-2.0
#include "log_manager_driver.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/epoch.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "event/loop.h"
#include "event/pool.h"
#include "log/log.h"
#include "log/log_manager.h"

struct log_manager_driver {
  struct event_loop loop;  ///< control
  struct pool *pool;       ///< for the manager's jobs
  struct log_manager *mgr; ///< under test
  struct mail mail;        ///< runs `on_loop` there
  bool is_paused;          ///< log_manager_pause() was called
  void (*on_loop)(struct log_manager *mgr);
  struct log_manager_intervals intervals; ///< see log_manager_driver_set_intervals()
  struct log_cleaner_config cleaner;      ///< see log_manager_driver_configure_cleaner()
  sem_t done;                             ///< on_loop has run
  _Atomic(int64_t) lag;                   ///< see log_manager_driver_set_lag()
  _Atomic(bool) is_gone;                  ///< see log_manager_driver_set_gone()
  _Atomic(int64_t) appenders;             ///< counts of struct log_manager_seen
  _Atomic(int64_t) failed;
  _Atomic(int64_t) failed_cause;
  _Atomic(int64_t) owner_sum;
  _Atomic(int64_t) turns;
};

static int64_t hook_high_watermark(void *arg, void *owner, struct log *log)
{
  (void)owner;
  struct log_manager_driver *driver = arg;
  int64_t lag = atomic_load(&driver->lag);
  return lag == INT64_MIN ? -1 : log_end_offset(log) + lag;
}

static void hook_with_appender(void *arg, void *owner, struct log *log, log_work_fn work, void *work_arg)
{
  struct log_manager_driver *driver = arg;
  atomic_fetch_add(&driver->appenders, 1);
  work(work_arg, atomic_load(&driver->is_gone) ? NULL : log, hook_high_watermark(arg, owner, log));
}

static void hook_log_failed(void *arg, void *owner, struct log *log, int cause)
{
  (void)log;
  struct log_manager_driver *driver = arg;
  atomic_store(&driver->failed_cause, cause);
  atomic_fetch_add(&driver->owner_sum, (int64_t)(intptr_t)owner);
  atomic_fetch_add(&driver->failed, 1);
}

static void run_on_loop(struct mail *mail)
{
  struct log_manager_driver *driver = CONTAINER_OF(mail, struct log_manager_driver, mail);
  driver->on_loop(driver->mgr);
  sem_post(&driver->done);
}

static void call_with_driver(struct log_manager_driver *driver, void (*run)(struct mail *mail))
{
  driver->mail.run = run;
  event_loop_post(&driver->loop, &driver->mail);
  sem_wait(&driver->done);
}

static void call_on_loop(struct log_manager_driver *driver, void (*on_loop)(struct log_manager *mgr))
{
  driver->on_loop = on_loop;
  call_with_driver(driver, run_on_loop);
}

static void count_turn(void *arg)
{
  struct log_manager_driver *driver = arg;
  atomic_fetch_add(&driver->turns, 1);
}

int log_manager_driver_new(struct log_manager_config *config, int pool_threads, struct log_manager_driver **driver)
{
  struct log_manager_driver *made = mem_zalloc(sizeof *made);
  sem_init(&made->done, 0, 0);
  event_loop_create(&made->loop, "spec-control");
  made->loop.on_turn = count_turn;
  made->loop.arg = made;
  made->pool = pool_new(pool_threads);
  config->loop = &made->loop;
  config->pool = made->pool;
  int result = log_manager_new(config, &made->mgr);
  if (result < 0) {
    pool_delete(made->pool);
    event_loop_destroy(&made->loop);
    sem_destroy(&made->done);
    mem_free(made);
    return result;
  }
  struct log_manager_hooks hooks = {.with_appender = hook_with_appender,
                                    .high_watermark = hook_high_watermark,
                                    .log_failed = hook_log_failed,
                                    .arg = made};
  log_manager_set_hooks(made->mgr, &hooks);
  event_loop_start(&made->loop);
  *driver = made;
  return 0;
}

struct log_manager *log_manager_driver_manager(struct log_manager_driver *driver)
{
  return driver->mgr;
}

void log_manager_driver_set_lag(struct log_manager_driver *driver, int64_t lag)
{
  atomic_store(&driver->lag, lag);
}

void log_manager_driver_set_gone(struct log_manager_driver *driver, bool is_gone)
{
  atomic_store(&driver->is_gone, is_gone);
}

void log_manager_driver_run(struct log_manager_driver *driver)
{
  call_on_loop(driver, log_manager_run);
}

static void set_intervals(struct mail *mail)
{
  struct log_manager_driver *driver = CONTAINER_OF(mail, struct log_manager_driver, mail);
  log_manager_set_intervals(driver->mgr, &driver->intervals);
  sem_post(&driver->done);
}

void log_manager_driver_set_intervals(struct log_manager_driver *driver, const struct log_manager_intervals *intervals)
{
  driver->intervals = *intervals;
  call_with_driver(driver, set_intervals);
}

static void configure_cleaner(struct mail *mail)
{
  struct log_manager_driver *driver = CONTAINER_OF(mail, struct log_manager_driver, mail);
  log_manager_configure_cleaner(driver->mgr, &driver->cleaner);
  sem_post(&driver->done);
}

void log_manager_driver_configure_cleaner(struct log_manager_driver *driver, const struct log_cleaner_config *config)
{
  driver->cleaner = *config;
  call_with_driver(driver, configure_cleaner);
}

void log_manager_driver_seen(struct log_manager_driver *driver, struct log_manager_seen *seen)
{
  seen->appenders = atomic_load(&driver->appenders);
  seen->failed = atomic_load(&driver->failed);
  seen->failed_cause = atomic_load(&driver->failed_cause);
  seen->owner_sum = atomic_load(&driver->owner_sum);
}

int64_t log_manager_driver_turns(struct log_manager_driver *driver)
{
  return atomic_load(&driver->turns);
}

void log_manager_driver_pause(struct log_manager_driver *driver)
{
  if (!driver->is_paused) {
    call_on_loop(driver, log_manager_pause);
    driver->is_paused = true;
  }
}

void log_manager_driver_end_pool(struct log_manager_driver *driver)
{
  log_manager_driver_pause(driver);
  pool_delete(driver->pool);
  driver->pool = NULL;
}

int log_manager_driver_stop(struct log_manager_driver *driver)
{
  log_manager_driver_end_pool(driver);
  event_loop_stop(&driver->loop);
  int result = log_manager_stop(driver->mgr);
  event_loop_destroy(&driver->loop);
  sem_destroy(&driver->done);
  mem_free(driver);
  return result;
}

// ---- opening and deleting one name from several threads ----

struct race {
  struct log_manager *mgr;
  struct log_config config;
  struct uuid topic_id;
  int rounds;
  _Atomic(int64_t) open;   ///< threads that have the log open now
  _Atomic(int64_t) opened; ///< times it was opened
  _Atomic(int64_t) bad;
};

static void *race_thread(void *arg)
{
  struct race *race = arg;
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  for (int i = 0; i < race->rounds; i++) {
    epoch_enter();
    struct log_wanted wanted = {.topic = "race", .topic_id = race->topic_id, .config = &race->config, .is_new = true};
    int result = log_manager_open_log(race->mgr, &wanted);
    if (result == 0) {
      atomic_fetch_add(&race->opened, 1);
      atomic_fetch_add(&race->bad, atomic_fetch_add(&race->open, 1) != 0);
      atomic_fetch_sub(&race->open, 1);
      atomic_fetch_add(&race->bad, log_manager_delete_log(race->mgr, wanted.log) < 0);
    } else {
      atomic_fetch_add(&race->bad, result != ERR_EXISTS);
    }
    epoch_leave();
  }
  epoch_unregister();
  return NULL;
}

int64_t log_manager_race_run(struct log_manager *mgr, int threads, int rounds, int64_t *opened)
{
  enum { RACE_THREADS_MAX = 16 };
  struct race race = {.mgr = mgr, .rounds = rounds};
  log_config_default(&race.config);
  uuid_random(&race.topic_id);
  pthread_t running[RACE_THREADS_MAX];
  threads = threads > RACE_THREADS_MAX ? RACE_THREADS_MAX : threads;
  for (int i = 0; i < threads; i++) {
    pthread_create(&running[i], NULL, race_thread, &race);
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(running[i], NULL);
  }
  *opened = atomic_load(&race.opened);
  return atomic_load(&race.bad);
}
