// SPDX-License-Identifier: Apache-2.0
//
// ApiVersions, 0 to 5: which requests are served, in which versions. The first thing every client asks, so it must
// understand clients of any age: a version that is not known is answered in version 0, with ours (KIP-511).
//
//   version  rule
//   3        a client says its name and version; letters, digits, '-' and '.', not at either end, else INVALID_REQUEST
//   5        a client may say which broker of which cluster it means: both or neither, else INVALID_REQUEST; when it is
//            not us, REBOOTSTRAP_REQUIRED, so that a client behind a stale address asks its bootstrap servers again
//            (KIP-1242)
//
// Features (api/features.h) are told from version 3 on, which brought them (KIP-584): those that are on. Kafka's own
// switches between on-disk formats of its controller have no meaning here.
#include <ctype.h>
#include <stdio.h>

#include "api/api.h"
#include "api/features.h"
#include "api/handlers.h"
#include "api/request.h"
#include "metadata/image.h"
#include "wire/api_versions.h"
#include "wire/apis.h"
#include "wire/error_codes.h"

enum { API_VERSIONS_SOFTWARE = 3, API_VERSIONS_IDENTITY = 5 }; // versions that brought them

static bool api_versions_is_alphanumeric(char c)
{
  return isascii((unsigned char)c) && isalnum((unsigned char)c);
}

/// Whether a text may be the name or the version of a client.
static bool api_versions_is_software(struct wire_string text)
{
  if (text.length < 1 || !api_versions_is_alphanumeric(text.data[0]) ||
      !api_versions_is_alphanumeric(text.data[text.length - 1])) {
    return false;
  }
  for (int32_t i = 1; i < text.length - 1; i++) {
    if (!api_versions_is_alphanumeric(text.data[i]) && text.data[i] != '-' && text.data[i] != '.') {
      return false;
    }
  }
  return true;
}

static int16_t api_versions_check(struct request *req, const struct wire_api_versions_request *body)
{
  if (req->version >= API_VERSIONS_SOFTWARE && (!api_versions_is_software(body->client_software_name) ||
                                                !api_versions_is_software(body->client_software_version))) {
    return WIRE_INVALID_REQUEST;
  }
  if (req->version < API_VERSIONS_IDENTITY) {
    return WIRE_NONE;
  }
  bool has_cluster = body->cluster_id.length >= 0;
  if (has_cluster != (body->node_id != -1)) {
    return WIRE_INVALID_REQUEST;
  }
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  if (has_cluster && (!wire_string_is(body->cluster_id, image->cluster_id) || body->node_id != req->api->broker_id)) {
    return WIRE_REBOOTSTRAP_REQUIRED;
  }
  return WIRE_NONE;
}

/// Fills in the served versions, of all requests or of one.
static void api_versions_list(struct request *req, int16_t only_key, struct wire_api_versions_response *resp)
{
  int count;
  const struct api_handler *handlers = api_handlers(&count);
  resp->api_keys = request_array(req, count, sizeof *resp->api_keys);
  resp->api_keys_count = 0;
  for (int i = 0; i < count; i++) {
    if (only_key >= 0 && handlers[i].key != only_key) {
      continue;
    }
    struct wire_api_versions_response_api_version *entry = &resp->api_keys[resp->api_keys_count++];
    wire_api_versions_response_api_version_init(entry);
    entry->api_key = handlers[i].key;
    entry->min_version = handlers[i].min_version;
    entry->max_version = handlers[i].max_version;
  }
}

/// Fills in the features: each has one level, which is on.
static void api_versions_features(struct request *req, struct wire_api_versions_response *resp)
{
  const struct feature *features[FEATURES_MAX];
  int count = features_list(features);
  resp->finalized_features_epoch = 0; // they do not change
  resp->supported_features = request_array(req, count, sizeof *resp->supported_features);
  resp->finalized_features = request_array(req, count, sizeof *resp->finalized_features);
  resp->supported_features_count = count;
  resp->finalized_features_count = count;
  for (int i = 0; i < count; i++) {
    wire_api_versions_response_supported_feature_key_init(&resp->supported_features[i]);
    wire_api_versions_response_finalized_feature_key_init(&resp->finalized_features[i]);
    resp->supported_features[i].name = wire_string_from(features[i]->name);
    resp->supported_features[i].min_version = features[i]->level;
    resp->supported_features[i].max_version = features[i]->level;
    resp->finalized_features[i].name = wire_string_from(features[i]->name);
    resp->finalized_features[i].min_version_level = features[i]->level;
    resp->finalized_features[i].max_version_level = features[i]->level;
  }
}

void api_versions_unsupported(struct request *req)
{
  struct wire_api_versions_response resp;
  wire_api_versions_response_init(&resp);
  resp.error_code = WIRE_UNSUPPORTED_VERSION;
  api_versions_list(req, WIRE_API_API_VERSIONS, &resp);
  req->version = 0;
  request_respond(req, &resp);
}

void api_versions_handle(struct request *req)
{
  const struct wire_api_versions_request *body = req->body;
  struct wire_api_versions_response resp;
  wire_api_versions_response_init(&resp);
  resp.error_code = api_versions_check(req, body);
  if (resp.error_code == WIRE_NONE) {
    api_versions_list(req, -1, &resp);
    api_versions_features(req, &resp);
    if (req->version >= API_VERSIONS_SOFTWARE && req->client != NULL) {
      snprintf(req->client->software, sizeof req->client->software, "%.*s %.*s", body->client_software_name.length,
               body->client_software_name.data, body->client_software_version.length,
               body->client_software_version.data);
    }
  }
  request_respond(req, &resp);
}
