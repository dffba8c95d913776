// SPDX-License-Identifier: Apache-2.0
#include "network/server.h"

#include <stddef.h>
#include <stdio.h>
#include <uv.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "network/connection_quota.h"
#include "network/server_private.h"

enum {
  SERVER_MAX_REQUEST_BYTES = 100 * 1024 * 1024,
  SERVER_MAX_UNSENT_BYTES = 1024 * 1024,
  SERVER_MAX_INFLIGHT = 256,
  SERVER_MAX_IDLE_MS = 600000,
  SERVER_MAX_HALF_CLOSED_MS = 30000,
  SERVER_BACKLOG = 1024,
  SERVER_PROGRESS_MS = 2000,
  SERVER_MIN_PROGRESS_BYTES = 128 * 1024,
};

/// Something the main thread has a worker do, and waits for.
struct server_call {
  struct mail mail;                      ///< carries it
  struct server *server;                 ///< the server
  struct worker *worker;                 ///< who does it
  void (*run)(struct server_call *call); ///< what
  int64_t deadline_ms;                   ///< for server_drain()
  int err;                               ///< what it came to: 0 or an errno
};

static void server_call_run(struct mail *mail)
{
  struct server_call *call = (struct server_call *)((char *)mail - offsetof(struct server_call, mail));
  struct server *server = call->server;
  call->run(call);
  pthread_mutex_lock(&server->lock);
  server->calls_done++;
  pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->lock);
}

/// Runs `run` on a worker's thread, waits until it is done, returns its `err`.
static int server_call(struct worker *worker, void (*run)(struct server_call *call), int64_t deadline_ms)
{
  struct server *server = worker->server;
  struct server_call call = {
      .mail.run = server_call_run, .server = server, .worker = worker, .run = run, .deadline_ms = deadline_ms};
  pthread_mutex_lock(&server->lock);
  int target = server->calls_done + 1;
  pthread_mutex_unlock(&server->lock);
  event_loop_post(&worker->loop, &call.mail);
  pthread_mutex_lock(&server->lock);
  while (server->calls_done < target) {
    pthread_cond_wait(&server->changed, &server->lock);
  }
  pthread_mutex_unlock(&server->lock);
  return call.err;
}

/// Checks the options and fills in the defaults.
static int server_take_options(struct server_options *options)
{
  options->workers = options->workers == 0 ? (int)uv_available_parallelism() : options->workers;
  options->max_request_bytes = options->max_request_bytes == 0 ? SERVER_MAX_REQUEST_BYTES : options->max_request_bytes;
  options->max_unsent_bytes = options->max_unsent_bytes == 0 ? SERVER_MAX_UNSENT_BYTES : options->max_unsent_bytes;
  options->max_inflight = options->max_inflight == 0 ? SERVER_MAX_INFLIGHT : options->max_inflight;
  options->max_idle_ms = options->max_idle_ms == 0 ? SERVER_MAX_IDLE_MS : options->max_idle_ms;
  options->max_half_closed_ms =
      options->max_half_closed_ms == 0 ? SERVER_MAX_HALF_CLOSED_MS : options->max_half_closed_ms;
  options->progress_ms = options->progress_ms <= 0 ? SERVER_PROGRESS_MS : options->progress_ms;
  options->min_progress_bytes =
      options->min_progress_bytes <= 0 ? SERVER_MIN_PROGRESS_BYTES : options->min_progress_bytes;
  options->max_request_memory = options->max_request_memory <= 0 ? INT64_MAX : options->max_request_memory;
  options->max_answer_memory = options->max_answer_memory <= 0 ? INT64_MAX : options->max_answer_memory;
  options->max_connections = options->max_connections <= 0 ? INT32_MAX : options->max_connections;
  options->connection_room = options->connection_room <= 0 ? INT32_MAX : options->connection_room;
  bool has_overrides = options->ip_overrides != NULL && options->ip_overrides[0] != '\0';
  options->max_per_ip = options->max_per_ip == 0 && !has_overrides ? INT32_MAX : options->max_per_ip;
  options->backlog = options->backlog <= 0 ? SERVER_BACKLOG : options->backlog;
  if (options->workers < 1 || options->workers > SERVER_WORKERS_MAX) {
    return error_set(ERR_CONFIG, "workers is a number from 1 to %d, not %d", SERVER_WORKERS_MAX, options->workers);
  }
  if (options->max_request_bytes < 1) {
    return error_set(ERR_CONFIG, "socket_request_max_bytes is a number from 1 to %d, not %d", INT32_MAX,
                     options->max_request_bytes);
  }
  return 0;
}

