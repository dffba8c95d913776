// SPDX-License-Identifier: Apache-2.0
#include "base/crc.h"

#include <isa-l/crc.h>
#include <zlib.h>

uint32_t crc32c(const void *bytes, size_t size)
{
  return crc32c_update(0, bytes, size);
}

uint32_t crc32c_update(uint32_t crc, const void *bytes, size_t size)
{
  enum { STEP_BYTES = 1 << 30 }; // the library counts in int
  unsigned char *at = (unsigned char *)(uintptr_t)bytes;
  uint32_t state = ~crc;
  while (size > 0) {
    int step = size > STEP_BYTES ? STEP_BYTES : (int)size;
    state = crc32_iscsi(at, step, state);
    at += step;
    size -= (size_t)step;
  }
  return ~state;
}

uint32_t crc32_zlib(const void *bytes, size_t size)
{
  enum { SHORT_BYTES = 16 }; // keys of records: the library's way of many bytes at once costs more than zlib's table
  if (size < SHORT_BYTES) {
    return (uint32_t)crc32(0, bytes, (uInt)size);
  }
  return crc32_gzip_refl(0, bytes, size);
}
