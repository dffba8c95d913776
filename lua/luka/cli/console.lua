-- SPDX-License-Identifier: Apache-2.0
-- `luka console`: a prompt on a terminal, otherwise what -e or standard input say, evaluated by a running broker.
local chunk = require "luka.console.chunk"
local events_of = require "luka.console.events"
local host = require "luka.native.cli"
local libc = require "luka.ffi.libc"
local output_of = require "luka.console.output"
local report = require "luka.cli.report"
local session_of = require "luka.console.session"
local socket = require "luka.console.socket"
local text = require "luka.console.text"
local view = require "luka.view"

local M = {}

--- Exit status when a signal ends it, but for the signal's number; as shells have it.
local SIGNALLED = 128
local LEAVE = { exit = true, quit = true, ["exit()"] = true, ["quit()"] = true }

---@class (exact) luka.console.Run
---@field options luka.GivenOptions
---@field events luka.console.Events
---@field session luka.console.Session
---@field output luka.console.Output
---@field is_prompt boolean
---@field paint_error fun(kind: string, piece: string): string

--- Whether the user wants colours, and the terminal has them.
local function is_colored()
  local no_color = os.getenv "NO_COLOR"
  return os.getenv "TERM" ~= "dumb" and (no_color == nil or no_color == "")
end

--- Prints why something was not evaluated. `source` is shown where the error names one of its lines.
local function show_error(run, message, source, name)
  if run.options.log_format == "json" or not libc.is_terminal(2) then
    host.fail(message, run.options.log_format == "json")
    return
  end
  local lines = { run.paint_error("error", text.line(message)) }
  local number, line = chunk.line_of(source, name, message)
  if number then lines[2] = ("  %d | %s"):format(number, text.line(line)) end
  run.events:write(2, table.concat(lines, "\n") .. "\n")
end

--- What an evaluation that did not end by itself means for the process: its exit status.
local function ended(run, outcome)
  local events = run.events
  if outcome == "ended" then return SIGNALLED + events.ended end
  if outcome == "left" then
    report.fail(run.options, "left while the broker was still busy")
    return SIGNALLED + libc.SIGINT
  end
  if outcome == "gone" then return report.fail(run.options, run.session.link.failure) end
  if run.output.failure ~= "" then return report.fail(run.options, run.output.failure) end
  return SIGNALLED + libc.SIGPIPE
end

--- Evaluates one source; whether it went well, and the exit status when the console ends with it.
local function evaluate(run, source, name)
  if view.text(source) ~= source then
    show_error(run, name .. ": the source is not UTF-8", source, name)
    return false
  end
  local outcome, done = run.session:eval(source, name, run.output)
  if outcome ~= "done" then return false, ended(run, outcome) end
  if done.ok then return true end
  if done.code == "interrupted" and run.is_prompt then return false end -- the terminal shows ^C
  show_error(run, tostring(done.error or "it failed, and the broker does not say why"), source, name)
  return false
end

--- Evaluates sources one after another, up to the first error.
local function run_scripts(run, sources)
  for _, source in ipairs(sources) do
    local ok, status = evaluate(run, source.text, source.name)
    if status then return status end
    if run.session.was_interrupted or run.events:take_interrupt() then return SIGNALLED + libc.SIGINT end
    if not ok then return report.FAILED end
  end
  return report.OK
end

local function greeting(session)
  local broker = session.broker and (" %s"):format(session.broker) or ""
  local cluster = session.cluster and (" of cluster %s"):format(session.cluster) or ""
  return text.line(("luka %s, broker%s%s. help() lists the words, Ctrl-D leaves."):format(session.luka, broker, cluster))
end

--- Says what is only said once.
local function say_notices(run, prompt)
  for _, place in ipairs { prompt, prompt.history } do
    local field = place == prompt and "notice" or "problem"
    if place[field] and not run.has_said[place[field]] then
      run.has_said[place[field]] = true
      run.events:write(2, "luka: " .. text.line(place[field]) .. "\n")
    end
  end
end

--- Reads and evaluates until the user leaves.
local function run_prompt(run, fd)
  local prompt = require("luka.console.prompt").open(run.session, fd)
  local function finish(status)
    prompt:close()
    return status
  end
  run.events.on_resize = function()
    local rows, columns = libc.window_size(fd)
    run.output:resize(rows, columns)
    run.session:resize(run.output.columns)
    prompt:resize()
  end
  run.output.confirm = function(question) return prompt:confirm(text.line(question)) end
  run.events:write(fd, greeting(run.session) .. "\n")
  while true do
    say_notices(run, prompt)
    local source, why = prompt:read()
    if why == "gone" then return finish(report.fail(run.options, run.session.link.failure)) end
    if why == "ended" then return finish(SIGNALLED + run.events.ended) end
    if why == "eof" or source and LEAVE[source:match "^%s*(.-)%s*$"] then return finish(report.OK) end
    if source and source:find "%S" then
      local _, status = evaluate(run, source, "console")
      if status then return finish(status) end
    end
  end
end

--- The sources of -e, or of standard input when that is no terminal; nil for a prompt.
local function sources_of(options)
  local sources = {}
  for _, source in ipairs(options.eval or {}) do sources[#sources + 1] = { text = source, name = "-e" } end
  if sources[1] then return sources end
  if libc.is_terminal(0) then return nil end
  local source, err = io.stdin:read "*a"
  if not source then error({ code = "failed", message = "cannot read standard input: " .. err }, 0) end
  return { { text = source:gsub("^#[^\n]*", ""), name = "stdin" } }
end

---@param options luka.GivenOptions
---@param arguments string[]
---@return integer status
function M.run(options, arguments)
  local path = socket.find(arguments[1], options)
  local sources = sources_of(options)
  libc.use_utf8()
  local is_terminal = libc.is_terminal(1)
  local fd = (is_terminal or not libc.is_terminal(2)) and 1 or 2
  local rows, columns = libc.window_size(fd)
  local events = events_of.new()
  local session, problem = session_of.connect(path, { terminal = sources == nil, width = columns or 80 }, events)
  if not session then
    events:close()
    return report.fail(options, problem)
  end
  local output = output_of.new {
    events = events, is_terminal = is_terminal, is_colored = is_colored(), is_dumb = os.getenv "TERM" == "dumb",
    is_paged = sources == nil, is_json = options.json == true, rows = rows, columns = columns,
  }
  local run = {
    options = options, events = events, session = session, output = output, has_said = {}, is_prompt = sources == nil,
    paint_error = output_of.painter(is_colored()),
  }
  local status = sources and run_scripts(run, sources) or run_prompt(run, fd)
  session:close()
  events:close()
  return status
end

return M
