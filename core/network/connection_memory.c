// SPDX-License-Identifier: Apache-2.0
//
// Memory that connections share, on the worker of each: who may have an input buffer, whose frame may be offered, and
// what becomes of those who hold memory without using it while others wait.
//
// Requests. Everybody may have one small buffer (16 KiB) as long as no earlier request of the connection is unanswered,
// so that small requests always pass; it is not counted. All else is taken from the server's gate, and a connection
// that does not get it is not read. Who stands in line holds nothing that counts but requests that are being worked on,
// and those end without the line's help.
//
// Answers. A frame is offered as long as what clients have not taken yet does not reach the bound; then connections
// wait in line, and each in turn has one frame offered. One that has answers to take does not even stand in line before
// these are taken. What the pool makes of records for old clients is taken before it is made (answer_claim.h).
//
// Progress. Whoever holds memory while others wait for it has to use it: a client whose large request is not complete,
// or whose answers take more than an equal share, must move `min_progress_bytes` in every `progress_ms`, or its
// connection is closed. (When all take less than an equal share, the bound is not reached.)
// Otherwise a few that announce large requests and send nothing, or ask for much and read nothing, would stop everybody
// else. Without shortage a slow client is only subject to connections.max.idle.ms.
#include <stddef.h>

#include "base/check.h"
#include "base/slog.h"
#include "network/answer_claim.h"
#include "network/buffer.h"
#include "network/connection_private.h"
#include "network/server_private.h"

enum { MEMORY_PROGRESS_LOOKS = 5 }; // looks within progress_ms

/// Has all workers tell what they have not told yet, and watch for progress.
static void connection_memory_is_short(struct server *server)
{
  for (int i = 0; i < server->worker_count; i++) {
    struct worker *worker = &server->workers[i];
    if (!atomic_exchange(&worker->is_pressure_posted, true)) {
      event_loop_post(&worker->loop, &worker->pressure_mail);
    }
  }
}

static void connection_on_input_granted(struct mail *mail)
{
  struct connection *conn = CONTAINER_OF(mail, struct connection, in_wait.mail);
  struct memory_gate *gate = &conn->worker->server->requests;
  conn->waits_in = false;
  conn->in_wait.state = MEMORY_WAIT_NONE;
  if (conn->is_open && !conn->is_ending) {
    conn->in_reserved = conn->in_wait.bytes;
    connection_mark_dirty(conn);
  } else {
    memory_gate_add(gate, -conn->in_wait.bytes);
  }
  connection_unref(conn);
}

bool connection_reserve_input(struct connection *conn, size_t size)
{
  struct server *server = conn->worker->server;
  int64_t room = (int64_t)buffer_room(size);
  if (conn->in_reserved == room) {
    return true;
  }
  connection_unreserve_input(conn); // it needs another size meanwhile
  if (room <= BUFFER_SMALL_BYTES && memory_gate_is_open(&server->requests)) {
    return true; // counted with the buffer
  }
  if (memory_gate_take(&server->requests, room)) {
    conn->in_reserved = room;
    return true;
  }
  if (conn->in != NULL) {
    buffer_discount(conn->in);
  }
  conn->waits_in = true;
  connection_ref(conn);
  if (memory_gate_wait(&server->requests, &conn->in_wait, &conn->worker->loop, room, connection_on_input_granted)) {
    connection_memory_is_short(server);
  }
  return false;
}

bool connection_has_memory(const struct connection *conn, size_t size)
{
  const struct memory_gate *gate = &conn->worker->server->requests;
  int64_t half = atomic_load_explicit(&gate->limit, memory_order_relaxed) / 2;
  return memory_gate_is_open(gate) &&
         atomic_load_explicit(&gate->used, memory_order_relaxed) + (int64_t)buffer_room(size) < half;
}

void connection_unreserve_input(struct connection *conn)
{
  if (conn->in_reserved > 0) {
    memory_gate_add(&conn->worker->server->requests, -conn->in_reserved);
    conn->in_reserved = 0;
  }
}

static void connection_on_answer_granted(struct mail *mail)
{
  struct connection *conn = CONTAINER_OF(mail, struct connection, out_wait.mail);
  conn->waits_out = false;
  conn->out_wait.state = MEMORY_WAIT_NONE;
  conn->out_reserved = conn->out_wait.bytes;
  if (conn->is_open && !conn->is_ending) {
    conn->may_retry = true;
    connection_mark_dirty(conn);
  } else {
    connection_use_answer(conn);
  }
  connection_unref(conn);
}

bool connection_reserve_answer(struct connection *conn)
{
  struct server *server = conn->worker->server;
  if (conn->out_reserved > 0 || memory_gate_is_open(&server->answers)) {
    return true;
  }
  if (conn->answer_memory > 0) {
    conn->holds_back = true;
    return false;
  }
  conn->waits_out = true;
  connection_ref(conn);
  if (memory_gate_wait(&server->answers, &conn->out_wait, &conn->worker->loop, server->options.max_unsent_bytes,
                       connection_on_answer_granted)) {
    connection_memory_is_short(server);
  }
  return false;
}

