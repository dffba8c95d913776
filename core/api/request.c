// SPDX-License-Identifier: Apache-2.0
#include "api/request.h"

#include <string.h>

#include "api/api.h"
#include "api/probe.h"
#include "api/request_private.h"
#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "network/connection.h"
#include "network/frame.h"
#include "network/response.h"
#include "network/server.h"
#include "os/clock.h"
#include "os/errinj.h"
#include "wire/apis.h"
#include "wire/codec.h"
#include "wire/header.h"
#include "wire/writer.h"

enum {
  REQUEST_FREE_MAX = 64, // requests kept for reuse by a worker
  REQUEST_LOG_INTERVAL_MS = 1000,
};

/// A region of the answer, while it is not sent.
struct request_region {
  struct response_region region; ///< owned
  struct request_region *next;   ///< registered before this one
};

struct request *request_new(struct api_worker *worker, struct api_client *client, struct frame *frame)
{
  struct request *req = worker->free_requests;
  if (req != NULL) {
    worker->free_requests = req->state;
    worker->free_count--;
  } else {
    req = mem_zalloc(sizeof *req);
  }
  struct arena arena = req->arena;
  *req = (struct request){.arena = arena, .api = worker->api, .worker = worker, .client = client, .frame = frame};
  atomic_init(&req->group_room, REQUEST_GROUP_BYTES_MAX);
  list_append(&client->requests, &req->link);
  client->request_count++;
  return req;
}

void request_free(struct request *req)
{
  struct api_worker *worker = req->worker;
  if (worker->free_count >= REQUEST_FREE_MAX) {
    arena_destroy(&req->arena);
    mem_free(req);
    return;
  }
  arena_reset(&req->arena);
  req->state = worker->free_requests;
  worker->free_requests = req;
  worker->free_count++;
}

void request_count_latency(struct api_worker *worker)
{
  struct api_answered *answered = &worker->answered;
  if (answered->count == 0) {
    return;
  }
  int64_t now_ns = clock_mono_ns();
  for (int i = 0; i < answered->count; i++) {
    latency_count(&worker->counters.latency[answered->place[i]], (now_ns - answered->arrived_ns[i]) / 1000);
  }
  answered->count = 0;
}

/// Counts an answered request. @param error_code  the first error in its answer
static void request_count(struct request *req, int16_t error_code)
{
  struct api_counters *counters = &req->worker->counters;
  int place = api_handler_place(req->handler);
  metric_count(&counters->requests[place], 1);
  if (error_code != 0) {
    metric_count(&counters->errors[place], 1);
    bool is_known = error_code >= 0 && error_code <= WIRE_ERROR_MAX;
    metric_count(&counters->codes[is_known ? error_code + 1 : 0], 1);
  }
  if (req->client == NULL) {
    return; // nobody waits for it any more: how long it took means nothing
  }
  struct api_answered *answered = &req->worker->answered;
  if (answered->count == API_ANSWERED_MAX) {
    request_count_latency(req->worker);
  }
  answered->arrived_ns[answered->count] = req->frame->arrived_ns;
  answered->place[answered->count++] = place;
}

/// Takes a request that is about to be answered off its client's list.
static struct frame *request_leave(struct request *req)
{
  struct frame *frame = req->frame;
  CHECK(frame != NULL);
  req->frame = NULL;
  if (req->client != NULL) {
    list_remove(&req->link);
    req->client->request_count--;
    if (req->wire != NULL && req->wire->key == WIRE_API_PRODUCE) {
      req->client->produce_count--;
    }
  }
  return frame;
}

static void request_log_refusal(struct request *req, const char *why)
{
  int64_t now_ms = clock_mono_ms();
  if (now_ms - req->worker->bad_request_logged_ms < REQUEST_LOG_INTERVAL_MS) {
    return;
  }
  req->worker->bad_request_logged_ms = now_ms;
  slog_warn("closing connection of %s: %s version %d: %s", connection_peer(req->frame->conn),
            req->wire != NULL ? req->wire->name : "request", req->version, why);
}

