// SPDX-License-Identifier: Apache-2.0
//
// FindCoordinator, 0 to 6: which broker looks after a consumer group, a transactional id or a share partition: of a
// group the leader of its partition of __consumer_offsets, which is made when the first one asks. That one, and whoever
// asks while the partition has no leader, is told COORDINATOR_NOT_AVAILABLE, and asks again.
//
// There are no coordinators of transactions and share groups yet. Whoever asks for one gets the same answer, which
// clients retry for ever without a word to their user. So the log has a line about it, at most every 10 s.
//
//   version  rule
//   0        groups only
//   1        key types: 0 group, 1 transaction; others are INVALID_REQUEST
//   4        several keys at once, each answered for itself, also when named twice
//   6        key type 2, share partition: <group>:<topic id>:<partition>, otherwise INVALID_REQUEST
//
// An empty key is a key like any other.
#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/cluster_view.h"
#include "api/handlers.h"
#include "api/internal_topic.h"
#include "api/request.h"
#include "base/slog.h"
#include "base/uuid.h"
#include "coordinator/coordinator.h"
#include "metadata/image.h"
#include "network/connection.h"
#include "network/frame.h"
#include "os/clock.h"
#include "wire/error_codes.h"
#include "wire/find_coordinator.h"

enum find_coordinator_type { FIND_COORDINATOR_GROUP, FIND_COORDINATOR_TRANSACTION, FIND_COORDINATOR_SHARE };
enum {
  FIND_COORDINATOR_BATCH = 4, // versions that brought a rule
  FIND_COORDINATOR_SHARES = 6,
  FIND_COORDINATOR_DIGITS_MAX = 10,
  FIND_COORDINATOR_LOG_INTERVAL_MS = 10000,
  FIND_COORDINATOR_KEY_SHOWN = 100, // bytes of a key in the log
};

/// When somebody who asks in vain was last logged, by any worker.
static _Atomic(int64_t) find_coordinator_logged_ms = INT64_MIN / 2;

/// One answer.
struct find_coordinator_result {
  int16_t error;       ///< Kafka's code
  const char *message; ///< a sentence; of no error "NONE" or empty
  int32_t id;          ///< broker id, without an error
  const char *host;    ///< its address for this client, without an error; borrowed for the turn
  int32_t port;        ///< likewise
};

/// Whether a text is a partition number.
static bool find_coordinator_is_partition(const char *text, size_t length)
{
  int64_t number = 0;
  if (length < 1 || length > FIND_COORDINATOR_DIGITS_MAX) {
    return false;
  }
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') {
      return false;
    }
    number = number * 10 + (text[i] - '0');
  }
  return number <= INT32_MAX;
}

/// Whether a key is <group>:<topic id>:<partition>.
static bool find_coordinator_is_share_key(struct wire_string key)
{
  if (key.length < 1) {
    return false;
  }
  const char *end = key.data + key.length;
  const char *id = memchr(key.data, ':', (size_t)key.length);
  if (id == NULL || id == key.data) {
    return false;
  }
  id++;
  const char *partition = memchr(id, ':', (size_t)(end - id));
  if (partition == NULL || partition - id != UUID_TEXT_SIZE - 1) {
    return false;
  }
  partition++;
  char text[UUID_TEXT_SIZE];
  memcpy(text, id, UUID_TEXT_SIZE - 1);
  text[UUID_TEXT_SIZE - 1] = '\0';
  struct uuid topic_id;
  return uuid_parse(text, &topic_id) == 0 && find_coordinator_is_partition(partition, (size_t)(end - partition));
}

/// The broker that leads a group's partition of __consumer_offsets.
static struct find_coordinator_result find_coordinator_of_group(struct request *req, struct wire_string key)
{
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  int32_t shard = coordinator_shard_of(image, key);
  if (shard < 0) {
    internal_topic_create_offsets(req);
    return (struct find_coordinator_result){.error = WIRE_COORDINATOR_NOT_AVAILABLE,
                                            .message = "The topic that groups are kept in is being created."};
  }
  const struct metadata_topic *topic = metadata_image_topic(image, COORDINATOR_TOPIC, strlen(COORDINATOR_TOPIC));
  const struct metadata_broker *broker = metadata_image_broker(image, topic->partitions[shard].leader);
  // Kafka's word for no error, in versions that answer one key.
  struct find_coordinator_result result = {.message = req->version < FIND_COORDINATOR_BATCH ? "NONE" : ""};
  if (!cluster_view_address(req, broker, &result.host, &result.port)) {
    return (struct find_coordinator_result){.error = WIRE_COORDINATOR_NOT_AVAILABLE,
                                            .message = "The partition that the group is kept in has no leader."};
  }
  result.id = broker->id;
  return result;
}

/// The error of who may not know a coordinator; WIRE_NONE: it may, or there is no such type.
static int16_t find_coordinator_denied(const struct request *req, int8_t type, struct wire_string key)
{
  switch (type) {
    case FIND_COORDINATOR_GROUP:
      return api_may_group(req, RIGHT_DESCRIBE, key) ? WIRE_NONE : WIRE_GROUP_AUTHORIZATION_FAILED;
    case FIND_COORDINATOR_TRANSACTION:
      return api_may(req, RIGHT_DESCRIBE, RIGHT_TRANSACTIONAL_ID, key) ? WIRE_NONE
                                                                       : WIRE_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    case FIND_COORDINATOR_SHARE:
      return api_may_cluster(req, RIGHT_CLUSTER_ACTION) ? WIRE_NONE : WIRE_CLUSTER_AUTHORIZATION_FAILED;
    default:
      return WIRE_NONE;
  }
}

