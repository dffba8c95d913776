// SPDX-License-Identifier: Apache-2.0
#include "record/message_batches.h"

#include <inttypes.h>

#include "base/error.h"
#include "record/batch.h"
#include "record/codec.h"

static int add_plain(struct message_batches *batches, const struct message *outer);
static int add_wrapper(struct message_batches *batches, const struct message *outer);
static int add_inner(struct message_batches *batches, const struct message *message);
static bool fits(const struct message_batches *batches, const struct message *message);
static bool fits_offset(const struct message_batches *batches, int64_t offset);
static void begin(struct message_batches *batches, int64_t base_offset, int64_t append_time_ms, int codec);
static void drop(struct message_batches *batches);
static int put(struct message_batches *batches, const struct message *message);
static int64_t append_time(const struct message *message);
static int64_t expected_offset(const struct message_batches *batches);

void message_batches_init(struct message_batches *batches, int64_t next_offset, bool may_span_holes,
                          size_t unpacked_max, int (*sink)(void *arg, const uint8_t *bytes, size_t size), void *arg)
{
  *batches = (struct message_batches){
      .sink = sink,
      .arg = arg,
      .unpacked_max = unpacked_max,
      .next_offset = next_offset,
      .may_span_holes = may_span_holes,
  };
  struct batch_options options;
  batch_options_init(&options);
  batch_builder_init(&batches->builder, &options);
}

int message_batches_add(struct message_batches *batches, const struct message *outer)
{
  if (outer->magic != 0 && outer->magic != 1) {
    return error_set(ERR_UNSUPPORTED_FORMAT, "message of format %d", outer->magic);
  }
  if (!message_is_intact(outer)) {
    return error_set(ERR_CORRUPT_BATCH, "message at offset %" PRId64 " with a wrong CRC", outer->offset);
  }
  return (outer->attributes & MESSAGE_CODEC_MASK) == CODEC_NONE ? add_plain(batches, outer)
                                                                : add_wrapper(batches, outer);
}

int message_batches_flush(struct message_batches *batches)
{
  if (batches->builder.record_count == 0) {
    return 0;
  }
  uint8_t *bytes;
  size_t size;
  TRY(batch_builder_finish(&batches->builder, &bytes, &size));
  TRY(batches->sink(batches->arg, bytes, size));
  batches->record_count += batches->builder.record_count;
  drop(batches);
  return 0;
}

void message_batches_destroy(struct message_batches *batches)
{
  message_iterator_close(&batches->messages);
  batch_builder_destroy(&batches->builder);
}

static int add_plain(struct message_batches *batches, const struct message *outer)
{
  struct message message = *outer;
  TRY(message_parse(&message));
  if (message.offset < batches->next_offset || message.offset == INT64_MAX) {
    return error_set(ERR_INVALID_RECORD, "a message at offset %" PRId64 " where %" PRId64 " is the next",
                     message.offset, batches->next_offset);
  }
  if (!fits(batches, &message)) {
    TRY(message_batches_flush(batches));
    begin(batches, message.offset, append_time(&message), CODEC_NONE);
  }
  TRY(put(batches, &message));
  batches->next_offset = message.offset + 1;
  return 0;
}

/// Makes one batch of a wrapper. Nothing of it counts unless all of it can be read.
static int add_wrapper(struct message_batches *batches, const struct message *outer)
{
  TRY(message_batches_flush(batches));
  int result = message_iterator_open(&batches->messages, outer, batches->unpacked_max);
  if (result == ERR_LIMIT) {
    return error_set(ERR_LIMIT, "a wrapper at offset %" PRId64 " holds more than %zu bytes", outer->offset,
                     batches->unpacked_max);
  }
  struct message message;
  while (result == 0 && (result = message_iterator_next(&batches->messages, &message)) > 0) {
    result = add_inner(batches, &message);
  }
  if (result == 0 && (outer->offset < expected_offset(batches) - 1 || outer->offset == INT64_MAX ||
                      !fits_offset(batches, outer->offset))) {
    result = error_set(ERR_INVALID_RECORD, "a wrapper at offset %" PRId64 " ends with offset %" PRId64 " inside",
                       outer->offset, expected_offset(batches) - 1);
  }
  if (result < 0) {
    drop(batches);
    return result;
  }
  // A wrapper of format 0 may say that it ends behind its last message, which compaction took away.
  TRY(batch_builder_skip(&batches->builder, (int32_t)(outer->offset + 1 - expected_offset(batches))));
  TRY(message_batches_flush(batches));
  batches->next_offset = outer->offset + 1;
  return 0;
}

