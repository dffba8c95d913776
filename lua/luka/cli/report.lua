-- SPDX-License-Identifier: Apache-2.0
-- How a verb says that it did not do what was asked: one line on standard error, JSON with --log-format json, and the
-- exit status. A verb may as well raise a luka.Error: its code says which of these it is.
local host = require "luka.native.cli"

local M = {
  OK = 0,
  FAILED = 1, -- understood, and could not be done
  USAGE = 2,  -- the command line or the configuration is wrong
}

--- It could not be done.
---
---@param given luka.GivenOptions  the options of the command line
---@param text string
---@return integer status
function M.fail(given, text)
  host.fail("luka: " .. text, given.log_format == "json")
  return M.FAILED
end

--- The command line is wrong; raise `{ code = "usage", message = }` for the same.
---
---@param given luka.GivenOptions
---@param text string
---@return integer status
function M.refuse(given, text)
  host.fail("luka: " .. text, given.log_format == "json")
  return M.USAGE
end

--- The configuration is wrong; raise `{ code = "config", message =, trace = }` for the same.
---
---@param given luka.GivenOptions
---@param text string  begins with the place, "config.lua:12: ..."
---@param trace string?  several lines, for --debug
---@return integer status
function M.configuration(given, text, trace)
  host.fail(text, given.log_format == "json")
  if trace then io.stderr:write(trace, "\n") end
  return M.USAGE
end

return M
