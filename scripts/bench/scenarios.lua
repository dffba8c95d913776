-- SPDX-License-Identifier: Apache-2.0
-- What is measured: in every round on each side in turn, or once, before or after the rounds.
local load = require "scripts.bench.load"
local workload = require "scripts.bench.workload"
local disk = require "scripts.bench.scenarios_disk"
local groups = require "scripts.bench.scenarios_groups"
local life = require "scripts.bench.scenarios_life"
local scale = require "scripts.bench.scenarios_scale"
local cleaning = require "scripts.bench.scenarios_cleaning"
local clients = require "scripts.bench.scenarios_clients"

local words, BIG = workload.words, workload.BIG

local M = {}

---@class bench.Scenario
---@field name string  for ONLY=
---@field title string  what is done, with all numbers
---@field figures (string|bench.Figure)[]  keys of figures.lua, or figures of its own, in the order of the table
---@field checks bench.Check[]?
---@field reference table<string, string>?  by figure: what was found for the limit's work before, see REFERENCE
---@field prepare (fun(broker: bench.Broker))?  before the first round
---@field measure (fun(broker: bench.Broker, round: integer): table<string, number>)?  in each round
---@field limit (fun(round: integer): table<string, number>)?  the machine's own limit, in each round
---@field once (fun(sides: bench.Broker[]): table<string, table<string, number>>[], table[]?)?  after the rounds: rounds of its
---   own, and series to plot

-- What was found for the work of the limit program before there was one, each by itself, on a busy virtual machine of two
-- cores whose memory had been touched. It tells how fast this machine is beside that one; nothing is checked against it.
local REFERENCE = {
  append = { cpu_s_per_gb = "0.3 - 0.6", mb_per_s = "1,100 - 1,400" },
  send = { cpu_s_per_gb = "0.11", mb_per_s = "2,000 - 2,500" },
  round_trips = { requests_per_s = "75,000" },
  round_trip = { p50_us = "13", p99_us = "20 - 45" },
}

-- ---- throughput ----

local PRODUCE = words(BIG, "--depth", 4, "--acks", 1, "--requests", 30000, "--seconds", 2)

local produce = {
  name = "produce",
  title = "produce: 1 KiB records in 64 KiB batches, 4 connections on 4 partitions, 4 requests deep, acks=1 "
    .. "(limit: receive 256 KiB, CRC-32C, append; reference: append alone)",
  reference = REFERENCE.append,
  figures = { "cpu_s_per_gb", "mb_per_s" },
  checks = {
    { figure = "cpu_s_per_gb", over = "kafka", at_most = 0.45 },
    { figure = "cpu_s_per_gb", over = "limit", at_most = 1.3 },
    { figure = "mb_per_s", over = "kafka", at_least = 1.3 },
  },
}

function produce.measure(broker, round)
  return workload.on_new_topic(broker, "produce-" .. round, { partitions = 4 }, words("produce", PRODUCE))
end

--- The limit program in a mode that receives.
local function receive(mode)
  local path = workload.FOLDER .. "/limit"
  local figures = workload.limit({ mode, path }, words("produce", PRODUCE))
  os.remove(path)
  return figures
end

function produce.limit() return receive "receive" end

local map = {
  name = "map",
  title = "the limit program when it appends through mmap in place of pwrite",
  figures = { "cpu_s_per_gb", "mb_per_s" },
  limit = function() return receive "map" end,
}

--- Fetch of batches of a codec, over and over from the page cache.
local function fetch(name, codec, title)
  local topic = "data-" .. name
  local scenario = {
    name = name,
    title = title .. ", 4 connections on 4 partitions, from the page cache (limit: sendfile of a partition's file)",
    reference = REFERENCE.send,
    figures = { "cpu_s_per_gb", "mb_per_s" },
    checks = {
      { figure = "cpu_s_per_gb", over = "limit", at_most = 1.2 },
      { figure = "cpu_s_per_gb", over = "kafka", below = 1 },
    },
  }
  local line = { "fetch", "--partitions", 4, "--connections", 4, "--repeat", "--seconds", 1.2, "--topic", topic }
  local file
  function scenario.prepare(broker)
    broker:create(topic, { partitions = 4 })
    load.run(broker, words("produce", BIG, "--depth", 4, "--acks", 1, "--codec", codec, "--requests", 8000, "--seconds", 20,
      "--topic", topic))
    if broker.side == "luka" then file = workload.segments(broker, topic, 1)[1] end
  end
  function scenario.measure(broker) return load.figures(load.run(broker, line)) end
  function scenario.limit() return workload.limit({ "send", file }, line) end
  return scenario
