// SPDX-License-Identifier: Apache-2.0
//
// Writing and reading the JSON of Kafka's ZooKeeper nodes. Written compactly, with all fields that Kafka's own tools
// look at; read tolerantly, with unknown fields left alone, as later versions add some.
#include "controller/topic_nodes.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/error.h"

enum { REGISTRATION_VERSION = 5, IDS_MAX = 32767 };

const char *topic_nodes_path_topic(struct arena *arena, const char *topic)
{
  return arena_printf(arena, "/brokers/topics/%s", topic);
}

const char *topic_nodes_path_config(struct arena *arena, const char *topic)
{
  return arena_printf(arena, "/config/topics/%s", topic);
}

const char *topic_nodes_path_broker_config(struct arena *arena, int32_t broker_id)
{
  return broker_id < 0 ? "/config/brokers/<default>" : arena_printf(arena, "/config/brokers/%d", broker_id);
}

const char *topic_nodes_path_partition(struct arena *arena, const char *topic, int32_t partition)
{
  return arena_printf(arena, "/brokers/topics/%s/partitions/%d", topic, partition);
}

const char *topic_nodes_path_state(struct arena *arena, const char *topic, int32_t partition)
{
  return arena_printf(arena, "/brokers/topics/%s/partitions/%d/state", topic, partition);
}

const char *topic_nodes_path_delete(struct arena *arena, const char *topic)
{
  return arena_printf(arena, "/admin/delete_topics/%s", topic);
}

const char *topic_nodes_path_static(struct arena *arena, const char *topic)
{
  return arena_printf(arena, "/luka/topics/%s", topic);
}

/// The text of a value, which is freed.
static const char *finish(struct arena *arena, json_t *json)
{
  char *text = json_dumps(json, JSON_COMPACT);
  CHECK(text != NULL);
  const char *copy = arena_strndup(arena, text, strlen(text));
  free(text);
  json_decref(json);
  return copy;
}

static json_t *id_array(const int32_t *ids, int32_t count)
{
  json_t *array = json_array();
  for (int32_t i = 0; i < count; i++) {
    json_array_append_new(array, json_integer(ids[i]));
  }
  return array;
}

const char *topic_nodes_topic(struct arena *arena, const struct uuid *id,
                              const struct metadata_partition_spec *partitions, int32_t partition_count)
{
  char id_text[UUID_TEXT_SIZE];
  json_t *assignment = json_object();
  for (int32_t i = 0; i < partition_count; i++) {
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    json_object_set_new(assignment, number, id_array(partitions[i].replicas, partitions[i].replica_count));
  }
  uuid_format(id, id_text);
  json_t *json = json_object();
  json_object_set_new(json, "version", json_integer(3));
  json_object_set_new(json, "topic_id", json_string(id_text));
  json_object_set_new(json, "partitions", assignment);
  json_object_set_new(json, "adding_replicas", json_object());
  json_object_set_new(json, "removing_replicas", json_object());
  return finish(arena, json);
}

const char *topic_nodes_state(struct arena *arena, int32_t leader, int32_t leader_epoch, const int32_t *isr,
                              int32_t isr_count, int32_t controller_epoch)
{
  json_t *json = json_object();
  json_object_set_new(json, "version", json_integer(1));
  json_object_set_new(json, "leader", json_integer(leader));
  json_object_set_new(json, "leader_epoch", json_integer(leader_epoch));
  json_object_set_new(json, "controller_epoch", json_integer(controller_epoch));
  json_object_set_new(json, "isr", id_array(isr, isr_count));
  return finish(arena, json);
}

const char *topic_nodes_config(struct arena *arena, const struct config_entry *overrides, int32_t count)
{
  json_t *config = json_object();
  for (int32_t i = 0; i < count; i++) {
    json_object_set_new(config, overrides[i].name, json_string(overrides[i].value));
  }
  json_t *json = json_object();
  json_object_set_new(json, "version", json_integer(1));
  json_object_set_new(json, "config", config);
  return finish(arena, json);
}

