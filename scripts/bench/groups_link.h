// SPDX-License-Identifier: Apache-2.0
//
// Connections of the group load program: any request, any number of them one behind the other, each answer to the
// function that was named with its request. A broker answers a connection in order, so the calls of one are a queue.
// One thread, one epoll. A lost connection or a malformed answer is the end of the run: `error` of the loop.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "client.h"
#include "wire/writer.h"

struct groups_link;

/// Gets an answer.
///
/// @param owner     what was given with the request
/// @param response  struct of the generated codec; borrowed, like all it points to, until the function returns
/// @param planned_ns  given with the request
typedef void groups_answered_fn(void *owner, const void *response, int64_t planned_ns);

/// A request without an answer so far.
struct groups_call {
  groups_answered_fn *answered; ///< gets the answer
  void *owner;                  ///< its argument
  int64_t planned_ns;           ///< monotonic time that latency counts from
  int16_t key;                  ///< api key
  int16_t version;              ///< of the request
};

/// The thread's connections.
struct groups_loop {
  struct groups_link *links; ///< owned
  int count;                 ///< of links
  int epoll_fd;              ///< of links and timer
  int timer_fd;              ///< wakes the loop at a time exact to the microsecond
  int64_t calls;             ///< requests without an answer
  int64_t now_ns;            ///< monotonic time at which the answers that are handled had come
  struct arena arena;        ///< of one answer
  int error;                 ///< 0, or why nothing more can be done; error_last() has it
};

/// One connection.
struct groups_link {
  struct groups_loop *loop;  ///< its loop
  int fd;                    ///< socket; -1: none
  struct wire_writer output; ///< bytes to be sent
  size_t sent;               ///< of them, already
  bool is_blocked;           ///< waits for room in the socket
  uint8_t *input;            ///< bytes received and not yet handled; owned
  size_t input_size;         ///< how many
  size_t input_room;         ///< allocated
  struct groups_call *calls; ///< ring; owned
  uint32_t call_room;        ///< a power of two
  uint32_t oldest;           ///< first call, which is the correlation id too
  uint32_t next;             ///< one past the last
};

/// Opens so many connections to an address.
///
/// @return 0 or ERR_*; close it in any case
int groups_loop_open(struct groups_loop *loop, const struct client_address *address, int count);
void groups_loop_close(struct groups_loop *loop);

/// Sends a request, as far as the socket takes it at once.
void groups_link_send(struct groups_link *link, int16_t key, int16_t version, const void *request,
                      groups_answered_fn *answered, void *owner, int64_t planned_ns);

/// Waits for answers until a monotonic time at the latest, and handles what has come.
///
/// @return 0, or the loop's error
int groups_loop_turn(struct groups_loop *loop, int64_t until_ns);
