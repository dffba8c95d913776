// SPDX-License-Identifier: Apache-2.0
#include "broker/reload.h"

#include <semaphore.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "broker/events.h"
#include "broker/memory_share.h"
#include "broker/options.h"
#include "broker/policies.h"
#include "controller/controller.h"
#include "event/loop.h"
#include "event/pool.h"
#include "log/log_manager.h"
#include "lua/config.h"
#include "lua/script.h"
#include "network/server.h"
#include "policy/shared.h"

/// Owner: the control thread; `wanted`, `limits` and the report are the pool's while it evaluates.
struct reloader {
  struct reloader_settings settings; ///< as given
  struct lua_config *running;        ///< put in force last, owned; the options' at first
  struct list line;                  ///< requests that wait
  struct reload_request *current;    ///< the one under way, or NULL
  struct script *script;             ///< whose limits may change, or NULL
  bool is_started;                   ///< requests are worked on
  bool is_stopping;                  ///< no more
  struct mail start_mail;            ///< carries reloader_start() to the control loop
  struct mail stop_mail;             ///< the same for reloader_stop()
  sem_t stopped;                     ///< posted when nothing is under way any more
  struct pool_job job;               ///< evaluates
  struct lua_config *wanted;         ///< what was read, owned; NULL: nothing
  struct server_limits_read *limits; ///< what was read of limits, owned; NULL: they are as before
  struct script_load load;           ///< has hooks, timers and placement evaluated
  struct controller_reload change;   ///< what the controller does
};

static void reload_next(struct reloader *reloader);

struct reloader *reloader_new(const struct reloader_settings *settings)
{
  struct reloader *reloader = mem_zalloc(sizeof *reloader);
  reloader->settings = *settings;
  reloader->running = (struct lua_config *)settings->options->config;
  list_create(&reloader->line);
  sem_init(&reloader->stopped, 0, 0);
  return reloader;
}

static void reload_free_config(const struct reloader *reloader, struct lua_config *config)
{
  if (config != NULL && config != reloader->settings.options->config) {
    lua_config_destroy(config);
    mem_free(config);
  }
}

void reloader_delete(struct reloader *reloader)
{
  if (reloader != NULL) {
    CHECK(reloader->current == NULL && list_is_empty(&reloader->line));
    reload_free_config(reloader, reloader->running);
    sem_destroy(&reloader->stopped);
    mem_free(reloader);
  }
}

// ---- the line ----

static void reload_deliver(struct mail *mail)
{
  struct reload_request *request = CONTAINER_OF(mail, struct reload_request, mail);
  request->done(request);
}

static void reload_answer(struct reload_request *request)
{
  request->mail.run = reload_deliver;
  if (request->reply != NULL) {
    event_loop_post(request->reply, &request->mail);
  } else {
    request->done(request);
  }
}

/// Whether a request need not be worked on, as one that waits will do.
static bool reload_is_covered(const struct reloader *reloader, const struct reload_request *request)
{
  LIST_EACH(&reloader->line, node) {
    if (request->is_optional && CONTAINER_OF(node, struct reload_request, node)->is_optional) {
      return true;
    }
  }
  return false;
}

static void reload_arrive(struct mail *mail)
{
  struct reload_request *request = CONTAINER_OF(mail, struct reload_request, mail);
  struct reloader *reloader = request->reloader;
  if (reloader->is_stopping) {
    reload_report_fail(&request->report, "the broker is stopping");
    reload_answer(request);
  } else if (reload_is_covered(reloader, request)) {
    reload_answer(request);
  } else {
    list_append(&reloader->line, &request->node);
    reload_next(reloader);
  }
}

void reloader_submit(struct reloader *reloader, struct reload_request *request)
{
  request->reloader = reloader;
  request->report = (struct reload_report){0};
  request->mail.run = reload_arrive;
  event_loop_post(reloader->settings.control, &request->mail);
}

static void reload_signal_done(struct reload_request *request)
{
  reload_report_destroy(&request->report);
  mem_free(request);
}

void reloader_signal(struct reloader *reloader)
{
  struct reload_request *request = mem_zalloc(sizeof *request);
  request->is_optional = true;
  request->done = reload_signal_done;
  reloader_submit(reloader, request);
}

static void reload_on_start(struct mail *mail)
{
  struct reloader *reloader = CONTAINER_OF(mail, struct reloader, start_mail);
  reloader->is_started = true;
  reload_next(reloader);
}

