// SPDX-License-Identifier: Apache-2.0
//
// The Fetch side of the load generator: one request under way on each connection, for all of its partitions, from where
// the last answer ended. Batches are counted by their headers; --verify also checks CRCs and that no offset is missing.
// With --session (KIP-227) only the first request is for all partitions: epoch 0 asks for a session, and the following
// ones, of epochs 1, 2, ..., name the partitions whose position changed; answers hold those that have something to say.
#include <inttypes.h>

#include "base/error.h"
#include "base/mem.h"
#include "load_client.h"
#include "load_options.h"
#include "load_worker.h"
#include "record/batch.h"
#include "wire/apis.h"
#include "wire/error_codes.h"
#include "wire/fetch.h"
#include "wire/header.h"
#include "wire/reader.h"

enum { HEADER_IN_PREFIX = 8 };

/// State of a connection.
struct fetch_state {
  struct wire_fetch_request_fetch_partition *parts; ///< one per partition of the connection
  int last;                                         ///< index of the partition that was answered last
  int active_count;                                 ///< partitions that are read: the first of them
  int32_t session_id;                               ///< of --session; 0: none yet
  int32_t session_epoch;                            ///< of the next request; -1: without a session
  int *changed;                                     ///< --session: indices whose position the broker does not know yet
  int changed_count;                                ///< how many
  bool *is_changed;                                 ///< by index: whether it is among them
  struct wire_fetch_request_fetch_partition *named; ///< --session: those of one request
};

/// Moves the position of a partition.
static void move_to(struct fetch_state *state, int index, int64_t offset)
{
  state->parts[index].fetch_offset = offset;
  if (state->changed != NULL && !state->is_changed[index]) {
    state->is_changed[index] = true;
    state->changed[state->changed_count++] = index;
  }
}

static void fetch_open(struct load_connection *connection)
{
  const struct load_worker *worker = connection->worker;
  struct fetch_state *state = mem_zalloc(sizeof *state);
  connection->state = state;
  state->parts = mem_array((size_t)connection->partition_count, sizeof *state->parts);
  for (int i = 0; i < connection->partition_count; i++) {
    const struct load_partition *part = &worker->cluster->partitions[connection->partitions[i]];
    wire_fetch_request_fetch_partition_init(&state->parts[i]);
    state->parts[i].partition = connection->partitions[i];
    state->parts[i].partition_max_bytes = worker->options->partition_max_bytes;
    bool is_active = connection->partitions[i] < worker->options->active;
    state->active_count += is_active;
    state->parts[i].fetch_offset = worker->options->from_end || !is_active ? part->end_offset : part->start_offset;
  }
  state->session_epoch = -1;
  if (worker->options->with_session) {
    size_t count = (size_t)connection->partition_count;
    state->session_epoch = 0;
    state->changed = mem_array(count, sizeof *state->changed);
    state->is_changed = mem_array(count, sizeof *state->is_changed);
    state->named = mem_array(count, sizeof *state->named);
  }
}

static void fetch_close(struct load_connection *connection)
{
  struct fetch_state *state = connection->state;
  mem_free(state->parts);
  mem_free(state->changed);
  mem_free(state->is_changed);
  mem_free(state->named);
  mem_free(state);
}

/// With --until-end, true when all partitions of the connection have been read; with --repeat they begin again.
static bool has_ended(struct load_connection *connection)
{
  const struct load_worker *worker = connection->worker;
  struct fetch_state *state = connection->state;
  bool has_more = false;
  bool is_asked = worker->options->until_end || worker->options->repeat;
  for (int i = 0; is_asked && i < state->active_count; i++) {
    const struct load_partition *part = &worker->cluster->partitions[connection->partitions[i]];
    if (state->parts[i].fetch_offset >= part->end_offset && worker->options->repeat) {
      move_to(state, i, part->start_offset);
    }
    has_more = has_more || state->parts[i].fetch_offset < part->end_offset;
  }
  return worker->options->until_end && !has_more;
}

/// Puts into a request the partitions that it has to name, and the session.
static void name_partitions(struct load_connection *connection, struct wire_fetch_request_fetch_topic *topic,
                            struct wire_fetch_request *request)
{
  struct fetch_state *state = connection->state;
  request->session_id = state->session_id;
  request->session_epoch = state->session_epoch;
  request->topics = topic;
  request->topics_count = 1;
  topic->topic = wire_string_from(connection->worker->options->topic);
  topic->partitions = state->parts;
  topic->partitions_count = connection->partition_count;
  if (state->session_epoch > 0) {
    for (int i = 0; i < state->changed_count; i++) {
      state->named[i] = state->parts[state->changed[i]];
    }
    topic->partitions = state->named;
    topic->partitions_count = state->changed_count;
    request->topics_count = state->changed_count > 0;
  }
  for (int i = 0; i < state->changed_count; i++) {
    state->is_changed[state->changed[i]] = false;
  }
  state->changed_count = 0;
}

/// The session after an answer: the next epoch, or a new session after an error.
static void step_session(struct fetch_state *state, const struct wire_fetch_response *response)
{
  if (state->session_epoch < 0) {
    return;
  }
  bool is_kept = response->error_code == WIRE_NONE && response->session_id != 0;
  state->session_id = is_kept ? response->session_id : 0;
  state->session_epoch = !is_kept ? 0 : state->session_epoch == INT32_MAX ? 1 : state->session_epoch + 1;
}

