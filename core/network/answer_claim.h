// SPDX-License-Identifier: Apache-2.0
//
// Memory of an answer that is made on the pool: taken before it is made, so that many such answers at once keep to the
// bound of all answers (connection_memory.c). Requests that waited for records wake up together, long after they were
// offered.
//
// A claim belongs to the worker of its frame.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "network/memory_gate.h"

struct answer_claim;
struct frame;
struct server;

typedef void (*answer_claim_fn)(struct answer_claim *claim);

/// Embed it; zero-initialised holds nothing.
struct answer_claim {
  struct memory_wait wait; ///< its place in the line
  struct server *server;   ///< borrowed
  int64_t bytes;           ///< bytes it holds
  answer_claim_fn granted; ///< told when its turn has come
  bool is_waiting;         ///< in the line, or its mail on the way
};

/// Takes memory for the answer to a frame, or stands in line for it.
///
/// @param bytes    what the answer may come to
/// @param granted  called on the worker's thread, later, if there is none now
/// @return true: it has the bytes
bool answer_claim_take(struct answer_claim *claim, const struct frame *frame, int64_t bytes, answer_claim_fn granted);

/// Leaves the line.
/// @return false when it is in none, or its turn has come: then `granted` will be called
bool answer_claim_leave(struct answer_claim *claim);

/// Gives back what it holds: the answer was given to its connection, which counts it, or there will be none.
void answer_claim_return(struct answer_claim *claim);
