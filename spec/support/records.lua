-- SPDX-License-Identifier: Apache-2.0
--
-- Record batches for specs that talk to brokers: makes them, takes apart what a Fetch gave, and says what a batch looks
-- like once it is stored. The fields of a header are read here byte by byte, not by the code under test.
local bit = require "bit"
local ffi = require "ffi"
local batches = require "spec.unit.record.batches"

local M = {}

M.NONE, M.GZIP, M.SNAPPY, M.LZ4, M.ZSTD = 0, 1, 2, 3, 4
M.CODECS = { "gzip", "snappy", "lz4", "zstd" }

--- Makes a batch; the options are those of spec/unit/record/batches.lua: records, codec, ts, step, attributes, ...
M.batch = batches.batch

local HEADER_BYTES = 61

--- A batch of one record whose total size is exactly this, 70 bytes at least; the value is all `fill`.
---
---@param size integer  bytes
---@param fill string?  one character
function M.sized(size, fill)
  local length = size - HEADER_BYTES - 7
  while true do
    local batch = M.batch { records = { (fill or "v"):rep(length) } }
    if #batch == size then return batch end
    length = length - (#batch - size)
  end
end

--- Reads a big-endian integer; a plain number while that is exact.
local function integer(bytes, at, size, is_unsigned)
  local n = 0LL
  for i = at, at + size - 1 do n = n * 256 + bytes:byte(i) end
  if size < 8 and not is_unsigned and bytes:byte(at) >= 128 then n = n - bit.lshift(1LL, 8 * size) end
  local number = tonumber(n)
  return math.abs(number) <= 2 ^ 53 and number or n
end

--- Takes the records field of a Fetch, or a segment file, apart.
---
---@param bytes string
---@return table[] list  batches: base, last, size, leader_epoch, magic, is_intact (CRC), attributes, codec, count ..., bytes
---@return string rest  a batch that is cut off at the end; "" if none is
function M.parse(bytes)
  local list, at = {}, 1
  while #bytes - at + 1 >= HEADER_BYTES do
    local size = 12 + integer(bytes, at + 8, 4)
    if size < HEADER_BYTES or at + size - 1 > #bytes then break end
    local batch = bytes:sub(at, at + size - 1)
    local attributes = integer(batch, 22, 2)
    local base, last_delta = integer(batch, 1, 8), integer(batch, 24, 4)
    list[#list + 1] = {
      base = base, last = base + last_delta, size = size, leader_epoch = integer(batch, 13, 4), magic = batch:byte(17),
      is_intact = integer(batch, 18, 4, true) == batches.crc(batch:sub(22)), attributes = attributes,
      codec = bit.band(attributes, 7), last_delta = last_delta, base_timestamp = integer(batch, 28, 8),
      max_timestamp = integer(batch, 36, 8), producer_id = integer(batch, 44, 8), producer_epoch = integer(batch, 52, 2),
      sequence = integer(batch, 54, 4), count = integer(batch, 58, 4), pos = at - 1, bytes = batch,
    }
    at = at + size
  end
  return list, bytes:sub(at)
end

--- What a batch looks like in the log: the same bytes, with offset and leader epoch filled in.
function M.stored(batch, base, leader_epoch)
  return batches.int(base, 8) .. batch:sub(9, 12) .. batches.int(leader_epoch or 0, 4) .. batch:sub(17)
end

--- All records of a records field, unpacked: offset, timestamp, key, value, headers ({ { key, value } ... }).
function M.read(bytes)
  local all = {}
  for _, batch in ipairs(M.parse(bytes)) do
    local records, code = batches.read(batch.bytes, 64 * 1024 * 1024)
    if not records then error(("the batch at offset %s cannot be read: %s"):format(tostring(batch.base), tostring(code)), 2) end
    for _, record in ipairs(records) do
      record.offset, record.timestamp = tonumber(record.offset), tonumber(record.timestamp)
      all[#all + 1] = record
    end
  end
  return all
end

--- The values of all records, in order.
function M.values(bytes)
  local values = {}
  for i, record in ipairs(M.read(bytes)) do values[i] = record.value end
  return values
end

--- The base offsets of all batches, in order.
function M.bases(bytes)
  local bases = {}
  for i, batch in ipairs(M.parse(bytes)) do bases[i] = batch.base end
  return bases
end

--- Text that does not compress, the same for the same seed.
---
---@param size integer  bytes
---@param seed integer
function M.noise(size, seed)
  local out = ffi.new("uint8_t[?]", size)
  local state = bit.bxor(seed * 2654435761 % 2 ^ 31, 0x1234567)
  if state == 0 then state = 1 end
  for i = 0, size - 1 do
    state = bit.bxor(state, bit.lshift(state, 13))
    state = bit.bxor(state, bit.rshift(state, 17))
    state = bit.bxor(state, bit.lshift(state, 5))
    out[i] = bit.band(state, 0xff)
  end
  return ffi.string(out, size)
end

return M
