// SPDX-License-Identifier: Apache-2.0
//
// The answer to a Fetch: consecutive partitions of a topic share an entry. In a session that goes on, partitions are
// left out which have no records, no error, and the offsets that the client knows (KIP-227).
#include <string.h>

#include "api/api.h"
#include "api/fetch_private.h"
#include "api/request.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "log/log.h"
#include "log/log_transactions.h"
#include "network/response.h"
#include "replica/partition.h"
#include "wire/error_codes.h"
#include "wire/fetch.h"

enum {
  FETCH_TOPIC_ID_VERSION = 13,     // first version with topic ids: a whole error is at the top only
  FETCH_STORAGE_ERROR_VERSION = 6, // first version whose clients know KAFKA_STORAGE_ERROR
  FETCH_LEADER_VERSION = 16,       // first version that is told the current leader (KIP-951)
};

void fetch_item_release(struct fetch_item *item)
{
  log_slice_release(&item->read.slice);
  item->read.slice.length = 0;
  mem_free(item->converted);
  item->converted = NULL;
  item->is_visited = false;
  item->error = WIRE_NONE;
  if (item->part != NULL) {
    partition_unref(item->part);
    item->part = NULL;
  }
}

static void fetch_region_release(void *arg)
{
  log_file_unref(arg);
}

/// Makes a region of the item's slice, or of what it was converted to; the file, or the memory, goes over to it.
static void fetch_put_records(struct fetch *fetch, struct fetch_item *item, struct wire_records *records)
{
  struct log_slice *slice = &item->read.slice;
  records->length = slice->length;
  if (slice->length == 0) {
    return;
  }
  metric_count(&item->part->watches[fetch->req->worker->index].fetched_bytes, slice->length);
  if (item->converted != NULL) {
    struct response_region memory = {
        .bytes = item->converted, .length = slice->length, .release = mem_free, .arg = item->converted};
    records->region = request_region(fetch->req, &memory);
    item->converted = NULL;
    return;
  }
  struct response_region region = {.fd = log_file_fd(slice->file),
                                   .pos = slice->pos,
                                   .length = slice->length,
                                   .release = fetch_region_release,
                                   .arg = slice->file};
  records->region = request_region(fetch->req, &region);
  slice->file = NULL;
}

/// Tells a reader of committed records which of those it gets were aborted.
static void fetch_put_aborted(struct fetch *fetch, const struct fetch_item *item,
                              struct wire_fetch_response_partition_data *data)
{
  const struct partition_read *read = &item->read;
  data->aborted_transactions_count = fetch->is_committed ? 0 : -1;
  if (!fetch->is_committed || read->slice.length == 0) {
    return;
  }
  const struct log *log = item->part->log;
  int32_t count = log_aborted_transactions(log, &read->slice, read->offset, NULL, 0);
  if (count == 0) {
    return;
  }
  struct log_aborted *aborted = request_array(fetch->req, count, sizeof *aborted);
  data->aborted_transactions = request_array(fetch->req, count, sizeof *data->aborted_transactions);
  // The list may have been replaced since it was counted, by a shorter one.
  int32_t told = log_aborted_transactions(log, &read->slice, read->offset, aborted, count);
  data->aborted_transactions_count = told < count ? told : count;
  for (int32_t i = 0; i < data->aborted_transactions_count; i++) {
    wire_fetch_response_aborted_transaction_init(&data->aborted_transactions[i]);
    data->aborted_transactions[i].producer_id = aborted[i].producer_id;
    data->aborted_transactions[i].first_offset = aborted[i].first_offset;
  }
}

/// Remembers what the client is told; true when there is something to tell.
static bool fetch_note_sent(const struct fetch *fetch, struct fetch_item *item)
{
  const struct partition_state *state = &item->read.state;
  bool has_error = item->error != WIRE_NONE || item->read.diverging_epoch >= 0;
  bool is_news = fetch->is_full || has_error || item->read.slice.length > 0 ||
                 state->high_watermark != item->sent_high_watermark || state->log_start_offset != item->sent_log_start;
  item->sent_high_watermark = has_error ? -1 : state->high_watermark;
  item->sent_log_start = state->log_start_offset;
  return is_news;
}

