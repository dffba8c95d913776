// SPDX-License-Identifier: Apache-2.0
//
// DescribeConfigs, 0 to 4: the configs of topics and of this broker, with where their values come from. Answered at
// once from the metadata image and the broker's configuration, on the worker of the connection.
//
//   version  rule
//   0        says only whether a value is the default (is_default)
//   1        says where each value is from; synonyms on request, the one in effect first (KIP-226)
//   3        types; documentation on request (KIP-569)
//
// Each resource of the request has its own answer, in the order of the request, also one that is named twice. No keys,
// or an empty list of them, stand for all configs; keys that are unknown are passed over. Configs are sorted by name,
// Luka's own topic configs at the end.
//
// The broker with the empty name stands for what was set at run time on all. Groups and subscriptions to clients'
// metrics (KIP-714) may be described whether or not they exist; the broker has one logger (api/logger.h, KIP-412).
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/broker_id.h"
#include "api/handlers.h"
#include "api/logger.h"
#include "api/request.h"
#include "base/arena.h"
#include "base/slog.h"
#include "metadata/broker_config.h"
#include "metadata/client_metrics_config.h"
#include "metadata/config_edit.h"
#include "metadata/image.h"
#include "metadata/topic_name.h"
#include "wire/describe_configs.h"
#include "wire/error_codes.h"

enum describe_resource {
  DESCRIBE_TOPIC = 2,
  DESCRIBE_BROKER = 4,
  DESCRIBE_BROKER_LOGGER = 8,
  DESCRIBE_CLIENT_METRICS = 16,
  DESCRIBE_GROUP = 32,
};

/// Kafka's numbers of config types on the wire.
enum describe_type {
  DESCRIBE_TYPE_UNKNOWN = 0,
  DESCRIBE_TYPE_BOOL = 1,
  DESCRIBE_TYPE_STRING = 2,
  DESCRIBE_TYPE_INT = 3,
  DESCRIBE_TYPE_LONG = 5,
  DESCRIBE_TYPE_DOUBLE = 6,
  DESCRIBE_TYPE_LIST = 7,
};

enum {
  /// Most synonyms of one config: the topic's value, and those of each layer and the defaults in each unit.
  DESCRIBE_SYNONYMS_MAX = 1 + (BROKER_LAYER_COUNT + 1) * BROKER_CONFIG_SYNONYMS_MAX,
};

/// What one request works with.
struct describe_view {
  struct request *req;                              ///< borrowed
  const struct wire_describe_configs_request *body; ///< its body
  const struct metadata_image *image;               ///< borrowed for the turn
  int64_t config_count;                             ///< configs looked at so far, also those that no key asks for
};

/// The configs of one resource while they are gathered.
struct describe_list {
  struct describe_view *view;                                                  ///< the request
  const struct wire_describe_configs_request_describe_configs_resource *asked; ///< the resource
  struct wire_describe_configs_response_describe_configs_result *result;       ///< its answer
  struct wire_describe_configs_response_describe_configs_synonym
      synonyms[DESCRIBE_SYNONYMS_MAX]; ///< of the next config
  int32_t synonym_count;               ///< how many of them
};

static int8_t describe_type(enum config_type type)
{
  switch (type) {
    case CONFIG_BOOL:
      return DESCRIBE_TYPE_BOOL;
    case CONFIG_INT:
    case CONFIG_LEVEL:
      return DESCRIBE_TYPE_INT;
    case CONFIG_LONG:
      return DESCRIBE_TYPE_LONG;
    case CONFIG_DOUBLE:
      return DESCRIBE_TYPE_DOUBLE;
    case CONFIG_FLAGS:
    case CONFIG_REPLICAS:
    case CONFIG_LIST:
      return DESCRIBE_TYPE_LIST;
    case CONFIG_ENUM:
    case CONFIG_TEXT:
    case CONFIG_NAME:
      break;
  }
  return DESCRIBE_TYPE_STRING;
}

// ---- one resource ----

static void describe_fail(struct describe_list *list, int16_t error, const char *message)
{
  list->result->error_code = error;
  list->result->error_message = wire_string_from(message);
}

static bool describe_is_wanted(const struct describe_list *list, const char *name)
{
  for (int32_t i = 0; i < list->asked->configuration_keys_count; i++) {
    if (wire_string_is(list->asked->configuration_keys[i], name)) {
      return true;
    }
  }
  return list->asked->configuration_keys_count <= 0;
}

