// SPDX-License-Identifier: Apache-2.0
//
// The Produce side of the load generator. Requests are encoded once per partition; with --keys each is made anew, and
// with --verify-acked, as each record carries a number of its own then:
//
//   16 hexadecimal digits: run 16 bits | connection 12 bits | counter 36 bits
//
// so that within a connection numbers grow, and no two runs that append to one file share any.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "load_client.h"
#include "load_options.h"
#include "load_worker.h"
#include "os/clock.h"
#include "record/build.h"
#include "wire/apis.h"
#include "wire/error_codes.h"
#include "wire/header.h"
#include "wire/produce.h"
#include "wire/reader.h"

enum { REQUEST_TIMEOUT_MS = 30000, HEADER_IN_PREFIX = 8, LETTERS = 65536, LETTERS_STEP = 997 };

/// State of a connection.
struct produce_state {
  struct wire_writer *templates; ///< one per partition of the connection; empty with numbered records
  struct batch_builder builder;  ///< for batches
  size_t batch_bytes;            ///< size of the batch in the templates
  uint64_t counter;              ///< records numbered so far
  int turn;                      ///< index of the partition that is next
  uint8_t *value;                ///< a record's value
  uint8_t *letters;              ///< what values are cut from
  uint64_t seed;                 ///< of the keys
};

/// Letters in no order, about two to one for a compressor.
static void fill_letters(uint8_t *value, size_t size)
{
  uint32_t seed = 2463534242u;
  for (size_t i = 0; i < size; i++) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    value[i] = (uint8_t)('a' + seed % 16);
  }
}

/// One of so many keys, at random (xorshift64).
static int32_t draw_key(struct produce_state *state, int64_t keys, char key[24])
{
  state->seed ^= state->seed << 13;
  state->seed ^= state->seed >> 7;
  state->seed ^= state->seed << 17;
  return snprintf(key, 24, "key-%010" PRIu64, state->seed % (uint64_t)keys);
}

/// Whether each request is made anew.
static bool is_made_anew(const struct load_worker *worker)
{
  return worker->acked != NULL || worker->options->keys > 0;
}

/// Builds a batch; with `first_value` records are numbered from it on.
static int build_batch(struct produce_state *state, const struct load_options *options, const uint64_t *first_value,
                       uint8_t **bytes, size_t *size)
{
  struct batch_options batch;
  batch_options_init(&batch);
  batch.codec = options->codec;
  batch_builder_reset(&state->builder, &batch);
  int64_t now_ms = clock_wall_ms();
  struct record_header_input header = {.value_size = -1};
  if (options->header != NULL) {
    const char *sign = strchr(options->header, '=');
    header = (struct record_header_input){.key = (const uint8_t *)options->header,
                                          .key_size = (int32_t)(sign - options->header),
                                          .value = (const uint8_t *)sign + 1,
                                          .value_size = (int32_t)strlen(sign + 1)};
  }
  for (int32_t i = 0; i < options->records; i++) {
    memcpy(state->value, state->letters + (size_t)i * LETTERS_STEP % LETTERS, (size_t)options->record_bytes);
    if (first_value != NULL) {
      char digits[17];
      snprintf(digits, sizeof digits, "%016" PRIx64, *first_value + (uint64_t)i);
      memcpy(state->value, digits, 16);
    }
    struct record_input record = {
        .timestamp = now_ms, .key_size = -1, .value = state->value, .value_size = options->record_bytes};
    if (options->value != NULL) {
      record.value = (const uint8_t *)options->value;
    }
    if (options->header != NULL) {
      record.headers = &header;
      record.header_count = 1;
    }
    char key[24];
    if (options->keys > 0) {
      record.key = (const uint8_t *)key;
      record.key_size = draw_key(state, options->keys, key);
    }
    TRY(batch_builder_add(&state->builder, &record));
  }
  return batch_builder_finish(&state->builder, bytes, size);
}

/// Encodes a request, from the client id on: what comes before is the slot's prefix.
static int encode(struct wire_writer *writer, const struct load_options *options, int32_t partition,
                  const uint8_t *batch, size_t size)
{
  struct wire_request_header header;
  wire_request_header_init(&header);
  header.client_id = wire_string_from("load");
  struct wire_produce_request_partition_produce_data data;
  wire_produce_request_partition_produce_data_init(&data);
  data.index = partition;
  data.records = (struct wire_records){.data = batch, .length = (int32_t)size};
  struct wire_produce_request_topic_produce_data topic;
  wire_produce_request_topic_produce_data_init(&topic);
  topic.name = wire_string_from(options->topic);
  topic.partition_data = &data;
  topic.partition_data_count = 1;
  struct wire_produce_request request;
  wire_produce_request_init(&request);
  request.acks = options->acks;
  request.timeout_ms = REQUEST_TIMEOUT_MS;
  request.topic_data = &topic;
  request.topic_data_count = 1;
  wire_writer_truncate(writer, 0);
  TRY(wire_request_header_write(&header, writer, wire_request_header_version(WIRE_API_PRODUCE, LOAD_VERSION_PRODUCE)));
  return wire_produce_request_write(&request, writer, LOAD_VERSION_PRODUCE);
}

