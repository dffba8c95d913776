// SPDX-License-Identifier: Apache-2.0
//
// Partitions and their logs in numbers: one walk over the table, on whichever thread wants to know. What was appended
// is counted by the appenders (replica/append.c).
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/metrics.h"
#include "log/log.h"
#include "log/log_file.h"
#include "replica/flush.h"
#include "replica/manager.h"
#include "replica/partition.h"
#include "replica/table.h"

static const struct metric PARTITION_COUNT = {"partition.count", NULL, METRIC_GAUGE, "partitions on this broker"};
static const struct metric PARTITION_LEADERS = {"partition.leaders", NULL, METRIC_GAUGE, "partitions that it leads"};
static const struct metric PARTITION_OFFLINE_COUNT = {"partition.offline", NULL, METRIC_GAUGE,
                                                      "partitions whose log cannot be used"};
static const struct metric LOG_SEGMENTS = {"log.segments", NULL, METRIC_GAUGE, "segments of all logs"};
static const struct metric LOG_SIZE = {"log.size_bytes", NULL, METRIC_GAUGE, "bytes of all segments"};
static const struct metric LOG_OPEN_FILES = {"log.open_files", NULL, METRIC_GAUGE, "segment files that are open"};
static const struct metric LOG_FLUSHES = {"log.flushes", NULL, METRIC_COUNTER, "times that a log was brought to disk"};
static const struct metric LOG_FLUSH_FAILURES = {"log.flush_failures", NULL, METRIC_COUNTER,
                                                 "times that a log could not be brought to disk"};
static const struct metric LOG_SYNCS = {"log.syncs", NULL, METRIC_COUNTER,
                                        "calls of fdatasync or fsync for records: of segments and sync journals"};
static const struct metric LOG_SYNCED_APPENDS = {"log.synced_appends", NULL, METRIC_COUNTER,
                                                 "batches acknowledged once they were on disk"};
static const struct metric LOG_RECORDS = {"log.appended_records", NULL, METRIC_COUNTER, "records appended"};
static const struct metric LOG_BATCHES = {"log.appended_batches", NULL, METRIC_COUNTER, "batches appended"};
static const struct metric LOG_BYTES = {"log.appended_bytes", NULL, METRIC_COUNTER, "bytes of batches appended"};
static const struct metric TOPIC_PARTITIONS = {"topic.partitions", "topic", METRIC_GAUGE,
                                               "partitions of a topic on this broker"};
static const struct metric TOPIC_SIZE = {"topic.size_bytes", "topic", METRIC_GAUGE, "bytes of a topic's segments here"};
static const struct metric TOPIC_RECORDS = {"topic.appended_records", "topic", METRIC_COUNTER,
                                            "records appended to a topic"};
static const struct metric TOPIC_BATCHES = {"topic.appended_batches", "topic", METRIC_COUNTER,
                                            "batches appended to a topic"};
static const struct metric TOPIC_BYTES = {"topic.appended_bytes", "topic", METRIC_COUNTER,
                                          "bytes of batches appended to a topic"};
static const struct metric TOPIC_FETCHED = {"topic.fetched_bytes", "topic", METRIC_COUNTER,
                                            "bytes of a topic's records that consumers got"};

/// What was appended, and what it lies in; of a partition, a topic or all.
struct replica_sum {
  const char *topic;  ///< borrowed until the end of the epoch
  int64_t partitions; ///< how many it is of
  int64_t leaders;    ///< of these, led here
  int64_t offline;    ///< of these, without a log
  int64_t segments;   ///< segments
  int64_t size_bytes; ///< their bytes
  int64_t records;    ///< appended records
  int64_t batches;    ///< appended batches
  int64_t bytes;      ///< bytes of those
  int64_t fetched;    ///< bytes that consumers got
};

static void replica_add(struct replica_sum *sum, const struct replica_sum *more)
{
  sum->partitions += more->partitions;
  sum->leaders += more->leaders;
  sum->offline += more->offline;
  sum->segments += more->segments;
  sum->size_bytes += more->size_bytes;
  sum->records += more->records;
  sum->batches += more->batches;
  sum->bytes += more->bytes;
  sum->fetched += more->fetched;
}

