// SPDX-License-Identifier: Apache-2.0
//
// Fetch, versions 0 to 18: records from partitions led here, straight from their files, but for versions 0 to 3 and
// where policies have a say.
//
//   begin -> evaluate -> enough, or an error? -> (policies, fetch_policy.c; to version 3: the pool converts,
//               ^   |                             fetch_convert.c) -> answer
//               ^   `-> cold data? -> pool reads it ahead -.
//               |----------------------------------------- '
//               `-- wait: a watch fires or time is up
//
// An evaluation looks at ready partitions only. In a session, one that has nothing new is moved to the idle list and
// watched; the watch makes it ready again, in the middle of a wait or between two requests. Every evaluation starts
// from nothing: what an earlier one found is given back before the fetch waits, so a waiting fetch holds no file.
//
// Rules: the first partition with data gives at least one whole batch, whatever the limits (KIP-74; not to version 2);
// an error, or a diverging epoch, ends the wait; a wait ends with what is there.
#include <string.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/errors.h"
#include "api/fetch_private.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/error.h"
#include "event/loop.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "network/frame.h"
#include "os/clock.h"
#include "policy/policy.h"
#include "replica/manager.h"
#include "wire/error_codes.h"
#include "wire/fetch.h"

enum {
  FETCH_COLD_ROUNDS = 3, // read-aheads before what is still cold is left to the next fetch
  FETCH_LAST_ROUND = 6,  // read-aheads, where nothing else was found, before data is sent as it is
  FETCH_COLD_MAX = 64,   // regions that one read-ahead brings
  FETCH_SHARED_MAX = 16, // partitions among which a wait for several bytes is shared out

  FETCH_WHOLE_BATCH_VERSION = 3, // first version that is given a batch beyond its limits
};

enum fetch_result {
  FETCH_VISITED, // the item's error and slice are filled in
  FETCH_COLD,    // it has to be read on the pool first
};

static void fetch_run(struct fetch *fetch);
static void fetch_look_again(struct timer *timer);

const struct metadata_topic *fetch_topic(const struct metadata_image *image, const struct fetch_item *item)
{
  return item->topic != NULL ? metadata_image_topic(image, item->topic, (size_t)item->topic_length)
                             : metadata_image_topic_by_id(image, &item->topic_id);
}

/// Finds the partition of an item; sets its error when it cannot be read here.
static void fetch_find(struct fetch *fetch, const struct metadata_image *image, struct fetch_item *item)
{
  struct api *api = fetch->req->api;
  item->error = WIRE_NONE;
  item->current_leader = -1;
  item->current_epoch = -1;
  const struct metadata_topic *topic = fetch_topic(image, item);
  if (fetch->req->authorize != NULL && item->right != FETCH_RIGHT_GIVEN) {
    // Of a topic that was not there when it was asked about, nothing is known yet.
    bool is_denied = item->right == FETCH_RIGHT_DENIED;
    item->error = is_denied             ? WIRE_TOPIC_AUTHORIZATION_FAILED
                  : item->topic == NULL ? WIRE_UNKNOWN_TOPIC_ID
                                        : WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    return;
  }
  if (topic == NULL) {
    item->error = item->topic == NULL ? WIRE_UNKNOWN_TOPIC_ID : WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    return;
  }
  const struct metadata_partition *known = metadata_topic_partition(topic, item->index);
  if (known == NULL) {
    item->error = WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    return;
  }
  struct partition *part = replica_manager_find(api->replicas, metadata_topic_log_id(topic), item->index);
  if (part == NULL || fetch->is_replica) {
    item->error = WIRE_NOT_LEADER_OR_FOLLOWER;
    item->current_leader = known->leader;
    item->current_epoch = known->leader_epoch;
    return;
  }
  item->error = fetch_policy_find(api, topic, &item->needs_policy);
  if (item->error != WIRE_NONE) {
    return;
  }
  item->part = partition_ref(part);
}

