// SPDX-License-Identifier: Apache-2.0
#include "record/split.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/varint.h"
#include "record/codec.h"
#include "record/record_private.h"

enum {
  RECORD_SIZE_MIN = 1 + RECORD_BODY_MIN, // a record and its length
  // Most bytes of a record before the length of its key: its length, attributes, timestamp and offset delta.
  RECORD_HEAD_MAX = VARINT_SIZE_MAX + 1 + VARLONG_SIZE_MAX + VARINT_SIZE_MAX,
  BATCH_SIZE_MAX = 0x7fffffff, // sizes on the wire and in the log are signed 32 bits
  RECORDS_ROOM_MIN = 64,
  SHARES_ROOM_MIN = 16,
};

static int check_packing(const struct batch_packing *packing);

// --- reading ---------------------------------------------------------------------------------------------------------

int batch_records_open(struct batch_records *records, const uint8_t *bytes, size_t size, size_t limit)
{
  struct batch_iterator *iterator = &records->iterator;
  records->count = 0;
  TRY(batch_iterator_open(iterator, bytes, size, limit));
  // The count is the client's word: the array is for no more than can be there, and the array of what a few packed
  // bytes unpack to may not be ten times as large again.
  size_t most = (size_t)(iterator->end - iterator->at) / RECORD_SIZE_MIN;
  size_t count = iterator->left > 0 ? (size_t)iterator->left : 0;
  if (count > most) {
    return error_set(ERR_INVALID_RECORD, "batch at offset %" PRId64 " says %zu records and has room for %zu",
                     iterator->header.base_offset, count, most);
  }
  bool is_packed = (iterator->header.attributes & BATCH_CODEC_MASK) != CODEC_NONE;
  if (is_packed && count * sizeof *records->records > limit - iterator->unpacked.size) {
    return error_set(ERR_LIMIT, "batch at offset %" PRId64 " has %zu records in %zu bytes",
                     iterator->header.base_offset, count, size);
  }
  if (count > (size_t)records->room) {
    size_t room = count < RECORDS_ROOM_MIN ? RECORDS_ROOM_MIN : count;
    mem_free(records->records);
    records->records = mem_alloc(room * sizeof *records->records);
    records->room = (int32_t)room;
  }
  for (size_t i = 0; i < count; i++) {
    TRY(batch_iterator_next(iterator, &records->records[i]));
    records->count++;
  }
  struct record_view none;
  return batch_iterator_next(iterator, &none); // finds bytes behind the last
}

void batch_records_close(struct batch_records *records)
{
  batch_iterator_close(&records->iterator);
  mem_free(records->records);
  *records = (struct batch_records){0};
}

int batch_share_producer_id(int64_t producer_id, int32_t partition, int64_t *share_id)
{
  if (producer_id < 0) {
    *share_id = BATCH_NO_PRODUCER_ID;
    return 0;
  }
  if (producer_id >= INT64_C(1) << BATCH_SHARE_PRODUCER_BITS || partition < 0 ||
      partition >= 1 << BATCH_SHARE_PARTITION_BITS) {
    return error_set(ERR_INVALID, "producer id %" PRId64 " at partition %" PRId32 " cannot be divided", producer_id,
                     partition);
  }
  *share_id = (INT64_C(1) << (BATCH_SHARE_PARTITION_BITS + BATCH_SHARE_PRODUCER_BITS)) +
              producer_id * (INT64_C(1) << BATCH_SHARE_PARTITION_BITS) + partition;
  return 0;
}

// --- writing records -------------------------------------------------------------------------------------------------

/// Bytes of a number that is nearly always small; put_small() writes it.
static inline size_t small_size(uint64_t raw)
{
  return raw < 0x80 ? 1 : raw < 0x4000 ? 2 : (size_t)varint_size_u64(raw);
}

static inline uint8_t *put_small(uint8_t *at, uint64_t raw)
{
  if (raw < 0x80) {
    *at = (uint8_t)raw;
    return at + 1;
  }
  if (raw < 0x4000) {
    at[0] = (uint8_t)(raw | 0x80);
    at[1] = (uint8_t)(raw >> 7);
    return at + 2;
  }
  return at + varint_put_u64(at, raw);
}

