-- SPDX-License-Identifier: Apache-2.0
-- Logs that move between the directories of a manager, and what a start does with what a crash left of a move.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.manager"
unit.load("log/log_move.h")

local C = logs.C
local EIO, ENOSPC = 5, 28
local START = "log-start-offset-checkpoint"
local OFFLINE, NOT_FOUND, NO_DIR

local function run(command) assert(os.execute(command) == 0, command) end

--- A manager with loop, pool and hooks that has opened `list`, and does not run yet.
local function begun(dirs, list, over)
  local config = logs.config(dirs, over)
  local out = ffi.new "struct log_manager_driver *[1]"
  assert(C.log_manager_driver_new(config, 2, out) == 0, logs.message())
  local mgr = C.log_manager_driver_manager(out[0])
  assert(C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb") == 0, logs.message())
  local wanted = logs.wanted(list)
  assert(C.log_manager_start(mgr, wanted.array, wanted.count, false) == 0, logs.message())
  return out[0], mgr, wanted
end

--- What DescribeLogDirs would say: { [dir] = { "t-0 bytes lag future" ... } }.
local function usage(mgr)
  local out, current = {}, nil
  local each_dir = ffi.cast("void (*)(void *, const struct log_dir_usage *)", function(_, dir)
    current = {}
    out[ffi.string(dir.path)] = dir.is_offline and "offline" or current
  end)
  local each_log = ffi.cast("void (*)(void *, const struct log_usage *)", function(_, log)
    current[#current + 1] = ("%s-%d %d %d%s"):format(ffi.string(log.topic), log.partition, tonumber(log.bytes), tonumber(log.lag),
      log.is_future and " future" or "")
  end)
  C.log_manager_usage(mgr, each_dir, each_log, nil)
  each_dir:free()
  each_log:free()
  return out
end

local function error_of(code) return ffi.string(C.error_name(code)) end

describe("a manager whose logs move", function()
  local root, a, b

  --- The directory in which the first log was made, and the other one.
  local function homes(wanted)
    local from = ffi.string(C.log_dir(wanted[1].log)):match "^(.*)/"
    return from, from == a and b or a
  end

  local function lies_in(log, dir) return ffi.string(C.log_dir(log)) == dir .. "/t-0" end

  before_each(function()
    root = unit.temp_dir()
    a, b = root .. "/a", root .. "/b"
    OFFLINE, NOT_FOUND, NO_DIR = "ERR_STORAGE_OFFLINE", "ERR_NOT_FOUND", "ERR_NO_LOG_DIR"
  end)
  after_each(function()
    for point = 0, C.ERRINJ_COUNT - 1 do C.errinj_set(point, 0, 0) end
    logs.collect()
  end)

  it("moves a log, and removes the old folder", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    for _ = 1, 5 do logs.append(wanted[1].log, 100) end
    local bytes = logs.offsets(wanted[1].log).bytes
    local from, to = homes(wanted)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    assert.same({ [from] = { ("t-0 %d 0"):format(bytes) }, [to] = { "t-0 0 5 future" } }, usage(mgr))
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function()
      return lies_in(wanted[1].log, to) and not logs.name_like(from, "^t%-0") and not logs.name_like(to .. "/t-0", "^luka%.moved$")
    end))
    assert.same({ [from] = {}, [to] = { ("t-0 %d 0"):format(bytes) } }, usage(mgr))
    assert.equal(5, logs.append(wanted[1].log))
    assert.equal(0, C.log_manager_driver_stop(driver))
    mgr, wanted = logs.started({ a, b }, { { "t", 0 } })
    assert.is_true(lies_in(wanted[1].log, to))
    assert.equal(6, logs.offsets(wanted[1].log)["end"])
    assert.equal(0, C.log_manager_stop(mgr))
  end)

  it("has the start offset in the new directory's checkpoint before the old folder goes", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    for _ = 1, 5 do logs.append(wanted[1].log, 100) end
    assert.equal(0, C.log_set_start_offset(wanted[1].log, 3))
    local from, to = homes(wanted)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return not logs.name_like(from, "^t%-0") end))
    assert.same({ "t 0 3" }, logs.checkpoint(to, START))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("tells the new directory that a log may have holes", function()
    assert.equal(0, C.log_manager_stop((logs.started({ a, b }, { { "t", 0 } }))))
    for _, dir in ipairs { a, b } do unit.write_file(dir .. "/cleaner-offset-checkpoint", "0\n2\nt 0 0\nu 3 4\n") end
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    local from, to = homes(wanted)
    unit.write_file(to .. "/cleaner-offset-checkpoint", "0\n1\nu 3 4\n")
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return not logs.name_like(from, "^t%-0") end))
    assert.same({ "t 0 0" }, logs.checkpoint(to, "cleaner-offset-checkpoint"))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("does nothing for a log that lies there, and gives up a move for its sake", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    local from, to = homes(wanted)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, from))
    assert.same({ [from] = { "t-0 0 0" }, [to] = {} }, usage(mgr))
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    assert.same({ [from] = { "t-0 0 0" }, [to] = { "t-0 0 0 future" } }, usage(mgr))
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, from))
    assert.same({ [from] = { "t-0 0 0" }, [to] = {} }, usage(mgr))
    C.log_manager_driver_run(driver)
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.is_truthy(logs.name_like(from, "^t%-0$"))
    assert.is_nil(logs.name_like(to, "^t%-0"))
  end)

  it("moves to the directory that was named last", function()
    local c = root .. "/c"
    local driver, mgr, wanted = begun({ a, b, c }, { { "t", 0 } })
    local from = homes(wanted)
    local others = {}
    for _, dir in ipairs { a, b, c } do
      if dir ~= from then others[#others + 1] = dir end
    end
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, others[1]))
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, others[2]))
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return lies_in(wanted[1].log, others[2]) and not logs.name_like(from, "^t%-0") end))
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.is_nil(logs.name_like(others[1], "^t%-0"))
  end)

  it("knows neither other paths nor logs that are not there", function()
    local driver, mgr = begun({ a, b }, { { "t", 0 } })
    assert.equal(NO_DIR, error_of(C.log_manager_move_log(mgr, "t", 0, root)))
    assert.equal(NO_DIR, error_of(C.log_manager_move_log(mgr, "no", 0, a .. "/")))
    assert.equal(NOT_FOUND, error_of(C.log_manager_move_log(mgr, "t", 1, a)))
    assert.equal(NOT_FOUND, error_of(C.log_manager_move_log(mgr, "no", 0, a)))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("makes a log where it was wanted before it was there, the first time", function()
    local driver, mgr = begun({ a, b }, { { "t", 0 } })
    for _, dir in ipairs { a, b } do
      for partition = 0, 2 do C.log_manager_move_log(mgr, "new" .. dir:sub(-1), partition, dir) end
      for partition = 0, 2 do
        local log = assert(logs.open(mgr, "new" .. dir:sub(-1), partition))
        assert.equal(dir, ffi.string(C.log_dir(log)):match "^(.*)/")
      end
    end
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("remembers a thousand wishes, and forgets the oldest for one more", function()
    local driver, mgr = begun({ a, b }, {})
    for partition = 0, 1000 do C.log_manager_move_log(mgr, "many", partition, b) end
    -- The least loaded is a, the first one, for the forgotten one; the second is wanted in b.
    assert.equal(a .. "/many-0", ffi.string(C.log_dir((assert(logs.open(mgr, "many", 0))))))
    for partition = 1, 3 do
      assert.equal(("%s/many-%d"):format(b, partition), ffi.string(C.log_dir((assert(logs.open(mgr, "many", partition))))))
    end
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("ends the move of a log that is deleted", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    local _, to = homes(wanted)
    for _ = 1, 5 do logs.append(wanted[1].log, 100) end
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    assert.equal(0, C.log_manager_delete_log(mgr, wanted[1].log))
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return not logs.name_like(a, "^t%-0") and not logs.name_like(b, "^t%-0") end))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("ends the move of a log whose partition is gone when it is to switch, and removes the copy", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    local from, to = homes(wanted)
    C.log_manager_driver_set_gone(driver, true)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return #usage(mgr)[to] == 0 end))
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.is_truthy(logs.name_like(from, "^t%-0$"))
    assert.is_nil(logs.name_like(to, "future"))
  end)

  it("takes the new directory offline when it cannot be written, and the log goes on in the old one", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    for _ = 1, 5 do logs.append(wanted[1].log, 100) end
    local from, to = homes(wanted)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    C.errinj_set(C.ERRINJ_FILE_COPY, 1, EIO)
    C.errinj_set_once(C.ERRINJ_FILE_WRITE, 2, EIO) -- after partition.metadata
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return usage(mgr)[to] == "offline" end))
    assert.equal(1, #usage(mgr)[from])
    assert.equal(5, logs.append(wanted[1].log))
    assert.equal(OFFLINE, error_of(C.log_manager_move_log(mgr, "t", 0, to)))
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.is_truthy(logs.name_like(to, "^t%-0%.%x+%-future$"))
    -- After the next start it works again: the move goes on.
    driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    assert.is_true(lies_in(wanted[1].log, from))
    assert.same({ "t-0 0 6 future" }, usage(mgr)[to])
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return lies_in(wanted[1].log, to) and not logs.name_like(from, "^t%-0") end))
    assert.is_truthy(logs.wait(function() return not logs.name_like(to, "future") end))
    assert.equal(6, logs.append(wanted[1].log))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("takes the old directory offline when it cannot be read, and keeps the copy for the next start", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    for _ = 1, 5 do logs.append(wanted[1].log, 100) end
    local from, to = homes(wanted)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    C.errinj_set(C.ERRINJ_FILE_COPY, 1, EIO)
    C.errinj_set_once(C.ERRINJ_FILE_READ, 1, EIO)
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return usage(mgr)[from] == "offline" end))
    assert.equal(OFFLINE, error_of(C.log_manager_move_log(mgr, "t", 0, to)))
    assert.same({}, usage(mgr)[to])
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.is_truthy(logs.name_like(to, "^t%-0%.%x+%-future$"))
  end)

  it("waits for space in the new directory", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    for _ = 1, 5 do logs.append(wanted[1].log, 100) end
    local from, to = homes(wanted)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    C.errinj_set(C.ERRINJ_FILE_COPY, 1, EIO)
    C.errinj_set_once(C.ERRINJ_FILE_WRITE, 2, ENOSPC)
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return lies_in(wanted[1].log, to) and not logs.name_like(from, "^t%-0") end))
    assert.equal(5, logs.append(wanted[1].log))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("gives up the old folder later when that cannot be done at once, whatever cannot be renamed", function()
    for nth = 8, 14 do -- the last of the copy, the switch, and what comes after it
      local dirs = { root .. "/" .. nth .. "a", root .. "/" .. nth .. "b" }
      local driver, mgr, wanted = begun(dirs, { { "t", 0 } })
      for _ = 1, 5 do logs.append(wanted[1].log, 100) end
      local from = ffi.string(C.log_dir(wanted[1].log)):match "^(.*)/"
      local to = from == dirs[1] and dirs[2] or dirs[1]
      assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
      C.errinj_set_once(C.ERRINJ_DIR_RENAME, nth, ENOSPC)
      C.log_manager_driver_run(driver)
      assert.is_truthy(logs.wait(function()
        return lies_in(wanted[1].log, to) and not logs.name_like(from, "^t%-0") and not logs.name_like(to .. "/t-0", "^luka%.moved$")
      end))
      C.errinj_set(C.ERRINJ_DIR_RENAME, 0, 0)
      assert.equal(5, logs.append(wanted[1].log))
      assert.equal(0, C.log_manager_driver_stop(driver))
    end
  end)

  it("removes the old folder with the log when that could not be done before", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    for _ = 1, 5 do logs.append(wanted[1].log, 100) end
    local from, to = homes(wanted)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    C.errinj_set(C.ERRINJ_DIR_RENAME, 10, ENOSPC) -- all that come after the switch
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return lies_in(wanted[1].log, to) end))
    assert.is_truthy(logs.name_like(from, "^t%-0$"))
    C.errinj_set(C.ERRINJ_DIR_RENAME, 0, 0)
    assert.equal(0, C.log_manager_delete_log(mgr, wanted[1].log))
    assert.is_nil(logs.name_like(from, "^t%-0$"))
    assert.is_nil(logs.name_like(to, "^t%-0$"))
    assert.is_truthy(logs.open(mgr, "t", 0, logs.id "u"))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("settles a switched log at the stop, though its old folder could not be given up before", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    local from, to = homes(wanted)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    C.errinj_set(C.ERRINJ_DIR_RENAME, 10, ENOSPC)
    C.log_manager_driver_run(driver)
    assert.is_truthy(logs.wait(function() return lies_in(wanted[1].log, to) end))
    C.errinj_set(C.ERRINJ_DIR_RENAME, 0, 0)
    assert.equal(0, C.log_manager_driver_stop(driver))
    assert.is_nil(logs.name_like(from, "^t%-0$"))
    assert.is_truthy(logs.name_like(to, "^t%-0$"))
  end)

  it("writes its offsets to both directories as long as both have a folder", function()
    local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
    for _ = 1, 5 do logs.append(wanted[1].log, 100) end
    local from, to = homes(wanted)
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, to))
    assert.equal(0, C.log_set_start_offset(wanted[1].log, 3))
    C.log_manager_write_start_offsets(mgr)
    assert.same({ "t 0 3" }, logs.checkpoint(from, START))
    assert.same({ "t 0 3" }, logs.checkpoint(to, START))
    assert.equal(0, C.log_manager_driver_stop(driver))
  end)

  it("lies in one place, with all its records, however often somebody changes his mind", function()
    local dirs = { a, b, root .. "/c" }
    local driver, mgr, wanted = begun(dirs, { { "t", 0 } })
    C.log_manager_driver_run(driver)
    math.randomseed(7)
    for i = 1, 150 do
      assert.equal(0, C.log_manager_move_log(mgr, "t", 0, dirs[math.random(3)]))
      ffi.C.usleep(math.random(0, i % 2 == 0 and 12000 or 2000))
    end
    assert.equal(0, C.log_manager_move_log(mgr, "t", 0, dirs[3]))
    assert.is_truthy(logs.wait(function()
      return lies_in(wanted[1].log, dirs[3]) and not logs.name_like(a, "^t%-0") and not logs.name_like(b, "^t%-0") and
        not logs.name_like(dirs[3], "^t%-0%.") and not logs.name_like(dirs[3] .. "/t-0", "^luka%.moved$")
    end))
    assert.equal(0, C.log_manager_driver_stop(driver))
    mgr, wanted = logs.started(dirs, { { "t", 0 } })
    assert.is_true(lies_in(wanted[1].log, dirs[3]))
    assert.equal(0, C.log_manager_stop(mgr))
  end)

  describe("starting after a crash", function()
    --- A stopped manager's directories with five records in t-0; where it lies, and the other directory.
    local function stopped(config)
      local mgr, wanted = logs.started({ a, b }, { { "t", 0, config = config } })
      for _ = 1, 5 do logs.append(wanted[1].log, 100) end
      local from, to = homes(wanted)
      assert.equal(0, C.log_manager_stop(mgr))
      return from, to
    end

    it("makes a copy that was not finished anew, whatever is in it", function()
      local from, to = stopped()
      local future = to .. "/t-0.0123456789abcdef0123456789abcdef-future"
      run(("cp -r %s/t-0 %s && head -c 250 /dev/urandom > %s/00000000000000000000.log"):format(from, future, future))
      local driver, mgr, wanted = begun({ a, b }, { { "t", 0 } })
      assert.same({ "t-0 0 5 future" }, usage(mgr)[to])
      C.log_manager_driver_run(driver)
      assert.is_truthy(logs.wait(function() return lies_in(wanted[1].log, to) and not logs.name_like(from, "^t%-0") end))
      assert.is_truthy(logs.wait(function() return not logs.name_like(to, "future") end))
      assert.equal(5, logs.append(wanted[1].log))
      assert.equal(0, C.log_manager_driver_stop(driver))
    end)

    it("leaves the copy of a log alone that nobody wants, or that is of another topic", function()
      local from, to = stopped()
      run(("cp -r %s/t-0 %s/gone-0.0123456789abcdef0123456789abcdef-future"):format(from, to))
      run(("cp -r %s/t-0 %s/u-0.0123456789abcdef0123456789abcdef-future"):format(from, to))
      local driver = begun({ a, b }, { { "t", 0 }, { "u", 0, logs.id "u" } })
      C.log_manager_driver_run(driver)
      assert.equal(0, C.log_manager_driver_stop(driver))
      assert.is_truthy(logs.name_like(to, "^gone%-0%..*future$"))
      assert.is_truthy(logs.name_like(to, "^u%-0%..*future$"))
    end)

    it("removes the copy of a log whose deletion was cut short", function()
      local from, to = stopped()
      run(("cp -r %s/t-0 %s/t-0.0123456789abcdef0123456789abcdef-future"):format(from, to))
      local config = logs.config { a, b }
      local out = ffi.new "struct log_manager_driver *[1]"
      assert(C.log_manager_driver_new(config, 2, out) == 0, logs.message())
      local mgr = C.log_manager_driver_manager(out[0])
      assert.equal(0, C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb"))
      assert.equal(0, C.log_manager_delete_found(mgr, "t", 0, logs.id "t"))
      local wanted = logs.wanted {}
      assert.equal(0, C.log_manager_start(mgr, wanted.array, 0, false))
      C.log_manager_driver_run(out[0])
      assert.is_truthy(logs.wait(function() return not logs.name_like(a, "^t%-0") and not logs.name_like(b, "^t%-0") end))
      assert.equal(0, C.log_manager_driver_stop(out[0]))
    end)

    --- As a crash between the switch and the end of a move leaves it: the marked copy has records that the old one lacks.
    local function switched()
      local from, to = stopped()
      run(("mv %s/t-0 %s/t-0 && cp -r %s/t-0 %s/t-0"):format(from, to, to, from))
      local mgr, wanted = logs.started({ to }, { { "t", 0 } })
      logs.append(wanted[1].log, 100)
      assert.equal(0, C.log_manager_stop(mgr))
      return from, to
    end

    it("takes the marked one of two folders, and removes the other", function()
      local from, to = switched()
      unit.write_file(to .. "/t-0/luka.moved", "1\n")
      local driver, _, wanted = begun({ a, b }, { { "t", 0 } })
      assert.is_true(lies_in(wanted[1].log, to))
      assert.equal(6, logs.offsets(wanted[1].log)["end"])
      assert.is_nil(logs.name_like(from, "^t%-0$"))
      assert.is_nil(logs.name_like(to .. "/t-0", "luka"))
      C.log_manager_driver_run(driver)
      assert.is_truthy(logs.wait(function() return not logs.name_like(from, "^t%-0") end))
      assert.equal(0, C.log_manager_driver_stop(driver))
    end)

    it("takes the one with the highest mark of three folders, and removes the others", function()
      local from, to = switched()
      local c = root .. "/c"
      run(("mv %s/t-0 %s/old"):format(from, root))
      assert.equal(0, C.log_manager_stop((logs.started({ a, b, c }, {}))))
      run(("mv %s/%s %s/t-0"):format(to, logs.name_like(to, "%-stray$"), c))
      run(("cp -r %s/old %s/t-0 && mv %s/old %s/t-0"):format(root, from, root, to))
      unit.write_file(to .. "/t-0/luka.moved", "1\n")
      unit.write_file(c .. "/t-0/luka.moved", "2\n")
      local mgr, wanted = logs.started({ a, b, c }, { { "t", 0 } })
      assert.is_true(lies_in(wanted[1].log, c))
      assert.equal(6, logs.offsets(wanted[1].log)["end"])
      assert.is_nil(logs.name_like(a, "^t%-0$"))
      assert.is_nil(logs.name_like(b, "^t%-0$"))
      assert.is_nil(logs.name_like(c .. "/t-0", "luka"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("keeps the mark when an older folder cannot be given up", function()
      local from, to = switched()
      unit.write_file(to .. "/t-0/luka.moved", "1\n")
      local mgr = assert(logs.new { a, b })
      assert.equal(0, C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb"))
      C.errinj_set_once(C.ERRINJ_DIR_RENAME, 1, ENOSPC)
      local wanted = logs.wanted { { "t", 0 } }
      assert.equal(0, C.log_manager_start(mgr, wanted.array, wanted.count, false))
      assert.is_true(lies_in(wanted[1].log, to))
      assert.is_truthy(logs.name_like(from, "^t%-0$"))
      assert.is_truthy(logs.name_like(to .. "/t-0", "luka"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("takes the larger start offset of the two", function()
      local from, to = switched()
      unit.write_file(to .. "/t-0/luka.moved", "1\n")
      unit.write_file(from .. "/" .. START, "0\n1\nt 0 2\n")
      local driver, _, wanted = begun({ a, b }, { { "t", 0 } })
      assert.equal(2, logs.offsets(wanted[1].log).start)
      assert.equal(0, C.log_manager_driver_stop(driver))
      assert.same({ "t 0 2" }, logs.checkpoint(to, START))
    end)

    it("does not decide between two folders that are both marked, or none, or of two topics", function()
      local from, to = switched()
      for _, case in ipairs { { false, false }, { true, true } } do
        for i, dir in ipairs { from, to } do
          os.remove(dir .. "/t-0/luka.moved")
          if case[i] then unit.write_file(dir .. "/t-0/luka.moved", "1\n") end
        end
        local mgr, code, message = logs.new { a, b }
        assert.is_nil(mgr)
        assert.equal("ERR_EXISTS", error_of(code))
        assert.truthy(message:match "lies in two data directories")
      end
      os.remove(from .. "/t-0/luka.moved")
      unit.write_file(from .. "/t-0/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
      assert.is_nil((logs.new { a, b }))
    end)
  end)
end)
