// SPDX-License-Identifier: Apache-2.0
#include "record/down_convert.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "record/batch.h"
#include "record/codec.h"
#include "record/message_set.h"

static int put_messages(struct down_convert *convert, int magic, int64_t first_offset, struct record_buffer *out);
static int put_wrapper(struct down_convert *convert, int magic, struct record_buffer *out);
static int fill_wrapper(struct down_convert *convert, struct message *wrapper);
static void make_message(const struct batch_iterator *records, const struct record_view *record, int magic,
                         struct message *out);

int down_convert_batch(struct down_convert *convert, const uint8_t *bytes, size_t size, int magic, int64_t first_offset,
                       struct record_buffer *out)
{
  struct batch_header header;
  TRY(batch_header_read(bytes, size, &header));
  if ((header.attributes & BATCH_CONTROL) != 0) {
    return 0;
  }
  int codec = header.attributes & BATCH_CODEC_MASK;
  if (codec == CODEC_ZSTD) {
    return error_set(ERR_UNSUPPORTED_CODEC, "the batch at offset %" PRId64 " is compressed with zstd",
                     header.base_offset);
  }
  int result = batch_iterator_open(&convert->records, bytes, size, convert->work_limit);
  if (result < 0) {
    return result == ERR_LIMIT ? ERR_BATCH_TOO_LARGE : result;
  }
  return codec == CODEC_NONE ? put_messages(convert, magic, first_offset, out) : put_wrapper(convert, magic, out);
}

void down_convert_destroy(struct down_convert *convert)
{
  batch_iterator_close(&convert->records);
  record_buffer_destroy(&convert->plain);
  record_buffer_destroy(&convert->packed);
}

static int put_messages(struct down_convert *convert, int magic, int64_t first_offset, struct record_buffer *out)
{
  struct record_view record;
  int more;
  while ((more = batch_iterator_next(&convert->records, &record)) > 0) {
    if (record.offset >= first_offset) {
      struct message message;
      make_message(&convert->records, &record, magic, &message);
      TRY(message_put(out, &message));
    }
  }
  return more;
}

/// Writes the messages and the wrapper around them beside `out`: codecs ask for more room than they need.
static int put_wrapper(struct down_convert *convert, int magic, struct record_buffer *out)
{
  struct message wrapper = {
      .offset = -1,
      .timestamp = BATCH_NO_TIMESTAMP,
      .attributes = convert->records.header.attributes & BATCH_CODEC_MASK,
      .magic = (int8_t)magic,
  };
  TRY(fill_wrapper(convert, &wrapper));
  if (convert->plain.size == 0) {
    return 0;
  }
  record_buffer_reset(&convert->packed, 2 * convert->work_limit); // room for the codec's worst case
  int result = message_put_wrapper(&convert->packed, &wrapper, convert->plain.bytes, convert->plain.size);
  if (result < 0) {
    return result == ERR_LIMIT ? ERR_BATCH_TOO_LARGE : result;
  }
  TRY(record_buffer_reserve(out, convert->packed.size));
  memcpy(out->bytes + out->size, convert->packed.bytes, convert->packed.size);
  out->size += convert->packed.size;
  return 0;
}

/// Writes the messages inside, and gives the wrapper what depends on them: the last offset, the largest timestamp.
static int fill_wrapper(struct down_convert *convert, struct message *wrapper)
{
  record_buffer_reset(&convert->plain, convert->work_limit);
  int64_t base_offset = 0;
  struct record_view record;
  int more;
  while ((more = batch_iterator_next(&convert->records, &record)) > 0) {
    struct message message;
    make_message(&convert->records, &record, wrapper->magic, &message);
    if (convert->plain.size == 0) {
      base_offset = record.offset;
      wrapper->attributes |= message.attributes;
    }
    wrapper->offset = record.offset;
    wrapper->timestamp = record.timestamp > wrapper->timestamp ? record.timestamp : wrapper->timestamp;
    if (wrapper->magic > 0) {
      message.offset = (int64_t)((uint64_t)record.offset - (uint64_t)base_offset);
    }
    if (message_put(&convert->plain, &message) < 0) {
      return error_set(ERR_BATCH_TOO_LARGE, "the batch at offset %" PRId64 " is more than %zu bytes in format %d",
                       convert->records.header.base_offset, convert->work_limit, wrapper->magic);
    }
  }
  return more;
}

static void make_message(const struct batch_iterator *records, const struct record_view *record, int magic,
                         struct message *out)
{
  bool is_stamped = magic > 0 && (records->header.attributes & BATCH_APPEND_TIME) != 0;
  *out = (struct message){
      .key = record->key,
      .value = record->value,
      .offset = record->offset,
      .timestamp = record->timestamp,
      .key_size = record->key_size,
      .value_size = record->value_size,
      .attributes = is_stamped ? MESSAGE_APPEND_TIME : 0,
      .magic = (int8_t)magic,
  };
}
