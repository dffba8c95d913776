-- SPDX-License-Identifier: Apache-2.0
-- policies(): the functions of the configuration, and those of consoles that see requests: what they cost and what went
-- wrong in them.
local arguments = require "luka.admin.arguments"
local errors = require "luka.errors"
local view = require "luka.view"

local M = {}

---@type luka.Word[]
M.entries = {
  { name = "policies", group = "broker", type = "fun(name?: string): table[]|table",
    text = "Functions of config.lua: calls, times, errors.",
    usage = "policies([name])",
    about = "calls counts records for those that see records. call_us is the mean time of one, in microseconds: of the "
      .. "processor for records, otherwise as it passes. They count since the broker's start, or since the last reload. "
      .. "With a name (of a topic, a view, a hook, a request, a partitioner) it shows more of those that have it.\n\n"
      .. "What consoles have put on with on.request() is shown too.",
    example = "policies()" },
}

local ROWS = { "kind", "name", "calls", "call_us", "errors", "last_error", "last_error_time", "compiled", "file", "off" }
local DETAILS = { "kind", "name", "label", "file", "compiled", "off", "calls", "call_us", "total_ms", "errors",
  "last_error", "last_error_time" }

--- Microseconds of one call, to three digits behind the point.
local function call_us(ns, calls)
  ns, calls = tonumber(ns), tonumber(calls)
  return calls > 0 and math.floor(ns / calls + 0.5) / 1000 or nil
end

local function row_of(policy)
  return {
    kind = policy.kind, name = policy.name, label = policy.label, topic = policy.topic,
    file = ("%s:%d"):format(policy.source, tonumber(policy.line)), compiled = policy.is_compiled, off = policy.is_off or nil,
    calls = policy.calls, call_us = call_us(policy.ns, policy.calls), total_ms = math.floor(tonumber(policy.ns) / 1e3) / 1000,
    errors = policy.errors, last_error = policy.last_error, last_error_time = policy.last_error_time,
  }
end

local function row_of_console(probe)
  return {
    kind = "request", name = probe.api, label = ('on.request "%s" of a console'):format(probe.api), file = probe.place,
    compiled = false, calls = probe.calls, call_us = call_us(probe.ns, probe.calls),
    total_ms = math.floor(probe.ns / 1e3) / 1000, errors = probe.failures, last_error = probe.last_error,
    last_error_time = probe.last_error_time,
  }
end

--- All functions.
---
---@param context luka.Words.Context
---@return table[] rows
---@return string? hash  the same where brokers have the same policies
function M.rows(context)
  local set = context.native.policies and context.native.policies() or {}
  local rows = {}
  for i, policy in ipairs(set) do rows[i] = row_of(policy) end
  for _, probe in ipairs(context.probes and context.probes.list() or {}) do
    rows[#rows + 1] = row_of_console(probe)
  end
  return rows, set.hash
end

--- The functions that a topic has: its key, and where it stands.
---
---@param context luka.Words.Context
---@param topic string
---@return table<string, string>?
function M.of_topic(context, topic)
  local out = {}
  for _, row in ipairs((M.rows(context))) do
    if row.topic == topic then out[row.kind] = row.file end
  end
  return next(out) and out or nil
end

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local words = {}

  function words.policies(name)
    if name ~= nil and type(name) ~= "string" then
      arguments.refuse("policies", name, 'the name of a topic, view, hook or request: policies "clicks"')
    end
    local rows, hash = M.rows(context)
    if name == nil then
      if hash then context.task.print("hash " .. hash) end
      return view.list(rows, view.used(rows, ROWS, { off = true, last_error = true, last_error_time = true }))
    end
    local found = {}
    for _, row in ipairs(rows) do
      if row.name == name or row.label == name then found[#found + 1] = row end
    end
    if #found == 0 then errors.raise("usage", 'policies: no function is called "%s"; policies() lists them', name:sub(1, 80)) end
    if #found == 1 then return view.record(found[1], DETAILS) end
    return view.list(found, DETAILS)
  end

  return words
end

return M
