// SPDX-License-Identifier: Apache-2.0
//
// ListPartitionReassignments, 0: which partitions are on their way to other brokers (KIP-455): none, on one broker.
// Partitions that are named and are not on their way, or not there, are no part of the answer.
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "wire/error_codes.h"
#include "wire/list_partition_reassignments.h"

/// Names what was asked for, as Kafka does in an error.
static void list_reassignments_name(struct request *req, struct wire_list_partition_reassignments_response *resp)
{
  const struct wire_list_partition_reassignments_request *body = req->body;
  resp->topics = request_array(req, body->topics_count, sizeof *resp->topics);
  resp->topics_count = body->topics_count > 0 ? body->topics_count : 0;
  for (int32_t i = 0; i < resp->topics_count; i++) {
    struct wire_list_partition_reassignments_response_ongoing_topic_reassignment *topic = &resp->topics[i];
    wire_list_partition_reassignments_response_ongoing_topic_reassignment_init(topic);
    topic->name = body->topics[i].name;
    topic->partitions_count = body->topics[i].partition_indexes_count;
    topic->partitions = request_array(req, topic->partitions_count, sizeof *topic->partitions);
    for (int32_t j = 0; j < topic->partitions_count; j++) {
      wire_list_partition_reassignments_response_ongoing_partition_reassignment_init(&topic->partitions[j]);
      topic->partitions[j].partition_index = body->topics[i].partition_indexes[j];
    }
  }
}

/// How much a request names: topics and partitions.
static int64_t list_reassignments_count(const struct wire_list_partition_reassignments_request *body)
{
  int64_t count = 0;
  for (int32_t i = 0; i < body->topics_count; i++) {
    count += 1 + (int64_t)body->topics[i].partition_indexes_count;
  }
  return count;
}

void list_partition_reassignments_handle(struct request *req)
{
  struct wire_list_partition_reassignments_response resp;
  wire_list_partition_reassignments_response_init(&resp);
  resp.error_message = wire_string_from(NULL);
  if (!api_may_cluster(req, RIGHT_DESCRIBE)) {
    if (!request_check_count(req, list_reassignments_count(req->body))) {
      return;
    }
    resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
    resp.error_message = wire_string_from(AUTHORIZE_CLUSTER_TEXT);
    list_reassignments_name(req, &resp);
  }
  request_respond(req, &resp);
}
