// SPDX-License-Identifier: Apache-2.0
//
// A connection's inside, for the three files that share it: connection.c (life, polling, answers), connection_input.c
// (buffers and frames) and connection_output.c (order and sending).
//
//   in: buffer -> frame --on_frame()--> head ... tail (order of frames; answers come in any order)
//                    \--- deferred                |
//                                                 v  answered frames at the head, one by one
//                                        out_head ... out_tail -> sendmsg, sendfile
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"
#include "event/mail.h"
#include "event/timer.h"
#include "network/connection.h"
#include "network/memory_gate.h"
#include "network/transport.h"
#include "os/socket.h"

enum { CONNECTION_MAGIC = 0x6b636f6e };

struct connection {
  uint32_t magic;                  ///< CONNECTION_MAGIC
  int64_t id;                      ///< from 1, never twice
  int64_t opened_ms;               ///< monotonic time of connection_open()
  int64_t frames;                  ///< frames taken from it
  int refs;                        ///< the socket, each frame, connection_ref()
  struct transport transport;      ///< the socket
  struct worker *worker;           ///< its owner
  const struct listener *listener; ///< where it came in
  bool is_attached;                ///< from inside, see server_attach(): not counted, and never idle
  uv_poll_t poll;                  ///< watches the socket
  int poll_events;                 ///< what `poll` watches for; 0: stopped
  struct list node;                ///< in worker->connections
  struct list dirty_node;          ///< in worker->dirty, or alone
  struct mail mail;                ///< brings it from the acceptor to its worker
  struct timer idle_timer;         ///< looks after connections.max.idle.ms
  int64_t active_ms;               ///< monotonic time at which bytes last moved
  void *user;                      ///< core/api's

  struct buffer *in;      ///< input being gathered; NULL when nothing is
  size_t in_start;        ///< first byte of `in` that is in no frame yet
  size_t in_end;          ///< end of the bytes received
  size_t in_need;         ///< bytes from in_start that the next frame takes, 0: not known yet
  size_t in_large;        ///< bytes of its latest frame, length included, if a small buffer is too small for it; else 0
  struct frame *deferred; ///< frame to offer again
  bool may_retry;         ///< offer it at the next occasion
  bool has_peer_ended;    ///< the peer's end has arrived; what it sent before may not have been read yet
  bool peer_done;         ///< all that the peer sent has been read
  bool is_ending;         ///< no more input; closed when all answers are sent
  bool is_open;           ///< until connection_close()

  struct frame *head;        ///< oldest frame whose answer is not in `out` yet
  struct frame *tail;        ///< newest
  int inflight;              ///< frames from head to tail
  int64_t held_bytes;        ///< request bytes they keep alive
  struct response *out_head; ///< answer being sent
  struct response *out_tail; ///< last answer ready in order
  int64_t unsent_bytes;      ///< bytes of all answers that the kernel has not taken
  bool wants_write;          ///< the socket is full; nothing is sent before it is writable

  struct memory_wait in_wait;  ///< its place in the line for request memory
  struct memory_wait out_wait; ///< its place in the line for answer memory
  int64_t answer_memory;       ///< memory of its answers that are not taken
  bool holds_back;             ///< answer memory is short: no frame is offered before its own answers are taken
  bool waits_in;               ///< `in_wait` is in the line, or its mail on the way
  bool waits_out;              ///< likewise `out_wait`
  int64_t in_reserved;         ///< request memory taken for the buffer that is needed next
  int64_t out_reserved;        ///< answer memory taken for the frame that is offered next
  int64_t received_bytes;      ///< bytes read so far
  int64_t sent_bytes;          ///< bytes sent so far
  int64_t pressed_ms;          ///< since when it is watched for progress; 0: it is not
  int64_t pressed_from;        ///< connection_moved_bytes() at that time

  char peer[SOCKET_PEER_SIZE]; ///< the client's address
};

/// Bytes read and sent so far.
static inline int64_t connection_moved_bytes(const struct connection *conn)
{
  return conn->received_bytes + conn->sent_bytes;
}

/// A connection for an accepted socket, taken. Any thread; nothing happens before connection_open().
struct connection *connection_new(struct worker *worker, const struct listener *listener, int fd, const char *peer);

/// Frees one that was never opened, and closes its socket.
void connection_delete_unopened(struct connection *conn);

/// Starts it, on its worker's thread. The connection may be closed already on return.
void connection_open(struct connection *conn);

/// Does all that can be done now: sends, offers frames, closes what is done, and says what to poll for.
void connection_turn(struct connection *conn);

/// Has connection_turn() called before the worker waits.
void connection_mark_dirty(struct connection *conn);

/// The peer has ended its side, as far as it was read or not: from now on silence ends the connection much sooner, also
/// while a frame is unanswered.
void connection_peer_ended(struct connection *conn);

/// True when the next frame may be offered.
bool connection_may_take(const struct connection *conn);

/// Whether the connection has, or gets now, request memory for a buffer of `size` bytes. If not it waits in line:
/// nothing is read from it until it has.
bool connection_reserve_input(struct connection *conn, size_t size);

/// Whether there is plenty of request memory: a buffer for `size` bytes is less than what is left of one half of it.
bool connection_has_memory(const struct connection *conn, size_t size);

/// Gives back what is reserved.
void connection_unreserve_input(struct connection *conn);

/// Whether a frame may be offered, as its answer will take memory. If not the connection waits in line.
bool connection_reserve_answer(struct connection *conn);

/// The frame was offered; what was answered by now has been counted.
void connection_use_answer(struct connection *conn);

/// Gives back what is reserved and leaves the lines.
void connection_release_memory(struct connection *conn);

/// Reads what has arrived, within a budget, and offers frames. May close.
void input_read(struct connection *conn);

/// Offers the frames that are complete. May close.
/// @return true when at least one was offered
bool input_take(struct connection *conn);

/// Gives back all input that is not in a frame of core/api's.
void input_drop(struct connection *conn);

/// Sends answers that are in order. May close.
void output_flush(struct connection *conn);

/// Drops all answers; frames that core/api still has are cut off from the connection.
void output_drop(struct connection *conn);

/// Frees a frame that is in no list.
void frame_delete(struct frame *frame);
