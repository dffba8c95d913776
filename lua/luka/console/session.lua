-- SPDX-License-Identifier: Apache-2.0
-- A session with a broker: its greeting, what is evaluated and completed, and interrupts, on top of a link.
local libc = require "luka.ffi.libc"
local link_to = require "luka.console.link"
local socket = require "luka.console.socket"
local text = require "luka.console.text"

local M = { VERSION = 1 }

--- How long a broker may take to say hello and to complete a word, and within which time a second Ctrl-C leaves.
local HELLO_MS, COMPLETE_MS, SECOND_MS = 5000, 2000, 2000

---@class luka.console.Session
---@field link luka.console.Link
---@field events luka.console.Events
---@field luka string  version of the broker's program
---@field broker integer?  its id
---@field cluster string?
local Session = {}
Session.__index = Session

--- Moves bytes until one of the descriptors or the time asks for attention.
---
---@param timeout_ms integer?
---@param more { fd: integer, is_ready: boolean? }?  a further descriptor to wait for
function Session:wait(timeout_ms, more)
  local link = self.link
  local input, output = { fd = link.fd }, { fd = link.fd, is_output = true }
  local fds = { input }
  if link:is_sending() then fds[#fds + 1] = output end
  if more then fds[#fds + 1] = more end
  self.events:wait(fds, timeout_ms)
  if output.is_ready then link:write() end
  if input.is_ready then link:read() end
end

--- Waits for a message; nil and why when none comes: "gone" (link.failure says it), "time", "ended", "interrupt".
local function await(self, timeout_ms)
  local until_ms = libc.now_ms() + timeout_ms
  while true do
    local message = self.link:next()
    if message then return message end
    if self.link.failure then return nil, "gone" end
    if self.events.ended then return nil, "ended" end
    if self.events:take_interrupt() then return nil, "interrupt" end
    local left = until_ms - libc.now_ms()
    if left <= 0 then return nil, "time" end
    self:wait(left)
  end
end

--- The broker's answer to hello.
local function greet(self, hello)
  local link = self.link
  link:send { op = "hello", version = M.VERSION, terminal = hello.terminal, width = hello.width }
  local answer, why = await(self, HELLO_MS)
  if not answer then
    return why == "gone" and link.failure or why == "time" and ("%s gave no answer within %d s"):format(link.path, HELLO_MS / 1000)
      or "interrupted"
  end
  if answer.op == "refused" then return "the broker refused the console: " .. text.line(answer.error) end
  if answer.op ~= "hello" then
    link:strange("it said " .. answer.op .. " before hello")
    return link.failure
  end
  if answer.version ~= M.VERSION then
    return ("the broker's console has version %.0f of the protocol, this luka has version %d: use the luka that the broker runs")
      :format(answer.version, M.VERSION)
  end
  self.luka, self.broker, self.cluster = text.line(tostring(answer.luka)), answer.broker, answer.cluster
  return nil
end

--- Connects to the console of a broker.
---
---@param path string  its socket
---@param hello { terminal: boolean, width: integer }  terminal: it may ask before it destroys something
---@param events luka.console.Events
---@return luka.console.Session? session
---@return string? message  one line
function M.connect(path, hello, events)
  local link, err, errno = link_to.open(path)
  if not link then return nil, socket.explain(path, err, errno) end
  local self = setmetatable({ link = link, events = events, id = 0 }, Session)
  local problem = greet(self, hello)
  if problem then
    link:close()
    return nil, problem
  end
  return self
end

--- Passes a message of the running evaluation on to what shows it.
local function show(self, message, output)
  local op = message.op
  if op == "print" then
    output:text(message.text)
  elseif op == "clear" then
    output:clear()
  elseif op == "ask" then
    output:flush()
    self.link:send { op = "answer", id = message.id, yes = output.confirm(message.text) }
  elseif op == "value" then
    local problem = output:view(message)
    if problem then self.link:strange(problem) end
  end
end

--- Ctrl-C while something runs: asks the broker to stop it; true for a second one soon after.
local function interrupt(self, output)
  local now = libc.now_ms()
  output:interrupted()
  if self.interrupted_ms and now - self.interrupted_ms < SECOND_MS then return true end
  self.interrupted_ms = now
  self.link:send { op = "interrupt", id = self.id }
  return false
end

--- Evaluates a source and shows what comes of it.
---
---@param source string  UTF-8
---@param name string  of the chunk, for errors
---@param output luka.console.Output
---@return "done"|"gone"|"left"|"ended"|"broken" outcome  gone: the broker, link.failure says why; left: by Ctrl-C; ended: by a
---   signal; broken: the output
---@return table? message  of done
function Session:eval(source, name, output)
  self.id, self.interrupted_ms, self.was_interrupted = self.id + 1, nil, false
  self.events:take_interrupt() -- one that was not meant for this
  if not self.link:send { op = "eval", id = self.id, source = source, name = name } then
    return "done", { ok = false, error = ("%s: the source is too long to be sent"):format(name) }
  end
  output:begin()
  while true do
    local message = self.link:next()
    if message and message.id == self.id then
      if message.op == "done" then
        output:finish()
        return output.failure and "broken" or "done", message
      end
      show(self, message, output)
    elseif not message then
      if self.link.failure then
        output:finish()
        return "gone"
      end
      local hold_ms = output:idle()
      if not output.failure then self:wait(hold_ms) end
    end
    if output.failure then return "broken" end
    if self.events.ended then return "ended" end
    if self.events:take_interrupt() then
      self.was_interrupted = true
      if interrupt(self, output) then
        output:finish()
        return "left"
      end
    end
  end
end

--- Asks how a line goes on.
---
---@param line string
---@param cursor integer  bytes before it
---@return table? message  start, words
function Session:complete(line, cursor)
  self.id = self.id + 1
  self.link:send { op = "complete", id = self.id, line = line, cursor = cursor }
  while true do
    local message = await(self, COMPLETE_MS)
    if not message then return nil end
    if message.id == self.id and message.op == "completions" then return message end
  end
end

--- Tells the broker how wide the terminal is.
---
---@param width integer
function Session:resize(width)
  if self.link.failure then return end
  self.link:send { op = "resize", width = width }
  self.link:write()
end

--- Ends the session.
function Session:close()
  self.link:close()
end

return M
