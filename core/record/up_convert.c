// SPDX-License-Identifier: Apache-2.0
#include "record/up_convert.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/error.h"
#include "record/batch.h"
#include "record/build.h"
#include "record/codec.h"
#include "record/iterate.h"
#include "record/message_set.h"
#include "record/rules_private.h"
#include "record/validate.h"

/// A conversion under way.
struct up_convert {
  const struct batch_rules *rules;  ///< what is allowed
  struct timestamp_range range;     ///< and when
  struct message_iterator messages; ///< of the message, or wrapper, at hand
  struct batch_builder builder;     ///< the batch so far
  size_t unpacked_max;              ///< bytes that a wrapper may hold
  int64_t max_timestamp;            ///< largest so far, -1: none
  int32_t max_timestamp_delta;      ///< the first message that has it, -1: none
  int codec;                        ///< of the messages
  int magic;                        ///< of the first
  int late_result;                  ///< what Kafka comes to when all messages have been judged; 0: nothing
};

static int survey(struct up_convert *convert, const uint8_t *bytes, size_t size);
static int survey_one(struct up_convert *convert, const struct message *message);
static int convert_all(struct up_convert *convert, const uint8_t *bytes, size_t size);
static int convert_one(struct up_convert *convert, const struct message *outer);
static int judge(const struct up_convert *convert, const struct message *message);
static int add(struct up_convert *convert, const struct message *message);
static int finish(struct up_convert *convert, struct record_buffer *out, struct batch_verdict *verdict);

int message_set_format(const uint8_t *bytes, size_t size)
{
  struct message first;
  const uint8_t *at = bytes;
  int found = message_next(&at, bytes + size, &first);
  if (found <= 0) {
    return found < 0 ? found : ERR_NOT_FOUND;
  }
  if (first.magic < 0 || first.magic > BATCH_FORMAT_MAX) {
    return error_set(ERR_CORRUPT_BATCH, "record format %d", first.magic);
  }
  return first.magic;
}

int message_set_convert(const uint8_t *bytes, size_t size, const struct batch_rules *rules, int codec, int level,
                        struct record_buffer *out, struct batch_verdict *verdict)
{
  *verdict = (struct batch_verdict){.max_timestamp_delta = -1};
  struct up_convert convert = {
      .rules = rules,
      .range = allowed_timestamps(rules),
      .unpacked_max = (size_t)rules->max_message_bytes * BATCH_UNPACK_RATIO,
      .max_timestamp = BATCH_NO_TIMESTAMP,
      .max_timestamp_delta = -1,
      .magic = -1,
  };
  TRY(survey(&convert, bytes, size));
  verdict->was_examined = true;
  struct batch_options options;
  batch_options_init(&options);
  options.codec = codec == MESSAGE_SET_SOURCE_CODEC ? convert.codec : codec;
  options.level = level;
  options.limit_bytes = convert.unpacked_max + BATCH_HEADER_SIZE;
  options.append_time_ms = rules->is_append_time ? rules->now_ms : BATCH_NO_TIMESTAMP;
  batch_builder_init(&convert.builder, &options);
  int result = convert_all(&convert, bytes, size);
  message_iterator_close(&convert.messages);
  if (result == 0) {
    result = finish(&convert, out, verdict);
  }
  batch_builder_destroy(&convert.builder);
  return result;
}

/// What can be said of each message without unpacking it, before any is judged.
static int survey(struct up_convert *convert, const uint8_t *bytes, size_t size)
{
  const uint8_t *at = bytes;
  const uint8_t *end = bytes + size;
  struct message message;
  int32_t count = 0;
  int more;
  while ((more = message_next(&at, end, &message)) > 0) {
    TRY(survey_one(convert, &message));
    count++;
  }
  if (more < 0) {
    return more;
  }
  if (convert->codec != CODEC_NONE && count > 1) {
    return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": something beside a wrapper", convert->rules->topic,
                     convert->rules->partition);
  }
  return 0;
}

static int survey_one(struct up_convert *convert, const struct message *message)
{
  const struct batch_rules *rules = convert->rules;
  if (message->magic < 0 || message->magic > BATCH_FORMAT_MAX) {
    return error_set(ERR_CORRUPT_BATCH, "%s-%" PRId32 ": record format %d", rules->topic, rules->partition,
                     message->magic);
  }
  if ((int64_t)message->size > rules->max_message_bytes) {
    return error_set(ERR_BATCH_TOO_LARGE, "%s-%" PRId32 ": message of %zu bytes, max.message.bytes is %" PRId32,
                     rules->topic, rules->partition, message->size, rules->max_message_bytes);
  }
  bool is_intact = message->magic < BATCH_FORMAT_MAX ? message_is_intact(message)
                                                     : batch_check(message->bytes, message->size, NULL) == 0;
  if (!is_intact) {
    return error_set(ERR_CORRUPT_BATCH, "%s-%" PRId32 ": message with a wrong CRC", rules->topic, rules->partition);
  }
  if (message->magic == BATCH_FORMAT_MAX) {
    return 0; // among old messages; refused when its turn comes
  }
  int codec = message->attributes & MESSAGE_CODEC_MASK;
  if (codec >= CODEC_COUNT) {
    return error_set(ERR_DECOMPRESS, "%s-%" PRId32 ": there is no compression codec %d", rules->topic, rules->partition,
                     codec);
  }
  convert->codec = codec != CODEC_NONE ? codec : convert->codec;
  convert->magic = convert->magic < 0 ? message->magic : convert->magic;
  return 0;
}

