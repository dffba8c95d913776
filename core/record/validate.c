// SPDX-License-Identifier: Apache-2.0
#include "record/validate.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"
#include "record/buffer.h"
#include "record/codec.h"
#include "record/iterate.h"
#include "record/record_private.h"
#include "record/rules_private.h"

/// What a walk over the records learned.
struct batch_walk {
  int64_t min_timestamp; ///< smallest but for -1; INT64_MAX: none
  int64_t max_timestamp; ///< largest, at least -1
  int32_t max_delta;     ///< offset delta of the first record with it; -1: none
  bool has_null_key;     ///< a record has no key
};

/// Why a record is refused.
enum record_fault {
  RECORD_FINE,
  RECORD_NO_KEY,         ///< in a compacted topic
  RECORD_TIMESTAMP,      ///< out of range
  RECORD_TIMESTAMP_TYPE, ///< the LogAppendTime bit, where only the broker may set it
};

static int find_batch(const uint8_t *bytes, size_t size, struct arena *arena, struct batch_verdict *out,
                      size_t *batch_bytes);
static int check_request(const uint8_t *bytes, size_t size, size_t batch_bytes, const struct batch_rules *rules,
                         struct arena *arena, struct batch_verdict *out);
static int check_whole(const uint8_t *bytes, size_t size, const struct batch_rules *rules, struct batch_header *header);
static int check_counts(const struct batch_header *header, const struct batch_rules *rules);
static int check_records(const uint8_t *bytes, const struct batch_rules *rules, struct arena *arena,
                         struct batch_verdict *out);
static bool needs_unpacking(const struct batch_header *header, const uint8_t *records, size_t size,
                            const struct batch_rules *rules);
static bool is_suspicious(const struct batch_header *header, const struct batch_rules *rules);
static int check_packed(const uint8_t *records, size_t size, const struct batch_rules *rules, struct arena *arena,
                        struct batch_verdict *out);
static int check_plain(const uint8_t *records, size_t size, const struct batch_rules *rules, struct arena *arena,
                       struct batch_verdict *out);
static int walk_records(const uint8_t *at, const uint8_t *end, const struct batch_header *header, int32_t largest,
                        struct batch_walk *out);
static int refuse_records(const uint8_t *at, const uint8_t *end, const struct batch_rules *rules, struct arena *arena,
                          struct batch_verdict *out);
static enum record_fault find_fault(const struct record_fields *record, const struct batch_header *header,
                                    const struct batch_rules *rules);
static const char *describe_fault(enum record_fault fault, const struct record_fields *record,
                                  const struct batch_header *header, const struct batch_rules *rules,
                                  struct arena *arena);
static const char *join_first_errors(const struct batch_verdict *verdict, struct arena *arena);

bool batch_validate_unpacks(const uint8_t *bytes, size_t size, const struct batch_rules *rules)
{
  if (size < BATCH_HEADER_SIZE || batch_magic(bytes) != BATCH_FORMAT_MAX) {
    return false;
  }
  struct batch_header header = {
      .attributes = batch_attributes(bytes),
      .base_timestamp = (int64_t)bytes_get_u64(bytes + BATCH_BASE_TIMESTAMP_POS),
      .max_timestamp = batch_max_timestamp(bytes),
  };
  int64_t whole = batch_size(bytes);
  size_t end = whole >= BATCH_HEADER_SIZE && (size_t)whole <= size ? (size_t)whole : size;
  return needs_unpacking(&header, bytes + BATCH_HEADER_SIZE, end - BATCH_HEADER_SIZE, rules);
}

