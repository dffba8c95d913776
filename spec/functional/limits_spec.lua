-- SPDX-License-Identifier: Apache-2.0
-- Limits of a broker: connections of an address, memory of requests and of answers, descriptors; and that what a hostile
-- client does within them is borne.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"

local KIB, MIB = 1024, 1024 * 1024
local PRODUCE = requests.PRODUCE
local NOTHING = { topics = {} }

-- Instrumented programs need memory of their own.
local measures_memory = (os.getenv "LUKA_SAN" or "") == "" and not os.getenv "VALGRIND"

--- What the process holds in memory, in bytes, and the most that it ever held.
local function memory(broker)
  local status = unit.read_file(("/proc/%d/status"):format(broker.pid))
  return tonumber(status:match "VmRSS:%s*(%d+) kB") * KIB, tonumber(status:match "VmHWM:%s*(%d+) kB") * KIB
end

--- Processor time of the process so far, in seconds.
local function processor_s(broker)
  local fields = "%) " .. ("%S+ "):rep(11) .. "(%d+) (%d+)"
  local user, system = unit.read_file(("/proc/%d/stat"):format(broker.pid)):match(fields)
  return (tonumber(user) + tonumber(system)) / 100
end

local function is_served(client) return #client:ask("Metadata", 9, NOTHING).brokers == 1 end

