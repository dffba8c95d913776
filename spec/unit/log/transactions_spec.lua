-- SPDX-License-Identifier: Apache-2.0
-- Transactions that a log holds: which of them were aborted, and where the first open one begins, found in the index files
-- and in the batches.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"

local T = unit.load("log/log_transactions.h")
local C = logs.C

--- Records of a transaction.
local function part(id, sequence, count)
  local list = {}
  for i = 1, count or 1 do list[i] = ("x"):rep(50) end
  return logs.batch { records = list, producer_id = id, producer_epoch = 0, sequence = sequence, attributes = 0x10 }
end

--- Its end.
local function marker(id, is_commit)
  return logs.batch { records = { { key = "\0\0\0" .. (is_commit and "\1" or "\0"), value = ("\0"):rep(6) } }, producer_id = id,
    producer_epoch = 0, attributes = 0x30 }
end

--- { { producer id, first offset } ... } as a Fetch from an offset would tell.
local function aborted(log, offset)
  local slice = assert(log:slice(offset or log:start_offset(), { max = 100, is_cold = true }))
  local count = T.log_aborted_transactions(log.log, slice, offset or log:start_offset(), nil, 0)
  local out, list = ffi.new("struct log_aborted[?]", count + 1), {}
  assert.equal(count, T.log_aborted_transactions(log.log, slice, offset or log:start_offset(), out, count))
  C.log_slice_release(slice)
  for i = 1, count do list[i] = { tonumber(out[i - 1].producer_id), tonumber(out[i - 1].first_offset) } end
  return list
end

local function unstable(log)
  local offset = T.log_first_unstable_offset(log.log)
  return offset == 0x7fffffffffffffffLL and "none" or tonumber(offset)
end

local function reopen(log, is_clean, options)
  options = options or {}
  options.dir, options.is_clean = log.dir, is_clean
  if is_clean then assert.equal(0, log:close()) else log:crash() end
  return assert(logs.open(options))
end

--- A log with what `list` says: { "part", id, count }, { "abort" or "commit", id }; reopened.
local function made(list, options)
  local log, sequences = assert(logs.open(options)), {}
  for _, step in ipairs(list) do
    local what, id, count = step[1], step[2], step[3] or 1
    local bytes = what == "part" and part(id, sequences[id] or 0, count) or marker(id, what == "commit")
    if what == "part" then sequences[id] = (sequences[id] or 0) + count end
    assert(log:append(bytes), log.results and log.results[1])
  end
  return reopen(log, false, { config = options and options.config })
end

