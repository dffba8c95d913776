// SPDX-License-Identifier: Apache-2.0
//
// Start and stop, in one order:
//
//   data directories locked and read -> workers, sockets bound -> metastore -> control loop: controller loads, what is
//   to be adopted is (adoption.h), topic blocks are applied, logs are opened and recovered, the image is published ->
//   script thread, hooks, consoles -> accepting -> timers
//
// Nothing is written before the sockets are bound: a start on a port that is taken leaves no trace.
//
// and back: reloads end -> hooks are told, consoles and their tasks end -> no more accepting, answers drained ->
// runners of policies end, but for those that never will -> the controller ends what it is at and refuses the rest,
// while all loops still run to hear of it -> periodic work stopped -> control -> pool -> workers -> logs closed,
// markers written -> metastore.
#include "broker/broker.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/arena.h"
#include "base/epoch.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "broker/broker_private.h"
#include "broker/file_share.h"
#include "broker/measure.h"
#include "broker/memory_share.h"
#include "broker/options.h"
#include "broker/own_configs.h"
#include "broker/reload.h"
#include "broker/scripting.h"
#include "controller/controller.h"
#include "coordinator/coordinator.h"
#include "event/loop.h"
#include "event/pool.h"
#include "log/log_manager.h"
#include "lua/config.h"
#include "lua/script.h"
#include "metadata/image.h"
#include "metadata/metastore.h"
#include "network/server.h"
#include "os/clock.h"
#include "policy/partitioners.h"
#include "policy/segments.h"
#include "policy/shared.h"
#include "replica/manager.h"

