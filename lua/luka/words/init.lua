-- SPDX-License-Identifier: Apache-2.0
-- The words of the console, besides Lua itself. A file of words returns { entries = luka.Word[], new = fun(context) ->
-- table of words, topic_methods = { [name] = fun(context, topic name, ...) } or nil }; FILES lists them. Words are
-- trusted code that is called by user code, in a task. The help of a method of topics is called "topic:name", of
-- groups "group:name".
local help = require "luka.words.help"

---@class luka.Words.Context
---@field admin luka.Admin     the administration, over a transport of this session
---@field task table           luka.script.task: await, show, print, confirm, clear, sleep
---@field topic_methods table<string, function>  made by new(): methods of topic objects, of all files
---@field group_methods table<string, function>  made by new(): and those of group objects
---@field topic_of fun(name: string): table  made by new(): the object of a topic that exists
---@field about { broker: integer }  which broker this is
---@field probes table        luka.script.probes.of(session)
---@field native table<string, any>  what C gives: segments, compaction, group, connections, metrics, set_configs, reload, stop

local M = {}

--- Modules below luka.words, in the order of docs/console.md.
M.FILES = { "topics", "topic", "segments", "compaction", "records", "groups", "offsets", "broker", "inspect", "traffic",
  "probes", "policies", "lifecycle", "console" }

local registry

--- The help of all words.
---
---@return luka.Help
function M.help()
  if registry then return registry end
  local entries = {}
  for _, file in ipairs(M.FILES) do
    for _, entry in ipairs(require("luka.words." .. file).entries) do entries[#entries + 1] = entry end
  end
  registry = help.new(entries)
  return registry
end

--- The words of a session.
---
---@param context luka.Words.Context
---@return table<string, any> words  for the environment of user code
function M.new(context)
  local words = {}
  for _, kind in ipairs { "topic_methods", "group_methods" } do
    context[kind] = {}
    for _, file in ipairs(M.FILES) do
      for name, method in pairs(require("luka.words." .. file)[kind] or {}) do context[kind][name] = method end
    end
  end
  for _, file in ipairs(M.FILES) do
    for name, value in pairs(require("luka.words." .. file).new(context)) do words[name] = value end
  end
  M.help():bind(words)
  return words
end

return M
