-- SPDX-License-Identifier: Apache-2.0
-- A disk that is full: no append is acknowledged that cannot be read back, the ones refused get KAFKA_STORAGE_ERROR and
-- leave nothing behind, reads and deletes go on, and writes resume by themselves when there is room again; so does a start.
local signal = require "posix.signal"
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local small_disk = require "spec.support.small_disk"
local unit = require "spec.support.unit"

local KAFKA_STORAGE_ERROR = 56
local MIB = 1024 * 1024

--- Appends until it is refused; the batches that were acknowledged, as they are stored.
local function fill(client, topic, size, stored)
  local seed = 1 + #stored
  while true do
    local batch = records.batch { records = { records.noise(size, seed) } }
    local answer = requests.produce(client, topic, batch)
    if answer.error_code ~= 0 then
      assert.equal(KAFKA_STORAGE_ERROR, answer.error_code)
      assert.equal(-1, answer.base_offset)
      return stored
    end
    assert.equal(#stored, answer.base_offset)
    stored[#stored + 1] = records.stored(batch, #stored)
    seed = seed + 1
  end
end

--- Everything can be read, and nothing else is there.
local function check(client, topic, stored)
  assert.equal(#stored, requests.end_offset(client, topic))
  local found = records.parse(requests.fetch_to_end(client, topic, 0))
  assert.equal(#stored, #found)
  for i, batch in ipairs(found) do
    -- A start after a crash has another leader epoch.
    assert.is_true(records.stored(batch.bytes, batch.base) == stored[i])
  end
end

--- Appends a batch of that size, as soon as that is possible.
local function resume(client, topic, size, stored)
  requests.wait_until("writes resume", function()
    local batch = records.batch { records = { records.noise(size, 1000000) } }
    local answer = requests.produce(client, topic, batch)
    if answer.error_code ~= 0 then
      assert.equal(KAFKA_STORAGE_ERROR, answer.error_code)
      return false
    end
    assert.equal(#stored, answer.base_offset)
    stored[#stored + 1] = records.stored(batch, #stored)
    return true
  end)
end

describe("A full disk", function()
  for _, case in ipairs {
    { what = "to its last byte, by large batches", reserve = 0, size = 200000 },
    { what = "to its last byte, by small ones", reserve = 0, size = 3000 },
    { what = "up to log_dir_reserve_bytes", reserve = MIB, size = 100000 },
  } do
    it(("refuses appends and serves reads, and goes on when there is room: %s"):format(case.what), function()
      local disk = small_disk.new(8 * MIB)
      unit.write_file(disk .. "/filler", ("f"):rep(2 * MIB))
      unit.write_file(disk .. "/filler-2", ("f"):rep(MIB))
      local broker = brokers.start { data = disk .. "/data", set = { "workers=1", "log_dir_reserve_bytes=" .. case.reserve,
        "log_flush_offset_checkpoint_interval_ms=20", "replica_high_watermark_checkpoint_interval_ms=20" } }
      local client = broker:connect()
      local topic = requests.create(client, "t", { configs = { ["segment.bytes"] = tostring(MIB), ["index.interval.bytes"] = "0" } })
      local stored = fill(client, topic, case.size, {})
      assert.is_true(#stored * case.size > 2 * MIB)
      check(client, topic, stored)
      -- It stays refused as long as the disk is full; nothing changes.
      for _ = 1, 3 do
        assert.equal(KAFKA_STORAGE_ERROR, requests.produce(client, topic, records.sized(case.size)).error_code)
      end
      check(client, topic, stored)
      os.remove(disk .. "/filler")
      resume(client, topic, case.size, stored)
      fill(client, topic, case.size, stored)
      check(client, topic, stored)
      local log = broker:log()
      assert.truthy(log:find("No space left on device", 1, true) or log:find("writes are refused", 1, true), log)
      if case.reserve > 0 then
        assert.truthy(log:find("data: writes are refused: %d MiB are free, and 1 MiB are to stay free %(log_dir_reserve_bytes%)"), log)
        assert.truthy(log:find("data has space again: writes are taken", 1, true), log)
        assert.is_nil(log:find("append to", 1, true))
      end
      assert.is_nil(broker:log():find("offline", 1, true))

      -- The same after a crash: recovery has no room either.
      client:close()
      broker:kill()
      broker = broker:restart()
      client = broker:connect()
      topic = requests.find(client, "t")
      check(client, topic, stored)
      fill(client, topic, case.size, stored)
      check(client, topic, stored)
      client:close()
      signal.kill(broker.pid, signal.SIGTERM)
      if broker:wait_exit() ~= 0 then
        assert.equal(1, broker.status)
        assert.truthy(broker:log():find("stopped, but not cleanly", 1, true))
      end

      os.remove(disk .. "/filler-2")
      broker = broker:restart()
      client = broker:connect()
      check(client, topic, stored)
      resume(client, topic, case.size, stored)
      check(client, topic, stored)
      client:close()
      assert.equal(0, broker:stop())
    end)
  end

  it("gets room by deleting a topic", function()
    local disk = small_disk.new(8 * MIB)
    local broker = brokers.start { data = disk .. "/data", set = { "workers=1", "log_dir_reserve_bytes=0",
      "log_segment_delete_delay_ms=10" } }
    local client = broker:connect()
    local old = requests.create(client, "old")
    local kept = requests.create(client, "kept")
    local stored = { }
    local first = records.batch { records = { "first" } }
    requests.append(client, kept, first)
    stored[1] = records.stored(first, 0)
    fill(client, old, 100000, {})
    fill(client, kept, 100000, stored)
    requests.delete(client, old)
    resume(client, kept, 1000000, stored)
    check(client, kept, stored)
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("gets room by retention", function()
    local disk = small_disk.new(8 * MIB)
    local broker = brokers.start { data = disk .. "/data", set = { "workers=1", "log_dir_reserve_bytes=0",
      "log_segment_delete_delay_ms=10", "log_retention_check_interval_ms=20" } }
    local client = broker:connect()
    local topic = requests.create(client, "t", { configs = { ["segment.bytes"] = tostring(MIB),
      ["retention.bytes"] = tostring(3 * MIB) } })
    local count = 0
    -- More than twice what the disk holds.
    requests.wait_until("more was written than the disk holds", function()
      local answer = requests.produce(client, topic, records.batch { records = { records.noise(100000, count + 1) } })
      if answer.error_code == 0 then
        assert.equal(count, answer.base_offset)
        count = count + 1
      else
        assert.equal(KAFKA_STORAGE_ERROR, answer.error_code)
      end
      return count >= 170
    end, 60000)
    local start = requests.start_offset(client, topic)
    assert.is_true(start > 80)
    assert.equal(count - start, #records.bases(requests.fetch_to_end(client, topic, start)))
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("refuses a start on it with one line, when there is nothing yet", function()
    local disk = small_disk.new(MIB)
    unit.write_file(disk .. "/filler", ("f"):rep(MIB))
    local broker = brokers.start { data = disk .. "/data", wait = false }
    assert.equal(1, broker:wait_exit())
    assert.truthy(broker:log():match "luka: [^\n]*[Nn]o space[^\n]*\n?$", broker:log())
    os.remove(disk .. "/filler")
    broker = brokers.start { data = disk .. "/data" }
    assert.equal(0, broker:stop())
  end)
end)
