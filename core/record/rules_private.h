// SPDX-License-Identifier: Apache-2.0
//
// The part of a topic's rules that the validation of batches and the conversion of message sets share.
#pragma once

#include <stdint.h>

#include "record/validate.h"

/// The timestamps that a topic takes.
struct timestamp_range {
  int64_t lowest;  ///< ms
  int64_t highest; ///< ms
};

/// The topic's range around now; sums that do not fit end at the edge.
static inline struct timestamp_range allowed_timestamps(const struct batch_rules *rules)
{
  struct timestamp_range range;
  if (__builtin_sub_overflow(rules->now_ms, rules->timestamp_before_max_ms, &range.lowest)) {
    range.lowest = INT64_MIN;
  }
  if (__builtin_add_overflow(rules->now_ms, rules->timestamp_after_max_ms, &range.highest)) {
    range.highest = INT64_MAX;
  }
  return range;
}
