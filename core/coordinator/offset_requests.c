// SPDX-License-Identifier: Apache-2.0
//
// OffsetCommit, OffsetFetch and OffsetDelete in the shard. What topics there are is the api's to check.
//
//   commit  group            who                      outcome
//           none             generation below 0       the group is made, with offsets alone
//           none             a member                 ILLEGAL_GENERATION; from version 9 on GROUP_ID_NOT_FOUND
//           offsets alone    generation below 0       stored
//           offsets alone    a member                 UNKNOWN_MEMBER_ID
//           others           anybody                  as the kind of group says
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "coordinator/group_settings.h"
#include "coordinator/group_request.h"
#include "coordinator/shard_state.h"
#include "wire/apis.h"
#include "wire/error_codes.h"
#include "wire/offset_commit.h"
#include "wire/offset_delete.h"
#include "wire/offset_fetch.h"

enum {
  OFFSET_NONE = -1,                ///< offset of a partition that has none
  OFFSET_WRITE_MAX = 256 << 20,    ///< bytes of records that one request may stand for; batches are not so large
  OFFSET_COMMIT_KIP848_VERSION = 9 ///< knows GROUP_ID_NOT_FOUND
};

// ---- commit ----

/// Characters of a text as Java counts them, in UTF-16: each but continuation bytes, twice what takes four bytes.
static int32_t offset_metadata_length(struct wire_string text)
{
  int32_t length = 0;
  for (int32_t i = 0; i < text.length; i++) {
    uint8_t byte = (uint8_t)text.data[i];
    length += (byte & 0xc0) != 0x80 ? 1 : 0;
    length += byte >= 0xf0 ? 1 : 0;
  }
  return length;
}

/// Whether a commit may be stored.
static int16_t offset_commit_check(struct group *group, const struct group_request *request, int64_t now_ms)
{
  const struct wire_offset_commit_request *body = request->body;
  if (group != NULL) {
    return group_kind_of(group)->check_commit(group, request, now_ms);
  }
  if (body->generation_id_or_member_epoch < 0) {
    return WIRE_NONE;
  }
  return request->version >= OFFSET_COMMIT_KIP848_VERSION ? WIRE_GROUP_ID_NOT_FOUND : WIRE_ILLEGAL_GENERATION;
}

/// Whether the records of a request can be made at all. Each has the names of group and topic, so that a small request
/// can stand for very much.
///
/// @param metadata  bytes of the clients' notes
static bool offset_write_fits(const struct group_request *request, struct wire_string topic, int64_t count,
                              int64_t metadata, int64_t *total)
{
  *total += count * ((int64_t)request->group.length + topic.length) + metadata;
  return *total <= OFFSET_WRITE_MAX;
}

static bool offset_commit_fits(const struct group_request *request)
{
  const struct wire_offset_commit_request *body = request->body;
  int64_t total = 0;
  bool fits = true;
  for (int32_t i = 0; i < body->topics_count && fits; i++) {
    int64_t metadata = 0;
    for (int32_t j = 0; j < body->topics[i].partitions_count; j++) {
      int32_t length = body->topics[i].partitions[j].committed_metadata.length;
      metadata += length > 0 ? length : 0;
    }
    fits = offset_write_fits(request, body->topics[i].name, body->topics[i].partitions_count, metadata, &total);
  }
  return fits;
}

static void offset_commit_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  (void)now_ms;
  struct group_request *request = arg;
  if (error != WIRE_NONE) {
    group_request_fail(request, error);
  }
  group_answer(group->shard, request);
}

/// Whether an offset of one partition may be stored, after all that concerns the whole commit.
static int16_t offset_commit_check_part(const struct group *group, const struct group_request *request,
                                        const struct wire_offset_commit_request_offset_commit_request_topic *topic,
                                        const struct wire_offset_commit_request_offset_commit_request_partition *asked)
{
  const struct group_kind_calls *kind = group_kind_of(group);
  if (kind->check_commit_part != NULL) {
    int16_t error = kind->check_commit_part(group, request, topic->name, &topic->topic_id, asked->partition_index);
    if (error != WIRE_NONE) {
      return error;
    }
  }
  int32_t limit = group_shard_config(group->shard)->offset_metadata_max_bytes;
  return offset_metadata_length(asked->committed_metadata) > limit ? WIRE_OFFSET_METADATA_TOO_LARGE : WIRE_NONE;
}

