// SPDX-License-Identifier: Apache-2.0
#include "policy/fetch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/varint.h"
#include "policy/policy.h"
#include "policy/runner.h"
#include "record/batch.h"
#include "record/codec.h"
#include "record/message_set.h"

enum {
  FETCH_FORMAT = 2,              // the format that is stored
  FETCH_BYTES_MAX = INT32_MAX,   // sizes on the wire are signed 32 bits
  FETCH_UNPACKED_MAX = 64 << 20, // bytes unpacked for one answer; the rest is for the next fetch
  STRETCH_RECORD_MAX = 32,       // bytes of the record in a control batch
};

/// What becomes of the records of a batch; arrays by index, in the arena.
struct fetch_decision {
  bool *is_gone;                    ///< not shown
  const struct record_edit **edits; ///< shown in place of the record; NULL: none is
  int32_t gone_count;               ///< how many are not shown
};

// --- asking the policies ---------------------------------------------------------------------------------------------

/// A policy that did what it may not do here.
static int fail(struct policy_fetch *fetch, const struct policy *policy, int32_t index, const char *what)
{
  char title[POLICY_TEXT_SIZE - 128];
  policy_title_at(policy, NULL, title, sizeof title);
  snprintf(fetch->failure.text, sizeof fetch->failure.text, "%s: %s", title, what);
  fetch->failure.index = index;
  policy_count(policy, 0, 0, fetch->failure.text);
  return error_set(ERR_SCRIPT, "%s", fetch->failure.text);
}

/// Calls a policy with records.
static int call(struct policy_fetch *fetch, const struct policy *policy, const struct record_view *records,
                int32_t count, struct policy_output *output)
{
  const struct policy_batch batch = {
      .topic = fetch->topic, .partition = fetch->partition, .count = count, .records = records};
  const struct batch_iterator *iterator = &fetch->job->scratch->records.iterator;
  *output = (struct policy_output){
      .arena = &fetch->job->scratch->arena,
      .actions = arena_zalloc(&fetch->job->scratch->arena, (size_t)count),
      .limit_bytes = POLICY_FETCH_MADE_BYTES + 2 * (int64_t)(iterator->header.size + iterator->unpacked.size),
  };
  TRY(policy_job_transform(fetch->job, fetch->vm, policy, &batch, fetch->client, output, &fetch->failure));
  if (output->reject_count > 0) {
    fail(fetch, policy, output->rejects[0].index, output->rejects[0].text);
    return ERR_PERMISSION;
  }
  return 0;
}

static int ask_where(struct policy_fetch *fetch, struct fetch_decision *decision)
{
  struct policy_output output;
  int32_t count = fetch->job->scratch->records.count;
  TRY(call(fetch, fetch->where, fetch->job->scratch->records.records, count, &output));
  for (int32_t i = 0; i < count; i++) {
    if (output.actions[i] != POLICY_KEEP && output.actions[i] != POLICY_DROP) {
      return fail(fetch, fetch->where, i, "records can be shown or not, and not changed");
    }
    decision->is_gone[i] = output.actions[i] == POLICY_DROP;
    decision->gone_count += decision->is_gone[i];
  }
  return 0;
}

static const struct record_edit *make_edit(struct policy_fetch *fetch, const struct policy_record *record)
{
  struct record_edit *edit = arena_alloc(&fetch->job->scratch->arena, sizeof *edit);
  *edit = (struct record_edit){
      .key = record->key,
      .value = record->value,
      .headers = record->headers,
      .timestamp = record->timestamp,
      .key_size = record->key_size,
      .value_size = record->value_size,
      .header_count = record->header_count,
      .headers_size = record->headers_size,
  };
  return edit;
}

