// SPDX-License-Identifier: Apache-2.0
#include "hooks_driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "event/loop.h"

/// The `arg` of an ask.
struct driven_ask {
  struct hooks_driver *driver;  ///< whose
  struct hooks_driver_ask seen; ///< what became of it
};

struct hooks_driver {
  struct event_loop loop;   ///< asks, and is answered
  struct hooks *hooks;      ///< owned
  struct driven_ask *asked; ///< HOOKS_DRIVER_ASKS of them
  int count;                ///< of those, used
  _Atomic(int) wakes;       ///< of the script thread
  bool is_asking;           ///< in hooks_ask(), of the loop
  pthread_mutex_t lock;     ///< guards `turns`
  pthread_cond_t changed;   ///< signalled when `turns` rises
  int turns;                ///< orders that the loop has carried out
  struct mail mail;         ///< carries an order to the loop
  enum hook hook;           ///< the order: ask about this
  int wanted;               ///< so often
  int64_t pass_ms;          ///< and have so much time pass
  pthread_t waiter;         ///< waits for what was told
  int64_t wait_ms;          ///< for so long
  _Atomic(bool) has_waited; ///< it has come back
};

static void driver_wake(void *arg)
{
  struct hooks_driver *driver = arg;
  atomic_fetch_add(&driver->wakes, 1);
}

static void driver_done(struct hook_ask *ask)
{
  struct driven_ask *asked = ask->arg;
  struct hooks_driver *driver = asked->driver;
  struct hooks_driver_ask *seen = &asked->seen;
  seen->done++;
  seen->result = ask->result;
  seen->is_misplaced = event_loop_current() != &driver->loop || driver->is_asking;
  snprintf(seen->text, sizeof seen->text, "%s", ask->text);
  snprintf(seen->name, sizeof seen->name, "%s", hook_field(&ask->event, "name")->text);
}

static void driver_on_order(struct mail *mail)
{
  struct hooks_driver *driver = CONTAINER_OF(mail, struct hooks_driver, mail);
  driver->is_asking = true;
  for (int i = 0; i < driver->wanted; i++) {
    CHECK(driver->count < HOOKS_DRIVER_ASKS);
    struct driven_ask *asked = &driver->asked[driver->count++];
    asked->driver = driver;
    struct hook_ask *ask = hooks_ask_new(driver->hooks, driver->hook, driver_done, asked);
    char name[16];
    snprintf(name, sizeof name, "n%d", driver->count);
    hook_add_text(&ask->event, "name", name)->is_open = true;
    hook_add_number(&ask->event, "count", driver->count);
    hooks_ask(ask);
  }
  driver->is_asking = false;
  if (driver->pass_ms > 0) {
    driver->loop.now_ms += driver->pass_ms;
    timer_run_due(&driver->loop);
  }
  pthread_mutex_lock(&driver->lock);
  driver->turns++;
  pthread_cond_signal(&driver->changed);
  pthread_mutex_unlock(&driver->lock);
}

/// Has the loop carry out what is wanted, and waits for it.
static void driver_order(struct hooks_driver *driver, enum hook hook, int count, int64_t pass_ms)
{
  driver->hook = hook;
  driver->wanted = count;
  driver->pass_ms = pass_ms;
  driver->mail.run = driver_on_order;
  pthread_mutex_lock(&driver->lock);
  int before = driver->turns;
  event_loop_post(&driver->loop, &driver->mail);
  while (driver->turns == before) {
    pthread_cond_wait(&driver->changed, &driver->lock);
  }
  pthread_mutex_unlock(&driver->lock);
}

struct hooks_driver *hooks_driver_new(void)
{
  struct hooks_driver *driver = mem_zalloc(sizeof *driver);
  driver->asked = mem_array(HOOKS_DRIVER_ASKS, sizeof *driver->asked);
  pthread_mutex_init(&driver->lock, NULL);
  pthread_cond_init(&driver->changed, NULL);
  driver->hooks = hooks_new();
  hooks_set_wake(driver->hooks, driver_wake, driver);
  CHECK(event_loop_create(&driver->loop, "asks") == 0 && event_loop_start(&driver->loop) == 0);
  return driver;
}

void hooks_driver_delete(struct hooks_driver *driver)
{
  event_loop_stop(&driver->loop);
  hooks_delete(driver->hooks);
  event_loop_destroy(&driver->loop);
  pthread_cond_destroy(&driver->changed);
  pthread_mutex_destroy(&driver->lock);
  mem_free(driver->asked);
  mem_free(driver);
}

struct hooks *hooks_driver_hooks(struct hooks_driver *driver)
{
  return driver->hooks;
}

void hooks_driver_ask(struct hooks_driver *driver, enum hook hook, int count)
{
  driver_order(driver, hook, count, 0);
}

void hooks_driver_pass(struct hooks_driver *driver, int64_t ms)
{
  driver_order(driver, HOOKS, 0, ms);
}

void hooks_driver_settle(struct hooks_driver *driver)
{
  driver_order(driver, HOOKS, 0, 0);
}

const struct hooks_driver_ask *hooks_driver_asked(struct hooks_driver *driver, int number)
{
  return &driver->asked[number].seen;
}

int hooks_driver_wakes(struct hooks_driver *driver)
{
  return atomic_load(&driver->wakes);
}

static void *driver_wait(void *arg)
{
  struct hooks_driver *driver = arg;
  hooks_wait_told(driver->hooks, driver->wait_ms);
  atomic_store(&driver->has_waited, true);
  return NULL;
}

void hooks_driver_wait(struct hooks_driver *driver, int64_t wait_ms)
{
  driver->wait_ms = wait_ms;
  atomic_store(&driver->has_waited, false);
  CHECK(pthread_create(&driver->waiter, NULL, driver_wait, driver) == 0);
}

bool hooks_driver_has_waited(struct hooks_driver *driver)
{
  return atomic_load(&driver->has_waited);
}

void hooks_driver_waited(struct hooks_driver *driver)
{
  pthread_join(driver->waiter, NULL);
}
