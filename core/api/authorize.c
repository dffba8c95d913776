// SPDX-License-Identifier: Apache-2.0
//
// Questions to the functions of client.authorize. A request may need many answers: few of its questions are under way
// at a time, and few of a worker's, so that a long request holds up no other, and none of them waits so long on the
// script thread that it fails for that. Requests of a worker take turns.
//
// What was not decided (a function that raised, took too long, or was not reached) is denied and not remembered. A
// request with several of those has the rest denied unasked: a function that fails always, or takes its whole budget
// each time, is not called a hundred thousand times.
#include "api/authorize.h"

#include <string.h>

#include "api/api.h"
#include "api/hooks.h"
#include "api/request.h"
#include "api/request_private.h"
#include "base/check.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/loop.h"
#include "network/connection.h"
#include "network/frame.h"
#include "policy/hooks.h"
#include "wire/apis.h"
#include "wire/codec.h"
#include "wire/error_codes.h"

enum {
  AUTHORIZE_AT_ONCE = 16,     ///< questions of a request under way
  AUTHORIZE_WORKER_MAX = 64,  ///< of a worker
  AUTHORIZE_FAILURES_MAX = 8, ///< questions of a request without a decision; beyond, the rest is denied
  AUTHORIZE_ROUNDS_MAX = 8,   ///< calls of a list; what is still open then, as topics come and go, is denied
  AUTHORIZE_RIGHTS_MAX = REQUEST_PARTITIONS_MAX + 1000, ///< resources of a request; handlers refuse it beyond
  AUTHORIZE_LOG_INTERVAL_MS = 1000,
  AUTHORIZE_NAME_SHOWN = 100, ///< bytes of a name in the log
};

/// What a request may do; in its arena, from its first question to its end.
struct authorize {
  struct list node;       ///< in the worker's list while there is something to ask
  struct rights rights;   ///< decided, and to be decided
  struct request *req;    ///< whose
  struct api_asker asker; ///< who asks
  uint64_t generation;    ///< of the functions when it began
  struct right *first;    ///< to be asked about, in their order
  struct right *last;     ///< for adding
  authorize_list_fn list; ///< what it needs
  authorize_go_fn go;     ///< what then
  request_fn cancel;      ///< the caller's, meanwhile
  int under_way;          ///< questions
  int failures;           ///< questions without a decision
  int rounds;             ///< calls of the list
  bool is_late;           ///< a handler asks, which has to go on
  bool is_given_up;       ///< the rest is denied
  bool is_ended;          ///< the broker stops
  bool is_waiting;        ///< for answers
};

/// A question under way.
struct authorize_ask {
  struct authorize *authorize;    ///< whose
  struct right *right;            ///< about which resource
  enum right_operation operation; ///< and what with it
};

static void authorize_pump(struct api_worker *worker);

// ---- the table of a request ----

const struct right *api_right(const struct request *req, enum right_resource resource, struct wire_string name)
{
  return rights_find(&req->authorize->rights, req->wire->key, resource, name);
}

bool api_may(const struct request *req, enum right_operation operation, enum right_resource resource,
             struct wire_string name)
{
  if (req->authorize == NULL) {
    return true;
  }
  const struct right *right = api_right(req, resource, name);
  return right != NULL && (right->allowed_operations >> operation & 1) != 0;
}

bool api_may_topic(const struct request *req, enum right_operation operation, struct wire_string name)
{
  return api_may(req, operation, RIGHT_TOPIC, name);
}

bool api_may_group(const struct request *req, enum right_operation operation, struct wire_string name)
{
  return api_may(req, operation, RIGHT_GROUP, name);
}

bool api_may_cluster(const struct request *req, enum right_operation operation)
{
  return api_may(req, operation, RIGHT_CLUSTER, wire_string_from(AUTHORIZE_CLUSTER_NAME));
}

