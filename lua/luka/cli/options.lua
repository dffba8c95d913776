-- SPDX-License-Identifier: Apache-2.0
-- Reads a command line by the table of verbs. Options may stand anywhere, also before the verb; `--` ends them.
local host = require "luka.native.cli"
local verbs = require "luka.cli.verbs"

---@alias luka.GivenOptions table<string, any>  by name with `_` for `-`: a text, a number, true, or a list where the
---option may be repeated; `set` is a list of { key, value }

---@class (exact) luka.Call
---@field verb string
---@field is_verb_given boolean  false: it is the default
---@field options luka.GivenOptions
---@field arguments string[]

local M = {}

--- The nearest of some names; what it needs is loaded for a mistake only.
local function nearest_of(word, names)
  return (require("luka.config.suggest").nearest(word, names))
end

local SHOWN = 100 -- of what was typed, bytes

local Parser = {}
Parser.__index = Parser

--- Raises the line that says what is wrong; caught in M.parse.
local function refuse(text, ...)
  error({ refused = text:format(...) }, 0)
end

--- What was typed, cut when it is long.
local function shown(text)
  return text:sub(1, SHOWN)
end

--- "error, warn, info or debug"
local function either(choices)
  return table.concat(choices, ", ", 1, #choices - 1) .. " or " .. choices[#choices]
end

-- ---- values ----

local READERS = {}

function READERS.setting(label, value)
  local key, text = value:match "^([^=]+)=(.*)$"
  if not key then refuse("%s: got '%s', expected key=value", label, shown(value)) end
  return { key, text }
end

function READERS.choice(label, value, option)
  for _, choice in ipairs(option.choices) do
    if value == choice then return value end
  end
  refuse("%s: got '%s', expected %s", label, shown(value), either(option.choices))
end

function READERS.integer(label, value, option)
  local number = value:match "^%-?%d+$" and #value < 17 and tonumber(value)
  if not number or number < option.min or number > option.max then
    refuse("%s: got '%s', expected a whole number from %d to %d", label, shown(value), option.min, option.max)
  end
  return number
end

--- Keeps the value of an option.
function Parser:keep(option, label, value)
  local read = READERS[option.kind]
  if read then value = read(label, value, option) end
  local key = option.name:gsub("%-", "_")
  if option.is_repeatable then
    self.options[key] = self.options[key] or {}
    table.insert(self.options[key], value)
  else
    self.options[key] = value
  end
end

-- ---- options ----

local function find(options, name)
  for _, option in ipairs(options) do
    if name == "--" .. option.name or option.short and name == "-" .. option.short then return option end
  end
  return nil
end

--- An option of any verb: what stands before the verb must be told from it.
local function find_anywhere(name)
  for _, verb in ipairs(verbs.NAMES) do
    local option = find(verbs.options(verb), name)
    if option then return option end
  end
  return nil
end

--- The key of a configuration that was written as if it were an option, "--workers".
local function setting_of(verb, name)
  if not find(verbs.options(verb), "--set") then return nil end
  local key = name:gsub("^%-+", ""):gsub("[-.]", "_")
  local schema = require "luka.config.schema"
  for _, known in ipairs(schema.keys "broker") do
    if known == key then return key end
  end
  return schema.BROKER_OTHERS[key]
end

function Parser:refuse_option(name)
  local names = {}
  for _, option in ipairs(verbs.options(self.verb)) do names[#names + 1] = "--" .. option.name end
  local nearest = nearest_of(name, names)
  if nearest then refuse("there is no option %s, did you mean %s?", name, nearest) end
  local key = setting_of(self.verb, name)
  if key then refuse("there is no option %s, did you mean --set %s=...?", name, key) end
  refuse("there is no option %s; `luka help %s` lists them", name, self.verb)
end

--- Splits a word that begins with a dash: name, and the value behind `=` or, of a short option, right behind it.
local function split(word)
  if word:sub(1, 2) ~= "--" then
    local value = word:sub(3)
    return word:sub(1, 2), value ~= "" and value or nil
  end
  local name, value = word:match "^([^=]*)=(.*)$"
  return name or word, value
end

--- Takes the option in a word, which stands at `index`; the index of the last word that it used. Letters behind a short
--- option that takes no value are further ones: -ec10 is -e -c10.
function Parser:take_option(argv, index, word)
  local name, value = split(word)
  local option = find(verbs.options(self.verb), name) or not self.is_verb_given and find_anywhere(name)
  if not option then self:refuse_option(shown(name)) end
  local is_long = name:sub(1, 2) == "--"
  local label = is_long and "--" .. option.name or name
  if not option.value then
    if value and (is_long or value:find "^[-=]") then refuse("%s takes no value", label) end
    self.seen[#self.seen + 1] = { option = option, label = label }
    self:keep(option, label, true)
    return value and self:take_option(argv, index, "-" .. value) or index
  end
  if not value then
    index = index + 1
    value = argv[index]
  end
  if not value then refuse("%s needs a value", label) end
  self.seen[#self.seen + 1] = { option = option, label = label }
  self:keep(option, label, value)
  return index
end

--- Options before the verb may turn out to be none of it.
function Parser:check_options()
  for _, seen in ipairs(self.seen) do
    if not find(verbs.options(self.verb), "--" .. seen.option.name) then
      refuse("%s takes no option %s; `luka help %s` lists them", self.verb, seen.label, self.verb)
    end
  end
end

-- ---- words ----

--- What to say about a first word that is nothing.
local function unknown_word(word)
  local nearest = nearest_of(word, verbs.NAMES)
  if nearest then return ("there is no verb '%s' and no such file, did you mean %s?"):format(shown(word), nearest) end
  return ("there is no verb '%s' and no such file; `luka help` lists them"):format(shown(word))
end

--- The first word: the verb, or the file for the default one.
function Parser:take_first(word)
  if verbs.is_verb(word) then
    self.verb, self.is_verb_given = word, true
    return
  end
  local is_file = word:find("/", 1, true) or word:find "[^/]%.lua$" or host.kind(word)
  if not is_file then refuse("%s", unknown_word(word)) end
  self.arguments[1] = word
end

function Parser:take_word(word)
  if word == "" then refuse "an argument is empty" end -- most often a variable of the shell that is not set
  if not self.has_word then
    self.has_word = true
    return self:take_first(word)
  end
  self.arguments[#self.arguments + 1] = word
end

function Parser:check_arguments()
  local definitions, count = verbs.get(self.verb).arguments, #self.arguments
  local last = definitions[#definitions]
  if count > #definitions and not (last and last.is_repeatable) then
    refuse("%s: unexpected argument '%s'", self.verb, shown(self.arguments[#definitions + 1]))
  end
  local missing = definitions[count + 1]
  if missing and not missing.is_optional and not self.options.help then
    refuse("%s: %s is missing; `luka help %s` says more", self.verb, missing.name, self.verb)
  end
end

function Parser:run(argv)
  local has_options, index = true, 1
  while argv[index] do
    local word = argv[index]
    if has_options and word == "--" then
      has_options = false
    elseif has_options and word:find "^%-." then
      index = self:take_option(argv, index, word)
    else
      self:take_word(word)
    end
    index = index + 1
  end
  if self.options.version then self.verb, self.is_verb_given, self.arguments = "version", true, {} end
  self:check_options()
  self:check_arguments()
end

--- Reads a command line.
---
---@param argv string[]
---@return luka.Call? call
---@return string? problem  one line for a wrong one
function M.parse(argv)
  local parser = setmetatable({
    verb = verbs.DEFAULT, is_verb_given = false, has_word = false, options = {}, arguments = {}, seen = {},
  }, Parser)
  local ok, err = pcall(parser.run, parser, argv)
  if not ok then
    if type(err) == "table" and err.refused then return nil, err.refused end
    error(err, 0)
  end
  return {
    verb = parser.verb, is_verb_given = parser.is_verb_given, options = parser.options, arguments = parser.arguments,
  }
end

--- How messages are to be written, for a command line that cannot be read.
---
---@param argv string[]
---@return string?
function M.log_format(argv)
  for index, word in ipairs(argv) do
    if word == "--" then return nil end
    if word == "--log-format=json" or word == "--log-format" and argv[index + 1] == "json" then return "json" end
  end
  return nil
end

return M
