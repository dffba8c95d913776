// SPDX-License-Identifier: Apache-2.0
//
// Start and stop, in one order:
//
//   data directories locked and read -> metastore -> workers, sockets bound -> control loop: controller loads, logs are
//   opened and recovered, the image is published -> accepting
//
// and back: no more accepting, answers drained -> periodic work stopped -> control -> pool -> workers -> logs closed,
// markers written -> metastore.
#include "broker/broker.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/epoch.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "broker/options.h"
#include "controller/controller.h"
#include "event/loop.h"
#include "event/pool.h"
#include "log/log_manager.h"
#include "lua/config.h"
#include "metadata/image.h"
#include "metadata/metastore.h"
#include "metadata/metastore_local.h"
#include "network/server.h"
#include "os/clock.h"
#include "replica/manager.h"

enum { BROKER_POOL_THREADS = 4, BROKER_DRAIN_MS = 5000 };

struct broker {
  struct event_loop *worker_loops[SERVER_WORKERS_MAX]; ///< the workers' loops, for the replicas
  struct epoch_thread epoch;            ///< the main thread's, for closing logs
  const struct broker_options *options; ///< borrowed
  struct event_loop control;            ///< the control thread's loop
  bool has_control;                     ///< `control` was created
  bool is_control_running;              ///< its thread was started
  struct pool *pool;                    ///< threads that may wait for disks
  struct log_manager *logs;             ///< data directories
  bool are_logs_started;                ///< logs were opened: they have to be closed
  struct metastore *store;              ///< metadata on disk
  struct metadata_cache metadata;       ///< the image in memory
  bool has_metadata;                    ///< `metadata` was created
  struct replica_manager *replicas;     ///< partitions
  struct controller *controller;        ///< topic changes
  struct server *server;                ///< connections
  struct api api;                       ///< what handlers work with
  struct metadata_endpoint endpoints[SERVER_LISTENERS_MAX]; ///< what this broker advertises
  struct mail mail;                     ///< carries steps to the control thread
  sem_t step;                           ///< posted when such a step is done
  int step_result;                      ///< its result
  struct error_detail step_error;       ///< its error
};

// ---- steps on the control thread ----

static void broker_step_done(struct broker *broker, int result)
{
  broker->step_result = result;
  broker->step_error = *error_last();
  sem_post(&broker->step);
}

/// Runs `step` on the control thread and waits until it calls broker_step_done().
static int broker_run_step(struct broker *broker, mail_fn step)
{
  broker->mail.run = step;
  event_loop_post(&broker->control, &broker->mail);
  while (sem_wait(&broker->step) != 0) {
  }
  if (broker->step_result < 0) {
    const struct error_detail *error = &broker->step_error;
    return error_record(broker->step_result, 0, error->file, error->line, "%s", error->message);
  }
  return 0;
}

static void broker_change_done(void *arg)
{
  controller_change_done(arg);
}

/// The controller's hook: opens and drops replicas. Control thread.
static void broker_apply(void *arg, struct controller_change *change)
{
  struct broker *broker = arg;
  if (change->kind == CONTROLLER_DELETE_REPLICAS) {
    replica_manager_drop(broker->replicas, change->topics, change->topic_count, broker_change_done, change);
    return;
  }
  if (change->is_load) {
    // Known only now: whose directories these are to be.
    int result = log_manager_claim(broker->logs, broker->options->id, controller_cluster_id(broker->controller),
                                   broker->options->metadata);
    if (result < 0) {
      broker->step_result = result;
      broker->step_error = *error_last();
      controller_change_done(change);
      return;
    }
    broker->are_logs_started = true;
  }
  replica_manager_open(broker->replicas, change->topics, change->topic_count, change->is_load, broker_change_done,
                       change);
}

static void broker_loaded(void *arg, int result)
{
  struct broker *broker = arg;
  if (result == 0 && broker->step_result < 0) {
    sem_post(&broker->step); // broker_apply() has left the error
    return;
  }
  if (result == 0) {
    log_manager_run(broker->logs);
  }
  broker_step_done(broker, result);
}

