-- SPDX-License-Identifier: Apache-2.0
-- The texts read here have the fields of nodes that Apache Kafka 3.9.1 wrote.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("controller/topic_nodes.h", "base/arena.h", "base/error.h")

describe("topic nodes", function()
  local arena
  before_each(function() arena = ffi.new "struct arena" end)
  after_each(function() C.arena_destroy(arena) end)

  local function message() return ffi.string(C.error_last().message) end
  local function id_of(text)
    local id = ffi.new "struct uuid"
    assert(C.uuid_parse(text, id) == 0)
    return id
  end

  it("are where Kafka has them", function()
    assert.equal("/brokers/topics/a.b", ffi.string(C.topic_nodes_path_topic(arena, "a.b")))
    assert.equal("/config/topics/a.b", ffi.string(C.topic_nodes_path_config(arena, "a.b")))
    assert.equal("/brokers/topics/a.b/partitions/12", ffi.string(C.topic_nodes_path_partition(arena, "a.b", 12)))
    assert.equal("/brokers/topics/a.b/partitions/12/state", ffi.string(C.topic_nodes_path_state(arena, "a.b", 12)))
    assert.equal("/admin/delete_topics/a.b", ffi.string(C.topic_nodes_path_delete(arena, "a.b")))
  end)

  it("are written in Kafka's JSON", function()
    local specs = ffi.new "struct metadata_partition_spec[2]"
    local r0, r1 = ffi.new("int32_t[2]", { 1, 2 }), ffi.new("int32_t[1]", { 2 })
    specs[0].replicas, specs[0].replica_count = r0, 2
    specs[1].replicas, specs[1].replica_count = r1, 1
    assert.equal('{"version":3,"topic_id":"56byNtHMTPGe_YXW_687jw","partitions":{"0":[1,2],"1":[2]},'
      .. '"adding_replicas":{},"removing_replicas":{}}',
      ffi.string(C.topic_nodes_topic(arena, id_of "56byNtHMTPGe_YXW_687jw", specs, 2)))
    assert.equal('{"version":1,"leader":1,"leader_epoch":3,"controller_epoch":7,"isr":[1,2]}',
      ffi.string(C.topic_nodes_state(arena, 1, 3, r0, 2, 7)))
    local configs = ffi.new "struct config_entry[1]"
    configs[0].name, configs[0].value = "retention.ms", " 5 "
    assert.equal('{"version":1,"config":{"retention.ms":" 5 "}}', ffi.string(C.topic_nodes_config(arena, configs, 1)))
    assert.equal('{"version":1,"config":{}}', ffi.string(C.topic_nodes_config(arena, nil, 0)))
    assert.equal('{"version":2,"brokerid":1,"timestamp":"1700000000000","kraftControllerEpoch":-1}',
      ffi.string(C.topic_nodes_controller(arena, 1, 1700000000000LL)))
    assert.equal('{"version":"1","id":"dgKQHFcXRG2alo1SXhHoSw"}', ffi.string(C.topic_nodes_cluster(arena, "dgKQHFcXRG2alo1SXhHoSw")))
  end)

  local function endpoints(list)
    local array = ffi.new("struct metadata_endpoint[?]", #list)
    for i, e in ipairs(list) do
      array[i - 1].listener, array[i - 1].protocol, array[i - 1].host, array[i - 1].port = e[1], e[2], e[3], e[4]
    end
    return array, #list
  end

  it("register a broker with the address of its first plain listener for old tools", function()
    local list, count = endpoints { { "TLS", "SSL", "h", 9093 }, { "IN", "PLAINTEXT", "::1", 9092 } }
    assert.equal('{"version":5,"host":"::1","port":9092,"jmx_port":-1,"timestamp":"12","endpoints":["TLS://h:9093","IN://[::1]:9092"],'
      .. '"listener_security_protocol_map":{"TLS":"SSL","IN":"PLAINTEXT"},"features":{},"rack":"r1"}',
      ffi.string(C.topic_nodes_broker(arena, "r1", list, count, 12)))
    list, count = endpoints { { "TLS", "SSL", "h", 9093 } }
    assert.is_truthy(ffi.string(C.topic_nodes_broker(arena, nil, list, count, 12)):find('"host":null,"port":-1', 1, true))
  end)

  it("give back the broker that was registered", function()
    local list, count = endpoints { { "TLS", "SSL", "h", 9093 }, { "IN", "PLAINTEXT", "::1", 9092 } }
    local text = C.topic_nodes_broker(arena, "r1", list, count, 12)
    local out = ffi.new "struct metadata_broker *[1]"
    assert.equal(0, C.topic_nodes_read_broker(arena, text, 5, 99, out))
    local broker = out[0]
    assert.equal(5, broker.id)
    assert.equal(99, tonumber(broker.epoch))
    assert.equal("r1", ffi.string(broker.rack))
    assert.equal("::1", ffi.string(broker.endpoints[1].host))
    assert.equal("IN", ffi.string(broker.endpoints[1].listener))
    assert.equal("SSL", ffi.string(broker.endpoints[0].protocol))
    assert.equal(9093, broker.endpoints[0].port)
    C.metadata_broker_unref(broker)
  end)

  it("are read as Kafka wrote them", function()
    local topic, state = ffi.new "struct topic_node", ffi.new "struct state_node"
    assert.equal(0, C.topic_nodes_read_topic(arena,
      '{"partitions":{"1":[2],"0":[1,2]},"topic_id":"56byNtHMTPGe_YXW_687jw","adding_replicas":{},"removing_replicas":{},"version":3}',
        topic))
    assert.equal(2, topic.partition_count)
    assert.equal(2, topic.partitions[0].replica_count)
    assert.equal(2, topic.partitions[1].replicas[0])
    assert.equal(unit.hex(id_of("56byNtHMTPGe_YXW_687jw").bytes, 16), unit.hex(topic.id.bytes, 16))
    assert.equal(0, C.topic_nodes_read_state(arena, '{"controller_epoch":1,"leader":-1,"version":1,"leader_epoch":0,"isr":[1]}', state))
    assert.equal(-1, state.leader)
    assert.equal(1, state.controller_epoch)
    assert.equal(1, state.isr_count)
    local configs, count = ffi.new "struct config_entry *[1]", ffi.new "int32_t[1]"
    assert.equal(0, C.topic_nodes_read_config(arena, '{"version":1,"config":{"cleanup.policy":"compact","retention.ms":"86400000"}}',
      configs, count))
    assert.equal(2, count[0])
    assert.equal("86400000", ffi.string(configs[0][1].value))
    local id = ffi.new "const char *[1]"
    assert.equal(0, C.topic_nodes_read_cluster(arena, '{"version":"1","id":"dgKQHFcXRG2alo1SXhHoSw"}', id))
    assert.equal("dgKQHFcXRG2alo1SXhHoSw", ffi.string(id[0]))
  end)

  it("of a topic from before topic ids have no id", function()
    local topic = ffi.new "struct topic_node"
    assert.equal(0, C.topic_nodes_read_topic(arena, '{"version":1,"partitions":{"0":[1]}}', topic))
    assert.equal(("00"):rep(16), unit.hex(topic.id.bytes, 16))
  end)

  for _, case in ipairs {
    { "topic", nil, "not JSON" }, { "topic", "", "not JSON" }, { "topic", "[]", "not a JSON object" }, { "topic", "{}",
      "'partitions' is missing or empty" },
    { "topic", '{"partitions":{}}', "'partitions' is missing or empty" }, { "topic", '{"partitions":{"1":[1]}}',
      "partition 0 is missing among 1" },
    { "topic", '{"partitions":{"0":["x"]}}', "'0' is not a list of broker ids" }, { "topic", '{"partitions":{"0":[-1]}}',
      "'0' is not a list of broker ids" },
    { "topic", '{"partitions":{"0":[1]},"topic_id":"x"}', "'topic_id' is not an id" },
    { "state", '{"leader":-2,"leader_epoch":0,"controller_epoch":1,"isr":[1]}', "'leader' is missing or out of range" },
    { "state", '{"leader":1,"leader_epoch":2147483648,"controller_epoch":1,"isr":[1]}', "'leader_epoch' is missing or out of range" },
    { "state", '{"leader":1,"leader_epoch":0,"controller_epoch":1}', "'isr' is not a list of broker ids" },
    { "broker", "{}", "'endpoints' is missing or empty" }, { "broker", '{"endpoints":["soup"]}', "endpoint 'soup' cannot be read" },
    { "broker", '{"endpoints":["A://h:0"]}', "endpoint 'A://h:0' cannot be read" }, { "broker", '{"endpoints":["A://h:65536"]}',
      "endpoint 'A://h:65536' cannot be read" },
    { "broker", '{"endpoints":["A://:1"]}', "endpoint 'A://:1' cannot be read" }, { "broker", '{"endpoints":[7]}',
      "endpoint '' cannot be read" },
    { "cluster", "{}", "'id' is missing or too long" },
  } do
    it(("say what is wrong with a %s node %s"):format(case[1], tostring(case[2])), function()
      local result
      if case[1] == "topic" then
        result = C.topic_nodes_read_topic(arena, case[2], ffi.new "struct topic_node")
      elseif case[1] == "state" then
        result = C.topic_nodes_read_state(arena, case[2], ffi.new "struct state_node")
      elseif case[1] == "cluster" then
        result = C.topic_nodes_read_cluster(arena, case[2], ffi.new "const char *[1]")
      else
        result = C.topic_nodes_read_broker(arena, case[2], 1, 1, ffi.new "struct metadata_broker *[1]")
      end
      assert.equal(C.ERR_CORRUPT, result)
      assert.equal(case[3], message():sub(1, #case[3]))
    end)
  end
end)
