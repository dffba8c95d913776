-- SPDX-License-Identifier: Apache-2.0
-- `luka console`: a prompt on a terminal, otherwise what -e or standard input say, evaluated by a running broker.
local broker_of = require "luka.cli.broker"
local chunk = require "luka.console.chunk"
local host = require "luka.native.cli"
local libc = require "luka.ffi.libc"
local report = require "luka.cli.report"
local text = require "luka.console.text"
local view = require "luka.view"

local M = {}

local PROMPT = "console" -- the name of what is typed, in errors
local INTERRUPTED = broker_of.SIGNALLED + libc.SIGINT -- exit status
local INPUT_MAX = 16 * 1024 * 1024 -- bytes of standard input; more would not fit into a frame
local LEAVE = { exit = true, quit = true, ["exit()"] = true, ["quit()"] = true }

--- Prints why something was not evaluated. `source` is shown where the error names one of its lines.
local function show_error(broker, message, source, name)
  if broker.options.log_format == "json" or not libc.is_terminal(2) then
    host.fail(message, broker.options.log_format == "json")
    return
  end
  local lines = { broker.paint("error", text.line(message)) }
  local number, line = chunk.line_of(source, name, message)
  if number then lines[2] = ("  %d | %s"):format(number, text.line(line)) end
  broker.events:write(2, table.concat(lines, "\n") .. "\n")
end

--- Evaluates one source; whether it went well, and the exit status when the console ends with it.
local function evaluate(broker, source, name)
  if view.text(source) ~= source then
    show_error(broker, name .. ": the source is not UTF-8", source, name)
    return false
  end
  local outcome, done = broker.session:eval(source, name, broker.output)
  if outcome ~= "done" then return false, broker:status(outcome) end
  if done.ok then return true end
  if done.code == "interrupted" and name == PROMPT then return false end -- the terminal shows ^C
  show_error(broker, tostring(done.error or "it failed, and the broker does not say why"), source, name)
  return false
end

--- Evaluates sources of one name one after another, up to the first error.
local function run_scripts(broker, sources, name)
  for _, source in ipairs(sources) do
    local ok, status = evaluate(broker, source, name)
    if status then return status end
    if broker.session.was_interrupted or broker.events:take_interrupt() then return INTERRUPTED end
    if not ok then return report.FAILED end
  end
  return report.OK
end

--- Reads all of standard input; or nil and the exit status. The broker and signals are listened to meanwhile.
local function read_input(broker)
  local parts, size, input = {}, 0, { fd = 0 }
  while true do
    broker.session:wait(nil, input)
    if broker.events.ended then return nil, broker:status "ended" end
    if broker.events:take_interrupt() then return nil, INTERRUPTED end
    if broker.session.link.failure then return nil, broker:status "gone" end
    local bytes, err, errno
    if input.is_ready then bytes, err, errno = libc.read(0) end
    if bytes == "" then return table.concat(parts) end
    -- Where somebody shares the descriptor, there may be nothing left.
    if err and errno ~= libc.EAGAIN and errno ~= libc.EINTR then
      return nil, report.fail(broker.options, "cannot read standard input: " .. err)
    end
    parts[#parts + 1], size = bytes, size + #(bytes or "")
    if size > INPUT_MAX then return nil, report.fail(broker.options, "standard input is longer than the 16 MiB that are read") end
  end
end

local function run_input(broker)
  local source, status = read_input(broker)
  if not source then return status end
  return run_scripts(broker, { (source:gsub("^#[^\n]*", "")) }, "stdin")
end

local function greeting(session)
  local broker = session.broker and (" %s"):format(session.broker) or ""
  local cluster = session.cluster and (" of cluster %s"):format(session.cluster) or ""
  return text.line(("luka %s, broker%s%s. help() lists the words, Ctrl-D leaves."):format(session.luka, broker, cluster))
end

--- Reads and evaluates until the user leaves.
local function read_and_evaluate(broker, prompt)
  while true do
    for _, notice in ipairs(prompt:take_notices()) do broker.events:write(2, "luka: " .. text.line(notice) .. "\n") end
    local source, why = prompt:read()
    if why == "eof" or source and LEAVE[source:match "^%s*(.-)%s*$"] then return report.OK end
    if not source then return broker:status(why) end
    if source:find "%S" then
      local _, status = evaluate(broker, source, PROMPT)
      if status then return status end
    end
  end
end

local function run_prompt(broker)
  local prompt = require("luka.console.prompt").open(broker.session, broker.fd)
  broker.events.on_resize = function()
    local rows, columns = libc.window_size(broker.fd)
    broker.output:resize(rows, columns)
    broker.session:resize(broker.output.columns)
    prompt:resize()
  end
  broker.events.on_continue = function() prompt:continue() end
  broker.output.confirm = function(question) return prompt:confirm(text.line(question)) end
  broker.events:write(broker.fd, greeting(broker.session) .. "\n")
  local status = read_and_evaluate(broker, prompt)
  prompt:close()
  return status
end

---@param options luka.GivenOptions
---@param arguments string[]
---@return integer status
function M.run(options, arguments)
  local is_prompt = not options.eval and libc.is_terminal(0)
  local broker, status = broker_of.connect(options, arguments[1], is_prompt)
  if not broker then return status --[[@as integer]] end
  if options.eval then
    status = run_scripts(broker, options.eval, "-e")
  elseif is_prompt then
    status = run_prompt(broker)
  else
    status = run_input(broker)
  end
  broker:close()
  return status
end

return M
