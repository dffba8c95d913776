-- SPDX-License-Identifier: Apache-2.0
-- A metastore's file that was damaged: it is refused with one line, or nothing that it holds was hit. The process of
-- this spec survives all of it.
local bit = require "bit"
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/metastore_local.h", "metadata/metastore.h", "base/error.h", "os/errinj.h")

local SEED = tonumber(os.getenv "SEED") or os.time() % 1000000
local ROUNDS = tonumber(os.getenv "ROUNDS") or 600

describe("a metastore's file", function()
  local path, store

  before_each(function()
    path = unit.temp_dir() .. "/luka.mdb"
    math.randomseed(SEED)
  end)
  after_each(function()
    if store then C.metastore_close(store) end
    store = nil
    C.errinj_set(C.ERRINJ_FILE_READ, 0, 0)
  end)

  local function open(may_create)
    local out = ffi.new "struct metastore *[1]"
    local result = C.metastore_local_open(path, may_create ~= false, nil, nil, out)
    if result < 0 then return nil, result, ffi.string(C.error_last().message) end
    store = out[0]
    return store
  end

  local function close()
    C.metastore_close(store)
    store = nil
  end

  --- Runs one step; its result, data and names.
  local function run(kind, at, data, flags)
    local op, request = ffi.new "struct metastore_op[1]", ffi.new "struct metastore_request"
    op[0].kind, op[0].path, op[0].version, op[0].flags = kind, at, C.METASTORE_ANY_VERSION, flags or 0
    if data then op[0].data, op[0].size = data, #data end
    request.ops, request.op_count = op, 1
    local result = C.metastore_call(store, request)
    local read, names = nil, {}
    if kind == C.METASTORE_GET then
      result = op[0].result
      if result == 0 and op[0].data ~= nil then read = ffi.string(op[0].data, op[0].size) end
    elseif kind == C.METASTORE_CHILDREN then
      for i = 0, tonumber(op[0].name_count) - 1 do names[i + 1] = ffi.string(op[0].names[i]) end
    end
    C.metastore_request_clear(request)
    return result, read, names
  end

  local function create(at, data, flags) return run(C.METASTORE_CREATE, at, data, flags) end

  --- All nodes with their data.
  local function contents(at, into)
    at, into = at or "/", into or {}
    local result, data = run(C.METASTORE_GET, at)
    assert.equal(0, result, at)
    into[at] = data or false
    local _, _, names = run(C.METASTORE_CHILDREN, at)
    for _, name in ipairs(names) do contents((at == "/" and "" or at) .. "/" .. name, into) end
    return into
  end

  --- A closed store with pages of every kind: branches, large values, a free list, an ephemeral node left behind. Returns
  --- its bytes and what it holds.
  local function filled()
    assert(open())
    for i = 1, 120 do assert.equal(0, create("/brokers/topics/topic-" .. i, ("x"):rep(i))) end
    for i = 1, 6 do assert.equal(0, create("/config/topics/large-" .. i, ("y"):rep(3000 * i))) end
    for i = 1, 120, 3 do assert.equal(0, run(C.METASTORE_DELETE, "/brokers/topics/topic-" .. i)) end
    assert.equal(0, run(C.METASTORE_DELETE, "/config/topics/large-3"))
    assert.equal(0, run(C.METASTORE_SET, "/config/topics/large-4", "small"))
    local held = contents()
    assert.equal(0, create("/brokers/ids/1", "me", C.METASTORE_EPHEMERAL))
    close()
    return unit.read_file(path), held
  end

  local function assert_refused(result, message, why)
    assert.is_true(result == C.ERR_CORRUPT or result == C.ERR_UNSUPPORTED_VERSION, why .. ": " .. message)
    assert.is_truthy(message:find(path, 1, true), why .. ": " .. message)
    assert.is_nil(message:find("\n", 1, true))
  end

  --- Opens damaged bytes: refused, or all is there and can be written to. Returns whether it was refused.
  local function check(bytes, held, why)
    unit.write_file(path, bytes)
    local opened, result, message = open(false)
    if not opened then
      assert_refused(result, message, why)
      assert.is_true(bytes == unit.read_file(path), why)
      return true
    end
    assert.same(held, contents(), why)
    for i = 1, 10 do assert.equal(0, create("/brokers/topics/new-" .. i, ("z"):rep(500 * i)), why) end
    for i = 2, 119, 3 do assert.equal(0, run(C.METASTORE_DELETE, "/brokers/topics/topic-" .. i), why) end
    close()
    assert(open(false), why)
    close()
    return false
  end

  it("passes its check whatever was done to the tree", function()
    local model = {}
    assert(open())
    for round = 1, 3000 do
      local at = "/consumers/n" .. math.random(300)
      local data = ("d"):rep(math.random() < 0.1 and math.random(20000) or math.random(200))
      if model[at] == nil then
        assert.equal(0, create(at, data))
        model[at] = data
      elseif math.random() < 0.5 then
        assert.equal(0, run(C.METASTORE_SET, at, data))
        model[at] = data
      else
        assert.equal(0, run(C.METASTORE_DELETE, at))
        model[at] = nil
      end
      if round % 50 == 0 then
        if round % 100 == 0 then create("/brokers/ids/" .. round, "e", C.METASTORE_EPHEMERAL) end
        close()
        local _, _, message = open(false)
        assert.is_truthy(store, ("seed %d, round %d: %s"):format(SEED, round, tostring(message)))
      end
    end
    local _, _, names = run(C.METASTORE_CHILDREN, "/consumers")
    for _, name in ipairs(names) do
      local _, data = run(C.METASTORE_GET, "/consumers/" .. name)
      assert.equal(model["/consumers/" .. name], data)
      model["/consumers/" .. name] = nil
    end
    assert.is_nil(next(model))
  end)

  it("is refused when it is cut short, wherever that hits it", function()
    local bytes, held = filled()
    local refused = 0
    for size = 1, #bytes - 1, 509 do
      if check(bytes:sub(1, size), held, "size " .. size) then refused = refused + 1 end
    end
    assert.is_true(refused > 20)
    unit.write_file(path, bytes:sub(1, math.floor(#bytes / 2)))
    local _, code, message = open()
    assert.equal(C.ERR_CORRUPT, code)
    assert.equal("metastore " .. path .. " is cut short: restore it, or remove the data directories to start empty: "
      .. "all records are lost", message)
  end)

  it("is refused when bits of a node are flipped, and names the node", function()
    local bytes = filled()
    -- Copies in pages that are no longer used hold it as well.
    unit.write_file(path, (bytes:gsub(("x"):rep(119), ("x"):rep(118) .. "X")))
    local _, code, message = open()
    assert.equal(C.ERR_CORRUPT, code)
    assert.is_truthy(message:find("damaged (node /brokers/topics/topic-119)", 1, true), message)
  end)

  it("is refused when the disk cannot read it", function()
    filled()
    C.errinj_set(C.ERRINJ_FILE_READ, 4, 5)
    local _, code, message = open()
    assert.equal(C.ERR_IO, code)
    assert.equal("metastore " .. path .. " cannot be read: input/output error", message)
  end)

  it("is refused, or holds all that it held, after random damage", function()
    local bytes, held = filled()
    local pages = #bytes / 4096
    local function at(position, text) return bytes:sub(1, position) .. text .. bytes:sub(position + #text + 1) end
    local function noise(size)
      local out = {}
      for i = 1, size do out[i] = string.char(math.random(0, 255)) end
      return table.concat(out)
    end
    local kinds = {
      function() -- a bit
        local position = math.random(0, #bytes - 1)
        return at(position, string.char(bit.bxor(bytes:byte(position + 1), 2 ^ math.random(0, 7))))
      end,
      function() -- a bit of a page's head
        local position = math.random(0, pages - 1) * 4096 + math.random(0, 63)
        return at(position, string.char(bit.bxor(bytes:byte(position + 1), 2 ^ math.random(0, 7))))
      end,
      function() -- a bit of the meta pages
        local position = math.random(0, 1) * 4096 + math.random(0, 159)
        return at(position, string.char(bit.bxor(bytes:byte(position + 1), 2 ^ math.random(0, 7))))
      end,
      function() return at(math.random(0, #bytes - 64), noise(math.random(64))) end,
      function() return at(math.random(0, pages - 1) * 4096, noise(4096)) end,
      function() return at(math.random(0, pages - 1) * 4096, ("\0"):rep(4096)) end,
      function() -- a page in the place of another
        local from = math.random(0, pages - 1) * 4096
        return at(math.random(0, pages - 1) * 4096, bytes:sub(from + 1, from + 4096))
      end,
      function() -- a number
        return at(math.random(0, #bytes / 8 - 1) * 8, string.char(math.random(0, pages)) .. ("\0"):rep(7))
      end,
    }
    local refused = 0
    for round = 1, ROUNDS do
      local kind = math.random(#kinds)
      if check(kinds[kind](), held, ("seed %d, round %d, kind %d"):format(SEED, round, kind)) then refused = refused + 1 end
    end
    print(("%d of %d refused, seed %d"):format(refused, ROUNDS, SEED))
    assert.is_true(refused > ROUNDS / 10)
  end)

  it("is made anew when it is empty and may be, and is refused otherwise", function()
    unit.write_file(path, "")
    local _, code, message = open(false)
    assert.equal(C.ERR_NOT_FOUND, code)
    assert.equal("metastore " .. path .. " is empty", message)
    assert.equal("", unit.read_file(path))
    assert(open())
    assert.equal(0, create("/a"))
    close()
    assert(open(false))
  end)

  it("is whole or not there when the start that makes it is cut short", function()
    -- What was under way is under another name, whatever its state.
    unit.write_file(path .. ".new", "half of it")
    local _, code, message = open(false)
    assert.equal(C.ERR_NOT_FOUND, code)
    assert.equal("metastore " .. path .. " is missing", message)
    assert(open())
    assert.is_nil(unit.read_file(path .. ".new"))
    close()
    assert(open(false))
  end)
end)
