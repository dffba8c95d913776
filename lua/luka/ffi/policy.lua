-- SPDX-License-Identifier: Apache-2.0
-- Records for functions with `jit = true`: loops, record and headers by FFI, so that the compiler makes one trace of a loop
-- with the function in it, in which a record object costs nothing. What is rare goes to the functions of the interpreted
-- state (core/lua/policy_vm_record.c). User code never sees a pointer.
--
-- Hot: globals are cached in locals.
local ffi = require "ffi"

local M = {}

local tonumber, type, error = tonumber, type, error
local ffi_string, istype, string_sub = ffi.string, ffi.istype, string.sub

-- As in core/record/iterate.h and core/lua/policy_vm_private.h; M.new compares the sizes.
ffi.cdef [[
struct luka_record_view {
  int64_t offset, timestamp, timestamp_delta;
  const uint8_t *key, *value, *headers, *body;
  int32_t key_size, value_size, header_count, headers_size;
  uint8_t attributes;
};
struct luka_policy_key { int32_t pos, size; };
struct luka_policy_call {
  const struct luka_record_view *at;
  double serial;
  const struct luka_record_view *records;
  int64_t *progress;
  int32_t *stop;
  int32_t *chosen;
  uint8_t *actions;
  const char *topic;
  const uint8_t *found;
  int32_t count, partitions, partition, found_size, call_ms, running;
  int32_t index, keys_first, keys_end, keys_size;
  struct luka_policy_key *keys;
  uint8_t *key_bytes;
  bool is_rejected, is_changed, has_offset, may_edit, may_emit;
  struct luka_record_view edited;
  int (*find_header)(struct luka_policy_call *call, const char *name, size_t size);
  uint32_t (*hash)(const uint8_t *bytes, size_t size);
  uint32_t (*crc32)(const void *bytes, size_t size);
  int (*set_bytes)(struct luka_policy_call *call, int field, const char *bytes, size_t size);
  int32_t (*gather_keys)(struct luka_policy_call *call);
};
struct luka_record_ref { const double serial; };
struct luka_headers_ref { const double serial; };
]]

--- Largest integer up to which all are exact numbers.
local EXACT = 2LL ^ 53

local STALE = "a record cannot be used after the call that it was given to; keep its key or value instead"

local LATE = "took longer than %d ms for the records of one batch"

--- enum policy_field.
local KEY, VALUE = 0, 1

local function number_of(value)
  if value <= EXACT and value >= -EXACT then return tonumber(value) end
  return value
end

