// SPDX-License-Identifier: Apache-2.0
//
// Who may commit and read offsets of a consumer group: members, by their epoch; anybody while there are none.
#include "coordinator/consumer_private.h"
#include "wire/error_codes.h"
#include "wire/offset_commit.h"
#include "wire/offset_fetch.h"

enum { COMMIT_EPOCH_VERSION = 9 }; // first version of OffsetCommit that members of the new protocol may use

int16_t consumer_check_commit(struct group *group, const struct group_request *request, int64_t now_ms)
{
  const struct wire_offset_commit_request *body = request->body;
  struct consumer_group *consumer = group->consumer;
  int32_t epoch = body->generation_id_or_member_epoch;
  if (epoch < 0 && consumer->member_count == 0) {
    return WIRE_NONE;
  }
  struct consumer_member *member = consumer_member_find(consumer, body->member_id);
  if (member == NULL) {
    return WIRE_UNKNOWN_MEMBER_ID;
  }
  bool is_classic = consumer_member_is_classic(member);
  if (!is_classic && request->version < COMMIT_EPOCH_VERSION) {
    return WIRE_UNSUPPORTED_VERSION;
  }
  // An older epoch counts for partitions that the member has had since then (KIP-1251): consumer_check_commit_part().
  if (epoch != member->epoch && (is_classic || epoch > member->epoch || epoch < 0)) {
    return is_classic ? WIRE_ILLEGAL_GENERATION : WIRE_STALE_MEMBER_EPOCH;
  }
  if (is_classic) {
    consumer_session_start(member, now_ms);
  }
  return WIRE_NONE;
}

int16_t consumer_check_commit_part(const struct group *group, const struct group_request *request,
                                   struct wire_string name, const struct uuid *id, int32_t partition)
{
  const struct wire_offset_commit_request *body = request->body;
  int32_t epoch = body->generation_id_or_member_epoch;
  const struct consumer_member *member = consumer_member_find(group->consumer, body->member_id);
  if (member == NULL || epoch == member->epoch) {
    return WIRE_NONE; // consumer_check_commit() has judged
  }
  const struct group_shard_topics *topics = group_shard_topics(group->shard);
  struct uuid topic = *id;
  int32_t partitions = 0;
  if (uuid_is_zero(&topic) && !topics->find(topics->arg, name.data, name.length, &topic, &partitions)) {
    return WIRE_STALE_MEMBER_EPOCH;
  }
  const struct consumer_part *part = consumer_parts_find(&member->assigned, &topic, partition);
  part = part != NULL ? part : consumer_parts_find(&member->pending, &topic, partition);
  return part != NULL && part->epoch <= epoch ? WIRE_NONE : WIRE_STALE_MEMBER_EPOCH;
}

int16_t consumer_check_fetch(struct group *group, const struct group_request *request)
{
  const struct wire_offset_fetch_request_offset_fetch_request_group *body = request->body;
  if (body->member_id.length < 0 && body->member_epoch < 0) {
    return WIRE_NONE;
  }
  const struct consumer_member *member = consumer_member_find(group->consumer, body->member_id);
  if (member == NULL) {
    return WIRE_UNKNOWN_MEMBER_ID;
  }
  if (body->member_epoch == member->epoch) {
    return WIRE_NONE;
  }
  return consumer_member_is_classic(member) ? WIRE_ILLEGAL_GENERATION : WIRE_STALE_MEMBER_EPOCH;
}
