// SPDX-License-Identifier: Apache-2.0
//
// DescribeUserScramCredentials, 0: which users can log in by SCRAM, and how many iterations each credential takes
// (KIP-554). Answered at once from the metadata image; keys and salts are told to nobody. No users named: all.
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/key_set.h"
#include "api/request.h"
#include "base/arena.h"
#include "metadata/config.h"
#include "metadata/image.h"
#include "metadata/scram.h"
#include "wire/describe_user_scram_credentials.h"
#include "wire/error_codes.h"

enum { DESCRIBE_SCRAM_MECHANISMS = SCRAM_SHA_512, DESCRIBE_SCRAM_NAME_SHOWN = 256 };

/// The text that is set for a mechanism, or NULL.
static const char *describe_scram_text(const struct metadata_entity *user, const char *name)
{
  for (int32_t i = 0; i < user->entry_count; i++) {
    if (strcmp(user->entries[i].name, name) == 0) {
      return user->entries[i].value;
    }
  }
  return NULL;
}

/// Lists a user's credentials.
static void describe_scram_fill(
    struct request *req, const struct metadata_entity *user,
    struct wire_describe_user_scram_credentials_response_describe_user_scram_credentials_result *result)
{
  result->credential_infos = request_array(req, DESCRIBE_SCRAM_MECHANISMS, sizeof *result->credential_infos);
  result->credential_infos_count = 0;
  result->error_message = wire_string_from("");
  for (int mechanism = SCRAM_SHA_256; mechanism <= SCRAM_SHA_512; mechanism++) {
    struct scram_credential credential;
    const char *text = user != NULL ? describe_scram_text(user, scram_name(mechanism)) : NULL;
    if (text != NULL && scram_read((enum scram_mechanism)mechanism, text, &credential) == 0) {
      struct wire_describe_user_scram_credentials_response_credential_info *info =
          &result->credential_infos[result->credential_infos_count++];
      wire_describe_user_scram_credentials_response_credential_info_init(info);
      info->mechanism = (int8_t)mechanism;
      info->iterations = credential.iterations;
    }
  }
}

static void describe_scram_fail(
    struct request *req, struct wire_string name, int16_t error, const char *message,
    struct wire_describe_user_scram_credentials_response_describe_user_scram_credentials_result *result)
{
  char *shown = arena_strndup(&req->arena, name.data, (size_t)name.length);
  result->error_code = error;
  result->error_message = wire_string_from(
      arena_printf(&req->arena, "%s%.*s", message, config_clip(shown, DESCRIBE_SCRAM_NAME_SHOWN), shown));
}

/// All users who have a credential.
static void describe_scram_all(struct request *req, struct wire_describe_user_scram_credentials_response *resp)
{
  int32_t count = 0;
  struct metadata_entity *const *users =
      metadata_image_entities(metadata_cache_get(req->api->metadata), METADATA_USER, &count);
  resp->results = request_array(req, count, sizeof *resp->results);
  resp->results_count = 0;
  for (int32_t i = 0; i < count; i++) {
    struct wire_describe_user_scram_credentials_response_describe_user_scram_credentials_result *result =
        &resp->results[resp->results_count];
    wire_describe_user_scram_credentials_response_describe_user_scram_credentials_result_init(result);
    result->user = (struct wire_string){users[i]->name, users[i]->name_length};
    describe_scram_fill(req, users[i], result);
    resp->results_count += result->credential_infos_count > 0;
  }
}

/// Each named user once, in the order of the request; who is named again has an error instead.
static void describe_scram_named(struct request *req, struct wire_describe_user_scram_credentials_response *resp)
{
  const struct wire_describe_user_scram_credentials_request *body = req->body;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  static const struct uuid no_id;
  struct key_set seen;
  key_set_create(&seen, &req->arena, body->users_count);
  resp->results = request_array(req, body->users_count, sizeof *resp->results);
  resp->results_count = 0;
  for (int32_t i = 0; i < body->users_count; i++) {
    struct wire_string name = body->users[i].name;
    int32_t place = key_set_put(&seen, name, &no_id, 0, resp->results_count);
    if (place != resp->results_count) {
      resp->results[place].credential_infos_count = 0;
      describe_scram_fail(
          req, name, WIRE_DUPLICATE_RESOURCE,
          "Cannot describe SCRAM credentials for the same user twice in a single request: ", &resp->results[place]);
      continue;
    }
    struct wire_describe_user_scram_credentials_response_describe_user_scram_credentials_result *result =
        &resp->results[resp->results_count++];
    wire_describe_user_scram_credentials_response_describe_user_scram_credentials_result_init(result);
    result->user = name;
    describe_scram_fill(req, metadata_image_entity(image, METADATA_USER, name.data, (size_t)name.length), result);
    if (result->credential_infos_count == 0) {
      describe_scram_fail(req, name, WIRE_RESOURCE_NOT_FOUND,
                          "Attempt to describe a user credential that does not exist: ", result);
    }
  }
}

void describe_user_scram_credentials_handle(struct request *req)
{
  const struct wire_describe_user_scram_credentials_request *body = req->body;
  if (!request_check_count(req, body->users_count)) {
    return;
  }
  struct wire_describe_user_scram_credentials_response resp;
  wire_describe_user_scram_credentials_response_init(&resp);
  if (!api_may_cluster(req, RIGHT_DESCRIBE)) {
    resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
    resp.error_message = wire_string_from(NULL);
    resp.results = request_array(req, body->users_count, sizeof *resp.results);
    resp.results_count = body->users_count > 0 ? body->users_count : 0;
    for (int32_t i = 0; i < resp.results_count; i++) {
      // Kafka names nobody.
      wire_describe_user_scram_credentials_response_describe_user_scram_credentials_result_init(&resp.results[i]);
      resp.results[i].error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
      resp.results[i].error_message = wire_string_from(NULL);
    }
    request_respond(req, &resp);
    return;
  }
  resp.error_message = wire_string_from("");
  if (body->users_count > 0) {
    describe_scram_named(req, &resp);
  } else {
    describe_scram_all(req, &resp);
  }
  request_respond(req, &resp);
}