/// Writes what stands before a record's key. @return where the key's length goes
static inline uint8_t *put_head(uint8_t *at, uint8_t attributes, int64_t timestamp_delta, int32_t offset_delta,
                                size_t body_size)
{
  uint64_t timestamp = varint_zigzag_i64(timestamp_delta);
  uint64_t offset = varint_zigzag_i32(offset_delta);
  size_t size = 1 + small_size(timestamp) + small_size(offset) + body_size;
  at = put_small(at, varint_zigzag_i32((int32_t)size));
  *at++ = attributes;
  return put_small(put_small(at, timestamp), offset);
}

static size_t body_size_of(const struct record_view *record)
{
  return (size_t)(record->headers - record->body) + (size_t)record->headers_size;
}

/// Copies a record with another offset delta. @return one past it; room for RECORD_HEAD_MAX and its body is there
static uint8_t *put_record(uint8_t *at, const struct record_view *record, int32_t offset_delta)
{
  size_t size = body_size_of(record);
  at = put_head(at, record->attributes, record->timestamp_delta, offset_delta, size);
  memcpy(at, record->body, size);
  return at + size;
}

static size_t blob_size(int32_t size)
{
  return size < 0 ? 1 : (size_t)varint_size_i32(size) + (size_t)size;
}

static uint8_t *put_blob(uint8_t *at, const uint8_t *bytes, int32_t size)
{
  at += varint_put_i32(at, size < 0 ? -1 : size);
  if (size > 0) {
    memcpy(at, bytes, (size_t)size);
    at += size;
  }
  return at;
}

/// Appends a record that a policy made.
static int add_edit(struct record_buffer *plain, const struct record_edit *edit, int64_t timestamp_delta,
                    int32_t offset_delta)
{
  if (edit->header_count < 0 || edit->headers_size < 0 ||
      (edit->headers_size > 0
           ? !record_check_headers(edit->headers, edit->headers + edit->headers_size, edit->header_count)
           : edit->header_count > 0)) {
    return error_set(ERR_INVALID, "a record with headers that are not well-formed");
  }
  size_t body_size = blob_size(edit->key_size) + blob_size(edit->value_size) +
                     (size_t)varint_size_i32(edit->header_count) + (size_t)edit->headers_size;
  if (body_size > BATCH_SIZE_MAX - RECORD_HEAD_MAX || record_buffer_reserve(plain, RECORD_HEAD_MAX + body_size) < 0) {
    return error_set(ERR_BATCH_TOO_LARGE, "a record of %zu bytes", body_size);
  }
  uint8_t *at = plain->bytes + plain->size;
  at = put_head(at, 0, timestamp_delta, offset_delta, body_size);
  at = put_blob(at, edit->key, edit->key_size);
  at = put_blob(at, edit->value, edit->value_size);
  at += varint_put_i32(at, edit->header_count);
  if (edit->headers_size > 0) {
    memcpy(at, edit->headers, (size_t)edit->headers_size);
    at += edit->headers_size;
  }
  plain->size = (size_t)(at - plain->bytes);
  return 0;
}

// --- dividing --------------------------------------------------------------------------------------------------------

static struct batch_share *begin_share(struct batch_split *split, int32_t partition, int32_t first)
{
  if (split->count == split->room) {
    split->room = split->room == 0 ? SHARES_ROOM_MIN : split->room * 2;
    split->shares = mem_realloc(split->shares, (size_t)split->room * sizeof *split->shares);
  }
  struct batch_share *share = &split->shares[split->count++];
  *share = (struct batch_share){.partition = partition, .max_timestamp = BATCH_NO_TIMESTAMP, .first = first};
  split->places[partition] = split->count;
  return share;
}

