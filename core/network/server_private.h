// SPDX-License-Identifier: Apache-2.0
//
// The server's inside, for server.c, worker.c, acceptor.c and the connections.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "event/timer.h"
#include "network/server.h"

/// A listening socket on worker 0's loop.
struct acceptor {
  struct server *server;    ///< the server
  struct listener listener; ///< address and socket
  uv_poll_t poll;           ///< watches the socket
  struct timer pause_timer; ///< polls again after descriptors or memory ran out
  bool is_polled;           ///< `poll` is an open handle
};

struct server {
  struct server_options options;                   ///< with defaults filled in
  struct connection_callbacks callbacks;           ///< core/api's
  struct acceptor acceptors[SERVER_LISTENERS_MAX]; ///< worker 0's once accepting
  int listener_count;                              ///< acceptors in use
  int reserve_fd;                                  ///< given up when descriptors run out; worker 0's once accepting
  int64_t refusal_logged_ms;                       ///< when refused connections were last logged; worker 0's
  _Atomic(int64_t) last_connection;                ///< id of the newest connection
  struct connection_quota *quota;                  ///< connections by address
  _Atomic(int) max_connections;                    ///< connections at which nobody is accepted; INT32_MAX: no limit
  _Atomic(bool) is_full;                           ///< nobody is accepted until a connection is closed
  struct mail room_mail;                           ///< tells worker 0 that one was
  _Atomic(bool) is_room_posted;                    ///< it is on its way
  int64_t ip_refusal_logged_ms;                    ///< when connections beyond a limit per address were last logged
  int64_t ip_refused_since;                        ///< such connections since then
  int64_t full_logged_ms;                          ///< when waiting clients were last logged
  int64_t refused_since;                           ///< refused since then; worker 0's
  bool is_stopped;                                 ///< server_stop() is through; main thread's

  struct memory_gate requests; ///< memory of requests: input buffers
  struct memory_gate answers;  ///< memory of answers that clients have not taken

  pthread_mutex_t lock;   ///< guards the two counts; held for a few instructions, last in the lock order
  pthread_cond_t changed; ///< one of them changed
  int calls_done;         ///< server_call() finished
  int workers_drained;    ///< workers with neither connections nor frames since server_drain()

  int worker_count;        ///< workers
  struct worker workers[]; ///< the workers
};

/// Prepares a worker and starts its thread.
int worker_create(struct worker *worker, struct server *server, int index);

/// Frees a stopped worker.
void worker_destroy(struct worker *worker);

/// Starts to drain; on the worker's thread. Harmless when that is over.
void worker_drain(struct worker *worker, int64_t deadline_ms);

/// The last call of core/api's; on the worker's thread, when nothing is under way any more.
void worker_end(struct worker *worker);

/// Memory is short, see connection_memory.c; on the worker's thread.
void worker_on_pressure(struct mail *mail);

/// True for at most twenty lines a second and worker, so that garbage on the port does not fill the disk with logs.
bool worker_may_log(struct worker *worker);

/// Polls the listening sockets; on worker 0's thread.
/// @return 0 or an errno
int acceptor_start_all(struct server *server);

/// A connection is gone: whoever waits to be accepted may be. Its worker's thread, or the acceptor's.
void acceptor_connection_gone(const struct connection *conn);

/// Accepts again, after limits have changed or connections have been closed; the server's `room_mail`.
void acceptor_on_room(struct mail *mail);

/// Closes them; on worker 0's thread. Harmless when they are not polled.
void acceptor_stop_all(struct server *server);
