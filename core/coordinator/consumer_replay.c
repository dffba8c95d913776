// SPDX-License-Identifier: Apache-2.0
//
// Records of a consumer group become its state: the only code that changes what a group knows, both when a log is
// loaded and when a write is done. What a record says is kept as it was decoded, in memory of exactly its size.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "coordinator/consumer_private.h"
#include "coordinator/consumer_search.h"
#include "coordinator/records.h"
#include "wire/codec.h"
#include "wire/reader.h"

/// The bytes of a value.
struct replay_value {
  int16_t version;      ///< of its message
  const uint8_t *bytes; ///< NULL: a tombstone
  int32_t size;         ///< bytes
};

static int replay_read(const struct wire_codec *codec, void *out, const uint8_t *bytes, int32_t size, int16_t version,
                       struct arena *arena)
{
  struct wire_reader r;
  wire_reader_init(&r, bytes, (size_t)size);
  return codec->read(out, &r, version, arena);
}

/// Decodes a value that is to stay: into an arena with one block that has room for it and no more.
static int replay_keep(const struct wire_codec *codec, void *out, const struct replay_value *value, struct arena *kept)
{
  struct arena scratch = {0};
  int result = replay_read(codec, out, value->bytes, value->size, value->version, &scratch);
  size_t total = scratch.total;
  arena_destroy(&scratch);
  if (result < 0) {
    return result;
  }
  arena_destroy(kept);
  arena_reserve(kept, total, (size_t)value->size);
  const uint8_t *bytes = arena_dup(kept, value->bytes, (size_t)value->size);
  return replay_read(codec, out, bytes, value->size, value->version, kept);
}

// ---- one kind after another ----

static int replay_group(struct group_shard *shard, struct wire_string id, const struct replay_value *value)
{
  if (value->bytes == NULL) {
    struct group *group = group_find(shard, id);
    if (group != NULL && group->kind == GROUP_CONSUMER) {
      consumer_free(group);
      group_release_if_unused(group);
    }
    return 0;
  }
  struct arena scratch = {0};
  struct wire_consumer_group_metadata_value message;
  int result = replay_read(&wire_consumer_group_metadata_value_codec, &message, value->bytes, value->size,
                           value->version, &scratch);
  arena_destroy(&scratch);
  if (result == 0) {
    struct consumer_group *consumer = consumer_obtain(group_obtain(shard, id));
    consumer->epoch = message.epoch;
    consumer->metadata_hash = message.metadata_hash;
  }
  return result;
}

static int replay_assignment_epoch(struct group_shard *shard, struct wire_string id, const struct replay_value *value)
{
  if (value->bytes == NULL) {
    struct group *group = group_find(shard, id);
    if (group != NULL && group->kind == GROUP_CONSUMER) {
      group->consumer->assignment_epoch = CONSUMER_FIRST_EPOCH;
      group->consumer->assignment_ms = 0;
    }
    return 0;
  }
  struct arena scratch = {0};
  struct wire_consumer_group_target_assignment_metadata_value message;
  int result = replay_read(&wire_consumer_group_target_assignment_metadata_value_codec, &message, value->bytes,
                           value->size, value->version, &scratch);
  arena_destroy(&scratch);
  if (result == 0) {
    struct consumer_group *consumer = consumer_obtain(group_obtain(shard, id));
    if (consumer->assignment_epoch != message.assignment_epoch && consumer->member_count > 0) {
      group_tell_change(consumer->group, false, message.assignment_epoch, consumer->member_count);
    }
    consumer->assignment_epoch = message.assignment_epoch;
    consumer->assignment_ms = message.assignment_timestamp;
  }
  return result;
}

/// The member that a tombstone is about; NULL: there is none.
static struct consumer_member *replay_find(struct group_shard *shard, struct wire_string id, struct wire_string member)
{
  struct group *group = group_find(shard, id);
  return group != NULL && group->kind == GROUP_CONSUMER ? consumer_member_find(group->consumer, member) : NULL;
}

static struct consumer_member *replay_obtain(struct group_shard *shard, struct wire_string id,
                                             struct wire_string member)
{
  return consumer_member_obtain(consumer_obtain(group_obtain(shard, id)), member);
}

static int replay_member(struct group_shard *shard, struct wire_string id, struct wire_string member_id,
                         const struct replay_value *value)
{
  if (value->bytes == NULL) {
    struct consumer_member *member = replay_find(shard, id, member_id);
    if (member != NULL) {
      member->consumer->is_regex_known = false;
      struct consumer_group *consumer = member->consumer;
      consumer_member_remove(consumer, member_id);
      if (consumer->member_count == 0) {
        group_tell_change(consumer->group, true, consumer->epoch, 0);
      }
    }
    return 0;
  }
  struct arena kept = {0};
  struct wire_consumer_group_member_metadata_value message;
  int result = replay_keep(&wire_consumer_group_member_metadata_value_codec, &message, value, &kept);
  if (result < 0) {
    return result;
  }
  // Decoded into memory of the record.
  message.subscribed_topic_names_count =
      consumer_sort_names((struct wire_string *)message.subscribed_topic_names, message.subscribed_topic_names_count);
  struct consumer_member *member = replay_obtain(shard, id, member_id);
  arena_destroy(&member->arena);
  member->arena = kept;
  member->metadata = message;
  member->consumer->is_regex_known = false;
  return 0;
}

