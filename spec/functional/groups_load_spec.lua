-- SPDX-License-Identifier: Apache-2.0
-- The load program of groups (scripts/bench/groups.c): what it does to a broker is what its JSON says.
require "spec.support.wire"
local json = require "luka.native.json"
local brokers = require "spec.support.broker"
local group = require "spec.support.group"
local process = require "spec.support.process"

local GROUPS = os.getenv "LUKA_GROUPS"

describe("The load program of groups", function()
  local broker, client

  setup(function()
    broker = brokers.start { set = { "offsets_topic_num_partitions=4", "group_initial_rebalance_delay_ms=0" } }
    client = broker:connect()
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  --- Its exit status, its figures, and what it said.
  local function run(...)
    local line = { GROUPS }
    for _, word in ipairs { ... } do line[#line + 1] = tostring(word) end
    local status, out, err = process.start(line):wait(60000)
    return status, out ~= "" and json.decode(out) or nil, err
  end

  local function at() return "127.0.0.1:" .. broker.port end

  it("has members of many groups join, send heartbeats and commits, and leave", function()
    local status, found, err = run("heartbeat", "--broker", at(), "--create", "--topic", "t", "--partitions", 5, "--groups", 20,
      "--members", 5, "--connections", 20, "--interval-ms", 200, "--seconds", 1, "--commit-every", 2, "--cpu-of", broker.pid)
    assert.same({ 0, "" }, { status, err })
    assert.same({ 0, 500, 300 }, { found.errors, found.heartbeats, found.commits })
    assert.is_true(found.cpu_s > 0 and found.latency_us.p50 > 0)
    assert.equal("Empty", group.describe(client, "group-19").group_state)
    assert.equal(6, group.committed(client, "group-7").t[3].offset) -- of its sixth heartbeat
  end)

  it("has a member of a large group leave and come back", function()
    local status, found, err = run("rebalance", "--broker", at(), "--topic", "t", "--prefix", "large", "--members", 50,
      "--connections", 50, "--interval-ms", 20, "--rounds", 2)
    assert.same({ 0, "" }, { status, err })
    assert.same({ 0, 1, 2, 2 }, { found.errors, #found.first, #found.leave, #found.join })
  end)

  it("commits an offset for every partition of every group, and finds each of them", function()
    local what = { "--broker", at(), "--topic", "t", "--partitions", 5, "--prefix", "fill", "--groups", 30, "--connections", 3 }
    local status, found, err = run("commit", "--fill", "--batch", 2, "--depth", 4, unpack(what))
    assert.same({ 0, "" }, { status, err })
    assert.same({ 0, 90, 150 }, { found.errors, found.commits, found.offsets })
    assert.same({ 57, 58, 59, 60 }, (function()
      local offsets = {}
      for i, partition in ipairs { 1, 2, 3, 4 } do
        offsets[i] = group.committed(client, "fill-11", { t = { partition } }).t[partition].offset
      end
      return offsets
    end)())
    status, found = run("fetch", "--verify", unpack(what))
    assert.same({ 0, 0, 150, 0 }, { status, found.errors, found.offsets, found.wrong })
    assert.equal(0, group.commit(client, "fill-11", { t = { [3] = 1 } }).t[3])
    status, found = run("fetch", "--verify", unpack(what))
    assert.same({ 1, 1, 150, 1 }, { status, found.errors, found.offsets, found.wrong })
  end)

  it("counts what it is refused, and tells the first", function()
    local status, found = run("commit", "--broker", at(), "--topic", "no-such-topic", "--seconds", 0.1)
    assert.equal(1, status)
    assert.is_true(found.errors > 0)
    assert.equal("OffsetCommit: UNKNOWN_TOPIC_OR_PARTITION", found.first_error)
  end)

  it("ends with status 2 and a line for what it does not understand", function()
    for _, words in ipairs { {}, { "dance" }, { "commit", "--depht", 1 }, { "commit", "--depth", "much" }, { "commit", "--depth" },
      { "heartbeat", "--members", 10, "--connections", 9 }, { "commit", "--batch", 2 } } do
      local status, found, err = run(unpack(words))
      assert.same({ 2, nil }, { status, found })
      assert.truthy(err:match "^groups: [^\n]*\n$")
    end
  end)

  it("ends with status 1 and a line where it cannot connect", function()
    local status, _, err = run("fetch", "--broker", "127.0.0.1:1")
    assert.equal(1, status)
    assert.truthy(err:match "^groups: cannot connect[^\n]*\n$")
  end)
end)
