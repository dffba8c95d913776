-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local fcntl = require "posix.fcntl"
local unistd = require "posix.unistd"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.manager"
local C = logs.C

local RECOVERY, START, HIGH = "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"
local MARKER = ".kafka_cleanshutdown"

describe("a log manager", function()
  local dir
  before_each(function() dir = unit.temp_dir() end)
  after_each(logs.collect)

  --- Stops, starts again with the same logs; returns manager and logs.
  local function restart(mgr, dirs, list)
    assert.equal(0, C.log_manager_stop(mgr))
    return logs.started(dirs, list)
  end

  describe("opening its directories", function()
    it("makes missing ones, with their parents", function()
      local mgr = assert(logs.new { dir .. "/a/b", dir .. "/c" })
      assert.is_true(C.dir_exists(dir .. "/a/b"))
      assert.is_true(C.dir_exists(dir .. "/c"))
      C.log_manager_abandon(mgr)
    end)

    it("refuses one that another broker uses, in one line with the folder", function()
      -- A lock as Java's FileChannel takes it, so as Kafka's.
      C.dir_make(dir .. "/x")
      local fd = assert(fcntl.open(dir .. "/x/.lock", fcntl.O_RDWR + fcntl.O_CREAT, 420))
      assert.equal(0, fcntl.fcntl(fd, fcntl.F_SETLK, { l_type = fcntl.F_WRLCK, l_whence = fcntl.SEEK_SET or 0, l_start = 0, l_len = 0 }))
      local mgr, code = logs.new { dir .. "/x" }
      assert.is_nil(mgr)
      assert.equal(C.ERR_BUSY, code)
      assert.equal(("data directory %s/x is in use by another broker, which holds %s/x/.lock"):format(dir, dir), logs.message())
      unistd.close(fd)
      mgr = assert(logs.new { dir .. "/x" })
      C.log_manager_abandon(mgr)
    end)

    it("refuses one inside another, and makes neither", function()
      for _, pair in ipairs { { dir .. "/a", dir .. "/a/x-0" }, { dir .. "/a//b", dir .. "/a/" } } do
        local mgr, code, message = logs.new(pair)
        assert.is_nil(mgr)
        assert.equal(C.ERR_CONFIG, code)
        assert.is_truthy(message:find("lies inside", 1, true), message)
        assert.is_nil(io.open(dir .. "/a"))
      end
      local mgr = assert(logs.new { dir .. "/a", dir .. "/ab" })
      C.log_manager_abandon(mgr)
    end)

    it("refuses one that is named twice, also by another path", function()
      local mgr, code, message = logs.new { dir, dir .. "/" }
      assert.is_nil(mgr)
      assert.equal(C.ERR_CONFIG, code)
      assert.is_truthy(message:find("same folder", 1, true))
      os.execute(("ln -s %s %s.link"):format(dir, dir))
      mgr, code = logs.new { dir, dir .. ".link" }
      os.remove(dir .. ".link")
      assert.is_nil(mgr)
      assert.equal(C.ERR_CONFIG, code)
    end)

    it("refuses a path that is a file", function()
      unit.write_file(dir .. "/file", "")
      local mgr, code, message = logs.new { dir .. "/file" }
      assert.is_nil(mgr)
      assert.is_true(code < 0)
      assert.is_truthy(message:find(dir .. "/file", 1, true), message)
    end)

    it("goes on without one that answers EIO", function()
      C.errinj_set(C.ERRINJ_DIR_MAKE, 2, 5)
      local mgr = logs.new { dir .. "/a", dir .. "/b" }
      C.errinj_set(C.ERRINJ_DIR_MAKE, 0, 0)
      assert(mgr, logs.message())
      assert.equal(0, C.log_manager_claim(mgr, 1, "c", "/m"))
      assert.is_truthy(unit.read_file(dir .. "/a/meta.properties"))
      assert.is_nil(unit.read_file(dir .. "/b/meta.properties"))
      local wanted = logs.wanted { { "new", 0 }, { "old", 0, is_new = false } }
      assert.equal(0, C.log_manager_start(mgr, wanted.array, 2, false))
      assert.equal(0, wanted[1].error)
      -- It may lie in the directory that is away: an empty one in its place would be a loss.
      assert.equal(C.ERR_STORAGE_OFFLINE, wanted[2].error)
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("refuses a partition that lies in two of them", function()
      for _, name in ipairs { "a", "b" } do os.execute(("mkdir -p %s/%s/t-3"):format(dir, name)) end
      local mgr, code, message = logs.new { dir .. "/a", dir .. "/b" }
      assert.is_nil(mgr)
      assert.equal(C.ERR_EXISTS, code)
      assert.is_truthy(message:find("t-3", 1, true))
      assert.is_truthy(message:find(dir .. "/a", 1, true))
      assert.is_truthy(message:find(dir .. "/b", 1, true))
    end)

    it("changes nothing in them before it is started", function()
      os.execute(("mkdir -p %s/t-0 %s/u-0.%s-delete; touch %s/%s"):format(dir, dir, ("0"):rep(32), dir, MARKER))
      local mgr = assert(logs.new { dir })
      C.log_manager_abandon(mgr)
      assert.same({ MARKER, ".lock", "t-0", "u-0." .. ("0"):rep(32) .. "-delete" }, logs.names(dir))
    end)
  end)

  describe("saying how its directories were left", function()
    local function was_clean(dirs)
      local mgr = assert(logs.new(dirs))
      local answer = C.log_manager_was_clean(mgr)
      C.log_manager_abandon(mgr)
      return answer
    end

    it("calls those clean that are new, or were closed", function()
      assert.is_true(was_clean { dir })
      assert.equal(0, C.log_manager_stop((logs.started({ dir }, { { "t", 0 } }))))
      assert.is_true(was_clean { dir })
      assert.is_true(was_clean { dir, unit.temp_dir() .. "/new" })
    end)

    it("calls all unclean when one of them has partitions and no marker", function()
      assert.equal(0, C.log_manager_stop((logs.started({ dir .. "/a", dir .. "/b" }, { { "t", 0 }, { "t", 1 } }))))
      os.remove(dir .. "/b/" .. MARKER)
      assert.is_false(was_clean { dir .. "/a", dir .. "/b" })
      assert.is_true(was_clean { dir .. "/a" })
    end)

    it("calls one unclean that is offline", function()
      C.errinj_set(C.ERRINJ_DIR_MAKE, 2, 5)
      local mgr = logs.new { dir .. "/a", dir .. "/b" }
      C.errinj_set(C.ERRINJ_DIR_MAKE, 0, 0)
      assert(mgr, logs.message())
      assert.is_false(C.log_manager_was_clean(mgr))
      C.log_manager_abandon(mgr)
    end)
  end)

  describe("finishing a deletion", function()
    it("renames what is left of a partition to -delete, and starts without it", function()
      assert.equal(0, C.log_manager_stop((logs.started({ dir }, { { "s", 0 }, { "t", 0 }, { "t", 1 } }))))
      local mgr = assert(logs.new { dir })
      assert.equal(0, C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb"))
      assert.equal(0, C.log_manager_delete_found(mgr, "t", 0, logs.id "t"))
      assert.equal(0, C.log_manager_delete_found(mgr, "t", 7, logs.id "t"))
      local wanted = logs.wanted { { "s", 0 }, { "t", 1 } }
      assert.equal(0, C.log_manager_start(mgr, wanted.array, 2, false))
      assert.is_false(C.dir_exists(dir .. "/t-0"))
      assert.is_truthy(logs.name_like(dir, "^t%-0%.%x+%-delete$"))
      assert.is_nil(logs.name_like(dir, "%-stray$"))
      assert.same({ 0, 0 }, { wanted[1].error, wanted[2].error })
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("makes place for another topic of that name, which inherits nothing", function()
      local mgr, list = logs.started({ dir }, { { "t", 0 } })
      logs.append(list[1].log)
      assert.equal(0, C.log_manager_stop(mgr))
      mgr = assert(logs.new { dir })
      assert.equal(0, C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb"))
      assert.equal(0, C.log_manager_delete_found(mgr, "t", 0, logs.id "t"))
      assert.equal(0, C.log_manager_start(mgr, nil, 0, false))
      local log = assert(logs.open(mgr, "t", 0, logs.id "u"))
      assert.equal(0, logs.offsets(log)["end"])
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("leaves a folder of another topic alone", function()
      assert.equal(0, C.log_manager_stop((logs.started({ dir }, { { "t", 0, logs.id "a" } }))))
      local mgr = assert(logs.new { dir })
      assert.equal(0, C.log_manager_delete_found(mgr, "t", 0, logs.id "b"))
      C.log_manager_abandon(mgr)
      assert.is_true(C.dir_exists(dir .. "/t-0"))
    end)
  end)

  describe("saying whose its directories are", function()
    local function identity(mgr)
      local out = ffi.new "struct log_identity"
      C.log_manager_identity(mgr, out)
      return out.node_id, ffi.string(out.cluster_id), out.metadata ~= nil and ffi.string(out.metadata) or nil, out.is_foreign
    end

    it("knows nothing of new ones", function()
      local mgr = assert(logs.new { dir })
      assert.same({ -1, "", nil, false }, { identity(mgr) })
      C.log_manager_abandon(mgr)
    end)

    it("takes them, and finds them its own at the next start", function()
      local mgr = assert(logs.new { dir .. "/a", dir .. "/b" })
      assert.equal(0, C.log_manager_claim(mgr, 7, "c7", "/m/luka.mdb"))
      C.log_manager_abandon(mgr)
      local a, b = unit.read_file(dir .. "/a/meta.properties"), unit.read_file(dir .. "/b/meta.properties")
      assert.equal(("%s/a\\n%s/b"):format(dir, dir), a:match("^version=1\nnode.id=7\ncluster.id=c7\ndirectory.id=[%w_-]+\n"
        .. "luka.metadata=/m/luka.mdb\nluka.directories=[%w_-]+,[%w_-]+\nluka.paths=(%S+)\n$"))
      assert.not_equal(a, b)
      mgr = assert(logs.new({ dir .. "/a", dir .. "/b" }, { node_id = 7, metadata = "/m/luka.mdb" }))
      assert.same({ 7, "c7", "/m/luka.mdb", false }, { identity(mgr) })
      assert.equal(0, C.log_manager_claim(mgr, 7, "c7", "/m/luka.mdb"))
      C.log_manager_abandon(mgr)
      assert.equal(a, unit.read_file(dir .. "/a/meta.properties"))
    end)

    it("knows those that Kafka wrote as foreign, and keeps their ids when it adopts them", function()
      os.execute(("mkdir -p %s/t-0"):format(dir))
      unit.write_file(dir .. "/meta.properties", "node.id=1\ndirectory.id=CnQGVsAts4a6d3yaNAz57w\nversion=1\ncluster.id=k1\n")
      local mgr = assert(logs.new { dir })
      assert.same({ 1, "k1", nil, true }, { identity(mgr) })
      assert.equal(0, C.log_manager_claim(mgr, 1, "k1", "/m"))
      C.log_manager_abandon(mgr)
      assert.equal("version=1\nnode.id=1\ncluster.id=k1\ndirectory.id=CnQGVsAts4a6d3yaNAz57w\nluka.metadata=/m\n",
        unit.read_file(dir .. "/meta.properties"))
    end)

    it("looks into the partitions of those that Kafka wrote, but not while one of them does not work", function()
      os.execute(("mkdir -p %s/a/t-0 %s/a/u-3 %s/b"):format(dir, dir, dir))
      unit.write_file(dir .. "/a/t-0/leader-epoch-checkpoint", "0\n1\n4 0\n")
      unit.write_file(dir .. "/a/t-0/00000000000000000000.log", "")
      local mgr = assert(logs.new { dir .. "/a", dir .. "/b" })
      assert.equal(0, C.log_manager_survey(mgr))
      local count = ffi.new "size_t[1]"
      local found = C.log_manager_found(mgr, count)
      assert.equal(2, tonumber(count[0]))
      assert.same({ "t", 0, true, 4, -1 }, { ffi.string(found[0].topic), found[0].partition, found[0].is_log,
        found[0].leader_epoch, tonumber(found[0].producer_id) })
      assert.same({ "u", 3, false }, { ffi.string(found[1].topic), found[1].partition, found[1].is_log })
      C.log_manager_abandon(mgr)
      C.errinj_set_once(C.ERRINJ_FILE_OPEN, 2, 5) -- meta.properties of the first
      mgr = assert(logs.new { dir .. "/a", dir .. "/b" })
      local out = ffi.new "struct log_identity"
      C.log_manager_identity(mgr, out)
      assert.equal(dir .. "/a", out.offline_dir ~= nil and ffi.string(out.offline_dir))
      assert.equal(C.ERR_IO, C.log_manager_survey(mgr))
      assert.truthy(logs.message():find(dir .. "/a does not work", 1, true))
      C.log_manager_abandon(mgr)
    end)

    for _, case in ipairs {
      { "another broker id", { node_id = 8 }, "broker id 7" },
      { "another metastore", { metadata = "/n/luka.mdb" }, "/m/luka.mdb" },
    } do
      it("refuses those of " .. case[1], function()
        local mgr = assert(logs.new { dir })
        assert.equal(0, C.log_manager_claim(mgr, 7, "c7", "/m/luka.mdb"))
        C.log_manager_abandon(mgr)
        local refused, code, message = logs.new({ dir }, case[2])
        assert.is_nil(refused)
        assert.equal(C.ERR_CONFIG, code)
        assert.is_truthy(message:find(case[3], 1, true), message)
        assert.is_truthy(message:find(dir .. "/meta.properties", 1, true), message)
      end)
    end

    it("refuses those of another cluster, and changes none of them", function()
      unit.write_file(dir .. "/meta.properties", "version=1\nnode.id=7\ncluster.id=c1\n")
      local mgr = assert(logs.new { unit.temp_dir() .. "/new", dir })
      assert.equal(C.ERR_CONFIG, C.log_manager_claim(mgr, 7, "c2", "/m"))
      assert.is_truthy(logs.message():find("cluster c1", 1, true))
      assert.is_truthy(logs.message():find("cluster c2", 1, true))
      C.log_manager_abandon(mgr)
      assert.equal("version=1\nnode.id=7\ncluster.id=c1\n", unit.read_file(dir .. "/meta.properties"))
      assert.is_nil(unit.read_file(dir .. "/new/meta.properties"))
    end)

    it("refuses those that do not belong together", function()
      for _, case in ipairs {
        { "node.id=1\ncluster.id=c\n", "node.id=2\ncluster.id=c\n" },
        { "node.id=1\ncluster.id=c\n", "node.id=1\ncluster.id=d\n" },
        { "directory.id=CnQGVsAts4a6d3yaNAz57w\n", "directory.id=CnQGVsAts4a6d3yaNAz57w\n" },
      } do
        os.execute(("mkdir -p %s/a %s/b"):format(dir, dir))
        unit.write_file(dir .. "/a/meta.properties", "version=1\n" .. case[1])
        unit.write_file(dir .. "/b/meta.properties", "version=1\n" .. case[2])
        local mgr, code, message = logs.new { dir .. "/a", dir .. "/b" }
        assert.is_nil(mgr)
        assert.equal(C.ERR_CONFIG, code)
        assert.is_truthy(message:find(dir .. "/a/meta.properties", 1, true), message)
        assert.is_truthy(message:find(dir .. "/b/meta.properties", 1, true), message)
      end
    end)
  end)

  describe("starting", function()
    it("lists the partitions that lie there, with their topic ids", function()
      local mgr = logs.started({ dir }, { { "b.c-d", 12, logs.id "b" }, { "a", 0, logs.id "a" } })
      assert.equal(0, C.log_manager_stop(mgr))
      os.execute(("mkdir -p %s/plain-0 %s/luka.mdb %s/t-0.%s-future"):format(dir, dir, dir, ("0"):rep(32)))
      mgr = assert(logs.new { dir })
      local count = ffi.new "size_t[1]"
      local found = C.log_manager_found(mgr, count)
      local out = {}
      for i = 0, tonumber(count[0]) - 1 do
        out[#out + 1] = ("%s %d %s"):format(ffi.string(found[i].topic), found[i].partition, unit.hex(found[i].topic_id.bytes, 16):sub(1, 4))
        assert.equal(dir, ffi.string(found[i].dir))
      end
      C.log_manager_abandon(mgr)
      assert.same({ "a 0 6161", "b.c-d 12 6262", "plain 0 0000" }, out)
    end)

    it("opens what is wanted and makes what is missing", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 }, { "t", 1 } })
      assert.equal(0, logs.append(wanted[1].log))
      assert.equal(1, logs.append(wanted[1].log))
      mgr, wanted = restart(mgr, { dir }, { { "t", 0, is_new = false }, { "t", 1, is_new = false }, { "u", 0 } })
      assert.equal(2, logs.offsets(wanted[1].log)["end"])
      assert.equal(0, logs.offsets(wanted[2].log)["end"])
      assert.equal(0, wanted[3].error)
      assert.equal("version: 0\ntopic_id: dHR0dHR0dHR0dHR0dHR0dA", unit.read_file(dir .. "/u-0/partition.metadata"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("removes the marker of a clean shutdown before it opens a log", function()
      local mgr = logs.started({ dir }, { { "t", 0 } })
      assert.equal(0, C.log_manager_stop(mgr))
      assert.is_truthy(unit.read_file(dir .. "/" .. MARKER))
      mgr = logs.started({ dir }, { { "t", 0 } })
      assert.is_nil(unit.read_file(dir .. "/" .. MARKER))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("spreads new logs over the directories, fewest first", function()
      local dirs = { dir .. "/a", dir .. "/b", dir .. "/c" }
      local list = {}
      for i = 0, 8 do list[#list + 1] = { "t", i } end
      local mgr = logs.started(dirs, list)
      for _, one in ipairs(dirs) do
        local count = 0
        for _, name in ipairs(logs.names(one)) do count = count + (name:match "^t%-%d$" and 1 or 0) end
        assert.equal(3, count)
      end
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("opens many logs on several threads", function()
      local list = {}
      for i = 0, 49 do list[#list + 1] = { "many", i } end
      local mgr, wanted = logs.started({ dir .. "/a", dir .. "/b" }, list, { recovery_threads = 4 })
      for i = 1, 50 do
        assert.equal(0, wanted[i].error)
        assert.equal(0, logs.append(wanted[i].log))
      end
      mgr, wanted = restart(mgr, { dir .. "/a", dir .. "/b" }, list)
      for i = 1, 50 do assert.equal(1, logs.offsets(wanted[i].log)["end"]) end
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("sets aside what nobody wants, and keeps its records", function()
      local mgr, wanted = logs.started({ dir }, { { "keep", 0 }, { "lost", 4 } })
      logs.append(wanted[2].log)
      mgr = restart(mgr, { dir }, { { "keep", 0 } })
      assert.is_false(C.dir_exists(dir .. "/lost-4"))
      local stray = assert(logs.name_like(dir, "^lost%-4%.%x+%-stray$"))
      assert.is_true(#unit.read_file(dir .. "/" .. stray .. "/00000000000000000000.log") > 100)
      -- And at the next start it is left alone.
      mgr = restart(mgr, { dir }, { { "keep", 0 } })
      assert.equal(stray, logs.name_like(dir, "stray$"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("sets aside a folder of another topic of the same name, and begins anew", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0, logs.id "a" } })
      logs.append(wanted[1].log)
      mgr, wanted = restart(mgr, { dir }, { { "t", 0, logs.id "b" } })
      assert.equal(0, wanted[1].error)
      assert.equal(0, logs.offsets(wanted[1].log)["end"])
      assert.is_truthy(logs.name_like(dir, "^t%-0%.%x+%-stray$"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("takes a folder without a topic id for the wanted topic", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      logs.append(wanted[1].log)
      assert.equal(0, C.log_manager_stop(mgr))
      os.remove(dir .. "/t-0/partition.metadata")
      mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      assert.equal(1, logs.offsets(wanted[1].log)["end"])
      assert.is_truthy(unit.read_file(dir .. "/t-0/partition.metadata"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("takes a folder for the wanted topic when its topic id cannot be read, or is all but the wanted one", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      logs.append(wanted[1].log)
      assert.equal(0, C.log_manager_stop(mgr))
      local path = dir .. "/t-0/partition.metadata"
      local right = unit.read_file(path)
      for _, text in ipairs { "nonsense", "", "version: 0\ntopic_id: !", (right:gsub("0", "1", 1)), (right:gsub("H", "h", 1)),
        (right:gsub("dHR0dA", "dHR0dQ", 1)) } do
        unit.write_file(path, text)
        mgr, wanted = logs.started({ dir }, { { "t", 0, is_new = false } })
        assert.equal(0, wanted[1].error)
        assert.equal(1, logs.offsets(wanted[1].log)["end"])
        assert.equal(right, unit.read_file(path))
        assert.equal(0, C.log_manager_stop(mgr))
      end
      -- One of three bytes more is another topic's.
      unit.write_file(path, (right:gsub("dHR0dA", "AAAAAA", 1)))
      mgr, wanted = logs.started({ dir }, { { "t", 0, is_new = false } })
      assert.equal(0, logs.offsets(wanted[1].log)["end"])
      assert.is_truthy(logs.name_like(dir, "^t%-0%.%x+%-stray$"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("does not let one log that does not open stop the others", function()
      local mgr = logs.started({ dir }, { { "bad", 0 }, { "good", 0 } })
      assert.equal(0, C.log_manager_stop(mgr))
      os.execute(("rm '%s/bad-0/leader-epoch-checkpoint'; mkdir '%s/bad-0/leader-epoch-checkpoint'"):format(dir, dir))
      local wanted
      mgr, wanted = logs.started({ dir }, { { "bad", 0 }, { "good", 0 } })
      assert.is_true(wanted[1].error < 0)
      assert.is_true(wanted[1].log == nil)
      assert.equal(0, wanted[2].error)
      -- What did not open must be looked at again: no marker.
      assert.equal(0, C.log_manager_stop(mgr))
      assert.is_nil(unit.read_file(dir .. "/" .. MARKER))
    end)

    it("gives the checkpointed high watermark, within the log's offsets", function()
      local mgr, wanted = logs.started({ dir }, { { "a", 0 }, { "b", 0 }, { "c", 0 } })
      for i = 1, 3 do for _ = 1, 5 do logs.append(wanted[i].log) end end
      assert.equal(0, C.log_manager_stop(mgr))
      unit.write_file(dir .. "/" .. HIGH, "0\n2\na 0 3\nb 0 99\n")
      mgr, wanted = logs.started({ dir }, { { "a", 0 }, { "b", 0 }, { "c", 0 } })
      local high = {}
      for i = 1, 3 do high[i] = tonumber(wanted[i].high_watermark) end
      assert.same({ 3, 5, 0 }, high)
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("leaves a folder of another topic alone when it cannot set it aside", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0, logs.id "a" } })
      for _ = 1, 3 do logs.append(wanted[1].log) end
      assert.equal(0, C.log_manager_stop(mgr))
      local path = dir .. "/t-0/00000000000000000000.log"
      local bytes = unit.read_file(path)
      mgr = assert(logs.new { dir })
      assert.equal(0, C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb"))
      wanted = logs.wanted { { "t", 0, logs.id "b", is_new = false } }
      C.errinj_set(C.ERRINJ_DIR_RENAME, 1, 16)
      assert.equal(0, C.log_manager_start(mgr, wanted.array, 1, false))
      C.errinj_set(C.ERRINJ_DIR_RENAME, 0, 0)
      assert.equal(C.ERR_EXISTS, wanted[1].error)
      assert.is_true(wanted[1].log == nil)
      assert.equal(bytes, unit.read_file(path))
      -- A later try sets it aside and begins anew.
      assert.equal(0, logs.offsets(assert(logs.open(mgr, "t", 0, logs.id "b")))["end"])
      local stray = assert(logs.name_like(dir, "^t%-0%.%x+%-stray$"))
      assert.equal(bytes, unit.read_file(dir .. "/" .. stray .. "/00000000000000000000.log"))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("gives every log the error of a marker that cannot be removed, and changes no directory at its end", function()
      local dirs = { dir .. "/a", dir .. "/b" }
      local mgr, wanted = logs.started(dirs, { { "t", 0 }, { "t", 1 } })
      for i = 1, 2 do for _ = 1, 3 do logs.append(wanted[i].log) end end
      assert.equal(0, C.log_manager_stop(mgr))
      os.remove(dirs[1] .. "/" .. MARKER)
      mgr = assert(logs.new(dirs))
      assert.equal(0, C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb"))
      wanted = logs.wanted { { "t", 0, is_new = false }, { "t", 1, is_new = false } }
      -- EPERM: the disk works, so the directory is not offline.
      C.errinj_set(C.ERRINJ_DIR_REMOVE_FILE, 2, 1)
      local code = C.log_manager_start(mgr, wanted.array, 2, false)
      C.errinj_set(C.ERRINJ_DIR_REMOVE_FILE, 0, 0)
      assert.equal(C.ERR_PERMISSION, code)
      assert.is_truthy(logs.message():find(dirs[2] .. "/" .. MARKER, 1, true), logs.message())
      for i = 1, 2 do assert.same({ code, true }, { wanted[i].error, wanted[i].log == nil }) end
      assert.equal(0, C.log_manager_stop(mgr))
      assert.is_nil(unit.read_file(dirs[1] .. "/" .. MARKER))
      assert.is_truthy(unit.read_file(dirs[2] .. "/" .. MARKER))
      assert.same({ "t 0 3" }, logs.checkpoint(dirs[1], RECOVERY))
      assert.same({ "t 1 3" }, logs.checkpoint(dirs[2], RECOVERY))
    end)

    it("lowers the recovery point on disk of a log that was cut below it, before the log is used", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      local sizes = {}
      for i = 1, 5 do
        logs.append(wanted[1].log)
        sizes[i] = logs.offsets(wanted[1].log).bytes
      end
      assert.equal(0, C.log_manager_stop(mgr))
      assert.same({ "t 0 5" }, logs.checkpoint(dir, RECOVERY))
      os.remove(dir .. "/" .. MARKER)
      os.execute(("truncate -s %d %s/t-0/00000000000000000000.log"):format(sizes[2], dir))
      mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      assert.equal(2, logs.offsets(wanted[1].log)["end"])
      assert.same({ "t 0 2" }, logs.checkpoint(dir, RECOVERY))
      assert.equal(0, C.log_manager_stop(mgr))
    end)

    it("names the partitions that should have a folder and have none, ten at most", function()
      for _, case in ipairs { { 0, 1 }, { 10, 2 }, { 12, 3 } } do
        local list = { { "new", 0 } }
        for i = 0, case[1] - 1 do list[#list + 1] = { "t", i, is_new = false } end
        local mgr
        local lines = logs.lines_of(function() mgr = logs.started({ dir .. "/" .. case[2] }, list) end)
        assert.equal(0, C.log_manager_stop(mgr))
        local seen = {}
        for _, line in ipairs(lines) do
          if line:match "^warn" then seen[#seen + 1] = line:match "^warn +(.*)$" end
        end
        local want = {}
        for i = 0, math.min(case[1], 10) - 1 do
          want[#want + 1] = ("t-%d has no folder in any data directory and starts empty: its data directory may be missing"):format(i)
        end
        if case[1] > 10 then want[#want + 1] = "2 more partitions have no folder in any data directory and start empty" end
        assert.same(want, seen)
      end
    end)

    it("starts with checkpoints that are damaged", function()
      local mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      for _ = 1, 5 do logs.append(wanted[1].log) end
      assert.equal(0, C.log_manager_stop(mgr))
      for _, name in ipairs { RECOVERY, START, HIGH } do unit.write_file(dir .. "/" .. name, ("\0"):rep(20)) end
      mgr, wanted = logs.started({ dir }, { { "t", 0 } })
      assert.same({ start = 0, ["end"] = 5 }, { start = logs.offsets(wanted[1].log).start, ["end"] = logs.offsets(wanted[1].log)["end"] })
      assert.equal(0, C.log_manager_stop(mgr))
    end)
  end)

end)
