-- SPDX-License-Identifier: Apache-2.0
-- `make bench-lua`: what policies on records cost, as processor time of a broker for each record that is produced or
-- fetched, beside the plain path, the built-in partitioner and the same in C. Ends with status 1 when a limit is missed. Rounds take turns
-- through all cases, and the median counts, as a shared machine has good and bad seconds.
-- usage: luka-spec --run scripts/bench/policies.lua FOLDER [ROUNDS=n] [SECONDS=s] [ONLY=case,...]
local broker_of = require "spec.support.broker"
local admin = require "spec.support.admin"
local load = require "scripts.bench.load"
local process = require "scripts.bench.process"
local unit = require "spec.support.unit"

local PARTITIONS = 12

--- Values of 100-byte records: what is left beside key and header.
local JSON = '{"id":4711,"region":"eu","name":"Ada Lovelace","amount":129.5,"tags":["a","b"],"note":"none"}'

local CONFIG = [[
topic "plain" { partitions = 12 }
topic "builtin" { partitions = 12, luka_partitioner = "murmur2" }
topic "hash-compiled" { partitions = 12, jit = true, partitioner = function(record, n) return hash(record.key) % n end }
topic "hash-interpreted" { partitions = 12, partitioner = function(record, n) return hash(record.key) % n end }
topic "filter-compiled" { partitions = 12, jit = true, transform = function(record)
  if record.headers.keep == "eu" then return record end
end }
topic "filter-interpreted" { partitions = 12, transform = function(record)
  if record.headers.keep == "eu" then return record end
end }
topic "out" { partitions = 12 }
view("view-compiled", { from = "out", jit = true, where = function(record) return record.headers.keep == "eu" end })
view("view-interpreted", { from = "out", where = function(record) return record.headers.keep == "eu" end })
topic "out-compiled" { partitions = 12, jit = true, transform_fetch = function(record, client)
  if record.headers.keep == "eu" then return record end
end }
topic "out-interpreted" { partitions = 12, transform_fetch = function(record, client)
  if record.headers.keep == "eu" then return record end
end }
]]

local JSON_TOPIC = [[
local json = %s
topic "%s" { partitions = 12, transform = function(record)
  if json.decode(record.value).region == "eu" then return record end
end }
]]

local HASHED = { "--keys", 10000, "--record-bytes", 86 }
local FILTERED = { "--header", "keep=eu", "--record-bytes", 91 }
local PARSED = { "--value", JSON }

---@class bench.PolicyCase
---@field name string  of its topic, too
---@field side "luka"|"c"  which broker
---@field load (string|number)[]  its records
---@field is_fetch boolean?  what is measured is Fetch
---@field from string?  topic of a view
---@field beside string?  case that it is compared with; there is no limit
---@field limits { [1]: string, [2]: number }[]?  at most so many times another case
---@field least_per_s number?  records a second and core

---@type bench.PolicyCase[]
local CASES = {
  { name = "plain", side = "luka", load = HASHED },
  { name = "builtin", side = "luka", load = HASHED, limits = { { "plain", 2 } } },
  { name = "p.hash", side = "c", load = HASHED },
  { name = "hash-compiled", side = "luka", load = HASHED, limits = { { "builtin", 1.6 } } },
  { name = "hash-interpreted", side = "luka", load = HASHED, limits = { { "builtin", 5 } } },
  { name = "plain-headers", topic = "plain", side = "luka", load = FILTERED },
  { name = "t.filter", side = "c", load = FILTERED, limits = { { "plain-headers", 2 } } },
  { name = "filter-compiled", side = "luka", load = FILTERED, limits = { { "t.filter", 2 } } },
  { name = "filter-interpreted", side = "luka", load = FILTERED, limits = { { "t.filter", 10 } } },
  { name = "json", side = "luka", load = PARSED, least_per_s = 300000 },
  { name = "cjson", side = "luka", load = PARSED, least_per_s = 300000 },
  { name = "out", side = "luka", load = FILTERED, is_fetch = true },
  { name = "view-compiled", from = "out", side = "luka", load = FILTERED, is_fetch = true, beside = "out" },
  { name = "view-interpreted", from = "out", side = "luka", load = FILTERED, is_fetch = true, beside = "out" },
  { name = "out-compiled", side = "luka", load = FILTERED, is_fetch = true, beside = "out" },
  { name = "out-interpreted", side = "luka", load = FILTERED, is_fetch = true, beside = "out" },
}

local function say(format, ...) io.stdout:write(format:format(...), "\n") end

--- Arguments: the folder of the programs, then NAME=value, or the environment.
local function options_of(words)
  local given = {}
  for at = 2, #words do
    local name, value = words[at]:match "^(%u+)=(.*)$"
    if not name then error(("what is '%s'? ROUNDS=5, SECONDS=2 and ONLY=plain,builtin are known"):format(words[at]), 0) end
    given[name] = value
  end
  local function number(name, default)
    local text = given[name] or os.getenv(name)
    return text and text ~= "" and (tonumber(text) or error(name .. " is a number", 0)) or default
  end
  local only = given.ONLY or os.getenv "ONLY"
  local names
  for name in (only or ""):gmatch "[^,%s]+" do
    names = names or {}
    names[name] = true
  end
  return { rounds = number("ROUNDS", 5), seconds = number("SECONDS", 2), only = names }
