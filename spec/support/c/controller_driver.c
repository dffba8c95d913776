// SPDX-License-Identifier: Apache-2.0
//
// See controller_driver.h. The spec's thread waits on a condition; everything else happens on the control loop.
#include "controller_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/loop.h"
#include "event/pool.h"
#include "metadata/metastore_local.h"

enum { WAIT_SECONDS = 10, DIARY_SIZE = 4096 };

struct controller_driver {
  struct event_loop loop;
  struct pool *pool;
  struct metastore *store;
  struct metadata_cache cache;
  struct broker_config config;
  struct controller *controller;
  struct metadata_endpoint endpoint;
  struct arena arena;
  struct arena alter_arena; ///< of a change of configs that hangs
  pthread_mutex_t lock;     ///< guards `waiting` and, by it, what callbacks leave for the spec's thread
  pthread_cond_t changed;
  int waiting;
  int load_result;
  char load_message[ERROR_MESSAGE_SIZE];
  char diary[DIARY_SIZE];
  bool is_hanging;                ///< changes are not done until they are released
  struct controller_change *hung; ///< one that waits for that
  struct mail stop_mail;
  struct mail release_mail;
  struct mail store_mail;
  struct metastore_request store_request;
  struct metastore_op store_op;
};

static void expect(struct controller_driver *driver, int count)
{
  pthread_mutex_lock(&driver->lock);
  driver->waiting = count;
  pthread_mutex_unlock(&driver->lock);
}

static void came(struct controller_driver *driver)
{
  pthread_mutex_lock(&driver->lock);
  driver->waiting--;
  pthread_cond_signal(&driver->changed);
  pthread_mutex_unlock(&driver->lock);
}

static bool wait_for_all(struct controller_driver *driver)
{
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += WAIT_SECONDS;
  pthread_mutex_lock(&driver->lock);
  int rc = 0;
  while (driver->waiting > 0 && rc == 0) {
    rc = pthread_cond_timedwait(&driver->changed, &driver->lock, &deadline);
  }
  bool is_done = driver->waiting == 0;
  pthread_mutex_unlock(&driver->lock);
  return is_done;
}

static void note(struct controller_driver *driver, const char *text)
{
  size_t used = strlen(driver->diary);
  snprintf(driver->diary + used, sizeof driver->diary - used, "%s; ", text);
}

static void on_apply(void *arg, struct controller_change *change)
{
  struct controller_driver *driver = arg;
  for (int32_t i = 0; i < change->topic_count; i++) {
    char text[400];
    int replicas = 0;
    for (int32_t j = 0; j < change->topics[i]->partition_count; j++) {
      replicas += change->topics[i]->partitions[j].replica_count > 0;
    }
    snprintf(text, sizeof text, "%s %s %d%s",
             change->kind == CONTROLLER_OPEN_REPLICAS     ? "open"
             : change->kind == CONTROLLER_DELETE_REPLICAS ? "delete"
                                                          : "configure",
             change->topics[i]->name, replicas, change->is_load ? " load" : "");
    note(driver, text);
  }
  if (driver->is_hanging) {
    driver->hung = change;
    came(driver);
  } else {
    controller_change_done(change);
  }
}

static void on_published(void *arg, const struct metadata_image *image)
{
  char text[64];
  snprintf(text, sizeof text, "publish %d", image->topic_count);
  note(arg, text);
}

static void on_ready(void *arg, int result)
{
  struct controller_driver *driver = arg;
  driver->load_result = result;
  snprintf(driver->load_message, sizeof driver->load_message, "%s", result < 0 ? error_last()->message : "");
  came(driver);
}

