// SPDX-License-Identifier: Apache-2.0
//
// InitProducerId, 0 to 6: an id for a producer, so that what it sends again is stored once. The controller gives it.
//
//   request                                                answer
//   version 3 on: an id without epoch, or the reverse      INVALID_REQUEST
//   no transactional id                                    a new id with epoch 0, also when the client has one
//   (KIP-360) an empty transactional id                              INVALID_REQUEST a timeout that is not above 0 or
//   above 15 minutes      INVALID_TRANSACTION_TIMEOUT any other transactional id COORDINATOR_NOT_AVAILABLE: there are
//   no transactions yet
//
// While the controller cannot give ids, the answer is COORDINATOR_LOAD_IN_PROGRESS: producers ask again.
#include "api/api.h"
#include "api/authorize.h"
#include "api/handlers.h"
#include "api/request.h"
#include "controller/controller.h"
#include "wire/error_codes.h"
#include "wire/init_producer_id.h"

enum {
  INIT_PRODUCER_ID_WITH_EPOCH = 3,          // version that brought id and epoch
  INIT_PRODUCER_ID_TIMEOUT_MAX_MS = 900000, // transaction.max.timeout.ms of Kafka
};

static void init_producer_id_answer(struct request *req, int16_t error, int64_t id)
{
  struct wire_init_producer_id_response resp;
  wire_init_producer_id_response_init(&resp);
  resp.error_code = error;
  resp.producer_id = id;
  resp.producer_epoch = error == WIRE_NONE ? 0 : -1;
  request_respond(req, &resp);
}

/// Why there is no id for a request; WIRE_NONE: there is one.
static int16_t init_producer_id_refusal(const struct request *req)
{
  const struct wire_init_producer_id_request *body = req->body;
  bool is_transactional = body->transactional_id.length >= 0;
  if (is_transactional && !api_may(req, RIGHT_WRITE, RIGHT_TRANSACTIONAL_ID, body->transactional_id)) {
    return WIRE_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
  }
  if (!is_transactional && !api_may_cluster(req, RIGHT_IDEMPOTENT_WRITE)) {
    return WIRE_CLUSTER_AUTHORIZATION_FAILED;
  }
  if (req->version >= INIT_PRODUCER_ID_WITH_EPOCH && (body->producer_id == -1) != (body->producer_epoch == -1)) {
    return WIRE_INVALID_REQUEST;
  }
  if (!is_transactional) {
    return WIRE_NONE;
  }
  if (body->transactional_id.length == 0) {
    return WIRE_INVALID_REQUEST;
  }
  if (body->transaction_timeout_ms <= 0 || body->transaction_timeout_ms > INIT_PRODUCER_ID_TIMEOUT_MAX_MS) {
    return WIRE_INVALID_TRANSACTION_TIMEOUT;
  }
  return WIRE_COORDINATOR_NOT_AVAILABLE;
}

static void init_producer_id_done(struct controller_producer_id *wanted)
{
  int16_t error = wanted->error_code;
  if (error == WIRE_NOT_CONTROLLER || error == WIRE_KAFKA_STORAGE_ERROR) {
    error = WIRE_COORDINATOR_LOAD_IN_PROGRESS;
  }
  init_producer_id_answer(wanted->arg, error, wanted->id);
}

void init_producer_id_handle(struct request *req)
{
  int16_t refusal = init_producer_id_refusal(req);
  if (refusal != WIRE_NONE) {
    init_producer_id_answer(req, refusal, -1);
    return;
  }
  struct controller_producer_id *wanted = arena_zalloc(&req->arena, sizeof *wanted);
  wanted->reply = req->worker->loop;
  wanted->done = init_producer_id_done;
  wanted->arg = req;
  controller_new_producer_id(req->api->controller, wanted);
}
