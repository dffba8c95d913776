-- SPDX-License-Identifier: Apache-2.0
-- A broker that may have few open files: it says so, makes a topic of more partitions than it has descriptors, goes on
-- serving its older ones, and keeps so many idle connections out that its files suffice.
local unistd = require "posix.unistd"
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local LIMIT, PARTITIONS, IDLE = 256, 300, 300

--- CPU time of a process so far, ms.
local function cpu_ms(pid)
  local fields = {}
  for field in unit.read_file(("/proc/%d/stat"):format(pid)):match("%) (.*)$"):gmatch "%S+" do fields[#fields + 1] = field end
  return (tonumber(fields[12]) + tonumber(fields[13])) * 1000 / unistd.sysconf(unistd._SC_CLK_TCK)
end

describe("A broker that may have 256 open files", function()
  it("serves a topic of 300 partitions and an older one while 300 clients connect and do nothing", function()
    local file = unit.temp_dir() .. "/luka"
    unit.write_file(file, ("#!/bin/sh\nulimit -n %d\nexec '%s' \"$@\"\n"):format(LIMIT, brokers.PROGRAM))
    assert.equal(0, os.execute("chmod +x " .. file))
    local program = brokers.PROGRAM
    brokers.PROGRAM = file
    local broker = brokers.start { set = { "workers=1" } }
    brokers.PROGRAM = program
    assert.truthy(broker:log():find(("limit on open files is %d"):format(LIMIT), 1, true), broker:log())
    local client = broker:connect()
    local old = requests.create(client, "old")
    assert.equal(0, requests.append(client, old, records.batch()))
    local many = requests.create(client, "many", { partitions = PARTITIONS })

    local idle, kept = {}, 0
    for i = 1, IDLE do
      local ok, one = pcall(clients.connect, broker.port)
      if ok then idle[i] = one end
    end
    -- A connection that the broker does not take is closed at once.
    for _, one in pairs(idle) do
      local answer = one:ask("ApiVersions", 3, { client_software_name = "idle", client_software_version = "1" })
      if answer then kept = kept + 1 end
    end
    assert.is_true(kept > 10 and kept < LIMIT, kept)
    for partition = 0, PARTITIONS - 1 do
      assert.equal(0, requests.append(client, many, records.batch(), { partition = partition }))
    end
    assert.equal(1, requests.append(client, old, records.batch()))
    assert.same({ 0, 1 }, records.bases(requests.fetch_to_end(client, old, 0)))
    for partition = 0, PARTITIONS - 1, 7 do
      assert.same({ 0 }, records.bases(requests.fetch_to_end(client, many, 0, partition)))
    end

    -- Whoever waits to be taken keeps nobody busy.
    local before, from = cpu_ms(broker.pid), clients.now_ms()
    requests.wait_until("half a second has passed", function() return clients.now_ms() > from + 500 end)
    assert.is_true(cpu_ms(broker.pid) - before < 250, "the broker spins")
    assert.equal(2, requests.append(client, old, records.batch()))

    for _, one in pairs(idle) do one:close() end
    client:close()
    assert.equal(0, broker:stop())
    broker = broker:restart()
    client = broker:connect()
    assert.equal(3, requests.end_offset(client, requests.find(client, "old")))
    assert.equal(1, requests.end_offset(client, requests.find(client, "many"), PARTITIONS - 1))
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
