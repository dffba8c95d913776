-- SPDX-License-Identifier: Apache-2.0
-- One request and its answer, over a transport; and what becomes of the error codes in answers: luka.Error with Kafka's
-- name of the error as its code, and the broker's own sentence, or ours where it sent none.
local codec = require "luka.wire.codec"
local error_codes = require "luka.wire.error_codes"
local errors = require "luka.errors"
local value_of = require "luka.config.value"

---@class luka.Transport
---@field client_id string?  nil: CLIENT_ID
---@field call fun(self: luka.Transport, request: string): string  a request without its length, header included; raises
---   luka.Error
---@field wait fun(self: luka.Transport, ms: number)  lets time pass

local M = {}

M.CLIENT_ID = "luka-admin"

--- Versions that are spoken: all name topics by their names, and answer with a sentence where a version does.
M.VERSIONS = {
  AlterReplicaLogDirs = 2, ApiVersions = 3, ConsumerGroupDescribe = 1, ConsumerGroupHeartbeat = 1, CreatePartitions = 3,
  CreateTopics = 7, DeleteGroups = 3, DeleteRecords = 2, DeleteTopics = 6, DescribeCluster = 1, DescribeConfigs = 4,
  DescribeGroups = 6, DescribeLogDirs = 4, DescribeProducers = 0, Fetch = 12, FindCoordinator = 6,
  IncrementalAlterConfigs = 1, LeaveGroup = 5, ListGroups = 5, ListOffsets = 7, Metadata = 12, OffsetCommit = 9,
  OffsetDelete = 0, OffsetFetch = 9, Produce = 9,
}

--- For errors without a sentence of the broker's.
local SENTENCES = {
  CLUSTER_AUTHORIZATION_FAILED = "this may not be done here",
  COORDINATOR_LOAD_IN_PROGRESS = "the broker is still reading its offsets",
  COORDINATOR_NOT_AVAILABLE = "no broker coordinates it now",
  CORRUPT_MESSAGE = "the records are damaged",
  GROUP_AUTHORIZATION_FAILED = "this may not be done with the group",
  GROUP_ID_NOT_FOUND = "there is no such group",
  GROUP_SUBSCRIBED_TO_TOPIC = "the group has members that are subscribed to the topic",
  INVALID_GROUP_ID = "this is no name of a group",
  INVALID_PARTITIONS = "this number of partitions is not allowed",
  INVALID_REPLICATION_FACTOR = "this replication factor is not allowed",
  INVALID_TIMESTAMP = "the timestamp is too far from the broker's clock",
  INVALID_TOPIC_EXCEPTION = "names are letters, digits, '.', '_' and '-'",
  KAFKA_STORAGE_ERROR = "its log directory is full or has failed; the broker's log says more",
  LEADER_NOT_AVAILABLE = "it has no leader now",
  LOG_DIR_NOT_FOUND = "the broker has no such log directory",
  MESSAGE_TOO_LARGE = "the batch is larger than max_message_bytes of the topic",
  NON_EMPTY_GROUP = "the group has members",
  NOT_COORDINATOR = "another broker coordinates it",
  NOT_LEADER_OR_FOLLOWER = "this broker is not its leader",
  OFFSET_METADATA_TOO_LARGE = "the metadata is longer than offset_metadata_max_bytes",
  OFFSET_NOT_AVAILABLE = "the offset is not known yet",
  OFFSET_OUT_OF_RANGE = "the partition has no such offset",
  REQUEST_TIMED_OUT = "it was not done in time",
  TOPIC_AUTHORIZATION_FAILED = "this may not be done with the topic",
  UNKNOWN_MEMBER_ID = "the group has no such member",
  UNKNOWN_SERVER_ERROR = "the broker failed unexpectedly; its log says more",
  UNKNOWN_TOPIC_ID = "there is no such topic",
  UNKNOWN_TOPIC_OR_PARTITION = "there is no such topic or partition",
}

local names = {}
for _, entry in ipairs(error_codes) do names[entry[1]] = entry[2] end

--- Kafka's name of an error code.
---
---@param code integer
---@return string
function M.error_name(code) return names[code] or "ERROR_" .. code end

--- What an error code means, where the broker says no more.
---
---@param code integer
---@return string
function M.sentence(code)
  local name = M.error_name(code)
  return SENTENCES[name] or name:lower():gsub("_", " ")
end

--- Raises an error of the broker's, if it is one.
---
---@param code integer  0: none
---@param message string?  the broker's sentence
---@param what string  whom it is about, for our own sentence: 'topic "x"'
---@param more any  a string: what to say behind it
function M.check(code, message, what, more)
  if code == 0 then return end
  if not message or message == "" then
    message = ("%s: %s"):format(what, M.sentence(code))
  end
  errors.raise(M.error_name(code), "%s", message .. (more or ""))
end

--- The same for one of several that were asked for: with `failed` its sentence is noted there, and the others go on.
---
---@param failed table<string, string>?  sentences by name; nil: the error is raised
---@param name string  whom it is about
---@return boolean ok
function M.note(failed, name, code, message, what)
  if code == 0 then return true end
  if not failed then M.check(code, message, what) end
  failed[name] = message and message ~= "" and message or M.sentence(code)
  return false
end

--- A function that asks a broker: `call(api, body) -> body of the answer`.
---
---@param transport luka.Transport
---@return fun(api: string, body: table): table
function M.new(transport)
  local correlation_id = 0
  return function(api, body)
    local version = M.VERSIONS[api]
    if not version then
      local known = {}
      for name in pairs(M.VERSIONS) do known[#known + 1] = name end
      table.sort(known)
      errors.raise("usage", "call: got %s, expected one of %s", value_of.show(api), table.concat(known, ", "))
    end
    correlation_id = (correlation_id + 1) % 2 ^ 31
    local sent = correlation_id
    local answer = transport:call(codec.request(api, version, body, sent, transport.client_id or M.CLIENT_ID))
    local result, got = codec.response(api, version, answer)
    if got ~= sent then errors.raise("malformed", "the broker answered another request than %s", api) end
    return result
  end
end

return M
