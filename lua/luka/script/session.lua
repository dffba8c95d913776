-- SPDX-License-Identifier: Apache-2.0
-- A console's session: the frames of its client, its environment, and the task that its code runs in.
local admin = require "luka.admin"
local channel = require "luka.script.channel"
local complete = require "luka.script.complete"
local environment = require "luka.sandbox.environment"
local errors = require "luka.errors"
local evaluate = require "luka.script.evaluate"
local json = require "luka.native.json"
local memory = require "luka.script.memory"
local natives = require "luka.script.natives"
local probes = require "luka.script.probes"
local task = require "luka.script.task"
local view = require "luka.view"
local words = require "luka.words"

local M = {}

M.VERSION = 1

--- Longest line that is completed, bytes.
local LINE_MAX = 64 * 1024

---@class luka.Session
---@field id integer  C's number of it
---@field terminal boolean  somebody sits there who can be asked
---@field width integer  of the terminal, columns
---@field question integer?  ticket of a question that was asked
---@field owner integer  by which its memory is counted
---@field loss string?  what it has to be told at its next eval
local Session = {}
Session.__index = Session

--- A session that has just connected.
---
---@param id integer
---@param native luka.Native
---@param about table
---@param on_end fun()
---@return luka.Session
function M.new(id, native, about, on_end)
  local self = { id = id, native = native, about = about, on_end = on_end, terminal = false, width = 80 }
  setmetatable(self, Session)
  self.owner = memory.add(self)
  return self
end

function Session:send(frame) self.native.send(self.id, json.encode(frame), true) end

--- Says what is wrong with what the client sent, and ends.
function Session:refuse(text, ...)
  self:send { op = "refused", error = view.text(text:format(...)) }
  self.native.close(self.id)
  self:finish()
end

--- The end: what still runs is ended.
function Session:finish()
  self.is_over = true
  if self.task then task.kill(self.task) end
  if self.completion then task.kill(self.completion) end
  probes.leave(self)
  memory.remove(self.owner)
  self.on_end()
end

--- It holds most of the memory that has run out: all that it has goes. Not its globals alone, as rawset() puts things into
--- the libraries too.
---
---@param text string
function Session:on_full(text)
  if not self.env then return end
  text = text .. "; the variables of this console are gone"
  self.env, self.known, self.context = nil, nil, nil
  probes.leave(self)
  if self.completion then task.kill(self.completion) end
  if self.task then
    task.kill(self.task, errors.new("memory", text))
  else
    self.loss = text
  end
  self:make_environment()
end

--- The environment of the session's code: its own globals, and behind them the words.
function Session:make_environment()
  self.context = { admin = admin.new(channel.new(self.native)), task = task, native = natives.new(self.native), about = self.about,
    probes = probes.of(self) }
  self.env, self.known = environment.session(self.native, words.new(self.context))
end

local OPS = {}

--- A whole number that a frame has to have.
local function whole(value)
  return type(value) == "number" and value % 1 == 0 and value >= 0 and value < 2 ^ 53
end

function OPS:hello(frame)
  if self.env then return self:refuse "hello was said already" end
  if frame.version ~= M.VERSION then
    return self:refuse("version %s of the console's protocol is not spoken here, only %d", tostring(frame.version), M.VERSION)
  end
  self.terminal = frame.terminal == true
  self:resize(frame.width)
  self:make_environment()
  local about = self.about
  self:send { op = "hello", version = M.VERSION, luka = about.luka, broker = about.broker, cluster = about.cluster }
end

function Session:resize(width)
  if whole(width) and width > 0 then self.width = math.min(width, 10000) end
end

function OPS:resize(frame) self:resize(frame.width) end

function OPS:eval(frame)
  if not whole(frame.id) or type(frame.source) ~= "string" then return self:refuse "eval: id or source is missing" end
  if self.task then return self:refuse "eval: the one before is not done" end
  if memory.is_full() then
    return self:send { op = "done", id = frame.id, ok = false, error = memory.text(), code = "memory" }
  end
  if self.loss then
    self:send { op = "print", id = frame.id, text = self.loss }
    self.loss = nil
  end
  local name = type(frame.name) == "string" and frame.name:match "^[^%c]+$" or "console"
  local run = evaluate.new(frame.source, name, self.env)
  self.task = task.spawn(self, frame.id, run, function(_, ok, err)
    self.task, self.question = nil, nil
    if self.is_over then return end
    local done = { op = "done", id = frame.id, ok = ok }
    if not ok then done.error, done.code = evaluate.explain(err, frame.source, name, self) end
    self:send(done)
    if err == "not enough memory" then memory.watch(true) end
  end)
end

--- One at a time: a client that asks again has no use for the answer before.
function OPS:complete(frame)
  local line, cursor = frame.line, frame.cursor
  if not whole(frame.id) or type(line) ~= "string" or not whole(cursor) or cursor > #line then
    return self:refuse "complete: id, line or cursor is missing"
  end
  if #line > LINE_MAX then return self:refuse("complete: a line is at most %d bytes long", LINE_MAX) end
  if self.completion then task.kill(self.completion) end
  self.completion = task.spawn(self, frame.id, function()
    return complete.words(self, line, cursor)
  end, function(_, ok, start, found)
    self.completion = nil
    if self.is_over then return end
    self:send {
      op = "completions", id = frame.id, start = ok and start or cursor, words = json.array(ok and found or {}),
    }
  end)
end

function OPS:interrupt(frame)
  if self.task and self.task.request == frame.id then
    task.kill(self.task, errors.new("interrupted", "interrupted"))
  end
end

--- An answer that comes too late is not one to the next question.
function OPS:answer(frame)
  local ticket = self.question
  if ticket and self.task and self.task.request == frame.id then
    self.question = nil
    task.complete(self.task, ticket, true, frame.yes == true)
  end
end

--- A frame of the client.
---
---@param text string
function Session:receive(text)
  local frame, err = json.decode(text)
  if type(frame) ~= "table" then
    return self:refuse("a frame is a JSON object: %s", tostring(err or "got a " .. type(frame)))
  end
  local op = OPS[frame.op]
  if not op then return self:refuse("there is no op %s", json.encode(view.of(frame.op).value):sub(1, 100)) end
  if not self.env and frame.op ~= "hello" then return self:refuse "hello comes first" end
  op(self, frame)
end

return M
