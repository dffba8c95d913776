-- SPDX-License-Identifier: Apache-2.0
-- Random batches, divided and written anew: what comes out holds the records that went in. SEED=number replays a run.
local ffi = require "ffi"
local batches = require "spec.unit.record.batches"
local splits = require "spec.unit.record.splits"

local C = batches.C
local split, rewrite, content, LARGE = splits.split, splits.rewrite, splits.content, splits.LARGE
local MAX, MIN = 0x7fffffffffffffffLL, -0x7fffffffffffffffLL - 1

describe("random batches", function()
  local seed = tonumber(os.getenv "SEED") or os.time()

  local function random_bytes(most)
    local kind = math.random(6)
    if kind == 1 then return nil elseif kind == 2 then return "" end
    local size = kind == 3 and math.random(most * 20) or math.random(most)
    return (("."):rep(size):gsub(".", function() return string.char(math.random(0, 255)) end))
  end

  local STAMPS = { 0, 1, -1, MAX, MIN, 1700000000000LL }

  local function random_batch()
    local records = {}
    for i = 1, math.random(0, 60) do
      local headers = {}
      for j = 1, math.random(4) == 1 and math.random(3) or 0 do headers[j] = { random_bytes(5) or "", random_bytes(9) } end
      records[i] = { key = random_bytes(12), value = random_bytes(40), headers = headers,
        ts = math.random(5) == 1 and STAMPS[math.random(#STAMPS)] or math.random(-70000, 70000) }
    end
    local has_producer = math.random(2) == 1
    return batches.batch { codec = math.random(0, 4), records = records, ts = STAMPS[math.random(#STAMPS)],
      max_ts = math.random(100000), last_delta = math.max(#records, 1) - 1,
      attributes = math.random(4) == 1 and C.BATCH_APPEND_TIME or 0, producer_id = has_producer and math.random(1e9) or -1,
      producer_epoch = has_producer and 3 or -1, sequence = has_producer and math.random(0, 0x7fffffff) or -1 }
  end

  it("give exactly their records when they are divided and written anew (seed " .. seed .. ")", function()
    math.randomseed(seed)
    local kept = ffi.new "struct batch_split"
    for _ = 1, 300 do
      local bytes = random_batch()
      local before = assert(batches.read(bytes, LARGE))
      local partitions = math.random(1, 12)
      local chosen, gone, expected, left = {}, {}, {}, {}
      for i, record in ipairs(before) do
        chosen[i] = math.random(0, partitions - 1)
        expected[chosen[i]] = expected[chosen[i]] or {}
        table.insert(expected[chosen[i]], content(record))
        if math.random(3) == 1 then gone[i] = true else left[#left + 1] = record end
      end
      local got = {}
      for _, share in ipairs(assert(split(bytes, chosen, { partitions = partitions, codec = math.random(0, 4), split = kept }))) do
        got[share.partition] = {}
        for i, record in ipairs(share.records) do got[share.partition][i] = content(record) end
      end
      assert.same(expected, got)
      local text = rewrite(bytes, gone, nil, { codec = math.random(0, 4) })
      assert.equal("0", batches.check(text))
      assert.same(left, batches.read(text, LARGE))
    end
    C.batch_split_destroy(kept)
  end)
end)