/// Fails the run: what does not encode now never will.
static void fail(struct load_worker *worker)
{
  worker->error = error_last()->code;
  snprintf(worker->why, sizeof worker->why, "%s", error_last()->message);
}

static void produce_open(struct load_connection *connection)
{
  struct load_worker *worker = connection->worker;
  const struct load_options *options = worker->options;
  struct produce_state *state = mem_zalloc(sizeof *state);
  connection->state = state;
  struct batch_options batch;
  batch_options_init(&batch);
  batch_builder_init(&state->builder, &batch);
  state->value = mem_alloc((size_t)options->record_bytes + 1);
  state->letters = mem_alloc(LETTERS + (size_t)options->record_bytes);
  fill_letters(state->letters, LETTERS + (size_t)options->record_bytes);
  state->templates = mem_array((size_t)connection->partition_count, sizeof *state->templates);
  state->seed = UINT64_C(0x9e3779b97f4a7c15) * ((uint64_t)connection->index + 1) ^ (uint64_t)clock_wall_ms();
  if (is_made_anew(worker)) {
    return;
  }
  uint8_t *bytes = NULL;
  if (build_batch(state, options, NULL, &bytes, &state->batch_bytes) < 0) {
    fail(worker);
    return;
  }
  for (int i = 0; i < connection->partition_count; i++) {
    if (encode(&state->templates[i], options, connection->partitions[i], bytes, state->batch_bytes) < 0) {
      fail(worker);
    }
  }
  mem_free(state->value); // the templates are all that thousands of connections should hold
  mem_free(state->letters);
  state->value = state->letters = NULL;
}

static void produce_close(struct load_connection *connection)
{
  struct produce_state *state = connection->state;
  for (int i = 0; i < connection->partition_count; i++) {
    wire_writer_destroy(&state->templates[i]);
  }
  mem_free(state->templates);
  batch_builder_destroy(&state->builder);
  mem_free(state->value);
  mem_free(state->letters);
  mem_free(state);
}

static bool produce_prepare(struct load_connection *connection, struct load_slot *slot)
{
  struct load_worker *worker = connection->worker;
  struct produce_state *state = connection->state;
  int turn = state->turn;
  state->turn = (turn + 1) % connection->partition_count;
  slot->partition = connection->partitions[turn];
  const struct wire_writer *writer = &state->templates[turn];
  if (is_made_anew(worker)) {
    slot->first_value = (uint64_t)worker->run_number << 48 | (uint64_t)connection->index << 36 | state->counter;
    state->counter += (uint64_t)worker->options->records;
    uint8_t *bytes = NULL;
    if (build_batch(state, worker->options, worker->acked != NULL ? &slot->first_value : NULL, &bytes,
                    &state->batch_bytes) < 0 ||
        encode(&slot->own, worker->options, slot->partition, bytes, state->batch_bytes) < 0) {
      fail(worker);
      return false;
    }
    writer = &slot->own;
  }
  slot->body = writer->data + HEADER_IN_PREFIX;
  slot->body_size = writer->size - HEADER_IN_PREFIX;
  return true;
}

static int produce_answered(struct load_connection *connection, struct load_slot *slot, const uint8_t *bytes,
                            size_t size)
{
  struct load_worker *worker = connection->worker;
  const struct produce_state *state = connection->state;
  if (bytes != NULL) {
    struct wire_reader reader;
    struct wire_response_header header;
    struct wire_produce_response response;
    int16_t version = wire_response_header_version(WIRE_API_PRODUCE, LOAD_VERSION_PRODUCE);
    wire_reader_init(&reader, bytes, size);
    TRY(wire_response_header_read(&header, &reader, version, &worker->arena));
    TRY(wire_produce_response_read(&response, &reader, LOAD_VERSION_PRODUCE, &worker->arena));
    if (response.responses_count != 1 || response.responses[0].partition_responses_count != 1) {
      return error_set(ERR_MALFORMED, "an answer for %d topics", response.responses_count);
    }
    const struct wire_produce_response_partition_produce_response *part = &response.responses[0].partition_responses[0];
    if (part->error_code != WIRE_NONE || part->index != slot->partition) {
      load_count_error(&worker->counts, "partition %d: %s", slot->partition, wire_error_name(part->error_code));
      return 0;
    }
    if (worker->acked != NULL) {
      fprintf(worker->acked, "%" PRId32 " %" PRId64 " %" PRId32 " %016" PRIx64 "\n", part->index, part->base_offset,
              worker->options->records, slot->first_value);
    }
  }
  worker->counts.records += worker->options->records;
  worker->counts.bytes += (int64_t)state->batch_bytes;
  return 0;
}

const struct load_role load_produce_role = {
    .key = WIRE_API_PRODUCE,
    .version = LOAD_VERSION_PRODUCE,
    .open = produce_open,
    .close = produce_close,
    .prepare = produce_prepare,
    .answered = produce_answered,
};