/// Reads one partition within what is left of the limits.
static enum fetch_result fetch_read(struct fetch *fetch, struct fetch_item *item, int64_t *left_bytes)
{
  struct partition_read *read = &item->read;
  memset(read, 0, sizeof *read);
  int64_t limit = item->max_bytes < *left_bytes ? item->max_bytes : *left_bytes;
  if (limit < 0) {
    // Kafka's answer to a negative limit; the rest of the request goes on with nothing left.
    item->error = WIRE_UNKNOWN_SERVER_ERROR;
    *left_bytes = *left_bytes < 0 ? 0 : *left_bytes;
    return FETCH_VISITED;
  }
  if (item->needs_policy && limit > FETCH_POLICY_BYTES) {
    limit = FETCH_POLICY_BYTES;
  }
  item->visible_bytes = atomic_load(&item->part->visible_bytes);
  read->offset = item->offset;
  read->leader_epoch = item->leader_epoch;
  read->last_fetched_epoch = item->last_fetched_epoch;
  read->max_bytes = (int32_t)limit;
  read->whole_first_batch = fetch->bytes == 0 && fetch->req->version >= FETCH_WHOLE_BATCH_VERSION;
  read->is_committed = fetch->is_committed;
  int result = partition_read(item->part, read);
  if (result == ERR_AGAIN) {
    return FETCH_COLD;
  }
  if (result < 0) {
    item->error = api_wire_error(result);
    if (result == ERR_NOT_LEADER || result == ERR_FENCED_LEADER_EPOCH) {
      item->current_leader = result == ERR_NOT_LEADER ? -1 : fetch->req->api->broker_id;
      item->current_epoch = read->state.leader_epoch;
    }
    return FETCH_VISITED;
  }
  fetch->has_error = fetch->has_error || read->diverging_epoch >= 0;
  if (read->slice.length > 0 && fetch->cold_rounds < FETCH_LAST_ROUND && !log_slice_probe(&read->slice)) {
    return FETCH_COLD;
  }
  fetch->bytes += read->slice.length;
  fetch->has_policy = fetch->has_policy || (item->needs_policy && read->slice.length > 0);
  fetch->counted_bytes += read->slice.is_cut && limit > read->slice.length ? limit : read->slice.length;
  *left_bytes = read->slice.length < *left_bytes ? *left_bytes - read->slice.length : 0;
  return FETCH_VISITED;
}

/// Gives back what an evaluation found.
static void fetch_release(struct fetch *fetch)
{
  LIST_EACH(&fetch->set->ready, node) {
    fetch_item_release(CONTAINER_OF(node, struct fetch_item, link));
  }
}

static void fetch_move(struct fetch_item *item, struct list *list)
{
  list_remove(&item->link);
  list_append(list, &item->link);
}

/// A watched partition has news: it is ready, and a fetch that waits looks again.
static void fetch_watch_fired(struct watch *watch)
{
  struct fetch_item *item = CONTAINER_OF(watch, struct fetch_item, watch);
  struct fetch *fetch = item->set->fetch;
  fetch_move(item, &item->set->ready);
  if (fetch == NULL || !fetch->is_waiting) {
    return;
  }
  if (fetch->set->count == 1) {
    fetch_run(fetch);
  } else {
    // Several partitions may have news in this turn: one look at them all, at its end.
    timer_start(fetch->req->worker->loop, &fetch->timer, 0, fetch_look_again);
  }
}

/// Watches a visited item until `more` bytes have come beyond those it had when it was read; false when they have.
static bool fetch_watch(struct fetch *fetch, struct fetch_item *item, int64_t more)
{
  watch_disarm(&item->watch);
  return !watch_arm(&item->watch, item->part, fetch->req->worker->index, item->visible_bytes + more, fetch_watch_fired);
}

