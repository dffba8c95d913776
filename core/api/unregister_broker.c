// SPDX-License-Identifier: Apache-2.0
//
// UnregisterBroker, 0: makes the cluster forget a broker that is gone for good (KIP-500). A broker is registered here
// as long as its session with the metastore lasts, so there is nothing to forget: who is not here is not registered,
// which is Kafka's error for it, and who is here would be back at once.
#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/arena.h"
#include "metadata/image.h"
#include "wire/error_codes.h"
#include "wire/unregister_broker.h"

void unregister_broker_handle(struct request *req)
{
  const struct wire_unregister_broker_request *body = req->body;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  bool is_there = metadata_image_broker(image, body->broker_id) != NULL;
  struct wire_unregister_broker_response resp;
  wire_unregister_broker_response_init(&resp);
  resp.error_code = is_there ? WIRE_INVALID_REQUEST : WIRE_BROKER_ID_NOT_REGISTERED;
  resp.error_message = wire_string_from(
      is_there ? arena_printf(&req->arena, "Broker ID %d is running: its registration ends when it is stopped",
                              body->broker_id)
               : arena_printf(&req->arena, "Broker ID %d is not currently registered", body->broker_id));
  if (!api_may_cluster(req, RIGHT_ALTER)) {
    resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
    resp.error_message = wire_string_from(AUTHORIZE_CLUSTER_TEXT);
  }
  request_respond(req, &resp);
}
