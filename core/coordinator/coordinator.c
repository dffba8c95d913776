// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's workers: which shards they have, and the way of a request to its shard. What is written is in
// coordinator_write.c, what is read in coordinator_load.c.
#include "coordinator/coordinator_private.h"

#include <string.h>
#include <sys/random.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "coordinator/group_request.h"
#include "coordinator/shard_private.h"
#include "event/loop.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "os/clock.h"
#include "replica/manager.h"
#include "replica/partition.h"
#include "wire/error_codes.h"

enum {
  COORDINATOR_SLEW = 64, ///< the shards' time follows a step of the wall clock by one part in so many
  MS_PER_MINUTE = 60 * 1000,
};

// ---- time and configuration ----

int64_t coordinator_now_ms(struct coordinator_worker *worker)
{
  int64_t mono_ms = event_loop_now_ms(worker->loop);
  int64_t wall_ms = event_loop_wall_ms(worker->loop);
  int64_t passed_ms = mono_ms - worker->clock_mono_ms;
  if (passed_ms >= COORDINATOR_SLEW) {
    int64_t behind_ms = wall_ms - worker->clock_ms - passed_ms;
    int64_t most_ms = passed_ms / COORDINATOR_SLEW;
    behind_ms = behind_ms > most_ms ? most_ms : behind_ms;
    behind_ms = behind_ms < -most_ms ? -most_ms : behind_ms;
    worker->clock_ms += passed_ms + behind_ms;
    worker->clock_mono_ms = mono_ms;
    return worker->clock_ms;
  }
  return worker->clock_ms + passed_ms;
}

void coordinator_configure(struct coordinator_shard *entry, const struct metadata_image *image)
{
  const struct broker_config *config = image->config;
  int policy = config->group_consumer_migration_policy;
  enum { DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL };                                    // as in the list of texts
  static const int8_t ASSIGNORS[][GROUP_ASSIGNORS_MAX] = {{0, 1}, {1, 0}, {0, 0}, {1, 1}}; // likewise
  int assignors = config->group_consumer_assignors;
  entry->config = (struct group_settings){
      .group_min_session_timeout_ms = config->group_min_session_timeout_ms,
      .group_max_session_timeout_ms = config->group_max_session_timeout_ms,
      .group_initial_rebalance_delay_ms = config->group_initial_rebalance_delay_ms,
      .group_max_size = config->group_max_size,
      .offset_metadata_max_bytes = config->offset_metadata_max_bytes,
      .offsets_retention_ms = (int64_t)config->offsets_retention_minutes * MS_PER_MINUTE,
      .offsets_retention_check_interval_ms = config->offsets_retention_check_interval_ms,
      .group_consumer_session_timeout_ms = config->group_consumer_session_timeout_ms,
      .group_consumer_heartbeat_interval_ms = config->group_consumer_heartbeat_interval_ms,
      .group_consumer_max_size = config->group_consumer_max_size,
      .group_consumer_assignment_interval_ms = config->group_consumer_assignment_interval_ms,
      .group_consumer_assignors = {ASSIGNORS[assignors][0], ASSIGNORS[assignors][1]},
      .group_consumer_assignor_count = ASSIGNORS[assignors][0] == ASSIGNORS[assignors][1] ? 1 : 2,
      .is_upgrade_allowed = policy == UPGRADE || policy == BIDIRECTIONAL,
      .is_downgrade_allowed = policy == DOWNGRADE || policy == BIDIRECTIONAL,
  };
}

// ---- entries ----

void coordinator_mark(struct coordinator_shard *entry)
{
  if (list_is_empty(&entry->dirty)) {
    list_append(&entry->worker->dirty, &entry->dirty);
  }
}

void coordinator_free(struct coordinator_shard *entry)
{
  CHECK(!entry->is_loading && !entry->is_writing);
  list_remove(&entry->dirty);
  coordinator_search_forget(entry);
  group_shard_delete(entry->shard);
  batch_builder_destroy(&entry->batch);
  coordinator_load_forget(entry);
  mem_free(entry->writes);
  if (entry->part != NULL) {
    partition_unref(entry->part);
  }
  mem_free(entry);
}

