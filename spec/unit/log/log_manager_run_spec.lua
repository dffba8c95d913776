-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unistd = require "posix.unistd"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.manager"
local C = logs.C

local RECOVERY, START = "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"
local MARKER = ".kafka_cleanshutdown"

describe("a log manager that has started", function()
  local dir
  before_each(function() dir = unit.temp_dir() end)
  after_each(logs.collect)

  --- Stops, starts again with the same logs; returns manager and logs.
  local function restart(mgr, dirs, list)
    assert.equal(0, C.log_manager_stop(mgr))
    return logs.started(dirs, list)
  end

  describe("stopping", function()
    it("writes recovery points at the logs' ends, and the marker", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 }, { "t", 1 } })
      for _ = 1, 3 do logs.append(wanted[1].log) end
      assert.equal(0, C.log_manager_stop(mgr))
      assert.same({ "t 0 3", "t 1 0" }, logs.checkpoint(dir, RECOVERY))
      assert.equal('{"version":0,"brokerEpoch":-1}', unit.read_file(dir .. "/" .. MARKER))
    end)

    it("keeps a log start offset that no segment's name tells", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 }, { "u", 0 } })
      for _ = 1, 5 do logs.append(wanted[1].log) end
      assert.equal(0, C.log_set_start_offset(wanted[1].log, 3))
      assert.equal(0, C.log_manager_stop(mgr))
      assert.same({ "t 0 3" }, logs.checkpoint(dir, START))
      mgr, wanted = logs.started({ dir }, { { "t", 0 }, { "u", 0 } })
      assert.equal(3, logs.offsets(wanted[1].log).start)
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("writes no marker when a log does not close", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      logs.append(wanted[1].log)
      C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 5)
      assert.is_true(C.log_manager_stop(mgr) < 0)
      C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
      assert.is_nil(unit.read_file(dir .. "/" .. MARKER))
      mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      assert.equal(1, logs.offsets(wanted[1].log)["end"])
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("drops a start offset only when the names of the deleted segments are on disk", function()
      local list = { { "t", 0, config = { segment_bytes = 300 } } }
      local mgr, wanted = logs.started({ dir }, list)
      for _ = 1, 9 do logs.append(wanted[1].log, 100) end
      assert.equal(0, C.log_set_start_offset(wanted[1].log, 1))
      mgr, wanted = restart(mgr, { dir }, list)
      assert.same({ "t 0 1" }, logs.checkpoint(dir, START))
      assert.is_true(C.log_delete_before(wanted[1].log, 8, C.clock_wall_ms()) > 0)
      C.errinj_set_once(C.ERRINJ_FILE_SYNC, 1, 5)
      local lines = logs.lines_of(function() assert.equal(C.ERR_IO, C.log_manager_stop(mgr)) end)
      C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
      assert.same({ ("error data directory %s is offline until the next start: cannot sync folder %s/t-0: Input/output error")
        :format(dir, dir) }, lines)
      assert.same({ "t 0 1" }, logs.checkpoint(dir, START))
      assert.is_nil(unit.read_file(dir .. "/" .. MARKER))
      mgr, wanted = logs.started({ dir }, list)
      assert.equal(8, logs.offsets(wanted[1].log).start)
      assert.equal(0, C.log_manager_stop(mgr))
      assert.same({}, logs.checkpoint(dir, START))
    end)

    it("leaves the directories to the next one", function()
      for _ = 1, 3 do
        local mgr = logs.started({ dir }, { { "t", 0 } })
        assert.equal(0, C.log_manager_stop(mgr))
      end
    end)
  end)

  describe("while running", function()
    it("opens a new log in the directory with the fewest", function()
      local dirs = { dir .. "/a", dir .. "/b" }
      local mgr = logs.started(dirs, { { "t", 0 }, { "t", 1 }, { "t", 2 } })
      assert(logs.open(mgr, "new", 0))
      assert.is_true(C.dir_exists(dir .. "/b/new-0"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("does not open a log twice", function()
      local mgr = logs.started({ dir }, { { "t", 0 } })
      local log, code = logs.open(mgr, "t", 0)
      assert.is_nil(log)
      assert.equal(C.ERR_EXISTS, code)
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("deletes a log: its folder is renamed as Kafka does", function()
      local mgr, wanted = logs.started({ dir }, { { "a.b-c", 7 }, { "t", 0 } })
      logs.append(wanted[1].log)
      assert.equal(0, C.log_manager_delete_log(mgr, wanted[1].log))
      assert.is_false(C.dir_exists(dir .. "/a.b-c-7"))
      assert.is_truthy(logs.name_like(dir, "^a%.b%-c%-7%.%x+%-delete$"))
      assert.equal(0, C.log_manager_stop(mgr))
      assert.same({ "t 0 0" }, logs.checkpoint(dir, RECOVERY))
    end)

    it("deletes a log whose topic has 249 bytes", function()
      local topic = ("n"):rep(249)
      local mgr, wanted = logs.started({ dir }, { { topic, 12 } })
      assert.equal(0, wanted[1].error)
      assert.equal(0, C.log_manager_delete_log(mgr, wanted[1].log))
      local name = assert(logs.name_like(dir, "%-delete$"))
      assert.equal(255, #name)
      assert.is_truthy(name:match "^n+%-12%.%x+%-delete$")
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("begins at offset 0 when a deleted name comes back, also after a crash", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0, logs.id "a" } })
      for _ = 1, 9 do logs.append(wanted[1].log) end
      assert.equal(0, C.log_set_start_offset(wanted[1].log, 8))
      assert.equal(0, C.log_manager_stop(mgr))
      assert.same({ "t 0 8" }, logs.checkpoint(dir, START))
      mgr, wanted = logs.started({ dir }, { { "t", 0, logs.id "a" } })
      assert.equal(0, C.log_manager_delete_log(mgr, wanted[1].log))
      local log = assert(logs.open(mgr, "t", 0, logs.id "b"))
      assert.equal(0, logs.append(log))
      -- The old lines are gone before the new log exists, so a crash now cannot bring them back.
      assert.same({}, logs.checkpoint(dir, START))
      assert.same({}, logs.checkpoint(dir, RECOVERY))
      assert.equal(0, C.log_manager_stop(mgr))
      mgr, wanted = logs.started({ dir }, { { "t", 0, logs.id "b" } })
      assert.same({ 0, 1 }, { logs.offsets(wanted[1].log).start, logs.offsets(wanted[1].log)["end"] })
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("lets one of many threads have a name at a time", function()
      local mgr = logs.started({ dir .. "/a", dir .. "/b" }, {})
      local opened = ffi.new "int64_t[1]"
      assert.equal(0, tonumber(C.log_manager_race_run(mgr, 4, 20, opened)))
      assert.is_true(tonumber(opened[0]) > 0)
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("leaves nothing behind of a log that it could not make", function()
      local mgr = logs.started({ dir }, {})
      C.errinj_set(C.ERRINJ_FILE_OPEN, 2, 24)
      local log, code = logs.open(mgr, "t", 0)
      C.errinj_set(C.ERRINJ_FILE_OPEN, 0, 0)
      assert.is_nil(log)
      assert.equal(C.ERR_NO_FILES, code)
      assert.is_nil(logs.name_like(dir, "^t"))
      assert.is_truthy(logs.open(mgr, "t", 0))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("removes no folder that it did not make, when a new log cannot be made", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0, logs.id "a" } })
      logs.append(wanted[1].log)
      assert.equal(0, C.log_manager_stop(mgr))
      mgr = logs.started({ dir .. "/new" }, {})
      os.execute(("mv %s/t-0 %s/new/t-0"):format(dir, dir))
      C.errinj_set(C.ERRINJ_DIR_RENAME, 1, 1)
      local log, code = logs.open(mgr, "t", 0, logs.id "b")
      C.errinj_set(C.ERRINJ_DIR_RENAME, 0, 0)
      assert.is_nil(log)
      assert.equal(C.ERR_PERMISSION, code)
      assert.is_true(#unit.read_file(dir .. "/new/t-0/00000000000000000000.log") > 100)
      -- A file of that name is no folder to look at, and stays too.
      unit.write_file(dir .. "/new/f-0", "mine")
      log, code = logs.open(mgr, "f", 0)
      assert.is_nil(log)
      assert.equal(C.ERR_EXISTS, code)
      assert.equal("mine", unit.read_file(dir .. "/new/f-0"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("makes a new log in another directory when one fails or is full", function()
      for _, case in ipairs { { 5, "a" }, { 28, "b" }, { 24, "c" } } do
        local dirs = { ("%s/%s1"):format(dir, case[2]), ("%s/%s2"):format(dir, case[2]) }
        local mgr = logs.started(dirs, {})
        C.errinj_set_once(C.ERRINJ_DIR_MAKE, 1, case[1])
        local log = logs.open(mgr, "t", 0)
        C.errinj_set(C.ERRINJ_DIR_MAKE, 0, 0)
        assert.is_truthy(log, logs.message())
        assert.is_false(C.dir_exists(dirs[1] .. "/t-0"))
        assert.is_true(C.dir_exists(dirs[2] .. "/t-0"))
        assert.equal(0, C.log_manager_stop(mgr))
        -- The same at start, for one that the metastore has and no directory.
        mgr = assert(logs.new(dirs))
        assert.equal(0, C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb"))
        local wanted = logs.wanted { { "t", 0 }, { "u", 0, is_new = false } }
        if case[1] ~= 5 then
          C.errinj_set_once(C.ERRINJ_DIR_MAKE, 1, case[1])
          assert.equal(0, C.log_manager_start(mgr, wanted.array, 2, false))
          assert.equal(0, wanted[2].error)
          assert.is_true(C.dir_exists(dirs[1] .. "/u-0") or C.dir_exists(dirs[2] .. "/u-0"))
        end
        assert.equal(0, C.log_manager_stop(mgr))
      end
    end)

    it("says that the disk is full when all directories are, and makes the log once there is space", function()
      local mgr = logs.started({ dir .. "/a", dir .. "/b" }, {})
      C.errinj_set(C.ERRINJ_DIR_MAKE, 1, 28)
      local log, code = logs.open(mgr, "t", 0)
      C.errinj_set(C.ERRINJ_DIR_MAKE, 0, 0)
      assert.is_nil(log)
      assert.equal(C.ERR_NO_SPACE, code)
      assert.is_true(C.log_manager_may_pass(code))
      assert.is_true(C.log_manager_may_pass(C.ERR_NO_FILES))
      assert.is_false(C.log_manager_may_pass(C.ERR_CORRUPT))
      assert.is_truthy(logs.open(mgr, "t", 0))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("prefers a directory with more than the reserve free", function()
      local free, total = ffi.new "int64_t[1]", ffi.new "int64_t[1]"
      assert.equal(0, C.dir_space(dir, free, total))
      local here = free[0]
      if C.dir_space("/dev/shm", free, total) ~= 0 or free[0] == here then return pending("needs two file systems") end
      local shm = ("/dev/shm/luka-spec-%d"):format(unistd.getpid())
      local small, large = dir .. "/x", shm .. "/x"
      if free[0] < here then small, large = large, small end
      local reserve = (here + free[0]) / 2
      local mgr = logs.started({ small, large }, {}, { reserve_bytes = reserve })
      for i = 0, 2 do assert(logs.open(mgr, "t", i)) end
      local names = { #logs.names(small), #logs.names(large) }
      assert.equal(0, C.log_manager_stop(mgr))
      C.dir_remove_all(shm)
      assert.same({ 2, 5 }, names)
    end)

    describe("with a log that did not open", function()
      --- A manager with t-0 of topic a, which has records and does not open.
      local function broken()
        local mgr, wanted = logs.started({ dir }, { { "t", 0, logs.id "a" } })
        for _ = 1, 5 do logs.append(wanted[1].log) end
        assert.equal(0, C.log_set_start_offset(wanted[1].log, 3))
        assert.equal(0, C.log_manager_stop(mgr))
        mgr = assert(logs.new { dir })
        assert.equal(0, C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb"))
        wanted = logs.wanted { { "t", 0, logs.id "a", is_new = false } }
        C.errinj_set(C.ERRINJ_FILE_OPEN, 1, 24)
        assert.equal(0, C.log_manager_start(mgr, wanted.array, 1, false))
        C.errinj_set(C.ERRINJ_FILE_OPEN, 0, 0)
        assert.equal(C.ERR_NO_FILES, wanted[1].error)
        return mgr
      end

      it("opens it later, with what its checkpoints say", function()
        local mgr = broken()
        local log = assert(logs.open(mgr, "t", 0, logs.id "a", { is_new = false }))
        assert.same({ 3, 5 }, { logs.offsets(log).start, logs.offsets(log)["end"] })
        assert.equal(0, C.log_manager_stop(mgr))
      end)

      it("deletes its folder, and a topic of that name inherits nothing", function()
        local mgr = broken()
        assert.equal(0, C.log_manager_delete_failed(mgr, "t", 0, logs.id "a"))
        assert.is_false(C.dir_exists(dir .. "/t-0"))
        assert.is_truthy(logs.name_like(dir, "^t%-0%.%x+%-delete$"))
        local log = assert(logs.open(mgr, "t", 0, logs.id "b"))
        assert.same({ 0, 0 }, { logs.offsets(log).start, logs.offsets(log)["end"] })
        assert.equal(C.ERR_EXISTS, C.log_manager_delete_failed(mgr, "t", 0, logs.id "b"))
        assert.equal(0, C.log_manager_stop(mgr))
        assert.is_nil(logs.name_like(dir, "stray$"))
        assert.is_truthy(unit.read_file(dir .. "/" .. MARKER))
      end)

      it("deletes one whose topic id cannot be read", function()
        local mgr = logs.started({ dir }, { { "t", 0, logs.id "a" } })
        assert.equal(0, C.log_manager_stop(mgr))
        unit.write_file(dir .. "/t-0/partition.metadata", "nonsense")
        os.execute(("rm '%s/t-0/leader-epoch-checkpoint'; mkdir '%s/t-0/leader-epoch-checkpoint'"):format(dir, dir))
        mgr = logs.started({ dir }, { { "t", 0, logs.id "a" } })
        assert.equal(0, C.log_manager_delete_failed(mgr, "t", 0, logs.id "a"))
        assert.is_false(C.dir_exists(dir .. "/t-0"))
        assert.equal(0, C.log_manager_stop(mgr))
      end)

      it("sets its folder aside for another topic of that name, which begins at 0", function()
        local mgr = broken()
        local log = assert(logs.open(mgr, "t", 0, logs.id "b"))
        assert.same({ 0, 0 }, { logs.offsets(log).start, logs.offsets(log)["end"] })
        assert.is_truthy(logs.name_like(dir, "^t%-0%.%x+%-stray$"))
        assert.same({}, logs.checkpoint(dir, START))
        assert.equal(0, C.log_manager_stop(mgr))
      end)

      it("leaves folders of other topics alone, and has nothing to do for a name without a folder", function()
        local mgr = broken()
        assert.equal(0, C.log_manager_delete_failed(mgr, "t", 0, logs.id "b"))
        assert.is_true(C.dir_exists(dir .. "/t-0"))
        assert.equal(0, C.log_manager_delete_failed(mgr, "none", 7, logs.id "b"))
        assert.equal(0, C.log_manager_stop(mgr))
      end)
    end)

    it("takes the directory offline when the new name of a deleted log does not reach the disk", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 28)
      assert.equal(C.ERR_IO, C.log_manager_delete_log(mgr, wanted[1].log))
      C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
      local log, code = logs.open(mgr, "u", 0)
      assert.is_nil(log)
      assert.equal(C.ERR_STORAGE_OFFLINE, code)
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("uses another directory when one fails over a new log", function()
      local mgr = logs.started({ dir .. "/a", dir .. "/b" }, {})
      C.errinj_set(C.ERRINJ_DIR_MAKE, 1, 5)
      local log, code = logs.open(mgr, "t", 0)
      C.errinj_set(C.ERRINJ_DIR_MAKE, 0, 0)
      -- Injection fails every folder from then on, so both are offline.
      assert.is_nil(log)
      assert.equal(C.ERR_STORAGE_OFFLINE, code)
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("tells sizes and space", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 }, { "t", 1 } })
      logs.append(wanted[1].log, 1000)
      local seen = {}
      local each_dir = ffi.cast("void (*)(void *, const struct log_dir_usage *)", function(_, usage)
        seen.dir = { ffi.string(usage.path), usage.is_offline, tonumber(usage.log_count) }
        seen.is_space = usage.usable_bytes > 0 and usage.total_bytes >= usage.usable_bytes
      end)
      local each_log = ffi.cast("void (*)(void *, const struct log_usage *)", function(_, usage)
        seen[ffi.string(usage.topic) .. usage.partition] = tonumber(usage.bytes)
      end)
      C.log_manager_usage(mgr, each_dir, each_log, nil)
      each_dir:free()
      each_log:free()
      assert.same({ dir, false, 2 }, seen.dir)
      assert.is_true(seen.is_space)
      assert.equal(logs.offsets(wanted[1].log).bytes, seen.t0)
      assert.is_true(seen.t0 > 1000)
      assert.equal(0, seen.t1)
      assert.is_true(C.log_manager_has_space(mgr, wanted[1].log))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("knows when space runs short, and asks again after a second at the latest", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      C.log_manager_set_reserve(mgr, 2LL ^ 62)
      assert.is_false(C.log_manager_has_space(mgr, wanted[1].log))
      C.log_manager_set_reserve(mgr, 1024)
      assert.is_true(C.log_manager_has_space(mgr, wanted[1].log))
      assert.equal(0, C.log_manager_stop(mgr))
    end)
  end)
end)