/// Notes a value that stands behind the config that is put next; a null one is none.
static void describe_synonym(struct describe_list *list, const char *name, const char *value, enum config_source source)
{
  if (value == NULL || !list->view->body->include_synonyms) {
    return;
  }
  struct wire_describe_configs_response_describe_configs_synonym *synonym = &list->synonyms[list->synonym_count++];
  wire_describe_configs_response_describe_configs_synonym_init(synonym);
  synonym->name = wire_string_from(name);
  synonym->value = wire_string_from(value);
  synonym->source = (int8_t)source;
}

/// The values that stand behind a broker config, in the order in which they win: layer by layer, each with those in
/// other units.
///
/// What wins over all values of the config's own name is in another unit. Kafka does not show it; here it is shown
/// where it was set, as the value is from there.
static void describe_broker_synonyms(struct describe_list *list, enum broker_config_index index)
{
  const struct broker_config *config = list->view->image->config;
  enum broker_config_index names[BROKER_CONFIG_SYNONYMS_MAX];
  int name_count = broker_config_synonyms(index, names);
  bool has_any = false;
  bool has_own = false;
  for (int layer = 0; layer <= BROKER_LAYER_COUNT; layer++) {
    bool is_set = layer < BROKER_LAYER_COUNT;
    for (int i = 0; i < name_count; i++) {
      const struct config_def *def = &broker_config_defs()[names[i]];
      const char *text = is_set ? config->layers[layer][names[i]] : def->default_text;
      bool is_own = names[i] == index;
      bool is_origin = is_set && index == names[0] && !has_any;
      if (text != NULL && (is_own || has_own || is_origin)) {
        describe_synonym(list, def->name, text, broker_config_layer_source((enum broker_config_layer)layer));
        has_any = true;
        has_own = has_own || is_own;
      }
    }
  }
}

/// Adds a config, with the synonyms that were noted.
static void describe_put(struct describe_list *list, const struct config_def *def, const struct config_shown *shown)
{
  struct request *req = list->view->req;
  struct wire_describe_configs_response_describe_configs_resource_result *config =
      &list->result->configs[list->result->configs_count++];
  wire_describe_configs_response_describe_configs_resource_result_init(config);
  config->name = wire_string_from(shown->name);
  bool is_open = shown->value != NULL && !shown->is_sensitive;
  config->value = wire_string_from(is_open ? config_shown_text(&req->arena, def, shown->value) : NULL);
  config->read_only = shown->is_read_only;
  config->is_default = req->version == 0 && shown->source == CONFIG_SOURCE_DEFAULT;
  config->config_source = shown->source;
  config->is_sensitive = shown->is_sensitive;
  config->config_type = describe_type(def->type);
  config->documentation = wire_string_from(list->view->body->include_documentation ? def->doc : NULL);
  if (list->synonym_count > 0) {
    size_t size = (size_t)list->synonym_count * sizeof list->synonyms[0];
    config->synonyms = arena_dup(&req->arena, list->synonyms, size);
    config->synonyms_count = list->synonym_count;
  }
  list->synonym_count = 0;
}

/// Makes room for those of `count` configs that are asked for.
static void describe_reserve(struct describe_list *list, int32_t count)
{
  list->view->config_count += count;
  int32_t keys = list->asked->configuration_keys_count;
  list->result->configs =
      request_array(list->view->req, keys > 0 && keys < count ? keys : count, sizeof *list->result->configs);
}

// ---- topics ----

/// The synonyms of a topic config: its own value, then what the broker has for it.
static void describe_topic_synonyms(struct describe_list *list, const struct config_def *def,
                                    const struct config_shown *shown)
{
  if (shown->source == CONFIG_SOURCE_TOPIC) {
    const char *text = config_shown_text(&list->view->req->arena, def, shown->value);
    describe_synonym(list, def->name, text, CONFIG_SOURCE_TOPIC);
  }
  if (def->broker_name == NULL) {
    return;
  }
  int index = config_find(broker_config_defs(), BROKER_CONFIG_COUNT, def->broker_name);
  if (index < 0) {
    describe_synonym(list, def->broker_name, def->default_text, CONFIG_SOURCE_DEFAULT);
  } else {
    describe_broker_synonyms(list, (enum broker_config_index)index);
  }
}

