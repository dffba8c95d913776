// SPDX-License-Identifier: Apache-2.0
//
// A fetch in six parts: fetch_session.c keeps which partitions a client reads and decides which of them a request is
// about, fetch.c reads them, waits and reads again, fetch_policy.c has runners take what policies want to see through
// them, fetch_convert.c has the pool convert what old clients get, both with fetch_made.c for their memory,
// fetch_response.c makes the answer. All of it belongs to one worker.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/uuid.h"
#include "event/pool.h"
#include "event/timer.h"
#include "network/answer_claim.h"
#include "replica/read.h"
#include "replica/watch.h"
#include "wire/types.h"

struct api;
struct api_client;
struct api_worker;
struct fetch;
struct fetch_conversion;
struct fetch_policy;
struct fetch_session;
struct metadata_image;
struct metadata_topic;
struct request;
struct wire_fetch_request;
struct wire_fetch_response;

/// What client.authorize has decided about a partition.
enum fetch_right { FETCH_RIGHT_OPEN, FETCH_RIGHT_GIVEN, FETCH_RIGHT_DENIED };

/// A partition that a client reads: of a session, or of one request without a session.
struct fetch_item {
  struct list link;            ///< in the set's `ready` or `idle` list
  struct watch watch;          ///< armed while idle, or while the fetch waits
  struct fetch_set *set;       ///< the set it is in
  struct uuid topic_id;        ///< from Fetch 13 on; zero before
  char *topic;                 ///< topic name up to Fetch 12, owned by the set; NULL after
  int32_t topic_length;        ///< bytes of it
  int32_t index;               ///< partition number
  enum fetch_right right;      ///< whether the client may read it
  int64_t offset;              ///< next offset wanted
  int32_t max_bytes;           ///< partition limit
  int32_t leader_epoch;        ///< as in struct partition_read
  int32_t last_fetched_epoch;  ///< as in struct partition_read
  int64_t sent_high_watermark; ///< what the last answer said; -1: none yet, or it was an error
  int64_t sent_log_start;      ///< the same

  // Of the evaluation under way.
  struct partition *part;     ///< referenced; NULL: not found
  struct partition_read read; ///< what was read
  int64_t visible_bytes;      ///< the partition's counter before it was read
  uint8_t *converted;         ///< owned: the records as policies left them, or in an old format, as many bytes as
                              ///< `read.slice` says; or NULL
  int16_t error;              ///< wire code
  bool needs_policy;          ///< its records go through policies
  bool is_visited;            ///< `read` and `error` are of this evaluation
  int32_t current_leader;     ///< with an error about leadership: who leads, -1 unknown
  int32_t current_epoch;      ///< and its epoch
};

/// Partitions by topic and number. Ready ones are looked at by the next fetch: they have data, an error, or changed.
struct fetch_set {
  struct list ready;         ///< struct fetch_item, in the order in which they are to be looked at
  struct list idle;          ///< nothing new there: the item's watch tells when there is
  struct fetch *fetch;       ///< the fetch under way, or NULL between the requests of a session
  struct fetch_item **slots; ///< hash table, owned
  uint32_t mask;             ///< slots minus one
  int32_t count;             ///< items
  int32_t removed;           ///< slots of removed items
  int64_t *total;            ///< the worker's count of items in sessions, or NULL
};

/// A region that has to be read from disk first.
struct fetch_cold {
  struct partition *part;    ///< referenced
  struct log_read_args args; ///< what to read
};

/// One Fetch request, in its arena.
struct fetch {
  struct request *req;           ///< the request
  struct fetch_session *session; ///< NULL: without a session
  struct fetch_set own;          ///< partitions of a fetch without a session
  struct fetch_set *set;         ///< the session's or `own`
  struct timer timer;            ///< the end of the wait
  struct list link;              ///< in the worker's list of waiting fetches
  struct pool_job job;           ///< brings cold data into the page cache
  struct fetch_cold *cold;       ///< what to bring, in the arena; the job's while it is under way
  int32_t cold_count;            ///< how many
  int32_t cold_rounds;           ///< times that was done
  /// Of an old client's answer, in the arena; NULL: none was begun
  struct fetch_conversion *conversion;
  struct fetch_policy *policy;  ///< the turns on runners, in the arena; NULL: none was begun
  struct wire_string client_id; ///< kept while it waits, where policies may ask for it; null: the request has it
  int64_t deadline_ms;          ///< monotonic end of the wait
  int64_t bytes;                ///< records found by the latest evaluation
  int64_t counted_bytes;        ///< the same for min_bytes: what a limit cut short counts as the limit
  int32_t min_bytes;            ///< as asked, at most max_bytes
  int32_t max_bytes;            ///< as asked, within fetch.max.bytes
  bool is_full;                 ///< every partition is answered, not only those with news
  bool is_committed;            ///< read_committed
  bool is_replica;              ///< asked in the name of a follower
  bool has_error;               ///< found by the latest evaluation, or a diverging epoch
  bool is_waiting;              ///< in the worker's list, timer running; never while it is loading
  bool is_loading;              ///< `job` is under way, or policies, or a conversion
  bool has_policy;              ///< found by the latest evaluation: records that go through policies
  bool is_ending;               ///< to be answered as soon as it is not loading any more
  _Atomic(bool) is_unwanted; ///< its connection has closed: a conversion gives up; set by the worker, read by the pool
};

