// SPDX-License-Identifier: Apache-2.0
#include "broker/scripting.h"

#include "base/error.h"
#include "base/slog.h"
#include "broker/options.h"
#include "lua/script.h"
#include "network/server.h"

static int scripting_connect(void *arg, int *fd)
{
  const struct scripting *parts = arg;
  return server_attach(parts->server, fd);
}

int scripting_start(struct scripting *parts, struct script **script)
{
  const struct lua_config *config = parts->options->config;
  *script = NULL;
  if (config->console == NULL) {
    return 0;
  }
  inspect_natives(&parts->inspect, parts->natives);
  struct script_options options = {
      .broker_id = parts->broker_id,
      .cluster_id = parts->cluster_id,
      .version = LUKA_VERSION,
      .console = config->console,
      .memory_bytes = (size_t)config->lua_memory_bytes,
      .budget_ms = config->lua_budget_ms,
      .connect = scripting_connect,
      .arg = parts,
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
