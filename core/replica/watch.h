// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a partition to grow: a fetch that has not enough bytes, a fetch session between its requests. A watch
// belongs to one worker; an append posts at most one mail per worker, and only when the smallest threshold of that
// worker is reached. A waiter arms its watch and then looks again, so no wake-up is lost:
//
//   worker:    threshold = T   ...  visible >= T ?  -> ready at once
//   appender:  visible  = V    ...  V >= threshold ?  -> mail
//
// Both sides use sequentially consistent atomics: at least one of them sees the other's store.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct event_loop;
struct partition;
struct partition_watch;
struct watch;
typedef void (*watch_fn)(struct watch *watch);

/// Embed it in what waits; zeroed means disarmed. Owned by one worker.
struct watch {
  struct list link;       ///< in the partition's list of this worker, while armed
  struct partition *part; ///< referenced while armed, otherwise NULL
  int64_t threshold;      ///< visible bytes to reach
  watch_fn fired;         ///< called once, disarmed by then, on the worker
};

/// Prepares the part of a partition that serves one worker.
void watch_create(struct partition_watch *slot, struct partition *part, struct event_loop *loop);

/// Waits until `part` has made `threshold` bytes visible in all, or has changed in another way.
///
/// On the worker's thread.
///
/// @param worker  index of the calling worker
/// @return true when that is so already: the watch is not armed and `fired` will not be called
bool watch_arm(struct watch *watch, struct partition *part, int worker, int64_t threshold, watch_fn fired);

/// Stops waiting; harmless when it is not armed. On the worker's thread.
void watch_disarm(struct watch *watch);

/// Wakes those whose threshold is reached. While holding the appender, after partition_write_state() and the new
/// `visible_bytes`.
void watch_notify(struct partition *part);

/// Wakes all: the role, the epoch or the log start changed. While holding the appender.
void watch_notify_all(struct partition *part);