int batch_validate(uint8_t *bytes, size_t size, const struct batch_rules *rules, struct arena *arena,
                   struct batch_verdict *out)
{
  *out = (struct batch_verdict){.max_timestamp_delta = -1};
  size_t batch_bytes = 0;
  int found = find_batch(bytes, size, arena, out, &batch_bytes);
  if (found < 0) {
    return found;
  }
  if (found == 0) {
    return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": no whole batch in %zu bytes", rules->topic, rules->partition,
                     size);
  }
  TRY(check_request(bytes, size, batch_bytes, rules, arena, out));
  struct batch_header header = {0};
  TRY(check_whole(bytes, batch_bytes, rules, &header));
  out->was_examined = true;
  TRY(check_counts(&header, rules));
  out->header = header;
  TRY(check_records(bytes, rules, arena, out));
  if (rules->is_append_time) {
    out->header.max_timestamp = rules->now_ms;
    out->max_timestamp_delta = 0;
  }
  if (batch_set_timestamps(bytes, batch_bytes, rules->is_append_time, out->header.max_timestamp)) {
    out->header.attributes = batch_attributes(bytes);
    out->header.crc = bytes_get_u32(bytes + BATCH_CRC_POS);
  }
  return 0;
}

/// Looks for a whole batch at `bytes`, as Kafka's reader does: a cut one is no batch, an impossible one is an error.
///
/// @param[out] batch_bytes  size of the batch
/// @return 1, 0 (none), ERR_CORRUPT_BATCH
static int find_batch(const uint8_t *bytes, size_t size, struct arena *arena, struct batch_verdict *out,
                      size_t *batch_bytes)
{
  if (size < BATCH_OVERHEAD_SIZE) {
    return 0;
  }
  int32_t length = (int32_t)bytes_get_u32(bytes + BATCH_LENGTH_POS);
  if (length < BATCH_LENGTH_MIN) {
    out->message = arena_printf(arena, "Record size %" PRId32 " is less than the minimum record overhead (%d)", length,
                                BATCH_LENGTH_MIN);
    return error_set(ERR_CORRUPT_BATCH, "%s", out->message);
  }
  if (size < BATCH_PREFIX_SIZE) {
    return 0;
  }
  int8_t magic = batch_magic(bytes);
  if (magic < 0 || magic > BATCH_FORMAT_MAX) {
    out->message = arena_printf(arena, "Invalid magic found in record: %d", magic);
    return error_set(ERR_CORRUPT_BATCH, "%s", out->message);
  }
  if ((size_t)length > size - BATCH_OVERHEAD_SIZE) {
    return 0;
  }
  *batch_bytes = (size_t)length + BATCH_OVERHEAD_SIZE;
  return 1;
}

/// What the version of the request allows: format, codec, one batch. The order decides which error a client sees.
static int check_request(const uint8_t *bytes, size_t size, size_t batch_bytes, const struct batch_rules *rules,
                         struct arena *arena, struct batch_verdict *out)
{
  size_t next_bytes;
  int next = find_batch(bytes + batch_bytes, size - batch_bytes, arena, out, &next_bytes);
  if (next < 0) {
    return next;
  }
  if (batch_magic(bytes) < BATCH_FORMAT_MAX) {
    return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": record format %d", rules->topic, rules->partition,
                     batch_magic(bytes));
  }
  int codec = batch_attributes(bytes) & BATCH_CODEC_MASK; // within the smallest batch
  if (codec >= CODEC_COUNT) {
    out->was_examined = !rules->refuses_zstd; // where zstd is looked for, the codec is read before the partition
    return error_set(ERR_DECOMPRESS, "%s-%" PRId32 ": there is no compression codec %d", rules->topic, rules->partition,
                     codec);
  }
  if (codec == CODEC_ZSTD && rules->refuses_zstd) {
    return error_set(ERR_UNSUPPORTED_CODEC, "%s-%" PRId32 ": zstd needs Produce 7", rules->topic, rules->partition);
  }
  if (next > 0) {
    return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": more than one batch", rules->topic, rules->partition);
  }
  return 0;
}

/// Size and CRC of the one batch.
static int check_whole(const uint8_t *bytes, size_t size, const struct batch_rules *rules, struct batch_header *header)
{
  if ((int64_t)size > rules->max_message_bytes) {
    return error_set(ERR_BATCH_TOO_LARGE, "%s-%" PRId32 ": batch of %zu bytes, max.message.bytes is %" PRId32,
                     rules->topic, rules->partition, size, rules->max_message_bytes);
  }
  TRY(batch_header_read(bytes, size, header));
  uint32_t crc = crc32c(bytes + BATCH_ATTRIBUTES_POS, size - BATCH_ATTRIBUTES_POS);
  if (crc != header->crc) {
    return error_set(ERR_CORRUPT_BATCH, "%s-%" PRId32 ": batch has CRC %08" PRIx32 ", and says %08" PRIx32,
                     rules->topic, rules->partition, crc, header->crc);
  }
  return 0;
}