/// Says of a view what it shows.
static void describe_view_source(struct describe_list *list, const struct metadata_topic *topic)
{
  const struct config_def def = {.name = "luka.view.from",
                                 .type = CONFIG_TEXT,
                                 .doc = "The topic whose records this view shows: view in config.lua."};
  struct config_shown shown = {
      .name = def.name, .value = topic->source->name, .source = CONFIG_SOURCE_STATIC_BROKER, .is_read_only = true};
  if (describe_is_wanted(list, def.name)) {
    describe_synonym(list, def.name, shown.value, CONFIG_SOURCE_STATIC_BROKER);
    describe_put(list, &def, &shown);
  }
}

static void describe_topic(struct describe_list *list)
{
  struct wire_string name = list->asked->resource_name;
  char message[TOPIC_NAME_MESSAGE_SIZE];
  if (topic_name_validate(name.data, (size_t)name.length, message) != 0) {
    describe_fail(list, WIRE_INVALID_TOPIC_EXCEPTION, arena_strndup(&list->view->req->arena, message, strlen(message)));
    return;
  }
  const struct metadata_topic *topic = metadata_image_topic(list->view->image, name.data, (size_t)name.length);
  if (topic == NULL) {
    describe_fail(list, WIRE_UNKNOWN_TOPIC_OR_PARTITION, "");
    return;
  }
  struct config_shown shown[TOPIC_CONFIG_COUNT];
  int count = topic_config_list(&list->view->image->config->topic, topic->overrides, topic->override_count, shown);
  describe_reserve(list, count + (topic->source != NULL));
  for (int i = 0; i < count; i++) {
    if (!describe_is_wanted(list, shown[i].name)) {
      continue;
    }
    const struct config_def *def = &topic_config_defs()[topic_config_find(shown[i].name)];
    shown[i].is_read_only = topic->source != NULL;
    describe_topic_synonyms(list, def, &shown[i]);
    describe_put(list, def, &shown[i]);
  }
  if (topic->source != NULL) {
    describe_view_source(list, topic);
  }
}

// ---- brokers ----

/// Whether the resource names this broker; otherwise it has its error.
///
/// @param expected  what Kafka's sentence says may be named beside the id, or ""
static bool describe_is_this_broker(struct describe_list *list, const char *expected)
{
  struct wire_string name = list->asked->resource_name;
  struct request *req = list->view->req;
  int32_t id = 0;
  char message[256];
  int shown_length = config_clip(arena_strndup(&req->arena, name.data, (size_t)name.length), 100);
  if (!broker_id_read(name, &id)) {
    snprintf(message, sizeof message, "Broker id must be an integer, but it is: %.*s", shown_length, name.data);
  } else if (id != req->api->broker_id) {
    snprintf(message, sizeof message, "Unexpected broker id, expected %d%s, but received %.*s", req->api->broker_id,
             expected, shown_length, name.data);
  } else {
    return true;
  }
  describe_fail(list, WIRE_INVALID_REQUEST, arena_strndup(&req->arena, message, strlen(message)));
  return false;
}

/// Describes what was set at run time on all brokers.
static void describe_all_brokers(struct describe_list *list)
{
  struct config_entry entries[BROKER_CONFIG_COUNT];
  int count = broker_config_layer_entries(list->view->image->config, BROKER_LAYER_CLUSTER, entries);
  describe_reserve(list, count);
  for (int i = 0; i < count; i++) {
    const struct config_def *def =
        &broker_config_defs()[config_find(broker_config_defs(), BROKER_CONFIG_COUNT, entries[i].name)];
    if (describe_is_wanted(list, def->name)) {
      struct config_shown shown = {
          .name = def->name, .value = entries[i].value, .source = CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER};
      describe_synonym(list, def->name, entries[i].value, CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER);
      describe_put(list, def, &shown);
    }
  }
}

/// Adds what the broker was started as, up to a name.
///
/// @param next  the first one
/// @param name  NULL: all
/// @return the first one that is left
static int describe_own_configs(struct describe_list *list, int next, const char *name)
{
  const struct api *api = list->view->req->api;
  for (; next < api->own_config_count && (name == NULL || strcmp(api->own_configs[next].name, name) < 0); next++) {
    const struct config_entry *entry = &api->own_configs[next];
    // Ids are numbers, the rest lists.
    struct config_def def = {.name = entry->name,
                             .type = strstr(entry->name, ".id") != NULL ? CONFIG_INT : CONFIG_LIST,
                             .doc = "What the broker was started as: id, listen, advertise and data in config.lua."};
    if (describe_is_wanted(list, entry->name)) {
      struct config_shown shown = {
          .name = entry->name, .value = entry->value, .source = CONFIG_SOURCE_STATIC_BROKER, .is_read_only = true};
      describe_synonym(list, entry->name, entry->value, CONFIG_SOURCE_STATIC_BROKER);
      describe_put(list, &def, &shown);
    }
  }
  return next;
}

