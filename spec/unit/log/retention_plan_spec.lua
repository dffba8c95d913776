-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local logs = require "spec.unit.log.logs"

local C, NOW = logs.C, tonumber(logs.NOW)

--- A log of `count` batches of 100 bytes, times rising by the second.
local function filled(count, options)
  local log = logs.open(options)
  for i = 1, count do log:append(logs.batch { size = 100, ts = 1000 * i }) end
  return log
end

describe("what retention says about segments", function()
  local REASONS = {}
  for _, name in ipairs { "RETENTION_MS", "RETENTION_BYTES", "RETENTION_START_OFFSET", "KEEP_YOUNG", "KEEP_SMALL", "KEEP_ACTIVE",
    "KEEP_EMPTY", "KEEP_HIGH_WATERMARK", "KEEP_UNLIMITED", "KEEP_COMPACTED", "KEEP_BEHIND" } do
    REASONS[tonumber(C["LOG_" .. name])] = name
  end

  --- Per segment: reason, "goes" or when it is due (nil: nobody knows).
  local function plan(log, now, high_watermark)
    local infos, verdicts = ffi.new "struct log_segment_info[100]", ffi.new "struct log_retention_verdict[100]"
    local count = C.log_retention_plan(log.log, now or NOW, high_watermark or log:end_offset(), infos, verdicts, 100)
    local out = {}
    for i = 0, count - 1 do
      local due = tonumber(verdicts[i].due_ms)
      out[i + 1] = { REASONS[tonumber(verdicts[i].reason)], verdicts[i].is_going and "goes" or (due >= 0 and due or nil) }
    end
    -- What a pass does is what it says.
    local picked = ffi.new "struct log_retention"
    C.log_retention_pick(log.log, now or NOW, high_watermark or log:end_offset(), picked)
    for i, one in ipairs(out) do assert.equal(i <= picked.segments, one[2] == "goes") end
    return out
  end

  it("names the time at which each segment becomes older than retention.ms", function()
    local log = filled(10, { config = { segment_bytes = 300, retention_ms = 5000 } })
    -- Newest records: 3000, 6000, 9000, 10000.
    assert.same({ { "RETENTION_MS", "goes" }, { "KEEP_YOUNG", 11001 }, { "KEEP_YOUNG", 14001 }, { "KEEP_YOUNG", 15001 } },
      plan(log, 8001))
    assert.equal("goes", plan(log, 15001)[4][2])
    log:close()
  end)

  it("lets no segment go before an older one", function()
    local log = logs.open { config = { segment_bytes = 200, retention_ms = 5000 } }
    for _, ts in ipairs { 9000, 9000, 2000, 2000, 1000 } do log:append(logs.batch { size = 100, ts = ts }) end
    assert.same({ { "KEEP_YOUNG", 14001 }, { "KEEP_BEHIND", 14001 }, { "KEEP_BEHIND", 14001 } }, plan(log, 10000))
    assert.same({ { "RETENTION_MS", "goes" }, { "RETENTION_MS", "goes" }, { "RETENTION_MS", "goes" } }, plan(log, 14001))
    log:close()
  end)

  it("knows no time for what goes by size, and spares the active segment", function()
    local log = filled(10, { config = { segment_bytes = 300, retention_ms = -1, retention_bytes = 401 } })
    assert.same({ { "RETENTION_BYTES", "goes" }, { "KEEP_SMALL" }, { "KEEP_SMALL" }, { "KEEP_ACTIVE" } }, plan(log))
    log:close()
  end)

  it("takes by size what is too young, and says for the rest when it gets too old", function()
    local log = filled(10, { config = { segment_bytes = 300, retention_ms = 5000, retention_bytes = 700 } })
    assert.same({ { "RETENTION_BYTES", "goes" }, { "KEEP_YOUNG", 11001 }, { "KEEP_YOUNG", 14001 }, { "KEEP_YOUNG", 15001 } },
      plan(log, 7000))
    log:close()
  end)

  it("keeps what is not below the high watermark", function()
    local log = filled(10, { config = { segment_bytes = 300, retention_ms = 5000 } })
    assert.same({ { "RETENTION_MS", "goes" }, { "KEEP_HIGH_WATERMARK" }, { "KEEP_HIGH_WATERMARK" }, { "KEEP_HIGH_WATERMARK" } },
      plan(log, 20000, 5))
    log:close()
  end)

  it("names the log start offset for what DeleteRecords took", function()
    local log = filled(10, { config = { segment_bytes = 300, retention_ms = -1, is_deleting = false } })
    C.log_set_start_offset(log.log, 4)
    assert.same({ { "RETENTION_START_OFFSET", "goes" }, { "KEEP_COMPACTED" }, { "KEEP_COMPACTED" }, { "KEEP_COMPACTED" } },
      plan(log))
    log:close()
  end)

  it("says that there is no limit, and that an empty segment stays", function()
    local log = filled(6, { config = { segment_bytes = 300, retention_ms = -1 } })
    assert.same({ { "KEEP_UNLIMITED" }, { "KEEP_UNLIMITED" } }, plan(log))
    C.log_roll(log.log, NOW)
    assert.same({ { "KEEP_UNLIMITED" }, { "KEEP_UNLIMITED" }, { "KEEP_EMPTY" } }, plan(log))
    log:close()
  end)

  it("counts from the file's time until a record from the future may be believed", function()
    local log = logs.open { config = { segment_bytes = 200, retention_ms = 1000 } }
    log:append { logs.batch { size = 100, ts = NOW + 7200000 } }
    assert.same({ { "KEEP_YOUNG", NOW + 1001 } }, plan(log, NOW))
    log:close()
    log = logs.open { config = { segment_bytes = 200, retention_ms = 7200000 } }
    log:append { logs.batch { size = 100, ts = NOW + 7200000 } }
    assert.same({ { "KEEP_YOUNG", NOW + 14400001 } }, plan(log, NOW))
    log:close()
  end)

  it("is never due with a limit beyond all times", function()
    local log = filled(1, { config = { retention_ms = 0x7fffffffffffffffLL } })
    assert.equal("KEEP_YOUNG", plan(log)[1][1])
    log:close()
  end)
end)

describe("log_segments", function()
  it("knows the sizes of the indexes and whether the file is open", function()
    local log = filled(10, { config = { segment_bytes = 300, index_interval_bytes = 100 } })
    local infos = ffi.new "struct log_segment_info[10]"
    assert.equal(4, C.log_segments(log.log, infos, 10))
    for i = 0, 3 do assert.equal(i == 3, infos[i].is_active) end
    assert.is_true(infos[3].is_file_open)
    for i = 0, 2 do
      local stem = ("%s/%020d"):format(log.dir, tonumber(infos[i].base_offset))
      for _, pair in ipairs { { ".index", "offset_index_bytes" }, { ".timeindex", "time_index_bytes" } } do
        local file = assert(io.open(stem .. pair[1]))
        assert.equal(file:seek "end", tonumber(infos[i][pair[2]]), pair[1])
        assert.is_true(tonumber(infos[i][pair[2]]) > 0)
        file:close()
      end
    end
    log:close()
  end)
end)