static void broker_load_step(struct mail *mail)
{
  struct broker *broker = CONTAINER_OF(mail, struct broker, mail);
  broker->step_result = 0;
  controller_load(broker->controller, broker_loaded, broker);
}

static void broker_pause_step(struct mail *mail)
{
  struct broker *broker = CONTAINER_OF(mail, struct broker, mail);
  log_manager_pause(broker->logs);
  broker_step_done(broker, 0);
}

// ---- start ----

static int broker_open_logs(struct broker *broker)
{
  const struct broker_options *options = broker->options;
  const struct broker_config *config = &options->config->broker;
  struct log_manager_config settings = {
      .dirs = options->data,
      .dir_count = (size_t)options->data_count,
      .node_id = options->id,
      .metadata = options->metadata,
      .recovery_threads = config->num_recovery_threads_per_data_dir,
      .retention_check_ms = config->log_retention_check_interval_ms,
      .flush_checkpoint_ms = config->log_flush_offset_checkpoint_interval_ms,
      .start_offset_checkpoint_ms = config->log_flush_start_offset_checkpoint_interval_ms,
      .high_watermark_checkpoint_ms = config->replica_high_watermark_checkpoint_interval_ms,
      .file_delete_delay_ms = config->log_segment_delete_delay_ms,
      .loop = &broker->control,
      .pool = broker->pool,
  };
  return log_manager_new(&settings, &broker->logs);
}

static int broker_open_metastore(struct broker *broker)
{
  const char *path = broker->options->metadata;
  struct log_identity identity;
  log_manager_identity(broker->logs, &identity);
  bool exists = access(path, F_OK) == 0;
  if (!exists && identity.metadata != NULL) {
    return error_set(ERR_CONFIG, "metadata %s is missing, but the data directories belong to it: restore the file", path);
  }
  if (identity.is_foreign) {
    return error_set(ERR_CONFIG, "a data directory holds partitions that another broker wrote: taking them over is not "
                                 "supported yet");
  }
  return metastore_local_open(path, &broker->control, broker->pool, &broker->store, NULL);
}

static int broker_open_server(struct broker *broker)
{
  const struct broker_options *options = broker->options;
  const struct broker_config *config = &options->config->broker;
  struct server_options settings = {
      .workers = options->workers,
      .max_request_bytes = config->socket_request_max_bytes,
      .max_idle_ms = config->connections_max_idle_ms,
  };
  struct connection_callbacks callbacks;
  broker->api.config = config;
  broker->api.broker_id = options->id;
  broker->api.metadata = &broker->metadata;
  broker->api.pool = broker->pool;
  api_callbacks(&broker->api, &callbacks);
  TRY(server_new(&settings, &callbacks, &broker->server));
  for (int i = 0; i < options->listen_count; i++) {
    TRY(server_bind(broker->server, options->listen[i], i < options->advertise_count ? options->advertise[i] : NULL));
    const struct listener *listener = server_listener(broker->server, i);
    broker->endpoints[i] = (struct metadata_endpoint){
        .listener = listener->advertised.name,
        .protocol = "PLAINTEXT",
        .host = listener->advertised.host,
        .port = listener->advertised.port,
    };
  }
  return 0;
}

static void broker_make_replicas(struct broker *broker)
{
  int workers = server_worker_count(broker->server);
  for (int i = 0; i < workers; i++) {
    broker->worker_loops[i] = &server_worker(broker->server, i)->loop;
  }
  struct replica_manager_options settings = {
      .broker_id = broker->options->id,
      .logs = broker->logs,
      .pool = broker->pool,
      .control = &broker->control,
      .workers = broker->worker_loops,
      .worker_count = workers,
      .reserve_bytes = broker->options->log_dir_reserve_bytes,
  };
  broker->replicas = replica_manager_new(&settings);
  struct log_manager_hooks hooks;
  replica_manager_log_hooks(broker->replicas, &hooks);
  log_manager_set_hooks(broker->logs, &hooks);
  broker->api.replicas = broker->replicas;
}

