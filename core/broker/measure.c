// SPDX-License-Identifier: Apache-2.0
#include "broker/measure.h"

#include "api/api.h"
#include "coordinator/coordinator.h"
#include "event/pool.h"
#include "log/log_manager.h"
#include "network/server.h"
#include "os/clock.h"
#include "policy/policy.h"
#include "policy/probes.h"
#include "policy/runner.h"
#include "policy/shared.h"
#include "replica/manager.h"

void measure_begin(struct measure *measure)
{
  measure->start = (struct process_start){.wall_ms = clock_wall_ms(), .mono_ms = clock_mono_ms()};
}

void measure_add(struct measure *measure, struct api *api, struct server *server, struct replica_manager *replicas,
                 struct log_manager *logs, struct coordinator *coordinator, struct pool *pool,
                 struct policy_runners *runners)
{
  metrics_add_source(&measure->metrics, process_collect, &measure->start);
  metrics_add_source(&measure->metrics, server_collect, server);
  metrics_add_source(&measure->metrics, api_collect, api);
  metrics_add_source(&measure->metrics, replica_collect, replicas);
  metrics_add_source(&measure->metrics, log_cleaner_collect, logs);
  metrics_add_source(&measure->metrics, coordinator_collect, coordinator);
  metrics_add_source(&measure->metrics, pool_collect, pool);
  metrics_add_source(&measure->metrics, policy_runners_collect, runners);
  metrics_add_source(&measure->metrics, shared_collect, NULL);
  metrics_add_source(&measure->metrics, policy_collect, (void *)(uintptr_t)api->policies);
  metrics_add_source(&measure->metrics, probes_collect, &api->probes);
}
