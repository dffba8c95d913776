// SPDX-License-Identifier: Apache-2.0
//
// The network server: listeners, workers and the connections on them. Life: server_new() starts the workers, on which
// core/broker may already post mails; server_bind() takes the addresses; server_accept() lets clients in;
// server_drain() ends the conversation, server_stop() the threads. Those are called from the main thread.
//
// A new connection goes to the worker with the fewest. The listening sockets are polled by worker 0; when the process
// is out of descriptors, a reserved one is given up to accept and close what waits, so that the loop does not spin.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "event/loop.h"
#include "network/buffer.h"
#include "network/connection.h"
#include "network/listener.h"
#include "network/memory_gate.h"
#include "network/response.h"

struct metric_samples;
struct server;

enum { SERVER_LISTENERS_MAX = 16, SERVER_WORKERS_MAX = 256 };

/// Zero-initialised members take the default.
struct server_options {
  int workers;                ///< 1 to SERVER_WORKERS_MAX; default: one per core
  int32_t max_request_bytes;  ///< largest frame, socket.request.max.bytes; default 100 MiB
  int64_t max_unsent_bytes;   ///< answers ready and unsent at which a connection's intake stops; default 1 MiB
  int max_inflight;           ///< unanswered frames at which a connection's intake stops; default 256
  int64_t max_idle_ms;        ///< connections.max.idle.ms; default 600000, -1: never
  int64_t max_half_closed_ms; ///< longest silence towards a client that has ended its side; default 30000
  int64_t
      max_request_memory; ///< bytes of requests at which no more is read, queued.max.request.bytes; default: no bound
  int64_t max_answer_memory;  ///< bytes of untaken answers at which no more is offered; default: no bound
  int64_t progress_ms;        ///< time in which who holds memory that others wait for must progress; default 2000
  int64_t min_progress_bytes; ///< by how much; default 128 KiB, which is 64 KiB a second
  int max_connections;        ///< further ones wait to be accepted, max.connections; default: no limit
  int connection_room;        ///< further ones are closed at once: what descriptors allow; default: no limit
  int max_per_ip; ///< further ones of one address are closed at once, max.connections.per.ip; 0: none, or with
                  ///< overrides nobody else
  const char *ip_overrides; ///< other limits for some addresses, max.connections.per.ip.overrides; NULL: none
  int send_buffer_bytes;    ///< socket.send.buffer.bytes; default: the kernel's choice
  int receive_buffer_bytes; ///< socket.receive.buffer.bytes; default: the kernel's choice
  int backlog;              ///< socket.listen.backlog.size; default 1024
};

/// Counters of one worker, since start. Written by the worker alone (relaxed), read by any thread.
struct worker_counters {
  _Atomic(int64_t) connections;       ///< open now
  _Atomic(int64_t) accepted;          ///< connections taken on
  _Atomic(int64_t) frames;            ///< frames offered to core/api
  _Atomic(int64_t) refused_frames;    ///< connections closed for a length that cannot be a request's
  _Atomic(int64_t) responses;         ///< answers sent whole
  _Atomic(int64_t) received_bytes;    ///< bytes read
  _Atomic(int64_t) sent_memory_bytes; ///< bytes sent from memory
  _Atomic(int64_t) sent_file_bytes;   ///< bytes sent by sendfile
  _Atomic(int64_t) idle_closed;       ///< connections closed for idleness
};

/// How busy a worker is, see worker.c.
struct worker_pace {
  int64_t since_ms; ///< start of the window, monotonic
  int64_t pieces;   ///< frames offered and pieces of files sent until then
  bool is_busy;     ///< there were many in the last window, and the scheduler knows
  bool is_fixed;    ///< the scheduler does not take advice
};

/// A thread with connections. `loop` may be posted to by any thread; the rest belongs to the worker.
struct worker {
  struct event_loop loop;          ///< its loop
  struct server *server;           ///< the server
  int index;                       ///< from 0
  void *user;                      ///< for core/api, set by on_start()
  struct worker_counters counters; ///< what it did

