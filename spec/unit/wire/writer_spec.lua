-- SPDX-License-Identifier: Apache-2.0
-- The writer: versions that lack a field, null, defaults of tagged fields, splices, limits.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local walk = require "spec.unit.wire.walk"
local C = walk.C

local function new(name)
  local m = ffi.new("struct " .. walk.messages[name].c)
  C[walk.messages[name].c .. "_init"](m)
  return m
end

--- Writes m; returns the code, the bytes in hex and the error's text.
local function write(name, m, version)
  local code, bytes = walk.write(walk.codecs[name], ffi.cast("const void *", m), version)
  return code, unit.hex(bytes), ffi.string(C.error_last().message)
end

local function with_writer(fn)
  local w = ffi.new "struct wire_writer"
  local ok, err = pcall(fn, w)
  C.wire_writer_destroy(w)
  if not ok then error(err, 0) end
end

describe("a field that the version lacks", function()
  it("is dropped when it is ignorable", function()
    local m = new "HeartbeatResponse"
    m.throttle_time_ms = 7
    local code, bytes = write("HeartbeatResponse", m, 0)
    assert.equal(0, code)
    assert.equal("0000", bytes)
  end)

  it("fails the write when it is set and not ignorable", function()
    local m = new "HeartbeatRequest"
    m.group_instance_id = C.wire_string_from "a"
    local code, _, text = write("HeartbeatRequest", m, 2)
    assert.equal(C.ERR_UNSUPPORTED_VERSION, code)
    assert.equal("HeartbeatRequest.GroupInstanceId is set, but version 2 has no such field", text)
    assert.equal(0, (write("HeartbeatRequest", m, 3)))
  end)

  it("is left out when it is at its default", function()
    local m = new "HeartbeatRequest"
    local code, bytes = write("HeartbeatRequest", m, 0)
    assert.equal(0, code)
    assert.equal("0000000000000000", bytes)
  end)

  it("fails the write when it is a tagged struct with a field that is set", function()
    local m = new "FetchRequest"
    m.replica_state.replica_id = 3
    assert.equal(C.ERR_UNSUPPORTED_VERSION, (write("FetchRequest", m, 12)))
    assert.equal(0, (write("FetchRequest", m, 15)))
  end)
end)

describe("null", function()
  it("is refused where the version has none", function()
    local m = new "MetadataRequest"
    m.topics_count = -1
    local code, _, text = write("MetadataRequest", m, 0)
    assert.equal(C.ERR_INVALID, code)
    assert.equal("MetadataRequest.Topics: null is not allowed in this version", text)
    local bytes
    code, bytes = write("MetadataRequest", m, 1)
    assert.equal(0, code)
    assert.equal("ffffffff", bytes)
  end)

  it("is the default of a nullable struct, and written as one byte", function()
    local m = new "DescribeTopicPartitionsResponse"
    assert.is_true(m.next_cursor == nil)
    local code, bytes = write("DescribeTopicPartitionsResponse", m, 0)
    assert.equal(0, code)
    assert.equal("0000000001ff00", bytes)
  end)
end)

describe("tagged fields", function()
  it("are written only when they are set, by rising tag", function()
    local m = new "FetchResponse"
    local topic = ffi.new "struct wire_fetch_response_fetchable_topic_response[1]"
    local part = ffi.new "struct wire_fetch_response_partition_data[1]"
    C.wire_fetch_response_fetchable_topic_response_init(topic)
    C.wire_fetch_response_partition_data_init(part)
    m.responses, m.responses_count = topic, 1
    topic[0].partitions, topic[0].partitions_count = part, 1
    part[0].records.length = 0
    local head = "00000000 0000 00000000 02 01 02 00000000 0000 0000000000000000 ffffffffffffffff ffffffffffffffff "
      .. "01 ffffffff 01 "
    local _, bytes = write("FetchResponse", m, 12)
    assert.equal((head .. "00 00 00"):gsub(" ", ""), bytes)
    part[0].snapshot_id.epoch = 5
    part[0].diverging_epoch.end_offset = 9
    _, bytes = write("FetchResponse", m, 12)
    local tags = "02 00 0d ffffffff 0000000000000009 00 02 0d ffffffffffffffff 00000005 00 00 00"
    assert.equal((head .. tags):gsub(" ", ""), bytes)
  end)

  it("of over 127 bytes have their size in more than one byte", function()
    for _, length in ipairs { 125, 126, 127, 128, 16000, 16383, 32767 } do
      local m = new "FetchRequest"
      local id = ("x"):rep(length)
      m.cluster_id.data, m.cluster_id.length = id, #id
      local w = ffi.new "struct wire_writer"
      assert.equal(0, C.wire_fetch_request_write(m, w, 12))
      local bytes = ffi.string(w.data, w.size)
      C.wire_writer_destroy(w)
      local code, got = walk.read(walk.codecs.FetchRequest, bytes, 12, function(back, r)
        assert.equal(0, tonumber(C.wire_reader_left(r)))
        local typed = ffi.cast("struct wire_fetch_request *", back)
        return ffi.string(typed.cluster_id.data, typed.cluster_id.length)
      end)
      assert.equal(0, code)
      assert.is_true(got == id)
    end
  end)
end)

