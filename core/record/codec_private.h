// SPDX-License-Identifier: Apache-2.0
//
// What each codec's file gives to codec.c. Sizes are at most CODEC_INPUT_MAX, levels checked or CODEC_LEVEL_DEFAULT;
// contracts as in codec.h.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_buffer;

enum { CODEC_INPUT_MAX = 0x7fffffff };

int codec_gzip_decompress(const uint8_t *bytes, size_t size, struct record_buffer *out);
int codec_gzip_compress(int level, const uint8_t *bytes, size_t size, struct record_buffer *out);

bool codec_snappy_begins_right(const uint8_t *bytes, size_t size);
int codec_snappy_decompress(const uint8_t *bytes, size_t size, struct record_buffer *out);
int codec_snappy_compress(const uint8_t *bytes, size_t size, struct record_buffer *out);

int codec_lz4_decompress(const uint8_t *bytes, size_t size, struct record_buffer *out);
int codec_lz4_compress(int level, const uint8_t *bytes, size_t size, struct record_buffer *out);

/// LZ4 as record format 0 has it (KAFKA-3160): the checksum of the frame's header is not looked at, since the first
/// producers computed it wrongly.
int codec_lz4_decompress_old(const uint8_t *bytes, size_t size, struct record_buffer *out);

/// Gives a frame that codec_lz4_compress() made the checksum that readers of format 0 expect: one over the frame's
/// first four bytes too.
void codec_lz4_make_old(uint8_t *bytes, size_t size);

int codec_zstd_decompress(const uint8_t *bytes, size_t size, struct record_buffer *out);
int codec_zstd_compress(int level, const uint8_t *bytes, size_t size, struct record_buffer *out);
void codec_zstd_level_range(int *lowest, int *highest);
