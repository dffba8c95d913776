// SPDX-License-Identifier: Apache-2.0
//
// From bytes to frames. A connection has a buffer only while a frame is incomplete or waits to be offered; frames that
// core/api holds keep their buffer alive by themselves. Small frames share a 16 KiB buffer; one that does not fit is
// received straight into a buffer of its size, and only what had arrived of it before is copied, once.
//
// A connection whose latest frame was large is expected to send more of that size: it gets a buffer that holds as many
// of them as 256 KiB do, at least one, and reads that many whole ones with one call, so that nothing of them is copied.
// That takes no memory others wait for: when half of what there is for requests is in use, or the connection has much
// unanswered, it is one frame at a time.
//
// The length in front of a frame is checked when its four bytes are there, before anything is allocated for it.
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "network/buffer.h"
#include "network/connection_private.h"
#include "network/server_private.h"

enum {
  INPUT_LENGTH_SIZE = 4,            // bytes of a frame's length
  INPUT_TURN_BYTES = 192 * 1024,    // read from one connection before others have their turn
  INPUT_FREE_FRAMES_MAX = 1024,     // frame structs a worker keeps for reuse
  INPUT_AHEAD_BYTES = 256 * 1024,   // large frames read at once; more would leave the processor's cache
  INPUT_EXPECT_BYTES = 1152 * 1024, // frames up to here are expected again, as of a batch of Kafka's usual 1 MiB
};

static struct frame *frame_new(struct connection *conn, size_t start, size_t size)
{
  struct worker *worker = conn->worker;
  struct frame *frame = worker->free_frames;
  if (frame != NULL) {
    worker->free_frames = frame->next;
    worker->free_frame_count--;
    memset(frame, 0, sizeof *frame);
  } else {
    frame = mem_zalloc(sizeof *frame);
  }
  buffer_ref(conn->in);
  connection_ref(conn);
  worker->live_frames++;
  conn->frames++;
  frame->conn = conn;
  frame->buffer = conn->in;
  frame->bytes = conn->in->bytes + start;
  frame->size = (int32_t)size;
  frame->arrived_ns = worker->loop.now_ns;
  return frame;
}

void frame_delete(struct frame *frame)
{
  struct connection *conn = frame->conn;
  struct worker *worker = conn->worker;
  if (frame->buffer != NULL) {
    buffer_unref(frame->buffer);
  }
  if (worker->free_frame_count < INPUT_FREE_FRAMES_MAX) {
    frame->next = worker->free_frames;
    worker->free_frames = frame;
    worker->free_frame_count++;
  } else {
    mem_free(frame);
  }
  connection_unref(conn);
  worker->live_frames--;
}

struct buffer *frame_keep_bytes(struct frame *frame)
{
  buffer_ref(frame->buffer);
  return frame->buffer;
}

void frame_drop_bytes(struct frame *frame)
{
  struct connection *conn = frame->conn;
  if (frame->buffer == NULL) {
    return;
  }
  buffer_unref(frame->buffer);
  frame->buffer = NULL;
  frame->bytes = NULL;
  if (!frame->is_cut_off) {
    conn->held_bytes -= frame->size;
    connection_mark_dirty(conn);
  }
}

static void input_release(struct connection *conn)
{
  if (conn->in != NULL) {
    buffer_unref(conn->in);
    conn->in = NULL;
  }
  conn->in_start = 0;
  conn->in_end = 0;
  conn->in_need = 0;
}

void input_drop(struct connection *conn)
{
  connection_release_memory(conn);
  input_release(conn);
  if (conn->deferred != NULL) {
    struct frame *frame = conn->deferred;
    conn->deferred = NULL;
    frame_delete(frame);
  }
}

