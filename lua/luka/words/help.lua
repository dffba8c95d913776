-- SPDX-License-Identifier: Apache-2.0
-- The help of the console's words. Each file of words has the entries of its own words beside their code; from these
-- come help(), help "topic", docs/console.md and the types for the Lua language server.

---@class (exact) luka.Word
---@field name string  "topics"; a method of objects: "topic:set"
---@field text string  one line: what it does
---@field usage string  how it is called: 'topics()'
---@field about string?  more to say, in whole sentences; paragraphs with an empty line between
---@field example string  Lua that works on a new broker
---@field setup string?  Lua to run first, where the example needs something; a spec runs both
---@field aliases string[]?  further names that this is the help of
---@field group string  heading in help(), one of GROUPS
---@field type string  for the Lua language server: 'fun(part?: string): table[]'

local errors = require "luka.errors"
local suggest = require "luka.config.suggest"
local view = require "luka.view"

local M = {}

--- The groups of help(), in their order.
M.GROUPS = { "topics", "records", "groups", "broker", "console" }

---@class luka.Help
---@field entries luka.Word[]
---@field by_name table<string, luka.Word>
---@field by_value table<any, luka.Word>  words of one session to their entries
local Help = {}
Help.__index = Help

--- A registry of entries.
---
---@param entries luka.Word[]
---@return luka.Help
function M.new(entries)
  local self = setmetatable({ entries = entries, by_name = {}, by_value = setmetatable({}, { __mode = "k" }) }, Help)
  for _, entry in ipairs(entries) do
    self.by_name[entry.name] = entry
    for _, alias in ipairs(entry.aliases or {}) do self.by_name[alias] = entry end
  end
  return self
end

--- Remembers which function is which word, so that help(topics) works.
---
---@param words table<string, any>
function Help:bind(words)
  for name, value in pairs(words) do
    if type(value) == "function" or type(value) == "table" then self.by_value[value] = self.by_name[name] end
  end
end

--- The entry of a word: by its name, "set" for "topic:set" where that is not a word itself, or by its value.
---
---@param what any
---@return luka.Word? entry
function Help:find(what)
  if type(what) ~= "string" then return self.by_value[what] end
  local name = what:gsub("%(.*%)$", ""):gsub("^topic%.", "topic:"):gsub("^group%.", "group:")
  return self.by_name[name] or self.by_name["topic:" .. name] or self.by_name["group:" .. name]
end

--- All words, one a row, in the order of their groups.
---
---@param prefix string?  only those whose name begins so
---@return table list
function Help:list(prefix)
  local rows = {}
  for _, group in ipairs(M.GROUPS) do
    for _, entry in ipairs(self.entries) do
      local is_meant = not prefix or entry.name:sub(1, #prefix) == prefix
      if entry.group == group and is_meant then rows[#rows + 1] = { word = entry.name, text = entry.text } end
    end
  end
  return view.list(rows, { "word", "text" })
end

--- Breaks paragraphs into lines.
---
---@param text string
---@param width integer
---@param indent string
---@param lines string[]  where they go
function M.wrap(text, width, indent, lines)
  for paragraph in (text .. "\n"):gmatch "(.-)\n" do
    local line = indent
    for word in paragraph:gmatch "%S+" do
      if #line > #indent and #line + #word + 1 > width then
        lines[#lines + 1] = line
        line = indent
      end
      line = line == indent and line .. word or line .. " " .. word
    end
    lines[#lines + 1] = line == indent and "" or line
  end
end

--- What an entry says, as text for a terminal.
---
---@param entry luka.Word
---@return string
function M.page(entry)
  local lines = { entry.usage, "  " .. entry.text }
  if entry.about then
    lines[#lines + 1] = ""
    M.wrap(entry.about, 78, "  ", lines)
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "For example:"
  for line in (entry.example .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = "  " .. line end
  return table.concat(lines, "\n")
end

--- Raises that there is no help for something.
---
---@param what any
---@param key string?  a config of a similar name
function Help:refuse(what, key)
  if type(what) ~= "string" then errors.raise("usage", 'help: no word of the console is meant; write help "topic"') end
  local names = {}
  for _, entry in ipairs(self.entries) do
    names[#names + 1] = entry.name
    names[#names + 1] = entry.name:match "^%l+:(.*)"
  end
  names[#names + 1] = key
  local nearest = suggest.nearest(what, names)
  errors.raise("usage", 'help: there is no word "%s"%s', what:sub(1, 80),
    nearest and (', did you mean "%s"?'):format(nearest) or ": help() lists them")
end

return M