/// Takes a shard out of service. All that waits in it is answered now.
static void coordinator_end(struct coordinator_shard *entry)
{
  struct coordinator_worker *worker = entry->worker;
  timer_stop(worker->loop, &entry->timer);
  atomic_store_explicit(&entry->is_load_cancelled, true, memory_order_relaxed);
  if (entry->state == COORDINATOR_READY) {
    coordinator_flush(entry);
    group_shard_stop(entry->shard, WIRE_NOT_COORDINATOR);
    entry->state = COORDINATOR_ENDED;
    entry->write_count = 0; // what was taken has been ended with the shard
    entry->carry = NULL;
    metric_count(&worker->counters.shards, -1);
    coordinator_flush(entry);
  }
  entry->state = COORDINATOR_ENDED;
  coordinator_search_forget(entry);
}

static uint64_t coordinator_seed(void)
{
  uint64_t seed = 0;
  CHECK(getrandom(&seed, sizeof seed, 0) == (ssize_t)sizeof seed);
  return seed;
}

/// Makes the shard of a partition that is led here, and has it loaded.
static struct coordinator_shard *coordinator_begin(struct coordinator_worker *worker, int32_t index,
                                                   const struct metadata_topic *topic, struct partition *part,
                                                   const struct metadata_image *image)
{
  struct coordinator_shard *entry = mem_zalloc(sizeof *entry);
  entry->worker = worker;
  entry->index = index;
  entry->topic_id = topic->id;
  entry->leader_epoch = topic->partitions[index].leader_epoch;
  entry->part = partition_ref(part);
  entry->timer_ms = INT64_MAX;
  list_create(&entry->dirty);
  list_create(&entry->searcher);
  struct batch_options options;
  batch_options_init(&options);
  batch_builder_init(&entry->batch, &options);
  coordinator_configure(entry, image);
  struct group_shard_topics topics;
  coordinator_topics(worker, &topics);
  entry->shard = group_shard_new(index, &entry->config, &topics, coordinator_seed());
  coordinator_load_start(entry);
  return entry;
}

// ---- looking at the image ----

/// Takes an entry that has ended out of its place, unless something of it is under way.
///
/// @return true when the place is free
static bool coordinator_clear(struct coordinator_worker *worker, int32_t place)
{
  struct coordinator_shard *entry = worker->shards[place];
  if (entry != NULL && (entry->state != COORDINATOR_ENDED || entry->is_loading || entry->is_writing)) {
    return false;
  }
  if (entry != NULL) {
    worker->shards[place] = NULL;
    coordinator_free(entry);
  }
  return true;
}

/// One partition: is it led here, and as it was?
static void coordinator_look_at(struct coordinator_worker *worker, int32_t place, const struct metadata_topic *topic,
                                const struct metadata_image *image)
{
  const struct coordinator_options *options = &worker->coordinator->options;
  int32_t index = worker->index + place * options->worker_count;
  const struct metadata_partition *found = topic != NULL ? metadata_topic_partition(topic, index) : NULL;
  bool is_led = found != NULL && found->leader == options->broker_id;
  struct partition *part = is_led ? replica_manager_find(options->replicas, &topic->id, index) : NULL;
  struct coordinator_shard *entry = worker->shards[place];
  if (entry != NULL && entry->state != COORDINATOR_ENDED &&
      (part == NULL || part != entry->part || !uuid_equal(&entry->topic_id, &topic->id) ||
       entry->leader_epoch != found->leader_epoch)) {
    coordinator_end(entry);
  }
  // What the one before it writes may still come into the log: only then is there all that the next one has to read.
  bool is_free = coordinator_clear(worker, place);
  if (is_free && part != NULL) {
    worker->shards[place] = coordinator_begin(worker, index, topic, part, image);
  } else if (entry != NULL && !is_free) {
    entry->has_next = part != NULL && entry->state == COORDINATOR_ENDED;
    if (!entry->is_loading) {
      coordinator_configure(entry, image);
    }
  }
}

