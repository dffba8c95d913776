// SPDX-License-Identifier: Apache-2.0
#include "broker/policies.h"

#include <stddef.h>
#include <uv.h>

#include "lua/config.h"
#include "os/clock.h"
#include "policy/hooks.h"
#include "policy/runner.h"
#include "policy/segments.h"

static void policies_publish(struct policies *policies, const struct lua_config *config)
{
  const struct policy_set *set = config->policies;
  policy_cache_publish(&policies->cache, set != NULL ? policy_set_ref(set) : NULL);
}

/// How many threads run functions on records. Where nobody said it they leave a core to all else: functions that take
/// long, or never end, are as busy as they can be.
static int policies_threads(const struct lua_config *config, int workers)
{
  if (config->lua_threads > 0) {
    return config->lua_threads;
  }
  int most = (int)uv_available_parallelism() - 1;
  most = most > 0 ? most : 1;
  return workers < most ? workers : most;
}

void policies_start(struct policies *policies, const struct lua_config *config, int workers, struct event_loop *control)
{
  policies_publish(policies, config);
  policies->hooks = hooks_new();
  policies->runners = policy_runners_new(policies_threads(config, workers), control, &policies->cache);
  policy_runners_reload(policies->runners);
  policies->segments = policy_segments_new(&policies->cache, policies->runners);
}

void policies_reload(struct policies *policies, const struct lua_config *config)
{
  policies_publish(policies, config);
  policy_runners_reload(policies->runners);
}

void policies_hurry(struct policies *policies, int64_t ms)
{
  if (policies->runners != NULL) {
    policy_runners_hurry(policies->runners, clock_mono_ms() + ms);
  }
}

void policies_stop(struct policies *policies)
{
  policy_runners_stop(policies->runners);
}

void policies_destroy(struct policies *policies)
{
  hooks_delete(policies->hooks);
  policies->hooks = NULL;
  policy_segments_delete(policies->segments);
  policies->segments = NULL;
  policy_runners_delete(policies->runners);
  policies->runners = NULL;
  policy_cache_publish(&policies->cache, NULL);
}
