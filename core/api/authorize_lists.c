// SPDX-License-Identifier: Apache-2.0
//
// What the requests of each API need, as Apache Kafka 4.4.0 authorizes them. Where Kafka has a right for all of a kind
// (CREATE, DELETE and DESCRIBE of the cluster for all topics and groups, WRITE on any topic for idempotent producers),
// only the right for the one thing is asked: a function can decide about all of them itself.
//
// Topics are asked about by name, also where a request has ids: one without a name is unknown to everybody. What is
// known only when a request is under way is asked then, by its handler (list_groups.c, offset_fetch.c,
// consumer_group_describe.c); what a fetch session has, by fetch_session.c.
#include "api/api.h"
#include "api/authorize.h"
#include "api/cluster_view.h"
#include "api/fetch_private.h"
#include "api/request.h"
#include "base/bytes.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "wire/apis.h"
#include "wire/codec.h"
#include "wire/consumer_group_describe.h"
#include "wire/consumer_group_heartbeat.h"
#include "wire/alter_configs.h"
#include "wire/create_partitions.h"
#include "wire/create_topics.h"
#include "wire/delete_groups.h"
#include "wire/delete_records.h"
#include "wire/delete_topics.h"
#include "wire/describe_cluster.h"
#include "wire/describe_configs.h"
#include "wire/describe_groups.h"
#include "wire/describe_producers.h"
#include "wire/describe_topic_partitions.h"
#include "wire/fetch.h"
#include "wire/find_coordinator.h"
#include "wire/heartbeat.h"
#include "wire/incremental_alter_configs.h"
#include "wire/init_producer_id.h"
#include "wire/join_group.h"
#include "wire/leave_group.h"
#include "wire/list_offsets.h"
#include "wire/metadata.h"
#include "wire/offset_commit.h"
#include "wire/offset_delete.h"
#include "wire/offset_fetch.h"
#include "wire/offset_for_leader_epoch.h"
#include "wire/produce.h"
#include "wire/sync_group.h"

enum {
  LIST_PRODUCE_IDS = 13, // first versions with ids of topics
  LIST_METADATA_NULL_IS_ALL = 1,
  LIST_METADATA_IDS = 12,
  LIST_OFFSET_COMMIT_IDS = 10,
  LIST_OFFSET_FETCH_IDS = 10,
  LIST_OFFSET_FETCH_GROUPS = 8,
  LIST_FIND_COORDINATOR_BATCH = 4,
  LIST_DELETE_TOPICS_STATES = 6,
};

enum { LIST_COORDINATOR_GROUP, LIST_COORDINATOR_TRANSACTION, LIST_COORDINATOR_SHARE }; // FindCoordinator's key types

// ---- words ----

static enum authorize_answer need_topic(struct request *req, enum right_operation operation, struct wire_string name)
{
  return authorize_need(req, operation, RIGHT_TOPIC, name);
}

static void need_group(struct request *req, enum right_operation operation, struct wire_string name)
{
  authorize_need(req, operation, RIGHT_GROUP, name);
}

static enum authorize_answer need_cluster(struct request *req, enum right_operation operation)
{
  return authorize_need(req, operation, RIGHT_CLUSTER, wire_string_from(AUTHORIZE_CLUSTER_NAME));
}

static struct wire_string topic_name(const struct metadata_topic *topic)
{
  return topic != NULL ? (struct wire_string){topic->name, topic->name_length} : (struct wire_string){NULL, -1};
}

/// A topic that a request has by id.
static void need_id(struct request *req, enum right_operation operation, const struct uuid *id)
{
  need_topic(req, operation, topic_name(metadata_image_topic_by_id(metadata_cache_get(req->api->metadata), id)));
}

// ---- records ----

static void list_produce(struct request *req)
{
  const struct wire_produce_request *body = req->body;
  authorize_need(req, RIGHT_WRITE, RIGHT_TRANSACTIONAL_ID, body->transactional_id);
  for (int32_t i = 0; i < body->topic_data_count; i++) {
    if (req->version >= LIST_PRODUCE_IDS) {
      need_id(req, RIGHT_WRITE, &body->topic_data[i].topic_id);
    } else {
      need_topic(req, RIGHT_WRITE, body->topic_data[i].name);
    }
  }
}

