-- SPDX-License-Identifier: Apache-2.0
-- A disk that fills up while segments of record formats 0 and 1 are converted: the partition is offline with all of its
-- records, others are served, and it comes when there is room.
local faults = require "spec.support.faults"
local kafka = require "spec.support.kafka_dir"
local messages = require "spec.unit.record.messages"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local stat = require "posix.sys.stat"

describe("Converting old segments on a full disk", function()
  it("leaves them as they are, and is done when there is room", function()
    local data = kafka.empty_dir()
    local bytes = messages.set(1, { "a", "b", "c" })
    local folder = data .. "/old-0"
    assert(stat.mkdir(folder))
    unit.write_file(folder .. "/00000000000000000000.log", bytes)
    kafka.add_partition(data, "new-0")
    local disk = faults.new(data)
    disk:arm { kind = "write", err = "ENOSPC", times = -1, suffix = ".log.cleaned" }
    local broker = kafka.start(data, { env = disk.env })
    local client = broker:connect()
    assert.equal(1, #records.read(requests.fetch_to_end(client, requests.find(client, "new"), 0)))
    local old = requests.find(client, "old")
    assert.equal(-1, old.partitions[1].leader_id)
    assert.equal(bytes, unit.read_file(folder .. "/00000000000000000000.log"))
    for _, said in ipairs { "cannot open the log of old-0: " .. folder .. "/00000000000000000000.log: cannot be converted from "
      .. "record format 0 or 1: write failed: No space left on device", "partition old-0 is offline for now: no space left" } do
      assert.truthy(broker:log():find(said, 1, true), broker:log())
    end
    assert.is_true(disk:acted() > 0)
    disk:disarm()
    requests.wait_until("the partition is there", function()
      return requests.find(client, "old").partitions[1].leader_id == 1
    end)
    assert.same({ "a", "b", "c" }, records.values(requests.fetch_to_end(client, old, 0)))
    assert.is_nil(unit.read_file(folder .. "/00000000000000000000.log.cleaned"))
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
