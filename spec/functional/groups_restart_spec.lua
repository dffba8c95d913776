-- SPDX-License-Identifier: Apache-2.0
-- Groups after a restart: all of the log is read, however it is divided.
local brokers = require "spec.support.broker"
local group = require "spec.support.group"
local requests = require "spec.support.requests"
local clients = require "spec.support.client"

local COMMITS = 200

describe("Offsets after a crash", function()
  local broker, client

  local function start(set)
    broker = brokers.start { set = { "offsets_topic_num_partitions=1", unpack(set or {}) } }
    client = broker:connect()
    group.prepare(client)
    requests.create(client, "t")
  end

  local function again()
    client:close()
    broker:kill()
    broker = broker:restart()
    client = broker:connect()
  end

  local function commit(from, to)
    for i = from, to do assert.equal(0, group.commit(client, "g", { t = { [0] = i } }).t[0]) end
  end

  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("are the last ones where the log is read in many pieces", function()
    start { "offsets_load_buffer_size=300" }
    commit(1, COMMITS)
    again()
    assert.equal(COMMITS, group.committed(client, "g").t[0].offset)
  end)

  it("are the last ones where the log has many segments, compacted and not", function()
    start { "log_cleaner_backoff_ms=20" }
    local answer = client:ask("IncrementalAlterConfigs", 1, { resources = { { resource_type = 2,
      resource_name = "__consumer_offsets", configs = { { name = "segment.ms", config_operation = 0, value = "50" },
        { name = "min.cleanable.dirty.ratio", config_operation = 0, value = "0.01" } } } } })
    assert.equal(0, answer.responses[1].error_code)
    local count = 0
    clients.wait_until("segments were compacted", function()
      commit(count + 1, count + 10)
      count = count + 10
      return select(2, broker:log():gsub("compacted __consumer_offsets", "")) >= 3
    end)
    commit(count + 1, count + 10)
    again()
    assert.equal(count + 10, group.committed(client, "g").t[0].offset)
  end)
end)
