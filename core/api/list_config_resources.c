// SPDX-License-Identifier: Apache-2.0
//
// ListConfigResources, 0 and 1: what has configs, or could: all topics and brokers, and the groups and subscriptions
// to clients' metrics on which something is set.
//
//   version  rule
//   0        was ListClientMetricsResources (KIP-1000): only those, and no types
//   1        the client says which types it wants (KIP-1142); none: all; one that is not known: UNSUPPORTED_VERSION
#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/arena.h"
#include "metadata/image.h"
#include "wire/error_codes.h"
#include "wire/list_config_resources.h"

enum list_config_type {
  LIST_CONFIG_TOPIC = 2,
  LIST_CONFIG_BROKER = 4,
  LIST_CONFIG_LOGGER = 8,
  LIST_CONFIG_METRICS = METADATA_CLIENT_METRICS,
  LIST_CONFIG_GROUP = METADATA_GROUP,
  LIST_CONFIG_ALL = 2 | 4 | 8 | 16 | 32,
};

enum { LIST_CONFIG_TYPED = 1 }; // version in which clients name types

/// The wanted types as bits, or -1 when one is not known.
static int list_config_wanted(const struct request *req)
{
  const struct wire_list_config_resources_request *body = req->body;
  int wanted = 0;
  if (req->version < LIST_CONFIG_TYPED) {
    return LIST_CONFIG_METRICS;
  }
  for (int32_t i = 0; i < body->resource_types_count; i++) {
    unsigned type = (uint8_t)body->resource_types[i];
    if (type == 0 || (type & LIST_CONFIG_ALL) != type || (type & (type - 1)) != 0) {
      return -1;
    }
    wanted |= (int)type;
  }
  return wanted == 0 ? LIST_CONFIG_ALL : wanted;
}

static void list_config_add(struct wire_list_config_resources_response *resp, enum list_config_type type,
                            struct wire_string name)
{
  struct wire_list_config_resources_response_config_resource *resource =
      &resp->config_resources[resp->config_resources_count++];
  wire_list_config_resources_response_config_resource_init(resource);
  resource->resource_type = (int8_t)type;
  resource->resource_name = name;
}

static void list_config_entities(const struct metadata_image *image, enum list_config_type type,
                                 struct wire_list_config_resources_response *resp)
{
  int32_t count = 0;
  struct metadata_entity *const *entities =
      metadata_image_entities(image, (enum metadata_entity_kind)(int)type, &count);
  for (int32_t i = 0; i < count; i++) {
    list_config_add(resp, type, (struct wire_string){entities[i]->name, entities[i]->name_length});
  }
}

static void list_config_brokers(struct request *req, const struct metadata_image *image, enum list_config_type type,
                                struct wire_list_config_resources_response *resp)
{
  for (int32_t i = 0; i < image->broker_count; i++) {
    list_config_add(resp, type, wire_string_from(arena_printf(&req->arena, "%d", image->brokers[i]->id)));
  }
}

void list_config_resources_handle(struct request *req)
{
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  struct wire_list_config_resources_response resp;
  wire_list_config_resources_response_init(&resp);
  if (!api_may_cluster(req, RIGHT_DESCRIBE_CONFIGS)) {
    resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
    request_respond(req, &resp);
    return;
  }
  int wanted = list_config_wanted(req);
  if (wanted < 0) {
    resp.error_code = WIRE_UNSUPPORTED_VERSION;
    request_respond(req, &resp);
    return;
  }
  int32_t room = image->topic_count + 2 * image->broker_count + image->entity_count;
  resp.config_resources = request_array(req, room, sizeof *resp.config_resources);
  resp.config_resources_count = 0;
  for (int32_t i = 0; (wanted & LIST_CONFIG_TOPIC) != 0 && i < image->topic_count; i++) {
    list_config_add(&resp, LIST_CONFIG_TOPIC,
                    (struct wire_string){image->topics[i]->name, image->topics[i]->name_length});
  }
  if ((wanted & LIST_CONFIG_BROKER) != 0) {
    list_config_brokers(req, image, LIST_CONFIG_BROKER, &resp);
  }
  if ((wanted & LIST_CONFIG_LOGGER) != 0) {
    list_config_brokers(req, image, LIST_CONFIG_LOGGER, &resp);
  }
  if ((wanted & LIST_CONFIG_METRICS) != 0) {
    list_config_entities(image, LIST_CONFIG_METRICS, &resp);
  }
  if ((wanted & LIST_CONFIG_GROUP) != 0) {
    list_config_entities(image, LIST_CONFIG_GROUP, &resp);
  }
  request_respond(req, &resp);
}
