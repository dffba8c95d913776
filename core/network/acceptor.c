// SPDX-License-Identifier: Apache-2.0
//
// Takes new connections on worker 0's loop and hands each to the worker with the fewest. With max.connections open
// nobody is accepted until one is closed: clients wait in the backlog, as they do at Kafka's port. One that is beyond
// the limit of its address is closed at once, again as Kafka does.
//
// When descriptors run out, the
// waiting client would make the listening socket readable for ever: the reserved descriptor is closed, the client
// accepted and closed, so that it hears at once, and the descriptor opened again. Where even that fails, the listener
// rests for a second.
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "base/slog.h"
#include "network/connection_private.h"
#include "network/connection_quota.h"
#include "network/server_private.h"
#include "os/socket.h"
#include "os/unix_socket.h"

enum {
  ACCEPTOR_TURN = 64,        // connections taken before others have their turn
  ACCEPTOR_PAUSE_MS = 1000,  // rest after a failure that lasts
  ACCEPTOR_IP_LOG_MS = 1000, // between lines about addresses that have enough
  ACCEPTOR_LOG_MS = 10000,   // between lines about refused connections
};

static void acceptor_poll(struct acceptor *acceptor);

static void acceptor_deliver(struct mail *mail)
{
  struct connection *conn = (struct connection *)((char *)mail - offsetof(struct connection, mail));
  if (conn->worker->is_draining) {
    connection_delete_unopened(conn);
  } else {
    connection_open(conn);
  }
}

/// One line in ten seconds about connections that were turned away.
static void acceptor_log_refusal(struct server *server, const char *why)
{
  int64_t now_ms = event_loop_now_ms(&server->workers[0].loop);
  server->refused_since++;
  if (server->refusal_logged_ms != 0 && now_ms - server->refusal_logged_ms < ACCEPTOR_LOG_MS) {
    return;
  }
  slog_error("%lld new connection(s) refused: %s", (long long)server->refused_since, why);
  server->refusal_logged_ms = now_ms;
  server->refused_since = 0;
}

/// One line a second about connections beyond the limit of their address, with the latest.
static void acceptor_log_ip(struct server *server, const char *peer, int limit)
{
  int64_t now_ms = event_loop_now_ms(&server->workers[0].loop);
  server->ip_refused_since++;
  if (server->ip_refusal_logged_ms != 0 && now_ms - server->ip_refusal_logged_ms < ACCEPTOR_IP_LOG_MS) {
    return;
  }
  slog_warn("connection from %s closed: its address has max.connections.per.ip (%d) open already; %lld closed for that",
            peer, limit, (long long)server->ip_refused_since);
  server->ip_refusal_logged_ms = now_ms;
  server->ip_refused_since = 0;
}

/// One line in ten seconds about clients that have to wait.
static void acceptor_log_full(struct server *server)
{
  int64_t now_ms = event_loop_now_ms(&server->workers[0].loop);
  if (server->full_logged_ms == 0 || now_ms - server->full_logged_ms >= ACCEPTOR_LOG_MS) {
    slog_warn("new connections wait: max.connections (%d) are open", atomic_load(&server->max_connections));
    server->full_logged_ms = now_ms;
  }
}

static int64_t acceptor_total(const struct server *server)
{
  int64_t total = 0;
  for (int i = 0; i < server->worker_count; i++) {
    total += atomic_load(&server->workers[i].assigned);
  }
  return total;
}

/// Whether max.connections are open; then nobody is accepted until acceptor_connection_gone(). Says so first and looks
/// again then, so that no end of a connection is missed.
static bool acceptor_is_full(struct server *server)
{
  if (acceptor_total(server) < atomic_load(&server->max_connections)) {
    return false;
  }
  atomic_store(&server->is_full, true);
  if (acceptor_total(server) < atomic_load(&server->max_connections)) {
    atomic_store(&server->is_full, false);
    return false;
  }
  return true;
}

/// The worker with the fewest connections.
static struct worker *acceptor_choose(struct server *server)
{
  struct worker *chosen = &server->workers[0];
  int fewest = INT32_MAX;
  for (int i = 0; i < server->worker_count; i++) {
    int assigned = atomic_load_explicit(&server->workers[i].assigned, memory_order_relaxed);
    if (assigned < fewest) {
      fewest = assigned;
      chosen = &server->workers[i];
    }
  }
  return chosen;
}

int server_attach(struct server *server, int *fd)
{
  int fds[2];
  CHECK(server->listener_count > 0);
  TRY(unix_socket_pair(fds));
  struct connection *conn =
      connection_new(acceptor_choose(server), &server->acceptors[0].listener, fds[1], "this process");
  conn->is_attached = true;
  conn->mail.run = acceptor_deliver;
  event_loop_post(&conn->worker->loop, &conn->mail);
  *fd = fds[0];
  return 0;
}

