// SPDX-License-Identifier: Apache-2.0
//
// How long things took, in buckets whose width grows with the value: 8 for each doubling, so that a quantile is off by
// at most an eighth of itself, in constant memory. Counting is a few plain loads and stores of the one thread that
// counts; any thread may read meanwhile and add up those of several threads (base/metrics.h).
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
  LATENCY_STEP_BITS = 3,   ///< 2^3 buckets for each doubling
  LATENCY_VALUE_BITS = 32, ///< longer ones than 2^32 us, an hour, count as that long
  LATENCY_BUCKETS = (LATENCY_VALUE_BITS - LATENCY_STEP_BITS + 1) << LATENCY_STEP_BITS, ///< for all of them
};

/// Counted by one thread; zero-initialised is empty.
struct latency {
  _Atomic(int64_t) sum_us;                   ///< of all values
  _Atomic(int64_t) max_us;                   ///< the largest
  _Atomic(int64_t) buckets[LATENCY_BUCKETS]; ///< values in each bucket
};

/// Those of several threads added up, as they were about one moment.
struct latency_sum {
  int64_t count;                    ///< values
  int64_t sum_us;                   ///< of all values; may be some values ahead of `count`, or behind
  int64_t max_us;                   ///< the largest
  int64_t buckets[LATENCY_BUCKETS]; ///< values in each bucket
};

/// Counts a value. Only the thread that counts. @param us  microseconds; negative ones count as 0
void latency_count(struct latency *latency, int64_t us);

/// Adds one thread's. Any thread.
void latency_add(struct latency_sum *sum, const struct latency *latency);

/// Smallest value that a bucket holds; one behind the last bucket is beyond all values.
int64_t latency_bucket_start(int bucket);
