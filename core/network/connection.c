// SPDX-License-Identifier: Apache-2.0
//
// A connection's life. Whatever happens (socket ready, answer given, frame dropped) marks it dirty; once in a turn,
// before the worker waits, connection_turn() does what can be done and chooses what to poll for. So nothing is sent,
// offered or closed from inside core/api's calls, except by connection_close().
#include "network/connection.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "network/buffer.h"
#include "network/connection_private.h"
#include "network/response.h"
#include "network/response_private.h"
#include "network/server_private.h"

struct connection *connection_new(struct worker *worker, const struct listener *listener, int fd, const char *peer)
{
  struct connection *conn = mem_zalloc(sizeof *conn);
  conn->magic = CONNECTION_MAGIC;
  conn->refs = 1;
  conn->transport.ops = &transport_tcp;
  conn->transport.fd = fd;
  conn->worker = worker;
  conn->id = atomic_fetch_add_explicit(&worker->server->last_connection, 1, memory_order_relaxed) + 1;
  conn->listener = listener;
  list_create(&conn->node);
  list_create(&conn->dirty_node);
  snprintf(conn->peer, sizeof conn->peer, "%s", peer);
  return conn;
}

void connection_delete_unopened(struct connection *conn)
{
  close(conn->transport.fd);
  acceptor_connection_gone(conn);
  mem_free(conn);
}

/// The connection whose poll handle a callback got.
static struct connection *connection_of(void *data)
{
  struct connection *conn = data;
  CHECK(conn->magic == CONNECTION_MAGIC);
  event_loop_awake(&conn->worker->loop);
  return conn;
}

static void connection_on_handle_closed(uv_handle_t *handle)
{
  connection_unref(connection_of(handle->data));
}

static void connection_on_poll(uv_poll_t *poll, int status, int events)
{
  struct connection *conn = connection_of(poll->data);
  if (status < 0) {
    // An error waits on the socket, and libuv has stopped polling it. What arrived before the error is still there.
    conn->poll_events = 0;
    input_read(conn);
    connection_close(conn);
    return;
  }
  if (events & UV_PRIORITIZED) {
    slog_debug("connection from %s closed: it sent urgent data", conn->peer);
    connection_close(conn);
    return;
  }
  if (events & UV_DISCONNECT) {
    connection_peer_ended(conn);
  }
  if (events & UV_WRITABLE) {
    conn->wants_write = false;
  }
  if (events & UV_READABLE) {
    input_read(conn);
  }
  if (conn->is_open) {
    connection_mark_dirty(conn);
  }
}

/// Tells the loop what to wait for. While nothing is read, the peer's end is asked for by itself: a client that is gone
/// must not stay for as long as its request waits. With nothing to wait for, errors are still reported: urgent data is
/// asked for, which no client sends.
static void connection_poll(struct connection *conn)
{
  int events = 0;
  // One that stopped reading as too much is unsent goes on when all is sent: each change is a system call, and what is
  // in the socket keeps the client busy meanwhile.
  bool is_held = conn->wants_write && conn->poll_events != 0 && !(conn->poll_events & UV_READABLE);
  if (!conn->peer_done && connection_may_take(conn) && !is_held) {
    events |= UV_READABLE;
  } else if (!conn->has_peer_ended) {
    events |= UV_DISCONNECT;
  }
  if (conn->wants_write) {
    events |= UV_WRITABLE;
  }
  if (events == 0) {
    events = UV_PRIORITIZED;
  }
  if (events != conn->poll_events) {
    conn->poll_events = events;
    int err = uv_poll_start(&conn->poll, events, connection_on_poll);
    CHECK(err == 0);
  }
}

static void connection_on_idle(struct timer *timer)
{
  struct connection *conn = (struct connection *)((char *)timer - offsetof(struct connection, idle_timer));
  struct worker *worker = conn->worker;
  const struct server_options *options = &worker->server->options;
  int64_t limit_ms = conn->has_peer_ended ? options->max_half_closed_ms : options->max_idle_ms;
  int64_t idle_ms = event_loop_now_ms(&worker->loop) - conn->active_ms;
  // A client that waits for us is not idle; one that does not take what it asked for is.
  bool waits_for_us = conn->inflight > 0 || conn->waits_in || conn->waits_out;
  if (!conn->has_peer_ended && waits_for_us && conn->out_head == NULL) {
    idle_ms = 0;
  }
  if (idle_ms < limit_ms) {
    timer_start(&worker->loop, timer, limit_ms - idle_ms, connection_on_idle);
    return;
  }
  slog_debug("connection from %s closed: idle for %lld ms", conn->peer, (long long)idle_ms);
  metric_count(&worker->counters.idle_closed, 1);
  connection_close(conn);
}

void connection_peer_ended(struct connection *conn)
{
  if (conn->has_peer_ended) {
    return;
  }
  struct worker *worker = conn->worker;
  conn->has_peer_ended = true;
  conn->active_ms = event_loop_now_ms(&worker->loop);
  timer_start(&worker->loop, &conn->idle_timer, worker->server->options.max_half_closed_ms, connection_on_idle);
}