const char *topic_nodes_config_change(struct arena *arena, const char *kind, const char *entity)
{
  json_t *json = json_object();
  json_object_set_new(json, "version", json_integer(2));
  json_object_set_new(json, "entity_path", json_string(arena_printf(arena, "%s/%s", kind, entity)));
  return finish(arena, json);
}

const char *topic_nodes_static(struct arena *arena, const char *block_text)
{
  json_t *json = json_object();
  json_object_set_new(json, "version", json_integer(1));
  json_object_set_new(json, "text", json_string(block_text));
  return finish(arena, json);
}

const char *topic_nodes_broker(struct arena *arena, const char *rack, const struct metadata_endpoint *endpoints,
                               int32_t endpoint_count, int64_t wall_ms)
{
  json_t *list = json_array();
  json_t *protocols = json_object();
  const struct metadata_endpoint *plain = NULL;
  for (int32_t i = 0; i < endpoint_count; i++) {
    const struct metadata_endpoint *endpoint = &endpoints[i];
    bool has_colon = strchr(endpoint->host, ':') != NULL;
    json_array_append_new(list, json_string(arena_printf(arena, has_colon ? "%s://[%s]:%d" : "%s://%s:%d",
                                                         endpoint->listener, endpoint->host, endpoint->port)));
    json_object_set_new(protocols, endpoint->listener, json_string(endpoint->protocol));
    if (!plain && strcmp(endpoint->protocol, "PLAINTEXT") == 0) {
      plain = endpoint;
    }
  }
  json_t *json = json_object();
  json_object_set_new(json, "version", json_integer(REGISTRATION_VERSION));
  // Old tools know one address only: that of a listener without encryption.
  json_object_set_new(json, "host", plain ? json_string(plain->host) : json_null());
  json_object_set_new(json, "port", json_integer(plain ? plain->port : -1));
  json_object_set_new(json, "jmx_port", json_integer(-1));
  json_object_set_new(json, "timestamp", json_string(arena_printf(arena, "%lld", (long long)wall_ms)));
  json_object_set_new(json, "endpoints", list);
  json_object_set_new(json, "listener_security_protocol_map", protocols);
  json_object_set_new(json, "features", json_object());
  if (rack) {
    json_object_set_new(json, "rack", json_string(rack));
  }
  return finish(arena, json);
}

const char *topic_nodes_controller(struct arena *arena, int32_t broker_id, int64_t wall_ms)
{
  json_t *json = json_object();
  json_object_set_new(json, "version", json_integer(2));
  json_object_set_new(json, "brokerid", json_integer(broker_id));
  json_object_set_new(json, "timestamp", json_string(arena_printf(arena, "%lld", (long long)wall_ms)));
  json_object_set_new(json, "kraftControllerEpoch", json_integer(-1));
  return finish(arena, json);
}

const char *topic_nodes_cluster(struct arena *arena, const char *cluster_id)
{
  json_t *json = json_object();
  json_object_set_new(json, "version", json_string("1"));
  json_object_set_new(json, "id", json_string(cluster_id));
  return finish(arena, json);
}

// ---- reading ----

static int load(const char *text, json_t **json)
{
  json_error_t error;
  *json = json_loads(text ? text : "", JSON_REJECT_DUPLICATES, &error);
  if (!*json) {
    return error_set(ERR_CORRUPT, "not JSON: %s", error.text);
  }
  if (!json_is_object(*json)) {
    json_decref(*json);
    return error_set(ERR_CORRUPT, "not a JSON object");
  }
  return 0;
}

static int read_int(const json_t *json, const char *name, int64_t min, int32_t *value)
{
  const json_t *field = json_object_get(json, name);
  if (!json_is_integer(field) || json_integer_value(field) < min || json_integer_value(field) > INT32_MAX) {
    return error_set(ERR_CORRUPT, "'%s' is missing or out of range", name);
  }
  *value = (int32_t)json_integer_value(field);
  return 0;
}

