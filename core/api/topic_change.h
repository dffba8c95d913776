// SPDX-License-Identifier: Apache-2.0
//
// A change of topics on its way to the controller and back: creating, adding partitions, deleting, auto-creating. It
// outlives the request that asked for it, which may give up waiting, or (auto-creation) never waited; so what the
// controller works on lies in an arena of its own.
//
//   handler -> topic_change_new -> controller ... control thread ... -> topic_change_done -> answer(change) -> request
//                                      or earlier: the request's time is up -> answer(change), is_timed_out
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "controller/controller.h"
#include "event/timer.h"
#include "wire/types.h"

struct api_worker;
struct request;
struct topic_change;

/// Answers `change->req`. With `is_timed_out` the controller still works on the change: only the request's body may be
/// looked at.
typedef void (*topic_change_fn)(struct topic_change *change, bool is_timed_out);

/// Owned by its worker, or by the controller when there never was a request; what the controller works on is the
/// controller's until its `done`.
struct topic_change {
  struct arena arena;        ///< what the controller works on
  struct api_worker *worker; ///< the worker that asked
  struct request *req;       ///< who waits; NULL: nobody, or no more
  topic_change_fn answer;    ///< answers it; NULL when there never was a request
  struct timer timer;        ///< ends the wait
  union {
    struct controller_create create; ///< topics to create
    struct controller_drop drop;     ///< topics to delete
    struct controller_grow grow;     ///< topics to add partitions to
  };
};

/// Begins a change; the caller fills in `create`, `drop` or `grow`, whose `done` calls topic_change_done(), and gives
/// it to the controller. On the worker's thread.
///
/// @param req         who waits, answered by `answer`; NULL: nobody does
/// @param timeout_ms  how long it waits at most. Clients that say 0 or less do not want to wait for a whole cluster;
///                    they get a second, in which the controller can say what became of their request
struct topic_change *topic_change_new(struct api_worker *worker, struct request *req, int32_t timeout_ms,
                                      topic_change_fn answer);

/// Answers who still waits, and frees the change. From the controller's `done`, on the worker's thread; on any thread
/// when there never was a request.
void topic_change_done(struct topic_change *change);

/// A NUL-terminated copy in the change's arena; NULL for null. NUL bytes within become '?', which no config allows.
const char *topic_change_text(struct topic_change *change, struct wire_string text);
