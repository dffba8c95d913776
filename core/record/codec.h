// SPDX-License-Identifier: Apache-2.0
//
// Compression of a batch's records: one front for gzip, snappy, lz4 and zstd. Called by the iterator, the builder and
// the recompression of topics that fix their compression type; on workers for single batches, else on the pool.
// Stateless: any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_buffer;

/// The number is the one in a batch's attributes.
enum codec {
  CODEC_NONE = 0,
  CODEC_GZIP = 1,
  CODEC_SNAPPY = 2,
  CODEC_LZ4 = 3,
  CODEC_ZSTD = 4,
  CODEC_COUNT,
};

enum {
  CODEC_LEVEL_DEFAULT = -0x7fffffff - 1, ///< the level that Kafka takes when none is configured
};

/// The name in configurations ("none", "gzip", "snappy", "lz4", "zstd"); NULL if `codec` is none of enum codec.
const char *codec_name(int codec);

/// The codec of a name.
///
/// @return enum codec, ERR_NOT_FOUND (no error_set())
int codec_from_name(const char *name);

/// The levels a codec takes, for checking configurations; equal when it has none.
void codec_level_range(int codec, int *lowest, int *highest);

/// Looks at the first bytes only: whether they begin a stream of this codec. True for CODEC_NONE; a stream that begins
/// right may still be damaged.
bool codec_begins_right(int codec, const uint8_t *bytes, size_t size);

/// Unpacks and appends to `out`, never beyond its limit.
///
/// Snappy may be raw or in the framing of the Java client; gzip and zstd may be several streams, one after the other.
///
/// @param out  appended to; on failure it may hold a part
/// @return 0, ERR_DECOMPRESS (damaged, or no such codec), ERR_LIMIT (more than `out` may hold)
int codec_decompress(int codec, const uint8_t *bytes, size_t size, struct record_buffer *out);

/// Packs and appends to `out`, in the form that every Kafka client can read.
///
/// @param level  CODEC_LEVEL_DEFAULT, or in the codec's range (snappy has none)
/// @param out    appended to; on failure it may hold a part. Its limit has to leave room for the worst case, which is a
///               little more than `size`
/// @return 0, ERR_LIMIT, ERR_INVALID (no such codec or level), ERR_NOMEM (the library found no memory)
int codec_compress(int codec, int level, const uint8_t *bytes, size_t size, struct record_buffer *out);
