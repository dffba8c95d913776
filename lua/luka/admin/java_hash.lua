-- SPDX-License-Identifier: Apache-2.0
-- Which partition of __consumer_offsets keeps a group: String.hashCode of Java, over the id in UTF-16.
local bit = require "bit"
local view = require "luka.view"

local M = {}

--- The character of some bytes in UTF-8.
local function character(text, first, last)
  local code = text:byte(first)
  if last > first then code = code % 2 ^ (6 - (last - first)) end
  for i = first + 1, last do code = code * 64 + text:byte(i) % 64 end
  return code
end

--- String.hashCode.
---
---@param text string
---@return integer? hash  signed, of 32 bits; nil: the text is not UTF-8
function M.of(text)
  local hash, at = 0, 1
  local function add(unit) hash = bit.tobit(hash * 31 + unit) end
  while at <= #text do
    local last = text:byte(at) < 0x80 and at or view.sequence(text, at)
    if not last then return nil end
    local code = character(text, at, last)
    if code >= 0x10000 then
      add(0xd800 + math.floor((code - 0x10000) / 0x400))
      code = 0xdc00 + code % 0x400
    end
    add(code)
    at = last + 1
  end
  return hash
end

--- The partition of a text.
---
---@param text string
---@param count integer  partitions of the topic
---@return integer?  from 0; nil: the text is not UTF-8
function M.partition(text, count)
  local hash = M.of(text)
  if not hash then return nil end
  return hash == -2 ^ 31 and 0 or math.abs(hash) % count
end

return M
