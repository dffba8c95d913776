-- SPDX-License-Identifier: Apache-2.0
-- cleanup.policy=compact as clients see it: of each key the newest record stays, at its offset, whatever happens to the
-- broker meanwhile.
local brokers = require "spec.support.broker"
local config_of = require "spec.support.configs"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local START = tonumber(os.time()) * 1000 - 3600000

--- Every batch begins a segment: its timestamps lie segment.ms and more after those before.
local EAGER = { ["cleanup.policy"] = "compact", ["segment.ms"] = "1000", ["min.cleanable.dirty.ratio"] = "0.01",
  ["delete.retention.ms"] = "86400000", ["file.delete.delay.ms"] = "1" }

local function configs(over)
  local all = {}
  for name, value in pairs(EAGER) do all[name] = value end
  for name, value in pairs(over or {}) do all[name] = value end
  return all
end

local clock = START

--- A batch of { key, value } pairs, later than all before; value nil: a tombstone.
local function batch(list, options)
  clock = clock + 5000
  local all = { records = {}, ts = clock }
  for i, pair in ipairs(list) do all.records[i] = { key = pair[1], value = pair[2] } end
  for name, value in pairs(options or {}) do all[name] = value end
  return records.batch(all)
end

--- { { offset, key, value } ... } of all that is readable. Raises when the log loses segments while it is read.
local function contents(client, topic)
  local list = {}
  local got = requests.fetch_to_end(client, topic, requests.start_offset(client, topic))
  for i, record in ipairs(records.read(got)) do list[i] = { record.offset, record.key, record.value } end
  return list
end

--- Waits until exactly these records are left.
local function wait_for(client, topic, expected)
  local seen, is_read
  local is_there, why = pcall(requests.wait_until, "the records are these", function()
    is_read, seen = pcall(contents, client, topic)
    if not is_read or #seen ~= #expected then return false end
    for i, record in ipairs(expected) do
      if record[1] ~= seen[i][1] or record[2] ~= seen[i][2] or record[3] ~= seen[i][3] then return false end
    end
    return true
  end)
  if not is_there then assert.same(expected, seen, why) end
end

local function strays(broker, folder)
  local pipe = io.popen(("ls -A '%s/%s' | grep -E '[.](cleaned|swap|tmp|deleted)$'"):format(broker.data, folder))
  local names = pipe:read "*a"
  pipe:close()
  return names
end

