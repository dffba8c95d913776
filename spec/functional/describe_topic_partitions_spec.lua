-- SPDX-License-Identifier: Apache-2.0
-- DescribeTopicPartitions: pages, cursors, limits and errors as Apache Kafka 4.4.0 has them.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"

local OPERATIONS, NO_OPERATIONS = 3576, -2147483648

describe("DescribeTopicPartitions", function()
  local broker, client, node, a, b

  setup(function()
    broker = brokers.start { set = { "workers=2", "max_request_partition_size_limit=6" } }
    client = broker:connect()
    a, b = requests.create(client, "a", { partitions = 3 }), requests.create(client, "b", { partitions = 2 })
    node = client:ask("Metadata", 13, { topics = {} }).brokers[1].node_id
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function ask(names, options)
    options = options or {}
    local body = { topics = {}, response_partition_limit = options.limit or 2000, cursor = wire.NULL }
    if options.cursor then body.cursor = { topic_name = options.cursor[1], partition_index = options.cursor[2] } end
    for i, name in ipairs(names) do body.topics[i] = { name = name } end
    return client:ask("DescribeTopicPartitions", 0, body)
  end

  --- Topics as "name:error:partitions", then the next cursor as "> name partition".
  local function told(...)
    local answer, list = ask(...), {}
    for i, topic in ipairs(answer.topics) do
      local partitions = {}
      for n, part in ipairs(topic.partitions) do partitions[n] = part.partition_index end
      list[i] = ("%s:%d:%s"):format(topic.name, topic.error_code, table.concat(partitions, ","))
      assert.equal((topic.error_code == -1 or topic.error_code == 42) and NO_OPERATIONS or OPERATIONS, topic.topic_authorized_operations)
      if topic.error_code ~= 0 then assert.equal(wire.NO_UUID, topic.topic_id) end
    end
    if answer.next_cursor then list[#list + 1] = ("> %s %d"):format(answer.next_cursor.topic_name, answer.next_cursor.partition_index) end
    return list
  end

  it("describes topics by rising name with all that is known of their partitions", function()
    local answer = ask { "b", "a" }
    assert.is_nil(answer.next_cursor)
    assert.equal(2, #answer.topics)
    local topic = answer.topics[1]
    assert.same({ "a", 0, a.id, false, OPERATIONS }, { topic.name, topic.error_code, topic.topic_id, topic.is_internal,
      topic.topic_authorized_operations })
    assert.same({ "b", b.id }, { answer.topics[2].name, answer.topics[2].topic_id })
    local part = topic.partitions[3]
    assert.same({ 0, 2, node, 0, { node }, { node }, {}, {}, {} }, { part.error_code, part.partition_index, part.leader_id,
      part.leader_epoch, part.replica_nodes, part.isr_nodes, part.eligible_leader_replicas, part.last_known_elr, part.offline_replicas })
  end)

  it("answers 3 and 17 for what is not there, beside what is, and says which would be the broker's own", function()
    assert.same({ "no:3:" }, told { "no" })
    assert.same({ "a:0:0,1,2", "no:3:" }, told { "no", "a" })
    assert.same({ "a b:17:", "b:0:0,1" }, told { "a b", "b" })
    local answer = ask { "__transaction_state", "__cluster_metadata" }
    assert.same({ 3, false, 3, true }, { answer.topics[1].error_code, answer.topics[1].is_internal, answer.topics[2].error_code,
      answer.topics[2].is_internal })
  end)

  it("answers a topic that is named twice once", function() assert.same({ "a:0:0,1,2" }, told { "a", "a" }) end)

  it("ends a page at the limit and says where the next begins", function()
    assert.same({ "a:0:0", "> a 1" }, told({ "a", "b" }, { limit = 1 }))
    assert.same({ "a:0:0,1", "> a 2" }, told({ "a", "b" }, { limit = 2 }))
    assert.same({ "a:0:0,1,2", "> b 0" }, told({ "a", "b" }, { limit = 3 }))
    assert.same({ "a:0:0,1,2", "b:0:0", "> b 1" }, told({ "a", "b" }, { limit = 4 }))
    assert.same({ "a:0:0,1,2", "b:0:0,1" }, told({ "a", "b" }, { limit = 5 }))
  end)

  it("takes limits below 1 as 1", function()
    for _, limit in ipairs { 0, -1, -2147483648 } do assert.same({ "a:0:0", "> a 1" }, told({ "a", "b" }, { limit = limit })) end
  end)

  it("gives no more than max.request.partition.size.limit, 2000 by default", function()
    requests.create(client, "c", { partitions = 7 })
    assert.same({ "c:0:0,1,2,3,4,5", "> c 6" }, told({ "c" }, { limit = 2147483647 }))
    requests.delete(client, { name = "c" })
    local answer = client:ask("DescribeConfigs", 4, { resources = { { resource_type = 4, resource_name = tostring(node),
      configuration_keys = { "max.request.partition.size.limit" } } } })
    assert.equal("6", answer.results[1].configs[1].value)
  end)

  it("counts nothing for topics that are not there, unless the page is full", function()
    assert.same({ "a:0:0,1,2", "aa:3:", "b:0:0", "> b 1" }, told({ "b", "aa", "a" }, { limit = 4 }))
    assert.same({ "a:0:0,1,2", "aa:3:" }, told({ "aa", "a" }, { limit = 4 }))
    assert.same({ "b:0:0,1", "> zz 0" }, told({ "zz", "b" }, { limit = 2 }))
  end)

  it("goes on at a cursor", function()
    assert.same({ "a:0:1,2", "b:0:0,1" }, told({ "a", "b" }, { cursor = { "a", 1 } }))
    assert.same({ "b:0:0,1" }, told({ "a", "b" }, { cursor = { "b", 0 } }))
    assert.same({ "b:0:" }, told({ "a", "b" }, { cursor = { "b", 2 } }))
    assert.same({ "a:0:", "b:0:0,1" }, told({ "a", "b" }, { cursor = { "a", 9 } }))
    assert.same({ "a:0:", "b:0:0,1" }, told({ "a", "b" }, { cursor = { "a", 2147483647 } }))
    assert.same({ "aa:3:", "b:0:0,1" }, told({ "a", "aa", "b" }, { cursor = { "aa", 1 } }))
    assert.same({ "a:0:1", "> a 2" }, told({ "a", "b" }, { cursor = { "a", 1 }, limit = 1 }))
  end)

  it("answers 42 for every topic as it was named where the cursor's is not among them, or its index is negative", function()
    assert.same({ "a:42:", "b:42:" }, told({ "a", "b" }, { cursor = { "aa", 0 } }))
    assert.same({ "a:42:", "b:42:" }, told({ "a", "b" }, { cursor = { "z", 0 } }))
    assert.same({ "a:42:", "a:42:", "b:42:" }, told({ "a", "a", "b" }, { cursor = { "a", -1 } }))
    assert.same({ "b:42:" }, told({ "b" }, { cursor = { "", 0 } }))
  end)

  it("answers -1 for every topic where one has an empty name and there is no cursor, as Kafka does", function()
    assert.same({ ":-1:" }, told { "" })
    assert.same({ ":-1:", "a:-1:" }, told { "", "a" })
    assert.same({ ":17:", "b:0:0,1" }, told({ "", "b" }, { cursor = { "", 0 } }))
    assert.same({ "b:0:0,1" }, told({ "", "b" }, { cursor = { "b", 0 } }))
  end)

  it("describes all topics, a page at a time, when none is named", function()
    assert.same({ "a:0:0,1,2", "b:0:0,1" }, told {})
    assert.same({ "a:0:0,1", "> a 2" }, told({}, { limit = 2 }))
    assert.same({ "a:0:2", "b:0:0", "> b 1" }, told({}, { limit = 2, cursor = { "a", 2 } }))
    assert.same({ "b:0:1" }, told({}, { limit = 2, cursor = { "b", 1 } }))
    assert.same({ "b:0:0,1" }, told({}, { cursor = { "aa", 1 } }))
    assert.same({ "a:0:0,1,2", "b:0:0,1" }, told({}, { cursor = { "", 0 } }))
    assert.same({}, told({}, { cursor = { "zz", 0 } }))
    assert.same({}, told({}, { cursor = { "a", -1 } }))
  end)

  it("walks through many topics by its cursors, and meets each partition once", function()
    for i = 1, 20 do requests.create(client, ("m%02d"):format(i), { partitions = i % 4 + 1 }) end
    local seen, cursor, pages = {}, nil, 0
    repeat
      local answer = ask({}, { cursor = cursor, limit = 5 })
      local count = 0
      for _, topic in ipairs(answer.topics) do
        for _, part in ipairs(topic.partitions) do
          local key = topic.name .. "-" .. part.partition_index
          assert.is_nil(seen[key])
          seen[key] = true
          count = count + 1
        end
      end
      assert.is_true(count <= 5)
      pages = pages + 1
      cursor = answer.next_cursor and { answer.next_cursor.topic_name, answer.next_cursor.partition_index }
    until not cursor
    local total = 0
    for _ in pairs(seen) do total = total + 1 end
    assert.equal(5 + 50, total)
    assert.equal(11, pages)
    for i = 1, 20 do requests.delete(client, { name = ("m%02d"):format(i) }) end
  end)

  it("creates nothing", function()
    ask { "looked-at" }
    assert.is_nil(requests.find(client, "looked-at"))
  end)

  it("answers 50000 names, each once", function()
    local names = {}
    for i = 1, 50000 do names[i] = ("none-%05d"):format(i % 25000) end
    local answer = ask(names)
    assert.equal(25000, #answer.topics)
    assert.equal("none-00000", answer.topics[1].name)
    assert.equal("none-24999", answer.topics[25000].name)
  end)

  it("closes the connection on a request that ends early, at every length, and on null topics", function()
    assert.is_nil(malformed.first_accepted_prefix(broker, "DescribeTopicPartitions", 0, { topics = { { name = "a" } },
      cursor = { topic_name = "a", partition_index = 0 } }))
    assert.equal("", malformed.send(broker, unit.bytes "004b 0000 00000007 0001 78 00  00 000007d0 ff 00"))
  end)
end)