static const struct metadata_topic *coordinator_topic(const struct metadata_image *image)
{
  return metadata_image_topic(image, COORDINATOR_TOPIC, strlen(COORDINATOR_TOPIC));
}

void coordinator_settled(struct coordinator_shard *entry)
{
  struct coordinator_worker *worker = entry->worker;
  if (!worker->is_draining) { // otherwise it stays in its place: what still comes is answered
    int32_t place = entry->index / worker->coordinator->options.worker_count;
    coordinator_look_at(worker, place, coordinator_topic(worker->image), worker->image);
  }
}

void coordinator_load_anew(struct coordinator_shard *entry)
{
  coordinator_end(entry);
  coordinator_settled(entry);
}

/// Makes the worker's shards what the current image says.
static void coordinator_look(struct coordinator_worker *worker)
{
  const struct coordinator_options *options = &worker->coordinator->options;
  const struct metadata_image *image = metadata_cache_get(options->metadata);
  if (image == worker->image || image->config == NULL || worker->is_draining) {
    return;
  }
  const struct metadata_topic *topic = coordinator_topic(image);
  int32_t partitions = topic != NULL ? topic->partition_count : 0;
  int32_t wanted = (partitions - worker->index + options->worker_count - 1) / options->worker_count;
  if (wanted > worker->shard_count) {
    worker->shards = mem_realloc(worker->shards, (size_t)wanted * sizeof(struct coordinator_shard *));
    for (; worker->shard_count < wanted; worker->shard_count++) {
      worker->shards[worker->shard_count] = NULL;
    }
  }
  for (int32_t i = 0; i < worker->shard_count; i++) {
    coordinator_look_at(worker, i, topic, image);
  }
  const struct metadata_image *old = worker->image;
  metadata_image_ref(image);
  worker->image = image;
  if (old != NULL) {
    coordinator_compare_topics(worker, old, image);
    metadata_image_unref(old);
  }
}

static void coordinator_look_mail(struct mail *mail)
{
  struct coordinator_worker *worker = CONTAINER_OF(mail, struct coordinator_worker, look_mail);
  atomic_store(&worker->is_look_posted, false);
  coordinator_look(worker);
}

void coordinator_published(struct coordinator *coordinator, const struct metadata_image *image)
{
  (void)image; // each worker looks at the current one
  for (int i = 0; i < coordinator->options.worker_count; i++) {
    struct coordinator_worker *worker = &coordinator->workers[i];
    if (!atomic_exchange(&worker->is_look_posted, true)) {
      worker->look_mail.run = coordinator_look_mail;
      event_loop_post(worker->loop, &worker->look_mail);
    }
  }
}

// ---- requests ----

/// The next character of a text in UTF-8, as Java's decoder has it: what is no UTF-8 is U+FFFD.
static uint32_t coordinator_next_char(struct wire_string text, int32_t *at)
{
  enum { REPLACEMENT = 0xfffd };
  const uint8_t *bytes = (const uint8_t *)text.data;
  uint8_t first = bytes[(*at)++];
  if (first < 0x80) {
    return first;
  }
  int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || *at + more > text.length) {
    return REPLACEMENT;
  }
  uint32_t code = first & (0x3fU >> more);
  for (int i = 0; i < more; i++) {
    uint8_t next = bytes[*at + i];
    if ((next & 0xc0) != 0x80) {
      return REPLACEMENT;
    }
    code = code << 6 | (next & 0x3f);
  }
  *at += more;
  return code;
}

int32_t coordinator_shard_of(const struct metadata_image *image, struct wire_string group)
{
  const struct metadata_topic *topic = metadata_image_topic(image, COORDINATOR_TOPIC, strlen(COORDINATOR_TOPIC));
  if (topic == NULL) {
    return -1;
  }
  uint32_t hash = 0; // Java's String.hashCode()
  for (int32_t at = 0; at < group.length;) {
    uint32_t code = coordinator_next_char(group, &at);
    if (code >= 0x10000) {
      code -= 0x10000;
      hash = 31 * hash + (0xd800 | code >> 10);
      code = 0xdc00 | (code & 0x3ff);
    }
    hash = 31 * hash + code;
  }
  int32_t number = (int32_t)hash;
  return (number == INT32_MIN ? 0 : number < 0 ? -number : number) % topic->partition_count;
}

