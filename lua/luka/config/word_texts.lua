-- SPDX-License-Identifier: Apache-2.0
-- The words of config.lua for people: docs/config.md and `luka help WORD` show them.
local names = require "luka.policy.names"

---@class (exact) luka.WordText
---@field names string[]
---@field usage string[]
---@field text string
---@field more string[]?  further lines, for `help` alone

local M = {}

--- The hooks there are, for `help "hook"`.
local function hook_lines()
  local asked, told = {}, {}
  for _, hook in ipairs(names.HOOKS) do
    local list = hook.is_before and asked or told
    list[#list + 1] = hook.name
  end
  return { "asked before: " .. table.concat(asked, ", "), "told after: " .. table.concat(told, ", "),
    "the help of topic.create says what a function of that hook gets, and so for each" }
end

---@type luka.WordText[]
M.LIST = {
  { names = { "broker" }, usage = { "broker { ... }" }, text = "sets up the broker; once" },
  { names = { "defaults" }, usage = { "defaults { ... }" }, text = "what topics have that do not say otherwise; once" },
  { names = { "topic" }, usage = { 'topic "name" { ... }' }, text = 'a topic to have; `topic("name", { ... })` is the same' },
  { names = { "view" }, usage = { 'view("name", { from = "topic", where = function })' },
    text = "a topic that shows some records of another",
    more = { "It is read only. where(record) returns true for what is shown; without where all records are.",
      'example: view("orders.eu", { from = "orders", where = function(record) return record.headers.region == "eu" end })' } },
  { names = { "policy" }, usage = { 'policy.partitioner("name", function)' },
    text = "a partitioner that topics choose by its name, with `partitioner` or the config luka.partitioner",
    more = { 'example: policy.partitioner("by_region", function(record, n) return hash(record.headers.region) % n end)' } },
  { names = { "hook" }, usage = { 'hook("topic.create", function)' },
    text = "a function that is asked before, or told after, something happens",
    more = hook_lines() },
  { names = { "every", "after" }, usage = { "every(ms, function)", "after(ms, function)" },
    text = "a function that is called from time to time, or once",
    more = { "example: every(minutes(5), function() log.info(#admin.groups()) end)" } },
  { names = { "on" }, usage = { 'on.request("Fetch", function)' }, text = "a function that sees each request of a kind",
    more = { "It may call request:delay(ms), request:fail(error), request:close() or request:drop().",
      'example: on.request("Fetch", function(request) if request.client_id == "slow" then request:delay(200) end end)' } },
  { names = { "seconds", "minutes", "hours", "days" }, usage = { "seconds(n)", "minutes(n)", "hours(n)", "days(n)" },
    text = "durations, in milliseconds" },
  { names = { "KiB", "MiB", "GiB" }, usage = { "KiB", "MiB", "GiB" }, text = "sizes, in bytes: `512 * MiB`" },
  { names = { "require" }, usage = { 'require "policies.x"' },
    text = "runs `policies/x.lua` or `policies/x/init.lua` beside the file, once, and gives what it returns; the libraries "
      .. "`cjson`, `lpeg` and `MessagePack` too, where they are installed" },
  { names = { "print", "log" }, usage = { "print(...)", "log.warn(...)" },
    text = "a line in the broker's log; log.error, log.info and log.debug too" },
  { names = { "hash", "crc32" }, usage = { "hash(text)", "crc32(text)" },
    text = "hashes, never negative: murmur2 as the Java client, CRC-32 as librdkafka" },
  { names = { "shared" }, usage = { 'shared "name"' },
    text = "a dictionary for all functions: get, set, add, incr, delete, keys",
    more = { 'example: local seen = shared "seen"; in a function: seen:add(id, true, hours(1))' } },
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

--- How a word of an entry is used: `log.warn(...)` of log.
---
---@param word luka.WordText
---@param name string
---@return string
function M.usage(word, name)
  for _, usage in ipairs(word.usage) do
    if usage:match "^%w+" == name then return usage end
  end
  return word.usage[1]
end

--- What there is to say about a hook, as lines to read; nil when it is none.
---
---@param name string
---@return string?
function M.describe_hook(name)
  for _, hook in ipairs(names.HOOKS) do
    if hook.name == name then
      return ('hook("%s", function(%s) ... end), a word of config.lua\n  %s The function %s.\n  %s has: %s%s\n'):format(name,
        hook.is_before and "request" or "event", hook.text,
        hook.is_before and "is asked before, and may reject it" or "is told", hook.is_before and "request" or "event",
        hook.fields, hook.fields:find("*", 1, true) and " (* may be changed)" or "")
    end
  end
  return nil
end

--- The same of a hook or of a word, also of `policy.partitioner`.
---
---@param name string
---@return string?
function M.describe(name)
  local hook = M.describe_hook(name)
  if hook then return hook end
  local word = M.find(name) or M.find(name:match "^%l+%f[.]" or "")
  if not word then return nil end
  local lines = { table.concat(word.usage, ", ") .. ", a word of config.lua", "  " .. word.text:gsub("`", "") }
  for _, line in ipairs(word.more or {}) do lines[#lines + 1] = "  " .. line end
  return table.concat(lines, "\n") .. "\n"
end

return M
