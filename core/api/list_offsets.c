// SPDX-License-Identifier: Apache-2.0
//
// ListOffsets, 0 to 11: the offset that belongs to a time, or to a place in the log. What lies in memory is answered at
// once; looking for a time reads the log, so that is done on the pool, a few partitions at a time, and the request
// waits.
//
//   timestamp  from     answer: offset (its timestamp is -1 unless a record was found)
//   >= 0       0        first record not older than it, its timestamp and epoch; all -1 when there is none
//   -1         0        the first offset that this client may not read yet
//   -2         0        log start
//   -3         7        first record with the largest timestamp, as above
//   -4         8        log start on this broker: the same, there is no tiered storage
//   -5         9        last tiered offset: none, -1
//   -6         11       earliest offset waiting to be tiered: none, -1
//   others              UNSUPPORTED_VERSION, as are special times in versions before they came
//
//   version  rule
//   0        no timestamps: a list of offsets at which segments begin, newest first, at most max_num_offsets; a
//            partition may be asked for several times, within a million segments: the rest gets INVALID_REQUEST
//   2        isolation level: read_committed ends at the last stable offset; a level that is neither is
//            UNKNOWN_SERVER_ERROR for all
//   4        leader epochs
//   5        OFFSET_NOT_AVAILABLE while a new leader's high watermark lies before its epoch (KIP-207), before that
//            LEADER_NOT_AVAILABLE
//
// A partition named twice has one answer, INVALID_REQUEST, unless its topic may not be described. Who is not a consumer
// (replica id other than -1) may read up to the log's end.
#include "api/api.h"
#include "api/authorize.h"
#include "api/errors.h"
#include "api/handlers.h"
#include "api/key_set.h"
#include "api/request.h"
#include "base/list.h"
#include "event/pool.h"
#include "log/log.h"
#include "metadata/image.h"
#include "os/clock.h"
#include "replica/manager.h"
#include "replica/partition.h"
#include "wire/error_codes.h"
#include "wire/list_offsets.h"

enum {
  LIST_OFFSETS_TIMES = 1, // versions that brought a rule
  LIST_OFFSETS_ISOLATION = 2,
  LIST_OFFSETS_EPOCHS = 4,
  LIST_OFFSETS_NOT_AVAILABLE = 5,
  LIST_OFFSETS_CONSUMER = -1,        // replica id
  LIST_OFFSETS_TURN = 16,            // lookups that one turn on the pool does
  LIST_OFFSETS_BEGINS_MAX = 1000000, // segments that version 0 looks at for one request
};

enum list_offsets_time {
  LIST_OFFSETS_LATEST = -1,
  LIST_OFFSETS_EARLIEST = -2,
  LIST_OFFSETS_MAX_TIMESTAMP = -3,
  LIST_OFFSETS_EARLIEST_LOCAL = -4,
  LIST_OFFSETS_LATEST_TIERED = -5,
  LIST_OFFSETS_EARLIEST_PENDING_UPLOAD = -6,
};

/// Where the segments of one partition begin.
struct list_offsets_begins {
  struct log_time_offset *list; ///< oldest first; NULL: not looked at yet
  int32_t count;                ///< how many
};

/// One partition of the question: where it is named first, and whether it is named again.
struct list_offsets_mention {
  int32_t first;                     ///< place of its first mention
  bool is_repeated;                  ///< at the first mention: there are more
  struct list_offsets_begins begins; ///< at the first mention, in version 0
};

/// One partition whose log is searched on the pool.
struct list_offsets_lookup {
  struct partition *part;                                                    ///< referenced until it is done
  int32_t leader_epoch;                                                      ///< what the client believes in, -1: any
  int64_t timestamp;                                                         ///< as asked
  struct wire_list_offsets_response_list_offsets_partition_response *result; ///< where the answer goes
};

/// A request under way.
struct list_offsets_work {
  struct pool_job job;                    ///< a turn on the pool
  struct request *req;                    ///< the request
  struct wire_list_offsets_response resp; ///< the answer as far as it is known
  struct list_offsets_mention *mentions;  ///< one per partition, in the order of the question
  int32_t begins_left;                    ///< version 0: segments that may still be looked at
  struct list_offsets_lookup *lookups;    ///< what the pool has to do
  int32_t lookup_count;                   ///< how much
  int32_t done_count;                     ///< how much of it is done
};

// ---- one partition ----

static void list_offsets_fail(struct wire_list_offsets_response_list_offsets_partition_response *result, int16_t error)
{
  result->error_code = error;
  result->timestamp = -1;
  result->offset = -1;
  result->leader_epoch = -1;
}

static void list_offsets_found(const struct request *req, int64_t timestamp, int64_t offset, int32_t leader_epoch,
                               struct wire_list_offsets_response_list_offsets_partition_response *result)
{
  result->timestamp = timestamp;
  result->offset = offset;
  result->leader_epoch = req->version >= LIST_OFFSETS_EPOCHS ? leader_epoch : -1;
}

