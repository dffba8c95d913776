-- SPDX-License-Identifier: Apache-2.0
-- Transactions and producers in a log that is cleaned: aborted records go, markers stay until nothing of their transaction
-- is left and their time has come, and the last batch of each producer stays, empty if it has to.
local ffi = require "ffi"
local cleaning = require "spec.unit.log.cleaning"
local L = cleaning.L
local C = cleaning.C

local RETENTION = 1000

--- A log with these steps, each in a segment of its own, opened anew so that it knows its transactions. Steps: { "part", id,
--- key, value }, { "commit" or "abort", id }, { "plain", key, value }, { "idempotent", id, key, value }.
local function made(steps)
  local log, sequences = cleaning.open { config = { delete_retention_ms = RETENTION } }, {}
  local function put(step)
    local what, id = step[1], step[2]
    if what == "plain" then
      cleaning.put(log, { { step[2], step[3] } })
    elseif what == "commit" or what == "abort" then
      cleaning.put(log, { { "\0\0\0" .. (what == "commit" and "\1" or "\0"), ("\0"):rep(6) } },
        { producer_id = id, producer_epoch = 0, attributes = 0x30 })
    else
      local sequence = sequences[id] or 0
      cleaning.put(log, { { step[3], step[4] } }, { producer_id = id, producer_epoch = 0, sequence = sequence,
        attributes = what == "part" and 0x10 or 0 })
      sequences[id] = sequence + 1
    end
    cleaning.roll(log)
  end
  for _, step in ipairs(steps) do put(step) end
  log = cleaning.reopen(log, false, { config = { delete_retention_ms = RETENTION } })
  return log, function(step)
    put(step)
    cleaning.roll(log)
  end
end

--- What every batch is: "offset kind", with its keys.
local function shape(log)
  local list = {}
  for i, batch in ipairs(cleaning.batches_of(log)) do
    local keys = {}
    for j, record in ipairs(batch.records) do keys[j] = record.key end
    local kind = cleaning.batches.is_control(batch.header) and "marker" or table.concat(keys, ",")
    if #batch.records == 0 then kind = "empty" end
    list[i] = ("%d %s"):format(batch.base, kind)
  end
  return list
end

