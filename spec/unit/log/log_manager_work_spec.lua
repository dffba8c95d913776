-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.manager"
local C = logs.C

local RECOVERY, START, HIGH = "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"

--- A started and running manager with loop, pool and hooks: the driver, the manager, the wanted logs.
local function running(dirs, list, over, is_adopting)
  local config = logs.config(dirs, over)
  local out = ffi.new "struct log_manager_driver *[1]"
  assert(C.log_manager_driver_new(config, 2, out) == 0, logs.message())
  local mgr = C.log_manager_driver_manager(out[0])
  assert(C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb") == 0, logs.message())
  local wanted = logs.wanted(list)
  assert(C.log_manager_start(mgr, wanted.array, wanted.count, is_adopting or false) == 0, logs.message())
  return out[0], mgr, wanted
end

local function seen(driver)
  local out = ffi.new "struct log_manager_seen"
  C.log_manager_driver_seen(driver, out)
  return { appenders = tonumber(out.appenders), failed = tonumber(out.failed), cause = tonumber(out.failed_cause),
    owners = tonumber(out.owner_sum) }
end

describe("a running log manager", function()
  local dir
  before_each(function() dir = unit.temp_dir() end)
  after_each(logs.collect)

  it("checkpoints high watermarks when they have changed, and only then", function()
    local driver, _, wanted = running({ dir }, { { "t", 0 }, { "u", 1 } }, { high_watermark_checkpoint_ms = 5 })
    for _ = 1, 4 do logs.append(wanted[1].log) end
    C.log_manager_driver_set_lag(driver, -1)
    -- u-1 is empty, so its high watermark would be -1: it has no line.
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function()
      local lines = logs.checkpoint(dir, HIGH)
      return lines and lines[1] == "t 0 3"
    end))
    os.remove(dir .. "/" .. HIGH)
    C.usleep(100000)
    assert.is_nil(unit.read_file(dir .. "/" .. HIGH))
    logs.append(wanted[1].log)
    assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. HIGH) == "0\n1\nt 0 4\n" end))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("keeps the last high watermark of a log whose owner does not know it", function()
    local driver, _, wanted = running({ dir }, { { "t", 0 } }, { high_watermark_checkpoint_ms = 5 })
    for _ = 1, 3 do logs.append(wanted[1].log) end
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. HIGH) == "0\n1\nt 0 3\n" end))
    C.log_manager_driver_set_lag(driver, -2LL ^ 63)
    logs.append(wanted[1].log)
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.same({ "t 0 3" }, logs.checkpoint(dir, HIGH))
  end)

  it("checkpoints log start offsets", function()
    local driver, _, wanted = running({ dir }, { { "t", 0 } }, { start_offset_checkpoint_ms = 5 })
    for _ = 1, 4 do logs.append(wanted[1].log) end
    assert.equal(0, C.log_set_start_offset(wanted[1].log, 2))
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. START) == "0\n1\nt 0 2\n" end))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("brings a quiet log to disk and then raises its recovery point", function()
    local driver, _, wanted = running({ dir }, { { "t", 0 } }, { flush_checkpoint_ms = 5 })
    for _ = 1, 4 do logs.append(wanted[1].log) end
    assert.equal(0, logs.offsets(wanted[1].log).recovery)
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. RECOVERY) == "0\n1\nt 0 4\n" end))
    assert.equal(4, logs.offsets(wanted[1].log).recovery)
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("brings a segment to disk when the next one begins", function()
    local driver, _, wanted = running({ dir }, { { "t", 0, config = { segment_bytes = 500 } } })
    C.log_manager_driver_run(driver)
    for _ = 1, 10 do logs.append(wanted[1].log, 100) end
    local active = tonumber(C.log_active_base_offset(wanted[1].log))
    assert.is_true(active > 0)
    assert.is_truthy(logs.wait(function() return logs.offsets(wanted[1].log).recovery >= active end))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("takes a directory offline when an fsync fails, and tells the owners of its logs", function()
    local driver, mgr, wanted = running({ dir .. "/a" }, { { "t", 0, owner = 1 }, { "t", 1, owner = 10 }, { "t", 2, owner = 100 } },
      { flush_checkpoint_ms = 5 })
    logs.append(wanted[2].log)
    C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 5)
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return seen(driver).failed == 3 end))
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
    assert.equal(111, seen(driver).owners)
    assert.equal(C.ERR_IO, seen(driver).cause)
    assert.is_true(C.log_manager_is_offline(mgr, wanted[1].log))
    local log, code = logs.open(mgr, "new", 0)
    assert.is_nil(log)
    assert.equal(C.ERR_STORAGE_OFFLINE, code)
    assert.equal(C.ERR_STORAGE_OFFLINE, C.log_manager_delete_log(mgr, wanted[3].log))
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.is_nil(unit.read_file(dir .. "/a/.kafka_cleanshutdown"))
  end)

  it("takes a directory offline when an fsync says that the disk is full", function()
    local driver, mgr, wanted = running({ dir .. "/a" }, { { "t", 0, owner = 1 } }, { flush_checkpoint_ms = 5 })
    logs.append(wanted[1].log)
    C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 28)
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return seen(driver).failed == 1 end))
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
    assert.equal(C.ERR_IO, seen(driver).cause)
    assert.equal(0, logs.offsets(wanted[1].log).recovery)
    assert.is_true(C.log_manager_is_offline(mgr, wanted[1].log))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("runs with checkpoint intervals of 0 and -1, as often as with 1", function()
    local driver, _, wanted = running({ dir }, { { "t", 0 } },
      { flush_checkpoint_ms = 0, start_offset_checkpoint_ms = 0, high_watermark_checkpoint_ms = -1 })
    for _ = 1, 4 do logs.append(wanted[1].log) end
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. HIGH) == "0\n1\nt 0 4\n" end))
    assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. RECOVERY) == "0\n1\nt 0 4\n" end))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  describe("that gets other intervals", function()
    local MINUTE, NEVER = 60000, 9223372036854775807LL

    --- When the next retention pass is made, in ms from now (nil: never), and the interval.
    local function times(mgr)
      local next_ms, interval_ms = ffi.new "int64_t[1]", ffi.new "int64_t[1]"
      C.log_manager_retention_times(mgr, next_ms, interval_ms)
      return next_ms[0] >= 0 and tonumber(next_ms[0] - C.clock_wall_ms()) or nil, interval_ms[0]
    end
    local function set(driver, retention_ms, high_ms)
      local intervals = ffi.new "struct log_manager_intervals"
      intervals.retention_check_ms, intervals.flush_checkpoint_ms = retention_ms, MINUTE
      intervals.start_offset_checkpoint_ms, intervals.high_watermark_checkpoint_ms = MINUTE, high_ms or MINUTE
      C.log_manager_driver_set_intervals(driver, intervals)
    end
    local function about(expected, got)
      assert.is_true(got <= expected and got > expected - 5000, ("%s is not about %s"):format(got, expected))
    end

    it("says when the next pass is by these", function()
      local driver, mgr = running({ dir }, { { "t", 0 } }, { retention_check_ms = 5 * MINUTE })
      C.log_manager_driver_run(driver)
      about(MINUTE / 2, (times(mgr)))
      set(driver, MINUTE / 4)
      local next_ms, interval_ms = times(mgr)
      about(MINUTE / 4, next_ms)
      assert.equal(MINUTE / 4, tonumber(interval_ms))
      assert.equal(0, C.log_manager_driver_stop(driver))
    end)

    it("does not put off what is due, however often they change", function()
      local driver, mgr = running({ dir }, { { "t", 0 } }, { retention_check_ms = MINUTE / 4 })
      C.log_manager_driver_run(driver)
      for i = 1, 3 do set(driver, i * MINUTE) end
      local next_ms, interval_ms = times(mgr)
      about(MINUTE / 4, next_ms)
      assert.equal(3 * MINUTE, tonumber(interval_ms))
      assert.equal(0, C.log_manager_driver_stop(driver))
    end)

    it("bears the largest number there is, before and after", function()
      local driver, mgr, wanted = running({ dir }, { { "t", 0 } }, { retention_check_ms = 5, high_watermark_checkpoint_ms = NEVER })
      C.log_manager_driver_run(driver)
      set(driver, NEVER, NEVER)
      assert.is_truthy(logs.wait(function() return times(mgr) == nil end))
      logs.append(wanted[1].log)
      set(driver, 5, 5)
      assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. HIGH) == "0\n1\nt 0 1\n" end))
      about(5, (times(mgr)))
      assert.equal(0, C.log_manager_driver_stop(driver))
    end)
  end)

  it("keeps a deleted log's files for ever when their delay is the largest number", function()
    local driver, mgr, wanted = running({ dir }, { { "t", 0 }, { "u", 0 } }, { file_delete_delay_ms = 9223372036854775807LL })
    C.log_manager_driver_run(driver)
    assert.equal(0, C.log_manager_delete_log(mgr, wanted[1].log))
    C.usleep(50000)
    assert.is_truthy(logs.name_like(dir, "^t%-0.*%-delete$"))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("drops a start offset that the segments' names tell", function()
    local driver, _, wanted = running({ dir }, { { "t", 0, config = { segment_bytes = 300 } } }, { start_offset_checkpoint_ms = 5 })
    for _ = 1, 9 do logs.append(wanted[1].log, 100) end
    assert.equal(0, C.log_set_start_offset(wanted[1].log, 1))
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. START) == "0\n1\nt 0 1\n" end))
    local active = tonumber(C.log_active_base_offset(wanted[1].log))
    assert.is_true(C.log_delete_before(wanted[1].log, active, C.clock_wall_ms()) > 0)
    assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. START) == "0\n0\n" end))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("loses only the logs of the directory that fails", function()
    local driver, mgr, wanted = running({ dir .. "/a", dir .. "/b" }, { { "t", 0, owner = 1 }, { "t", 1, owner = 10 } })
    C.log_manager_driver_run(driver)
    C.log_manager_fail_dir(mgr, wanted[1].log, C.ERR_NO_SPACE)
    assert.same({ appenders = 0, failed = 0, cause = 0, owners = 0 }, seen(driver))
    C.log_manager_fail_dir(mgr, wanted[1].log, C.ERR_IO)
    C.log_manager_fail_dir(mgr, wanted[1].log, C.ERR_IO)
    assert.same({ appenders = 0, failed = 1, cause = C.ERR_IO, owners = 1 }, seen(driver))
    assert.is_false(C.log_manager_is_offline(mgr, wanted[2].log))
    assert.is_truthy(logs.open(mgr, "new", 0))
    assert.is_true(C.dir_exists(dir .. "/b/new-0"))
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.is_nil(unit.read_file(dir .. "/a/.kafka_cleanshutdown"))
    assert.is_truthy(unit.read_file(dir .. "/b/.kafka_cleanshutdown"))
  end)

  it("tries a checkpoint again when the disk was full", function()
    local driver, mgr, wanted = running({ dir }, { { "t", 0 } }, { high_watermark_checkpoint_ms = 5 })
    for _ = 1, 3 do logs.append(wanted[1].log) end
    C.errinj_set(C.ERRINJ_FILE_WRITE, 1, 28)
    C.log_manager_driver_run(driver)
    C.usleep(50000)
    assert.is_false(C.log_manager_is_offline(mgr, wanted[1].log))
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    assert.is_truthy(logs.wait(function() return unit.read_file(dir .. "/" .. HIGH) == "0\n1\nt 0 3\n" end))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("removes a deleted log's files when their time has come, not before", function()
    local driver, mgr, wanted = running({ dir }, { { "t", 0 }, { "u", 0 } }, { file_delete_delay_ms = 300 })
    C.log_manager_driver_run(driver)
    local before = C.clock_mono_ms()
    assert.equal(0, C.log_manager_delete_log(mgr, wanted[1].log))
    assert.is_truthy(logs.name_like(dir, "%-delete$"))
    assert.is_truthy(logs.wait(function() return not logs.name_like(dir, "%-delete$") end))
    assert.is_true(C.clock_mono_ms() - before >= 300)
    assert.is_true(C.dir_exists(dir .. "/u-0"))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("leaves files whose time has not come to the next start, which removes them at once", function()
    local driver, mgr, wanted = running({ dir }, { { "t", 0 } }, { file_delete_delay_ms = 3600000 })
    C.log_manager_driver_run(driver)
    assert.equal(0, C.log_manager_delete_log(mgr, wanted[1].log))
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.is_truthy(logs.name_like(dir, "%-delete$"))
    driver = running({ dir }, {}, { file_delete_delay_ms = 3600000 })
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return not logs.name_like(dir, "%-delete$") end))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("leaves Kafka's deleted, stray and future folders alone when it adopts its directories", function()
    local id = ("0"):rep(32)
    for _, what in ipairs { "delete", "stray", "future" } do os.execute(("mkdir -p %s/t-0.%s-%s"):format(dir, id, what)) end
    local driver = running({ dir }, {}, {}, true)
    C.log_manager_driver_run(driver)
    C.usleep(50000)
    assert.equal(0, C.log_manager_driver_stop(driver))
    for _, what in ipairs { "delete", "stray", "future" } do assert.is_true(C.dir_exists(("%s/t-0.%s-%s"):format(dir, id, what))) end
  end)

  it("costs no turn of the control loop while nothing is due", function()
    local driver = running({ dir }, { { "t", 0 } })
    C.log_manager_driver_run(driver)
    C.usleep(20000)
    local turns = C.log_manager_driver_turns(driver)
    C.usleep(300000)
    assert.equal(0, tonumber(C.log_manager_driver_turns(driver) - turns))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  describe("with retention", function()
    it("deletes by size and removes the segments' files", function()
      local config = { segment_bytes = 1000, retention_bytes = 3000, file_delete_delay_ms = 0 }
      local driver, _, wanted = running({ dir }, { { "t", 0, config = config } }, { retention_check_ms = 5 })
      for _ = 1, 50 do logs.append(wanted[1].log, 100) end
      C.log_manager_driver_run(driver)
      assert.is_truthy(logs.wait(function() return logs.offsets(wanted[1].log).bytes < 4000 end))
      local offsets = logs.offsets(wanted[1].log)
      assert.equal(50, offsets["end"])
      assert.is_true(offsets.bytes >= 3000 and offsets.bytes < 4000)
      assert.is_truthy(logs.wait(function()
        return not logs.name_like(dir .. "/t-0", "deleted$") and not logs.name_like(dir .. "/t-0", "^00000000000000000000%.")
      end))
      assert.equal(0, C.log_manager_driver_stop(driver))
    end)

    it("asks for no appender when nothing is to go", function()
      local driver, _, wanted = running({ dir }, { { "t", 0, config = { retention_bytes = 100000 } } }, { retention_check_ms = 5 })
      logs.append(wanted[1].log)
      C.log_manager_driver_run(driver)
      C.usleep(50000)
      assert.equal(0, seen(driver).appenders)
      assert.equal(0, C.log_manager_driver_stop(driver))
    end)

    it("does nothing to a partition that has gone, or whose high watermark is unknown", function()
      local config = { segment_bytes = 1000, retention_bytes = 0 }
      local driver, _, wanted = running({ dir }, { { "t", 0, config = config } }, { retention_check_ms = 5 })
      for _ = 1, 50 do logs.append(wanted[1].log, 100) end
      C.log_manager_driver_set_gone(driver, true)
      C.log_manager_driver_run(driver)
      assert.is_truthy(logs.wait(function() return seen(driver).appenders > 1 end))
      C.log_manager_driver_set_lag(driver, -2LL ^ 63)
      C.log_manager_driver_set_gone(driver, false)
      C.usleep(30000)
      assert.equal(0, logs.offsets(wanted[1].log).start)
      assert.equal(0, C.log_manager_driver_stop(driver))
    end)
  end)
end)
