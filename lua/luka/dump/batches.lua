-- SPDX-License-Identifier: Apache-2.0
-- Walks over the batches of a segment file with one piece of it in memory at a time.
local record = require "luka.native.record"

local M = {}

local PIECE = 1024 * 1024 -- bytes that are read at a time, unless a batch is larger
local BATCH_MAX = 256 * 1024 * 1024 -- largest batch that is looked into
local PREFIX = 12 -- bytes of a batch that its length does not count
local HEADER = 61 -- bytes of a batch before its records, in the newest format

--- Bytes that the records of a batch may unpack to.
M.UNPACK_MAX = 256 * 1024 * 1024

---@class (exact) luka.DumpBatch
---@field header table  as luka.native.record gives it
---@field position integer  in the file, from 0
---@field bytes string  a piece of the file that holds it
---@field at integer  where it begins there, from 1

---@class (exact) luka.DumpWalk
---@field file luka.DumpFile
---@field position integer  of the next batch
---@field private bytes string  the piece in memory
---@field private bytes_position integer  where it begins
local Walk = {}
Walk.__index = Walk

--- Begins a walk.
---
---@param file luka.DumpFile
---@return luka.DumpWalk
function M.walk(file)
  return setmetatable({ file = file, position = 0, bytes = "", bytes_position = 0 }, Walk)
end

--- Reads a piece that begins at the next batch.
function Walk:fill(size)
  local bytes, err = self.file:read(self.position, size)
  self.bytes, self.bytes_position = bytes or "", self.position
  return bytes ~= nil, err
end

--- What is wrong at the place of the next batch, which ends the walk.
function Walk:stop(text)
  local left = self.file.size - self.position
  if left >= HEADER and self.position >= self.file:zeros() then
    return nil, ("%d bytes of zeros at the end"):format(left)
  end
  return nil, ("%s; %d bytes from here to the end are not looked at"):format(text, left)
end

--- The size of a batch by its length field.
local function size_at(bytes, at)
  local a, b, c, d = bytes:byte(at + 8, at + 11)
  return ((a * 256 + b) * 256 + c) * 256 + d + PREFIX
end

--- Has the next batch in memory as a whole, as far as that can be told.
---
---@return integer? at  where it begins in `bytes`
---@return string? err
---@return integer? size  what it says of itself; nil: its length is cut
function Walk:load()
  local at, left = self.position - self.bytes_position + 1, self.file.size - self.position
  if #self.bytes - at + 1 < math.min(HEADER, left) then
    local ok, err = self:fill(PIECE)
    if not ok then return nil, err end
    at = 1
    if #self.bytes < math.min(HEADER, left) then return nil, "the file has become shorter" end
  end
  local size = #self.bytes - at + 1 > PREFIX and size_at(self.bytes, at) or nil
  if not size or size > left or size <= #self.bytes - at + 1 then return at, nil, size end
  -- What is no batch has any length: the header is judged before it is believed.
  local _, err = record.batch(self.bytes, at)
  if err and err.code ~= "truncated" then return at, nil, size end
  if size > BATCH_MAX then return nil, ("a batch of %d bytes is too large to be read"):format(size) end
  local ok
  ok, err = self:fill(math.max(size, PIECE))
  if not ok then return nil, err end
  return 1, nil, size
end

--- Gives the next batch.
---
---@return luka.DumpBatch? batch  nil at the end
---@return string? problem  nil at a clean end; else what is at `position`, and nothing more can be read
function Walk:next()
  local left = self.file.size - self.position
  if left <= 0 then return nil end
  local at, err, size = self:load()
  if not at then return self:stop(err) end
  local header
  header, err = record.batch(self.bytes, at, M.UNPACK_MAX)
  if header then
    local batch = { header = header, position = self.position, bytes = self.bytes, at = at }
    self.position = self.position + header.size
    return batch
  end
  if err.code ~= "truncated" then return self:stop(err.message) end
  if not size then return self:stop(("a batch header is cut after %d bytes"):format(left)) end
  return self:stop(("a batch of %d bytes is cut after %d"):format(size, left))
end

return M
