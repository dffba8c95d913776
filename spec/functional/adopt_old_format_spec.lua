-- SPDX-License-Identifier: Apache-2.0
-- A data directory of a Kafka before 0.11: partitions of record formats 0 and 1, which are converted when they are adopted
-- and read by clients old and new.
local batches = require "spec.unit.record.batches"
local kafka = require "spec.support.kafka_dir"
local messages = require "spec.unit.record.messages"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local stat = require "posix.sys.stat"

local GZIP, SNAPPY, LZ4 = 1, 2, 3

local function wrapper(magic, codec, offset, list)
  local set = {}
  for i, one in ipairs(list) do
    set[i] = { key = one.key, value = one.value, ts = one.ts, offset = magic == 0 and offset + i - 1 or i - 1 }
  end
  local payload = batches.compress(codec, messages.set(magic, set))
  if magic == 0 and codec == LZ4 then payload = payload:sub(1, 6) .. "\1" .. payload:sub(8) end
  return messages.wrapper(magic, "", { codec = codec, offset = offset + #list - 1, ts = list[#list].ts, payload = payload })
end

--- Records from an offset on, all with timestamps of their own.
local function some(first, last)
  local list = {}
  for offset = first, last do
    list[#list + 1] = { key = "k" .. offset, value = ("value %d "):format(offset):rep(20), ts = 1400000000000 + 10 * offset }
  end
  return list
end

local function without_time(first, last)
  local list = some(first, last)
  for _, one in ipairs(list) do one.ts = nil end
  return list
end

local function plain(magic, first, last) return messages.set(magic, some(first, last), { offset = first }) end

local function packed(magic, codec, first, last) return wrapper(magic, codec, first, some(first, last)) end

local END = { zero = 60, one = 60, mixed = 40 }

--- A directory as such a Kafka leaves it: no topic ids, no leader epochs.
local function old_dir()
  local data = kafka.empty_dir()
  local function partition(name, segments)
    assert(stat.mkdir(data .. "/" .. name))
    for base, bytes in pairs(segments) do unit.write_file(("%s/%s/%020d.log"):format(data, name, base), bytes) end
  end
  for magic, name in pairs { [0] = "zero-0", "one-0" } do
    partition(name, { [0] = plain(magic, 0, 19) .. packed(magic, GZIP, 20, 29),
      [30] = packed(magic, SNAPPY, 30, 39) .. packed(magic, LZ4, 40, 49) .. plain(magic, 50, 59) })
  end
  local new = records.stored(records.batch { records = without_time(30, 39), ts = 1400000000300, step = 10 }, 30, 4)
  partition("mixed-0", { [0] = plain(0, 0, 9) .. packed(1, GZIP, 10, 29) .. new })
  return data, new
end

--- Offset, timestamp, key and value of all records, read with a version of Fetch.
local function read(client, name, version)
  local topic, list, at = requests.find(client, name), {}, 0
  local last = requests.end_offset(client, topic)
  while at < last do
    local answer = requests.fetch(client, topic, { fetch_offset = at }, { version = version })
    assert.equal(0, answer.error_code)
    local found = version < 4 and messages.flatten(answer.records) or records.read(answer.records)
    for _, one in ipairs(found) do
      if one.offset >= at then
        list[#list + 1] = { one.offset, version < 2 and -1 or one.ts or one.timestamp, one.key, one.value }
        at = one.offset + 1
      end
    end
    assert.is_true(#found > 0)
  end
  return list
end

local function expected(name, version)
  local list = {}
  for i, one in ipairs(some(0, END[name] - 1)) do
    local has_time = version >= 2 and (name == "one" or (name == "mixed" and i > 10))
    list[i] = { i - 1, has_time and one.ts or -1, one.key, one.value }
  end
  return list
end

describe("A directory of a Kafka before 0.11", function()
  local data, new, broker, client
  before_each(function()
    data, new = old_dir()
    broker = kafka.start(data)
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function restart(how)
    client:close()
    broker[how](broker)
    broker = broker:restart()
    client = broker:connect()
  end

  it("is read by clients old and new, and so it is after restarts", function()
    for _, how in ipairs { "stop", "kill" } do
      for _, version in ipairs { 0, 2, 4, 13 } do
        for name in pairs(END) do assert.same(expected(name, version), read(client, name, version), name .. " " .. version) end
      end
      restart(how)
    end
  end)

  it("is converted once, which one line a log says", function()
    local said = broker:log()
    for name, text in pairs { zero = "60 records, segments: 2", one = "60 records, segments: 2", mixed = "30 records, segments: 1" } do
      assert.truthy(said:find(("/%s-0: converted from record format 0 or 1 to format 2: %s"):format(name, text), 1, true), said)
    end
    assert.equal(3, select(2, said:gsub("converted", "")))
    local bytes = unit.read_file(data .. "/mixed-0/00000000000000000000.log")
    assert.equal(unit.hex(new), unit.hex(bytes:sub(-#new)))
    restart "kill"
    assert.is_nil(broker:log():find("converted", 1, true))
  end)

  it("answers offsets by time", function()
    local topic = requests.find(client, "one")
    for _ = 1, 2 do
      assert.same({ 0, 60 }, { requests.start_offset(client, topic), requests.end_offset(client, topic) })
      for _, offset in ipairs { 0, 1, 19, 20, 25, 29, 30, 45, 59 } do
        assert.equal(offset, requests.list_offset(client, topic, 1400000000000 + 10 * offset))
        assert.equal(offset, requests.list_offset(client, topic, 1400000000000 + 10 * offset - 9))
      end
      assert.equal(-1, requests.list_offset(client, topic, 1400000000591))
      assert.equal(59, requests.list_offset(client, topic, -3))
      assert.equal(10, requests.list_offset(client, requests.find(client, "mixed"), 0))
      assert.equal(-1, requests.list_offset(client, requests.find(client, "zero"), 0))
      restart "stop"
    end
  end)

  it("goes on: what is appended follows, also after kill -9", function()
    for name, offset in pairs(END) do
      local topic = requests.find(client, name)
      assert.equal(offset, requests.append(client, topic, records.batch { records = { "new" } }))
      assert.equal(offset + 1, requests.append(client, topic, messages.set(1, { "old" }), { version = 2 }))
    end
    restart "kill"
    for name, offset in pairs(END) do
      local list = read(client, name, 13)
      assert.same({ offset + 2, "new", "old" }, { #list, list[offset + 1][4], list[offset + 2][4] })
    end
  end)

  it("has no leader epoch for what is old", function()
    local function ask(name, epoch)
      local part = client:ask("OffsetForLeaderEpoch", 4, { replica_id = -1, topics = { { topic = name, partitions = {
        { partition = 0, leader_epoch = epoch, current_leader_epoch = -1 } } } } }).topics[1].partitions[1]
      return { part.error_code, part.leader_epoch, part.end_offset }
    end
    assert.same({ 0, -1, -1 }, ask("zero", -1))
    assert.same({ 0, 4, 40 }, ask("mixed", 4))
    local list = records.parse(requests.fetch(client, requests.find(client, "one")).records)
    for _, one in ipairs(list) do assert.same({ -1, true }, { one.leader_epoch, one.is_intact }) end
    local by_time = client:ask("ListOffsets", 7, { replica_id = -1, topics = { { name = "one", partitions = {
      { partition_index = 0, timestamp = 1400000000100 } } } } }).topics[1].partitions[1]
    assert.same({ 0, 10, -1 }, { by_time.error_code, by_time.offset, by_time.leader_epoch })
  end)
end)

describe("A directory of a Kafka before 0.11 that crashed", function()
  it("loses the torn end of its newest segment, which is kept aside", function()
    local data = old_dir()
    local path = data .. "/one-0/00000000000000000030.log"
    unit.write_file(path, (unit.read_file(path):sub(1, -4)))
    local broker = kafka.start(data)
    local client = broker:connect()
    assert.equal(59, #read(client, "one", 13))
    client:close()
    assert.equal(0, broker:stop())
    assert.truthy(unit.read_file(path .. ".cut"))
  end)
end)