/// Whether a topic went while the request was on its way here: nobody would delete its offsets any more.
static int16_t offset_commit_check_topic(const struct group *group,
                                         const struct wire_offset_commit_request_offset_commit_request_topic *topic)
{
  const struct group_shard_topics *topics = group_shard_topics(group->shard);
  bool by_id = !uuid_is_zero(&topic->topic_id);
  struct uuid id;
  int32_t partitions = 0;
  if (topics->find(topics->arg, topic->name.data, topic->name.length, &id, &partitions) &&
      (!by_id || uuid_equal(&id, &topic->topic_id))) {
    return WIRE_NONE;
  }
  return by_id ? WIRE_UNKNOWN_TOPIC_ID : WIRE_UNKNOWN_TOPIC_OR_PARTITION;
}

/// Adds one topic of a request to the write, and to the answer.
static void offset_commit_topic(struct group_write *write, const struct group *group,
                                const struct group_request *request,
                                const struct wire_offset_commit_request_offset_commit_request_topic *topic,
                                struct wire_offset_commit_response_offset_commit_response_topic *out, int64_t now_ms)
{
  const struct wire_offset_commit_request *body = request->body;
  int64_t wall_ms = group_wall_ms(group->shard, now_ms);
  int16_t topic_error = offset_commit_check_topic(group, topic);
  wire_offset_commit_response_offset_commit_response_topic_init(out);
  out->name = topic->name;
  out->topic_id = topic->topic_id;
  out->partitions_count = topic->partitions_count;
  out->partitions = arena_zalloc(request->arena, (size_t)topic->partitions_count * sizeof *out->partitions);
  for (int32_t i = 0; i < topic->partitions_count; i++) {
    const struct wire_offset_commit_request_offset_commit_request_partition *asked = &topic->partitions[i];
    out->partitions[i].partition_index = asked->partition_index;
    out->partitions[i].error_code =
        topic_error != WIRE_NONE ? topic_error : offset_commit_check_part(group, request, topic, asked);
    if (out->partitions[i].error_code != WIRE_NONE) {
      continue;
    }
    struct offset_value value = {
        .offset = asked->committed_offset,
        .commit_ms = asked->commit_timestamp >= 0 ? asked->commit_timestamp : wall_ms,
        .expire_ms = -1,
        .leader_epoch = asked->committed_leader_epoch,
        .metadata = asked->committed_metadata,
    };
    if (body->retention_time_ms >= 0) {
      value.expire_ms = body->retention_time_ms < INT64_MAX - wall_ms ? wall_ms + body->retention_time_ms : INT64_MAX;
    }
    offset_write_commit(write, request->group, topic->name, &topic->topic_id, asked->partition_index, &value);
  }
}

void offset_commit_serve(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  const struct wire_offset_commit_request *body = request->body;
  struct wire_offset_commit_response *resp = request->response;
  int16_t error = offset_commit_check(group, request, now_ms);
  error = error == WIRE_NONE && !offset_commit_fits(request) ? WIRE_UNKNOWN_SERVER_ERROR : error;
  if (error != WIRE_NONE) {
    group_request_fail(request, error);
    group_answer(shard, request);
    return;
  }
  group = group_obtain(shard, request->group);
  struct group_write *write = group_write_new(group, false, offset_commit_written, request);
  resp->topics_count = body->topics_count;
  resp->topics = arena_zalloc(request->arena, (size_t)body->topics_count * sizeof *resp->topics);
  for (int32_t i = 0; i < body->topics_count; i++) {
    offset_commit_topic(write, group, request, &body->topics[i], &resp->topics[i], now_ms);
  }
  group_write_submit(write, now_ms);
}

// ---- fetch ----

/// One partition of an answer. @param found  NULL: nothing is committed
static void offset_fetch_fill(struct wire_offset_fetch_response_offset_fetch_response_partitions *out,
                              const struct group_offset *found, int32_t partition, struct arena *arena)
{
  wire_offset_fetch_response_offset_fetch_response_partitions_init(out);
  out->partition_index = partition;
  out->committed_offset = found != NULL ? found->offset : OFFSET_NONE;
  out->committed_leader_epoch = found != NULL ? found->leader_epoch : -1;
  out->metadata = wire_string_from("");
  if (found != NULL && found->note != NULL && found->note->metadata_size > 0) {
    int32_t size = found->note->metadata_size;
    out->metadata = (struct wire_string){arena_dup(arena, found->note->metadata, (size_t)size), size};
  }
}