static void list_list_offsets(struct request *req)
{
  const struct wire_list_offsets_request *body = req->body;
  for (int32_t i = 0; i < body->topics_count; i++) {
    need_topic(req, RIGHT_DESCRIBE, body->topics[i].name);
  }
}

static void list_delete_records(struct request *req)
{
  const struct wire_delete_records_request *body = req->body;
  for (int32_t i = 0; i < body->topics_count; i++) {
    need_topic(req, RIGHT_DELETE, body->topics[i].name);
  }
}

static void list_offset_for_leader_epoch(struct request *req)
{
  const struct wire_offset_for_leader_epoch_request *body = req->body;
  for (int32_t i = 0; i < body->topics_count; i++) {
    need_topic(req, RIGHT_DESCRIBE, body->topics[i].topic);
  }
}

static void list_describe_producers(struct request *req)
{
  const struct wire_describe_producers_request *body = req->body;
  for (int32_t i = 0; i < body->topics_count; i++) {
    need_topic(req, RIGHT_READ, body->topics[i].name);
  }
}

static void list_init_producer_id(struct request *req)
{
  const struct wire_init_producer_id_request *body = req->body;
  if (body->transactional_id.length >= 0) {
    authorize_need(req, RIGHT_WRITE, RIGHT_TRANSACTIONAL_ID, body->transactional_id);
  } else {
    need_cluster(req, RIGHT_IDEMPOTENT_WRITE);
  }
}

// ---- topics ----

/// A topic to tell of, and what may be done with it where that is asked for.
static void list_told_topic(struct request *req, struct wire_string name, bool has_operations)
{
  if (need_topic(req, RIGHT_DESCRIBE, name) == AUTHORIZE_ALLOWED && has_operations) {
    authorize_need_all(req, CLUSTER_VIEW_TOPIC_OPERATIONS, RIGHT_TOPIC, name);
  }
}

static void list_all_topics(struct request *req, bool has_operations)
{
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  for (int32_t i = 0; i < image->topic_count; i++) {
    list_told_topic(req, topic_name(image->topics[i]), has_operations);
  }
}

static void list_metadata(struct request *req)
{
  const struct wire_metadata_request *body = req->body;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  bool has_operations = body->include_topic_authorized_operations;
  bool creates = body->allow_auto_topic_creation && api_config(req->api)->auto_create_topics_enable;
  if (body->include_cluster_authorized_operations && need_cluster(req, RIGHT_DESCRIBE) == AUTHORIZE_ALLOWED) {
    authorize_need_all(req, CLUSTER_VIEW_CLUSTER_OPERATIONS, RIGHT_CLUSTER, wire_string_from(AUTHORIZE_CLUSTER_NAME));
  }
  if (req->version >= LIST_METADATA_NULL_IS_ALL ? body->topics_count < 0 : body->topics_count == 0) {
    list_all_topics(req, has_operations);
    return;
  }
  for (int32_t i = 0; i < body->topics_count; i++) {
    const struct wire_metadata_request_metadata_request_topic *asked = &body->topics[i];
    bool by_id = req->version >= LIST_METADATA_IDS && !uuid_is_zero(&asked->topic_id);
    const struct metadata_topic *topic = by_id ? metadata_image_topic_by_id(image, &asked->topic_id) : NULL;
    struct wire_string name = by_id ? topic_name(topic) : asked->name;
    list_told_topic(req, name, has_operations);
    if (creates && !by_id && name.length >= 0 && metadata_image_topic(image, name.data, (size_t)name.length) == NULL &&
        need_topic(req, RIGHT_DESCRIBE, name) == AUTHORIZE_ALLOWED) {
      need_topic(req, RIGHT_CREATE, name);
    }
  }
}

static void list_describe_topic_partitions(struct request *req)
{
  const struct wire_describe_topic_partitions_request *body = req->body;
  if (body->topics_count == 0) {
    list_all_topics(req, true);
  }
  for (int32_t i = 0; i < body->topics_count; i++) {
    list_told_topic(req, body->topics[i].name, true);
  }
}

static void list_create_topics(struct request *req)
{
  const struct wire_create_topics_request *body = req->body;
  for (int32_t i = 0; i < body->topics_count; i++) {
    if (need_topic(req, RIGHT_CREATE, body->topics[i].name) == AUTHORIZE_ALLOWED) {
      need_topic(req, RIGHT_DESCRIBE_CONFIGS, body->topics[i].name);
    }
  }
}