static void describe_broker(struct describe_list *list)
{
  if (list->asked->resource_name.length == 0) {
    describe_all_brokers(list);
    return;
  }
  if (!describe_is_this_broker(list, " or empty string")) {
    return;
  }
  const struct broker_config *config = list->view->image->config;
  const struct api *api = list->view->req->api;
  int own = 0;
  describe_reserve(list, BROKER_CONFIG_COUNT + api->own_config_count);
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    const struct config_def *def = &broker_config_defs()[i];
    own = describe_own_configs(list, own, def->name);
    if (!describe_is_wanted(list, def->name)) {
      continue;
    }
    const char *text = config->text[i];
    struct config_shown shown = {
        .name = def->name,
        .value = text != NULL ? text : def->default_text,
        .source = (int8_t)broker_config_source(config, (enum broker_config_index)i),
        .is_read_only = broker_config_change_of(def->name) == BROKER_CHANGE_READ_ONLY,
    };
    describe_broker_synonyms(list, (enum broker_config_index)i);
    describe_put(list, def, &shown);
  }
  describe_own_configs(list, own, NULL);
}

// ---- other resources ----

/// The text that is set on a group or a subscription, or NULL.
static const char *describe_entry(const struct metadata_entity *entity, const char *name)
{
  for (int32_t i = 0; entity != NULL && i < entity->entry_count; i++) {
    if (strcmp(entity->entries[i].name, name) == 0) {
      return entity->entries[i].value;
    }
  }
  return NULL;
}

static const struct metadata_entity *describe_entity(const struct describe_list *list, enum metadata_entity_kind kind)
{
  struct wire_string name = list->asked->resource_name;
  return metadata_image_entity(list->view->image, kind, name.data, (size_t)name.length);
}

static void describe_client_metrics(struct describe_list *list)
{
  const struct metadata_entity *entity = describe_entity(list, METADATA_CLIENT_METRICS);
  describe_reserve(list, CLIENT_METRICS_CONFIG_COUNT);
  for (int32_t i = 0; i < CLIENT_METRICS_CONFIG_COUNT; i++) {
    const struct config_def *def = &client_metrics_config_defs()[i];
    if (!describe_is_wanted(list, def->name)) {
      continue;
    }
    const char *text = describe_entry(entity, def->name);
    describe_synonym(list, def->name, text, CONFIG_SOURCE_CLIENT_METRICS);
    struct config_shown shown = {.name = def->name,
                                 .value = text != NULL ? text : def->default_text,
                                 .source = text != NULL ? CONFIG_SOURCE_CLIENT_METRICS : CONFIG_SOURCE_DEFAULT};
    describe_put(list, def, &shown);
  }
}

/// The values behind a group's config: its own, then what the broker has for it.
static void describe_group_synonyms(struct describe_list *list, const struct config_def *def, const char *text)
{
  if (text != NULL) {
    describe_synonym(list, def->name, config_shown_text(&list->view->req->arena, def, text), CONFIG_SOURCE_GROUP);
  }
  const char *name = def->broker_name != NULL ? def->broker_name : def->name;
  int index = config_find(broker_config_defs(), BROKER_CONFIG_COUNT, name);
  if (index >= 0) {
    describe_broker_synonyms(list, (enum broker_config_index)index);
  } else {
    describe_synonym(list, name, def->default_text, CONFIG_SOURCE_DEFAULT);
  }
}

