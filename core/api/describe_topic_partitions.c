// SPDX-License-Identifier: Apache-2.0
//
// DescribeTopicPartitions, 0: topics by rising name, each once, with their partitions, a page at a time (KIP-966).
//
//   topics    none: all that are there
//   cursor    topics with smaller names are left out, and partitions of its topic below its index. Where topics are
//             named it has to be one of them, INVALID_REQUEST for all otherwise, as for a negative index
//   limit     partitions of a page, at least 1, at most max.request.partition.size.limit. Where they end, next_cursor
//             says where to go on; topics that are not there count nothing
//
// Kafka looks the empty name up in the cursor even if there is none: without a cursor an empty name fails all topics,
// UNKNOWN_SERVER_ERROR.
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/cluster_view.h"
#include "api/handlers.h"
#include "api/request.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "metadata/topic_name.h"
#include "wire/describe_topic_partitions.h"
#include "wire/error_codes.h"

typedef struct wire_describe_topic_partitions_response_describe_topic_partitions_response_topic describe_topic;

/// A page being filled.
struct describe_page {
  struct request *req;                                 ///< the question
  const struct metadata_image *image;                  ///< the cluster, for this turn
  struct wire_describe_topic_partitions_response resp; ///< the answer
  int32_t left;                                        ///< partitions that it has room for
  bool is_done;                                        ///< the rest is for the next page
};

