-- SPDX-License-Identifier: Apache-2.0
--
-- A compacted topic under random load, and what may be left of it: of all that was appended below the log's end the newest
-- record of each key is there, at its offset, and whatever else is there was appended so.
--
--   local model = compaction.new(random)
--   model:append(client, topic)                        acknowledged, or `uncertain` after a crash
--   model:verify(client, topic)                        after a restart too: takes over what the log has
--
-- Tombstones stay, as long as delete.retention.ms is: a day.
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local M = {}

---@class spec.CompactionModel
---@field appended table<integer, { key: string, value: string? }>  by offset
---@field next integer  offset after the last acknowledged record
local Model = {}
Model.__index = Model

--- Every batch begins a segment by its timestamps.
M.CONFIGS = { ["cleanup.policy"] = "compact", ["segment.ms"] = "1000", ["min.cleanable.dirty.ratio"] = "0.01",
  ["file.delete.delay.ms"] = "0" }

---@param random fun(n: integer): integer  1 to n
---@param options { keys: integer?, value_bytes: integer? }?
---@return spec.CompactionModel
function M.new(random, options)
  options = options or {}
  return setmetatable({ random = random, keys = options.keys or 150, value_bytes = options.value_bytes or 100, appended = {},
    next = 0, clock = tonumber(os.time()) * 1000 - 30 * 86400000, written = 0 }, Model)
end

--- A batch of random records, in any codec, and what they are.
function Model:batch()
  local list, random = {}, self.random
  for i = 1, random(20) do
    self.written = self.written + 1
    local value = random(8) > 1 and ("%d:%s"):format(self.written, ("v"):rep(random(self.value_bytes))) or nil
    list[i] = { key = "key-" .. random(self.keys), value = value }
  end
  self.clock = self.clock + (random(4) > 1 and 5000 or 1)
  return records.batch { records = list, ts = self.clock, codec = random(3) > 1 and 0 or random(4) }, list
end

local function note(self, base, list)
  for i, record in ipairs(list) do self.appended[base + i - 1] = record end
  self.next = base + #list
end

--- Appends one batch, and notes it once it is acknowledged.
function Model:append(client, topic)
  local bytes, list = self:batch()
  note(self, requests.append(client, topic, bytes, { acks = 1 }), list)
end

--- Sends one batch whose answer nobody waits for.
function Model:send(client, topic)
  local bytes, list = self:batch()
  requests.send_produce(client, topic, bytes, { acks = 1 })
  self.uncertain = list
end

--- All records that are there. After a power failure offsets may be missing at the end.
local function read(client, topic, end_offset)
  local list, offset = {}, requests.start_offset(client, topic)
  while offset < end_offset do
    local answer = requests.fetch(client, topic, { fetch_offset = offset })
    assert(answer.error_code == 0, answer.error_code)
    local found = records.parse(answer.records or "")
    if #found == 0 then return list, offset end
    for _, record in ipairs(records.read(answer.records)) do list[#list + 1] = record end
    offset = found[#found].last + 1
  end
  return list, offset
end

--- Checks what a topic has, and takes over where it ends.
---
---@param durable_offset integer?  after a power failure: what lies above it, and was never compacted, may be gone
---@return integer end_offset
---@return integer count  of the records that are left
function Model:verify(client, topic, durable_offset)
  local may_lose = durable_offset ~= nil
  local end_offset = requests.end_offset(client, topic)
  if self.uncertain then
    if end_offset > self.next then note(self, self.next, self.uncertain) end
    self.uncertain = nil
  end
  local is_right = end_offset == self.next or may_lose and end_offset < self.next
  assert(is_right, ("ends at %d, not %d"):format(end_offset, self.next))
  local seen, count = {}, 0
  local list, last = read(client, topic, end_offset)
  assert(last == end_offset or may_lose, ("nothing from %d to %d"):format(last, end_offset))
  for _, record in ipairs(list) do
    local was = self.appended[record.offset]
    assert(was and was.key == record.key and was.value == record.value, ("offset %d has another record"):format(record.offset))
    assert(seen[record.key] == nil or seen[record.key] < record.offset)
    seen[record.key], count = record.offset, count + 1
  end
  -- The newest first: what a key lost with the power shows the one before.
  local is_settled = {}
  for offset = end_offset - 1, 0, -1 do
    local record = self.appended[offset]
    if record and not is_settled[record.key] then
      if seen[record.key] == offset then
        is_settled[record.key] = true
      elseif may_lose and offset >= durable_offset then
        self.appended[offset] = nil
      else
        error(("%s has offset %s, not %d"):format(record.key, tostring(seen[record.key]), offset))
      end
    end
  end
  for offset = end_offset, self.next - 1 do self.appended[offset] = nil end
  self.next = end_offset
  return end_offset, count
end

--- Names in a partition's folder that are none of a log at rest. What recovery cut off a torn tail and kept is no stray.
function M.strays(folder)
  local names = {}
  local pipe = io.popen(("ls -A '%s'"):format(folder))
  for name in pipe:lines() do
    local base = name:match "^(%d+)%.%a+$"
    local is_known = base or name == "leader-epoch-checkpoint" or name == "partition.metadata" or name:find ".log.cut"
    if not is_known then names[#names + 1] = name end
  end
  pipe:close()
  return names
end

return M
