// SPDX-License-Identifier: Apache-2.0
//
// The inline functions of base/varint.h as functions that FFI can call.
#pragma once

#include <stdint.h>

/// Each reads from `size` bytes at `at`, and returns what the inline function does.
int varint_call_get_u32(const uint8_t *at, int size, uint32_t *value);
int varint_call_get_u64(const uint8_t *at, int size, uint64_t *value);
int varint_call_get_i32(const uint8_t *at, int size, int32_t *value);
int varint_call_get_i64(const uint8_t *at, int size, int64_t *value);

/// Each writes to `at`, checks that the size is the one foretold, and returns it, or -1.
int varint_call_put_u32(uint8_t *at, uint32_t value);
int varint_call_put_u64(uint8_t *at, uint64_t value);
int varint_call_put_i32(uint8_t *at, int32_t value);
int varint_call_put_i64(uint8_t *at, int64_t value);
