// SPDX-License-Identifier: Apache-2.0
//
// Hashes for user code: `local hashes = require "luka.native.hash"`.
//
//   hash(text) -> number     murmur2, never negative, so that hash(key) % n is the Java client's choice for a key
//   crc32(text) -> number    as librdkafka's consistent partitioner has it
//
// nil is as an empty text: records without a key have a partition, too.
#pragma once

struct lua_State;

/// Pushes the module; a lua_CFunction for lua/modules.c. Any thread that owns a state.
int native_hash_open(struct lua_State *vm);