end

-- ---- small requests ----

local SMALL = { "produce", "--partitions", 4, "--connections", 64, "--acks", 1 }

local small = {
  name = "small",
  title = "one-record requests: 100 bytes, 64 connections on 4 partitions, acks=1 (limit: answers, keeps nothing; reference: "
    .. "round trips on one connection)",
  reference = REFERENCE.round_trips,
  figures = { "cpu_us_per_request", "requests_per_s" },
  checks = { { figure = "cpu_us_per_request", over = "kafka", at_most = 0.25 } },
}

function small.measure(broker, round)
  return workload.on_new_topic(broker, "small-" .. round, { partitions = 4 }, words(SMALL, "--seconds", 2))
end

function small.limit() return workload.limit({ "echo" }, words(SMALL, "--seconds", 1)) end

local api = {
  name = "api",
  title = "round trips of ApiVersions, the request that asks for nothing, 64 connections (limit: answers one-record requests, "
    .. "keeps nothing)",
  figures = { "requests_per_cpu_s", "cpu_us_per_request", "requests_per_s" },
  checks = { { figure = "requests_per_cpu_s", over = "kafka", at_least = 4 } },
  measure = function(broker) return load.figures(load.run(broker, { "api-versions", "--connections", 64, "--seconds", 1.5 })) end,
  limit = small.limit,
}

local open = {
  name = "open",
  title = "open loop: 5,000 one-record requests/s at fixed times, 100 bytes, 64 connections on 4 partitions, acks=1 (limit: "
    .. "answers, keeps nothing: what the machine and the generator add; reference: a round trip)",
  reference = REFERENCE.round_trip,
  figures = { "p50_us", "p99_us", "p999_us", "cpu_us_per_request" },
  checks = {
    { figure = "p99_us", over = "kafka", at_most = 0.4 },
    { figure = "p999_us", over = "kafka", at_most = 0.25 },
  },
}

function open.measure(broker, round)
  return workload.on_new_topic(broker, "open-" .. round, { partitions = 4 }, words(SMALL, "--rate", 5000, "--seconds", 3))
end

function open.limit() return workload.limit({ "echo" }, words(SMALL, "--rate", 5000, "--seconds", 3)) end

M.ALL = {
  produce,
  map,
  fetch("fetch", "none", "fetch: 1 KiB records in 64 KiB batches"),
  fetch("fetch-lz4", "lz4", "fetch of lz4 batches"),
  fetch("fetch-zstd", "zstd", "fetch of zstd batches"),
  small,
  api,
  open,
  disk.cold,
  disk.deletion,
  disk.sync,
  disk.sync_16,
  life.life,
  scale.partitions,
  scale.connections,
  cleaning.compaction,
  clients.clients,
  groups.groups,
  groups.offsets,
}

--- Brings a broker to its speed: Java's compiler needs to have seen it all.
function M.warm_up(broker, seconds)
  broker:create("warm", { partitions = 4 })
  local topic = { "--topic", "warm", "--partitions", 4, "--acks", 1 }
  for _ = 1, 2 do
    load.run(broker, words("produce", BIG, topic, "--depth", 4, "--seconds", seconds))
    load.run(broker, words("fetch", "--topic", "warm", "--partitions", 4, "--connections", 4, "--repeat", "--seconds", seconds))
    load.run(broker, words("produce", topic, "--connections", 64, "--seconds", seconds))
    load.run(broker, words("produce", topic, "--connections", 64, "--rate", 5000, "--seconds", seconds))
    load.run(broker, { "api-versions", "--connections", 64, "--seconds", seconds })
  end
  broker:delete "warm"
end

return M
