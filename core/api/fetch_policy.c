// SPDX-License-Identifier: Apache-2.0
//
// Fetches of views, and of topics with `transform_fetch`: what was found is not sent from the files, but goes through
// the policies first, on the runner of the partition's home, and is sent from memory.
//
//   worker: fetch_policy() takes the slices, and memory -> runner of each partition: read, policies -> mail
//                                                                       worker: fetch_send() <- the last one
//
// Clients of formats 0 and 1 get them from the same jobs: where one partition of such a fetch needs policies, the
// others go that way too, so that there is one bound of memory and one turn.
//
// What this takes is bounded: a partition gives at most FETCH_POLICY_BYTES of its log at a time (or one batch), what
// comes of them is about as large at most, or twice that and POLICY_FETCH_MADE_BYTES where a function makes records
// larger, and all answers together take their memory before they are made. A
// partition whose policy fails has an error that consumers report: POLICY_VIOLATION, or TOPIC_AUTHORIZATION_FAILED
// where the policy refuses the client. Some of those ask again at once, for ever, so an answer with nothing else is
// held back for as long as the client would have waited for records, within FETCH_FAILED_MS. A job that never comes
// back (policy/runner.h) keeps what it has: nothing in it belongs to the request.
#include <string.h>

#include "api/api.h"
#include "api/errors.h"
#include "api/fetch_private.h"
#include "api/hooks.h"
#include "api/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "event/loop.h"
#include "log/log.h"
#include "metadata/image.h"
#include "network/frame.h"
#include "os/clock.h"
#include "os/file.h"
#include "policy/fetch.h"
#include "policy/policy.h"
#include "policy/runner.h"
#include "record/batch.h"
#include "replica/manager.h"
#include "wire/error_codes.h"

enum {
  FETCH_FORMAT = 2,               // what is stored
  FETCH_TIMESTAMP_VERSION = 2,    // first version with messages of format 1
  FETCH_FAILED_MS = 500,          // from the begin of the turns; who waits for a hung policy has waited for longer
  FETCH_CHUNK_BYTES = 256 * 1024, // read at a time, unless a batch is larger
};

/// A partition's turn, on the heap of its own.
struct fetch_policy_part {
  struct policy_job job;       ///< the turn
  struct fetch_policy *all;    ///< of the request; for the worker, until `done`
  struct fetch_item *item;     ///< whose they are; likewise
  int32_t place;               ///< in `all->parts`; likewise
  struct log_slice slice;      ///< what to read, owned
  struct policy_fetch records; ///< the way through the policies
  struct policy_client client; ///< who fetches
  struct record_buffer raw;    ///< bytes read
  struct arena arena;          ///< for texts
  const char *view;            ///< name of the view; NULL: the topic itself is read
  int result;                  ///< out: 0, or why there is nothing
  _Atomic(int) ends;           ///< of an abandoned one: `done` and `returned` both come, and the later one frees it
  _Atomic(bool) is_unwanted;   ///< nobody waits for it any more
};

/// The turns of one request, in its arena.
struct fetch_policy {
  struct fetch_made made;           ///< memory for what is made, and the request
  struct fetch_policy_part **parts; ///< NULL: done
  int32_t count;                    ///< how many
  int32_t pending;                  ///< not done yet
  int64_t until_ms;                 ///< monotonic time until which an answer of errors alone is held back
  bool has_failed;                  ///< a policy failed
  bool is_held;                     ///< it is being held back
};

// --- which fetches
// -----------------------------------------------------------------------------------------------------

int16_t fetch_policy_find(const struct api *api, const struct metadata_topic *topic, bool *is_needed)
{
  const struct policy_set *set = api->policies == NULL ? NULL : policy_cache_get(api->policies);
  *is_needed = false;
  if (set == NULL) {
    return topic->source == NULL ? WIRE_NONE : WIRE_UNKNOWN_TOPIC_OR_PARTITION;
  }
  if (topic->source != NULL) {
    const struct policy_view *view = policy_set_view(set, topic->name, (size_t)topic->name_length);
    if (view == NULL || strcmp(view->from, topic->source->name) != 0) {
      return WIRE_UNKNOWN_TOPIC_OR_PARTITION; // a reload is under way
    }
    *is_needed = view->where != NULL;
    topic = topic->source;
  }
  const struct policy_topic *policies = policy_set_topic(set, topic->name, (size_t)topic->name_length);
  *is_needed = *is_needed || (policies != NULL && policies->transform_fetch != NULL);
  return WIRE_NONE;
}

// --- on the runner
// -----------------------------------------------------------------------------------------------------

