// SPDX-License-Identifier: Apache-2.0
//
// Which brokers get the replicas of new partitions. Pure.
#pragma once

#include <stdint.h>

/// Compares two broker ids, for qsort.
int placement_compare_ids(const void *left, const void *right);

/// The classic rule: partition i on broker i mod n, its replica j on broker (i + j) mod n.
///
/// @param brokers        `broker_count` ids, sorted, >= 1
/// @param factor         replicas of each partition, 1 to `broker_count`
/// @param[out] replicas  `partitions` x `factor` ids, the preferred leader of each partition first
void placement_classic(const int32_t *brokers, int32_t broker_count, int32_t partitions, int32_t factor,
                       int32_t *replicas);
