-- SPDX-License-Identifier: Apache-2.0
-- Groups are what their log says, whatever becomes of the disk or of the broker meanwhile.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local faults = require "spec.support.faults"
local group = require "spec.support.group"
local requests = require "spec.support.requests"

local COMMITTERS, ROUNDS = 8, 3

--- A broker that keeps groups in one partition, each commit of which waits for the disk.
local function start(options)
  options.set = { "offsets_topic_num_partitions=1" }
  local broker = brokers.start(options)
  local client = broker:connect()
  requests.create(client, "t", { partitions = 2 })
  group.prepare(client)
  local answer = client:ask("IncrementalAlterConfigs", 1, { validate_only = false, resources = { { resource_type = 2,
    resource_name = "__consumer_offsets", configs = { { name = "flush.messages", config_operation = 0, value = "1" } } } } })
  assert.equal(0, answer.responses[1].error_code)
  return broker, client
end

local function offset_of(client, name) return group.committed(client, name, { t = { 0 } }).t[0].offset end

describe("Groups whose log is flushed with each commit", function()
  it("end in order when the broker is stopped while commits wait for the disk", function()
    local broker, client = start {}
    client:close()
    for _ = 1, ROUNDS do
      local committers = {}
      for i = 1, COMMITTERS do committers[i] = broker:connect() end
      for i, committer in ipairs(committers) do
        for offset = 1, 50 do
          committer:request("OffsetCommit", group.COMMIT, group.commit_body("g" .. i, { t = { [0] = offset } }))
        end
      end
      assert.equal(0, broker:stop())
      for _, committer in ipairs(committers) do committer:close() end
      broker = broker:restart()
    end
    assert.equal(0, broker:stop())
  end)

  it("have what their log has after a flush that failed for want of space", function()
    local folder = brokers.temp_dir()
    local disk = faults.new(folder)
    local broker, client = start { data = folder, env = disk.env }
    assert.equal(0, group.commit(client, "refused", { t = { [0] = 1 } }).t[0])
    disk:arm { kind = "sync", err = "ENOSPC", suffix = ".log" }
    assert.not_equal(0, group.commit(client, "refused", { t = { [0] = 2 } }).t[0])
    disk:disarm()
    clients.wait_until("groups are served again", function()
      return group.commit(client, "other", { t = { [0] = 1 } }).t[0] == 0
    end)
    local before = offset_of(client, "refused")
    client:close()
    assert.equal(0, broker:stop())
    broker = broker:restart()
    client = broker:connect()
    group.prepare(client)
    assert.equal(before, offset_of(client, "refused"))
    assert.equal(1, offset_of(client, "other"))
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
