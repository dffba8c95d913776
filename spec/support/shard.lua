-- SPDX-License-Identifier: Apache-2.0
-- Drives a shard of __consumer_offsets: a fake clock, a seeded generator, and a log that takes writes at once, late or
-- not at all, as the spec says. Requests and answers are tables with the protocol's names (`groupId`, `topics`), what is
-- left out has its default.
--
--   local s = shard.new { seed = 7, topics = { clicks = 3 }, config = { group_max_size = 2 } }
--   local call = s:call("OffsetCommit", 9, "g", { topics = { ... } })     handed over, the log takes what is written
--   call.response                                                        nil: not answered yet
--   s:advance(5000)                                                      the clock goes on, timers run
--   s.is_held = true ... s:settle(1) / s:settle(1, 15)                   writes wait; one is done / fails with error 15
--   s.are_searches_held = true ... s:search() / s:search(0)             so do searches of regular expressions; one is run
--                                                                       as a whole / one expression of it
--   s:reloaded()                                                         another shard, loaded from the same log
local ffi = require "ffi"
local unit = require "spec.support.unit"
local walk = require "spec.unit.wire.walk"
local C = unit.load("shard_driver.h", "base/mem.h", "coordinator/shard.h", "coordinator/records.h")

local M = { NULL = walk.NULL }
local Shard = {}
Shard.__index = Shard

local START_MS = 1700000000000

-- What a call's body and response are (core/coordinator/shard.h): message, and the struct in it where it is not the
-- whole.
local APIS = {
  OffsetCommit = { key = 8 },
  OffsetFetch = { key = 9, body = "wire_offset_fetch_request_offset_fetch_request_group",
    response = "wire_offset_fetch_response_offset_fetch_response_group" },
  JoinGroup = { key = 11 },
  Heartbeat = { key = 12 },
  LeaveGroup = { key = 13 },
  SyncGroup = { key = 14 },
  DescribeGroups = { key = 15, body = false, response = "wire_describe_groups_response_described_group" },
  ListGroups = { key = 16 },
  DeleteGroups = { key = 42, body = false, response = "wire_delete_groups_response_deletable_group_result" },
  OffsetDelete = { key = 47 },
  ConsumerGroupHeartbeat = { key = 68 },
  ConsumerGroupDescribe = { key = 69, body = false,
    response = "wire_consumer_group_describe_response_described_group" },
}

--- The schema of a struct of a message; the whole message without a name.
local function struct_of(message_name, c)
  local message = walk.messages[message_name]
  if not c then return message.root end
  for _, struct in ipairs(message.structs) do
    if struct.c == c then return struct end
  end
  error("no struct " .. c)
end

--- Values as specs like them: plain numbers for integers, nil for null.
local function plain(value)
  if type(value) == "table" then
    local out = {}
    for key, item in pairs(value) do out[key] = plain(item) end
    return out
  elseif type(value) == "cdata" then
    return tonumber(value)
  elseif value == walk.NULL then
    return nil
  end
  return value
end

