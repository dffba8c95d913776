// SPDX-License-Identifier: Apache-2.0
//
// Answers, in the order of their frames. Memory of all answers that are ready goes out with one sendmsg, up to the
// first large file region; a region with one sendfile as long as the socket takes it. Small regions are read into the
// same sendmsg: up to OUTPUT_COPY_BYTES the copy costs less than the sendfile and the second sendmsg for what follows.
// A transfer that is cut short means a full socket: the rest waits until it is writable, without asking again first.
#include <sys/uio.h>

#include "base/check.h"
#include "base/error.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "network/connection_private.h"
#include "network/response_private.h"
#include "network/server_private.h"
#include "os/file.h"

enum {
  OUTPUT_PARTS_MAX = 64,               // parts of one sendmsg
  OUTPUT_COPY_BYTES = 64 * 1024,       // regions of at most that are copied
  OUTPUT_COPIES_BYTES = 128 * 1024,    // room for the copies of one sendmsg
  OUTPUT_TURN_BYTES = 2 * 1024 * 1024, // sent to one connection before others have their turn
};

/// Frees an answer that was counted.
static void output_delete(struct connection *conn, struct response *resp)
{
  if (resp != NULL) {
    conn->answer_memory -= response_memory(resp);
    if (conn->holds_back && conn->answer_memory == 0) {
      conn->holds_back = false;
      conn->may_retry = true; // connection_turn() looks for frames after it has sent
    }
    memory_share_add(&conn->worker->answers, -response_memory(resp));
    response_delete(resp);
  }
}

/// Cuts all frames off; those that are answered are gone.
static void output_cut_off(struct connection *conn)
{
  struct frame *frame = conn->head;
  conn->head = NULL;
  conn->tail = NULL;
  conn->inflight = 0;
  conn->held_bytes = 0;
  while (frame != NULL) {
    struct frame *next = frame->next;
    frame->next = NULL;
    if (frame->is_answered) {
      conn->unsent_bytes -= frame->resp == NULL ? 0 : frame->resp->size;
      output_delete(conn, frame->resp);
      frame_delete(frame);
    } else {
      frame->is_cut_off = true;
    }
    frame = next;
  }
}

void output_drop(struct connection *conn)
{
  output_cut_off(conn);
  while (conn->out_head != NULL) {
    struct response *resp = conn->out_head;
    conn->out_head = resp->next;
    output_delete(conn, resp);
  }
  conn->out_tail = NULL;
  conn->unsent_bytes = 0;
}

/// Moves the answers that are next in order to the end of what is sent.
static void output_order(struct connection *conn)
{
  while (conn->head != NULL && conn->head->is_answered) {
    struct frame *frame = conn->head;
    conn->head = frame->next;
    if (conn->head == NULL) {
      conn->tail = NULL;
    }
    conn->inflight--;
    struct response *resp = frame->resp;
    bool closes = frame->closes;
    frame_delete(frame);
    if (resp != NULL) {
      resp->next = NULL;
      if (conn->out_tail == NULL) {
        conn->out_head = resp;
      } else {
        conn->out_tail->next = resp;
      }
      conn->out_tail = resp;
    }
    if (closes) {
      conn->is_ending = true;
      output_cut_off(conn);
    }
  }
}

/// Counts bytes as sent, over as many parts and answers as they span.
static void output_advance(struct connection *conn, int64_t count)
{
  conn->unsent_bytes -= count;
  conn->sent_bytes += count;
  conn->active_ms = conn->worker->loop.now_ms;
  while (count > 0) {
    struct response *resp = conn->out_head;
    CHECK(resp != NULL); // no more is sent than there is
    int64_t left = resp->parts[resp->part_at].length - resp->part_done;
    int64_t step = count < left ? count : left;
    response_advance(resp, step);
    count -= step;
    if (response_is_sent(resp)) {
      conn->out_head = resp->next;
      if (conn->out_head == NULL) {
        conn->out_tail = NULL;
      }
      output_delete(conn, resp);
      metric_count(&conn->worker->counters.responses, 1);
    }
  }
}

/// What one sendmsg takes.
struct output_gather {
  struct iovec parts[OUTPUT_PARTS_MAX]; ///< memory, of answers and of `copies`
  int count;                            ///< parts
  size_t size;                          ///< bytes of them
  size_t copied;                        ///< bytes of them that are in `copies`
  bool region_follows;                  ///< a region to be sent by sendfile comes next
  uint8_t copies[OUTPUT_COPIES_BYTES];  ///< small regions
};

