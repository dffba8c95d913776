-- SPDX-License-Identifier: Apache-2.0
-- The help of a verb as plain text for a terminal, made from the table of verbs.
local verbs = require "luka.cli.verbs"

local M = {}

local WIDTH = 100
local LABEL_MAX = 40 -- a longer label has its text below it

--- Breaks a paragraph into lines.
---
---@param paragraph string
---@param indent integer?  blanks before each line but the first
---@return string
function M.wrap(paragraph, indent)
  local margin = (" "):rep(indent or 0)
  local lines, line = {}, ""
  for word in paragraph:gmatch "%S+" do
    if line ~= "" and #line + 1 + #word > WIDTH - #margin then
      lines[#lines + 1] = line
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. margin)
end

--- A name with what it takes, "-e, --eval LUA".
---
---@param option luka.VerbOption
---@return string
function M.label(option)
  local names = (option.short and "-" .. option.short .. ", " or "") .. "--" .. option.name
  return option.value and names .. " " .. option.value or names
end

--- "[CONFIG.LUA]", "FILE..."
---
---@param argument luka.VerbArgument
---@return string
function M.argument(argument)
  local name = argument.is_repeatable and argument.name .. "..." or argument.name
  return argument.is_optional and "[" .. name .. "]" or name
end

--- "luka [serve] [CONFIG.LUA] [options]"
---
---@param name string  of the verb
---@return string
function M.usage(name)
  local words = { "luka", name == verbs.DEFAULT and "[" .. name .. "]" or name }
  for _, argument in ipairs(verbs.get(name).arguments) do words[#words + 1] = M.argument(argument) end
  words[#words + 1] = "[options]"
  return table.concat(words, " ")
end

--- Two columns: labels and their texts.
---
---@param rows { [1]: string, [2]: string }[]
---@return string
function M.columns(rows)
  local width = 0
  for _, row in ipairs(rows) do
    if #row[1] <= LABEL_MAX then width = math.max(width, #row[1]) end
  end
  local out = {}
  for _, row in ipairs(rows) do
    local lead = #row[1] > width and row[1] .. "\n" .. (" "):rep(width + 2) or row[1] .. (" "):rep(width - #row[1])
    out[#out + 1] = "  " .. lead .. "  " .. M.wrap(row[2], width + 4)
  end
  return table.concat(out, "\n")
end

--- All about a verb.
---
---@param name string
---@return string
function M.verb(name)
  local verb = verbs.get(name)
  local parts = { "usage: " .. M.usage(name) }
  for _, paragraph in ipairs(verb.text) do parts[#parts + 1] = M.wrap(paragraph) end
  local rows = {}
  for _, argument in ipairs(verb.arguments) do rows[#rows + 1] = { argument.name, argument.text } end
  for _, option in ipairs(verbs.options(name)) do rows[#rows + 1] = { M.label(option), option.text } end
  parts[#parts + 1] = M.columns(rows)
  if verb.examples[1] then
    local lines = {}
    for _, example in ipairs(verb.examples) do
      lines[#lines + 1] = ("%s:\n    %s"):format(example[1], example[2])
    end
    parts[#parts + 1] = table.concat(lines, "\n")
  end
  local statuses = {}
  for _, status in ipairs(verb.statuses) do statuses[#statuses + 1] = ("%d %s"):format(status[1], status[2]) end
  parts[#parts + 1] = M.wrap("Exit status: " .. table.concat(statuses, ", ") .. ".")
  return table.concat(parts, "\n\n") .. "\n"
end

return M