/// Gives back the file regions of an answer that will not be sent.
static void request_drop_regions(struct request *req)
{
  for (struct request_region *entry = req->regions; entry != NULL; entry = entry->next) {
    if (entry->region.release != NULL) {
      entry->region.release(entry->region.arg);
    }
  }
  req->regions = NULL;
}

void request_close(struct request *req)
{
  request_drop_regions(req);
  if (req->is_traced) {
    probe_answered(req, -1, 0, true);
  }
  connection_respond_and_close(request_leave(req), NULL);
  request_free(req);
}

void request_refuse(struct request *req, const char *why)
{
  request_log_refusal(req, why);
  metric_count(&req->worker->counters.refused, 1);
  request_close(req);
}

void request_respond_nothing(struct request *req)
{
  request_drop_regions(req);
  request_count(req, 0);
  if (req->is_traced) {
    probe_answered(req, -1, 0, false);
  }
  connection_respond(request_leave(req), NULL);
  request_free(req);
}

/// What an answer consists of.
struct request_answer {
  const void *response; ///< struct wire_*_response; NULL: it is encoded already
  const uint8_t *bytes; ///< its body then
  size_t size;          ///< bytes of it
  int16_t error_code;   ///< and the first error in it
};

static int request_encode(struct request *req, const struct request_answer *answer, struct wire_writer *w)
{
  struct wire_response_header header;
  wire_response_header_init(&header);
  header.correlation_id = req->correlation_id;
  TRY(wire_response_header_write(&header, w, wire_response_header_version(req->wire->key, req->version)));
  if (answer->response != NULL) {
    return req->wire->response->write(answer->response, w, req->version);
  }
  wire_writer_raw(w, answer->bytes, answer->size);
  w->error_code = answer->error_code;
  return w->error;
}

static void request_send(struct request *req, const struct request_answer *answer)
{
  struct wire_writer w = {0};
  struct response *resp = response_begin(&req->worker->worker->responses, &w);
  wire_writer_i32(&w, 0); // the frame's length, filled in by response_take_writer()
  int injected = req->regions != NULL ? errinj_check(ERRINJ_API_ENCODE) : 0;
  int result = injected != 0 ? error_set(ERR_INVALID, "a fault was injected") : 0;
  if (result == 0) {
    result = request_encode(req, answer, &w);
  }
  int16_t error_code = w.error_code;
  if (result == 0) {
    result = response_take_writer(resp, &w);
  }
  if (result < 0) {
    request_drop_regions(req);
    wire_writer_destroy(&w);
    response_delete(resp);
    slog_error("cannot encode the answer to %s version %d: %s", req->wire->name, req->version, error_last()->message);
    metric_count(&req->worker->counters.refused, 1);
    connection_respond_and_close(request_leave(req), NULL);
  } else {
    wire_writer_destroy(&w);
    request_count(req, error_code);
    if (req->is_traced) {
      probe_answered(req, response_size(resp), error_code, false);
    }
    connection_respond(request_leave(req), resp);
  }
  request_free(req);
}

void request_respond(struct request *req, const void *response)
{
  struct request_answer answer = {.response = response};
  request_send(req, &answer);
}

void request_respond_bytes(struct request *req, const uint8_t *bytes, size_t size, int16_t error_code)
{
  struct request_answer answer = {.bytes = bytes, .size = size, .error_code = error_code};
  request_send(req, &answer);
}

void *request_region(struct request *req, const struct response_region *region)
{
  struct request_region *entry = arena_alloc(&req->arena, sizeof *entry);
  *entry = (struct request_region){.region = *region, .next = req->regions};
  req->regions = entry;
  return &entry->region;
}

bool request_check_count(struct request *req, int64_t count)
{
  if (count > REQUEST_PARTITIONS_MAX) {
    request_refuse(req, "names more than 100000 partitions or topics");
    return false;
  }
  return true;
}

void *request_array(struct request *req, int32_t count, size_t item_size)
{
  return arena_zalloc(&req->arena, (size_t)(count > 0 ? count : 0) * item_size);
}

char *request_string(struct request *req, struct wire_string text)
{
  return text.length < 0 ? NULL : arena_strndup(&req->arena, text.data, (size_t)text.length);
}