/// Takes over what `transform_fetch` says of one record.
static int take_action(struct policy_fetch *fetch, const struct policy_output *output, int32_t index, int32_t place,
                       struct fetch_decision *decision)
{
  switch (output->actions[index]) {
    case POLICY_KEEP:
      return 0;
    case POLICY_DROP:
      decision->is_gone[place] = true;
      decision->gone_count++;
      return 0;
    case POLICY_REPLACE:
      if (decision->edits == NULL) {
        decision->edits =
            arena_zalloc(&fetch->job->scratch->arena, (size_t)fetch->job->scratch->records.count * sizeof(void *));
      }
      decision->edits[place] = make_edit(fetch, &output->replaced[index]);
      return 0;
    default:
      return fail(fetch, fetch->transform, place, "records can be shown, changed or dropped");
  }
}

/// Asks `transform_fetch` about the records that are left.
static int ask_transform(struct policy_fetch *fetch, struct fetch_decision *decision)
{
  const struct batch_records *records = &fetch->job->scratch->records;
  const struct record_view *left = records->records;
  int32_t count = records->count - decision->gone_count;
  int32_t *places = NULL;
  if (count < records->count) {
    struct record_view *copies = arena_alloc(&fetch->job->scratch->arena, (size_t)count * sizeof *copies);
    places = arena_alloc(&fetch->job->scratch->arena, (size_t)count * sizeof *places);
    int32_t at = 0;
    for (int32_t i = 0; i < records->count; i++) {
      if (!decision->is_gone[i]) {
        copies[at] = records->records[i];
        places[at++] = i;
      }
    }
    left = copies;
  }
  struct policy_output output;
  TRY(call(fetch, fetch->transform, left, count, &output));
  if (output.extra_count > 0) {
    return fail(fetch, fetch->transform, output.extras[0].from,
                "what is fetched cannot have more records than are stored");
  }
  for (int32_t i = 0; i < count; i++) {
    TRY(take_action(fetch, &output, i, places != NULL ? places[i] : i, decision));
  }
  return 0;
}

// --- writing ---------------------------------------------------------------------------------------------------------

/// Writes a record of a kind that nobody knows, without a value, for a control batch; `at` has room for
/// STRETCH_RECORD_MAX.
///
/// @return its bytes
static size_t write_control_record(uint8_t *at, int32_t offset_delta)
{
  static const uint8_t key[] = {0, 0, 0xff, 0xff}; // version 0, type -1
  uint8_t body[STRETCH_RECORD_MAX] = {0, 0};       // attributes, timestamp delta
  size_t size = 2;
  size += (size_t)varint_put_i32(body + size, offset_delta);
  size += (size_t)varint_put_i32(body + size, (int32_t)sizeof key);
  memcpy(body + size, key, sizeof key);
  size += sizeof key;
  size += (size_t)varint_put_i32(body + size, -1); // value
  size += (size_t)varint_put_i32(body + size, 0);  // headers
  size_t head = (size_t)varint_put_i32(at, (int32_t)size);
  memcpy(at + head, body, size);
  return head + size;
}

/// Writes the empty batch that spans the stretch.
///
/// @param has_record  a control batch with one record at its end
static int write_stretch(struct policy_fetch *fetch, bool has_record)
{
  const struct policy_stretch *stretch = &fetch->stretch;
  TRY(record_buffer_reserve(&fetch->out, BATCH_HEADER_SIZE + STRETCH_RECORD_MAX));
  uint8_t *bytes = fetch->out.bytes + fetch->out.size;
  struct batch_header header = {
      .base_offset = stretch->base_offset,
      .base_timestamp = BATCH_NO_TIMESTAMP,
      .max_timestamp = stretch->max_timestamp,
      .producer_id = BATCH_NO_PRODUCER_ID,
      .size = BATCH_HEADER_SIZE,
      .leader_epoch = stretch->leader_epoch,
      .last_offset_delta = (int32_t)(stretch->last_offset - stretch->base_offset),
      .base_sequence = BATCH_NO_SEQUENCE,
      .producer_epoch = BATCH_NO_PRODUCER_EPOCH,
      .magic = FETCH_FORMAT,
  };
  if (has_record) {
    header.attributes = BATCH_CONTROL;
    header.record_count = 1;
    header.base_timestamp = stretch->max_timestamp;
    header.size += write_control_record(bytes + BATCH_HEADER_SIZE, header.last_offset_delta);
  }
  batch_header_write(bytes, &header);
  fetch->out.size += header.size;
  return 0;
}

