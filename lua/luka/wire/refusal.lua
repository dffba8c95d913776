-- SPDX-License-Identifier: Apache-2.0
-- Answers that are errors, to any request in any version, as a broker would give them: the error code stands where
-- the response has one, and what the request names (topics, partitions, groups ...) is named in the answer with it.
local codec = require "luka.wire.codec"
local errors = require "luka.errors"
local schema = require "luka.wire.schema"

local M = {}

--- What in a request a list of a response answers, where the names differ.
local LISTS = {
  responses = { "topics", "topic_data", "topic_names", "resources" }, partition_responses = { "partition_data" },
  partitions = { "partition_indexes" }, results = { "topics", "resources", "groups_names", "users", "feature_updates" },
  groups = { "group_ids" }, coordinators = { "coordinator_keys" }, replica_election_results = { "topic_partitions" },
  partition_result = { "partitions" },
}

--- Fields that mean the same.
local SAME = {
  name = { "topic", "topic_name" }, topic = { "name" }, topic_name = { "name" }, user = { "name" },
  index = { "partition", "partition_index" }, partition_index = { "partition", "index" }, partition_id = { "partition" },
  partition = { "partition_index" },
}

--- The field that an element has which is plain in the request.
local PLAIN = {
  string = { "name", "topic", "group_id", "key", "user" }, number = { "partition_index", "partition_id", "partition" },
}

--- What a broker says where it has nothing to say; zero, null or empty otherwise.
local NOTHING = {
  high_watermark = -1, base_offset = -1, committed_offset = -1, node_id = -1, port = -1, leader_id = -1, generation_id = -1,
  producer_id = -1, producer_epoch = -1, records = "",
}

local function set_of(...)
  local set = {}
  for i = 1, select("#", ...) do set[(select(i, ...))] = true end
  return set
end

--- Errors that are those of a whole request, or group, though its answer has places for smaller ones.
local WHOLE = {
  Fetch = set_of("FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH", "FETCH_SESSION_TOPIC_ID_ERROR"),
  Metadata = set_of("REBOOTSTRAP_REQUIRED"),
  ElectLeaders = set_of("CLUSTER_AUTHORIZATION_FAILED", "NOT_CONTROLLER"),
}

--- And those that are not, where all others are.
local SINGLE = {
  OffsetFetch = set_of("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "TOPIC_AUTHORIZATION_FAILED", "UNSTABLE_OFFSET_COMMIT"),
  LeaveGroup = set_of("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"),
  OffsetDelete = set_of("UNKNOWN_TOPIC_OR_PARTITION", "GROUP_SUBSCRIBED_TO_TOPIC"),
}

local function is_in(field, version) return version >= field.lo and version <= field.hi end

--- Whether a struct has error codes in a version, itself or in what it holds.
local function has_code(struct, version)
  for _, field in ipairs(struct.fields) do
    if is_in(field, version) and (field.key == "error_code" or field.array and field.struct
        and has_code(field.struct, version)) then
      return true
    end
  end
  return false
end

local function own_code(struct, version)
  for _, field in ipairs(struct.fields) do
    if field.key == "error_code" and is_in(field, version) then return true end
  end
  return false
end

--- What the request says of a field of the answer.
local function mirrored(key, source)
  if type(source) ~= "table" then
    for _, name in ipairs(PLAIN[type(source)] or {}) do
      if name == key then return source end
    end
    return nil
  end
  local value = source[key]
  for _, name in ipairs(value == nil and SAME[key] or {}) do
    if value == nil then value = source[name] end
  end
  if type(value) == "table" then return nil end
  return value
end

--- The list of the request that a list of the answer is about.
local function list_of(key, source)
  if type(source) ~= "table" then return nil end
  if type(source[key]) == "table" then return source[key] end
  for _, name in ipairs(LISTS[key] or {}) do
    if type(source[name]) == "table" then return source[name] end
  end
  return nil
end

local fill

--- The elements of a list; how many codes are in them.
local function fill_list(state, field, source)
  local list, count = {}, 0
  for i, element in ipairs(list_of(field.key, source) or {}) do
    local codes
    list[i], codes = fill(state, field.struct, element)
    count = count + codes
  end
  return list, count
end

--- Fills a struct of the answer.
---
---@return table value
---@return integer codes  that are set in it
function fill(state, struct, source)
  local version, value, codes = state.version, {}, 0
  local is_whole = state.is_whole and own_code(struct, version)
  for _, field in ipairs(struct.fields) do
    local key = field.key
    if not is_in(field, version) or field.tag then
      value[key] = nil -- as if it was left out
    elseif field.array then
      if field.struct and not is_whole and has_code(field.struct, version) then
        local count
        value[key], count = fill_list(state, field, source)
        codes = codes + count
      elseif field.nullable then
        value[key] = codec.NULL
      end
    elseif key == "error_message" then
      value[key] = state.message or (field.nullable and codec.NULL or nil)
    elseif not field.struct and key ~= "error_code" then
      value[key] = mirrored(key, source)
      if value[key] == nil and field.default == nil then value[key] = NOTHING[key] end
      if value[key] == nil and key == "name" and type(source) == "table" and source.topic_id then
        value[key] = codec.NULL -- a topic that was named by its id
      end
    end
  end
  if codes == 0 and own_code(struct, version) then
    value.error_code, codes = state.code, 1
  end
  return value, codes
end

--- What AlterReplicaLogDirs names, by topic.
local function topics_of_dirs(request)
  local topics, by_name = {}, {}
  for _, dir in ipairs(request.dirs) do
    for _, topic in ipairs(dir.topics) do
      local known = by_name[topic.name]
      if not known then
        known = { name = topic.name, partitions = {} }
        by_name[topic.name], topics[#topics + 1] = known, known
      end
      for _, partition in ipairs(topic.partitions) do known.partitions[#known.partitions + 1] = partition end
    end
  end
  return { topics = topics }
end

--- What DescribeLogDirs below version 3 can say it of: a directory without a name.
local function one_dir() return { results = { {} } } end

--- Users that AlterUserScramCredentials names.
local function users_of(request)
  local names, seen = {}, {}
  for _, list in ipairs { request.deletions, request.upsertions } do
    for _, change in ipairs(list) do
      if not seen[change.name] then names[#names + 1] = { name = change.name } end
      seen[change.name] = true
    end
  end
  return { users = names }
end

local SOURCES = { AlterReplicaLogDirs = topics_of_dirs, DescribeLogDirs = one_dir, AlterUserScramCredentials = users_of }

--- Makes an answer. Raises when it has no place for the error.
---
---@param api string  "Fetch"
---@param version integer
---@param request table  decoded
---@param name string  "NOT_LEADER_OR_FOLLOWER"
---@param code integer
---@param at "request"|"each"|nil  for the whole request, or for each thing that it names; nil: as a broker would
---@param message string?
---@return table response
function M.response(api, version, request, name, code, at, message)
  local is_whole = at == "request"
  if not at then
    is_whole = WHOLE[api] and WHOLE[api][name] or SINGLE[api] and not SINGLE[api][name] or false
  end
  local source = SOURCES[api] and SOURCES[api](request) or request
  if api == "DescribeLogDirs" and version >= 3 then is_whole = true end
  local state = { version = version, code = code, is_whole = is_whole, message = message }
  local value, codes = fill(state, schema.message(api .. "Response").root, source)
  if codes == 0 then
    errors.raise("usage", "fail: this %s names nothing, and version %d has no place for an error of its own", api, version)
  end
  return value
end

return M