static void replica_measure(const struct partition *part, struct replica_sum *sum)
{
  struct partition_state state;
  partition_read_state(part, &state);
  bool is_here = state.role == PARTITION_LEADER || state.role == PARTITION_FOLLOWER;
  *sum = (struct replica_sum){
      .topic = part->topic,
      .partitions = 1,
      .leaders = state.role == PARTITION_LEADER ? 1 : 0,
      .offline = state.role == PARTITION_OFFLINE ? 1 : 0,
      .segments = is_here ? log_segment_count(part->log) : 0,
      .size_bytes = is_here ? log_size_bytes(part->log) : 0,
      .records = metric_read(&part->counters.records),
      .batches = metric_read(&part->counters.batches),
      .bytes = metric_read(&part->counters.bytes),
  };
  for (int i = 0; i < part->watch_count; i++) {
    sum->fetched += metric_read(&part->watches[i].fetched_bytes);
  }
}

/// A sum that was never told to be higher. Any thread.
static int64_t replica_never_less(_Atomic(int64_t) *shown, int64_t sum)
{
  int64_t before = atomic_load_explicit(shown, memory_order_relaxed);
  while (before < sum &&
         !atomic_compare_exchange_weak_explicit(shown, &before, sum, memory_order_relaxed, memory_order_relaxed)) {
  }
  return before > sum ? before : sum;
}

static int replica_by_topic(const void *left, const void *right)
{
  return strcmp(((const struct replica_sum *)left)->topic, ((const struct replica_sum *)right)->topic);
}

static void replica_put_topic(struct metric_samples *out, const struct replica_sum *sum)
{
  metrics_put(out, &TOPIC_PARTITIONS, sum->topic, sum->partitions);
  metrics_put(out, &TOPIC_SIZE, sum->topic, sum->size_bytes);
  metrics_put(out, &TOPIC_RECORDS, sum->topic, sum->records);
  metrics_put(out, &TOPIC_BATCHES, sum->topic, sum->batches);
  metrics_put(out, &TOPIC_BYTES, sum->topic, sum->bytes);
  metrics_put(out, &TOPIC_FETCHED, sum->topic, sum->fetched);
}

static void replica_put_all(struct metric_samples *out, const struct replica_sum *sum)
{
  struct log_flush_counts counts;
  log_flush_counts(&counts);
  metrics_put(out, &PARTITION_COUNT, NULL, sum->partitions);
  metrics_put(out, &PARTITION_LEADERS, NULL, sum->leaders);
  metrics_put(out, &PARTITION_OFFLINE_COUNT, NULL, sum->offline);
  metrics_put(out, &LOG_SEGMENTS, NULL, sum->segments);
  metrics_put(out, &LOG_SIZE, NULL, sum->size_bytes);
  metrics_put(out, &LOG_OPEN_FILES, NULL, log_file_open_count());
  metrics_put(out, &LOG_FLUSHES, NULL, counts.flushes);
  metrics_put(out, &LOG_FLUSH_FAILURES, NULL, counts.failures);
  metrics_put(out, &LOG_SYNCS, NULL, counts.syncs);
  metrics_put(out, &LOG_SYNCED_APPENDS, NULL, flush_count_appends());
  metrics_put(out, &LOG_RECORDS, NULL, sum->records);
  metrics_put(out, &LOG_BATCHES, NULL, sum->batches);
  metrics_put(out, &LOG_BYTES, NULL, sum->bytes);
}

void replica_collect(void *arg, struct metric_samples *out)
{
  struct replica_manager *manager = arg;
  struct replica_totals *totals = replica_manager_totals(manager);
  // First: a partition leaves the table before it is counted here, so that none is counted twice.
  struct replica_sum all = {
      .records = atomic_load_explicit(&totals->gone.records, memory_order_acquire),
      .batches = atomic_load_explicit(&totals->gone.batches, memory_order_acquire),
      .bytes = atomic_load_explicit(&totals->gone.bytes, memory_order_acquire),
  };
  const struct partition_table *table = replica_manager_all(manager);
  struct replica_sum *sums = mem_array(table->count, sizeof *sums);
  size_t count = 0;
  for (size_t i = 0; i <= table->mask; i++) {
    if (table->slots[i] != NULL) {
      replica_measure(table->slots[i], &sums[count]);
      replica_add(&all, &sums[count++]);
    }
  }
  all.records = replica_never_less(&totals->shown.records, all.records);
  all.batches = replica_never_less(&totals->shown.batches, all.batches);
  all.bytes = replica_never_less(&totals->shown.bytes, all.bytes);
  replica_put_all(out, &all);
  if (count > 0) {
    qsort(sums, count, sizeof *sums, replica_by_topic);
  }
  for (size_t i = 0; i < count;) {
    struct replica_sum topic = {.topic = sums[i].topic};
    for (size_t first = i; i < count && strcmp(sums[i].topic, sums[first].topic) == 0; i++) {
      replica_add(&topic, &sums[i]);
    }
    replica_put_topic(out, &topic);
  }
  mem_free(sums);
}
