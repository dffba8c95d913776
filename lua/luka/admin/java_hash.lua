-- SPDX-License-Identifier: Apache-2.0
-- Which partition of __consumer_offsets keeps a group: String.hashCode of Java, over the id in UTF-16.
local bit = require "bit"

local M = {}

--- The next character of a text in UTF-8; bytes that are none stand for U+FFFD, as in Java.
local function character(text, at)
  local lead = text:byte(at)
  if lead < 0x80 then return lead, at + 1 end
  local more = lead >= 0xf0 and 3 or lead >= 0xe0 and 2 or 1
  local code = lead % 2 ^ (6 - more)
  for i = 1, more do
    local byte = text:byte(at + i)
    if lead < 0xc2 or not byte or byte < 0x80 or byte > 0xbf then return 0xfffd, at + 1 end
    code = code * 64 + byte % 64
  end
  return code, at + more + 1
end

--- String.hashCode.
---
---@param text string  UTF-8
---@return integer hash  signed, of 32 bits
function M.of(text)
  local hash, at = 0, 1
  local function add(unit) hash = bit.tobit(hash * 31 + unit) end
  while at <= #text do
    local code
    code, at = character(text, at)
    if code >= 0x10000 then
      add(0xd800 + math.floor((code - 0x10000) / 0x400))
      code = 0xdc00 + code % 0x400
    end
    add(code)
  end
  return hash
end

--- The partition of a text.
---
---@param text string
---@param count integer  partitions of the topic
---@return integer  from 0
function M.partition(text, count)
  local hash = math.abs(M.of(text))
  return hash == 2 ^ 31 and 0 or hash % count
end

return M