/// Closes a connection whose first bytes cannot be a request's length, and says what they look like.
static void input_refuse(struct connection *conn, const uint8_t *first, int32_t length)
{
  static const char *const methods[] = {"GET ", "POST", "PUT ", "HEAD", "DELE", "OPTI", "PATC", "CONN", "TRAC", "PRI "};
  const char *looks_like = NULL;
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    if (memcmp(first, methods[i], INPUT_LENGTH_SIZE) == 0) {
      looks_like = "it looks like HTTP";
    }
  }
  if (first[0] == 0x16 && first[1] == 0x03) {
    looks_like = "it looks like TLS, and this listener is plaintext";
  } else if (memcmp(first, "SSH-", INPUT_LENGTH_SIZE) == 0) {
    looks_like = "it looks like SSH";
  }
  metric_count(&conn->worker->counters.refused_frames, 1);
  if (!worker_may_log(conn->worker)) {
    // Said often enough this second.
  } else if (looks_like != NULL) {
    slog_warn("connection from %s closed: not a Kafka request, %s", conn->peer, looks_like);
  } else if (length > 0) {
    slog_warn("connection from %s closed: not a Kafka request, or one of %d bytes, more than the limit of %d",
              conn->peer, length, conn->worker->server->options.max_request_bytes);
  } else {
    slog_warn("connection from %s closed: not a Kafka request, its length is %d", conn->peer, length);
  }
  conn->is_ending = true;
}

/// Offers one frame.
static void input_offer(struct connection *conn, struct frame *frame)
{
  struct server *server = conn->worker->server;
  struct frame *before = conn->tail;
  int32_t size = frame->size;
  frame->next = NULL;
  if (before == NULL) {
    conn->head = frame;
  } else {
    before->next = frame;
  }
  conn->tail = frame;
  conn->inflight++;
  conn->held_bytes += size;
  conn->may_retry = false;
  conn->worker->has_offered = true;
  enum frame_verdict verdict = server->callbacks.on_frame(server->callbacks.arg, conn, frame);
  if (verdict == FRAME_TAKEN) {
    return;
  }
  CHECK(!frame->is_answered && frame->buffer != NULL);
  if (frame->is_cut_off) { // closed meanwhile
    frame_delete(frame);
    return;
  }
  CHECK(conn->tail == frame);
  conn->tail = before;
  if (before == NULL) {
    conn->head = NULL;
  } else {
    before->next = NULL;
  }
  conn->inflight--;
  conn->held_bytes -= size;
  if (verdict == FRAME_DEFER) {
    conn->deferred = frame;
    return;
  }
  conn->is_ending = true;
  frame_delete(frame);
}

/// Takes the next frame out of the input; NULL when none is complete, or when its length is refused.
static struct frame *input_next(struct connection *conn)
{
  size_t have = conn->in_end - conn->in_start;
  if (conn->in == NULL || have < INPUT_LENGTH_SIZE) {
    return NULL;
  }
  const uint8_t *at = conn->in->bytes + conn->in_start;
  int32_t length = (int32_t)bytes_get_u32(at);
  if (length <= 0 || length > conn->worker->server->options.max_request_bytes) {
    input_refuse(conn, at, length);
    return NULL;
  }
  conn->in_need = INPUT_LENGTH_SIZE + (size_t)length;
  if (have < conn->in_need) {
    return NULL;
  }
  struct frame *frame = frame_new(conn, conn->in_start + INPUT_LENGTH_SIZE, (size_t)length);
  conn->in_start += conn->in_need;
  conn->in_large = conn->in_need > BUFFER_SMALL_BYTES ? conn->in_need : 0;
  conn->in_need = 0;
  return frame;
}

/// True when a frame seems to be complete; its length may still be refused.
static bool input_is_ready(const struct connection *conn)
{
  size_t have = conn->in_end - conn->in_start;
  return have >= INPUT_LENGTH_SIZE && (conn->in_need == 0 || have >= conn->in_need);
}

bool input_take(struct connection *conn)
{
  int64_t offered = 0;
  if (conn->deferred != NULL && conn->may_retry) {
    struct frame *frame = conn->deferred;
    conn->deferred = NULL;
    if (connection_may_take(conn) && connection_reserve_answer(conn)) {
      input_offer(conn, frame);
      connection_use_answer(conn);
      offered++;
    } else {
      conn->deferred = frame;
    }
  }
  while (connection_may_take(conn) && (!input_is_ready(conn) || connection_reserve_answer(conn))) {
    struct frame *frame = input_next(conn);
    if (frame == NULL) {
      conn->is_ending |= conn->peer_done;
      break;
    }
    input_offer(conn, frame);
    connection_use_answer(conn);
    offered++;
    metric_count(&conn->worker->counters.frames, 1);
  }
  if (conn->in != NULL && conn->in_start == conn->in_end) {
    input_release(conn);
  }
  connection_use_answer(conn); // nothing could be offered: who is next in line can use it
  return offered > 0;
}

