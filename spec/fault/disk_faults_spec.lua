-- SPDX-License-Identifier: Apache-2.0
-- A disk that fails at one call of a broker's life, at every call in turn: no acknowledged record is lost, none that was
-- refused appears, nothing crashes or hangs, and a start without faults finds all in order.
--
-- By default a part of the calls, spread over the run; FAULTS=all does every one of them (minutes).
local brokers = require "spec.support.broker"
local faults = require "spec.support.faults"
local disk_run = require "spec.support.disk_run"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local batch = records.batch
local KAFKA_STORAGE_ERROR = 56

local IS_WHOLE = os.getenv "FAULTS" == "all"
local ONLY = os.getenv "FAULTS_ONLY" -- "kind" or "kind nth", for looking at one

-- What can go wrong with a call; `times` -1: with all that follow as well. Few: how many of them are tried by default.
local FAULTS = {
  { kind = "open", err = "EIO" },
  { kind = "open", err = "EMFILE" },
  { kind = "open", err = "ENOSPC", times = -1 },
  { kind = "read", err = "EIO" },
  { kind = "read", short = true },
  { kind = "write", err = "EIO" },
  { kind = "write", err = "EIO", short = true, times = 2 },
  { kind = "write", err = "ENOSPC" },
  { kind = "write", err = "ENOSPC", times = -1 },
  { kind = "write", err = "ENOSPC", short = true, times = -1 },
  { kind = "write", short = true },
  { kind = "sync", err = "EIO" },
  { kind = "sync", err = "EIO", times = -1 },
  { kind = "sync", err = "ENOSPC" },
  { kind = "truncate", err = "EIO" },
  { kind = "rename", err = "EIO" },
  { kind = "rename", err = "ENOSPC", times = -1 },
  { kind = "mkdir", err = "EIO" },
  { kind = "mkdir", err = "ENOSPC", times = -1 },
  { kind = "unlink", err = "EIO" },
  { kind = "list", err = "EIO" },
  { kind = "send", err = "EIO" },
  { kind = "send", short = true },
}

local function name_of(fault)
  return ("%s of %s%s"):format(fault.short and (fault.err and "half a " .. fault.kind .. ", then " .. fault.err or "half a " .. fault.kind)
    or fault.err, fault.kind, fault.times == -1 and ", and of all after it" or "")
end

--- Counts the calls of a life without faults.
local counts
local function count_calls()
  if counts then return counts end
  local data = brokers.temp_dir(true) .. "/data"
  local disk = faults.new(data)
  local run = disk_run.new(data, disk)
  assert.equal(0, run:live())
  assert.same({}, run.notes)
  counts = disk:calls()
  run:verify()
  return counts
end

