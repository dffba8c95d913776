// SPDX-License-Identifier: Apache-2.0
//
// What hooks (policy/hooks.h) get to know of a request, for all files that ask them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/hooks.h"
#include "wire/types.h"

struct api;
struct api_client;
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

// ---- a member wants to join a group (group_hooks.c) ----

/// What goes on with a request once functions have been asked about it.
typedef void (*api_hook_go_fn)(struct request *req);
/// What becomes of one that is refused. @param text  why; borrowed during the call
typedef void (*api_hook_refuse_fn)(struct request *req, const char *text);

/// A member that wants to join.
struct api_join {
  struct wire_string group;      ///< its id
  struct wire_string member;     ///< empty: new
  struct wire_string instance;   ///< of a static member; null: it is none
  const char *type;              ///< "classic" or "consumer"
  int32_t *session_timeout_ms;   ///< functions may change it; NULL: the member does not say
  int32_t *rebalance_timeout_ms; ///< the same
};

/// Asks the functions of group.join about a request; then `go` or `refuse` is called, in this call where there are
/// none. On the worker.
void api_ask_join(struct request *req, const struct api_join *join, api_hook_go_fn go, api_hook_refuse_fn refuse);

// ---- a client has connected (connect_hooks.c) ----

/// Asks the functions of client.connect about a connection, if there are any: until they have answered its requests
/// wait. On the worker.
void api_ask_connect(const struct api *api, struct api_client *client, struct connection *conn);

/// The connection has closed.
void api_forget_connect(struct api_client *client);
