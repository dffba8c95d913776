-- SPDX-License-Identifier: Apache-2.0
-- The hook client.authorize, request by request: what each API asks for, and what it answers where that is denied, which
-- is what a broker of Kafka 4.4.0 with ACLs answers. The hook denies what the client's id names, "read topic t", and
-- logs what it was asked.
local groups = require "spec.support.group"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local CONFIG = [[
broker { workers = 1, offsets_topic_num_partitions = 1 }
hook("client.authorize", function(request)
  local what = request.operation .. " " .. request.resource .. " " .. request.name
  if request.client_id ~= "spec" then
    log.info(("asked by <%s> in %s of %s at %s: %s"):format(request.client_id, request.api, request.principal, request.address,
      what))
  end
  for denied in request.client_id:gmatch "[^,]+" do
    if denied == what then reject(("no %s for this one"):format(what)) end
  end
end)
]]

local TOPIC, GROUP, CLUSTER, TRANSACTIONAL = 29, 30, 31, 53 -- authorization failed

local MEMBER = ("A"):rep(22)

--- A resource of DescribeConfigs and its like.
local function resource(kind, name) return { resource_type = kind, resource_name = name, configuration_keys = wire.NULL } end

local function alter(kind, name)
  return { resources = { { resource_type = kind, resource_name = name, configs = {} } }, validate_only = true }
end

local function join(version)
  return { group_id = "g", session_timeout_ms = 10000, rebalance_timeout_ms = 10000, member_id = "", protocol_type = "consumer",
    protocols = { { name = "range", metadata = groups.subscription { "t" } } }, group_instance_id = version >= 5 and wire.NULL or nil }
end

local function commit(version)
  return { group_id = "g", generation_id_or_member_epoch = -1, member_id = "",
    topics = { { name = version < 10 and "t" or nil, partitions = { { partition_index = 0, committed_offset = 1 } } } } }
end

local function fetch(version)
  return requests.fetch_body(version, { { { name = "t", id = ("\0"):rep(16) }, { {} } } }, { max_wait_ms = 0 })
end

local function create(name)
  return { topics = { { name = name, num_partitions = 1, replication_factor = 1, assignments = {}, configs = {} } },
    timeout_ms = 10000, validate_only = true }
end

local QUORUM = { topics = { { topic_name = "__cluster_metadata", partitions = { { partition_index = 0 } } } } }
local SCRAM = { deletions = { { name = "alice", mechanism = 1 } }, upsertions = {} }
local FEATURES = { timeout_ms = 1000, validate_only = true,
  feature_updates = { { feature = "metadata.version", max_version_level = 1, upgrade_type = 1 } } }

