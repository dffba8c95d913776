-- SPDX-License-Identifier: Apache-2.0
-- `make bench-hostile`: what small requests of other connections wait for beside functions that mean no good. An open loop
-- of produce and fetch to topics without functions runs alone, beside plain busy processes (which is what a machine with
-- so few cores makes of any load), and beside each function, in turns; medians of the rounds are compared. The compiled
-- endless loop comes last, as it costs a thread each time; "lost threads" is what they cost once the function is off.
-- "wait us" is how long a worker that is woken waits for a processor, in the mean.
-- usage: luka-spec --run scripts/bench/hostile.lua FOLDER [ROUNDS=n] [SECONDS=s] [RATE=n] [WORKERS=n] [ONLY=word,...]
local unistd = require "posix.unistd"
local broker_of = require "spec.support.broker"
local load = require "scripts.bench.load"
local process = require "scripts.bench.process"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local PARTITIONS = 4
local HEAD = [[
broker { workers = %d }
topic "calm" { partitions = 4 }
topic "read" { partitions = 4 }
hook("topic.create", function(request) if request.name:match "^endless" then while true do end end end)
]]

---@class bench.HostileCase
---@field name string
---@field word string?  of its topic
---@field body string?  of its function
---@field kind string?  "partitioner"
---@field jit boolean?
---@field busy integer?  processes that are busy instead
---@field batch boolean?  with the scheduling policy that threads of functions have
---@field is_greedy boolean?  which take memory and give it back
---@field hook boolean?  asks for topics that a hook holds up

---@type bench.HostileCase[]
local CASES = {
  { name = "alone" },
  { name = "1 busy process", busy = 1 },
  { name = "2 busy processes", busy = 2 },
  { name = "2 busy, SCHED_BATCH", busy = 2, batch = true },
  { name = "2 busy with tables", busy = 2, is_greedy = true },
  { name = "endless partitioner", word = "loop", kind = "partitioner", body = "while true do end" },
  { name = "hook with a loop", hook = true },
  { name = "backtracking", word = "find", kind = "transform", body = "local _ = ('a'):rep(3000):find('.-.-.-.-b$')" },
  { name = "gigabyte string", word = "rep", kind = "transform", body = "local _ = ('x'):rep(2^30)" },
  { name = "string that doubles", word = "double", kind = "transform", body = "local s = 'x' while true do s = s .. s end" },
  { name = "table bomb", word = "bomb", kind = "transform", body = "local t = {} while true do t = { t, t, t, t } end" },
  { name = "endless, compiled", word = "compiled", kind = "partitioner", jit = true, body = "while true do end" },
  { name = "lost threads" },
}

local function say(format, ...) io.stdout:write(format:format(...), "\n") io.stdout:flush() end