int server_new(const struct server_options *options, const struct connection_callbacks *callbacks,
               struct server **server)
{
  CHECK(callbacks->on_frame != NULL);
  struct server_options taken = *options;
  TRY(server_take_options(&taken));
  struct server *made = mem_zalloc(sizeof *made + (size_t)taken.workers * sizeof made->workers[0]);
  made->options = taken;
  made->callbacks = *callbacks;
  made->reserve_fd = -1;
  memory_gate_create(&made->requests, taken.max_request_memory);
  memory_gate_create(&made->answers, taken.max_answer_memory);
  made->quota = connection_quota_new();
  atomic_init(&made->max_connections, taken.max_connections);
  made->room_mail.run = acceptor_on_room;
  pthread_mutex_init(&made->lock, NULL);
  pthread_cond_init(&made->changed, NULL);
  struct quota_limits *limits = NULL;
  int result = quota_limits_new(taken.max_per_ip, taken.ip_overrides, &limits);
  if (result < 0) {
    server_delete(made);
    return result;
  }
  connection_quota_set(made->quota, limits);
  made->options.ip_overrides = NULL; // borrowed for the call
  for (int i = 0; i < taken.workers; i++) {
    result = worker_create(&made->workers[i], made, i);
    if (result < 0) {
      server_delete(made);
      return result;
    }
    made->worker_count++;
  }
  *server = made;
  return 0;
}

struct server_limits_read {
  struct quota_limits *quota; ///< of addresses, owned until they are in force
  int64_t max_request_memory; ///< INT64_MAX: no bound
  int64_t max_answer_memory;  ///< likewise
};

int server_read_limits(const struct server_limits *limits, struct server_limits_read **read)
{
  struct quota_limits *quota = NULL;
  TRY(quota_limits_new(limits->max_per_ip, limits->ip_overrides, &quota));
  struct server_limits_read *made = mem_zalloc(sizeof *made);
  made->quota = quota;
  made->max_request_memory = limits->max_request_memory <= 0 ? INT64_MAX : limits->max_request_memory;
  made->max_answer_memory = limits->max_answer_memory <= 0 ? INT64_MAX : limits->max_answer_memory;
  *read = made;
  return 0;
}

void server_drop_limits(struct server_limits_read *read)
{
  if (read != NULL) {
    quota_limits_delete(read->quota);
    mem_free(read);
  }
}

/// Has worker 0 see whether somebody may be accepted now.
static void server_look_for_room(struct server *server)
{
  if (!atomic_exchange(&server->is_room_posted, true)) {
    event_loop_post(&server->workers[0].loop, &server->room_mail);
  }
}

void server_apply_limits(struct server *server, struct server_limits_read *read)
{
  connection_quota_set(server->quota, read->quota);
  memory_gate_set_limit(&server->requests, read->max_request_memory);
  memory_gate_set_limit(&server->answers, read->max_answer_memory);
  mem_free(read);
  server_look_for_room(server);
}

int server_bind(struct server *server, const char *text, const char *advertised)
{
  if (server->listener_count == SERVER_LISTENERS_MAX) {
    return error_set(ERR_CONFIG, "more than %d listeners", SERVER_LISTENERS_MAX);
  }
  struct acceptor *acceptor = &server->acceptors[server->listener_count];
  TRY(listener_create(&acceptor->listener, server->listener_count, text, advertised));
  TRY(listener_bind(&acceptor->listener));
  acceptor->server = server;
  server->listener_count++;
  return 0;
}

