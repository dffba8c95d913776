-- SPDX-License-Identifier: Apache-2.0
-- Built-in partitioners with librdkafka: what its own partitioner of the same name puts where, the broker puts there, too,
-- wherever the client addressed it. The Java client's murmur2 is librdkafka's (golden values are in
-- spec/unit/policy/partitioners_spec.lua).
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local PARTITIONS, COUNT = 7, 300

--- Lines of kcat: keys of many lengths and bytes, empty ones too.
local function lines()
  local out = {}
  for i = 1, COUNT do
    local key = i % 50 == 0 and "" or records.noise(i % 23 + 1, i):gsub("[:\n%z]", "x")
    out[i] = key .. ":" .. i
  end
  return table.concat(out, "\n") .. "\n"
end

describe("librdkafka and the partitioner", function()
  local broker, client, path, count = nil, nil, nil, 0

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    path = brokers.temp_dir() .. "/lines"
    local file = assert(io.open(path, "wb"))
    file:write(lines())
    file:close()
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function topic(partitioner)
    count = count + 1
    return requests.create(client, ("t-%d"):format(count), { partitions = PARTITIONS,
      configs = partitioner and { ["luka.partitioner"] = partitioner } or {} })
  end

  local function kcat(of, flags)
    assert.equal(0, os.execute(("kcat -P -b 127.0.0.1:%d -t %s -K: -X linger.ms=5 %s -l %s"):format(broker.port, of.name,
      flags, path)))
  end

  --- The values of each partition, in the order of their numbers.
  local function places(of)
    local out, total = {}, 0
    for i = 0, PARTITIONS - 1 do
      local list = {}
      for _, value in ipairs(records.values(requests.fetch_to_end(client, of, 0, i))) do list[#list + 1] = tonumber(value) end
      total = total + #list
      table.sort(list)
      out[i] = table.concat(list, " ")
    end
    assert.equal(COUNT, total)
    return out
  end

  -- What the client is told beside how it partitions; { name, flags }
  local WAYS = {
    { "plain", "-X acks=1" }, { "idempotent", "-X enable.idempotence=true" }, { "gzip", "-z gzip" },
    { "snappy", "-z snappy" }, { "lz4", "-z lz4" }, { "zstd", "-z zstd -X enable.idempotence=true" },
    { "format 0", "-X broker.version.fallback=0.8.2 -X api.version.request=false" },
    { "format 1", "-X broker.version.fallback=0.10.0 -X api.version.request=false" },
    { "format 1 in gzip", "-X broker.version.fallback=0.10.0 -X api.version.request=false -z gzip" },
  }
  for _, pair in ipairs { { "murmur2", "murmur2" }, { "consistent", "consistent" } } do
    for _, way in ipairs(WAYS) do
      it(("%s choose the same, %s"):format(pair[1], way[1]), function()
        local own, chosen = topic(), topic(pair[1])
        kcat(own, "-X topic.partitioner=" .. pair[2] .. " " .. way[2])
        kcat(chosen, "-X topic.partitioner=random " .. way[2])
        assert.same(places(own), places(chosen))
      end)
    end
  end

  for _, way in ipairs(WAYS) do
    it("round_robin use all partitions alike, " .. way[1], function()
      local chosen = topic "round_robin"
      kcat(chosen, "-p 3 " .. way[2])
      places(chosen)
      for i = 0, PARTITIONS - 1 do
        assert.is_true(requests.end_offset(client, chosen, i) >= math.floor(COUNT / PARTITIONS) - PARTITIONS)
      end
    end)

    it("sticky keep batches together, " .. way[1], function()
      local chosen = topic "sticky"
      for _ = 1, 4 do kcat(chosen, "-p 3 -X batch.num.messages=10000 -X linger.ms=1000 " .. way[2]) end
      local used, total = 0, 0
      for i = 0, PARTITIONS - 1 do
        local offset = requests.end_offset(client, chosen, i)
        total, used = total + offset, used + (offset > 0 and 1 or 0)
      end
      assert.equal(4 * COUNT, total)
      assert.is_true(used >= 2)
    end)
  end

  it("range put keys in their order", function()
    local chosen = topic "range:0,@,a"
    kcat(chosen, "-p 6")
    places(chosen)
    for i, bound in ipairs { "0", "@", "a" } do
      for _, record in ipairs(records.read(requests.fetch_to_end(client, chosen, 0, i - 1))) do
        assert.is_true(record.key < bound)
      end
      for _, record in ipairs(records.read(requests.fetch_to_end(client, chosen, 0, i))) do
        assert.is_true(record.key >= bound)
      end
    end
  end)

  it("header hash the header's value as a key", function()
    local chosen = topic "header:who"
    for i = 1, 20 do
      assert.equal(0, os.execute(("printf 'x:%d' | kcat -P -b 127.0.0.1:%d -t %s -K: -H who=a -p %d"):format(i, broker.port,
        chosen.name, i % PARTITIONS)))
    end
    assert.equal(20, requests.end_offset(client, chosen, 5))
  end)
end)
