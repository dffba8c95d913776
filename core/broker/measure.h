// SPDX-License-Identifier: Apache-2.0
//
// Which parts of the broker have metrics (base/metrics.h), in the order in which they are shown.
#pragma once

#include "base/metrics.h"
#include "os/process.h"

struct api;
struct coordinator;
struct policy_runners;
struct log_manager;
struct pool;
struct replica_manager;
struct server;

struct measure {
  struct metrics metrics;     ///< the registry; any thread while the server runs
  struct process_start start; ///< when the broker was started
};

/// Notes the start. Main thread, first.
void measure_begin(struct measure *measure);

/// Registers all sources. Main thread, once everything is made. All borrowed as long as anybody collects.
void measure_add(struct measure *measure, struct api *api, struct server *server, struct replica_manager *replicas,
                 struct log_manager *logs, struct coordinator *coordinator, struct pool *pool,
                 struct policy_runners *runners);
