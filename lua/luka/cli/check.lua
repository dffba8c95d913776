-- SPDX-License-Identifier: Apache-2.0
-- `luka check`: what a start with a configuration would apply, and where each value is from. The configuration is
-- evaluated as for a start, sandboxed; what only a start can know, such as ports that are taken, is not looked at.
local amount = require "luka.config.amount"
local host = require "luka.native.cli"
local json = require "luka.native.json"
local native = require "luka.native.config"

local M = {}

--- What a configuration is mostly called. It is used where it is named, by `luka check` as by `luka serve`.
local LIKELY = "config.lua"

--- A value as it would stand in config.lua.
local function shown(setting)
  local value = setting.value
  if value == nil then return setting.text or "unset" end
  if type(value) == "table" then
    local items = {}
    for i, item in ipairs(value) do items[i] = ('"%s"'):format(item) end
    return "{ " .. table.concat(items, ", ") .. " }"
  end
  local text = tostring(value)
  if setting.name or type(value) == "number" then
    -- Kafka's values are texts; a number with its unit says more.
    local is_memory = setting.key == "lua_memory" or setting.key == "lua_shared_memory"
    local source = amount.format(text, is_memory and "bytes" or amount.unit(setting.key))
    return source == text and text or ("%s (%s)"):format(text, source)
  end
  return text
end

--- Adds rows of { name, value, from } under a title.
local function add(rows, title, from, settings, indent)
  if #settings == 0 and not from then return end
  rows[#rows + 1] = { title, "", from or "" }
  for _, setting in ipairs(settings) do
    rows[#rows + 1] = { (" "):rep(indent) .. setting.key, shown(setting), setting.from }
  end
end

--- Three columns; a value too long for its column moves what follows it.
local function print_rows(rows)
  local VALUE_MAX = 48
  local name_width, value_width = 0, 0
  for _, row in ipairs(rows) do
    name_width = math.max(name_width, #row[1])
    if #row[2] <= VALUE_MAX then value_width = math.max(value_width, #row[2]) end
  end
  for _, row in ipairs(rows) do
    local line = ("%-" .. name_width .. "s  %-" .. value_width .. "s  %s"):format(row[1], row[2], row[3])
    io.stdout:write((line:gsub(" +$", "")), "\n")
  end
end

local function plural(count, word) return ("%d %s%s"):format(count, word, count == 1 and "" or "s") end

--- The report for people.
---
---@param report luka.Report
---@param path string?
local function print_report(report, path)
  local rows = {}
  add(rows, "broker", nil, report.broker, 2)
  add(rows, "defaults", nil, report.defaults, 2)
  for _, topic in ipairs(report.topics) do
    local settings = { topic.partitions, topic.replication_factor }
    for _, config in ipairs(topic.configs) do settings[#settings + 1] = config end
    add(rows, ('topic "%s"'):format(topic.name), topic.from, settings, 2)
  end
  for _, view in ipairs(report.views) do
    rows[#rows + 1] = { ('view "%s"'):format(view.name), ('of topic "%s"'):format(view.of), view.from }
  end
  if #report.functions > 0 then rows[#rows + 1] = { "functions", "", "" } end
  for _, policy in ipairs(report.functions) do
    rows[#rows + 1] = { "  " .. policy.label, policy.jit and "compiled" or "interpreted", policy.from }
  end
  print_rows(rows)
  if #report.warnings > 0 then io.stdout:write "\n" end
  for _, warning in ipairs(report.warnings) do io.stdout:write("warning: ", warning, "\n") end
  local what = path and path .. " is right" or "no file, all is default but --set"
  local counts = { plural(#report.topics, "topic") }
  if #report.views > 0 then counts[#counts + 1] = plural(#report.views, "view") end
  if #report.functions > 0 then counts[#counts + 1] = plural(#report.functions, "function") end
  counts[#counts + 1] = plural(#report.warnings, "warning")
  io.stdout:write(("\n%s: %s\n"):format(what, table.concat(counts, ", ")))
  if not path and host.kind(LIKELY) then
    io.stdout:write(("./%s is there, and not used, as by `luka serve` without a file: `luka check %s` checks it\n")
      :format(LIKELY, LIKELY))
  end
end

---@param given luka.GivenOptions
---@param arguments string[]
---@return integer status
function M.run(given, arguments)
  local path = arguments[1]
  local text, message, trace = native.report(path, given.set, given.debug == true)
  if not text then error({ code = "config", message = message, trace = trace }, 0) end
  if given.json then
    io.stdout:write(text, "\n")
  else
    print_report(assert(json.decode(text)), path)
  end
  return 0
end

return M
