// SPDX-License-Identifier: Apache-2.0
//
// Epoch-based reclamation: readers of shared immutable structures take no lock and count no reference; a writer that
// replaced a structure retires the old one, which is freed when every registered thread has passed a quiescent point.
//
//   reader thread:  epoch_enter() ... uses what it loaded from an atomic pointer ... epoch_leave()
//   writer thread:  atomic_exchange(&shared, fresh); epoch_retire(&old->retired, old_free)
//
// An event loop enters when it starts to run callbacks and leaves before it waits (event/loop.c does both), so code on
// a loop may keep what it loaded until the end of the turn. Pool threads enter and leave around each job.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// One per thread that reads; owned by that thread, linked into a global list while registered.
struct epoch_thread {
  _Atomic(uint64_t) entered; ///< the global epoch at epoch_enter(); 0: outside
  struct epoch_thread *next; ///< guarded by the registry's lock
};

/// Embedded in whatever is retired; not used before epoch_retire().
struct epoch_retired {
  struct epoch_retired *next;              ///< retired before this one
  uint64_t epoch;                          ///< global epoch when retired
  void (*free_fn)(struct epoch_retired *); ///< called once, on any registered thread
};

/// Registers the calling thread; needed before epoch_enter(). `thread` is borrowed until epoch_unregister().
void epoch_register(struct epoch_thread *thread);
void epoch_unregister(void);

/// Pins what this thread loads from now on; cheap, and harmless when already inside.
void epoch_enter(void);

/// Unpins; then frees what has become free.
void epoch_leave(void);

/// True between epoch_enter() and epoch_leave() of this thread; for CHECKs.
bool epoch_is_inside(void);

/// Hands over something no new reader can reach any more. Any thread, registered or not.
void epoch_retire(struct epoch_retired *retired, void (*free_fn)(struct epoch_retired *));

/// Frees all that can be freed now. Any thread that is outside; called by epoch_leave() and at shutdown.
void epoch_collect(void);
