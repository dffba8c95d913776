-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/topic_config.h", "base/error.h")

describe("config", function()
  local defs = C.topic_config_defs()
  local values = ffi.new "struct topic_config"
  local message = ffi.new("char[?]", C.CONFIG_MESSAGE_SIZE)

  local function set(name, text)
    local at = C.topic_config_find(name)
    assert(at >= 0, name)
    local result = C.config_set(defs + at, text, values, message)
    return result, result < 0 and ffi.string(message) or nil
  end

  for _, case in ipairs {
    { "retention.ms", "5", "retention_ms", 5 },
    { "retention.ms", " 5 ", "retention_ms", 5 },
    { "retention.ms", "+007", "retention_ms", 7 },
    { "retention.ms", "-1", "retention_ms", -1 },
    { "segment.bytes", "1048576", "segment_bytes", 1048576 },
    { "preallocate", " TRUE ", "preallocate", true },
    { "preallocate", "false", "preallocate", false },
    { "cleanup.policy", "", "cleanup_policy", 0 },
    { "cleanup.policy", "compact", "cleanup_policy", 1 },
    { "cleanup.policy", " delete , compact ", "cleanup_policy", 3 },
    { "compression.type", " lz4 ", "compression_type", 2 },
    { "compression.gzip.level", "-1", "compression_gzip_level", -1 },
    { "compression.gzip.level", "9", "compression_gzip_level", 9 },
    { "min.cleanable.dirty.ratio", "0.25", "min_cleanable_dirty_ratio", 0.25 },
    { "min.cleanable.dirty.ratio", "1e-1", "min_cleanable_dirty_ratio", 0.1 },
    { "message.timestamp.type", "LogAppendTime", "message_timestamp_type", 1 },
    { "luka.producer.type", "sync", "luka_producer_type", 1 },
    { "luka.validate", "full", "luka_validate", 1 },
  } do
    it(("reads %q as %s"):format(case[2], case[1]), function()
      assert.equal(0, (set(case[1], case[2])))
      local got = values[case[3]]
      assert.equal(case[4], type(got) == "cdata" and tonumber(got) or got)
    end)
  end

  it("keeps a name without the blanks around it, and nothing of a longer one before it", function()
    for _, text in ipairs { "range:a,m,t", " sticky ", "", ("x"):rep(255) } do
      assert.equal(0, (set("luka.partitioner", text)))
      assert.equal(text:match "^%s*(.-)%s*$", ffi.string(values.luka_partitioner))
    end
    assert.equal(C.ERR_CONFIG, (set("luka.partitioner", ("x"):rep(256))))
  end)

  it("reads the largest number of a type", function()
    assert.equal(0, (set("flush.ms", "9223372036854775807")))
    assert.is_true(values.flush_ms == 9223372036854775807LL)
  end)

  for _, name in ipairs { "leader.replication.throttled.replicas", "follower.replication.throttled.replicas" } do
    it("takes pairs, a star or nothing for " .. name, function()
      for _, text in ipairs { "", "*", "0:1", "0:1, 12:7", " 3:4 " } do assert.equal(0, (set(name, text)), text) end
      for _, text in ipairs { "x", "1", "1:", ":1", "1:2:3", "*,*", "1:2,*" } do assert.equal(C.ERR_CONFIG, (set(name, text)), text) end
    end)
  end

  for _, case in ipairs {
    { "retention.ms", "x", "Invalid value x for configuration retention.ms: Not a number of type LONG" },
    { "retention.ms", "", "Invalid value  for configuration retention.ms: Not a number of type LONG" },
    { "retention.ms", "7d", "Invalid value 7d for configuration retention.ms: Not a number of type LONG" },
    { "retention.ms", "1.5", "Invalid value 1.5 for configuration retention.ms: Not a number of type LONG" },
    { "retention.ms", "0x10", "Invalid value 0x10 for configuration retention.ms: Not a number of type LONG" },
    { "retention.ms", "9223372036854775808",
      "Invalid value 9223372036854775808 for configuration retention.ms: Not a number of type LONG" },
    { "retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1" },
    { "segment.bytes", "10MB", "Invalid value 10MB for configuration segment.bytes: Not a number of type INT" },
    { "segment.bytes", "2147483648", "Invalid value 2147483648 for configuration segment.bytes: Not a number of type INT" },
    { "segment.bytes", " 1 ", "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576" },
    { "max.decompressed.message.bytes", "2147483647",
      "Invalid value 2147483647 for configuration max.decompressed.message.bytes: Value must be no more than 2147483639" },
    { "compression.gzip.level", "0",
      "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1" },
    { "min.cleanable.dirty.ratio", "1.5", "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1" },
    { "min.cleanable.dirty.ratio", "2", "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1" },
    { "min.cleanable.dirty.ratio", "nan", "Invalid value nan for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE" },
    { "cleanup.policy", "x", "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete" },
    { "cleanup.policy", "compactt", "Invalid value compactt for configuration cleanup.policy: String must be one of: compact, delete" },
    { "cleanup.policy", "delete,delete", "Configuration 'cleanup.policy' values must not be duplicated." },
    { "cleanup.policy", "delete,,compact", "Configuration 'cleanup.policy' values must not be empty." },
    { "compression.type", "none",
      "Invalid value none for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer" },
    { "compression.type", "SNAPPY",
      "Invalid value SNAPPY for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer" },
    { "preallocate", "yes", "Invalid value yes for configuration preallocate: Expected value to be either true or false" },
    { "leader.replication.throttled.replicas", "x",
      "Invalid value [x] for configuration leader.replication.throttled.replicas: "
        .. "leader.replication.throttled.replicas must be the literal '*' "
        .. "or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..." },
  } do
    it(("refuses %q as %s with Kafka's message"):format(case[2], case[1]), function()
      local result, text = set(case[1], case[2])
      assert.equal(C.ERR_CONFIG, result)
      assert.equal(case[3], text)
    end)
  end

  it("keeps a message within its size and its characters whole", function()
    local result, text = set("retention.ms", ("\226\130\172"):rep(10000))
    assert.equal(C.ERR_CONFIG, result)
    assert.equal("Invalid value " .. ("\226\130\172"):rep(170) .. " for configuration retention.ms: Not a number of type LONG", text)
    result, text = set("cleanup.policy", ("x"):rep(10000))
    assert.equal(C.ERR_CONFIG, result)
    assert.is_true(#text < 1024)
    assert.equal(C.ERR_CONFIG, (set("leader.replication.throttled.replicas", ("x,"):rep(10000))))
  end)

  it("says in words what a config accepts", function()
    local function describe_config(name)
      local text = ffi.new "char[320]"
      return ffi.string(C.config_describe(defs + C.topic_config_find(name), text, 320))
    end
    assert.equal("a whole number from 1 to 17", describe_config "compression.lz4.level")
    assert.equal("a whole number from 1 to 9, or -1", describe_config "compression.gzip.level")
    assert.equal("a whole number from 1048576 to 2147483647", describe_config "segment.bytes")
    assert.equal("a whole number of at least -1", describe_config "retention.ms")
    assert.equal("a whole number", describe_config "retention.bytes")
    assert.equal("a list of: compact, delete", describe_config "cleanup.policy")
    assert.equal("true or false", describe_config "preallocate")
  end)
end)
