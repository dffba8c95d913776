// SPDX-License-Identifier: Apache-2.0
//
// What a run of the load generator prints, and the processor time that goes into it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct load_idle;
struct load_options;
struct load_worker;

/// Processor time at one moment, in ns; user and system, all threads of a process.
struct load_cpu {
  int64_t brokers_ns; ///< of --cpu-of together; -1: one of them is not there any more
  int64_t own_ns;     ///< of this program
};

/// Asks the system: two looks, before the first request and after the last answer, give the time between them.
void load_cpu_read(const struct load_options *options, struct load_cpu *cpu);

/// Refuses a process of --cpu-of that is not there.
///
/// @return 0 or ERR_NOT_FOUND
int load_cpu_check(const struct load_options *options);

/// Memory of the processes of --cpu-of; -1 when one is not there any more.
int64_t load_resident_bytes(const struct load_options *options);

/// What is printed of a side: the workers that did the same.
struct load_side {
  const char *name;            ///< "produce", ...
  struct load_worker *workers; ///< borrowed
  int count;                   ///< of workers; 0: this side was not asked for
};

/// Prints one line of JSON.
///
/// @param idle    borrowed; its memory figures are printed when it has connections
/// @return true when there was no error, no connection was lost and all was answered
bool load_report(const struct load_options *options, const struct load_side *sides, int side_count,
                 const struct load_idle *idle, const struct load_cpu *before, const struct load_cpu *after);