static int replay_target(struct group_shard *shard, struct wire_string id, struct wire_string member_id,
                         const struct replay_value *value)
{
  struct arena scratch = {0};
  struct consumer_parts parts = {0};
  struct wire_consumer_group_target_assignment_member_value message;
  if (value->bytes == NULL) {
    struct consumer_member *member = replay_find(shard, id, member_id);
    if (member != NULL) {
      consumer_parts_own(&member->target, &parts);
    }
    return 0;
  }
  int result = replay_read(&wire_consumer_group_target_assignment_member_value_codec, &message, value->bytes,
                           value->size, value->version, &scratch);
  if (result == 0) {
    int64_t count = 0;
    for (int32_t i = 0; i < message.topic_partitions_count; i++) {
      count += message.topic_partitions[i].partitions_count;
    }
    consumer_parts_begin(&parts, &scratch, count);
    for (int32_t i = 0; i < message.topic_partitions_count; i++) {
      for (int32_t j = 0; j < message.topic_partitions[i].partitions_count; j++) {
        consumer_parts_add(&parts, &message.topic_partitions[i].topic_id, message.topic_partitions[i].partitions[j], 0);
      }
    }
    consumer_parts_own(&replay_obtain(shard, id, member_id)->target, &parts);
  }
  arena_destroy(&scratch);
  return result;
}

/// @param epoch  of partitions that have none of their own: records of before KIP-1251
static void read_topics(const struct wire_consumer_group_current_member_assignment_value_topic_partitions *topics,
                        int32_t topic_count, int32_t epoch, struct arena *arena, struct consumer_parts *parts)
{
  int64_t count = 0;
  for (int32_t i = 0; i < topic_count; i++) {
    count += topics[i].partitions_count;
  }
  consumer_parts_begin(parts, arena, count);
  for (int32_t i = 0; i < topic_count; i++) {
    for (int32_t j = 0; j < topics[i].partitions_count; j++) {
      bool has_epoch = topics[i].assignment_epochs_count == topics[i].partitions_count;
      consumer_parts_add(parts, &topics[i].topic_id, topics[i].partitions[j],
                         has_epoch ? topics[i].assignment_epochs[j] : epoch);
    }
  }
}

static int replay_current(struct group_shard *shard, struct wire_string id, struct wire_string member_id,
                          const struct replay_value *value)
{
  struct arena scratch = {0};
  struct consumer_parts assigned = {0};
  struct consumer_parts pending = {0};
  struct wire_consumer_group_current_member_assignment_value message = {0};
  int result = 0;
  struct consumer_member *member = NULL;
  if (value->bytes == NULL) {
    member = replay_find(shard, id, member_id);
  } else {
    result = replay_read(&wire_consumer_group_current_member_assignment_value_codec, &message, value->bytes,
                         value->size, value->version, &scratch);
    member = result == 0 ? replay_obtain(shard, id, member_id) : NULL;
  }
  if (member != NULL) {
    read_topics(message.assigned_partitions, message.assigned_partitions_count, message.member_epoch, &scratch,
                &assigned);
    read_topics(message.partitions_pending_revocation, message.partitions_pending_revocation_count,
                message.member_epoch, &scratch, &pending);
    consumer_parts_own(&member->assigned, &assigned);
    consumer_parts_own(&member->pending, &pending);
    member->epoch = message.member_epoch;
    member->previous_epoch = message.previous_member_epoch;
    member->state = message.state;
    member->has_moved = true;
  }
  arena_destroy(&scratch);
  return result;
}

static int replay_regex(struct group_shard *shard, struct wire_string id, struct wire_string text,
                        const struct replay_value *value)
{
  if (value->bytes == NULL) {
    struct group *group = group_find(shard, id);
    if (group != NULL && group->kind == GROUP_CONSUMER) {
      group->consumer->is_regex_known = false;
      consumer_regex_remove(group->consumer, text);
    }
    return 0;
  }
  struct consumer_known *known = mem_zalloc(sizeof *known);
  known->refs = 1;
  struct wire_consumer_group_regular_expression_value message;
  int result = replay_keep(&wire_consumer_group_regular_expression_value_codec, &message, value, &known->arena);
  if (result < 0) {
    consumer_known_unref(known);
    return result;
  }
  message.topics_count = consumer_sort_names((struct wire_string *)message.topics, message.topics_count);
  struct consumer_group *consumer = consumer_obtain(group_obtain(shard, id));
  consumer->is_regex_known = false;
  struct consumer_regex *regex = consumer_regex_obtain(consumer, text);
  consumer_known_unref(regex->known);
  regex->known = known;
  regex->value = message;
  return 0;
}

