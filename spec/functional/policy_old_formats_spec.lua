-- SPDX-License-Identifier: Apache-2.0
-- Clients before Kafka 0.11 and functions of a configuration: message sets of every codec through a partitioner and a
-- transform, and Fetch 0 to 3 of what is stored in every codec through a view and through transform_fetch.
local messages = require "spec.unit.record.messages"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local CONFIG = [[
broker { workers = 2 }
topic "changed" {
  partitions = 2,
  partitioner = function(record) return record.key == "a" and 0 or 1 end,
  transform = function(record)
    if record.value == "drop" then return nil end
    if record.value == "aside" then emit("aside", record, 0) return nil end
    record.value = record.value .. "!"
    record.headers.seen = "yes"
    return record
  end,
}
topic "aside" { partitions = 1 }
topic "source" { partitions = 1 }
view("odd", { from = "source", where = function(record) return tonumber(record.key) % 2 == 1 end })
view("none", { from = "source", where = function() return false end })
topic "masked" { partitions = 1, transform_fetch = function(record)
  if tonumber(record.key) % 2 == 0 then return nil end
  record.value = "masked " .. record.key
  return record
end }
]]

--- Codecs that a format 0 or 1 can say.
local CODECS = { [0] = "uncompressed", "gzip", "snappy", "lz4" }

describe("functions and clients of old formats:", function()
  local broker, client, topics

  setup(function()
    broker = reload.start(CONFIG)
    client = broker:connect()
    topics = {}
    for _, name in ipairs { "changed", "aside", "source", "odd", "none", "masked" } do
      topics[name] = requests.find(client, name)
    end
    -- Each codec twice: batches of several records, and zstd not at all, as these formats have no word for it.
    for codec = 0, 3 do
      for _, name in ipairs { "source", "masked" } do
        local list = {}
        for i = 1, 4 do list[i] = { key = tostring(codec * 4 + i - 1), value = "v" .. codec * 4 + i - 1 } end
        requests.append(client, topics[name], records.batch { records = list, codec = codec })
      end
    end
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function ends() return { requests.end_offset(client, topics.changed), requests.end_offset(client, topics.changed, 1),
    requests.end_offset(client, topics.aside) } end
  local function values_from(topic, offset, partition)
    return records.values(requests.fetch_to_end(client, topic, offset, partition))
  end

  for version = 0, 2 do
    local magic = version == 2 and 1 or 0
    for codec = 0, 3 do
      it(("a partitioner and a transform have what Produce %d sends %s, each record once and in order"):format(version,
        CODECS[codec]), function()
        local set = messages.set(magic, { { key = "a", value = "1" }, { key = "b", value = "2" }, { key = "a", value = "drop" },
          { key = "b", value = "aside" }, { key = "a", value = "3" }, { key = "b", value = "4" } })
        local before = ends()
        local answer = requests.produce(client, topics.changed, codec > 0 and messages.wrapper(magic, set, { codec = codec, offset = 5 })
          or set, { version = version })
        assert.equal(0, answer.error_code)
        assert.same({ "1!", "3!" }, values_from(topics.changed, before[1]))
        assert.same({ "2!", "4!" }, values_from(topics.changed, before[2], 1))
        assert.same({ "aside" }, values_from(topics.aside, before[3]))
        local stored = records.read(requests.fetch_to_end(client, topics.changed, before[1]))
        assert.same({ { "seen", "yes" } }, stored[1].headers)
      end)
    end
  end

  --- All messages from an offset to the end, as an old client reads them: offset and value; a null value is "null".
  local function read(name, version, max_bytes)
    local found, offset, turns = {}, 0, 0
    while offset < 16 do
      turns = turns + 1
      assert.is_true(turns <= 16, "a fetch brings nothing on")
      local answer = requests.fetch(client, topics[name], { fetch_offset = offset, partition_max_bytes = max_bytes },
        { version = version })
      assert.equal(0, answer.error_code)
      for _, message in ipairs(messages.flatten(answer.records)) do
        if message.offset >= offset then
          found[#found + 1] = ("%d %s"):format(message.offset, message.value or "null")
          offset = message.offset + 1
        end
      end
    end
    return found
  end

  for version = 0, 3 do
    it(("a view is read by Fetch %d in every codec"):format(version), function()
      local wanted = {}
      for i = 1, 15, 2 do wanted[#wanted + 1] = ("%d v%d"):format(i, i) end
      assert.same(wanted, read("odd", version))
      assert.same(wanted, read("odd", version, 150)) -- a batch at a time
    end)

    it(("transform_fetch changes what Fetch %d reads in every codec"):format(version), function()
      local wanted = {}
      for i = 1, 15, 2 do wanted[#wanted + 1] = ("%d masked %d"):format(i, i) end
      assert.same(wanted, read("masked", version))
    end)

    it(("a view without a record takes Fetch %d to its end with one message that has no value"):format(version), function()
      assert.same({ "15 null" }, read("none", version))
    end)
  end
end)
