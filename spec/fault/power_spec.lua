-- SPDX-License-Identifier: Apache-2.0
-- The power fails under load, again and again on the same data: of topics with luka.producer.type=sync every record that
-- was acknowledged is there afterwards, in order, once, whatever else the disk has lost. CUTS=500 does it so often;
-- POWER_SEED=n does it with the same numbers again.
local brokers = require "spec.support.broker"
local load = require "spec.support.load"
local power = require "spec.support.power"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local CUTS = tonumber(os.getenv "CUTS") or 20
local KIB = 1024

describe("A power failure soon after a topic was made", function()
  -- The names of the partition's folder and files are brought to disk with its first flush; the sync journal
  -- acknowledges before that.
  for what, numbers in pairs {
    ["the folder"] = { 0, 0 },                                     -- no name that was not brought to disk, no bytes
    ["the contents of all its files"] = { 0.9, 0, 0 },             -- all names, no bytes
    ["some of its files"] = { 0.9, 0.9, 0.9, 0 },                  -- most names, no bytes
  } do
    it(("takes nothing that was acknowledged with %s"):format(what), function()
      local folder = brokers.temp_dir(true)
      local data = folder .. "/data"
      assert(os.execute(("mkdir '%s'"):format(data)) == 0)
      local supply = power.new(data)
      local broker = brokers.start { data = data, env = supply.env, set = { "metadata=" .. folder .. "/luka.mdb" } }
      local client = broker:connect()
      local function create(name)
        return requests.create(client, name, { configs = { ["luka.producer.type"] = "sync" } })
      end
      local first = create "first"
      requests.wait_until("the journal is there", function()
        requests.append(client, first, records.batch())
        return load.size_of(data .. "/luka.sync-journal") > 0
      end)
      -- It is used from the next append on that finds it ready, which the first topic's records tell.
      for _ = 1, 20 do requests.append(client, first, records.batch()) end
      local fresh = create "fresh"
      for offset = 0, 4 do assert.equal(offset, requests.append(client, fresh, records.batch())) end
      local at = requests.end_offset(client, first)
      client:close()
      assert.equal("signal 9", broker:kill())
      local drawn = 0
      supply:cut(function()
        drawn = drawn + 1
        return numbers[drawn] or 0
      end)
      broker = broker:restart()
      client = broker:connect()
      assert.equal(5, requests.end_offset(client, requests.find(client, "fresh")))
      assert.equal(at, requests.end_offset(client, requests.find(client, "first")))
      assert.truthy(broker:log():find("fresh-0: 5 records from offset 0 on come from the sync journal", 1, true))
      client:close()
      assert.equal(0, broker:stop())
    end)
  end
end)

describe("A power failure under load", function()
  for _, case in ipairs {
    { segment_bytes = 1024 * KIB, set = { "log_flush_offset_checkpoint_interval_ms=50",
      "replica_high_watermark_checkpoint_interval_ms=50" }, what = "that roll often" },
    -- Nothing but the journal has its segments flushed.
    { segment_bytes = 1024 * 1024 * KIB, set = {}, what = "that never roll" },
  } do
    it(("takes nothing that was acknowledged from topics with luka.producer.type=sync %s, in %d cuts"):format(case.what,
      CUTS / 2), function()
      local seed = tonumber(os.getenv "POWER_SEED") or os.time() % 100000
      math.randomseed(seed)
      local folder = brokers.temp_dir(true)
      local data = folder .. "/data"
      assert(os.execute(("mkdir '%s'"):format(data)) == 0)
      local supply = power.new(data)
      local broker = brokers.start { data = data, env = supply.env, set = { "workers=2", "metadata=" .. folder .. "/luka.mdb",
        unpack(case.set) } }
      local client = broker:connect()
      requests.create(client, "load", { partitions = load.PARTITIONS, configs = { ["luka.producer.type"] = "sync",
        ["segment.bytes"] = tostring(case.segment_bytes), ["index.interval.bytes"] = "500" } })
      client:close()
      local acked = brokers.temp_dir() .. "/acked"
      local from_journal = 0
      for cut = 1, CUTS / 2 do
        local before = load.size_of(acked)
        -- Every fifth time so much that both halves of the journal are written and written again.
        local wanted = cut % 5 == 0 and 40000 or 500 + math.random(20000)
        local producers = load.begin(broker, "produce --connections 6 --records %d --record-bytes 100 --acks -1 --seconds 60 "
          .. "--keep-going --verify-acked %s", cut % 5 == 0 and 600 or 1 + 7 * cut % 20, acked)
        requests.wait_until("batches are acknowledged", function()
          return load.size_of(acked) > before + wanted and load.size_of(data .. "/luka.sync-journal") > 0 or broker:poll_exit()
        end, 60000)
        assert.equal("signal 9", broker:kill())
        producers:read "*a"
        producers:close()
        supply:cut(math.random)
        broker = broker:restart()
        from_journal = from_journal + (broker:log():find "come from the sync journal" and 1 or 0)
        local ok, err = pcall(load.run, broker, "check %s", acked)
        assert(ok, ("POWER_SEED=%d, cut %d: %s\n%s"):format(seed, cut, tostring(err), broker:log()))
        load.run(broker, "fetch --until-end --verify --max-wait-ms 100")
      end
      assert.is_true(from_journal > 0)
      client = broker:connect()
      local topic = requests.find(client, "load")
      for partition = 0, load.PARTITIONS - 1 do
        local at = requests.end_offset(client, topic, partition)
        assert.equal(at, requests.append(client, topic, records.batch(), { partition = partition }))
      end
      client:close()
      assert.equal(0, broker:stop())
      broker = broker:restart()
      load.run(broker, "check %s", acked)
      assert.equal(0, broker:stop())
    end)
  end
end)
