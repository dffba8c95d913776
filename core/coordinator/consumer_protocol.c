// SPDX-License-Identifier: Apache-2.0
//
// Subscriptions and assignments as consumers of the classic protocol write them into the bytes of JoinGroup and
// SyncGroup. Topics have names there and ids here.
#include "wire/consumer_protocol.h"

#include "base/bytes.h"
#include "base/check.h"
#include "base/error.h"
#include "coordinator/consumer_private.h"
#include "wire/reader.h"
#include "wire/writer.h"

enum { PROTOCOL_VERSION_BYTES = 2, PROTOCOL_VERSION_MAX = 3 };

/// The version that bytes begin with, as far as it is known: newer ones only add fields.
static int protocol_version(struct wire_bytes bytes, int16_t *version)
{
  if (bytes.length < PROTOCOL_VERSION_BYTES) {
    return error_set(ERR_TRUNCATED, "a consumer's bytes have no version");
  }
  int16_t read = (int16_t)bytes_get_u16(bytes.data);
  if (read < 0) {
    return error_set(ERR_MALFORMED, "a consumer's bytes have a negative version");
  }
  *version = read < PROTOCOL_VERSION_MAX ? read : PROTOCOL_VERSION_MAX;
  return 0;
}

static void add_topic(const struct group_shard_topics *topics, struct wire_string name, const int32_t *numbers,
                      int32_t count, struct consumer_parts *out)
{
  struct uuid id;
  int32_t partitions = 0;
  if (!topics->find(topics->arg, name.data, name.length, &id, &partitions)) {
    return;
  }
  for (int32_t i = 0; i < count; i++) {
    if (numbers[i] >= 0 && numbers[i] < partitions) {
      consumer_parts_add(out, &id, numbers[i], 0);
    }
  }
}

int consumer_read_subscription(const struct group_shard_topics *topics, struct wire_bytes bytes, struct arena *arena,
                               struct consumer_subscription *out)
{
  int16_t version = 0;
  TRY(protocol_version(bytes, &version));
  struct wire_reader r;
  wire_reader_init(&r, bytes.data + PROTOCOL_VERSION_BYTES, (size_t)(bytes.length - PROTOCOL_VERSION_BYTES));
  struct wire_consumer_protocol_subscription message;
  TRY(wire_consumer_protocol_subscription_read(&message, &r, version, arena));
  *out = (struct consumer_subscription){
      .topics = message.topics, .topic_count = message.topics_count, .rack = message.rack_id};
  int64_t count = 0;
  for (int32_t i = 0; i < message.owned_partitions_count; i++) {
    count += message.owned_partitions[i].partitions_count;
  }
  consumer_parts_begin(&out->owned, arena, count);
  for (int32_t i = 0; i < message.owned_partitions_count; i++) {
    add_topic(topics, message.owned_partitions[i].topic, message.owned_partitions[i].partitions,
              message.owned_partitions[i].partitions_count, &out->owned);
  }
  consumer_parts_sort(&out->owned);
  return 0;
}

void consumer_read_assignment(const struct group_shard_topics *topics, struct wire_bytes bytes, struct arena *arena,
                              struct consumer_parts *out)
{
  *out = (struct consumer_parts){0};
  int16_t version = 0;
  if (bytes.length <= 0 || protocol_version(bytes, &version) < 0) {
    return;
  }
  struct wire_reader r;
  wire_reader_init(&r, bytes.data + PROTOCOL_VERSION_BYTES, (size_t)(bytes.length - PROTOCOL_VERSION_BYTES));
  struct wire_consumer_protocol_assignment message;
  if (wire_consumer_protocol_assignment_read(&message, &r, version, arena) < 0) {
    return;
  }
  int64_t count = 0;
  for (int32_t i = 0; i < message.assigned_partitions_count; i++) {
    count += message.assigned_partitions[i].partitions_count;
  }
  consumer_parts_begin(out, arena, count);
  for (int32_t i = 0; i < message.assigned_partitions_count; i++) {
    add_topic(topics, message.assigned_partitions[i].topic, message.assigned_partitions[i].partitions,
              message.assigned_partitions[i].partitions_count, out);
  }
  consumer_parts_sort(out);
}

struct wire_bytes consumer_write_assignment(const struct group_shard_topics *topics, const struct consumer_parts *parts,
                                            struct wire_bytes subscription, struct arena *arena)
{
  int16_t version = 0;
  if (protocol_version(subscription, &version) < 0) {
    version = 0;
  }
  struct wire_consumer_protocol_assignment message;
  wire_consumer_protocol_assignment_init(&message);
  message.assigned_partitions =
      arena_alloc(arena, ((size_t)consumer_parts_topic_count(parts) + 1) * sizeof *message.assigned_partitions);
  struct consumer_topic_parts topic;
  for (int32_t at = 0; consumer_parts_next_topic(parts, topics, arena, &at, &topic);) {
    message.assigned_partitions[message.assigned_partitions_count++] =
        (struct wire_consumer_protocol_assignment_topic_partition){
            .topic = topic.name, .partitions = topic.numbers, .partitions_count = topic.count};
  }
  struct wire_writer w = {0};
  wire_writer_i16(&w, version);
  CHECK(wire_consumer_protocol_assignment_write(&message, &w, version) == 0);
  struct wire_bytes bytes = {.data = arena_dup(arena, w.data, w.size), .length = (int32_t)w.size};
  wire_writer_destroy(&w);
  return bytes;
}