end

--- A folder with the configuration; without cjson where this build has none.
local function write_config(program)
  local folder = broker_of.temp_dir()
  local path = folder .. "/config.lua"
  unit.write_file(path, CONFIG .. JSON_TOPIC:format("json", "json") .. JSON_TOPIC:format("require 'cjson'", "cjson"))
  process.run({ program, "check", path })
  return path
end

--- Starts both brokers, by side.
local function start(programs)
  -- What is written goes soon, as all cases together write more than there may be room for.
  local settings = { "workers=2", "log_segment_bytes=8388608", "log_retention_bytes=8388608",
    "log_retention_check_interval_ms=500", "log_segment_delete_delay_ms=0" }
  local luka = broker_of.start { config = write_config(broker_of.PROGRAM), set = settings }
  local c = broker_of.start { set = settings,
    program = { programs .. "/luka-spec", "--run", "spec/support/policy_broker.lua" } }
  for _, each in ipairs { luka, c } do process.adopt(each.pid) end
  local admin_of_c = admin.of(c)
  for _, name in ipairs { "p.hash", "t.filter" } do admin_of_c.create_topic(name, { partitions = PARTITIONS }) end
  return { luka = luka, c = c }
end

--- Runs a load on a case's topic, or on that of a view.
local function run(brokers, case, topic, words)
  local line = { words[1], "--topic", topic, "--partitions", PARTITIONS, "--connections", 2, "--threads", 1 }
  for i = 2, #words do line[#line + 1] = words[i] end
  return load.run(brokers[case.side], line)
end

--- Produces to a case's topic.
local function produce(brokers, case, topic, ...)
  local words = { "produce", "--depth", 4, "--acks", 1, "--batch-bytes", 65536, ... }
  for _, word in ipairs(case.load) do words[#words + 1] = word end
  return run(brokers, case, topic, words)
end

--- Produces what there is to fetch: so much that retention leaves it alone.
local function fill(brokers, cases)
  local filled = {}
  for _, case in ipairs(cases) do
    local topic = case.from or case.name
    if case.is_fetch and not filled[topic] then
      filled[topic] = true
      produce(brokers, case, topic, "--requests", 1000)
    end
  end
end

--- Nanoseconds of a broker's processor time for one record.
local function measure(brokers, case, seconds)
  local result
  if case.is_fetch then
    result = run(brokers, case, case.name, { "fetch", "--repeat", "--seconds", seconds })
  else
    result = produce(brokers, case, case.topic or case.name, "--seconds", seconds)
  end
  return result.cpu_s / result.records * 1e9
end

local function median(list)
  table.sort(list)
  local middle = math.ceil(#list / 2)
  return #list % 2 == 1 and list[middle] or (list[middle] + list[middle + 1]) / 2
end

--- Prints the figures with their limits; whether all are kept.
local function report(cases, figures)
  local is_fine = true
  say("%-20s %10s   %s", "", "ns/record", "limits")
  for _, case in ipairs(cases) do
    local ns, notes = figures[case.name], {}
    local function note(is_kept, format, ...)
      is_fine = is_fine and is_kept
      notes[#notes + 1] = format:format(...) .. (is_kept and "" or "  MISSED")
    end
    for _, limit in ipairs(case.limits or {}) do
      local other = figures[limit[1]]
      if other then note(ns <= limit[2] * other, "%.2f x %s (at most %g)", ns / other, limit[1], limit[2]) end
    end
    local beside = case.beside and figures[case.beside]
    if beside then note(true, "%.2f x %s", ns / beside, case.beside) end
    if case.least_per_s then
      note(1e9 / ns >= case.least_per_s, "%.0f a second and core (at least %.0f)", 1e9 / ns, case.least_per_s)
    end
    say("%-20s %10.1f   %s", case.name, ns, table.concat(notes, "; "))
  end
  return is_fine
end

local function main(words)
  local options = options_of(words)
  load.PROGRAM = words[1] .. "/load"
  local cases = {}
  for _, case in ipairs(CASES) do
    if not options.only or options.only[case.name] then cases[#cases + 1] = case end
  end
  process.on_interrupt(process.kill_all)
  local brokers = start(words[1])
  fill(brokers, cases)
  local all = {}
  for round = 0, options.rounds do
    for _, case in ipairs(cases) do
      local ns = measure(brokers, case, round == 0 and 0.5 or options.seconds)
      if round > 0 then
        all[case.name] = all[case.name] or {}
        table.insert(all[case.name], ns)
      end
    end
  end
  local figures = {}
  for name, list in pairs(all) do figures[name] = median(list) end
  local is_fine = report(cases, figures)
  process.kill_all()
  return is_fine and 0 or 1
end

local ok, status = pcall(main, arg)
if not ok then
  io.stderr:write(tostring(status), "\n")
  process.kill_all()
end
os.exit(ok and status or 2)