int consumer_replay(struct group_shard *shard, int16_t kind, const uint8_t *key, int32_t key_size,
                    int16_t value_version, const uint8_t *value, int32_t value_size)
{
  struct replay_value bytes = {.version = value_version, .bytes = value, .size = value_size};
  // All keys begin with the group; some have a second text: member id, expression.
  bool has_second = kind != RECORD_CONSUMER_GROUP_METADATA && kind != RECORD_CONSUMER_GROUP_PARTITION_METADATA &&
                    kind != RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA;
  struct wire_reader r;
  wire_reader_init(&r, key, (size_t)key_size);
  struct wire_string group_id = wire_reader_string(&r, 0, "ConsumerGroupKey.GroupId");
  struct wire_string second = has_second ? wire_reader_string(&r, 0, "ConsumerGroupKey.MemberId") : group_id;
  if (r.error != 0) {
    return r.error;
  }
  switch (kind) {
    case RECORD_CONSUMER_GROUP_METADATA:
      return replay_group(shard, group_id, &bytes);
    case RECORD_CONSUMER_GROUP_PARTITION_METADATA:
      return 0; // Kafka 3.7 to 4.0 wrote these; a hash in the group's own record has replaced them
    case RECORD_CONSUMER_GROUP_MEMBER_METADATA:
      return replay_member(shard, group_id, second, &bytes);
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
      return replay_assignment_epoch(shard, group_id, &bytes);
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
      return replay_target(shard, group_id, second, &bytes);
    case RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
      return replay_current(shard, group_id, second, &bytes);
    case RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION:
      return replay_regex(shard, group_id, second, &bytes);
    default:
      return error_set(ERR_INVALID, "kind %d of records is none of a consumer group", kind);
  }
}

// ---- what they said, as text ----

struct dump {
  char *text;  ///< may be NULL with size 0
  size_t size; ///< bytes
  size_t used; ///< characters so far, also those that had no room
};

static void dump_add(struct dump *dump, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void dump_add(struct dump *dump, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  bool has_room = dump->used < dump->size;
  int count =
      vsnprintf(has_room ? dump->text + dump->used : NULL, has_room ? dump->size - dump->used : 0, format, args);
  va_end(args);
  dump->used += count > 0 ? (size_t)count : 0;
}

static void dump_parts(struct dump *dump, const char *name, const struct consumer_parts *parts)
{
  dump_add(dump, " %s=", name);
  for (int32_t at = 0; at < parts->count;) {
    char id[UUID_TEXT_SIZE];
    uuid_format(&parts->items[at].topic, id);
    int32_t first = at;
    consumer_parts_topic(parts, &at);
    dump_add(dump, "%s:", id);
    for (int32_t i = first; i < at; i++) {
      dump_add(dump, "%d@%d,", parts->items[i].partition, parts->items[i].epoch);
    }
  }
}

static void dump_text(struct dump *dump, const char *name, struct wire_string text)
{
  dump_add(dump, " %s=%.*s", name, text.length > 0 ? text.length : 0, text.length > 0 ? text.data : "");
}

int consumer_dump(const struct group *group, char *text, size_t size)
{
  const struct consumer_group *consumer = group->consumer;
  struct dump dump = {.text = text, .size = size};
  if (size > 0) {
    text[0] = '\0';
  }
  dump_add(&dump, "consumer epoch=%d hash=%lld assignment=%d made=%lld state=%s\n", consumer->epoch,
           (long long)consumer->metadata_hash, consumer->assignment_epoch, (long long)consumer->assignment_ms,
           consumer_state_name(group));
  for (int32_t i = 0; i < consumer->member_count; i++) {
    const struct consumer_member *member = consumer->members[i];
    const struct wire_consumer_group_member_metadata_value *metadata = &member->metadata;
    dump_text(&dump, "member", member->id);
    dump_add(&dump, " epoch=%d previous=%d state=%d timeout=%d", member->epoch, member->previous_epoch, member->state,
             metadata->rebalance_timeout_ms);
    dump_text(&dump, "instance", metadata->instance_id);
    dump_text(&dump, "assignor", metadata->server_assignor);
    dump_text(&dump, "regex", metadata->subscribed_topic_regex);
    for (int32_t n = 0; n < metadata->subscribed_topic_names_count; n++) {
      dump_text(&dump, "topic", metadata->subscribed_topic_names[n]);
    }
    dump_parts(&dump, "assigned", &member->assigned);
    dump_parts(&dump, "pending", &member->pending);
    dump_parts(&dump, "target", &member->target);
    dump_add(&dump, "%s\n", consumer_member_is_classic(member) ? " classic" : "");
  }
  for (int32_t i = 0; i < consumer->regex_count; i++) {
    dump_text(&dump, "regex", consumer->regexes[i]->text);
    for (int32_t n = 0; n < consumer->regexes[i]->value.topics_count; n++) {
      dump_text(&dump, "topic", consumer->regexes[i]->value.topics[n]);
    }
    dump_add(&dump, "\n");
  }
  return (int)dump.used;
}
