// SPDX-License-Identifier: Apache-2.0
//
// DescribeCluster, 0 to 2: brokers, controller and id of the cluster, from one image (KIP-700). Addresses are those of
// the listener that the client came through.
//
//   version  rule
//   1        the client says whether it means brokers or controllers (KIP-919): only brokers are here. Controllers are
//            MISMATCHED_ENDPOINT_TYPE, other types UNSUPPORTED_ENDPOINT_TYPE, and nothing else is told then
//   2        fenced brokers on request (KIP-1073): there are none, a broker that is registered serves
#include "api/api.h"
#include "api/cluster_view.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/arena.h"
#include "metadata/image.h"
#include "wire/describe_cluster.h"
#include "wire/error_codes.h"

enum describe_cluster_endpoints { DESCRIBE_CLUSTER_BROKERS = 1, DESCRIBE_CLUSTER_CONTROLLERS = 2 };

static void describe_cluster_fill(struct request *req, struct wire_describe_cluster_response *resp)
{
  const struct wire_describe_cluster_request *body = req->body;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  resp->cluster_id = wire_string_from(image->cluster_id);
  resp->controller_id = image->controller_id;
  if (body->include_cluster_authorized_operations) {
    resp->cluster_authorized_operations = cluster_view_operations(req);
  }
  resp->brokers = request_array(req, image->broker_count, sizeof *resp->brokers);
  resp->brokers_count = 0;
  for (int32_t i = 0; i < image->broker_count; i++) {
    const char *host;
    int32_t port;
    if (!cluster_view_address(req, image->brokers[i], &host, &port)) {
      continue;
    }
    struct wire_describe_cluster_response_describe_cluster_broker *entry = &resp->brokers[resp->brokers_count++];
    wire_describe_cluster_response_describe_cluster_broker_init(entry);
    entry->broker_id = image->brokers[i]->id;
    entry->host = wire_string_from(host);
    entry->port = port;
    entry->rack = wire_string_from(image->brokers[i]->rack);
  }
}

void describe_cluster_handle(struct request *req)
{
  const struct wire_describe_cluster_request *body = req->body;
  struct wire_describe_cluster_response resp;
  wire_describe_cluster_response_init(&resp);
  if (body->endpoint_type == DESCRIBE_CLUSTER_BROKERS) {
    describe_cluster_fill(req, &resp);
  } else if (body->endpoint_type == DESCRIBE_CLUSTER_CONTROLLERS) {
    resp.error_code = WIRE_MISMATCHED_ENDPOINT_TYPE;
    resp.error_message = wire_string_from(
        "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER");
  } else {
    resp.error_code = WIRE_UNSUPPORTED_ENDPOINT_TYPE;
    resp.error_message =
        wire_string_from(arena_printf(&req->arena, "Unsupported endpoint type %d", body->endpoint_type));
  }
  request_respond(req, &resp);
}
