-- SPDX-License-Identifier: Apache-2.0
-- topics() and create().
local arguments = require "luka.admin.arguments"
local explain = require "luka.words.explain"
local survey = require "luka.words.survey"
local view = require "luka.view"

local M = {}

---@type luka.Word[]
M.entries = {
  { name = "topics", group = "topics", type = "fun(part?: string): table[]",
    text = "All topics: partitions, records, size, configs set.",
    usage = "topics([part of a name])",
    about = "view_of is of views only: the topic that one shows. Its records are counted there, and its size is none of its "
      .. "own.\n\nShown as a table; in Lua it is a list of records: for _, t in ipairs(topics()) do print(t.name) end",
    example = "topics()", setup = 'create "clicks"' },
  { name = "create", group = "topics", type = "fun(name: string, options?: table): luka.TopicObject",
    text = "Creates a topic.",
    usage = 'create("name" [, { partitions = n, replication_factor = n, config = value, ... }])',
    about = "Any topic config can be given, in snake_case; topic \"name\":configs() lists them. What is not given is the "
      .. "broker's default.",
    example = 'create("clicks", { partitions = 6, retention_ms = days(7), compression_type = "lz4" })' },
}

local COLUMNS = { "name", "view_of", "partitions", "records", "size_bytes", "configs" }

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local words = {}

  function words.topics(part)
    if part ~= nil and type(part) ~= "string" then arguments.refuse("topics", part, 'a part of a name: "clicks"') end
    local wanted = survey.topics(context, part)
    local by_topic, rows = {}, {}
    for _, row in ipairs(survey.partitions(context, wanted)) do
      by_topic[row.topic] = by_topic[row.topic] or {}
      table.insert(by_topic[row.topic], row)
    end
    local set, offline = context.native.set_configs(), 0
    for i, topic in ipairs(wanted) do
      local records, size_bytes, unknown = survey.sum(by_topic[topic.name] or {})
      offline = offline + unknown
      rows[i] = { name = topic.name, view_of = topic.view_of, partitions = #topic.partitions, records = records,
        size_bytes = size_bytes, configs = set[topic.name] or 0 }
    end
    survey.note(context, offline)
    return view.list(rows, view.used(rows, COLUMNS, { view_of = true }))
  end

  function words.create(name, options)
    name = arguments.name("create", name)
    explain.call(context, name, context.admin.create_topic, name, options)
    return context.topic_of(name)
  end

  return words
end

return M
