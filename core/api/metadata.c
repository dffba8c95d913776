// SPDX-License-Identifier: Apache-2.0
//
// Metadata, 0 to 13: brokers, topics, partitions and who leads them, all from one image. Addresses are those of the
// listener that the client came through.
//
//   version  rule
//   0        an empty list means all topics, there is no null; brokers that are gone are left out of replica lists
//   1        null means all topics, an empty list none
//   4        the client says whether missing topics may be created; older ones always allow it
//   6        a leader without an address on this listener is LISTENER_NOT_FOUND, before LEADER_NOT_AVAILABLE
//   8        authorized operations on request, all that client.authorize allows; of the cluster in 8 to 10 only
//   10       topic ids in the answer; an id, or a null name, in a question of 10 or 11 fails all of it: INVALID_REQUEST
//   12       topics by id; null name and no id fails all of it: UNKNOWN_SERVER_ERROR
//
// A missing topic that was named is created when the request and auto.create.topics.enable allow it: the controller is
// told, and the answer, UNKNOWN_TOPIC_OR_PARTITION, does not wait for it; the client asks again. The broker's own
// topics are no exception, and get their own counts and configs; __cluster_metadata is no topic. Asking for all topics
// creates none. A partition without a leader has leader -1, epoch -1 and LEADER_NOT_AVAILABLE, so that no client takes
// an old epoch for news.
#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/cluster_view.h"
#include "api/handlers.h"
#include "api/key_set.h"
#include "api/request.h"
#include "api/topic_change.h"
#include "api/topic_hooks.h"
#include "base/slog.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "metadata/topic_name.h"
#include "wire/error_codes.h"
#include "wire/metadata.h"

enum {
  METADATA_NULL_IS_ALL = 1, // versions that brought a rule
  METADATA_LISTENER_ERROR = 6,
  METADATA_IDS = 10,
  METADATA_BY_ID = 12,
  METADATA_CREATING_MAX = 1000, // auto-creations under way in the process; beyond, clients just ask again
};

/// Topics that auto-creation works on, of all workers.
static _Atomic(int32_t) metadata_creating;

/// What one answer is made from.
struct metadata_view {
  struct request *req;                ///< the question
  const struct metadata_image *image; ///< the cluster, for this turn
  bool creates;                       ///< topics that are not there
  bool has_operations;                ///< what the client may do with topics is asked for, too
};

// ---- brokers and partitions ----

static void metadata_fill_brokers(const struct metadata_view *view, struct wire_metadata_response *resp)
{
  const struct metadata_image *image = view->image;
  resp->brokers = request_array(view->req, image->broker_count, sizeof *resp->brokers);
  resp->brokers_count = 0;
  for (int32_t i = 0; i < image->broker_count; i++) {
    const char *host;
    int32_t port;
    if (!cluster_view_address(view->req, image->brokers[i], &host, &port)) {
      continue;
    }
    struct wire_metadata_response_metadata_response_broker *entry = &resp->brokers[resp->brokers_count++];
    wire_metadata_response_metadata_response_broker_init(entry);
    entry->node_id = image->brokers[i]->id;
    entry->host = wire_string_from(host);
    entry->port = port;
    entry->rack = wire_string_from(image->brokers[i]->rack);
  }
}

/// Version 0 does not name brokers that are gone; returns what is left of a list.
static const int32_t *metadata_registered(const struct metadata_view *view, const int32_t *ids, int32_t *count)
{
  int32_t *left = request_array(view->req, *count, sizeof *left);
  int32_t left_count = 0;
  for (int32_t i = 0; i < *count; i++) {
    if (metadata_image_broker(view->image, ids[i]) != NULL) {
      left[left_count++] = ids[i];
    }
  }
  *count = left_count;
  return left;
}

