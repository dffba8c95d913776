-- SPDX-License-Identifier: Apache-2.0
-- Small requests at a fixed rate while the disk is busy with something else: a cold backlog, deletion; and topics that
-- acknowledge only what is on the disk.
local load = require "scripts.bench.load"
local process = require "scripts.bench.process"
local workload = require "scripts.bench.workload"

local words = workload.words

local M = {}

local OPEN = { "produce", "--partitions", 4, "--connections", 64, "--rate", 5000, "--acks", 1 }

local TAIL_CHECKS = {
  { figure = "p99_us", over = "kafka", at_most = 0.4 },
  { figure = "p999_us", over = "kafka", at_most = 0.25 },
}

--- Runs the open loop on a new topic while `beside` goes on; its figures.
local function open_loop_beside(broker, topic, beside, seconds)
  broker:create(topic, { partitions = 4 })
  local other = beside()
  local figures = load.figures(load.run(broker, words(OPEN, "--seconds", seconds, "--topic", topic)))
  return figures, other
end

-- ---- a backlog that nobody has read for long ----

local BACKLOG_REQUESTS = 32768 -- of 64 KiB: 2 GiB

--- Fetches a second, each of a MiB: as fast as it can, it would be over in a third of the open loop's time.
local BACKLOG_RATE = 650

M.cold = {
  name = "cold",
  title = "the same open loop while another consumer reads, at 650 MiB/s, a backlog of 2 GiB that is not in the page cache",
  figures = { "p50_us", "p99_us", "p999_us", "backlog_mb_per_s", "backlog_s", "backlog_cold_percent" },
  checks = words(TAIL_CHECKS, { { figure = "backlog_cold_percent", at_least = 99 } }),
}

function M.cold.prepare(broker)
  broker:create("backlog", { partitions = 4 })
  load.run(broker, words("produce", workload.BIG, "--depth", 4, "--acks", 1, "--requests", BACKLOG_REQUESTS, "--seconds",
    60, "--topic", "backlog"))
end

function M.cold.measure(broker, round)
  local topic = "cold-" .. round
  local percent = workload.drop(workload.segments(broker, "backlog", 4))
  local figures, reader = open_loop_beside(broker, topic, function()
    return load.start(broker, { "fetch", "--topic", "backlog", "--partitions", 4, "--connections", 4, "--until-end",
      "--rate", BACKLOG_RATE, "--seconds", 30 })
  end, 3)
  local read = reader:finish()
  broker:delete(topic)
  figures.backlog_mb_per_s, figures.backlog_s, figures.backlog_cold_percent = read.mb_per_s, read.seconds, percent
  return figures
end

-- ---- retention that deletes all the time ----

M.deletion = {
  name = "deletion",
  title = "the same open loop while retention deletes segments of 16 MiB of a topic that takes 100 MB/s",
  figures = { "p50_us", "p99_us", "p999_us", "deleted_mb" },
  checks = words(TAIL_CHECKS, { { figure = "deleted_mb", at_least = 100 } }),
}

function M.deletion.measure(broker, round)
  local topic, other = "deletion-" .. round, "deleted-" .. round
  broker:create(other, { partitions = 1, segment_bytes = 16 * 2 ^ 20, retention_bytes = 32 * 2 ^ 20,
    file_delete_delay_ms = 100 })
  local figures, writer = open_loop_beside(broker, topic, function()
    return load.start(broker, { "produce", "--topic", other, "--record-bytes", 1024, "--batch-bytes", 65536, "--rate", 1526,
      "--acks", 1, "--seconds", 4 })
  end, 3.5)
  local written, left = writer:finish(), 0
  for _, path in ipairs(workload.segments(broker, other, 1)) do
    local file = io.open(path)
    if file then
      left = left + file:seek "end"
      file:close()
    end
  end
  broker:delete(topic, other)
  figures.deleted_mb = (written.bytes - left) / 1e6
  return figures
end

-- ---- what is acknowledged is on the disk ----

local function sync(name, partitions, at_least)
  local scenario = {
    name = name,
    title = ("synced before it is acknowledged: one-record requests on 64 connections over %d partition%s "
      .. "(Luka: luka.producer.type=sync; Kafka: flush.messages=1)"):format(partitions, partitions > 1 and "s" or ""),
    figures = { "acks_per_sync", "requests_per_s", "p50_us", "p99_us", "p999_us", "cpu_us_per_request" },
    checks = { { figure = "acks_per_sync", at_least = at_least } },
  }
  function scenario.measure(broker, round)
    local topic = name .. "-" .. round
    broker:create(topic, { partitions = partitions, [broker.side == "luka" and "luka_producer_type" or "flush_messages"] =
      broker.side == "luka" and "sync" or 1 })
    local before = broker:syncs()
    local result = load.run(broker, { "produce", "--topic", topic, "--partitions", partitions, "--connections", 64, "--acks",
      1, "--seconds", 1.5 })
    local figures = load.figures(result)
    -- None at all is the worst, not the best: nothing that was acknowledged is on the disk.
    local syncs = broker:syncs() - before
    figures.acks_per_sync = syncs > 0 and result.requests / syncs or 0
    broker:delete(topic)
    return figures
  end
  return scenario
end

M.sync = sync("sync", 1, 25)
M.sync_16 = sync("sync-16", 16, 10)

-- ---- what nothing costs ----

--- CPU seconds and wake-ups a second of a broker that nobody talks to.
function M.idle(broker, seconds)
  local wake_ups, cpu_s, start_s = process.wake_ups(broker.pid), broker:cpu_s(), process.now_s()
  process.sleep(seconds)
  local passed_s = process.now_s() - start_s
  return { wake_ups_per_s = (process.wake_ups(broker.pid) - wake_ups) / passed_s,
    idle_cpu_percent = (broker:cpu_s() - cpu_s) / passed_s * 100 }
end

return M