static struct controller_driver *start(const char *path, const struct controller_settings *wanted)
{
  struct controller_driver *driver = mem_zalloc(sizeof *driver);
  slog_setup(SLOG_ERROR, false);
  pthread_mutex_init(&driver->lock, NULL);
  pthread_cond_init(&driver->changed, NULL);
  broker_config_create(&driver->config);
  broker_config_set(&driver->config, "num.partitions", "4");
  broker_config_resolve(&driver->config);
  metadata_cache_create(&driver->cache);
  if (event_loop_create(&driver->loop, "control") < 0) {
    return NULL;
  }
  driver->pool = pool_new(2);
  if (metastore_local_open(path, true, &driver->loop, driver->pool, &driver->store) < 0) {
    return NULL;
  }
  driver->endpoint = (struct metadata_endpoint){"PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092};
  struct controller_settings settings = *wanted;
  settings.broker_id = 1;
  settings.endpoints = &driver->endpoint;
  settings.endpoint_count = 1;
  settings.store = driver->store;
  settings.cache = &driver->cache;
  settings.config = &driver->config;
  settings.loop = &driver->loop;
  settings.hooks = (struct controller_hooks){.arg = driver, .apply = on_apply, .published = on_published};
  driver->controller = controller_new(&settings);
  expect(driver, 1);
  controller_load(driver->controller, on_ready, driver);
  event_loop_start(&driver->loop);
  wait_for_all(driver);
  return driver;
}

struct controller_driver *controller_driver_new(const char *path, const char *cluster_id, bool is_clean_start)
{
  return start(path, &(struct controller_settings){.cluster_id = cluster_id, .is_clean_start = is_clean_start});
}

struct controller_driver *controller_driver_new_static(const char *path, const struct static_topic *topics,
                                                       int32_t topic_count)
{
  return start(path, &(struct controller_settings){
                         .is_clean_start = true, .static_topics = topics, .static_topic_count = topic_count});
}

void controller_driver_delete(struct controller_driver *driver)
{
  event_loop_stop(&driver->loop);
  pool_delete(driver->pool);
  controller_delete(driver->controller);
  metastore_close(driver->store);
  event_loop_destroy(&driver->loop);
  metadata_cache_destroy(&driver->cache);
  epoch_collect();
  broker_config_destroy(&driver->config);
  metastore_request_clear(&driver->store_request);
  arena_destroy(&driver->arena);
  pthread_cond_destroy(&driver->changed);
  pthread_mutex_destroy(&driver->lock);
  mem_free(driver);
}

int controller_driver_load_result(const struct controller_driver *driver)
{
  return driver->load_result;
}

const char *controller_driver_load_message(const struct controller_driver *driver)
{
  return driver->load_message;
}

static void on_created(struct controller_create *create)
{
  came(create->arg);
}

static void on_dropped(struct controller_drop *drop)
{
  came(drop->arg);
}

static void on_grown(struct controller_grow *grow)
{
  came(grow->arg);
}

static void post_create(struct controller_driver *driver, struct controller_create *create)
{
  create->arena = &driver->arena;
  create->done = on_created;
  create->arg = driver;
  controller_create_topics(driver->controller, create);
}

bool controller_driver_create(struct controller_driver *driver, struct controller_create *create)
{
  expect(driver, 1);
  post_create(driver, create);
  return wait_for_all(driver);
}

static void on_altered(struct controller_alter *alter)
{
  came(alter->arg);
}

bool controller_driver_alter(struct controller_driver *driver, struct controller_alter *alter)
{
  alter->arena = &driver->arena;
  alter->done = on_altered;
  alter->arg = driver;
  expect(driver, 1);
  controller_alter_configs(driver->controller, alter);
  return wait_for_all(driver);
}

static void on_reloaded(struct controller_reload *reload)
{
  came(reload->arg);
}

bool controller_driver_reload(struct controller_driver *driver, struct controller_reload *reload)
{
  reload->arena = &driver->arena;
  reload->done = on_reloaded;
  reload->arg = driver;
  expect(driver, 1);
  controller_reload(driver->controller, reload);
  return wait_for_all(driver);
}

static void producer_id_done(struct controller_producer_id *request)
{
  came(request->arg);
}

int64_t controller_driver_producer_id(struct controller_driver *driver, int16_t *error)
{
  struct controller_producer_id request = {.done = producer_id_done, .arg = driver};
  expect(driver, 1);
  controller_new_producer_id(driver->controller, &request);
  wait_for_all(driver);
  *error = request.error_code;
  return request.id;
}

bool controller_driver_both(struct controller_driver *driver, struct controller_create *create,
                            struct controller_create *other)
{
  expect(driver, 2);
  post_create(driver, create);
  post_create(driver, other);
  return wait_for_all(driver);
}

bool controller_driver_hang(struct controller_driver *driver, struct controller_create *create,
                            struct controller_create *other)
{
  driver->is_hanging = true;
  expect(driver, 1);
  post_create(driver, create);
  post_create(driver, other);
  return wait_for_all(driver);
}

static void on_hung_altered(struct controller_alter *alter)
{
  struct controller_driver *driver = alter->arg;
  arena_destroy(&driver->alter_arena);
  came(driver);
}

bool controller_driver_hang_alter(struct controller_driver *driver, struct controller_alter *alter)
{
  driver->is_hanging = true;
  alter->arena = &driver->alter_arena;
  alter->done = on_hung_altered;
  alter->arg = driver;
  expect(driver, 1);
  controller_alter_configs(driver->controller, alter);
  return wait_for_all(driver);
}

static void on_hung_reloaded(struct controller_reload *reload)
{
  struct controller_driver *driver = reload->arg;
  arena_destroy(&driver->alter_arena);
  came(driver);
}

bool controller_driver_hang_reload(struct controller_driver *driver, struct controller_reload *reload)
{
  driver->is_hanging = true;
  reload->arena = &driver->alter_arena;
  reload->done = on_hung_reloaded;
  reload->arg = driver;
  expect(driver, 1);
  controller_reload(driver->controller, reload);
  return wait_for_all(driver);
}

static void on_stopped(void *arg)
{
  note(arg, "stopped");
  came(arg);
}

static void on_stop_mail(struct mail *mail)
{
  struct controller_driver *driver = CONTAINER_OF(mail, struct controller_driver, stop_mail);
  controller_stop(driver->controller, on_stopped, driver);
}

static void on_release_mail(struct mail *mail)
{
  controller_change_done(CONTAINER_OF(mail, struct controller_driver, release_mail)->hung);
}

bool controller_driver_stop(struct controller_driver *driver)
{
  expect(driver, 3);
  driver->stop_mail.run = on_stop_mail;
  driver->release_mail.run = on_release_mail;
  event_loop_post(&driver->loop, &driver->stop_mail);
  event_loop_post(&driver->loop, &driver->release_mail);
  return wait_for_all(driver);
}

bool controller_driver_drop(struct controller_driver *driver, struct controller_drop *drop)
{
  expect(driver, 1);
  drop->arena = &driver->arena;
  drop->done = on_dropped;
  drop->arg = driver;
  controller_delete_topics(driver->controller, drop);
  return wait_for_all(driver);
}

bool controller_driver_grow(struct controller_driver *driver, struct controller_grow *grow)
{
  expect(driver, 1);
  grow->arena = &driver->arena;
  grow->done = on_grown;
  grow->arg = driver;
  controller_add_partitions(driver->controller, grow);
  return wait_for_all(driver);
}

const struct metadata_image *controller_driver_image(struct controller_driver *driver)
{
  return metadata_cache_get(&driver->cache);
}

const char *controller_driver_diary(const struct controller_driver *driver)
{
  return driver->diary;
}

static void on_store_done(struct metastore_request *request)
{
  came(request->arg);
}

static void on_store_mail(struct mail *mail)
{
  struct controller_driver *driver = CONTAINER_OF(mail, struct controller_driver, store_mail);
  metastore_submit(driver->store, &driver->store_request);
}

static int run_op(struct controller_driver *driver, struct metastore_op op)
{
  expect(driver, 1);
  metastore_request_clear(&driver->store_request);
  driver->store_op = op;
  driver->store_request =
      (struct metastore_request){.ops = &driver->store_op, .op_count = 1, .done = on_store_done, .arg = driver};
  driver->store_mail.run = on_store_mail;
  event_loop_post(&driver->loop, &driver->store_mail);
  wait_for_all(driver);
  return driver->store_op.result;
}

const char *controller_driver_node(struct controller_driver *driver, const char *path)
{
  if (run_op(driver, (struct metastore_op){.kind = METASTORE_GET, .path = path}) < 0) {
    return NULL;
  }
  return driver->store_op.data ? driver->store_op.data : "";
}

const char *controller_driver_children(struct controller_driver *driver, const char *path)
{
  if (run_op(driver, (struct metastore_op){.kind = METASTORE_CHILDREN, .path = path}) < 0) {
    return NULL;
  }
  char *text = arena_strndup(&driver->arena, "", 0);
  for (size_t i = 0; i < driver->store_op.name_count; i++) {
    text = arena_printf(&driver->arena, "%s%s%s", text, i > 0 ? "," : "", driver->store_op.names[i]);
  }
  return text;
}

int controller_driver_write(struct controller_driver *driver, const char *path, const char *text, bool is_new)
{
  return run_op(driver, (struct metastore_op){.kind = is_new ? METASTORE_CREATE : METASTORE_SET,
                                              .path = path,
                                              .data = text,
                                              .size = text ? strlen(text) : 0,
                                              .version = METASTORE_ANY_VERSION});
}
