-- SPDX-License-Identifier: Apache-2.0
-- What an adoption learns of a partition's folder before it writes anything.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"
local batches = require "spec.unit.record.batches"
local messages = require "spec.unit.record.messages"

local S = unit.load("log/log_survey.h")

--- leader epoch, producer id, whether it is a log.
local function survey(dir, has_transactions)
  local out = ffi.new "struct log_survey"
  local code = S.log_survey(dir, has_transactions or false, out)
  if code < 0 then return nil, logs.name(code) end
  return out.leader_epoch, tonumber(out.producer_id), out.is_log
end

local function folder() return unit.temp_dir() end

--- A segment of batches whose base offsets follow each other.
local function segment(dir, base, list)
  local bytes, offset = {}, base
  for i, options in ipairs(list) do
    options.base = offset
    bytes[i] = batches.batch(options)
    offset = offset + #(options.records or { "v" })
  end
  unit.write_file(("%s/%020d.log"):format(dir, base), table.concat(bytes))
end

local function by(id, sequence, options)
  options = options or {}
  options.producer_id, options.producer_epoch, options.sequence = id, 0, sequence or 0
  return options
end

--- A snapshot of Kafka's with these producers.
local function snapshot(dir, offset, ids)
  local body = { batches.int(#ids, 4) }
  for _, id in ipairs(ids) do
    body[#body + 1] = batches.int(id, 8) .. batches.int(0, 2) .. batches.int(0, 4) .. batches.int(0, 8) .. batches.int(0, 4)
      .. batches.int(0, 8) .. batches.int(-1, 4) .. batches.int(-1, 8)
  end
  body = table.concat(body)
  unit.write_file(("%s/%020d.snapshot"):format(dir, offset), batches.int(1, 2) .. batches.int(batches.crc(body), 4) .. body)
end

local function epochs(dir, text) unit.write_file(dir .. "/leader-epoch-checkpoint", text) end

describe("a survey", function()
  it("says of a folder without segments or partition.metadata that it is no log", function()
    local dir = folder()
    unit.write_file(dir .. "/00000000000000000000.index", "")
    unit.write_file(dir .. "/notes", "x")
    assert.same({ -1, -1, false }, { survey(dir) })
    unit.write_file(dir .. "/partition.metadata", "x")
    assert.same({ -1, -1, true }, { survey(dir) })
  end)

  it("fails where there is no folder", function()
    assert.same({ nil, "ERR_NOT_FOUND" }, { survey(folder() .. "/none") })
  end)

  it("takes the highest producer id of all batches where there is no snapshot", function()
    local dir = folder()
    segment(dir, 0, { by(7), by(3), {} })
    segment(dir, 3, { by(5) })
    assert.equal(7, (select(2, survey(dir))))
  end)

  it("takes those of all snapshots, and of the batches after the newest good one", function()
    local dir = folder()
    segment(dir, 0, { by(99) })
    segment(dir, 1, { by(40) })
    segment(dir, 2, { by(20) })
    snapshot(dir, 1, { 50, 4 })
    snapshot(dir, 2, { 10 })
    epochs(dir, "0\n1\n0 0\n")
    assert.equal(50, (select(2, survey(dir))))
    unit.write_file(dir .. "/00000000000000000002.snapshot", "torn")
    assert.equal(50, (select(2, survey(dir))))
    unit.write_file(dir .. "/00000000000000000001.snapshot", "torn")
    assert.equal(99, (select(2, survey(dir))))
  end)

  it("looks behind messages of formats 0 and 1, and changes nothing", function()
    local dir = folder()
    local old = messages.set(0, { "a" }) .. messages.wrapper(1, messages.set(1, { "b", "c" }), { offset = 2 })
    local bytes = old .. batches.batch { base = 3, producer_id = 7, producer_epoch = 0, sequence = 0, leader_epoch = 5 }
    local path = dir .. "/00000000000000000000.log"
    unit.write_file(path, bytes)
    assert.same({ 5, 7, true }, { survey(dir) })
    assert.equal(bytes, unit.read_file(path))
    for size = 1, #old do
      unit.write_file(path, bytes:sub(1, size))
      assert.same({ -1, -1, true }, { survey(dir) })
    end
  end)

  it("does not believe a batch whose CRC is wrong, nor an id that no broker gives", function()
    local dir = folder()
    segment(dir, 0, { by(7), by(1000000, 0, { crc_xor = 1 }), by(2 ^ 62), by(8) })
    assert.equal(8, (select(2, survey(dir))))
  end)

  it("stops at what is no batch, and goes on with the next segment", function()
    local dir = folder()
    segment(dir, 0, { by(7) })
    local path = dir .. "/00000000000000000000.log"
    unit.write_file(path, unit.read_file(path) .. ("\0"):rep(100))
    segment(dir, 1, { by(9) })
    assert.equal(9, (select(2, survey(dir))))
    local whole = batches.batch(by(9))
    for size = 0, #whole do
      unit.write_file(dir .. "/00000000000000000001.log", whole:sub(1, size))
      assert.equal(size == #whole and 9 or 7, (select(2, survey(dir))))
    end
  end)

  it("finds the ids of transactional ids that never wrote, in __transaction_state only", function()
    local dir = folder()
    local function value(id) return "\0\0" .. batches.int(id, 8) .. ("\0"):rep(10) end
    segment(dir, 0, { { records = { { key = "a", value = value(70) }, { key = "b", value = value(90) }, { key = "c" },
      { key = "d", value = "\0" } } }, { records = { { key = "e", value = value(200) } }, crc_xor = 1 } })
    snapshot(dir, 4, {})
    assert.equal(-1, (select(2, survey(dir))))
    assert.equal(90, (select(2, survey(dir, true))))
  end)

  it("takes the latest leader epoch of the list and of the batches, but none that is absurd", function()
    local dir = folder()
    segment(dir, 0, { { leader_epoch = 3 }, { leader_epoch = 0x7ffffffe } })
    assert.equal(3, (survey(dir)))
    epochs(dir, "0\n2\n0 0\n5 1\n")
    assert.equal(5, (survey(dir)))
    epochs(dir, "0\n1\n2 0\n")
    assert.equal(3, (survey(dir)))
    epochs(dir, "nonsense")
    assert.equal(3, (survey(dir)))
  end)

  it("finds an epoch without the list, also when the newest segment is empty and a snapshot stands at the end", function()
    local dir = folder()
    segment(dir, 0, { { leader_epoch = 1 } })
    segment(dir, 1, { { leader_epoch = 4 } })
    segment(dir, 2, {})
    snapshot(dir, 2, { 1 })
    assert.equal(4, (survey(dir)))
  end)

  it("changes nothing", function()
    local log = logs.open()
    log:append { batches.batch(by(1)), batches.batch(by(2)) }
    log:close()
    local before = {}
    for _, name in ipairs(log:names()) do before[name] = unit.read_file(log.dir .. "/" .. name) end
    assert.equal(2, (select(2, survey(log.dir, true))))
    local after = {}
    for _, name in ipairs(log:names()) do after[name] = unit.read_file(log.dir .. "/" .. name) end
    assert.same(before, after)
  end)
end)