bool api_may_config(const struct request *req, enum right_operation operation, int8_t type, struct wire_string name,
                    int16_t *error, const char **message)
{
  enum right_resource resource = authorize_config_resource(type);
  switch (resource) {
    case RIGHT_TOPIC:
      *error = WIRE_TOPIC_AUTHORIZATION_FAILED;
      *message = AUTHORIZE_TOPIC_TEXT;
      return api_may_topic(req, operation, name);
    case RIGHT_GROUP:
      *error = WIRE_GROUP_AUTHORIZATION_FAILED;
      *message = AUTHORIZE_GROUP_TEXT;
      return api_may_group(req, operation, name);
    case RIGHT_CLUSTER:
      *error = WIRE_CLUSTER_AUTHORIZATION_FAILED;
      *message = AUTHORIZE_CLUSTER_TEXT;
      return api_may_cluster(req, operation);
    default:
      return true; // refused for another reason
  }
}

int32_t api_operations(const struct request *req, enum right_resource resource, struct wire_string name, int32_t all)
{
  if (req->authorize == NULL) {
    return all;
  }
  const struct right *right = api_right(req, resource, name);
  return right != NULL ? (int32_t)(right->allowed_operations & (uint32_t)all) : 0;
}

bool api_rights_ended(const struct request *req)
{
  return req->authorize != NULL && req->authorize->is_ended;
}

uint64_t api_rights_mark(const struct request *req)
{
  const struct authorize *authorize = req->authorize;
  if (authorize == NULL || authorize->failures > 0 || authorize->is_given_up || req->client == NULL) {
    return 0;
  }
  return req->client->rights->epoch;
}

// ---- what a request needs ----

static void authorize_decide(struct right *right, enum right_operation operation, bool is_allowed)
{
  uint32_t bit = UINT32_C(1) << operation;
  right->known_operations |= bit;
  right->allowed_operations |= is_allowed ? bit : 0;
}

/// Puts a resource into the line of those to be asked about.
static void authorize_line_up(struct authorize *authorize, struct right *right)
{
  right->next = NULL;
  if (authorize->first == NULL) {
    authorize->first = right;
  } else {
    authorize->last->next = right;
  }
  authorize->last = right;
}

/// Lua would be shown another name.
static bool authorize_has_nul(struct wire_string name)
{
  return name.length > 0 && memchr(name.data, '\0', (size_t)name.length) != NULL;
}

enum authorize_answer authorize_need(struct request *req, enum right_operation operation, enum right_resource resource,
                                     struct wire_string name)
{
  struct authorize *authorize = req->authorize;
  uint32_t bit = UINT32_C(1) << operation;
  int16_t api = req->wire->key;
  if (name.length < 0) {
    return AUTHORIZE_ALLOWED;
  }
  struct right *right = rights_find(&authorize->rights, api, resource, name);
  if (right == NULL && authorize->rights.count >= AUTHORIZE_RIGHTS_MAX) {
    return AUTHORIZE_DENIED;
  }
  right = right != NULL ? right : rights_put(&authorize->rights, api, resource, name);
  if ((right->wanted_operations & bit) != 0) {
    return AUTHORIZE_OPEN;
  }
  if ((right->known_operations & bit) == 0) {
    const struct rights_memory *memory = req->client != NULL ? req->client->rights : NULL;
    const struct right *known = memory != NULL ? rights_find(&memory->rights, api, resource, name) : NULL;
    if (known != NULL && (known->known_operations & bit) != 0) {
      authorize_decide(right, operation, (known->allowed_operations & bit) != 0);
    } else if (authorize->is_given_up || authorize_has_nul(name)) {
      authorize_decide(right, operation, false);
    } else {
      if (right->wanted_operations == 0) {
        authorize_line_up(authorize, right);
      }
      right->wanted_operations |= bit;
      return AUTHORIZE_OPEN;
    }
  }
  return (right->allowed_operations & bit) != 0 ? AUTHORIZE_ALLOWED : AUTHORIZE_DENIED;
}

void authorize_need_all(struct request *req, int32_t operations, enum right_resource resource, struct wire_string name)
{
  for (int operation = 0; operation < RIGHT_OPERATIONS; operation++) {
    if ((operations >> operation & 1) != 0) {
      authorize_need(req, (enum right_operation)operation, resource, name);
    }
  }
}

// ---- the way back to the request ----

static void authorize_hold(struct request *req, int by)
{
  if (req->wire->key == WIRE_API_PRODUCE && req->client != NULL) {
    req->client->hold_count += by;
    if (by < 0 && req->client->hold_count == 0) {
      connection_resume(req->frame->conn);
    }
  }
}

