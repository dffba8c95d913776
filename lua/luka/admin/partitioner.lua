-- SPDX-License-Identifier: Apache-2.0
-- Which partition a record goes to: the one of its key as the Java client chooses it (murmur2), so that a key's records
-- stay together whoever writes them; records without a key go round robin.
local bit = require "bit"

local band, bxor, rshift, tobit = bit.band, bit.bxor, bit.rshift, bit.tobit

local M = {}

local SEED, MULTIPLIER = 0x9747b28c, 0x5bd1e995

--- The product of two numbers modulo 2^32: by halves of `a`, so that a double holds every product.
local function multiply(a, b)
  return tobit(band(a, 0xffff) * b + band(rshift(a, 16) * band(b, 0xffff), 0xffff) * 0x10000)
end

--- murmur2 as in org.apache.kafka.common.utils.Utils.
---
---@param bytes string
---@return integer hash  signed, of 32 bits
function M.murmur2(bytes)
  local size = #bytes
  local hash = bxor(tobit(SEED), size)
  local whole = size - size % 4
  for at = 1, whole, 4 do
    local a, b, c, d = bytes:byte(at, at + 3)
    local k = multiply(tobit(a + b * 0x100 + c * 0x10000 + d * 0x1000000), MULTIPLIER)
    k = multiply(bxor(k, rshift(k, 24)), MULTIPLIER)
    hash = bxor(multiply(hash, MULTIPLIER), k)
  end
  if size > whole then
    local a, b, c = bytes:byte(whole + 1, size)
    hash = bxor(hash, tobit(a + (b or 0) * 0x100 + (c or 0) * 0x10000))
    hash = multiply(hash, MULTIPLIER)
  end
  hash = multiply(bxor(hash, rshift(hash, 13)), MULTIPLIER)
  return bxor(hash, rshift(hash, 15))
end

--- The partition of a key.
---
---@param key string
---@param count integer  partitions of the topic
---@return integer partition  from 0
function M.of_key(key, count) return band(M.murmur2(key), 0x7fffffff) % count end

return M
