-- SPDX-License-Identifier: Apache-2.0
-- Compaction: what one thread of the log cleaner gets through, and the memory that it takes. On a broker of its own that
-- does nothing else, once with plain batches and once with packed ones.
local brokers = require "scripts.bench.brokers"
local client = require "spec.support.client"
local load = require "scripts.bench.load"
local process = require "scripts.bench.process"
local unit = require "spec.support.unit"
local workload = require "scripts.bench.workload"

local M = {}

local RECORDS, PER_BATCH, KEYS = 10000000, 100, 100000

M.compaction = {
  name = "compaction",
  title = "compaction of 10,000,000 records of 100 bytes with 100,000 keys, all of them new, by one thread",
  figures = { "input_mb_per_s", "input_mb_per_cpu_s", "peak_memory_mb", "kept_records" },
  checks = { { figure = "input_mb_per_s", at_least = 100 }, { figure = "peak_memory_mb", at_most = 128 } },
}

--- Most memory that a process had since this was last reset, in bytes.
local function peak_bytes(pid)
  return tonumber(unit.read_file(("/proc/%d/status"):format(pid)):match "VmHWM:%s*(%d+) kB") * 1024
end

local function reset_peak(pid)
  local file = io.open(("/proc/%d/clear_refs"):format(pid), "w")
  if file then
    file:write "5"
    file:close()
  end
end

--- Fills a topic, with everything but its last record in closed segments.
local function fill(data)
  local broker = brokers.luka(data, { "log_cleaner_enable=false" })
  broker:create("t", { partitions = 1, cleanup_policy = "compact", segment_bytes = 256 * 1024 * 1024 })
  local produce = { "produce", "--topic", "t", "--keys", KEYS, "--acks", 1 }
  load.run(broker, workload.words(produce, "--requests", RECORDS / PER_BATCH, "--records", PER_BATCH, "--connections", 2,
    "--depth", 4, "--threads", 2, "--seconds", 60))
  broker:admin().alter_configs("topic", "t", { set = { segment_ms = 1 } })
  process.sleep(0.01)
  load.run(broker, workload.words(produce, "--requests", 1, "--seconds", 1))
  broker:stop()
end

function M.compaction.once()
  local data = workload.FOLDER .. "/compaction"
  fill(data)
  local broker = brokers.luka(data, { "log_cleaner_backoff_ms=1000" })
  reset_peak(broker.pid)
  local cpu_s = broker:cpu_s()
  local took_ms, kept, read_bytes
  client.wait_until("the topic is compacted", function()
    took_ms, kept, read_bytes = broker:log():match
      "compacted t%-0 up to offset %d+ in (%d+) ms: (%d+) of %d+ records stay, %d+ of (%d+) bytes"
    return took_ms
  end, 120000)
  cpu_s = broker:cpu_s() - cpu_s
  local figures = { input_mb_per_s = read_bytes / 1e3 / took_ms, input_mb_per_cpu_s = read_bytes / 1e6 / cpu_s,
    peak_memory_mb = peak_bytes(broker.pid) / 1e6, kept_records = tonumber(kept) }
  broker:stop()
  os.execute(("rm -rf '%s'"):format(data))
  return { { luka = figures } }
end

return M
