-- SPDX-License-Identifier: Apache-2.0
-- Where `luka consume` begins: the value of --from.
local client = require "luka.cli.client"
local date = require "luka.date"

local M = {}

--- What kcat calls them.
local WORDS = { beginning = "earliest", ["end"] = "latest" }

local ALLOWED = "earliest, latest, an offset, -N, a time such as 2026-01-31T12:00:00Z, or @MS since 1970"

local EXACT_MAX = 2 ^ 53

--- Reads the value of --from.
---
---@param text string
---@return luka.ConsumeStart
function M.parse(text)
  text = WORDS[text] or text
  if text == "earliest" or text == "latest" then return { kind = text } end
  local mark, digits = text:match "^([-@]?)(%d+)$"
  local number = digits and #digits < 17 and tonumber(digits)
  if number and number <= EXACT_MAX then
    return { kind = mark == "-" and "tail" or mark == "@" and "time" or "offset", value = number }
  end
  local time = date.parse(text)
  if not time then client.refuse("--from: got '%s', expected %s", text:sub(1, 100), ALLOWED) end
  return { kind = "time", value = time }
end

return M
