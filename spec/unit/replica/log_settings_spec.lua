-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("replica/log_settings.h", "log/log.h", "metadata/topic_config.h")

describe("The settings of a log", function()
  local function settings(configs)
    local topic, log = ffi.new "struct topic_config", ffi.new "struct log_config"
    local defaults = ffi.new "struct topic_config_defaults"
    C.topic_config_defaults_create(defaults)
    local list, message = ffi.new("struct config_entry[?]", #configs + 1), ffi.new("char[?]", C.CONFIG_MESSAGE_SIZE)
    for i, pair in ipairs(configs) do list[i - 1].name, list[i - 1].value = pair[1], pair[2] end
    assert.equal(0, C.topic_config_resolve(defaults, list, #configs, topic, message))
    C.log_settings_from_topic(topic, log)
    return log
  end

  for _, case in ipairs {
    { "segment.bytes", "2000000", "segment_bytes", 2000000 }, { "segment.ms", "5", "segment_ms", 5 },
    { "segment.jitter.ms", "6", "segment_jitter_ms", 6 }, { "segment.index.bytes", "80", "segment_index_bytes", 80 },
    { "index.interval.bytes", "0", "index_interval_bytes", 0 }, { "max.message.bytes", "70", "max_message_bytes", 70 },
    { "retention.bytes", "9", "retention_bytes", 9 }, { "retention.ms", "8", "retention_ms", 8 },
    { "file.delete.delay.ms", "4", "file_delete_delay_ms", 4 }, { "preallocate", "true", "preallocate", true },
    { "cleanup.policy", "compact", "is_compacted", true }, { "cleanup.policy", "compact", "is_deleting", false },
    { "message.timestamp.type", "LogAppendTime", "is_log_append_time", true },
  } do
    it(("have %s = %s as %s"):format(case[1], case[2], case[3]), function()
      local with = settings { { case[1], case[2] } }
      if type(case[4]) == "boolean" then
        assert.equal(case[4], with[case[3]])
      else
        assert.equal(case[4], tonumber(with[case[3]]))
      end
      local without = settings {}
      assert.is_true(without[case[3]] ~= with[case[3]])
    end)
  end
end)
