-- SPDX-License-Identifier: Apache-2.0
-- Reads a topic record by record: asks for some batches, and takes records out of them one at a time, so that a batch of
-- a hundred thousand small records costs no more memory than a large one.
local arguments = require "luka.admin.arguments"
local calls = require "luka.admin.call"
local errors = require "luka.errors"
local native = require "luka.native.record"

---@class (exact) luka.Record
---@field topic string
---@field partition integer
---@field offset integer
---@field timestamp integer?  ms since 1970
---@field key string?
---@field value string?
---@field headers { key: string, value: string? }[]

local M = {}

--- Bytes asked for at once, and what the records of one batch may unpack to.
local MAX_BYTES, UNPACK_BYTES = 1024 * 1024, 32 * 1024 * 1024

---@class (exact) luka.Fetcher.Options
---@field max_wait_ms integer
---@field max_bytes integer?
---@field go_on (fun(partition: integer, offset: integer): integer)?  told an offset that a partition has not (any more); where
---   to go on. An error without it.

---@class luka.Fetcher
---@field positions { partition: integer, offset: integer }[]  where each partition goes on; turned at each fetch
local Fetcher = {}
Fetcher.__index = Fetcher

--- Makes a reader.
---
---@param call fun(api: string, body: table): table
---@param topic string
---@param positions table<integer, integer>  offsets by partition
---@param options luka.Fetcher.Options
---@return luka.Fetcher
function M.new(call, topic, positions, options)
  local list = {}
  for partition, offset in pairs(positions) do list[#list + 1] = { partition = partition, offset = offset } end
  table.sort(list, function(a, b) return a.partition < b.partition end)
  return setmetatable({ call = call, topic = topic, positions = list, options = options, waiting = {} }, Fetcher)
end

--- Where each partition goes on.
---
---@return table<integer, integer>
function Fetcher:positions_by_partition()
  local out = {}
  for _, position in ipairs(self.positions) do out[position.partition] = position.offset end
  return out
end

--- A partition has not the offset where it goes on.
local function out_of_range(self, position, what)
  if not self.options.go_on then
    errors.raise("OFFSET_OUT_OF_RANGE", "%s has no offset %s", what, arguments.digits(position.offset))
  end
  position.offset = self.options.go_on(position.partition, position.offset)
end

--- Asks the broker once; what it sends is there for take().
---
---@return boolean any  whether it sent something, or goes on elsewhere
function Fetcher:fetch()
  local body, by_partition, has_moved = {}, {}, false
  for i, position in ipairs(self.positions) do
    body[i] = { partition = position.partition, fetch_offset = position.offset,
      partition_max_bytes = self.options.max_bytes or MAX_BYTES }
    by_partition[position.partition] = position
  end
  local answer = self.call("Fetch", { replica_id = -1, max_wait_ms = self.options.max_wait_ms, min_bytes = 1,
    max_bytes = self.options.max_bytes or MAX_BYTES, topics = { { topic = self.topic, partitions = body } } })
  calls.check(answer.error_code, nil, ('topic "%s"'):format(self.topic))
  self.waiting, self.current = {}, nil
  for _, part in ipairs(answer.responses[1] and answer.responses[1].partitions or {}) do
    local position = by_partition[part.partition_index]
    local what = ('topic "%s" partition %d'):format(self.topic, part.partition_index)
    if part.error_code == 1 then
      out_of_range(self, position, what)
      has_moved = true
    elseif part.error_code ~= 0 then
      calls.check(part.error_code, nil, what)
    elseif part.records and part.records ~= "" then
      table.insert(self.waiting, { position = position, bytes = part.records, at = 1 })
    end
  end
  -- The first partition may have had all the bytes: the next one comes first another time.
  table.insert(self.positions, table.remove(self.positions, 1))
  return has_moved or #self.waiting > 0
end

--- Whether something that fetch() got has not been taken.
---
---@return boolean
function Fetcher:has_waiting() return #self.waiting > 0 end

local function damaged(self, chunk, err)
  errors.raise(tostring(err.code), 'topic "%s" partition %d, from offset %s: %s', self.topic, chunk.position.partition,
    arguments.digits(chunk.position.offset), err.message)
end

--- Opens the next batch of a chunk; false at its end, which may be a batch that is cut.
local function open_batch(self, chunk)
  while true do
    local batch, err = native.batch(chunk.bytes, chunk.at, UNPACK_BYTES)
    if not batch then
      if err and err.code ~= "truncated" then damaged(self, chunk, err) end
      return false
    end
    local at = chunk.at
    chunk.at = at + batch.size
    chunk.after = batch.last_offset + 1
    -- What transactions leave for the broker's own use is no record.
    if not batch.is_control then
      local cursor
      cursor, err = native.open(chunk.bytes, at, UNPACK_BYTES)
      if not cursor then damaged(self, chunk, err) end
      chunk.cursor = cursor
      return true
    end
    chunk.position.offset = chunk.after
  end
end

--- The next record of what fetch() got; nil when there are no more.
---
---@return luka.Record?
function Fetcher:take()
  while true do
    local chunk = self.waiting[1]
    if not chunk then return nil end
    if not chunk.cursor and not open_batch(self, chunk) then
      table.remove(self.waiting, 1)
    else
      local record, err = chunk.cursor:next()
      if err then damaged(self, chunk, err) end
      if not record then
        chunk.cursor = nil
        chunk.position.offset = chunk.after
      elseif record.offset >= chunk.position.offset then
        chunk.position.offset = record.offset + 1
        record.topic, record.partition = self.topic, chunk.position.partition
        return record
      end
    end
  end
end

return M
