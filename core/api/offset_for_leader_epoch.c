// SPDX-License-Identifier: Apache-2.0
//
// OffsetForLeaderEpoch, 0 to 4: where leader epochs end in the logs that are led here (KIP-101). Clients find out by it
// whether they have read what was cut off since (KIP-320), followers where their log parts from the leader's. All of it
// is in memory, and answered in the order of the question, however often a partition is named.
//
//   version  rule
//   1        the answer has the epoch that was found, the largest one not above the one asked for
//   2        the epoch that the client believes to be the current one: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH
//   3        the client says who it is (replica id), which changes nothing
//
// An epoch that is not known to the log is no error: epoch and offset are -1.
#include "api/api.h"
#include "api/authorize.h"
#include "api/errors.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/error.h"
#include "log/log.h"
#include "metadata/image.h"
#include "replica/manager.h"
#include "replica/partition.h"
#include "wire/error_codes.h"
#include "wire/offset_for_leader_epoch.h"

/// Tests that a partition is here, then the client's epoch, then that it is led here: Kafka's order.
static int offset_for_leader_epoch_check(const struct partition *part, int32_t current_epoch)
{
  struct partition_state state;
  partition_read_state(part, &state);
  int result = partition_check_leader(&state);
  if (result < 0 && result != ERR_NOT_LEADER) {
    return result;
  }
  TRY(partition_check_epoch(&state, current_epoch));
  return result;
}

static void offset_for_leader_epoch_partition(
    const struct request *req, const struct metadata_topic *topic,
    const struct wire_offset_for_leader_epoch_request_offset_for_leader_partition *asked,
    struct wire_offset_for_leader_epoch_response_epoch_end_offset *result)
{
  wire_offset_for_leader_epoch_response_epoch_end_offset_init(result);
  result->partition = asked->partition;
  if (topic == NULL || metadata_topic_partition(topic, asked->partition) == NULL) {
    result->error_code = WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    return;
  }
  struct partition *part = replica_manager_find(req->api->replicas, metadata_topic_log_id(topic), asked->partition);
  if (part == NULL) {
    result->error_code = WIRE_NOT_LEADER_OR_FOLLOWER;
    return;
  }
  result->error_code = api_wire_error(offset_for_leader_epoch_check(part, asked->current_leader_epoch));
  if (result->error_code == WIRE_NONE) {
    log_epoch_end_offset(part->log, asked->leader_epoch, &result->leader_epoch, &result->end_offset);
  }
}

/// How many partitions the question has.
static int64_t offset_for_leader_epoch_count(const struct wire_offset_for_leader_epoch_request *body)
{
  int64_t total = 0;
  for (int32_t i = 0; i < body->topics_count; i++) {
    total += body->topics[i].partitions_count;
  }
  return total;
}

void offset_for_leader_epoch_handle(struct request *req)
{
  const struct wire_offset_for_leader_epoch_request *body = req->body;
  if (!request_check_count(req, body->topics_count) || !request_check_count(req, offset_for_leader_epoch_count(body))) {
    return;
  }
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  struct wire_offset_for_leader_epoch_response resp;
  wire_offset_for_leader_epoch_response_init(&resp);
  resp.topics = request_array(req, body->topics_count, sizeof *resp.topics);
  resp.topics_count = body->topics_count;
  for (int32_t t = 0; t < body->topics_count; t++) {
    const struct wire_offset_for_leader_epoch_request_offset_for_leader_topic *asked = &body->topics[t];
    struct wire_offset_for_leader_epoch_response_offset_for_leader_topic_result *entry = &resp.topics[t];
    const struct metadata_topic *topic = metadata_image_topic(image, asked->topic.data, (size_t)asked->topic.length);
    bool may_describe = api_may_topic(req, RIGHT_DESCRIBE, asked->topic);
    wire_offset_for_leader_epoch_response_offset_for_leader_topic_result_init(entry);
    entry->topic = asked->topic;
    entry->partitions = request_array(req, asked->partitions_count, sizeof *entry->partitions);
    entry->partitions_count = asked->partitions_count;
    for (int32_t p = 0; p < asked->partitions_count; p++) {
      if (may_describe) {
        offset_for_leader_epoch_partition(req, topic, &asked->partitions[p], &entry->partitions[p]);
      } else {
        wire_offset_for_leader_epoch_response_epoch_end_offset_init(&entry->partitions[p]);
        entry->partitions[p].partition = asked->partitions[p].partition;
        entry->partitions[p].error_code = WIRE_TOPIC_AUTHORIZATION_FAILED;
      }
    }
  }
  request_respond(req, &resp);
}
