-- SPDX-License-Identifier: Apache-2.0
-- Kafka's protocol in Lua: encodes any request and decodes any response, in any version, straight from the schemas. A
-- message becomes, once per version, a tree of closures without decisions: the compiler may be off where this runs.
--
-- Values are tables with the fields in snake_case: { topics = { { name = "a" } }, timeout_ms = 1000 }. What is left out
-- has its default; NULL is null. Decoded null is nil. Integers beyond 2^53 are int64, both ways; uuids are 16 bytes;
-- bytes and records are strings. What comes in is not trusted: every length is checked before it is used.
local read = require "luka.wire.read"
local schema = require "luka.wire.schema"
local write = require "luka.wire.write"

local M = { NULL = write.NULL, NO_UUID = ("\0"):rep(16) }

local readers, writers = {}, {}

--- The closure of a message's version.
local function compiled(cache, compile, name, version)
  local versions = cache[name]
  if not versions then
    versions = {}
    cache[name] = versions
  end
  local fn = versions[version]
  if not fn then
    local message = schema.message(name)
    fn = compile(message.root, version, version >= message.flexible)
    versions[version] = fn
  end
  return fn
end

--- Encodes a message. Raises when a value does not fit.
---
---@param name string  "MetadataRequest"
---@param version integer
---@param value table
---@return string bytes
function M.encode(name, version, value)
  local out = {}
  compiled(writers, write.struct, name, version)(out, value)
  return table.concat(out)
end

--- Decodes a message. Raises when the bytes end early or lie.
---
---@param name string  "MetadataResponse"
---@param version integer
---@param bytes string
---@param at integer?  where it begins, from 1
---@return table value
---@return integer at  after it
function M.decode(name, version, bytes, at)
  return compiled(readers, read.struct, name, version)(bytes, at or 1)
end

--- Encodes a request with its header, without the frame's length.
---
---@param api string  "Metadata"
---@param version integer
---@param body table
---@param correlation_id integer
---@param client_id any  string or NULL
---@return string bytes
function M.request(api, version, body, correlation_id, client_id)
  local message = schema.message(api .. "Request")
  return M.encode("RequestHeader", version >= message.flexible and 2 or 1, { request_api_key = message.key,
    request_api_version = version, correlation_id = correlation_id, client_id = client_id })
    .. M.encode(message.name, version, body)
end

--- Decodes a response with its header. Raises when the bytes end early or lie.
---
---@param api string
---@param version integer
---@param bytes string  the frame without its length
---@return table body
---@return integer correlation_id
---@return integer left  bytes behind it
function M.response(api, version, bytes)
  local message = schema.message(api .. "Response")
  -- ApiVersions always has the old header, so that clients of any age can read it.
  local header_version = api ~= "ApiVersions" and version >= message.flexible and 1 or 0
  local header, at = M.decode("ResponseHeader", header_version, bytes)
  local body
  body, at = M.decode(message.name, version, bytes, at)
  return body, header.correlation_id, #bytes - at + 1
end

return M
