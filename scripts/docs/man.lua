-- SPDX-License-Identifier: Apache-2.0
-- Man pages, in troff's man macros, from the table of verbs.
local host = require "luka.native.cli"
local texts = require "luka.cli.text"
local verbs = require "luka.cli.verbs"

local M = {}

--- Text as troff prints it, whatever it begins with.
local function escape(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("`([^`]*)`", "\\fB%1\\fR")
  return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

local Page = {}
Page.__index = Page

local function new(title)
  local page = setmetatable({ lines = {} }, Page)
  page:put '.\\" Made by scripts/docs.lua (make docs); do not edit.'
  page:put '.\\" SPDX-License-Identifier: Apache-2.0'
  page:put('.TH %s 1 "" "Luka %s" "Luka"', escape(title:upper()), host.version)
  page:put ".nh"
  page:put ".ad l"
  return page
end

function Page:put(text, ...)
  self.lines[#self.lines + 1] = select("#", ...) > 0 and text:format(...) or text
end

function Page:section(title) self:put(".SH %s", title) end

function Page:paragraphs(list)
  for i, paragraph in ipairs(list) do
    if i > 1 then self:put ".PP" end
    self:put("%s", escape(paragraph))
  end
end

--- An indented entry: what it is, in bold, and its text.
function Page:entry(label, text)
  self:put ".TP"
  self:put("%s", label)
  self:put("%s", escape(text))
end

function Page:command(text)
  self:put ".RS 4"
  self:put ".nf"
  self:put("%s", escape(text))
  self:put ".fi"
  self:put ".RE"
end

function Page:options(list)
  for _, option in ipairs(list) do
    local names = option.short and ("\\fB\\-%s\\fR, "):format(option.short) or ""
    local label = names .. ("\\fB%s\\fR"):format(escape("--" .. option.name))
    if option.value then label = label .. (" \\fI%s\\fR"):format(escape(option.value)) end
    self:entry(label, option.text .. ".")
  end
end

function Page:statuses(list)
  self:section "EXIT STATUS"
  for _, status in ipairs(list) do self:entry(("\\fB%d\\fR"):format(status[1]), status[2] .. ".") end
end

function Page:see_also(but)
  self:section "SEE ALSO"
  local pages = but == "luka" and {} or { "\\fBluka\\fR(1)" }
  for _, name in ipairs(verbs.NAMES) do
    if name ~= but then pages[#pages + 1] = ("\\fBluka\\-%s\\fR(1)"):format(escape(name)) end
  end
  self:put("%s", table.concat(pages, ",\n"))
end

function Page:text() return table.concat(self.lines, "\n") .. "\n" end

--- "\fBluka serve\fR [\fICONFIG.LUA\fR] [\fIoptions\fR]"
local function synopsis(name)
  local words = { name == verbs.DEFAULT and ("\\fBluka\\fR [\\fB%s\\fR]"):format(name) or ("\\fBluka %s\\fR"):format(name) }
  for _, argument in ipairs(verbs.get(name).arguments) do
    local label = escape(texts.argument(argument)):gsub("[%u.|]*%u", "\\fI%0\\fR")
    words[#words + 1] = label
  end
  words[#words + 1] = "[\\fIoptions\\fR]"
  return table.concat(words, " ")
end

--- luka(1)
---
---@return string
function M.program()
  local page = new "luka"
  page:section "NAME"
  page:put "luka \\- a message broker that speaks Apache Kafka's protocol, configured in Lua"
  page:section "SYNOPSIS"
  page:put "\\fBluka\\fR [\\fBserve\\fR] [\\fICONFIG.LUA\\fR] [\\fIoptions\\fR]"
  page:put ".br"
  page:put "\\fBluka\\fR \\fIverb\\fR [\\fIarguments\\fR] [\\fIoptions\\fR]"
  page:section "DESCRIPTION"
  page:paragraphs {
    "Luka is a message broker that speaks the protocol of Apache Kafka, keeps Kafka's on-disk format and is configured, "
      .. "explored and administered in Lua. It is one program; what it is to do is its first argument, the verb. Each verb "
      .. "has a page of its own.",
  }
  page:section "VERBS"
  for _, name in ipairs(verbs.NAMES) do page:entry(("\\fB%s\\fR"):format(name), verbs.get(name).summary .. ".") end
  page:section "OPTIONS"
  page:put "These are taken by every verb. Options may stand anywhere; \\fB\\-\\-\\fR ends them."
  page:options(verbs.COMMON)
  page:statuses(verbs.STATUSES)
  page:put ".PP"
  page:put "With status 2 there is one line on standard error that says what is wrong, and nothing was done."
  page:section "FILES"
  page:entry("\\fIconfig.lua\\fR", "The configuration, a Lua program; `luka help KEY` explains a key of it.")
  page:entry("\\fIconsole.sock\\fR", "The Unix socket of the console, by default in the first data directory.")
  page:entry("\\fIluka.mdb\\fR", "Topics, configs and ids, by default in the first data directory.")
  page:see_also "luka"
  return page:text()
end

--- luka-<verb>(1)
---
---@param name string
---@return string
function M.verb(name)
  local verb = verbs.get(name)
  local page = new("luka-" .. name)
  page:section "NAME"
  page:put("%s \\- %s", escape("luka-" .. name), escape(verb.summary))
  page:section "SYNOPSIS"
  page:put("%s", synopsis(name))
  page:section "DESCRIPTION"
  page:paragraphs(verb.text)
  if verb.arguments[1] then
    page:section "ARGUMENTS"
    for _, argument in ipairs(verb.arguments) do
      page:entry(("\\fI%s\\fR"):format(escape(argument.name)), argument.text .. ".")
    end
  end
  page:section "OPTIONS"
  page:options(verbs.options(name))
  page:statuses(verb.statuses)
  if verb.files then
    page:section "FILES"
    for _, file in ipairs(verb.files) do page:entry(("\\fI%s\\fR"):format(escape(file[1])), file[2] .. ".") end
  end
  if verb.examples[1] then
    page:section "EXAMPLES"
    for i, example in ipairs(verb.examples) do
      if i > 1 then page:put ".PP" end
      page:put("%s:", escape(example[1]))
      page:command(example[2])
    end
  end
  page:see_also(name)
  return page:text()
end

return M
