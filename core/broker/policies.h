// SPDX-License-Identifier: Apache-2.0
//
// The functions of the configuration at work: the set that all threads read, and the threads that run them.
#pragma once

#include <stdint.h>

#include "policy/policy.h"

struct event_loop;
struct hooks;
struct lua_config;
struct policy_runners;
struct policy_segments;

/// Embed it; all zero: nothing was started.
struct policies {
  struct policy_cache cache;        ///< what the configuration says
  struct hooks *hooks;              ///< asks and told events; NULL: not started
  struct policy_runners *runners;   ///< NULL: not started
  struct policy_segments *segments; ///< decides what retention deletes where functions say it; NULL: not started
};

/// Puts the functions of a configuration in force. Before the control loop runs.
///
/// @param workers  network threads: as many at most run functions on records, if the configuration does not say it
void policies_start(struct policies *policies, const struct lua_config *config, int workers,
                    struct event_loop *control);

/// Puts those of another configuration in force. Control thread.
void policies_reload(struct policies *policies, const struct lua_config *config);

/// The broker stops, and waits so long for what is under way. Any thread.
void policies_hurry(struct policies *policies, int64_t ms);

/// Waits for what is under way. When no request comes any more, while the loops run.
void policies_stop(struct policies *policies);

/// When all loops have ended.
void policies_destroy(struct policies *policies);
