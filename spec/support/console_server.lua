-- SPDX-License-Identifier: Apache-2.0
-- The broker's side of the console, played by a spec: it takes what `luka console` sends and answers what the spec says,
-- right or wrong. Frames are a 4-byte length and JSON.
local cjson = require "cjson"
local poll = require "posix.poll"
local signal = require "posix.signal"
local socket = require "posix.sys.socket"
local unistd = require "posix.unistd"
local client = require "spec.support.client"

local M = {}

---@class spec.ConsoleServer
---@field path string
local Server = {}
Server.__index = Server

--- Listens on a Unix socket.
---
---@param path string
---@return spec.ConsoleServer
function M.listen(path)
  signal.signal(signal.SIGPIPE, signal.SIG_IGN) -- a console that has gone must not end the spec
  local fd = assert(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0))
  assert(socket.bind(fd, { family = socket.AF_UNIX, path = path }))
  assert(socket.listen(fd, 8))
  return setmetatable({ path = path, listener = fd, received = "" }, Server)
end

local function await(fd, what)
  local ready = poll.rpoll(fd, client.PATIENCE_MS)
  if ready ~= 1 then error("waited in vain until " .. what, 3) end
end

--- Takes the next connection, and with `greet` answers its hello, which is returned.
---
---@param greet boolean?
---@return table? hello
function Server:accept(greet)
  await(self.listener, "the console connects")
  if self.fd then unistd.close(self.fd) end
  self.fd, self.received = assert(socket.accept(self.listener)), ""
  if not greet then return nil end
  local hello = self:take "hello"
  self:send { op = "hello", version = 1, luka = "0.1.0", broker = 1, cluster = "c1" }
  return hello
end

--- The next message; with `op`, which it must have.
---
---@param op string?
---@return table message
function Server:take(op)
  while true do
    if #self.received >= 4 then
      local a, b, c, d = self.received:byte(1, 4)
      local size = ((a * 256 + b) * 256 + c) * 256 + d
      if #self.received >= 4 + size then
        local message = cjson.decode(self.received:sub(5, 4 + size))
        self.received = self.received:sub(5 + size)
        if op and message.op ~= op then error(("expected %s, got %s"):format(op, cjson.encode(message)), 2) end
        return message
      end
    end
    await(self.fd, "the console sends " .. (op or "a message"))
    local bytes = unistd.read(self.fd, 65536)
    if not bytes or bytes == "" then error("the console has closed the connection", 2) end
    self.received = self.received .. bytes
  end
end

--- Whether the console has closed the connection, after what it sent before.
function Server:wait_closed()
  while true do
    await(self.fd, "the console closes the connection")
    local bytes = unistd.read(self.fd, 65536)
    if not bytes or bytes == "" then return true end
  end
end

--- Sends bytes as they are; to nobody when the console has closed the connection.
function Server:send_bytes(bytes)
  local at = 1
  while at <= #bytes do at = at + (socket.send(self.fd, bytes:sub(at, at + 65535)) or #bytes) end
end

--- A frame of a body.
function M.frame(body)
  local size = #body
  return string.char(math.floor(size / 16777216), math.floor(size / 65536) % 256, math.floor(size / 256) % 256, size % 256)
    .. body
end

local function frame_of(message)
  return M.frame(type(message) == "string" and message or cjson.encode(message))
end

--- Sends a message: a table, or JSON.
function Server:send(message)
  self:send_bytes(frame_of(message))
end

--- Takes an eval and answers it, all at once, with messages that get its id; `done` follows unless the last is one.
---
---@param messages table[]
---@return table eval
function Server:answer(messages)
  local eval = self:take "eval"
  local frames, last = {}, nil
  for i, message in ipairs(messages) do
    message.id = eval.id
    frames[i], last = frame_of(message), message
  end
  if not last or last.op ~= "done" then frames[#frames + 1] = frame_of { op = "done", id = eval.id, ok = true } end
  self:send_bytes(table.concat(frames))
  return eval
end

--- A list with columns and rows, as a value.
function M.list(columns, rows)
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = {}
    for c, name in ipairs(columns) do out[i][name] = row[c] end
  end
  if #out == 0 then out = cjson.empty_array or setmetatable({}, cjson.empty_array_mt) end
  return { op = "value", kind = "list", columns = columns, rows = out }
end

--- Closes the connection.
function Server:hang_up()
  if self.fd then unistd.close(self.fd) end
  self.fd = nil
end

--- Closes everything.
function Server:close()
  self:hang_up()
  unistd.close(self.listener)
end

return M
