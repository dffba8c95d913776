// SPDX-License-Identifier: Apache-2.0
//
// gzip through zlib. A client may send several gzip members, one after the other; bytes after the last one that do not
// begin another are ignored, as Java's reader does.
#include <stdbool.h>
#include <zlib.h>

#include "base/error.h"
#include "record/buffer.h"
#include "record/codec.h"
#include "record/codec_private.h"

enum {
  GZIP_WINDOW_BITS = 15 + 16, // the largest window; +16: gzip header and trailer
  GZIP_MEMORY_LEVEL = 8,      // zlib's default
  GZIP_USUAL_RATIO = 4,       // first guess at how much comes out
};

static int inflate_members(z_stream *stream, struct record_buffer *out);
static int inflate_some(z_stream *stream, struct record_buffer *out);
static bool member_follows(const z_stream *stream);
static uInt clamp_room(size_t room);

int codec_gzip_decompress(const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  z_stream stream = {.next_in = (z_const Bytef *)bytes, .avail_in = (uInt)size};
  if (inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK) {
    return error_set(ERR_NOMEM, "zlib: no memory to unpack");
  }
  record_buffer_hint(out, size * GZIP_USUAL_RATIO);
  int result = inflate_members(&stream, out);
  inflateEnd(&stream);
  return result;
}

int codec_gzip_compress(int level, const uint8_t *bytes, size_t size, struct record_buffer *out)
{
  z_stream stream = {.next_in = (z_const Bytef *)bytes, .avail_in = (uInt)size};
  if (level == CODEC_LEVEL_DEFAULT) {
    level = Z_DEFAULT_COMPRESSION;
  }
  if (deflateInit2(&stream, level, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
    return error_set(ERR_NOMEM, "zlib: no memory to pack");
  }
  int result = record_buffer_reserve(out, deflateBound(&stream, size));
  if (result == 0) {
    stream.next_out = out->bytes + out->size;
    stream.avail_out = clamp_room(out->capacity - out->size);
    if (deflate(&stream, Z_FINISH) == Z_STREAM_END) {
      out->size += stream.total_out;
    } else {
      result = ERR_LIMIT;
    }
  }
  deflateEnd(&stream);
  return result;
}

/// Unpacks all members into `out`, growing it as they come.
static int inflate_members(z_stream *stream, struct record_buffer *out)
{
  for (;;) {
    int status = inflate_some(stream, out);
    if (status < 0) {
      return status;
    }
    if (status == Z_STREAM_END) {
      if (!member_follows(stream)) {
        return 0;
      }
      inflateReset(stream);
    }
  }
}

/// One step; at the limit only a member's end may come.
///
/// @return Z_OK, Z_STREAM_END or a negative ERR_*
static int inflate_some(z_stream *stream, struct record_buffer *out)
{
  uint8_t spill; // shows whether more would come than fits
  bool is_full = out->size == out->capacity && record_buffer_grow(out) != 0;
  stream->next_out = is_full ? &spill : out->bytes + out->size;
  stream->avail_out = is_full ? 1 : clamp_room(out->capacity - out->size);
  uInt room = stream->avail_out;
  int status = inflate(stream, Z_NO_FLUSH);
  if (status == Z_MEM_ERROR) {
    return error_set(ERR_NOMEM, "zlib: no memory to unpack");
  }
  if (status != Z_OK && status != Z_STREAM_END) {
    return error_set(ERR_DECOMPRESS, "gzip: %s", stream->msg != NULL ? stream->msg : "input ends early");
  }
  if (!is_full) {
    out->size += room - stream->avail_out;
  } else if (stream->avail_out == 0) {
    return ERR_LIMIT;
  }
  return status;
}

static bool member_follows(const z_stream *stream)
{
  return stream->avail_in >= 2 && stream->next_in[0] == 0x1f && stream->next_in[1] == 0x8b;
}

static uInt clamp_room(size_t room)
{
  return room > CODEC_INPUT_MAX ? CODEC_INPUT_MAX : (uInt)room;
}
