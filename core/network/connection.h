// SPDX-License-Identifier: Apache-2.0
//
// A connection of a client: reads frames, offers them to core/api one by one, and sends the answers in the order of the
// frames, whatever order they are ready in. It belongs to one worker; everything here is called on that worker's
// thread.
//
//   socket -> pooled buffer -> frame -> on_frame() ... connection_respond() -> order of frames -> sendmsg and sendfile
//
// Answers are sent at the end of the worker's turn, so that several small ones leave in one sendmsg; a turn is over
// when all that was readable has been handled, before the worker waits.
//
// Intake stops, and with it reading (so the client is slowed down by TCP), while on_frame() has deferred a frame, while
// more than `max_unsent_bytes` are ready to be sent and not taken by the kernel, while `max_inflight` frames are
// unanswered, or while unanswered frames hold more than `max_request_bytes`.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "network/frame.h"

struct connection;
struct connection_info;
struct listener;
struct response;
struct worker;

/// What core/api says to a frame.
enum frame_verdict {
  FRAME_TAKEN, ///< the frame is core/api's until it calls connection_respond(), which it may have done already
  FRAME_DEFER, ///< not now: the same frame is offered again when an earlier one has been answered, or
               ///< connection_resume()
  FRAME_CLOSE, ///< not acceptable: earlier answers are sent, then the connection is closed; the frame is gone
};

/// How core/api hears of connections; every call comes on the worker's thread.
struct connection_callbacks {
  /// A connection was accepted. May be NULL.
  void (*on_open)(void *arg, struct connection *conn);
  /// A whole frame arrived.
  enum frame_verdict (*on_frame)(void *arg, struct connection *conn, struct frame *frame);
  /// The connection is closed: cancel what waits. Frames taken stay valid until answered; the answers are dropped. May
  /// be NULL.
  void (*on_close)(void *arg, struct connection *conn);
  /// First call on a worker's thread: fill worker->user. May be NULL.
  void (*on_start)(void *arg, struct worker *worker);
  /// The end of a turn, before answers are sent. May be NULL.
  void (*on_turn)(void *arg, struct worker *worker);
  /// The server drains: answer now what only waits (long polls). May be NULL.
  void (*on_drain)(void *arg, struct worker *worker);
  /// Last call on a worker's thread: connections and frames of all workers are gone, and so are the mails that workers
  /// posted to each other. May be NULL.
  void (*on_stop)(void *arg, struct worker *worker);
  /// Somebody lists connections: fill in what core/api knows of this one (network/connection_list.h). May be NULL.
  void (*on_describe)(void *arg, const struct connection *conn, struct connection_info *info);
  void *arg; ///< for all of them
};

/// Answers a frame, which is gone afterwards. Never sends before the answers of earlier frames, nor within the call.
///
/// @param frame  taken
/// @param resp   taken, finished; NULL: this request has no answer (acks=0)
void connection_respond(struct frame *frame, struct response *resp);

/// The same, and closes the connection after this answer and those of earlier frames. What the client sent after the
/// frame is not looked at: no frame is offered from now on, and those offered before are not answered.
void connection_respond_and_close(struct frame *frame, struct response *resp);

/// Offers a deferred frame again, at the end of this turn.
void connection_resume(struct connection *conn);

/// Closes now: unsent answers are dropped. on_close() has been called when this returns; harmless when closed.
void connection_close(struct connection *conn);

/// False from the moment of on_close().
bool connection_is_open(const struct connection *conn);

struct worker *connection_worker(const struct connection *conn);

/// The listener it came through: Metadata advertises that one's address to it.
const struct listener *connection_listener(const struct connection *conn);

/// The client's address, "127.0.0.1:40512" or "[::1]:40512"; borrowed as long as the connection.
const char *connection_peer(const struct connection *conn);

/// Whether it comes from inside the process (server_attach()).
bool connection_is_attached(const struct connection *conn);

/// A pointer for core/api, NULL at first.
void connection_set_user(struct connection *conn, void *user);
void *connection_user(const struct connection *conn);

/// Keeps the struct (not the socket) valid beyond on_close(); on the worker's thread.
void connection_ref(struct connection *conn);
void connection_unref(struct connection *conn);
