// SPDX-License-Identifier: Apache-2.0
//
// ElectLeaders, 0 to 2: has partitions led by their preferred replica, or by any (KIP-460). One broker leads all that
// it can lead, from the start on, so an election is not needed, or there is nobody to elect. Answered at once from the
// metadata image.
//
//   version  rule
//   0        preferred leaders only; no error of its own
//   1        the client says which election; an unknown one is INVALID_REQUEST, for the request and each partition
#include "api/api.h"
#include "api/cluster_view.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/arena.h"
#include "metadata/config.h"
#include "metadata/image.h"
#include "wire/elect_leaders.h"
#include "wire/error_codes.h"

enum elect_leaders_type { ELECT_LEADERS_PREFERRED = 0, ELECT_LEADERS_UNCLEAN = 1 };

enum { ELECT_LEADERS_NAME_SHOWN = 256 };

/// The name of a topic that does not exist; no more than is shown, as a request may name it very often.
static const char *elect_leaders_name(struct request *req, struct wire_string name)
{
  size_t length = name.length > ELECT_LEADERS_NAME_SHOWN ? ELECT_LEADERS_NAME_SHOWN + 1 : (size_t)name.length;
  char *shown = arena_strndup(&req->arena, name.data, length);
  shown[config_clip(shown, ELECT_LEADERS_NAME_SHOWN)] = '\0';
  return shown;
}

/// The answer for one partition.
///
/// @param name   of the topic, as the client gave it
/// @param topic  NULL: there is none of that name
static void elect_leaders_partition(struct request *req, struct wire_string name, const struct metadata_topic *topic,
                                    int32_t index, struct wire_elect_leaders_response_partition_result *result)
{
  const struct wire_elect_leaders_request *body = req->body;
  const struct metadata_partition *part = topic != NULL ? metadata_topic_partition(topic, index) : NULL;
  bool is_preferred = body->election_type == ELECT_LEADERS_PREFERRED;
  const char *message;
  wire_elect_leaders_response_partition_result_init(result);
  result->partition_id = index;
  if (!api_may_cluster(req, RIGHT_ALTER)) {
    result->error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
    message = AUTHORIZE_CLUSTER_TEXT;
  } else if (body->election_type != ELECT_LEADERS_PREFERRED && body->election_type != ELECT_LEADERS_UNCLEAN) {
    result->error_code = WIRE_INVALID_REQUEST;
    message = arena_printf(&req->arena, "Unknown election type %d", body->election_type);
  } else if (topic == NULL) {
    result->error_code = WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    message = arena_printf(&req->arena, "No such topic as %s", elect_leaders_name(req, name));
  } else if (part == NULL) {
    result->error_code = WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    message = arena_printf(&req->arena, "No such partition as %s-%d", topic->name, index);
  } else if (part->leader == METADATA_NO_LEADER || cluster_view_is_offline(req, topic, index)) {
    result->error_code = is_preferred ? WIRE_PREFERRED_LEADER_NOT_AVAILABLE : WIRE_ELIGIBLE_LEADERS_NOT_AVAILABLE;
    message = is_preferred ? "The preferred leader was not available."
                           : "Eligible topic partition leaders are not available.";
  } else {
    result->error_code = WIRE_ELECTION_NOT_NEEDED;
    message = "Leader election not needed for topic partition.";
  }
  result->error_message = wire_string_from(message);
}

/// All partitions: those that need no election are passed over, their topics are not.
static void elect_leaders_all(struct request *req, struct wire_elect_leaders_response *resp)
{
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  resp->replica_election_results = request_array(req, image->topic_count, sizeof *resp->replica_election_results);
  resp->replica_election_results_count = image->topic_count;
  for (int32_t i = 0; i < image->topic_count; i++) {
    const struct metadata_topic *topic = image->topics[i];
    struct wire_elect_leaders_response_replica_election_result *result = &resp->replica_election_results[i];
    wire_elect_leaders_response_replica_election_result_init(result);
    result->topic = (struct wire_string){topic->name, topic->name_length};
    result->partition_result = request_array(req, topic->partition_count, sizeof *result->partition_result);
    result->partition_result_count = 0;
    for (int32_t j = 0; j < topic->partition_count; j++) {
      struct wire_elect_leaders_response_partition_result *answer =
          &result->partition_result[result->partition_result_count];
      elect_leaders_partition(req, result->topic, topic, j, answer);
      result->partition_result_count += answer->error_code != WIRE_ELECTION_NOT_NEEDED;
    }
  }
}

static void elect_leaders_some(struct request *req, struct wire_elect_leaders_response *resp)
{
  const struct wire_elect_leaders_request *body = req->body;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  int32_t count = body->topic_partitions_count;
  resp->replica_election_results = request_array(req, count, sizeof *resp->replica_election_results);
  resp->replica_election_results_count = count;
  for (int32_t i = 0; i < count; i++) {
    const struct wire_elect_leaders_request_topic_partitions *asked = &body->topic_partitions[i];
    const struct metadata_topic *topic = metadata_image_topic(image, asked->topic.data, (size_t)asked->topic.length);
    struct wire_elect_leaders_response_replica_election_result *result = &resp->replica_election_results[i];
    wire_elect_leaders_response_replica_election_result_init(result);
    result->topic = asked->topic;
    result->partition_result = request_array(req, asked->partitions_count, sizeof *result->partition_result);
    result->partition_result_count = asked->partitions_count;
    for (int32_t j = 0; j < asked->partitions_count; j++) {
      elect_leaders_partition(req, asked->topic, topic, asked->partitions[j], &result->partition_result[j]);
    }
  }
}

void elect_leaders_handle(struct request *req)
{
  const struct wire_elect_leaders_request *body = req->body;
  int64_t count = body->topic_partitions_count;
  for (int32_t i = 0; i < body->topic_partitions_count; i++) {
    count += body->topic_partitions[i].partitions_count;
  }
  if (!request_check_count(req, count)) {
    return;
  }
  bool is_known = body->election_type == ELECT_LEADERS_PREFERRED || body->election_type == ELECT_LEADERS_UNCLEAN;
  struct wire_elect_leaders_response resp;
  wire_elect_leaders_response_init(&resp);
  bool may_alter = api_may_cluster(req, RIGHT_ALTER);
  if (!may_alter) {
    resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
  } else if (!is_known && body->topic_partitions_count != 0) {
    resp.error_code = WIRE_INVALID_REQUEST;
  }
  if (body->topic_partitions_count >= 0) {
    elect_leaders_some(req, &resp);
  } else if (is_known && may_alter) {
    elect_leaders_all(req, &resp);
  }
  request_respond(req, &resp);
}