--- Makes a shard on an empty log.
---
---@param options table?  seed, topics (name to partitions), config (struct group_settings), log (records to load)
function M.new(options)
  options = options or {}
  local self = setmetatable({
    seed = options.seed or 1, now_ms = options.now_ms or START_MS, log = {}, is_held = false, taken = {}, calls = {},
    searches = {}, are_searches_held = false,
    topics = {}, config = options.config or {},
  }, Shard)
  self.driver = C.shard_driver_new(self.seed)
  self:set_now(self.now_ms)
  for name, value in pairs(self.config) do self.driver.config[name] = value end
  for name, partitions in pairs(options.topics or {}) do self:topic(name, partitions) end
  for name, bytes in pairs(options.topic_ids or {}) do self:set_topic_id(name, bytes) end
  self.topic_serial = options.topic_serial or self.topic_serial
  self.shard = self.driver.shard
  for _, record in ipairs(options.log or {}) do
    self:replay(record)
    self.log[#self.log + 1] = record
  end
  C.group_shard_loaded(self.shard, self.now_ms)
  return self
end

--- Reads a record: { key, value or nil, producer_id } or { ends = producer_id, is_commit }.
function Shard:replay(record)
  if record.ends then return C.group_shard_replay_end(self.shard, record.ends, record.is_commit) end
  return C.group_shard_replay(self.shard, record.producer_id or -1, record.key, #record.key, record.value,
    record.value and #record.value or -1)
end

--- Sets a topic of the cluster; 0 partitions: it goes.
function Shard:topic(name, partitions)
  C.shard_driver_topic(self.driver, name, partitions)
  if partitions > 0 and not self.topics[name] then
    -- One that comes back has another id, also in a shard that was loaded meanwhile.
    self.topic_serial = (self.topic_serial or 0) + 1
    self:set_topic_id(name, "T" .. string.char(self.topic_serial % 256, math.floor(self.topic_serial / 256))
      .. ("\0"):rep(12) .. "\1")
  end
  self.topics[name] = partitions > 0 and partitions or nil
end

--- Gives a topic an id of 16 bytes.
function Shard:set_topic_id(name, bytes)
  local id = ffi.new "struct uuid"
  ffi.copy(id.bytes, bytes, 16)
  C.shard_driver_set_topic_id(self.driver, name, id)
end

--- The id of a topic, as bytes.
function Shard:topic_id(name)
  local id = ffi.new "struct uuid"
  C.shard_driver_topic_id(self.driver, name, id)
  return ffi.string(id.bytes, 16)
end

--- Hands a request over, and has all run that follows from it.
---
---@param api string      "OffsetCommit"
---@param version integer
---@param group string?   nil: of no group
---@param body table?     what is left out has its default
---@param options table?  client_id, client_host, is_stable, wants_beat
---@return table call     response: its answer, nil while there is none; beat: of a heartbeat, the caller's reference
function Shard:call(api, version, group, body, options)
  options = options or {}
  local kind = assert(APIS[api], api)
  local call = { api = api, kind = kind, at = #self.calls + 1 }
  if kind.body ~= false then
    local struct = struct_of(api .. "Request", kind.body)
    -- Fields of all versions: what one version lacks, core/api fills in.
    call.body, call.keep = walk.fill_struct(struct, walk.complete(struct, body or {}))
  end
  local response = struct_of(api .. "Response", kind.response)
  local out = ffi.new("struct " .. response.c)
  walk.C[response.c .. "_init"](out)
  call.struct = response
  call.c = C.shard_call_new(kind.key, version, group, group and #group or -1, call.body, out, ffi.sizeof(out),
    options.client_id or "client", options.client_host or "/127.0.0.1")
  call.c.request.is_stable = options.is_stable or false
  call.c.request.wants_beat = options.wants_beat or false
  self.calls[call.at] = call
  C.shard_call_handle(self.driver, call.c, self.now_ms)
  self:run()
  return call
end

--- Takes what the shard gives out: answers, writes and searches; those are done at once unless they are held.
function Shard:run()
  repeat
    local again = false
    C.shard_driver_answers(self.driver)
    while true do
      local write = C.group_shard_take_write(self.shard)
      if write == nil then break end
      self.taken[#self.taken + 1] = write
    end
    if not self.is_held and #self.taken > 0 then
      self:settle(1)
      again = true
    end
    again = self:run_searches() or again
  until not again
  local open = {}
  for _, call in ipairs(self.calls) do
    if call.c.is_done then
      call.response = plain(walk.struct_value(call.struct, ffi.cast("struct " .. call.struct.c .. " *", call.c.response)))
      call.beat = call.c.request.beat ~= nil and call.c.request.beat or nil
      C.shard_call_free(call.c)
      call.c, call.body, call.keep = nil, nil, nil
    else
      open[#open + 1] = call
    end
  end
  self.calls = open
end

--- Takes searches, and runs them unless they are held. Returns true when it has run one.
function Shard:run_searches()
  while true do
    local search = C.group_shard_take_search(self.shard)
    if search == nil then break end
    self.searches[#self.searches + 1] = search
  end
  if self.are_searches_held or #self.searches == 0 then return false end
  self:give_back(1)
  return true
end

function Shard:give_back(n, budget_ms)
  local search = table.remove(self.searches, n)
  C.shard_driver_search(self.driver, search, budget_ms or 1000000)
  C.group_shard_searched(self.shard, search, self.now_ms)
end

--- Runs the n-th oldest search that is held, over the topics that there are now, and gives it back.
---
---@param budget_ms integer?  0: one expression; nil: all of them
---@param n integer?          nil: the oldest
function Shard:search(budget_ms, n)
  self:give_back(n or 1, budget_ms)
  self:run()
end

--- The records of the n-th oldest write that waits.
function Shard:records(n)
  local write, list = self.taken[n or 1], {}
  local key, value = ffi.new "const uint8_t *[1]", ffi.new "const uint8_t *[1]"
  local key_size, value_size = ffi.new "int32_t[1]", ffi.new "int32_t[1]"
  while C.group_write_record(write, #list, key, key_size, value, value_size) do
    list[#list + 1] = { key = ffi.string(key[0], key_size[0]),
      value = value[0] ~= nil and ffi.string(value[0], value_size[0]) or nil }
  end
  return list
end

--- Ends the `count` oldest writes that wait.
---
---@param error_code integer?  enum wire_error; nil: they are on the log
function Shard:settle(count, error_code)
  for _ = 1, math.min(count, #self.taken) do
    if not error_code or error_code == 0 then
      for _, record in ipairs(self:records(1)) do self.log[#self.log + 1] = record end
    end
    local write = table.remove(self.taken, 1)
    C.group_shard_written(self.shard, write, error_code or 0, self.now_ms)
  end
  if self.is_held then self:run() else C.shard_driver_answers(self.driver) end
end

--- Sets the shard's time, and with it the wall clock.
function Shard:set_now(now_ms)
  self.now_ms = now_ms
  self.driver.now_ms = now_ms
end

--- Has the wall clock step: the shard's time goes on as it did.
function Shard:step_wall(ms) self.driver.wall_ahead_ms = self.driver.wall_ahead_ms + ms end

--- Moves the clock; timers run at their times.
function Shard:advance(ms)
  local to = self.now_ms + ms
  while true do
    local due = tonumber(C.group_shard_next_ms(self.shard))
    if due > to then break end
    self:set_now(math.max(self.now_ms, due))
    C.group_shard_run_timers(self.shard, self.now_ms)
    self:run()
  end
  self:set_now(to)
end

--- Ms until the next timer; nil: there is none.
function Shard:next_timer()
  local due = C.group_shard_next_ms(self.shard)
  return due < 9223372036854775807LL and tonumber(due) - self.now_ms or nil
end

--- Tells the shard that topics came, grew or went.
function Shard:topics_changed()
  C.group_shard_topics_changed(self.shard, self.now_ms)
  self:run()
end

--- Tells it that topics are gone.
function Shard:topics_deleted(names)
  local list = ffi.new("const char *[?]", #names, names)
  C.group_shard_topics_deleted(self.shard, list, #names, self.now_ms)
  self:run()
end

--- Ids of its groups, sorted.
function Shard:groups()
  local size = C.group_shard_dump_ids(self.shard, nil, 0)
  local text = ffi.new("char[?]", size + 1)
  C.group_shard_dump_ids(self.shard, text, size + 1)
  local ids = {}
  for id in ffi.string(text, size):gmatch "[^\n]*" do
    if id ~= "" then ids[#ids + 1] = id end
  end
  return ids
end

--- What records say about a group; empty: there is none.
function Shard:dump(group)
  local size = C.group_shard_dump(self.shard, group, nil, 0)
  local text = ffi.new("char[?]", size + 1)
  C.group_shard_dump(self.shard, group, text, size + 1)
  return ffi.string(text, size)
end

--- The same of all groups, as one text.
function Shard:dump_all()
  local parts = {}
  for _, id in ipairs(self:groups()) do parts[#parts + 1] = self:dump(id) end
  return table.concat(parts)
end

--- Another shard with what this one's log says.
function Shard:reloaded(options)
  options = options or {}
  local ids = {}
  for name in pairs(self.topics) do ids[name] = self:topic_id(name) end
  local made = M.new { seed = options.seed or self.seed, config = self.config, topics = self.topics, topic_ids = ids,
    topic_serial = self.topic_serial, log = self.log, now_ms = self.now_ms }
  return made
end

--- What the log says about all groups.
function Shard:log_dump()
  local made = self:reloaded()
  local text = made:dump_all()
  made:close()
  return text
end

--- Ends it: what waits is answered with an error; nothing may be left of it.
function Shard:stop(error_code)
  C.group_shard_stop(self.shard, error_code or 16)
  self.taken = {}
  self:run()
end

--- Stops and frees it.
function Shard:close()
  self:stop()
  assert(#self.calls == 0, "requests were not answered")
  C.shard_driver_delete(self.driver)
  for _, search in ipairs(self.searches) do C.group_search_end(search) end -- they may outlive it
  self.driver, self.shard = nil, nil
end

return M
