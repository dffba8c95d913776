-- SPDX-License-Identifier: Apache-2.0
-- types/luka.lua: the words of config.lua for the Lua language server, so that an editor completes keys and marks those
-- that are unknown or have a wrong type. Made from the schema by `make docs`.
local describe = require "luka.config.describe"
local names = require "luka.policy.names"

local M = {}

--- All hooks as a type.
local function hook_union()
  local list = {}
  for i, hook in ipairs(names.HOOKS) do list[i] = ('"%s"'):format(hook.name) end
  return table.concat(list, "|")
end

local CLASSES = {
  { block = "broker", name = "luka.BrokerConfig", text = "Keys of `broker { ... }`." },
  { block = "defaults", name = "luka.Defaults", text = "Keys of `defaults { ... }`." },
  { block = "topic", name = "luka.TopicConfig", text = 'Keys of `topic "name" { ... }`.' },
}

local HEAD = [=[
-- SPDX-License-Identifier: Apache-2.0
-- The words of config.lua for the Lua language server. Made by `make docs` from lua/luka/config/; do not edit.
-- In .luarc.json of the folder with config.lua:
--   { "runtime.version": "LuaJIT", "workspace.library": ["/path/to/luka/types"] }
---@meta luka
]=]

local TAIL = [=[
--- A record as functions get it. What a transform returns may be one that was changed, or a table with the same fields.
---@class luka.Record
---@field key string?
---@field value string?
---@field headers table<string|integer, string|{ key: string, value: string? }>  by name: the last of that name
---@field timestamp number  ms since 1970
---@field topic string
---@field partition integer
---@field offset number?  of a record that is fetched

---@alias luka.Records luka.Record|luka.Record[]|nil

--- Who fetches.
---@class luka.Client
---@field id string  client id
---@field principal string  "User:ANONYMOUS"
---@field address string

--- A closed segment of a log.
---@class luka.Segment
---@field topic string
---@field partition integer
---@field base_offset number
---@field next_offset number
---@field size number  bytes
---@field age number  ms since its newest timestamp
---@field path string  of its .log file
---@field log { size: number, segments: integer }  of all of the partition
local Segment = {}

--- Copies the segment's files to <folder>/<topic>-<partition>/.
---@param folder string
function Segment:copy(folder) end

--- A dictionary that all functions share, in all threads.
---@class luka.Shared
local Shared = {}

---@param key string|number
---@return string|number|boolean|nil
function Shared:get(key) end

---@param key string|number
---@param value string|number|boolean|nil  nil deletes
---@param ttl_ms number?
function Shared:set(key, value, ttl_ms) end

---@param key string|number
---@param value string|number|boolean
---@param ttl_ms number?
---@return boolean added  false: there is one already
function Shared:add(key, value, ttl_ms) end

---@param key string|number
---@param by number
---@param initial number?  what there was if there was nothing
---@param ttl_ms number?  of a new one
---@return number? sum
---@return string? problem
function Shared:incr(key, by, initial, ttl_ms) end

---@param key string|number
---@return boolean deleted
function Shared:delete(key) end

---@param max integer?  1000 by default
---@return string[]
function Shared:keys(max) end

--- Settings of the broker; once in a configuration.
---@param config luka.BrokerConfig
function broker(config) end

--- What topics have that do not say otherwise; once in a configuration.
---@param config luka.Defaults
function defaults(config) end

--- A topic to have: `topic "clicks" { partitions = 6 }`.
---@param name string
---@return fun(config: luka.TopicConfig) settings
---@overload fun(name: string, config: luka.TopicConfig)
function topic(name) end

--- A topic that shows those records of another for which `where` returns true.
---@param name string
---@return fun(config: { from: string, where: (fun(record: luka.Record): boolean)?, jit: boolean? }) settings
---@overload fun(name: string, config: { from: string, where: (fun(record: luka.Record): boolean)?, jit: boolean? })
function view(name) end

policy = {}

--- A partitioner that topics choose by its name, with the config luka.partitioner.
---@param name string
---@param partitioner fun(record: luka.Record, partitions: integer): integer
---@param options { jit: boolean }?
function policy.partitioner(name, partitioner, options) end

---@alias luka.HookName @HOOKS@

--- A function that is asked before, or told after, something happens.
---@param name luka.HookName
---@param fn fun(event: table)
function hook(name, fn) end

--- Calls a function again and again.
---@param ms number
---@param fn fun()
function every(ms, fn) end

--- Calls a function once.
---@param ms number
---@param fn fun()
function after(ms, fn) end

on = {}

--- A function that sees each request of a kind.
---@param name string  "Fetch"
---@param fn fun(request: luka.ProbedRequest)
function on.request(name, fn) end

--- In hooks and timers: the administration, as in the console.
---@type luka.Admin
admin = {}

--- In hooks and timers: writes a record, or a list of records.
---@param topic string
---@param records string|table
---@param options { partition?: integer, compression?: string, acks?: integer }?
---@return table
function produce(topic, records, options) end

--- A dictionary that all functions share.
---@param name string
---@return luka.Shared
function shared(name) end

--- murmur2, never negative: `hash(record.key) % n` is the Java client's choice.
---@param text string?
---@return integer
function hash(text) end

--- CRC-32, as librdkafka's consistent partitioner has it.
---@param text string?
---@return integer
function crc32(text) end

--- ms since 1970.
---@return number
function now() end

--- Refuses the record or request at hand.
---@param reason string
function reject(reason) end

--- Writes a record to another topic.
---@param topic string
---@param record luka.Record|table
---@param partition integer?  by its key if not given
function emit(topic, record, partition) end

log = {}
function log.error(...) end
function log.warn(...) end
function log.info(...) end
function log.debug(...) end

json = {}
---@param value any
---@return string
function json.encode(value) end
---@param text string
---@return any value
---@return string? problem
function json.decode(text) end

--- Milliseconds of so many seconds.
---@param count number
---@return number ms
function seconds(count) end

--- Milliseconds of so many minutes.
---@param count number
---@return number ms
function minutes(count) end

--- Milliseconds of so many hours.
---@param count number
---@return number ms
function hours(count) end

--- Milliseconds of so many days.
---@param count number
---@return number ms
function days(count) end

--- Bytes: 1024.
KiB = 1024
--- Bytes: 1024 KiB.
MiB = 1048576
--- Bytes: 1024 MiB.
GiB = 1073741824
]=]

--- The text of types/luka.lua.
---
---@return string
function M.text()
  local parts = { HEAD }
  for _, class in ipairs(CLASSES) do
    local lines = { "--- " .. class.text, "---@class (exact) " .. class.name }
    for _, about in ipairs(describe.block(class.block)) do
      lines[#lines + 1] = ("---@field %s? %s  %s Default: %s."):format(about.key, about.lua_type, about.text,
        about.default)
    end
    parts[#parts + 1] = table.concat(lines, "\n") .. "\n"
  end
  parts[#parts + 1] = (TAIL:gsub("@HOOKS@", hook_union))
  return table.concat(parts, "\n")
end

return M
