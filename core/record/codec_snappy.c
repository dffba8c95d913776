// SPDX-License-Identifier: Apache-2.0
//
// Snappy, in both forms that clients send: one raw block, and the framing of the Java library:
//
//    82 'S' 'N' 'A' 'P' 'P' 'Y' 00  |  version 4  |  lowest compatible version 4  |  { block length 4  |  raw block }
//    ...
//
// All numbers are big-endian; the versions have never mattered, and some clients write them in the other byte order.
// The Java library joins streams by writing the 16 bytes again. We write the framing: Kafka's own consumer reads only
// that.
#include <snappy-c.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "record/buffer.h"
#include "record/codec_private.h"

enum {
  FRAME_HEADER_BYTES = 16,
  FRAME_MAGIC_BYTES = 8,
  BLOCK_LENGTH_BYTES = 4,
  BLOCK_BYTES = 32 * 1024, // what a block holds unpacked, as the Java library writes it
  RATIO_MAX = 22,          // no element of a block says more than 64 bytes in 3
};

static const uint8_t frame_header[FRAME_HEADER_BYTES] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1};

static bool starts_frame(const uint8_t *bytes, size_t size);
static int unpack_block(const uint8_t *bytes, size_t size, struct record_buffer *out);

bool codec_snappy_begins_right(const uint8_t *bytes, size_t size)
{
  if (starts_frame(bytes, size)) {
    return true;
  }
  size_t unpacked = 0;
  return snappy_uncompressed_length((const char *)bytes, size, &unpacked) == SNAPPY_OK && unpacked <= size * RATIO_MAX;
}

int codec_snappy_decompress(const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  if (!starts_frame(bytes, size)) {
    return unpack_block(bytes, size, out);
  }
  const uint8_t *end = bytes + size;
  const uint8_t *at = bytes + FRAME_HEADER_BYTES;
  while (at < end) {
    size_t left = (size_t)(end - at);
    if (starts_frame(at, left)) {
      at += FRAME_HEADER_BYTES;
      continue;
    }
    if (left < BLOCK_LENGTH_BYTES) {
      return error_set(ERR_DECOMPRESS, "snappy: stream ends in a block length");
    }
    uint32_t length = bytes_get_u32(at);
    at += BLOCK_LENGTH_BYTES;
    if (length > (size_t)(end - at)) {
      return error_set(ERR_DECOMPRESS, "snappy: block of %u bytes, %zu are there", length, (size_t)(end - at));
    }
    TRY(unpack_block(at, length, out));
    at += length;
  }
  return 0;
}

int codec_snappy_compress(const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  size_t blocks = size / BLOCK_BYTES + 1;
  size_t block_bound = BLOCK_LENGTH_BYTES + snappy_max_compressed_length(size < BLOCK_BYTES ? size : BLOCK_BYTES);
  TRY(record_buffer_reserve(out, FRAME_HEADER_BYTES + blocks * block_bound));
  memcpy(out->bytes + out->size, frame_header, FRAME_HEADER_BYTES);
  out->size += FRAME_HEADER_BYTES;
  for (size_t done = 0; done < size;) {
    size_t step = size - done < BLOCK_BYTES ? size - done : BLOCK_BYTES;
    uint8_t *at = out->bytes + out->size;
    size_t packed = out->capacity - out->size - BLOCK_LENGTH_BYTES;
    if (snappy_compress((const char *)bytes + done, step, (char *)at + BLOCK_LENGTH_BYTES, &packed) != SNAPPY_OK) {
      return ERR_LIMIT;
    }
    bytes_put_u32(at, (uint32_t)packed);
    out->size += BLOCK_LENGTH_BYTES + packed;
    done += step;
  }
  return 0;
}

static bool starts_frame(const uint8_t *bytes, size_t size)
{
  return size >= FRAME_HEADER_BYTES && memcmp(bytes, frame_header, FRAME_MAGIC_BYTES) == 0;
}

/// Unpacks one raw block; the size it claims is believed only if its bytes could make it.
static int unpack_block(const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  size_t unpacked = 0;
  if (snappy_uncompressed_length((const char *)bytes, size, &unpacked) != SNAPPY_OK || unpacked > size * RATIO_MAX) {
    return error_set(ERR_DECOMPRESS, "snappy: impossible length of a block");
  }
  TRY(record_buffer_reserve(out, unpacked));
  if (unpacked == 0) {
    return size == 1 ? 0 : error_set(ERR_DECOMPRESS, "snappy: damaged block");
  }
  if (snappy_uncompress((const char *)bytes, size, (char *)out->bytes + out->size, &unpacked) != SNAPPY_OK) {
    return error_set(ERR_DECOMPRESS, "snappy: damaged block");
  }
  out->size += unpacked;
  return 0;
}