void reloader_start(struct reloader *reloader, struct script *script)
{
  reloader->script = script;
  reloader->start_mail.run = reload_on_start;
  event_loop_post(reloader->settings.control, &reloader->start_mail);
}

static void reload_on_stop(struct mail *mail)
{
  struct reloader *reloader = CONTAINER_OF(mail, struct reloader, stop_mail);
  reloader->is_stopping = true;
  while (!list_is_empty(&reloader->line)) {
    struct reload_request *request = CONTAINER_OF(reloader->line.next, struct reload_request, node);
    list_remove(&request->node);
    reload_report_fail(&request->report, "the broker is stopping");
    reload_answer(request);
  }
  if (reloader->current == NULL) {
    sem_post(&reloader->stopped);
  }
}

void reloader_stop(struct reloader *reloader)
{
  reloader->stop_mail.run = reload_on_stop;
  event_loop_post(reloader->settings.control, &reloader->stop_mail);
  while (sem_wait(&reloader->stopped) != 0) {
  }
}

/// Ends the current request and turns to the next.
static void reload_finish(struct reloader *reloader)
{
  struct reload_request *request = reloader->current;
  reload_free_config(reloader, reloader->wanted);
  server_drop_limits(reloader->limits);
  reloader->wanted = NULL;
  reloader->limits = NULL;
  reloader->current = NULL;
  reload_answer(request);
  if (reloader->is_stopping) {
    sem_post(&reloader->stopped);
  } else {
    reload_next(reloader);
  }
}

static void reload_refuse(struct reloader *reloader)
{
  reload_report_log(&reloader->current->report, reloader->settings.options->config_file);
  reload_finish(reloader);
}

// ---- reading ----

static bool reload_is_other(const struct broker_config *running, const struct broker_config *wanted,
                            enum broker_config_index index)
{
  const char *before = running->layers[BROKER_LAYER_STATIC][index];
  const char *after = wanted->layers[BROKER_LAYER_STATIC][index];
  return before == NULL || after == NULL ? before != after : strcmp(before, after) != 0;
}

/// The configs of struct server_limits.
static const enum broker_config_index reload_limits[] = {
    BROKER_CONFIG_max_connections_per_ip, BROKER_CONFIG_max_connections_per_ip_overrides,
    BROKER_CONFIG_queued_max_request_bytes, BROKER_CONFIG_luka_queued_max_response_bytes};
enum { RELOAD_LIMITS = sizeof reload_limits / sizeof reload_limits[0] };

/// Says why limits were refused. The evaluation has seen to all but whether there are such hosts.
static void reload_blame(struct reload_report *report, const struct lua_config *config)
{
  const char *place = config->places[BROKER_CONFIG_max_connections_per_ip_overrides];
  reload_report_fail(report, "%s: %s", place != NULL ? place : "--set", error_last()->message);
}

/// Reads the limits of connections and memory, if they are other than before: names of hosts may have to be looked up.
static int reload_read_limits(struct reloader *reloader)
{
  const struct broker_config *config = &reloader->wanted->broker;
  struct server_limits limits = {.max_per_ip = config->max_connections_per_ip,
                                 .ip_overrides = config->text[BROKER_CONFIG_max_connections_per_ip_overrides]};
  TRY(memory_share(config, &limits.max_request_memory, &limits.max_answer_memory));
  for (int i = 0; i < RELOAD_LIMITS; i++) {
    if (reload_is_other(&reloader->running->broker, config, reload_limits[i])) {
      return server_read_limits(&limits, &reloader->limits);
    }
  }
  return 0;
}

/// On the pool.
static void reload_evaluate(struct pool_job *job)
{
  struct reloader *reloader = CONTAINER_OF(job, struct reloader, job);
  const struct broker_options *options = reloader->settings.options;
  struct reload_report *report = &reloader->current->report;
  struct lua_config *config = mem_zalloc(sizeof *config);
  struct lua_config_error error;
  if (lua_config_reload(options->config_file, options->sets, options->set_count, config, &error) < 0) {
    reload_report_fail(report, "%s", error.message);
    mem_free(error.trace);
    mem_free(config);
    return;
  }
  reloader->wanted = config;
  if (reload_read_limits(reloader) < 0) {
    reload_blame(report, config);
  }
}

static void reload_changed(struct controller_reload *change);

