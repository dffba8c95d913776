-- SPDX-License-Identifier: Apache-2.0
-- Words about the console itself: help(), watch(), admin, and the units.
local arguments = require "luka.admin.arguments"
local environment = require "luka.sandbox.environment"
local help = require "luka.words.help"
local schema = require "luka.config.schema"
local units = require "luka.units"
local view = require "luka.view"
local word_texts = require "luka.config.word_texts"

local M = {}

---@type luka.Word[]
M.entries = {
  { name = "help", group = "console", type = "fun(word?: any): table[]?",
    text = "Lists the words, or says more about one, or a config.",
    usage = 'help() or help "word"',
    about = 'help "topic" says more about a word, help "set" about a method of topics, help "retention_ms" about a '
      .. 'config of topics, groups or brokers, and help "hook" about a word of config.lua.',
    example = 'help "topic"' },
  { name = "watch", group = "console", type = "fun(seconds: number, fn: function)",
    text = "Shows a result again and again, until Ctrl-C.",
    usage = "watch(seconds, function)",
    about = "The function is called every so many seconds; what it returns, and what it prints, replaces what was shown "
      .. "before. Any word will do: watch(1, topics).",
    example = "watch(2, topics)" },
  { name = "print", group = "console", type = "fun(...: any)",
    text = "Prints values, with tabs between them.",
    usage = "print(value, ...)",
    about = "Results of a line are shown without it. A list or a record, alone, is shown as a table.",
    example = 'for _, t in ipairs(topics()) do print(t.name, t.records) end' },
  { name = "admin", group = "console", type = "luka.Admin",
    text = "The administration with Kafka's names, for scripts.",
    usage = "admin.<function>(...)",
    about = "admin.topics(), describe_topic(name), create_topic(name, options), delete_topic(name), "
      .. "create_partitions(name, total), describe_configs(\"topic\"|\"group\"|\"broker\", name), "
      .. "alter_configs(\"topic\"|\"group\"|\"broker\", name, { set = {...}, unset = {...} }), describe_cluster(), "
      .. "describe_log_dirs(), alter_replica_log_dirs(topic, partition, path), describe_producers(topic), "
      .. "list_offsets(topic, \"earliest\"|\"latest\"|ms), delete_records(topic, { [partition] = offset }), "
      .. "produce(topic, records), fetch(topic, { [partition] = offset }), groups(), lag(), group(name), find_coordinator(name), "
      .. "offsets(group), commit_offsets(group, { [topic] = { [partition] = offset } }), "
      .. "reset_offsets(group, { to =, topic =, dry = }), delete_offsets(group, { [topic] = { partition, ... } }), "
      .. "remove_members(group, \"all\" | { id, ... }), delete_group(name).\n\nThey ask nothing and show nothing; errors "
      .. "have a `code`, Kafka's name, and a `message`.",
    example = 'admin.alter_configs("broker", 1, { set = { log_retention_ms = days(3) } })' },
  { name = "hours", group = "console", type = "fun(n: number): number",
    text = "Durations in milliseconds and sizes in bytes.",
    usage = "seconds(n) minutes(n) hours(n) days(n), n * KiB, n * MiB, n * GiB",
    example = "return days(7), 512 * MiB", aliases = { "seconds", "minutes", "days", "KiB", "MiB", "GiB", "units" } },
}

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local admin = {}
  for name, fn in pairs(context.admin) do admin[name] = fn end
  admin.fetcher, admin.call = nil, nil -- for words, which have checked what they ask for
  local words = { admin = environment.read_only(admin, "admin") }
  for name, value in pairs(units) do words[name] = value end
  local registry = require("luka.words").help()

  function words.help(what)
    if what == nil then return registry:list() end
    local entry, about, key = registry:find(what), nil, nil
    if not entry and type(what) == "string" then about, key = schema.describe(what) end
    if not entry and not about and type(what) == "string" then about = word_texts.describe(what) end
    context.task.print(about and (about:gsub("\n$", "")) or help.page(entry or registry:refuse(what, key)))
    if about then return end
    local hook = word_texts.describe_hook(what) -- topic.delete: what a console calls, and what config.lua is asked about
    if hook then context.task.print("\n" .. hook:gsub("\n$", "")) end
    if entry.name == "topic" or entry.name == "group" then return registry:list(entry.name .. ":") end
  end

  function words.print(...)
    if select("#", ...) == 1 and view.has_form((...)) then return context.task.show((...)) end
    local parts = {}
    for i = 1, select("#", ...) do
      local part = tostring((select(i, ...)))
      if type(part) ~= "string" then arguments.refuse("print: __tostring", part, "a string") end
      parts[i] = part
    end
    context.task.print(table.concat(parts, "\t"))
  end

  function words.watch(seconds, fn)
    -- Not a number is not within any bounds.
    if type(seconds) ~= "number" or not (seconds >= 0.1 and seconds <= 86400) then
      arguments.refuse("watch", seconds, "seconds, from 0.1 to 86400: watch(1, topics)")
    end
    if type(fn) ~= "function" then arguments.refuse("watch", fn, "a function: watch(1, topics)") end
    local function show(...)
      for i = 1, select("#", ...) do context.task.show((select(i, ...))) end
    end
    while true do
      context.task.clear()
      show(fn())
      context.task.sleep(seconds * 1000)
    end
  end

  return words
end

return M
