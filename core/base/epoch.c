// SPDX-License-Identifier: Apache-2.0
//
// The global epoch is advanced by each retirement. A retired thing may be freed when no thread inside entered at or
// before the epoch of its retirement: a thread that entered later loaded the shared pointer after it was replaced.
//
//   retire:  the pointer was exchanged (seq_cst), then epoch e = fetch_add(global) ... tagged e
//   enter:   entered = global (seq_cst store), then re-read global until it is unchanged, then loads pointers
//   free:    when for every thread entered == 0 or entered > e
#include "base/epoch.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "base/check.h"

static _Atomic(uint64_t) epoch_global = 1;
static _Atomic(uint32_t) epoch_waiting;

/// Guards the two lists below; held for a scan, never over I/O.
static pthread_mutex_t epoch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct epoch_thread *epoch_threads;
static struct epoch_retired *epoch_list;

static _Thread_local struct epoch_thread *epoch_self;

enum { EPOCH_FEW = 64 }; // retired things up to which every epoch_leave() looks at them

/// True once in each tick of the coarse clock (some milliseconds).
static bool epoch_is_time(void)
{
  static _Atomic(int64_t) last;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  int64_t tick = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
  return atomic_exchange_explicit(&last, tick, memory_order_relaxed) != tick;
}

void epoch_register(struct epoch_thread *thread)
{
  CHECK(epoch_self == NULL);
  atomic_init(&thread->entered, 0);
  pthread_mutex_lock(&epoch_lock);
  thread->next = epoch_threads;
  epoch_threads = thread;
  pthread_mutex_unlock(&epoch_lock);
  epoch_self = thread;
}

void epoch_unregister(void)
{
  CHECK(epoch_self != NULL && !epoch_is_inside());
  pthread_mutex_lock(&epoch_lock);
  for (struct epoch_thread **link = &epoch_threads; *link != NULL; link = &(*link)->next) {
    if (*link == epoch_self) {
      *link = epoch_self->next;
      break;
    }
  }
  pthread_mutex_unlock(&epoch_lock);
  epoch_self = NULL;
}

void epoch_enter(void)
{
  struct epoch_thread *self = epoch_self;
  CHECK(self != NULL);
  if (atomic_load_explicit(&self->entered, memory_order_relaxed) != 0) {
    return;
  }
  uint64_t now = atomic_load(&epoch_global);
  for (;;) {
    atomic_store(&self->entered, now);
    uint64_t again = atomic_load(&epoch_global);
    if (again == now) {
      return;
    }
    now = again;
  }
}

void epoch_leave(void)
{
  struct epoch_thread *self = epoch_self;
  CHECK(self != NULL);
  atomic_store_explicit(&self->entered, 0, memory_order_release);
  // Retirements are rare, so whoever leaves looks after them at once: nothing waits in an idle process. A long list is
  // one that a thread pins for long (a pool job that waits for a disk): then it is looked at now and then.
  uint32_t waiting = atomic_load_explicit(&epoch_waiting, memory_order_relaxed);
  if (waiting > 0 && (waiting < EPOCH_FEW || epoch_is_time())) {
    epoch_collect();
  }
}

bool epoch_is_inside(void)
{
  return epoch_self != NULL && atomic_load_explicit(&epoch_self->entered, memory_order_relaxed) != 0;
}

void epoch_retire(struct epoch_retired *retired, void (*free_fn)(struct epoch_retired *))
{
  retired->free_fn = free_fn;
  pthread_mutex_lock(&epoch_lock);
  retired->epoch = atomic_fetch_add(&epoch_global, 1);
  retired->next = epoch_list;
  epoch_list = retired;
  pthread_mutex_unlock(&epoch_lock);
  atomic_fetch_add_explicit(&epoch_waiting, 1, memory_order_relaxed);
}

void epoch_collect(void)
{
  pthread_mutex_lock(&epoch_lock);
  uint64_t oldest = UINT64_MAX;
  for (struct epoch_thread *thread = epoch_threads; thread != NULL; thread = thread->next) {
    uint64_t entered = atomic_load(&thread->entered);
    if (entered != 0 && entered < oldest) {
      oldest = entered;
    }
  }
  struct epoch_retired *ready = NULL;
  for (struct epoch_retired **link = &epoch_list; *link != NULL;) {
    struct epoch_retired *retired = *link;
    if (retired->epoch < oldest) {
      *link = retired->next;
      retired->next = ready;
      ready = retired;
    } else {
      link = &retired->next;
    }
  }
  pthread_mutex_unlock(&epoch_lock);
  uint32_t freed = 0;
  while (ready != NULL) {
    struct epoch_retired *next = ready->next;
    ready->free_fn(ready);
    ready = next;
    freed++;
  }
  atomic_fetch_sub_explicit(&epoch_waiting, freed, memory_order_relaxed);
}