static void list_delete_topics(struct request *req)
{
  const struct wire_delete_topics_request *body = req->body;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  bool has_states = req->version >= LIST_DELETE_TOPICS_STATES;
  int32_t count = has_states ? body->topics_count : body->topic_names_count;
  for (int32_t i = 0; i < count; i++) {
    struct wire_string name = has_states ? body->topics[i].name : body->topic_names[i];
    if (has_states && name.length < 0) {
      name = topic_name(metadata_image_topic_by_id(image, &body->topics[i].topic_id));
    }
    if (need_topic(req, RIGHT_DESCRIBE, name) == AUTHORIZE_ALLOWED) {
      need_topic(req, RIGHT_DELETE, name);
    }
  }
}

static void list_create_partitions(struct request *req)
{
  const struct wire_create_partitions_request *body = req->body;
  for (int32_t i = 0; i < body->topics_count; i++) {
    need_topic(req, RIGHT_ALTER, body->topics[i].name);
  }
}

// ---- configs ----

enum right_resource authorize_config_resource(int8_t type)
{
  enum { TYPE_TOPIC = 2, TYPE_BROKER = 4, TYPE_BROKER_LOGGER = 8, TYPE_CLIENT_METRICS = 16, TYPE_GROUP = 32 };
  switch (type) {
    case TYPE_TOPIC:
      return RIGHT_TOPIC;
    case TYPE_GROUP:
      return RIGHT_GROUP;
    case TYPE_BROKER:
    case TYPE_BROKER_LOGGER:
    case TYPE_CLIENT_METRICS:
      return RIGHT_CLUSTER;
    default:
      return RIGHT_RESOURCES;
  }
}

static void need_config(struct request *req, enum right_operation operation, int8_t type, struct wire_string name)
{
  enum right_resource resource = authorize_config_resource(type);
  if (resource == RIGHT_CLUSTER) {
    need_cluster(req, operation);
  } else if (resource != RIGHT_RESOURCES) {
    authorize_need(req, operation, resource, name);
  }
}

static void list_describe_configs(struct request *req)
{
  const struct wire_describe_configs_request *body = req->body;
  for (int32_t i = 0; i < body->resources_count; i++) {
    need_config(req, RIGHT_DESCRIBE_CONFIGS, body->resources[i].resource_type, body->resources[i].resource_name);
  }
}

static void list_alter_configs(struct request *req)
{
  const struct wire_alter_configs_request *body = req->body;
  for (int32_t i = 0; i < body->resources_count; i++) {
    need_config(req, RIGHT_ALTER_CONFIGS, body->resources[i].resource_type, body->resources[i].resource_name);
  }
}

static void list_incremental_alter_configs(struct request *req)
{
  const struct wire_incremental_alter_configs_request *body = req->body;
  for (int32_t i = 0; i < body->resources_count; i++) {
    need_config(req, RIGHT_ALTER_CONFIGS, body->resources[i].resource_type, body->resources[i].resource_name);
  }
}

// ---- groups ----

static void list_join_group(struct request *req)
{
  const struct wire_join_group_request *body = req->body;
  need_group(req, RIGHT_READ, body->group_id);
}

static void list_sync_group(struct request *req)
{
  const struct wire_sync_group_request *body = req->body;
  need_group(req, RIGHT_READ, body->group_id);
}

static void list_heartbeat(struct request *req)
{
  const struct wire_heartbeat_request *body = req->body;
  need_group(req, RIGHT_READ, body->group_id);
}

static void list_leave_group(struct request *req)
{
  const struct wire_leave_group_request *body = req->body;
  need_group(req, RIGHT_READ, body->group_id);
}

static void list_consumer_group_heartbeat(struct request *req)
{
  const struct wire_consumer_group_heartbeat_request *body = req->body;
  need_group(req, RIGHT_READ, body->group_id);
  for (int32_t i = 0; i < body->subscribed_topic_names_count; i++) {
    need_topic(req, RIGHT_DESCRIBE, body->subscribed_topic_names[i]);
  }
}

static void list_offset_commit(struct request *req)
{
  const struct wire_offset_commit_request *body = req->body;
  need_group(req, RIGHT_READ, body->group_id);
  for (int32_t i = 0; i < body->topics_count; i++) {
    if (req->version >= LIST_OFFSET_COMMIT_IDS) {
      need_id(req, RIGHT_READ, &body->topics[i].topic_id);
    } else {
      need_topic(req, RIGHT_READ, body->topics[i].name);
    }
  }
}