/// Writes the message that takes clients of old formats over the stretch.
static int write_null_message(struct policy_fetch *fetch)
{
  const struct message message = {
      .offset = fetch->stretch.last_offset,
      .timestamp = fetch->stretch.max_timestamp,
      .key_size = -1,
      .value_size = -1,
      .magic = (int8_t)fetch->magic,
  };
  return message_put(&fetch->out, &message);
}

/// Writes the stretch, if there is one; `is_last`: at the end of the answer.
static int end_stretch(struct policy_fetch *fetch, bool is_last)
{
  if (!fetch->stretch.is_there) {
    return 0;
  }
  if (fetch->magic >= FETCH_FORMAT) {
    TRY(write_stretch(fetch, is_last && !fetch->has_record));
  }
  fetch->stretch.is_there = false;
  return 0;
}

/// Adds a batch of which nothing is shown to the stretch.
static int add_to_stretch(struct policy_fetch *fetch, const uint8_t *bytes)
{
  struct policy_stretch *stretch = &fetch->stretch;
  int64_t last_offset = batch_last_offset(bytes);
  if (stretch->is_there && last_offset - stretch->base_offset > INT32_MAX) {
    TRY(end_stretch(fetch, false));
  }
  if (!stretch->is_there) {
    *stretch = (struct policy_stretch){
        .base_offset = batch_base_offset(bytes), .max_timestamp = BATCH_NO_TIMESTAMP, .is_there = true};
  }
  int64_t max_timestamp = batch_max_timestamp(bytes);
  stretch->last_offset = last_offset;
  stretch->leader_epoch = batch_leader_epoch(bytes);
  stretch->max_timestamp = max_timestamp > stretch->max_timestamp ? max_timestamp : stretch->max_timestamp;
  return 1;
}

/// Adds a batch as it is.
static int add_batch(struct policy_fetch *fetch, const uint8_t *bytes, size_t size)
{
  struct record_buffer *out = &fetch->out;
  size_t before = out->size + (fetch->stretch.is_there ? BATCH_HEADER_SIZE : 0);
  if (before > 0 && before + size > fetch->limit_bytes) {
    return 0; // a stretch ends the answer, with a record where that has none
  }
  TRY(end_stretch(fetch, false));
  TRY(record_buffer_reserve(out, size));
  memcpy(out->bytes + out->size, bytes, size);
  out->size += size;
  fetch->has_record = fetch->has_record || batch_record_count(bytes) > 0;
  return 1;
}

/// Adds the messages of a batch in an old format.
static int add_messages(struct policy_fetch *fetch, const uint8_t *bytes, size_t size)
{
  struct record_buffer *out = &fetch->out;
  bool is_first = out->size == 0;
  int result = down_convert_batch(&fetch->convert, bytes, size, fetch->magic, fetch->first_offset, out);
  if (result == ERR_LIMIT && !is_first) {
    return 0;
  }
  TRY(result == ERR_LIMIT ? ERR_BATCH_TOO_LARGE : result);
  fetch->stretch.is_there = false;
  if (is_first && out->size > 0) {
    record_buffer_trim(out, fetch->limit_bytes);
  }
  return 1;
}

/// Whether a batch has records for the client, which may be in the middle of it.
static bool has_wanted(const struct policy_fetch *fetch, const struct fetch_decision *decision)
{
  for (int32_t i = 0; i < fetch->job->scratch->records.count; i++) {
    if (!decision->is_gone[i] && fetch->job->scratch->records.records[i].offset >= fetch->first_offset) {
      return true;
    }
  }
  return false;
}

