// SPDX-License-Identifier: Apache-2.0
//
// The classic placement. Called by the controller for topics that come without an assignment of their own.
#include "controller/placement.h"

#include "base/check.h"

int placement_compare_ids(const void *left, const void *right)
{
  int32_t a = *(const int32_t *)left;
  int32_t b = *(const int32_t *)right;
  return (a > b) - (a < b);
}

void placement_classic(const int32_t *brokers, int32_t broker_count, int32_t partitions, int32_t factor,
                       int32_t *replicas)
{
  CHECK(factor >= 1 && factor <= broker_count);
  for (int32_t i = 0; i < partitions; i++) {
    for (int32_t j = 0; j < factor; j++) {
      replicas[(int64_t)i * factor + j] = brokers[((int64_t)i + j) % broker_count];
    }
  }
}
