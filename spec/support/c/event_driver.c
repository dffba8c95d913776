// SPDX-License-Identifier: Apache-2.0
#include "event_driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/epoch.h"
#include "base/mem.h"
#include "event/loop.h"
#include "event/pool.h"
#include "os/clock.h"

#define CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

enum { TIMER_PROBE_COUNT = 1000, THREADS_MAX = 16 };

// ---- mails ----

struct numbered_mail {
  struct mail mail;
  int number;
  int *order;
  int *at;
};

static void numbered_mail_run(struct mail *mail)
{
  struct numbered_mail *numbered = CONTAINER(mail, struct numbered_mail, mail);
  numbered->order[(*numbered->at)++] = numbered->number;
}

int mail_probe_order(int count, int *order)
{
  struct mailbox box = {.head = NULL};
  struct numbered_mail *mails = mem_array((size_t)count, sizeof *mails);
  int at = 0;
  int wakes = 0;
  for (int i = 0; i < count; i++) {
    mails[i] = (struct numbered_mail){.mail.run = numbered_mail_run, .number = i, .order = order, .at = &at};
    wakes += mailbox_push(&box, &mails[i].mail) ? 1 : 0;
  }
  mailbox_run(&box);
  mem_free(mails);
  return wakes;
}

struct poster {
  pthread_t thread;
  struct event_loop *loop;
  struct mail_probe *probe;
  struct posted_mail *mails;
  int count;
  int last; ///< number of the last mail of this poster that ran, -1: none
};

struct posted_mail {
  struct mail mail;
  struct poster *poster;
  int number;
};

static void posted_mail_run(struct mail *mail)
{
  struct posted_mail *posted = CONTAINER(mail, struct posted_mail, mail);
  struct poster *poster = posted->poster;
  poster->probe->run++;
  poster->probe->misordered += posted->number == poster->last + 1 ? 0 : 1;
  poster->probe->foreign += event_loop_current() == poster->loop && epoch_is_inside() ? 0 : 1;
  poster->last = posted->number;
}

static void *poster_run(void *arg)
{
  struct poster *poster = arg;
  for (int i = 0; i < poster->count; i++) {
    poster->mails[i] = (struct posted_mail){.mail.run = posted_mail_run, .poster = poster, .number = i};
    event_loop_post(poster->loop, &poster->mails[i].mail);
  }
  return NULL;
}

void mail_probe_threads(int threads, int mails_each, struct mail_probe *probe)
{
  struct event_loop loop = {0};
  struct poster posters[THREADS_MAX];
  *probe = (struct mail_probe){0};
  event_loop_create(&loop, "probe");
  event_loop_start(&loop);
  for (int i = 0; i < threads; i++) {
    struct posted_mail *mails = mem_array((size_t)mails_each, sizeof *mails);
    posters[i] = (struct poster){.loop = &loop, .probe = probe, .mails = mails, .count = mails_each, .last = -1};
    pthread_create(&posters[i].thread, NULL, poster_run, &posters[i]);
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(posters[i].thread, NULL);
  }
  event_loop_stop(&loop);
  event_loop_destroy(&loop);
  for (int i = 0; i < threads; i++) {
    mem_free(posters[i].mails);
  }
}

// ---- timers on a clock set by hand ----

struct numbered_timer {
  struct timer timer;
  struct timer_probe *probe;
  int64_t again_ms; ///< -1: once
};

struct timer_probe {
  struct event_loop loop;
  struct numbered_timer timers[TIMER_PROBE_COUNT];
  int *fired;
  int fired_count;
};

struct timer_probe *timer_probe_new(void)
{
  struct timer_probe *probe = mem_zalloc(sizeof *probe);
  event_loop_create(&probe->loop, "probe");
  probe->loop.is_awake = true; // so that timers take the time set here
  probe->loop.now_ms = 0;
  return probe;
}

void timer_probe_delete(struct timer_probe *probe)
{
  probe->loop.is_awake = false;
  event_loop_destroy(&probe->loop);
  mem_free(probe);
}

