// SPDX-License-Identifier: Apache-2.0
#include "log/cleaner.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "log/cleaner_private.h"
#include "os/clock.h"
#include "os/thread.h"

enum {
  PACE_STEP_MS = 100,  ///< after so long a thread that waits looks whether its log is still to be cleaned
  NS_PER_MS = 1000000, ///< nanoseconds
};

static const int64_t BACKOFF_MS_MAX = INT64_C(1000000000000); // thirty years: more would not fit into nanoseconds

static const struct metric CLEANER_THREADS = {"cleaner.threads", NULL, METRIC_GAUGE, "threads that compact logs"};
static const struct metric CLEANER_BUSY = {"cleaner.busy_threads", NULL, METRIC_GAUGE, "of these, at a log now"};
static const struct metric CLEANER_PASSES = {"cleaner.passes", NULL, METRIC_COUNTER, "logs compacted"};
static const struct metric CLEANER_FAILURES = {"cleaner.failures", NULL, METRIC_COUNTER,
                                               "passes that failed; partitions say why"};
static const struct metric CLEANER_UNCLEANABLE = {"cleaner.uncleanable_partitions", NULL, METRIC_GAUGE,
                                                  "logs left alone, as they hold what cannot be read"};
static const struct metric CLEANER_DIRTIEST = {"cleaner.dirtiest_percent", NULL, METRIC_GAUGE,
                                               "share of new bytes in the log that has most of them"};
static const struct metric CLEANER_READ = {"cleaner.read_bytes", NULL, METRIC_COUNTER, "bytes of segments read"};
static const struct metric CLEANER_WRITTEN = {"cleaner.written_bytes", NULL, METRIC_COUNTER,
                                              "bytes of segments written in their place"};
static const struct metric CLEANER_RECORDS = {"cleaner.read_records", NULL, METRIC_COUNTER, "records looked at"};
static const struct metric CLEANER_KEPT = {"cleaner.kept_records", NULL, METRIC_COUNTER, "of these, that stayed"};
static const struct metric CLEANER_KEYLESS = {"cleaner.keyless_records", NULL, METRIC_COUNTER,
                                              "of these, that went because they have no key"};
static const struct metric CLEANER_FULL = {"cleaner.full_maps", NULL, METRIC_COUNTER,
                                           "passes cut short by log.cleaner.dedupe.buffer.size"};
static const struct metric CLEANER_BUSY_MS = {"cleaner.busy_ms", NULL, METRIC_COUNTER,
                                              "time in passes, of all threads"};
static const struct metric CLEANER_PACED_MS = {"cleaner.paced_ms", NULL, METRIC_COUNTER,
                                               "of that, waited for log.cleaner.io.max.bytes.per.second"};

static void *thread_run(void *arg);

struct cleaner *cleaner_new(struct log_manager *mgr, const struct log_cleaner_config *config)
{
  struct cleaner *cleaner = mem_zalloc(sizeof *cleaner);
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&cleaner->changed, &attr);
  pthread_condattr_destroy(&attr);
  pthread_mutex_init(&cleaner->lock, NULL);
  cleaner->mgr = mgr;
  for (int i = 0; i < CLEANER_THREADS_MAX; i++) {
    cleaner->threads[i].cleaner = cleaner;
    cleaner->threads[i].number = i;
  }
  cleaner_configure(cleaner, config);
  return cleaner;
}

/// Starts the threads that are wanted and not there; one that has ended makes room for another.
static void start_threads(struct cleaner *cleaner)
{
  for (int i = 0; i < CLEANER_THREADS_MAX; i++) {
    struct cleaner_thread *thread = &cleaner->threads[i];
    pthread_mutex_lock(&cleaner->lock);
    bool is_wanted = cleaner->is_running && !cleaner->is_ending && i < cleaner->config.threads;
    bool is_over = thread->is_over;
    if (is_wanted && is_over) {
      thread->is_over = false;
    }
    pthread_mutex_unlock(&cleaner->lock);
    if (!is_wanted || (thread->is_started && !is_over)) {
      continue;
    }
    if (thread->is_started) {
      pthread_join(thread->thread, NULL); // it does nothing any more
    }
    char name[16];
    snprintf(name, sizeof name, "luka-clean-%d", i);
    thread->is_started = thread_start(&thread->thread, name, thread_run, thread) == 0;
    if (!thread->is_started) {
      slog_warn("%s: logs are compacted by %d threads", error_last()->message, i);
      return;
    }
  }
}