static void list_offset_fetch(struct request *req)
{
  const struct wire_offset_fetch_request *body = req->body;
  if (req->version < LIST_OFFSET_FETCH_GROUPS) {
    need_group(req, RIGHT_DESCRIBE, body->group_id);
    for (int32_t i = 0; i < body->topics_count; i++) {
      need_topic(req, RIGHT_DESCRIBE, body->topics[i].name);
    }
    return;
  }
  for (int32_t i = 0; i < body->groups_count; i++) {
    need_group(req, RIGHT_DESCRIBE, body->groups[i].group_id);
    for (int32_t j = 0; j < body->groups[i].topics_count; j++) {
      if (req->version >= LIST_OFFSET_FETCH_IDS) {
        need_id(req, RIGHT_DESCRIBE, &body->groups[i].topics[j].topic_id);
      } else {
        need_topic(req, RIGHT_DESCRIBE, body->groups[i].topics[j].name);
      }
    }
  }
}

static void list_offset_delete(struct request *req)
{
  const struct wire_offset_delete_request *body = req->body;
  need_group(req, RIGHT_DELETE, body->group_id);
  for (int32_t i = 0; i < body->topics_count; i++) {
    need_topic(req, RIGHT_READ, body->topics[i].name);
  }
}

static void need_coordinator(struct request *req, int8_t type, struct wire_string key)
{
  if (type == LIST_COORDINATOR_GROUP) {
    need_group(req, RIGHT_DESCRIBE, key);
  } else if (type == LIST_COORDINATOR_TRANSACTION) {
    authorize_need(req, RIGHT_DESCRIBE, RIGHT_TRANSACTIONAL_ID, key);
  } else if (type == LIST_COORDINATOR_SHARE) {
    need_cluster(req, RIGHT_CLUSTER_ACTION);
  }
}

static void list_find_coordinator(struct request *req)
{
  const struct wire_find_coordinator_request *body = req->body;
  if (req->version < LIST_FIND_COORDINATOR_BATCH) {
    need_coordinator(req, body->key_type, body->key);
    return;
  }
  for (int32_t i = 0; i < body->coordinator_keys_count; i++) {
    need_coordinator(req, body->key_type, body->coordinator_keys[i]);
  }
}

/// Groups to tell of, and what may be done with them where that is asked for.
static void list_told_groups(struct request *req, const struct wire_string *groups, int32_t count, bool has_operations)
{
  for (int32_t i = 0; i < count; i++) {
    if (authorize_need(req, RIGHT_DESCRIBE, RIGHT_GROUP, groups[i]) == AUTHORIZE_ALLOWED && has_operations) {
      authorize_need_all(req, CLUSTER_VIEW_GROUP_OPERATIONS, RIGHT_GROUP, groups[i]);
    }
  }
}

static void list_describe_groups(struct request *req)
{
  const struct wire_describe_groups_request *body = req->body;
  list_told_groups(req, body->groups, body->groups_count, body->include_authorized_operations);
}

static void list_consumer_group_describe(struct request *req)
{
  const struct wire_consumer_group_describe_request *body = req->body;
  list_told_groups(req, body->group_ids, body->group_ids_count, body->include_authorized_operations);
}

static void list_delete_groups(struct request *req)
{
  const struct wire_delete_groups_request *body = req->body;
  for (int32_t i = 0; i < body->groups_names_count; i++) {
    need_group(req, RIGHT_DELETE, body->groups_names[i]);
  }
}

/// Its groups are asked about when they are known.
static void list_nothing_yet(struct request *req)
{
  (void)req;
}

// ---- the cluster ----

static void list_describe_cluster(struct request *req)
{
  const struct wire_describe_cluster_request *body = req->body;
  if (body->include_cluster_authorized_operations && need_cluster(req, RIGHT_DESCRIBE) == AUTHORIZE_ALLOWED) {
    authorize_need_all(req, CLUSTER_VIEW_CLUSTER_OPERATIONS, RIGHT_CLUSTER, wire_string_from(AUTHORIZE_CLUSTER_NAME));
  }
}

static void list_cluster_describe(struct request *req)
{
  need_cluster(req, RIGHT_DESCRIBE);
}

static void list_cluster_alter(struct request *req)
{
  need_cluster(req, RIGHT_ALTER);
}

