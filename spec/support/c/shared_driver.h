// SPDX-License-Identifier: Apache-2.0
//
// Threads that use shared dictionaries (policy/shared.h) at the same time: what happens on other threads has to be C.
#pragma once

#include <stdint.h>

/// What came of it.
struct shared_probe {
  int64_t sum;   ///< the number that all have added to, in the end
  int64_t added; ///< how often a key was added
  int64_t torn;  ///< texts read that nobody wrote
};

/// Has `threads` threads each add 1 to a number `rounds` times, add keys that all of them try to add, and write and
/// read texts under keys of all; half of these with a time to live of a millisecond.
void shared_probe_threads(uint32_t dict, int threads, int rounds, struct shared_probe *probe);

/// Waits until the monotonic clock of milliseconds has gone on by some.
void shared_probe_wait(int ms);
