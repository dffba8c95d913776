// SPDX-License-Identifier: Apache-2.0
//
// One partition of __consumer_offsets: its groups and their offsets, as a pure state machine. Time comes in as an
// argument; what is to be done goes out as lists: answers, and records to write. coordinator.c drives it on a worker
// with a real log; spec/sim drives it with a fake clock and writes that fail when it likes.
//
//   group_shard_handle(request) --> answers            taken with group_shard_take_answer()
//   group_shard_run_timers(now) --> records to write   taken with group_shard_take_write(), back with
//   group_shard_written(write)  --> answers, more ...  group_shard_written()
//                               --> searches           taken with group_shard_take_search(), group_search_run() on any
//                                                      thread, back with group_shard_searched()
//
// State that a record stands for changes when the record is written, not before, by the same function that reads it
// when the log is loaded: group_shard_replay(). So a write that fails has changed nothing. Writes are answered in the
// order in which they were taken. A group that must not be asked while a write of it is under way keeps its requests
// until it is back.
//
//   key of the request      body                                   response
//   JoinGroup               wire_join_group_request                wire_join_group_response
//   SyncGroup               wire_sync_group_request                wire_sync_group_response
//   Heartbeat               wire_heartbeat_request                 wire_heartbeat_response
//   LeaveGroup              wire_leave_group_request               wire_leave_group_response
//   OffsetCommit            wire_offset_commit_request             wire_offset_commit_response
//   OffsetFetch             wire_offset_fetch_request_group        wire_offset_fetch_response_group (of every version;
//                                                                  null topics: all that are committed)
//   OffsetDelete            wire_offset_delete_request             wire_offset_delete_response
//   DescribeGroups          NULL                                   wire_described_group (of DescribeGroups)
//   DeleteGroups            NULL                                   wire_deletable_group_result
//   ListGroups              wire_list_groups_request               wire_list_groups_response: the shard's part
//   ConsumerGroupHeartbeat  wire_consumer_group_heartbeat_request  wire_consumer_group_heartbeat_response
//   ConsumerGroupDescribe   NULL                                   its described group
//
// Owned by one thread at a time: the pool's while it is loaded, then its worker's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"

struct group_settings;
struct group_request;
struct group_search;
struct group_shard;
struct group_write;

/// What is set on a group, over the broker's configs.
struct group_consumer_settings {
  int32_t session_timeout_ms;     ///< consumer.session.timeout.ms
  int32_t heartbeat_interval_ms;  ///< consumer.heartbeat.interval.ms
  int32_t assignment_interval_ms; ///< consumer.assignment.interval.ms
};

/// Something that has happened to a group.
struct group_change {
  const char *group;  ///< its id, NUL-terminated; borrowed during the call
  const char *type;   ///< "classic" or "consumer"
  bool is_empty;      ///< its last member has left; otherwise it has another assignment
  int32_t generation; ///< of a classic group; of others the epoch of the assignment
  int32_t members;    ///< how many it has
};

/// What a shard asks about the world; the answers may differ from call to call.
struct group_shard_topics {
  void *arg; ///< first argument
  /// A topic's id and number of partitions by its name. @return false: there is none
  bool (*find)(void *arg, const char *name, int32_t length, struct uuid *id, int32_t *partitions);
  /// A topic's name and number of partitions by its id; `name` borrowed for the turn. @return false: there is none
  bool (*find_id)(void *arg, const struct uuid *id, const char **name, int32_t *length, int32_t *partitions);
  /// The name of the i-th topic, for regular expressions; borrowed for the turn. @return false: there are no more
  bool (*at)(void *arg, int32_t index, const char **name, int32_t *length);
  /// Rises when any topic or partition comes or goes, and at no other time.
  int64_t (*version)(void *arg);
  /// The configs of a consumer group; NULL: the shard's settings hold for all.
  void (*settings)(void *arg, const char *group, int32_t length, struct group_consumer_settings *out);
  /// The wall clock, ms since 1970, which may step: what is noted for years goes by it. NULL: the time of each call.
  int64_t (*wall_ms)(void *arg);
  /// Told of what has happened to a group, not of what is read while loading. NULL: nobody.
  void (*changed)(void *arg, const struct group_change *change);
};

/// Makes an empty shard.
///
/// @param index   partition of __consumer_offsets
/// @param config  borrowed; may change between calls
/// @param topics  copied
/// @param seed    of the member ids that it makes up: the same seed, the same ids
/// @return owned: group_shard_delete()
struct group_shard *group_shard_new(int32_t index, const struct group_settings *config,
                                    const struct group_shard_topics *topics, uint64_t seed);

/// Makes another empty shard with the same arguments, for a load that has to begin again. `shard` stays as it is.
struct group_shard *group_shard_again(struct group_shard *shard);