describe("A topic with cleanup.policy=compact", function()
  local broker, client

  before_each(function()
    broker = brokers.start { set = { "workers=2", "log_cleaner_backoff_ms=20", "log_retention_check_interval_ms=20" } }
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("keeps the newest record of each key, and what is in the active segment", function()
    local topic = requests.create(client, "t", { configs = configs() })
    for i = 1, 5 do requests.append(client, topic, batch { { "a", "a" .. i }, { "b" .. i % 2, "b" .. i } }) end
    requests.append(client, topic, batch { { "c", "1" } })
    wait_for(client, topic, { { 7, "b0", "b4" }, { 8, "a", "a5" }, { 9, "b1", "b5" }, { 10, "c", "1" } })
    assert.same({ 0, 11 }, { requests.start_offset(client, topic), requests.end_offset(client, topic) })
  end)

  it("keeps tombstones for delete.retention.ms, and forgets the key then", function()
    local topic = requests.create(client, "t", { configs = configs { ["delete.retention.ms"] = "300" } })
    requests.append(client, topic, batch { { "a", "1" }, { "b", "1" } })
    requests.append(client, topic, batch { { "a", nil } })
    requests.append(client, topic, batch { { "c", "1" } })
    wait_for(client, topic, { { 1, "b", "1" }, { 2, "a", nil }, { 3, "c", "1" } })
    -- A pass comes when something is dirty.
    requests.wait_until("the tombstone is gone", function()
      requests.append(client, topic, batch { { "d", "1" } })
      for _, record in ipairs(contents(client, topic)) do
        if record[2] == "a" then return false end
      end
      return true
    end)
  end)

  it("is compacted by max.compaction.lag.ms, whatever share of it is new", function()
    local topic = requests.create(client, "t", { configs = configs { ["min.cleanable.dirty.ratio"] = "1",
      ["max.compaction.lag.ms"] = "1000", ["segment.ms"] = "86400000" } })
    requests.append(client, topic, batch { { "a", "1" } })
    requests.append(client, topic, batch { { "a", "2" } })
    requests.append(client, topic, batch { { "a", "3" } })
    wait_for(client, topic, { { 1, "a", "2" }, { 2, "a", "3" } })
  end)

  it("is left alone for min.compaction.lag.ms", function()
    local topic = requests.create(client, "t", { configs = configs { ["min.compaction.lag.ms"] = "7200000" } })
    local other = requests.create(client, "u", { configs = configs() })
    for i = 1, 3 do requests.append(client, topic, batch { { "a", tostring(i) } }) end
    for i = 1, 3 do requests.append(client, other, batch { { "a", tostring(i) } }) end
    wait_for(client, other, { { 1, "a", "2" }, { 2, "a", "3" } })
    assert.equal(3, #contents(client, topic))
  end)

  it("is compacted once it is configured so, and not any more when it is not", function()
    local topic = requests.create(client, "t", { configs = configs { ["cleanup.policy"] = "delete" } })
    for i = 1, 3 do requests.append(client, topic, batch { { "a", tostring(i) } }) end
    assert.equal(3, #contents(client, topic))
    local function set(policy)
      local answer = client:ask("IncrementalAlterConfigs", 1, { resources = { { resource_type = 2, resource_name = "t",
        configs = { { name = "cleanup.policy", config_operation = 0, value = policy } } } } })
      assert.equal(0, answer.responses[1].error_code)
    end
    set "compact"
    wait_for(client, topic, { { 1, "a", "2" }, { 2, "a", "3" } })
    set "delete"
    for i = 4, 6 do requests.append(client, topic, batch { { "a", tostring(i) } }) end
    local other = requests.create(client, "u", { configs = configs() })
    for i = 1, 3 do requests.append(client, other, batch { { "a", tostring(i) } }) end
    wait_for(client, other, { { 1, "a", "2" }, { 2, "a", "3" } })
    assert.equal(5, #contents(client, topic))
  end)

  -- A segment that compaction made of several is as old as its newest batch, so these have one each, and are cleaned once.
  describe("and delete", function()
    --- Old records in segments of their own, something of each of which compaction leaves, then newer ones. A segment
    --- without records would count by the time of its file.
    local function fill(topic, old_ms)
      for i = 1, 4 do
        requests.append(client, topic, batch({ { "old-" .. i, "1" }, { "both", "o" .. i } }, { ts = START - old_ms + i * 5000 }))
      end
      for i = 1, 3 do requests.append(client, topic, batch { { "both", "n" .. i } }) end
    end

    it("is compacted, and loses what is older than retention.ms, and is compacted again", function()
      local topic = requests.create(client, "t", { configs = configs { ["cleanup.policy"] = "compact,delete",
        ["internal.segment.bytes"] = "100", ["retention.ms"] = "-1", ["min.cleanable.dirty.ratio"] = "1" } })
      fill(topic, 10 * 3600000)
      config_of.set(client, topic, { ["min.cleanable.dirty.ratio"] = "0.01" })
      local new = { { 9, "both", "n2" }, { 10, "both", "n3" } }
      wait_for(client, topic, { { 0, "old-1", "1" }, { 2, "old-2", "1" }, { 4, "old-3", "1" }, { 6, "old-4", "1" }, unpack(new) })
      assert.equal(0, requests.start_offset(client, topic))
      config_of.set(client, topic, { ["retention.ms"] = "18000000" })
      wait_for(client, topic, new)
      assert.equal(8, requests.start_offset(client, topic))
      for i = 4, 6 do requests.append(client, topic, batch { { "both", "n" .. i }, { "more", tostring(i) } }) end
      wait_for(client, topic, { { 13, "both", "n5" }, { 14, "more", "5" }, { 15, "both", "n6" }, { 16, "more", "6" } })
      assert.same({ 8, 17 }, { requests.start_offset(client, topic), requests.end_offset(client, topic) })
    end)

    it("loses old segments by retention.bytes, of what compaction has left", function()
      local topic = requests.create(client, "t", { configs = configs { ["cleanup.policy"] = "compact,delete",
        ["internal.segment.bytes"] = "2500", ["retention.bytes"] = "-1", ["min.cleanable.dirty.ratio"] = "1" } })
      for i = 1, 10 do requests.append(client, topic, batch { { "k" .. i, ("x"):rep(1000) }, { "all", ("x"):rep(1000) } }) end
      config_of.set(client, topic, { ["min.cleanable.dirty.ratio"] = "0.01" })
      requests.wait_until("it was compacted", function() return #contents(client, topic) == 12 end)
      config_of.set(client, topic, { ["retention.bytes"] = "5000" })
      requests.wait_until("old segments are gone", function() return requests.start_offset(client, topic) > 0 end)
      -- The last two segments have two records each, too few for retention.bytes; the one before makes it enough.
      local keys = {}
      for i, record in ipairs(contents(client, topic)) do keys[i] = record[2] end
      assert.same({ "k8", "k9", "all", "k10", "all" }, keys)
      assert.equal(14, requests.start_offset(client, topic))
    end)

    it("keeps what is not old when the newest of a key is: each segment goes by its own time", function()
      local topic = requests.create(client, "t", { configs = configs { ["cleanup.policy"] = "compact,delete",
        ["retention.ms"] = "18000000" } })
      requests.append(client, topic, batch { { "a", "new" } })
      requests.append(client, topic, batch({ { "b", "old" } }, { ts = START - 10 * 3600000 }))
      requests.append(client, topic, batch { { "c", "new" } })
      local other = requests.create(client, "u", { configs = configs { ["cleanup.policy"] = "compact,delete",
        ["internal.segment.bytes"] = "100", ["retention.ms"] = "18000000" } })
      fill(other, 10 * 3600000)
      wait_for(client, other, { { 9, "both", "n2" }, { 10, "both", "n3" } })
      assert.same({ { 0, "a", "new" }, { 1, "b", "old" }, { 2, "c", "new" } }, contents(client, topic))
    end)
  end)

  it("goes on over restarts and crashes where it was, without stray files", function()
    local topic = requests.create(client, "t", { configs = configs() })
    for i = 1, 20 do requests.append(client, topic, batch { { "k" .. i % 4, tostring(i) } }) end
    local expected = { { 15, "k0", "16" }, { 16, "k1", "17" }, { 17, "k2", "18" }, { 18, "k3", "19" }, { 19, "k0", "20" } }
    wait_for(client, topic, expected)
    local checkpoint = broker.data .. "/cleaner-offset-checkpoint"
    requests.wait_until("the checkpoint says so", function() return unit.read_file(checkpoint) == "0\n1\nt 0 19\n" end)
    for _, is_clean in ipairs { true, false } do
      client:close()
      if is_clean then assert.equal(0, broker:stop()) else broker:kill() end
      broker = broker:restart()
      client = broker:connect()
      assert.same(expected, contents(client, topic))
      assert.equal("", strays(broker, "t-0"))
      assert.equal("0\n1\nt 0 19\n", unit.read_file(checkpoint))
      assert.equal(20, requests.end_offset(client, topic))
    end
  end)

  for codec, name in ipairs(records.CODECS) do
    it("has what was packed with " .. name .. " packed so afterwards", function()
      local topic = requests.create(client, "t", { configs = configs() })
      for i = 1, 3 do requests.append(client, topic, batch({ { "a", "1" }, { "b" .. i, tostring(i) } }, { codec = codec })) end
      wait_for(client, topic, { { 1, "b1", "1" }, { 2, "a", "1" }, { 3, "b2", "2" }, { 4, "a", "1" }, { 5, "b3", "3" } })
      for _, stored in ipairs(records.parse(requests.fetch_to_end(client, topic, 0))) do
        assert.equal(codec, stored.codec)
        assert.is_true(stored.is_intact)
      end
    end)
  end
end)