static void list_cluster_describe_configs(struct request *req)
{
  need_cluster(req, RIGHT_DESCRIBE_CONFIGS);
}

// ---- the table ----

/// All APIs that are served: a spec compares it with the handlers.
static const struct {
  int16_t key;            ///< api key
  authorize_list_fn list; ///< NULL: nothing is asked
} AUTHORIZE_LISTS[] = {
    {WIRE_API_PRODUCE, list_produce},
    {WIRE_API_FETCH, fetch_list_rights},
    {WIRE_API_LIST_OFFSETS, list_list_offsets},
    {WIRE_API_METADATA, list_metadata},
    {WIRE_API_OFFSET_COMMIT, list_offset_commit},
    {WIRE_API_OFFSET_FETCH, list_offset_fetch},
    {WIRE_API_FIND_COORDINATOR, list_find_coordinator},
    {WIRE_API_JOIN_GROUP, list_join_group},
    {WIRE_API_HEARTBEAT, list_heartbeat},
    {WIRE_API_LEAVE_GROUP, list_leave_group},
    {WIRE_API_SYNC_GROUP, list_sync_group},
    {WIRE_API_DESCRIBE_GROUPS, list_describe_groups},
    {WIRE_API_LIST_GROUPS, list_nothing_yet},
    {WIRE_API_API_VERSIONS, NULL},
    {WIRE_API_CREATE_TOPICS, list_create_topics},
    {WIRE_API_DELETE_TOPICS, list_delete_topics},
    {WIRE_API_DELETE_RECORDS, list_delete_records},
    {WIRE_API_INIT_PRODUCER_ID, list_init_producer_id},
    {WIRE_API_OFFSET_FOR_LEADER_EPOCH, list_offset_for_leader_epoch},
    {WIRE_API_DESCRIBE_CONFIGS, list_describe_configs},
    {WIRE_API_ALTER_CONFIGS, list_alter_configs},
    {WIRE_API_ALTER_REPLICA_LOG_DIRS, list_cluster_alter},
    {WIRE_API_DESCRIBE_LOG_DIRS, list_cluster_describe},
    {WIRE_API_CREATE_PARTITIONS, list_create_partitions},
    {WIRE_API_DELETE_GROUPS, list_delete_groups},
    {WIRE_API_ELECT_LEADERS, list_cluster_alter},
    {WIRE_API_INCREMENTAL_ALTER_CONFIGS, list_incremental_alter_configs},
    {WIRE_API_ALTER_PARTITION_REASSIGNMENTS, list_cluster_alter},
    {WIRE_API_LIST_PARTITION_REASSIGNMENTS, list_cluster_describe},
    {WIRE_API_OFFSET_DELETE, list_offset_delete},
    {WIRE_API_DESCRIBE_CLIENT_QUOTAS, list_cluster_describe_configs},
    {WIRE_API_DESCRIBE_USER_SCRAM_CREDENTIALS, list_cluster_describe},
    {WIRE_API_ALTER_USER_SCRAM_CREDENTIALS, list_cluster_alter},
    {WIRE_API_DESCRIBE_QUORUM, list_cluster_describe},
    {WIRE_API_UPDATE_FEATURES, list_cluster_alter},
    {WIRE_API_DESCRIBE_CLUSTER, list_describe_cluster},
    {WIRE_API_DESCRIBE_PRODUCERS, list_describe_producers},
    {WIRE_API_UNREGISTER_BROKER, list_cluster_alter},
    {WIRE_API_CONSUMER_GROUP_HEARTBEAT, list_consumer_group_heartbeat},
    {WIRE_API_CONSUMER_GROUP_DESCRIBE, list_consumer_group_describe},
    {WIRE_API_LIST_CONFIG_RESOURCES, list_cluster_describe_configs},
    {WIRE_API_DESCRIBE_TOPIC_PARTITIONS, list_describe_topic_partitions},
};

authorize_list_fn authorize_list_of(int16_t key, bool *is_listed)
{
  *is_listed = false;
  for (size_t i = 0; i < sizeof AUTHORIZE_LISTS / sizeof AUTHORIZE_LISTS[0]; i++) {
    if (AUTHORIZE_LISTS[i].key == key) {
      *is_listed = true;
      return AUTHORIZE_LISTS[i].list;
    }
  }
  return NULL;
}
