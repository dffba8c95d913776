// SPDX-License-Identifier: Apache-2.0
#include "record/recompress.h"

#include "base/error.h"
#include "record/batch.h"
#include "record/buffer.h"
#include "record/codec.h"
#include "record/iterate.h"

enum { OUTPUT_SIZE_MAX = 0x7fffffff };

static int repack(const struct batch_header *header, const uint8_t *records, size_t size, int codec, int level,
                  struct record_buffer *out);

bool batch_needs_recompress(const uint8_t *bytes, int codec)
{
  int current = batch_attributes(bytes) & BATCH_CODEC_MASK;
  bool stays = batch_is_control(bytes) || batch_record_count(bytes) == 0;
  return current != codec && !(current == CODEC_NONE && stays);
}

int batch_recompress(const uint8_t *bytes, size_t size, int codec, int level, size_t limit, struct record_buffer *out)
{
  struct batch_header header = {0};
  TRY(batch_header_read(bytes, size, &header));
  const uint8_t *records = bytes + BATCH_HEADER_SIZE;
  size_t records_size = header.size - BATCH_HEADER_SIZE;
  int current = header.attributes & BATCH_CODEC_MASK;
  if (current == CODEC_NONE) {
    return repack(&header, records, records_size, codec, level, out);
  }
  struct record_buffer unpacked;
  record_buffer_init(&unpacked, limit);
  int result = codec_decompress(current, records, records_size, &unpacked);
  if (result == 0) {
    result = repack(&header, unpacked.bytes, unpacked.size, codec, level, out);
  }
  record_buffer_destroy(&unpacked);
  return result;
}

int batch_repack(const uint8_t *bytes, size_t size, int codec, int level, size_t size_max, struct record_buffer *out)
{
  size_t unpacked_max = size_max * BATCH_UNPACK_RATIO;
  record_buffer_init(out, unpacked_max + BATCH_HEADER_SIZE);
  int result = batch_recompress(bytes, size, codec, level, unpacked_max, out);
  if (result == ERR_LIMIT || (result == 0 && out->size > size_max)) {
    return error_set(ERR_BATCH_TOO_LARGE, "batch of %zu bytes is too large in another codec", size);
  }
  if (result == 0) {
    record_buffer_trim(out, 0); // codecs ask for more room than they need, and the batch may have to wait
  }
  return result;
}

/// Packs plain records and puts the header, changed as needed, before them.
static int repack(const struct batch_header *header, const uint8_t *records, size_t size, int codec, int level,
                  struct record_buffer *out)
{
  record_buffer_reset(out, (size_t)OUTPUT_SIZE_MAX * 2); // room for the codec's worst case
  TRY(record_buffer_reserve(out, BATCH_HEADER_SIZE));
  out->size = BATCH_HEADER_SIZE;
  TRY(codec_compress(codec, level, records, size, out));
  if (out->size > OUTPUT_SIZE_MAX) {
    return error_set(ERR_LIMIT, "batch of %zu bytes after compression", out->size);
  }
  struct batch_header changed = *header;
  changed.size = out->size;
  changed.attributes = (uint16_t)((header->attributes & ~BATCH_CODEC_MASK) | codec);
  batch_header_write(out->bytes, &changed);
  return 0;
}