struct fetch_sessions;

enum {
  FETCH_BATCH_VERSION = 4,      ///< first version with batches of format 2
  FETCH_POLICY_BYTES = 1 << 20, ///< of a partition's log go through policies at a time, or one batch
};

// ---- fetch_session.c ----

struct fetch_sessions *fetch_sessions_new(struct api_worker *worker);
void fetch_sessions_delete(struct fetch_sessions *sessions);

/// Closes the sessions of a connection that closed.
void fetch_sessions_client_closed(struct fetch_sessions *sessions, struct api_client *client);

/// Finds or makes what the request is about, as KIP-227 says, and applies the request's partitions to it.
///
/// @return 0, or the wire code that the whole request is answered with
int16_t fetch_session_begin(struct fetch *fetch, const struct wire_fetch_request *body);

/// Says what a Fetch needs to be allowed (api/authorize.h): its own partitions, and those of its session where nothing
/// has been decided, or by other functions than those in force.
void fetch_list_rights(struct request *req);

/// Notes in the partitions of a fetch what was decided.
void fetch_take_rights(struct fetch *fetch);

/// The fetch is answered: frees the partitions of one without a session, otherwise lets go of the session.
void fetch_session_end(struct fetch *fetch);

/// Partitions that a request names, forgotten ones too.
int64_t fetch_session_count(const struct wire_fetch_request *body);

int32_t fetch_session_id(const struct fetch_session *session);

// ---- fetch.c ----

/// Ends the wait of a fetch with what is there now.
void fetch_finish(struct fetch *fetch);

/// Sends the answer; the fetch is gone afterwards.
void fetch_send(struct fetch *fetch);

/// The topic of an item, by its name or id; NULL: there is none.
const struct metadata_topic *fetch_topic(const struct metadata_image *image, const struct fetch_item *item);

// ---- fetch_made.c ----

/// An answer that is made in memory. Embed it in what makes it, in the request's arena; the worker's.
struct fetch_made {
  struct answer_claim claim;              ///< memory for what is made
  struct fetch *fetch;                    ///< the request
  void (*begin)(struct fetch_made *made); ///< there is memory: makes it; fetch_made_send() ends that
  void (*drop)(struct fetch_made *made);  ///< it will not be made: frees what it would have been made of
  bool is_listed;                         ///< in the worker's list of waiting fetches, so that a drain finds it
};

/// Begins, now or once there are that many bytes of memory for it.
void fetch_made_start(struct fetch_made *made, int64_t bytes);

/// Nobody waits for it any more, or the server drains: it leaves the line for memory.
///
/// @return false: it was in none; otherwise the fetch is gone
bool fetch_made_leave(struct fetch_made *made);

/// Sends the answer; the fetch is gone afterwards.
void fetch_made_send(struct fetch_made *made);

/// Has a drain find the fetch while it waits for something else, and no more.
void fetch_made_list(struct fetch_made *made);
void fetch_made_unlist(struct fetch_made *made);

/// The size of the batch at the start of what was read; 0 when not even that is there, ERR_CORRUPT_BATCH. Any thread.
int64_t fetch_batch_size(const uint8_t *bytes, size_t size);

// ---- fetch_policy.c ----

/// Says whether records of a topic go through policies: those of views that choose, and of topics with
/// `transform_fetch`. Inside the epoch.
///
/// @param[out] is_needed  they do
/// @return 0, or a wire code: the view has just come or gone
int16_t fetch_policy_find(const struct api *api, const struct metadata_topic *topic, bool *is_needed);

/// Has runners take what the latest evaluation found through policies, once there is memory for it, then calls
/// fetch_send(). What old clients get is converted as well.
///
/// @return false: there is nothing to do, and the fetch goes on as without policies
bool fetch_policy(struct fetch *fetch);

/// As fetch_convert_leave().
void fetch_policy_leave(struct fetch *fetch);

// ---- fetch_convert.c ----

/// Has the pool convert what the latest evaluation found to the format of a client before FETCH_BATCH_VERSION, once
/// there is memory for it, then calls fetch_send().
///
/// @return false: there is nothing to convert, and fetch_send() is still to be called
bool fetch_convert(struct fetch *fetch);

/// Whether a topic (NULL: it has gone) is not for clients before FETCH_BATCH_VERSION: then the item has its error.
bool fetch_convert_refuse(const struct metadata_topic *topic, struct fetch_item *item);

/// Nobody waits for the answer any more, or the server drains: ends the wait for memory, if that is what it does; then
/// the fetch is gone.
void fetch_convert_leave(struct fetch *fetch);

// ---- fetch_response.c ----

/// Makes the answer of the latest evaluation, in the request's arena. Regions take over the files of the slices; the
/// slices keep their lengths.
struct wire_fetch_response *fetch_response_build(struct fetch *fetch);

/// Answers with an error for the whole request.
void fetch_respond_error(struct request *req, int16_t error);

/// Answers a request that is refused before its session is looked at: to version 12 every partition as it was asked for
/// has the error too, because the oldest versions have no other place for it.
void fetch_respond_refused(struct request *req, int16_t error);

/// Gives back what an evaluation of an item holds.
void fetch_item_release(struct fetch_item *item);