/// What the header says of its records has to agree with itself, and with its producer.
static int check_counts(const struct batch_header *header, const struct batch_rules *rules)
{
  if (header->base_offset != 0) {
    return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": base offset %" PRId64 " in a produced batch", rules->topic,
                     rules->partition, header->base_offset);
  }
  if (header->last_offset_delta < 0 || header->record_count <= 0 ||
      header->record_count - 1 != header->last_offset_delta) {
    return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": %" PRId32 " records with last offset delta %" PRId32,
                     rules->topic, rules->partition, header->record_count, header->last_offset_delta);
  }
  // A batch that stays packed cannot be counted; what cannot be true is refused all the same. A record takes 7 bytes.
  int64_t most_bytes = (header->attributes & BATCH_CODEC_MASK) == CODEC_NONE
                           ? (int64_t)header->size
                           : (int64_t)rules->max_message_bytes * BATCH_UNPACK_RATIO;
  if (header->record_count > most_bytes / (RECORD_BODY_MIN + 1)) {
    return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": %" PRId32 " records cannot be in a batch of %zu bytes",
                     rules->topic, rules->partition, header->record_count, header->size);
  }
  if ((header->attributes & BATCH_CONTROL) != 0 && !rules->allows_control) {
    return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": control batch from a client", rules->topic, rules->partition);
  }
  if (header->producer_id > BATCH_NO_PRODUCER_ID && header->base_sequence < 0 && !rules->allows_control) {
    return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": sequence number %" PRId32 " of producer %" PRId64,
                     rules->topic, rules->partition, header->base_sequence, header->producer_id);
  }
  return 0;
}

/// Decides how deep to look. On success out->header.max_timestamp is what the records (if seen) say.
static int check_records(const uint8_t *bytes, const struct batch_rules *rules, struct arena *arena,
                         struct batch_verdict *out)
{
  const struct batch_header *header = &out->header;
  const uint8_t *records = bytes + BATCH_HEADER_SIZE;
  size_t size = header->size - BATCH_HEADER_SIZE;
  if (needs_unpacking(header, records, size, rules)) {
    return check_packed(records, size, rules, arena, out);
  }
  if ((header->attributes & BATCH_CODEC_MASK) == CODEC_NONE) {
    return check_plain(records, size, rules, arena, out);
  }
  out->max_timestamp_delta = header->max_timestamp == BATCH_NO_TIMESTAMP ? -1 : header->last_offset_delta;
  return 0;
}

/// Whether a batch is compressed and judged by its records; codec, timestamps and attributes of the header are enough,
/// and the first bytes of what is packed.
static bool needs_unpacking(const struct batch_header *header, const uint8_t *records, size_t size,
                            const struct batch_rules *rules)
{
  int codec = header->attributes & BATCH_CODEC_MASK;
  return codec != CODEC_NONE && (rules->needs_records || rules->is_compacted || rules->max_record_bytes > 0 ||
                                 is_suspicious(header, rules) || !codec_begins_right(codec, records, size));
}

/// Whether the header of a compressed batch needs a look at the records: to answer a fault precisely, or to correct it.
static bool is_suspicious(const struct batch_header *header, const struct batch_rules *rules)
{
  if ((header->attributes & BATCH_APPEND_TIME) != 0) {
    return true;
  }
  if (rules->is_append_time) {
    return false;
  }
  struct timestamp_range range = allowed_timestamps(rules);
  return header->max_timestamp < header->base_timestamp || header->max_timestamp < BATCH_NO_TIMESTAMP ||
         header->max_timestamp > range.highest ||
         (header->max_timestamp != BATCH_NO_TIMESTAMP && header->max_timestamp < range.lowest) ||
         (header->base_timestamp != BATCH_NO_TIMESTAMP && header->base_timestamp < range.lowest);
}

