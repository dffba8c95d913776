// SPDX-License-Identifier: Apache-2.0
//
// The partitioners that are there without any Lua; topics choose one by the config luka.partitioner. They cost no trip
// to a runner: the worker that received a batch asks them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "policy/vm.h"

enum policy_builtin {
  POLICY_MURMUR2,     ///< "murmur2": as the Java client does for records with a key; without one round robin by batch
  POLICY_CRC32,       ///< "consistent": CRC-32 of the key, as librdkafka's consistent; no key: as the empty key
  POLICY_ROUND_ROBIN, ///< "round_robin": one after another
  POLICY_STICKY,      ///< "sticky": a batch stays together, batches go round
  POLICY_HEADER,      ///< "header:NAME": murmur2 of a header's value; without it as murmur2
  POLICY_RANGE, ///< "range:a,m,t": by the key's order: below "a" partition 0, from "a" to below "m" partition 1 ...
  POLICY_BUILTINS,
};

/// murmur2 of the Java client, and its hash to a partition. Any thread.
uint32_t policy_murmur2(const uint8_t *bytes, size_t size);
int32_t policy_murmur2_partition(const uint8_t *key, size_t size, int32_t partitions);
