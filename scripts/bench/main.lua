-- SPDX-License-Identifier: Apache-2.0
-- The course of a benchmark: brokers up, memory touched, warm, rounds, report; and nothing left behind, however it ends.
local json = require "luka.native.json"
local process = require "scripts.bench.process"
local unit = require "spec.support.unit"

local M = {}

local OUT = "build/bench"

local DATA, TMP = OUT .. "/data", OUT .. "/tmp"

--- Bytes of memory that the rounds need for files at a time, more or less.
local TOUCH_BYTES = 8 * 2 ^ 30

local function say(format, ...) io.stderr:write(format:format(...), "\n") end

--- Arguments, and the environment for those that are not given.
---
---@param words string[]  folder of the programs, then NAME=value
---@param environment (fun(name: string): string?)?  os.getenv
---@return { programs: string, rounds: integer, only: table<string, boolean>?, kafka: boolean }
function M.options(words, environment)
  local given = {}
  for at = 2, #words do
    local name, value = words[at]:match "^(%u+)=(.*)$"
    if name ~= "ROUNDS" and name ~= "ONLY" and name ~= "KAFKA" then
      error(("what is '%s'? ROUNDS=5, ONLY=produce,fetch and KAFKA=0 are known"):format(words[at]), 0)
    end
    given[name] = value
  end
  local function option(name) return given[name] or (environment or os.getenv)(name) end
  local only = option "ONLY"
  local names
  if only and only ~= "" then
    names = {}
    for name in only:gmatch "[^,%s]+" do names[name] = true end
  end
  local text = option "ROUNDS" or "5"
  local rounds = tonumber(text)
  if not rounds or rounds < 1 or rounds > 99 or rounds % 1 ~= 0 then
    error(("ROUNDS is a whole number from 1 to 99, not '%s'"):format(text), 0)
  end
  return { programs = words[1], rounds = rounds, only = names, kafka = option "KAFKA" ~= "0" }
end

