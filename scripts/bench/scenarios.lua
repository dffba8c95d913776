-- SPDX-License-Identifier: Apache-2.0
-- What is measured in every round, on each side in turn.
local load = require "scripts.bench.load"

local M = {}

---@class bench.Scenario
---@field name string  for ONLY=
---@field title string  what is done, with all numbers
---@field figures string[]  keys of figures.lua, in the order of the table
---@field checks bench.Check[]
---@field prepare (fun(broker: bench.Broker))?  once, before the first round
---@field measure fun(broker: bench.Broker, round: integer): table<string, number>
---@field limit (fun(round: integer): table<string, number>)?  the machine's own limit

local BIG = { "--record-bytes", 1024, "--batch-bytes", 65536, "--partitions", 4, "--connections", 4 }

--- One list of words of several lists and words.
local function words(...)
  local out = {}
  for _, part in ipairs { ... } do
    if type(part) == "table" then
      for _, word in ipairs(part) do out[#out + 1] = word end
    else
      out[#out + 1] = part
    end
  end
  return out
end

--- Runs a load on a topic that goes with the round.
local function on_new_topic(broker, topic, options, line)
  broker:create(topic, options)
  local result = load.run(broker, words(line, "--topic", topic))
  broker:delete(topic)
  return load.figures(result)
end

local produce = {
  name = "produce",
  title = "produce: 1 KiB records in 64 KiB batches, 4 connections on 4 partitions, 4 requests deep, acks=1",
  figures = { "cpu_s_per_gb", "mb_per_s" },
  checks = {
    { figure = "cpu_s_per_gb", over = "kafka", at_most = 0.45 },
    { figure = "cpu_s_per_gb", over = "limit", at_most = 1.3 },
    { figure = "mb_per_s", over = "kafka", at_least = 1.3 },
  },
}

function produce.measure(broker, round)
  return on_new_topic(broker, "produce-" .. round, { partitions = 4 },
    words("produce", BIG, "--depth", 4, "--acks", 1, "--requests", 30000, "--seconds", 2))
end

--- Fetch of batches of a codec, over and over from the page cache.
local function fetch(name, codec, title)
  local topic = "data-" .. name
  return {
    name = name,
    title = title .. ", 4 connections on 4 partitions, from the page cache",
    figures = { "cpu_s_per_gb", "mb_per_s" },
    checks = {
      { figure = "cpu_s_per_gb", over = "limit", at_most = 1.2 },
      { figure = "cpu_s_per_gb", over = "kafka", below = 1 },
    },
    prepare = function(broker)
      broker:create(topic, { partitions = 4 })
      load.run(broker, words("produce", BIG, "--depth", 4, "--acks", 1, "--codec", codec, "--requests", 8000,
        "--seconds", 20, "--topic", topic))
    end,
    measure = function(broker)
      return load.figures(load.run(broker, words("fetch", "--partitions", 4, "--connections", 4, "--repeat",
        "--seconds", 1.5, "--topic", topic)))
    end,
  }
end

local small = {
  name = "small",
  title = "one-record requests: 100 bytes each, 64 connections on 4 partitions, acks=1",
  figures = { "cpu_us_per_request", "requests_per_s" },
  checks = { { figure = "cpu_us_per_request", over = "kafka", at_most = 0.25 } },
}

function small.measure(broker, round)
  return on_new_topic(broker, "small-" .. round, { partitions = 4 },
    words("produce", "--partitions", 4, "--connections", 64, "--acks", 1, "--seconds", 2))
end

local open = {
  name = "open",
  title = "open loop: 5,000 one-record requests/s at fixed times, 100 bytes, 64 connections on 4 partitions, acks=1",
  figures = { "p50_us", "p99_us", "p999_us", "cpu_us_per_request" },
  checks = {
    { figure = "p99_us", over = "kafka", at_most = 0.4 },
    { figure = "p999_us", over = "kafka", at_most = 0.25 },
  },
}

function open.measure(broker, round)
  return on_new_topic(broker, "open-" .. round, { partitions = 4 },
    words("produce", "--partitions", 4, "--connections", 64, "--rate", 5000, "--acks", 1, "--seconds", 3))
end

M.ALL = {
  produce,
  fetch("fetch", "none", "fetch: 1 KiB records in 64 KiB batches"),
  fetch("fetch-lz4", "lz4", "fetch of lz4 batches"),
  fetch("fetch-zstd", "zstd", "fetch of zstd batches"),
  small,
  open,
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
  end
  broker:delete "warm"
end

return M
