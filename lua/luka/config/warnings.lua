-- SPDX-License-Identifier: Apache-2.0
-- What is right in a configuration, and will not do what its author may expect. Printed by `luka check` and at a start.
local failure = require "luka.config.failure"
local kafka = require "luka.config.kafka"
local value_of = require "luka.config.value"

local M = {}

local function add(list, setting, text, ...)
  local message = failure.new(setting.origin, setting.path, text:format(...)).message
  list[#list + 1] = { text = failure.one_line(message), origin = setting.origin }
end

--- Views of topics that no block gives: they may be there all the same, which a broker knows when it runs, and says then.
local function add_views(list, settings)
  for _, view in ipairs(settings.policies.views) do
    local topic = settings.topic_by_name[kafka.snake(view.from)]
    if not topic or topic.name ~= view.from then
      add(list, { origin = view.from_origin, path = view.from_path }, "no block gives topic %s: the view is there when "
        .. "somebody has created it", value_of.show(view.from))
    end
  end
end

--- What becomes of records and segments when a function never says anything of them.
local SILENT = {
  transform = "drops every record", transform_fetch = "drops every record", where = "shows no record",
  partitioner = "refuses every record", retention = "deletes nothing",
}

--- Functions without a `return`, that have to return something.
local function add_silent(list, settings)
  for _, policy in ipairs(settings.policies.list) do
    local text = policy.text
    if SILENT[policy.kind] and text:find "^function " and not text:find " return " and not text:find " error " then
      add(list, { origin = policy.origin, path = policy.label }, "has no return, and so %s%s", SILENT[policy.kind],
        policy.kind:find "^transform" and "; where that is meant, write return nil" or "")
    end
  end
end

--- All warnings, file by file and line by line.
---
---@param settings luka.Settings
---@param is_check boolean  nothing is started, so that nobody sees which topics there are
---@return string[]
function M.of(settings, is_check)
  local list = {}
  if is_check then add_views(list, settings) end
  add_silent(list, settings)
  for name, feature in pairs(kafka.IDLE) do
    local def = kafka.TOPIC[name]
    local default = def.broker_name and (settings.defaults[def.broker_name] or settings.kafka[def.broker_name])
    if default then add(list, default, "has no effect yet: it belongs to %s", feature) end
  end
  for _, topic in ipairs(settings.topics) do
    for name, setting in pairs(topic.configs) do
      if kafka.IDLE[name] then add(list, setting, "has no effect yet: it belongs to %s", kafka.IDLE[name]) end
    end
  end
  table.sort(list, function(a, b)
    if a.origin.source ~= b.origin.source then return a.origin.source < b.origin.source end
    if a.origin.line ~= b.origin.line then return (a.origin.line or 0) < (b.origin.line or 0) end
    return a.text < b.text
  end)
  local texts = {}
  for i, warning in ipairs(list) do texts[i] = warning.text end
  return texts
end

return M
