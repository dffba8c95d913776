// SPDX-License-Identifier: Apache-2.0
//
// Answers, in the order of their frames. Memory of all answers that are ready goes out with one sendmsg, up to the
// first file region; a region with one sendfile as long as the socket takes it. A transfer that is cut short means a
// full socket: the rest waits until it is writable, without asking again first.
#include <sys/uio.h>

#include "base/check.h"
#include "base/error.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "network/connection_private.h"
#include "network/response_private.h"
#include "network/server_private.h"

enum {
  OUTPUT_PARTS_MAX = 64,               // parts of one sendmsg
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

/// Sends memory up to the next file region.
/// @return 0, ERR_AGAIN when the socket is full (also after a part of it was sent), or why it failed
static int output_send_memory(struct connection *conn, int64_t *total)
{
  struct iovec parts[OUTPUT_PARTS_MAX];
  int count = 0;
  size_t size = 0;
  bool region_follows = false;
  for (struct response *resp = conn->out_head; resp != NULL && !region_follows; resp = resp->next) {
    for (size_t i = resp->part_at; i < resp->part_count; i++) {
      const struct response_part *part = &resp->parts[i];
      if (part->bytes == NULL) {
        region_follows = true;
        break;
      }
      if (count == OUTPUT_PARTS_MAX || size >= OUTPUT_TURN_BYTES) {
        break;
      }
      int64_t done = i == resp->part_at ? resp->part_done : 0;
      parts[count].iov_base = (void *)(uintptr_t)(part->bytes + done);
      parts[count].iov_len = (size_t)(part->length - done);
      size += parts[count].iov_len;
      count++;
    }
    if (count == OUTPUT_PARTS_MAX || size >= OUTPUT_TURN_BYTES) {
      break;
    }
  }
  size_t sent = 0;
  int result = conn->transport.ops->send(&conn->transport, parts, count, region_follows, &sent);
  if (result < 0) {
    return result;
  }
  metric_count(&conn->worker->counters.sent_memory_bytes, (int64_t)sent);
  output_advance(conn, (int64_t)sent);
  *total += (int64_t)sent;
  return sent < size ? ERR_AGAIN : 0;
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
    const struct response *resp = conn->out_head;
    bool is_memory = resp->parts[resp->part_at].bytes != NULL;
    result = is_memory ? output_send_memory(conn, &total) : output_send_region(conn, &total);
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
