-- SPDX-License-Identifier: Apache-2.0
-- A file that is dumped: read piece by piece, never whole, and the integers in it, big-endian as in all of Kafka's files.
local native = require "luka.native.file"

local byte = string.byte

local M = {}

local ZERO_PIECE = 65536 -- bytes that are looked at at a time

local EXACT_HIGH = 2 ^ 21 -- upper halves below it make numbers that are exact

---@class (exact) luka.DumpFile
---@field path string  as it was given
---@field name string  without the folder
---@field folder string  "." for none
---@field size integer  bytes when it was opened
---@field handle file*
---@field zero_position integer?  see File:zeros()
local File = {}
File.__index = File

--- Opens a file.
---
---@param path string
---@return luka.DumpFile? file  close it
---@return string? err  "<path>: <reason>"
function M.open(path)
  local handle, err = io.open(path, "rb")
  if not handle then return nil, err end
  handle:setvbuf "no"
  local size
  size, err = handle:seek "end"
  if not size or handle:read(0) and size == 0 then
    handle:close()
    return nil, ("%s: %s"):format(path, err or "cannot be read at a position")
  end
  local folder, name = path:match "^(.*)/([^/]*)$"
  return setmetatable({
    path = path, name = name or path, folder = folder == "" and "/" or folder or ".", size = size, handle = handle,
  }, File)
end

--- Reads up to `count` bytes from a position on, which counts from 0; "" at the end.
---
---@param position integer
---@param count integer
---@return string? bytes
---@return string? err
function File:read(position, count)
  local at, err = self.handle:seek("set", position)
  if not at then return nil, err end
  local bytes
  bytes, err = self.handle:read(count)
  if not bytes and err then return nil, err end
  return bytes or ""
end

--- Where the zeros at the end begin; the size of the file when there are none.
---
---@return integer
function File:zeros()
  if self.zero_position then return self.zero_position end
  -- A hole is not read: it may be larger than anybody waits for.
  local position = math.min(self.size, native.data_end(self.path) or self.size)
  while position > 0 do
    local count = math.min(position, ZERO_PIECE)
    local bytes = self:read(position - count, count)
    local last = bytes and #bytes == count and bytes:reverse():find "[^%z]"
    if last or not bytes or #bytes < count then
      position = last and position - last + 1 or position
      break
    end
    position = position - count
  end
  self.zero_position = position
  return position
end

function File:close()
  self.handle:close()
end

--- Integers at a position of a byte string, which counts from 1.
function M.i16(bytes, at)
  local a, b = byte(bytes, at, at + 1)
  local value = a * 256 + b
  return value < 0x8000 and value or value - 0x10000
end

function M.u32(bytes, at)
  local a, b, c, d = byte(bytes, at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

function M.i32(bytes, at)
  local value = M.u32(bytes, at)
  return value < 0x80000000 and value or value - 0x100000000
end

--- A number up to 2^53, an int64 beyond.
function M.i64(bytes, at)
  local high, low = M.i32(bytes, at), M.u32(bytes, at + 4)
  if high >= -EXACT_HIGH and high < EXACT_HIGH then return high * 0x100000000 + low end
  return high * 0x100000000LL + low
end

--- A sum of integers of either kind.
function M.add(a, b)
  local sum = a + 0LL + b
  local exact = 9007199254740992LL
  return sum >= -exact and sum <= exact and tonumber(sum) or sum
end

--- An integer from its digits, at most 20 of them; nil when it is none or does not fit.
function M.number(text)
  local sign, digits = text:match "^(%-?)(%d+)$"
  digits = digits and digits:gsub("^0+(%d)", "%1")
  if not digits or #digits > 19 or #digits == 19 and digits > "9223372036854775807" then return nil end
  local head, tail = digits:sub(1, -10), digits:sub(-9)
  local value = M.add((tonumber(head) or 0) * 1000000000LL, tonumber(tail))
  return sign == "-" and -value or value
end

return M
