-- SPDX-License-Identifier: Apache-2.0
-- The connection to a broker's console: frames of a 4-byte length, big-endian, and one JSON object. What comes is
-- checked here, so that a newer broker, or something that is no broker, ends in one clear line.
local json = require "luka.native.json"
local libc = require "luka.ffi.libc"
local text = require "luka.console.text"

local M = {}

--- Longest frame, bytes; core/lua's console holds the same.
M.FRAME_MAX = 16 * 1024 * 1024

--- Fields that a message of the broker must have, beside `op`.
local FIELDS = {
  hello = { version = "number" },
  refused = { error = "string" },
  print = { id = "number", text = "string" },
  value = { id = "number", kind = "string" },
  clear = { id = "number" },
  ask = { id = "number", text = "string" },
  completions = { id = "number", start = "number", words = "table" },
  done = { id = "number", ok = "boolean" },
}

---@class luka.console.Link
---@field fd integer
---@field buffer string  what has come, from byte `at` on, and then in `parts`; `size` is how much that is
---@field failure string?  why nothing more comes: one line
local Link = {}
Link.__index = Link

--- Connects to a socket.
---
---@param path string
---@return luka.console.Link? link
---@return string? err
---@return integer? errno
function M.open(path)
  local fd, err, errno = libc.connect(path)
  if not fd then return nil, err, errno end
  return setmetatable({ fd = fd, path = path, buffer = "", at = 1, parts = {}, size = 0, out = "" }, Link)
end

--- Closes the connection.
function Link:close()
  if self.fd then libc.close(self.fd) end
  self.fd = nil
  self.failure = self.failure or "the connection is closed"
end

--- Notes why nothing more comes, unless that is known already.
function Link:fail(message, ...)
  self.failure = self.failure or message:format(...)
end

--- What came is not what a broker sends: nothing more is read.
function Link:strange(what)
  self.is_strange = true
  self.failure = ("%s does not speak as the console of this version of luka does: %s"):format(self.path, what)
  return nil
end

--- Queues a message; it is sent by write().
---
---@param message table
---@return boolean ok  false: it is too long to be sent
function Link:send(message)
  local body = json.encode(message)
  local size = #body
  if size > M.FRAME_MAX then return false end
  self.out = self.out .. string.char(math.floor(size / 16777216), math.floor(size / 65536) % 256,
    math.floor(size / 256) % 256, size % 256) .. body
  return true
end

--- Whether write() has something to do.
---
---@return boolean
function Link:is_sending()
  return #self.out > 0 and not self.failure
end

--- Writes what is queued as far as it goes.
function Link:write()
  local at = 1
  while at <= #self.out do
    local count, err, errno = libc.write(self.fd, self.out, at)
    if not count then
      if errno == libc.EPIPE then
        self.out = "" -- what the broker said before it went is still to be read
        return
      end
      if errno ~= libc.EAGAIN and errno ~= libc.EINTR then self:fail("the connection to the broker broke: %s", err) end
      break
    end
    at = at + count
  end
  self.out = self.out:sub(at)
end

--- Reads what has come; sets `failure` at the end of the connection. What came whole before is given by next() first.
function Link:read()
  local bytes, err, errno = libc.read(self.fd)
  if not bytes then
    if errno ~= libc.EAGAIN and errno ~= libc.EINTR then self:fail("the connection to the broker broke: %s", err) end
    return
  end
  if bytes == "" then
    self:fail("the broker has closed the connection")
    return
  end
  self.parts[#self.parts + 1] = bytes
  self.size = self.size + #bytes
  if self.size > 2 * M.FRAME_MAX then self:strange "it sent what nobody asked for" end
end

--- Checks a decoded frame.
local function check(self, message)
  if type(message) ~= "table" or type(message.op) ~= "string" then return self:strange "it sent a message without op" end
  local fields = FIELDS[message.op]
  if not fields then return self:strange(("it sent the unknown message '%s'"):format(text.line(message.op:sub(1, 40)))) end
  for name, kind in pairs(fields) do
    if type(message[name]) ~= kind then return self:strange(("it sent %s.%s that is no %s"):format(message.op, name, kind)) end
  end
  return message
end

--- The next `size` bytes in `buffer`; false when they are not there yet.
local function has(self, size)
  if self.size < size then return false end
  if #self.buffer - self.at + 1 < size then
    self.buffer = self.buffer:sub(self.at) .. table.concat(self.parts)
    self.at, self.parts = 1, {}
  end
  return true
end

--- The next whole message; nil when none is there yet, or never will (`failure`).
---
---@return table? message
function Link:next()
  if self.is_strange or not has(self, self.needed or 4) then return nil end
  if not self.needed then
    local a, b, c, d = self.buffer:byte(self.at, self.at + 3)
    local size = ((a * 256 + b) * 256 + c) * 256 + d
    if size == 0 or size > M.FRAME_MAX then return self:strange(("it sent a frame of %.0f bytes"):format(size)) end
    self.needed = 4 + size
    if not has(self, self.needed) then return nil end
  end
  local body = self.buffer:sub(self.at + 4, self.at + self.needed - 1)
  self.at, self.size, self.needed = self.at + self.needed, self.size - self.needed, nil
  return check(self, (json.decode(body)))
end

return M
