-- SPDX-License-Identifier: Apache-2.0
-- A disk that fails at one call of a broker's life, at every call in turn: no acknowledged record is lost, none that was
-- refused appears, nothing crashes or hangs, and a start without faults finds all in order.
--
-- By default a part of the calls, spread over the run; FAULTS=all does every one of them (minutes).
local brokers = require "spec.support.broker"
local faults = require "spec.support.faults"
local disk_run = require "spec.support.disk_run"

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
  local data = brokers.temp_dir() .. "/data"
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
  local data = brokers.temp_dir() .. "/data"
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
