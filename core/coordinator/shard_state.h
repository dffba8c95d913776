// SPDX-License-Identifier: Apache-2.0
//
// A shard's state, for the files that make up the shard: shard*.c and offset*.c. Kinds of groups see
// shard_private.h only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "coordinator/shard_private.h"

enum {
  SHARD_TRANSACTION_SLOTS = 64,       ///< chains of open transactions, by producer id
  SHARD_UNKNOWN_KINDS = 64,           ///< kinds of records that are told apart in the log
  SHARD_TOMBSTONE_BYTES = 512 * 1024, ///< a write of tombstones beyond this is closed, and another begun: those of one
                                      ///< group need not be in one batch
};

struct shard_topic;
struct shard_transaction;

/// Members that were thrown out, and that the log has not said so of yet (shard_removals.c).
struct shard_removals {
  struct group_timer timer; ///< runs for a second after a line
  int64_t count;            ///< members
  char *group;              ///< id of the first one's group, as text; NULL: none. Owned
  char *why;                ///< of the last one; NULL: none. Owned
  bool has_others;          ///< they are of more than one group
};

struct group_shard {
  int32_t index;                       ///< partition of __consumer_offsets
  const struct group_settings *config; ///< borrowed
  struct group_shard_topics topics;    ///< what there is in the cluster
  uint64_t random[4];                  ///< state of the generator of ids
  uint64_t hash_seed;                  ///< of the tables

  struct group **slots; ///< groups by hash of their id, chained
  uint32_t slot_count;  ///< a power of two
  uint32_t group_count; ///< groups

  struct shard_topic **topic_slots; ///< names of topics that offsets are of, by hash, chained
  uint32_t topic_slot_count;        ///< a power of two
  uint32_t topic_count;             ///< names
  int64_t offset_count;             ///< committed offsets of all groups

  struct shard_transaction *transactions[SHARD_TRANSACTION_SLOTS]; ///< those that have not ended, by producer id
  uint64_t pending_order;                                          ///< of the next offset of a transaction

  struct group_timer **heap; ///< timers by due time
  size_t heap_count;         ///< timers that run
  size_t heap_room;          ///< slots allocated
  uint64_t timer_order;      ///< of the next one that is started

  struct list answers;  ///< answered requests, oldest first
  struct list writes;   ///< writes not yet taken, oldest first
  struct list taken;    ///< writes under way, oldest first
  struct list searches; ///< searches not yet taken, oldest first
  bool is_loaded;       ///< group_shard_loaded() was called
  bool is_stopped;      ///< group_shard_stop() was called
  int16_t stop_error;   ///< what whoever comes is told

  struct group_timer expiry_timer; ///< looks for offsets that have expired
  struct shard_removals removals;  ///< for the log
  uint32_t expiry_slot;            ///< where that look goes on; 0: at the start
  uint64_t unknown_kinds;          ///< bit n: a record with a key of kind n was left out, and said so
};

// ---- names of topics (offset_topics.c): each once in a shard, however many offsets are of it ----

struct shard_topic {
  struct shard_topic *next;  ///< in its slot
  struct shard_topic *plain; ///< the one of that name without an id, which has a reference from here; itself
  uint32_t hash;             ///< of the name
  int32_t refs;              ///< offsets that are of it, and those with an id
  struct uuid id;            ///< topic id that was committed with; zero: none
  int32_t length;            ///< bytes of the name
  char name[];               ///< NUL-terminated
};

/// The name, or NULL when nothing is of it. @param id  zero: none
struct shard_topic *shard_topic_find(struct group_shard *shard, struct wire_string name, const struct uuid *id);

/// The name, made when it is not there, with one more reference.
struct shard_topic *shard_topic_ref(struct group_shard *shard, struct wire_string name, const struct uuid *id);

void shard_topic_unref(struct group_shard *shard, struct shard_topic *topic);

void shard_topics_free(struct group_shard *shard);

// ---- committed offsets (offset_table.c) ----

/// What few offsets have.
struct offset_note {
  int64_t expire_ms;     ///< wall clock from which it may go; -1: by the broker's rule
  int32_t metadata_size; ///< bytes of the client's note
  char metadata[];       ///< the client's note
};

/// A committed offset: 40 bytes, since there may be millions.
struct group_offset {
  int64_t offset;            ///< next one to consume
  int64_t commit_ms;         ///< wall clock of the commit
  struct shard_topic *topic; ///< one reference; NULL: a free slot of the table
  struct offset_note *note;  ///< NULL: no metadata, no time of its own. Owned
  int32_t partition;         ///< partition
  int32_t leader_epoch;      ///< of the record before; -1: unknown
};

/// The offsets of a group: open addressing by topic and partition.
struct group_offsets {
  struct group_offset *slots; ///< `mask` + 1
  uint32_t mask;              ///< slots minus one
  uint32_t count;             ///< offsets
};