static void coordinator_answer_mail(struct mail *mail)
{
  struct group_request *request = CONTAINER_OF(mail, struct group_request, mail);
  request->done(request);
}

void coordinator_send_back(struct group_request *request)
{
  request->mail.run = coordinator_answer_mail;
  event_loop_post(request->reply, &request->mail);
}

/// Why there is no shard to give a request to; WIRE_NONE: there is one.
static int16_t coordinator_refusal(const struct coordinator_shard *entry)
{
  if (entry == NULL) {
    return WIRE_NOT_COORDINATOR;
  }
  switch (entry->state) {
    case COORDINATOR_READY:
      return WIRE_NONE;
    case COORDINATOR_LOADING:
      return WIRE_COORDINATOR_LOAD_IN_PROGRESS;
    case COORDINATOR_FAILED:
      return WIRE_COORDINATOR_NOT_AVAILABLE;
    case COORDINATOR_ENDED:
      return entry->has_next && !entry->worker->is_draining ? WIRE_COORDINATOR_LOAD_IN_PROGRESS : WIRE_NOT_COORDINATOR;
  }
  return WIRE_NOT_COORDINATOR;
}

static void coordinator_handle(struct coordinator_worker *worker, struct group_request *request)
{
  coordinator_look(worker); // whoever asks may have seen a newer image
  int32_t place = request->shard / worker->coordinator->options.worker_count;
  struct coordinator_shard *entry = request->shard >= 0 && place < worker->shard_count ? worker->shards[place] : NULL;
  int16_t error = coordinator_refusal(entry);
  if (entry == NULL || error != WIRE_NONE) {
    group_request_fail(request, error);
    coordinator_send_back(request);
    return;
  }
  metric_count(&worker->counters.requests, 1);
  group_shard_handle(entry->shard, request, coordinator_now_ms(worker));
  coordinator_mark(entry);
}

int64_t coordinator_clock_ms(struct coordinator *coordinator, int worker)
{
  return coordinator_now_ms(&coordinator->workers[worker]);
}

static void coordinator_request_mail(struct mail *mail)
{
  struct group_request *request = CONTAINER_OF(mail, struct group_request, mail);
  struct coordinator *coordinator = request->owner;
  coordinator_handle(&coordinator->workers[request->shard % coordinator->options.worker_count], request);
}

void coordinator_submit(struct coordinator *coordinator, struct group_request *request)
{
  request->owner = coordinator;
  list_create(&request->link);
  int place = request->shard >= 0 ? request->shard % coordinator->options.worker_count : 0;
  struct coordinator_worker *worker = &coordinator->workers[place];
  if (request->shard < 0) {
    group_request_fail(request, WIRE_NOT_COORDINATOR);
    coordinator_send_back(request);
  } else if (worker->loop == event_loop_current()) {
    coordinator_handle(worker, request);
  } else {
    request->mail.run = coordinator_request_mail;
    event_loop_post(worker->loop, &request->mail);
  }
}

void coordinator_turn(struct coordinator *coordinator, int index)
{
  struct coordinator_worker *worker = &coordinator->workers[index];
  while (!list_is_empty(&worker->dirty)) {
    struct coordinator_shard *entry = CONTAINER_OF(worker->dirty.next, struct coordinator_shard, dirty);
    list_remove(&entry->dirty);
    if (entry->is_in_doubt && entry->state == COORDINATOR_READY) {
      coordinator_load_anew(entry);
    } else {
      coordinator_flush(entry);
    }
  }
  coordinator_search_next(worker);
}

void coordinator_drain(struct coordinator *coordinator, int index)
{
  struct coordinator_worker *worker = &coordinator->workers[index];
  worker->is_draining = true;
  for (int32_t i = 0; i < worker->shard_count; i++) {
    struct coordinator_shard *entry = worker->shards[i];
    if (entry != NULL && entry->state != COORDINATOR_ENDED) {
      coordinator_end(entry); // stays in its place: what still comes is answered
    }
  }
}

