-- SPDX-License-Identifier: Apache-2.0
-- admin.topics, describe_topic, create_topic, delete_topic, create_partitions.
local arguments = require "luka.admin.arguments"
local calls = require "luka.admin.call"
local configs = require "luka.admin.configs"
local sort = require "luka.sort"
local uuid = require "luka.admin.uuid"
local codec = require "luka.wire.codec"
local errors = require "luka.errors"

---@class (exact) luka.Topic
---@field name string
---@field id string  as Kafka shows ids, 22 characters
---@field is_internal boolean
---@field view_of string?  of a view: the topic that it shows
---@field partitions luka.TopicPartition[]

---@class (exact) luka.TopicPartition
---@field partition integer
---@field leader integer?  id of the broker
---@field leader_epoch integer
---@field replicas integer[]
---@field isr integer[]
---@field offline_replicas integer[]
---@field error string?  Kafka's name of an error

local M = {}

local TIMEOUT_MS = 30000

local function quoted(name) return ('topic "%s"'):format(name) end

local function by_partition(a, b) return a.partition < b.partition end

local function by_name(a, b) return a.name < b.name end

--- Kafka's number for topics in DescribeConfigs, and the config by which a view says what it shows.
local TOPIC, VIEW_FROM = 2, "luka.view.from"

--- Whether an id may be that of a view: those are made of names and say so in their version (RFC 9562), others are random.
local function may_be_view(id) return id:byte(7) >= 0x80 and id:byte(7) < 0x90 end