/// Looks up what holds now.
static int part_find_policies(struct fetch_policy_part *part, const struct policy_set *set, struct policy_vm *vm)
{
  struct policy_fetch *records = &part->records;
  if (part->view != NULL) {
    const struct policy_view *view = policy_set_view(set, part->view, strlen(part->view));
    if (view == NULL || strcmp(view->from, records->topic) != 0) {
      return error_set(ERR_NOT_FOUND, "there is no view %s of %s", part->view, records->topic);
    }
    records->where = view->where;
  }
  const struct policy_topic *policies = policy_set_topic(set, records->topic, strlen(records->topic));
  records->transform = policies != NULL ? policies->transform_fetch : NULL;
  records->vm = vm;
  return vm == NULL && (records->where != NULL || records->transform != NULL) ? ERR_SCRIPT : 0;
}

/// Has the whole batches at `bytes` go through the policies.
///
/// @param[out] done  bytes of those
/// @return 1 to go on behind them, 0 when the answer ends here, ERR_*
static int part_take_chunk(struct fetch_policy_part *part, const uint8_t *bytes, size_t size, size_t *done)
{
  size_t at = 0;
  int64_t batch_bytes;
  while ((batch_bytes = fetch_batch_size(bytes + at, size - at)) > 0 && (size_t)batch_bytes <= size - at) {
    if (atomic_load_explicit(&part->is_unwanted, memory_order_relaxed)) {
      return 0;
    }
    int more = policy_fetch_batch(&part->records, bytes + at, (size_t)batch_bytes);
    if (more <= 0) {
      return more;
    }
    at += (size_t)batch_bytes;
  }
  *done = at;
  return batch_bytes < 0 ? error_set(ERR_CORRUPT_BATCH, "a stored batch has an impossible size") : 1;
}

/// Reads the slice piece by piece.
static int part_take_slice(struct fetch_policy_part *part)
{
  int64_t pos = part->slice.pos;
  int64_t left = part->slice.length;
  int64_t wanted = FETCH_CHUNK_BYTES;
  while (left > 0) {
    size_t size = (size_t)(wanted < left ? wanted : left);
    record_buffer_reset(&part->raw, (size_t)part->slice.length);
    TRY(record_buffer_reserve(&part->raw, size));
    TRY(file_read_at(log_file_fd(part->slice.file), part->raw.bytes, size, pos));
    size_t done = 0;
    int more = part_take_chunk(part, part->raw.bytes, size, &done);
    if (more <= 0) {
      return more;
    }
    pos += (int64_t)done;
    left -= (int64_t)done;
    wanted = FETCH_CHUNK_BYTES;
    if (done == 0) {
      wanted = fetch_batch_size(part->raw.bytes, size);
      if (wanted == 0 || wanted > left) {
        break; // a piece of a batch
      }
    }
  }
  return 0;
}

static void part_run(struct policy_job *job, const struct policy_set *set, struct policy_vm *vm)
{
  struct fetch_policy_part *part = CONTAINER_OF(job, struct fetch_policy_part, job);
  part->result = part_find_policies(part, set, vm);
  if (part->result < 0) {
    return;
  }
  int result = part_take_slice(part);
  if (result == ERR_CLOSED) {
    return; // abandoned
  }
  if (result == 0 || policy_fetch_has_any(&part->records)) {
    // Behind something right, an error is for the fetch that begins with it.
    result = policy_fetch_finish(&part->records);
  }
  part->result = result;
}

// --- back on the worker
// ------------------------------------------------------------------------------------------------

static void part_delete(struct fetch_policy_part *part)
{
  log_slice_release(&part->slice);
  policy_fetch_destroy(&part->records);
  record_buffer_destroy(&part->raw);
  arena_destroy(&part->arena);
  mem_free(part);
}

/// What a client is told of records that policies cannot be asked about, or that they fail at.
static int16_t part_error(int result)
{
  switch (result) {
    case ERR_SCRIPT:
      return WIRE_POLICY_VIOLATION;
    case ERR_PERMISSION:
      return WIRE_TOPIC_AUTHORIZATION_FAILED;
    case ERR_NOT_FOUND:
      return WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    case ERR_DECOMPRESS:
    case ERR_INVALID_RECORD:
    case ERR_TRUNCATED:
    case ERR_LIMIT:
      return WIRE_CORRUPT_MESSAGE; // stored without a look into it
    default:
      return api_wire_error(result);
  }
}

