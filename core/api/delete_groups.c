// SPDX-License-Identifier: Apache-2.0
//
// DeleteGroups, 0 to 3: groups without members, and their offsets. One that is named twice is answered once, as in
// Apache Kafka.
#include "api/authorize.h"
#include "api/group_calls.h"
#include "api/handlers.h"
#include "api/key_set.h"
#include "api/request.h"
#include "base/uuid.h"
#include "wire/delete_groups.h"
#include "wire/error_codes.h"

static void delete_groups_done(struct group_calls *calls)
{
  group_calls_respond(calls, group_calls_request(calls)->state);
}

void delete_groups_handle(struct request *req)
{
  const struct wire_delete_groups_request *body = req->body;
  if (!request_check_count(req, body->groups_names_count)) {
    return;
  }
  struct wire_delete_groups_response *response = request_array(req, 1, sizeof *response);
  wire_delete_groups_response_init(response);
  response->results = request_array(req, body->groups_names_count, sizeof *response->results);
  req->state = response;
  const struct uuid no_id = {0};
  struct key_set names;
  key_set_create(&names, &req->arena, body->groups_names_count);
  for (int32_t i = 0; i < body->groups_names_count; i++) {
    int32_t place = response->results_count;
    if (key_set_put(&names, body->groups_names[i], &no_id, 0, place) == place) {
      wire_delete_groups_response_deletable_group_result_init(&response->results[place]);
      response->results[place].group_id = body->groups_names[i];
      response->results_count++;
    }
  }
  struct group_calls *calls = group_calls_new(req, response->results_count, delete_groups_done);
  for (int32_t i = 0; i < response->results_count; i++) {
    if (api_may_group(req, RIGHT_DELETE, response->results[i].group_id)) {
      group_calls_set(calls, i, response->results[i].group_id, NULL, &response->results[i]);
    } else {
      response->results[i].error_code = WIRE_GROUP_AUTHORIZATION_FAILED;
    }
  }
  group_calls_submit(calls);
}
