// SPDX-License-Identifier: Apache-2.0
//
// Zstandard. Unpacking goes straight into the caller's buffer: the library then needs no window of its own, which a
// frame could ask to be 128 MiB or more, so the buffer's limit is all that a bomb can take. The price is that a frame
// without its size is begun again when the buffer was too small.
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "record/buffer.h"
#include "record/codec.h"
#include "record/codec_private.h"

enum {
  ZSTD_USUAL_RATIO = 8, // first guess at how much comes out of a frame without its size
  ZSTD_GROWTH = 4,      // and how much larger each next guess is
  ZSTD_LEVEL_KAFKA = 3,
};

static size_t guess_size(const uint8_t *bytes, size_t size);

int codec_zstd_decompress(const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  ZSTD_DCtx *context = ZSTD_createDCtx();
  if (context == NULL) {
    return error_set(ERR_NOMEM, "zstd: no memory to unpack");
  }
  int result;
  for (size_t guess = guess_size(bytes, size);; guess = (out->capacity - out->size) * ZSTD_GROWTH) {
    record_buffer_hint(out, guess);
    uint8_t nothing;
    size_t room = out->capacity - out->size;
    size_t unpacked = ZSTD_decompressDCtx(context, room > 0 ? out->bytes + out->size : &nothing, room, bytes, size);
    if (!ZSTD_isError(unpacked)) {
      out->size += unpacked;
      result = 0;
      break;
    }
    if (ZSTD_getErrorCode(unpacked) != ZSTD_error_dstSize_tooSmall) {
      result = error_set(ERR_DECOMPRESS, "zstd: %s", ZSTD_getErrorName(unpacked));
      break;
    }
    if (out->capacity == out->limit) {
      result = ERR_LIMIT;
      break;
    }
  }
  ZSTD_freeDCtx(context);
  return result;
}

int codec_zstd_compress(int level, const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  TRY(record_buffer_reserve(out, ZSTD_compressBound(size)));
  level = level == CODEC_LEVEL_DEFAULT ? ZSTD_LEVEL_KAFKA : level;
  size_t packed = ZSTD_compress(out->bytes + out->size, out->capacity - out->size, bytes, size, level);
  if (ZSTD_isError(packed)) {
    return error_set(ERR_NOMEM, "zstd: %s", ZSTD_getErrorName(packed));
  }
  out->size += packed;
  return 0;
}

void codec_zstd_level_range(int *lowest, int *highest)
{
  *lowest = ZSTD_minCLevel();
  *highest = ZSTD_maxCLevel();
}

/// The size that the first frame claims, if it is not out of all proportion, or a guess.
static size_t guess_size(const uint8_t *bytes, size_t size)
{
  enum { BELIEVED_RATIO = 64 };
  unsigned long long claimed = ZSTD_getFrameContentSize(bytes, size);
  if (claimed != ZSTD_CONTENTSIZE_UNKNOWN && claimed != ZSTD_CONTENTSIZE_ERROR && claimed <= size * BELIEVED_RATIO) {
    return claimed > 0 ? (size_t)claimed : 1;
  }
  return size * ZSTD_USUAL_RATIO + 1;
}