local function options_of(words)
  local options = { ROUNDS = 1, SECONDS = 3, RATE = 500, WORKERS = 2 }
  for name in pairs(options) do options[name] = tonumber(os.getenv(name) or "") or options[name] end
  local only = os.getenv "ONLY"
  for at = 2, #words do
    local name, value = words[at]:match "^(%u+)=(.*)$"
    if name == "ONLY" then
      only = value
    elseif options[name] and tonumber(value) then
      options[name] = tonumber(value)
    else
      error(("what is '%s'? ROUNDS, SECONDS, RATE, WORKERS and ONLY are known"):format(words[at]), 0)
    end
  end
  -- What all are compared with is always there.
  local cases = { CASES[1] }
  for at = 2, #CASES do
    local is_wanted = (only or "") == ""
    for word in (only or ""):gmatch "[^,]+" do is_wanted = is_wanted or CASES[at].name:find(word, 1, true) ~= nil end
    if is_wanted then cases[#cases + 1] = CASES[at] end
  end
  return options, cases
end

local GREEDY = [[
while true do
  local t = {}
  for _ = 1, 500000 do t = { t, t, t, t } end
  t = nil
  collectgarbage()
end
]]

local function write(text)
  local path = broker_of.temp_dir() .. "/file.lua"
  unit.write_file(path, text)
  return path
end

local function write_config(workers)
  local lines = { HEAD:format(workers) }
  for _, case in ipairs(CASES) do
    if case.word then
      lines[#lines + 1] = ("topic(%q) { partitions = %d, jit = %s, %s = function(record) %s return record end }"):format(
        case.word, PARTITIONS, tostring(case.jit == true), case.kind, case.body)
    end
  end
  return write(table.concat(lines, "\n") .. "\n")
end

--- Keeps requests of a case under way until `is_over`; how many answers had each code.
local function hold(broker, case, is_over)
  local links, codes, count = {}, {}, 0
  local api, version = case.hook and "CreateTopics" or "Produce", case.hook and 7 or requests.PRODUCE
  local function ask(link)
    count = count + 1
    if case.hook then
      link.id = link.client:request(api, version, { timeout_ms = 5000, topics = { { name = "endless-" .. count,
        num_partitions = 1, replication_factor = 1 } } })
    else
      local batch = records.batch { records = { { key = "k", value = "v" } } }
      link.id = requests.send_produce(link.client, link.topic, batch, { partition = link.partition })
    end
  end
  for i = 1, PARTITIONS do
    links[i] = { client = broker:connect(), partition = i - 1 }
    links[i].topic = case.word and requests.find(links[i].client, case.word)
    ask(links[i])
  end
  while not is_over() do
    for _, link in ipairs(links) do
      local answer, why = link.client:answer(api, version, link.id, 20)
      if answer then
        local code = case.hook and answer.topics[1].error_code or answer.responses[1].partition_responses[1].error_code
        codes[code] = (codes[code] or 0) + 1
        ask(link)
      elseif why ~= "timeout" then
        error(case.name .. ": the connection was " .. why, 0)
      end
    end
  end
  for _, link in ipairs(links) do link.client:close() end
  return codes
end

--- The processes of a case; they end with its turn.
local function start_busy(case)
  for _ = 1, case.busy or 0 do
    local line = { "sh", "-c", "while :; do :; done" }
    if case.is_greedy then line = { unistd.readlink "/proc/self/exe", "--lua", write(GREEDY) } end
    if case.batch then line = { "chrt", "--batch", "0", unpack(line) } end
    process.start(line)
  end
end

--- How long the broker's workers have waited for a processor so far, in microseconds, and how often they have had one.
local function waits(pid)
  local us, times = 0, 0
  for task in io.popen(("ls /proc/%d/task"):format(pid)):lines() do
    local folder = ("/proc/%d/task/%s/"):format(pid, task)
    local name, schedstat = unit.read_file(folder .. "comm"), unit.read_file(folder .. "schedstat")
    if name and schedstat and name:find("luka-worker", 1, true) then
      local waited, count = schedstat:match "^%d+ (%d+) (%d+)"
      us, times = us + waited / 1000, times + count
    end
  end
  return us, times
end

--- One turn of a case: percentiles of both loops.
local function turn(broker, case, options)
  local rate = { "--rate", options.RATE, "--seconds", options.SECONDS, "--partitions", PARTITIONS, "--connections", PARTITIONS,
    "--records", 1, "--record-bytes", 100 }
  local function start(mode, topic, ...)
    local words = { mode, "--topic", topic, ... }
    for _, word in ipairs(rate) do words[#words + 1] = word end
    return load.start(broker, words)
  end
  start_busy(case)
  local waited, times = waits(broker.pid)
  local runs = { produce = start("produce", "calm", "--acks", 1),
    fetch = start("fetch", "read", "--repeat", "--max-bytes", 1000, "--partition-max-bytes", 1000) }
  local function is_over() return not runs.produce:is_running() and not runs.fetch:is_running() end
  local codes = {}
  if case.word or case.hook then
    codes = hold(broker, case, is_over)
  else
    while not is_over() do process.sleep(0.02) end
  end
  local cpu
  local figures = {}
  for name, run in pairs(runs) do
    local result = run:finish()
    figures[name] = result.latency_us
    cpu = result.cpu_s / result.seconds
  end
  process.kill_all { [broker.pid] = true }
  local waited_now, times_now = waits(broker.pid)
  return { wait_us = (waited_now - waited) / math.max(1, times_now - times), figures = figures, cpu = cpu, codes = codes }
end

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

local PERCENTILES = { "p50", "p99", "p99.9" }

local function report(cases, turns)
  local alone
  say("%-21s %27s   %27s   %6s %7s  %s", "ms: p50, p99, p99.9", "produce (x alone)", "fetch (x alone)", "cores", "wait us", "answers")
  for _, case in ipairs(cases) do
    local medians, cells = {}, {}
    for _, side in ipairs { "produce", "fetch" } do
      local texts = {}
      for _, name in ipairs(PERCENTILES) do
        local list = {}
        for i, one in ipairs(turns[case.name]) do list[i] = one.figures[side][name] / 1000 end
        medians[side .. name] = median(list)
        texts[#texts + 1] = ("%6.2f"):format(medians[side .. name])
      end
      alone = alone or medians
      local base = alone[side .. "p99"] or medians[side .. "p99"]
      cells[#cells + 1] = table.concat(texts, " ") .. (" %5.1f"):format(medians[side .. "p99"] / base)
    end
    local last, codes = turns[case.name][#turns[case.name]], {}
    for code, count in pairs(last.codes) do codes[#codes + 1] = ("%d x code %d"):format(count, code) end
    local list = {}
    for i, one in ipairs(turns[case.name]) do list[i] = one.wait_us end
    say("%-21s %27s   %27s   %6.2f %7.1f  %s", case.name, cells[1], cells[2], last.cpu, median(list),
      table.concat(codes, ", "))
  end
end

local function main(words)
  local options, cases = options_of(words)
  load.PROGRAM = words[1] .. "/load"
  process.on_interrupt(process.kill_all)
  local broker = broker_of.start { config = write_config(options.WORKERS) }
  process.adopt(broker.pid)
  load.run(broker, { "produce", "--topic", "read", "--partitions", PARTITIONS, "--connections", PARTITIONS, "--requests", 4000,
    "--records", 1, "--record-bytes", 100, "--acks", 1, "--seconds", 5 })
  local turns = {}
  for _, case in ipairs(cases) do turns[case.name] = {} end
  for _ = 1, options.ROUNDS do
    for _, case in ipairs(cases) do table.insert(turns[case.name], turn(broker, case, options)) end
  end
  report(cases, turns)
  process.kill_all()
  return 0
end

local ok, status = pcall(main, arg)
if not ok then
  io.stderr:write(tostring(status), "\n")
  process.kill_all()
end
os.exit(ok and status or 2)