describe("records", function()
  local function fetch_response(count, length, region)
    local m = new "FetchResponse"
    local topic = ffi.new "struct wire_fetch_response_fetchable_topic_response[1]"
    local parts = ffi.new("struct wire_fetch_response_partition_data[?]", count)
    C.wire_fetch_response_fetchable_topic_response_init(topic)
    m.responses, m.responses_count = topic, 1
    topic[0].partitions, topic[0].partitions_count = parts, count
    for i = 0, count - 1 do
      C.wire_fetch_response_partition_data_init(parts[i])
      parts[i].records.length = length
      parts[i].records.region = region
    end
    return m, { topic, parts }
  end

  it("in a file are noted as splices, only their length is written", function()
    local region = ffi.new "int[1]"
    local m, keep = fetch_response(2, 1000, region)
    with_writer(function(w)
      assert.equal(0, C.wire_fetch_response_write(m, w, 4))
      assert.equal(2, tonumber(w.splice_count))
      assert.equal(2000, tonumber(w.splice_bytes))
      assert.equal(tonumber(w.size) + 2000, tonumber(C.wire_writer_total(w)))
      assert.equal(1000, w.splices[0].length)
      assert.is_true(w.splices[0].region == ffi.cast("void *", region))
      local first, second = tonumber(w.splices[0].at), tonumber(w.splices[1].at)
      assert.equal("000003e8", unit.hex(ffi.string(w.data + first - 4, 4)))
      assert.equal("000003e8", unit.hex(ffi.string(w.data + second - 4, 4)))
      assert.equal(tonumber(w.size), second)
    end)
    assert.is_table(keep)
  end)

  it("that make the output larger than 2 GiB are refused", function()
    local m, keep = fetch_response(2, 0x7fff0000, ffi.new "int[1]")
    with_writer(function(w)
      assert.equal(C.ERR_LIMIT, C.wire_fetch_response_write(m, w, 4))
    end)
    assert.is_table(keep)
  end)

  it("are empty, not null, after the first write of a splice of no bytes", function()
    local m, keep = fetch_response(1, 0, ffi.new "int[1]")
    with_writer(function(w)
      assert.equal(0, C.wire_fetch_response_write(m, w, 4))
      assert.equal(0, tonumber(w.splice_count))
    end)
    assert.is_table(keep)
  end)

  it("that were spliced go with what is truncated away", function()
    local m, keep = fetch_response(2, 10, ffi.new "int[1]")
    with_writer(function(w)
      C.wire_writer_i32(w, 0)
      local mark = w.size
      assert.equal(0, C.wire_fetch_response_write(m, w, 4))
      C.wire_writer_truncate(w, mark)
      assert.equal(4, tonumber(C.wire_writer_total(w)))
      assert.equal(0, tonumber(w.splice_count))
    end)
    assert.is_table(keep)
  end)
end)

describe("the writer", function()
  it("refuses a string of over 32767 bytes", function()
    local m = new "HeartbeatRequest"
    local id = ("x"):rep(32768)
    m.group_id.data, m.group_id.length = id, #id
    assert.equal(C.ERR_LIMIT, (write("HeartbeatRequest", m, 0)))
    m.group_id.length = 32767
    assert.equal(0, (write("HeartbeatRequest", m, 0)))
  end)

  it("refuses a version that is not known", function()
    assert.equal(C.ERR_UNSUPPORTED_VERSION, (write("HeartbeatRequest", new "HeartbeatRequest", 5)))
  end)

  it("keeps the first error until it is truncated", function()
    with_writer(function(w)
      C.wire_writer_fail(w, C.ERR_INVALID, "a", "b")
      C.wire_writer_fail(w, C.ERR_LIMIT, "c", "d")
      assert.equal(C.ERR_INVALID, C.wire_heartbeat_response_write(new "HeartbeatResponse", w, 0))
      C.wire_writer_truncate(w, 0)
      assert.equal(0, C.wire_heartbeat_response_write(new "HeartbeatResponse", w, 0))
    end)
  end)

  it("remembers the first error code of an answer, wherever it stands", function()
    with_writer(function(w)
      local m = new "HeartbeatResponse"
      C.wire_heartbeat_response_write(m, w, 0)
      assert.equal(0, w.error_code)
      m.error_code = 27
      C.wire_heartbeat_response_write(m, w, 0)
      m.error_code = -1
      C.wire_heartbeat_response_write(m, w, 0)
      assert.equal(27, w.error_code)
      assert.equal("0000001bffff", unit.hex(ffi.string(w.data, tonumber(w.size))))
    end)
  end)

  it("lets a length in front be patched, and its buffer be taken", function()
    with_writer(function(w)
      C.wire_writer_i32(w, 0)
      C.wire_writer_raw(w, "abc", 3)
      C.wire_writer_patch_i32(w, 0, 3)
      local size = tonumber(w.size)
      local data = C.wire_writer_steal(w)
      assert.equal("00000003616263", unit.hex(ffi.string(data, size)))
      C.mem_free(data)
      assert.equal(0, tonumber(w.size))
    end)
  end)
end)
