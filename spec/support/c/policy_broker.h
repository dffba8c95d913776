// SPDX-License-Identifier: Apache-2.0
//
// A whole broker with the policies of policy_probe.h, as a process of its own: spec/support/policy_broker.lua.
#pragma once

/// Serves until SIGTERM. @param sets  key=value, as --set takes them
/// @return the process's exit status
int policy_broker_serve(const char *const *sets, int count);