/// Whether a version knows a timestamp.
static bool list_offsets_is_known(int16_t version, int64_t timestamp)
{
  switch (timestamp) {
    case LIST_OFFSETS_LATEST:
    case LIST_OFFSETS_EARLIEST:
      return true;
    case LIST_OFFSETS_MAX_TIMESTAMP:
      return version >= 7;
    case LIST_OFFSETS_EARLIEST_LOCAL:
      return version >= 8;
    case LIST_OFFSETS_LATEST_TIERED:
      return version >= 9;
    case LIST_OFFSETS_EARLIEST_PENDING_UPLOAD:
      return version >= 11;
    default:
      return timestamp >= 0;
  }
}

/// The first offset that this client may not read.
static int64_t list_offsets_limit(const struct request *req, const struct partition *part,
                                  const struct partition_state *state)
{
  const struct wire_list_offsets_request *body = req->body;
  if (body->replica_id != LIST_OFFSETS_CONSUMER) {
    return log_end_offset(part->log);
  }
  return body->isolation_level != 0 ? state->last_stable_offset : state->high_watermark;
}

/// The error for a consumer while the high watermark lies before the leader's epoch, otherwise 0 (KIP-207). For readers
/// of committed records too it is the high watermark that counts: a transaction may stay open for long.
static int16_t list_offsets_not_available(const struct request *req, const struct partition_state *state)
{
  const struct wire_list_offsets_request *body = req->body;
  if (body->replica_id != LIST_OFFSETS_CONSUMER || state->epoch_start_offset <= state->high_watermark) {
    return WIRE_NONE;
  }
  return req->version >= LIST_OFFSETS_NOT_AVAILABLE ? WIRE_OFFSET_NOT_AVAILABLE : WIRE_LEADER_NOT_AVAILABLE;
}

/// Reads a partition's state and tests that it is led here, at the epoch that the client believes in.
static int list_offsets_state(const struct partition *part, int32_t leader_epoch, struct partition_state *state)
{
  partition_read_state(part, state);
  int result = partition_check_leader(state);
  return result < 0 ? result : partition_check_epoch(state, leader_epoch);
}

/// Answers what is known without reading the log.
static void list_offsets_known(const struct request *req, const struct partition *part,
                               const struct partition_state *state, int64_t timestamp,
                               struct wire_list_offsets_response_list_offsets_partition_response *result)
{
  if (timestamp == LIST_OFFSETS_LATEST) {
    int16_t error = list_offsets_not_available(req, state);
    if (error != WIRE_NONE) {
      list_offsets_fail(result, error);
      return;
    }
    list_offsets_found(req, -1, list_offsets_limit(req, part, state), state->leader_epoch, result);
  } else if (timestamp == LIST_OFFSETS_EARLIEST || timestamp == LIST_OFFSETS_EARLIEST_LOCAL) {
    int32_t epoch = log_epoch_for_offset(part->log, state->log_start_offset);
    bool is_empty = state->log_start_offset == log_end_offset(part->log);
    list_offsets_found(req, -1, state->log_start_offset, epoch < 0 && is_empty ? state->leader_epoch : epoch, result);
  }
}

/// Searches the log of one partition. On the pool.
static void list_offsets_search(const struct request *req, const struct list_offsets_lookup *lookup)
{
  struct partition *part = lookup->part;
  struct partition_state state;
  // A log that is led here now stays in memory until this turn on the pool ends, whatever happens to the partition.
  int result = list_offsets_state(part, lookup->leader_epoch, &state);
  struct log_time_offset found = {-1, -1, -1};
  int64_t limit = 0;
  if (result == 0) {
    limit = list_offsets_limit(req, part, &state);
    result = lookup->timestamp == LIST_OFFSETS_MAX_TIMESTAMP
                 ? log_max_timestamp(part->log, limit, &found)
                 : log_offset_by_time(part->log, lookup->timestamp, limit, &found);
  }
  if (result < 0) {
    list_offsets_fail(lookup->result, api_wire_error(result));
    return;
  }
  int16_t error = found.offset < 0 ? list_offsets_not_available(req, &state) : WIRE_NONE;
  if (error != WIRE_NONE) {
    list_offsets_fail(lookup->result, error);
    return;
  }
  list_offsets_found(req, found.timestamp, found.offset, found.leader_epoch, lookup->result);
}

// ---- version 0 ----

