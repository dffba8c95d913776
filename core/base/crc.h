// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli) with the machine's instructions, through ISA-L; the checksum of record batches of format 2.
// And CRC-32, that of zlib and of record formats 0 and 1, with the same library.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The CRC-32C of `size` bytes. Any thread.
uint32_t crc32c(const void *bytes, size_t size);

/// Continues a checksum: crc32c_update(crc32c(a), b) is the checksum of a followed by b.
uint32_t crc32c_update(uint32_t crc, const void *bytes, size_t size);

/// The CRC-32 of `size` bytes as zlib computes it. Any thread.
uint32_t crc32_zlib(const void *bytes, size_t size);
