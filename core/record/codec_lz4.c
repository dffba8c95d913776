// SPDX-License-Identifier: Apache-2.0
//
// LZ4 in its frame format. Reading takes every frame that the library knows. Writing keeps to what Java's reader in
// Kafka clients accepts: independent blocks, no content size, no checksum but the header's.
#include <lz4frame.h>
#include <stdbool.h>

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

static int decode_frames(LZ4F_dctx *context, const uint8_t *bytes, size_t size, struct record_buffer *out);
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