/// Gives the item what came of its turn.
static void part_take_result(struct fetch_policy_part *part)
{
  struct fetch_item *item = part->item;
  struct record_buffer *out = &part->records.out;
  if (part->result < 0) {
    item->error = part_error(part->result);
    part->all->has_failed = part->all->has_failed || part->result == ERR_SCRIPT || part->result == ERR_PERMISSION;
    if (part->result == ERR_IO) {
      error_set(ERR_IO, "records for policies cannot be read"); // the runner knows more, but that is another thread
      replica_manager_read_failed(item->part->manager, item->part, &part->slice, part->result);
    }
    return;
  }
  item->read.slice.length = (int32_t)out->size;
  item->converted = out->bytes;
  *out = (struct record_buffer){0};
}

/// Keeps the answer to what the client takes: policies may have made records larger. @return bytes of records
static int64_t policy_fit(struct fetch_policy *all)
{
  struct fetch *fetch = all->made.fetch;
  int64_t total = 0;
  LIST_EACH(&fetch->set->ready, node) {
    struct fetch_item *item = CONTAINER_OF(node, struct fetch_item, link);
    if (!item->is_visited || item->error != WIRE_NONE || item->read.slice.length == 0) {
      continue;
    }
    if (total > 0 && item->converted != NULL && total + item->read.slice.length > fetch->max_bytes) {
      mem_free(item->converted);
      item->converted = NULL;
      item->read.slice.length = 0;
    }
    total += item->read.slice.length;
  }
  return total;
}

static void policy_let_go(struct fetch_policy *all)
{
  timer_stop(all->made.fetch->req->worker->loop, &all->made.fetch->timer);
  all->is_held = false;
  fetch_made_unlist(&all->made);
  fetch_made_send(&all->made);
}

static void policy_held(struct timer *timer)
{
  policy_let_go(CONTAINER_OF(timer, struct fetch, timer)->policy);
}

/// All turns are done.
static void policy_finish(struct fetch_policy *all)
{
  struct fetch *fetch = all->made.fetch;
  const struct request *req = fetch->req;
  int64_t left_ms = all->until_ms - clock_mono_ms();
  int64_t bytes = policy_fit(all);
  if (!all->has_failed || bytes > 0 || left_ms <= 0 || req->client == NULL || req->worker->is_draining) {
    fetch_made_send(&all->made);
    return;
  }
  all->is_held = true;
  fetch_made_list(&all->made);
  timer_start(req->worker->loop, &fetch->timer, left_ms, policy_held);
}

/// Frees an abandoned turn when both have come that had to.
static void part_end(struct fetch_policy_part *part)
{
  if (atomic_fetch_sub_explicit(&part->ends, 1, memory_order_acq_rel) == 1) {
    part_delete(part);
  }
}

static void part_done(struct policy_job *job, bool is_abandoned)
{
  struct fetch_policy_part *part = CONTAINER_OF(job, struct fetch_policy_part, job);
  struct fetch_policy *all = part->all;
  all->parts[part->place] = NULL;
  if (is_abandoned) {
    part->item->error = part_error(ERR_SCRIPT);
    all->has_failed = true;
    part_end(part);
  } else {
    part->result = job->is_refused ? job->result : part->result;
    part_take_result(part);
    part_delete(part);
  }
  if (--all->pending == 0) {
    policy_finish(all);
  }
}

static void part_returned(struct policy_job *job)
{
  part_end(CONTAINER_OF(job, struct fetch_policy_part, job));
}

// --- beginning
// ---------------------------------------------------------------------------------------------------------

static void policy_drop(struct fetch_made *made)
{
  struct fetch_policy *all = CONTAINER_OF(made, struct fetch_policy, made);
  for (int32_t i = 0; i < all->count; i++) {
    part_delete(all->parts[i]);
  }
}

static void policy_begin(struct fetch_made *made)
{
  struct fetch_policy *all = CONTAINER_OF(made, struct fetch_policy, made);
  struct policy_runners *runners = made->fetch->req->api->runners;
  all->pending = all->count;
  for (int32_t i = 0; i < all->count; i++) {
    const struct partition *part = all->parts[i]->item->part;
    policy_runners_submit(runners, &part->topic_id, part->index, &all->parts[i]->job);
  }
}

void fetch_policy_leave(struct fetch *fetch)
{
  struct fetch_policy *all = fetch->policy;
  if (all->is_held) {
    policy_let_go(all);
    return;
  }
  if (fetch_made_leave(&all->made)) {
    return;
  }
  for (int32_t i = 0; i < all->count; i++) {
    if (all->parts[i] != NULL) {
      atomic_store_explicit(&all->parts[i]->is_unwanted, true, memory_order_relaxed);
    }
  }
}

static void part_name_client(struct fetch_policy_part *part, const struct fetch *fetch)
{
  struct wire_string id = fetch->client_id.length >= 0 ? fetch->client_id : fetch->req->client_id;
  part->client = (struct policy_client){
      .id = id.length > 0 ? arena_strndup(&part->arena, id.data, (size_t)id.length) : "",
      .principal = "User:ANONYMOUS",
      .address = api_address(&part->arena, connection_peer(fetch->req->frame->conn)),
  };
}

