// SPDX-License-Identifier: Apache-2.0
//
// IncrementalAlterConfigs, 0 and 1: sets and unsets single configs of a resource, and adds values to lists or takes
// them off (KIP-339). All changes of a resource are made, or none.
#include "api/config_change.h"
#include "api/handlers.h"
#include "api/request.h"
#include "wire/incremental_alter_configs.h"

static void incremental_alter_configs_answer(struct topic_change *change, bool is_timed_out)
{
  struct request *req = change->req;
  const struct wire_incremental_alter_configs_request *body = req->body;
  struct wire_incremental_alter_configs_response resp;
  wire_incremental_alter_configs_response_init(&resp);
  resp.responses = request_array(req, body->resources_count, sizeof *resp.responses);
  resp.responses_count = body->resources_count;
  for (int32_t i = 0; i < body->resources_count; i++) {
    struct wire_incremental_alter_configs_response_alter_configs_resource_response *result = &resp.responses[i];
    wire_incremental_alter_configs_response_alter_configs_resource_response_init(result);
    result->resource_type = body->resources[i].resource_type;
    result->resource_name = body->resources[i].resource_name;
    config_change_result(change, is_timed_out, i, &result->error_code, &result->error_message);
  }
  request_respond(req, &resp);
}

void incremental_alter_configs_handle(struct request *req)
{
  const struct wire_incremental_alter_configs_request *body = req->body;
  int64_t weight = body->resources_count;
  for (int32_t i = 0; i < body->resources_count; i++) {
    for (int32_t j = 0; j < body->resources[i].configs_count; j++) {
      weight += config_change_weight(body->resources[i].configs[j].value);
    }
  }
  if (!request_check_count(req, weight)) {
    return;
  }
  struct topic_change *change = config_change_new(req, body->resources_count, true, incremental_alter_configs_answer);
  change->alter.is_validate_only = body->validate_only;
  for (int32_t i = 0; i < body->resources_count; i++) {
    const struct wire_incremental_alter_configs_request_alter_configs_resource *asked = &body->resources[i];
    struct controller_alter_entry *entries =
        config_change_resource(change, i, asked->resource_type, asked->resource_name, asked->configs_count);
    for (int32_t j = 0; j < asked->configs_count; j++) {
      entries[j].name = topic_change_text(change, asked->configs[j].name);
      entries[j].value = topic_change_text(change, asked->configs[j].value);
      entries[j].operation = asked->configs[j].config_operation;
    }
  }
  config_change_submit(change);
}
