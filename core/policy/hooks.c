// SPDX-License-Identifier: Apache-2.0
//
// Two lines between all threads and the script thread, of asks and of told events, and the life of an ask, which two
// threads share: the loop that asked has its timer and calls `done`; the script thread has `answer` and `why`, and
// gives it back by mail. Whichever is first, the mail frees it.
#include "policy/hooks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/loop.h"
#include "os/clock.h"

enum { HOOKS_LOG_INTERVAL_MS = 1000 };

struct hooks {
  _Atomic(uint32_t) mask;       ///< hooks that there are functions for
  _Atomic(uint64_t) generation; ///< how often functions have come into force
  pthread_mutex_t lock;         ///< guards what follows
  struct list asks;             ///< that nobody has taken yet
  struct list told;             ///< the same
  int ask_count;                ///< asks under way, taken ones too
  int told_count;               ///< in the line
  int64_t dropped;              ///< told events that did not fit, and were not logged yet
  int64_t dropped_logged_ms;    ///< when that was last logged
  int64_t late_logged_ms;       ///< when an ask without an answer was last logged
  int64_t numbers;              ///< of the latest ask
  bool is_telling;              ///< one was taken out of the line, and is not dealt with yet
  pthread_cond_t told_out;      ///< signalled when nothing is left of what was told
  bool is_closed;               ///< nothing is taken any more
  void (*wake)(void *arg);      ///< wakes the script thread; constant
  void *wake_arg;               ///< for it
};

static const char *const hook_names[HOOKS] = {
    "broker.down",    "broker.start",  "broker.stop",  "broker.up",    "client.authorize",
    "client.connect", "disk.fail",     "group.empty",  "group.join",   "group.rebalance",
    "isr.change",     "leader.change", "log.delete",   "log.roll",     "partitions.create",
    "reload",         "topic.config",  "topic.create", "topic.delete", "placement",
};

const char *hook_name(enum hook hook)
{
  return hook_names[hook];
}

enum hook hook_find(const char *name)
{
  int hook = 0;
  while (hook < HOOKS && strcmp(hook_names[hook], name) != 0) {
    hook++;
  }
  return (enum hook)hook;
}

// ---- life ----

struct hooks *hooks_new(void)
{
  struct hooks *hooks = mem_zalloc(sizeof *hooks);
  pthread_mutex_init(&hooks->lock, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&hooks->told_out, &attributes);
  pthread_condattr_destroy(&attributes);
  list_create(&hooks->asks);
  list_create(&hooks->told);
  return hooks;
}

void hooks_set_wake(struct hooks *hooks, void (*wake)(void *arg), void *arg)
{
  pthread_mutex_lock(&hooks->lock); // who asks later has held it, too
  hooks->wake = wake;
  hooks->wake_arg = arg;
  pthread_mutex_unlock(&hooks->lock);
}

void hooks_delete(struct hooks *hooks)
{
  if (hooks == NULL) {
    return;
  }
  CHECK(list_is_empty(&hooks->asks));
  LIST_EACH_SAFE(&hooks->told, node) {
    hook_told_delete(CONTAINER_OF(node, struct hook_told, node));
  }
  pthread_cond_destroy(&hooks->told_out);
  pthread_mutex_destroy(&hooks->lock);
  mem_free(hooks);
}

bool hooks_has(const struct hooks *hooks, enum hook hook)
{
  return hooks != NULL && (atomic_load_explicit(&hooks->mask, memory_order_relaxed) >> hook & 1) != 0;
}

void hooks_publish(struct hooks *hooks, uint32_t mask)
{
  atomic_store_explicit(&hooks->mask, mask, memory_order_relaxed);
  atomic_fetch_add_explicit(&hooks->generation, 1, memory_order_relaxed);
}

uint64_t hooks_generation(const struct hooks *hooks)
{
  return atomic_load_explicit(&hooks->generation, memory_order_relaxed);
}

// ---- events ----

static struct hook_field *hook_add(struct hook_event *event, const char *name, enum hook_field_kind kind)
{
  CHECK(event->field_count < HOOK_FIELDS_MAX);
  struct hook_field *field = &event->fields[event->field_count++];
  *field = (struct hook_field){.name = name, .kind = kind};
  return field;
}

struct hook_field *hook_add_bytes(struct hook_event *event, const char *name, const char *text, int64_t length)
{
  struct hook_field *field = hook_add(event, name, HOOK_TEXT);
  if (text != NULL && length >= 0) {
    field->text = arena_strndup(&event->arena, text, (size_t)length);
  }
  return field;
}