static void fetch_put_partition(struct fetch *fetch, struct fetch_item *item,
                                struct wire_fetch_response_partition_data *data)
{
  const struct partition_read *read = &item->read;
  data->partition_index = item->index;
  data->error_code = item->error;
  if (fetch->req->version >= FETCH_LEADER_VERSION) {
    data->current_leader.leader_id = item->current_leader;
    data->current_leader.leader_epoch = item->current_epoch;
  }
  data->records.length = 0;
  if (item->error != WIRE_NONE) {
    data->high_watermark = -1;
    // Kafka gives an empty list where it did not get as far as the replica, and null elsewhere.
    bool is_early = item->error == WIRE_UNKNOWN_TOPIC_ID || item->error == WIRE_UNKNOWN_TOPIC_OR_PARTITION ||
                    item->error == WIRE_TOPIC_AUTHORIZATION_FAILED;
    data->aborted_transactions_count = is_early ? 0 : -1;
    if (item->error == WIRE_UNSUPPORTED_COMPRESSION_TYPE) {
      data->records.length = -1;
    } else if (item->error == WIRE_KAFKA_STORAGE_ERROR && fetch->req->version < FETCH_STORAGE_ERROR_VERSION) {
      data->error_code = WIRE_NOT_LEADER_OR_FOLLOWER;
    }
    return;
  }
  data->high_watermark = read->state.high_watermark;
  data->last_stable_offset = read->state.last_stable_offset;
  data->log_start_offset = read->state.log_start_offset;
  fetch_put_aborted(fetch, item, data);
  if (read->diverging_epoch >= 0) {
    data->diverging_epoch.epoch = read->diverging_epoch;
    data->diverging_epoch.end_offset = read->diverging_end_offset;
  }
  fetch_put_records(fetch, item, &data->records);
}

/// True when two items follow each other under one topic entry.
static bool fetch_is_same_topic(const struct fetch_item *a, const struct fetch_item *b)
{
  if (a->topic == NULL || b->topic == NULL) {
    return a->topic == b->topic && uuid_equal(&a->topic_id, &b->topic_id);
  }
  return a->topic_length == b->topic_length && memcmp(a->topic, b->topic, (size_t)a->topic_length) == 0;
}

struct wire_fetch_response *fetch_response_build(struct fetch *fetch)
{
  struct request *req = fetch->req;
  struct wire_fetch_response *response = arena_alloc(&req->arena, sizeof *response);
  wire_fetch_response_init(response);
  response->session_id = fetch->session != NULL ? fetch_session_id(fetch->session) : 0;

  int32_t room = 0;
  LIST_EACH(&fetch->set->ready, node) {
    room++;
  }
  response->responses = request_array(req, room, sizeof *response->responses);
  struct wire_fetch_response_partition_data *data = request_array(req, room, sizeof *data);
  struct wire_fetch_response_fetchable_topic_response *topic = NULL;
  const struct fetch_item *before = NULL;
  LIST_EACH(&fetch->set->ready, node) {
    struct fetch_item *item = CONTAINER_OF(node, struct fetch_item, link);
    bool is_told = item->is_visited || fetch->is_full;
    if (!is_told || !fetch_note_sent(fetch, item)) {
      continue;
    }
    if (before == NULL || !fetch_is_same_topic(before, item)) {
      topic = &response->responses[response->responses_count++];
      wire_fetch_response_fetchable_topic_response_init(topic);
      // A copy: the set, or the session, may be gone when the answer is written.
      if (item->topic != NULL) {
        topic->topic = (struct wire_string){arena_strndup(&req->arena, item->topic, (size_t)item->topic_length),
                                            item->topic_length};
      }
      topic->topic_id = item->topic_id;
      topic->partitions = data;
    }
    wire_fetch_response_partition_data_init(data);
    fetch_put_partition(fetch, item, data++);
    topic->partitions_count++;
    before = item;
  }
  return response;
}

void fetch_respond_error(struct request *req, int16_t error)
{
  struct wire_fetch_response response;
  wire_fetch_response_init(&response);
  response.error_code = error;
  request_respond(req, &response);
}

void fetch_respond_refused(struct request *req, int16_t error)
{
  const struct wire_fetch_request *body = req->body;
  struct wire_fetch_response response;
  wire_fetch_response_init(&response);
  response.error_code = error;
  response.session_id = body->session_id;
  if (req->version < FETCH_TOPIC_ID_VERSION) {
    response.responses = request_array(req, body->topics_count, sizeof *response.responses);
    response.responses_count = body->topics_count;
  }
  for (int32_t i = 0; i < response.responses_count; i++) {
    const struct wire_fetch_request_fetch_topic *asked = &body->topics[i];
    struct wire_fetch_response_fetchable_topic_response *topic = &response.responses[i];
    wire_fetch_response_fetchable_topic_response_init(topic);
    topic->topic = asked->topic;
    topic->partitions = request_array(req, asked->partitions_count, sizeof *topic->partitions);
    topic->partitions_count = asked->partitions_count;
    for (int32_t j = 0; j < asked->partitions_count; j++) {
      struct wire_fetch_response_partition_data *data = &topic->partitions[j];
      wire_fetch_response_partition_data_init(data);
      data->partition_index = asked->partitions[j].partition;
      data->error_code = error;
      data->high_watermark = -1;
      data->aborted_transactions_count = 0;
      data->records.length = 0;
    }
  }
  request_respond(req, &response);
}
