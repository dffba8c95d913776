// SPDX-License-Identifier: Apache-2.0
//
// The life of a question, which the worker and the script thread have in turn. While the script thread has it the
// request may go on (the deadline) or end (its client leaves): the question then has no request any more, and is freed
// when it is back. Once it is back it is delayed here, or held for ever.
#include "api/probe.h"

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/request.h"
#include "api/request_private.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/loop.h"
#include "metadata/image.h"
#include "network/connection.h"
#include "network/frame.h"
#include "os/clock.h"
#include "policy/probes.h"
#include "wire/apis.h"
#include "wire/codec.h"
#include "wire/produce.h"

enum { PROBE_LOG_INTERVAL_MS = 1000 };

static void probe_copy_client(struct request *req, char *client_id, char *address)
{
  int length = req->client_id.length > 0 ? req->client_id.length : 0;
  snprintf(client_id, PROBES_TEXT_SIZE, "%.*s", length, length > 0 ? req->client_id.data : "");
  snprintf(address, PROBES_TEXT_SIZE, "%s", connection_peer(req->frame->conn));
}

// ---- traces ----

/// What a Produce is about, "clicks[0,1] orders[2]", cut to the text's size.
static void probe_write_topics(struct request *req, char *text)
{
  const struct wire_produce_request *produce = req->body;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  size_t at = 0;
  for (int32_t i = 0; i < produce->topic_data_count && at < PROBES_TEXT_SIZE; i++) {
    const struct wire_produce_request_topic_produce_data *data = &produce->topic_data[i];
    const struct metadata_topic *topic =
        req->version >= 13 ? metadata_image_topic_by_id(image, &data->topic_id) : NULL; // by id since version 13
    const char *name = topic != NULL ? topic->name : data->name.length > 0 ? data->name.data : "(an unknown id)";
    int length = topic == NULL && data->name.length > 0 ? data->name.length : (int)strlen(name);
    at += (size_t)snprintf(text + at, PROBES_TEXT_SIZE - at, "%s%.*s[", i > 0 ? " " : "", length, name);
    for (int32_t j = 0; j < data->partition_data_count && at < PROBES_TEXT_SIZE; j++) {
      at += (size_t)snprintf(text + at, PROBES_TEXT_SIZE - at, "%s%d", j > 0 ? "," : "", data->partition_data[j].index);
    }
    at += at < PROBES_TEXT_SIZE ? (size_t)snprintf(text + at, PROBES_TEXT_SIZE - at, "]") : 0;
  }
}

static void probe_note_request(struct request *req, int32_t body)
{
  bool is_produce = req->wire->key == WIRE_API_PRODUCE;
  req->is_traced = true;
  if (req->client_id.length > 0) {
    // The answer names it, too, and the frame's bytes may have been given back by then.
    req->client_id.data = arena_strndup(&req->arena, req->client_id.data, (size_t)req->client_id.length);
  }
  struct probe_note *note = probes_note_new(&req->api->probes, is_produce ? NULL : req->frame->bytes + body,
                                            (size_t)(req->frame->size - body));
  if (note != NULL) {
    note->api = req->wire->name;
    note->version = req->version;
    note->correlation_id = req->correlation_id;
    note->size = req->frame->size;
    note->wall_ms = event_loop_wall_ms(req->worker->loop);
    if (is_produce) {
      probe_write_topics(req, note->topics);
    }
    probe_copy_client(req, note->client_id, note->address);
    probes_note(note);
  }
}

void probe_answered(struct request *req, int64_t size, int16_t error_code, bool is_closed)
{
  struct probe_note *note = probes_note_new(&req->api->probes, NULL, 0);
  if (note != NULL) {
    note->is_answer = true;
    note->is_closed = is_closed;
    note->api = req->wire->name;
    note->version = req->version;
    note->correlation_id = req->correlation_id;
    note->size = size;
    note->error_code = error_code;
    note->latency_us = (clock_mono_ns() - req->frame->arrived_ns) / 1000;
    note->wall_ms = event_loop_wall_ms(req->worker->loop);
    probe_copy_client(req, note->client_id, note->address);
    probes_note(note);
  }
}

// ---- questions ----

static void probe_log(struct request *req, const char *what)
{
  int64_t now_ms = event_loop_now_ms(req->worker->loop);
  if (now_ms - req->worker->probe_logged_ms >= PROBE_LOG_INTERVAL_MS || req->worker->probe_logged_ms == 0) {
    req->worker->probe_logged_ms = now_ms;
    slog_warn("on.request: a %s of %s %s", req->wire->name, connection_peer(req->frame->conn), what);
  }
}

