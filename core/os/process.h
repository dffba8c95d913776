// SPDX-License-Identifier: Apache-2.0
//
// What the process takes of the machine. Any thread; reads /proc, which no disk is behind.
#pragma once

#include <stdint.h>

struct metric_samples;

struct process_usage {
  int64_t cpu_ms;     ///< processor time used by all threads, user and system
  int64_t rss_bytes;  ///< memory in use, -1: unknown
  int64_t open_files; ///< descriptors open, -1: unknown
  int64_t threads;    ///< threads, -1: unknown
};

/// Asks the system.
void process_usage(struct process_usage *usage);

/// When what is measured began.
struct process_start {
  int64_t wall_ms; ///< milliseconds since 1970
  int64_t mono_ms; ///< the same moment on the monotonic clock
};

/// Source of metrics "process.*" (base/metrics.h). @param arg  struct process_start, borrowed
void process_collect(void *arg, struct metric_samples *out);