/// Adds a message of a wrapper, whose timestamp type is that of all.
static int add_inner(struct message_batches *batches, const struct message *message)
{
  const struct message *outer = &batches->messages.outer;
  bool is_first = batches->builder.record_count == 0;
  int64_t lowest = is_first ? batches->next_offset : expected_offset(batches);
  bool is_possible =
      message->offset >= lowest && message->offset < INT64_MAX && (is_first || fits_offset(batches, message->offset));
  if (message->magic != outer->magic || !is_possible) {
    return error_set(ERR_INVALID_RECORD, "in a wrapper of format %d a message of format %d at offset %" PRId64,
                     outer->magic, message->magic, message->offset);
  }
  if (is_first) {
    begin(batches, message->offset, append_time(outer), outer->attributes & MESSAGE_CODEC_MASK);
  }
  return put(batches, message);
}

/// Whether a plain message goes into the batch at hand.
static bool fits(const struct message_batches *batches, const struct message *message)
{
  const struct batch_builder *builder = &batches->builder;
  return builder->record_count > 0 && builder->record_count < MESSAGE_BATCH_RECORDS &&
         batch_builder_size(builder) + message->size <= MESSAGE_BATCH_BYTES &&
         builder->options.append_time_ms == append_time(message) &&
         (batches->may_span_holes || message->offset == expected_offset(batches)) &&
         fits_offset(batches, message->offset);
}

/// Whether an offset can be told in the batch at hand.
static bool fits_offset(const struct message_batches *batches, int64_t offset)
{
  return offset - batches->builder.options.base_offset < INT32_MAX;
}

static void begin(struct message_batches *batches, int64_t base_offset, int64_t append_time_ms, int codec)
{
  struct batch_options options;
  batch_options_init(&options);
  options.base_offset = base_offset;
  options.append_time_ms = append_time_ms;
  options.codec = codec;
  batch_builder_reset(&batches->builder, &options);
}

static void drop(struct message_batches *batches)
{
  struct batch_options options = batches->builder.options;
  batch_builder_reset(&batches->builder, &options);
}

static int put(struct message_batches *batches, const struct message *message)
{
  struct record_input record = {
      .timestamp = message->timestamp,
      .key = message->key,
      .value = message->value,
      .key_size = message->key_size,
      .value_size = message->value_size,
  };
  TRY(batch_builder_skip(&batches->builder, (int32_t)(message->offset - expected_offset(batches))));
  int result = batch_builder_add(&batches->builder, &record);
  return result == ERR_LIMIT ? error_set(ERR_LIMIT, "a batch at offset %" PRId64 " would be too large",
                                         batches->builder.options.base_offset)
                             : result;
}

/// The broker's timestamp of a message that was parsed, -1: it has its producer's.
static int64_t append_time(const struct message *message)
{
  bool is_stamped = message->magic > 0 && (message->attributes & MESSAGE_APPEND_TIME) != 0 && message->timestamp >= 0;
  return is_stamped ? message->timestamp : BATCH_NO_TIMESTAMP;
}

/// The offset of the next record of the batch at hand.
static int64_t expected_offset(const struct message_batches *batches)
{
  return batches->builder.options.base_offset + batches->builder.next_delta;
}
