-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/config_edit.h", "metadata/broker_config.h", "base/arena.h")

describe("A list of config values", function()
  local arena
  before_each(function() arena = ffi.new "struct arena" end)
  after_each(function() C.arena_destroy(arena) end)

  -- Measured on Apache Kafka 4.4.0.
  for _, case in ipairs {
    { "delete", "compact", "delete,compact" }, { "delete", "delete", "delete" }, { "", "a,b", "a,b" }, { nil, "a", "a" },
    { "a,b", "b,c,c,d", "a,b,c,d" }, { nil, "0:1,,1:1,", "0:1,,1:1" }, { "", "", "" }, { "a,,b", "c", "a,b,c" },
    { " compact , delete ", "compact", "compact,delete" }, { "a,a", "b", "a,a,b" },
  } do
    it(("%s gets %s: %s"):format(tostring(case[1]), case[2], case[3]), function()
      assert.equal(case[3], ffi.string(C.config_list_append(arena, case[1], case[2])))
    end)
  end

  for _, case in ipairs {
    { "delete,compact", "delete", "compact" }, { "compact", "delete", "compact" }, { "compact", "compact", "" }, { nil, "a", "" },
    { "0:1,,1:1", "0:1", "1:1" }, { "a,b,c,d", "d,b,x", "a,c" }, { "a,a,b", "a", "a,b" }, { "a,a,b", "a,a,a", "b" },
  } do
    it(("%s loses %s: %s"):format(tostring(case[1]), case[2], case[3]), function()
      assert.equal(case[3], ffi.string(C.config_list_subtract(arena, case[1], case[2])))
    end)
  end

  it("of 16,000 values is changed in no time", function()
    local values = {}
    for i = 1, 16000 do values[i] = tostring(i % 10) end
    local list = table.concat(values, ",")
    local start = os.clock()
    for _ = 1, 5 do
      C.config_list_append(arena, list, list)
      C.config_list_subtract(arena, list, list)
    end
    assert.is_true(os.clock() - start < 2, os.clock() - start)
  end)
end)

describe("A config's text", function()
  local arena
  before_each(function() arena = ffi.new "struct arena" end)
  after_each(function() C.arena_destroy(arena) end)

  for _, case in ipairs {
    { "retention.ms", " 77 ", "77" }, { "retention.ms", "+5", "5" }, { "retention.ms", "-1", "-1" },
    { "retention.ms", "9223372036854775807", "9223372036854775807" }, { "preallocate", " TRUE", "true" },
    { "preallocate", "false", "false" }, { "min.cleanable.dirty.ratio", "1", "1.0" }, { "min.cleanable.dirty.ratio", "0.50", "0.5" },
    { "min.cleanable.dirty.ratio", "0", "0.0" }, { "min.cleanable.dirty.ratio", ".001", "0.001" },
    { "min.cleanable.dirty.ratio", "1e-5", "1.0E-5" }, { "min.cleanable.dirty.ratio", "0.00025", "2.5E-4" },
    { "min.cleanable.dirty.ratio", "0.1", "0.1" }, { "cleanup.policy", " compact , delete ", "compact,delete" },
    { "cleanup.policy", "", "" }, { "compression.type", " lz4 ", "lz4" }, { "leader.replication.throttled.replicas", " * ", "*" },
  } do
    it(("of %s is shown as it is read: %q as %s"):format(case[1], case[2], case[3]), function()
      local def = C.topic_config_defs()[C.topic_config_find(case[1])]
      assert.equal(case[3], ffi.string(C.config_shown_text(arena, def, case[2])))
    end)
  end
end)
