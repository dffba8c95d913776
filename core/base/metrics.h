// SPDX-License-Identifier: Apache-2.0
//
// What the broker counts and measures, in one place: each part registers a source at the start, and whoever wants to
// know (the console, later an exporter) has all sources say what they have. Nothing is counted here, and no request
// pays for it: a source reads what its part keeps anyway.
//
//   part:    struct metric descriptions, a collect function -> metrics_add_source()     start-up
//   reader:  metrics_collect() -> collect(arg, out) of each source: metrics_put(out, ...)     any thread
//
// Counts are kept by one writer each, with metric_count(): a plain load and store that any thread may read.
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/latency.h"

enum {
  METRICS_SOURCES_MAX = 64,      ///< sources of a registry
  METRICS_SAMPLES_MAX = 1000000, ///< samples of one collection; what is beyond is left out
};

enum metric_kind {
  METRIC_COUNTER, ///< only rises while the broker runs
  METRIC_GAUGE,   ///< rises and falls
  METRIC_LATENCY, ///< how long things took; the value is how many
};

/// What is measured. Constant, as long as the program.
struct metric {
  const char *name;      ///< "network.received_bytes": section, dot, words; the unit ends it
  const char *label;     ///< what tells its samples apart: "api", "topic"; NULL: there is only one
  enum metric_kind kind; ///< how it moves
  const char *text;      ///< one line for people
};

/// One value.
struct metric_sample {
  const struct metric *metric; ///< what it is of
  const char *label;           ///< as the metric's label says, "Produce"; NULL: the metric has none. Borrowed from out
  int64_t value;               ///< the value
  const struct latency_sum *latency; ///< of METRIC_LATENCY, otherwise NULL. Borrowed from out
};

/// What a collection found; zero-initialised is an empty one. Free with metric_samples_destroy().
struct metric_samples {
  struct arena arena;          ///< labels
  struct metric_sample *items; ///< owned
  size_t count;                ///< how many
  size_t room;                 ///< slots
};

typedef void (*metrics_collect_fn)(void *arg, struct metric_samples *out);

/// A part that has something to say.
struct metrics_source {
  metrics_collect_fn collect; ///< on any thread inside the epoch; waits for no disk but the process' own /proc
  void *arg;                  ///< for it
};

/// The registry. Embed it; zero-initialised is an empty one.
struct metrics {
  struct metrics_source sources[METRICS_SOURCES_MAX]; ///< in the order in which they are shown
  _Atomic(int) count;                                 ///< those that may be read
};

/// Registers a source. One thread at a time; others may collect meanwhile. What `arg` points to stays valid as long as
/// anybody collects.
void metrics_add_source(struct metrics *metrics, metrics_collect_fn collect, void *arg);

/// Asks all sources. Any thread inside the epoch.
///
/// @param out  added to
void metrics_collect(struct metrics *metrics, struct metric_samples *out);

/// Adds a sample, for sources. @param label  copied; NULL where the metric has none
void metrics_put(struct metric_samples *out, const struct metric *metric, const char *label, int64_t value);

/// The same for METRIC_LATENCY. @param latency  copied
void metrics_put_latency(struct metric_samples *out, const struct metric *metric, const char *label,
                         const struct latency_sum *latency);

void metric_samples_destroy(struct metric_samples *samples);

/// Raises a count that only the calling thread changes (or whoever holds what protects it).
static inline void metric_count(_Atomic(int64_t) *count, int64_t by)
{
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + by, memory_order_relaxed);
}

/// Reads one. Any thread.
static inline int64_t metric_read(const _Atomic(int64_t) *count)
{
  return atomic_load_explicit(count, memory_order_relaxed);
}
