// SPDX-License-Identifier: Apache-2.0
//
// LZ4 in its frame format. Reading takes every frame that the library knows. Writing keeps to what Java's reader in
// Kafka clients accepts: independent blocks, no content size, no checksum but the header's.
//
//    magic 4  |  flags 1  |  block size 1  |  { content size 8 }  |  { dictionary 4 }  |  checksum 1  |  blocks ...
//
// The checksum is the second byte of the XXH32 of what lies between it and the magic. Kafka's first writers took the
// magic in, and record format 0 stays with that; the library knows nothing of it, and has no XXH32 to offer.
#include <lz4frame.h>
#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "record/buffer.h"
#include "record/codec.h"
#include "record/codec_private.h"

enum {
  LZ4_LEVEL_KAFKA = 9,  // Kafka's default, which stands for the fast mode
  LZ4_LEVEL_FAST = 0,   // the same in the library's numbers
  LZ4_LEVEL_HC_MIN = 3, // the library's levels of its slow mode: 3 to 12
  LZ4_LEVEL_HC_MAX = 12,
  LZ4_USUAL_RATIO = 4, // first guess at how much comes out
};

enum {
  FRAME_FLAGS_POS = 4,
  FRAME_HEADER_MIN = 7, // without content size and dictionary
  FRAME_HEADER_MAX = 19,
  FRAME_HAS_CONTENT_SIZE = 0x08,
  FRAME_HAS_DICTIONARY = 0x01,
};

static int decode_frames(LZ4F_dctx *context, const uint8_t *bytes, size_t size, struct record_buffer *out);
static size_t skip_old_header(LZ4F_dctx *context, const uint8_t *bytes, size_t size);
static size_t frame_header_size(const uint8_t *bytes, size_t size);
static uint8_t frame_checksum(const uint8_t *bytes, size_t size);
static int library_level(int level);

int codec_lz4_decompress(const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  LZ4F_dctx *context = NULL;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) {
    return error_set(ERR_NOMEM, "lz4: no memory to unpack");
  }
  record_buffer_hint(out, size * LZ4_USUAL_RATIO);
  int result = decode_frames(context, bytes, size, out);
  LZ4F_freeDecompressionContext(context);
  return result;
}

int codec_lz4_decompress_old(const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  LZ4F_dctx *context = NULL;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) {
    return error_set(ERR_NOMEM, "lz4: no memory to unpack");
  }
  record_buffer_hint(out, size * LZ4_USUAL_RATIO);
  size_t skipped = skip_old_header(context, bytes, size);
  int result = decode_frames(context, bytes + skipped, size - skipped, out);
  LZ4F_freeDecompressionContext(context);
  return result;
}

void codec_lz4_make_old(uint8_t *bytes, size_t size)
{
  size_t header = frame_header_size(bytes, size);
  CHECK(header > 0);
  bytes[header - 1] = frame_checksum(bytes, header - 1);
}

int codec_lz4_compress(int level, const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  LZ4F_preferences_t preferences = {
      .frameInfo = {.blockSizeID = LZ4F_max64KB, .blockMode = LZ4F_blockIndependent},
      .compressionLevel = library_level(level),
  };
  TRY(record_buffer_reserve(out, LZ4F_compressFrameBound(size, &preferences)));
  size_t packed = LZ4F_compressFrame(out->bytes + out->size, out->capacity - out->size, bytes, size, &preferences);
  if (LZ4F_isError(packed)) {
    return error_set(ERR_NOMEM, "lz4: %s", LZ4F_getErrorName(packed));
  }
  out->size += packed;
  return 0;
}

