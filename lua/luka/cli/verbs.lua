-- SPDX-License-Identifier: Apache-2.0
-- The verbs of the command line: what can be typed, and every word about it. The parser, `luka help`, the man pages, the
-- completions for bash and zsh and docs/command-line.md are made from here. Each verb is described in a file of its own,
-- luka/cli/verbs/<verb>.lua, and done by luka/cli/<verb>.lua; neither is loaded before it is needed.

---@class (exact) luka.VerbArgument
---@field name string  in capitals, "CONFIG.LUA"
---@field text string
---@field is_optional boolean?
---@field is_repeatable boolean?  one or more
---@field complete "file"|"lua"|"help"|"topic"|nil  what a shell offers

---@class (exact) luka.VerbOption
---@field name string  without the dashes
---@field short string?  one letter
---@field value string?  in capitals; nil: it takes none
---@field kind "setting"|"choice"|"integer"|nil  how the value is read; nil: as it is
---@field choices string[]?
---@field min integer?
---@field max integer?
---@field is_repeatable boolean?
---@field complete "file"|"setting"|"topic"|nil  what a shell offers for the value
---@field text string

---@class (exact) luka.Verb
---@field summary string  for lists, no full stop
---@field text string[]  paragraphs
---@field arguments luka.VerbArgument[]
---@field options luka.VerbOption[]  beside those that all verbs have
---@field statuses { [1]: integer, [2]: string }[]  exit statuses
---@field examples { [1]: string, [2]: string }[]  what it does, and the command
---@field files { [1]: string, [2]: string }[]?  for the man page and docs/

local M = {
  NAMES = { "serve", "check", "console", "reload", "dump", "produce", "consume", "version", "help" },
  DEFAULT = "serve",
}

--- Options of every verb.
---@type luka.VerbOption[]
M.COMMON = {
  { name = "log-format", value = "FORMAT", kind = "choice", choices = { "text", "json" },
    text = "how lines on standard error are written: text, the default, or json for machines" },
  { name = "debug", text = "print a traceback with errors of Lua" },
  { name = "help", short = "h", text = "print the help of the verb" },
  { name = "version", text = "print the version" },
}

--- Options of several verbs.
M.SET = { name = "set", value = "KEY=VALUE", kind = "setting", is_repeatable = true, complete = "setting",
  text = "set a key of broker { ... }, or any Kafka broker config that is served here, in snake_case; wins over the file. "
    .. "Repeat it for lists: --set data=/a --set data=/b" }
M.JSON = { name = "json", text = "print JSON, one object a line" }
M.CONFIG = { name = "CONFIG.LUA", is_optional = true, complete = "lua",
  text = "the configuration; without it all is default" }
M.CONSOLE = { name = "CONFIG.LUA|SOCKET", is_optional = true, complete = "file",
  text = "the broker to talk to: its configuration, or the socket of its console" }

--- Exit statuses of most verbs.
M.STATUSES = {
  { 0, "done" },
  { 1, "could not be done" },
  { 2, "wrong command line or configuration" },
}

local is_name = {}
for _, name in ipairs(M.NAMES) do is_name[name] = true end

---@param name string
---@return boolean
function M.is_verb(name)
  return is_name[name] == true
end

--- The description of a verb, which exists.
---
---@param name string
---@return luka.Verb
function M.get(name)
  return require("luka.cli.verbs." .. name)
end

local options_of = {}

--- All options of a verb: its own, then the common ones.
---
---@param name string
---@return luka.VerbOption[]
function M.options(name)
  local list = options_of[name]
  if not list then
    list = {}
    for _, option in ipairs(M.get(name).options) do list[#list + 1] = option end
    for _, option in ipairs(M.COMMON) do list[#list + 1] = option end
    options_of[name] = list
  end
  return list
end

return M