void cleaner_configure(struct cleaner *cleaner, const struct log_cleaner_config *config)
{
  pthread_mutex_lock(&cleaner->lock);
  cleaner->config = *config;
  if (config->threads > CLEANER_THREADS_MAX) {
    cleaner->config.threads = CLEANER_THREADS_MAX;
  }
  cleaner->config.backoff_ms = config->backoff_ms < 1                ? 1
                               : config->backoff_ms > BACKOFF_MS_MAX ? BACKOFF_MS_MAX
                                                                     : config->backoff_ms;
  cleaner_pace_set(&cleaner->pace, config->io_bytes_per_second);
  pthread_cond_broadcast(&cleaner->changed);
  pthread_mutex_unlock(&cleaner->lock);
  start_threads(cleaner);
}

void cleaner_run(struct cleaner *cleaner)
{
  pthread_mutex_lock(&cleaner->lock);
  cleaner->is_running = true;
  pthread_mutex_unlock(&cleaner->lock);
  start_threads(cleaner);
}

void cleaner_pause(struct cleaner *cleaner)
{
  pthread_mutex_lock(&cleaner->lock);
  cleaner->is_ending = true;
  pthread_cond_broadcast(&cleaner->changed);
  pthread_mutex_unlock(&cleaner->lock);
}

void cleaner_join(struct cleaner *cleaner)
{
  cleaner_pause(cleaner);
  for (int i = 0; i < CLEANER_THREADS_MAX; i++) {
    if (cleaner->threads[i].is_started) {
      pthread_join(cleaner->threads[i].thread, NULL);
      cleaner->threads[i].is_started = false;
    }
  }
}

void cleaner_delete(struct cleaner *cleaner)
{
  if (cleaner != NULL) {
    pthread_cond_destroy(&cleaner->changed);
    pthread_mutex_destroy(&cleaner->lock);
    mem_free(cleaner);
  }
}

// --- the threads -----------------------------------------------------------------------------------------------------

/// While holding the lock.
static bool is_over(const struct cleaner_thread *thread)
{
  return thread->cleaner->is_ending || thread->number >= thread->cleaner->config.threads;
}

bool cleaner_is_over(struct cleaner_thread *thread)
{
  pthread_mutex_lock(&thread->cleaner->lock);
  bool over = is_over(thread);
  pthread_mutex_unlock(&thread->cleaner->lock);
  return over;
}

/// Waits for a change, at most until a time. While holding the lock.
static void wait_until(struct cleaner *cleaner, int64_t until_ns)
{
  struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
  pthread_cond_timedwait(&cleaner->changed, &cleaner->lock, &until);
}

struct cleaner_turn cleaner_charge(struct cleaner_thread *thread, int64_t bytes)
{
  struct cleaner *cleaner = thread->cleaner;
  pthread_mutex_lock(&cleaner->lock);
  struct cleaner_turn turn = cleaner_pace_take(&cleaner->pace, clock_mono_ns(), bytes);
  pthread_mutex_unlock(&cleaner->lock);
  return turn;
}