static int check_packed(const uint8_t *records, size_t size, const struct batch_rules *rules, struct arena *arena,
                        struct batch_verdict *out)
{
  size_t limit = (size_t)rules->max_message_bytes * BATCH_UNPACK_RATIO;
  struct record_buffer unpacked;
  record_buffer_init(&unpacked, limit);
  int result = codec_decompress(out->header.attributes & BATCH_CODEC_MASK, records, size, &unpacked);
  if (result == ERR_LIMIT) {
    result = error_set(ERR_BATCH_TOO_LARGE, "%s-%" PRId32 ": %zu compressed bytes are more than %zu unpacked",
                       rules->topic, rules->partition, size, limit);
  }
  if (result == 0) {
    result = check_plain(unpacked.size > 0 ? unpacked.bytes : records, unpacked.size, rules, arena, out);
  }
  record_buffer_destroy(&unpacked);
  return result;
}

/// Judges uncompressed records: one walk, and a second one only to say which records are refused.
static int check_plain(const uint8_t *records, size_t size, const struct batch_rules *rules, struct arena *arena,
                       struct batch_verdict *out)
{
  struct batch_header *header = &out->header;
  struct batch_walk walk;
  bool is_packed = (header->attributes & BATCH_CODEC_MASK) != CODEC_NONE;
  int result = walk_records(records, records + size, header, is_packed ? rules->max_record_bytes : 0, &walk);
  if (result < 0) {
    return error_set(result, "%s-%" PRId32 ": the %" PRId32 " records of a batch are malformed, or not as many",
                     rules->topic, rules->partition, header->record_count);
  }
  bool is_refused = rules->is_compacted && walk.has_null_key;
  if (rules->is_append_time) {
    is_refused = is_refused || (header->attributes & BATCH_APPEND_TIME) != 0;
  } else {
    struct timestamp_range range = allowed_timestamps(rules);
    is_refused = is_refused || walk.min_timestamp < range.lowest || walk.max_timestamp > range.highest;
  }
  if (is_refused) {
    return refuse_records(records, records + size, rules, arena, out);
  }
  header->max_timestamp = walk.max_timestamp;
  out->max_timestamp_delta = walk.max_delta;
  out->was_walked = true;
  return 0;
}

/// The walk: every record well-formed, offset deltas counting from 0, nothing left at the end.
///
/// @param largest  bytes that a record may have, as its length field counts them; 0: any
/// @return 0, ERR_INVALID_RECORD (no error_set())
static int walk_records(const uint8_t *at, const uint8_t *end, const struct batch_header *header, int32_t largest,
                        struct batch_walk *out)
{
  struct batch_walk walk = {.min_timestamp = INT64_MAX, .max_timestamp = BATCH_NO_TIMESTAMP, .max_delta = -1};
  struct record_fields record = {0};
  for (int32_t i = 0; i < header->record_count; i++) {
    int32_t body = 0;
    if (!record_parse(at, end, &record) || record.offset_delta != i ||
        (largest > 0 && varint_get_i32(at, end, &body) > 0 && body > largest)) {
      return ERR_INVALID_RECORD;
    }
    int64_t timestamp = record_timestamp(header->base_timestamp, record.timestamp_delta);
    if (timestamp > walk.max_timestamp) {
      walk.max_timestamp = timestamp;
      walk.max_delta = i;
    }
    if (timestamp < walk.min_timestamp && timestamp != BATCH_NO_TIMESTAMP) {
      walk.min_timestamp = timestamp;
    }
    walk.has_null_key |= record.key_size < 0;
    at = record.end;
  }
  if (at != end) {
    return ERR_INVALID_RECORD;
  }
  *out = walk;
  return 0;
}

