-- SPDX-License-Identifier: Apache-2.0
-- Real clients as load, once on each side: Kafka's own performance tools, from the same jars as its broker, and kcat.
-- What they cost themselves hides much of the broker; they show that what the generator says holds for them as well.
local signal = require "posix.signal"
local client = require "spec.support.client"
local kafka = require "scripts.bench.kafka"
local process = require "scripts.bench.process"
local unit = require "spec.support.unit"
local workload = require "scripts.bench.workload"

local M = {}

local RECORDS, RECORD_BYTES = 400000, 1024

local E2E_RECORDS = 2000

local KCAT_LINES, KCAT_LINE_BYTES = 500000, 200

M.clients = {
  name = "clients",
  title = ("real clients: Kafka's producer-perf and consumer-perf with %d records of 1 KiB (16 KiB batches, acks=1), its "
    .. "e2e-latency, and kcat with %d lines of %d bytes"):format(RECORDS, KCAT_LINES, KCAT_LINE_BYTES),
  figures = { "kafka_produce_mb_per_s", "kafka_produce_cpu_s_per_gb", "kafka_produce_p99_ms", "kafka_consume_mb_per_s",
    "kafka_consume_cpu_s_per_gb", "kafka_e2e_mean_ms", "kafka_e2e_p99_ms", "kcat_produce_mb_per_s",
    "kcat_produce_cpu_s_per_gb", "kcat_consume_mb_per_s", "kcat_consume_cpu_s_per_gb" },
}

--- Runs a client; what it printed, the broker's CPU seconds and the wall time.
local function run(broker, line, options)
  local cpu_s, start_s = broker:cpu_s(), process.now_s()
  local out = process.run(line, options)
  return out, broker:cpu_s() - cpu_s, process.now_s() - start_s
end

--- What the tool prints; its consumer looks for a group for a minute as it closes where there are none, which is not
--- waited for.
local function latency_tool(line)
  local tool = process.start(line)
  local function out() return unit.read_file(tool.folder .. "/out") or "" end
  client.wait_until("e2e-latency has its figures", function()
    return out():find "99.9th" or not process.is_alive(tool.pid)
  end, 60000)
  if process.is_alive(tool.pid) then tool:kill(signal.SIGKILL) end
  process.wait(tool)
  return out()
end

--- Throughput is what the tool itself says, of its own time without Java's start.
local function kafka_tools(broker, figures)
  local at = "127.0.0.1:" .. broker.port
  local gb = RECORDS * RECORD_BYTES / 1e9
  broker:create("perf", { partitions = 4 })
  local out, cpu_s = run(broker, kafka.command("org.apache.kafka.tools.ProducerPerformance", { "--topic", "perf", "--num-records",
    tostring(RECORDS), "--record-size", tostring(RECORD_BYTES), "--throughput", "-1", "--producer-props",
    "bootstrap.servers=" .. at, "acks=1" }))
  figures.kafka_produce_mb_per_s = tonumber(out:match ".*%s([%d.]+) records/sec") * RECORD_BYTES / 1e6
  figures.kafka_produce_p99_ms = tonumber(out:match ".*%s(%d+) ms 99th")
  figures.kafka_produce_cpu_s_per_gb = cpu_s / gb
  out, cpu_s = run(broker, kafka.command("org.apache.kafka.tools.ConsumerPerformance", { "--topic", "perf", "--bootstrap-server",
    at, "--num-records", tostring(RECORDS), "--timeout", "6000" }))
  -- Records a second of fetching are the tenth column. The tool joins a group: none where the broker has no groups yet.
  local last = out:match "([^\n]+)\n?$"
  local columns = {}
  for column in last:gmatch "[^,]+" do columns[#columns + 1] = tonumber(column) or 0 end
  if not out:find("Exiting before consuming", 1, true) then
    figures.kafka_consume_mb_per_s, figures.kafka_consume_cpu_s_per_gb = columns[10] * RECORD_BYTES / 1e6, cpu_s / gb
  end
  broker:delete "perf"
  broker:create("e2e", { partitions = 1 })
  out = latency_tool(kafka.command("org.apache.kafka.tools.EndToEndLatency", { "--bootstrap-server", at, "--topic", "e2e",
    "--num-records", tostring(E2E_RECORDS), "--producer-acks", "1", "--record-size", "100" }))
  figures.kafka_e2e_mean_ms = tonumber(out:match "Avg latency: ([%d.]+)")
  figures.kafka_e2e_p99_ms = tonumber(out:match "99th = ([%d.]+)")
  broker:delete "e2e"
end

local function kcat(broker, figures)
  local path, at = workload.FOLDER .. "/lines", "127.0.0.1:" .. broker.port
  local line, lines = ("x"):rep(KCAT_LINE_BYTES - 1) .. "\n", {}
  for n = 1, KCAT_LINES do lines[n] = line end
  unit.write_file(path, table.concat(lines))
  local gb = KCAT_LINES * KCAT_LINE_BYTES / 1e9
  broker:create("kcat", { partitions = 4 })
  local _, cpu_s, wall_s = run(broker, { "kcat", "-P", "-b", at, "-t", "kcat", "-X", "acks=1", "-l", path })
  figures.kcat_produce_mb_per_s, figures.kcat_produce_cpu_s_per_gb = gb * 1e3 / wall_s, cpu_s / gb
  -- It ends with one fetch that waits in vain; and it would pause for a second whenever its own queue is full.
  _, cpu_s, wall_s = run(broker, { "kcat", "-C", "-b", at, "-t", "kcat", "-o", "beginning", "-e", "-q", "-X",
    "fetch.wait.max.ms=10", "-X", "queued.min.messages=1000000", "-X", "queued.max.messages.kbytes=1000000" })
  figures.kcat_consume_mb_per_s, figures.kcat_consume_cpu_s_per_gb = gb * 1e3 / wall_s, cpu_s / gb
  broker:delete "kcat"
  os.remove(path)
end

--- Once on each side.
---
---@param sides bench.Broker[]
function M.clients.once(sides)
  local figures = {}
  for _, broker in ipairs(sides) do
    figures[broker.side] = {}
    if kafka.has_jars() then kafka_tools(broker, figures[broker.side]) end
    kcat(broker, figures[broker.side])
  end
  return { figures }
end

return M
