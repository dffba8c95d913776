-- SPDX-License-Identifier: Apache-2.0
-- Dictionaries that all Lua states of the process share.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("policy/shared.h", "base/error.h", "base/metrics.h", "shared_driver.h")

local dict_count = 0

--- A fresh dictionary.
local function open(name)
  dict_count = dict_count + 1
  name = name or "dict " .. dict_count
  local out = ffi.new "uint32_t[1]"
  local result = C.shared_open(name, #name, out)
  return result == 0 and out[0] or nil, result
end

local function key_of(dict, text) return ffi.new("struct shared_key", { dict = dict, text = text, size = #text }) end

local function value_of(value)
  local out = ffi.new "struct shared_value"
  if type(value) == "number" then
    out.type, out.number = C.SHARED_NUMBER, value
  elseif type(value) == "boolean" then
    out.type, out.boolean = C.SHARED_BOOLEAN, value
  else
    out.type, out.text, out.size = C.SHARED_TEXT, value, #value
  end
  return out
end

local room = ffi.new("char[?]", 65536)

local function get(dict, key)
  local value = ffi.new "struct shared_value"
  local result = C.shared_get(key_of(dict, key), room, value)
  if result == C.ERR_NOT_FOUND then return nil end
  assert.equal(0, result)
  if value.type == C.SHARED_NUMBER then return value.number end
  if value.type == C.SHARED_BOOLEAN then return value.boolean end
  return ffi.string(value.text, value.size)
end

local function set(dict, key, value, ttl_ms) C.shared_set(key_of(dict, key), value_of(value), ttl_ms or -1) end

local function add(dict, key, value, ttl_ms) return C.shared_add(key_of(dict, key), value_of(value), ttl_ms or -1) end

local function increment(dict, key, by, initial, ttl_ms)
  local sum = ffi.new "double[1]"
  local result = C.shared_increment(key_of(dict, key), by, initial and ffi.new("double[1]", initial), ttl_ms or -1, sum)
  return result == 0 and sum[0] or nil, result
end

local function keys(dict)
  local cursor, list = ffi.new "struct shared_cursor", {}
  while true do
    local used = tonumber(C.shared_keys(dict, cursor, room, 65536))
    if used == 0 then break end
    local at = 0
    while at < used do
      local size = ffi.cast("uint16_t *", room + at)[0]
      list[#list + 1] = ffi.string(room + at + 2, size)
      at = at + 2 + size
    end
  end
  table.sort(list)
  return list
end

local function metric(name)
  local samples = ffi.new "struct metric_samples"
  C.shared_collect(nil, samples)
  local found
  for i = 0, tonumber(samples.count) - 1 do
    if ffi.string(samples.items[i].metric.name) == name then found = tonumber(samples.items[i].value) end
  end
  C.metric_samples_destroy(samples)
  return found
end

describe("a shared dictionary", function()
  it("is the same one under the same name", function()
    assert.equal(open "same", (open "same"))
    assert.not_equal(open "same", (open "other"))
  end)

  it("keeps numbers, booleans and texts, zero bytes and all", function()
    local dict = open()
    for _, value in ipairs { 1.5, -0.0, 2 ^ 60, true, false, "", "a\0b", ("x"):rep(65536) } do
      set(dict, "k", value)
      assert.equal(value, get(dict, "k"))
    end
  end)

  it("keeps keys apart, also those of other dictionaries", function()
    local one, two = open(), open()
    set(one, "a", 1)
    set(one, "a\0", 2)
    set(two, "a", 3)
    assert.same({ 1, 2, 3 }, { get(one, "a"), get(one, "a\0"), get(two, "a") })
    assert.is_nil(get(two, "a\0"))
  end)

  it("has nothing under a key that nobody has written, or that was deleted", function()
    local dict = open()
    assert.is_nil(get(dict, "k"))
    set(dict, "k", 1)
    assert.equal(0, C.shared_delete(key_of(dict, "k")))
    assert.is_nil(get(dict, "k"))
    assert.equal(C.ERR_NOT_FOUND, C.shared_delete(key_of(dict, "k")))
  end)

  it("adds a key once", function()
    local dict = open()
    assert.equal(0, add(dict, "k", 1))
    assert.equal(C.ERR_EXISTS, add(dict, "k", 2))
    assert.equal(1, get(dict, "k"))
  end)

  it("adds to numbers, from an initial value where there is nothing", function()
    local dict = open()
    assert.same({ nil, C.ERR_NOT_FOUND }, { increment(dict, "n", 1) })
    assert.equal(11, (increment(dict, "n", 1, 10)))
    assert.equal(9.5, (increment(dict, "n", -1.5, 10)))
    set(dict, "text", "1")
    assert.same({ nil, C.ERR_INVALID }, { increment(dict, "text", 1, 0) })
    assert.equal("1", get(dict, "text"))
  end)

  it("forgets a value after its time to live", function()
    local dict = open()
    set(dict, "k", 1, 1)
    set(dict, "long", 1, 3600000)
    increment(dict, "n", 1, 0, 1)
    C.shared_probe_wait(2)
    assert.is_nil(get(dict, "k"))
    assert.is_nil(get(dict, "n"))
    assert.equal(1, get(dict, "long"))
    assert.equal(0, add(dict, "k", 2))
    assert.same({ "k", "long" }, keys(dict))
  end)

  it("keeps a number's time to live when it is added to", function()
    local dict = open()
    increment(dict, "n", 1, 0, 1)
    increment(dict, "n", 1, 0, 3600000)
    C.shared_probe_wait(2)
    assert.is_nil(get(dict, "n"))
  end)

  it("lists its keys", function()
    local one, two = open(), open()
    local expected = {}
    for i = 1, 3000 do
      local key = ("%04d"):format(i) .. ("x"):rep(i % 100)
      set(one, key, i)
      expected[i] = key
    end
    set(two, "other", 1)
    assert.same(expected, keys(one))
    assert.same({ "other" }, keys(two))
  end)

  it("has a name of 1 to 249 bytes", function()
    assert.equal(C.ERR_INVALID, select(2, open ""))
    assert.equal(C.ERR_INVALID, select(2, open(("n"):rep(250))))
    assert.is_number(open(("n"):rep(249)))
  end)
end)

describe("the memory of shared dictionaries", function()
  local MIN = tonumber(C.SHARED_MEMORY_MIN)

  before_each(function() C.shared_set_memory(MIN) end)
  after_each(function() C.shared_set_memory(C.SHARED_MEMORY_DEFAULT) end)

  it("is bounded: what was not used for the longest time goes", function()
    local dict, evicted = open(), metric "policy.shared_evictions"
    local text = ("x"):rep(1000)
    for i = 1, 10000 do
      set(dict, "k" .. i, text)
      assert.equal(text, get(dict, "k1"))
    end
    assert.is_true(metric "policy.shared_bytes" <= MIN)
    assert.is_true(metric "policy.shared_evictions" > evicted)
    assert.is_nil(get(dict, "k2"))
    assert.equal(text, get(dict, "k10000"))
  end)

  it("goes down with what is written when the bound is lowered", function()
    C.shared_set_memory(4 * MIN)
    local dict, text = open(), ("x"):rep(100)
    for i = 1, 60000 do set(dict, "k" .. i, text) end
    assert.is_true(metric "policy.shared_bytes" > 2 * MIN)
    C.shared_set_memory(1)
    for i = 1, 5000 do set(dict, "n" .. i, text) end
    assert.is_true(metric "policy.shared_bytes" <= MIN)
    assert.equal(text, get(dict, "n5000"))
  end)
end)

describe("threads that share a dictionary", function()
  it("lose no sum, add each key once, and read whole texts", function()
    local probe = ffi.new "struct shared_probe"
    C.shared_probe_threads(open(), 8, 3000, probe)
    assert.equal(24000, tonumber(probe.sum))
    assert.equal(3000, tonumber(probe.added))
    assert.equal(0, tonumber(probe.torn))
  end)
end)

describe("too many dictionaries", function()
  it("are refused", function()
    local result
    for i = 1, 1001 do
      local _, code = open("many " .. i)
      result = code
    end
    assert.equal(C.ERR_LIMIT, result)
  end)
end)
