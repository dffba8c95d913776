// SPDX-License-Identifier: Apache-2.0
//
// DescribeClientQuotas, 0 to 1: the quotas of users, client ids and addresses (KIP-546). None can be set on this broker
// (AlterClientQuotas is not served), so none is found; what the request asks for is checked nevertheless, in Kafka's
// order and words. Kafka's kafka-configs asks this before it describes a user.
#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/arena.h"
#include "metadata/config.h"
#include "wire/describe_client_quotas.h"
#include "wire/error_codes.h"

enum {
  QUOTA_MATCH_EXACT = 0,     ///< the entity of that name
  QUOTA_MATCH_DEFAULT = 1,   ///< the default of that type
  QUOTA_MATCH_SPECIFIED = 2, ///< all that have a name
  QUOTA_TYPE_SHOWN = 256,    ///< bytes of a client's text that a message shows
};

/// Types of entities, as bits of what a filter has.
enum quota_type { QUOTA_USER = 1, QUOTA_CLIENT_ID = 2, QUOTA_IP = 4, QUOTA_UNKNOWN = 0 };

static enum quota_type quota_type_of(struct wire_string name)
{
  return wire_string_is(name, "user")        ? QUOTA_USER
         : wire_string_is(name, "client-id") ? QUOTA_CLIENT_ID
         : wire_string_is(name, "ip")        ? QUOTA_IP
                                             : QUOTA_UNKNOWN;
}

/// What is wrong with how a component matches, or NULL.
static const char *quota_match_fault(struct request *req,
                                     const struct wire_describe_client_quotas_request_component_data *part)
{
  bool has_name = part->match.length >= 0;
  switch (part->match_type) {
    case QUOTA_MATCH_EXACT:
      return has_name ? NULL : "Request specified MATCH_TYPE_EXACT, but set match string to null.";
    case QUOTA_MATCH_DEFAULT:
      return has_name ? "Request specified MATCH_TYPE_DEFAULT, but also specified a match string." : NULL;
    case QUOTA_MATCH_SPECIFIED:
      return has_name ? "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string." : NULL;
    default:
      return arena_printf(&req->arena, "Unknown match type %d", part->match_type);
  }
}

/// What is wrong with the request, or NULL. @param[out] error  with a fault
static const char *quota_filter_fault(struct request *req, int16_t *error)
{
  const struct wire_describe_client_quotas_request *body = req->body;
  int seen = 0;
  *error = WIRE_INVALID_REQUEST;
  for (int32_t i = 0; i < body->components_count; i++) {
    const struct wire_describe_client_quotas_request_component_data *part = &body->components[i];
    if (part->entity_type.length <= 0) {
      return "Invalid empty entity type.";
    }
    enum quota_type type = quota_type_of(part->entity_type);
    const char *name = arena_strndup(&req->arena, part->entity_type.data, (size_t)part->entity_type.length);
    if (type == QUOTA_UNKNOWN) {
      *error = WIRE_UNSUPPORTED_VERSION;
      return arena_printf(&req->arena, "Unsupported entity type %.*s", config_clip(name, QUOTA_TYPE_SHOWN), name);
    }
    if ((seen & (int)type) != 0) {
      return arena_printf(&req->arena, "Entity type %s cannot appear more than once in the filter.", name);
    }
    seen |= (int)type;
    const char *fault = quota_match_fault(req, part);
    if (fault != NULL) {
      return fault;
    }
  }
  return (seen & QUOTA_IP) != 0 && seen != QUOTA_IP
             ? "Invalid entity filter component combination. IP filter component should not be used with user or "
               "clientId filter component."
             : NULL;
}

void describe_client_quotas_handle(struct request *req)
{
  int16_t error = WIRE_NONE;
  struct wire_describe_client_quotas_response resp;
  wire_describe_client_quotas_response_init(&resp);
  if (!api_may_cluster(req, RIGHT_DESCRIBE_CONFIGS)) {
    resp.error_code = WIRE_CLUSTER_AUTHORIZATION_FAILED;
    resp.error_message = wire_string_from(NULL);
    resp.entries_count = -1;
    request_respond(req, &resp);
    return;
  }
  const char *fault = quota_filter_fault(req, &error);
  resp.error_code = fault != NULL ? error : WIRE_NONE;
  resp.error_message = wire_string_from(fault != NULL ? fault : "");
  resp.entries_count = fault != NULL ? -1 : 0;
  request_respond(req, &resp);
}
