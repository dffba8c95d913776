// SPDX-License-Identifier: Apache-2.0
//
// What clients may do: functions of the hook client.authorize decide it, in place of the ACLs of a broker of Kafka.
//
//   dispatch -> api_handle(req): the API's list says what the request needs (authorize_lists.c)
//                 -> remembered on the connection? -> handler
//                 -> the request waits, functions are asked -> the list again: it may need more now -> handler
//   handler  -> api_may(): a look into the table of the request
//
// Where there is no such function that is one relaxed load for a request, and a test of a pointer for each look. What
// was not asked is denied: a topic, say, that came to be between the list and the handler. A request of the process
// itself (consoles, functions) may do everything.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/rights.h"
#include "base/uuid.h"
#include "wire/types.h"

struct api_worker;
struct authorize;
struct metadata_image;
struct request;

// Kafka's words for what is denied.
#define AUTHORIZE_TOPIC_TEXT "Topic authorization failed."
#define AUTHORIZE_GROUP_TEXT "Group authorization failed."
#define AUTHORIZE_CLUSTER_TEXT "Cluster authorization failed."

#define AUTHORIZE_CLUSTER_NAME "kafka-cluster" ///< what Kafka calls the one resource of that type

/// Hands a decoded request to its handler, once it is decided what it may do.
void api_handle(struct request *req);

// ---- for handlers ----

/// Whether a request's client may do something with a resource. On its worker, or on a thread that the worker waits
/// for.
bool api_may(const struct request *req, enum right_operation operation, enum right_resource resource,
             struct wire_string name);

/// The same for a topic, a group and the cluster.
bool api_may_topic(const struct request *req, enum right_operation operation, struct wire_string name);
bool api_may_group(const struct request *req, enum right_operation operation, struct wire_string name);
bool api_may_cluster(const struct request *req, enum right_operation operation);

/// What kind of right configs of a resource take, by the protocol's type of it; RIGHT_RESOURCES: there is no such type.
enum right_resource authorize_config_resource(int8_t type);

/// Whether a client may describe or alter configs of a resource, and what it is told otherwise.
bool api_may_config(const struct request *req, enum right_operation operation, int8_t type, struct wire_string name,
                    int16_t *error, const char **message);

/// What is decided about a resource of a request that is not allowed everything; NULL: nothing was asked.
const struct right *api_right(const struct request *req, enum right_resource resource, struct wire_string name);

/// Those of the operations `all` (bits `1 << operation`) that a client may do with a resource.
int32_t api_operations(const struct request *req, enum right_resource resource, struct wire_string name, int32_t all);

// ---- for handlers that get to know late what a request is about ----

/// Says what a request needs, by authorize_need(). Called again until all that it says is decided.
typedef void (*authorize_list_fn)(struct request *req);
typedef void (*authorize_go_fn)(struct request *req);

/// Has functions asked about what `list` says, then calls `go`; in this call where there is nothing to ask. The
/// caller's `state` of the request stays. `go` is also called when the connection has closed.
void api_ask_rights(struct request *req, authorize_list_fn list, authorize_go_fn go);

/// Whether functions could not be asked any more, as the broker stops: what is denied may be denied for that alone.
bool api_rights_ended(const struct request *req);

/// Something that is good as long as nothing was forgotten and nothing failed on the connection, for a caller that
/// keeps decisions itself; 0: nothing is.
uint64_t api_rights_mark(const struct request *req);

/// What is known of an operation while a list is made.
enum authorize_answer { AUTHORIZE_OPEN, AUTHORIZE_ALLOWED, AUTHORIZE_DENIED };

/// Says that a request needs something: it will be decided when the list is called the next time. A null name needs
/// nothing.
enum authorize_answer authorize_need(struct request *req, enum right_operation operation, enum right_resource resource,
                                     struct wire_string name);

/// Says that a request needs to know all of some operations.
void authorize_need_all(struct request *req, int32_t operations, enum right_resource resource, struct wire_string name);

// ---- for dispatch ----

/// The connection has closed.
struct api_client;
void api_forget_rights(struct api_client *client);

/// What the requests of an API need; NULL: nothing, whatever the request (`*is_listed`: the API is in the table).
authorize_list_fn authorize_list_of(int16_t key, bool *is_listed);