--- First offsets of the aborted transactions that readers are told of, and what the files of the segments say.
local function aborted(log)
  local list = {}
  for _, batch in ipairs(cleaning.batches_of(log)) do
    local slice = assert(log:slice(batch.base, { max = 1, is_cold = true }))
    local out = ffi.new "struct log_aborted[10]"
    for i = 1, L.log_aborted_transactions(log.log, slice, batch.base, out, 10) do list[tonumber(out[i - 1].first_offset)] = true end
    C.log_slice_release(slice)
  end
  local offsets = {}
  for offset in pairs(list) do offsets[#offsets + 1] = offset end
  table.sort(offsets)
  return offsets
end

local function pass(log, now) return assert(cleaning.clean(log, { now = cleaning.NOW + (now or 0) })) end

describe("In a cleaned log", function()
  it("records of an aborted transaction are gone, those of a committed one are not", function()
    local log = made { { "part", 1, "a", "1" }, { "part", 2, "b", "1" }, { "abort", 1 }, { "commit", 2 }, { "plain", "c", "1" } }
    pass(log)
    assert.same({ { 1, "b", "1" }, { 4, "c", "1" } }, cleaning.records(log))
    log:close()
  end)

  it("an aborted record does not take older ones with it", function()
    local log = made { { "plain", "a", "1" }, { "part", 1, "a", "2" }, { "abort", 1 }, { "plain", "b", "1" } }
    pass(log)
    assert.same({ { 0, "a", "1" }, { 3, "b", "1" } }, cleaning.records(log))
    log:close()
  end)

  it("a marker stays as long as something of its transaction does, and its time on top of that", function()
    local log, put = made { { "part", 1, "a", "1" }, { "commit", 1 }, { "plain", "b", "1" } }
    pass(log)
    assert.same({ "0 a", "1 marker", "2 b" }, shape(log))
    put { "plain", "a", "2" }
    put { "idempotent", 1, "d", "1" } -- the producer goes on, so that its old batch is not its last any more
    log = cleaning.reopen(log, true, { config = { delete_retention_ms = RETENTION } })
    pass(log, 5 * RETENTION)
    -- In this pass its records were there still.
    assert.same({ "1 marker", "2 b", "3 a", "4 d" }, shape(log))
    pass(log, 6 * RETENTION)
    assert.same({ "1 marker", "2 b", "3 a", "4 d" }, shape(log))
    local marker = cleaning.batches_of(log)[1]
    assert.equal(cleaning.NOW + 7 * RETENTION, tonumber(marker.header.base_timestamp))
    assert.equal(cleaning.NOW, tonumber(marker.records[1].timestamp))
    pass(log, 7 * RETENTION - 1)
    assert.equal("1 marker", shape(log)[1])
    pass(log, 7 * RETENTION)
    assert.same({ "2 b", "3 a", "4 d" }, shape(log))
    log:close()
  end)

  it("readers are told of an aborted transaction as long as a batch of it is there", function()
    local log, put = made { { "part", 1, "a", "1" }, { "abort", 1 }, { "plain", "b", "1" } }
    assert.same({ 0 }, aborted(log))
    pass(log)
    -- Its batch is the last of the producer, and stays for its sequence number.
    assert.same({ "0 empty", "1 marker", "2 b" }, shape(log))
    assert.same({ 0 }, aborted(log))
    put { "idempotent", 1, "c", "1" }
    log = cleaning.reopen(log, true, { config = { delete_retention_ms = RETENTION } })
    assert.same({ 0 }, aborted(log))
    pass(log)
    assert.same({ "1 marker", "2 b", "3 c" }, shape(log))
    pass(log)
    assert.same({}, aborted(log))
    log = cleaning.reopen(log, false, { config = { delete_retention_ms = RETENTION } })
    assert.same({ "1 marker", "2 b", "3 c" }, shape(log))
    assert.same({}, aborted(log))
    pass(log, 2 * RETENTION)
    assert.same({ "2 b", "3 c" }, shape(log))
    log:close()
  end)

  it("nothing of an open transaction, and after it, is touched", function()
    local log = made { { "plain", "a", "1" }, { "plain", "a", "2" }, { "part", 1, "a", "3" }, { "plain", "a", "4" } }
    assert.equal(2, tonumber(L.log_first_unstable_offset(log.log)))
    assert(cleaning.clean(log, { stable = 2 }))
    assert.same({ "1 a", "2 a", "3 a" }, shape(log))
    log:close()
  end)

  it("each producer goes on with the sequence number that comes next, also when its records are gone", function()
    local log, put = made { { "idempotent", 7, "a", "1" }, { "idempotent", 7, "a", "2" }, { "idempotent", 8, "b", "1" },
      { "plain", "a", "3" }, { "plain", "b", "2" } }
    put { "plain", "c", "1" }
    pass(log)
    assert.same({ "1 empty", "2 empty", "3 a", "4 b", "5 c" }, shape(log))
    -- Found in the batches alone.
    os.execute(("rm -f '%s'/*.snapshot"):format(log.dir))
    log = cleaning.reopen(log, false)
    local function try(id, sequence)
      log:append(cleaning.batch({ { "x", "y" } }, { producer_id = id, producer_epoch = 0, sequence = sequence }))
      return log.results[1]
    end
    assert.same({ "ERR_OUT_OF_ORDER_SEQUENCE", 0, 0 }, { try(7, 5), try(7, 2), try(8, 1) })
    log:close()
  end)

  it("the last batch of a pass stays, empty, so that the log ends where it did", function()
    local log = cleaning.open()
    cleaning.put(log, { { "a", "1" } })
    cleaning.put(log, { { false, "nobody's" } })
    cleaning.roll(log)
    pass(log)
    assert.same({ "0 a", "1 empty" }, shape(log))
    log:close()
  end)
end)