struct hook_field *hook_add_text(struct hook_event *event, const char *name, const char *text)
{
  return hook_add_bytes(event, name, text, text != NULL ? (int64_t)strlen(text) : -1);
}

struct hook_field *hook_add_number(struct hook_event *event, const char *name, int64_t number)
{
  struct hook_field *field = hook_add(event, name, HOOK_NUMBER);
  field->number = number;
  return field;
}

struct hook_field *hook_add_flag(struct hook_event *event, const char *name, bool flag)
{
  struct hook_field *field = hook_add(event, name, HOOK_FLAG);
  field->flag = flag;
  return field;
}

struct hook_field *hook_add_map(struct hook_event *event, const char *name, const struct hook_pair *pairs,
                                int32_t count)
{
  struct hook_pair *copy = arena_alloc(&event->arena, sizeof *copy * (size_t)(count + 1));
  for (int32_t i = 0; i < count; i++) {
    const char *value = pairs[i].value;
    copy[i].name = arena_strndup(&event->arena, pairs[i].name, strlen(pairs[i].name));
    copy[i].value = value != NULL ? arena_strndup(&event->arena, value, strlen(value)) : NULL;
  }
  struct hook_field *field = hook_add(event, name, HOOK_MAP);
  field->pairs = copy;
  field->count = count;
  return field;
}

struct hook_field *hook_add_numbers(struct hook_event *event, const char *name, const int32_t *numbers, int32_t count)
{
  struct hook_field *field = hook_add(event, name, HOOK_NUMBERS);
  field->numbers = count > 0 ? arena_dup(&event->arena, numbers, sizeof *numbers * (size_t)count) : NULL;
  field->count = count;
  return field;
}

const struct hook_field *hook_field(const struct hook_event *event, const char *name)
{
  int i = 0;
  while (i < event->field_count && strcmp(event->fields[i].name, name) != 0) {
    i++;
  }
  CHECK(i < event->field_count);
  return &event->fields[i];
}

// ---- asking ----

struct hook_ask *hooks_ask_new(struct hooks *hooks, enum hook hook, void (*done)(struct hook_ask *ask), void *arg)
{
  struct hook_ask *ask = mem_zalloc(sizeof *ask);
  ask->event.hook = hook;
  ask->hooks = hooks;
  ask->done = done;
  ask->arg = arg;
  return ask;
}

void hooks_ask_delete(struct hook_ask *ask)
{
  arena_destroy(&ask->event.arena);
  mem_free(ask);
}

/// On the loop that asked: the script thread has given it back, or nobody took it.
static void hook_ask_returned(struct mail *mail)
{
  struct hook_ask *ask = CONTAINER_OF(mail, struct hook_ask, mail);
  if (!ask->is_over) {
    ask->is_over = true;
    timer_stop(ask->loop, &ask->timer);
    ask->result = ask->answer;
    memcpy(ask->text, ask->why, sizeof ask->text);
    ask->done(ask);
  }
  hooks_ask_delete(ask);
}

static void hook_ask_log(struct hook_ask *ask)
{
  struct hooks *hooks = ask->hooks;
  int64_t now_ms = clock_mono_ms();
  pthread_mutex_lock(&hooks->lock);
  bool is_due = hooks->late_logged_ms == 0 || now_ms - hooks->late_logged_ms >= HOOKS_LOG_INTERVAL_MS;
  hooks->late_logged_ms = is_due ? now_ms : hooks->late_logged_ms;
  pthread_mutex_unlock(&hooks->lock);
  if (is_due) {
    slog_warn("%s; the script thread is busy with something that cannot be interrupted", ask->text);
  }
}

/// The script thread is stuck in something that cannot be interrupted.
static void hook_ask_expired(struct timer *timer)
{
  struct hook_ask *ask = CONTAINER_OF(timer, struct hook_ask, timer);
  ask->is_over = true;
  ask->result = ERR_TIMEOUT;
  snprintf(ask->text, sizeof ask->text, "%s: no answer within %d ms", hook_name(ask->event.hook), HOOKS_DEADLINE_MS);
  hook_ask_log(ask);
  ask->done(ask);
}

