// SPDX-License-Identifier: Apache-2.0
//
// The script thread (lua/script.h) as part of a broker: what it is started with, and what of the broker its code can
// reach. From the main thread.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "lua/inspect.h"
#include "lua/script.h"

struct broker_options;
struct probes;
struct hooks;
struct reloader;
struct server;

enum { SCRIPTING_SERVICES = 1 };

/// What it works with; borrowed until script_stop().
struct scripting {
  const struct broker_options *options; ///< of the broker
  int32_t broker_id;                    ///< of this broker
  const char *cluster_id;               ///< of its cluster
  struct server *server;                ///< accepts before scripting_serve()
  struct hooks *hooks;                  ///< asks and told events
  atomic_bool is_serving;               ///< private
  struct inspect inspect;               ///< what consoles see of the inside
  struct probes *probes;                ///< where functions see requests
  struct reloader *reloader;            ///< reads the configuration again
  // Made by scripting_start().
  struct script_native natives[INSPECT_NATIVES];      ///< functions of `inspect`
  struct script_service services[SCRIPTING_SERVICES]; ///< reload(): what reload_report_json() says, or why not
};

/// Opens the console, where there is to be one, starts the script thread, and has it evaluate the configuration's
/// hooks, timers and placement, which are in force when this returns. A disk on which there is no room for a socket is
/// no reason not to serve: that is logged.
///
/// @param parts  borrowed until script_delete()
/// @param[out] script  owned: script_delete(); also on failure, unless it is NULL
/// @return 0; ERR_BUSY, ERR_EXISTS, ERR_NOT_FOUND, ERR_PERMISSION, ERR_SCRIPT ... with a sentence for the user
int scripting_start(struct scripting *parts, struct script **script);

/// The server accepts: timers run, and hooks are told broker.start.
void scripting_serve(struct scripting *parts, struct script *script);

/// Hooks are told broker.stop, which is waited for a little, and are asked nothing any more.
void scripting_stop(struct scripting *parts);
