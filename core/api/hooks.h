// SPDX-License-Identifier: Apache-2.0
//
// What hooks (policy/hooks.h) get to know of a request, for all files that ask them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/hooks.h"

struct arena;
struct connection;
struct request;

/// As what functions of the configuration connect to their own broker (lua/luka/script/policy_words.lua).
#define API_HOOKS_CLIENT_ID "luka-policy"

/// Who asks for something; in an arena.
struct api_asker {
  const char *client_id; ///< "" when there is none
  const char *principal; ///< "User:ANONYMOUS"
  const char *address;   ///< without port
};

/// Whether a request meets a hook: there is a function for it, and the request does not come from such a function,
/// which would call itself for ever. One relaxed load where there is none.
bool api_meets_hook(const struct request *req, enum hook hook);

/// Describes who asks, in `arena`. While the request has its frame.
void api_asker_describe(struct api_asker *asker, struct arena *arena, const struct request *req);

/// Adds client_id, principal and address to an event.
void api_asker_add(const struct api_asker *asker, struct hook_event *event);

/// A client's address without its port, in `arena`. @param peer  connection_peer()
const char *api_address(struct arena *arena, const char *peer);