/// The configuration is right: the controller is next.
static void reload_change(struct reloader *reloader)
{
  struct reload_report *report = &reloader->current->report;
  int32_t view_count = 0;
  const struct topic_view *views = options_views(reloader->wanted, &report->arena, &view_count);
  reloader->change = (struct controller_reload){
      .arena = &report->arena,
      .config = &reloader->wanted->broker,
      .topics = options_topics(reloader->wanted, &report->arena),
      .topic_count = reloader->wanted->topic_count,
      .views = views,
      .view_count = view_count,
      .done = reload_changed,
  };
  controller_reload(reloader->settings.controller, &reloader->change);
}

/// Hooks, timers and placement have been evaluated on the script thread, or cannot be.
static void reload_loaded(struct script_load *load)
{
  struct reloader *reloader = CONTAINER_OF(load, struct reloader, load);
  if (load->error[0] != '\0') {
    reload_report_fail(&reloader->current->report, "%s", load->error);
    reload_refuse(reloader);
  } else {
    reload_change(reloader);
  }
}

/// Back on the control loop: the configuration has been read, or has an error.
static void reload_evaluated(struct pool_job *job)
{
  struct reloader *reloader = CONTAINER_OF(job, struct reloader, job);
  if (reloader->current->report.error != NULL) {
    reload_refuse(reloader);
  } else if (reloader->script != NULL) {
    reloader->load.reply = reloader->settings.control;
    reloader->load.done = reload_loaded;
    script_load(reloader->script, reloader->wanted->policies, &reloader->load);
  } else {
    reload_change(reloader);
  }
}

static void reload_next(struct reloader *reloader)
{
  if (!reloader->is_started || reloader->current != NULL || list_is_empty(&reloader->line)) {
    return;
  }
  struct reload_request *request = CONTAINER_OF(reloader->line.next, struct reload_request, node);
  list_remove(&request->node);
  reloader->current = request;
  pool_submit_long(reloader->settings.pool, &reloader->job, reload_evaluate, reloader->settings.control,
                   reload_evaluated);
}

// ---- in force ----

/// The controller is through: the rest, which cannot fail.
static void reload_changed(struct controller_reload *change)
{
  struct reloader *reloader = CONTAINER_OF(change, struct reloader, change);
  const struct broker_options *options = reloader->settings.options;
  struct reload_report *report = &reloader->current->report;
  if (change->error != NULL) {
    reload_report_fail(report, "%s", change->error);
    if (reloader->script != NULL) {
      script_discard(reloader->script);
    }
    reload_refuse(reloader);
    return;
  }
  reload_report_keys(report, options->config, reloader->running, reloader->wanted, options->has_log_level);
  reload_report_configs(report, change->before, change->after, reloader->running, reloader->wanted);
  reload_report_topics(report, reloader->running, reloader->wanted, change->blocks);
  reload_report_policies(report, reloader->running, reloader->wanted);
  reload_report_order(report);
  broker_config_unref(change->before);
  broker_config_unref(change->after);
  if (reloader->limits != NULL) {
    server_apply_limits(reloader->settings.server, reloader->limits);
    reloader->limits = NULL;
  }
  policies_reload(reloader->settings.policies, reloader->wanted);
  shared_set_memory(reloader->wanted->lua_shared_memory_bytes);
  log_manager_set_reserve(reloader->settings.logs, reloader->wanted->log_dir_reserve_bytes);
  if (reloader->script != NULL) {
    script_commit(reloader->script);
    script_set_limits(reloader->script, (size_t)reloader->wanted->lua_memory_bytes, reloader->wanted->lua_budget_ms);
  }
  enum slog_level level = reloader->wanted->log_level >= 0 ? (enum slog_level)reloader->wanted->log_level : SLOG_INFO;
  if (!options->has_log_level && slog_is_on(level)) {
    slog_set_level(level);
  }
  for (int i = 0; i < reloader->wanted->warning_count; i++) {
    slog_warn("%s", reloader->wanted->warnings[i]);
  }
  reload_report_log(report, options->config_file);
  events_reloaded(reloader->settings.events, options->config_file);
  if (!options->has_log_level) {
    slog_set_level(level); // less than before: after what the reload has to say
  }
  reload_free_config(reloader, reloader->running);
  reloader->running = reloader->wanted;
  reloader->wanted = NULL;
  reload_finish(reloader);
}
