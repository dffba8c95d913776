-- SPDX-License-Identifier: Apache-2.0
-- `admin.*`: the administration of a broker in Lua, on top of Kafka's protocol. Names are Kafka's, in snake_case; plain
-- tables in and out. Errors are raised as luka.Error: `code` is Kafka's name ("UNKNOWN_TOPIC_OR_PARTITION"), or "usage"
-- for arguments that cannot be right; `message` is one sentence.
local calls = require "luka.admin.call"

---@class luka.Admin
---@field call fun(api: string, body: table): table  any request of luka.admin.call.VERSIONS, as the protocol has it
---@field topics fun(): luka.Topic[]
---@field describe_topic fun(name: string): luka.Topic
---@field create_topic fun(name: string, options: table?): table
---@field delete_topic fun(name: string)
---@field create_partitions fun(name: string, total: integer, options: table?): integer
---@field describe_configs fun(kind: "topic"|"broker", name: string|integer|nil, options: table?): luka.Config[]
---@field alter_configs fun(kind: "topic"|"broker", name: string|integer|nil, changes: table)
---@field describe_log_dirs fun(): table[]
---@field alter_replica_log_dirs fun(topic: string, partition: integer, path: string)
---@field describe_cluster fun(): table
---@field describe_producers fun(topic: string, partition: integer?): table[]
---@field list_offsets fun(topic: string, what: any, partitions: integer[]?): table[]
---@field delete_records fun(topic: string, offsets: table): table<integer, integer>
---@field produce fun(topic: string, records: any, options: table?): any
---@field fetch fun(topic: string, offsets: table<integer, integer>, options: table?): luka.Record[], table<integer, integer>
---@field groups fun(options: table?): table[]
---@field lag fun(part: string?): table[]
---@field group fun(name: string): luka.Group
---@field find_coordinator fun(name: string): integer
---@field delete_group fun(name: string)
---@field remove_members fun(name: string, which: any, reason: string?): luka.Member[]
---@field offsets fun(name: string): luka.GroupOffset[]
---@field commit_offsets fun(name: string, given: table)
---@field delete_offsets fun(name: string, given: table)
---@field reset_offsets fun(name: string, options: table): luka.GroupReset[]
---@field fetcher fun(topic: string, positions: table<integer, integer>, options: table): luka.Fetcher

local M = {}

local PARTS = { "topics", "configs", "cluster", "records", "produce", "groups", "offsets", "reset" }

--- Makes the administration over a transport.
---
---@param transport luka.Transport
---@return luka.Admin
function M.new(transport)
  local call = calls.new(transport)
  local admin = { call = call }
  for _, part in ipairs(PARTS) do require("luka.admin." .. part).add(admin, call, transport) end
  return admin
end

return M