--- The type of record.headers.
local function headers_type(call, natives)
  local meta = natives.headers_meta
  local get, set, count, each = meta.__index, meta.__newindex, meta.__len, meta.__pairs
  local find, object = call.find_header, natives.headers
  local methods = {}
  function methods.__index(headers, name)
    if headers.serial ~= call.serial then error(STALE, 2) end
    if type(name) ~= "string" then return get(object(), name) end
    if find(call, name, #name) == 0 or call.found == nil then return nil end
    return ffi_string(call.found, call.found_size)
  end
  function methods.__newindex(headers, name, value)
    if headers.serial ~= call.serial then error(STALE, 2) end
    return set(object(), name, value)
  end
  function methods.__len(headers)
    if headers.serial ~= call.serial then error(STALE, 2) end
    return count(object())
  end
  function methods.__pairs(headers)
    if headers.serial ~= call.serial then error(STALE, 2) end
    return each(object())
  end
  function methods.__tostring() return "headers" end
  return ffi.metatype("struct luka_headers_ref", methods)
end

--- Keys as parts of one string (core/lua/policy_vm_keys.c): a key of which only bytes are read is never made a string of
--- its own by compiled code. And functions of a string's bytes, of which those of a key are known to lie elsewhere, too:
--- what converts a string for C needs the string.
---
--- @return fun(at: ffi.cdata*): string  the key of the record at hand, which has one
--- @return fun(of_bytes: ffi.cdata*, slow: fun(text: any): number): fun(text: any): number
local function keys_of(call)
  local all = ""

  --- Whether the key of the record at hand is in `all`.
  local function gather()
    call.keys_end = 0
    local count = call.gather_keys(call)
    all = ffi_string(call.key_bytes, call.keys_size)
    call.keys_end = call.keys_first + count
    return count > 0
  end

  local function key_of(at)
    local i = call.index
    if at == call.records + i and (i < call.keys_end or gather()) then
      local key = call.keys[i - call.keys_first]
      return string_sub(all, key.pos + 1, key.pos + key.size)
    end
    return ffi_string(at.key, at.key_size)
  end

  local function hashing(of_bytes, slow)
    return function(text)
      if type(text) ~= "string" then return slow(text) end
      local i = call.index
      if i < call.keys_end then
        local key = call.keys[i - call.keys_first]
        if #text == key.size and text == string_sub(all, key.pos + 1, key.pos + key.size) then
          return tonumber(of_bytes(call.key_bytes + key.pos, key.size))
        end
      end
      return tonumber(of_bytes(text, #text))
    end
  end

  return key_of, hashing
end

--- The type of records.
local function record_type(call, natives, headers, key_of)
  local get, set, object = natives.record_meta.__index, natives.record_meta.__newindex, natives.record
  local set_bytes = call.set_bytes
  local methods = {}
  function methods.__index(record, name)
    if record.serial ~= call.serial then error(STALE, 2) end
    local at = call.at
    if name == "key" then
      if at.key == nil then return nil end
      return key_of(at)
    elseif name == "value" then
      if at.value == nil then return nil end
      return ffi_string(at.value, at.value_size)
    elseif name == "headers" then
      return headers(record.serial)
    elseif name == "timestamp" then
      return number_of(at.timestamp)
    elseif name == "partition" then
      return call.partition
    elseif name == "topic" then
      return ffi_string(call.topic)
    elseif name == "offset" then
      if not call.has_offset then return nil end
      return number_of(at.offset)
    end
    return get(object(), name)
  end
  function methods.__newindex(record, name, value)
    if record.serial ~= call.serial then error(STALE, 2) end
    if type(value) == "string" and call.may_edit then
      if name == "value" and set_bytes(call, VALUE, value, #value) == 0 then return end
      if name == "key" and set_bytes(call, KEY, value, #value) == 0 then return end
    end
    if istype("struct luka_headers_ref", value) then
      if value.serial ~= call.serial then error(STALE, 2) end
      value = natives.headers()
    end
    return set(object(), name, value)
  end
  function methods.__tostring() return "record" end
  return ffi.metatype("struct luka_record_ref", methods)
end

--- A loop is compiled for each function anew, so that each has a trace of its own. Actions are 0 for POLICY_KEEP and 1 for
--- POLICY_DROP. Whether to stop is asked at each record: the watch over runners says so (core/policy/runner_watch.c).
local LOOPS = {
  partitioner = [[
    local fn, call, record, late, choose = ...
    return function(partitions)
      local records, chosen, progress, serial = call.records, call.chosen, call.progress, call.serial
      local stop, running = call.stop, call.running
      for i = tonumber(progress[0]), call.count - 1 do
        serial = serial + 1
        call.serial, call.at, call.index, progress[0] = serial, records + i, i, i
        if stop[0] == running then late() end
        local partition = fn(record(serial), partitions)
        if type(partition) == "number" and partition >= 0 and partition < partitions and partition % 1 == 0 then
          chosen[i] = partition
        else
          choose(partition)
        end
      end
    end
  ]],
  where = [[
    local fn, call, record, late = ...
    return function()
      local records, actions, progress, serial = call.records, call.actions, call.progress, call.serial
      local stop, running = call.stop, call.running
      for i = tonumber(progress[0]), call.count - 1 do
        serial = serial + 1
        call.serial, call.at, call.index, progress[0] = serial, records + i, i, i
        if stop[0] == running then late() end
        if fn(record(serial)) then
          actions[i] = 0
        else
          actions[i], call.is_changed = 1, true
        end
      end
    end
  ]],
  transform = [[
    local fn, call, record, late, decide, at_hand = ...
    return function(client)
      local records, actions, progress, serial = call.records, call.actions, call.progress, call.serial
      local stop, running = call.stop, call.running
      for i = tonumber(progress[0]), call.count - 1 do
        serial = serial + 1
        call.serial, call.at, call.index, call.is_rejected, progress[0] = serial, records + i, i, false, i
        if stop[0] == running then late() end
        local result = fn(record(serial), client)
        if call.is_rejected then
          -- Its action is set.
        elseif result == nil then
          actions[i], call.is_changed = 1, true
        elseif call.at ~= records + i or not at_hand(result, serial) then
          decide(result)
          serial = call.serial
        end
      end
    end
  ]],
}
LOOPS.transform_fetch = LOOPS.transform

--- What the functions of the interpreted state take in place of our records: theirs.
local function unwrapping(call, natives, is_record)
  --- `is_item`: what is in a list, and no list itself.
  local function unwrap(value, level, is_item)
    if is_record(value) then
      if value.serial ~= call.serial then error(STALE, level + 1) end
      return natives.record()
    elseif type(value) == "table" then
      local copy = {}
      for key, item in next, value do
        if istype("struct luka_headers_ref", item) then
          if item.serial ~= call.serial then error(STALE, level + 1) end
          item = natives.headers()
        elseif is_record(item) then
          item = unwrap(item, level + 1)
        elseif not is_item and type(key) == "number" and type(item) == "table" then
          item = unwrap(item, level + 1, true)
        end
        copy[key] = item
      end
      return copy
    end
    return value
  end
  return unwrap
end

--- Words, loops and iterators of the compiled state.
---
---@param options luka.RunOptions
---@return table<string, any> words
---@return table<string, fun(fn: function): function> loops
---@return table<string, function> globals
function M.new(options)
  local call = ffi.cast("struct luka_policy_call *", options.call)
  if ffi.sizeof "struct luka_policy_call" ~= options.call_bytes
    or ffi.sizeof "struct luka_record_view" ~= options.view_bytes then
    error(("luka.ffi.policy: the layouts of C are others: %d and %d bytes"):format(options.call_bytes, options.view_bytes))
  end
  local natives = options.natives
  local headers = headers_type(call, natives)
  local key_of, hashing = keys_of(call)
  local record = record_type(call, natives, headers, key_of)
  local function is_record(value) return type(value) == "cdata" and istype(record, value) end
  local unwrap = unwrapping(call, natives, is_record)

  local function at_hand(value, serial) return is_record(value) and value.serial == serial end
  local function decide(result)
    if is_record(result) and result.serial ~= call.serial then error("returned the record of an earlier call", 0) end
    natives.decide(unwrap(result, 1))
  end

  local hashes = require "luka.native.hash"
  local words = {
    reject = natives.reject, hash = hashing(call.hash, hashes.hash), crc32 = hashing(call.crc32, hashes.crc32),
  }
  function words.emit(topic, value, partition)
    return natives.emit(topic, unwrap(value, 1), partition)
  end

  local function late() error(LATE:format(call.call_ms), 0) end

  local loops = {}
  for kind, source in pairs(LOOPS) do
    loops[kind] = function(fn)
      local chunk = assert(load(source, "=luka/ffi/policy.lua", "t", { tonumber = tonumber, type = type }))
      local last = kind == "partitioner" and natives.choose or decide
      return chunk(fn, call, record, late, last, at_hand)
    end
  end

  local raw_pairs, raw_ipairs = pairs, ipairs
  local function next_header(value, i)
    local header = value[i + 1]
    if header then return i + 1, header end
  end
  local globals = {
    pairs = function(value)
      if type(value) == "cdata" and istype(headers, value) then
        if value.serial ~= call.serial then error(STALE, 2) end
        return natives.headers_meta.__pairs(natives.headers())
      end
      return raw_pairs(value)
    end,
    ipairs = function(value)
      if type(value) == "cdata" and istype(headers, value) then return next_header, value, 0 end
      return raw_ipairs(value)
    end,
  }
  return words, loops, globals
end

return M
