// SPDX-License-Identifier: Apache-2.0
//
// A bound on memory that all connections share, with a line to wait in: the server has one for requests that are read
// or worked on (queued.max.request.bytes) and one for answers that clients have not taken (queued.max.response.bytes).
//
// The rule is that of Kafka's memory pool: as long as the bound is not reached the next one gets all that it asks for.
// So one request may go beyond the bound, and one that is larger than the bound passes all the same; nobody holds a
// part of what it needs while waiting for the rest, so that there is no deadlock. Who finds the bound reached waits in
// line, served in the order of arrival across all workers, and nobody who comes later overtakes.
//
// Any thread, but for a wait, which belongs to the thread of its loop. Free of locks while nobody waits.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "event/mail.h"

struct event_loop;

/// Embed it: memory_gate_create().
struct memory_gate {
  _Atomic(int64_t) used;  ///< bytes given out
  _Atomic(int64_t) limit; ///< bytes at which nobody gets more; INT64_MAX: no bound
  _Atomic(int) waiting;   ///< waits in the line
  pthread_mutex_t lock;   ///< guards the line and the state of waits; a leaf, held for a few instructions
  struct list line;       ///< waits, in the order of arrival
};

enum memory_wait_state {
  MEMORY_WAIT_NONE,    ///< not in use
  MEMORY_WAIT_IN_LINE, ///< waits
  MEMORY_WAIT_GRANTED, ///< has its bytes; its mail is on its way
};

/// A place in the line. Embed it; zero-initialised is one that is not in use.
struct memory_wait {
  struct list node;             ///< in the line; guarded by the gate's lock
  struct mail mail;             ///< tells the waiting thread that it has its bytes
  struct event_loop *loop;      ///< the waiting thread's
  int64_t bytes;                ///< what it waits for
  enum memory_wait_state state; ///< guarded by the gate's lock
};

void memory_gate_create(struct memory_gate *gate, int64_t limit);
void memory_gate_destroy(struct memory_gate *gate);

/// Changes the bound; those who wait get what a higher one allows.
void memory_gate_set_limit(struct memory_gate *gate, int64_t limit);

/// True while the bound is not reached and nobody waits.
bool memory_gate_is_open(const struct memory_gate *gate);

/// Takes bytes if the gate is open.
bool memory_gate_take(struct memory_gate *gate, int64_t bytes);

/// Counts bytes that were taken or (negative) given back without asking.
void memory_gate_add(struct memory_gate *gate, int64_t bytes);

/// Stands in line for bytes; `run` is called on the loop, by its mail, once they have been taken. That may be at once.
///
/// @param wait  borrowed until `run` is called or memory_gate_leave() says true
/// @return true for the first in the line
bool memory_gate_wait(struct memory_gate *gate, struct memory_wait *wait, struct event_loop *loop, int64_t bytes,
                      mail_fn run);

/// Leaves the line. On the waiting thread.
/// @return false when the bytes were taken meanwhile: the mail will come, and they are to be given back
bool memory_gate_leave(struct memory_gate *gate, struct memory_wait *wait);

enum { MEMORY_SHARE_STEP_BYTES = 64 * 1024 }; ///< what a share may be off by

/// One thread's way to count small amounts without touching what all share: the gate hears of them in steps, and at
/// once while somebody waits. Embed it; zero-initialised counts for no gate.
struct memory_share {
  struct memory_gate *gate; ///< borrowed; NULL: none
  int64_t drift;            ///< bytes the gate has not heard of
};

/// Counts bytes, or (negative) their return.
void memory_share_add(struct memory_share *share, int64_t bytes);

/// Tells the gate all.
void memory_share_settle(struct memory_share *share);
