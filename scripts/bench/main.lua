-- SPDX-License-Identifier: Apache-2.0
-- The course of a benchmark: brokers up, memory touched, warm, rounds, report; and nothing left behind, however it ends.
local json = require "luka.native.json"
local process = require "scripts.bench.process"

local M = {}

local OUT = "build/bench"

local function say(format, ...) io.stderr:write(format:format(...), "\n") end

--- Arguments, and the environment for those that are not given.
---
---@param words string[]
---@return { program: string, load: string, rounds: integer, only: table<string, boolean>?, kafka: boolean }
function M.options(words)
  local given = {}
  for at = 3, #words do
    local name, value = words[at]:match "^(%u+)=(.*)$"
    if not name then error(("what is '%s'? ROUNDS=5, ONLY=produce,fetch and KAFKA=0 are known"):format(words[at]), 0) end
    given[name] = value
  end
  local function option(name) return given[name] or os.getenv(name) end
  local only = option "ONLY"
  local names
  if only and only ~= "" then
    names = {}
    for name in only:gmatch "[^,%s]+" do names[name] = true end
  end
  local rounds = tonumber(option "ROUNDS" or 5)
  if not rounds or rounds < 1 or rounds > 99 or rounds % 1 ~= 0 then error("ROUNDS is a whole number from 1 to 99", 0) end
  return { program = words[1], load = words[2], rounds = rounds, only = names, kafka = option "KAFKA" ~= "0" }
end

--- The scenarios that are asked for.
local function chosen(all, only)
  if not only then return all end
  local out, known = {}, {}
  for _, scenario in ipairs(all) do
    known[#known + 1] = scenario.name
    if only[scenario.name] then out[#out + 1] = scenario end
    only[scenario.name] = nil
  end
  local unknown = next(only)
  if unknown then error(("no scenario is called '%s'; there are: %s"):format(unknown, table.concat(known, " ")), 0) end
  return out
end

--- The brokers, and why one is not there.
local function start(options, notes)
  local brokers = require "scripts.bench.brokers"
  local list = { brokers.luka(OUT .. "/data/luka", { "log_segment_delete_delay_ms=200" }) }
  local folder, why
  if options.kafka then
    folder, why = require("scripts.bench.kafka").jars()
  else
    why = "KAFKA=0"
  end
  if folder then
    list[2] = brokers.kafka(OUT .. "/data/kafka", { "log.segment.delete.delay.ms=200" })
  else
    notes[#notes + 1] = "Apache Kafka is skipped: " .. why
    say("%s", notes[#notes])
  end
  return list
end

--- One round of one scenario: each side in turn, another one first each time.
local function measure(scenario, round, brokers)
  local sides, turns = {}, {}
  for _, broker in ipairs(brokers) do
    turns[#turns + 1] = { broker.side, function() return scenario.measure(broker, round) end }
  end
  if scenario.limit then turns[#turns + 1] = { "limit", function() return scenario.limit(round) end } end
  for at = 0, #turns - 1 do
    local side, run = unpack(turns[(at + round - 1) % #turns + 1])
    sides[side] = run()
  end
  return sides
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

local function clean()
  process.kill_all()
  os.execute(("rm -rf '%s/data' '%s/tmp'"):format(OUT, OUT))
end

local function run(options)
  local load = require "scripts.bench.load"
  local scenarios = require "scripts.bench.scenarios"
  local report = require "scripts.bench.report"
  load.PROGRAM = options.load
  local list = chosen(scenarios.ALL, options.only)
  local notes, start_s = {}, process.now_s()
  local brokers = start(options, notes)
  for _, broker in ipairs(brokers) do
    say("%s answers %.2f s after its start; warming up", broker.side, broker.first_answer_s)
    scenarios.warm_up(broker, broker.side == "kafka" and 1.5 or 0.3)
    for _, scenario in ipairs(list) do
      if scenario.prepare then scenario.prepare(broker) end
    end
  end
  local rounds = {}
  for round = 1, options.rounds do
    for _, scenario in ipairs(list) do
      say("%4.0f s  round %d of %d: %s", process.now_s() - start_s, round, options.rounds, scenario.name)
      rounds[scenario] = rounds[scenario] or {}
      rounds[scenario][round] = measure(scenario, round, brokers)
    end
  end
  local result = { rounds = options.rounds, notes = notes, scenarios = {} }
  for at, scenario in ipairs(list) do result.scenarios[at] = report.scenario(scenario, rounds[scenario]) end
  for _, broker in ipairs(brokers) do broker:stop() end
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
  assert(os.execute(("mkdir -p '%s/tmp'"):format(OUT)) == 0)
  if not process.lock(OUT .. "/lock") then
    say("bench: another one runs in %s", OUT)
    return 1
  end
  clean()
  assert(os.execute(("mkdir -p '%s/data' '%s/tmp'"):format(OUT, OUT)) == 0)
  process.on_interrupt(function()
    say("bench: interrupted; ending the brokers and removing their data")
    clean()
  end)
  local done, result = xpcall(run, function(err) return type(err) == "string" and err or debug.traceback(tostring(err)) end, options)
  clean()
  if not done then
    say("bench: %s", result)
    return 1
  end
  local text = require("scripts.bench.text").report(result)
  io.write(text)
  write(OUT .. "/results.json", json.encode(result, 1) .. "\n")
  return text:find "\nFAILED " and 1 or 0
end

return M
