-- SPDX-License-Identifier: Apache-2.0
-- What Tab does with the words that the broker offers: inserts what they have in common, or lists them.
local text = require "luka.console.text"

local M = {}

local LISTED_MAX = 200

--- The longest beginning that all words share, in whole characters.
---
---@param words string[]
---@return string
function M.common(words)
  local common = words[1] or ""
  for _, word in ipairs(words) do
    local size = 0
    while size < #common and common:byte(size + 1) == word:byte(size + 1) do size = size + 1 end
    common = common:sub(1, size)
  end
  local whole = #common
  while whole > 0 and words[1]:find("^[\128-\191]", whole + 1) do whole = whole - 1 end
  return common:sub(1, whole)
end

--- Characters of UTF-8 in a text.
local function characters(piece)
  local _, count = piece:gsub("[^\128-\191]", "")
  return count
end

--- What to do with a line.
---
---@param line string
---@param cursor integer  bytes before it
---@param start integer  bytes before the word that is completed
---@param words string[]
---@return "replace"|"list"|"nothing" action
---@return integer removed  characters before the cursor
---@return string inserted
function M.decide(line, cursor, start, words)
  if #words == 0 or start < 0 or start > cursor then return "nothing", 0, "" end
  local typed, common = line:sub(start + 1, cursor), M.common(words)
  if common ~= typed and #common >= #typed then
    if common:sub(1, #typed) == typed then return "replace", 0, common:sub(#typed + 1) end
    return "replace", characters(typed), common
  end
  return #words > 1 and "list" or "nothing", 0, ""
end

--- Words in columns, read downwards.
---
---@param words string[]
---@param width integer  of the terminal
---@return string[] lines
function M.columns(words, width)
  local shown, widest = {}, 0
  for i = 1, math.min(#words, LISTED_MAX) do
    shown[i] = text.cut(text.line(words[i]), width)
    widest = math.max(widest, text.width(shown[i]))
  end
  local across = math.max(1, math.floor((width + 2) / (widest + 2)))
  local down = math.ceil(#shown / across)
  local lines = {}
  for row = 1, down do
    local cells = {}
    for i = row, #shown, down do cells[#cells + 1] = shown[i] .. (" "):rep(widest - text.width(shown[i])) end
    lines[row] = table.concat(cells, "  "):gsub(" +$", "")
  end
  if #words > LISTED_MAX then lines[#lines + 1] = ("… and %d more"):format(#words - LISTED_MAX) end
  return lines
end

return M