/// Counts the records and bytes of each share.
static int count_shares(struct batch_split *split, const struct batch_records *records, const int32_t *chosen,
                        int32_t partitions)
{
  for (int32_t i = 0; i < records->count; i++) {
    int32_t partition = chosen[i];
    if (partition < 0 || partition >= partitions) {
      return error_set(ERR_INVALID, "record %" PRId32 " is for partition %" PRId32 " of %" PRId32, i, partition,
                       partitions);
    }
    int32_t place = split->places[partition];
    struct batch_share *share = place > 0 ? &split->shares[place - 1] : begin_share(split, partition, i);
    share->count++;
    share->plain_size += RECORD_HEAD_MAX + body_size_of(&records->records[i]);
  }
  return 0;
}

/// Writes the records of all shares one after the other, each behind room for a header where nothing is packed.
static void write_records(struct batch_split *split, const struct batch_records *records, const int32_t *chosen,
                          struct record_buffer *buffer, size_t before)
{
  size_t pos = 0;
  for (int32_t i = 0; i < split->count; i++) {
    struct batch_share *share = &split->shares[i];
    share->start_pos = pos;
    pos += before + share->plain_size;
    share->bytes = buffer->bytes + share->start_pos + before;
    share->count = 0; // counts again, as the next offset delta
  }
  for (int32_t i = 0; i < records->count; i++) {
    const struct record_view *record = &records->records[i];
    struct batch_share *share = &split->shares[split->places[chosen[i]] - 1];
    share->bytes = put_record(share->bytes, record, share->count++);
    if (record->timestamp > share->max_timestamp) {
      share->max_timestamp = record->timestamp;
    }
  }
  for (int32_t i = 0; i < split->count; i++) {
    struct batch_share *share = &split->shares[i];
    share->plain_size = (size_t)(share->bytes - buffer->bytes) - share->start_pos - before;
  }
  buffer->size = pos;
}

/// Packs the records of a share behind its header.
static int pack_share(struct batch_split *split, struct batch_share *share, const struct batch_packing *packing)
{
  size_t start = split->out.size;
  TRY(record_buffer_reserve(&split->out, BATCH_HEADER_SIZE));
  split->out.size += BATCH_HEADER_SIZE;
  TRY(codec_compress(packing->codec, packing->level, split->plain.bytes + share->start_pos, share->plain_size,
                     &split->out));
  share->start_pos = start;
  share->size = split->out.size - start;
  return 0;
}

/// Writes the batches' headers, now that their bytes do not move any more.
static int finish_shares(struct batch_split *split, const struct batch_records *records, int64_t producer_id,
                         const struct batch_packing *packing)
{
  const struct batch_header *whole = &records->iterator.header;
  for (int32_t i = 0; i < split->count; i++) {
    struct batch_share *share = &split->shares[i];
    if (share->size > packing->limit_bytes || share->size > BATCH_SIZE_MAX) {
      return error_set(ERR_BATCH_TOO_LARGE, "the share of partition %" PRId32 " has %zu bytes", share->partition,
                       share->size);
    }
    share->bytes = split->out.bytes + share->start_pos;
    struct batch_header header = *whole;
    header.base_offset = 0;
    header.leader_epoch = BATCH_NO_LEADER_EPOCH;
    header.size = share->size;
    header.max_timestamp = share->max_timestamp;
    header.last_offset_delta = share->count - 1;
    header.record_count = share->count;
    header.producer_id = producer_id;
    if (producer_id >= 0) {
      header.base_sequence = (int32_t)(((uint32_t)whole->base_sequence + (uint32_t)share->first) & INT32_MAX);
    }
    header.attributes = (uint16_t)((whole->attributes & ~BATCH_CODEC_MASK) | packing->codec);
    batch_header_write(share->bytes, &header);
  }
  return 0;
}

static int write_shares(struct batch_split *split, const struct batch_records *records, const int32_t *chosen,
                        int64_t producer_id, const struct batch_packing *packing)
{
  bool is_packed = packing->codec != CODEC_NONE;
  size_t before = is_packed ? 0 : BATCH_HEADER_SIZE;
  struct record_buffer *buffer = is_packed ? &split->plain : &split->out;
  size_t total = 0;
  for (int32_t i = 0; i < split->count; i++) {
    total += before + split->shares[i].plain_size;
  }
  record_buffer_reset(&split->out, SIZE_MAX / 2); // what comes in has been limited
  record_buffer_reset(buffer, SIZE_MAX / 2);
  TRY(record_buffer_reserve(buffer, total));
  write_records(split, records, chosen, buffer, before);
  for (int32_t i = 0; i < split->count; i++) {
    if (is_packed) {
      TRY(pack_share(split, &split->shares[i], packing));
    } else {
      split->shares[i].size = BATCH_HEADER_SIZE + split->shares[i].plain_size;
    }
  }
  if (is_packed) {
    record_buffer_trim(&split->out, 0); // codecs ask for more room than they need, and the batches may have to wait
  }
  return finish_shares(split, records, producer_id, packing);
}