void hooks_ask(struct hook_ask *ask)
{
  struct hooks *hooks = ask->hooks;
  ask->loop = event_loop_current();
  CHECK(ask->loop != NULL);
  ask->mail.run = hook_ask_returned;
  timer_start(ask->loop, &ask->timer, HOOKS_DEADLINE_MS, hook_ask_expired);
  pthread_mutex_lock(&hooks->lock);
  bool is_full = hooks->ask_count >= HOOKS_ASKS_MAX;
  bool is_taken = !hooks->is_closed && !is_full;
  hooks->ask_count++;
  ask->number = ++hooks->numbers;
  if (is_taken) {
    list_append(&hooks->asks, &ask->node);
  }
  pthread_mutex_unlock(&hooks->lock);
  if (is_taken) {
    hooks->wake(hooks->wake_arg);
  } else {
    hooks_answer(ask, is_full ? ERR_LIMIT : ERR_CLOSED, is_full ? "too many questions wait" : "the broker is stopping");
  }
}

struct hook_ask *hooks_next_ask(struct hooks *hooks)
{
  struct hook_ask *ask = NULL;
  pthread_mutex_lock(&hooks->lock);
  if (!list_is_empty(&hooks->asks)) {
    ask = CONTAINER_OF(hooks->asks.next, struct hook_ask, node);
    list_remove(&ask->node);
  }
  pthread_mutex_unlock(&hooks->lock);
  return ask;
}

void hooks_answer(struct hook_ask *ask, int result, const char *text)
{
  struct hooks *hooks = ask->hooks;
  pthread_mutex_lock(&hooks->lock);
  hooks->ask_count--;
  pthread_mutex_unlock(&hooks->lock);
  ask->answer = result;
  if (result != 0) {
    snprintf(ask->why, sizeof ask->why, "%s", text);
  }
  event_loop_post(ask->loop, &ask->mail);
}

void hooks_close(struct hooks *hooks)
{
  pthread_mutex_lock(&hooks->lock);
  hooks->is_closed = true;
  pthread_mutex_unlock(&hooks->lock);
  for (struct hook_ask *ask = hooks_next_ask(hooks); ask != NULL; ask = hooks_next_ask(hooks)) {
    hooks_answer(ask, ERR_CLOSED, "the broker is stopping");
  }
}

// ---- telling ----

struct hook_told *hook_told_new(enum hook hook)
{
  struct hook_told *told = mem_zalloc(sizeof *told);
  told->event.hook = hook;
  return told;
}

void hook_told_delete(struct hook_told *told)
{
  if (told != NULL) {
    arena_destroy(&told->event.arena);
    mem_free(told);
  }
}

void hooks_tell(struct hooks *hooks, struct hook_told *told)
{
  int64_t dropped = 0;
  int64_t now_ms = clock_mono_ms();
  pthread_mutex_lock(&hooks->lock);
  bool is_taken = !hooks->is_closed && hooks->told_count < HOOKS_TOLD_MAX;
  if (is_taken) {
    hooks->told_count++;
    list_append(&hooks->told, &told->node);
  } else if (!hooks->is_closed) {
    hooks->dropped++;
    if (hooks->dropped_logged_ms == 0 || now_ms - hooks->dropped_logged_ms >= HOOKS_LOG_INTERVAL_MS) {
      hooks->dropped_logged_ms = now_ms;
      dropped = hooks->dropped;
      hooks->dropped = 0;
    }
  }
  pthread_mutex_unlock(&hooks->lock);
  if (is_taken) {
    hooks->wake(hooks->wake_arg);
    return;
  }
  hook_told_delete(told);
  if (dropped > 0) {
    slog_warn("hooks: %lld events were not told to their functions, as %d others wait", (long long)dropped,
              HOOKS_TOLD_MAX);
  }
}

struct hook_told *hooks_next_told(struct hooks *hooks)
{
  struct hook_told *told = NULL;
  pthread_mutex_lock(&hooks->lock);
  if (!list_is_empty(&hooks->told)) {
    told = CONTAINER_OF(hooks->told.next, struct hook_told, node);
    list_remove(&told->node);
    hooks->told_count--;
  }
  hooks->is_telling = told != NULL;
  if (told == NULL) {
    pthread_cond_broadcast(&hooks->told_out);
  }
  pthread_mutex_unlock(&hooks->lock);
  return told;
}

void hooks_wait_told(struct hooks *hooks, int64_t wait_ms)
{
  int64_t end_ns = clock_mono_ns() + wait_ms * 1000000;
  struct timespec end = {.tv_sec = end_ns / 1000000000, .tv_nsec = end_ns % 1000000000};
  int result = 0;
  pthread_mutex_lock(&hooks->lock);
  while (result == 0 && (hooks->is_telling || !list_is_empty(&hooks->told))) {
    result = pthread_cond_timedwait(&hooks->told_out, &hooks->lock, &end);
  }
  pthread_mutex_unlock(&hooks->lock);
}