/// Reads a small region into the copies; false when it is not that, not all in memory, or there is no room.
static bool output_copy_region(struct output_gather *gather, const struct response_part *part, int64_t done)
{
  size_t left = (size_t)(part->length - done);
  size_t got = 0;
  if (part->length > OUTPUT_COPY_BYTES || left > sizeof gather->copies - gather->copied ||
      file_read_cached_at(part->fd, gather->copies + gather->copied, left, part->pos + done, &got) < 0) {
    return false;
  }
  return got == left;
}

/// Adds a part, or what is left of it; false when it has to wait for the next call.
static bool output_gather_part(struct output_gather *gather, const struct response_part *part, int64_t done)
{
  if (gather->count == OUTPUT_PARTS_MAX || gather->size >= OUTPUT_TURN_BYTES) {
    return false;
  }
  struct iovec *place = &gather->parts[gather->count];
  place->iov_len = (size_t)(part->length - done);
  if (part->bytes != NULL) {
    place->iov_base = (void *)(uintptr_t)(part->bytes + done);
  } else if (output_copy_region(gather, part, done)) {
    place->iov_base = gather->copies + gather->copied;
    gather->copied += place->iov_len;
  } else {
    gather->region_follows = true;
    return false;
  }
  gather->size += place->iov_len;
  gather->count++;
  return true;
}

static void output_gather(const struct connection *conn, struct output_gather *gather)
{
  gather->count = 0;
  gather->size = 0;
  gather->copied = 0;
  gather->region_follows = false;
  for (const struct response *resp = conn->out_head; resp != NULL; resp = resp->next) {
    for (size_t i = resp->part_at; i < resp->part_count; i++) {
      if (!output_gather_part(gather, &resp->parts[i], i == resp->part_at ? resp->part_done : 0)) {
        return;
      }
    }
  }
}

/// Sends memory, and small regions, up to the next region that sendfile is to send.
/// @return 1 when that is next; 0, ERR_AGAIN when the socket is full (also after a part of it was sent), or why it
/// failed
static int output_send_memory(struct connection *conn, int64_t *total)
{
  struct output_gather gather;
  output_gather(conn, &gather);
  if (gather.count == 0) {
    return 1;
  }
  size_t sent = 0;
  const struct transport_ops *ops = conn->transport.ops;
  int result = ops->send(&conn->transport, gather.parts, gather.count, gather.region_follows, &sent);
  if (result < 0) {
    return result;
  }
  metric_count(&conn->worker->counters.sent_memory_bytes, (int64_t)sent);
  output_advance(conn, (int64_t)sent);
  *total += (int64_t)sent;
  if (sent < gather.size) {
    return ERR_AGAIN;
  }
  return gather.region_follows;
}

/// Sends the file region that is next; results as above, ERR_TRUNCATED when the file has become shorter.
static int output_send_region(struct connection *conn, int64_t *total)
{
  struct response *resp = conn->out_head;
  const struct response_part *part = &resp->parts[resp->part_at];
  int64_t left = part->length - resp->part_done;
  size_t size = left < OUTPUT_TURN_BYTES ? (size_t)left : OUTPUT_TURN_BYTES;
  size_t sent = 0;
  int result = conn->transport.ops->send_file(&conn->transport, part->fd, part->pos + resp->part_done, size, &sent);
  if (result < 0) {
    return result;
  }
  if (sent == 0) {
    return error_set(ERR_TRUNCATED, "a file region of %lld bytes at position %lld ends %lld bytes early",
                     (long long)part->length, (long long)part->pos, (long long)left);
  }
  metric_count(&conn->worker->counters.sent_file_bytes, (int64_t)sent);
  output_advance(conn, (int64_t)sent);
  *total += (int64_t)sent;
  return sent < size ? ERR_AGAIN : 0;
}

void output_flush(struct connection *conn)
{
  output_order(conn);
  if (conn->wants_write) {
    return;
  }
  int64_t total = 0;
  int result = 0;
  while (result == 0 && conn->out_head != NULL && total < OUTPUT_TURN_BYTES) {
    const struct response_part *part = &conn->out_head->parts[conn->out_head->part_at];
    bool is_large = part->bytes == NULL && part->length > OUTPUT_COPY_BYTES;
    result = is_large ? 1 : output_send_memory(conn, &total);
    if (result == 1) {
      result = output_send_region(conn, &total);
    }
  }
  if (result == 0 || result == ERR_AGAIN) {
    conn->wants_write = conn->out_head != NULL;
    return;
  }
  if (result == ERR_CLOSED || result == ERR_TIMEOUT) {
    slog_debug("connection from %s closed while answering: %s", conn->peer, error_text(result));
  } else {
    slog_error("connection from %s closed while answering: %s", conn->peer, error_last()->message);
  }
  connection_close(conn);
}