void connection_use_answer(struct connection *conn)
{
  int64_t reserved = conn->out_reserved;
  conn->out_reserved = 0;
  if (reserved > 0) {
    memory_gate_add(&conn->worker->server->answers, -reserved);
  }
}

void connection_release_memory(struct connection *conn)
{
  struct server *server = conn->worker->server;
  if (conn->waits_in && memory_gate_leave(&server->requests, &conn->in_wait)) {
    conn->waits_in = false;
    connection_unref(conn);
  }
  if (conn->waits_out && memory_gate_leave(&server->answers, &conn->out_wait)) {
    conn->waits_out = false;
    connection_unref(conn);
  }
  connection_unreserve_input(conn);
  connection_use_answer(conn);
}

// ---- answers that are made on the pool ----

static void answer_claim_on_granted(struct mail *mail)
{
  struct answer_claim *claim = CONTAINER_OF(mail, struct answer_claim, wait.mail);
  claim->is_waiting = false;
  claim->wait.state = MEMORY_WAIT_NONE;
  claim->bytes = claim->wait.bytes;
  claim->granted(claim);
}

bool answer_claim_take(struct answer_claim *claim, const struct frame *frame, int64_t bytes, answer_claim_fn granted)
{
  struct worker *worker = frame->conn->worker;
  claim->server = worker->server;
  if (memory_gate_take(&claim->server->answers, bytes)) {
    claim->bytes = bytes;
    return true;
  }
  claim->granted = granted;
  claim->is_waiting = true;
  if (memory_gate_wait(&claim->server->answers, &claim->wait, &worker->loop, bytes, answer_claim_on_granted)) {
    connection_memory_is_short(claim->server);
  }
  return false;
}

bool answer_claim_leave(struct answer_claim *claim)
{
  if (!claim->is_waiting || !memory_gate_leave(&claim->server->answers, &claim->wait)) {
    return false;
  }
  claim->is_waiting = false;
  return true;
}

void answer_claim_return(struct answer_claim *claim)
{
  int64_t bytes = claim->bytes;
  claim->bytes = 0;
  if (bytes > 0) {
    memory_gate_add(&claim->server->answers, -bytes);
  }
}

// ---- progress ----

/// Whether a connection keeps memory that others wait for, by its client's fault.
static bool connection_keeps_memory(const struct connection *conn, int64_t answer_share)
{
  struct server *server = conn->worker->server;
  if (conn->out_head != NULL && conn->answer_memory >= answer_share && atomic_load(&server->answers.waiting) > 0) {
    return true;
  }
  bool is_large = conn->in_reserved > 0 || (conn->in != NULL && conn->in->size > BUFFER_SMALL_BYTES);
  bool is_ours = conn->head != NULL || conn->deferred != NULL || conn->waits_out; // it waits for us, not we for it
  return is_large && !is_ours && atomic_load(&server->requests.waiting) > 0;
}

static void connection_check_progress(struct connection *conn, int64_t answer_share)
{
  const struct server_options *options = &conn->worker->server->options;
  int64_t now_ms = event_loop_now_ms(&conn->worker->loop);
  if (!connection_keeps_memory(conn, answer_share)) {
    conn->pressed_ms = 0;
    return;
  }
  if (conn->pressed_ms == 0 || now_ms - conn->pressed_ms >= options->progress_ms) {
    if (conn->pressed_ms != 0 && connection_moved_bytes(conn) - conn->pressed_from < options->min_progress_bytes) {
      if (worker_may_log(conn->worker)) {
        slog_warn(
            "connection from %s closed: %s, with %lld bytes in the last %lld ms, while others wait for memory",
            conn->peer, conn->out_head != NULL ? "it takes its answers too slowly" : "its request comes too slowly",
            (long long)(connection_moved_bytes(conn) - conn->pressed_from), (long long)(now_ms - conn->pressed_ms));
      }
      connection_close(conn);
      return;
    }
    conn->pressed_ms = now_ms;
    conn->pressed_from = connection_moved_bytes(conn);
  }
}

static void worker_on_progress_look(struct timer *timer)
{
  struct worker *worker = CONTAINER_OF(timer, struct worker, progress_timer);
  struct server *server = worker->server;
  int64_t connections = server_connections(server);
  int64_t answer_share = atomic_load(&server->answers.limit) / (connections > 0 ? connections : 1);
  LIST_EACH_SAFE(&worker->connections, node) {
    connection_check_progress(CONTAINER_OF(node, struct connection, node), answer_share);
  }
  if (atomic_load(&server->requests.waiting) > 0 || atomic_load(&server->answers.waiting) > 0) {
    timer_start(&worker->loop, timer, server->options.progress_ms / MEMORY_PROGRESS_LOOKS, worker_on_progress_look);
  }
}

void worker_on_pressure(struct mail *mail)
{
  struct worker *worker = CONTAINER_OF(mail, struct worker, pressure_mail);
  atomic_store(&worker->is_pressure_posted, false);
  memory_share_settle(&worker->pool.share);
  memory_share_settle(&worker->answers);
  if (!timer_is_running(&worker->progress_timer) && !worker->is_drained) {
    timer_start(&worker->loop, &worker->progress_timer, 0, worker_on_progress_look);
  }
}