/// Lists the records that are refused. The walk has been here: they are well-formed, and one of them is refused.
static int refuse_records(const uint8_t *at, const uint8_t *end, const struct batch_rules *rules, struct arena *arena,
                          struct batch_verdict *out)
{
  const struct batch_header *header = &out->header;
  int32_t capacity = header->record_count < BATCH_RECORD_ERRORS_MAX ? header->record_count : BATCH_RECORD_ERRORS_MAX;
  struct batch_record_error *errors = arena_alloc(arena, (size_t)capacity * sizeof *errors);
  bool has_timestamp_fault = false;
  for (int32_t i = 0; i < header->record_count; i++) {
    struct record_fields record = {0};
    if (!record_parse(at, end, &record)) {
      break;
    }
    at = record.end;
    enum record_fault fault = find_fault(&record, header, rules);
    if (fault == RECORD_FINE) {
      continue;
    }
    has_timestamp_fault |= fault != RECORD_NO_KEY;
    out->record_error_total++;
    if (out->record_error_count < capacity) {
      errors[out->record_error_count++] =
          (struct batch_record_error){.index = i, .message = describe_fault(fault, &record, header, rules, arena)};
    }
  }
  out->record_errors = errors;
  if (has_timestamp_fault) {
    out->message = "One or more records have been rejected due to invalid timestamp";
  } else {
    out->message = join_first_errors(out, arena);
  }
  return error_set(has_timestamp_fault ? ERR_INVALID_TIMESTAMP : ERR_INVALID_RECORD,
                   "%s-%" PRId32 ": %" PRId32 " of %" PRId32 " records refused", rules->topic, rules->partition,
                   out->record_error_total, header->record_count);
}

/// A record has one fault at most; Kafka looks for them in this order.
static enum record_fault find_fault(const struct record_fields *record, const struct batch_header *header,
                                    const struct batch_rules *rules)
{
  if (rules->is_compacted && record->key_size < 0) {
    return RECORD_NO_KEY;
  }
  if (rules->is_append_time) {
    return (header->attributes & BATCH_APPEND_TIME) != 0 ? RECORD_TIMESTAMP_TYPE : RECORD_FINE;
  }
  int64_t timestamp = record_timestamp(header->base_timestamp, record->timestamp_delta);
  struct timestamp_range range = allowed_timestamps(rules);
  if (timestamp == BATCH_NO_TIMESTAMP || (timestamp >= range.lowest && timestamp <= range.highest)) {
    return RECORD_FINE;
  }
  return RECORD_TIMESTAMP;
}

/// In Kafka's words: programs show them.
static const char *describe_fault(enum record_fault fault, const struct record_fields *record,
                                  const struct batch_header *header, const struct batch_rules *rules,
                                  struct arena *arena)
{
  struct timestamp_range range = allowed_timestamps(rules);
  switch (fault) {
    case RECORD_NO_KEY:
      return arena_printf(arena, "Compacted topic cannot accept message without key in topic partition %s-%" PRId32,
                          rules->topic, rules->partition);
    case RECORD_TIMESTAMP_TYPE:
      return arena_printf(arena,
                          "Invalid timestamp type in message DefaultRecord(offset=%" PRId32 ", timestamp=%" PRId64
                          ", key=%" PRId32 " bytes, value=%" PRId32
                          " bytes). Producer should not set timestamp type to LogAppendTime.",
                          record->offset_delta, header->max_timestamp, record->key_size < 0 ? 0 : record->key_size,
                          record->value_size < 0 ? 0 : record->value_size);
    default:
      return arena_printf(arena,
                          "Timestamp %" PRId64 " of message with offset %" PRId32
                          " is out of range. The timestamp should be within [%" PRId64 ", %" PRId64 "]",
                          record_timestamp(header->base_timestamp, record->timestamp_delta), record->offset_delta,
                          range.lowest, range.highest);
  }
}

static const char *join_first_errors(const struct batch_verdict *verdict, struct arena *arena)
{
  enum { SHOWN = 3 };
  const char *shown = "";
  for (int32_t i = 0; i < verdict->record_error_count && i < SHOWN; i++) {
    shown = arena_printf(arena, "%s%sRecordError(batchIndex=%" PRId32 ", message='%s')", shown, i > 0 ? ", " : "",
                         verdict->record_errors[i].index, verdict->record_errors[i].message);
  }
  return arena_printf(arena,
                      "One or more records have been rejected due to %" PRId32
                      " record errors in total, and only showing the first three errors at most: [%s]",
                      verdict->record_error_total, shown);
}