/// True when the latest evaluation read an item's partition to its end. One whose records did not fit into the answer
/// has news.
static bool fetch_has_no_news(const struct fetch_item *item)
{
  const struct partition_state *state = &item->read.state;
  int64_t end_offset = item->read.is_committed ? state->last_stable_offset : state->high_watermark;
  return item->is_visited && item->error == WIRE_NONE && item->read.slice.length == 0 &&
         item->read.diverging_epoch < 0 && item->offset >= end_offset;
}

static void fetch_drop_cold(struct fetch *fetch)
{
  while (fetch->cold_count > 0) {
    partition_unref(fetch->cold[--fetch->cold_count].part);
  }
}

static void fetch_stop_waiting(struct fetch *fetch)
{
  if (fetch->is_waiting) {
    timer_stop(fetch->req->worker->loop, &fetch->timer);
    fetch->is_waiting = false;
    list_remove(&fetch->link);
  }
}

static void fetch_load_work(struct pool_job *job)
{
  struct fetch *fetch = CONTAINER_OF(job, struct fetch, job);
  for (int32_t i = 0; i < fetch->cold_count; i++) {
    partition_load(fetch->cold[i].part, &fetch->cold[i].args);
  }
}

static void fetch_load_done(struct pool_job *job)
{
  struct fetch *fetch = CONTAINER_OF(job, struct fetch, job);
  fetch_drop_cold(fetch);
  fetch->is_loading = false;
  fetch_run(fetch);
}

/// Has the pool read ahead what the latest evaluation found cold; then it is evaluated again.
static void fetch_load(struct fetch *fetch)
{
  fetch_stop_waiting(fetch);
  fetch_release(fetch);
  fetch->is_loading = true;
  fetch->cold_rounds++;
  pool_submit(fetch->req->api->pool, &fetch->job, fetch_load_work, fetch->req->worker->loop, fetch_load_done);
}

/// Notes what an item needs from the disk; beyond FETCH_COLD_MAX the next round has it.
static void fetch_note_cold(struct fetch *fetch, struct fetch_item *item)
{
  if (fetch->cold == NULL) {
    fetch->cold = request_array(fetch->req, FETCH_COLD_MAX, sizeof *fetch->cold);
  }
  if (fetch->cold_count < FETCH_COLD_MAX) {
    struct fetch_cold *cold = &fetch->cold[fetch->cold_count++];
    cold->part = partition_ref(item->part);
    partition_read_args(&item->read, &cold->args);
  }
}

/// Looks at every ready partition; fills in bytes, has_error and the items.
static void fetch_evaluate(struct fetch *fetch)
{
  const struct metadata_image *image = metadata_cache_get(fetch->req->api->metadata);
  fetch->bytes = 0;
  fetch->counted_bytes = 0;
  fetch->has_error = false;
  fetch->has_policy = false;
  int64_t left_bytes = fetch->max_bytes;
  LIST_EACH(&fetch->set->ready, node) {
    struct fetch_item *item = CONTAINER_OF(node, struct fetch_item, link);
    fetch_item_release(item);
    fetch_find(fetch, image, item);
    if (item->error == WIRE_NONE && fetch_read(fetch, item, &left_bytes) == FETCH_COLD) {
      fetch_note_cold(fetch, item);
      log_slice_release(&item->read.slice);
      continue; // not visited: it stays ready
    }
    item->is_visited = true;
    fetch->has_error = fetch->has_error || item->error != WIRE_NONE;
  }
}