static int read_ids(struct arena *arena, const json_t *array, const char *name, int32_t **ids, int32_t *count)
{
  if (!json_is_array(array) || json_array_size(array) > IDS_MAX) {
    return error_set(ERR_CORRUPT, "'%s' is not a list of broker ids", name);
  }
  *count = (int32_t)json_array_size(array);
  *ids = arena_alloc(arena, (size_t)*count * sizeof **ids);
  for (int32_t i = 0; i < *count; i++) {
    const json_t *id = json_array_get(array, (size_t)i);
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX) {
      return error_set(ERR_CORRUPT, "'%s' is not a list of broker ids", name);
    }
    (*ids)[i] = (int32_t)json_integer_value(id);
  }
  return 0;
}

static int parse_topic(struct arena *arena, const json_t *json, struct topic_node *node)
{
  json_t *partitions = json_object_get(json, "partitions");
  const char *id = json_string_value(json_object_get(json, "topic_id"));
  node->id = (struct uuid){{0}};
  if (id && uuid_parse(id, &node->id) < 0) {
    return error_set(ERR_CORRUPT, "'topic_id' is not an id");
  }
  if (!json_is_object(partitions) || json_object_size(partitions) == 0) {
    return error_set(ERR_CORRUPT, "'partitions' is missing or empty");
  }
  node->partition_count = (int32_t)json_object_size(partitions);
  node->partitions = arena_zalloc(arena, (size_t)node->partition_count * sizeof *node->partitions);
  for (int32_t i = 0; i < node->partition_count; i++) {
    char number[16];
    int32_t *replicas = NULL;
    snprintf(number, sizeof number, "%d", i);
    const json_t *list = json_object_get(partitions, number);
    if (!list) {
      return error_set(ERR_CORRUPT, "partition %d is missing among %d", i, node->partition_count);
    }
    TRY(read_ids(arena, list, number, &replicas, &node->partitions[i].replica_count));
    node->partitions[i].replicas = replicas;
  }
  return 0;
}

int topic_nodes_read_topic(struct arena *arena, const char *text, struct topic_node *node)
{
  json_t *json = NULL;
  TRY(load(text, &json));
  int result = parse_topic(arena, json, node);
  json_decref(json);
  return result;
}

static int parse_state(struct arena *arena, const json_t *json, struct state_node *node)
{
  TRY(read_int(json, "leader", METADATA_NO_LEADER, &node->leader));
  TRY(read_int(json, "leader_epoch", 0, &node->leader_epoch));
  TRY(read_int(json, "controller_epoch", 0, &node->controller_epoch));
  return read_ids(arena, json_object_get(json, "isr"), "isr", &node->isr, &node->isr_count);
}

int topic_nodes_read_state(struct arena *arena, const char *text, struct state_node *node)
{
  json_t *json = NULL;
  TRY(load(text, &json));
  int result = parse_state(arena, json, node);
  json_decref(json);
  return result;
}

static int parse_config(struct arena *arena, json_t *json, struct config_entry **overrides, int32_t *count)
{
  json_t *config = json_object_get(json, "config");
  if (!json_is_object(config)) {
    return error_set(ERR_CORRUPT, "'config' is missing");
  }
  struct config_entry *list = arena_alloc(arena, json_object_size(config) * sizeof *list);
  int32_t used = 0;
  const char *name;
  json_t *value;
  json_object_foreach(config, name, value)
  {
    if (!json_is_string(value)) {
      return error_set(ERR_CORRUPT, "config '%.128s' is not a text", name);
    }
    list[used++] = (struct config_entry){arena_strndup(arena, name, strlen(name)),
                                         arena_strndup(arena, json_string_value(value), json_string_length(value))};
  }
  *overrides = list;
  *count = used;
  return 0;
}

int topic_nodes_read_config(struct arena *arena, const char *text, struct config_entry **overrides, int32_t *count)
{
  json_t *json = NULL;
  TRY(load(text, &json));
  int result = parse_config(arena, json, overrides, count);
  json_decref(json);
  return result;
}

