// SPDX-License-Identifier: Apache-2.0
//
// A frame: one request as it came from the wire, and its place in the order of answers. Its bytes are a slice of a
// pooled buffer that it keeps alive; nothing is copied. It belongs to the worker of its connection: other threads may
// read (and a partition's appender may patch) the bytes while the request is not answered, but never touch the struct.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct connection;
struct response;

/// Given to core/api by on_frame(); valid until connection_respond() takes it.
struct frame {
  struct connection *conn; ///< its connection: valid as long as the frame, also when it has been closed meanwhile
  uint8_t *bytes;          ///< the request without its length; may be patched in place; NULL after frame_drop_bytes()
  int32_t size;            ///< bytes of the request, at least 1
  int64_t arrived_ns;      ///< monotonic time of the turn in which its last byte was read
  void *user;              ///< for core/api

  // Private to core/network.
  struct frame *next;    ///< next in the order of answers, or in the worker's free list
  struct buffer *buffer; ///< shared: what `bytes` points into; NULL after frame_drop_bytes()
  struct response *resp; ///< owned: the answer, once there is one
  bool is_answered;      ///< connection_respond() was called
  bool closes;           ///< the connection ends after this answer
  bool is_cut_off;       ///< out of the order of answers: the connection is closed, or ends before this frame
};

/// Keeps the memory of the request's bytes beyond its answer: for what another thread may still be reading then. On the
/// worker's thread, while the frame has them. Owned: buffer_unref() (network/buffer.h).
struct buffer *frame_keep_bytes(struct frame *frame);

/// Gives the request's bytes back early: for a request that goes on waiting and needs nothing of them any more.
void frame_drop_bytes(struct frame *frame);
