-- SPDX-License-Identifier: Apache-2.0
-- Runs policies of configurations over records through core/lua/policy_vm.c, for specs.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("lua/config.h", "lua/policy_vm.h", "policy/policy.h", "policy/vm.h", "base/arena.h", "base/error.h",
  "base/varint.h", "record/split.h")

local M = { C = C, folder = unit.temp_dir() }

local Vm = {}
Vm.__index = Vm

--- Evaluates a configuration and makes its VM.
---
---@param text string  config.lua
---@param options { files: table<string, string>?, memory: integer?, budget_ms: integer? }?
function M.new(text, options)
  local o = options or {}
  for name, content in pairs(o.files or {}) do unit.write_file(M.folder .. "/" .. name, content) end
  unit.write_file(M.folder .. "/config.lua", text)
  local self = setmetatable({ config = ffi.new "struct lua_config" }, Vm)
  local sets = ffi.new("struct config_override[2]")
  self.anchors = { tostring(o.budget_ms or 50), ("%d"):format(o.memory or 64 * 2 ^ 20), "lua_budget_ms", "lua_memory" }
  sets[0].key, sets[0].value = self.anchors[3], self.anchors[1]
  sets[1].key, sets[1].value = self.anchors[4], self.anchors[2]
  local err = ffi.new "struct lua_config_error"
  if C.lua_config_load(M.folder .. "/config.lua", sets, 2, false, self.config, err) < 0 then
    error(ffi.string(err.message), 2)
  end
  local out = ffi.new "struct policy_vm *[1]"
  if C.lua_policy_vm_new(self.config.policies, out) < 0 then
    local message = ffi.string(C.error_last().message)
    C.lua_config_destroy(self.config)
    return nil, M.short(message)
  end
  self.vm = out[0]
  return self
end

function Vm:close()
  if self.vm ~= nil then self.vm.class.free(self.vm) end
  self.vm = nil
  C.lua_config_destroy(self.config)
end

--- A message without the folder.
function M.short(text)
  return (text:gsub(M.folder:gsub("%p", "%%%0") .. "/", ""):gsub("%.%.%.%S-/([%w_]+%.lua:)", "%1"))
end

