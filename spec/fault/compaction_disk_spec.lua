-- SPDX-License-Identifier: Apache-2.0
-- A disk that fails while a topic is compacted: what a pass cannot bring to disk takes nothing with it.
local brokers = require "spec.support.broker"
local compaction = require "spec.support.compaction"
local configs = require "spec.support.configs"
local faults = require "spec.support.faults"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local STORAGE = 56
local SET = { "workers=2", "log_cleaner_backoff_ms=20" }
local DIRTY = { ["cleanup.policy"] = "compact", ["segment.ms"] = "1000", ["min.cleanable.dirty.ratio"] = "1",
  ["file.delete.delay.ms"] = "0" }

describe("A broker that compacts a topic", function()
  local a, b, disk, broker, client, topic, sick, sound

  local function start(env)
    broker = brokers.start { data = a, set = { "data=" .. b, unpack(SET) }, env = env }
    client = broker:connect()
  end

  --- What is readable of a partition: { { offset, key, value } ... }.
  local function contents(partition)
    local list = {}
    for i, record in ipairs(records.read(requests.fetch_to_end(client, topic, 0, partition))) do
      list[i] = { record.offset, record.key, record.value }
    end
    return list
  end

  local COMPACTED = { { 3, "a", "4" }, { 4, "a", "5" } }

  local function wait_for_compaction(partition, expected)
    requests.wait_until("it is compacted", function() return #contents(partition) == 2 end)
    assert.same(expected or COMPACTED, contents(partition))
  end

  --- One more record, in a segment of its own: what came before has to be synced, which a pool thread has done before or not.
  local function roll(partition)
    requests.append(client, topic, records.batch { ts = os.time() * 1000, records = { { key = "a", value = "6" } } },
      { partition = partition })
  end

  --- Waits until there are no files but the log's.
  local function wait_for_files()
    requests.wait_until("old files are gone", function() return #compaction.strays(b .. "/t-" .. sick) == 0 end)
  end

  --- From here on both partitions are to be compacted.
  local function make_due() configs.set(client, topic, { ["min.cleanable.dirty.ratio"] = "0.01" }) end

  before_each(function()
    local root = brokers.temp_dir()
    a, b = root .. "/a", root .. "/b"
    disk = faults.new(b)
    start(disk.env)
    topic = requests.create(client, "t", { partitions = 2, configs = DIRTY })
    for partition = 0, 1 do
      for i = 1, 5 do
        requests.append(client, topic, records.batch { ts = os.time() * 1000 - 3600000 + i * 5000,
          records = { { key = "a", value = tostring(i) } } }, { partition = partition })
      end
      local is_sick = os.execute(("test -e '%s/t-%d'"):format(b, partition)) == 0
      if is_sick then sick = partition else sound = partition end
    end
    assert(sick and sound)
  end)
  after_each(function()
    disk:disarm()
    client:close()
    broker:kill()
  end)

  for what, suffix in pairs { ["the new segment"] = ".log.cleaned", ["its index"] = ".index.cleaned",
    ["the records that make others superfluous"] = ".log" } do
    it(("takes the directory offline when %s cannot be synced, and loses nothing"):format(what), function()
      local before, is_there = contents(sick), false
      disk:arm { kind = "sync", suffix = suffix, err = "EIO", times = -1 }
      -- A sync that was due before may fail while the record is written: then it need not be there, and may be.
      if suffix == ".log" then is_there = pcall(roll, sick) end
      make_due()
      wait_for_compaction(sound)
      requests.wait_until("the directory is offline", function()
        return requests.fetch(client, topic, { partition = sick }).error_code == STORAGE
      end)
      assert.is_true(disk:acted() > 0)
      assert.truthy(broker:log():find(b .. " is offline", 1, true))
      disk:disarm()
      client:close()
      broker:kill()
      -- Nothing is compacted at first: what is there is what was there.
      broker = brokers.start { data = a, set = { "data=" .. b, "log_cleaner_enable=false" } }
      client = broker:connect()
      is_there = is_there or suffix == ".log" and #contents(sick) == 6
      if is_there then before[6] = { 5, "a", "6" } end
      assert.same(before, contents(sick))
      assert.same({}, compaction.strays(b .. "/t-" .. sick))
      client:close()
      broker:kill()
      start()
      wait_for_compaction(sick, is_there and { { 4, "a", "5" }, { 5, "a", "6" } } or nil)
      wait_for_files()
    end)
  end

  it("tries again when the disk was full, and serves all meanwhile", function()
    disk:arm { kind = "write", suffix = ".log.cleaned", err = "ENOSPC", times = -1 }
    make_due()
    wait_for_compaction(sound)
    requests.wait_until("a pass has failed", function() return broker:log():find(("t-%d is not compacted now"):format(sick), 1, true) end)
    requests.wait_until("another one has", function() return disk:acted() > 1 end)
    assert.equal(5, #contents(sick))
    local _, count = broker:log():gsub(("t%%-%d is not compacted now"):format(sick), "")
    assert.equal(1, count)
    disk:disarm()
    wait_for_compaction(sick)
    requests.append(client, topic, records.batch { records = { { key = "z" } } }, { partition = sick })
    wait_for_files()
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
