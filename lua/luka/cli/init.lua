-- SPDX-License-Identifier: Apache-2.0
-- The command line: finds out which verb is asked for, runs its module, and turns what goes wrong into one line on
-- standard error and an exit status. Called by core/lua/cli.c. The modules of other verbs are not loaded.
local host = require "luka.native.cli"
local options = require "luka.cli.options"
local report = require "luka.cli.report"

---@class (exact) luka.NativeCli  made by core/lua/cli.c
---@field version string
---@field fail fun(text: string, is_json: boolean?)  prints one line on standard error
---@field set_json fun(is_json: boolean)  how lines of the log are written
---@field flush fun(): boolean?, string?  standard output; nil and why, when it did not take all
---@field kind fun(path: string): "file"|"folder"|"socket"|"other"|nil

local M = {}

--- Adds the traceback to what an error of our own code is shown with.
local function explain(err)
  if type(err) == "table" then return err end
  return { internal = tostring(err), trace = debug.traceback("", 2):gsub("^\n", "") }
end

--- The exit status for an error that a verb raised; prints its line.
local function fail(given, err)
  if not err.internal then
    local refuse = err.code == "usage" and report.refuse or err.code == "config" and report.configuration or report.fail
    return refuse(given, err.message, err.trace)
  end
  local status = report.fail(given, "internal error: " .. err.internal)
  if given.debug then io.stderr:write(err.trace, "\n") end
  return status
end

--- Runs the command line `argv[1] ...`.
---
---@param argv string[]
---@return integer|luka.ServeCall status  exit status; or what a broker is to be started with
function M.main(argv)
  local call, problem = options.parse(argv)
  local log_format = call and call.options.log_format or options.log_format(argv)
  host.set_json(log_format == "json")
  if not call then return report.refuse({ log_format = log_format }, problem) end
  local name, arguments = call.verb, call.arguments
  if call.options.help then
    name, arguments = "help", { call.is_verb_given and call.verb or nil }
  end
  local verb = require("luka.cli." .. name)
  local ok, status = xpcall(function() return verb.run(call.options, arguments) end, explain)
  if not ok then status = fail(call.options, status) end
  local is_flushed, why = host.flush()
  if not is_flushed and status == 0 then status = report.fail(call.options, "cannot write to standard output: " .. why) end
  return status
end

return M