describe("the transactions of a log", function()
  it("are none where nobody began one", function()
    local log = made {}
    log:append { logs.batch(), logs.batch { producer_id = 1, producer_epoch = 0, sequence = 0 } }
    log = reopen(log, true)
    assert.same({}, aborted(log))
    assert.equal("none", unstable(log))
    log:close()
  end)

  it("are aborted from their first record on, or not when they were committed", function()
    local log = made { { "part", 1, 2 }, { "abort", 1 }, { "part", 1 }, { "commit", 1 }, { "part", 2 }, { "part", 1 }, { "abort", 2 },
      { "abort", 1 } }
    assert.same({ { 1, 0 }, { 2, 5 }, { 1, 6 } }, aborted(log))
    assert.same({ { 1, 0 }, { 2, 5 }, { 1, 6 } }, aborted(log, 2))
    assert.same({ { 2, 5 }, { 1, 6 } }, aborted(log, 3))
    assert.same({ { 1, 6 } }, aborted(log, 8))
    assert.equal("none", unstable(log))
    log:close()
  end)

  it("are open until their marker comes, over clean stops and crashes", function()
    local log = made { { "part", 1 }, { "part", 2 }, { "commit", 1 }, { "part", 3 } }
    for _, is_clean in ipairs { true, false, true, true } do
      assert.equal(1, unstable(log))
      assert.same({}, aborted(log))
      log = reopen(log, is_clean)
    end
    log:append { marker(2), marker(3) }
    log = reopen(log, false)
    assert.equal("none", unstable(log))
    assert.same({ { 2, 1 }, { 3, 3 } }, aborted(log))
    log:close()
  end)

  it("that are open are not forgotten with producers that are silent", function()
    local log = made { { "part", 1 }, { "part", 2 }, { "commit", 2 } }
    assert.equal(1, C.log_expire_producers(log.log, logs.NOW + 1000, 1000))
    log = reopen(log, true)
    assert.equal(0, unstable(log))
    log:close()
  end)

  it("are told of the segment that is read, also those that go on into the next", function()
    local config = { segment_bytes = 400 }
    local log = made({ { "part", 1 }, { "part", 2 }, { "abort", 2 }, { "part", 3, 4 }, { "part", 4, 4 }, { "abort", 4 }, { "abort", 3 },
      { "abort", 1 } }, { config = config })
    local bases = log:segments()
    assert.same({ 0, 3, 7, 12 }, bases)
    for _, is_clean in ipairs { false, true, true } do
      assert.same({ { 2, 1 }, { 1, 0 } }, aborted(log, 0))
      assert.same({ { 3, 3 }, { 1, 0 } }, aborted(log, 3))
      assert.same({ { 4, 7 }, { 3, 3 }, { 1, 0 } }, aborted(log, 7))
      assert.same({ { 3, 3 }, { 1, 0 } }, aborted(log, 12))
      assert.same({ { 1, 0 } }, aborted(log, 13))
      log = reopen(log, is_clean, { config = config })
    end
    assert.equal(34, #log:file(0, ".txnindex"))
    assert.equal(34, #log:file(7, ".txnindex"))
    assert.is_nil(log:file(3, ".txnindex"))
    assert.equal(68, #log:file(12, ".txnindex"))
    log:close()
  end)

  it("follow a truncation", function()
    local log = made { { "part", 1 }, { "abort", 1 }, { "part", 2 }, { "abort", 2 } }
    assert.equal(0, C.log_truncate_to(log.log, 3, logs.NOW))
    assert.same({ { 1, 0 } }, aborted(log))
    assert.equal(2, unstable(log))
    assert.equal(34, #log:file(0, ".txnindex"))
    assert.equal(0, C.log_truncate_all(log.log, 100, 100, logs.NOW))
    assert.equal("none", unstable(log))
    log:append(logs.batch())
    assert.same({}, aborted(log))
    log:close()
  end)

  it("come from an index file as it is below the recovery point, and from the batches beyond", function()
    local log = made { { "part", 1 }, { "abort", 1 } }
    log = reopen(log, true) -- a snapshot at 2
    log:append { part(1, 1), marker(1) }
    log:crash()
    local index = log:file(0, ".txnindex")
    unit.write_file(log:path(0, ".txnindex"), index:sub(1, 9) .. "\7" .. index:sub(11)) -- by producer 7
    log = assert(logs.open { dir = log.dir, recovery_point = 2 })
    assert.same({ { 7, 0 }, { 1, 2 } }, aborted(log))
    log:crash()
    log = assert(logs.open { dir = log.dir, recovery_point = 1 })
    assert.same({ { 1, 0 }, { 1, 2 } }, aborted(log))
    log:close()
  end)

  it("are found again, and the file is made anew, when it makes no sense", function()
    local index
    for _, damage in ipairs {
      function(bytes) return bytes:sub(1, 33) end,
      function(bytes) return bytes .. bytes end,
      function(bytes) return "\0\1" .. bytes:sub(3) end,
      function(bytes) return bytes:sub(1, 2) .. ("\255"):rep(8) .. bytes:sub(11) end,
      function(bytes) return bytes:sub(1, 18) .. ("\0"):rep(7) .. "\99" .. bytes:sub(27) end,
      function(bytes) return bytes:sub(1, 10) .. ("\0"):rep(7) .. "\9" .. bytes:sub(19) end,
    } do
      local log = made { { "part", 1 }, { "abort", 1 }, { "part", 2 }, { "commit", 2 } }
      log:close()
      index = log:file(0, ".txnindex")
      assert.equal(("0000 0000000000000001 0000000000000000 0000000000000001 0000000000000002"):gsub(" ", ""), unit.hex(index))
      unit.write_file(log:path(0, ".txnindex"), damage(index))
      local lines = logs.lines_of(function() log = assert(logs.open { dir = log.dir, is_clean = true, recovery_point = 4 }) end)
      assert.equal(1, #lines)
      assert.truthy(lines[1]:find("makes no sense", 1, true))
      assert.same({ { 1, 0 } }, aborted(log))
      assert.equal(index, log:file(0, ".txnindex"))
      log:close()
    end
  end)

  it("of any order are as a simple count has them", function()
    local seed = tonumber(os.getenv "SEED") or os.time() % 1000000
    math.randomseed(seed)
    for round = 1, 20 do
      local steps, open, expected, offset = {}, {}, {}, 0
      for _ = 1, math.random(5, 60) do
        local id = math.random(5)
        local what = open[id] and ({ "part", "abort", "commit" })[math.random(3)] or "part"
        local count = what == "part" and math.random(3) or 1
        steps[#steps + 1] = { what, id, count }
        if what == "part" then
          open[id] = open[id] or offset
        else
          if what == "abort" then expected[#expected + 1] = { id, open[id] } end
          open[id] = nil
        end
        offset = offset + count
      end
      local first = "none"
      for _, at in pairs(open) do first = (first == "none" or at < first) and at or first end
      local log = made(steps, { config = { segment_bytes = 1000000 } })
      local why = ("seed %d, round %d"):format(seed, round)
      for _, is_clean in ipairs { false, true, true } do
        assert.equal(first, unstable(log), why)
        assert.same(expected, aborted(log), why)
        log = reopen(log, is_clean, { recovery_point = is_clean and 0 or math.random(0, offset) })
      end
      log:close()
    end
  end)
end)
