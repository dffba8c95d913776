-- SPDX-License-Identifier: Apache-2.0
-- Shares of an idempotent producer's batches, which a partitioner of the broker's divided: what a log makes of their
-- sequence numbers, which have gaps.
local bit = require "bit"
local logs = require "spec.unit.log.logs"

local SHARE = bit.lshift(1LL, 62) + 7LL * 1048576 + 3
local OUT_OF_ORDER, OLD_EPOCH = "ERR_OUT_OF_ORDER_SEQUENCE", "ERR_INVALID_PRODUCER_EPOCH"

--- What becomes of a share of `count` records.
local function send(log, sequence, count, epoch, id)
  local list = {}
  for i = 1, count or 1 do list[i] = "x" end
  local offsets = log:append(logs.batch { records = list, producer_id = id or SHARE, producer_epoch = epoch or 0,
    sequence = sequence })
  if log.results[1] ~= 0 then return log.results[1] end
  return (log.duplicates[1] and "duplicate " or "stored ") .. offsets[1]
end

local function reopen(log, is_clean)
  local options = { dir = log.dir, is_clean = is_clean }
  if is_clean then assert.equal(0, log:close()) else log:crash() end
  return assert(logs.open(options))
end

describe("a share of an idempotent producer's batch", function()
  -- { what, shares before, share, what becomes of it }; a share: sequence, records, epoch
  local CASES = {
    { "a gap after the last one", { { 0, 3 } }, { 90 }, "stored 3" },
    { "the next sequence", { { 0, 3 } }, { 3 }, "stored 3" },
    { "the last one again", { { 0, 3 }, { 90, 2 } }, { 90, 2 }, "duplicate 3" },
    { "an earlier one again", { { 0, 3 }, { 90, 2 } }, { 0, 3 }, "duplicate 0" },
    { "a sequence before the last one", { { 0 }, { 90 } }, { 50 }, OUT_OF_ORDER },
    { "a part of the last one", { { 90, 3 } }, { 91 }, OUT_OF_ORDER },
    { "more than the last one", { { 90, 3 } }, { 90, 4 }, OUT_OF_ORDER },
    { "any sequence of a new epoch", { { 90 } }, { 17, 1, 1 }, "stored 1" },
    { "a lower sequence in the new epoch", { { 90 }, { 17, 1, 1 } }, { 16, 1, 1 }, OUT_OF_ORDER },
    { "an older epoch", { { 90, 1, 1 } }, { 91, 1, 0 }, OLD_EPOCH },
    { "a sequence beyond the end of the numbers", { { 2147483000 } }, { 5 }, "stored 1" },
    { "what comes again beyond the end of the numbers", { { 2147483647, 3 } }, { 2147483647, 3 }, "duplicate 0" },
    { "one from before the end of the numbers", { { 2147483000 }, { 5 } }, { 2147483600 }, OUT_OF_ORDER },
    { "a gap as wide as it may be", { { 0 } }, { 2147483647 - 268435456 }, "stored 1" },
    { "a gap that is wider", { { 0 } }, { 2147483647 - 268435455 }, OUT_OF_ORDER },
  }
  for _, case in ipairs(CASES) do
    it("with " .. case[1] .. ": " .. case[4], function()
      local log = logs.open()
      for _, before in ipairs(case[2]) do assert.truthy(send(log, unpack(before)):find "^stored") end
      local end_offset = log:end_offset()
      assert.equal(case[4], send(log, unpack(case[3])))
      if not case[4]:find "^stored" then assert.equal(end_offset, log:end_offset()) end
      log:close()
    end)
  end

  for _, how in ipairs { "a clean restart", "a crash" } do
    it("is known as one of the last five after " .. how, function()
      local log = logs.open()
      for i = 0, 5 do assert.equal("stored " .. 2 * i, send(log, 100 * i, 2)) end
      log = reopen(log, how == "a clean restart")
      for i = 5, 1, -1 do assert.equal("duplicate " .. 2 * i, send(log, 100 * i, 2)) end
      assert.equal(OUT_OF_ORDER, send(log, 0, 2))
      assert.equal("stored 12", send(log, 777))
      log:close()
    end)
  end

  it("has nothing to do with those of another addressed partition, nor with the producer's own batches", function()
    local log = logs.open()
    assert.equal("stored 0", send(log, 50))
    assert.equal("stored 1", send(log, 20, 1, 0, SHARE + 1))
    assert.equal("stored 2", send(log, 0, 1, 0, 7))
    assert.equal(OUT_OF_ORDER, send(log, 2, 1, 0, 7))
    log:close()
  end)

  it("has the rule from 2^62 on, and the id below has that of Kafka", function()
    local log = logs.open()
    local first = bit.lshift(1LL, 62)
    assert.equal("stored 0", send(log, 0, 1, 0, first))
    assert.equal("stored 1", send(log, 2, 1, 0, first))
    assert.equal("stored 2", send(log, 0, 1, 0, first - 1))
    assert.equal(OUT_OF_ORDER, send(log, 2, 1, 0, first - 1))
    log:close()
  end)
end)
