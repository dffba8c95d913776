-- SPDX-License-Identifier: Apache-2.0
-- Names, types, defaults and ranges of configs against those of Apache Kafka 4.4.0 (spec/data/*-configs.tsv).
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/broker_config.h")

local NO_MIN, NO_MAX = ffi.new("int64_t", -9223372036854775807LL - 1), 9223372036854775807LL

--- The lines of a file of facts: { name, type, default, range, ... }.
local function facts(path)
  local list = {}
  for line in io.lines(path) do
    if line:sub(1, 1) ~= "#" then
      local fields = {}
      for field in (line .. "\t"):gmatch "([^\t]*)\t" do fields[#fields + 1] = field end
      list[#list + 1] = fields
    end
  end
  return list
end

--- A range as Kafka writes it: smallest, largest, valid texts.
local function range(text)
  local low, high = text:match "^%[(%-?%d+),%.%.%.,?(%-?%d*)%]"
  if low then return low, high ~= "" and high or nil end
  local valid = text:match "^%[(%a[%w, ]*)%]$"
  return nil, nil, valid
end

local function described(def)
  local valid = {}
  for i = 0, C.CONFIG_VALID_MAX - 1 do
    if def.valid[i] == nil then break end
    valid[#valid + 1] = ffi.string(def.valid[i])
  end
  local function number(value, none) return value ~= none and (tostring(value):gsub("U?LL$", "")) or nil end
  return { name = ffi.string(def.name), kind = ffi.string(C.config_type_name(def.type)),
    default = def.default_text ~= nil and ffi.string(def.default_text) or "null", low = number(def.min, NO_MIN),
    high = number(def.max, NO_MAX), valid = #valid > 0 and table.concat(valid, ", ") or nil }
end

local function expected(fact)
  local low, high, valid = range(fact[4])
  return { name = fact[1], kind = fact[2], default = fact[3], low = low, high = high, valid = valid }
end

describe("The topic configs", function()
  it("are Kafka's 37, with its types, defaults and ranges", function()
    local list = facts "spec/data/topic-configs.tsv"
    assert.equal(37, #list)
    assert.equal(C.TOPIC_CONFIG_KAFKA_COUNT, #list)
    for i, fact in ipairs(list) do assert.same(expected(fact), described(C.topic_config_defs()[i - 1])) end
  end)

  it("take their defaults from broker configs that exist", function()
    local known = {}
    for _, fact in ipairs(facts "spec/data/broker-configs.tsv") do known[fact[1]] = true end
    for i = 0, C.TOPIC_CONFIG_KAFKA_COUNT - 1 do
      local name = C.topic_config_defs()[i].broker_name
      if name ~= nil then assert.is_true(known[ffi.string(name)], ffi.string(name)) end
    end
  end)
end)

describe("The broker configs", function()
  local list = facts "spec/data/broker-configs.tsv"

  -- Where Luka has another default, or refuses what would make no sense.
  local OWN = {
    ["default.replication.factor"] = { low = "1", high = "32767" },
    ["group.consumer.assignors"] = { kind = "STRING", -- the order counts, which sets of words do not keep
      valid = "uniform,range, range,uniform, uniform, range" },
    ["group.consumer.migration.policy"] = { valid = "disabled, downgrade, upgrade, bidirectional" },
    ["group.initial.rebalance.delay.ms"] = { default = "0" },
    ["offsets.topic.compression.codec"] = { low = "0", high = "4" },
    ["offsets.topic.num.partitions"] = { high = "10000" },
    ["offsets.topic.replication.factor"] = { kind = "INT", high = "32767" },
    ["offsets.topic.segment.bytes"] = { low = "1048576" },
    ["max.connections"] = { low = "1" }, ["queued.max.request.bytes"] = { default = "null" },
    ["replica.high.watermark.checkpoint.interval.ms"] = { low = "1" },
    ["socket.listen.backlog.size"] = { default = "1024" },
    ["socket.receive.buffer.bytes"] = { default = "-1" },
  }

  it("that mean something here have Kafka's types, defaults and ranges", function()
    local by_name, seen = {}, 0
    for _, fact in ipairs(list) do by_name[fact[1]] = fact end
    for i = 0, C.BROKER_CONFIG_COUNT - 1 do
      local got = described(C.broker_config_defs()[i])
      if not got.name:find "^luka%." then
        local wanted = expected(assert(by_name[got.name], got.name))
        for key, value in pairs(OWN[got.name] or {}) do wanted[key] = value end
        assert.same(wanted, got)
      end
      seen = seen + 1
    end
    assert.equal(C.BROKER_CONFIG_COUNT, seen)
  end)

  it("are read-only where Kafka's are, and all are known", function()
    for _, fact in ipairs(list) do
      local change = C.broker_config_change_of(fact[1])
      assert.is_true(change ~= C.BROKER_CHANGE_UNKNOWN, fact[1])
      assert.equal(fact[5] == "read-only", change == C.BROKER_CHANGE_READ_ONLY, fact[1])
    end
    assert.equal(350, #list)
    for _, name in ipairs { "", "no.such", "log.retention", "retention.ms", "log.retention.ms2" } do
      assert.equal(C.BROKER_CHANGE_UNKNOWN, C.broker_config_change_of(name), name)
    end
  end)
end)
