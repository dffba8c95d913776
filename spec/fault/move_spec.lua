-- SPDX-License-Identifier: Apache-2.0
-- Partitions that move between data directories while they are written and read, and while the broker is killed: nothing
-- that was acknowledged is lost, doubled or out of order. KILLS=20 kills twenty times.
local brokers = require "spec.support.broker"
local load = require "spec.support.load"
local requests = require "spec.support.requests"
local stdlib = require "posix.stdlib"

local KILLS = tonumber(os.getenv "KILLS") or 4
local PARTITIONS = load.PARTITIONS
local MIB = 1024 * 1024

--- How many folders of the topic there are in a directory: plain ones, and copies that are made.
local function folders(dir)
  local plain, future = 0, 0
  local pipe = io.popen(("ls '%s'"):format(dir))
  for name in pipe:lines() do
    if name:match "^load%-%d$" then plain = plain + 1 end
    if name:match "^load%-%d%..*%-future$" then future = future + 1 end
  end
  pipe:close()
  return plain, future
end

describe("Partitions that move under load", function()
  local broker, a, b

  local function start(options)
    local root = brokers.temp_dir()
    a, b = root .. "/a", root .. "/b"
    local set = { "data=" .. b, "workers=2", "log_flush_offset_checkpoint_interval_ms=50", "log_segment_delete_delay_ms=100" }
    for _, setting in ipairs(options or {}) do set[#set + 1] = setting end
    broker = brokers.start { data = a, set = set }
    local client = broker:connect()
    requests.create(client, "load", { partitions = PARTITIONS, configs = { ["segment.bytes"] = tostring(2 * MIB),
      ["index.interval.bytes"] = "500" } })
    client:close()
  end

  --- Asks for all partitions to be in a directory.
  local function move(client, dir)
    local partitions = {}
    for partition = 0, PARTITIONS - 1 do partitions[#partitions + 1] = partition end
    local answer = client:ask("AlterReplicaLogDirs", 2, { dirs = { { path = dir,
      topics = { { name = "load", partitions = partitions } } } } })
    for _, part in ipairs(answer.results[1].partitions) do assert.equal(0, part.error_code) end
  end

  local function are_all_in(dir)
    local plain, future = folders(dir)
    return plain == PARTITIONS and future == 0 and folders(dir == a and b or a) == 0
  end

  for _, how in ipairs { "the kernel's copying", "reading and writing" } do
    it("are read and written on without a gap, with " .. how, function()
      stdlib.setenv("LUKA_ERRINJ", how == "reading and writing" and "file_copy=1:5" or "")
      start()
      stdlib.setenv("LUKA_ERRINJ", nil)
      local acked = brokers.temp_dir() .. "/acked"
      local producers = load.begin(broker,
        "produce --connections 6 --depth 4 --records 5 --record-bytes 300 --seconds 4 --verify-acked %s", acked)
      local readers = load.begin(broker, "fetch --connections 3 --verify --repeat --max-wait-ms 20 --seconds 4")
      local client = broker:connect()
      local moves = 0
      requests.wait_until("there are many moves", function()
        local dir = moves % 2 == 0 and b or a
        move(client, dir)
        requests.wait_until("all partitions have moved", function() return are_all_in(dir) end, 20000)
        moves = moves + 1
        return moves >= 6
      end, 60000)
      client:close()
      local text = producers:read "*a"
      producers:close()
      assert.truthy(text:match '"errors":0', text)
      text = readers:read "*a"
      readers:close()
      assert.truthy(text:match '"errors":0', text)
      load.run(broker, "check %s", acked)
      load.run(broker, "fetch --until-end --verify --max-wait-ms 100")
      assert.equal(0, broker:stop())
      broker = broker:restart()
      load.run(broker, "check %s", acked)
      assert.is_nil(broker:log():match "stray")
      assert.equal(0, broker:stop())
    end)
  end

  it("go on with their moves after the broker was stopped in the middle, and after a topic was deleted", function()
    stdlib.setenv("LUKA_ERRINJ", "file_copy=1:5")
    start()
    local acked = brokers.temp_dir() .. "/acked"
    load.run(broker, "produce --connections 3 --depth 4 --records 50 --record-bytes 1000 --requests 1500 --verify-acked %s", acked)
    for round = 1, 4 do
      local dir = round % 2 == 1 and b or a
      local client = broker:connect()
      local gone = requests.create(client, "gone", { partitions = 4 })
      client:ask("AlterReplicaLogDirs", 2, { dirs = { { path = dir, topics = { { name = "gone", partitions = { 0, 1, 2, 3 } } } } } })
      move(client, dir)
      requests.delete(client, gone)
      client:close()
      assert.equal(0, broker:stop())
      broker = broker:restart()
      requests.wait_until("all partitions have moved", function() return are_all_in(dir) end, 30000)
      load.run(broker, "check %s", acked)
    end
    stdlib.setenv("LUKA_ERRINJ", nil)
    load.run(broker, "fetch --until-end --verify --max-wait-ms 100")
    assert.equal(0, broker:stop())
    for _, dir in ipairs { a, b } do
      local pipe = io.popen("ls " .. dir)
      assert.is_nil(pipe:read("*a"):match "gone%-%d\n")
      pipe:close()
    end
  end)

  it(("have every acknowledged record after each of %d kills"):format(KILLS), function()
    start()
    local acked = brokers.temp_dir() .. "/acked"
    for round = 1, KILLS do
      local before = load.size_of(acked)
      local producers = load.begin(broker, "produce --connections 6 --depth 8 --records %d --record-bytes 300 --acks 1 --seconds 60 "
        .. "--keep-going --verify-acked %s", 1 + 7 * round % 20, acked)
      local client = broker:connect()
      local moves = 0
      requests.wait_until("batches are acknowledged while there are moves", function()
        move(client, moves % 2 == round % 2 and a or b)
        moves = moves + 1
        return load.size_of(acked) > before + 40000 * (1 + round % 3)
      end, 60000)
      client:close()
      assert.equal("signal 9", broker:kill())
      producers:read "*a"
      producers:close()
      broker = broker:restart()
      load.run(broker, "check %s", acked)
      load.run(broker, "fetch --until-end --verify --max-wait-ms 100")
      assert.is_nil(broker:log():match "stray")
      assert.is_nil(broker:log():match "starts empty")
    end
    assert.equal(0, broker:stop())
    broker = broker:restart()
    load.run(broker, "check %s", acked)
    assert.equal(0, broker:stop())
  end)
end)
