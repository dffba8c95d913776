-- SPDX-License-Identifier: Apache-2.0
-- The generated codec against messages that Apache Kafka's own encoder made, all messages in all versions.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local walk = require "spec.unit.wire.walk"

local by_message, names, entries = walk.golden_by_message()

local function describe_entry(entry, text)
  return ("version %d, %s: %s"):format(entry.version, entry.hex:sub(1, 200), text)
end

describe("golden messages", function()
  it("are 2268 of 201 messages", function()
    assert.equal(2268, #entries)
    assert.equal(201, #names)
  end)

  for _, name in ipairs(names) do
    local message, codec = walk.messages[name], walk.codecs[name]

    it(("decode and encode again: %s"):format(name), function()
      for _, entry in ipairs(by_message[name]) do
        local code, result = walk.read(codec, entry.bytes, entry.version, function(m, r)
          assert.equal(0, tonumber(walk.C.wire_reader_left(r)), describe_entry(entry, "bytes are left"))
          local typed = ffi.cast("struct " .. message.c .. " *", m)
          local wrote, bytes = walk.write(codec, m, entry.version)
          assert.equal(0, wrote, describe_entry(entry, "cannot be written"))
          assert.equal(entry.hex, unit.hex(bytes))
          return walk.to_value(message, typed[0], entry.version)
        end)
        assert.equal(0, code, describe_entry(entry, "cannot be read: "
          .. ffi.string(walk.C.error_last().message)))
        local expected = walk.normalize(message, entry.value, entry.version)
        assert.is_nil(walk.difference(expected, result), describe_entry(entry, "wrong value"))
      end
    end)

    it(("encode from their values: %s"):format(name), function()
      for _, entry in ipairs(by_message[name]) do
        local value = walk.normalize(message, entry.value, entry.version)
        local m, keep = walk.fill(message, value, entry.version)
        local code, bytes = walk.write(codec, m, entry.version)
        assert.equal(0, code, describe_entry(entry, ffi.string(walk.C.error_last().message)))
        assert.equal(entry.hex, unit.hex(bytes))
        assert.is_table(keep)
      end
    end)
  end
end)