/// Unpacks frame after frame into `out`; at its limit only the end may come.
static int decode_frames(LZ4F_dctx *context, const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  size_t wanted = 1; // 0: at the end of a frame
  while (size > 0 || wanted > 0) {
    uint8_t spill; // shows whether more would come than fits
    bool is_full = out->size == out->capacity && record_buffer_grow(out) != 0;
    size_t taken = size;
    size_t given = is_full ? sizeof spill : out->capacity - out->size;
    wanted = LZ4F_decompress(context, is_full ? &spill : out->bytes + out->size, &given, bytes, &taken, NULL);
    if (LZ4F_isError(wanted)) {
      return error_set(ERR_DECOMPRESS, "lz4: %s", LZ4F_getErrorName(wanted));
    }
    if (is_full && given > 0) {
      return ERR_LIMIT;
    }
    if (taken == 0 && given == 0) {
      return error_set(ERR_DECOMPRESS, "lz4: input ends early");
    }
    bytes += taken;
    size -= taken;
    out->size += is_full ? 0 : given;
  }
  return 0;
}

/// Has the library read a frame's header with a right checksum in place of the one that is there.
///
/// @return bytes read; 0 when this is no header, which decoding then says
static size_t skip_old_header(LZ4F_dctx *context, const uint8_t *bytes, size_t size)
{
  size_t header = frame_header_size(bytes, size);
  if (header == 0) {
    return 0;
  }
  uint8_t corrected[FRAME_HEADER_MAX];
  memcpy(corrected, bytes, header);
  corrected[header - 1] = frame_checksum(bytes + FRAME_FLAGS_POS, header - 1 - FRAME_FLAGS_POS);
  LZ4F_frameInfo_t info;
  size_t taken = header;
  if (LZ4F_isError(LZ4F_getFrameInfo(context, &info, corrected, &taken))) {
    LZ4F_resetDecompressionContext(context);
    return 0;
  }
  return taken;
}

/// Bytes of the header of the frame that begins here, checksum included; 0 if none does.
static size_t frame_header_size(const uint8_t *bytes, size_t size)
{
  if (size < FRAME_HEADER_MIN || !codec_begins_right(CODEC_LZ4, bytes, size)) {
    return 0;
  }
  uint8_t flags = bytes[FRAME_FLAGS_POS];
  size_t header = FRAME_HEADER_MIN + ((flags & FRAME_HAS_CONTENT_SIZE) != 0 ? sizeof(uint64_t) : 0) +
                  ((flags & FRAME_HAS_DICTIONARY) != 0 ? sizeof(uint32_t) : 0);
  return header <= size ? header : 0;
}

static uint32_t rotate(uint32_t value, int by)
{
  return value << by | value >> (32 - by);
}

/// The second byte of the XXH32 of up to 18 bytes. Only for headers: the algorithm's loop over 16 bytes at a time is
/// for what is longer than those are with a right checksum, and no writer of the wrong one made longer ones.
static uint8_t frame_checksum(const uint8_t *bytes, size_t size)
{
  static const uint32_t PRIMES[] = {2654435761U, 2246822519U, 3266489917U, 668265263U, 374761393U};
  uint32_t hash = PRIMES[4] + (uint32_t)size;
  for (; size >= sizeof(uint32_t); bytes += sizeof(uint32_t), size -= sizeof(uint32_t)) {
    uint32_t word = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    hash = rotate(hash + word * PRIMES[2], 17) * PRIMES[3];
  }
  for (; size > 0; bytes++, size--) {
    hash = rotate(hash + *bytes * PRIMES[4], 11) * PRIMES[0];
  }
  hash = (hash ^ hash >> 15) * PRIMES[1];
  hash = (hash ^ hash >> 13) * PRIMES[2];
  return (uint8_t)((hash ^ hash >> 16) >> 8);
}

static int library_level(int level)
{
  if (level == CODEC_LEVEL_DEFAULT || level == LZ4_LEVEL_KAFKA) {
    return LZ4_LEVEL_FAST;
  }
  if (level < LZ4_LEVEL_HC_MIN) {
    return LZ4_LEVEL_HC_MIN;
  }
  return level > LZ4_LEVEL_HC_MAX ? LZ4_LEVEL_HC_MAX : level;
}