static void metadata_fill_partition(const struct metadata_view *view, const struct metadata_topic *topic, int32_t index,
                                    struct wire_metadata_response_metadata_response_partition *entry)
{
  const struct metadata_partition *part = &topic->partitions[index];
  bool is_offline = cluster_view_is_offline(view->req, topic, index);
  const struct metadata_broker *leader = is_offline ? NULL : metadata_image_broker(view->image, part->leader);
  const char *host;
  int32_t port;
  wire_metadata_response_metadata_response_partition_init(entry);
  entry->partition_index = index;
  entry->leader_id = -1;
  entry->leader_epoch = -1;
  if (leader == NULL) {
    entry->error_code = WIRE_LEADER_NOT_AVAILABLE;
  } else if (!cluster_view_address(view->req, leader, &host, &port)) {
    entry->error_code =
        view->req->version >= METADATA_LISTENER_ERROR ? WIRE_LISTENER_NOT_FOUND : WIRE_LEADER_NOT_AVAILABLE;
  } else {
    entry->leader_id = part->leader;
    entry->leader_epoch = part->leader_epoch;
  }
  entry->replica_nodes = part->replicas;
  entry->replica_nodes_count = part->replica_count;
  entry->isr_nodes = part->isr;
  entry->isr_nodes_count = part->isr_count;
  entry->offline_replicas = part->offline;
  entry->offline_replicas_count = part->offline_count;
  if (is_offline) {
    // As Kafka's controller has it a moment after the directory failed.
    entry->isr_nodes_count = 0;
    entry->offline_replicas = &view->req->api->broker_id;
    entry->offline_replicas_count = 1;
  }
  if (view->req->version == 0 && entry->offline_replicas_count > 0) {
    entry->replica_nodes = metadata_registered(view, part->replicas, &entry->replica_nodes_count);
    entry->isr_nodes = metadata_registered(view, part->isr, &entry->isr_nodes_count);
    if (entry->error_code == WIRE_NONE) {
      entry->error_code = WIRE_REPLICA_NOT_AVAILABLE;
    }
  }
}

// ---- topics ----

/// True when a topic of the question is given by its id.
static bool metadata_is_by_id(const struct request *req,
                              const struct wire_metadata_request_metadata_request_topic *asked)
{
  return req->version >= METADATA_BY_ID && !uuid_is_zero(&asked->topic_id);
}

static int32_t metadata_operations(const struct metadata_view *view, struct wire_string name)
{
  return view->has_operations ? api_operations(view->req, RIGHT_TOPIC, name, CLUSTER_VIEW_TOPIC_OPERATIONS) : INT32_MIN;
}

static void metadata_fill_topic(const struct metadata_view *view, const struct metadata_topic *topic,
                                struct wire_metadata_response_metadata_response_topic *entry)
{
  wire_metadata_response_metadata_response_topic_init(entry);
  entry->name = (struct wire_string){topic->name, topic->name_length};
  entry->topic_id = topic->id;
  entry->is_internal = topic->is_internal;
  entry->topic_authorized_operations = metadata_operations(view, entry->name);
  entry->partitions = request_array(view->req, topic->partition_count, sizeof *entry->partitions);
  entry->partitions_count = topic->partition_count;
  for (int32_t i = 0; i < topic->partition_count; i++) {
    metadata_fill_partition(view, topic, i, &entry->partitions[i]);
  }
}

/// Answers a name that no topic has; returns whether it may be created.
static bool metadata_fill_missing(const struct metadata_view *view, struct wire_string name,
                                  struct wire_metadata_response_metadata_response_topic *entry)
{
  bool is_valid = topic_name_validate(name.data, (size_t)name.length, NULL) == 0;
  wire_metadata_response_metadata_response_topic_init(entry);
  entry->name = name;
  entry->error_code = is_valid ? WIRE_UNKNOWN_TOPIC_OR_PARTITION : WIRE_INVALID_TOPIC_EXCEPTION;
  entry->topic_authorized_operations = metadata_operations(view, name);
  if (!is_valid) {
    return false;
  }
  const char *text = request_string(view->req, name);
  entry->is_internal = topic_name_is_internal(text);
  if (view->creates && !api_may_topic(view->req, RIGHT_CREATE, name)) {
    entry->error_code = WIRE_TOPIC_AUTHORIZATION_FAILED;
    return false;
  }
  return !topic_name_is_cluster_metadata(text);
}

