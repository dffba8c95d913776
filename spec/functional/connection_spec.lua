-- SPDX-License-Identifier: Apache-2.0
-- Connections: answers in the order of the requests, half-closed and idle ones, slow readers, very many of them.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"
local resource = require "posix.sys.resource"
local socket = require "posix.sys.socket"

local FETCH, PRODUCE = requests.FETCH, requests.PRODUCE
local batch = records.batch

local measures_memory = (os.getenv "LUKA_SAN" or "") == "" and not os.getenv "VALGRIND"

local function fetch_body(topic, part, options) return requests.fetch_body(FETCH, { { topic, { part } } }, options) end

describe("A connection", function()
  local broker, client, count = nil, nil, 0

  local function topic(options)
    count = count + 1
    return requests.create(client, ("topic-%d"):format(count), options)
  end

  setup(function() broker = brokers.start { set = { "workers=2" } } end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  it("answers a slow request before the quick one behind it", function()
    local a = topic()
    local slow = client:request("Fetch", FETCH, fetch_body(a, {}, { max_wait_ms = 200, min_bytes = 1 }))
    local quick = client:request("Metadata", 13, { topics = {} })
    assert.equal("", client:answer("Fetch", FETCH, slow).responses[1].partitions[1].records)
    assert.same({}, client:answer("Metadata", 13, quick).topics)
  end)

  it("does not answer what stands behind a waiting Fetch until that is answered", function()
    local a, writer = topic(), broker:connect()
    local fetch = client:request("Fetch", FETCH, fetch_body(a, {}, { max_wait_ms = 600000, min_bytes = 1 }))
    local produce = requests.send_produce(client, a, batch { records = { "own" } })
    local metadata = client:request("Metadata", 13, { topics = {} })
    assert.equal(0, requests.append(writer, a, batch { records = { "other" } }))
    assert.same({ "other" }, records.values(client:answer("Fetch", FETCH, fetch).responses[1].partitions[1].records))
    assert.equal(1, client:answer("Produce", PRODUCE, produce).responses[1].partition_responses[1].base_offset)
    assert.equal(1, #client:answer("Metadata", 13, metadata).brokers)
    writer:close()
  end)

  it("answers different requests that came at once in their order, each with what the ones before it did", function()
    local a = topic()
    local sent = {}
    local function send(api, version, body) sent[#sent + 1] = { api, version, client:request(api, version, body) } end
    for i = 0, 39 do
      send("Produce", PRODUCE, requests.produce_body(PRODUCE, { { a, { { 0, batch { records = { "v" .. i } } } } } }))
      send("ListOffsets", 7, { replica_id = -1, topics = { { name = a.name, partitions = { { partition_index = 0, timestamp = -1 } } } } })
      send("Fetch", FETCH, fetch_body(a, { fetch_offset = i }))
      send("ApiVersions", 0, {})
      send("Metadata", 12, { topics = { { name = a.name } } })
      send("CreateTopics", 7, { timeout_ms = 30000,
        topics = { { name = ("made-%d"):format(i), num_partitions = 1, replication_factor = 1 } } })
      send("DeleteTopics", 6, { topics = { { name = ("made-%d"):format(i) } }, timeout_ms = 30000 })
      send("FindCoordinator", 3, { key = "group" })
    end
    for at, one in ipairs(sent) do
      local i = math.floor((at - 1) / 8)
      local answer = client:answer(one[1], one[2], one[3])
      if one[1] == "Produce" then
        assert.equal(i, answer.responses[1].partition_responses[1].base_offset)
      elseif one[1] == "ListOffsets" then
        assert.equal(i + 1, answer.topics[1].partitions[1].offset)
      elseif one[1] == "Fetch" then
        assert.same({ "v" .. i }, records.values(answer.responses[1].partitions[1].records))
      elseif one[1] == "CreateTopics" then
        assert.equal(0, answer.topics[1].error_code)
      elseif one[1] == "DeleteTopics" then
        assert.equal(0, answer.responses[1].error_code)
      end
    end
  end)

  it("takes requests byte by byte, and many in one piece", function()
    local frames = {}
    for i = 1, 50 do
      local frame = wire.request("ApiVersions", i % 2 == 0 and 3 or 0, { client_software_name = i % 2 == 0 and "a" or nil,
        client_software_version = i % 2 == 0 and "1" or nil }, { correlation_id = i })
      frames[i] = unit.bytes(("%08x"):format(#frame)) .. frame
    end
    client:send(table.concat(frames))
    for i = 1, 50 do assert.equal(0, client:answer("ApiVersions", i % 2 == 0 and 3 or 0, i).error_code) end
    for at = 1, 200 do client:send(table.concat(frames, "", 1, 10):sub(at, at)) end
    client:send(table.concat(frames, "", 1, 10):sub(201))
    for i = 1, 10 do assert.equal(0, client:answer("ApiVersions", i % 2 == 0 and 3 or 0, i).error_code) end
  end)

  it("that is half closed gets its answers, then the end", function()
    local a = topic()
    local produces = {}
    for i = 1, 20 do produces[i] = requests.send_produce(client, a, batch()) end
    local fetch = client:request("Fetch", FETCH, fetch_body(a, { fetch_offset = 20 }, { max_wait_ms = 100, min_bytes = 1 }))
    local metadata = client:request("Metadata", 13, { topics = {} })
    client:finish()
    for i = 1, 20 do
      assert.equal(i - 1, client:answer("Produce", PRODUCE, produces[i]).responses[1].partition_responses[1].base_offset)
    end
    assert.equal(20, client:answer("Fetch", FETCH, fetch).responses[1].partitions[1].high_watermark)
    assert.equal(1, #client:answer("Metadata", 13, metadata).brokers)
    assert.equal("", client:receive_end())
  end)

  it("is closed by a Produce with acks=0 that fails, and no Produce behind it is appended", function()
    local a, writer = topic(), broker:connect()
    local frames = {}
    for i, options in ipairs { { acks = 0, partition = 0 }, { acks = 0, partition = 7 }, { acks = -1, partition = 0 } } do
      local body = requests.produce_body(PRODUCE, { { a, { { options.partition, batch() } } } }, options)
      local frame = wire.request("Produce", PRODUCE, body, { correlation_id = i })
      frames[i] = unit.bytes(("%08x"):format(#frame)) .. frame
    end
    writer:send(table.concat(frames))
    assert.equal("", writer:receive_end())
    assert.equal(1, requests.end_offset(client, a))
    writer:close()
  end)

  it("that does not read its answers holds up nobody else, and gets them when it does", function()
    local a = topic()
    local sent = batch { records = { records.noise(900000, 7) } }
    requests.append(client, a, sent)
    local slow = broker:connect()
    local ids = {}
    for i = 1, 30 do ids[i] = slow:request("Fetch", FETCH, fetch_body(a, {})) end
    for i = 1, 20 do assert.equal(i, requests.append(client, a, batch())) end
    for i = 1, 30 do
      local part = slow:answer("Fetch", FETCH, ids[i]).responses[1].partitions[1]
      assert.is_true(part.records:sub(1, #sent) == records.stored(sent, 0))
    end
    slow:close()
  end)

  it("may be cut while an answer is under way", function()
    local a = topic()
    requests.append(client, a, batch { records = { records.noise(900000, 7) } })
    for i = 1, 30 do
      local gone = broker:connect()
      for _ = 1, 10 do gone:request("Fetch", FETCH, fetch_body(a, {})) end
      if i % 2 == 0 then gone:receive_frame() end
      if i % 3 == 0 then socket.setsockopt(gone.fd, socket.SOL_SOCKET, socket.SO_LINGER, 1, 0) end
      gone:close()
    end
    assert.is_true(requests.is_well(broker))
  end)
end)

describe("Connections", function()
  it("are served by the thousand, in little memory", function()
    local soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE), nil
    if type(soft) == "table" then soft, hard = soft.rlim_cur, soft.rlim_max end
    if soft < 1200 then resource.setrlimit(resource.RLIMIT_NOFILE, { rlim_cur = 1200, rlim_max = hard }) end
    local broker = brokers.start { set = { "workers=2" } }
    local all = {}
    for i = 1, 1000 do all[i] = broker:connect() end
    for round = 1, 2 do
      for _, client in ipairs(all) do client:request("Metadata", 9, { topics = {} }) end
      for _, client in ipairs(all) do assert.equal(1, #client:answer("Metadata", 9, round).brokers) end
    end
    if measures_memory then
      local status = unit.read_file(("/proc/%d/status"):format(broker.pid))
      assert.is_true(tonumber(status:match "VmRSS:%s*(%d+) kB") < 64 * 1024)
    end
    local a = requests.create(all[1], "a")
    for i, client in ipairs(all) do
      client.produce = requests.send_produce(client, a, batch { records = { tostring(i) } })
    end
    local seen = {}
    for _, client in ipairs(all) do
      local answer = client:answer("Produce", PRODUCE, client.produce).responses[1].partition_responses[1]
      assert.equal(0, answer.error_code)
      assert.is_nil(seen[answer.base_offset])
      seen[answer.base_offset] = true
    end
    assert.equal(1000, requests.end_offset(all[1], a))
    for _, client in ipairs(all) do client:close() end
    assert.is_true(requests.is_well(broker))
    assert.equal(0, broker:stop())
  end)

  it("beyond max.connections are not served until others have gone", function()
    local broker = brokers.start { set = { "workers=2", "max_connections=2" } }
    local first, second = broker:connect(), broker:connect()
    for _, client in ipairs { first, second } do assert.equal(1, #client:ask("Metadata", 9, { topics = {} }).brokers) end
    local third = broker:connect()
    local waiting = third:request("Metadata", 9, { topics = {} })
    assert.equal(1, #first:ask("Metadata", 9, { topics = {} }).brokers)
    assert.same({ nil, "timeout" }, { third:receive_frame(50) })
    second:close()
    assert.equal(1, #third:answer("Metadata", 9, waiting).brokers)
    third:close()
    assert.equal(1, #first:ask("Metadata", 9, { topics = {} }).brokers)
    first:close()
    assert.equal(0, broker:stop())
  end)

  it("that say nothing for connections.max.idle.ms are closed, but not those that wait for an answer", function()
    local broker = brokers.start { set = { "workers=1", "connections_max_idle_ms=300" } }
    local waiting, idle = broker:connect(), broker:connect()
    local a = requests.create(waiting, "a")
    assert.equal(0, requests.end_offset(idle, a))
    local id = waiting:request("Fetch", FETCH, fetch_body(a, {}, { max_wait_ms = 1500, min_bytes = 1 }))
    assert.equal("", idle:receive_end()) -- a clean end, not a reset
    assert.equal(0, waiting:answer("Fetch", FETCH, id).responses[1].partitions[1].error_code)
    assert.equal(0, requests.end_offset(waiting, a))
    assert.is_nil(broker:log():match " error ")
    assert.is_nil(broker:log():match "warn[^\n]*connection")
    waiting:close()
    idle:close()
    assert.equal(0, broker:stop())
  end)

  it("get their answers before a broker that is asked to stop is gone", function()
    local broker = brokers.start { set = { "workers=2" } }
    local client, other = broker:connect(), broker:connect()
    local a = requests.create(client, "a")
    local fetch = client:request("Fetch", FETCH, fetch_body(a, {}, { max_wait_ms = 600000, min_bytes = 1 }))
    local metadata = client:request("Metadata", 9, { topics = {} })
    client:wait_until_read()
    assert.equal(0, requests.end_offset(other, a))
    assert.equal(0, broker:stop())
    local part = client:answer("Fetch", FETCH, fetch).responses[1].partitions[1]
    assert.same({ 0, "" }, { part.error_code, part.records })
    local answer, why = client:answer("Metadata", 9, metadata)
    assert.is_true(answer ~= nil or why == "closed")
    assert.equal("", other:receive_end())
    client:close()
    other:close()
    assert.is_nil((pcall(clients.connect, broker.port)) and "still listening" or nil)
  end)
end)