/// Lists where segments begin, and the log's end, each with the time it was last written to.
static void list_offsets_look(struct request *req, const struct partition *part, const struct partition_state *state,
                              struct list_offsets_begins *begins)
{
  int room = log_segment_count(part->log);
  struct log_segment_info *infos = request_array(req, room, sizeof *infos);
  int count = log_segments(part->log, infos, room);
  begins->list = request_array(req, count + 1, sizeof *begins->list);
  for (int i = 0; i < count; i++) {
    int64_t begin = infos[i].base_offset > state->log_start_offset ? infos[i].base_offset : state->log_start_offset;
    begins->list[i] = (struct log_time_offset){.offset = begin, .timestamp = infos[i].modified_ms};
  }
  if (count > 0 && infos[count - 1].size_bytes > 0) {
    begins->list[count++] = (struct log_time_offset){.offset = log_end_offset(part->log), .timestamp = clock_wall_ms()};
  }
  begins->count = count;
}

/// Answers as version 0 wants it. Segments are listed once for a partition, however often it is asked for.
static void list_offsets_old_style(struct list_offsets_work *work, const struct partition *part,
                                   const struct partition_state *state, struct list_offsets_begins *begins,
                                   const struct wire_list_offsets_request_list_offsets_partition *asked,
                                   struct wire_list_offsets_response_list_offsets_partition_response *result)
{
  struct request *req = work->req;
  if (begins->list == NULL) {
    list_offsets_look(req, part, state, begins);
  }
  if (begins->count > work->begins_left) {
    list_offsets_fail(result, WIRE_INVALID_REQUEST);
    return;
  }
  work->begins_left -= begins->count;
  int32_t last = begins->count - 1;
  if (asked->timestamp == LIST_OFFSETS_EARLIEST) {
    last = last < 0 ? last : 0;
  } else if (asked->timestamp >= 0) {
    while (last >= 0 && begins->list[last].timestamp > asked->timestamp) {
      last--;
    }
  }
  int64_t limit = list_offsets_limit(req, part, state);
  int32_t room = last + 1 < asked->max_num_offsets ? last + 1 : asked->max_num_offsets;
  int64_t *offsets = request_array(req, room, sizeof *offsets);
  int32_t count = 0;
  for (; last >= 0 && count < asked->max_num_offsets; last--) {
    int64_t offset = begins->list[last].offset < limit ? begins->list[last].offset : limit;
    if (count == 0 || offset != offsets[count - 1]) {
      offsets[count++] = offset;
    }
  }
  result->old_style_offsets = offsets;
  result->old_style_offsets_count = count;
}

// ---- the request ----

static void list_offsets_answer(struct list_offsets_work *work)
{
  request_respond(work->req, &work->resp);
}

static void list_offsets_turn(struct pool_job *job)
{
  struct list_offsets_work *work = CONTAINER_OF(job, struct list_offsets_work, job);
  for (int i = 0; i < LIST_OFFSETS_TURN && work->done_count < work->lookup_count; i++) {
    struct list_offsets_lookup *lookup = &work->lookups[work->done_count++];
    list_offsets_search(work->req, lookup);
    partition_unref(lookup->part);
  }
}

static void list_offsets_turn_done(struct pool_job *job)
{
  struct list_offsets_work *work = CONTAINER_OF(job, struct list_offsets_work, job);
  struct request *req = work->req;
  if (req->client == NULL) { // nobody wants to know any more
    for (; work->done_count < work->lookup_count; work->done_count++) {
      partition_unref(work->lookups[work->done_count].part);
    }
  }
  if (work->done_count == work->lookup_count) {
    list_offsets_answer(work);
    return;
  }
  pool_submit_long(req->api->pool, &work->job, list_offsets_turn, req->worker->loop, list_offsets_turn_done);
}

/// Answers one partition, or leaves it to the pool.
static void list_offsets_partition(struct list_offsets_work *work, const struct metadata_topic *topic, int32_t place,
                                   const struct wire_list_offsets_request_list_offsets_partition *asked,
                                   struct wire_list_offsets_response_list_offsets_partition_response *result)
{
  struct request *req = work->req;
  if (!list_offsets_is_known(req->version, asked->timestamp)) {
    list_offsets_fail(result, WIRE_UNSUPPORTED_VERSION);
    return;
  }
  if (topic == NULL || metadata_topic_partition(topic, asked->partition_index) == NULL) {
    list_offsets_fail(result, WIRE_UNKNOWN_TOPIC_OR_PARTITION);
    return;
  }
  struct partition *part =
      replica_manager_find(req->api->replicas, metadata_topic_log_id(topic), asked->partition_index);
  struct partition_state state;
  int16_t error = part != NULL ? api_wire_error(list_offsets_state(part, asked->current_leader_epoch, &state))
                               : WIRE_NOT_LEADER_OR_FOLLOWER;
  if (error != WIRE_NONE) {
    list_offsets_fail(result, error);
  } else if (req->version < LIST_OFFSETS_TIMES) {
    struct list_offsets_mention *first = &work->mentions[work->mentions[place].first];
    list_offsets_old_style(work, part, &state, &first->begins, asked, result);
  } else if (asked->timestamp >= 0 || asked->timestamp == LIST_OFFSETS_MAX_TIMESTAMP) {
    work->lookups[work->lookup_count++] = (struct list_offsets_lookup){
        .part = partition_ref(part),
        .leader_epoch = asked->current_leader_epoch,
        .timestamp = asked->timestamp,
        .result = result,
    };
  } else {
    list_offsets_known(req, part, &state, asked->timestamp, result);
  }
}