int batch_split(struct batch_split *split, const struct batch_records *records, const int32_t *chosen,
                int32_t partitions, int32_t addressed, const struct batch_packing *packing)
{
  int64_t producer_id;
  split->count = 0;
  TRY(check_packing(packing));
  TRY(batch_share_producer_id(records->iterator.header.producer_id, addressed, &producer_id));
  if (partitions > split->place_room) {
    mem_free(split->places);
    split->places = mem_array((size_t)partitions, sizeof *split->places);
    split->place_room = partitions;
  }
  int result = count_shares(split, records, chosen, partitions);
  if (result == 0) {
    result = write_shares(split, records, chosen, producer_id, packing);
  }
  for (int32_t i = 0; i < split->count; i++) {
    split->places[split->shares[i].partition] = 0;
  }
  return result;
}

void batch_split_destroy(struct batch_split *split)
{
  mem_free(split->shares);
  mem_free(split->places);
  record_buffer_destroy(&split->out);
  record_buffer_destroy(&split->plain);
  *split = (struct batch_split){0};
}

int batch_share_whole(uint8_t *bytes, int32_t addressed)
{
  int64_t producer_id;
  TRY(batch_share_producer_id(batch_producer_id(bytes), addressed, &producer_id));
  if (producer_id >= 0) {
    size_t size = (size_t)batch_size(bytes);
    bytes_put_u64(bytes + BATCH_PRODUCER_ID_POS, (uint64_t)producer_id);
    bytes_put_u32(bytes + BATCH_CRC_POS, crc32c(bytes + BATCH_ATTRIBUTES_POS, size - BATCH_ATTRIBUTES_POS));
  }
  return 0;
}

// --- rewriting -------------------------------------------------------------------------------------------------------

static int check_packing(const struct batch_packing *packing)
{
  if (packing->codec < CODEC_NONE || packing->codec >= CODEC_COUNT) {
    return error_set(ERR_INVALID, "there is no codec %d", packing->codec);
  }
  return 0;
}

/// Begins the records of a batch: in `out` behind room for its header, or in `plain` if they will be packed.
static struct record_buffer *begin_records(const struct batch_packing *packing, struct record_buffer *plain,
                                           struct record_buffer *out)
{
  struct record_buffer *buffer = packing->codec == CODEC_NONE ? out : plain;
  record_buffer_reset(out, (size_t)BATCH_SIZE_MAX * 2); // room for the codec's worst case
  record_buffer_hint(out, BATCH_HEADER_SIZE);
  out->size = BATCH_HEADER_SIZE;
  record_buffer_init(plain, BATCH_SIZE_MAX);
  return buffer;
}

/// Packs the records if need be, and writes the header, whose attributes are without a codec.
static int finish_records(struct batch_header *header, const struct batch_packing *packing,
                          const struct record_buffer *plain, struct record_buffer *out)
{
  header->attributes &= (uint16_t)~BATCH_CODEC_MASK;
  if (packing->codec != CODEC_NONE && header->record_count > 0) {
    TRY(codec_compress(packing->codec, packing->level, plain->bytes, plain->size, out));
    header->attributes |= (uint16_t)packing->codec;
  }
  if (out->size > packing->limit_bytes || out->size > BATCH_SIZE_MAX) {
    return error_set(ERR_BATCH_TOO_LARGE, "a batch of %zu bytes", out->size);
  }
  header->size = out->size;
  batch_header_write(out->bytes, header);
  return 0;
}

static int64_t timestamp_delta_of(const struct record_edit *edit, int64_t base_timestamp)
{
  return (int64_t)((uint64_t)edit->timestamp - (uint64_t)base_timestamp);
}

