// SPDX-License-Identifier: Apache-2.0
#include "api/group_call.h"

#include <arpa/inet.h>
#include <string.h>

#include "api/api.h"
#include "api/request.h"
#include "base/bytes.h"
#include "base/list.h"
#include "coordinator/coordinator.h"
#include "metadata/image.h"
#include "network/connection.h"
#include "network/frame.h"
#include "wire/codec.h"

enum { GROUP_IPV6_SIZE = 16 };

const char *group_client_host(struct request *req)
{
  const char *peer = connection_peer(req->frame->conn);
  const char *colon = strrchr(peer, ':');
  if (peer[0] != '[' || colon == NULL || colon < peer + 2) {
    return arena_printf(&req->arena, "/%.*s", (int)(colon != NULL ? colon - peer : (long)strlen(peer)), peer);
  }
  char *text = arena_strndup(&req->arena, peer + 1, (size_t)(colon - peer - 2));
  uint8_t address[GROUP_IPV6_SIZE];
  if (inet_pton(AF_INET6, text, address) != 1) {
    return arena_printf(&req->arena, "/%s", text);
  }
  // Java shows all eight numbers.
  uint16_t parts[GROUP_IPV6_SIZE / 2];
  for (int i = 0; i < GROUP_IPV6_SIZE / 2; i++) {
    parts[i] = bytes_get_u16(address + 2 * (size_t)i);
  }
  return arena_printf(&req->arena, "/%x:%x:%x:%x:%x:%x:%x:%x", parts[0], parts[1], parts[2], parts[3], parts[4],
                      parts[5], parts[6], parts[7]);
}

static void group_call_done(struct group_request *request)
{
  struct group_call *call = CONTAINER_OF(request, struct group_call, request);
  call->done(call);
}

void group_call_init(struct group_call *call, struct request *req, struct wire_string group, const void *body,
                     void *response, group_call_fn done)
{
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  *call = (struct group_call){
      .request =
          {
              .reply = req->worker->loop,
              .done = group_call_done,
              .shard = group.length >= 0 ? coordinator_shard_of(image, group) : -1,
              .key = req->wire->key,
              .version = req->version,
              .group = group,
              .body = body,
              .response = response,
              .client_id = req->client_id,
              .client_host = group_client_host(req),
              .room = &req->group_room,
          },
      .req = req,
      .done = done,
  };
  call->request.arena = &call->arena;
}

void group_call_submit(struct group_call *call)
{
  coordinator_submit(atomic_load_explicit(&call->req->api->coordinator, memory_order_relaxed), &call->request);
}

void group_call_destroy(struct group_call *call)
{
  arena_destroy(&call->arena);
}