bool cleaner_wait(struct cleaner_thread *thread, const struct cleaner_turn *turn)
{
  struct cleaner *cleaner = thread->cleaner;
  int64_t began_ns = clock_mono_ns();
  int64_t step_ns = began_ns + (int64_t)PACE_STEP_MS * NS_PER_MS;
  pthread_mutex_lock(&cleaner->lock);
  bool is_due = cleaner_pace_is_due(&cleaner->pace, turn, began_ns);
  if (!is_due && !is_over(thread)) {
    wait_until(cleaner, step_ns < turn->from_ns ? step_ns : turn->from_ns);
    int64_t now_ns = clock_mono_ns();
    is_due = cleaner_pace_is_due(&cleaner->pace, turn, now_ns);
    atomic_fetch_add_explicit(&cleaner->counts.paced_ns, now_ns - began_ns, memory_order_relaxed);
  }
  pthread_mutex_unlock(&cleaner->lock);
  return is_due;
}

static void *thread_run(void *arg)
{
  struct cleaner_thread *thread = arg;
  struct cleaner *cleaner = thread->cleaner;
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  thread_set_batch(true);
  pthread_mutex_lock(&cleaner->lock);
  while (!is_over(thread)) {
    int64_t began_ns = clock_mono_ns();
    pthread_mutex_unlock(&cleaner->lock);
    epoch_enter();
    bool has_worked = cleaner_work(thread);
    epoch_leave();
    pthread_mutex_lock(&cleaner->lock);
    while (!has_worked && !is_over(thread) && clock_mono_ns() - began_ns < cleaner->config.backoff_ms * NS_PER_MS) {
      wait_until(cleaner, began_ns + cleaner->config.backoff_ms * NS_PER_MS);
    }
  }
  thread->is_over = true;
  pthread_mutex_unlock(&cleaner->lock);
  epoch_unregister();
  return NULL;
}

// --- metrics ---------------------------------------------------------------------------------------------------------

/// Logs that are left alone.
static int64_t count_uncleanable(struct log_manager *mgr)
{
  int64_t count = 0;
  pthread_mutex_lock(&mgr->lock);
  for (size_t i = 0; i < mgr->table.count; i++) {
    const struct log_entry_cleaning *cleaning = mgr->table.entries[i]->cleaning;
    count += cleaning != NULL && cleaning->is_uncleanable;
  }
  pthread_mutex_unlock(&mgr->lock);
  return count;
}

void log_cleaner_collect(void *arg, struct metric_samples *out)
{
  struct log_manager *mgr = arg;
  struct cleaner *cleaner = mgr->cleaner;
  const struct cleaner_counts *counts = &cleaner->counts;
  pthread_mutex_lock(&cleaner->lock);
  int threads = cleaner->is_running && !cleaner->is_ending ? cleaner->config.threads : 0;
  pthread_mutex_unlock(&cleaner->lock);
  metrics_put(out, &CLEANER_THREADS, NULL, threads);
  metrics_put(out, &CLEANER_BUSY, NULL, metric_read(&counts->busy_threads));
  metrics_put(out, &CLEANER_PASSES, NULL, metric_read(&counts->passes));
  metrics_put(out, &CLEANER_FAILURES, NULL, metric_read(&counts->failures));
  metrics_put(out, &CLEANER_UNCLEANABLE, NULL, count_uncleanable(mgr));
  metrics_put(out, &CLEANER_DIRTIEST, NULL, metric_read(&counts->dirtiest));
  metrics_put(out, &CLEANER_READ, NULL, metric_read(&counts->read_bytes));
  metrics_put(out, &CLEANER_WRITTEN, NULL, metric_read(&counts->written_bytes));
  metrics_put(out, &CLEANER_RECORDS, NULL, metric_read(&counts->read_records));
  metrics_put(out, &CLEANER_KEPT, NULL, metric_read(&counts->kept_records));
  metrics_put(out, &CLEANER_KEYLESS, NULL, metric_read(&counts->keyless_records));
  metrics_put(out, &CLEANER_FULL, NULL, metric_read(&counts->full_maps));
  metrics_put(out, &CLEANER_BUSY_MS, NULL, metric_read(&counts->busy_ms));
  metrics_put(out, &CLEANER_PACED_MS, NULL, metric_read(&counts->paced_ns) / NS_PER_MS);
}
