// SPDX-License-Identifier: Apache-2.0
#include "log/header_scan.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/error.h"
#include "os/file.h"

void header_scan_begin(struct header_scan *scan, int fd, int64_t pos, int64_t end, bool may_wait)
{
  scan->fd = fd;
  scan->may_wait = may_wait;
  scan->pos = pos;
  scan->end = end;
  scan->buffer_pos = pos;
  scan->buffer_size = 0;
  scan->step = HEADER_SCAN_BYTES;
}

/// Makes `size` bytes at the scan's position readable in the buffer, or as many as there are before the end.
static int header_scan_fill(struct header_scan *scan, size_t size, const uint8_t **bytes, size_t *available)
{
  int64_t from = scan->pos - scan->buffer_pos;
  if (from < 0 || from + (int64_t)size > (int64_t)scan->buffer_size) {
    int64_t left = scan->end - scan->pos;
    size_t wanted = left < (int64_t)scan->step ? (size_t)left : scan->step;
    size_t got = 0;
    scan->buffer_size = 0;
    TRY(scan->may_wait ? file_read_some_at(scan->fd, scan->buffer, wanted, scan->pos, &got)
                       : file_read_cached_at(scan->fd, scan->buffer, wanted, scan->pos, &got));
    if (!scan->may_wait && got < size && got < wanted) {
      return ERR_AGAIN; // the rest of the header lies on a page that is not in memory
    }
    scan->buffer_size = got;
    scan->buffer_pos = scan->pos;
    from = 0;
  }
  *bytes = scan->buffer + from;
  *available = scan->buffer_size - (size_t)from;
  return 0;
}

int header_scan_next(struct header_scan *scan, struct batch_header *header, int64_t *pos)
{
  if (scan->pos >= scan->end) {
    return 0;
  }
  const uint8_t *bytes = NULL;
  size_t available = 0;
  TRY(header_scan_fill(scan, BATCH_HEADER_SIZE, &bytes, &available));
  struct batch_header found;
  TRY(batch_header_peek(bytes, available, &found));
  if (found.base_offset < 0 || found.last_offset_delta < 0 ||
      found.base_offset > INT64_MAX - found.last_offset_delta - 1) {
    return error_set(ERR_CORRUPT_BATCH, "batch with base offset %" PRId64 " and last delta %" PRId32, found.base_offset,
                     found.last_offset_delta);
  }
  if ((int64_t)found.size > scan->end - scan->pos) {
    return error_set(ERR_TRUNCATED, "batch of %zu bytes where %" PRId64 " are left", found.size, scan->end - scan->pos);
  }
  *header = found;
  *pos = scan->pos;
  scan->pos += (int64_t)found.size;
  return 1;
}

int header_scan_next_any(struct header_scan *scan, struct batch_header *header, int64_t *pos)
{
  if (scan->pos >= scan->end) {
    return 0;
  }
  const uint8_t *bytes = NULL;
  size_t available = 0;
  TRY(header_scan_fill(scan, BATCH_HEADER_SIZE, &bytes, &available));
  if (available < BATCH_PREFIX_SIZE || (batch_magic(bytes) != 0 && batch_magic(bytes) != 1)) {
    return header_scan_next(scan, header, pos);
  }
  int32_t length = (int32_t)bytes_get_u32(bytes + BATCH_LENGTH_POS);
  int64_t offset = batch_base_offset(bytes);
  if (length < BATCH_LENGTH_MIN || offset < 0 || offset == INT64_MAX) {
    return error_set(ERR_CORRUPT_BATCH, "message of %" PRId32 " bytes at offset %" PRId64, length, offset);
  }
  int64_t size = (int64_t)length + BATCH_OVERHEAD_SIZE;
  if (size > scan->end - scan->pos) {
    return error_set(ERR_TRUNCATED, "message of %" PRId64 " bytes where %" PRId64 " are left", size,
                     scan->end - scan->pos);
  }
  *header = (struct batch_header){
      .base_offset = offset,
      .base_timestamp = BATCH_NO_TIMESTAMP,
      .max_timestamp = BATCH_NO_TIMESTAMP,
      .producer_id = BATCH_NO_PRODUCER_ID,
      .size = (size_t)size,
      .leader_epoch = BATCH_NO_LEADER_EPOCH,
      .base_sequence = BATCH_NO_SEQUENCE,
      .producer_epoch = BATCH_NO_PRODUCER_EPOCH,
      .magic = batch_magic(bytes),
  };
  *pos = scan->pos;
  scan->pos += size;
  return 1;
}

int header_scan_find(struct header_scan *scan, int64_t offset, struct batch_header *header, int64_t *pos)
{
  int result = 0;
  do {
    result = header_scan_next(scan, header, pos);
  } while (result > 0 && header->base_offset + header->last_offset_delta < offset);
  return result;
}

int64_t header_timestamp(const struct batch_header *header)
{
  int64_t timestamp = header->max_timestamp >= 0 ? header->max_timestamp : header->base_timestamp;
  return timestamp >= 0 ? timestamp : -1;
}
