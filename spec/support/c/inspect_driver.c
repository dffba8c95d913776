// SPDX-License-Identifier: Apache-2.0
#include "inspect_driver.h"

#include <semaphore.h>
#include <string.h>

#include "base/epoch.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "event/loop.h"
#include "event/pool.h"
#include "log/log_manager.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "network/connection_list.h"
#include "network/server.h"
#include "record/build.h"
#include "replica/append.h"
#include "replica/inspect.h"
#include "replica/log_start.h"
#include "replica/manager.h"
#include "replica/partition.h"

static sem_t answered;

// ---- connections ----

static void connections_found(struct connection_list *list)
{
  (void)list;
  sem_post(&answered);
}

/// Waits outside of the epoch, as a loop does.
static void wait_for_answer(void)
{
  epoch_leave();
  while (sem_wait(&answered) != 0) {
  }
  epoch_enter();
}

void inspect_connections(struct server *server, int limit, struct connection_list *list)
{
  struct event_loop loop;
  memset(&loop, 0, sizeof loop);
  event_loop_create(&loop, "spec-asks");
  event_loop_start(&loop);
  sem_init(&answered, 0, 0);
  connection_list_gather(list, server, limit, &loop, connections_found);
  wait_for_answer();
  event_loop_stop(&loop);
  event_loop_destroy(&loop);
  sem_destroy(&answered);
}

// ---- metrics ----

/// The value of a metric of a source.
static int64_t metric_of(void (*collect)(void *arg, struct metric_samples *out), void *arg, const char *name,
                         const char *label)
{
  struct metrics metrics = {.count = 0};
  struct metric_samples samples = {.count = 0};
  metrics_add_source(&metrics, collect, arg);
  metrics_collect(&metrics, &samples);
  int64_t value = INT64_MIN;
  for (size_t i = 0; i < samples.count; i++) {
    const struct metric_sample *sample = &samples.items[i];
    if (strcmp(sample->metric->name, name) == 0 && (label == NULL || strcmp(sample->label, label) == 0)) {
      value = sample->value;
    }
  }
  metric_samples_destroy(&samples);
  return value;
}

int64_t inspect_server_metric(struct server *server, const char *name)
{
  return metric_of(server_collect, server, name, NULL);
}

// ---- replicas ----

struct inspect_driver {
  struct event_loop control;
  struct event_loop *workers[1]; ///< the control loop too
  struct pool *pool;
  struct log_manager *logs;
  struct replica_manager *replicas;
  struct metadata_cache cache;
  struct broker_config config;
  struct uuid id;
  struct mail mail;
  void (*step)(struct inspect_driver *driver);
  sem_t done;
};

static void run_step(struct mail *mail)
{
  struct inspect_driver *driver = CONTAINER_OF(mail, struct inspect_driver, mail);
  driver->step(driver);
}

/// Has the control loop do something that posts `done` sooner or later.
static void on_control(struct inspect_driver *driver, void (*step)(struct inspect_driver *driver))
{
  driver->step = step;
  driver->mail.run = run_step;
  event_loop_post(&driver->control, &driver->mail);
  epoch_leave();
  while (sem_wait(&driver->done) != 0) {
  }
  epoch_enter();
}

static void change_done(void *arg, int result)
{
  struct inspect_driver *driver = arg;
  (void)result;
  sem_post(&driver->done);
}

static void make_topic(struct inspect_driver *driver, int32_t partitions, int32_t segment_bytes, int64_t retention_ms,
                       int64_t retention_bytes)
{
  static const int32_t own = 1;
  static const int32_t other = 2;
  struct metadata_partition_spec *specs = mem_array((size_t)partitions, sizeof *specs);
  for (int32_t i = 0; i < partitions; i++) {
    const int32_t *broker = i == partitions - 1 ? &other : &own;
    specs[i] = (struct metadata_partition_spec){
        .leader = *broker, .replicas = broker, .replica_count = 1, .isr = broker, .isr_count = 1};
  }
  struct topic_config config = driver->config.topic.values;
  config.segment_bytes = segment_bytes;
  config.retention_ms = retention_ms;
  config.retention_bytes = retention_bytes;
  uuid_random(&driver->id);
  struct metadata_draft *draft = metadata_draft_new(NULL);
  metadata_draft_put_topic(draft, metadata_topic_new("t", &driver->id, 0, specs, partitions, NULL, 0, &config));
  metadata_cache_publish(&driver->cache, metadata_draft_finish(draft));
  mem_free(specs);
}

static void open_topic(struct inspect_driver *driver)
{
  const struct metadata_image *image = metadata_cache_get(&driver->cache);
  replica_manager_open(driver->replicas, (const struct metadata_topic *const *)image->topics, 1, false, change_done,
                       driver);
}