static void server_start_acceptors(struct server_call *call)
{
  call->err = acceptor_start_all(call->server);
}

static void server_stop_acceptors(struct server_call *call)
{
  acceptor_stop_all(call->server);
}

static void server_drain_worker(struct server_call *call)
{
  worker_drain(call->worker, call->deadline_ms);
}

static void server_settle_worker(struct server_call *call)
{
  (void)call;
}

static void server_end_worker(struct server_call *call)
{
  worker_end(call->worker);
}

int server_accept(struct server *server)
{
  for (int i = 0; i < server->listener_count; i++) {
    TRY(listener_listen(&server->acceptors[i].listener, server->options.backlog));
  }
  int err = server_call(&server->workers[0], server_start_acceptors, 0);
  return err == 0 ? 0 : error_set_errno(err, "cannot wait for connections");
}

void server_drain(struct server *server, int64_t deadline_ms)
{
  if (server->worker_count == 0 || server->is_stopped) {
    return;
  }
  server_call(&server->workers[0], server_stop_acceptors, 0);
  for (int i = 0; i < server->worker_count; i++) {
    server_call(&server->workers[i], server_drain_worker, deadline_ms);
  }
  pthread_mutex_lock(&server->lock);
  while (server->workers_drained < server->worker_count) {
    pthread_cond_wait(&server->changed, &server->lock);
  }
  pthread_mutex_unlock(&server->lock);
}

void server_stop(struct server *server)
{
  if (server->is_stopped) {
    return;
  }
  server_drain(server, 0);
  // Workers post to each other, and no mail may come to one that has ended. With nothing left to work on, once each has
  // come to the end of its turn nobody posts any more, and once each has done so again all that was posted has run.
  for (int i = 0; i < 2 * server->worker_count; i++) {
    server_call(&server->workers[i % server->worker_count], server_settle_worker, 0);
  }
  for (int i = 0; i < server->worker_count; i++) {
    server_call(&server->workers[i], server_end_worker, 0);
  }
  for (int i = 0; i < server->worker_count; i++) {
    event_loop_stop(&server->workers[i].loop);
  }
  server->is_stopped = true;
}

void server_delete(struct server *server)
{
  if (server == NULL) {
    return;
  }
  server_stop(server);
  for (int i = 0; i < server->worker_count; i++) {
    worker_destroy(&server->workers[i]);
  }
  for (int i = 0; i < server->listener_count; i++) {
    listener_destroy(&server->acceptors[i].listener);
  }
  connection_quota_delete(server->quota);
  memory_gate_destroy(&server->requests);
  memory_gate_destroy(&server->answers);
  pthread_cond_destroy(&server->changed);
  pthread_mutex_destroy(&server->lock);
  mem_free(server);
}

int server_worker_count(const struct server *server)
{
  // Not worker_count: the first workers ask while the others are still being started.
  return server->options.workers;
}

struct worker *server_worker(struct server *server, int index)
{
  CHECK(index >= 0 && index < server->worker_count);
  return &server->workers[index];
}

int server_listener_count(const struct server *server)
{
  return server->listener_count;
}

const struct listener *server_listener(const struct server *server, int index)
{
  CHECK(index >= 0 && index < server->listener_count);
  return &server->acceptors[index].listener;
}

void server_set_max_connections(struct server *server, int max_connections)
{
  atomic_store(&server->max_connections, max_connections <= 0 ? INT32_MAX : max_connections);
  server_look_for_room(server);
}

int64_t server_connections(const struct server *server)
{
  int64_t count = 0;
  for (int i = 0; i < server->worker_count; i++) {
    count += atomic_load_explicit(&server->workers[i].counters.connections, memory_order_relaxed);
  }
  return count;
}
