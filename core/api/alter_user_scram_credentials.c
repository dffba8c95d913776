// SPDX-License-Identifier: Apache-2.0
//
// AlterUserScramCredentials, 0: sets and deletes the credentials with which users log in by SCRAM (KIP-554). The client
// sends the salted password; the keys are made of it here, and the controller keeps them (controller/alter_plan.h) as
// configs of the user. Each user has one answer, and one change in a request: deletions come before what is set, the
// first change that is wrong gives the user's error, and one behind a good one is DUPLICATE_RESOURCE. Making the keys
// takes some microseconds for each, and there may be tens of thousands: the pool makes them.
#include "api/api.h"
#include "api/config_change.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/key_set.h"
#include "api/request.h"
#include "base/arena.h"
#include "base/list.h"
#include "event/pool.h"
#include "metadata/scram.h"
#include "wire/alter_user_scram_credentials.h"
#include "wire/error_codes.h"

/// Why a change cannot be made, or NULL.
static const char *alter_scram_name_fault(struct wire_string name, int mechanism, int16_t *error)
{
  if (name.length == 0) {
    *error = WIRE_UNACCEPTABLE_CREDENTIAL;
    return "Username must not be empty";
  }
  if (scram_name(mechanism) == NULL) {
    *error = WIRE_UNSUPPORTED_SASL_MECHANISM;
    return "Unknown SCRAM mechanism";
  }
  return NULL;
}

static const char *alter_scram_fault(
    const struct wire_alter_user_scram_credentials_request_scram_credential_upsertion *asked, int16_t *error)
{
  const char *fault = alter_scram_name_fault(asked->name, asked->mechanism, error);
  if (fault != NULL) {
    return fault;
  }
  *error = WIRE_UNACCEPTABLE_CREDENTIAL;
  if (asked->iterations < SCRAM_ITERATIONS_MIN) {
    return "Too few iterations";
  }
  if (asked->iterations > SCRAM_ITERATIONS_MAX) {
    return "Too many iterations";
  }
  if (asked->salt.length > SCRAM_SALT_MAX) {
    return "The salt is longer than 1024 bytes";
  }
  if (asked->salted_password.length <= 0) {
    return "The salted password is empty";
  }
  return NULL;
}

static const char *alter_scram_denied(int16_t *error)
{
  *error = WIRE_CLUSTER_AUTHORIZATION_FAILED;
  return AUTHORIZE_CLUSTER_TEXT;
}

/// A credential whose text is to be made. What it is made of is copied: the request may be answered meanwhile, when its
/// time is over.
struct alter_scram_key {
  struct controller_alter_entry *entry; ///< gets the text
  enum scram_mechanism mechanism;       ///< with this one
  int32_t iterations;                   ///< that the client took
  const uint8_t *salt;                  ///< in the change's arena
  size_t salt_size;                     ///< bytes
  const uint8_t *password;              ///< salted, likewise
  size_t password_size;                 ///< bytes
};

/// The users of a request while they are gathered; in the change's arena.
struct alter_scram_users {
  struct topic_change *change;  ///< the change that is made of them
  struct key_set seen;          ///< their names
  struct alter_scram_key *keys; ///< what is to be made
  int32_t key_count;            ///< how many
  struct pool_job job;          ///< makes them
};

/// Adds a change to its user. Of a user's changes the first counts; a second one is there to be refused.
///
/// @param fault  why it cannot be made, a constant; NULL: it can
/// @return where its entry goes; NULL: nowhere
static struct controller_alter_entry *alter_scram_add(struct alter_scram_users *users, struct wire_string name,
                                                      const char *fault, int16_t error)
{
  static const struct uuid no_id;
  struct controller_alter *alter = &users->change->alter;
  int32_t place = key_set_put(&users->seen, name, &no_id, 0, alter->resource_count);
  struct controller_alter_resource *resource = &alter->resources[place];
  if (place == alter->resource_count) {
    alter->resource_count++;
    config_change_resource(users->change, place, CONTROLLER_USER, name, 2);
    resource->entry_count = 0;
    if (fault != NULL) {
      resource->error_code = error;
      resource->error_message = fault;
    }
  }
  if (resource->error_code != WIRE_NONE || resource->entry_count == 2) {
    return NULL;
  }
  return (struct controller_alter_entry *)&resource->entries[resource->entry_count++];
}