// ---- life ----

struct coordinator *coordinator_new(const struct coordinator_options *options)
{
  size_t size = sizeof(struct coordinator) + (size_t)options->worker_count * sizeof(struct coordinator_worker);
  struct coordinator *coordinator = mem_zalloc(size);
  coordinator->options = *options;
  int64_t wall_ms = clock_wall_ms();
  int64_t mono_ms = clock_mono_ms();
  for (int i = 0; i < options->worker_count; i++) {
    struct coordinator_worker *worker = &coordinator->workers[i];
    worker->coordinator = coordinator;
    worker->loop = options->workers[i];
    worker->index = i;
    worker->clock_ms = wall_ms; // all of them the same: a member's heartbeats are noted by any
    worker->clock_mono_ms = mono_ms;
    list_create(&worker->dirty);
    list_create(&worker->searchers);
  }
  return coordinator;
}

void coordinator_delete(struct coordinator *coordinator)
{
  if (coordinator == NULL) {
    return;
  }
  for (int i = 0; i < coordinator->options.worker_count; i++) {
    struct coordinator_worker *worker = &coordinator->workers[i];
    for (int32_t j = 0; j < worker->shard_count; j++) {
      if (worker->shards[j] != NULL) {
        coordinator_free(worker->shards[j]);
      }
    }
    mem_free(worker->shards);
    if (worker->image != NULL) {
      metadata_image_unref(worker->image);
    }
  }
  mem_free(coordinator);
}

// ---- metrics ----

static const struct metric GROUP_SHARDS = {"group.shards", NULL, METRIC_GAUGE,
                                           "partitions of __consumer_offsets whose groups are served here"};
static const struct metric GROUP_LOADING = {"group.loading", NULL, METRIC_GAUGE, "of these, being loaded"};
static const struct metric GROUP_COUNT = {"group.count", NULL, METRIC_GAUGE, "groups, those with offsets alone too"};
static const struct metric GROUP_OFFSETS = {"group.offsets", NULL, METRIC_GAUGE, "committed offsets"};
static const struct metric GROUP_REQUESTS = {"group.requests", NULL, METRIC_COUNTER, "requests to groups"};
static const struct metric GROUP_BATCHES = {"group.written_batches", NULL, METRIC_COUNTER,
                                            "batches written to __consumer_offsets"};
static const struct metric GROUP_RECORDS = {"group.written_records", NULL, METRIC_COUNTER, "records in them"};
static const struct metric GROUP_FAILED = {"group.failed_batches", NULL, METRIC_COUNTER,
                                           "batches that could not be written"};
static const struct metric GROUP_LOADED = {"group.loaded_records", NULL, METRIC_COUNTER,
                                           "records read from __consumer_offsets"};
static const struct metric GROUP_LOAD_MS = {"group.load_ms", NULL, METRIC_COUNTER,
                                            "milliseconds that this took, of all partitions together"};

void coordinator_collect(void *arg, struct metric_samples *out)
{
  struct coordinator *coordinator = arg;
  enum { COUNT = sizeof(struct coordinator_counters) / sizeof(_Atomic(int64_t)) };
  static const struct metric *const METRICS[COUNT] = {
      &GROUP_SHARDS,  &GROUP_LOADING, &GROUP_COUNT,  &GROUP_OFFSETS, &GROUP_REQUESTS,
      &GROUP_BATCHES, &GROUP_RECORDS, &GROUP_FAILED, &GROUP_LOADED,  &GROUP_LOAD_MS,
  };
  for (int i = 0; i < COUNT; i++) {
    int64_t sum = 0;
    for (int j = 0; j < coordinator->options.worker_count; j++) {
      // The members are counts in the order of METRICS.
      sum += metric_read((const _Atomic(int64_t) *)&coordinator->workers[j].counters + i);
    }
    metrics_put(out, METRICS[i], NULL, sum);
  }
}
