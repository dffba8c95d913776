-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"

local C = logs.C

--- A log with two batches under each of the epochs.
local function log_of(epochs)
  local log = logs.open()
  for _, epoch in ipairs(epochs) do log:append({ logs.batch(), logs.batch() }, { epoch = epoch }) end
  return log
end

local function end_of(log, epoch)
  local found, offset = ffi.new "int32_t[1]", ffi.new "int64_t[1]"
  C.log_epoch_end_offset(log.log, epoch, found, offset)
  return { found[0], tonumber(offset[0]) }
end

describe("leader epochs", function()
  it("are noted when they change, with the offset they begin at", function()
    local log = log_of { 1, 3, 7 }
    assert.equal(7, C.log_latest_epoch(log.log))
    local got = {}
    for offset = 0, 8 do got[#got + 1] = C.log_epoch_for_offset(log.log, offset) end
    assert.same({ 1, 1, 3, 3, 7, 7, 7, 7, 7 }, got)
    log:close()
    assert.equal("0\n3\n1 0\n3 2\n7 4\n", unit.read_file(log.dir .. "/leader-epoch-checkpoint"))
  end)

  it("end where the next known one begins, the latest at the log's end", function()
    local log = log_of { 1, 3, 7 }
    assert.same({ 1, 2 }, end_of(log, 1))
    assert.same({ 1, 2 }, end_of(log, 2))
    assert.same({ 3, 4 }, end_of(log, 3))
    assert.same({ 3, 4 }, end_of(log, 6))
    assert.same({ 7, 6 }, end_of(log, 7))
    assert.same({ -1, -1 }, end_of(log, 8))
    assert.same({ -1, -1 }, end_of(log, -1))
    -- Older than all: its records would end where the oldest begins.
    assert.same({ 0, 0 }, end_of(log, 0))
    assert.same({ -2, 0 }, end_of(log, -2))
    assert.same({ -2147483648, 0 }, end_of(log, -2147483648))
    assert.same({ -1, -1 }, end_of(log, 2147483647))
    log:close()
  end)

  it("are unknown in an empty log", function()
    local log = logs.open()
    assert.equal(-1, C.log_latest_epoch(log.log))
    assert.equal(-1, C.log_epoch_for_offset(log.log, 0))
    assert.same({ -1, -1 }, end_of(log, 0))
    C.log_assign_leader_epoch(log.log, 4)
    assert.equal(4, C.log_latest_epoch(log.log))
    assert.same({ 4, 0 }, end_of(log, 4))
    log:close()
  end)

  it("are only assigned upwards", function()
    local log = log_of { 5 }
    C.log_assign_leader_epoch(log.log, 4)
    C.log_assign_leader_epoch(log.log, 5)
    assert.same({ 5, 2 }, end_of(log, 5))
    C.log_assign_leader_epoch(log.log, 6)
    C.log_assign_leader_epoch(log.log, 9)
    -- Nothing was written under 6.
    assert.equal(9, C.log_latest_epoch(log.log))
    log:close()
    assert.equal("0\n2\n5 0\n9 2\n", unit.read_file(log.dir .. "/leader-epoch-checkpoint"))
  end)

  it("come back after a restart", function()
    local log = log_of { 1, 3 }
    C.log_assign_leader_epoch(log.log, 8)
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.equal(8, C.log_latest_epoch(again.log))
    assert.same({ 3, 4 }, end_of(again, 3))
    again:close()
  end)

  it("beyond the end of the log are dropped at start", function()
    local log = log_of { 1 }
    log:close()
    unit.write_file(log.dir .. "/leader-epoch-checkpoint", "0\n3\n1 0\n2 2\n3 50\n")
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.equal(2, C.log_latest_epoch(again.log))
    again:close()
  end)

  it("in a file that makes no sense are taken from the batches, with a warning", function()
    for _, text in ipairs { "x", "1\n0\n", "0\n2\n1 0\n", "0\n1\n1\n", "0\n1\n-1 0\n", "0\n1\n1 -5\n", "0\n2\n3 0\n2 5\n",
      "0\n2\n1 5\n2 0\n", "0\n1\n99999999999 0\n", "0\n999999999\n1 0\n", "0\n-1\n" } do
      local log = log_of { 1 }
      log:close()
      unit.write_file(log.dir .. "/leader-epoch-checkpoint", text)
      local again
      assert.equal(1, #logs.lines_of(function() again = logs.open { dir = log.dir, is_clean = true } end), text)
      assert.equal(1, C.log_latest_epoch(again.log))
      again:close()
      assert.equal("0\n1\n1 0\n", unit.read_file(log.dir .. "/leader-epoch-checkpoint"))
    end
  end)

  it("are taken from the batches of all segments when the file is missing, also after a clean stop", function()
    for _, options in ipairs { { is_clean = true }, { recovery_point = 7 }, { recovery_point = 10 } } do
      local config = { segment_bytes = 300, index_interval_bytes = 100 }
      local log = logs.open { config = config }
      for epoch = 1, 5 do
        for _ = 1, 2 do log:append(logs.batch { size = 100, ts = 1000 + epoch }, { epoch = epoch }) end
      end
      log:close()
      os.remove(log.dir .. "/leader-epoch-checkpoint")
      options.dir, options.config = log.dir, config
      local again = logs.open(options)
      for offset = 0, 9 do assert.equal(math.floor(offset / 2) + 1, C.log_epoch_for_offset(again.log, offset)) end
      again:close()
      assert.equal("0\n5\n1 0\n2 2\n3 4\n4 6\n5 8\n", unit.read_file(log.dir .. "/leader-epoch-checkpoint"))
    end
  end)

  it("of Kafka's file are read", function()
    local log = log_of { 0 }
    log:close()
    unit.write_file(log.dir .. "/leader-epoch-checkpoint", "0\n1\n0 0\n")
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.equal(0, C.log_latest_epoch(again.log))
    again:close()
  end)
end)