static const char *find_coordinator_denied_text(int16_t error)
{
  return error == WIRE_GROUP_AUTHORIZATION_FAILED     ? AUTHORIZE_GROUP_TEXT
         : error == WIRE_CLUSTER_AUTHORIZATION_FAILED ? AUTHORIZE_CLUSTER_TEXT
                                                      : "Transactional Id authorization failed.";
}

static struct find_coordinator_result find_coordinator_of(struct request *req, int8_t type, struct wire_string key)
{
  int16_t denied = find_coordinator_denied(req, type, key);
  if (denied != WIRE_NONE) {
    return (struct find_coordinator_result){
        .error = denied, .message = req->version < FIND_COORDINATOR_BATCH ? find_coordinator_denied_text(denied) : ""};
  }
  switch (type) {
    case FIND_COORDINATOR_GROUP:
      return find_coordinator_of_group(req, key);
    case FIND_COORDINATOR_TRANSACTION:
      return (struct find_coordinator_result){.error = WIRE_COORDINATOR_NOT_AVAILABLE,
                                              .message = "This broker does not serve transactions yet."};
    case FIND_COORDINATOR_SHARE:
      if (req->version >= FIND_COORDINATOR_SHARES && find_coordinator_is_share_key(key)) {
        return (struct find_coordinator_result){.error = WIRE_COORDINATOR_NOT_AVAILABLE,
                                                .message = "This broker does not serve share groups."};
      }
      return (struct find_coordinator_result){
          .error = WIRE_INVALID_REQUEST,
          .message = req->version >= FIND_COORDINATOR_SHARES
                         ? "The key of a share partition is <group>:<topic id>:<partition>."
                         : "Share partitions have coordinators from version 6 on."};
    default:
      return (struct find_coordinator_result){
          .error = WIRE_INVALID_REQUEST,
          .message = "The key type is none of 0 (group), 1 (transaction) and 2 (share partition)."};
  }
}

/// Says that somebody waits in vain.
static void find_coordinator_log(const struct request *req, int8_t type, struct wire_string key)
{
  int64_t now_ms = clock_mono_ms();
  int64_t logged_ms = atomic_load_explicit(&find_coordinator_logged_ms, memory_order_relaxed);
  if (type != FIND_COORDINATOR_TRANSACTION || now_ms - logged_ms < FIND_COORDINATOR_LOG_INTERVAL_MS ||
      !atomic_compare_exchange_strong(&find_coordinator_logged_ms, &logged_ms, now_ms)) {
    return;
  }
  const char *peer = connection_peer(req->frame->conn);
  int length = key.length < FIND_COORDINATOR_KEY_SHOWN ? key.length : FIND_COORDINATOR_KEY_SHOWN;
  length = length > 0 ? length : 0;
  slog_warn(
      "%s asked for the coordinator of transactional id '%.*s': transactions are not served yet; it will wait for ever",
      peer, length, key.data);
}

void find_coordinator_handle(struct request *req)
{
  const struct wire_find_coordinator_request *body = req->body;
  struct wire_find_coordinator_response resp;
  wire_find_coordinator_response_init(&resp);
  if (req->version < FIND_COORDINATOR_BATCH) {
    struct find_coordinator_result result = find_coordinator_of(req, body->key_type, body->key);
    find_coordinator_log(req, body->key_type, body->key);
    resp.error_code = result.error;
    resp.error_message = wire_string_from(result.message);
    resp.node_id = result.error == WIRE_NONE ? result.id : -1;
    resp.host = wire_string_from(result.error == WIRE_NONE ? result.host : "");
    resp.port = result.error == WIRE_NONE ? result.port : -1;
    request_respond(req, &resp);
    return;
  }
  if (!request_check_count(req, body->coordinator_keys_count)) {
    return;
  }
  resp.coordinators_count = body->coordinator_keys_count;
  resp.coordinators = request_array(req, resp.coordinators_count, sizeof *resp.coordinators);
  if (resp.coordinators_count > 0) {
    find_coordinator_log(req, body->key_type, body->coordinator_keys[0]);
  }
  for (int32_t i = 0; i < resp.coordinators_count; i++) {
    struct find_coordinator_result result = find_coordinator_of(req, body->key_type, body->coordinator_keys[i]);
    struct wire_find_coordinator_response_coordinator *entry = &resp.coordinators[i];
    wire_find_coordinator_response_coordinator_init(entry);
    entry->key = body->coordinator_keys[i];
    entry->error_code = result.error;
    entry->error_message = wire_string_from(result.message);
    entry->node_id = result.error == WIRE_NONE ? result.id : -1;
    entry->host = wire_string_from(result.error == WIRE_NONE ? result.host : "");
    entry->port = result.error == WIRE_NONE ? result.port : -1;
  }
  request_respond(req, &resp);
}
