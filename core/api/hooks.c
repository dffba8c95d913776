// SPDX-License-Identifier: Apache-2.0
#include "api/hooks.h"

#include <string.h>

#include "api/api.h"
#include "api/request.h"
#include "base/arena.h"
#include "network/connection.h"
#include "network/frame.h"

static bool api_is_own(const struct request *req)
{
  static const char own[] = API_HOOKS_CLIENT_ID;
  return req->client_id.length == (int32_t)sizeof own - 1 && memcmp(req->client_id.data, own, sizeof own - 1) == 0 &&
         connection_is_attached(req->frame->conn);
}

bool api_meets_hook(const struct request *req, enum hook hook)
{
  return hooks_has(req->api->hooks, hook) && !api_is_own(req);
}

const char *api_address(struct arena *arena, const char *peer)
{
  const char *colon = strrchr(peer, ':');
  size_t length = colon != NULL ? (size_t)(colon - peer) : strlen(peer);
  if (length >= 2 && peer[0] == '[') {
    peer++;
    length -= 2;
  }
  return arena_strndup(arena, peer, length);
}

void api_asker_describe(struct api_asker *asker, struct arena *arena, const struct request *req)
{
  struct wire_string id = req->client_id;
  *asker = (struct api_asker){
      .client_id = id.length > 0 ? arena_strndup(arena, id.data, (size_t)id.length) : "",
      .principal = "User:ANONYMOUS",
      .address = api_address(arena, connection_peer(req->frame->conn)),
  };
}

void api_asker_add(const struct api_asker *asker, struct hook_event *event)
{
  hook_add_text(event, "client_id", asker->client_id);
  hook_add_text(event, "principal", asker->principal);
  hook_add_text(event, "address", asker->address);
}