--- API, version, body, what it asks for, in the order in which each is denied, and the codes that it then has.
local CASES = {
  { "Produce", 9, function() return requests.produce_body(9, { { { name = "t" }, { { 0, records.sized(100) } } } }) end,
    { "write topic t" }, { TOPIC } },
  { "Fetch", 12, fetch(12), { "read topic t" }, { TOPIC } },
  { "Fetch", 4, fetch(4), { "read topic t" }, { TOPIC } },
  { "ListOffsets", 6, { replica_id = -1, topics = { { name = "t", partitions = { { timestamp = -1, current_leader_epoch = -1 } } } } },
    { "describe topic t" }, { TOPIC } },
  { "Metadata", 9, { topics = { { name = "t" } }, allow_auto_topic_creation = true }, { "describe topic t" }, { TOPIC } },
  { "Metadata", 9, { topics = { { name = "made" } }, allow_auto_topic_creation = true },
    { "describe topic made", "create topic made" }, { TOPIC, TOPIC } },
  { "Metadata", 9, { topics = { { name = "none" } }, allow_auto_topic_creation = false }, { "describe topic none" }, { TOPIC } },
  { "OffsetCommit", 8, commit(8), { "read group g", "read topic t" }, { GROUP, TOPIC } },
  { "OffsetFetch", 1, { group_id = "g", topics = { { name = "t", partition_indexes = { 0 } } } },
    { "describe group g", "describe topic t" }, { GROUP, TOPIC } },
  { "OffsetFetch", 8, { groups = { { group_id = "g", topics = { { name = "t", partition_indexes = { 0 } } } } } },
    { "describe group g", "describe topic t" }, { GROUP, TOPIC } },
  { "FindCoordinator", 2, { key = "g", key_type = 0 }, { "describe group g" }, { GROUP } },
  { "FindCoordinator", 6, { coordinator_keys = { "g" }, key_type = 0 }, { "describe group g" }, { GROUP } },
  { "FindCoordinator", 6, { coordinator_keys = { "x" }, key_type = 1 }, { "describe transactional_id x" }, { TRANSACTIONAL } },
  { "FindCoordinator", 6, { coordinator_keys = { "x" }, key_type = 2 }, { "cluster_action cluster kafka-cluster" }, { CLUSTER } },
  { "JoinGroup", 6, join(6), { "read group g" }, { GROUP } },
  { "Heartbeat", 4, { group_id = "g", generation_id = 1, member_id = "x" }, { "read group g" }, { GROUP } },
  { "LeaveGroup", 5, { group_id = "g", members = { { member_id = "x" } } }, { "read group g" }, { GROUP } },
  { "SyncGroup", 5, { group_id = "g", generation_id = 1, member_id = "x", protocol_type = "consumer", protocol_name = "range" },
    { "read group g" }, { GROUP } },
  { "DescribeGroups", 5, { groups = { "g" } }, { "describe group g" }, { GROUP } },
  { "ListGroups", 4, {}, { "describe group g" }, {} },
  { "ApiVersions", 3, { client_software_name = "a", client_software_version = "1" }, {}, {} },
  { "CreateTopics", 7, create "new", { "create topic new", "describe_configs topic new" }, { TOPIC, TOPIC } },
  { "DeleteTopics", 5, { topic_names = { "none" }, timeout_ms = 10000 }, { "describe topic none", "delete topic none" },
    { TOPIC, TOPIC } },
  { "DeleteRecords", 2, { topics = { { name = "t", partitions = { { offset = 0 } } } } }, { "delete topic t" }, { TOPIC } },
  { "InitProducerId", 4, { transactional_id = wire.NULL, transaction_timeout_ms = 1000, producer_id = -1, producer_epoch = -1 },
    { "idempotent_write cluster kafka-cluster" }, { CLUSTER } },
  { "InitProducerId", 4, { transactional_id = "x", transaction_timeout_ms = 1000, producer_id = -1, producer_epoch = -1 },
    { "write transactional_id x" }, { TRANSACTIONAL } },
  { "OffsetForLeaderEpoch", 4, { topics = { { topic = "t", partitions = { { current_leader_epoch = -1, leader_epoch = 0 } } } } },
    { "describe topic t" }, { TOPIC } },
  { "DescribeConfigs", 4, { resources = { resource(2, "t") } }, { "describe_configs topic t" }, { TOPIC } },
  { "DescribeConfigs", 4, { resources = { resource(4, "") } }, { "describe_configs cluster kafka-cluster" }, { CLUSTER } },
  { "DescribeConfigs", 4, { resources = { resource(32, "g") } }, { "describe_configs group g" }, { GROUP } },
  { "AlterConfigs", 2, alter(2, "t"), { "alter_configs topic t" }, { TOPIC } },
  { "AlterConfigs", 2, alter(4, ""), { "alter_configs cluster kafka-cluster" }, { CLUSTER } },
  { "IncrementalAlterConfigs", 1, alter(2, "t"), { "alter_configs topic t" }, { TOPIC } },
  { "IncrementalAlterConfigs", 1, alter(8, ""), { "alter_configs cluster kafka-cluster" }, { CLUSTER } },
  { "IncrementalAlterConfigs", 1, alter(16, "m"), { "alter_configs cluster kafka-cluster" }, { CLUSTER } },
  { "IncrementalAlterConfigs", 1, alter(32, "g"), { "alter_configs group g" }, { GROUP } },
  { "AlterReplicaLogDirs", 2, { dirs = { { path = "/none", topics = { { name = "t", partitions = { 0 } } } } } },
    { "alter cluster kafka-cluster" }, { CLUSTER } },
  { "DescribeLogDirs", 4, {}, { "describe cluster kafka-cluster" }, { CLUSTER } },
  { "CreatePartitions", 3, { topics = { { name = "t", count = 5, assignments = wire.NULL } }, timeout_ms = 1000, validate_only = true },
    { "alter topic t" }, { TOPIC } },
  { "DeleteGroups", 2, { groups_names = { "gone" } }, { "delete group gone" }, { GROUP } },
  { "ElectLeaders", 2, { topic_partitions = { { topic = "t", partitions = { 0 } } } }, { "alter cluster kafka-cluster" }, { CLUSTER } },
  { "AlterPartitionReassignments", 1, { topics = { { name = "t", partitions = { { replicas = { 1 } } } } } },
    { "alter cluster kafka-cluster" }, { CLUSTER } },
  { "ListPartitionReassignments", 0, { topics = wire.NULL }, { "describe cluster kafka-cluster" }, { CLUSTER } },
  { "OffsetDelete", 0, { group_id = "g", topics = { { name = "t", partitions = { { partition_index = 0 } } } } },
    { "delete group g", "read topic t" }, { GROUP, TOPIC } },
  { "DescribeClientQuotas", 1, {}, { "describe_configs cluster kafka-cluster" }, { CLUSTER } },
  { "DescribeUserScramCredentials", 0, {}, { "describe cluster kafka-cluster" }, { CLUSTER } },
  { "AlterUserScramCredentials", 0, SCRAM, { "alter cluster kafka-cluster" }, { CLUSTER } },
  { "DescribeQuorum", 2, QUORUM, { "describe cluster kafka-cluster" }, { CLUSTER } },
  { "UpdateFeatures", 1, FEATURES, { "alter cluster kafka-cluster" }, { CLUSTER } },
  { "DescribeCluster", 1, { endpoint_type = 1 }, {}, {} },
  { "DescribeProducers", 0, { topics = { { name = "t", partition_indexes = { 0 } } } }, { "read topic t" }, { TOPIC } },
  { "UnregisterBroker", 0, { broker_id = 99 }, { "alter cluster kafka-cluster" }, { CLUSTER } },
  { "ConsumerGroupHeartbeat", 1, { group_id = "new", member_id = MEMBER, member_epoch = 0, rebalance_timeout_ms = 1000,
    subscribed_topic_names = { "t" }, topic_partitions = {} }, { "read group new", "describe topic t" }, { GROUP, TOPIC } },
  { "ConsumerGroupDescribe", 1, { group_ids = { "c" } }, { "describe group c", "describe topic t" }, { GROUP, TOPIC } },
  { "ListConfigResources", 1, {}, { "describe_configs cluster kafka-cluster" }, { CLUSTER } },
  { "DescribeTopicPartitions", 0, { topics = { { name = "none" } }, response_partition_limit = 10 },
    { "describe topic none" }, { TOPIC }, "operations" },
}