/// Takes the request out of a question: it is about to go on, or to end.
static struct request *probe_release(struct probe_ask *ask)
{
  struct request *req = ask->owner;
  ask->owner = NULL;
  timer_stop(req->worker->loop, &ask->timer);
  list_remove(&ask->owner_node);
  req->cancel = NULL;
  req->state = NULL;
  if (req->wire->key == WIRE_API_PRODUCE && req->client != NULL && --req->client->hold_count == 0) {
    connection_resume(req->frame->conn);
  }
  return req;
}

/// Does what was decided; the question is gone afterwards.
static void probe_carry_out(struct probe_ask *ask)
{
  struct request *req = probe_release(ask);
  bool has_no_answer =
      req->wire->key == WIRE_API_PRODUCE && ((const struct wire_produce_request *)req->body)->acks == 0;
  if (ask->outcome == PROBE_GO_ON) {
    api_handle(req);
  } else if (ask->outcome == PROBE_ANSWER && !has_no_answer) {
    request_respond_bytes(req, ask->answer, ask->answer_size, ask->error_code);
  } else {
    request_close(req); // as Kafka does when a Produce with acks=0 fails
  }
  probe_ask_delete(ask);
}

static void probe_delay_is_over(struct timer *timer)
{
  struct probe_ask *ask = CONTAINER_OF(timer, struct probe_ask, timer);
  if (ask->outcome != PROBE_DROP) {
    probe_carry_out(ask);
  }
}

/// The script thread has decided.
static void probe_returned(struct probe_ask *ask)
{
  struct request *req = ask->owner;
  if (req == NULL) {
    probe_ask_delete(ask);
    return;
  }
  timer_stop(req->worker->loop, &ask->timer);
  if (req->worker->is_draining) {
    ask->delay_ms = 0;
    ask->outcome = ask->outcome == PROBE_DROP ? PROBE_CLOSE : ask->outcome;
  }
  if (ask->delay_ms > 0) {
    timer_start(req->worker->loop, &ask->timer, ask->delay_ms, probe_delay_is_over);
  } else if (ask->outcome != PROBE_DROP) {
    probe_carry_out(ask);
  }
}

static void probe_deadline_is_over(struct timer *timer)
{
  struct probe_ask *ask = CONTAINER_OF(timer, struct probe_ask, timer);
  atomic_fetch_add_explicit(&ask->probes->late, 1, memory_order_relaxed);
  struct request *req = probe_release(ask); // the question is freed when it is back
  probe_log(req, "goes on: no function has decided in time");
  api_handle(req);
}

/// The client has left.
static void probe_cancel(struct request *req)
{
  struct probe_ask *ask = req->state;
  probe_release(ask);
  if (ask->is_back) {
    probe_ask_delete(ask);
  }
  request_respond_nothing(req);
}

static bool probe_ask_about(struct request *req, int32_t body)
{
  struct probe_ask *ask =
      probes_ask_new(&req->api->probes, req->frame->bytes + body, (size_t)(req->frame->size - body));
  if (ask == NULL) {
    probe_log(req, "goes on: too many wait for functions already");
    return false;
  }
  ask->api = req->wire->name;
  ask->version = req->version;
  ask->correlation_id = req->correlation_id;
  ask->size = req->frame->size;
  probe_copy_client(req, ask->client_id, ask->address);
  ask->home = req->worker->loop;
  ask->owner = req;
  ask->returned = probe_returned;
  if (!probes_ask(ask)) {
    probe_ask_delete(ask);
    return false;
  }
  req->state = ask;
  req->cancel = probe_cancel;
  if (req->wire->key == WIRE_API_PRODUCE) {
    req->client->hold_count++;
  }
  list_append(&req->worker->probed, &ask->owner_node);
  timer_start(req->worker->loop, &ask->timer, PROBES_DEADLINE_MS, probe_deadline_is_over);
  return true;
}

bool probe_request(struct request *req, const struct probe_watch *watch, int32_t body)
{
  if (connection_is_attached(req->frame->conn)) {
    return false; // of a console, or of a function itself
  }
  if (probe_watch_traces(watch, req->client_id.data, req->client_id.length)) {
    probe_note_request(req, body);
  }
  return probe_watch_asks(watch, req->wire->key) && probe_ask_about(req, body);
}

void probe_drain(struct api_worker *worker)
{
  LIST_EACH_SAFE(&worker->probed, node) {
    struct probe_ask *ask = CONTAINER_OF(node, struct probe_ask, owner_node);
    if (ask->is_back) {
      ask->outcome = ask->outcome == PROBE_DROP ? PROBE_CLOSE : ask->outcome;
      probe_carry_out(ask);
    }
  }
}