static void numbered_timer_run(struct timer *timer)
{
  struct numbered_timer *numbered = CONTAINER(timer, struct numbered_timer, timer);
  struct timer_probe *probe = numbered->probe;
  if (probe->fired_count < TIMER_PROBE_COUNT) {
    probe->fired[probe->fired_count++] = (int)(numbered - probe->timers);
  }
  if (numbered->again_ms >= 0) {
    timer_start(&probe->loop, timer, numbered->again_ms, numbered_timer_run);
  }
}

void timer_probe_start(struct timer_probe *probe, int number, int64_t delay_ms)
{
  timer_probe_repeat(probe, number, delay_ms, -1);
}

void timer_probe_repeat(struct timer_probe *probe, int number, int64_t delay_ms, int64_t again_ms)
{
  struct numbered_timer *numbered = &probe->timers[number];
  numbered->probe = probe;
  numbered->again_ms = again_ms;
  timer_start(&probe->loop, &numbered->timer, delay_ms, numbered_timer_run);
}

void timer_probe_stop(struct timer_probe *probe, int number)
{
  timer_stop(&probe->loop, &probe->timers[number].timer);
}

bool timer_probe_is_running(struct timer_probe *probe, int number)
{
  return timer_is_running(&probe->timers[number].timer);
}

int timer_probe_run(struct timer_probe *probe, int64_t now_ms, int *fired)
{
  probe->loop.now_ms = now_ms;
  probe->fired = fired;
  probe->fired_count = 0;
  timer_run_due(&probe->loop);
  return probe->fired_count;
}

// ---- a loop's life ----

struct loop_story {
  struct event_loop loop;
  struct loop_probe *probe;
  struct mail early;
  struct mail timed;
  struct mail pinning;
  struct mail late;
  struct timer timer;
  struct epoch_retired in_callback;
  struct epoch_retired while_waiting;
  int64_t started_ns;
  int64_t turns;
  int64_t turns_at_start;
  _Atomic(bool) is_freed;  ///< one of the retired was freed
  _Atomic(bool) is_timed;  ///< the timer has fired
  _Atomic(bool) is_inside; ///< the pinning callback runs
  _Atomic(bool) may_leave; ///< it may end
  _Atomic(int) stops;
};

static struct loop_story *loop_story; // the one running; specs run one at a time

static void story_wait_for(_Atomic(bool) *flag)
{
  struct timespec pause = {.tv_nsec = 100000};
  while (!atomic_load(flag)) {
    nanosleep(&pause, NULL);
  }
}

static void story_on_free(struct epoch_retired *retired)
{
  (void)retired;
  atomic_store(&loop_story->is_freed, true);
}

static void story_on_early(struct mail *mail)
{
  struct loop_story *story = CONTAINER(mail, struct loop_story, early);
  story->probe->early_mail_ran = true;
  story->probe->knows_itself = event_loop_current() == &story->loop;
  story->probe->inside_epoch = epoch_is_inside();
}

static void story_on_timer(struct timer *timer)
{
  struct loop_story *story = CONTAINER(timer, struct loop_story, timer);
  story->probe->timer_ms = (clock_mono_ns() - story->started_ns) / 1000000;
  story->probe->turns_for_timer = story->turns - story->turns_at_start;
  story->probe->inside_epoch &= epoch_is_inside();
  atomic_store(&story->is_timed, true);
}

static void story_on_timed(struct mail *mail)
{
  struct loop_story *story = CONTAINER(mail, struct loop_story, timed);
  story->started_ns = clock_mono_ns();
  story->turns_at_start = story->turns;
  timer_start(&story->loop, &story->timer, 30, story_on_timer);
}

static void story_on_pinning(struct mail *mail)
{
  struct loop_story *story = CONTAINER(mail, struct loop_story, pinning);
  atomic_store(&story->is_inside, true);
  story_wait_for(&story->may_leave);
}

static void story_on_late(struct mail *mail)
{
  CONTAINER(mail, struct loop_story, late)->probe->late_mail_ran = true;
}

static void story_on_turn(void *arg)
{
  struct loop_story *story = arg;
  story->turns++;
}

