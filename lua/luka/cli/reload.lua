-- SPDX-License-Identifier: Apache-2.0
-- `luka reload`: has a running broker read its configuration again, by its console, and prints what came of it.
local events_of = require "luka.console.events"
local libc = require "luka.ffi.libc"
local output_of = require "luka.console.output"
local report = require "luka.cli.report"
local session_of = require "luka.console.session"
local socket = require "luka.console.socket"

local M = {}

local SIGNALLED = 128 -- and the number of the signal that ended it, as shells have it

--- The exit status for how it went, and the line for what went wrong.
local function finish(options, session, output, outcome, done)
  if outcome == "done" then
    if done.ok then return report.OK end
    local message = tostring(done.error)
    return done.code == "config" and report.configuration(options, message) or report.fail(options, message)
  end
  if outcome == "gone" then return report.fail(options, session.link.failure) end
  if outcome == "ended" then return SIGNALLED + session.events.ended end
  if outcome == "left" then return SIGNALLED + libc.SIGINT end
  return report.fail(options, output.failure)
end

---@param options luka.GivenOptions
---@param arguments string[]
---@return integer status
function M.run(options, arguments)
  local path = socket.find(arguments[1], options)
  libc.use_utf8()
  local is_terminal = libc.is_terminal(1)
  local rows, columns = libc.window_size(1)
  local events = events_of.new()
  local session, problem = session_of.connect(path, { terminal = false, width = columns or 80 }, events)
  if not session then
    events:close()
    return report.fail(options, problem)
  end
  local output = output_of.new {
    events = events, is_terminal = is_terminal, is_colored = false, is_dumb = true, is_paged = false, is_json = options.json == true, rows = rows,
    columns = columns,
  }
  local status = finish(options, session, output, session:eval("reload()", "reload", output))
  session:close()
  events:close()
  return status
end

return M
