// SPDX-License-Identifier: Apache-2.0
//
// What processes have used, for the measuring programs: brokers that are named by their pids, and this program itself.
#pragma once

#include <stdint.h>

/// Processor time of processes so far, user and system, all their threads together, in ns; -1: one is not there.
int64_t cpu_used_ns(const int *pids, int count);

/// Processor time of this program so far, in ns.
int64_t cpu_own_ns(void);

/// Memory that processes hold, in bytes; -1: one is not there.
int64_t cpu_resident_bytes(const int *pids, int count);
