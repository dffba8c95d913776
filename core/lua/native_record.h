// SPDX-License-Identifier: Apache-2.0
//
// `require "luka.native.record"`: record batches for Lua, of all formats, both ways. `luka dump` reads files with it,
// the console's tail and produce what they send and receive. Positions count bytes from 1, as in Lua strings.
//
//    local record = require "luka.native.record"
//    local position = 1
//    while true do
//      local batch, err = record.batch(bytes, position)
//      if not batch then break end            -- err: nil at the end, err.code == "truncated" for a cut one
//      for _, each in ipairs(assert(record.records(bytes, position, 64 * 2^20))) do print(each.offset, each.value) end
//      position = position + batch.size
//    end
//    local sent = assert(record.build({ { key = "k", value = "v", headers = { { key = "h", value = "1" } } } },
//                                     { compression = "zstd" }))
//
// batch(bytes [, position [, limit]]) -> batch | nil [, error]: the header of the batch that begins at `position`. Its
//   records are not looked at, but for a compressed message set when `limit` allows to unpack it: base_offset and count
//   are not in its header. At the end of `bytes` nil alone. Of a batch that is cut `error.code` is "truncated", and
//   error.batch is its header if that is whole.
// records(bytes, position, limit [, max]) -> list | nil, error: its records, at most `max` of them.
// open(bytes, position, limit) -> cursor | nil, error: the same one by one: cursor:next() -> record | nil [, error],
//   cursor:close().
// build(records [, options]) -> bytes | nil, error: a batch of format 2. Options: base_offset, leader_epoch,
//   compression, timestamp (for records without one), producer_id, producer_epoch, base_sequence, is_transactional,
//   limit (bytes before compression, 16 MiB).
// crc32c(bytes [, position]) -> the CRC-32C of the bytes from `position` on.
//
// `limit` is how many bytes the records of a compressed batch may unpack to. Fields that a batch leaves unset (-1) are
// absent. Integers are numbers up to 2^53, int64 cdata beyond. Nothing is held in C when an error is raised: what owns
// memory is a userdata.
#pragma once

struct lua_State;

/// Pushes the module's table; a lua_CFunction.
int native_record_open(struct lua_State *vm);
