// SPDX-License-Identifier: Apache-2.0
#include "base/latency.h"

#include "base/metrics.h"

enum { LATENCY_STEPS = 1 << LATENCY_STEP_BITS };

/// Values below 8 have a bucket each; above, the highest bit picks a group of 8 and the next three the bucket in it.
static int latency_bucket(uint64_t us)
{
  if (us < LATENCY_STEPS) {
    return (int)us;
  }
  int shift = 63 - __builtin_clzll(us) - LATENCY_STEP_BITS;
  return ((shift + 1) << LATENCY_STEP_BITS) + (int)((us >> shift) - LATENCY_STEPS);
}

int64_t latency_bucket_start(int bucket)
{
  if (bucket < LATENCY_STEPS) {
    return bucket;
  }
  int shift = (bucket >> LATENCY_STEP_BITS) - 1;
  return (int64_t)((bucket & (LATENCY_STEPS - 1)) + LATENCY_STEPS) << shift;
}

void latency_count(struct latency *latency, int64_t us)
{
  const int64_t longest_us = ((int64_t)1 << LATENCY_VALUE_BITS) - 1;
  us = us < 0 ? 0 : us > longest_us ? longest_us : us;
  metric_count(&latency->buckets[latency_bucket((uint64_t)us)], 1);
  metric_count(&latency->sum_us, us);
  if (us > metric_read(&latency->max_us)) {
    atomic_store_explicit(&latency->max_us, us, memory_order_relaxed);
  }
}

void latency_add(struct latency_sum *sum, const struct latency *latency)
{
  int64_t max_us = metric_read(&latency->max_us);
  sum->sum_us += metric_read(&latency->sum_us);
  sum->max_us = max_us > sum->max_us ? max_us : sum->max_us;
  for (int i = 0; i < LATENCY_BUCKETS; i++) {
    int64_t count = metric_read(&latency->buckets[i]);
    sum->buckets[i] += count;
    sum->count += count;
  }
}
