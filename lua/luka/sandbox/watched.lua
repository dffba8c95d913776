-- SPDX-License-Identifier: Apache-2.0
-- Functions that are done in linear time, milliseconds for a text of many megabytes: between two looks of the hook at the
-- clock there may be hundreds of such calls. Here each call with a long text looks at the clock first. They tail-call the
-- originals, so that errors name the line of the user's call.
local native = require "luka.native.text"

local M = {}

local poll = native.poll
local rep, format, date = string.rep, string.format, os.date
local select, type = select, type

--- Bytes of a text that C takes some 10 us for.
local LONG = 32 * 1024

--- Longest format of os.date(), bytes: a letter of it takes up to a microsecond.
local DATE_MAX = 1000

--- A function of a text.
---
---@param fn function
---@return function
function M.text(fn)
  return function(...)
    local text = ...
    if type(text) == "string" and #text > LONG then poll() end
    return fn(...)
  end
end

--- string.rep: what counts is the result.
function M.rep(...)
  local text, times = ...
  if type(text) == "string" and type(times) == "number" and #text * times > LONG then poll() end
  return rep(...)
end

--- string.format.
function M.format(...)
  for i = 1, select("#", ...) do
    local value = (select(i, ...))
    if type(value) == "string" and #value > LONG then poll() end
  end
  return format(...)
end

--- os.date.
function M.date(...)
  local text = ...
  if type(text) == "string" and #text > DATE_MAX then
    error(("bad argument #1 to 'date' (a format is at most %d bytes long)"):format(DATE_MAX), 2)
  end
  return date(...)
end

return M