/// Judges the messages one after another, and adds them to the batch.
static int convert_all(struct up_convert *convert, const uint8_t *bytes, size_t size)
{
  const uint8_t *at = bytes;
  struct message outer;
  while (message_next(&at, bytes + size, &outer) > 0) {
    if (outer.magic != convert->magic) {
      return error_set(ERR_INVALID_RECORD, "%s-%" PRId32 ": messages of formats %d and %d", convert->rules->topic,
                       convert->rules->partition, convert->magic, outer.magic);
    }
    TRY(convert_one(convert, &outer));
  }
  return convert->late_result;
}

/// One message, or all of a wrapper. Of the faults of a wrapper's messages a wrong timestamp decides, as in Kafka.
static int convert_one(struct up_convert *convert, const struct message *outer)
{
  const struct batch_rules *rules = convert->rules;
  int result = message_iterator_open(&convert->messages, outer, convert->unpacked_max);
  if (result < 0) {
    return result == ERR_LIMIT ? ERR_BATCH_TOO_LARGE : result;
  }
  int fault = 0;
  struct message message;
  while ((result = message_iterator_next(&convert->messages, &message)) != 0) {
    if (result == ERR_MALFORMED) {
      convert->late_result = result;
      continue;
    }
    if (result < 0) {
      return result;
    }
    int judgement = judge(convert, &message);
    fault = judgement < 0 && fault != ERR_INVALID_TIMESTAMP ? judgement : fault;
    if (judgement == 0 && fault == 0 && convert->late_result == 0) {
      TRY(add(convert, &message));
    }
  }
  if (fault < 0) {
    return error_set(fault, "%s-%" PRId32 ": messages of format %d are refused", rules->topic, rules->partition,
                     outer->magic);
  }
  return 0;
}

/// @return 0, ERR_INVALID_RECORD, ERR_INVALID_TIMESTAMP (no error_set())
static int judge(const struct up_convert *convert, const struct message *message)
{
  const struct batch_rules *rules = convert->rules;
  if (message->magic != convert->magic || (rules->is_compacted && message->key_size < 0)) {
    return ERR_INVALID_RECORD;
  }
  if (!rules->is_append_time && message->timestamp != BATCH_NO_TIMESTAMP) {
    bool is_allowed = message->timestamp >= convert->range.lowest && message->timestamp <= convert->range.highest;
    return is_allowed ? 0 : ERR_INVALID_TIMESTAMP;
  }
  bool is_stamped = message->magic > 0 && (message->attributes & MESSAGE_APPEND_TIME) != 0;
  return is_stamped ? ERR_INVALID_TIMESTAMP : 0;
}

static int add(struct up_convert *convert, const struct message *message)
{
  if (message->timestamp < BATCH_NO_TIMESTAMP) {
    convert->late_result = error_set(ERR_MALFORMED, "timestamp %" PRId64, message->timestamp);
    return 0;
  }
  struct record_input record = {
      .timestamp = message->timestamp,
      .key = message->key,
      .value = message->value,
      .key_size = message->key_size,
      .value_size = message->value_size,
  };
  if (batch_builder_add(&convert->builder, &record) < 0) {
    return error_set(ERR_BATCH_TOO_LARGE, "%s-%" PRId32 ": a message set of more than %zu bytes", convert->rules->topic,
                     convert->rules->partition, convert->unpacked_max);
  }
  if (message->timestamp > convert->max_timestamp) {
    convert->max_timestamp = message->timestamp;
    convert->max_timestamp_delta = convert->builder.record_count - 1;
  }
  return 0;
}

/// Packs the batch, and moves it out of the builder.
static int finish(struct up_convert *convert, struct record_buffer *out, struct batch_verdict *verdict)
{
  const struct batch_rules *rules = convert->rules;
  uint8_t *bytes;
  size_t size;
  int result = batch_builder_finish(&convert->builder, &bytes, &size);
  if (result == ERR_LIMIT || (result == 0 && (int64_t)size > rules->max_message_bytes)) {
    return error_set(ERR_BATCH_TOO_LARGE, "%s-%" PRId32 ": a message set is a batch of more than %" PRId32 " bytes",
                     rules->topic, rules->partition, rules->max_message_bytes);
  }
  if (result < 0) {
    return result;
  }
  TRY(batch_header_read(bytes, size, &verdict->header));
  verdict->max_timestamp_delta = rules->is_append_time ? 0 : convert->max_timestamp_delta;
  verdict->was_walked = true;
  struct record_buffer *source =
      bytes == convert->builder.plain.bytes ? &convert->builder.plain : &convert->builder.packed;
  record_buffer_destroy(out);
  *out = *source;
  *source = (struct record_buffer){0};
  return 0;
}