/// Answers a topic that the client may not know, without saying whether it is there. An id is not said to be a secret;
/// whoever names a topic gets none.
static void metadata_fill_denied(const struct metadata_view *view,
                                 const struct wire_metadata_request_metadata_request_topic *asked,
                                 struct wire_metadata_response_metadata_response_topic *entry)
{
  bool by_id = metadata_is_by_id(view->req, asked);
  wire_metadata_response_metadata_response_topic_init(entry);
  entry->error_code = WIRE_TOPIC_AUTHORIZATION_FAILED;
  entry->name = by_id ? wire_string_from(NULL) : asked->name;
  if (by_id) {
    entry->topic_id = asked->topic_id;
  }
}

static void metadata_fill_all_topics(const struct metadata_view *view, struct wire_metadata_response *resp)
{
  resp->topics = request_array(view->req, view->image->topic_count, sizeof *resp->topics);
  resp->topics_count = 0;
  for (int32_t i = 0; i < view->image->topic_count; i++) {
    const struct metadata_topic *topic = view->image->topics[i];
    if (api_may_topic(view->req, RIGHT_DESCRIBE, (struct wire_string){topic->name, topic->name_length})) {
      metadata_fill_topic(view, topic, &resp->topics[resp->topics_count++]);
    }
  }
}

/// Notes a topic of the question; false when it was asked for before.
static bool metadata_is_first(const struct request *req, struct key_set *seen,
                              const struct wire_metadata_request_metadata_request_topic *asked, int32_t place)
{
  static const struct uuid NO_ID;
  if (metadata_is_by_id(req, asked)) {
    return key_set_put(seen, wire_string_from(NULL), &asked->topic_id, 0, place) == place;
  }
  return key_set_put(seen, asked->name, &NO_ID, 0, place) == place;
}

/// Answers the topics of the question, each once.
///
/// @param[out] missing  room for all names: those that may be created
/// @return how many those are
static int32_t metadata_fill_topics(const struct metadata_view *view, struct wire_metadata_response *resp,
                                    struct wire_string *missing)
{
  struct request *req = view->req;
  const struct wire_metadata_request *body = req->body;
  struct key_set seen;
  key_set_create(&seen, &req->arena, body->topics_count);
  int32_t missing_count = 0;
  resp->topics = request_array(req, body->topics_count, sizeof *resp->topics);
  resp->topics_count = 0;
  for (int32_t i = 0; i < body->topics_count; i++) {
    const struct wire_metadata_request_metadata_request_topic *asked = &body->topics[i];
    if (!metadata_is_first(req, &seen, asked, i)) {
      continue;
    }
    struct wire_metadata_response_metadata_response_topic *entry = &resp->topics[resp->topics_count++];
    const struct metadata_topic *topic =
        metadata_is_by_id(req, asked) ? metadata_image_topic_by_id(view->image, &asked->topic_id)
                                      : metadata_image_topic(view->image, asked->name.data, (size_t)asked->name.length);
    struct wire_string name = topic != NULL                   ? (struct wire_string){topic->name, topic->name_length}
                              : metadata_is_by_id(req, asked) ? wire_string_from(NULL)
                                                              : asked->name;
    if (name.length >= 0 && !api_may_topic(req, RIGHT_DESCRIBE, name)) {
      metadata_fill_denied(view, asked, entry);
    } else if (topic != NULL) {
      metadata_fill_topic(view, topic, entry);
    } else if (metadata_is_by_id(req, asked)) {
      wire_metadata_response_metadata_response_topic_init(entry);
      entry->error_code = WIRE_UNKNOWN_TOPIC_ID;
      entry->name = wire_string_from(NULL);
      entry->topic_id = asked->topic_id;
    } else if (metadata_fill_missing(view, asked->name, entry)) {
      missing[missing_count++] = asked->name;
    }
  }
  return missing_count;
}

// ---- auto-creation ----

/// On the control thread: nobody waits for it, so the worker may be gone.
static void metadata_created(struct controller_create *create)
{
  for (int32_t i = 0; i < create->topic_count; i++) {
    const struct controller_new_topic *topic = &create->topics[i];
    if (topic->error_code != WIRE_NONE) {
      slog_debug("topic %s is not created automatically: %s", topic->name,
                 topic->error_message != NULL ? topic->error_message : wire_error_name(topic->error_code));
    }
  }
  atomic_fetch_sub_explicit(&metadata_creating, create->topic_count, memory_order_relaxed);
  topic_change_done(create->arg);
}

