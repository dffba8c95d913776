// SPDX-License-Identifier: Apache-2.0
//
// AlterPartitionReassignments, 0 and 1: moves replicas to other brokers (KIP-455). One broker has all replicas and is
// the only place for them, so each partition is either where it is wanted, or has the error that Kafka has for it
// (controller/reassignment.h). Answered at once from the metadata image.
//
//   version  rule
//   1        the client may forbid that the number of replicas changes (KIP-860), which never happens here
#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "controller/reassignment.h"
#include "metadata/image.h"
#include "wire/alter_partition_reassignments.h"
#include "wire/error_codes.h"

static void alter_reassignments_topic(
    struct request *req, const struct wire_alter_partition_reassignments_request_reassignable_topic *asked,
    struct wire_alter_partition_reassignments_response_reassignable_topic_response *to)
{
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  const struct metadata_topic *topic = metadata_image_topic(image, asked->name.data, (size_t)asked->name.length);
  to->name = asked->name;
  to->partitions = request_array(req, asked->partitions_count, sizeof *to->partitions);
  to->partitions_count = asked->partitions_count;
  for (int32_t i = 0; i < asked->partitions_count; i++) {
    struct reassignment wanted = {
        .name = asked->name,
        .topic = topic,
        .partition = asked->partitions[i].partition_index,
        .is_cancel = asked->partitions[i].replicas_count < 0,
        .replicas = asked->partitions[i].replicas,
        .replica_count = asked->partitions[i].replicas_count,
    };
    const char *message = NULL;
    wire_alter_partition_reassignments_response_reassignable_partition_response_init(&to->partitions[i]);
    to->partitions[i].partition_index = wanted.partition;
    if (api_may_cluster(req, RIGHT_ALTER)) {
      to->partitions[i].error_code = reassignment_decide(image, &req->arena, &wanted, &message);
    } else {
      to->partitions[i].error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
      message = AUTHORIZE_CLUSTER_TEXT;
    }
    to->partitions[i].error_message = wire_string_from(message);
  }
}

/// How much the request names: topics, partitions and replicas.
static int64_t alter_reassignments_count(const struct wire_alter_partition_reassignments_request *body)
{
  int64_t count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    count += body->topics[i].partitions_count;
    for (int32_t j = 0; j < body->topics[i].partitions_count; j++) {
      int32_t replicas = body->topics[i].partitions[j].replicas_count;
      count += replicas > 0 ? replicas : 0;
    }
  }
  return count;
}

void alter_partition_reassignments_handle(struct request *req)
{
  const struct wire_alter_partition_reassignments_request *body = req->body;
  if (!request_check_count(req, alter_reassignments_count(body))) {
    return;
  }
  struct wire_alter_partition_reassignments_response resp;
  wire_alter_partition_reassignments_response_init(&resp);
  resp.allow_replication_factor_change = body->allow_replication_factor_change;
  resp.responses = request_array(req, body->topics_count, sizeof *resp.responses);
  resp.responses_count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    wire_alter_partition_reassignments_response_reassignable_topic_response_init(&resp.responses[i]);
    alter_reassignments_topic(req, &body->topics[i], &resp.responses[i]);
  }
  // As Kafka has it, which does not ask its controller then.
  resp.error_message = wire_string_from(body->topics_count == 0 ? "" : NULL);
  if (!api_may_cluster(req, RIGHT_ALTER)) {
    resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
    resp.error_message = wire_string_from(AUTHORIZE_CLUSTER_TEXT);
  }
  request_respond(req, &resp);
}
