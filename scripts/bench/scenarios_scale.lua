-- SPDX-License-Identifier: Apache-2.0
-- What grows with a broker, on a Luka of its own: many partitions, many connections, large fetch sessions. Kafka is not
-- beside it, as its ten thousand partitions take longer than all the rest.
local brokers = require "scripts.bench.brokers"
local load = require "scripts.bench.load"
local process = require "scripts.bench.process"
local statistics = require "scripts.bench.statistics"
local workload = require "scripts.bench.workload"

local M = {}

local TIMES = 3

local SECONDS = 0.8

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
local function add_growth(rounds, first, last)
  for _, sides in ipairs(rounds) do sides.luka.growth = sides.luka[last] / sides.luka[first] end
end

--- The points of a plot.
local function series(rounds, title, counts)
  local points = {}
  for _, count in ipairs(counts) do
    local summary = statistics.summary(statistics.of(rounds, "luka", "cpu_" .. count), #rounds)
    points[#points + 1] = { x = count, y = summary.median, min = summary.min, max = summary.max }
  end
  return { x = title, y = "CPU per request, us", points = points }
end

-- ---- partitions ----

local PARTITIONS = { 10, 1000, 10000 }

M.partitions = {
  name = "partitions",
  title = "partitions of the broker: one-record requests on 64 connections to four of them; the others have one record each",
  figures = { figure(10, "partitions"), figure(1000, "partitions"), figure(10000, "partitions"), "growth",
    "bytes_per_partition", "stop_ms", "start_ms", "start_cpu_ms", "resident_after_start_mb" },
  checks = { { figure = "growth", at_most = 1.2 }, { figure = "start_ms", at_most = 1000 } },
}

--- Adds partitions until there are so many, with a record in each.
local function grow(broker, have, want)
  while have < want do
    local count = math.min(want - have, 1000)
    local topic = "idle-" .. have
    broker:create(topic, { partitions = count })
    load.run(broker, { "produce", "--topic", topic, "--partitions", count, "--connections", math.min(count, 100), "--requests",
      2 * count, "--acks", 1, "--seconds", 10 })
    have = have + count
  end
  return have
end

function M.partitions.once()
  local data = workload.FOLDER .. "/scale"
  local broker = brokers.luka(data)
  broker:create("hot", { partitions = 4 })
  small_cpu_us(broker)
  local rounds, have, first_bytes = {}, 4, nil
  for _, count in ipairs(PARTITIONS) do
    have = grow(broker, have, count)
    repeated(rounds, "cpu_" .. count, function() return small_cpu_us(broker) end)
    first_bytes = first_bytes or broker:resident_bytes()
  end
  add_growth(rounds, "cpu_10", "cpu_10000")
  local figures = rounds[1].luka
  figures.bytes_per_partition = (broker:resident_bytes() - first_bytes) / (have - PARTITIONS[1])
  local stop_s = process.now_s()
  broker:stop()
  figures.stop_ms = (process.now_s() - stop_s) * 1000
  for at = 1, TIMES do
    broker = brokers.luka(data)
    rounds[at].luka.start_ms = broker.first_answer_s * 1000
    rounds[at].luka.start_cpu_ms = broker:cpu_s() * 1000
    rounds[at].luka.resident_after_start_mb = broker:resident_bytes() / 1e6
    broker:stop()
  end
  os.execute(("rm -rf '%s'"):format(data))
  return rounds, { series(rounds, "partitions of the broker", PARTITIONS) }
end

-- ---- connections ----

local CONNECTIONS = { 10, 100, 1000, 5000 }

M.connections = {
  name = "connections",
  title = "connections: one-record requests to four partitions, one in flight on each connection",
  figures = { figure(10, "connections"), figure(100, "connections"), figure(1000, "connections"), figure(5000, "connections"),
    "growth" },
  checks = { { figure = "growth", at_most = 1.2 } },
}

function M.connections.once()
  local data = workload.FOLDER .. "/scale"
  local broker = brokers.luka(data)
  broker:create("hot", { partitions = 4 })
  small_cpu_us(broker)
  local rounds = {}
  for at = 1, TIMES do
    rounds[at] = { luka = {} }
    for _, count in ipairs(CONNECTIONS) do rounds[at].luka["cpu_" .. count] = small_cpu_us(broker, count) end
  end
  add_growth(rounds, "cpu_10", "cpu_5000")
  broker:stop()
  os.execute(("rm -rf '%s'"):format(data))
  return rounds, { series(rounds, "connections", CONNECTIONS) }
end

return M