static void acceptor_hand_over(struct acceptor *acceptor, int fd, const char *peer)
{
  struct server *server = acceptor->server;
  struct worker *chosen = acceptor_choose(server);
  int64_t total = acceptor_total(server);
  if (total >= server->options.connection_room) {
    acceptor_log_refusal(server, "as many are open as the limit on open files allows (ulimit -n)");
    close(fd);
    return;
  }
  int limit = 0;
  if (!connection_quota_take(server->quota, peer, &limit)) {
    acceptor_log_ip(server, peer, limit);
    close(fd);
    return;
  }
  atomic_fetch_add(&chosen->assigned, 1);
  socket_tune(fd, server->options.send_buffer_bytes, server->options.receive_buffer_bytes);
  struct connection *conn = connection_new(chosen, &acceptor->listener, fd, peer);
  if (chosen->index == 0) {
    connection_open(conn);
  } else {
    conn->mail.run = acceptor_deliver;
    event_loop_post(&chosen->loop, &conn->mail);
  }
}

static int acceptor_reserve(void)
{
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/// Turns away the client that waits; false when that cannot be done.
static bool acceptor_turn_away(struct acceptor *acceptor)
{
  struct server *server = acceptor->server;
  char peer[SOCKET_PEER_SIZE];
  int fd = -1;
  if (server->reserve_fd < 0) {
    server->reserve_fd = acceptor_reserve();
  }
  if (server->reserve_fd < 0) {
    return false;
  }
  close(server->reserve_fd);
  int result = socket_accept(acceptor->listener.fd, &fd, peer);
  if (result == 0) {
    close(fd);
  }
  server->reserve_fd = acceptor_reserve();
  return result == 0 || result == ERR_AGAIN || result == ERR_CLOSED;
}

static void acceptor_on_pause_over(struct timer *timer)
{
  acceptor_poll((struct acceptor *)((char *)timer - offsetof(struct acceptor, pause_timer)));
}

static void acceptor_pause(struct acceptor *acceptor)
{
  uv_poll_stop(&acceptor->poll);
  timer_start(&acceptor->server->workers[0].loop, &acceptor->pause_timer, ACCEPTOR_PAUSE_MS, acceptor_on_pause_over);
}

static void acceptor_on_poll(uv_poll_t *poll, int status, int events)
{
  struct acceptor *acceptor = poll->data;
  struct server *server = acceptor->server;
  event_loop_awake(&server->workers[0].loop);
  (void)events;
  if (status < 0) {
    slog_error("listener on port %u failed: %s", acceptor->listener.address.port, uv_strerror(status));
    acceptor_pause(acceptor);
    return;
  }
  for (int i = 0; i < ACCEPTOR_TURN; i++) {
    if (acceptor_is_full(server)) {
      acceptor_log_full(server);
      uv_poll_stop(&acceptor->poll);
      return;
    }
    char peer[SOCKET_PEER_SIZE];
    int fd = -1;
    int result = socket_accept(acceptor->listener.fd, &fd, peer);
    if (result == 0) {
      acceptor_hand_over(acceptor, fd, peer);
    } else if (result == ERR_NO_FILES) {
      acceptor_log_refusal(server, "too many open files; raise the limit of the process (ulimit -n)");
      if (!acceptor_turn_away(acceptor)) {
        acceptor_pause(acceptor);
        return;
      }
    } else if (result == ERR_AGAIN) {
      return;
    } else if (result != ERR_CLOSED) {
      acceptor_log_refusal(server, error_last()->message);
      acceptor_pause(acceptor);
      return;
    }
  }
}

static void acceptor_poll(struct acceptor *acceptor)
{
  int err = uv_poll_start(&acceptor->poll, UV_READABLE, acceptor_on_poll);
  CHECK(err == 0);
}

void acceptor_on_room(struct mail *mail)
{
  struct server *server = CONTAINER_OF(mail, struct server, room_mail);
  atomic_store(&server->is_room_posted, false);
  for (int i = 0; i < server->listener_count; i++) {
    struct acceptor *acceptor = &server->acceptors[i];
    if (acceptor->is_polled && !timer_is_running(&acceptor->pause_timer)) {
      acceptor_poll(acceptor);
    }
  }
}

void acceptor_connection_gone(const struct connection *conn)
{
  struct server *server = conn->worker->server;
  if (conn->is_attached) {
    return;
  }
  connection_quota_give(server->quota, conn->peer);
  atomic_fetch_sub(&conn->worker->assigned, 1);
  if (atomic_load(&server->is_full) && atomic_exchange(&server->is_full, false) &&
      !atomic_exchange(&server->is_room_posted, true)) {
    event_loop_post(&server->workers[0].loop, &server->room_mail);
  }
}

int acceptor_start_all(struct server *server)
{
  server->reserve_fd = acceptor_reserve();
  for (int i = 0; i < server->listener_count; i++) {
    struct acceptor *acceptor = &server->acceptors[i];
    int err = uv_poll_init_socket(&server->workers[0].loop.uv, &acceptor->poll, acceptor->listener.fd);
    if (err != 0) {
      return -err;
    }
    acceptor->poll.data = acceptor;
    acceptor->is_polled = true;
    acceptor_poll(acceptor);
  }
  return 0;
}

void acceptor_stop_all(struct server *server)
{
  for (int i = 0; i < server->listener_count; i++) {
    struct acceptor *acceptor = &server->acceptors[i];
    if (acceptor->is_polled) {
      acceptor->is_polled = false;
      timer_stop(&server->workers[0].loop, &acceptor->pause_timer);
      uv_close((uv_handle_t *)&acceptor->poll, NULL);
      listener_destroy(&acceptor->listener);
    }
  }
  if (server->reserve_fd >= 0) {
    close(server->reserve_fd);
    server->reserve_fd = -1;
  }
}