/// Watches what was looked at. Few partitions are each given a share of the missing bytes: when all of those have come,
/// one partition has its share. Otherwise any byte wakes, and in a session partitions without news become idle, so that
/// the next evaluation passes them by.
///
/// @return false when there is news already: evaluate again
static bool fetch_watch_all(struct fetch *fetch)
{
  int64_t missing = fetch->min_bytes - fetch->counted_bytes;
  int32_t count = fetch->set->count;
  int64_t share = count <= FETCH_SHARED_MAX ? (missing + count - 1) / count : 1;
  LIST_EACH_SAFE(&fetch->set->ready, node) {
    struct fetch_item *item = CONTAINER_OF(node, struct fetch_item, link);
    if (!item->is_visited || item->part == NULL) {
      continue;
    }
    if (!fetch_watch(fetch, item, share)) {
      return false;
    }
    if (share == 1 && !fetch->is_full && fetch_has_no_news(item)) {
      fetch_item_release(item);
      fetch_move(item, &fetch->set->idle);
    }
  }
  return true;
}

/// The timer of a waiting fetch: its time is up, or there is news.
static void fetch_look_again(struct timer *timer)
{
  fetch_run(CONTAINER_OF(timer, struct fetch, timer));
}

static void fetch_wait(struct fetch *fetch, int64_t delay_ms)
{
  struct request *req = fetch->req;
  if (!fetch->is_waiting) {
    fetch->is_waiting = true;
    list_append(&req->worker->waiting, &fetch->link);
    // Nothing of the request's bytes is needed any more, and a wait may be long.
    if (req->client_id.length > 0 && req->api->policies != NULL && policy_cache_get(req->api->policies) != NULL) {
      fetch->client_id = (struct wire_string){request_string(req, req->client_id), req->client_id.length};
    }
    if (!req->is_traced) {
      req->client_id = (struct wire_string){NULL, -1}; // of a traced one it is a copy
    }
    frame_drop_bytes(req->frame);
  }
  timer_start(req->worker->loop, &fetch->timer, delay_ms, fetch_look_again);
}

/// What stays of a session: partitions without news are watched until they have some; those that gave data go behind
/// the others, so that all get their turn.
static void fetch_settle(struct fetch *fetch)
{
  struct list with_data;
  list_create(&with_data);
  LIST_EACH_SAFE(&fetch->set->ready, node) {
    struct fetch_item *item = CONTAINER_OF(node, struct fetch_item, link);
    if (item->is_visited && item->read.slice.length > 0) {
      fetch_move(item, &with_data);
    } else if (fetch_has_no_news(item) && fetch_watch(fetch, item, 1)) {
      fetch_item_release(item);
      fetch_move(item, &fetch->set->idle);
    }
  }
  while (!list_is_empty(&with_data)) {
    fetch_move(CONTAINER_OF(with_data.next, struct fetch_item, link), &fetch->set->ready);
  }
}

void fetch_send(struct fetch *fetch)
{
  struct request *req = fetch->req;
  struct wire_fetch_response *response = fetch_response_build(fetch);
  if (fetch->session != NULL) {
    fetch_settle(fetch);
  }
  fetch_release(fetch);
  fetch_session_end(fetch);
  request_respond(req, response);
}

/// Ends the evaluations; the fetch is gone afterwards, or it will be once what it found is converted.
static void fetch_answer(struct fetch *fetch, bool is_gone)
{
  fetch_stop_waiting(fetch);
  bool is_old = fetch->req->version < FETCH_BATCH_VERSION;
  if (is_gone && (is_old || fetch->has_policy)) {
    fetch_release(fetch); // nobody waits for it, or the pool is about to end
  } else if (!is_gone && ((fetch->has_policy && fetch_policy(fetch)) || (is_old && fetch_convert(fetch)))) {
    return;
  }
  fetch_send(fetch);
}

void fetch_finish(struct fetch *fetch)
{
  fetch->is_ending = true;
  if (!fetch->is_loading) {
    fetch_run(fetch);
  } else if (fetch->policy != NULL) {
    fetch_policy_leave(fetch);
  } else if (fetch->conversion != NULL) {
    fetch_convert_leave(fetch);
  }
}