static bool fetch_prepare(struct load_connection *connection, struct load_slot *slot)
{
  struct load_worker *worker = connection->worker;
  if (has_ended(connection)) {
    return false;
  }
  struct wire_request_header header;
  wire_request_header_init(&header);
  header.client_id = wire_string_from("load");
  struct wire_fetch_request_fetch_topic topic;
  wire_fetch_request_fetch_topic_init(&topic);
  struct wire_fetch_request request;
  wire_fetch_request_init(&request);
  request.max_wait_ms = worker->options->max_wait_ms;
  request.min_bytes = worker->options->min_bytes;
  request.max_bytes = worker->options->max_bytes;
  name_partitions(connection, &topic, &request);
  request.rack_id = wire_string_from("");
  wire_writer_truncate(&slot->own, 0);
  if (wire_request_header_write(&header, &slot->own, wire_request_header_version(WIRE_API_FETCH, LOAD_VERSION_FETCH)) <
          0 ||
      wire_fetch_request_write(&request, &slot->own, LOAD_VERSION_FETCH) < 0) {
    load_count_error(&worker->counts, "cannot encode: %s", error_last()->message);
    return false;
  }
  slot->body = slot->own.data + HEADER_IN_PREFIX;
  slot->body_size = slot->own.size - HEADER_IN_PREFIX;
  return true;
}

/// Counts the batches of one partition; the last one may be cut, as a fetch is limited in bytes.
///
/// @param[in,out] next_offset  where the partition is read from next
static void take_records(struct load_worker *worker, int32_t partition, const struct wire_records *records,
                         int64_t *next_offset)
{
  struct batch_header header;
  size_t size = records->length > 0 ? (size_t)records->length : 0;
  for (size_t at = 0; at < size; at += header.size) {
    const uint8_t *bytes = records->data + at;
    int result =
        worker->options->verify ? batch_check(bytes, size - at, &header) : batch_header_read(bytes, size - at, &header);
    if (result == ERR_TRUNCATED && at > 0) {
      return;
    }
    if (result < 0) {
      load_count_error(&worker->counts, "partition %d at offset %" PRId64 ": %s", partition, *next_offset,
                       error_text(result));
      return;
    }
    int64_t last_offset = header.base_offset + header.last_offset_delta;
    bool is_first = at == 0 && header.base_offset <= *next_offset && last_offset >= *next_offset;
    if (worker->options->verify && !is_first && header.base_offset != *next_offset) {
      load_count_error(&worker->counts, "partition %d: offset %" PRId64 " follows %" PRId64, partition,
                       header.base_offset, *next_offset - 1);
    }
    worker->counts.records += header.record_count;
    worker->counts.bytes += (int64_t)header.size;
    *next_offset = last_offset + 1;
  }
}

/// Index of a partition in the connection's, which rise; -1: it is not among them. Answers mostly come in the order of
/// the request, so the one after the last answered comes first.
static int find(const struct load_connection *connection, int last, int32_t partition)
{
  int after = (last + 1) % connection->partition_count;
  if (connection->partitions[after] == partition) {
    return after;
  }
  int low = 0;
  int high = connection->partition_count - 1;
  while (low < high) {
    int middle = (low + high) / 2;
    if (connection->partitions[middle] < partition) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return connection->partitions[low] == partition ? low : -1;
}

static void take_partition(struct load_connection *connection, const struct wire_fetch_response_partition_data *data)
{
  struct load_worker *worker = connection->worker;
  struct fetch_state *state = connection->state;
  int index = find(connection, state->last, data->partition_index);
  if (index < 0 || data->error_code != WIRE_NONE) {
    load_count_error(&worker->counts, "partition %d: %s", data->partition_index, wire_error_name(data->error_code));
    return;
  }
  state->last = index;
  int64_t next_offset = state->parts[index].fetch_offset;
  take_records(worker, data->partition_index, &data->records, &next_offset);
  if (next_offset != state->parts[index].fetch_offset) {
    move_to(state, index, next_offset);
  }
}

static int fetch_answered(struct load_connection *connection, struct load_slot *slot, const uint8_t *bytes, size_t size)
{
  (void)slot;
  struct load_worker *worker = connection->worker;
  struct wire_reader reader;
  struct wire_response_header header;
  struct wire_fetch_response response;
  int16_t version = wire_response_header_version(WIRE_API_FETCH, LOAD_VERSION_FETCH);
  wire_reader_init(&reader, bytes, size);
  TRY(wire_response_header_read(&header, &reader, version, &worker->arena));
  TRY(wire_fetch_response_read(&response, &reader, LOAD_VERSION_FETCH, &worker->arena));
  step_session(connection->state, &response);
  if (response.error_code != WIRE_NONE) {
    load_count_error(&worker->counts, "fetch: %s", wire_error_name(response.error_code));
    return 0;
  }
  int64_t before = worker->counts.records;
  for (int32_t t = 0; t < response.responses_count; t++) {
    for (int32_t p = 0; p < response.responses[t].partitions_count; p++) {
      take_partition(connection, &response.responses[t].partitions[p]);
    }
  }
  bool is_empty = worker->counts.records == before;
  worker->counts.empty += is_empty;
  return is_empty ? 1 : 0;
}

const struct load_role load_fetch_role = {
    .key = WIRE_API_FETCH,
    .version = LOAD_VERSION_FETCH,
    .open = fetch_open,
    .close = fetch_close,
    .prepare = fetch_prepare,
    .answered = fetch_answered,
};