/// How many partitions the question has.
static int64_t list_offsets_count(const struct wire_list_offsets_request *body)
{
  int64_t total = 0;
  for (int32_t t = 0; t < body->topics_count; t++) {
    total += body->topics[t].partitions_count;
  }
  return total;
}

/// Finds partitions that are asked for several times.
static void list_offsets_find_repeats(struct list_offsets_work *work, int32_t total)
{
  static const struct uuid NO_ID;
  struct request *req = work->req;
  const struct wire_list_offsets_request *body = req->body;
  work->mentions = request_array(req, total, sizeof *work->mentions);
  struct key_set seen;
  key_set_create(&seen, &req->arena, total);
  for (int32_t t = 0, place = 0; t < body->topics_count; t++) {
    const struct wire_list_offsets_request_list_offsets_topic *topic = &body->topics[t];
    for (int32_t p = 0; p < topic->partitions_count; p++, place++) {
      int32_t first = key_set_put(&seen, topic->name, &NO_ID, topic->partitions[p].partition_index, place);
      work->mentions[place].first = first;
      work->mentions[first].is_repeated |= first != place;
    }
  }
}

/// Answers all partitions that need no reading.
static void list_offsets_begin(struct list_offsets_work *work, bool has_bad_isolation)
{
  struct request *req = work->req;
  const struct wire_list_offsets_request *body = req->body;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  int32_t total = (int32_t)list_offsets_count(body);
  list_offsets_find_repeats(work, total);
  work->lookups = request_array(req, total, sizeof *work->lookups);
  work->resp.topics = request_array(req, body->topics_count, sizeof *work->resp.topics);
  work->resp.topics_count = body->topics_count;
  for (int32_t t = 0, place = 0; t < body->topics_count; t++) {
    const struct wire_list_offsets_request_list_offsets_topic *asked = &body->topics[t];
    struct wire_list_offsets_response_list_offsets_topic_response *entry = &work->resp.topics[t];
    const struct metadata_topic *topic = metadata_image_topic(image, asked->name.data, (size_t)asked->name.length);
    bool may_describe = api_may_topic(req, RIGHT_DESCRIBE, asked->name);
    wire_list_offsets_response_list_offsets_topic_response_init(entry);
    entry->name = asked->name;
    entry->partitions = request_array(req, asked->partitions_count, sizeof *entry->partitions);
    entry->partitions_count = 0;
    for (int32_t p = 0; p < asked->partitions_count; p++, place++) {
      const struct list_offsets_mention *mention = &work->mentions[place];
      bool is_old = req->version < LIST_OFFSETS_TIMES;
      if (!is_old && may_describe && mention->first != place) {
        continue;
      }
      struct wire_list_offsets_response_list_offsets_partition_response *result =
          &entry->partitions[entry->partitions_count++];
      wire_list_offsets_response_list_offsets_partition_response_init(result);
      result->partition_index = asked->partitions[p].partition_index;
      if (has_bad_isolation) {
        list_offsets_fail(result, WIRE_UNKNOWN_SERVER_ERROR);
      } else if (!may_describe) {
        list_offsets_fail(result, WIRE_TOPIC_AUTHORIZATION_FAILED);
      } else if (!is_old && mention->is_repeated) {
        list_offsets_fail(result, WIRE_INVALID_REQUEST);
      } else {
        list_offsets_partition(work, topic, place, &asked->partitions[p], result);
      }
    }
  }
}

void list_offsets_handle(struct request *req)
{
  const struct wire_list_offsets_request *body = req->body;
  if (!request_check_count(req, body->topics_count) || !request_check_count(req, list_offsets_count(body))) {
    return;
  }
  struct list_offsets_work *work = request_array(req, 1, sizeof *work);
  work->req = req;
  work->begins_left = LIST_OFFSETS_BEGINS_MAX;
  wire_list_offsets_response_init(&work->resp);
  bool has_isolation = req->version >= LIST_OFFSETS_ISOLATION;
  list_offsets_begin(work, has_isolation && body->isolation_level != 0 && body->isolation_level != 1);
  if (work->lookup_count == 0) {
    list_offsets_answer(work);
    return;
  }
  pool_submit_long(req->api->pool, &work->job, list_offsets_turn, req->worker->loop, list_offsets_turn_done);
}