/// What is cold is read ahead while there is time; after that only if there is nothing else to answer with.
static bool fetch_wants_load(const struct fetch *fetch, bool is_last)
{
  if (fetch->cold_count == 0 || (fetch->is_ending && fetch->bytes > 0)) {
    return false;
  }
  return fetch->cold_rounds < (is_last && fetch->bytes == 0 ? FETCH_LAST_ROUND : FETCH_COLD_ROUNDS);
}

static void fetch_run(struct fetch *fetch)
{
  struct api_worker *worker = fetch->req->worker;
  int64_t now_ms = clock_mono_ms();
  fetch_evaluate(fetch);
  bool is_gone = fetch->req->client == NULL || worker->is_draining;
  bool is_enough = fetch->counted_bytes >= fetch->min_bytes || fetch->has_error || fetch->set->count == 0;
  bool is_last =
      is_enough || fetch->is_ending || now_ms >= fetch->deadline_ms || fetch->cold_rounds >= FETCH_COLD_ROUNDS;
  if (!is_gone && fetch_wants_load(fetch, is_last)) {
    fetch_load(fetch);
    return;
  }
  fetch_drop_cold(fetch);
  if (is_gone || is_enough || fetch->is_ending || now_ms >= fetch->deadline_ms) {
    fetch_answer(fetch, is_gone);
    return;
  }
  bool is_quiet = fetch_watch_all(fetch);
  fetch_release(fetch);
  // With news already, the others on this worker have their turn first.
  fetch_wait(fetch, is_quiet ? fetch->deadline_ms - now_ms : 0);
}

static void fetch_cancel(struct request *req)
{
  struct fetch *fetch = req->state;
  atomic_store_explicit(&fetch->is_unwanted, true, memory_order_relaxed);
  fetch_finish(fetch);
}

void fetch_handle(struct request *req)
{
  const struct wire_fetch_request *body = req->body;
  if (body->isolation_level != 0 && body->isolation_level != 1) {
    fetch_respond_refused(req, WIRE_UNKNOWN_SERVER_ERROR); // as Kafka does
    return;
  }
  if (!request_check_count(req, body->topics_count) || !request_check_count(req, fetch_session_count(body))) {
    return;
  }
  // What was acknowledged before this request was sent is to be seen by it, and a session hears of it by mail.
  event_loop_run_mails(req->worker->loop);
  struct fetch *fetch = arena_zalloc(&req->arena, sizeof *fetch);
  req->state = fetch;
  fetch->req = req;
  fetch->client_id.length = -1;
  fetch->is_committed = body->isolation_level == 1;
  fetch->is_replica = (req->version >= 15 ? body->replica_state.replica_id : body->replica_id) >= 0;
  int32_t limit = api_config(req->api)->fetch_max_bytes;
  fetch->max_bytes = body->max_bytes < limit ? body->max_bytes : limit;
  fetch->min_bytes = body->min_bytes < fetch->max_bytes ? body->min_bytes : fetch->max_bytes;
  fetch->deadline_ms = clock_mono_ms() + (body->max_wait_ms > 0 ? body->max_wait_ms : 0);
  int16_t error = fetch_session_begin(fetch, body);
  if (error != WIRE_NONE) {
    fetch_respond_error(req, error);
    return;
  }
  if (req->authorize != NULL) {
    fetch_take_rights(fetch);
  }
  req->cancel = fetch_cancel;
  fetch_run(fetch);
}

void fetch_start(struct api_worker *worker)
{
  worker->sessions = fetch_sessions_new(worker);
}

void fetch_client_closed(struct api_worker *worker, struct api_client *client)
{
  fetch_sessions_client_closed(worker->sessions, client);
}

void fetch_drain(struct api_worker *worker)
{
  worker->is_draining = true;
  while (!list_is_empty(&worker->waiting)) {
    fetch_finish(CONTAINER_OF(worker->waiting.next, struct fetch, link));
  }
}

void fetch_stop(struct api_worker *worker)
{
  fetch_sessions_delete(worker->sessions);
}
