// SPDX-License-Identifier: Apache-2.0
#include "histogram.h"

#include <math.h>

enum { HISTOGRAM_SUB_COUNT = 1 << HISTOGRAM_SUB_BITS };

/// Values below 128 have a bucket each; above, the exponent picks a group of 128 and the next seven bits the bucket in
/// it.
static size_t bucket_of(uint64_t value)
{
  if (value < HISTOGRAM_SUB_COUNT) {
    return (size_t)value;
  }
  int shift = 63 - __builtin_clzll(value) - HISTOGRAM_SUB_BITS;
  return ((size_t)(shift + 1) << HISTOGRAM_SUB_BITS) + (size_t)((value >> shift) - HISTOGRAM_SUB_COUNT);
}

static int64_t bucket_end(size_t bucket)
{
  if (bucket < HISTOGRAM_SUB_COUNT) {
    return (int64_t)bucket;
  }
  int shift = (int)(bucket >> HISTOGRAM_SUB_BITS) - 1;
  uint64_t top = (bucket & (HISTOGRAM_SUB_COUNT - 1)) + HISTOGRAM_SUB_COUNT;
  return (int64_t)(((top + 1) << shift) - 1);
}

void histogram_add(struct histogram *histogram, int64_t value)
{
  if (value < 0) {
    value = 0;
  }
  histogram->counts[bucket_of((uint64_t)value)]++;
  histogram->count++;
  histogram->sum += (double)value;
  if (value > histogram->max) {
    histogram->max = value;
  }
}

void histogram_merge(struct histogram *histogram, const struct histogram *other)
{
  for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
    histogram->counts[i] += other->counts[i];
  }
  histogram->count += other->count;
  histogram->sum += other->sum;
  if (other->max > histogram->max) {
    histogram->max = other->max;
  }
}

int64_t histogram_quantile(const struct histogram *histogram, double quantile)
{
  uint64_t wanted = (uint64_t)ceil(quantile * (double)histogram->count);
  uint64_t seen = 0;
  if (wanted == 0) {
    wanted = 1;
  }
  for (size_t i = 0; i < HISTOGRAM_BUCKETS && histogram->count > 0; i++) {
    seen += histogram->counts[i];
    if (seen >= wanted) {
      int64_t end = bucket_end(i);
      return end < histogram->max ? end : histogram->max;
    }
  }
  return histogram->max;
}

bool histogram_coarse(const struct histogram *histogram, size_t *bucket, int64_t *end, uint64_t *count)
{
  // Buckets of one coarse bucket lie side by side, as those of a doubling do.
  enum { STEP = 1 << (HISTOGRAM_SUB_BITS - HISTOGRAM_COARSE_BITS) };
  uint64_t found = 0;
  while (found == 0 && *bucket < HISTOGRAM_BUCKETS) {
    for (size_t i = 0; i < STEP; i++) {
      found += histogram->counts[*bucket + i];
    }
    *bucket += STEP;
  }
  if (found > 0) {
    *end = bucket_end(*bucket - 1);
    *count = found;
  }
  return found > 0;
}
