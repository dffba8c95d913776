// SPDX-License-Identifier: Apache-2.0
#include "api/cluster_view.h"

#include <stddef.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/request.h"
#include "metadata/image.h"
#include "network/connection.h"
#include "network/frame.h"
#include "network/listener.h"
#include "replica/manager.h"
#include "replica/partition.h"

bool cluster_view_address(const struct request *req, const struct metadata_broker *broker, const char **host,
                          int32_t *port)
{
  const struct listener *listener = connection_listener(req->frame->conn);
  if (broker == NULL) {
    return false;
  }
  if (broker->id == req->api->broker_id) {
    *host = listener->advertised.host;
    *port = listener->advertised.port;
    return true;
  }
  const struct metadata_endpoint *endpoint = metadata_broker_endpoint(broker, listener->address.name);
  if (endpoint == NULL) {
    return false;
  }
  *host = endpoint->host;
  *port = endpoint->port;
  return true;
}

int32_t cluster_view_operations(const struct request *req)
{
  struct wire_string name = wire_string_from(AUTHORIZE_CLUSTER_NAME);
  return api_may_cluster(req, RIGHT_DESCRIBE)
             ? api_operations(req, RIGHT_CLUSTER, name, CLUSTER_VIEW_CLUSTER_OPERATIONS)
             : 0;
}

bool cluster_view_is_offline(const struct request *req, const struct metadata_topic *topic, int32_t index)
{
  const struct api *api = req->api;
  // Specs ask for Metadata without replicas.
  if (topic->partitions[index].leader != api->broker_id || api->replicas == NULL) {
    return false;
  }
  const struct partition *part = replica_manager_find(api->replicas, metadata_topic_log_id(topic), index);
  struct partition_state state = {.role = PARTITION_LEADER};
  if (part != NULL) {
    partition_read_state(part, &state);
  }
  return state.role == PARTITION_OFFLINE;
}