/// What is set on a group, there or not, is shown as it was set, also where the broker's bounds have it otherwise.
static void describe_group(struct describe_list *list)
{
  const struct metadata_entity *entity = describe_entity(list, METADATA_GROUP);
  const struct group_config_defaults *defaults = &list->view->image->config->groups;
  describe_reserve(list, GROUP_CONFIG_COUNT);
  for (int32_t i = 0; i < GROUP_CONFIG_COUNT; i++) {
    const struct config_def *def = &group_config_defs()[i];
    const char *text = describe_entry(entity, def->name);
    if (!describe_is_wanted(list, def->name) || (text == NULL && group_config_is_hidden((enum group_config_index)i))) {
      continue;
    }
    describe_group_synonyms(list, def, text);
    struct config_shown shown = {.name = def->name,
                                 .value = text != NULL ? text : defaults->text[i],
                                 .source = (int8_t)(text != NULL ? CONFIG_SOURCE_GROUP : defaults->source[i])};
    describe_put(list, def, &shown);
  }
}

static void describe_logger(struct describe_list *list)
{
  static const struct config_def def = {.name = LOGGER_NAME, .type = CONFIG_TEXT};
  if (!describe_is_this_broker(list, "")) {
    return;
  }
  describe_reserve(list, 1);
  if (describe_is_wanted(list, def.name)) {
    struct config_shown shown = {
        .name = def.name, .value = logger_level_name(slog_get_level()), .source = CONFIG_SOURCE_LOGGER};
    describe_put(list, &def, &shown);
    list->result->configs[0].config_type = DESCRIBE_TYPE_UNKNOWN; // as Kafka has it
  }
}

static void describe_resource(struct describe_list *list)
{
  bool is_empty = list->asked->resource_name.length == 0;
  int16_t error = WIRE_NONE;
  const char *denial = NULL;
  if (!api_may_config(list->view->req, RIGHT_DESCRIBE_CONFIGS, list->asked->resource_type, list->asked->resource_name,
                      &error, &denial)) {
    describe_fail(list, error, denial);
    return;
  }
  switch (list->asked->resource_type) {
    case DESCRIBE_TOPIC:
      describe_topic(list);
      break;
    case DESCRIBE_BROKER:
      describe_broker(list);
      break;
    case DESCRIBE_BROKER_LOGGER:
      if (is_empty) {
        describe_fail(list, WIRE_INVALID_REQUEST, "Broker id must not be empty");
      } else {
        describe_logger(list);
      }
      break;
    case DESCRIBE_CLIENT_METRICS:
      if (is_empty) {
        describe_fail(list, WIRE_INVALID_REQUEST, "Client metrics subscription name must not be empty");
      } else {
        describe_client_metrics(list);
      }
      break;
    case DESCRIBE_GROUP:
      if (is_empty) {
        describe_fail(list, WIRE_INVALID_REQUEST, "Group name must not be empty");
      } else {
        describe_group(list);
      }
      break;
    default:
      describe_fail(list, WIRE_INVALID_REQUEST,
                    "This most likely occurs because of a request being malformed by the client library or the "
                    "message was sent to an incompatible broker. See the broker logs for more details.");
  }
}

// ---- the request ----

/// How much the request names: resources and keys.
static int64_t describe_count(const struct wire_describe_configs_request *body)
{
  int64_t count = body->resources_count;
  for (int32_t i = 0; i < body->resources_count; i++) {
    int32_t keys = body->resources[i].configuration_keys_count;
    count += keys > 0 ? keys : 0;
  }
  return count;
}

void describe_configs_handle(struct request *req)
{
  const struct wire_describe_configs_request *body = req->body;
  if (!request_check_count(req, describe_count(body))) {
    return;
  }
  struct describe_view view = {.req = req, .body = body, .image = metadata_cache_get(req->api->metadata)};
  // A short request that names one topic again and again is long work with a long answer: it may be as long as for a
  // request for all there is, with room to spare.
  int64_t config_max = REQUEST_PARTITIONS_MAX + (int64_t)TOPIC_CONFIG_COUNT * view.image->topic_count;
  struct wire_describe_configs_response resp;
  wire_describe_configs_response_init(&resp);
  resp.results = request_array(req, body->resources_count, sizeof *resp.results);
  resp.results_count = body->resources_count;
  for (int32_t i = 0; i < body->resources_count; i++) {
    struct describe_list list = {.view = &view, .asked = &body->resources[i], .result = &resp.results[i]};
    wire_describe_configs_response_describe_configs_result_init(list.result);
    list.result->resource_type = list.asked->resource_type;
    list.result->resource_name = list.asked->resource_name;
    describe_resource(&list);
    if (view.config_count > config_max) {
      request_refuse(req, "asks for more configs than all topics have");
      return;
    }
  }
  request_respond(req, &resp);
}
