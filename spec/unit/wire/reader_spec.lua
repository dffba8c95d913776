-- SPDX-License-Identifier: Apache-2.0
-- The reader against bytes that lie: counts, lengths, tags, null, ends.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local walk = require "spec.unit.wire.walk"
local wire = require "spec.support.wire"
local C = walk.C

--- Reads hex (or bytes) as a message; returns the code, the error's text, and what fn returned.
local function read(name, version, bytes, fn)
  local codec, ctype = walk.codecs[name], ffi.typeof("struct " .. walk.messages[name].c .. " *")
  local code, result = walk.read(codec, bytes, version, function(m, r, arena)
    return fn and fn(ffi.cast(ctype, m), r, arena) or true
  end)
  return code, ffi.string(C.error_last().message), result
end

local function hex(text)
  return unit.bytes(text)
end

describe("a message", function()
  local by_version, list = {}, {}
  for _, entry in ipairs(walk.golden()) do
    local key = entry.message .. " " .. entry.version
    local held = by_version[key]
    if #entry.bytes <= 400 and (not held or #entry.bytes > #held.bytes) then by_version[key] = entry end
  end
  for _, entry in pairs(by_version) do list[#list + 1] = entry end
  table.sort(list, function(a, b)
    if a.message ~= b.message then return a.message < b.message end
    return a.version < b.version
  end)

  it("is refused at every truncated prefix, in every version", function()
    for _, entry in ipairs(list) do
      for size = 0, #entry.bytes - 1 do
        local code, text = read(entry.message, entry.version, entry.bytes:sub(1, size))
        local where = ("%s version %d, %d of %d bytes"):format(entry.message, entry.version, size, #entry.bytes)
        assert.is_true(code == C.ERR_TRUNCATED or code == C.ERR_MALFORMED, where .. ": code " .. code)
        assert.equal(entry.message, text:match "^%w+", where)
      end
    end
  end)

  it("with any byte changed is read or refused, in memory proportional to its size", function()
    for _, entry in ipairs(list) do
      for at = 1, #entry.bytes do
        for _, byte in ipairs { 0, 1, 127, 128, 255 } do
          local bytes = entry.bytes:sub(1, at - 1) .. string.char(byte) .. entry.bytes:sub(at + 1)
          local block = C.mem_alloc(#bytes)
          ffi.copy(block, bytes, #bytes)
          local r, arena = ffi.new "struct wire_reader", ffi.new "struct arena"
          local codec = walk.codecs[entry.message]
          local m = ffi.new("uint8_t[?]", codec.size)
          C.wire_reader_init(r, block, #bytes)
          local code = codec.read(m, r, entry.version, arena)
          local total = tonumber(arena.total)
          C.arena_destroy(arena)
          C.mem_free(block)
          assert.is_true(code == 0 or code == C.ERR_TRUNCATED or code == C.ERR_MALFORMED or code == C.ERR_LIMIT)
          assert.is_true(total <= 64 * #bytes + 64, ("%s: %d bytes for %d"):format(entry.message, total, #bytes))
        end
      end
    end
  end)

  it("that is refused is left at its defaults", function()
    local block = hex "0000 0001 0000 0005 41"
    local r, arena = ffi.new "struct wire_reader", ffi.new "struct arena"
    local m = ffi.new "struct wire_produce_request"
    C.wire_reader_init(r, block, #block)
    assert.equal(C.ERR_TRUNCATED, C.wire_produce_request_read(m, r, 0, arena))
    assert.equal(0, m.acks)
    assert.equal(0, m.topic_data_count)
    assert.equal(-1, m.transactional_id.length)
    C.arena_destroy(arena)
  end)

  it("leaves the bytes behind it to the caller", function()
    local _, _, left = read("HeartbeatResponse", 0, hex "0000 aabb", function(_, r)
      return tonumber(C.wire_reader_left(r))
    end)
    assert.equal(2, left)
  end)

  it("of a version that is not known is refused", function()
    local code, text = read("ProduceRequest", 14, "")
    assert.equal(C.ERR_UNSUPPORTED_VERSION, code)
    assert.equal("ProduceRequest: version 14, known are 0 to 13", text)
    assert.equal(C.ERR_UNSUPPORTED_VERSION, (read("ProduceRequest", -1, "")))
  end)
end)

describe("an array", function()
  it("of more elements than bytes are left is refused before memory is allocated", function()
    for _, count in ipairs { "7fffffff", "00000002", "00100000" } do
      local r, arena = ffi.new "struct wire_reader", ffi.new "struct arena"
      local m = ffi.new "struct wire_produce_request"
      local bytes = hex("0001 00000000 " .. count .. " 0000 00000000")
      C.wire_reader_init(r, bytes, #bytes)
      assert.equal(C.ERR_TRUNCATED, C.wire_produce_request_read(m, r, 0, arena))
      assert.equal(0, tonumber(arena.total))
      C.arena_destroy(arena)
    end
  end)

  it("of the largest compact count is refused", function()
    local code, text = read("DescribeGroupsRequest", 5, hex "ffffffff0f")
    assert.equal(C.ERR_TRUNCATED, code)
    assert.truthy(text:find("DescribeGroupsRequest.Groups: more elements than the message has room for", 1, true))
  end)

  it("may have 1000000 elements, not one more", function()
    local code, _, count = read("DescribeGroupsRequest", 0, hex "000f4240" .. ("\0"):rep(2000000), function(m)
      return m.groups_count
    end)
    assert.equal(0, code)
    assert.equal(1000000, count)
    local text
    code, text = read("DescribeGroupsRequest", 0, hex "000f4241" .. ("\0"):rep(2000002))
    assert.equal(C.ERR_LIMIT, code)
    assert.truthy(text:find("over 1000000 elements", 1, true))
  end)

  it("of small elements that get large in memory is refused when its frame has too many of them", function()
    -- Topics of Produce: 3 bytes on the wire, 64 and more in memory.
    local function topics(count)
      return hex "00 0001 00000000" .. wire.uvarint(count + 1) .. ("\1\1\0"):rep(count) .. "\0"
    end
    assert.equal(0, (read("ProduceRequest", 9, topics(2000))))
    local code, text = read("ProduceRequest", 9, topics(100000))
    assert.equal(C.ERR_LIMIT, code)
    assert.truthy(text:find("ProduceRequest.TopicData: the message takes too much memory", 1, true), text)
  end)

  it("cannot take more than 64 MiB together with those around it, however large the frame", function()
    -- Topics of 50000 partitions without records, 6 bytes each on the wire.
    local topic = "\2a" .. wire.uvarint(50001) .. ("\0\0\0\1\0\0"):rep(50000) .. "\0"
    local function topics(count)
      return hex "00 0001 00000000" .. wire.uvarint(count + 1) .. topic:rep(count) .. "\0"
    end
    local r, arena, m = ffi.new "struct wire_reader", ffi.new "struct arena", ffi.new "struct wire_produce_request"
    for _, case in ipairs { { 2, 0 }, { 60, C.ERR_LIMIT } } do
      local bytes = topics(case[1])
      C.wire_reader_init(r, bytes, #bytes)
      assert.equal(case[2], C.wire_produce_request_read(m, r, 9, arena))
      assert.is_true(tonumber(arena.total) <= 65 * 1024 * 1024)
      C.arena_destroy(arena)
    end
  end)

  it("is null at any negative count, where null is allowed", function()
    for _, count in ipairs { "ffffffff", "fffffffe", "80000000" } do
      local code, _, got = read("MetadataRequest", 1, hex(count), function(m) return m.topics_count end)
      assert.equal(0, code)
      assert.equal(-1, got)
      assert.equal(C.ERR_MALFORMED, (read("MetadataRequest", 0, hex(count))))
    end
  end)
end)

describe("a string", function()
  it("is refused when null is not allowed", function()
    local code, text = read("HeartbeatRequest", 0, hex "ffff 00000000 0000")
    assert.equal(C.ERR_MALFORMED, code)
    assert.truthy(text:find("HeartbeatRequest.GroupId: null is not allowed", 1, true))
    assert.equal(C.ERR_MALFORMED, (read("HeartbeatRequest", 4, hex "00 00000000 01 00 00")))
  end)

  it("of over 32767 bytes is refused in compact form too", function()
    local code = read("HeartbeatRequest", 4, hex "818002" .. ("x"):rep(32768) .. hex "00000000 01 00 00")
    assert.equal(C.ERR_MALFORMED, code)
    code = read("HeartbeatRequest", 4, hex "808002" .. ("x"):rep(32767) .. hex "00000000 01 00 00")
    assert.equal(0, code)
  end)

  it("is borrowed from the frame", function()
    local code, _, same = read("HeartbeatRequest", 0, hex "0002 6142 00000007 0000", function(m, r)
      return ffi.cast("const uint8_t *", m.group_id.data) + 2 + 4 + 2 == r.at
    end)
    assert.equal(0, code)
    assert.is_true(same)
  end)
end)

describe("a client id", function()
  it("of any negative length counts as null, as in Kafka", function()
    for _, length in ipairs { "ffff", "fffe", "8000" } do
      local code, _, got = read("RequestHeader", 1, hex("0003 0001 00000005 " .. length), function(m)
        return m.client_id.length
      end)
      assert.equal(0, code)
      assert.equal(-1, got)
    end
  end)

  it("is not compact in the flexible header", function()
    local code, _, got = read("RequestHeader", 2, hex "0003 0009 00000005 0002 6142 00", function(m)
      return ffi.string(m.client_id.data, m.client_id.length)
    end)
    assert.equal(0, code)
    assert.equal("aB", got)
  end)
end)

describe("tagged fields", function()
  local BODY = "03 6142 00000007 01 00" -- HeartbeatRequest 4: group "aB", generation 7, member "", no instance

  it("that are not known are skipped", function()
    local code, _, left = read("HeartbeatRequest", 4, hex(BODY .. "02 05 03 aabbcc 9001 00"), function(_, r)
      return tonumber(C.wire_reader_left(r))
    end)
    assert.equal(0, code)
    assert.equal(0, left)
  end)

  it("are refused when one is longer than the message", function()
    local code, text = read("HeartbeatRequest", 4, hex(BODY .. "01 05 04 aabbcc"))
    assert.equal(C.ERR_TRUNCATED, code)
    assert.truthy(text:find("a tagged field is longer than the message", 1, true))
    assert.equal(C.ERR_TRUNCATED, (read("HeartbeatRequest", 4, hex(BODY .. "01 05 ffffffff0f"))))
  end)

  it("may be 10000 in a section, not one more", function()
    assert.equal(0, (read("HeartbeatRequest", 4, hex(BODY .. "904e") .. hex("0500"):rep(10000))))
    local code, text = read("HeartbeatRequest", 4, hex(BODY .. "914e") .. hex("0500"):rep(10001))
    assert.equal(C.ERR_LIMIT, code)
    assert.truthy(text:find("over 10000 tagged fields", 1, true))
  end)

  it("that are known are read within their size", function()
    -- FetchRequest 12: tag 0 is the cluster id.
    local rest = "ffffffff 00000000 00000000 7fffffff 00 00000000 ffffffff 01 01 01"
    local function cluster_id(tags)
      return read("FetchRequest", 12, hex(rest .. tags), function(m)
        return m.cluster_id.length < 0 and "null" or ffi.string(m.cluster_id.data, m.cluster_id.length)
      end)
    end
    local code, _, id = cluster_id "01 00 03 03 6142"
    assert.equal(0, code)
    assert.equal("aB", id)
    assert.equal(C.ERR_TRUNCATED, (cluster_id "01 00 02 03 6142"))
    local text
    code, text = cluster_id "01 00 04 03 6142 00"
    assert.equal(C.ERR_MALFORMED, code)
    assert.truthy(text:find("FetchRequest: a tagged field is shorter than its size says", 1, true))
  end)

  it("of a later version count as not known", function()
    -- FetchRequest 12 does not have tag 1, the replica state of version 15.
    local code, _, state = read("FetchRequest", 12,
      hex "ffffffff 00000000 00000000 7fffffff 00 00000000 ffffffff 01 01 01 01 01 02 aabb", function(m)
        return m.replica_state.replica_id
      end)
    assert.equal(0, code)
    assert.equal(-1, state)
  end)
end)
