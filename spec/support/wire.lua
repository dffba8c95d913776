-- SPDX-License-Identifier: Apache-2.0
--
-- Kafka's protocol for functional specs: the codec of the program's Lua side, which knows nothing of the C codec that is
-- under test, with all schemas that there are.
--
-- Values are tables with the fields in snake_case, as in C: { topics = { { name = "a" } }, timeout_ms = 1000 }. What is
-- left out has its default; wire.NULL is null. Decoded null is nil. Integers beyond 2^53 are int64_t, both ways; uuids
-- are 16 bytes; bytes and records are strings.
package.path = "lua/?.lua;lua/?/init.lua;scripts/generate/?.lua;" .. package.path

--- The build embeds schemas and error codes as modules; here they come from their folder. Modules in C are in the runner.
table.insert(package.loaders, 2, function(name)
  local file = name:match "^luka%.wire%.(schema%.[%w_]+)$" or name:match "^luka%.wire%.(error_codes)$"
  if file then return assert(loadfile("core/wire/" .. file:gsub("%.", "/") .. ".lua")) end
  local native = name:match "^luka%.native%.([%w_]+)$"
  return native and package.loadlib("", "native_" .. native .. "_open")
end)

local codec = require "luka.wire.codec"
local output = require "wire.output"
local schema = require "luka.wire.schema"
local write = require "luka.wire.write"

local M = { NULL = codec.NULL, NO_UUID = codec.NO_UUID, uvarint = write.uvarint }

--- All messages by name; all requests by name, with key, request and response.
M.messages, M.apis = {}, {}
for _, file in ipairs(output.list("core/wire/schema", ".lua")) do
  for name, message in pairs(schema.load((file:gsub("%.lua$", "")))) do M.messages[name] = message end
end
for name, message in pairs(M.messages) do
  local api = name:match "^(.*)Request$"
  if api then
    M.apis[api] = { key = message.key, name = api, request = message, response = M.messages[api .. "Response"] }
  end
end

--- Calls a function of the codec; errors name the caller's line.
local function call(fn, ...)
  local ok, a, b, c = pcall(fn, ...)
  if not ok then error(tostring(a), 3) end
  return a, b, c
end

--- Encodes a message.
---
---@param name string  "MetadataRequest"
---@param version integer
---@param value table
---@return string bytes
function M.encode(name, version, value)
  if not M.messages[name] then error("no message is called " .. tostring(name), 2) end
  return (call(codec.encode, name, version, value))
end

--- Encodes a request with its header, without the frame's length.
---
---@param api string  "Metadata"
---@param version integer
---@param body table
---@param options { correlation_id: integer?, client_id: any }?
---@return string bytes
function M.request(api, version, body, options)
  options = options or {}
  if not M.apis[api] then error("no request is called " .. tostring(api), 2) end
  local client_id = options.client_id
  if client_id == nil then client_id = "spec" end
  return (call(codec.request, api, version, body, options.correlation_id or 0, client_id))
end

--- Decodes a message.
---
---@param name string  "MetadataResponse"
---@param version integer
---@param bytes string
---@return table value
---@return string rest  what follows it
function M.decode(name, version, bytes)
  if not M.messages[name] then error("no message is called " .. tostring(name), 2) end
  local value, at = call(codec.decode, name, version, bytes)
  return value, bytes:sub(at)
end

--- Decodes a response with its header; fails when bytes are left.
---
---@param api string
---@param version integer
---@param bytes string  the frame without its length
---@return table body
---@return integer correlation_id
function M.response(api, version, bytes)
  if not M.apis[api] then error("no request is called " .. tostring(api), 2) end
  local body, correlation_id, left = call(codec.response, api, version, bytes)
  if left ~= 0 then error(("%s version %d: %d bytes are left"):format(api, version, left), 2) end
  return body, correlation_id
end

return M
