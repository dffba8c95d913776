-- SPDX-License-Identifier: Apache-2.0
-- admin.describe_cluster, describe_log_dirs, alter_replica_log_dirs, describe_producers.
local arguments = require "luka.admin.arguments"
local calls = require "luka.admin.call"
local codec = require "luka.wire.codec"
local errors = require "luka.errors"

local M = {}

local function unset(value) return value ~= -1 and value or nil end

local function log_dir_of(answer)
  local dir = { path = answer.log_dir, partitions = {}, total_bytes = unset(answer.total_bytes),
    usable_bytes = unset(answer.usable_bytes),
    error = answer.error_code ~= 0 and calls.error_name(answer.error_code) or nil }
  for _, topic in ipairs(answer.topics) do
    for _, part in ipairs(topic.partitions) do
      dir.partitions[#dir.partitions + 1] = { topic = topic.name, partition = part.partition_index,
        size_bytes = part.partition_size, offset_lag = part.offset_lag, is_future = part.is_future_key }
    end
  end
  return dir
end

--- Adds the functions to admin.
---
---@param admin luka.Admin
---@param call fun(api: string, body: table): table
function M.add(admin, call)
  --- The cluster and its brokers.
  ---
  ---@return { cluster_id: string, controller: integer?, brokers: { id: integer, host: string, port: integer, rack: string? }[] }
  function admin.describe_cluster()
    local answer = call("DescribeCluster", {})
    calls.check(answer.error_code, answer.error_message, "the cluster")
    local brokers = {}
    for i, broker in ipairs(answer.brokers) do
      brokers[i] = { id = broker.broker_id, host = broker.host, port = broker.port, rack = broker.rack }
    end
    table.sort(brokers, function(a, b) return a.id < b.id end)
    return { cluster_id = answer.cluster_id, controller = unset(answer.controller_id), brokers = brokers }
  end

  --- The log directories, with the partitions in them.
  ---
  ---@return { path: string, error: string?, total_bytes: integer?, usable_bytes: integer?, partitions: table[] }[]
  function admin.describe_log_dirs()
    local answer = call("DescribeLogDirs", { topics = codec.NULL })
    calls.check(answer.error_code, nil, "the log directories")
    local list = {}
    for i, dir in ipairs(answer.results) do list[i] = log_dir_of(dir) end
    table.sort(list, function(a, b) return a.path < b.path end)
    return list
  end

  --- Moves a partition to another log directory; it is moved when this returns, or a little later.
  ---
  ---@param topic string
  ---@param partition integer
  ---@param path string  as describe_log_dirs() has it
  function admin.alter_replica_log_dirs(topic, partition, path)
    topic = arguments.name("alter_replica_log_dirs", topic)
    partition = arguments.integer("alter_replica_log_dirs: partition", partition, 0, 2 ^ 31 - 1)
    if type(path) ~= "string" then
      arguments.refuse("alter_replica_log_dirs: path", path, "the path of a log directory")
    end
    local answer = call("AlterReplicaLogDirs", { dirs = { { path = path,
      topics = { { name = topic, partitions = { partition } } } } } })
    local result = answer.results[1] and answer.results[1].partitions[1]
    if not result then errors.raise("malformed", "the broker did not answer for the partition") end
    calls.check(result.error_code, nil, result.error_code == 57 and path or ('topic "%s" partition %d'):format(topic, partition))
  end

  --- What a partition remembers of idempotent producers.
  ---
  ---@param topic string
  ---@param partition integer?  all of the topic's when not given
  ---@return { partition: integer, producer_id: integer, producer_epoch: integer, last_sequence: integer?, last_timestamp: integer? }[]
  function admin.describe_producers(topic, partition)
    topic = arguments.name("describe_producers", topic)
    partition = arguments.optional_integer("describe_producers: partition", partition, 0, 2 ^ 31 - 1)
    local partitions = { partition }
    if not partition then
      for i, part in ipairs(admin.describe_topic(topic).partitions) do partitions[i] = part.partition end
    end
    local answer = call("DescribeProducers", { topics = { { name = topic, partition_indexes = partitions } } })
    local list = {}
    for _, part in ipairs(answer.topics[1].partitions) do
      calls.check(part.error_code, part.error_message, ('topic "%s" partition %d'):format(topic, part.partition_index))
      for _, producer in ipairs(part.active_producers) do
        list[#list + 1] = { partition = part.partition_index, producer_id = producer.producer_id,
          producer_epoch = producer.producer_epoch, last_sequence = unset(producer.last_sequence),
          last_timestamp = unset(producer.last_timestamp),
          transaction_start_offset = unset(producer.current_txn_start_offset) }
      end
    end
    return list
  end
end

return M
