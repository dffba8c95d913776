// SPDX-License-Identifier: Apache-2.0
//
// A server for the specs of core/network/: it does with each frame what the frame's first byte says. The rest of the
// frame is the text below.
//
//   e text    answer with the text
//   n         no answer
//   h text    hold, until a frame "r text" comes on the same worker; then answer "h text"
//   r text    release what is held under the text, then answer "r"
//   p text    answer with the text in reverse, which a pool thread writes over the request
//   b count   answer with so many bytes, "abc...zabc...", as decimal digits
//   f pos len answer with "<", a region of the file, ">"
//   w pos len the same, through a wire_writer
//   W         answer with two regions (bytes 0 to 9 and 20 to 29) and nothing after the second, through a wire_writer
//   c text    answer with the text and close
//   C text    hold as for h; then answer "C text" and close
//   x         refuse: FRAME_CLOSE
//   q         close the connection at once
//   d text    defer until no earlier frame of the connection is unanswered, then answer with the text
//   D text    defer once, resume by a mail, then answer with the text
//   k text    give the bytes back, then do as for h
//   t ms      answer "t" after so many milliseconds, also when the connection is closed by then
//   t ms len  answer as "f 0 len" after so many milliseconds
//   m         no answer; when the connection closes, post a mail to every other worker
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct echo;
struct server;

struct echo_options {
  int workers;                ///< threads
  int32_t max_request_bytes;  ///< as in struct server_options, 0: the default
  int64_t max_unsent_bytes;   ///< likewise
  int max_inflight;           ///< likewise
  int64_t max_idle_ms;        ///< likewise
  int64_t max_half_closed_ms; ///< likewise
  int64_t max_request_memory; ///< likewise
  int64_t max_answer_memory;  ///< likewise
  int64_t progress_ms;        ///< likewise
  int64_t min_progress_bytes; ///< likewise
  int max_connections;        ///< likewise
  int connection_room;        ///< likewise
  int max_per_ip;             ///< likewise
  const char *ip_overrides;   ///< likewise
  int send_buffer_bytes;      ///< likewise
  const char *file;           ///< path that regions are taken from, or NULL
  const char *listen;         ///< address, NULL: "127.0.0.1:0"
};

enum echo_counter {
  ECHO_OPENED,      ///< on_open() calls
  ECHO_CLOSED,      ///< on_close() calls
  ECHO_OFFERED,     ///< on_frame() calls
  ECHO_MADE,        ///< things made that have to be released
  ECHO_RELEASED,    ///< things released
  ECHO_STARTED,     ///< on_start() calls
  ECHO_MAILED,      ///< mails of "m" frames that ran
  ECHO_MAILED_LATE, ///< those that ran on a worker after on_stop()
  ECHO_STOPPED,     ///< on_stop() calls
  ECHO_CONNECTIONS, ///< open connections, by the server's own count
  ECHO_FRAMES,      ///< from the workers' counters, as all below
  ECHO_REFUSED,
  ECHO_RESPONSES,
  ECHO_RECEIVED,
  ECHO_SENT_MEMORY,
  ECHO_SENT_FILE,
  ECHO_IDLE_CLOSED,
  ECHO_BUFFER_BYTES,   ///< input buffers in use; asked of the workers
  ECHO_REQUEST_MEMORY, ///< what the server's gates count, after all workers have told
  ECHO_ANSWER_MEMORY,
  ECHO_WAITING, ///< connections that wait for memory
  ECHO_BUSIEST, ///< most connections of a worker
};

/// Starts a server on a free port of 127.0.0.1; NULL when it does not start.
struct echo *echo_new(const struct echo_options *options);
int echo_port(const struct echo *echo);
/// The server itself; borrowed.
struct server *echo_server(struct echo *echo);
int64_t echo_count(struct echo *echo, enum echo_counter counter);
/// Changes limits; 0 or an ERR_*.
int echo_set_limits(struct echo *echo, int max_connections, int max_per_ip, const char *ip_overrides);
/// Drains with a deadline; how long it took.
int64_t echo_drain(struct echo *echo, int64_t deadline_ms);
/// Stops it, without draining; counters may still be read.
void echo_stop(struct echo *echo);
/// Stops it if it runs and frees it, without draining.
void echo_delete(struct echo *echo);

/// Has all file descriptors but `left` used up (true) or given back, to see what the acceptor does.
void echo_use_up_descriptors(int left);
void echo_give_descriptors_back(void);

/// A connection from inside: server_attach(); its descriptor, or an error.
int echo_attach(struct echo *echo);
