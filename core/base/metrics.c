// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"

void metrics_add_source(struct metrics *metrics, metrics_collect_fn collect, void *arg)
{
  int count = atomic_load_explicit(&metrics->count, memory_order_relaxed);
  CHECK(count < METRICS_SOURCES_MAX);
  metrics->sources[count] = (struct metrics_source){.collect = collect, .arg = arg};
  atomic_store_explicit(&metrics->count, count + 1, memory_order_release);
}

void metrics_collect(struct metrics *metrics, struct metric_samples *out)
{
  int count = atomic_load_explicit(&metrics->count, memory_order_acquire);
  for (int i = 0; i < count; i++) {
    metrics->sources[i].collect(metrics->sources[i].arg, out);
  }
}

/// Room for one more; NULL: there are enough.
static struct metric_sample *metrics_add(struct metric_samples *out, const struct metric *metric, const char *label)
{
  CHECK((label == NULL) == (metric->label == NULL));
  if (out->count == METRICS_SAMPLES_MAX) {
    return NULL;
  }
  if (out->count == out->room) {
    out->room = out->room * 2 + 64;
    out->items = mem_realloc(out->items, out->room * sizeof *out->items);
  }
  struct metric_sample *sample = &out->items[out->count++];
  *sample = (struct metric_sample){
      .metric = metric,
      .label = label == NULL ? NULL : arena_strndup(&out->arena, label, strlen(label)),
  };
  return sample;
}

void metrics_put(struct metric_samples *out, const struct metric *metric, const char *label, int64_t value)
{
  CHECK(metric->kind != METRIC_LATENCY);
  struct metric_sample *sample = metrics_add(out, metric, label);
  if (sample != NULL) {
    sample->value = value;
  }
}

void metrics_put_latency(struct metric_samples *out, const struct metric *metric, const char *label,
                         const struct latency_sum *latency)
{
  CHECK(metric->kind == METRIC_LATENCY);
  struct metric_sample *sample = metrics_add(out, metric, label);
  if (sample != NULL) {
    struct latency_sum *copy = arena_alloc(&out->arena, sizeof *copy);
    *copy = *latency;
    sample->value = latency->count;
    sample->latency = copy;
  }
}

void metric_samples_destroy(struct metric_samples *samples)
{
  arena_destroy(&samples->arena);
  mem_free(samples->items);
  *samples = (struct metric_samples){.count = 0};
}