--- The scenarios that are asked for.
---
---@param all bench.Scenario[]
---@param only table<string, boolean>?  names
---@return bench.Scenario[]
function M.chosen(all, only)
  if not only then return all end
  local out, known, left = {}, {}, {}
  for name in pairs(only) do left[name] = true end
  for _, scenario in ipairs(all) do
    known[#known + 1] = scenario.name
    if only[scenario.name] then out[#out + 1] = scenario end
    left[scenario.name] = nil
  end
  local unknown = next(left)
  if unknown then error(("no scenario is called '%s'; there are: %s"):format(unknown, table.concat(known, " ")), 0) end
  return out
end

--- The order of the sides in a round: another one is first each time.
---
---@param sides string[]
---@param round integer
---@return string[]
function M.turns(sides, round)
  local out = {}
  for at = 0, #sides - 1 do out[#out + 1] = sides[(at + round - 1) % #sides + 1] end
  return out
end

--- Brokers that are up, so that a failure can say which has died.
local up = {}

--- What is to be known about a failure: a broker that is gone, and the last it said.
local function obituary()
  for _, broker in ipairs(up) do
    if not process.is_alive(broker.pid) then say("bench: %s has died; the last it said:\n%s", broker.side, broker:log():sub(-3000)) end
  end
end

--- The brokers, and why one is not there. Retention that looks often is for the scenario that deletes; segments that are
--- deleted go at once, so that the next round gets their memory.
local function start(options, notes)
  local list = up
  local brokers = require "scripts.bench.brokers"
  brokers.SYNCS = options.programs .. "/syncs.so"
  list[1] = brokers.luka(DATA .. "/luka", { "log_segment_delete_delay_ms=200", "log_retention_check_interval_ms=500" })
  local folder, why
  if options.kafka then
    folder, why = require("scripts.bench.kafka").jars()
  else
    why = "KAFKA=0"
  end
  if folder then
    list[2] = brokers.kafka(DATA .. "/kafka", { "log.segment.delete.delay.ms=200", "log.retention.check.interval.ms=500" })
  else
    notes[#notes + 1] = "Apache Kafka and its tools are skipped: " .. why
    say("%s", notes[#notes])
  end
  return list
end

--- Measures, or writes down why that failed: one disturbed measurement shall not cost all others. What it left running is
--- ended. A broker that has died is the end, though.
---
---@param failures string[]
---@param what string
---@param action function
---@return any ...  of the action; nothing when it failed
local function attempt(failures, what, action, ...)
  local found = { pcall(action, ...) }
  if found[1] then return unpack(found, 2) end
  local kept = {}
  for _, broker in ipairs(up) do
    if not process.is_alive(broker.pid) then error(found[2], 0) end
    kept[broker.pid] = true
    broker:disconnect()
  end
  process.kill_all(kept)
  failures[#failures + 1] = ("%s: %s"):format(what, tostring(found[2]))
  say("bench: %s", failures[#failures])
end

--- One round of one scenario: each side in turn.
local function measure(scenario, round, brokers, failures)
  local runs, names, sides = {}, {}, {}
  for _, broker in ipairs(scenario.measure and brokers or {}) do
    names[#names + 1] = broker.side
    runs[broker.side] = function() return scenario.measure(broker, round) end
  end
  if scenario.limit then
    names[#names + 1] = "limit"
    runs.limit = function() return scenario.limit(round) end
  end
  for _, side in ipairs(M.turns(names, round)) do
    sides[side] = attempt(failures, ("%s, round %d, %s"):format(scenario.name, round, side), runs[side])
  end
  return sides
end

local function clean()
  process.kill_all()
  os.execute(("rm -rf '%s' '%s'"):format(DATA, TMP))
end

--- What it runs on, for the report.
local function machine()
  local cores = 0
  for line in io.lines "/proc/cpuinfo" do
    if line:match "^processor" then cores = cores + 1 end
  end
  local kib = (unit.read_file "/proc/meminfo" or ""):match "MemTotal:%s+(%d+)"
  local pipe = io.popen "uname -sr"
  local kernel = pipe:read "*l"
  pipe:close()
  return ("%d cores, %.0f GB, %s"):format(cores, (tonumber(kib) or 0) * 1024 / 1e9, kernel)
end

local function run(options)
  local load, workload = require "scripts.bench.load", require "scripts.bench.workload"
  load.PROGRAM = options.programs .. "/load"
  require("scripts.bench.groups").PROGRAM = options.programs .. "/groups"
  workload.LIMIT, workload.PAGES, workload.FOLDER = options.programs .. "/limit", options.programs .. "/pages", DATA
  local scenarios, report = require "scripts.bench.scenarios", require "scripts.bench.report"
  local list = M.chosen(scenarios.ALL, options.only)
  local result = { rounds = options.rounds, notes = json.array {}, failures = json.array {}, scenarios = {}, machine = machine() }
  local start_s = process.now_s()
  local function progress(format, ...) say("%4.0f s  " .. format, process.now_s() - start_s, ...) end

  progress "touching memory"
  workload.touch(TOUCH_BYTES)
  local brokers = start(options, result.notes)
  for _, broker in ipairs(brokers) do
    progress("%s is up; warming up", broker.side)
    scenarios.warm_up(broker, broker.side == "kafka" and 1.2 or 0.3)
    for _, scenario in ipairs(list) do
      if scenario.prepare then scenario.prepare(broker) end
    end
  end
  local rounds, series = {}, {}
  for round = 1, options.rounds do
    for _, scenario in ipairs(list) do
      if not scenario.once then
        progress("round %d of %d: %s", round, options.rounds, scenario.name)
        rounds[scenario] = rounds[scenario] or {}
        rounds[scenario][round] = measure(scenario, round, brokers, result.failures)
      end
    end
  end
  for _, scenario in ipairs(list) do
    if scenario.once then
      progress("once: %s", scenario.name)
      rounds[scenario], series[scenario] = attempt(result.failures, scenario.name, scenario.once, brokers)
    end
  end
  for at, scenario in ipairs(list) do result.scenarios[at] = report.scenario(scenario, rounds[scenario] or {}, series[scenario]) end
  for at = #brokers, 1, -1 do table.remove(brokers, at):stop() end
  result.seconds = process.now_s() - start_s
  return result
end

--- The whole of it.
---
---@param words string[]
---@return integer status
function M.main(words)
  local ok, options = pcall(M.options, words)
  if not ok then
    say("bench: %s", options)
    return 2
  end
  assert(os.execute(("mkdir -p '%s'"):format(OUT)) == 0)
  if not process.lock(OUT .. "/lock") then
    say("bench: another one runs in %s", OUT)
    return 1
  end
  clean()
  assert(os.execute(("mkdir -p '%s' '%s'"):format(DATA, TMP)) == 0)
  process.on_interrupt(function()
    say "bench: interrupted; ending the brokers and removing their data"
    clean()
  end)
  local done, result = xpcall(run, function(err) return type(err) == "string" and err or debug.traceback(tostring(err)) end, options)
  if not done then
    say("bench: %s", result)
    obituary()
  end
  clean()
  if not done then return 1 end
  io.write(require("scripts.bench.text").report(result)) -- first: whatever comes of the files, this is not lost
  io.stdout:flush()
  unit.write_file(OUT .. "/results.json", json.encode(result, 1) .. "\n")
  unit.write_file(OUT .. "/index.html", require("scripts.bench.page").html(result))
  say("%s/results.json and %s/index.html have all of it", OUT, OUT)
  local _, failed = require("scripts.bench.report").verdict(result)
  return #failed > 0 and 1 or 0
end

return M
