// SPDX-License-Identifier: Apache-2.0
//
// Counts of latencies in buckets whose width grows with the value, after the layout of HdrHistogram: 128 buckets for
// each doubling, so a quantile is off by at most 1/128 of itself, in constant memory and without an allocation per
// value. (Debian has no HdrHistogram for C.) One thread at a time; merge those of several threads at the end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
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

enum { HISTOGRAM_COARSE_BITS = 4 }; ///< of histogram_coarse(): 2^4 buckets a doubling

/// Goes through a coarser histogram, of 16 buckets for each doubling, that is short enough to be printed and plotted.
///
/// @param[in,out] bucket  0 to begin with; moved past the bucket that is returned
/// @param[out] end        largest value that the bucket holds
/// @param[out] count      values in it, never 0
/// @return false: no value is left
bool histogram_coarse(const struct histogram *histogram, size_t *bucket, int64_t *end, uint64_t *count);
