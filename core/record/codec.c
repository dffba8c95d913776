// SPDX-License-Identifier: Apache-2.0
#include "record/codec.h"

#include <string.h>

#include "base/error.h"
#include "record/buffer.h"
#include "record/codec_private.h"

enum {
  GZIP_LEVEL_MIN = -1, // zlib's own default
  GZIP_LEVEL_MAX = 9,
  LZ4_LEVEL_MIN = 1,
  LZ4_LEVEL_MAX = 17,
};

static const char *const names[CODEC_COUNT] = {"none", "gzip", "snappy", "lz4", "zstd"};

static int copy_bytes(const uint8_t *bytes, size_t size, struct record_buffer *out);

const char *codec_name(int codec)
{
  return codec >= 0 && codec < CODEC_COUNT ? names[codec] : NULL;
}

int codec_from_name(const char *name)
{
  for (int codec = 0; codec < CODEC_COUNT; codec++) {
    if (strcmp(name, names[codec]) == 0) {
      return codec;
    }
  }
  return ERR_NOT_FOUND;
}

bool codec_begins_right(int codec, const uint8_t *bytes, size_t size)
{
  static const uint8_t gzip[] = {0x1f, 0x8b, 0x08}; // RFC 1952: two bytes of identification, deflate
  static const uint8_t lz4[] = {0x04, 0x22, 0x4d, 0x18};
  static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd}; // RFC 8878
  switch (codec) {
    case CODEC_GZIP:
      return size >= sizeof gzip && memcmp(bytes, gzip, sizeof gzip) == 0;
    case CODEC_SNAPPY:
      return codec_snappy_begins_right(bytes, size);
    case CODEC_LZ4:
      return size >= sizeof lz4 && memcmp(bytes, lz4, sizeof lz4) == 0;
    case CODEC_ZSTD:
      return size >= sizeof zstd && memcmp(bytes, zstd, sizeof zstd) == 0;
    default:
      return true;
  }
}

void codec_level_range(int codec, int *lowest, int *highest)
{
  *lowest = *highest = 0;
  switch (codec) {
    case CODEC_GZIP:
      *lowest = GZIP_LEVEL_MIN;
      *highest = GZIP_LEVEL_MAX;
      break;
    case CODEC_LZ4:
      *lowest = LZ4_LEVEL_MIN;
      *highest = LZ4_LEVEL_MAX;
      break;
    case CODEC_ZSTD:
      codec_zstd_level_range(lowest, highest);
      break;
    default:
      break;
  }
}

int codec_decompress(int codec, const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  if (size > CODEC_INPUT_MAX) {
    return error_set(ERR_LIMIT, "%zu bytes to unpack", size);
  }
  int result;
  switch (codec) {
    case CODEC_NONE:
      result = copy_bytes(bytes, size, out);
      break;
    case CODEC_GZIP:
      result = codec_gzip_decompress(bytes, size, out);
      break;
    case CODEC_SNAPPY:
      result = codec_snappy_decompress(bytes, size, out);
      break;
    case CODEC_LZ4:
      result = codec_lz4_decompress(bytes, size, out);
      break;
    case CODEC_ZSTD:
      result = codec_zstd_decompress(bytes, size, out);
      break;
    default:
      return error_set(ERR_DECOMPRESS, "there is no compression codec %d", codec);
  }
  if (result == ERR_LIMIT) {
    return error_set(ERR_LIMIT, "%zu bytes of %s unpack to more than %zu", size, names[codec], out->limit);
  }
  return result;
}

int codec_compress(int codec, int level, const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  if (size > CODEC_INPUT_MAX) {
    return error_set(ERR_LIMIT, "%zu bytes to pack", size);
  }
  int lowest;
  int highest;
  codec_level_range(codec, &lowest, &highest);
  if (level != CODEC_LEVEL_DEFAULT && lowest != highest && (level < lowest || level > highest)) {
    return error_set(ERR_INVALID, "compression level %d of %s", level, names[codec]);
  }
  int result;
  switch (codec) {
    case CODEC_NONE:
      result = copy_bytes(bytes, size, out);
      break;
    case CODEC_GZIP:
      result = codec_gzip_compress(level, bytes, size, out);
      break;
    case CODEC_SNAPPY:
      result = codec_snappy_compress(bytes, size, out);
      break;
    case CODEC_LZ4:
      result = codec_lz4_compress(level, bytes, size, out);
      break;
    case CODEC_ZSTD:
      result = codec_zstd_compress(level, bytes, size, out);
      break;
    default:
      return error_set(ERR_INVALID, "there is no compression codec %d", codec);
  }
  if (result == ERR_LIMIT) {
    return error_set(ERR_LIMIT, "%zu bytes packed with %s are more than %zu", size, names[codec], out->limit);
  }
  return result;
}

static int copy_bytes(const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  TRY(record_buffer_reserve(out, size));
  if (size > 0) {
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
  }
  return 0;
}
