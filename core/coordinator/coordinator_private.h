// SPDX-License-Identifier: Apache-2.0
//
// A coordinator's workers and their shards, for coordinator*.c. A shard's entry belongs to its worker; while it is
// loaded, `shard` and `load` belong to the pool.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/uuid.h"
#include "coordinator/coordinator.h"
#include "coordinator/group_settings.h"
#include "coordinator/shard.h"
#include "event/mail.h"
#include "event/pool.h"
#include "event/timer.h"
#include "record/build.h"
#include "replica/append.h"

struct partition;

enum coordinator_state {
  COORDINATOR_LOADING, ///< the pool reads its log
  COORDINATOR_READY,   ///< it serves
  COORDINATOR_FAILED,  ///< its log could not be read: tried again
  COORDINATOR_ENDED,   ///< led here no more; keeps its place while something is under way
};

/// What a load found, for the log and for metrics.
struct coordinator_load {
  int64_t records;     ///< records that were read
  int64_t left_out;    ///< records and batches that made no sense
  int64_t duration_ms; ///< how long it took
  int result;          ///< 0, ERR_*: the log could not be read
};

/// One partition of __consumer_offsets that this broker leads.
struct coordinator_shard {
  struct coordinator_worker *worker; ///< whose it is
  int32_t index;                     ///< partition
  enum coordinator_state state;      ///< what it is at
  struct uuid topic_id;              ///< of the topic as it was when this was made
  int32_t leader_epoch;              ///< likewise: what is written under another one fails
  bool has_next;                     ///< it has ended, and another one comes when its place is free
  struct partition *part;            ///< its log; one reference
  struct group_settings config;      ///< what `shard` goes by
  struct group_shard *shard;         ///< owned
  struct timer timer;                ///< the shard's next timer; of a failed one: the next try
  int64_t timer_ms;                  ///< what `timer` is set to, in the shard's time; INT64_MAX: it is not
  struct list dirty;                 ///< in the worker's list: there may be answers, or something to write
  struct list searcher;              ///< in the worker's list: there are searches to run

  struct group_shard_counts counted; ///< what the worker's counters have of it

  struct append_job job;       ///< the batch that is being written
  bool is_writing;             ///< there is one
  bool is_in_doubt;            ///< one was refused, but is in the log: loaded anew at the end of the turn
  struct batch_builder batch;  ///< makes it
  struct group_write **writes; ///< what it is made of, oldest first; owned array
  int32_t write_count;         ///< how many
  int32_t write_room;          ///< slots
  struct group_write *carry;   ///< taken, but there was no room left in the batch

  struct pool_job load_job;        ///< the load's turn on the pool
  struct coordinator_load load;    ///< what it found
  bool is_loading;                 ///< the pool has it
  bool has_load_failed;            ///< the log says so
  _Atomic(bool) is_load_cancelled; ///< nobody wants it any more
  char **deleted;                  ///< topics that went meanwhile; owned
  int32_t deleted_count;           ///< how many
};

/// A search for the topics of expressions, on the pool. A worker has one there at a time.
struct coordinator_search {
  struct pool_job job;             ///< its turn on the pool
  struct group_search *search;     ///< NULL: none is there. The pool's until it is back
  struct coordinator_shard *entry; ///< whose it is; NULL: that has ended meanwhile
};

/// What a worker's shards did. Written by the worker alone (base/metrics.h).
struct coordinator_counters {
  _Atomic(int64_t) shards;        ///< shards that serve
  _Atomic(int64_t) loading;       ///< shards that are loaded
  _Atomic(int64_t) groups;        ///< groups in them
  _Atomic(int64_t) offsets;       ///< committed offsets
  _Atomic(int64_t) requests;      ///< requests that were handled
  _Atomic(int64_t) batches;       ///< batches that were written
  _Atomic(int64_t) records;       ///< records in them
  _Atomic(int64_t) failed_writes; ///< batches that could not be written
  _Atomic(int64_t) loaded;        ///< records that were loaded
  _Atomic(int64_t) load_ms;       ///< how long loads took, added up
};

