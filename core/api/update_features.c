// SPDX-License-Identifier: Apache-2.0
//
// UpdateFeatures, 0 to 2: switches features of the whole cluster (KIP-584). Features have the one level here that this
// release serves (api/features.h): asking for that is done, asking for another is refused as Kafka refuses what it does
// not support. All updates are done, or none, so nothing ever is.
//
//   version  rule
//   0        downgrades are allowed or not; in later ones they are of a type
//   1        updates may be only checked, which is the same here
//   2        no results by feature
#include "api/api.h"
#include "api/authorize.h"
#include "api/features.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/arena.h"
#include "metadata/config.h"
#include "wire/error_codes.h"
#include "wire/update_features.h"

enum {
  UPDATE_FEATURES_TYPED = 1,      // version that brought types of updates
  UPDATE_FEATURES_NO_RESULTS = 2, // version that dropped results by feature
};

enum update_features_type { UPDATE_FEATURES_UPGRADE = 1, UPDATE_FEATURES_UNSAFE_DOWNGRADE = 3 };

enum { UPDATE_FEATURES_NAME_SHOWN = 128 };

/// Why a feature cannot be set to a level, or NULL.
static const char *update_features_fault(struct request *req,
                                         const struct wire_update_features_request_feature_update_key *asked)
{
  struct arena *arena = &req->arena;
  const struct feature *features[FEATURES_MAX];
  int count = features_list(features);
  const struct feature *found = NULL;
  for (int i = 0; i < count; i++) {
    found = wire_string_is(asked->feature, features[i]->name) ? features[i] : found;
  }
  if (req->version >= UPDATE_FEATURES_TYPED &&
      (asked->upgrade_type < UPDATE_FEATURES_UPGRADE || asked->upgrade_type > UPDATE_FEATURES_UNSAFE_DOWNGRADE)) {
    return "The controller does not support the given upgrade type.";
  }
  if (asked->max_version_level < 0) {
    return "A feature version cannot be less than 0.";
  }
  if (found == NULL) {
    return arena_printf(arena, "Local controller %d does not support this feature.", req->api->broker_id);
  }
  if (asked->max_version_level != found->level) {
    return arena_printf(arena, "Local controller %d only supports versions %d-%d", req->api->broker_id, found->level,
                        found->level);
  }
  return NULL;
}

/// The sentence for the first update that cannot be done, or NULL.
static const char *update_features_refusal(struct request *req)
{
  const struct wire_update_features_request *body = req->body;
  for (int32_t i = 0; i < body->feature_updates_count; i++) {
    const struct wire_update_features_request_feature_update_key *asked = &body->feature_updates[i];
    const char *fault = update_features_fault(req, asked);
    if (fault != NULL) {
      char *name = arena_strndup(&req->arena, asked->feature.data, (size_t)asked->feature.length);
      return arena_printf(&req->arena,
                          "The update failed for all features since the following feature had an error: Invalid update "
                          "version %d for feature %.*s. %s",
                          asked->max_version_level, config_clip(name, UPDATE_FEATURES_NAME_SHOWN), name, fault);
    }
  }
  return NULL;
}

void update_features_handle(struct request *req)
{
  const struct wire_update_features_request *body = req->body;
  if (!request_check_count(req, body->feature_updates_count)) {
    return;
  }
  struct wire_update_features_response resp;
  wire_update_features_response_init(&resp);
  if (!api_may_cluster(req, RIGHT_ALTER)) {
    resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
    resp.error_message = wire_string_from(AUTHORIZE_CLUSTER_TEXT);
    request_respond(req, &resp);
    return;
  }
  const char *refusal = update_features_refusal(req);
  resp.error_message = wire_string_from(NULL);
  if (refusal != NULL) {
    resp.error_code = WIRE_INVALID_UPDATE_VERSION;
    resp.error_message = wire_string_from(refusal);
  } else if (req->version < UPDATE_FEATURES_NO_RESULTS) {
    resp.results = request_array(req, body->feature_updates_count, sizeof *resp.results);
    resp.results_count = body->feature_updates_count;
    for (int32_t i = 0; i < body->feature_updates_count; i++) {
      wire_update_features_response_updatable_feature_result_init(&resp.results[i]);
      resp.results[i].feature = body->feature_updates[i].feature;
    }
  }
  request_respond(req, &resp);
}