enum {
  BROKER_POOL_THREADS = 4,
  BROKER_DRAIN_MS = 5000,
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

static void broker_change_done(void *arg, int result)
{
  struct controller_change *change = arg;
  change->result = result;
  controller_change_done(change);
}

/// Makes the data directories this broker's. Known only during the load: of which cluster.
static int broker_claim(struct broker *broker)
{
  if (!broker->are_logs_claimed) {
    TRY(log_manager_claim(broker->logs, broker->id, controller_cluster_id(broker->controller),
                          broker->options->metadata));
    broker->are_logs_claimed = true;
  }
  return 0;
}

/// Deletions that a crash cut short: no log is open yet, so there are only folders.
static void broker_delete_folders(struct broker *broker, const struct controller_change *change)
{
  for (int32_t i = 0; i < change->topic_count; i++) {
    const struct metadata_topic *topic = change->topics[i];
    for (int32_t j = 0; j < topic->partition_count; j++) {
      if (log_manager_delete_found(broker->logs, topic->name, j, &topic->id) < 0) {
        slog_error("cannot delete %s-%d: %s", topic->name, j, error_last()->message);
      }
    }
  }
}

/// The controller's hook: opens and drops replicas. Control thread.
static void broker_apply(void *arg, struct controller_change *change)
{
  struct broker *broker = arg;
  if (change->is_load) {
    change->result = broker_claim(broker);
    if (change->result < 0) {
      controller_change_done(change);
      return;
    }
  }
  if (change->kind == CONTROLLER_OPEN_REPLICAS) {
    broker->are_logs_started = true;
    replica_manager_open(broker->replicas, change->topics, change->topic_count, change->is_load, broker_change_done,
                         change);
  } else if (change->kind == CONTROLLER_CONFIGURE_REPLICAS) {
    replica_manager_configure(broker->replicas, change->topics, change->topic_count, broker_change_done, change);
  } else if (change->is_load) {
    broker_delete_folders(broker, change);
    controller_change_done(change);
  } else {
    replica_manager_drop(broker->replicas, change->topics, change->topic_count, broker_change_done, change);
  }
}

/// The controller's hook: what may change while the broker runs. Control thread.
static void broker_configured(void *arg, const struct broker_config *config)
{
  struct broker *broker = arg;
  server_set_max_connections(broker->server, config->max_connections);
  log_manager_configure(broker->logs, config->num_recovery_threads_per_data_dir, config->producer_id_expiration_ms,
                        config->log_segment_delete_delay_ms);
  struct log_manager_intervals intervals = {
      .retention_check_ms = config->log_retention_check_interval_ms,
      .flush_checkpoint_ms = config->log_flush_offset_checkpoint_interval_ms,
      .start_offset_checkpoint_ms = config->log_flush_start_offset_checkpoint_interval_ms,
      .high_watermark_checkpoint_ms = config->replica_high_watermark_checkpoint_interval_ms,
  };
  log_manager_set_intervals(broker->logs, &intervals);
  struct log_cleaner_config cleaner = broker_storage_cleaner(config);
  log_manager_configure_cleaner(broker->logs, &cleaner);
}

/// The controller's hook: partitions of groups came or went, topics changed. Control thread.
static void broker_published(void *arg, const struct metadata_image *image)
{
  struct broker *broker = arg;
  coordinator_published(broker->coordinator, image);
  events_published(&broker->events, image);
}

/// The controller's hook: a topic is to have a partitioner. Control thread.
static int broker_check_partitioner(void *arg, const char *name, char *message)
{
  struct broker *broker = arg;
  return policy_check_partitioner(policy_cache_get(&broker->policies.cache), name, message, CONFIG_MESSAGE_SIZE);
}

static void broker_loaded(void *arg, int result)
{
  struct broker *broker = arg;
  if (result == 0) {
    log_manager_run(broker->logs);
  }
  broker_step_done(broker, result);
}

static void broker_load_step(struct mail *mail)
{
  struct broker *broker = CONTAINER_OF(mail, struct broker, mail);
  controller_load(broker->controller, broker_loaded, broker);
}

/// The controller is at nothing any more.
static void broker_controller_stopped(void *arg)
{
  struct broker *broker = arg;
  if (broker->are_logs_started) {
    replica_manager_pause(broker->replicas);
    log_manager_pause(broker->logs);
  }
  broker_step_done(broker, 0);
}

static void broker_stop_controller_step(struct mail *mail)
{
  struct broker *broker = CONTAINER_OF(mail, struct broker, mail);
  controller_stop(broker->controller, broker_controller_stopped, broker);
}

// ---- start ----

int broker_add_texts(int result, const char *before, const char *behind)
{
  struct error_detail detail = *error_last();
  return error_record(result, 0, detail.file, detail.line, "%s%s%s", before, detail.message, behind);
}

static int broker_open_server(struct broker *broker)
{
  const struct broker_options *options = broker->options;
  const struct broker_config *config = &options->config->broker;
  struct server_options settings = {
      .workers = options->workers,
      .max_request_bytes = config->socket_request_max_bytes,
      // 0 would be the server's own default.
      .max_idle_ms = config->connections_max_idle_ms == 0 ? 1 : config->connections_max_idle_ms,
      .max_connections = config->max_connections,
      .max_per_ip = config->max_connections_per_ip,
      .ip_overrides = config->text[BROKER_CONFIG_max_connections_per_ip_overrides],
      .send_buffer_bytes = config->socket_send_buffer_bytes,
      .receive_buffer_bytes = config->socket_receive_buffer_bytes,
      .backlog = config->socket_listen_backlog_size,
  };
  TRY(memory_share(config, &settings.max_request_memory, &settings.max_answer_memory));
  settings.connection_room = file_share(config, options->workers);
  struct connection_callbacks callbacks;
  broker->api.broker_id = broker->id;
  broker->api.metadata = &broker->metadata;
  broker->api.policies = &broker->policies.cache;
  broker->api.pool = broker->pool;
  api_callbacks(&broker->api, &callbacks);
  TRY(server_new(&settings, &callbacks, &broker->server));
  for (int i = 0; i < options->listen_count; i++) {
    int result =
        server_bind(broker->server, options->listen[i], i < options->advertise_count ? options->advertise[i] : NULL);
    if (result == ERR_BUSY) {
      return broker_add_texts(
          result, "", "; stop the other program or change listen (config.lua, or --set listen=127.0.0.1:19092)");
    }
    TRY(result);
    const struct listener *listener = server_listener(broker->server, i);
    broker->endpoints[i] = (struct metadata_endpoint){
        .listener = listener->advertised.name,
        .protocol = "PLAINTEXT",
        .host = listener->advertised.host,
        .port = listener->advertised.port,
    };
  }
  own_configs_create(&broker->own_configs, broker->server, options->listen_count, broker->id, options->data,
                     options->data_count);
  broker->api.own_configs = broker->own_configs.entries;
  broker->api.own_config_count = OWN_CONFIGS_COUNT;
  return 0;
}

static void broker_make_replicas(struct broker *broker)
{
  int workers = server_worker_count(broker->server);
  for (int i = 0; i < workers; i++) {
    broker->worker_loops[i] = &server_worker(broker->server, i)->loop;
  }
  struct replica_manager_options settings = {
      .broker_id = broker->id,
      .logs = broker->logs,
      .is_adopting = broker->adoption.is_adopting,
      .pool = broker->pool,
      .control = &broker->control,
      .workers = broker->worker_loops,
      .worker_count = workers,
  };
  broker->replicas = replica_manager_new(&settings);
  policies_start(&broker->policies, broker->options->config, workers, &broker->control);
  broker->api.runners = broker->policies.runners;
  broker->api.hooks = broker->policies.hooks;
  struct log_manager_hooks hooks;
  replica_manager_log_hooks(broker->replicas, &hooks);
  hooks.retention = policy_segments_retention;
  hooks.retention_arg = broker->policies.segments;
  broker->events =
      (struct events){.hooks = broker->policies.hooks, .control = &broker->control, .metadata = &broker->metadata};
  events_of_logs(&broker->events, &hooks);
  log_manager_set_hooks(broker->logs, &hooks);
  struct coordinator_options groups = {
      .broker_id = broker->id,
      .metadata = &broker->metadata,
      .replicas = broker->replicas,
      .pool = broker->pool,
      .workers = broker->worker_loops,
      .worker_count = workers,
  };
  events_of_groups(&broker->events, &groups);
  broker->coordinator = coordinator_new(&groups);
  atomic_store_explicit(&broker->api.coordinator, broker->coordinator, memory_order_release);
  broker->api.replicas = broker->replicas;
  broker->api.logs = broker->logs;
}

static int broker_load(struct broker *broker)
{
  const struct lua_config *config = broker->options->config;
  const char *cluster_id = broker->identity.cluster_id;
  int32_t view_count = 0;
  const struct topic_view *views = options_views(config, &broker->arena, &view_count);
  struct controller_settings settings = {
      .broker_id = broker->id,
      .rack = config->broker.text[BROKER_CONFIG_broker_rack],
      .endpoints = broker->endpoints,
      .endpoint_count = broker->options->listen_count,
      .cluster_id = cluster_id[0] != '\0' ? cluster_id : NULL,
      .is_clean_start = log_manager_was_clean(broker->logs),
      .static_topics = options_topics(config, &broker->arena),
      .static_topic_count = config->topic_count,
      .views = views,
      .view_count = view_count,
      .adoption = broker->adoption.is_adopting ? &broker->adoption.found : NULL,
      .store = broker->store,
      .cache = &broker->metadata,
      .config = &config->broker,
      .loop = &broker->control,
      .hooks = {.arg = broker,
                .apply = broker_apply,
                .configured = broker_configured,
                .check_partitioner = broker_check_partitioner,
                .published = broker_published},
  };
  broker->controller = controller_new(&settings);
  broker->api.controller = broker->controller;
  struct reloader_settings reloader = {.options = broker->options,
                                       .control = &broker->control,
                                       .pool = broker->pool,
                                       .controller = broker->controller,
                                       .logs = broker->logs,
                                       .policies = &broker->policies,
                                       .events = &broker->events,
                                       .server = broker->server};
  broker->reloader = reloader_new(&reloader);
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
  if (broker->pool == NULL) {
    return error_last()->code;
  }
  TRY(event_loop_create(&broker->control, "control"));
  broker->has_control = true;
  metadata_cache_create(&broker->metadata);
  broker->has_metadata = true;
  TRY(broker_storage_open_logs(broker));
  TRY(broker_storage_check_identity(broker));
  TRY(broker_open_server(broker));
  TRY(broker_storage_open_metastore(broker));
  TRY(broker_storage_decide_adoption(broker));
  broker_make_replicas(broker);
  TRY(broker_load(broker));
  measure_add(&broker->measure, &broker->api, broker->server, broker->replicas, broker->logs, broker->coordinator,
              broker->pool, broker->policies.runners);
  broker->scripting = (struct scripting){
      .options = broker->options,
      .broker_id = broker->id,
      .cluster_id = controller_cluster_id(broker->controller),
      .server = broker->server,
      .probes = &broker->api.probes,
      .hooks = broker->policies.hooks,
      .reloader = broker->reloader,
      .inspect = {.pool = broker->pool,
                  .metadata = &broker->metadata,
                  .replicas = broker->replicas,
                  .server = broker->server,
                  .metrics = &broker->measure.metrics,
                  .coordinator = broker->coordinator,
                  .policies = &broker->policies.cache},
  };
  shared_set_memory(broker->options->config->lua_shared_memory_bytes);
  TRY(scripting_start(&broker->scripting, &broker->script));
  TRY(server_accept(broker->server));
  scripting_serve(&broker->scripting, broker->script);
  events_serve(&broker->events);
  reloader_start(broker->reloader, broker->script);
  return 0;
}

int broker_start(const struct broker_options *options, struct broker **broker)
{
  int64_t start_ns = clock_mono_ns();
  struct broker *made = mem_zalloc(sizeof *made);
  epoch_register(&made->epoch);
  made->options = options;
  measure_begin(&made->measure);
  sem_init(&made->step, 0, 0);
  int result = broker_build(made);
  if (result < 0) {
    struct error_detail error = *error_last();
    broker_stop(made);
    return error_record(result, 0, error.file, error.line, "%s", error.message);
  }
  slog_info("broker %d of cluster %s is up after %lld ms", made->id, controller_cluster_id(made->controller),
            (long long)((clock_mono_ns() - start_ns) / 1000000));
  broker_announce(made);
  *broker = made;
  return 0;
}

void broker_reload(struct broker *broker)
{
  reloader_signal(broker->reloader);
}

// ---- stop ----

int broker_stop(struct broker *broker)
{
  if (broker->is_control_running) {
    reloader_stop(broker->reloader);
  }
  scripting_stop(&broker->scripting);
  script_stop(broker->script);
  if (broker->server != NULL) {
    policies_hurry(&broker->policies, BROKER_DRAIN_MS);
    server_drain(broker->server, BROKER_DRAIN_MS);
  }
  policies_stop(&broker->policies);
  if (broker->is_control_running) {
    broker_run_step(broker, broker_stop_controller_step);
    event_loop_stop(&broker->control);
  }
  if (broker->are_logs_started) {
    log_manager_end_cleaner(broker->logs);
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
  policies_destroy(&broker->policies);
  script_delete(broker->script);
  reloader_delete(broker->reloader);
  controller_delete(broker->controller);
  coordinator_delete(broker->coordinator);
  replica_manager_delete(broker->replicas);
  if (broker->store != NULL) {
    metastore_close(broker->store);
  }
  events_destroy(&broker->events);
  if (broker->has_metadata) {
    metadata_cache_destroy(&broker->metadata);
  }
  if (broker->has_control) {
    event_loop_destroy(&broker->control);
  }
  server_delete(broker->server);
  own_configs_destroy(&broker->own_configs);
  adoption_destroy(&broker->adoption);
  arena_destroy(&broker->arena);
  // Twice: freeing a log retires its files.
  epoch_collect();
  epoch_collect();
  epoch_unregister();
  sem_destroy(&broker->step);
  mem_free(broker);
  return result;
}
