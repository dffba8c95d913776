// SPDX-License-Identifier: Apache-2.0
#include "broker/scripting.h"

#include <semaphore.h>
#include <stddef.h>

#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "base/version.h"
#include "broker/options.h"
#include "broker/reload.h"
#include "lua/script.h"
#include "policy/hooks.h"
#include "network/server.h"

static int scripting_connect(void *arg, int *fd)
{
  const struct scripting *parts = arg;
  if (!atomic_load(&parts->is_serving)) {
    return error_set(ERR_AGAIN, "the broker is starting");
  }
  return server_attach(parts->server, fd);
}

static void scripting_ask_stop(void *arg)
{
  const struct scripting *parts = arg;
  parts->options->ask_stop();
}

/// A reload that Lua waits for.
struct scripting_reload {
  struct reload_request base;     ///< what is asked for
  struct script_request *request; ///< who waits
};

/// On the control thread.
static void scripting_reloaded(struct reload_request *base)
{
  struct scripting_reload *reload = CONTAINER_OF(base, struct scripting_reload, base);
  const char *error = base->report.error;
  char *answer = error != NULL ? mem_strdup(error) : reload_report_json(&base->report);
  script_request_done(reload->request, error != NULL ? ERR_CONFIG : 0, answer);
  reload_report_destroy(&base->report);
  mem_free(reload);
}

static void scripting_run_reload(void *arg, struct script_request *request)
{
  const struct scripting *parts = arg;
  struct scripting_reload *reload = mem_zalloc(sizeof *reload);
  reload->base.done = scripting_reloaded;
  reload->request = request;
  reloader_submit(parts->reloader, &reload->base);
}

static void scripting_wake(void *arg)
{
  script_wake(arg);
}

/// An evaluation that the main thread waits for.
struct scripting_load {
  struct script_load base; ///< what is asked for
  struct script *script;   ///< who does it
  sem_t done;              ///< posted when it has ended
};

/// On the script thread.
static void scripting_loaded(struct script_load *base)
{
  struct scripting_load *load = CONTAINER_OF(base, struct scripting_load, base);
  if (base->error[0] == '\0') {
    script_commit_here(load->script);
  }
  sem_post(&load->done);
}

/// Puts the functions of the configuration in force.
static int scripting_load(const struct scripting *parts, struct script *script)
{
  struct scripting_load load = {.base.done = scripting_loaded, .script = script};
  sem_init(&load.done, 0, 0);
  script_load(script, parts->options->config->policies, &load.base);
  while (sem_wait(&load.done) != 0) {
  }
  sem_destroy(&load.done);
  if (load.base.error[0] != '\0') {
    return error_set(ERR_SCRIPT, "%s", load.base.error);
  }
  return 0;
}

void scripting_serve(struct scripting *parts, struct script *script)
{
  atomic_store(&parts->is_serving, true);
  script_serve(script);
  if (hooks_has(parts->hooks, HOOK_BROKER_START)) {
    struct hook_told *told = hook_told_new(HOOK_BROKER_START);
    hook_add_number(&told->event, "broker", parts->broker_id);
    hook_add_text(&told->event, "cluster", parts->cluster_id);
    hooks_tell(parts->hooks, told);
  }
}

void scripting_stop(struct scripting *parts)
{
  if (parts->hooks == NULL) {
    return;
  }
  if (atomic_load(&parts->is_serving) && hooks_has(parts->hooks, HOOK_BROKER_STOP)) {
    struct hook_told *told = hook_told_new(HOOK_BROKER_STOP);
    hook_add_number(&told->event, "broker", parts->broker_id);
    hooks_tell(parts->hooks, told);
    hooks_wait_told(parts->hooks, HOOKS_STOP_WAIT_MS);
  }
  hooks_close(parts->hooks);
}

int scripting_start(struct scripting *parts, struct script **script)
{
  const struct lua_config *config = parts->options->config;
  *script = NULL;
  parts->services[0] = (struct script_service){.name = "reload", .run = scripting_run_reload, .arg = parts};
  inspect_natives(&parts->inspect, parts->natives);
  struct script_options options = {
      .broker_id = parts->broker_id,
      .cluster_id = parts->cluster_id,
      .version = luka_version,
      .console = config->console,
      .hooks = parts->hooks,
      .memory_bytes = (size_t)config->lua_memory_bytes,
      .budget_ms = config->lua_budget_ms,
      .connect = scripting_connect,
      .ask_stop = parts->options->ask_stop != NULL ? scripting_ask_stop : NULL,
      .probes = parts->probes,
      .arg = parts,
      .services = parts->services,
      .service_count = SCRIPTING_SERVICES,
      .natives = parts->natives,
      .native_count = INSPECT_NATIVES,
  };
  int result = script_new(&options, script);
  if (result == ERR_NO_SPACE || result == ERR_READ_ONLY || result == ERR_IO) {
    slog_error("there is no console: %s", error_last()->message);
    options.console = NULL;
    result = script_new(&options, script);
  }
  if (result < 0) {
    struct error_detail detail = *error_last();
    return error_record(result, 0, detail.file, detail.line, "broker.console: %s", detail.message);
  }
  hooks_set_wake(parts->hooks, scripting_wake, *script);
  TRY(scripting_load(parts, *script));
  if (options.console != NULL) {
    slog_info("console on %s", config->console);
  }
  return 0;
}
