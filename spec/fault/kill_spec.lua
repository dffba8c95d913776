-- SPDX-License-Identifier: Apache-2.0
-- kill -9 under load, again and again on the same data: what was acknowledged is there afterwards, in order, once. The
-- page cache outlives the process, so acks=1 is as good as acks=-1 here. KILLS=20 does it twenty times.
local brokers = require "spec.support.broker"
local load = require "spec.support.load"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local KILLS = tonumber(os.getenv "KILLS") or 3
local PARTITIONS = load.PARTITIONS
local MIB = 1024 * 1024

describe("A broker that is killed under load", function()
  for _, case in ipairs {
    { acks = 1, codec = "none", what = "with acks=1" },
    { acks = -1, codec = "lz4", what = "with acks=-1 and compressed batches" },
  } do
    it(("%s has every acknowledged record, in order, after each of %d kills"):format(case.what, KILLS), function()
      local broker = brokers.start { set = { "workers=2", "log_flush_offset_checkpoint_interval_ms=50",
        "replica_high_watermark_checkpoint_interval_ms=50" } }
      local client = broker:connect()
      requests.create(client, "load", { partitions = PARTITIONS, configs = { ["segment.bytes"] = tostring(4 * MIB),
        ["index.interval.bytes"] = "500" } })
      client:close()
      local acked = brokers.temp_dir() .. "/acked"
      for round = 1, KILLS do
        local before = load.size_of(acked)
        local producers = load.begin(broker, "produce --connections 6 --depth 8 --records %d --record-bytes 200 --acks %d "
          .. "--codec %s --seconds 120 --keep-going --verify-acked %s", 1 + 7 * round % 20, case.acks, case.codec, acked)
        -- Each line is an acknowledged batch; the file is written in pieces.
        requests.wait_until("batches are acknowledged", function()
          return load.size_of(acked) > before + 100000 * (1 + round % 3) or broker:poll_exit()
        end, 60000)
        assert.equal("signal 9", broker:kill())
        assert.truthy(producers:read "*a":match '"disconnects":6')
        producers:close()

        broker = broker:restart()
        load.run(broker, "check %s", acked)
        -- No offset is missing, none is there twice, and every batch is whole.
        load.run(broker, "fetch --until-end --verify --max-wait-ms 100")
      end
      client = broker:connect()
      local topic = requests.find(client, "load")
      for partition = 0, PARTITIONS - 1 do
        local at = requests.end_offset(client, topic, partition)
        assert.is_true(at > 0)
        assert.equal(at, requests.append(client, topic, records.batch(), { partition = partition }))
      end
      client:close()
      assert.equal(0, broker:stop())
      broker = broker:restart()
      load.run(broker, "check %s", acked)
      assert.equal(0, broker:stop())
      assert.truthy(unit.read_file(acked))
    end)
  end
end)
