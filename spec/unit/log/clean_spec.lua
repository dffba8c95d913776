-- SPDX-License-Identifier: Apache-2.0
-- A pass of the log cleaner: what stays of a compacted log, and what does not change with it.
local cleaning = require "spec.unit.log.cleaning"
local logs, NULL = cleaning.logs, cleaning.NULL
local C = cleaning.C

describe("a cleaned log", function()
  it("has the newest record of each key, at its offset", function()
    local log = cleaning.open()
    cleaning.put(log, { { "a", "1" }, { "b", "1" } })
    cleaning.put(log, { { "a", "2" }, { "c", "1" } })
    cleaning.put(log, { { "b", "2" } })
    cleaning.roll(log)
    local counts = assert(cleaning.clean(log))
    assert.same({ { 2, "a", "2" }, { 3, "c", "1" }, { 4, "b", "2" } }, cleaning.records(log))
    assert.same({ 5, 3, 3, 5 }, { counts.read, counts.kept, counts.keys, counts["end"] })
    assert.same({ 0, 5 }, { log:start_offset(), log:end_offset() })
    log:close()
  end)

  it("keeps what lies in the active segment, and what is older than it only by that", function()
    local log = cleaning.open()
    cleaning.put(log, { { "a", "1" } })
    cleaning.roll(log)
    cleaning.put(log, { { "a", "2" } })
    assert(cleaning.clean(log))
    assert.same({ { 0, "a", "1" }, { 1, "a", "2" } }, cleaning.records(log))
    log:close()
  end)

  it("is as it was from the stable offset's segment on", function()
    local log = cleaning.open()
    for i = 1, 4 do
      cleaning.put(log, { { "a", tostring(i) } })
      cleaning.roll(log)
    end
    assert.equal(2, cleaning.look(log, { stable = 2 })["end"])
    assert(cleaning.clean(log, { stable = 2 }))
    assert.same({ { 1, "a", "2" }, { 2, "a", "3" }, { 3, "a", "4" } }, cleaning.records(log))
    log:close()
  end)

  it("has one segment in the place of several that fit into it", function()
    local log = cleaning.open { config = { segment_bytes = 2000 } }
    for i = 1, 60 do cleaning.put(log, { { "k" .. i % 5, ("v"):rep(100) } }) end
    cleaning.roll(log)
    local before = #log:segments()
    -- Segments are grouped by what they had, so the second pass finds them small.
    for _ = 1, 2 do assert(cleaning.clean(log)) end
    local bases = log:segments()
    assert.is_true(before > 4)
    assert.is_true(#bases < before)
    assert.equal(5, #cleaning.records(log))
    log:close()
  end)

  it("keeps base offset, last offset, epoch, producer and sequence of a batch of which something stays", function()
    local log = cleaning.open()
    cleaning.put(log, { { "a", "1" }, { "b", "1" }, { "a", "2" }, { "c", "1" } },
      { producer_id = 7, producer_epoch = 2, sequence = 40, epoch = 3 })
    cleaning.put(log, { { "c", "2" } }, { producer_id = 7, producer_epoch = 2, sequence = 44, epoch = 3 })
    cleaning.roll(log)
    assert(cleaning.clean(log))
    local batch = cleaning.batches_of(log)[1]
    assert.same({ 0, 3, 3 }, { batch.base, batch.last, batch.epoch })
    assert.same({ 7, 2, 40, 2 }, { tonumber(batch.header.producer_id), batch.header.producer_epoch, batch.header.base_sequence,
      batch.header.record_count })
    log:close()
  end)

  it("drops records without a key, as nobody can look for them", function()
    local log = cleaning.open()
    cleaning.put(log, { { false, "x" }, { "a", "1" } })
    cleaning.roll(log)
    assert.equal(1, assert(cleaning.clean(log)).keyless)
    assert.same({ { 1, "a", "1" } }, cleaning.records(log))
    log:close()
  end)

  for codec, name in ipairs { "gzip", "snappy", "lz4", "zstd" } do
    it("has batches packed as they were, with " .. name, function()
      local log = cleaning.open()
      cleaning.put(log, { { "a", "1" }, { "b", "1" }, { "a", "2" } }, { codec = codec })
      cleaning.put(log, { { "b", "2" } }, { codec = codec })
      cleaning.roll(log)
      assert(cleaning.clean(log))
      local list = cleaning.batches_of(log)
      assert.same({ { 2, "a", "2" }, { 3, "b", "2" } }, cleaning.records(log))
      assert.equal(codec, list[1].header.attributes % 8)
      log:close()
    end)
  end

  it("has tombstones until their time has come, and then nothing of the key", function()
    local log = cleaning.open { config = { delete_retention_ms = 1000 } }
    cleaning.put(log, { { "a", "1" }, { "b", "1" } })
    cleaning.put(log, { { "a", NULL, ts = 5 } })
    cleaning.roll(log)
    assert(cleaning.clean(log))
    assert.same({ { 1, "b", "1" }, { 2, "a", NULL } }, cleaning.records(log))
    local batch = cleaning.batches_of(log)[2]
    assert.equal(cleaning.NOW + 1000, tonumber(batch.header.base_timestamp))
    assert.equal(cleaning.NOW + 5, tonumber(batch.records[1].timestamp))
    assert.is_true(batch.header.attributes % 128 >= 64)
    cleaning.put(log, { { "c", "1" } })
    cleaning.roll(log)
    assert(cleaning.clean(log, { now = cleaning.NOW + 999 }))
    assert.same({ { 1, "b", "1" }, { 2, "a", NULL }, { 3, "c", "1" } }, cleaning.records(log))
    cleaning.put(log, { { "d", "1" } })
    cleaning.roll(log)
    assert(cleaning.clean(log, { now = cleaning.NOW + 1000 }))
    assert.same({ { 1, "b", "1" }, { 3, "c", "1" }, { 4, "d", "1" } }, cleaning.records(log))
    log:close()
  end)

  it("is the same after a clean start and after a crash", function()
    local log = cleaning.open()
    for i = 1, 40 do cleaning.put(log, { { "k" .. i % 7, "v" .. i }, { "l" .. i % 3, "w" .. i } }) end
    cleaning.roll(log)
    assert(cleaning.clean(log))
    local records = cleaning.records(log)
    log = cleaning.reopen(log, true)
    assert.same(records, cleaning.records(log))
    log = cleaning.reopen(log, false)
    assert.same(records, cleaning.records(log))
    assert.equal(80, log:end_offset())
    log:close()
  end)

  it("leaves no files but those of its segments", function()
    local log = cleaning.open()
    for i = 1, 40 do cleaning.put(log, { { "k" .. i % 7, "v" .. i } }) end
    cleaning.roll(log)
    assert(cleaning.clean(log))
    for _, name in ipairs(log:names()) do assert.is_nil(name:match "%.cleaned$" or name:match "%.swap$" or name:match "%.deleted$") end
    log:close()
  end)

  it("stays readable for who has a region of an old segment", function()
    local log = cleaning.open()
    cleaning.put(log, { { "a", "1" } })
    cleaning.put(log, { { "a", "2" } })
    cleaning.roll(log)
    local slice = assert(log:slice(0, { is_cold = true }))
    local before = logs.slice_bytes(slice)
    assert(cleaning.clean(log))
    assert.equal(before, logs.slice_bytes(slice))
    C.log_slice_release(slice)
    assert.same({ { 1, "a", "2" } }, cleaning.records(log))
    log:close()
  end)

  it("goes on where the map was full", function()
    local log = cleaning.open { config = { segment_bytes = 100000 } }
    for i = 1, 3000 do cleaning.put(log, { { "k" .. i, "1" } }) end
    for i = 1, 3000 do cleaning.put(log, { { "k" .. i, "2" } }) end
    cleaning.roll(log)
    local passes, counts = 0
    repeat
      counts = assert(cleaning.clean(log, { settings = { map_bytes = 32768 } }))
      assert.is_true(counts["end"] > counts.first)
      passes = passes + 1
    until not counts.is_full
    assert.is_true(passes > 4)
    local records = cleaning.records(log)
    assert.equal(3000, #records)
    for i = 1, 3000 do assert.same({ 2999 + i, "k" .. i, "2" }, records[i]) end
    log:close()
  end)
end)
