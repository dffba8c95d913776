// SPDX-License-Identifier: Apache-2.0
#include "broker/scripting.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "base/version.h"
#include "broker/options.h"
#include "broker/reload.h"
#include "lua/script.h"
#include "network/server.h"

static int scripting_connect(void *arg, int *fd)
{
  const struct scripting *parts = arg;
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

int scripting_start(struct scripting *parts, struct script **script)
{
  const struct lua_config *config = parts->options->config;
  *script = NULL;
  if (config->console == NULL) {
    return 0;
  }
  parts->services[0] = (struct script_service){.name = "reload", .run = scripting_run_reload, .arg = parts};
  inspect_natives(&parts->inspect, parts->natives);
  struct script_options options = {
      .broker_id = parts->broker_id,
      .cluster_id = parts->cluster_id,
      .version = luka_version,
      .console = config->console,
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
    return 0;
  }
  if (result < 0) {
    struct error_detail detail = *error_last();
    return error_record(result, 0, detail.file, detail.line, "broker.console: %s", detail.message);
  }
  slog_info("console on %s", config->console);
  return 0;
}