static int describe_compare(struct wire_string a, struct wire_string b)
{
  int32_t shorter = a.length < b.length ? a.length : b.length;
  int order = shorter > 0 ? memcmp(a.data, b.data, (size_t)shorter) : 0;
  return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int describe_compare_sorted(const void *left, const void *right)
{
  return describe_compare(*(const struct wire_string *)left, *(const struct wire_string *)right);
}

// ---- one topic ----

static void describe_stop(struct describe_page *page, struct wire_string name, int32_t partition)
{
  struct wire_describe_topic_partitions_response_cursor *next = request_array(page->req, 1, sizeof *next);
  next->topic_name = name;
  next->partition_index = partition;
  page->resp.next_cursor = next;
  page->is_done = true;
}

static void describe_partition(
    const struct describe_page *page, const struct metadata_topic *topic, int32_t index,
    struct wire_describe_topic_partitions_response_describe_topic_partitions_response_partition *entry)
{
  const struct metadata_partition *part = &topic->partitions[index];
  const char *host;
  int32_t port;
  bool is_offline = cluster_view_is_offline(page->req, topic, index);
  bool has_leader =
      !is_offline && cluster_view_address(page->req, metadata_image_broker(page->image, part->leader), &host, &port);
  wire_describe_topic_partitions_response_describe_topic_partitions_response_partition_init(entry);
  entry->partition_index = index;
  entry->leader_id = has_leader ? part->leader : METADATA_NO_LEADER;
  entry->leader_epoch = part->leader_epoch;
  entry->replica_nodes = part->replicas;
  entry->replica_nodes_count = part->replica_count;
  entry->isr_nodes = part->isr;
  entry->isr_nodes_count = part->isr_count;
  entry->eligible_leader_replicas_count = 0; // not kept here: none, which is not the same as unknown
  entry->last_known_elr_count = 0;
  entry->offline_replicas = part->offline;
  entry->offline_replicas_count = part->offline_count;
  if (is_offline) {
    entry->isr_nodes_count = 0;
    entry->offline_replicas = &page->req->api->broker_id;
    entry->offline_replicas_count = 1;
  }
}

/// Answers a topic from its partition `first` on, or only where to go on with it.
static void describe_found(struct describe_page *page, const struct metadata_topic *topic, int32_t first)
{
  struct wire_string name = {topic->name, topic->name_length};
  if (page->left == 0) {
    describe_stop(page, name, 0);
    return;
  }
  describe_topic *entry = &page->resp.topics[page->resp.topics_count++];
  wire_describe_topic_partitions_response_describe_topic_partitions_response_topic_init(entry);
  entry->name = name;
  entry->topic_id = topic->id;
  entry->is_internal = topic->is_internal;
  entry->topic_authorized_operations = api_operations(page->req, RIGHT_TOPIC, name, CLUSTER_VIEW_TOPIC_OPERATIONS);
  int32_t rest = first < topic->partition_count ? topic->partition_count - first : 0;
  int32_t count = rest < page->left ? rest : page->left;
  entry->partitions = request_array(page->req, count, sizeof *entry->partitions);
  entry->partitions_count = count;
  for (int32_t i = 0; i < count; i++) {
    describe_partition(page, topic, first + i, &entry->partitions[i]);
  }
  page->left -= count;
  if (count < rest) {
    describe_stop(page, name, first + count);
  }
}

static void describe_missing(struct describe_page *page, struct wire_string name)
{
  if (page->left == 0) {
    describe_stop(page, name, 0);
    return;
  }
  bool is_valid = topic_name_validate(name.data, (size_t)name.length, NULL) == 0;
  describe_topic *entry = &page->resp.topics[page->resp.topics_count++];
  wire_describe_topic_partitions_response_describe_topic_partitions_response_topic_init(entry);
  entry->name = name;
  entry->error_code = is_valid ? WIRE_UNKNOWN_TOPIC_OR_PARTITION : WIRE_INVALID_TOPIC_EXCEPTION;
  entry->is_internal = is_valid && topic_name_is_internal(request_string(page->req, name));
  entry->topic_authorized_operations = api_operations(page->req, RIGHT_TOPIC, name, CLUSTER_VIEW_TOPIC_OPERATIONS);
}

/// A topic that the client may not know: it is not said whether it is there, and it counts nothing.
static void describe_denied(struct describe_page *page, struct wire_string name)
{
  describe_topic *entry = &page->resp.topics[page->resp.topics_count++];
  wire_describe_topic_partitions_response_describe_topic_partitions_response_topic_init(entry);
  entry->name = name;
  entry->error_code = WIRE_TOPIC_AUTHORIZATION_FAILED;
}

// ---- the request ----

/// Where to begin in a topic.
static int32_t describe_first(const struct wire_describe_topic_partitions_request *body, struct wire_string name)
{
  return body->cursor != NULL && describe_compare(name, body->cursor->topic_name) == 0 ? body->cursor->partition_index
                                                                                       : 0;
}

static bool describe_is_skipped(const struct wire_describe_topic_partitions_request *body, struct wire_string name)
{
  return body->cursor != NULL && describe_compare(name, body->cursor->topic_name) < 0;
}

static void describe_all(struct describe_page *page)
{
  const struct wire_describe_topic_partitions_request *body = page->req->body;
  int32_t room = page->left < page->image->topic_count ? page->left : page->image->topic_count;
  // A topic from which the cursor takes everything is in the answer, and counts nothing.
  page->resp.topics = request_array(page->req, room + 1, sizeof *page->resp.topics);
  for (int32_t i = 0; i < page->image->topic_count && !page->is_done; i++) {
    const struct metadata_topic *topic = page->image->topics[i];
    struct wire_string name = {topic->name, topic->name_length};
    if (!describe_is_skipped(body, name) && api_may_topic(page->req, RIGHT_DESCRIBE, name)) {
      describe_found(page, topic, describe_first(body, name));
    }
  }
}

static void describe_name(struct describe_page *page, struct wire_string name)
{
  const struct metadata_topic *topic = metadata_image_topic(page->image, name.data, (size_t)name.length);
  if (topic != NULL) {
    describe_found(page, topic, describe_first(page->req->body, name));
  } else {
    describe_missing(page, name);
  }
}

static void describe_named(struct describe_page *page)
{
  const struct wire_describe_topic_partitions_request *body = page->req->body;
  struct wire_string *names = request_array(page->req, body->topics_count, sizeof *names);
  int32_t count = 0;
  for (int32_t i = 0; i < body->topics_count; i++) {
    if (!describe_is_skipped(body, body->topics[i].name)) {
      names[count++] = body->topics[i].name;
    }
  }
  qsort(names, (size_t)count, sizeof *names, describe_compare_sorted);
  page->resp.topics = request_array(page->req, count, sizeof *page->resp.topics);
  struct wire_string *denied = request_array(page->req, count, sizeof *denied);
  int32_t denied_count = 0;
  for (int32_t i = 0; i < count; i++) {
    if (i > 0 && describe_compare(names[i], names[i - 1]) == 0) {
      continue;
    }
    if (!api_may_topic(page->req, RIGHT_DESCRIBE, names[i])) {
      denied[denied_count++] = names[i];
    } else if (!page->is_done) {
      describe_name(page, names[i]);
    }
  }
  for (int32_t i = 0; i < denied_count; i++) {
    describe_denied(page, denied[i]); // behind the others, on each page
  }
}

/// The error that fails all of a question, or 0.
static int16_t describe_check(const struct wire_describe_topic_partitions_request *body)
{
  const struct wire_describe_topic_partitions_request_cursor *cursor = body->cursor;
  bool has_empty = false;
  bool has_cursor = body->topics_count == 0;
  for (int32_t i = 0; i < body->topics_count; i++) {
    has_empty |= body->topics[i].name.length == 0;
    has_cursor |= cursor != NULL && describe_compare(body->topics[i].name, cursor->topic_name) == 0;
  }
  if (cursor == NULL) {
    return has_empty ? WIRE_UNKNOWN_SERVER_ERROR : WIRE_NONE;
  }
  return has_cursor && cursor->partition_index >= 0 ? WIRE_NONE : WIRE_INVALID_REQUEST;
}

/// Answers every topic as it was named with one error.
static void describe_fail(struct describe_page *page, int16_t error)
{
  const struct wire_describe_topic_partitions_request *body = page->req->body;
  page->resp.topics = request_array(page->req, body->topics_count, sizeof *page->resp.topics);
  page->resp.topics_count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    wire_describe_topic_partitions_response_describe_topic_partitions_response_topic_init(&page->resp.topics[i]);
    page->resp.topics[i].error_code = error;
    page->resp.topics[i].name = body->topics[i].name;
  }
}

void describe_topic_partitions_handle(struct request *req)
{
  const struct wire_describe_topic_partitions_request *body = req->body;
  if (!request_check_count(req, body->topics_count)) {
    return;
  }
  int32_t most = api_config(req->api)->max_request_partition_size_limit;
  int32_t wanted = body->response_partition_limit > 1 ? body->response_partition_limit : 1;
  struct describe_page page = {
      .req = req,
      .image = metadata_cache_get(req->api->metadata),
      .left = wanted < most ? wanted : most,
  };
  wire_describe_topic_partitions_response_init(&page.resp);
  int16_t error = describe_check(body);
  if (error != WIRE_NONE) {
    describe_fail(&page, error);
  } else if (body->topics_count == 0) {
    describe_all(&page);
  } else {
    describe_named(&page);
  }
  request_respond(req, &page.resp);
}