/// Writes what is left of a batch, and counts it in the header.
static int rewrite_records(const struct batch_records *records, const bool *is_gone,
                           const struct record_edit *const *edits, struct record_buffer *buffer,
                           struct batch_header *header)
{
  int64_t base_offset = header->base_offset;
  int64_t max_timestamp = BATCH_NO_TIMESTAMP;
  for (int32_t i = 0; i < records->count; i++) {
    if (is_gone != NULL && is_gone[i]) {
      continue;
    }
    const struct record_view *record = &records->records[i];
    const struct record_edit *edit = edits == NULL ? NULL : edits[i];
    int32_t offset_delta = (int32_t)(uint32_t)((uint64_t)record->offset - (uint64_t)base_offset);
    int64_t timestamp = record->timestamp;
    if (edit != NULL) {
      timestamp = edit->timestamp;
      TRY(add_edit(buffer, edit, timestamp_delta_of(edit, header->base_timestamp), offset_delta));
    } else {
      if (record_buffer_reserve(buffer, RECORD_HEAD_MAX + body_size_of(record)) < 0) {
        return error_set(ERR_BATCH_TOO_LARGE, "a batch of more than %zu bytes", buffer->size);
      }
      buffer->size = (size_t)(put_record(buffer->bytes + buffer->size, record, offset_delta) - buffer->bytes);
    }
    max_timestamp = timestamp > max_timestamp ? timestamp : max_timestamp;
    header->record_count++;
  }
  if (header->record_count > 0 && (header->attributes & BATCH_APPEND_TIME) == 0) {
    header->max_timestamp = max_timestamp;
  }
  return 0;
}

int batch_rewrite(const struct batch_records *records, const bool *is_gone, const struct record_edit *const *edits,
                  const struct batch_packing *packing, struct record_buffer *out)
{
  struct record_buffer plain;
  struct batch_header header = records->iterator.header;
  header.record_count = 0;
  TRY(check_packing(packing));
  struct record_buffer *buffer = begin_records(packing, &plain, out);
  int result = rewrite_records(records, is_gone, edits, buffer, &header);
  if (result == 0) {
    result = finish_records(&header, packing, &plain, out);
  }
  record_buffer_destroy(&plain);
  return result;
}

static int add_edits(const struct record_edit *edits, int32_t count, struct record_buffer *buffer,
                     struct batch_header *header)
{
  for (int32_t i = 0; i < count; i++) {
    TRY(add_edit(buffer, &edits[i], timestamp_delta_of(&edits[i], header->base_timestamp), i));
    if ((header->attributes & BATCH_APPEND_TIME) == 0 && edits[i].timestamp > header->max_timestamp) {
      header->max_timestamp = edits[i].timestamp;
    }
  }
  return 0;
}

int batch_of_edits(const struct record_edit *edits, int32_t count, int64_t append_time_ms,
                   const struct batch_packing *packing, struct record_buffer *out)
{
  if (count <= 0) {
    return error_set(ERR_INVALID, "a batch of %" PRId32 " records", count);
  }
  TRY(check_packing(packing));
  struct record_buffer plain;
  struct record_buffer *buffer = begin_records(packing, &plain, out);
  struct batch_header header = {
      .base_timestamp = edits[0].timestamp,
      .max_timestamp = append_time_ms >= 0 ? append_time_ms : BATCH_NO_TIMESTAMP,
      .producer_id = BATCH_NO_PRODUCER_ID,
      .leader_epoch = BATCH_NO_LEADER_EPOCH,
      .last_offset_delta = count - 1,
      .base_sequence = BATCH_NO_SEQUENCE,
      .record_count = count,
      .producer_epoch = BATCH_NO_PRODUCER_EPOCH,
      .attributes = append_time_ms >= 0 ? BATCH_APPEND_TIME : 0,
      .magic = BATCH_FORMAT_MAX,
  };
  int result = add_edits(edits, count, buffer, &header);
  if (result == 0) {
    result = finish_records(&header, packing, &plain, out);
  }
  record_buffer_destroy(&plain);
  return result;
}