static void alter_scram_answer(struct topic_change *change, bool is_timed_out)
{
  struct request *req = change->req;
  struct wire_alter_user_scram_credentials_response resp;
  wire_alter_user_scram_credentials_response_init(&resp);
  // Names, unlike results, are the change's own also while the controller works on it.
  int32_t count = change->alter.resource_count;
  resp.results = request_array(req, count, sizeof *resp.results);
  resp.results_count = count;
  for (int32_t i = 0; i < count; i++) {
    const struct controller_alter_resource *resource = &change->alter.resources[i];
    wire_alter_user_scram_credentials_response_alter_user_scram_credentials_result_init(&resp.results[i]);
    resp.results[i].user = (struct wire_string){resource->name, (int32_t)resource->name_length};
    config_change_result(change, is_timed_out, i, &resp.results[i].error_code, &resp.results[i].error_message);
  }
  request_respond(req, &resp);
}

/// Notes a credential that the pool is to make.
static void alter_scram_note(struct alter_scram_users *users, struct controller_alter_entry *entry,
                             const struct wire_alter_user_scram_credentials_request_scram_credential_upsertion *asked)
{
  struct arena *arena = &users->change->arena;
  size_t salt_size = asked->salt.length > 0 ? (size_t)asked->salt.length : 0;
  size_t password_size = (size_t)asked->salted_password.length;
  users->keys[users->key_count++] = (struct alter_scram_key){
      .entry = entry,
      .mechanism = (enum scram_mechanism)asked->mechanism,
      .iterations = asked->iterations,
      .salt = arena_dup(arena, asked->salt.data, salt_size),
      .salt_size = salt_size,
      .password = arena_dup(arena, asked->salted_password.data, password_size),
      .password_size = password_size,
  };
}

/// On the pool, which has the change's arena meanwhile.
static void alter_scram_work(struct pool_job *job)
{
  struct alter_scram_users *users = CONTAINER_OF(job, struct alter_scram_users, job);
  for (int32_t i = 0; i < users->key_count; i++) {
    struct alter_scram_key *key = &users->keys[i];
    key->entry->value = scram_make(&users->change->arena, key->mechanism, key->salt, key->salt_size, key->password,
                                   key->password_size, key->iterations);
  }
}

static void alter_scram_made(struct pool_job *job)
{
  config_change_send(CONTAINER_OF(job, struct alter_scram_users, job)->change);
}

void alter_user_scram_credentials_handle(struct request *req)
{
  const struct wire_alter_user_scram_credentials_request *body = req->body;
  int64_t count = (int64_t)body->deletions_count + body->upsertions_count;
  if (!request_check_count(req, count)) {
    return;
  }
  struct topic_change *change = config_change_new(req, (int32_t)count, true, alter_scram_answer);
  struct alter_scram_users *users = arena_zalloc(&change->arena, sizeof *users);
  users->change = change;
  users->keys = arena_alloc(&change->arena, ((size_t)body->upsertions_count + 1) * sizeof *users->keys);
  change->alter.resource_count = 0;
  key_set_create(&users->seen, &change->arena, (int32_t)count);
  bool may_alter = api_may_cluster(req, RIGHT_ALTER);
  for (int32_t i = 0; i < body->deletions_count; i++) {
    const struct wire_alter_user_scram_credentials_request_scram_credential_deletion *asked = &body->deletions[i];
    int16_t error = WIRE_NONE;
    const char *fault =
        may_alter ? alter_scram_name_fault(asked->name, asked->mechanism, &error) : alter_scram_denied(&error);
    struct controller_alter_entry *entry = alter_scram_add(users, asked->name, fault, error);
    if (entry != NULL) {
      *entry = (struct controller_alter_entry){.name = fault == NULL ? scram_name(asked->mechanism) : "",
                                               .operation = CONTROLLER_UNSET};
    }
  }
  for (int32_t i = 0; i < body->upsertions_count; i++) {
    const struct wire_alter_user_scram_credentials_request_scram_credential_upsertion *asked = &body->upsertions[i];
    int16_t error = WIRE_NONE;
    const char *fault = may_alter ? alter_scram_fault(asked, &error) : alter_scram_denied(&error);
    struct controller_alter_entry *entry = alter_scram_add(users, asked->name, fault, error);
    if (entry != NULL) {
      *entry = (struct controller_alter_entry){.name = "", .operation = CONTROLLER_SET, .value = ""};
    }
    if (entry != NULL && fault == NULL) {
      entry->name = scram_name(asked->mechanism);
      alter_scram_note(users, entry, asked);
    }
  }
  if (users->key_count > 0) {
    pool_submit_long(req->api->pool, &users->job, alter_scram_work, change->worker->loop, alter_scram_made);
  } else {
    config_change_send(change);
  }
}