/// The request goes on, or ends.
static void authorize_leave(struct authorize *authorize)
{
  struct request *req = authorize->req;
  if (authorize->is_waiting) {
    authorize->is_waiting = false;
    req->cancel = authorize->cancel;
    authorize_hold(req, -1);
  }
  if (authorize->is_late) {
    authorize->go(req);
  } else if (req->client == NULL) {
    request_respond_nothing(req);
  } else if (authorize->is_ended) {
    request_close(req); // the client asks another time, or another broker
  } else {
    authorize->go(req);
  }
}

/// Nothing more is asked: what is open is denied.
static void authorize_give_up(struct authorize *authorize)
{
  authorize->is_given_up = true;
  list_remove(&authorize->node);
  for (; authorize->first != NULL; authorize->first = authorize->first->next) {
    struct right *right = authorize->first;
    right->known_operations |= right->wanted_operations;
    right->wanted_operations = 0;
  }
}

/// The connection has closed.
static void authorize_cancel(struct request *req)
{
  struct authorize *authorize = req->authorize;
  authorize_give_up(authorize);
  if (authorize->under_way == 0) {
    authorize_leave(authorize);
  }
}

static void authorize_wait(struct authorize *authorize)
{
  struct request *req = authorize->req;
  if (!authorize->is_waiting) {
    authorize->is_waiting = true;
    authorize->cancel = req->cancel;
    req->cancel = authorize_cancel;
    authorize_hold(req, 1);
  }
  list_append(&req->worker->authorizing, &authorize->node);
  authorize_pump(req->worker);
}

/// Calls the list; then the request waits for what is open, or goes on.
static void authorize_round(struct authorize *authorize)
{
  if (authorize->req->client != NULL) {
    authorize->list(authorize->req);
  }
  if (++authorize->rounds >= AUTHORIZE_ROUNDS_MAX) {
    authorize_give_up(authorize);
  }
  if (authorize->first != NULL) {
    authorize_wait(authorize);
  } else {
    authorize_leave(authorize);
  }
}

// ---- questions ----

static void authorize_log(const struct authorize *authorize, const struct authorize_ask *asked, const char *why)
{
  struct api_worker *worker = authorize->req->worker;
  int64_t now_ms = event_loop_now_ms(worker->loop);
  if (worker->authorize_logged_ms != 0 && now_ms - worker->authorize_logged_ms < AUTHORIZE_LOG_INTERVAL_MS) {
    return;
  }
  worker->authorize_logged_ms = now_ms;
  const struct wire_string *name = &asked->right->name;
  slog_info("%s ('%.*s' at %s) may not %s %s '%.*s' (%s): %s", authorize->asker.principal, AUTHORIZE_NAME_SHOWN,
            authorize->asker.client_id, authorize->asker.address, right_operation_name(asked->operation),
            right_resource_name((enum right_resource)asked->right->resource),
            name->length < AUTHORIZE_NAME_SHOWN ? name->length : AUTHORIZE_NAME_SHOWN, name->data,
            authorize->req->wire->name, why);
}

/// Remembers a decision, if it is still that of the functions in force.
static void authorize_remember(const struct authorize *authorize, const struct authorize_ask *asked, bool is_allowed)
{
  const struct request *req = authorize->req;
  if (req->client == NULL || authorize->generation != hooks_generation(req->api->hooks)) {
    return;
  }
  struct rights_memory *memory = req->client->rights;
  if (memory->generation == authorize->generation && strcmp(memory->client_id, authorize->asker.client_id) == 0) {
    rights_memory_add(memory, req->wire->key, (enum right_resource)asked->right->resource, asked->right->name,
                      asked->operation, is_allowed);
  }
}