/// Writes what was decided.
static int add_decided(struct policy_fetch *fetch, const struct fetch_decision *decision, const uint8_t *bytes,
                       size_t size)
{
  if (!has_wanted(fetch, decision)) {
    return add_to_stretch(fetch, bytes);
  }
  if (decision->gone_count > 0 || decision->edits != NULL) {
    const struct batch_packing packing = {
        .codec = fetch->job->scratch->records.iterator.header.attributes & BATCH_CODEC_MASK,
        .level = CODEC_LEVEL_DEFAULT,
        .limit_bytes = FETCH_BYTES_MAX,
    };
    int result =
        batch_rewrite(&fetch->job->scratch->records, decision->is_gone, decision->edits, &packing, &fetch->written);
    if (result == ERR_INVALID || result == ERR_BATCH_TOO_LARGE) {
      return fail(fetch, fetch->transform != NULL ? fetch->transform : fetch->where, -1, error_last()->message);
    }
    TRY(result);
    bytes = fetch->written.bytes;
    size = fetch->written.size;
  }
  return fetch->magic < FETCH_FORMAT ? add_messages(fetch, bytes, size) : add_batch(fetch, bytes, size);
}

int policy_fetch_batch(struct policy_fetch *fetch, const uint8_t *bytes, size_t size)
{
  struct batch_header header;
  TRY(batch_header_read(bytes, size, &header));
  if (fetch->out.limit == 0) {
    record_buffer_init(&fetch->out, FETCH_BYTES_MAX);
  }
  if ((header.attributes & BATCH_CONTROL) != 0) {
    return fetch->magic < FETCH_FORMAT ? add_to_stretch(fetch, bytes) : add_batch(fetch, bytes, size);
  }
  size_t batch_max_bytes = size > fetch->batch_max_bytes ? size : fetch->batch_max_bytes;
  size_t work_limit = batch_max_bytes * BATCH_UNPACK_RATIO;
  fetch->convert.work_limit = work_limit;
  if (fetch->where == NULL && fetch->transform == NULL && fetch->magic >= FETCH_FORMAT) {
    return add_batch(fetch, bytes, size);
  }
  arena_reset(&fetch->job->scratch->arena);
  TRY(batch_records_open(&fetch->job->scratch->records, bytes, size, work_limit));
  struct fetch_decision decision = {
      .is_gone = arena_zalloc(&fetch->job->scratch->arena, (size_t)fetch->job->scratch->records.count + 1)};
  if (fetch->where != NULL && fetch->job->scratch->records.count > 0) {
    TRY(ask_where(fetch, &decision));
  }
  if (fetch->transform != NULL && decision.gone_count < fetch->job->scratch->records.count) {
    TRY(ask_transform(fetch, &decision));
  }
  fetch->unpacked_bytes += size + fetch->job->scratch->records.iterator.unpacked.size;
  int more = add_decided(fetch, &decision, bytes, size);
  return more > 0 && fetch->unpacked_bytes >= FETCH_UNPACKED_MAX ? 0 : more;
}

bool policy_fetch_has_any(const struct policy_fetch *fetch)
{
  return fetch->out.size > 0 || fetch->stretch.is_there;
}

int policy_fetch_finish(struct policy_fetch *fetch)
{
  if (fetch->magic < FETCH_FORMAT && fetch->stretch.is_there && fetch->out.size == 0) {
    TRY(write_null_message(fetch));
  }
  TRY(end_stretch(fetch, true));
  record_buffer_trim(&fetch->out, 0);
  return 0;
}

void policy_fetch_destroy(struct policy_fetch *fetch)
{
  record_buffer_destroy(&fetch->out);
  record_buffer_destroy(&fetch->written);
  down_convert_destroy(&fetch->convert);
}