/// A partition whose offset a transaction may be about to change.
static void offset_fetch_unstable(struct wire_offset_fetch_response_offset_fetch_response_partitions *out,
                                  int32_t partition)
{
  offset_fetch_fill(out, NULL, partition, NULL);
  out->error_code = WIRE_UNSTABLE_OFFSET_COMMIT;
}

/// Whether an offset is of the topic that has that id now.
static bool offset_is_of_id(const struct group_offset *offset, const struct uuid *id)
{
  return uuid_is_zero(id) || uuid_is_zero(&offset->topic->id) || uuid_equal(id, &offset->topic->id);
}

static void offset_fetch_topic(struct group_shard *shard, const struct group *group,
                               const struct group_request *request,
                               const struct wire_offset_fetch_request_offset_fetch_request_topics *asked,
                               struct wire_offset_fetch_response_offset_fetch_response_topics *out)
{
  static const struct uuid NO_ID;
  wire_offset_fetch_response_offset_fetch_response_topics_init(out);
  out->name = asked->name;
  out->topic_id = asked->topic_id;
  out->partitions_count = asked->partition_indexes_count;
  out->partitions = arena_alloc(request->arena, (size_t)asked->partition_indexes_count * sizeof *out->partitions);
  const struct shard_topic *topic = group != NULL ? shard_topic_find(shard, asked->name, &NO_ID) : NULL;
  for (int32_t i = 0; i < asked->partition_indexes_count; i++) {
    int32_t partition = asked->partition_indexes[i];
    if (group_has_no_room(request)) {
      out->partitions_count = i; // the whole answer will be an error
      return;
    }
    if (topic != NULL && request->is_stable && offset_is_pending(group, topic, partition)) {
      offset_fetch_unstable(&out->partitions[i], partition);
      continue;
    }
    const struct group_offset *found = topic != NULL ? group_offset_find(group, topic, partition) : NULL;
    bool is_there = found != NULL && offset_is_of_id(found, &asked->topic_id);
    offset_fetch_fill(&out->partitions[i], is_there ? found : NULL, partition, request->arena);
  }
}

static int offset_compare(const void *a, const void *b)
{
  const struct group_offset *left = *(const struct group_offset *const *)a;
  const struct group_offset *right = *(const struct group_offset *const *)b;
  int order = left->topic->plain == right->topic->plain ? 0 : strcmp(left->topic->name, right->topic->name);
  if (order != 0) {
    return order;
  }
  return (left->partition > right->partition) - (left->partition < right->partition);
}

/// All that is committed, by topic and partition.
static void offset_fetch_all(const struct group *group, const struct group_request *request,
                             struct wire_offset_fetch_response_offset_fetch_response_group *out)
{
  const struct group_offsets *table = group->offsets;
  struct arena *arena = request->arena;
  const struct group_offset **sorted = arena_alloc(arena, (size_t)table->count * sizeof(struct group_offset *));
  uint32_t count = 0;
  for (uint64_t i = 0; i <= table->mask; i++) {
    if (table->slots[i].topic != NULL) {
      sorted[count++] = &table->slots[i];
    }
  }
  qsort(sorted, count, sizeof(struct group_offset *), offset_compare);
  uint32_t topics = 0;
  for (uint32_t i = 0; i < count; i++) {
    topics += i == 0 || sorted[i]->topic->plain != sorted[i - 1]->topic->plain ? 1 : 0;
  }
  struct wire_offset_fetch_response_offset_fetch_response_partitions *partitions =
      arena_alloc(arena, (size_t)count * sizeof *partitions);
  struct wire_offset_fetch_response_offset_fetch_response_topics *topic = NULL;
  out->topics = arena_alloc(arena, (size_t)topics * sizeof *out->topics);
  for (uint32_t i = 0; i < count; i++) {
    const struct shard_topic *of = sorted[i]->topic;
    if (i == 0 || of->plain != sorted[i - 1]->topic->plain) {
      topic = &out->topics[out->topics_count++];
      wire_offset_fetch_response_offset_fetch_response_topics_init(topic);
      topic->name = (struct wire_string){arena_dup(arena, of->name, (size_t)of->length), of->length};
      topic->topic_id = of->id;
      topic->partitions = &partitions[i];
    }
    if (request->is_stable && offset_is_pending(group, of, sorted[i]->partition)) {
      offset_fetch_unstable(&partitions[i], sorted[i]->partition);
    } else {
      offset_fetch_fill(&partitions[i], sorted[i], sorted[i]->partition, arena);
    }
    topic->partitions_count++;
  }
}

