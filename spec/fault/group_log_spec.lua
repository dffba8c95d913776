-- SPDX-License-Identifier: Apache-2.0
-- Groups are what their log says, whatever becomes of the disk or of the broker meanwhile.
local brokers = require "spec.support.broker"
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

  it("are served as they were while the disk is offline, and after a start as their log has them", function()
    local folder = brokers.temp_dir()
    local disk = faults.new(folder)
    local broker, client = start { data = folder, env = disk.env }
    assert.equal(0, group.commit(client, "g", { t = { [0] = 1 } }).t[0])
    disk:arm { kind = "sync", err = "EIO", suffix = ".log" }
    assert.equal(group.CODE.NOT_COORDINATOR, group.commit(client, "g", { t = { [0] = 2 } }).t[0])
    disk:disarm()
    assert.equal(group.CODE.NOT_COORDINATOR, group.commit(client, "g", { t = { [0] = 3 } }).t[0])
    assert.equal(1, offset_of(client, "g"))
    client:close()
    broker:kill()
    broker = broker:restart()
    client = broker:connect()
    group.prepare(client)
    assert.equal(2, offset_of(client, "g"))
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
