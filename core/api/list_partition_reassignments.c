// SPDX-License-Identifier: Apache-2.0
//
// ListPartitionReassignments, 0: which partitions are on their way to other brokers (KIP-455): none, on one broker.
// Partitions that are named and are not on their way, or not there, are no part of the answer.
#include "api/handlers.h"
#include "api/request.h"
#include "wire/list_partition_reassignments.h"

void list_partition_reassignments_handle(struct request *req)
{
  struct wire_list_partition_reassignments_response resp;
  wire_list_partition_reassignments_response_init(&resp);
  resp.error_message = wire_string_from(NULL);
  request_respond(req, &resp);
}