static void story_on_stop(void *arg)
{
  struct loop_story *story = arg;
  atomic_fetch_add(&story->stops, event_loop_current() == &story->loop ? 1 : 100);
}

void loop_probe_run(struct loop_probe *probe)
{
  struct loop_story *story = mem_zalloc(sizeof *story);
  *probe = (struct loop_probe){0};
  loop_story = story;
  story->probe = probe;
  event_loop_create(&story->loop, "probe");
  story->loop.on_turn = story_on_turn;
  story->loop.on_stop = story_on_stop;
  story->loop.arg = story;
  story->early.run = story_on_early;
  story->timed.run = story_on_timed;
  story->pinning.run = story_on_pinning;
  story->late.run = story_on_late;
  event_loop_post(&story->loop, &story->early);
  event_loop_start(&story->loop);

  event_loop_post(&story->loop, &story->timed);
  story_wait_for(&story->is_timed);

  event_loop_post(&story->loop, &story->pinning);
  story_wait_for(&story->is_inside);
  epoch_retire(&story->in_callback, story_on_free);
  epoch_collect();
  bool was_pinned = !atomic_load(&story->is_freed);
  atomic_store(&story->may_leave, true);
  while (!atomic_load(&story->is_freed)) {
    epoch_collect();
  }
  probe->pinned_in_callback = was_pinned;

  atomic_store(&story->is_freed, false);
  epoch_retire(&story->while_waiting, story_on_free);
  while (!atomic_load(&story->is_freed)) {
    epoch_collect();
  }
  probe->freed_while_waiting = true;

  event_loop_post(&story->loop, &story->late);
  event_loop_stop(&story->loop);
  probe->knows_itself &= event_loop_current() == NULL;
  probe->stop_on_thread = atomic_load(&story->stops) == 1;
  event_loop_destroy(&story->loop);
  loop_story = NULL;
  mem_free(story);
}

// ---- the pool ----

struct probed_job {
  struct pool_job job;
  struct pool_story *story;
  int number;
};

struct pool_story {
  struct event_loop loop;
  struct pool_probe *probe;
  _Atomic(int64_t) worked;
  _Atomic(int64_t) outside;
  _Atomic(int64_t) misplaced;
  _Atomic(int64_t) misordered;
  _Atomic(int64_t) done;
};

static _Thread_local int pool_last; // number of the last job of this thread

static void probed_job_work(struct pool_job *job)
{
  struct probed_job *probed = CONTAINER(job, struct probed_job, job);
  struct pool_story *story = probed->story;
  atomic_fetch_add(&story->outside, epoch_is_inside() ? 0 : 1);
  atomic_fetch_add(&story->misplaced, event_loop_current() == NULL ? 0 : 1);
  atomic_fetch_add(&story->misordered, probed->number >= pool_last ? 0 : 1);
  pool_last = probed->number;
  atomic_fetch_add(&story->worked, 1);
  if (job->done == NULL) {
    mem_free(probed);
  }
}

static void probed_job_done(struct pool_job *job)
{
  struct probed_job *probed = CONTAINER(job, struct probed_job, job);
  struct pool_story *story = probed->story;
  atomic_fetch_add(&story->misplaced, event_loop_current() == &story->loop ? 0 : 1);
  atomic_fetch_add(&story->done, 1);
  mem_free(probed);
}

void pool_probe_run(int threads, int jobs, struct pool_probe *probe)
{
  struct pool_story story = {.probe = probe};
  event_loop_create(&story.loop, "probe");
  event_loop_start(&story.loop);
  struct pool *pool = pool_new(threads);
  for (int i = 0; i < jobs; i++) {
    struct probed_job *probed = mem_zalloc(sizeof *probed);
    probed->story = &story;
    probed->number = i;
    bool has_done = i % 2 == 0;
    pool_submit(pool, &probed->job, probed_job_work, has_done ? &story.loop : NULL, has_done ? probed_job_done : NULL);
  }
  pool_delete(pool);
  event_loop_stop(&story.loop);
  event_loop_destroy(&story.loop);
  *probe = (struct pool_probe){.worked = atomic_load(&story.worked),
                               .done = atomic_load(&story.done),
                               .misplaced = atomic_load(&story.misplaced),
                               .outside = atomic_load(&story.outside),
                               .misordered = atomic_load(&story.misordered)};
}

