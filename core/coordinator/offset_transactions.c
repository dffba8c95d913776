// SPDX-License-Identifier: Apache-2.0
//
// Offsets that were committed in a transaction. They count when its marker says so, unless something newer was
// committed for the partition meanwhile: what decides is the order of the records, not that of the markers.
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "coordinator/shard_state.h"

/// One offset of a transaction.
struct offset_pending {
  struct list in_transaction; ///< in the transaction's list, oldest first
  struct list in_group;       ///< in the group's list
  struct group *group;        ///< whose offset it is
  struct shard_topic *topic;  ///< one reference
  int32_t partition;          ///< partition
  uint64_t order;             ///< rises with each record
  bool is_superseded;         ///< something newer is committed
  struct offset_value value;  ///< its metadata lies behind this struct
  char metadata[];            ///< the client's note
};

struct shard_transaction {
  struct shard_transaction *next; ///< in its slot
  int64_t producer_id;            ///< whose it is
  struct list offsets;            ///< of struct offset_pending
};

static struct shard_transaction **transaction_slot(struct group_shard *shard, int64_t producer_id)
{
  return &shard->transactions[(uint64_t)producer_id % SHARD_TRANSACTION_SLOTS];
}

static struct shard_transaction *transaction_obtain(struct group_shard *shard, int64_t producer_id)
{
  struct shard_transaction **slot = transaction_slot(shard, producer_id);
  for (struct shard_transaction *found = *slot; found != NULL; found = found->next) {
    if (found->producer_id == producer_id) {
      return found;
    }
  }
  struct shard_transaction *made = mem_zalloc(sizeof *made);
  made->producer_id = producer_id;
  list_create(&made->offsets);
  made->next = *slot;
  *slot = made;
  return made;
}

void offset_pending_add(struct group_shard *shard, int64_t producer_id, struct group *group, struct shard_topic *topic,
                        int32_t partition, const struct offset_value *value)
{
  int32_t size = value->metadata.length > 0 ? value->metadata.length : 0;
  struct offset_pending *pending = mem_zalloc(sizeof *pending + (size_t)size);
  pending->group = group;
  pending->topic = topic;
  pending->partition = partition;
  pending->order = shard->pending_order++;
  pending->value = *value;
  if (size > 0) {
    memcpy(pending->metadata, value->metadata.data, (size_t)size);
  }
  pending->value.metadata = (struct wire_string){pending->metadata, size};
  list_append(&transaction_obtain(shard, producer_id)->offsets, &pending->in_transaction);
  list_append(&group->pending, &pending->in_group);
}

static void offset_pending_free(struct group_shard *shard, struct offset_pending *pending)
{
  list_remove(&pending->in_transaction);
  list_remove(&pending->in_group);
  if (pending->topic != NULL) {
    shard_topic_unref(shard, pending->topic);
  }
  mem_free(pending);
}

static bool offset_pending_is_of(const struct offset_pending *pending, const struct shard_topic *topic,
                                 int32_t partition)
{
  return pending->partition == partition && pending->topic->plain == topic->plain;
}

void offset_pending_superseded(struct group *group, const struct shard_topic *topic, int32_t partition,
                               bool is_tombstone)
{
  LIST_EACH_SAFE(&group->pending, node) {
    struct offset_pending *pending = CONTAINER_OF(node, struct offset_pending, in_group);
    if (!offset_pending_is_of(pending, topic, partition)) {
      continue;
    }
    pending->is_superseded = true;
    if (is_tombstone) {
      offset_pending_free(group->shard, pending);
    }
  }
}

bool offset_is_pending(const struct group *group, const struct shard_topic *topic, int32_t partition)
{
  LIST_EACH(&group->pending, node) {
    if (offset_pending_is_of(CONTAINER_OF(node, struct offset_pending, in_group), topic, partition)) {
      return true;
    }
  }
  return false;
}

/// An offset of a committed transaction counts from now on.
static void offset_pending_commit(struct offset_pending *pending)
{
  struct group *group = pending->group;
  LIST_EACH(&group->pending, node) {
    struct offset_pending *other = CONTAINER_OF(node, struct offset_pending, in_group);
    if (other->order >= pending->order) {
      break; // they are in the order of the log
    }
    if (offset_pending_is_of(other, pending->topic, pending->partition)) {
      other->is_superseded = true;
    }
  }
  struct shard_topic *topic = pending->topic;
  pending->topic = NULL; // given to the table
  list_remove(&pending->in_group);
  group_offset_put(group, topic, pending->partition, &pending->value);
}

void group_shard_replay_end(struct group_shard *shard, int64_t producer_id, bool is_commit)
{
  struct shard_transaction **place = transaction_slot(shard, producer_id);
  while (*place != NULL && (*place)->producer_id != producer_id) {
    place = &(*place)->next;
  }
  struct shard_transaction *transaction = *place;
  if (transaction == NULL) {
    return;
  }
  *place = transaction->next;
  LIST_EACH_SAFE(&transaction->offsets, node) {
    struct offset_pending *pending = CONTAINER_OF(node, struct offset_pending, in_transaction);
    struct group *group = pending->group;
    if (is_commit && !pending->is_superseded) {
      offset_pending_commit(pending);
    }
    offset_pending_free(shard, pending);
    group_release_if_unused(group);
  }
  mem_free(transaction);
}

void offset_write_pending_tombstones(struct group_tombstones *tombstones, int64_t now_ms)
{
  const struct group *group = group_tombstones_group(tombstones);
  LIST_EACH(&group->pending, node) {
    const struct offset_pending *pending = CONTAINER_OF(node, struct offset_pending, in_group);
    const struct shard_topic *topic = pending->topic;
    if (group_offset_find(group, topic, pending->partition) == NULL) {
      offset_write_tombstone(group_tombstones_write(tombstones, now_ms), group_name(group),
                             (struct wire_string){topic->name, topic->length}, pending->partition);
    }
  }
}

void offset_transactions_free(struct group_shard *shard)
{
  for (int i = 0; i < SHARD_TRANSACTION_SLOTS; i++) {
    while (shard->transactions[i] != NULL) {
      struct shard_transaction *transaction = shard->transactions[i];
      shard->transactions[i] = transaction->next;
      while (!list_is_empty(&transaction->offsets)) {
        offset_pending_free(shard, CONTAINER_OF(transaction->offsets.next, struct offset_pending, in_transaction));
      }
      mem_free(transaction);
    }
  }
}
