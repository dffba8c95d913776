-- SPDX-License-Identifier: Apache-2.0
-- Compaction of what Apache Kafka 4.4.0 wrote: its golden topics read back right afterwards, and after another start.
local cleaning = require "spec.unit.log.cleaning"
local kafka = require "spec.support.kafka_dir"
local unit = require "spec.support.unit"

local int = cleaning.batches.int

--- A partition of the directory, opened as a compacted log with all its records in closed segments.
local function open(data, name)
  local log = cleaning.open { dir = data .. "/" .. name, config = { segment_bytes = 1048576 } }
  cleaning.roll(log)
  return log
end

--- Cleans, and opens anew; the records before and after.
local function cleaned(log)
  local before = cleaning.records(log)
  assert(cleaning.clean(log))
  local after = cleaning.records(log)
  for _, is_clean in ipairs { false, true } do
    log = cleaning.reopen(log, is_clean, { config = { segment_bytes = 1048576 } })
    assert.same(after, cleaning.records(log))
  end
  return before, after, log
end

--- Of all records, those that are the newest of their key.
local function newest(records)
  local last, list = {}, {}
  for _, record in ipairs(records) do last[record[2]] = record[1] end
  for _, record in ipairs(records) do
    if last[record[2]] == record[1] then list[#list + 1] = record end
  end
  return list
end

describe("A partition that Kafka wrote", function()
  local data
  before_each(function() data = kafka.copy() end)

  for _, name in ipairs { "golden-compact-0", "golden-plain-0", "__consumer_offsets-49" } do
    it(("%s has the newest record of each key once it is cleaned"):format(name), function()
      local log = open(data, name)
      local end_offset = log:end_offset()
      local before, after
      before, after, log = cleaned(log)
      assert.is_true(#before > 0)
      assert.same(newest(before), after)
      assert.equal(end_offset, log:end_offset())
      log:close()
    end)
  end

  it("__consumer_offsets-49 has golden-group's offset 1234 of golden-plain", function()
    local log = open(data, "__consumer_offsets-49")
    local _, after
    _, after, log = cleaned(log)
    -- Key: version 1, group, topic, partition; value: a version, then the offset.
    local key = int(1, 2) .. int(12, 2) .. "golden-group" .. int(12, 2) .. "golden-plain" .. int(0, 4)
    local found
    for _, record in ipairs(after) do
      if record[2] == key then found = record[3] end
    end
    assert.equal(unit.hex(int(1234, 8)), unit.hex(found:sub(3, 10)))
    log:close()
  end)
end)