/// Readies a turn: takes the item's slice over.
static void part_new(struct fetch_policy *all, const struct metadata_topic *topic, struct fetch_item *item)
{
  struct fetch *fetch = all->made.fetch;
  int16_t version = fetch->req->version;
  struct fetch_policy_part *part = mem_zalloc(sizeof *part);
  part->job.reply = fetch->req->worker->loop;
  part->job.run = part_run;
  part->job.done = part_done;
  part->job.returned = part_returned;
  part->all = all;
  part->item = item;
  part->place = all->count;
  part->slice = item->read.slice;
  item->read.slice.file = NULL;
  item->read.slice.length = 0;
  atomic_init(&part->ends, 2);
  part_name_client(part, fetch);
  int64_t limit = part->slice.length;
  if (version < FETCH_BATCH_VERSION) {
    // Messages of old formats take more than records of today.
    limit = 2 * limit < item->max_bytes ? 2 * limit : item->max_bytes;
  }
  const char *source = item->part->topic;
  part->view = topic->source != NULL ? arena_strndup(&part->arena, topic->name, (size_t)topic->name_length) : NULL;
  int32_t batch_max_bytes = topic->config.max_message_bytes;
  part->records = (struct policy_fetch){
      .job = &part->job,
      .client = &part->client,
      .topic = arena_strndup(&part->arena, source, strlen(source)),
      .partition = item->index,
      .magic = version >= FETCH_BATCH_VERSION       ? FETCH_FORMAT
               : version >= FETCH_TIMESTAMP_VERSION ? 1
                                                    : 0,
      .first_offset = item->offset,
      .limit_bytes = (size_t)limit,
      .batch_max_bytes = (size_t)(batch_max_bytes > BATCH_HEADER_SIZE ? batch_max_bytes : BATCH_HEADER_SIZE),
  };
  all->parts[all->count++] = part;
}

/// What a turn may come to, about: a view has less than is stored, but functions may make records larger.
static int64_t part_bytes(const struct fetch_policy_part *part, const struct api *api)
{
  int64_t limit = (int64_t)part->records.limit_bytes;
  const char *topic = part->records.topic;
  const struct policy_topic *policies = policy_set_topic(policy_cache_get(api->policies), topic, strlen(topic));
  return policies != NULL && policies->transform_fetch != NULL ? 2 * limit + POLICY_FETCH_MADE_BYTES : limit;
}

/// Whether a topic is still the one that was read for an item: the image may be another one by now, where a view has
/// gone, or has another source. Otherwise the item has its error, and never the records of what it was.
static bool policy_is_same_topic(const struct metadata_topic *topic, struct fetch_item *item)
{
  if (topic != NULL && uuid_equal(metadata_topic_log_id(topic), &item->part->topic_id)) {
    return true;
  }
  item->error = item->topic != NULL ? WIRE_UNKNOWN_TOPIC_OR_PARTITION : WIRE_UNKNOWN_TOPIC_ID;
  log_slice_release(&item->read.slice);
  return false;
}

bool fetch_policy(struct fetch *fetch)
{
  struct request *req = fetch->req;
  bool is_old = req->version < FETCH_BATCH_VERSION;
  struct fetch_policy *all = arena_zalloc(&req->arena, sizeof *all);
  int64_t until_ms = clock_mono_ms() + FETCH_FAILED_MS;
  all->made = (struct fetch_made){.fetch = fetch, .begin = policy_begin, .drop = policy_drop};
  all->until_ms = fetch->deadline_ms < until_ms ? fetch->deadline_ms : until_ms;
  all->parts = request_array(req, fetch->set->count, sizeof(struct fetch_policy_part *));
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  int64_t bytes = 0;
  LIST_EACH(&fetch->set->ready, node) {
    struct fetch_item *item = CONTAINER_OF(node, struct fetch_item, link);
    if (!item->is_visited || !(item->needs_policy || is_old)) {
      continue;
    }
    const struct metadata_topic *topic = fetch_topic(image, item);
    if (is_old && fetch_convert_refuse(topic, item)) {
      continue;
    }
    if (item->error == WIRE_NONE && item->read.slice.length > 0 && policy_is_same_topic(topic, item)) {
      part_new(all, topic, item);
      bytes += part_bytes(all->parts[all->count - 1], req->api);
    }
  }
  if (all->count == 0) {
    return false;
  }
  fetch->policy = all;
  fetch_made_start(&all->made, bytes);
  return true;
}
