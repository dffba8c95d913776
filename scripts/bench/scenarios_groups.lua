-- SPDX-License-Identifier: Apache-2.0
-- Consumer groups, on brokers of their own: what many groups cost that have nothing to do, how long a large one takes to
-- rebalance, what commits cost, and how long a start takes with a million committed offsets.
local brokers = require "scripts.bench.brokers"
local groups = require "scripts.bench.groups"
local process = require "scripts.bench.process"
local workload = require "scripts.bench.workload"

local M = {}

local TIMES = 3

local BEAT_SECONDS, COMMIT_SECONDS = 8, 2

-- No waiting for more members before a first rebalance, as for all that is measured it would be waiting alone.
local SETTINGS = { luka = { "group_initial_rebalance_delay_ms=0" }, kafka = { "group.initial.rebalance.delay.ms=0" } }

local function start(side, name)
  local data = ("%s/%s-%s"):format(workload.FOLDER, name, side)
  return brokers[side](data, SETTINGS[side]), data
end

--- The worst of the times of a rebalance's rounds, ms.
local function worst(times)
  local most = 0
  for _, time in ipairs(times) do most = math.max(most, time.rebalance_ms) end
  return most
end

M.groups = {
  name = "groups",
  title = "groups of the classic protocol: heartbeats of 1,000 groups of 10 members every 3 s on 100 connections; one group of "
    .. "500 members that come at once, of which one leaves and comes back; commits of 10 offsets for 1,000 groups on 16 connections",
  figures = {
    { key = "beat_cpu_us", title = "CPU per heartbeat", unit = "us" },
    { key = "beat_cpu_percent", title = "CPU of 3,333 heartbeats/s, of a core", unit = "%" },
    { key = "beat_p50_us", title = "heartbeat p50", unit = "us" },
    { key = "beat_p99_us", title = "heartbeat p99", unit = "us" },
    { key = "first_ms", title = "500 members: last join to last assignment", unit = "ms" },
    { key = "leave_ms", title = "the same after one left", unit = "ms" },
    { key = "join_ms", title = "the same after one came", unit = "ms" },
    { key = "commit_cpu_us", title = "CPU per commit of 10 offsets", unit = "us" },
    { key = "commits_per_s", title = "commits of 10 offsets", unit = "1/s" },
    { key = "commit_p99_us", title = "commit p99", unit = "us" },
  },
  checks = {
    { figure = "beat_cpu_percent", below = 5 },
    { figure = "first_ms", below = 1000 },
    { figure = "leave_ms", below = 1000 },
    { figure = "join_ms", below = 1000 },
  },
}

--- Once on each side, with brokers of their own.
---
---@param sides bench.Broker[]
function M.groups.once(sides)
  local rounds = {}
  for _, other in ipairs(sides) do
    local broker, data = start(other.side, "groups")
    for round = 1, TIMES do
      local beat = groups.run(broker, { "heartbeat", "--create", "--partitions", 100, "--groups", 1000, "--members", 10,
        "--connections", 100, "--seconds", BEAT_SECONDS, "--prefix", "many-" .. round })
      local large = groups.run(broker, { "rebalance", "--partitions", 100, "--members", 500, "--connections", 500, "--rounds", 3,
        "--prefix", "large-" .. round })
      local commit = groups.run(broker, { "commit", "--partitions", 100, "--groups", 1000, "--batch", 10, "--connections", 16,
        "--seconds", COMMIT_SECONDS, "--prefix", "commit" })
      rounds[round] = rounds[round] or {}
      rounds[round][other.side] = {
        beat_cpu_us = beat.cpu_us_per_request, beat_cpu_percent = beat.cpu_percent, beat_p50_us = beat.latency_us.p50,
        beat_p99_us = beat.latency_us.p99, first_ms = worst(large.first), leave_ms = worst(large.leave),
        join_ms = worst(large.join), commit_cpu_us = commit.cpu_us_per_request, commits_per_s = commit.requests_per_s,
        commit_p99_us = commit.latency_us.p99,
      }
    end
    broker:stop()
    os.execute(("rm -rf '%s'"):format(data))
  end
  return rounds
end

-- ---- a start with many offsets ----

local GROUPS, PARTITIONS = 10000, 100

M.offsets = {
  name = "offsets",
  title = "1,000,000 committed offsets (10,000 groups, 100 partitions each): a clean stop and a start, until every group can be "
    .. "asked for its offsets",
  figures = {
    { key = "load_ms", title = "exec to all groups loaded", unit = "ms" },
    { key = "load_cpu_ms", title = "CPU of that", unit = "ms" },
    { key = "offset_bytes", title = "memory of an offset", unit = "B" },
    { key = "offsets_per_s", title = "offsets committed, 100 at a time", unit = "1/s" },
  },
  checks = { { figure = "load_ms", below = 2000 } },
}

--- Once on each side, with brokers of their own.
---
---@param sides bench.Broker[]
function M.offsets.once(sides)
  local rounds = {}
  local what = { "--partitions", PARTITIONS, "--groups", GROUPS, "--connections", 8 }
  for _, other in ipairs(sides) do
    local side = other.side
    local broker, data = start(side, "offsets")
    local empty_bytes = broker:resident_bytes()
    local filled = groups.run(broker, workload.words("commit", "--create", what, "--batch", PARTITIONS, "--depth", 4, "--fill"))
    for round = 1, TIMES do
      broker:stop()
      local start_s = process.now_s()
      broker = brokers[side](data, SETTINGS[side])
      local found = groups.run(broker, workload.words("fetch", what))
      local took_s, cpu_s = process.now_s() - start_s, broker:cpu_s()
      if found.errors > 0 then error(found.first_error, 0) end
      rounds[round] = rounds[round] or {}
      rounds[round][side] = { load_ms = took_s * 1000, load_cpu_ms = cpu_s * 1000, offsets_per_s = filled.offsets_per_s,
        offset_bytes = side == "luka" and (broker:resident_bytes() - empty_bytes) / (GROUPS * PARTITIONS) or nil }
    end
    groups.run(broker, workload.words("fetch", what, "--verify"))
    broker:stop()
    os.execute(("rm -rf '%s'"):format(data))
  end
  return rounds
end

return M