int topic_nodes_read_static(struct arena *arena, const char *text, const char **block_text)
{
  json_t *json = NULL;
  TRY(load(text, &json));
  const json_t *field = json_object_get(json, "text");
  int result = 0;
  if (!json_is_string(field)) {
    result = error_set(ERR_CORRUPT, "'text' is missing");
  } else {
    *block_text = arena_strndup(arena, json_string_value(field), json_string_length(field));
  }
  json_decref(json);
  return result;
}

int topic_nodes_corrupt(const char *path)
{
  // A copy: the new sentence is written over the old one.
  char why[ERROR_MESSAGE_SIZE];
  snprintf(why, sizeof why, "%s", error_last()->message);
  return error_set(ERR_CORRUPT, "metastore node %.*s: %.*s", 300, path, 200, why);
}

int topic_nodes_read_cluster(struct arena *arena, const char *text, const char **cluster_id)
{
  json_t *json = NULL;
  TRY(load(text, &json));
  const char *id = json_string_value(json_object_get(json, "id"));
  int result = 0;
  if (!id || id[0] == '\0' || strlen(id) >= METADATA_CLUSTER_ID_SIZE) {
    result = error_set(ERR_CORRUPT, "'id' is missing or too long");
  } else {
    *cluster_id = arena_strndup(arena, id, strlen(id));
  }
  json_decref(json);
  return result;
}

/// "PLAINTEXT://host:9092", with brackets around an IPv6 address.
static int parse_endpoint(struct arena *arena, const char *text, const json_t *protocols,
                          struct metadata_endpoint *endpoint)
{
  const char *slashes = strstr(text, "://");
  const char *colon = strrchr(text, ':');
  if (!slashes || slashes == text || colon <= slashes) {
    return error_set(ERR_CORRUPT, "endpoint '%.128s' cannot be read", text);
  }
  const char *host = slashes + 3;
  size_t host_length = (size_t)(colon - host);
  if (host_length >= 2 && host[0] == '[' && host[host_length - 1] == ']') {
    host++;
    host_length -= 2;
  }
  char *end = NULL;
  long port = strtol(colon + 1, &end, 10);
  if (host_length == 0 || *end != '\0' || port < 1 || port > 65535) {
    return error_set(ERR_CORRUPT, "endpoint '%.128s' cannot be read", text);
  }
  endpoint->listener = arena_strndup(arena, text, (size_t)(slashes - text));
  endpoint->host = arena_strndup(arena, host, host_length);
  endpoint->port = (int32_t)port;
  const char *protocol = json_string_value(json_object_get(protocols, endpoint->listener));
  endpoint->protocol = protocol ? arena_strndup(arena, protocol, strlen(protocol)) : endpoint->listener;
  return 0;
}

static int parse_broker(struct arena *arena, const json_t *json, int32_t id, int64_t epoch,
                        struct metadata_broker **broker)
{
  const json_t *list = json_object_get(json, "endpoints");
  const json_t *protocols = json_object_get(json, "listener_security_protocol_map");
  size_t count = json_array_size(list);
  if (count == 0 || count > IDS_MAX) {
    return error_set(ERR_CORRUPT, "'endpoints' is missing or empty");
  }
  struct metadata_endpoint *endpoints = arena_alloc(arena, count * sizeof *endpoints);
  for (size_t i = 0; i < count; i++) {
    const char *text = json_string_value(json_array_get(list, i));
    TRY(parse_endpoint(arena, text ? text : "", protocols, &endpoints[i]));
  }
  *broker = metadata_broker_new(id, epoch, json_string_value(json_object_get(json, "rack")), endpoints, (int32_t)count);
  return 0;
}

int topic_nodes_read_broker(struct arena *arena, const char *text, int32_t id, int64_t epoch,
                            struct metadata_broker **broker)
{
  json_t *json = NULL;
  TRY(load(text, &json));
  int result = parse_broker(arena, json, id, epoch, broker);
  json_decref(json);
  return result;
}
