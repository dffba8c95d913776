// SPDX-License-Identifier: Apache-2.0
//
// Committed offsets as records: what is written for a commit, and what becomes of a record.
//
//   key 0, 1   value 0        expires by the time that it has itself: no field but those of all versions
//              value 1        expireTimestamp: commits of clients that said how long (versions 2 to 4 of the request)
//              value 2, 3, 4  no expireTimestamp; leader epoch from 3 on, topic id in 4
#include "base/error.h"
#include "coordinator/records.h"
#include "coordinator/shard_state.h"
#include "wire/coordinator_record.h"
#include "wire/reader.h"

enum { OFFSET_VALUE_EXPIRES = 1, OFFSET_VALUE_NEWEST = 4 };

void offset_write_commit(struct group_write *write, struct wire_string group, struct wire_string topic,
                         const struct uuid *id, int32_t partition, const struct offset_value *value)
{
  struct wire_offset_commit_key key;
  wire_offset_commit_key_init(&key);
  key.group = group;
  key.topic = topic;
  key.partition = partition;
  struct wire_offset_commit_value message;
  wire_offset_commit_value_init(&message);
  message.offset = value->offset;
  message.leader_epoch = value->leader_epoch;
  message.metadata = value->metadata.length > 0 ? value->metadata : wire_string_from("");
  message.commit_timestamp = value->commit_ms;
  message.expire_timestamp = value->expire_ms;
  message.topic_id = *id;
  group_write_add_message(write, RECORD_OFFSET_COMMIT, &wire_offset_commit_key_codec, &key,
                          &wire_offset_commit_value_codec, &message,
                          value->expire_ms >= 0 ? OFFSET_VALUE_EXPIRES : OFFSET_VALUE_NEWEST);
}

void offset_write_tombstone(struct group_write *write, struct wire_string group, struct wire_string topic,
                            int32_t partition)
{
  struct wire_offset_commit_key key;
  wire_offset_commit_key_init(&key);
  key.group = group;
  key.topic = topic;
  key.partition = partition;
  group_write_add_message(write, RECORD_OFFSET_COMMIT, &wire_offset_commit_key_codec, &key, NULL, NULL, 0);
}

/// Reads a value of either kind of key.
static int offset_read_value(int16_t kind, int16_t version, const uint8_t *bytes, int32_t size,
                             struct wire_offset_commit_value *out)
{
  struct wire_reader r;
  wire_reader_init(&r, bytes, (size_t)size);
  if (kind == RECORD_OFFSET_COMMIT || version > 0) {
    return wire_offset_commit_value_read(out, &r, version, NULL);
  }
  struct wire_legacy_offset_commit_value legacy;
  TRY(wire_legacy_offset_commit_value_read(&legacy, &r, version, NULL));
  wire_offset_commit_value_init(out);
  out->offset = legacy.offset;
  out->metadata = legacy.metadata;
  out->commit_timestamp = legacy.commit_timestamp;
  return 0;
}

/// A tombstone: what is committed and what is pending for that partition goes.
static void offset_replay_tombstone(struct group_shard *shard, const struct wire_offset_commit_key *key)
{
  static const struct uuid NO_ID;
  struct group *group = group_find(shard, key->group);
  struct shard_topic *topic = shard_topic_find(shard, key->topic, &NO_ID);
  if (group == NULL || topic == NULL) {
    return;
  }
  // What goes may be the last that keeps the name.
  topic->refs++;
  offset_pending_superseded(group, topic, key->partition, true);
  group_offset_remove(group, topic, key->partition);
  shard_topic_unref(shard, topic);
  group_release_if_unused(group);
}

int offset_replay(struct group_shard *shard, int64_t producer_id, int16_t kind, const uint8_t *key, int32_t key_size,
                  int16_t value_version, const uint8_t *value, int32_t value_size)
{
  struct wire_reader r;
  wire_reader_init(&r, key, (size_t)key_size);
  // Keys 0 and 1 have the same fields.
  struct wire_offset_commit_key parsed;
  TRY(wire_offset_commit_key_read(&parsed, &r, 0, NULL));
  if (value == NULL) {
    offset_replay_tombstone(shard, &parsed);
    return 0;
  }
  struct wire_offset_commit_value message;
  TRY(offset_read_value(kind, value_version, value, value_size, &message));
  struct offset_value committed = {
      .offset = message.offset,
      .commit_ms = message.commit_timestamp,
      .expire_ms = message.expire_timestamp,
      .leader_epoch = message.leader_epoch,
      .metadata = message.metadata,
  };
  struct group *group = group_obtain(shard, parsed.group);
  struct shard_topic *topic = shard_topic_ref(shard, parsed.topic, &message.topic_id);
  if (producer_id >= 0) {
    offset_pending_add(shard, producer_id, group, topic, parsed.partition, &committed);
    return 0;
  }
  offset_pending_superseded(group, topic, parsed.partition, false);
  group_offset_put(group, topic, parsed.partition, &committed);
  return 0;
}
