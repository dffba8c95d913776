-- SPDX-License-Identifier: Apache-2.0
-- connections() and metrics(): the broker at this moment.
local arguments = require "luka.admin.arguments"
local errors = require "luka.errors"
local samples = require "luka.words.sample"
local sort = require "luka.sort"
local view = require "luka.view"

local M = {}

---@type luka.Word[]
M.entries = {
  { name = "connections", group = "broker", type = "fun(part?: string): table[]",
    text = "The clients: who they are, what they sent and wait for.",
    usage = "connections([part of an address or a name])",
    about = "request is the oldest one that is not answered yet, and request_ms for how long it has been worked on or has "
      .. "waited; a consumer that waits for records has a Fetch there. The connections that consoles make themselves are "
      .. "left out.",
    example = "connections()" },
  { name = "metrics", group = "broker", type = "fun(part?: string): table<string, integer>",
    text = "What the broker counts and measures, as a record.",
    usage = "metrics([part of a name, or a pattern])",
    about = "Sections: process, network, memory (of requests and answers, with the bounds), request (by kind), error "
      .. "(answers by error code), partition, log, cleaner (compaction), group, topic, pool (threads that wait for disks), "
      .. "policy (functions of config.lua, and each of them), probe (what they see of requests), script (the consoles). "
      .. "Those of single topics, and the lag of single groups, are shown when they are asked for: metrics \"topic\", "
      .. "metrics \"clicks\", metrics \"lag\".\n\nIn Lua it is a table by name: "
      .. "metrics()[\"network.received_bytes\"]. Everything counts since the broker's start: requests() and rates() show "
      .. "what happens now.",
    example = 'metrics "produce"' },
}

--- Connections that are described at a time; the core has the same bound.
local MAX = 10000

-- A narrow terminal shows the first columns only.
local CONNECTIONS = { "id", "peer", "client_id", "software", "request", "request_ms", "connected_ms", "idle_ms", "requests",
  "received_bytes", "sent_bytes", "unanswered", "listener", "worker" }

local function matches(connection, part)
  for _, field in ipairs { "peer", "client_id", "software", "listener", "request" } do
    local value = connection[field]
    if value and value:lower():find(part, 1, true) then return true end
  end
  return false
end

--- A test of names.
local function filter(part)
  if part == nil then return function() return true end end
  if type(part) ~= "string" then arguments.refuse("metrics", part, 'a part of a name: "produce"') end
  local plain = part:lower()
  return function(name)
    if name:lower():find(plain, 1, true) then return true end
    -- What is no pattern is found out only where a name leads up to the fault.
    local ok, at = pcall(string.find, name, part)
    return ok and at ~= nil
  end
end

--- Adds how far groups are behind, those whose own names are wanted: all offsets are asked for.
local function put_lag(context, is_wanted, put)
  local lags, names = {}, {}
  for _, group in ipairs(context.admin.groups { lag = false }) do
    if is_wanted(("group.%s.lag"):format(group.name)) then lags[group.name], names[#names + 1] = {}, group.name end
  end
  if #names == 0 then return end
  local rows, failed = context.admin.lag(#names == 1 and names[1] or nil)
  for _, row in ipairs(rows) do
    if lags[row.group] then table.insert(lags[row.group], row) end
  end
  for _, name in ipairs(names) do
    local sum = 0
    for _, row in ipairs(lags[name]) do sum = sum + math.max(tonumber(row.lag) or 0, 0) end
    if not failed[name] then put(("group.%s.lag"):format(name), sum) end
    for _, row in ipairs(lags[name]) do put(("group.%s.%s.%d.lag"):format(name, row.topic, row.partition), row.lag) end
  end
end

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local task, native = context.task, context.native
  local words = {}

  function words.connections(part)
    if part ~= nil and type(part) ~= "string" then
      arguments.refuse("connections", part, 'a part of an address or a name: "127.0.0.1"')
    end
    local seen = task.await(native.connections(MAX))
    if #seen == MAX and seen.total > MAX then
      task.print(("%d are connected; these are %d of them"):format(seen.total, MAX))
    end
    local rows = {}
    for _, connection in ipairs(seen) do
      if not part or matches(connection, part:lower()) then rows[#rows + 1] = connection end
    end
    sort(rows, function(a, b) return a.id < b.id end)
    return view.list(rows, CONNECTIONS)
  end

  function words.metrics(part)
    local is_wanted = filter(part)
    local values, order = {}, {}
    local function put(name, value)
      if value ~= nil and is_wanted(name) then
        values[name], order[#order + 1] = value, name
      end
    end
    for _, sample in ipairs(task.await(native.metrics(part ~= nil))) do
      local name = samples.name(sample)
      -- Kinds of requests that nobody has made would fill the screen.
      local is_idle = part == nil and sample.label and sample.value == 0
      if sample.kind == "latency" then
        local latencies = samples.latencies(sample)
        for _, of in ipairs(samples.LATENCIES) do put(name .. "_" .. of, latencies[of]) end
      elseif not is_idle then
        put(name, sample.value)
      end
    end
    if part ~= nil then put_lag(context, is_wanted, put) end
    if #order == 0 then errors.raise("usage", 'metrics: no name has "%s" in it; metrics() lists them', part:sub(1, 80)) end
    return view.record(values, order)
  end

  return words
end

return M
