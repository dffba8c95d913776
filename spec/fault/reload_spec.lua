-- SPDX-License-Identifier: Apache-2.0
-- Reloads of a broker that is under load, and of one that is killed meanwhile.
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local load = require "spec.support.load"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local KILLS = tonumber(os.getenv "KILLS") or 3
local RELOADS = tonumber(os.getenv "RELOADS") or 100
local TOPICS = 5
local measures_memory = (os.getenv "LUKA_SAN" or "") == "" and not os.getenv "VALGRIND"

--- A configuration that differs from the last in all that can be applied; the topic of the load has its block too.
local function valid(round)
  return ([[
    broker { workers = 2, log_segment_delete_delay_ms = %d, max_connections_per_ip = %d, log_level = "%s" }
    defaults { retention_ms = days(%d), max_message_bytes = 2 * MiB + %d }
    topic "load" { partitions = %d, segment_bytes = %d * MiB, flush_messages = %d }
    topic "extra-%d" {}
  ]]):format(60000 + round, 1000 + round, round % 4 == 0 and "info" or "debug", 10 + round % 7, round, load.PARTITIONS,
    1 + round % 3, 1000 + round, round % 10)
end

local BROKEN = {
  "broker {",
  "broker { worker = 3 }",
  'topic "load" { partitions = 1 }',
  'topic "new" {} topic "load" { segment_bytes = 1 }',
  'error "no"',
  'topic "new" {} topic "extra.0" {} topic "extra_0" {}',
  "broker { queued_max_request_bytes = 1 }",
  'require "no.such.module"',
  "\27LJ\2",
}

describe(("%d reloads"):format(RELOADS), function()
  it("under full load, valid and broken in turn, fail no request", function()
    local broker = reload.start(valid(0), { set = { "workers=2" } })
    local acked = brokers.temp_dir() .. "/acked"
    local producers = load.begin(broker,
      "produce --connections 6 --depth 4 --records 5 --record-bytes 300 --seconds 6 --verify-acked %s", acked)
    local readers = load.begin(broker, "fetch --connections 3 --verify --repeat --max-wait-ms 20 --seconds 6")
    requests.wait_until("records are acknowledged", function() return load.size_of(acked) > 0 end)
    for round = 1, RELOADS do
      local is_valid = round % 2 == 0
      local lines = reload.hup(broker, is_valid and valid(round) or BROKEN[(round - 1) / 2 % #BROKEN + 1])
      assert.equal(is_valid, not lines[1]:find("refused", 1, true), lines[1])
      assert.is_true(is_valid and #lines > 5 or #lines == 1)
    end
    for _, pipe in ipairs { producers, readers } do
      local text = pipe:read "*a"
      pipe:close()
      assert.truthy(text:match '"errors":0' and text:match '"disconnects":0', text)
    end
    load.run(broker, "check %s", acked)
    local client = broker:connect()
    assert.is_nil(requests.find(client, "new"))
    client:close()
    assert.equal(0, broker:stop())
  end)

  if measures_memory then
    it("need no more memory than the first ones", function()
      local broker = reload.start(valid(0), { set = { "workers=1" } })
      local function resident()
        return tonumber(unit.read_file(("/proc/%d/status"):format(broker.pid)):match "VmRSS:%s*(%d+) kB")
      end
      local function run(from, to)
        for round = from, to do reload.hup(broker, round % 2 == 0 and valid(round) or BROKEN[(round - 1) / 2 % #BROKEN + 1]) end
      end
      run(1, 40)
      local before = resident()
      run(41, 40 + RELOADS)
      assert.is_true(resident() - before < 1024, ("%d kB more"):format(resident() - before))
      assert.equal(0, broker:stop())
    end)
  end
end)

describe("A broker that is killed while it reads its configuration again", function()
  --- Topics with `count` partitions and that many ms of retention.
  local function blocks(count)
    local lines = {}
    for i = 1, TOPICS do
      lines[i] = ('topic "t%d" { partitions = %d, retention_ms = %d }'):format(i, count, 1000000 + count)
    end
    return table.concat(lines, "\n")
  end

  it(("has all of it or nothing after each of %d kills"):format(KILLS * 4), function()
    local broker = reload.start(blocks(1), { set = { "workers=1" } })
    local count = 1
    for round = 1, KILLS * 4 do
      local folder, wanted = broker.folder, count + 1
      reload.write(broker, blocks(wanted))
      -- Later and later: while it is evaluated, between the steps, after the report.
      if round % 4 == 0 then
        reload.hup(broker)
      else
        signal.kill(broker.pid, signal.SIGHUP)
      end
      if round % 4 == 2 then
        requests.wait_until("a folder is made", function()
          return unistd.access(("%s/t1-%d"):format(broker.data, count)) ~= nil
        end)
      elseif round % 4 == 3 then
        requests.wait_until("it has begun", function() return broker:log():find("reading the configuration again", 1, true) end)
      end
      assert.equal("signal 9", broker:kill())
      reload.write(broker, "") -- so that the start makes nothing whole
      broker = broker:restart()
      broker.folder = folder
      local client = broker:connect()
      local found = #requests.find(client, "t1").partitions
      assert.is_true(found == count or found == wanted)
      if round % 4 == 0 or round % 4 == 2 then assert.equal(wanted, found) end
      for i = 1, TOPICS do
        assert.equal(found, #requests.find(client, "t" .. i).partitions)
        assert.equal(tostring(1000000 + found), (configs.shown(client, configs.TOPIC, "t" .. i, "retention.ms")))
      end
      client:close()
      -- Whatever the crash left, the same file makes whole.
      reload.hup(broker, blocks(wanted))
      assert.same({ "nothing has changed" }, reload.hup(broker, blocks(wanted)))
      count = wanted
    end
    assert.equal(0, broker:stop())
  end)
end)