void offset_fetch_serve(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  (void)now_ms;
  const struct wire_offset_fetch_request_offset_fetch_request_group *body = request->body;
  struct wire_offset_fetch_response_offset_fetch_response_group *resp = request->response;
  const struct group_kind_calls *kind = group != NULL ? group_kind_of(group) : NULL;
  int16_t error = kind != NULL && kind->check_fetch != NULL ? kind->check_fetch(group, request) : WIRE_NONE;
  if (error != WIRE_NONE) {
    group_request_fail(request, error);
  } else if (body->topics_count >= 0) {
    resp->topics_count = body->topics_count;
    resp->topics = arena_alloc(request->arena, (size_t)body->topics_count * sizeof *resp->topics);
    for (int32_t i = 0; i < body->topics_count; i++) {
      offset_fetch_topic(shard, group, request, &body->topics[i], &resp->topics[i]);
    }
    if (group_has_no_room(request)) {
      group_request_fail(request, WIRE_UNKNOWN_SERVER_ERROR);
    }
  } else if (group != NULL && group->offsets != NULL) {
    offset_fetch_all(group, request, resp);
  }
  group_answer(shard, request);
}

// ---- delete ----

static void offset_delete_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  (void)now_ms;
  struct group_request *request = arg;
  if (error != WIRE_NONE) {
    group_request_fail(request, error);
  }
  group_answer(group->shard, request);
}

/// Whether offsets of a group may be deleted one by one.
static int16_t offset_delete_check(const struct group *group)
{
  if (group == NULL) {
    return WIRE_GROUP_ID_NOT_FOUND;
  }
  bool is_consumer = strcmp(group_protocol_type(group), "consumer") == 0;
  return is_consumer || group_is_empty(group) ? WIRE_NONE : WIRE_NON_EMPTY_GROUP;
}

static bool offset_delete_fits(const struct group_request *request)
{
  const struct wire_offset_delete_request *body = request->body;
  int64_t total = 0;
  bool fits = true;
  for (int32_t i = 0; i < body->topics_count && fits; i++) {
    fits = offset_write_fits(request, body->topics[i].name, body->topics[i].partitions_count, 0, &total);
  }
  return fits;
}

static void offset_delete_topic(struct group_tombstones *tombstones, struct group *group,
                                const struct group_request *request,
                                const struct wire_offset_delete_request_offset_delete_request_topic *asked,
                                struct wire_offset_delete_response_offset_delete_response_topic *out, int64_t now_ms)
{
  static const struct uuid NO_ID;
  const struct group_kind_calls *kind = group_kind_of(group);
  bool is_subscribed = kind->is_subscribed != NULL && kind->is_subscribed(group, asked->name.data, asked->name.length);
  const struct shard_topic *topic = shard_topic_find(group->shard, asked->name, &NO_ID);
  wire_offset_delete_response_offset_delete_response_topic_init(out);
  out->name = asked->name;
  out->partitions_count = asked->partitions_count;
  out->partitions = arena_zalloc(request->arena, (size_t)asked->partitions_count * sizeof *out->partitions);
  for (int32_t i = 0; i < asked->partitions_count; i++) {
    int32_t partition = asked->partitions[i].partition_index;
    out->partitions[i].partition_index = partition;
    if (is_subscribed) {
      out->partitions[i].error_code = WIRE_GROUP_SUBSCRIBED_TO_TOPIC;
    } else if (topic != NULL && group_offset_find(group, topic, partition) != NULL) {
      offset_write_tombstone(group_tombstones_write(tombstones, now_ms), request->group, asked->name, partition);
    }
  }
}

void offset_delete_serve(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  const struct wire_offset_delete_request *body = request->body;
  struct wire_offset_delete_response *resp = request->response;
  int16_t error = offset_delete_check(group);
  error = error == WIRE_NONE && !offset_delete_fits(request) ? WIRE_UNKNOWN_SERVER_ERROR : error;
  if (error != WIRE_NONE) {
    group_request_fail(request, error);
    group_answer(shard, request);
    return;
  }
  struct group_tombstones *tombstones = group_tombstones_new(group, offset_delete_written, request);
  resp->topics_count = body->topics_count;
  resp->topics = arena_zalloc(request->arena, (size_t)body->topics_count * sizeof *resp->topics);
  for (int32_t i = 0; i < body->topics_count; i++) {
    offset_delete_topic(tombstones, group, request, &body->topics[i], &resp->topics[i], now_ms);
  }
  group_tombstones_submit(tombstones, now_ms);
}