/// How many bytes to read at once of large frames of `size` bytes: whole ones.
static size_t input_ahead(size_t size, size_t most)
{
  size_t bytes = most < INPUT_AHEAD_BYTES ? most : INPUT_AHEAD_BYTES;
  return size < bytes ? bytes / size * size : size;
}

/// The size of the next buffer, `need` or more.
static size_t input_buffer_size(const struct connection *conn, size_t need)
{
  bool is_expected = conn->in_large > 0 && conn->in_large <= INPUT_EXPECT_BYTES;
  size_t ahead = is_expected ? input_ahead(conn->in_large, INPUT_AHEAD_BYTES) : 0;
  if (ahead <= need || conn->held_bytes > INPUT_AHEAD_BYTES || !connection_has_memory(conn, ahead)) {
    return need;
  }
  return ahead;
}

/// Finds room for the next bytes.
///
/// @param[out] room  bytes that may be read there: of large frames only whole ones
/// @param[out] at    the place
/// @return 0, ERR_AGAIN when the connection waits for memory now, ERR_NOMEM
static int input_room(struct connection *conn, size_t *room, uint8_t **at)
{
  size_t have = conn->in_end - conn->in_start;
  size_t need = conn->in_need > 0 ? conn->in_need : INPUT_LENGTH_SIZE;
  struct buffer *in = conn->in;
  if (in == NULL || in->size - conn->in_start < need) {
    struct buffer *fresh;
    if (in != NULL && in->refs == 1 && need <= in->size) {
      memmove(in->bytes, in->bytes + conn->in_start, have);
      fresh = in;
    } else {
      size_t size = input_buffer_size(conn, need);
      bool is_free = size <= BUFFER_SMALL_BYTES && conn->held_bytes == 0;
      if (!is_free && !connection_reserve_input(conn, size)) {
        return ERR_AGAIN;
      }
      fresh = buffer_get(&conn->worker->pool, size, !is_free);
      if (fresh == NULL) {
        return error_last()->code;
      }
      if (fresh->size > BUFFER_SMALL_BYTES) {
        conn->in_reserved = 0; // the buffer's now
      }
      if (in != NULL) {
        memcpy(fresh->bytes, in->bytes + conn->in_start, have);
        buffer_unref(in);
      }
    }
    conn->in = fresh;
    conn->in_start = 0;
    conn->in_end = have;
  }
  connection_unreserve_input(conn);
  size_t end = conn->in->size;
  if (end > BUFFER_SMALL_BYTES) {
    size_t size = need > conn->in_large ? need : conn->in_large;
    size_t ahead = input_ahead(size, end - conn->in_start);
    end = ahead < end - conn->in_start ? conn->in_start + ahead : end;
  }
  CHECK(end > conn->in_end); // otherwise the frame would be complete
  *room = end - conn->in_end;
  *at = conn->in->bytes + conn->in_end;
  return 0;
}

void input_read(struct connection *conn)
{
  size_t total = 0;
  input_take(conn); // what had to wait comes first
  while (!conn->peer_done && total < INPUT_TURN_BYTES && connection_may_take(conn)) {
    size_t room = 0;
    size_t got = 0;
    uint8_t *at = NULL;
    int result = input_room(conn, &room, &at);
    if (result == ERR_AGAIN) {
      break;
    }
    if (result < 0) {
      slog_error("connection from %s closed: %s", conn->peer, error_last()->message);
      connection_close(conn);
      return;
    }
    result = conn->transport.ops->receive(&conn->transport, at, room, &got);
    if (result == ERR_AGAIN) {
      break;
    }
    if (result < 0) {
      slog_debug("connection from %s closed: %s", conn->peer, error_text(result));
      connection_close(conn);
      return;
    }
    if (got == 0) {
      conn->peer_done = true;
      connection_peer_ended(conn);
      break;
    }
    conn->in_end += got;
    total += got;
    conn->received_bytes += (int64_t)got;
    conn->active_ms = conn->worker->loop.now_ms;
    input_take(conn);
    if (got < room) {
      break;
    }
  }
  if (total > 0) {
    metric_count(&conn->worker->counters.received_bytes, (int64_t)total);
  }
  if (conn->in != NULL && conn->in_start == conn->in_end) {
    input_release(conn);
  }
}