local function varint(value)
  local raw, out = bit.bxor(bit.lshift(value, 1), bit.arshift(value, 31)), {}
  while raw >= 0x80 do
    out[#out + 1] = string.char(bit.bor(bit.band(raw, 0x7f), 0x80))
    raw = bit.rshift(raw, 7)
  end
  out[#out + 1] = string.char(raw)
  return table.concat(out)
end

local function headers_bytes(headers)
  local out = {}
  for i, header in ipairs(headers) do
    local value = header[2]
    out[i] = varint(#header[1]) .. header[1] .. (value and varint(#value) .. value or varint(-1))
  end
  return table.concat(out)
end

local function bytes_of(pointer, size)
  if pointer == nil then return nil end
  return ffi.string(pointer, size)
end

local function headers_of(pointer, size, count)
  local view = ffi.new("struct record_view", { headers = pointer, headers_size = size, header_count = count })
  local iterator, header, out = ffi.new "struct record_header_iterator", ffi.new "struct record_header_view", {}
  C.record_headers_open(view, iterator)
  while C.record_headers_next(iterator, header) > 0 do
    out[#out + 1] = { bytes_of(header.key, header.key_size), bytes_of(header.value, header.value_size) }
  end
  assert(#out == count)
  return out
end

--- What the batch of a transform's or partitioner's records says of their producer: { id, epoch, sequence }; nil: nothing.
local function header_of(producer, anchors)
  if not producer then return nil end
  local header = ffi.new("struct batch_header", { base_offset = 1000, producer_id = producer[1], producer_epoch = producer[2],
    base_sequence = producer[3] })
  anchors[#anchors + 1] = header
  return header
end

--- A batch of records { key, value, headers = { { name, value } ... }, timestamp =, offset = }; a list of keys does, too.
function M.batch(records, topic)
  local count = #records
  local views = ffi.new("struct record_view[?]", count + 1)
  local anchors = { views, topic or "clicks" }
  for i, record in ipairs(records) do
    if type(record) ~= "table" then record = { record or nil } end
    local headers = headers_bytes(record.headers or {})
    local view = views[i - 1]
    for _, text in ipairs { record[1] or "", record[2] or "", headers } do anchors[#anchors + 1] = text end
    view.offset, view.timestamp = record.offset or 1000 + i - 1, record.timestamp or 1700000000000 + i
    view.key, view.key_size = record[1], record[1] and #record[1] or -1
    view.value, view.value_size = record[2], record[2] and #record[2] or -1
    view.headers, view.headers_size, view.header_count = headers, #headers, #(record.headers or {})
  end
  local batch = ffi.new("struct policy_batch", { topic = anchors[2], partition = 3, count = count, records = views })
  return batch, anchors
end

local function failure_of(failure) return nil, M.short(ffi.string(failure.text)), failure.index end

--- The policy by number from 1.
function Vm:policy(number) return self.config.policies.policies[(number or 1) - 1] end

--- Runs a partitioner; a list of numbers, or nil, the message and the index.
function Vm:partition(records, partitions, options)
  local o = options or {}
  local batch, anchors = M.batch(records, o.topic)
  batch.header = header_of(o.producer, anchors)
  local chosen, failure = ffi.new("int32_t[?]", #records + 1), ffi.new "struct policy_failure"
  local result = self.vm.class.partition(self.vm, self:policy(o.number), batch, partitions, chosen, failure)
  assert(anchors)
  if result < 0 then return failure_of(failure) end
  local list = {}
  for i = 1, #records do list[i] = chosen[i - 1] end
  return list
end

--- Asks about a segment; what it answers, or nil and the message.
function Vm:segment(number)
  local segment = ffi.new("struct policy_segment", { topic = "clicks", path = "data/clicks-0/0.log", log_segments = 2 })
  local goes, failure = ffi.new "bool[1]", ffi.new "struct policy_failure"
  if self.vm.class.segment(self.vm, self:policy(number), segment, goes, failure) < 0 then return failure_of(failure) end
  return goes[0]
end

local ACTIONS = { [0] = "keep", "drop", "replace", "reject" }

local function record_of(record)
  return {
    key = bytes_of(record.key, record.key_size), value = bytes_of(record.value, record.value_size),
    headers = headers_of(record.headers, record.headers_size, record.header_count), timestamp = record.timestamp,
    topic = record.topic ~= nil and ffi.string(record.topic) or nil, partition = record.partition, from = record.from,
  }
end

--- Runs a transform or where; { actions =, replaced = { [index] = record }, extras =, rejects = }, or nil, message, index.
function Vm:transform(records, options)
  local o = options or {}
  local batch, anchors = M.batch(records, o.topic)
  batch.header = header_of(o.producer, anchors)
  local arena, failure = ffi.new "struct arena", ffi.new "struct policy_failure"
  local actions = ffi.new("uint8_t[?]", #records + 1)
  local output = ffi.new("struct policy_output", { arena = arena, actions = actions, limit_bytes = o.limit or 2 ^ 20 })
  local client = o.client and ffi.new("struct policy_client", o.client)
  local result = self.vm.class.transform(self.vm, self:policy(o.number), batch, client, output, failure)
  assert(anchors)
  if result < 0 then
    C.arena_destroy(arena)
    return failure_of(failure)
  end
  local out = { actions = {}, replaced = {}, extras = {}, rejects = {}, is_changed = output.is_changed }
  for i = 0, #records - 1 do
    out.actions[i + 1] = ACTIONS[actions[i]]
    if actions[i] == C.POLICY_REPLACE then out.replaced[i + 1] = record_of(output.replaced[i]) end
  end
  for i = 0, output.extra_count - 1 do out.extras[i + 1] = record_of(output.extras[i]) end
  for i = 0, output.reject_count - 1 do
    out.rejects[i + 1] = { output.rejects[i].index + 1, ffi.string(output.rejects[i].text) }
  end
  C.arena_destroy(arena)
  return out
end

--- A VM with one function of topic clicks, whose body begins in line 2 of config.lua.
---
---@param key string  "transform"
---@param parameters string  "record"
---@param jit string  "" or "jit = true, "
---@param before table?  a VM to close
function M.make(key, parameters, jit, body, options, before)
  if before then before:close() end
  return assert(M.new(('topic "clicks" { %s%s = function(%s)\n%s\nend }'):format(jit, key, parameters, body), options))
end

return M
