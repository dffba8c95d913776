// SPDX-License-Identifier: Apache-2.0
#include "shared_driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "policy/shared.h"

enum { PROBE_KEYS = 50, PROBE_TEXT = 2000, PROBE_THREADS = 16 };

struct probe_thread {
  pthread_t thread;        ///< itself
  _Atomic(int64_t) *added; ///< of all
  _Atomic(int64_t) *torn;  ///< of all
  uint32_t dict;           ///< used
  int rounds;              ///< to go
  int number;              ///< from 0
};

static struct shared_key probe_key(uint32_t dict, const char *text)
{
  return (struct shared_key){.dict = dict, .text = text, .size = strlen(text)};
}

/// Whether a text is one letter over and over, as they are written.
static bool probe_is_whole(const struct shared_value *value)
{
  for (size_t i = 1; i < value->size; i++) {
    if (value->text[i] != value->text[0]) {
      return false;
    }
  }
  return value->type == SHARED_TEXT && value->size == PROBE_TEXT;
}

static void *probe_run(void *arg)
{
  struct probe_thread *self = arg;
  char room[SHARED_TEXT_MAX];
  char text[PROBE_TEXT];
  memset(text, 'a' + self->number, sizeof text);
  const double initial = 0;
  for (int i = 0; i < self->rounds; i++) {
    double sum = 0;
    struct shared_key counter = probe_key(self->dict, "counter");
    shared_increment(&counter, 1, &initial, -1, &sum);
    char name[32];
    snprintf(name, sizeof name, "once %d", i);
    struct shared_key once = probe_key(self->dict, name);
    struct shared_value yes = {.type = SHARED_BOOLEAN, .boolean = true};
    atomic_fetch_add(self->added, shared_add(&once, &yes, -1) == 0);
    snprintf(name, sizeof name, "text %d", i % PROBE_KEYS);
    struct shared_key key = probe_key(self->dict, name);
    struct shared_value value = {.type = SHARED_TEXT, .text = text, .size = sizeof text};
    shared_set(&key, &value, i % 2 == 0 ? 1 : -1);
    if (shared_get(&key, room, &value) == 0) {
      atomic_fetch_add(self->torn, !probe_is_whole(&value));
    }
    if (i % 7 == 0) {
      shared_delete(&key);
    }
  }
  return NULL;
}

void shared_probe_threads(uint32_t dict, int threads, int rounds, struct shared_probe *probe)
{
  struct probe_thread all[PROBE_THREADS];
  _Atomic(int64_t) added = 0;
  _Atomic(int64_t) torn = 0;
  for (int i = 0; i < threads && i < PROBE_THREADS; i++) {
    all[i] = (struct probe_thread){.added = &added, .torn = &torn, .dict = dict, .rounds = rounds, .number = i};
    pthread_create(&all[i].thread, NULL, probe_run, &all[i]);
  }
  for (int i = 0; i < threads && i < PROBE_THREADS; i++) {
    pthread_join(all[i].thread, NULL);
  }
  char room[SHARED_TEXT_MAX];
  struct shared_key counter = probe_key(dict, "counter");
  struct shared_value value = {.number = 0};
  shared_get(&counter, room, &value);
  *probe = (struct shared_probe){.sum = (int64_t)value.number, .added = added, .torn = torn};
}

void shared_probe_wait(int ms)
{
  int64_t end_ms = clock_mono_ms() + ms;
  while (clock_mono_ms() < end_ms) {
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  }
}
