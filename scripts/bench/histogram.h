// SPDX-License-Identifier: Apache-2.0
//
// Counts of latencies in buckets whose width grows with the value, after the layout of HdrHistogram: 128 buckets for
// each doubling, so a quantile is off by at most 1/128 of itself, in constant memory and without an allocation per
// value. (Debian has no HdrHistogram for C.) One thread at a time; merge those of several threads at the end.
#pragma once

#include <stdint.h>

enum {
  HISTOGRAM_SUB_BITS = 7,                                              ///< 2^7 buckets a doubling
  HISTOGRAM_BUCKETS = (64 - HISTOGRAM_SUB_BITS) << HISTOGRAM_SUB_BITS, ///< for every non-negative int64_t
};

/// Zero-initialised is empty.
struct histogram {
  uint64_t counts[HISTOGRAM_BUCKETS]; ///< values in each bucket
  uint64_t count;                     ///< values in all
  int64_t max;                        ///< largest value
  double sum;                         ///< of all values
};

/// Counts a value; negative ones count as 0.
void histogram_add(struct histogram *histogram, int64_t value);

/// Adds the counts of another one.
void histogram_merge(struct histogram *histogram, const struct histogram *other);

/// The largest value of the bucket in which the quantile (0 to 1) lies, never above the maximum; 0 when empty.
int64_t histogram_quantile(const struct histogram *histogram, double quantile);
