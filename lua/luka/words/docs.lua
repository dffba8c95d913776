-- SPDX-License-Identifier: Apache-2.0
-- docs/console.md and types/console.lua, made from the help of the words.
local words = require "luka.words"

local M = {}

local TITLES = { topics = "Topics", records = "Records", groups = "Groups", broker = "The broker", console = "The console" }

local INTRODUCTION = [[
<!-- Made from the help in lua/luka/words by `make docs`; do not edit. -->
# The console

`luka console` is a prompt into a running broker: Lua, with words for topics, records, groups and the broker itself. Whatever a
line gives is shown, lists as tables. `help()` lists the words, `help "topic"` says more about one; below is the same.

- A line is an expression or statements. Globals stay until the console ends; `local` lasts for the line.
- Results are plain tables: `for _, t in ipairs(topics()) do print(t.name) end`. What is left of a list when rows are
  taken out is still shown as a table.
- Durations are milliseconds and sizes bytes; `hours(1)` and `64 * MiB` help.
- Words that destroy something ask first on a terminal. With `-e`, or when lines come from a pipe, they do not.
- Errors are one sentence, and the exit status of `luka console -e` is 1.
]]

--- One entry as a section.
local function section(entry)
  local out = { "", ("### `%s`"):format(entry.usage), "", entry.text }
  if entry.about then
    for paragraph in (entry.about .. "\n"):gmatch "(.-)\n" do
      if paragraph ~= "" then
        out[#out + 1] = ""
        require("luka.words.help").wrap(paragraph, 120, "", out)
      end
    end
  end
  out[#out + 1] = ""
  out[#out + 1] = "```lua"
  out[#out + 1] = entry.example
  out[#out + 1] = "```"
  return table.concat(out, "\n")
end

--- The text of docs/console.md.
---
---@return string
function M.markdown()
  local out = { INTRODUCTION }
  local help = words.help()
  for _, group in ipairs(require("luka.words.help").GROUPS) do
    out[#out + 1] = ("\n## %s\n"):format(TITLES[group])
    for _, entry in ipairs(help.entries) do
      if entry.group == group then out[#out + 1] = section(entry) .. "\n" end
    end
  end
  return table.concat(out)
end

local TYPES = [[
-- SPDX-License-Identifier: Apache-2.0
-- The words of Luka's console for the Lua language server. Made from the help in lua/luka/words by `make docs`; do not
-- edit.
---@meta luka.console

---@class luka.ReadingOptions
---@field from? string|integer|table<integer, integer>  "earliest", "latest", an offset, offsets by partition, "1h" ago
---@field ago? number  ms
---@field filter? fun(record: luka.Record): any
---@field count? integer
---@field key? string|number
---@field partition? integer
---@field partitions? integer[]

---@class luka.Record
---@field topic string
---@field partition integer
---@field offset integer
---@field timestamp? integer  ms since 1970
---@field key? string
---@field value? string
---@field headers? table<string, string>|{ key: string, value?: string }[]  a list when a name comes twice or has no value

---@class luka.ResetOptions
---@field to? string|integer|table<integer, integer>  "earliest", "latest", "current", an offset, offsets by partition, "1h" ago, a date
---@field by? integer  records forth, or back
---@field ago? number  ms
---@field time? integer  ms since 1970
---@field topic? string
---@field topics? string[]
---@field partition? integer
---@field partitions? integer[]
---@field dry? boolean

---@class luka.ProbedRequest
---@field api string  "Fetch"
---@field version integer
---@field client_id string
---@field address string
---@field correlation_id integer
---@field size integer  bytes
---@field body? table  fields in snake_case
---@field delay fun(self: luka.ProbedRequest, ms: number)
---@field fail fun(self: luka.ProbedRequest, code: string, options?: { at?: "request"|"each", message?: string })
---@field close fun(self: luka.ProbedRequest)
---@field drop fun(self: luka.ProbedRequest)

---@class luka.Admin
---@field topics fun(): table[]
---@field describe_topic fun(name: string): table
---@field create_topic fun(name: string, options?: table): table
---@field delete_topic fun(name: string)
---@field create_partitions fun(name: string, total: integer, options?: table): integer
---@field describe_configs fun(kind: "topic"|"broker", name?: string|integer, options?: table): table[]
---@field alter_configs fun(kind: "topic"|"broker", name: string|integer|nil, changes: table)
---@field describe_log_dirs fun(): table[]
---@field alter_replica_log_dirs fun(topic: string, partition: integer, path: string)
---@field describe_cluster fun(): table
---@field describe_producers fun(topic: string, partition?: integer): table[]
---@field list_offsets fun(topic: string, what: any, partitions?: integer[]): table[]
---@field delete_records fun(topic: string, offsets: table): table<integer, integer>
---@field produce fun(topic: string, records: any, options?: table): any
---@field fetch fun(topic: string, offsets: table<integer, integer>, options?: table): luka.Record[], table<integer, integer>
---@field groups fun(options?: { part?: string, lag?: boolean }): table[]
---@field lag fun(part?: string): table[]
---@field group fun(name: string): table
---@field find_coordinator fun(name: string): integer
---@field delete_group fun(name: string)
---@field remove_members fun(name: string, which: "all"|string|string[], reason?: string): table[]
---@field offsets fun(name: string): table[]
---@field commit_offsets fun(name: string, offsets: table<string, table<integer, any>>)
---@field delete_offsets fun(name: string, partitions: table<string, integer[]>)
---@field reset_offsets fun(name: string, options: luka.ResetOptions): table[]
]]

--- The text of types/console.lua.
---
---@return string
function M.types()
  local out = { TYPES }
  local entries = words.help().entries
  for _, kind in ipairs { "Topic", "Group" } do
    out[#out + 1] = ("\n---@class luka.%sObject\n---@field name string\n"):format(kind)
    for _, entry in ipairs(entries) do
      local method = entry.name:match("^" .. kind:lower() .. ":(.*)")
      if method then out[#out + 1] = ("---@field %s %s  %s\n"):format(method, entry.type, entry.text) end
    end
  end
  for _, entry in ipairs(entries) do
    if not entry.name:find ":" then
      for _, name in ipairs { entry.name, unpack(entry.aliases or {}) } do
        local kind = entry.type
        if name:match "^[KMG]iB$" then kind = "integer" end
        if name ~= "units" then out[#out + 1] = ("\n--- %s\n---@type %s\n%s = nil\n"):format(entry.text, kind, name) end
      end
    end
  end
  return table.concat(out)
end

return M
