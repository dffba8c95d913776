-- SPDX-License-Identifier: Apache-2.0
-- A torn or damaged end of the log after kill -9: the broker starts, what lies before the damage reads back, what was
-- dropped is kept aside and told in one warning, and the next record gets the offset after the last good one.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local dirent = require "posix.dirent"

local batch = records.batch
local BATCHES = 10

--- Files of a folder whose names hold `.cut`, sorted.
local function cut_files(folder)
  local names = {}
  for name in dirent.files(folder) do
    if name:find(".cut", 1, true) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function with_length(one, length) return one:sub(1, 8) .. unit.bytes(length) .. one:sub(13) end

--- Damage: what it does to the file and its last batch; how many batches survive. Everything behind them is dropped.
local DAMAGE = {
  { "3 bytes are missing", function(file) return file:sub(1, -4) end, BATCHES - 1 },
  { "7 random bytes follow", function(file) return file .. records.noise(7, 5) end, BATCHES },
  { "4 KiB of zeros follow", function(file) return file .. ("\0"):rep(4096) end, BATCHES },
  { "100 KiB of noise follow", function(file) return file .. records.noise(102400, 5) end, BATCHES },
  { "half a batch follows", function(file) return file .. records.stored(batch(), BATCHES):sub(1, 40) end, BATCHES },
  { "a batch of an offset that was given follows", function(file) return file .. records.stored(batch(), 3) end, BATCHES },
  { "a batch with a hole before it follows", function(file) return file .. records.stored(batch(), BATCHES + 5) end, BATCHES },
  { "a byte of the last value is another one", function(file, last)
    return file:sub(1, -10) .. string.char((file:byte(-9) + 1) % 256) .. file:sub(-8), #last
  end, BATCHES - 1 },
  { "the last size is 7fffffff", function(file, last) return file:sub(1, -#last - 1) .. with_length(last, "7fffffff") end, BATCHES - 1 },
  { "the last size is 00000000", function(file, last) return file:sub(1, -#last - 1) .. with_length(last, "00000000") end, BATCHES - 1 },
  { "the last size is ffffffff", function(file, last) return file:sub(1, -#last - 1) .. with_length(last, "ffffffff") end, BATCHES - 1 },
  { "the last batch is zeros", function(file, last) return file:sub(1, -#last - 1) .. ("\0"):rep(#last) end, BATCHES - 1 },
  { "the last batch has an unknown format", function(file, last)
    return file:sub(1, -#last - 1) .. last:sub(1, 16) .. "\9" .. last:sub(18)
  end, BATCHES - 1 },
  { "the middle is noise", function(file, _, stored)
    local start = #table.concat(stored, "", 1, 4)
    return file:sub(1, start) .. records.noise(50, 9) .. file:sub(start + 51)
  end, 4 },
  { "all of it is gone", function() return "" end, 0 },
  { "only the first byte is left", function(file) return file:sub(1, 1) end, 0 },
}

describe("A log whose end was damaged after a kill", function()
  for _, case in ipairs(DAMAGE) do
    it(("is cut after its last good batch: %s"):format(case[1]), function()
      local broker = brokers.start { set = { "workers=1" } }
      local client = broker:connect()
      local topic = requests.create(client, "torn", { partitions = 2 })
      local stored = {}
      for i = 1, BATCHES do
        local one = batch { records = { ("value %d"):format(i), "-" }, ts = 1000 * i, codec = i % 5 }
        requests.append(client, topic, one)
        requests.append(client, topic, one, { partition = 1 })
        stored[i] = records.stored(one, 2 * i - 2)
      end
      client:close()
      broker:kill()

      local folder = broker.data .. "/torn-0"
      local path = folder .. "/00000000000000000000.log"
      local whole = unit.read_file(path)
      assert.equal(table.concat(stored), whole)
      local damaged = case[2](whole, stored[BATCHES], stored)
      unit.write_file(path, damaged)

      local good = table.concat(stored, "", 1, case[3])
      local dropped = damaged:sub(#good + 1)
      broker = broker:restart()
      client = broker:connect()
      assert.equal(good, requests.fetch_to_end(client, topic, 0))
      assert.equal(table.concat(stored), requests.fetch_to_end(client, topic, 0, 1))
      assert.equal(2 * case[3], requests.end_offset(client, topic))
      for i = 1, case[3] do assert.equal(2 * i - 2, requests.list_offset(client, topic, 1000 * i)) end
      assert.equal(2 * case[3], requests.append(client, topic, batch { records = { "next" } }))
      assert.equal(2 * BATCHES, requests.append(client, topic, batch(), { partition = 1 }))

      -- One warning names the file and the bytes; they are kept beside it.
      local warnings = {}
      for line in broker:log():gmatch "[^\n]+" do
        if line:match "%f[%w]warn%f[%W]" and line:find("torn-", 1, true) then warnings[#warnings + 1] = line end
      end
      if dropped == "" then
        assert.same({}, warnings)
        assert.same({}, cut_files(folder))
      else
        assert.equal(1, #warnings, broker:log())
        assert.truthy(warnings[1]:find(path, 1, true), warnings[1])
        assert.truthy(warnings[1]:match(("%%f[%%d]%d bytes"):format(#dropped)), warnings[1])
        assert.same({ "00000000000000000000.log.cut" }, cut_files(folder))
        assert.is_true(dropped == unit.read_file(path .. ".cut"))
        assert.truthy(warnings[1]:find(path .. ".cut", 1, true))
      end
      client:close()
      assert.equal(0, broker:stop())

      -- The next start finds nothing to say.
      broker = broker:restart()
      client = broker:connect()
      assert.is_nil(broker:log():match "%f[%w]warn%f[%W][^\n]*torn%-")
      assert.equal(2 * case[3] + 1, requests.end_offset(client, topic))
      assert.same({ "next" }, records.values(requests.fetch(client, topic, { fetch_offset = 2 * case[3] }).records))
      client:close()
      assert.equal(0, broker:stop())
    end)
  end

  it("is cut in its last segment only, and keeps the ones before", function()
    local broker = brokers.start { set = { "workers=1" } }
    local client = broker:connect()
    local topic = requests.create(client, "torn", { configs = { ["segment.bytes"] = "1048576" } })
    local stored = {}
    for i = 0, 6 do
      local one = batch { records = { records.noise(400000, i + 1) } }
      assert.equal(i, requests.append(client, topic, one))
      stored[i + 1] = records.stored(one, i)
    end
    client:close()
    broker:kill()
    local path = broker.data .. "/torn-0/00000000000000000006.log"
    assert.is_true(unit.read_file(path) == stored[7])
    unit.write_file(path, stored[7]:sub(1, 300000))
    broker = broker:restart()
    client = broker:connect()
    assert.is_true(requests.fetch_to_end(client, topic, 0) == table.concat(stored, "", 1, 6))
    assert.equal(6, requests.append(client, topic, batch()))
    assert.equal(300000, #unit.read_file(path .. ".cut"))
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("is cut a second time beside what was cut the first time", function()
    local broker = brokers.start { set = { "workers=1" } }
    local client = broker:connect()
    local topic = requests.create(client, "torn")
    client:close()
    local path = broker.data .. "/torn-0/00000000000000000000.log"
    for round = 1, 3 do
      client = broker:connect()
      assert.equal(round - 1, requests.append(client, topic, batch()))
      client:close()
      broker:kill()
      unit.write_file(path, unit.read_file(path) .. ("garbage %d"):format(round))
      broker = broker:restart()
    end
    assert.same({ "00000000000000000000.log.cut", "00000000000000000000.log.cut.2", "00000000000000000000.log.cut.3" },
      cut_files(broker.data .. "/torn-0"))
    assert.equal("garbage 1", unit.read_file(path .. ".cut"))
    assert.equal("garbage 3", unit.read_file(path .. ".cut.3"))
    assert.equal(0, broker:stop())
  end)

  it("has its indexes rebuilt when they are missing or nonsense", function()
    local broker = brokers.start { set = { "workers=1" } }
    local client = broker:connect()
    local topic = requests.create(client, "torn", { configs = { ["segment.bytes"] = "1048576", ["index.interval.bytes"] = "100" } })
    local stored = {}
    for i = 0, 9 do
      local one = batch { records = { records.noise(200000, i + 1) }, ts = 1000 * (i + 1) }
      requests.append(client, topic, one)
      stored[i + 1] = records.stored(one, i)
    end
    client:close()
    broker:kill()
    local folder = broker.data .. "/torn-0"
    for name in dirent.files(folder) do
      if name:match "%.index$" then os.remove(folder .. "/" .. name) end
      if name:match "%.timeindex$" then unit.write_file(folder .. "/" .. name, records.noise(120, 3)) end
    end
    broker = broker:restart()
    client = broker:connect()
    assert.is_true(requests.fetch_to_end(client, topic, 0) == table.concat(stored))
    for i = 0, 9 do
      assert.equal(i, requests.list_offset(client, topic, 1000 * (i + 1)))
      assert.equal(i, records.bases(requests.fetch(client, topic, { fetch_offset = i }).records)[1])
    end
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