--- Names the topics that views show. Nothing is asked while there are no views.
local function add_views(call, topics, answers)
  local resources, asked = {}, {}
  for i, topic in ipairs(topics) do
    if may_be_view(answers[i].topic_id) then
      asked[topic.name] = topic
      resources[#resources + 1] = { resource_type = TOPIC, resource_name = topic.name, configuration_keys = { VIEW_FROM } }
    end
  end
  if #resources == 0 then return end
  local answer = call("DescribeConfigs", { include_synonyms = false, include_documentation = false, resources = resources })
  for _, result in ipairs(answer.results) do
    local topic, config = asked[result.resource_name], result.configs[1]
    if topic and config then topic.view_of = config.value end
  end
end

--- A topic of a Metadata answer.
local function topic_of(answer)
  local partitions = {}
  for i, part in ipairs(answer.partitions) do
    partitions[i] = { partition = part.partition_index, leader = part.leader_id >= 0 and part.leader_id or nil,
      leader_epoch = part.leader_epoch, replicas = part.replica_nodes, isr = part.isr_nodes,
      offline_replicas = part.offline_replicas,
      error = part.error_code ~= 0 and calls.error_name(part.error_code) or nil }
  end
  sort(partitions, by_partition)
  return { name = answer.name, id = uuid.text(answer.topic_id), is_internal = answer.is_internal,
    partitions = partitions }
end

local function metadata(call, topics)
  return call("Metadata", { topics = topics, allow_auto_topic_creation = false }).topics
end

--- Assignments by hand: a list with the replicas of each partition, from partition 0 on.
local function assignments_of(where, value)
  if type(value) ~= "table" then arguments.refuse(where, value, "a list of lists of broker ids: { { 1 }, { 1 } }") end
  local out = {}
  for i = 1, #value do
    local brokers = {}
    if type(value[i]) ~= "table" then arguments.refuse(where, value[i], "a list of broker ids: { 1 }") end
    for j = 1, #value[i] do brokers[j] = arguments.integer(where, value[i][j], 0, 2 ^ 31 - 1) end
    out[i] = brokers
  end
  return out
end

local CREATE = { partitions = true, replication_factor = true, assignments = true, validate_only = true, configs = true }

--- Configs of a new topic: those in options.configs, and all options that are not create_topic's own.
local function create_configs(options)
  local given = {}
  local inner = arguments.options("create_topic: configs", options.configs)
  for key, value in pairs(inner) do given[key] = value end
  for key, value in pairs(options) do
    if not CREATE[key] then given[key] = value end
  end
  local list = {}
  for name, text in pairs(configs.texts("create_topic", given)) do list[#list + 1] = { name = name, value = text } end
  table.sort(list, by_name)
  return list
end

local function create_body(name, options)
  local topic = { name = name, configs = create_configs(options), assignments = {} }
  if options.assignments ~= nil then
    for i, brokers in ipairs(assignments_of("create_topic: assignments", options.assignments)) do
      topic.assignments[i] = { partition_index = i - 1, broker_ids = brokers }
    end
  end
  topic.num_partitions = arguments.optional_integer("create_topic: partitions", options.partitions, 1, 2 ^ 31 - 1) or -1
  topic.replication_factor =
    arguments.optional_integer("create_topic: replication_factor", options.replication_factor, 1, 32767) or -1
  return { topics = { topic }, timeout_ms = TIMEOUT_MS, validate_only = options.validate_only and true or false }
end

--- Adds the functions to admin.
---
---@param admin luka.Admin
---@param call fun(api: string, body: table): table
function M.add(admin, call)
  --- All topics, by name.
  ---
  ---@return luka.Topic[]
  function admin.topics()
    local list, answers = {}, {}
    for _, answer in ipairs(metadata(call, codec.NULL)) do
      if answer.error_code == 0 then
        list[#list + 1] = topic_of(answer)
        answers[#list] = answer
      end
    end
    add_views(call, list, answers)
    sort(list, by_name)
    return list
  end

  --- One topic. Errors: UNKNOWN_TOPIC_OR_PARTITION.
  ---
  ---@param name string
  ---@return luka.Topic
  function admin.describe_topic(name)
    name = arguments.name("describe_topic", name)
    local answer = metadata(call, { { name = name } })[1]
    if not answer then errors.raise("malformed", "the broker did not describe %s", quoted(name)) end
    if answer.error_code == 3 then
      errors.raise("UNKNOWN_TOPIC_OR_PARTITION", 'there is no topic "%s"', name)
    end
    calls.check(answer.error_code, nil, quoted(name))
    local topic = topic_of(answer)
    add_views(call, { topic }, { answer })
    return topic
  end

  --- Creates a topic. Options: partitions, replication_factor, assignments = { { 1, 2 }, ... }, validate_only, and any
  --- topic config: { retention_ms = 60000 }. Errors: TOPIC_ALREADY_EXISTS, INVALID_CONFIG and others.
  ---
  ---@param name string
  ---@param options table?
  ---@return { name: string, id: string, partitions: integer, replication_factor: integer, configs: table<string, any> }
  function admin.create_topic(name, options)
    name = arguments.name("create_topic", name)
    options = arguments.options("create_topic", options)
    local answer = call("CreateTopics", create_body(name, options)).topics[1]
    calls.check(answer.error_code, answer.error_message, quoted(name))
    local result = { name = name, id = uuid.text(answer.topic_id), partitions = answer.num_partitions,
      replication_factor = answer.replication_factor, configs = {} }
    for _, config in ipairs(answer.configs or {}) do result.configs[configs.key(config.name)] = config.value end
    return result
  end

  --- Deletes a topic with all its records. Errors: UNKNOWN_TOPIC_OR_PARTITION and others.
  ---
  ---@param name string
  function admin.delete_topic(name)
    name = arguments.name("delete_topic", name)
    local answer = call("DeleteTopics", { topics = { { name = name } }, timeout_ms = TIMEOUT_MS }).responses[1]
    calls.check(answer.error_code, answer.error_message, quoted(name))
  end

  --- Gives a topic more partitions. Options: assignments of the new ones, validate_only. Errors: INVALID_PARTITIONS.
  ---
  ---@param name string
  ---@param total integer  partitions that it has afterwards
  ---@param options { assignments: integer[][]?, validate_only: boolean? }?
  ---@return integer total
  function admin.create_partitions(name, total, options)
    name = arguments.name("create_partitions", name)
    total = arguments.integer("create_partitions: total", total, 1, 2 ^ 31 - 1)
    options = arguments.options("create_partitions", options, { assignments = true, validate_only = true })
    local topic = { name = name, count = total, assignments = codec.NULL }
    if options.assignments ~= nil then
      topic.assignments = {}
      for i, brokers in ipairs(assignments_of("create_partitions: assignments", options.assignments)) do
        topic.assignments[i] = { broker_ids = brokers }
      end
    end
    local answer = call("CreatePartitions", { topics = { topic }, timeout_ms = TIMEOUT_MS,
      validate_only = options.validate_only and true or false }).results[1]
    calls.check(answer.error_code, answer.error_message, quoted(name))
    return total
  end
end

return M