/// What is committed.
struct offset_value {
  int64_t offset;              ///< next one to consume
  int64_t commit_ms;           ///< wall clock of the commit
  int64_t expire_ms;           ///< wall clock from which it may go; -1: by the broker's rule
  int32_t leader_epoch;        ///< of the record before; -1: unknown
  struct wire_string metadata; ///< the client's note
};

/// Finds an offset; NULL: none. @param topic  the plain one
struct group_offset *group_offset_find(const struct group *group, const struct shard_topic *topic, int32_t partition);

/// Stores one, in place of the one there was. @param topic  one reference is taken
void group_offset_put(struct group *group, struct shard_topic *topic, int32_t partition,
                      const struct offset_value *value);

/// Removes one, if there.
void group_offset_remove(struct group *group, const struct shard_topic *topic, int32_t partition);

/// Removes all.
void group_offsets_free(struct group *group);

// ---- records of offsets (offset_records.c) ----

/// Adds a commit to a write. @param id  of the topic; zero: unknown
void offset_write_commit(struct group_write *write, struct wire_string group, struct wire_string topic,
                         const struct uuid *id, int32_t partition, const struct offset_value *value);

/// Adds the tombstone of an offset.
void offset_write_tombstone(struct group_write *write, struct wire_string group, struct wire_string topic,
                            int32_t partition);

/// A record of key 0 or 1. @param producer_id  of the transaction that it is part of; -1: none
int offset_replay(struct group_shard *shard, int64_t producer_id, int16_t kind, const uint8_t *key, int32_t key_size,
                  int16_t value_version, const uint8_t *value, int32_t value_size);

// ---- offsets in transactions (offset_transactions.c) ----

/// An offset of a transaction that has not ended.
void offset_pending_add(struct group_shard *shard, int64_t producer_id, struct group *group, struct shard_topic *topic,
                        int32_t partition, const struct offset_value *value);

/// A plain commit came after: what is pending for that partition is no longer newer than what is committed.
///
/// @param is_tombstone  what is pending goes
void offset_pending_superseded(struct group *group, const struct shard_topic *topic, int32_t partition,
                               bool is_tombstone);

/// Whether a transaction that has not ended may change an offset. @param topic  the plain one
bool offset_is_pending(const struct group *group, const struct shard_topic *topic, int32_t partition);

struct group_tombstones;

/// Adds tombstones for what is pending in a group and not committed: a group that is deleted has no more to come.
void offset_write_pending_tombstones(struct group_tombstones *tombstones, int64_t now_ms);

void offset_transactions_free(struct group_shard *shard);

// ---- requests ----

void offset_commit_serve(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void offset_fetch_serve(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void offset_delete_serve(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void group_delete_serve(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);
void group_list_serve(struct group_shard *shard, struct group *of_none, struct group_request *request, int64_t now_ms);

// ---- between the files of the shard ----

/// Whether the answers to what came in one request take all the memory that they may: a group named a thousand times
/// would be answered a thousand times.
bool group_has_no_room(const struct group_request *request);

/// The id of a group.
static inline struct wire_string group_name(const struct group *group)
{
  return (struct wire_string){group->id, group->id_size};
}

/// Whether it has no members.
bool group_is_empty(const struct group *group);

/// Its protocol type; empty: none.
const char *group_protocol_type(const struct group *group);

/// Handles again what waits in a group, once nothing holds it up.
void group_wake(struct group *group, int64_t now_ms);

/// Ends all writes without replaying them.
void group_writes_stop(struct group_shard *shard, int16_t error);

/// Topics are gone: what the writes under way bring of them goes too, once they are done. Call it before
/// shard_delete_topics(). @param names  copied
void group_writes_note_gone(struct group_shard *shard, const char *const *names, int32_t count);

/// Deletes offsets of topics that are gone (shard_expiry.c).
void shard_delete_topics(struct group_shard *shard, const char *const *names, int32_t count, int64_t now_ms);

/// Says what is left to say of members that were thrown out (shard_removals.c).
void shard_removals_stop(struct group_shard *shard);

/// Begins the periodic look for expired offsets (shard_expiry.c).
void shard_expiry_start(struct group_shard *shard, int64_t now_ms);

/// Several writes of tombstones with one end.
struct group_tombstones;

/// Begins to delete things of a group. @param done  called once all writes are done, with the first error; may be NULL
struct group_tombstones *group_tombstones_new(struct group *group, group_written_fn done, void *arg);

/// The write to add the next tombstone to.
struct group_write *group_tombstones_write(struct group_tombstones *tombstones, int64_t now_ms);

/// The group.
struct group *group_tombstones_group(const struct group_tombstones *tombstones);

/// Adds the tombstones of all that a group has (shard_expiry.c).
void group_write_deletion(struct group_tombstones *tombstones, int64_t now_ms);

/// All were added; `tombstones` is taken.
void group_tombstones_submit(struct group_tombstones *tombstones, int64_t now_ms);
