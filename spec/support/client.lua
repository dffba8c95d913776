-- SPDX-License-Identifier: Apache-2.0
--
-- A raw Kafka client for functional specs: one TCP connection, no retries, no cleverness, every wait with a deadline.
local poll = require "posix.poll"
local socket = require "posix.sys.socket"
local time = require "posix.time"
local unistd = require "posix.unistd"
local fcntl = require "posix.fcntl"
local errno = require "posix.errno"
local wire = require "spec.support.wire"

local M = {}

--- How long an answer may take, ms; sanitizers and valgrind are slow.
M.PATIENCE_MS = (os.getenv "LUKA_SAN" or "") ~= "" and 30000 or 10000
if os.getenv "VALGRIND" then M.PATIENCE_MS = 60000 end

--- Monotonic time in milliseconds.
function M.now_ms()
  local now = time.clock_gettime(time.CLOCK_MONOTONIC)
  return now.tv_sec * 1000 + math.floor(now.tv_nsec / 1e6)
end

--- Asks `condition` again and again until it gives a true value, which is returned; an error when time is up.
---
---@param what string  for the error
---@param condition fun(): any
---@param timeout_ms integer?
function M.wait_until(what, condition, timeout_ms)
  local deadline = M.now_ms() + (timeout_ms or M.PATIENCE_MS)
  while true do
    local result = condition()
    if result then return result end
    if M.now_ms() > deadline then error("waited in vain until " .. what, 2) end
    poll.poll({}, 5)
  end
end

---@class spec.Client
local Client = {}
Client.__index = Client

--- Connects to a port of 127.0.0.1, or of another IPv4 address.
---
---@param port integer
---@param host string?
---@param from string?  our own address, 127.0.0.1 by default
---@return spec.Client
function M.connect(port, host, from)
  local fd = assert(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0))
  if from then assert(socket.bind(fd, { family = socket.AF_INET, addr = from, port = 0 })) end
  assert(socket.connect(fd, { family = socket.AF_INET, addr = host or "127.0.0.1", port = port }))
  assert(fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK))
  return setmetatable({ fd = fd, port = port, received = "", correlation_id = 0 }, Client)
end

function Client:close()
  if self.fd then unistd.close(self.fd) end
  self.fd = nil
end

--- Ends our side of the connection; the other side may still answer.
function Client:finish() socket.shutdown(self.fd, socket.SHUT_WR) end

--- Waits until the broker has read all that was sent on its port: no connection to it has bytes in its receive queue.
function Client:wait_until_read()
  local pattern = (":%04X %%x+:%%x+ 01 %%x+:(%%x+)"):format(self.port)
  M.wait_until("all that was sent has been read", function()
    local found = false
    for line in io.lines "/proc/net/tcp" do
      local queued = line:match(pattern)
      if queued and tonumber(queued, 16) ~= 0 then return false end
      found = found or queued ~= nil
    end
    return found
  end)
end

--- Waits for an event until a deadline; false when it did not come.
--- Waits for an event of a socket, "IN" or "OUT", until a time of now_ms(); whether it came.
function M.wait_for(fd, event, deadline)
  local left = deadline - M.now_ms()
  if left < 0 then return false end
  local ready = poll.poll({ [fd] = { events = { [event] = true } } }, left)
  return ready and ready > 0
end

--- Sends bytes as they are over a socket that does not block. Returns false when the connection is closed.
function M.send(fd, bytes)
  local deadline = M.now_ms() + M.PATIENCE_MS
  local at = 1
  while at <= #bytes do
    local sent, message, code = socket.send(fd, bytes:sub(at, at + 65535))
    if sent then
      at = at + sent
    elseif code == errno.EAGAIN then
      if not M.wait_for(fd, "OUT", deadline) then error("the broker does not read what is sent", 2) end
    elseif code == errno.EPIPE or code == errno.ECONNRESET then
      return false
    else
      error(message, 2)
    end
  end
  return true
end

--- Sends bytes as they are. Returns false when the connection is closed.
function Client:send(bytes) return M.send(self.fd, bytes) end

--- Sends a payload behind its length.
function Client:send_frame(payload)
  local size = #payload
  return self:send(string.char(math.floor(size / 2 ^ 24) % 256, math.floor(size / 2 ^ 16) % 256,
    math.floor(size / 2 ^ 8) % 256, size % 256) .. payload)
end

--- Reads what is there once. True, or nil and "timeout" or "closed".
local function receive_some(self, deadline)
  if not M.wait_for(self.fd, "IN", deadline) then return nil, "timeout" end
  local bytes, message, code = socket.recv(self.fd, 65536)
  if bytes == nil then
    if code == errno.EAGAIN then return true end
    if code == errno.ECONNRESET then return nil, "closed" end
    error(message, 3)
  elseif bytes == "" then
    return nil, "closed"
  end
  self.received = self.received .. bytes
  return true
end

--- The next frame without its length; nil and "closed" or "timeout".
---
---@param timeout_ms integer?
function Client:receive_frame(timeout_ms)
  local deadline = M.now_ms() + (timeout_ms or M.PATIENCE_MS)
  while true do
    if #self.received >= 4 then
      local a, b, c, d = self.received:byte(1, 4)
      local size = ((a * 256 + b) * 256 + c) * 256 + d
      if #self.received >= 4 + size then
        local frame = self.received:sub(5, 4 + size)
        self.received = self.received:sub(5 + size)
        return frame
      end
    end
    local ok, why = receive_some(self, deadline)
    if not ok then return nil, why end
  end
end

--- Waits until the broker closes the connection; returns the bytes it sent before, or nil when it stays open.
---
---@param timeout_ms integer?
function Client:receive_end(timeout_ms)
  local deadline = M.now_ms() + (timeout_ms or M.PATIENCE_MS)
  while true do
    local ok, why = receive_some(self, deadline)
    if not ok then
      if why == "timeout" then return nil end
      local rest = self.received
      self.received = ""
      return rest
    end
  end
end

--- Sends a request without waiting; returns its correlation id, or false when the connection is closed.
---
---@param api string  "Metadata"
---@param version integer
---@param body table
---@param options table?  see wire.request
function Client:request(api, version, body, options)
  self.correlation_id = self.correlation_id + 1
  options = options or {}
  options.correlation_id = self.correlation_id
  return self:send_frame(wire.request(api, version, body, options)) and self.correlation_id
end

--- The next answer, decoded; fails when its correlation id is not the given one.
function Client:answer(api, version, correlation_id, timeout_ms)
  local frame, why = self:receive_frame(timeout_ms)
  if not frame then return nil, why end
  local body, id = wire.response(api, version, frame)
  if correlation_id and id ~= correlation_id then
    error(("the answer has correlation id %d, not %d"):format(id, correlation_id), 2)
  end
  return body
end

--- Sends a request and waits for its answer: the decoded body; nil and "closed" or "timeout".
function Client:ask(api, version, body, options)
  local id = self:request(api, version, body, options)
  if not id then return nil, "closed" end
  return self:answer(api, version, id)
end

return M