// ---- long jobs ----

enum { LONG_JOBS_MAX = 2 * THREADS_MAX, LONG_WAIT_MS = 10000 };

struct long_job {
  struct pool_job job;
  struct long_story *story;
  int number;
};

struct long_story {
  struct long_job jobs[LONG_JOBS_MAX];
  struct pool_job brief;
  bool waits;                   ///< long jobs wait for the short one, and it for the first of them
  int limit;                    ///< long jobs that may run at once
  _Atomic(bool) is_brief_done;  ///< the short job ran
  _Atomic(bool) is_brief_first; ///< no long job had ended by then
  _Atomic(int) running;
  _Atomic(int) most;
  _Atomic(int) begun;
  _Atomic(int) ended;
  _Atomic(int) gave_up;
  _Atomic(int) misordered;
};

static void long_job_work(struct pool_job *job)
{
  struct long_job *one = CONTAINER(job, struct long_job, job);
  struct long_story *story = one->story;
  int running = atomic_fetch_add(&story->running, 1) + 1;
  int most = atomic_load(&story->most);
  while (running > most && !atomic_compare_exchange_weak(&story->most, &most, running)) {
  }
  // The oldest are the first to run: a later one begins only when one of them has ended.
  atomic_fetch_add(&story->misordered, one->number >= story->limit && atomic_load(&story->ended) == 0 ? 1 : 0);
  atomic_fetch_add(&story->begun, 1);
  int64_t deadline_ms = clock_mono_ms() + LONG_WAIT_MS;
  struct timespec pause = {.tv_nsec = 100000};
  while (story->waits && !atomic_load(&story->is_brief_done) && clock_mono_ms() < deadline_ms) {
    nanosleep(&pause, NULL);
  }
  atomic_fetch_add(&story->gave_up, story->waits && !atomic_load(&story->is_brief_done) ? 1 : 0);
  atomic_fetch_add(&story->ended, 1);
  atomic_fetch_sub(&story->running, 1);
}

static void brief_job_work(struct pool_job *job)
{
  struct long_story *story = CONTAINER(job, struct long_story, brief);
  int64_t deadline_ms = clock_mono_ms() + LONG_WAIT_MS;
  struct timespec pause = {.tv_nsec = 100000};
  while (story->waits && atomic_load(&story->begun) < story->limit && clock_mono_ms() < deadline_ms) {
    nanosleep(&pause, NULL);
  }
  atomic_store(&story->is_brief_first, atomic_load(&story->ended) == 0);
  atomic_store(&story->is_brief_done, true);
}

static void long_probe(int threads, bool waits, struct pool_long_probe *probe)
{
  struct long_story *story = mem_zalloc(sizeof *story);
  story->waits = waits;
  story->limit = threads > 1 ? threads - 1 : 1;
  struct pool *pool = pool_new(threads);
  for (int i = 0; i < 2 * threads; i++) {
    story->jobs[i].story = story;
    story->jobs[i].number = i;
    pool_submit_long(pool, &story->jobs[i].job, long_job_work, NULL, NULL);
  }
  pool_submit(pool, &story->brief, brief_job_work, NULL, NULL);
  pool_delete(pool);
  *probe = (struct pool_long_probe){.most_at_once = atomic_load(&story->most),
                                    .long_worked = atomic_load(&story->ended),
                                    .gave_up = atomic_load(&story->gave_up),
                                    .misordered = atomic_load(&story->misordered),
                                    .is_short_first = atomic_load(&story->is_brief_first)};
  mem_free(story);
}

void pool_long_probe_run(int threads, struct pool_long_probe *probe)
{
  long_probe(threads, true, probe);
}

void pool_long_probe_alone(struct pool_long_probe *probe)
{
  long_probe(1, false, probe);
}