struct inspect_driver *inspect_driver_new(const char *dir, int32_t partitions, int32_t segment_bytes,
                                          int64_t retention_ms, int64_t retention_bytes)
{
  struct inspect_driver *driver = mem_zalloc(sizeof *driver);
  sem_init(&driver->done, 0, 0);
  event_loop_create(&driver->control, "spec-control");
  driver->workers[0] = &driver->control;
  driver->pool = pool_new(2);
  broker_config_create(&driver->config);
  broker_config_resolve(&driver->config);
  metadata_cache_create(&driver->cache);
  struct log_manager_config config = {.dirs = &dir,
                                      .dir_count = 1,
                                      .node_id = 1,
                                      .recovery_threads = 1,
                                      .retention_check_ms = 20000,
                                      .flush_checkpoint_ms = 3600000,
                                      .start_offset_checkpoint_ms = 3600000,
                                      .high_watermark_checkpoint_ms = 3600000,
                                      .loop = &driver->control,
                                      .pool = driver->pool};
  if (log_manager_new(&config, &driver->logs) < 0 || log_manager_claim(driver->logs, 1, "spec", "/m/luka.mdb") < 0) {
    return NULL;
  }
  struct replica_manager_options options = {.broker_id = 1,
                                            .logs = driver->logs,
                                            .pool = driver->pool,
                                            .control = &driver->control,
                                            .workers = driver->workers,
                                            .worker_count = 1};
  driver->replicas = replica_manager_new(&options);
  struct log_manager_hooks hooks;
  replica_manager_log_hooks(driver->replicas, &hooks);
  log_manager_set_hooks(driver->logs, &hooks);
  make_topic(driver, partitions, segment_bytes, retention_ms, retention_bytes);
  event_loop_start(&driver->control);
  log_manager_start(driver->logs, NULL, 0, false);
  on_control(driver, open_topic);
  return driver;
}

static struct partition *find(struct inspect_driver *driver, int32_t partition)
{
  return replica_manager_find(driver->replicas, &driver->id, partition);
}

int64_t inspect_driver_append(struct inspect_driver *driver, int32_t partition, int64_t timestamp, int32_t value_size)
{
  struct batch_options options;
  batch_options_init(&options);
  struct batch_builder builder;
  batch_builder_init(&builder, &options);
  uint8_t *value = mem_zalloc((size_t)value_size);
  struct record_input record = {.timestamp = timestamp, .key_size = -1, .value = value, .value_size = value_size};
  batch_builder_add(&builder, &record);
  uint8_t *bytes = NULL;
  size_t size = 0;
  batch_builder_finish(&builder, &bytes, &size);
  struct append_job job = {.batch = {.bytes = bytes, .size = size, .max_timestamp = timestamp}, .leader_epoch = -1};
  partition_submit(find(driver, partition), &job);
  batch_builder_destroy(&builder);
  mem_free(value);
  return job.result < 0 ? job.result : job.batch.base_offset;
}

int inspect_driver_delete_records(struct inspect_driver *driver, int32_t partition, int64_t offset)
{
  struct log_start_job start = {.offset = offset};
  log_start_submit(find(driver, partition), &start, NULL, NULL);
  return start.job.result;
}

static void run_logs(struct inspect_driver *driver)
{
  log_manager_run(driver->logs);
  sem_post(&driver->done);
}

void inspect_driver_run(struct inspect_driver *driver)
{
  on_control(driver, run_logs);
}

void inspect_driver_fail(struct inspect_driver *driver, int32_t partition)
{
  error_set(ERR_IO, "the disk is gone");
  log_manager_fail_dir(driver->logs, find(driver, partition)->log, ERR_IO);
}

static void drop_topic(struct inspect_driver *driver)
{
  const struct metadata_image *image = metadata_cache_get(&driver->cache);
  replica_manager_drop(driver->replicas, (const struct metadata_topic *const *)image->topics, 1, change_done, driver);
}

void inspect_driver_drop(struct inspect_driver *driver)
{
  on_control(driver, drop_topic);
}

static void inspection_done(struct replica_inspection *inspection)
{
  (void)inspection;
  sem_post(&answered);
}

void inspect_driver_look(struct inspect_driver *driver, const char *topic, int32_t partition,
                         struct replica_inspection *inspection)
{
  sem_init(&answered, 0, 0);
  replica_inspect(inspection, driver->replicas, &driver->cache, driver->pool, topic, partition, &driver->control,
                  inspection_done);
  wait_for_answer();
  sem_destroy(&answered);
}

int64_t inspect_driver_metric(struct inspect_driver *driver, const char *name, const char *label)
{
  return metric_of(replica_collect, driver->replicas, name, label);
}

static void pause_logs(struct inspect_driver *driver)
{
  replica_manager_pause(driver->replicas);
  log_manager_pause(driver->logs);
  sem_post(&driver->done);
}

int inspect_driver_stop(struct inspect_driver *driver)
{
  on_control(driver, pause_logs);
  event_loop_stop(&driver->control);
  pool_delete(driver->pool);
  int result = log_manager_stop(driver->logs);
  replica_manager_delete(driver->replicas);
  metadata_cache_destroy(&driver->cache);
  broker_config_destroy(&driver->config);
  event_loop_destroy(&driver->control);
  sem_destroy(&driver->done);
  mem_free(driver);
  return result;
}