--- A Produce as it is on the wire.
local function produce_frame(topic, size, correlation_id)
  local body = requests.produce_body(PRODUCE, { { topic, { { 0, records.batch { records = { ("x"):rep(size) } } } } } })
  local frame = wire.request("Produce", PRODUCE, body, { correlation_id = correlation_id })
  return unit.bytes(("%08x"):format(#frame)) .. frame
end

--- Starts a broker that may have so many files open.
local function start_with_files(limit, options)
  local file = unit.temp_dir() .. "/luka"
  unit.write_file(file, ("#!/bin/sh\nulimit -n %d\nexec '%s' \"$@\"\n"):format(limit, brokers.PROGRAM))
  assert.equal(0, os.execute("chmod +x " .. file))
  local program = brokers.PROGRAM
  brokers.PROGRAM = file
  local ok, broker = pcall(brokers.start, options)
  brokers.PROGRAM = program
  assert(ok, broker)
  return broker
end

describe("A broker's limits", function()
  local REFUSED = {
    { "queued_max_request_bytes=1000", "--set queued_max_request_bytes: got 1000, expected at least socket_request_max_bytes (104857600)" },
    { "max_connections_per_ip=0", "--set max_connections_per_ip: can be 0 only if max_connections_per_ip_overrides is set" },
    { "max_connections_per_ip_overrides=127.0.0.1", 'max_connections_per_ip_overrides: got "127.0.0.1", expected host:count' },
    { "max_connections_per_ip_overrides=no.such.host.invalid:1", "host no.such.host.invalid is unknown" },
    { "max_connections_per_ip=-1", 'max_connections_per_ip: got "-1", expected a whole number from 0 to 2147483647' },
  }
  for _, case in ipairs(REFUSED) do
    it("do not let it start with " .. case[1], function()
      local broker = brokers.start { set = { case[1] }, wait = false }
      assert.equal(2, broker:wait_exit())
      assert.truthy(broker:log():find(case[2], 1, true), broker:log())
    end)
  end

  it("are described", function()
    local broker = brokers.start { set = { "max_connections_per_ip=7", "max_connections_per_ip_overrides=localhost:9",
      "luka_queued_max_response_bytes=5000000" } }
    local client = broker:connect()
    local keys = { "max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides", "queued.max.request.bytes",
      "luka.queued.max.response.bytes", "socket.request.max.bytes", "connections.max.idle.ms" }
    local resource = { resource_type = 4, resource_name = "1", configuration_keys = keys }
    local result = client:ask("DescribeConfigs", 4, { resources = { resource } }).results[1]
    local values = {}
    for _, config in ipairs(result.configs) do values[config.name] = config.value end
    assert.equal(7, #result.configs)
    values["queued.max.request.bytes"] = nil -- not set: a share of the memory
    assert.same({ ["max.connections"] = "2147483647", ["max.connections.per.ip"] = "7",
      ["max.connections.per.ip.overrides"] = "localhost:9", ["luka.queued.max.response.bytes"] = "5000000",
      ["socket.request.max.bytes"] = "104857600",
      ["connections.max.idle.ms"] = "600000" }, values)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("Connections of one address", function()
  it("beyond max.connections.per.ip are closed at once; others are served", function()
    local broker = brokers.start { set = { "workers=2", "max_connections_per_ip=3", "max_connections_per_ip_overrides=127.0.0.7:1" } }
    local all = {}
    for i = 1, 3 do
      all[i] = broker:connect()
      assert.is_true(is_served(all[i]))
    end
    for _ = 1, 30 do
      local more = broker:connect()
      assert.equal("", more:receive_end())
      more:close()
    end
    local own = broker:connect(1, "127.0.0.7")
    assert.is_true(is_served(own))
    assert.equal("", broker:connect(1, "127.0.0.7"):receive_end())
    all[1]:close()
    clients.wait_until("there is room for another one", function()
      all[1] = broker:connect()
      all[1]:request("Metadata", 9, NOTHING)
      return all[1]:receive_frame(1000) ~= nil
    end)
    local _, lines = broker:log():gsub("its address has max%.connections%.per%.ip", "")
    assert.is_true(lines >= 1 and lines <= 3, broker:log())
    assert.equal(0, broker:stop())
  end)
end)

describe("Memory of requests", function()
  it("is bounded: large requests wait for each other, small ones pass, and all are answered", function()
    local broker = brokers.start { set = { "workers=2", "socket_request_max_bytes=1048576", "queued_max_request_bytes=2097152" } }
    local admin = broker:connect()
    local topic = requests.create(admin, "big", { configs = { ["max.message.bytes"] = "1000000" } })
    assert.is_true(is_served(admin))
    local before = memory(broker)
    local frame = produce_frame(topic, 600 * KIB, 7)
    local senders = {}
    for i = 1, 100 do
      senders[i] = { client = broker:connect(), at = 0 }
    end
    -- Half of each request first, as far as it is taken.
    local socket = require "posix.sys.socket"
    local function push(sender, upto)
      local sent = sender.at < upto and socket.send(sender.client.fd, frame:sub(sender.at + 1, upto)) or 0
      sender.at = sender.at + sent
      return sent
    end
    for _, sender in ipairs(senders) do push(sender, math.floor(#frame / 2)) end
    for _ = 1, 10 do assert.is_true(is_served(admin)) end
    assert.equal(0, requests.end_offset(admin, topic))
    if measures_memory then
      local now = memory(broker) - before
      assert.is_true(now < 16 * MIB, ("%d KiB more"):format(now / KIB))
    end
    clients.wait_until("all requests are sent", function()
      local left = 0
      for _, sender in ipairs(senders) do
        push(sender, #frame)
        if sender.at < #frame then left = left + 1 end
      end
      return left == 0
    end, 3 * clients.PATIENCE_MS)
    local seen = {}
    for _, sender in ipairs(senders) do
      local part = sender.client:answer("Produce", PRODUCE, 7).responses[1].partition_responses[1]
      assert.equal(0, part.error_code)
      seen[part.base_offset] = true
      sender.client:close()
    end
    for offset = 0, 99 do assert.is_true(seen[offset]) end
    if measures_memory then
      local _, peak = memory(broker)
      assert.is_true(peak - before < 24 * MIB, ("%d KiB more"):format((peak - before) / KIB))
    end
    admin:close()
    assert.equal(0, broker:stop())
  end)

  it("is not kept from others by those who announce large requests and do not send them", function()
    local broker = brokers.start { set = { "workers=2", "socket_request_max_bytes=1048576", "queued_max_request_bytes=1048576" } }
    local admin = broker:connect()
    local topic = requests.create(admin, "big", { configs = { ["max.message.bytes"] = "1000000" } })
    local frame = produce_frame(topic, 600 * KIB, 7)
    local liars = {}
    for i = 1, 3 do
      liars[i] = broker:connect()
      liars[i]:send(frame:sub(1, 40 * KIB))
    end
    local honest = broker:connect()
    honest:send(frame)
    local part = honest:answer("Produce", PRODUCE, 7, 60000).responses[1].partition_responses[1]
    assert.same({ 0, 0 }, { part.error_code, part.base_offset })
    assert.truthy(broker:log():match "warn[^\n]*closed: its request comes too slowly, with 0 bytes")
    for _, liar in ipairs(liars) do liar:close() end
    honest:close()
    admin:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("Memory of answers", function()
  it("is bounded when hundreds ask for much and read nothing, and the others are served", function()
    local broker = brokers.start { set = { "workers=2", "luka_queued_max_response_bytes=2097152", "socket_send_buffer_bytes=16384" } }
    local admin = broker:connect()
    for i = 1, 4 do requests.create(admin, "t" .. i, { partitions = 150 }) end
    assert.is_true(is_served(admin))
    local before = memory(broker)
    local frame = wire.request("Metadata", 12, { topics = wire.NULL }, { correlation_id = 7 })
    local many = (unit.bytes(("%08x"):format(#frame)) .. frame):rep(50)
    local deaf = {}
    for i = 1, 200 do
      deaf[i] = broker:connect()
      deaf[i]:send(many)
    end
    -- One that reads gets all of its answers, though it may have to wait until some who do not read are closed.
    local reader = broker:connect()
    local ids = {}
    for i = 1, 5 do ids[i] = reader:request("Metadata", 12, { topics = wire.NULL }) end
    for i = 1, 5 do assert.equal(4, #reader:answer("Metadata", 12, ids[i], 60000).topics) end
    if measures_memory then
      local _, peak = memory(broker)
      assert.is_true(peak - before < 48 * MIB, ("%d KiB more"):format((peak - before) / KIB))
    end
    for _, client in ipairs(deaf) do client:close() end
    assert.is_true(requests.is_well(broker))
    reader:close()
    admin:close()
    assert.equal(0, broker:stop())
  end)

  it("is bounded when many old clients, whose records are converted, wake up together", function()
    local broker = brokers.start { set = { "workers=2", "luka_queued_max_response_bytes=8388608", "message_max_bytes=9437184",
      "socket_send_buffer_bytes=16384" } }
    local admin = broker:connect()
    local topic = requests.create(admin, "t")
    local waiting = {}
    for i = 1, 30 do
      waiting[i] = broker:connect()
      waiting[i].asked = waiting[i]:request("Fetch", 2, { replica_id = -1, max_wait_ms = 60000, min_bytes = 1, topics = {
        { topic = "t", partitions = { { partition = 0, fetch_offset = 0, partition_max_bytes = 8 * MIB } } } } })
    end
    local before = memory(broker)
    local list = {}
    for i = 1, 60 do list[i] = ("x"):rep(100 * KIB) end
    assert.equal(0, requests.append(admin, topic, records.batch { records = list }))
    -- Who reads is served, though it may have to wait until some who do not read are closed.
    assert.is_true(#waiting[6]:answer("Fetch", 2, waiting[6].asked, 60000).responses[1].partitions[1].records > 6000 * KIB)
    if measures_memory then
      local _, peak = memory(broker)
      assert.is_true(peak - before < 80 * MIB, ("%d KiB more"):format((peak - before) / KIB))
    end
    -- Those in line leave it with their connections.
    for _, client in ipairs(waiting) do client:close() end
    assert.is_true(requests.is_well(broker))
    admin:close()
    assert.equal(0, broker:stop())
  end)

  describe("of what functions make", function()
    --- 50 wait for records of a topic's or view's that many of them together may not have, and do not read; `options`: the
    --- configuration, its `name`, a `batch`, how large an answer is at least, and the most that the process may take.
    local function fetch_together(options)
      local broker = reload.start(options.config, { set = { "workers=2", "luka_queued_max_response_bytes=8388608",
        "message_max_bytes=9437184", "socket_send_buffer_bytes=16384" } })
      local admin = broker:connect()
      local read, waiting = requests.find(admin, options.name), {}
      for i = 1, 50 do
        waiting[i] = broker:connect()
        waiting[i].asked = waiting[i]:request("Fetch", 12, requests.fetch_body(12, { { read, { {} } } },
          { min_bytes = 1, max_wait_ms = 60000 }))
      end
      local before = memory(broker)
      assert.equal(0, requests.append(admin, requests.find(admin, "stored"), options.batch))
      -- Who reads is served, though it may have to wait until some who do not read are closed.
      local got = waiting[7]:answer("Fetch", 12, waiting[7].asked, 60000).responses[1].partitions[1]
      assert.equal(0, got.error_code)
      assert.is_true(#got.records >= options.answer_bytes, #got.records)
      if measures_memory then
        local _, peak = memory(broker)
        assert.is_true(peak - before < options.peak_bytes, ("%d KiB more"):format((peak - before) / KIB))
      end
      for _, client in ipairs(waiting) do client:close() end
      assert.is_true(requests.is_well(broker))
      admin:close()
      assert.equal(0, broker:stop())
    end

    local function values(count, size)
      local list = {}
      for i = 1, count do list[i] = { key = tostring(i % 2), value = ("x"):rep(size) } end
      return list
    end

    it("is bounded when many read a view of large batches, wake up together and read nothing", function()
      fetch_together { name = "seen", batch = records.batch { records = values(60, 100 * KIB) }, answer_bytes = 2900 * KIB,
        peak_bytes = 80 * MIB, config = [[
          topic "stored" { partitions = 1 }
          view("seen", { from = "stored", where = function(record) return record.key == "1" end })
        ]] }
    end)

    it("is bounded when functions make records far larger than they are stored", function()
      fetch_together { name = "stored", batch = records.batch { records = values(9, 10) }, answer_bytes = 900 * KIB,
        peak_bytes = 32 * MIB, config = [[
          topic "stored" {
            partitions = 1,
            transform_fetch = function(record)
              record.value = ("y"):rep(100 * KiB)
              return record
            end,
          }
        ]] }
    end)
  end)

  it("lets a broker stop while old clients wait for it", function()
    local broker = brokers.start { set = { "workers=1", "luka_queued_max_response_bytes=1048576", "socket_send_buffer_bytes=16384" } }
    local admin = broker:connect()
    local topic = requests.create(admin, "t")
    for _ = 1, 4 do assert(requests.append(admin, topic, records.batch { records = { ("x"):rep(900 * KIB) } })) end
    local waiting = {}
    for i = 1, 20 do
      waiting[i] = broker:connect()
      waiting[i]:request("Fetch", 2, { replica_id = -1, max_wait_ms = 60000, min_bytes = 1, topics = {
        { topic = "t", partitions = { { partition = 0, fetch_offset = 0, partition_max_bytes = 4 * MIB } } } } })
    end
    admin:close()
    assert.equal(0, broker:stop())
    for _, client in ipairs(waiting) do client:close() end
  end)

  it("is not taken by records, and a Fetch without limits of its own is bounded by fetch.max.bytes", function()
    local broker = brokers.start { set = { "workers=1", "fetch_max_bytes=1048576" } }
    local admin = broker:connect()
    local parts = 64
    local topic = requests.create(admin, "wide", { partitions = parts })
    local batch = records.batch { records = { ("x"):rep(200 * KIB) } }
    local wanted = {}
    for i = 0, parts - 1 do
      assert.equal(0, requests.append(admin, topic, batch, { partition = i }))
      wanted[i + 1] = { partition = i, partition_max_bytes = 10 * MIB }
    end
    local before = memory(broker)
    local answer = requests.fetch_all(admin, { { topic, wanted } }, { max_bytes = 2147483647 })
    local total, filled = 0, 0
    for _, part in ipairs(answer.responses[1].partitions) do
      local size = part.records == wire.NULL and 0 or #part.records
      assert.equal(0, part.error_code)
      total = total + size
      filled = filled + (size > 0 and 1 or 0)
    end
    assert.is_true(filled >= 1 and total >= 1048576 - #batch and total <= 1048576 + #batch, total)
    if measures_memory then assert.is_true(memory(broker) - before < 2 * MIB) end
    admin:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("max.decompressed.message.bytes", function()
  it("refuses larger records of compressed batches with INVALID_RECORD, for a topic or all of them", function()
    local broker = brokers.start { set = { "max_decompressed_message_bytes=2000" } }
    local client = broker:connect()
    local own = requests.create(client, "own", { configs = { ["max.decompressed.message.bytes"] = "1000" } })
    local other = requests.create(client, "other")
    local function code(topic, size, codec)
      return requests.produce(client, topic, records.batch { records = { ("x"):rep(size) }, codec = codec }).error_code
    end
    local GZIP = 1
    -- A record's length counts 7 bytes more than its value here.
    assert.same({ 0, 87, 0 }, { code(own, 993, GZIP), code(own, 994, GZIP), code(own, 5000) })
    assert.same({ 0, 87, 0 }, { code(other, 1993, GZIP), code(other, 1994, GZIP), code(other, 5000) })
    assert.equal(2, requests.end_offset(client, own))
    client:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("A hostile client", function()
  local broker

  before_each(function() broker = brokers.start { set = { "workers=2" } } end)
  after_each(function()
    assert.is_true(requests.is_well(broker))
    assert.equal(0, broker:stop())
  end)

  it("that pipelines thousands of requests and reads nothing is not read any further", function()
    local client = broker:connect()
    local before = memory(broker)
    local frame = wire.request("ApiVersions", 3, { client_software_name = "a", client_software_version = "1" }, { correlation_id = 7 })
    local block = (unit.bytes(("%08x"):format(#frame)) .. frame):rep(1000)
    local socket = require "posix.sys.socket"
    local sent, deadline = 0, clients.now_ms() + clients.PATIENCE_MS
    local refused = 0
    while refused < 20 and clients.now_ms() < deadline do
      local count = socket.send(client.fd, block)
      sent = sent + (count or 0)
      refused = count and 0 or refused + 1
      if not count then require("posix.poll").poll({}, 5) end
    end
    assert.equal(20, refused, "the broker goes on reading")
    if measures_memory then assert.is_true(memory(broker) - before < 16 * MIB) end
    client:close()
  end)

  it("that sends requests a byte at a time takes a small buffer, and nobody's time", function()
    assert.is_true(requests.is_well(broker))
    local before = memory(broker)
    local frame = produce_frame({ name = "none", id = ("\1"):rep(16) }, 90 * KIB, 7)
    local slow = {}
    for i = 1, 300 do slow[i] = broker:connect() end
    for at = 1, 40 do
      for _, client in ipairs(slow) do client:send(frame:sub(at, at)) end
    end
    assert.is_true(requests.is_well(broker))
    if measures_memory then assert.is_true(memory(broker) - before < 300 * 24 * KIB) end
    for _, client in ipairs(slow) do client:close() end
  end)

  it("that connects and leaves thousands of times leaves nothing behind", function()
    local function sockets()
      local pipe = io.popen(("ls -l /proc/%d/fd"):format(broker.pid))
      local _, count = pipe:read("*a"):gsub("socket:", "")
      pipe:close()
      return count
    end
    local before, sockets_before = memory(broker), sockets()
    for i = 1, 3000 do
      local client = broker:connect()
      if i % 3 == 0 then client:send "\0\0" end
      if i % 7 == 0 then client:finish() end
      client:close()
    end
    assert.is_true(requests.is_well(broker))
    clients.wait_until("all descriptors are closed", function() return sockets() <= sockets_before end)
    if measures_memory then assert.is_true(memory(broker) - before < 4 * MIB) end
  end)
end)

describe("With few descriptors", function()
  it("a broker has topics of more partitions than it may have files, turns away whom it has no room for, and serves the rest", function()
    local broker = start_with_files(256, { set = { "workers=2" } })
    local warning = " warn  the limit on open files is only 256: 56 connections and 64 open segments at a time; raise it (ulimit -n)\n"
    assert.truthy(broker:log():find(warning, 1, true), broker:log())
    local client = broker:connect()
    local old = requests.create(client, "older")
    assert.equal(0, requests.append(client, old, records.batch { records = { "first" } }))
    local wide = requests.create(client, "wide", { partitions = 300 })
    for i = 0, 299 do assert.equal(0, requests.append(client, wide, records.batch { records = { "w" .. i } }, { partition = i })) end
    for i = 0, 299 do
      assert.same({ "w" .. i }, records.values(requests.fetch(client, wide, { partition = i }).records))
    end
    local idle, refused = {}, 0
    for i = 1, 300 do idle[i] = broker:connect() end
    clients.wait_until("those without room are closed", function()
      for _, one in ipairs(idle) do
        if not one.is_closed and one:receive_end(0) == "" then
          one.is_closed = true
          refused = refused + 1
        end
      end
      return refused >= 245 -- one of the 56 is the client's; more when descriptors are out at that moment
    end)
    local before = processor_s(broker)
    assert.equal(1, requests.append(client, old, records.batch { records = { "second" } }))
    assert.same({ "first", "second" }, records.values(requests.fetch(client, old).records))
    for i = 0, 299, 50 do assert.equal(1, requests.append(client, wide, records.batch { records = { "more" } }, { partition = i })) end
    require("posix.poll").poll({}, 300)
    assert.is_true(processor_s(broker) - before < 0.25) -- nothing spins
    for _, one in ipairs(idle) do one:close() end
    clients.wait_until("there is room again", function()
      local one = broker:connect()
      one:request("Metadata", 9, NOTHING)
      local answer = one:receive_frame(1000)
      one:close()
      return answer
    end)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
