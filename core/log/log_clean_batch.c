// SPDX-License-Identifier: Apache-2.0
//
// What of a batch stays. One that stays as a whole is copied as it is; what is left of another one keeps its base
// offset, last offset, producer, sequence, leader epoch and codec, so that nobody who counts by these sees a
// difference. A batch that gets a delete horizon has it in the place of its base timestamp (KIP-534), and its records'
// timestamps are written anew relative to that.
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "log/header_scan.h"
#include "log/log_clean_private.h"
#include "record/codec.h"

enum { OUTPUT_SIZE_MAX = 0x7fffffff };

/// How a batch is treated.
struct verdict {
  bool is_discarded;       ///< all its records go: it was aborted, or is a marker whose time has come
  bool is_kept_empty;      ///< it stays when none of its records does
  bool is_marker_alone;    ///< a marker of a transaction without records: it goes in time
  bool are_tombstones_due; ///< the time of its delete horizon has come
  bool has_horizon;        ///< it has a delete horizon
};

size_t clean_unpack_limit(const struct log_clean *pass, const struct batch_header *header)
{
  size_t limit = (size_t)pass->config.max_message_bytes;
  return (limit > header->size ? limit : header->size) * BATCH_UNPACK_RATIO;
}

/// Whether a batch is the last of its producer: the one that says which sequence number comes next.
static bool is_last_of_producer(const struct log_clean *pass, const struct batch_header *header)
{
  int32_t low = 0;
  int32_t high = pass->producer_count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (pass->producers[middle].id < header->producer_id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (header->producer_id < 0 || low == pass->producer_count || pass->producers[low].id != header->producer_id) {
    return false;
  }
  const struct clean_producer *producer = &pass->producers[low];
  bool is_control = (header->attributes & BATCH_CONTROL) != 0;
  return producer->last_offset >= 0 ? header->base_offset + header->last_offset_delta == producer->last_offset
                                    : is_control && header->producer_epoch == producer->epoch;
}

static struct verdict judge_batch(struct log_clean *pass, const struct batch_header *header, const uint8_t *bytes)
{
  bool is_control = (header->attributes & BATCH_CONTROL) != 0;
  struct verdict verdict = {.has_horizon = (header->attributes & BATCH_DELETE_HORIZON) != 0};
  verdict.are_tombstones_due = verdict.has_horizon && header->base_timestamp <= pass->now_ms;
  if (is_control) {
    verdict.is_marker_alone = clean_txn_take_control(&pass->txn, header, bytes);
    verdict.is_discarded = verdict.is_marker_alone && verdict.are_tombstones_due;
  } else {
    verdict.is_discarded = clean_txn_take_data(&pass->txn, header);
  }
  verdict.is_kept_empty =
      is_last_of_producer(pass, header) || header->base_offset + header->last_offset_delta + 1 == pass->mapped_offset;
  return verdict;
}

/// Whether a record stays.
static bool keeps_record(struct log_clean *pass, const struct batch_header *header, const struct verdict *verdict,
                         const struct record_view *record)
{
  if (verdict->is_discarded) {
    return false;
  }
  if ((header->attributes & BATCH_CONTROL) != 0 || record->offset >= pass->mapped_offset) {
    return true;
  }
  if (record->key_size < 0) {
    pass->counts->keyless_records++;
    return false;
  }
  bool is_newest = record->offset >= cleaner_offset_map_get(&pass->map, record->key, (size_t)record->key_size);
  return is_newest && (record->value_size >= 0 || !verdict->are_tombstones_due);
}

/// Adds a record as it is.
static int add_span(struct record_buffer *out, const uint8_t *from, const uint8_t *to)
{
  size_t size = (size_t)(to - from);
  TRY(record_buffer_reserve(out, size));
  memcpy(out->bytes + out->size, from, size);
  out->size += size;
  return 0;
}

/// Adds a record with another timestamp delta. @param from  well-formed, as the iterator has just parsed it
static int add_shifted(struct record_buffer *out, const uint8_t *from, const uint8_t *to, int64_t delta)
{
  int32_t body = 0;
  int64_t old_delta = 0;
  const uint8_t *attributes = from + varint_get_i32(from, to, &body);
  const uint8_t *rest = attributes + 1;
  rest += varint_get_i64(rest, to, &old_delta);
  int64_t size = 1 + varint_size_i64(delta) + (to - rest);
  if (size > INT32_MAX) {
    return ERR_LIMIT;
  }
  TRY(record_buffer_reserve(out, (size_t)size + VARINT_SIZE_MAX));
  uint8_t *at = out->bytes + out->size;
  at += varint_put_i32(at, (int32_t)size);
  *at++ = *attributes;
  at += varint_put_i64(at, delta);
  memcpy(at, rest, (size_t)(to - rest));
  out->size = (size_t)(at - out->bytes) + (size_t)(to - rest);
  return 0;
}

/// What was found among the records of a batch.
struct selection {
  int32_t kept;          ///< records that stay
  int64_t max_timestamp; ///< largest of these, -1: none
  bool has_tombstones;   ///< one of these has no value
};

/// Walks over the records; those that stay are put into `plain`, behind room for a header.
///
/// @param horizon_ms  the base timestamp that they get; where `is_shifted` is not set the old one stays
static int select_records(struct log_clean *pass, const struct batch_header *header, const struct verdict *verdict,
                          const uint8_t *bytes, bool is_shifted, int64_t horizon_ms, struct selection *selection)
{
  struct batch_iterator *records = &pass->records;
  struct record_view record;
  *selection = (struct selection){.max_timestamp = -1};
  record_buffer_reset(&pass->plain, OUTPUT_SIZE_MAX);
  TRY(record_buffer_reserve(&pass->plain, BATCH_HEADER_SIZE));
  pass->plain.size = BATCH_HEADER_SIZE;
  TRY(batch_iterator_open(records, bytes, header->size, clean_unpack_limit(pass, header)));
  int64_t offset = header->base_offset - 1;
  const uint8_t *from = records->at;
  int more = 0;
  while ((more = batch_iterator_next(records, &record)) > 0) {
    if (record.offset <= offset || record.offset > header->base_offset + header->last_offset_delta) {
      return error_set(ERR_INVALID_RECORD, "a record with offset %lld in the batch at offset %lld",
                       (long long)record.offset, (long long)header->base_offset);
    }
    offset = record.offset;
    if (keeps_record(pass, header, verdict, &record)) {
      int64_t timestamp = (int64_t)((uint64_t)header->base_timestamp + (uint64_t)record.timestamp_delta);
      TRY(is_shifted
              ? add_shifted(&pass->plain, from, records->at, (int64_t)((uint64_t)timestamp - (uint64_t)horizon_ms))
              : add_span(&pass->plain, from, records->at));
      selection->kept++;
      selection->has_tombstones = selection->has_tombstones || record.value_size < 0;
      selection->max_timestamp = timestamp > selection->max_timestamp ? timestamp : selection->max_timestamp;
    }
    from = records->at;
  }
  return more;
}

/// Writes what was selected as a batch.
static int pack(struct log_clean *pass, const struct batch_header *header, struct clean_output *output)
{
  int codec = header->attributes & BATCH_CODEC_MASK;
  struct record_buffer *out = &pass->plain;
  if (codec != CODEC_NONE && header->record_count > 0) {
    out = &pass->packed;
    record_buffer_reset(out, (size_t)OUTPUT_SIZE_MAX * 2); // room for the codec's worst case
    TRY(record_buffer_reserve(out, BATCH_HEADER_SIZE));
    out->size = BATCH_HEADER_SIZE;
    TRY(codec_compress(codec, CODEC_LEVEL_DEFAULT, pass->plain.bytes + BATCH_HEADER_SIZE,
                       pass->plain.size - BATCH_HEADER_SIZE, out));
    if (out->size > OUTPUT_SIZE_MAX) {
      return error_set(ERR_LIMIT, "a batch of %zu bytes after compression", out->size);
    }
  }
  struct batch_header written = *header;
  written.size = out->size;
  batch_header_write(out->bytes, &written);
  *output = (struct clean_output){
      .bytes = out->bytes, .size = out->size, .timestamp = header_timestamp(&written), .is_changed = true};
  return 0;
}

/// Writes a batch without records, which keeps its place and what it says of its producer.
static int pack_empty(struct log_clean *pass, const struct batch_header *header, struct clean_output *output)
{
  struct batch_header empty = *header;
  empty.base_timestamp = BATCH_NO_TIMESTAMP;
  empty.record_count = 0;
  empty.attributes &= (uint16_t) ~(BATCH_CODEC_MASK | BATCH_DELETE_HORIZON);
  pass->plain.size = BATCH_HEADER_SIZE;
  TRY(pack(pass, &empty, output));
  output->is_changed = header->record_count > 0;
  return 0;
}

int clean_batch(struct log_clean *pass, const struct batch_header *header, const uint8_t *bytes,
                struct clean_output *output)
{
  struct verdict verdict = judge_batch(pass, header, bytes);
  struct selection selection = {0};
  *output = (struct clean_output){.is_changed = true};
  pass->counts->read_records += header->record_count;
  TRY(select_records(pass, header, &verdict, bytes, false, 0, &selection));
  pass->counts->kept_records += selection.kept;
  if (selection.kept == 0) {
    return verdict.is_kept_empty ? pack_empty(pass, header, output) : 0;
  }
  bool gets_horizon = (selection.has_tombstones || verdict.is_marker_alone) && !verdict.has_horizon;
  if (selection.kept == header->record_count && !gets_horizon) {
    *output = (struct clean_output){.bytes = bytes, .size = header->size, .timestamp = header_timestamp(header)};
    return 0;
  }
  struct batch_header written = *header;
  written.record_count = selection.kept;
  if ((header->attributes & BATCH_APPEND_TIME) == 0) {
    written.max_timestamp = selection.max_timestamp;
  }
  if (gets_horizon) {
    int64_t horizon_ms = pass->now_ms;
    if (__builtin_add_overflow(horizon_ms, pass->config.delete_retention_ms, &horizon_ms)) {
      horizon_ms = INT64_MAX;
    }
    int64_t kept = pass->counts->keyless_records;
    TRY(select_records(pass, header, &verdict, bytes, true, horizon_ms, &selection));
    pass->counts->keyless_records = kept; // they were counted already
    written.base_timestamp = horizon_ms;
    written.attributes |= BATCH_DELETE_HORIZON;
  }
  return pack(pass, &written, output);
}
