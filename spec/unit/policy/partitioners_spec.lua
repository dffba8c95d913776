-- SPDX-License-Identifier: Apache-2.0
-- The built-in partitioners. That clients' own partitioners choose the same is in
-- spec/functional/built_in_partitioners_spec.lua.
local ffi = require "ffi"
local bit = require "bit"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"

local C = batches.C
unit.load("base/uuid.h", "record/split.h", "policy/policy.h", "policy/partitioners.h")

local function read(text)
  local choice, message = ffi.new "struct policy_choice", ffi.new "char[256]"
  local code = C.policy_choice_read(text, #text, choice, message, 256)
  if code < 0 then return nil, batches.name(code), ffi.string(message) end
  return { choice = choice, text = text }
end

--- Partitions of records { { key, value, headers } ... } by a partitioner.
local function choose(text, records, partitions, turn)
  local bytes = batches.batch { records = records }
  local copy, open = unit.buffer(bytes), ffi.new "struct batch_records"
  assert.equal(0, C.batch_records_open(open, copy, #bytes, 1000000))
  local chosen = ffi.new("int32_t[?]", #records)
  C.policy_choose(assert(read(text)).choice, turn or 0, open.records, #records, partitions, chosen)
  C.batch_records_close(open)
  local out = {}
  for i = 1, #records do out[i] = chosen[i - 1] end
  return out
end

local function keyed(...)
  local out = {}
  for i, key in ipairs { ... } do out[i] = { key = key, value = "v" } end
  return out
end

local function turn(kind, options, turns)
  local o = options or {}
  local header = ffi.new("struct batch_header", { producer_id = o.producer_id or -1, base_sequence = o.sequence or -1,
    record_count = o.count or 1 })
  local id = ffi.new "struct uuid"
  ffi.cast("uint8_t *", id)[0] = o.topic or 1
  return C.policy_turn(turns or ffi.new "struct policy_turns", assert(read(kind)).choice, id, o.addressed or 0, header)
end

describe("murmur2", function()
  it("is that of the Java client", function()
    local golden = { [""] = 275646681, a = -1563381124, key = -1079937367, ["21"] = -973932308, foobar = -790332482,
      ["a-little-bit-long-string"] = -985981536 }
    for key, hash in pairs(golden) do assert.equal(hash, bit.tobit(C.policy_murmur2(key, #key))) end
  end)

  it("chooses the partitions that the Java client chooses, with empty keys hashed", function()
    assert.same({ 1, 4, 1, 0, 6, 2 }, choose("murmur2", keyed("", "a", "key", "21", "foobar",
      "a-little-bit-long-string"), 10))
  end)

  it("keeps records without a key of one batch together, as their batch's turn says", function()
    assert.same({ 2, 2, 4 }, choose("murmur2", { { value = "x" }, { value = "y" }, { key = "a" } }, 10, 12))
  end)
end)

describe("consistent", function()
  it("is the key's CRC-32 as librdkafka has it, no key being an empty one", function()
    assert.same({ 0, 7, 7, 9, 0, 4 }, choose("consistent", { { key = "" }, { key = "a" }, { key = "key" },
      { key = "foobar" }, { value = "no key" }, { key = "a-little-bit-long-string" } }, 10))
  end)
end)

describe("round_robin", function()
  it("goes from partition to partition from the batch's turn on", function()
    assert.same({ 1, 2, 0, 1 }, choose("round_robin", keyed("a", "a", "a", "a"), 3, 4))
  end)

  it("goes on in the next batch where the last one ended", function()
    local turns = ffi.new "struct policy_turns"
    local first = turn("round_robin", { count = 5 }, turns)
    assert.equal(first + 5, turn("round_robin", { count = 1 }, turns))
    assert.equal(first + 6, turn("round_robin", { count = 7 }, turns))
  end)

  it("follows the sequence of an idempotent producer", function()
    local first = turn("round_robin", { producer_id = 7, sequence = 0, count = 5 })
    assert.equal(first + 5, turn("round_robin", { producer_id = 7, sequence = 5, count = 2 }))
  end)

  it("is not troubled by counts and sequences that no batch has", function()
    for _, count in ipairs { 0, -1, -2147483648 } do turn("round_robin", { count = count }) end
    turn("round_robin", { producer_id = 1, sequence = -1 })
    assert.same({ 0, 1 }, choose("round_robin", keyed("a", "b"), 2, 0xfffffffe))
  end)
end)

describe("sticky", function()
  it("keeps a batch together and goes to the next partition with the next", function()
    assert.same({ 2, 2 }, choose("sticky", keyed("a", "b"), 3, 5))
    local turns = ffi.new "struct policy_turns"
    local first = turn("sticky", { count = 5 }, turns)
    assert.equal(first + 1, turn("sticky", { count = 5 }, turns))
  end)

  it("spreads an idempotent producer's batches of any size over all partitions", function()
    for _, size in ipairs { 1, 2, 3, 64, 100 } do
      local seen, count = {}, 0
      for i = 0, 199 do seen[turn("sticky", { producer_id = 5, sequence = i * size }) % 4] = true end
      for _ in pairs(seen) do count = count + 1 end
      assert.equal(4, count)
    end
  end)
end)

describe("the turn of a batch", function()
  it("is the same for a retry of an idempotent producer, whoever asks", function()
    for _, kind in ipairs { "murmur2", "round_robin", "sticky", "header:h" } do
      local options = { producer_id = 1234, sequence = 77, addressed = 3, topic = 9 }
      assert.equal(turn(kind, options), turn(kind, options))
    end
  end)

  it("is a topic's own", function()
    local turns = ffi.new "struct policy_turns"
    local first = turn("sticky", { topic = 1 }, turns)
    turn("sticky", { topic = 2 }, turns)
    assert.equal(first + 1, turn("sticky", { topic = 1 }, turns))
  end)
end)

describe("header:NAME", function()
  local function with(...) return { key = "key", value = "v", headers = { ... } } end

  it("hashes the value of the last header of that name, also an empty one", function()
    assert.same({ 4, 4, 1 }, choose("header:region", { with({ "region", "a" }), with({ "region", "x" }, { "region", "a" }),
      with({ "region", "" }) }, 10))
  end)

  it("goes by the key where there is none, or one without a value", function()
    assert.same({ 1, 1, 3 }, choose("header:region", { with { "regio", "a" }, with { "region", nil }, { value = "v" } },
      10, 3))
  end)

  it("may have any name, colons and commas included", function()
    assert.same({ 4 }, choose("header:a:b,c", { with { "a:b,c", "a" } }, 10))
  end)
end)

describe("range:BOUNDS", function()
  it("goes by the order of the keys' bytes", function()
    assert.same({ 0, 0, 1, 1, 2, 3, 3, 0, 0 }, choose("range:a,m,t", { { key = "Z" }, { key = "A" }, { key = "a" },
      { key = "lzz" }, { key = "m" }, { key = "t" }, { key = "\255" }, { key = "" }, { value = "no key" } }, 4))
  end)

  it("orders a bound before the keys that begin with it", function()
    assert.same({ 0, 1, 1 }, choose("range:ab", keyed("a", "ab", "abc"), 2))
  end)

  it("leaves the rest to the last partition", function()
    assert.same({ 0, 1, 1 }, choose("range:a,m,t", keyed("", "b", "z"), 2))
    assert.same({ 0 }, choose("range:a,m,t", keyed "z", 1))
  end)
end)

describe("luka.partitioner", function()
  local function check(name, set)
    local message = ffi.new "char[1024]"
    local code = C.policy_check_partitioner(set, name, message, 1024)
    return code == 0 or ffi.string(message)
  end

  it("may be one of ours, or one that the configuration names", function()
    local policy = ffi.new "struct policy"
    local named = ffi.new("struct policy_named[2]", { { "by_age", policy }, { "by_region", policy } })
    local set = ffi.new("struct policy_set", { named = named, named_count = 2 })
    for _, name in ipairs { "by_age", "by_region", "sticky", "header:x" } do assert.is_true(check(name, set)) end
    assert.equal("Invalid value by_day for configuration luka.partitioner: there is no partitioner of that name. There are: "
      .. "none, murmur2, consistent, round_robin, sticky, header:NAME, range:BOUND,..., by_age, by_region", check("by_day", set))
    assert.is_truthy(check("by_age", nil):find("There are: none", 1, true))
    assert.equal("Invalid value range:b,a for configuration luka.partitioner: the bounds of range: have to rise, and none may "
      .. "be empty: range:a,m,t", check("range:b,a", set))
  end)
end)

describe("the name of a partitioner", function()
  it("is one of ours or not found", function()
    for _, name in ipairs { "", "none", "murmur", "murmur22", "Sticky", "header", "range", "by_region" } do
      assert.equal("ERR_NOT_FOUND", select(2, read(name)))
    end
  end)

  it("has an argument where it needs one", function()
    for _, name in ipairs { "header:", "range:", "range:a,,b", "range:,a", "range:a,", "range:b,a", "range:a,a" } do
      local _, code, message = read(name)
      assert.equal("ERR_CONFIG", code)
      assert.is_truthy(message:find(name:match "^%a+:", 1, true))
    end
    local bounds = {}
    for i = 1, 65 do bounds[i] = ("%03d"):format(i) end
    assert.equal("ERR_CONFIG", select(2, read("range:" .. table.concat(bounds, ","))))
    table.remove(bounds)
    assert.is_truthy(read("range:" .. table.concat(bounds, ",")))
  end)
end)