/// Has missing topics created with the broker's defaults; nobody waits for it.
static void metadata_create(struct request *req, const struct wire_string *names, int32_t count)
{
  int32_t room = METADATA_CREATING_MAX - atomic_fetch_add_explicit(&metadata_creating, count, memory_order_relaxed);
  if (count > room) {
    int32_t given = room > 0 ? room : 0;
    atomic_fetch_sub_explicit(&metadata_creating, count - given, memory_order_relaxed);
    count = given;
  }
  if (count == 0) {
    return;
  }
  struct topic_change *change = topic_change_new(req->worker, NULL, 0, NULL);
  struct controller_create *create = &change->create;
  create->arena = &change->arena;
  create->topics = arena_zalloc(&change->arena, sizeof *create->topics * (size_t)count);
  create->topic_count = count;
  for (int32_t i = 0; i < count; i++) {
    create->topics[i].name = arena_strndup(&change->arena, names[i].data, (size_t)names[i].length);
    create->topics[i].name_length = (size_t)names[i].length;
    create->topics[i].partitions = -1;
    create->topics[i].replication_factor = -1;
  }
  create->is_auto = true;
  create->reply = NULL;
  create->done = metadata_created;
  create->arg = change;
  topic_hooks_create(change, req);
}

// ---- the request ----

/// The error that fails all of a question, or 0.
static int16_t metadata_check(const struct request *req, const struct wire_metadata_request *body)
{
  for (int32_t i = 0; req->version >= METADATA_IDS && i < body->topics_count; i++) {
    bool has_id = !uuid_is_zero(&body->topics[i].topic_id);
    bool has_name = body->topics[i].name.length >= 0;
    if (req->version < METADATA_BY_ID && (has_id || !has_name)) {
      return WIRE_INVALID_REQUEST;
    }
    if (!has_id && !has_name) {
      return WIRE_UNKNOWN_SERVER_ERROR;
    }
  }
  return WIRE_NONE;
}

/// Answers every topic as it was asked for with one error, and tells nothing else.
static void metadata_fail(struct request *req, const struct wire_metadata_request *body, int16_t error)
{
  struct wire_metadata_response resp;
  wire_metadata_response_init(&resp);
  resp.error_code = error;
  resp.topics = request_array(req, body->topics_count, sizeof *resp.topics);
  resp.topics_count = body->topics_count;
  for (int32_t i = 0; i < body->topics_count; i++) {
    wire_metadata_response_metadata_response_topic_init(&resp.topics[i]);
    resp.topics[i].error_code = error;
    resp.topics[i].name = body->topics[i].name.length >= 0 ? body->topics[i].name : wire_string_from("");
    resp.topics[i].topic_id = body->topics[i].topic_id;
  }
  request_respond(req, &resp);
}

void metadata_handle(struct request *req)
{
  const struct wire_metadata_request *body = req->body;
  if (!request_check_count(req, body->topics_count)) {
    return;
  }
  int16_t error = metadata_check(req, body);
  if (error != WIRE_NONE) {
    metadata_fail(req, body, error);
    return;
  }
  struct metadata_view view = {
      .req = req,
      .image = metadata_cache_get(req->api->metadata),
      .has_operations = body->include_topic_authorized_operations,
      .creates = body->allow_auto_topic_creation && api_config(req->api)->auto_create_topics_enable,
  };
  struct wire_metadata_response resp;
  wire_metadata_response_init(&resp);
  metadata_fill_brokers(&view, &resp);
  resp.cluster_id = wire_string_from(view.image->cluster_id);
  resp.controller_id = view.image->controller_id;
  if (body->include_cluster_authorized_operations) {
    resp.cluster_authorized_operations = cluster_view_operations(req);
  }
  bool is_all = req->version >= METADATA_NULL_IS_ALL ? body->topics_count < 0 : body->topics_count == 0;
  if (is_all) {
    metadata_fill_all_topics(&view, &resp);
  } else {
    struct wire_string *missing = request_array(req, body->topics_count, sizeof *missing);
    int32_t missing_count = metadata_fill_topics(&view, &resp, missing);
    if (view.creates) {
      metadata_create(req, missing, missing_count);
    }
  }
  request_respond(req, &resp);
}
