-- SPDX-License-Identifier: Apache-2.0
-- What is right in a configuration, and will not do what its author may expect. Printed by `luka check` and at a start.
local failure = require "luka.config.failure"
local kafka = require "luka.config.kafka"

local M = {}

local function add(list, setting, text, ...)
  local message = failure.new(setting.origin, setting.path, text:format(...)).message
  list[#list + 1] = { text = failure.one_line(message), origin = setting.origin }
end

--- All warnings, file by file and line by line.
---
---@param settings luka.Settings
---@return string[]
function M.of(settings)
  local list = {}
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