--- One life with a fault, and what comes after it. Returns whether the fault came to pass.
local function try(fault, nth)
  local data = brokers.temp_dir(true) .. "/data"
  local disk = faults.new(data)
  local run = disk_run.new(data, disk)
  disk:arm { kind = fault.kind, nth = nth, err = fault.err, times = fault.times, short = fault.short }
  local ok, err = pcall(run.live, run, fault.err == "ENOSPC" and fault.times == -1)
  local acted, path = disk:acted()
  local log = (run.log or "") .. "(the last process:)\n" .. run.broker:log()
  if ok and fault.err == "EIO" and acted > 0 and not (log:find " warn  " or log:find " error " or log:find "luka: ") then
    ok, err = false, "nobody heard of it"
  end
  if ok then ok, err = pcall(run.verify, run) end
  if not ok then
    error(("%s, call %d (%s): %s\nnotes: %s\nthe log with the fault:\n%s"):format(name_of(fault), nth, path:sub(#data + 2),
      tostring(type(err) == "table" and (err.message or err[1]) or err), table.concat(run.notes, "\n  "), log), 0)
  end
  os.execute(("rm -rf '%s'"):format(data))
  return acted > 0
end

describe("A disk that fails at one call of a broker's life", function()
  it("is none when no call fails", function()
    local calls = count_calls()
    for _, kind in ipairs { "open", "read", "write", "sync", "truncate", "rename", "mkdir", "unlink", "list", "send" } do
      assert.is_true(calls[kind] > 0, kind)
    end
    if IS_WHOLE then
      for kind, count in pairs(calls) do print(("%d calls of %s"):format(count, kind)) end
    end
  end)

  describe("in a broker's segment", function()
    local disk, broker, client, topic

    before_each(function()
      local data = brokers.temp_dir(true) .. "/data"
      disk = faults.new(data)
      broker = brokers.start { data = data, env = disk.env, set = { "workers=1", "log_flush_offset_checkpoint_interval_ms=20" } }
      client = broker:connect()
      topic = requests.create(client, "t")
      assert.equal(0, requests.append(client, topic, batch { records = { "before" } }))
    end)

    local function produce() return requests.produce(client, topic, batch { records = { "after" } }).error_code end

    --- How often the log says it.
    local function count(text) return select(2, broker:log():gsub(text:gsub("%p", "%%%0"), "")) end

    --- The directory is offline: nothing is served from it, which is said once; a new start finds what was acknowledged.
    local function assert_offline(values)
      requests.wait_until("the directory is offline", function() return count "is offline until the next start" > 0 end)
      assert.equal(KAFKA_STORAGE_ERROR, produce())
      assert.equal(KAFKA_STORAGE_ERROR, requests.fetch(client, topic).error_code)
      disk:disarm()
      assert.equal(KAFKA_STORAGE_ERROR, produce())
      assert.equal(1, count "is offline until the next start")
      client:close()
      broker:stop()
      broker = broker:restart()
      client = broker:connect()
      assert.same(values, records.values(requests.fetch_to_end(client, topic, 0)))
      assert.equal(#values, requests.append(client, topic, batch()))
      client:close()
      assert.equal(0, broker:stop())
    end

    it("takes the directory offline at an input or output error of a write", function()
      disk:arm { kind = "write", err = "EIO", suffix = ".log" }
      assert.equal(KAFKA_STORAGE_ERROR, produce())
      assert_offline { "before" }
    end)

    it("takes the directory offline when half a batch was written before the error", function()
      disk:arm { kind = "write", err = "EIO", short = true, times = 2, suffix = ".log" }
      assert.equal(KAFKA_STORAGE_ERROR, produce())
      assert_offline { "before" }
    end)

    it("takes the directory offline when a sync has failed, which is not tried again", function()
      disk:arm { kind = "sync", err = "EIO", suffix = ".log" }
      assert_offline { "before" }
    end)

    it("takes the directory offline at a file system that is read-only", function()
      disk:arm { kind = "write", err = "EROFS", times = -1, suffix = ".log" }
      assert.equal(KAFKA_STORAGE_ERROR, produce())
      assert_offline { "before" }
    end)

    it("refuses a write for which there is no room, and takes the next one", function()
      for _, fault in ipairs { { err = "ENOSPC" }, { err = "EDQUOT" }, { err = "ENOSPC", short = true, times = 2 } } do
        local at = requests.end_offset(client, topic)
        disk:arm { kind = "write", err = fault.err, short = fault.short, times = fault.times, suffix = ".log" }
        assert.equal(KAFKA_STORAGE_ERROR, produce())
        assert.equal(at, requests.end_offset(client, topic))
        assert.equal(at, #records.values(requests.fetch_to_end(client, topic, 0)))
        assert.equal(0, produce())
        assert.equal(at + 1, requests.end_offset(client, topic))
      end
      assert.equal(0, count "offline")
      client:close()
      assert.equal(0, broker:stop())
    end)

    it("goes on with the rest of a write that came out short", function()
      for _ = 1, 3 do
        disk:arm { kind = "write", short = true, suffix = ".log" }
        assert.equal(0, produce())
        assert.equal(1, (disk:acted()))
      end
      assert.same({ "before", "after", "after", "after" }, records.values(requests.fetch_to_end(client, topic, 0)))
      client:close()
      assert.equal(0, broker:stop())
    end)
  end)

  for index, fault in ipairs(FAULTS) do
    it(("costs nothing that was acknowledged: %s"):format(name_of(fault)), function()
      local last = count_calls()[fault.kind]
      local only = ONLY and tonumber(ONLY:match "%d+$")
      if ONLY and (ONLY:match "^%a+" ~= fault.kind) then return end
      if only then return try(fault, only) end
      local step = IS_WHOLE and 1 or math.max(1, math.floor(last / 3))
      local failures, tried, acted = {}, 0, 0
      for nth = IS_WHOLE and 1 or 1 + index * 7 % step, last, step do
        local ok, result = pcall(try, fault, nth)
        tried = tried + 1
        if ok then
          acted = acted + (result and 1 or 0)
        else
          failures[#failures + 1] = tostring(result)
        end
      end
      if IS_WHOLE then print(("%s: %d tried, %d came to pass, %d failed"):format(name_of(fault), tried, acted, #failures)) end
      assert(#failures == 0, ("%d of %d failed; the first: %s"):format(#failures, tried, failures[1]))
    end)
  end
end)
