// SPDX-License-Identifier: Apache-2.0
//
// Reads the records of a batch one by one, unpacking it first if it is compressed. For whoever needs more than the
// header: policies, compaction, offset lookups by time, coordinators loading their state, `luka dump`.
//
//    struct batch_iterator records = {0};
//    TRY(batch_iterator_open(&records, bytes, size, limit));
//    while ((more = batch_iterator_next(&records, &record)) > 0) { ... }
//    batch_iterator_close(&records);
//
// The CRC is not looked at: batch_check() and batch_validate() do that. One thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/batch.h"
#include "record/buffer.h"

enum {
  BATCH_UNPACK_RATIO = 100, ///< a batch is never unpacked beyond this many times max.message.bytes
};

/// One record. Pointers are borrowed: from the batch, or from the iterator if the batch was compressed.
struct record_view {
  int64_t offset;          ///< absolute
  int64_t timestamp;       ///< ms, as consumers see it: the batch's maximum if the broker stamped it
  int64_t timestamp_delta; ///< ms, as stored, relative to the batch's base timestamp
  const uint8_t *key;      ///< NULL: null
  const uint8_t *value;    ///< NULL: null
  const uint8_t *headers;  ///< all headers as they are in the batch; well-formed
  const uint8_t *body;     ///< the record from its key's length to the end of its headers, as it is in the batch
  int32_t key_size;        ///< bytes, -1: null
  int32_t value_size;      ///< bytes, -1: null
  int32_t header_count;    ///< headers
  int32_t headers_size;    ///< bytes at `headers`
  uint8_t attributes;      ///< the record's own; unused so far
};

/// One header of a record.
struct record_header_view {
  const uint8_t *key;   ///< never NULL
  const uint8_t *value; ///< NULL: null
  int32_t key_size;     ///< bytes
  int32_t value_size;   ///< bytes, -1: null
};

/// Embed it. All zero before the first use.
struct batch_iterator {
  struct batch_header header;    ///< of the open batch
  const uint8_t *at;             ///< the next record
  const uint8_t *end;            ///< one past the last record
  int32_t left;                  ///< records still to come
  struct record_buffer unpacked; ///< records of a compressed batch
};

/// Embed it; a cursor over one record's headers.
struct record_header_iterator {
  const uint8_t *at;  ///< the next header
  const uint8_t *end; ///< one past the last
  int32_t left;       ///< headers still to come
};

/// Begins a batch; the iterator may have been used before, its memory is used again.
///
/// @param bytes  borrowed until the iterator is closed or opened again
/// @param limit  bytes that the records may unpack to (BATCH_UNPACK_RATIO x max.message.bytes)
/// @return 0, ERR_TRUNCATED, ERR_CORRUPT_BATCH, ERR_UNSUPPORTED_FORMAT, ERR_DECOMPRESS, ERR_LIMIT. Close it in any case
int batch_iterator_open(struct batch_iterator *iterator, const uint8_t *bytes, size_t size, size_t limit);

/// Gives the next record.
///
/// @param[out] out  borrowed until the iterator is closed or opened again
/// @return 1, 0 at the end, ERR_INVALID_RECORD (malformed, or more or fewer bytes than the count says)
int batch_iterator_next(struct batch_iterator *iterator, struct record_view *out);

/// Frees what the iterator holds; it may be opened again.
void batch_iterator_close(struct batch_iterator *iterator);

/// Begins the headers of a record.
void record_headers_open(const struct record_view *record, struct record_header_iterator *iterator);

/// Gives the next header, in the order of the batch, duplicates included.
///
/// @return 1, 0 at the end
int record_headers_next(struct record_header_iterator *iterator, struct record_header_view *out);
