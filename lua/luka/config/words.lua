-- SPDX-License-Identifier: Apache-2.0
-- The words of config.lua: broker, defaults, topic and the units; those of policies are luka.config.policy_words.
local blocks = require "luka.config.blocks"
local failure = require "luka.config.failure"
local policy_words = require "luka.config.policy_words"
local units = require "luka.units"

local M = {}

local caller, each_field = blocks.caller, blocks.each_field

--- A word that may be used once.
local function once_word(files, calls, word, take)
  local first
  return function(values)
    calls.count = calls.count + 1
    local origin = caller(files)
    if first then failure.raise(origin, word, "given already at %s", failure.where(first)) end
    first = origin
    each_field(files, word, nil, word, values, origin, take)
  end
end

--- All words for the environment of a configuration file.
---
---@param files luka.Files
---@param settings luka.Settings
---@return table<string, any> words  luka.config.globals makes globals of them
---@return { count: integer } calls  how often one that sets something was called
function M.new(files, settings)
  local words, calls = {}, { count = 0 }
  for name, value in pairs(units) do words[name] = value end
  words.broker = once_word(files, calls, "broker", function(...) settings:set_broker(...) end)
  words.defaults = once_word(files, calls, "defaults", function(...) settings:set_default(...) end)
  words.topic = function(name, ...)
    calls.count = calls.count + 1
    local topic = settings:add_topic(name, caller(files))
    local function take(values)
      local origin = caller(files)
      if topic.is_complete then
        failure.raise(origin, topic.path, "given already at %s", failure.where(topic.origin))
      end
      each_field(files, "topic", name, topic.path, values, origin, function(...) settings:set_topic(topic, ...) end)
      settings:complete_topic(topic)
    end
    if select("#", ...) == 0 then return take end
    take((...))
  end
  for name, word in pairs(policy_words.new(files, settings, calls)) do words[name] = word end
  return words, calls
end

return M
