-- SPDX-License-Identifier: Apache-2.0
-- What clients may do: the table of a request, and what a connection remembers.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("api/rights.h", "api/authorize.h", "wire/types.h")
ffi.cdef "const void *api_handler_find(int16_t key);" -- its header needs libuv's

local TOPIC, GROUP = C.RIGHT_TOPIC, C.RIGHT_GROUP
local READ, WRITE = C.RIGHT_READ, C.RIGHT_WRITE
local PRODUCE, FETCH = 0, 1

local kept = {}

--- A text as the wire has it; the caller's as long as the spec runs.
local function name(text)
  kept[#kept + 1] = text
  return ffi.new("struct wire_string", { text, #text })
end

describe("Rights", function()
  after_each(function() kept = {} end)

  it("are told apart by API, resource and name", function()
    local arena = ffi.new "struct arena"
    local rights = ffi.new "struct rights"
    rights.arena = arena
    local right = C.rights_put(rights, PRODUCE, TOPIC, name "a")
    assert.is_true(right == C.rights_find(rights, PRODUCE, TOPIC, name "a"))
    assert.is_true(right == C.rights_put(rights, PRODUCE, TOPIC, name "a"))
    assert.is_true(C.rights_find(rights, FETCH, TOPIC, name "a") == nil)
    assert.is_true(C.rights_find(rights, PRODUCE, GROUP, name "a") == nil)
    assert.is_true(C.rights_find(rights, PRODUCE, TOPIC, name "ab") == nil)
    assert.is_true(C.rights_find(rights, PRODUCE, TOPIC, name "") == nil)
    assert.equal(1, rights.count)
    C.arena_destroy(arena)
  end)

  it("are found among ten thousand", function()
    local arena = ffi.new "struct arena"
    local rights = ffi.new "struct rights"
    rights.arena = arena
    for i = 1, 10000 do C.rights_put(rights, FETCH, TOPIC, name("t" .. i)).known_operations = i end
    for i = 1, 10000 do assert.equal(i, C.rights_find(rights, FETCH, TOPIC, name("t" .. i)).known_operations) end
    assert.is_true(C.rights_find(rights, FETCH, TOPIC, name "t10001") == nil)
    C.arena_destroy(arena)
  end)

  it("have the names that Kafka has for them", function()
    assert.equal("read", ffi.string(C.right_operation_name(READ)))
    assert.equal("idempotent_write", ffi.string(C.right_operation_name(C.RIGHT_IDEMPOTENT_WRITE)))
    assert.equal("transactional_id", ffi.string(C.right_resource_name(C.RIGHT_TRANSACTIONAL_ID)))
  end)
end)

describe("The memory of a connection", function()
  local memory, all
  before_each(function()
    all = ffi.new "int64_t[1]"
    memory = C.rights_memory_new(all)
    C.rights_memory_check(memory, 1, "me", "User:ANONYMOUS")
  end)
  after_each(function()
    C.rights_memory_delete(memory)
    assert.equal(0, tonumber(all[0]))
    kept = {}
  end)

  --- What it knows: true, false, or nil.
  local function known(api, text, operation)
    local right = C.rights_find(memory.rights, api, TOPIC, name(text))
    if right == nil or bit.band(right.known_operations, bit.lshift(1, operation)) == 0 then return nil end
    return bit.band(right.allowed_operations, bit.lshift(1, operation)) ~= 0
  end

  local function add(api, text, operation, is_allowed) C.rights_memory_add(memory, api, TOPIC, name(text), operation, is_allowed) end

  it("has each operation for itself", function()
    add(PRODUCE, "a", WRITE, true)
    add(PRODUCE, "a", READ, false)
    assert.is_true(known(PRODUCE, "a", WRITE))
    assert.is_false(known(PRODUCE, "a", READ))
    assert.is_nil(known(FETCH, "a", READ))
  end)

  it("stays while functions and client are the same", function()
    add(PRODUCE, "a", WRITE, true)
    local epoch = memory.epoch
    C.rights_memory_check(memory, 1, "me", "User:ANONYMOUS")
    assert.is_true(known(PRODUCE, "a", WRITE))
    assert.equal(epoch, memory.epoch)
  end)

  for what, other in pairs {
    ["other functions"] = { 2, "me", "User:ANONYMOUS" },
    ["another client id"] = { 1, "you", "User:ANONYMOUS" },
    ["another principal"] = { 1, "me", "User:alice" },
  } do
    it("is given up with " .. what, function()
      add(PRODUCE, "a", WRITE, true)
      local epoch = memory.epoch
      C.rights_memory_check(memory, unpack(other))
      assert.is_nil(known(PRODUCE, "a", WRITE))
      assert.not_equal(epoch, memory.epoch)
    end)
  end

  it("begins anew when it has 4096 resources", function()
    for i = 1, 4096 do add(FETCH, "t" .. i, READ, true) end
    assert.is_true(known(FETCH, "t1", READ))
    add(FETCH, "t1", WRITE, true)
    assert.is_true(known(FETCH, "t1", READ))
    add(FETCH, "more", READ, true)
    assert.is_nil(known(FETCH, "t1", READ))
    assert.is_true(known(FETCH, "more", READ))
  end)

  it("begins anew when all together take too much, and has nothing where others take it all", function()
    for i = 1, 10 do add(FETCH, "t" .. i, READ, true) end
    local own = tonumber(all[0])
    assert.is_true(own > 10 * ffi.sizeof "struct right" and own < 4096)
    all[0] = C.RIGHTS_ALL_BYTES_MAX
    add(FETCH, "t1", WRITE, true)
    assert.is_true(known(FETCH, "t2", READ))
    add(FETCH, "more", READ, true)
    assert.is_nil(known(FETCH, "t1", READ))
    assert.is_true(known(FETCH, "more", READ))
    local others = C.RIGHTS_ALL_BYTES_MAX
    all[0] = others + tonumber(memory.bytes)
    add(FETCH, "again", READ, true)
    assert.is_nil(known(FETCH, "more", READ))
    assert.is_nil(known(FETCH, "again", READ))
    assert.equal(others, tonumber(all[0]))
    all[0] = 0
  end)

  it("begins anew when names take more than 256 KiB", function()
    for i = 1, 8 do add(FETCH, i .. ("x"):rep(32766), READ, true) end
    assert.is_true(known(FETCH, "1" .. ("x"):rep(32766), READ))
    add(FETCH, "one that does not fit", READ, true)
    assert.is_nil(known(FETCH, "1" .. ("x"):rep(32766), READ))
  end)
end)

describe("The lists of rights", function()
  it("have every API that is served", function()
    local listed, served, asked = ffi.new "bool[1]", 0, 0
    for key = 0, 127 do
      local list = C.authorize_list_of(key, listed)
      assert.equal(C.api_handler_find(key) ~= nil, listed[0])
      served, asked = served + (listed[0] and 1 or 0), asked + (list ~= nil and 1 or 0)
    end
    assert.equal(served - 1, asked) -- ApiVersions is not asked about
  end)
end)