/// Frees it; nothing may wait in it any more (group_shard_stop()). NULL is fine.
void group_shard_delete(struct group_shard *shard);

/// A record of the partition, in the order of the log: while loading, and when a write is done.
///
/// @param producer_id  of the transaction that it is part of: it counts when that is committed; -1: it counts now
/// @param value  NULL: a tombstone
/// @return 0; ERR_UNSUPPORTED_VERSION (a record of a newer kind: left alone, said in the log once), ERR_TRUNCATED,
///         ERR_MALFORMED ... : the record is left out, the state is as before
int group_shard_replay(struct group_shard *shard, int64_t producer_id, const uint8_t *key, int32_t key_size,
                       const uint8_t *value, int32_t value_size);

/// A transaction's marker: its offsets count from now on, or never.
void group_shard_replay_end(struct group_shard *shard, int64_t producer_id, bool is_commit);

/// All records were read: members have their session timeout from now on.
void group_shard_loaded(struct group_shard *shard, int64_t now_ms);

/// Serves a request: it is answered now, or later. `request` is taken until it comes out of group_shard_take_answer().
void group_shard_handle(struct group_shard *shard, struct group_request *request, int64_t now_ms);

/// When group_shard_run_timers() has something to do; INT64_MAX: never.
int64_t group_shard_next_ms(const struct group_shard *shard);

/// Does what is due at `now_ms` (ms since 1970 by a clock that does not step).
void group_shard_run_timers(struct group_shard *shard, int64_t now_ms);

/// The topics changed (version() rose): groups whose subscriptions that touches rebalance.
void group_shard_topics_changed(struct group_shard *shard, int64_t now_ms);

/// Topics are gone: their offsets are deleted.
void group_shard_topics_deleted(struct group_shard *shard, const char *const *names, int32_t count, int64_t now_ms);

/// The next answered request, oldest first; NULL: no more.
struct group_request *group_shard_take_answer(struct group_shard *shard);

/// The next records to write, oldest first; NULL: no more. To be given back with group_shard_written(). Those of one
/// turn may be written as one batch.
struct group_write *group_shard_take_write(struct group_shard *shard);

/// A record of a write; everything is borrowed until group_shard_written(). @return false: there is no such
bool group_write_record(const struct group_write *write, int32_t index, const uint8_t **key, int32_t *key_size,
                        const uint8_t **value, int32_t *value_size);

/// A write is done or has failed. @param write  taken
/// @param error  enum wire_error as a client of the group is to see it; WIRE_NONE: it is safe
void group_shard_written(struct group_shard *shard, struct group_write *write, int16_t error, int64_t now_ms);

/// The next search of a group for the topics of its regular expressions, oldest first; NULL: no more. It is the
/// caller's until group_shard_searched() or, when the shard has been stopped or is gone, group_search_end(): the shard
/// goes on without it, and may end. In any order, as late as you like; a group has one at a time.
struct group_search *group_shard_take_search(struct group_shard *shard);

/// There is one to take.
bool group_shard_has_search(const struct group_shard *shard);

/// Searches, on any thread, by one at a time. What is not done within the budget is left to the next time: when it is
/// back, the shard gives it out again.
///
/// @param topics     of which `at` alone is called; the same topics until it returns
/// @param budget_ms  of processor time, after which no other expression is begun; 0: one expression
void group_search_run(struct group_search *search, const struct group_shard_topics *topics, int64_t budget_ms);

/// It has been run. @param search  taken
void group_shard_searched(struct group_shard *shard, struct group_search *search, int64_t now_ms);

/// The same for one whose shard has been stopped since, or is gone: it goes with its group, at once if that is gone. On
/// the thread of the shard. @param search  taken
void group_search_end(struct group_search *search);

/// How much a shard holds.
struct group_shard_counts {
  int64_t groups;  ///< groups, those with offsets alone among them
  int64_t offsets; ///< committed offsets
};

void group_shard_count(const struct group_shard *shard, struct group_shard_counts *counts);

/// The shard ends here: answers all that waits with `error`, and all that still comes. Writes under way come back first
/// or not at all.
void group_shard_stop(struct group_shard *shard, int16_t error);

/// Writes what records say about a group into `text` (cut at `size`, NUL-terminated): the same for the same state, so
/// that a shard that was loaded can be compared with the one that wrote. For specs and gdb.
///
/// @return characters that it takes, as snprintf() does; 0: there is no such group
int group_shard_dump(struct group_shard *shard, const char *id, char *text, size_t size);

/// The ids of its groups, sorted, each with a line end, in the same way.
int group_shard_dump_ids(const struct group_shard *shard, char *text, size_t size);