static void authorize_answered(struct hook_ask *ask)
{
  struct authorize_ask *asked = ask->arg;
  struct authorize *authorize = asked->authorize;
  struct api_worker *worker = authorize->req->worker;
  worker->authorize_count--;
  authorize->under_way--;
  bool is_decided = ask->result == 0 || ask->result == ERR_POLICY_VIOLATION;
  authorize_decide(asked->right, asked->operation, ask->result == 0);
  if (is_decided) {
    authorize_remember(authorize, asked, ask->result == 0);
  } else {
    authorize->failures++;
    authorize->is_ended = authorize->is_ended || ask->result == ERR_CLOSED;
    if (ask->result != ERR_SCRIPT || authorize->failures > AUTHORIZE_FAILURES_MAX) {
      authorize_give_up(authorize);
    }
  }
  if (ask->result != 0 && ask->result != ERR_CLOSED) {
    authorize_log(authorize, asked, ask->text);
  }
  if (authorize->first != NULL && list_is_empty(&authorize->node)) {
    list_append(&worker->authorizing, &authorize->node);
  }
  if (authorize->under_way == 0 && authorize->first == NULL) {
    authorize_round(authorize);
  }
  authorize_pump(worker);
}

/// Asks the next question of a request.
static void authorize_ask_next(struct authorize *authorize)
{
  struct request *req = authorize->req;
  struct right *right = authorize->first;
  CHECK(right != NULL && right->wanted_operations != 0);
  int operation = __builtin_ctz(right->wanted_operations);
  right->wanted_operations &= right->wanted_operations - 1;
  if (right->wanted_operations == 0) {
    authorize->first = right->next;
  }
  struct authorize_ask *asked = arena_alloc(&req->arena, sizeof *asked);
  *asked = (struct authorize_ask){authorize, right, (enum right_operation)operation};
  struct hook_ask *ask = hooks_ask_new(req->api->hooks, HOOK_CLIENT_AUTHORIZE, authorize_answered, asked);
  hook_add_text(&ask->event, "operation", right_operation_name(asked->operation));
  hook_add_text(&ask->event, "resource", right_resource_name((enum right_resource)right->resource));
  hook_add_bytes(&ask->event, "name", right->name.data, right->name.length);
  hook_add_text(&ask->event, "api", req->wire->name);
  api_asker_add(&authorize->asker, &ask->event);
  authorize->under_way++;
  req->worker->authorize_count++;
  hooks_ask(ask);
}

/// Asks as much as may be under way, of one request after another.
static void authorize_pump(struct api_worker *worker)
{
  while (worker->authorize_count < AUTHORIZE_WORKER_MAX && !list_is_empty(&worker->authorizing)) {
    struct authorize *authorize = CONTAINER_OF(worker->authorizing.next, struct authorize, node);
    list_remove(&authorize->node);
    authorize_ask_next(authorize);
    if (authorize->first != NULL && authorize->under_way < AUTHORIZE_AT_ONCE) {
      list_append(&worker->authorizing, &authorize->node);
    }
  }
}

// ---- the beginning ----

static void authorize_begin(struct request *req)
{
  struct authorize *authorize = arena_zalloc(&req->arena, sizeof *authorize);
  authorize->req = req;
  authorize->rights.arena = &req->arena;
  authorize->generation = hooks_generation(req->api->hooks);
  list_create(&authorize->node);
  api_asker_describe(&authorize->asker, &req->arena, req);
  req->authorize = authorize;
  if (req->client->rights == NULL) {
    req->client->rights = rights_memory_new(&req->worker->rights_bytes);
  }
  rights_memory_check(req->client->rights, authorize->generation, authorize->asker.client_id,
                      authorize->asker.principal);
}

void api_handle(struct request *req)
{
  bool is_listed;
  if (!hooks_has(req->api->hooks, HOOK_CLIENT_AUTHORIZE) || connection_is_attached(req->frame->conn)) {
    req->handler->handle(req);
    return;
  }
  authorize_list_fn list = authorize_list_of(req->wire->key, &is_listed);
  CHECK(is_listed);
  if (list == NULL) {
    req->handler->handle(req);
    return;
  }
  authorize_begin(req);
  req->authorize->list = list;
  req->authorize->go = req->handler->handle;
  authorize_round(req->authorize);
}

void api_ask_rights(struct request *req, authorize_list_fn list, authorize_go_fn go)
{
  struct authorize *authorize = req->authorize;
  if (authorize == NULL) {
    go(req);
    return;
  }
  authorize->list = list;
  authorize->go = go;
  authorize->rounds = 0;
  authorize->is_late = true;
  authorize_round(authorize);
}

void api_forget_rights(struct api_client *client)
{
  rights_memory_delete(client->rights);
  client->rights = NULL;
}
