-- SPDX-License-Identifier: Apache-2.0
-- A client on a plain socket for the specs of this folder, every wait with a deadline; and the echo server's starter.
local ffi = require "ffi"
local fcntl = require "posix.fcntl"
local poll = require "posix.poll"
local socket = require "posix.sys.socket"
local time = require "posix.time"
local unistd = require "posix.unistd"
local unit = require "spec.support.unit"

local M = { DEADLINE_MS = 10000 }
M.C = unit.load("network_driver.h")

local Client = {}
Client.__index = Client

local function now_ms()
  local now = time.clock_gettime(time.CLOCK_MONOTONIC)
  return now.tv_sec * 1000 + now.tv_nsec / 1000000
end
M.now_ms = now_ms

--- Lets some time pass: for clients that are slow on purpose, not to wait for something.
function M.pause(ms) poll.poll({}, ms) end

--- Four bytes, big-endian.
function M.int32(value)
  value = value % 4294967296
  return string.char(math.floor(value / 16777216), math.floor(value / 65536) % 256, math.floor(value / 256) % 256, value % 256)
end

--- A frame: the text with its length in front.
function M.frame(text) return M.int32(#text) .. text end

--- Waits until `condition` returns something true; an error after the deadline.
function M.eventually(condition, what)
  local deadline = now_ms() + M.DEADLINE_MS
  while true do
    local value = condition()
    if value then return value end
    if now_ms() > deadline then error("not in time: " .. (what or "condition"), 2) end
    poll.poll({}, 1)
  end
end

--- Connects to a port of 127.0.0.1.
---@param options? { receive_buffer: integer?, from: string? }
function M.connect(port, options)
  local fd = assert(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0))
  if options and options.receive_buffer then
    assert(socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer))
  end
  if options and options.from then assert(socket.bind(fd, { family = socket.AF_INET, addr = options.from, port = 0 })) end
  assert(socket.connect(fd, { family = socket.AF_INET, addr = "127.0.0.1", port = port }))
  fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  return setmetatable({ fd = fd, pending = "" }, Client)
end

--- Sends all bytes; an error when the other side does not take them in time.
function Client:send(bytes)
  local deadline = now_ms() + M.DEADLINE_MS
  while #bytes > 0 do
    local sent, err, code = socket.send(self.fd, bytes)
    if sent then
      bytes = bytes:sub(sent + 1)
    elseif code ~= 11 then
      error("send: " .. err, 2)
    elseif now_ms() > deadline then
      error("send: not taken in time", 2)
    else
      poll.poll({ [self.fd] = { events = { OUT = true } } }, 50)
    end
  end
end

--- Sends what is taken at once, at most `bytes`; how much.
function Client:try_send(bytes)
  return socket.send(self.fd, bytes) or 0
end

--- Sends frames in one write.
function Client:ask(...)
  local frames = {}
  for i, text in ipairs { ... } do frames[i] = M.frame(text) end
  self:send(table.concat(frames))
end

--- Gets more bytes into `pending`. "eof", "reset" or nil.
function Client:fill(deadline)
  local left = deadline - now_ms()
  if left <= 0 then error("nothing came in time", 3) end
  poll.rpoll(self.fd, math.ceil(left))
  local bytes, _, code = socket.recv(self.fd, 65536)
  if bytes == nil then return code == 104 and "reset" or nil end
  if #bytes == 0 then return "eof" end
  self.pending = self.pending .. bytes
end

--- Exactly `count` bytes.
function Client:read(count)
  local deadline = now_ms() + M.DEADLINE_MS
  local parts, have = { self.pending }, #self.pending
  self.pending = ""
  while have < count do
    local ended = self:fill(deadline)
    if ended then error(("%s after %d of %d bytes"):format(ended, have, count), 2) end
    parts[#parts + 1], have = self.pending, have + #self.pending
    self.pending = ""
  end
  local all = table.concat(parts)
  self.pending = all:sub(count + 1)
  return all:sub(1, count)
end

--- The next frame's text.
function Client:answer()
  local a, b, c, d = self:read(4):byte(1, 4)
  return self:read(((a * 256 + b) * 256 + c) * 256 + d)
end

--- How the connection ended, "eof" or "reset", and what came before that.
function Client:ending()
  local deadline = now_ms() + M.DEADLINE_MS
  while true do
    local ended = self:fill(deadline)
    if ended then return ended, self.pending end
  end
end

--- True when nothing has come so far: a look, not a wait.
function Client:is_silent()
  local bytes, _, code = socket.recv(self.fd, 65536)
  if bytes == nil and code == 11 then return self.pending == "" end
  self.pending = self.pending .. (bytes or "")
  return false
end

function Client:shutdown() socket.shutdown(self.fd, socket.SHUT_WR) end

--- Ends with a reset instead of a FIN.
function Client:reset()
  socket.setsockopt(self.fd, socket.SOL_SOCKET, socket.SO_LINGER, 1, 0)
  self:close()
end

function Client:close()
  if self.fd then unistd.close(self.fd) end
  self.fd = nil
end

local Server = {}
Server.__index = Server

--- Starts an echo server (spec/support/c/network_driver.h). Its C struct is server.echo.
function M.serve(options)
  local made = ffi.new("struct echo_options", { workers = 1 })
  for key, value in pairs(options or {}) do made[key] = value end -- texts are kept alive by `options`
  local echo = M.C.echo_new(made)
  assert(echo ~= nil, "the echo server does not start")
  return setmetatable({ echo = echo, port = M.C.echo_port(echo), clients = {} }, Server)
end

function Server:connect(options)
  local client = M.connect(self.port, options)
  table.insert(self.clients, client)
  return client
end

--- A connection from inside, see server_attach().
function Server:attach()
  local fd = M.C.echo_attach(self.echo)
  assert(fd >= 0)
  local client = setmetatable({ fd = fd, pending = "" }, Client)
  table.insert(self.clients, client)
  return client
end

--- A counter by name: "opened" for ECHO_OPENED.
function Server:count(name) return tonumber(M.C.echo_count(self.echo, M.C["ECHO_" .. name:upper()])) end

--- Waits until a counter has a value.
function Server:wait(name, value)
  M.eventually(function() return self:count(name) == value end,
    ("%s is %d, not %d"):format(name, self:count(name), value))
end

--- Stops the server; all that was made must have been released.
function Server:stop()
  for _, client in ipairs(self.clients) do client:close() end
  self:wait("connections", 0)
  -- A request that other threads work at may make one yet, whose connection has gone.
  M.eventually(function() return self:count "released" == self:count "made" end, "release of all parts")
  M.C.echo_delete(self.echo)
end

--- Runs a function with standard error kept in a file; returns what was logged.
function M.log_of(run)
  local path = unit.temp_dir() .. "/log"
  local file = assert(fcntl.open(path, fcntl.O_CREAT + fcntl.O_RDWR, tonumber("600", 8)))
  local kept = unistd.dup(2)
  unistd.dup2(file, 2)
  local ok, err = pcall(run, function() return unit.read_file(path) end)
  unistd.dup2(kept, 2)
  unistd.close(kept)
  unistd.close(file)
  if not ok then error(err, 2) end
  return unit.read_file(path)
end

return M
