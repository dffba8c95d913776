// SPDX-License-Identifier: Apache-2.0
//
// DescribeQuorum, 0 to 2: who keeps the cluster's metadata. Kafka's controllers are a quorum that replicates a log
// (KIP-595), and its clients look at that; here it is the controller, which the metastore has made one, alone. It is
// shown as a quorum of one: the leader's epoch is the controller's, and the offsets count the images that it has
// published in that epoch.
//
//   version  rule
//   1        times of the replicas' last fetch (KIP-836): now, it has all there is
//   2        messages, and where the nodes listen (KIP-853): as clients of this listener are told
//
// As in Kafka, the request has to name the one partition that there is, and no other.
#include "api/api.h"
#include "api/authorize.h"
#include "api/cluster_view.h"
#include "api/handlers.h"
#include "api/request.h"
#include "metadata/image.h"
#include "network/connection.h"
#include "network/frame.h"
#include "network/listener.h"
#include "os/clock.h"
#include "wire/describe_quorum.h"
#include "wire/error_codes.h"

#define DESCRIBE_QUORUM_TOPIC "__cluster_metadata"

enum { DESCRIBE_QUORUM_NODES = 2 }; // version that brought them

/// Whether a request names the partition of the metadata, and nothing else.
static bool describe_quorum_is_good(const struct wire_describe_quorum_request *body)
{
  return body->topics_count == 1 && wire_string_is(body->topics[0].topic_name, DESCRIBE_QUORUM_TOPIC) &&
         body->topics[0].partitions_count == 1 && body->topics[0].partitions[0].partition_index == 0;
}

static void describe_quorum_leader(struct request *req, const struct metadata_image *image,
                                   struct wire_describe_quorum_response_partition_data *part)
{
  struct wire_describe_quorum_response_replica_state *voter = request_array(req, 1, sizeof *voter);
  int64_t now_ms = clock_wall_ms();
  wire_describe_quorum_response_replica_state_init(voter);
  voter->replica_id = image->controller_id;
  voter->log_end_offset = image->version;
  voter->last_fetch_timestamp = now_ms;
  voter->last_caught_up_timestamp = now_ms;
  part->leader_id = image->controller_id;
  part->leader_epoch = image->controller_epoch;
  part->high_watermark = image->version;
  part->current_voters = voter;
  part->current_voters_count = 1;
  part->error_message = wire_string_from("");
}

static void describe_quorum_topic(struct request *req, bool is_good,
                                  const struct wire_describe_quorum_request_topic_data *asked,
                                  struct wire_describe_quorum_response_topic_data *topic)
{
  wire_describe_quorum_response_topic_data_init(topic);
  topic->topic_name = asked->topic_name;
  topic->partitions = request_array(req, asked->partitions_count, sizeof *topic->partitions);
  topic->partitions_count = asked->partitions_count;
  for (int32_t i = 0; i < asked->partitions_count; i++) {
    struct wire_describe_quorum_response_partition_data *part = &topic->partitions[i];
    wire_describe_quorum_response_partition_data_init(part);
    part->partition_index = asked->partitions[i].partition_index;
    if (is_good) {
      describe_quorum_leader(req, metadata_cache_get(req->api->metadata), part);
    } else {
      part->error_code = WIRE_UNKNOWN_TOPIC_OR_PARTITION;
      part->error_message = wire_string_from("This server does not host this topic-partition.");
    }
  }
}

/// Where the controller listens.
static void describe_quorum_nodes(struct request *req, struct wire_describe_quorum_response *resp)
{
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  const char *host;
  int32_t port;
  if (!cluster_view_address(req, metadata_image_broker(image, image->controller_id), &host, &port)) {
    return;
  }
  struct wire_describe_quorum_response_node *node = request_array(req, 1, sizeof *node);
  struct wire_describe_quorum_response_listener *listener = request_array(req, 1, sizeof *listener);
  wire_describe_quorum_response_node_init(node);
  wire_describe_quorum_response_listener_init(listener);
  listener->name = wire_string_from(connection_listener(req->frame->conn)->address.name);
  listener->host = wire_string_from(host);
  listener->port = (uint16_t)port;
  node->node_id = image->controller_id;
  node->listeners = listener;
  node->listeners_count = 1;
  resp->nodes = node;
  resp->nodes_count = 1;
}

void describe_quorum_handle(struct request *req)
{
  const struct wire_describe_quorum_request *body = req->body;
  int64_t count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    count += body->topics[i].partitions_count;
  }
  if (!request_check_count(req, count)) {
    return;
  }
  bool is_good = describe_quorum_is_good(body);
  struct wire_describe_quorum_response resp;
  wire_describe_quorum_response_init(&resp);
  if (!api_may_cluster(req, RIGHT_DESCRIBE)) {
    resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
    resp.error_message = wire_string_from(AUTHORIZE_CLUSTER_TEXT);
    request_respond(req, &resp);
    return;
  }
  resp.error_message = wire_string_from("");
  resp.topics = request_array(req, body->topics_count, sizeof *resp.topics);
  resp.topics_count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    describe_quorum_topic(req, is_good, &body->topics[i], &resp.topics[i]);
  }
  if (is_good && req->version >= DESCRIBE_QUORUM_NODES) {
    describe_quorum_nodes(req, &resp);
  }
  request_respond(req, &resp);
}
