-- SPDX-License-Identifier: Apache-2.0
-- A running broker, as verbs talk to it: the socket of its console, a session there, where results go, and the exit status
-- for what comes of it.
local events_of = require "luka.console.events"
local libc = require "luka.ffi.libc"
local output_of = require "luka.console.output"
local report = require "luka.cli.report"
local session_of = require "luka.console.session"
local socket = require "luka.console.socket"

local M = {
  SIGNALLED = 128, -- exit status when a signal ends a program, but for its number; as shells have it
}

---@class luka.cli.Broker
---@field options luka.GivenOptions
---@field fd integer  1, or 2 where standard output is no terminal and standard error is
---@field events luka.console.Events
---@field session luka.console.Session
---@field output luka.console.Output
---@field paint fun(kind: string, piece: string): string  for what goes to a terminal
local Broker = {}
Broker.__index = Broker

--- Whether the user wants colours, and the terminal has them.
local function is_colored()
  local no_color = os.getenv "NO_COLOR"
  return not libc.is_dumb() and (no_color == nil or no_color == "")
end

--- Connects to the broker that the command line means; raises a luka.Error where that is wrong.
---
---@param options luka.GivenOptions
---@param argument string?  a configuration or a socket
---@param is_prompt boolean  somebody sits there who can be asked, and may want a pager
---@return luka.cli.Broker? broker
---@return integer? status  when it is not to be had; the line is printed
function M.connect(options, argument, is_prompt)
  local path = socket.find(argument, options)
  libc.use_utf8()
  local is_terminal = libc.is_terminal(1)
  local fd = (is_terminal or not libc.is_terminal(2)) and 1 or 2
  local rows, columns = libc.window_size(fd)
  local events = events_of.new()
  local session, problem = session_of.connect(path, { terminal = is_prompt, width = columns or 80 }, events)
  if not session then
    events:close()
    return nil, report.fail(options, problem)
  end
  local output = output_of.new {
    events = events, is_terminal = is_terminal, is_colored = is_colored(), is_dumb = libc.is_dumb(),
    is_paged = is_prompt, is_json = options.json == true, rows = rows, columns = columns,
  }
  return setmetatable({
    options = options, fd = fd, events = events, session = session, output = output, paint = output_of.painter(is_colored()),
  }, Broker)
end

--- The exit status for an evaluation that did not come to its end; prints why.
---
---@param outcome "gone"|"left"|"ended"|"broken"  as luka.console.Session.eval gives it
---@return integer status
function Broker:status(outcome)
  if outcome == "ended" then return M.SIGNALLED + self.events.ended end
  if outcome == "left" then
    report.fail(self.options, "left while the broker was still busy")
    return M.SIGNALLED + libc.SIGINT
  end
  if outcome == "gone" then return report.fail(self.options, self.session.link.failure) end
  if self.output.failure ~= "" then return report.fail(self.options, self.output.failure) end
  return report.FAILED -- nobody reads any more, and nobody needs to be told
end

--- Ends the session.
function Broker:close()
  self.session:close()
  self.events:close()
end

return M
