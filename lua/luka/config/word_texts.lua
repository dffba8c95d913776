-- SPDX-License-Identifier: Apache-2.0
-- The words of config.lua for people: docs/config.md and `luka help WORD` show them.
local names = require "luka.policy.names"

---@class (exact) luka.WordText
---@field names string[]
---@field usage string[]
---@field text string

local M = {}

---@type luka.WordText[]
M.LIST = {
  { names = { "broker" }, usage = { "broker { ... }" }, text = "sets up the broker; once" },
  { names = { "defaults" }, usage = { "defaults { ... }" }, text = "what topics have that do not say otherwise; once" },
  { names = { "topic" }, usage = { 'topic "name" { ... }' }, text = 'a topic to have; `topic("name", { ... })` is the same' },
  { names = { "view" }, usage = { 'view("name", { from = "topic", where = function })' },
    text = "a topic that shows some records of another" },
  { names = { "policy" }, usage = { 'policy.partitioner("name", function)' },
    text = "a partitioner that topics choose by its name, with `partitioner` or the config luka.partitioner" },
  { names = { "hook" }, usage = { 'hook("topic.create", function)' },
    text = "a function that is asked before, or told after, something happens" },
  { names = { "every", "after" }, usage = { "every(ms, function)", "after(ms, function)" },
    text = "a function that is called from time to time, or once" },
  { names = { "on" }, usage = { 'on.request("Fetch", function)' }, text = "a function that sees each request of a kind" },
  { names = { "seconds", "minutes", "hours", "days" }, usage = { "seconds(n)", "minutes(n)", "hours(n)", "days(n)" },
    text = "durations, in milliseconds" },
  { names = { "KiB", "MiB", "GiB" }, usage = { "KiB", "MiB", "GiB" }, text = "sizes, in bytes: `512 * MiB`" },
  { names = { "require" }, usage = { 'require "policies.x"' },
    text = "runs `policies/x.lua` or `policies/x/init.lua` beside the file, once, and gives what it returns; the libraries "
      .. "`cjson`, `lpeg` and `MessagePack` too, where they are installed" },
  { names = { "print", "log" }, usage = { "print(...)", "log.warn(...)" }, text = "a line in the broker's log" },
  { names = { "hash", "crc32" }, usage = { "hash(text)", "crc32(text)" },
    text = "hashes, never negative: murmur2 as the Java client, CRC-32 as librdkafka" },
  { names = { "shared" }, usage = { 'shared "name"' },
    text = "a dictionary for all functions: get, set, add, incr, delete, keys" },
  { names = { "reject" }, usage = { 'reject "reason"' }, text = "in a function: refuses the record or request at hand" },
  { names = { "emit" }, usage = { 'emit("topic", record)' }, text = "in a transform: writes a record to another topic" },
  { names = { "admin", "produce" }, usage = { "admin.topics()", 'produce("topic", record)' },
    text = "in hooks and timers: the administration, and records to write, as in the console" },
  { names = { "now" }, usage = { "now()" }, text = "ms since 1970" },
  { names = { "json" }, usage = { "json.encode(value)", "json.decode(text)" }, text = "JSON, of at most 1 MiB" },
}

--- What there is to say about a word; nil when it is none.
---
---@param name string
---@return luka.WordText?
function M.find(name)
  for _, word in ipairs(M.LIST) do
    for _, other in ipairs(word.names) do
      if other == name then return word end
    end
  end
  return nil
end

--- The same as lines to read; also of a hook by its name, and of `policy.partitioner`.
---
---@param name string
---@return string?
function M.describe(name)
  for _, hook in ipairs(names.HOOKS) do
    if hook.name == name then
      return ('hook("%s", function), a word of config.lua\n  %s The function %s.\n'):format(name, hook.text,
        hook.is_before and "is asked before, and may reject it" or "is told")
    end
  end
  local word = M.find(name) or M.find(name:match "^%l+%f[.]" or "")
  return word and ("%s, a word of config.lua\n  %s\n"):format(table.concat(word.usage, ", "), (word.text:gsub("`", ""))) or nil
end

return M