/// One worker's part; owned by its thread.
struct coordinator_worker {
  struct coordinator *coordinator;      ///< borrowed
  struct event_loop *loop;              ///< its loop
  int index;                            ///< its number
  struct coordinator_shard **shards;    ///< those of partitions index, index + workers ...; NULL: not led here. Owned
  int32_t shard_count;                  ///< places
  struct list dirty;                    ///< shards that may have something to give out
  struct list searchers;                ///< shards that have searches to run, in turn
  struct coordinator_search search;     ///< the one that the pool has
  const struct metadata_image *image;   ///< what was looked at last; one reference, NULL: none yet
  _Atomic(int64_t) topics_version;      ///< rises when a topic or partition comes or goes
  int64_t clock_ms;                     ///< the shards' time: see coordinator_now_ms()
  int64_t clock_mono_ms;                ///< monotonic time when that was told
  int32_t load_count;                   ///< shards that are loaded now
  int64_t load_since_ms;                ///< monotonic time since when there are such
  int64_t load_records;                 ///< records that they had
  struct mail look_mail;                ///< there is a new image
  _Atomic(bool) is_look_posted;         ///< `look_mail` is on its way
  bool is_draining;                     ///< nothing waits any more
  struct coordinator_counters counters; ///< what it did
};

struct coordinator {
  struct coordinator_options options;  ///< as given
  struct coordinator_worker workers[]; ///< one for each
};

/// The shards' time: ms since 1970, but steady: it follows steps of the wall clock slowly, so that none of them ends
/// sessions or keeps them for ever. On the worker, in a turn.
int64_t coordinator_now_ms(struct coordinator_worker *worker);

/// Sends an answer home; `done` runs in a turn of its own.
void coordinator_send_back(struct group_request *request);

/// The shard's entry has something to give out at the end of the turn.
void coordinator_mark(struct coordinator_shard *entry);

/// Gives out answers, and writes what is to be written (coordinator_write.c). On the worker.
void coordinator_flush(struct coordinator_shard *entry);

/// What was under way for an entry that has ended is over: it gives its place to what the image has there.
void coordinator_settled(struct coordinator_shard *entry);

/// Ends a shard that is no more what its log says, and loads it anew.
void coordinator_load_anew(struct coordinator_shard *entry);

/// Frees an entry; nothing is under way.
void coordinator_free(struct coordinator_shard *entry);

/// Starts to load a shard (coordinator_load.c). On the worker.
void coordinator_load_start(struct coordinator_shard *entry);

/// Topics went while it is loaded: it is told afterwards. @param names  copied
void coordinator_load_deleted(struct coordinator_shard *entry, const char *const *names, int32_t count);

/// What coordinator_load_deleted() noted is done, or no longer wanted.
void coordinator_load_forget(struct coordinator_shard *entry);

/// Has the pool run the next search, unless it has one of this worker (coordinator_search.c). On the worker.
void coordinator_search_next(struct coordinator_worker *worker);

/// Has the shard take its turn, if it has searches to run.
void coordinator_search_mark(struct coordinator_shard *entry);

/// The shard is no more: nobody wants what is searched for.
void coordinator_search_forget(struct coordinator_shard *entry);

/// Gives a shard the configuration of an image. On the worker, not while it is loaded.
void coordinator_configure(struct coordinator_shard *entry, const struct metadata_image *image);

/// What shards ask about topics (coordinator_topics.c). @param arg  a worker
void coordinator_topics(struct coordinator_worker *arg, struct group_shard_topics *topics);

/// Compares the worker's image with a newer one: tells shards what came and went. On the worker.
void coordinator_compare_topics(struct coordinator_worker *worker, const struct metadata_image *old,
                                const struct metadata_image *image);
