-- SPDX-License-Identifier: Apache-2.0
-- What grows with a broker, on a Luka of its own: many partitions, many connections, large fetch sessions. Kafka is not
-- beside it, as its ten thousand partitions take longer than all the rest.
local brokers = require "scripts.bench.brokers"
local load = require "scripts.bench.load"
local process = require "scripts.bench.process"
local statistics = require "scripts.bench.statistics"
local workload = require "scripts.bench.workload"

local M = {}

local TIMES = 5

local SECONDS = 0.7

--- No further start after so long; the first is always made, however long the stop before it took.
local RESTART_SECONDS = 10

--- A figure of one request among so many of something.
local function figure(count, what)
  return { key = "cpu_" .. count, title = ("CPU per request, %s %s"):format(count, what), unit = "us" }
end

--- One-record requests on a topic of four partitions; CPU per request in us.
local function small_cpu_us(broker, connections)
  local result = load.run(broker, { "produce", "--topic", "hot", "--partitions", 4, "--connections", connections or 64, "--acks",
    1, "--seconds", SECONDS })
  return load.figures(result).cpu_us_per_request
end

--- As many measurements as there are to be, each into the figures of its round.
local function repeated(rounds, key, measure)
  for at = 1, TIMES do
    rounds[at] = rounds[at] or { luka = {} }
    rounds[at].luka[key] = measure()
  end
end

--- The growth of a figure from the first of a series to the last, round by round.
local function add_growth(rounds, key, first, last)
  for _, sides in ipairs(rounds) do sides.luka[key] = sides.luka[last] / sides.luka[first] end
end

--- The points of a plot.
local function series(rounds, x, y, prefix, counts)
  local points = {}
  for _, count in ipairs(counts) do
    local summary = statistics.summary(statistics.of(rounds, "luka", prefix .. count), #rounds)
    points[#points + 1] = { x = count, y = summary.median, min = summary.min, max = summary.max }
  end
  return { x = x, y = y, points = points }
end

-- ---- partitions ----

local PARTITIONS = { 10, 1000, 10000 }

--- Partitions of the topic that takes no requests; with the four of the other one there are as many as asked for.
local function others(count) return count - 4 end

local function session(count)
  return { key = "session_" .. count, title = ("CPU per fetch, session of %d"):format(others(count)), unit = "us" }
end

M.partitions = {
  name = "partitions",
  title = "partitions of the broker: one-record requests on 64 connections to four of them, the others have a record or two; "
    .. "fetch sessions of many partitions with one that has something; stop and start with all of them",
  figures = { figure(10, "partitions"), figure(1000, "partitions"), figure(10000, "partitions"),
    { key = "growth", title = "growth, 10 to 10,000 partitions", unit = "x" }, session(10), session(1000), session(10000),
    { key = "session_growth", title = "growth, session of 6 to 9,996", unit = "x" }, "bytes_per_partition", "stop_ms",
    "start_ms", "start_cpu_ms", "resident_after_start_mb" },
  checks = { { figure = "growth", at_most = 1.2 }, { figure = "session_growth", at_most = 1.2 },
    { figure = "start_ms", at_most = 1000 } },
}

--- Adds partitions to the topic in steps, until it has so many with a record in each.
local function grow(broker, have, want)
  for total = math.min(have + 1000, want), want, 1000 do
    if have == 0 then
      broker:create("others", { partitions = total })
    else
      broker:admin().create_partitions("others", total)
    end
    have = total
  end
  if have < want then broker:admin().create_partitions("others", want) end
  load.run(broker, { "produce", "--topic", "others", "--partitions", want, "--connections", math.min(want, 100), "--requests",
    2 * want, "--acks", 1, "--seconds", 20 })
  return want
end

--- CPU of a Fetch that gets a batch of the one active partition of its session, in us.
local function session_cpu_us(broker, count)
  local result = load.run(broker, { "fetch", "--topic", "others", "--partitions", others(count), "--active", 1, "--session",
    "--repeat", "--partition-max-bytes", 256, "--connections", 1, "--seconds", SECONDS })
  return load.figures(result).cpu_us_per_request
end

--- A clean stop, and starts with what is there.
local function restart(broker, rounds)
  local stop_s, data = process.now_s(), broker.data
  broker:stop()
  local start_s = process.now_s()
  rounds[1].luka.stop_ms = (start_s - stop_s) * 1000
  for at = 1, TIMES do
    if at > 1 and process.now_s() - start_s > RESTART_SECONDS then break end
    broker = brokers.luka(data)
    rounds[at].luka.start_ms = broker.first_answer_s * 1000
    rounds[at].luka.start_cpu_ms = broker:cpu_s() * 1000
    rounds[at].luka.resident_after_start_mb = broker:resident_bytes() / 1e6
    broker:stop()
  end
end

function M.partitions.once()
  local data = workload.FOLDER .. "/partitions"
  local broker = brokers.luka(data)
  broker:create("hot", { partitions = 4 })
  small_cpu_us(broker)
  local rounds, have, first_bytes = {}, 0, nil
  for _, count in ipairs(PARTITIONS) do
    have = grow(broker, have, others(count))
    repeated(rounds, "cpu_" .. count, function() return small_cpu_us(broker) end)
    first_bytes = first_bytes or broker:resident_bytes()
  end
  rounds[1].luka.bytes_per_partition = (broker:resident_bytes() - first_bytes) / (have - others(PARTITIONS[1]))
  for at = 1, TIMES do
    for _, count in ipairs(PARTITIONS) do rounds[at].luka["session_" .. count] = session_cpu_us(broker, count) end
  end
  add_growth(rounds, "growth", "cpu_10", "cpu_10000")
  add_growth(rounds, "session_growth", "session_10", "session_10000")
  restart(broker, rounds)
  os.execute(("rm -rf '%s'"):format(data))
  return rounds, { series(rounds, "partitions of the broker", "CPU per one-record request, us", "cpu_", PARTITIONS),
    series(rounds, "partitions of the session, one active", "CPU per Fetch, us", "session_", PARTITIONS) }
end

-- ---- connections ----

local IDLE = 5000

local CONNECTIONS = { 10, 100, 1000, 5000 }

M.connections = {
  name = "connections",
  title = "connections: one-record requests to four partitions, one in flight on each connection",
  figures = { figure(10, "connections"), figure(100, "connections"), figure(1000, "connections"), figure(5000, "connections"),
    { key = "growth", title = "growth, 10 to 5,000 connections", unit = "x" }, "bytes_per_connection" },
  checks = { { figure = "growth", at_most = 1.2 } },
}

function M.connections.once()
  local data = workload.FOLDER .. "/connections"
  local broker = brokers.luka(data)
  broker:create("hot", { partitions = 4 })
  small_cpu_us(broker)
  -- First of all, while nothing has been given back that they could take.
  local idle = load.run(broker, { "api-versions", "--idle-connections", IDLE, "--connections", 1, "--seconds", 0.1 })
  local rounds = {}
  for at = 1, TIMES do
    rounds[at] = { luka = {} }
    for _, count in ipairs(CONNECTIONS) do rounds[at].luka["cpu_" .. count] = small_cpu_us(broker, count) end
  end
  rounds[1].luka.bytes_per_connection = (idle.rss_idle_bytes - idle.rss_before_bytes) / IDLE
  add_growth(rounds, "growth", "cpu_10", "cpu_5000")
  broker:stop()
  os.execute(("rm -rf '%s'"):format(data))
  return rounds, { series(rounds, "connections", "CPU per one-record request, us", "cpu_", CONNECTIONS) }
end

return M
