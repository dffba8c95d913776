// SPDX-License-Identifier: Apache-2.0
//
// Walks over the batch headers of a segment file, reading a few KiB at a time and skipping the records. For finding a
// batch between two index entries, and for whatever else needs headers only. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/batch.h"

enum { HEADER_SCAN_BYTES = 8192 }; ///< read at a time

/// Embed it; header_scan_begin() sets it up.
struct header_scan {
  int fd;                            ///< the segment file
  bool may_wait;                     ///< false: what is not in the page cache gives ERR_AGAIN
  int64_t pos;                       ///< of the next header
  int64_t end;                       ///< position that batches must not pass
  int64_t buffer_pos;                ///< position of the first byte in the buffer
  size_t buffer_size;                ///< bytes in the buffer
  size_t step;                       ///< bytes that are read at a time
  uint8_t buffer[HEADER_SCAN_BYTES]; ///< bytes of the file
};

/// Begins at a batch's position.
void header_scan_begin(struct header_scan *scan, int fd, int64_t pos, int64_t end, bool may_wait);

/// Gives the next header.
///
/// @param[out] pos  position of the batch
/// @return 1; 0 at `end`; ERR_AGAIN; ERR_CORRUPT_BATCH, ERR_TRUNCATED, ERR_UNSUPPORTED_FORMAT (the batch is none, or is
/// cut, or
///         passes the end); ERR_IO
int header_scan_next(struct header_scan *scan, struct batch_header *header, int64_t *pos);

/// The same among messages of formats 0 and 1: of one only the frame is looked at, and the header has what it tells
/// (offset, size and format; `last_offset_delta` is 0) and what Kafka says of old messages for the rest: no leader
/// epoch, no producer; and no timestamp. A wrapper's offset is that of its last message.
int header_scan_next_any(struct header_scan *scan, struct batch_header *header, int64_t *pos);

/// Skips to the first batch whose last offset is at least `offset`; otherwise as header_scan_next().
int header_scan_find(struct header_scan *scan, int64_t offset, struct batch_header *header, int64_t *pos);

/// Largest timestamp that a header stands for: its maximum or, when that is not set, its base timestamp; -1: none.
int64_t header_timestamp(const struct batch_header *header);