static int broker_load(struct broker *broker)
{
  struct log_identity identity;
  log_manager_identity(broker->logs, &identity);
  struct controller_settings settings = {
      .broker_id = broker->options->id,
      .endpoints = broker->endpoints,
      .endpoint_count = broker->options->listen_count,
      .cluster_id = identity.cluster_id[0] != '\0' ? identity.cluster_id : NULL,
      .store = broker->store,
      .cache = &broker->metadata,
      .config = &broker->options->config->broker,
      .loop = &broker->control,
      .hooks = {.arg = broker, .apply = broker_apply},
  };
  broker->controller = controller_new(&settings);
  broker->api.controller = broker->controller;
  TRY(event_loop_start(&broker->control));
  broker->is_control_running = true;
  return broker_run_step(broker, broker_load_step);
}

static void broker_announce(const struct broker *broker)
{
  for (int i = 0; i < server_listener_count(broker->server); i++) {
    char on[LISTENER_ADDRESS_SIZE];
    char as[LISTENER_ADDRESS_SIZE];
    const struct listener *listener = server_listener(broker->server, i);
    listener_format(&listener->address, on);
    listener_format(&listener->advertised, as);
    slog_info("listening on %s, advertised as %s", on, as);
  }
}

static int broker_build(struct broker *broker)
{
  broker->pool = pool_new(BROKER_POOL_THREADS);
  TRY(event_loop_create(&broker->control, "control"));
  broker->has_control = true;
  metadata_cache_create(&broker->metadata);
  broker->has_metadata = true;
  TRY(broker_open_logs(broker));
  TRY(broker_open_metastore(broker));
  TRY(broker_open_server(broker));
  broker_make_replicas(broker);
  TRY(broker_load(broker));
  return server_accept(broker->server);
}

int broker_start(const struct broker_options *options, struct broker **result)
{
  int64_t start_ns = clock_mono_ns();
  struct broker *broker = mem_zalloc(sizeof *broker);
  epoch_register(&broker->epoch);
  broker->options = options;
  sem_init(&broker->step, 0, 0);
  int built = broker_build(broker);
  if (built < 0) {
    struct error_detail error = *error_last();
    broker_stop(broker);
    return error_record(built, 0, error.file, error.line, "%s", error.message);
  }
  broker_announce(broker);
  slog_info("broker %d of cluster %s is up after %lld ms", options->id, controller_cluster_id(broker->controller),
            (long long)((clock_mono_ns() - start_ns) / 1000000));
  *result = broker;
  return 0;
}

// ---- stop ----

int broker_stop(struct broker *broker)
{
  if (broker->server != NULL) {
    server_drain(broker->server, BROKER_DRAIN_MS);
  }
  if (broker->are_logs_started) {
    broker_run_step(broker, broker_pause_step);
  }
  if (broker->is_control_running) {
    event_loop_stop(&broker->control);
  }
  if (broker->pool != NULL) {
    pool_delete(broker->pool);
  }
  if (broker->server != NULL) {
    server_stop(broker->server);
  }
  int result = 0;
  if (broker->are_logs_started) {
    epoch_enter();
    result = log_manager_stop(broker->logs);
    epoch_leave();
  } else if (broker->logs != NULL) {
    log_manager_abandon(broker->logs);
  }
  controller_delete(broker->controller);
  replica_manager_delete(broker->replicas);
  if (broker->store != NULL) {
    metastore_close(broker->store);
  }
  if (broker->has_metadata) {
    metadata_cache_destroy(&broker->metadata);
  }
  if (broker->has_control) {
    event_loop_destroy(&broker->control);
  }
  server_delete(broker->server);
  epoch_collect();
  epoch_unregister();
  sem_destroy(&broker->step);
  mem_free(broker);
  return result;
}
