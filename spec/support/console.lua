-- SPDX-License-Identifier: Apache-2.0
--
-- A raw client of the console's socket for functional specs: frames as tables, every wait with a deadline.
--
--   local console = require("spec.support.console").connect(broker.data .. "/console.sock")
--   assert.equal(2, console:eval("return 1 + 1").values[1].value)
local cjson = require "cjson"
local errno = require "posix.errno"
local fcntl = require "posix.fcntl"
local socket = require "posix.sys.socket"
local unistd = require "posix.unistd"
local client = require "spec.support.client"

local M = {}

---@class spec.Console
---@field greeting table  the broker's hello
local Console = {}
Console.__index = Console

--- Connects without a word.
---
---@param path string
---@return spec.Console
function M.open(path)
  local fd = assert(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0))
  client.wait_until("the console can be connected to", function()
    return (socket.connect(fd, { family = socket.AF_UNIX, path = path }))
  end)
  assert(fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK))
  return setmetatable({ fd = fd, received = "", last_id = 0 }, Console)
end

--- Connects and says hello.
---
---@param path string
---@param options { terminal: boolean?, width: integer? }?
---@return spec.Console
function M.connect(path, options)
  local self = M.open(path)
  options = options or {}
  self:send { op = "hello", version = 1, terminal = options.terminal or false, width = options.width }
  self.greeting = assert(self:receive())
  return self
end

function Console:close()
  if self.fd then unistd.close(self.fd) end
  self.fd = nil
end

--- Sends bytes as they are; false when the connection is closed.
function Console:send_bytes(bytes) return client.send(self.fd, bytes) end

--- A text behind its length.
function M.frame(text)
  local size = #text
  return string.char(math.floor(size / 2 ^ 24) % 256, math.floor(size / 2 ^ 16) % 256, math.floor(size / 2 ^ 8) % 256,
    size % 256) .. text
end

function Console:send(frame) return self:send_bytes(M.frame(cjson.encode(frame))) end

--- The next frame, decoded; nil and "closed" or "timeout". `text` of the last one is kept as it came.
---
---@param timeout_ms integer?
---@return table? frame
---@return string? why
function Console:receive(timeout_ms)
  local deadline = client.now_ms() + (timeout_ms or client.PATIENCE_MS)
  while true do
    if #self.received >= 4 then
      local a, b, c, d = self.received:byte(1, 4)
      local size = ((a * 256 + b) * 256 + c) * 256 + d
      if #self.received >= 4 + size then
        self.text = self.received:sub(5, 4 + size)
        self.received = self.received:sub(5 + size)
        return cjson.decode(self.text)
      end
    end
    if not client.wait_for(self.fd, "IN", deadline) then return nil, "timeout" end
    local bytes, message, code = socket.recv(self.fd, 65536)
    if bytes == "" or not bytes and code == errno.ECONNRESET then return nil, "closed" end
    if not bytes and code ~= errno.EAGAIN then error(message, 2) end
    self.received = self.received .. (bytes or "")
  end
end

--- Begins an eval; its id.
function Console:start(source, name)
  self.last_id = self.last_id + 1
  self:send { op = "eval", id = self.last_id, source = source, name = name }
  return self.last_id
end

---@class spec.Evaluation
---@field ok boolean
---@field error string?
---@field code string?
---@field values table[]  value frames
---@field printed string  what was printed, with line ends
---@field frames table[]  all but the last

--- Waits for the end of an eval.
---
---@param id integer
---@param timeout_ms integer?
---@return spec.Evaluation
function Console:finish(id, timeout_ms)
  local out = { values = {}, printed = "", frames = {} }
  while true do
    local frame, why = self:receive(timeout_ms)
    if not frame then error("the console's eval has no end: " .. why, 2) end
    if frame.op == "done" and frame.id == id then
      out.ok, out.error, out.code = frame.ok, frame.error, frame.code
      return out
    end
    out.frames[#out.frames + 1] = frame
    if frame.op == "value" then out.values[#out.values + 1] = frame end
    if frame.op == "print" then out.printed = out.printed .. frame.text .. "\n" end
  end
end

--- Evaluates, and waits for the end.
---
---@param source string
---@param name string?
---@return spec.Evaluation
function Console:eval(source, name) return self:finish(self:start(source, name)) end

return M