--- Whether an answer has an error code somewhere.
local function has_code(value, code)
  if type(value) ~= "table" then return false end
  for key, inner in pairs(value) do
    if type(key) == "string" and key:match "error_code$" and inner == code then return true end
    if has_code(inner, code) then return true end
  end
  return false
end

describe("client.authorize", function()
  local broker, client

  --- Asks as the client of an id, over a connection of its own.
  local function ask(id, api, version, body)
    local other = broker:connect()
    local answer = assert(other:ask(api, version, type(body) == "function" and body() or body, { client_id = id }))
    other:close()
    return answer
  end

  --- What was asked about requests of a client, sorted.
  local function asked(id)
    local list = {}
    for line in broker:log():gmatch "[^\n]+" do
      local who, what = line:match "asked by <(.-)> in %w+ of User:ANONYMOUS at 127%.0%.0%.1: (.*)"
      if who == id then list[#list + 1] = what end
    end
    table.sort(list)
    return list
  end

  setup(function()
    broker = reload.start(CONFIG)
    client = broker:connect()
    requests.create(client, "t")
    groups.prepare(client)
    assert.equal(0, client:ask("OffsetCommit", 8, commit(8)).topics[1].partitions[1].error_code)
    local joined = client:ask("ConsumerGroupHeartbeat", 1, { group_id = "c", member_id = MEMBER, member_epoch = 0,
      rebalance_timeout_ms = 60000, subscribed_topic_names = { "t" }, topic_partitions = {} })
    assert.equal(0, joined.error_code)
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("is asked about every API that is served", function()
    local names, missing = {}, {}
    for _, case in ipairs(CASES) do names[wire.apis[case[1]].key] = true end
    for _, api in ipairs(client:ask("ApiVersions", 3, { client_software_name = "a", client_software_version = "1" }).api_keys) do
      if not names[api.api_key] then missing[#missing + 1] = api.api_key end
    end
    assert.same({}, missing)
  end)

  for number, case in ipairs(CASES) do
    local api, version, body, rights, codes = unpack(case, 1, 5)
    describe(("of a %s of version %d (%d)"):format(api, version, number), function()
      -- First: what is asked about is also done, and a topic that has been made cannot be denied to be made.
      for i, code in ipairs(codes) do
        it(("denies: %s, with error %d"):format(rights[i], code), function()
          assert.is_true(has_code(ask(rights[i], api, version, body), code))
        end)
      end
      it("is asked: " .. (rights[1] and table.concat(rights, ", ") or "nothing"), function()
        local id = "case " .. number
        local answer = ask(id, api, version, body)
        local list = asked(id)
        local expected = {}
        for i, right in ipairs(rights) do expected[i] = right end
        table.sort(expected)
        local seen = {}
        for _, what in ipairs(list) do
          for _, right in ipairs(expected) do
            if what == right then seen[#seen + 1] = what end
          end
        end
        assert.same(expected, seen)
        -- Groups are listed as there are, and the topic's other operations are for another spec.
        if api ~= "ListGroups" and not case[6] then assert.same(expected, list) end
        for _, code in ipairs(codes) do assert.is_false(has_code(answer, code)) end
      end)
    end)
  end
end)
