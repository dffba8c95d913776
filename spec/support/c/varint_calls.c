// SPDX-License-Identifier: Apache-2.0
#include "varint_calls.h"

#include "base/varint.h"

#define VARINT_CALLS(suffix, type)                                       \
  int varint_call_get_##suffix(const uint8_t *at, int size, type *value) \
  {                                                                      \
    return varint_get_##suffix(at, at + size, value);                    \
  }                                                                      \
  int varint_call_put_##suffix(uint8_t *at, type value)                  \
  {                                                                      \
    int size = varint_put_##suffix(at, value);                           \
    return size == varint_size_##suffix(value) ? size : -1;              \
  }

VARINT_CALLS(u32, uint32_t)
VARINT_CALLS(u64, uint64_t)
VARINT_CALLS(i32, int32_t)
VARINT_CALLS(i64, int64_t)