void connection_open(struct connection *conn)
{
  struct worker *worker = conn->worker;
  struct server *server = worker->server;
  int err = uv_poll_init_socket(&worker->loop.uv, &conn->poll, conn->transport.fd);
  if (err != 0) {
    slog_error("connection from %s closed: it cannot be polled: %s", conn->peer, uv_strerror(err));
    connection_delete_unopened(conn);
    return;
  }
  conn->poll.data = conn;
  conn->is_open = true;
  conn->opened_ms = event_loop_now_ms(&worker->loop);
  conn->active_ms = conn->opened_ms;
  list_append(&worker->connections, &conn->node);
  if (!conn->is_attached) {
    metric_count(&worker->counters.connections, 1);
    metric_count(&worker->counters.accepted, 1);
  }
  if (server->options.max_idle_ms >= 0 && !conn->is_attached) {
    timer_start(&worker->loop, &conn->idle_timer, server->options.max_idle_ms, connection_on_idle);
  }
  if (server->callbacks.on_open != NULL) {
    server->callbacks.on_open(server->callbacks.arg, conn);
  }
  if (conn->is_open) {
    connection_mark_dirty(conn);
  }
}

void connection_close(struct connection *conn)
{
  if (!conn->is_open) {
    return;
  }
  struct worker *worker = conn->worker;
  struct server *server = worker->server;
  conn->is_open = false;
  timer_stop(&worker->loop, &conn->idle_timer);
  list_remove(&conn->node);
  list_remove(&conn->dirty_node);
  input_drop(conn);
  output_drop(conn);
  uv_close((uv_handle_t *)&conn->poll, connection_on_handle_closed);
  if (!conn->peer_done) {
    socket_discard(conn->transport.fd);
  }
  close(conn->transport.fd);
  conn->transport.fd = -1;
  if (!conn->is_attached) {
    metric_count(&worker->counters.connections, -1);
  }
  acceptor_connection_gone(conn);
  if (server->callbacks.on_close != NULL) {
    server->callbacks.on_close(server->callbacks.arg, conn);
  }
}

bool connection_may_take(const struct connection *conn)
{
  const struct server_options *options = &conn->worker->server->options;
  return conn->is_open && !conn->is_ending && !conn->worker->is_draining && conn->deferred == NULL && !conn->waits_in &&
         !conn->holds_back && !conn->waits_out && conn->unsent_bytes < options->max_unsent_bytes &&
         conn->inflight < options->max_inflight && conn->held_bytes <= options->max_request_bytes;
}

void connection_turn(struct connection *conn)
{
  do {
    output_flush(conn);
  } while (conn->is_open && input_take(conn) && conn->is_open);
  if (!conn->is_open) {
    return;
  }
  if (conn->is_ending || conn->worker->is_draining) {
    input_drop(conn);
    if (conn->head == NULL && conn->out_head == NULL) {
      connection_close(conn);
      return;
    }
  }
  connection_poll(conn);
}

void connection_mark_dirty(struct connection *conn)
{
  CHECK(event_loop_current() == &conn->worker->loop && conn->worker->loop.is_awake);
  if (list_is_empty(&conn->dirty_node)) {
    list_append(&conn->worker->dirty, &conn->dirty_node);
  }
}

static void connection_answer(struct frame *frame, struct response *resp, bool closes)
{
  struct connection *conn = frame->conn;
  CHECK(conn->magic == CONNECTION_MAGIC && event_loop_current() == &conn->worker->loop);
  CHECK(!frame->is_answered && (resp == NULL || resp->is_finished));
  frame_drop_bytes(frame);
  if (frame->is_cut_off) {
    response_delete(resp);
    frame_delete(frame);
    return;
  }
  frame->is_answered = true;
  frame->closes = closes;
  frame->resp = resp;
  if (resp != NULL) {
    conn->unsent_bytes += resp->size;
    conn->answer_memory += response_memory(resp);
    memory_share_add(&conn->worker->answers, response_memory(resp));
  }
  conn->may_retry = true;
  conn->is_ending |= closes; // already now: frames behind this one would still be offered in this turn
  connection_mark_dirty(conn);
}

void connection_respond(struct frame *frame, struct response *resp)
{
  connection_answer(frame, resp, false);
}

void connection_respond_and_close(struct frame *frame, struct response *resp)
{
  connection_answer(frame, resp, true);
}

void connection_resume(struct connection *conn)
{
  if (conn->is_open) {
    conn->may_retry = true;
    connection_mark_dirty(conn);
  }
}

bool connection_is_open(const struct connection *conn)
{
  return conn->is_open;
}

struct worker *connection_worker(const struct connection *conn)
{
  return conn->worker;
}

const struct listener *connection_listener(const struct connection *conn)
{
  return conn->listener;
}

bool connection_is_attached(const struct connection *conn)
{
  return conn->is_attached;
}

const char *connection_peer(const struct connection *conn)
{
  return conn->peer;
}

void connection_set_user(struct connection *conn, void *user)
{
  conn->user = user;
}

void *connection_user(const struct connection *conn)
{
  return conn->user;
}

void connection_ref(struct connection *conn)
{
  CHECK(conn->refs > 0);
  conn->refs++;
}

void connection_unref(struct connection *conn)
{
  CHECK(conn->refs > 0);
  if (--conn->refs == 0) {
    conn->magic = 0;
    mem_free(conn);
  }
}