  // Private to core/network.
  struct memory_share answers;      ///< its part of the memory of answers
  struct timer progress_timer;      ///< looks for connections without progress while memory is short
  struct mail pressure_mail;        ///< tells it that memory is short
  _Atomic(bool) is_pressure_posted; ///< `pressure_mail` is on its way
  struct buffer_pool pool;          ///< input buffers
  struct list connections;          ///< open ones
  struct list dirty;                ///< those to look at before waiting
  struct frame *free_frames;        ///< frames to use again
  int free_frame_count;             ///< how many
  struct response_pool responses;   ///< small answers to use again
  int64_t live_frames;              ///< frames not yet given back, also those of closed connections
  _Atomic(int) assigned;            ///< connections given to it, also those on their way; any thread
  int64_t log_second;               ///< the second that log_lines counts
  int log_lines;                    ///< lines logged about bad clients in it
  bool has_offered;                 ///< a frame was offered since on_turn()
  struct worker_pace pace;          ///< how busy it is
  bool is_served;                   ///< between on_start() and on_stop()
  bool is_draining;                 ///< no new frames
  bool is_drained;                  ///< draining, the last connection is closed and the last frame given back
  struct timer drain_timer;         ///< ends a drain that takes too long
  struct mail start_mail;           ///< first mail: on_start()
};

/// Makes the workers and starts their threads.
///
/// @param options    copied
/// @param callbacks  copied
/// @param[out] server  owned: server_delete()
/// @return 0, ERR_CONFIG, ERR_NO_FILES ...
int server_new(const struct server_options *options, const struct connection_callbacks *callbacks,
               struct server **server);

/// Limits that may change while the server runs.
struct server_limits {
  int max_per_ip;             ///< as in struct server_options, but 0 is a limit
  const char *ip_overrides;   ///< likewise
  int64_t max_request_memory; ///< likewise; 0 or less: no bound
  int64_t max_answer_memory;  ///< likewise
};

/// Limits that were read, and are not in force yet.
struct server_limits_read;

/// Reads limits. May wait for name resolution. Any thread.
///
/// @param[out] read  owned: server_apply_limits() or server_drop_limits()
/// @return 0, ERR_CONFIG with a sentence
int server_read_limits(const struct server_limits *limits, struct server_limits_read **read);

/// NULL is fine.
void server_drop_limits(struct server_limits_read *read);

/// Puts limits (taken) in force. Connections that are open stay open; those that wait go on where the new limits allow
/// it. Waits for nothing. Any thread while the server runs, one at a time.
void server_apply_limits(struct server *server, struct server_limits_read *read);

/// Adds a listener and binds its socket, so that errors show before anything else is started.
///
/// @param text, advertised  as in listener_create(); advertised may be NULL
/// @return 0, ERR_CONFIG, ERR_BUSY ... with a line for the user in error_last()
int server_bind(struct server *server, const char *text, const char *advertised);

/// Starts to accept on all listeners.
int server_accept(struct server *server);

/// Gives one end of a connection whose other end a worker serves as one that came through the first listener. It counts
/// for no limit on connections, and is never closed for being idle. Any thread, from server_accept() to server_drain().
///
/// @param[out] fd  owned: close(2); non-blocking
/// @return 0, ERR_NO_FILES ...
int server_attach(struct server *server, int *fd);

/// Stops accepting, takes no more frames, waits until what was taken is answered and sent, closes. Connections that are
/// not done after `deadline_ms` are closed as they are. When this returns core/api has given back every frame, those of
/// closed connections too (it is waited for beyond the deadline), so nothing is under way for them on other threads.
/// Workers go on running their loops.
void server_drain(struct server *server, int64_t deadline_ms);

/// Ends the workers' threads, after a drain with no patience when there was none. Nobody but the workers themselves
/// posts to them any more, but for answers that are still under way.
void server_stop(struct server *server);

/// Frees a stopped server, or stops it first. NULL is fine.
void server_delete(struct server *server);

int server_worker_count(const struct server *server);
struct worker *server_worker(struct server *server, int index);
int server_listener_count(const struct server *server);
const struct listener *server_listener(const struct server *server, int index);

/// Changes max.connections; 0: no limit. Any thread while the server runs.
void server_set_max_connections(struct server *server, int max_connections);

/// Open connections of all workers.
int64_t server_connections(const struct server *server);

/// Source of metrics "network.*" and "memory.*" (base/metrics.h). Any thread. @param arg  the server
void server_collect(void *arg, struct metric_samples *out);
