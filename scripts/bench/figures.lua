-- SPDX-License-Identifier: Apache-2.0
-- The figures that scenarios give: what each is, its unit, and how it is written.
local M = {}

---@class (exact) bench.Figure
---@field key string
---@field title string
---@field unit string

local ALL = {
  cpu_s_per_gb = { title = "broker CPU per GB", unit = "s/GB" },
  mb_per_s = { title = "throughput", unit = "MB/s" },
  cpu_us_per_request = { title = "broker CPU per request", unit = "us" },
  requests_per_s = { title = "requests", unit = "1/s" },
  requests_per_cpu_s = { title = "requests per CPU second", unit = "1/s" },
  p50_us = { title = "latency p50", unit = "us" },
  p99_us = { title = "latency p99", unit = "us" },
  p999_us = { title = "latency p99.9", unit = "us" },
  backlog_mb_per_s = { title = "backlog read", unit = "MB/s" },
  backlog_s = { title = "time that took", unit = "s" },
  backlog_cold_percent = { title = "backlog not in the cache", unit = "%" },
  deleted_mb = { title = "deleted meanwhile", unit = "MB" },
  acks_per_sync = { title = "acknowledged per sync", unit = "acks" },
  input_mb_per_s = { title = "compacted, of input", unit = "MB/s" },
  input_mb_per_cpu_s = { title = "the same per CPU second", unit = "MB/s" },
  peak_memory_mb = { title = "most memory meanwhile", unit = "MB" },
  kept_records = { title = "records that stay", unit = "" },
  first_answer_ms = { title = "first answer after exec", unit = "ms" },
  resident_mb = { title = "resident at start", unit = "MB" },
  resident_after_load_mb = { title = "resident after the rounds", unit = "MB" },
  wake_ups_per_s = { title = "wake-ups when idle", unit = "1/s" },
  idle_cpu_percent = { title = "CPU when idle", unit = "%" },
  bytes_per_partition = { title = "memory of an idle partition", unit = "B" },
  bytes_per_connection = { title = "memory of an idle connection", unit = "B" },
  stop_ms = { title = "clean stop, 10,000 partitions", unit = "ms" },
  start_ms = { title = "start, 10,000 partitions", unit = "ms" },
  start_cpu_ms = { title = "CPU of that start", unit = "ms" },
  resident_after_start_mb = { title = "resident after it", unit = "MB" },
  kafka_produce_mb_per_s = { title = "producer-perf: throughput", unit = "MB/s" },
  kafka_produce_cpu_s_per_gb = { title = "producer-perf: broker CPU", unit = "s/GB" },
  kafka_produce_p99_ms = { title = "producer-perf: p99", unit = "ms" },
  kafka_consume_mb_per_s = { title = "consumer-perf: throughput", unit = "MB/s" },
  kafka_consume_cpu_s_per_gb = { title = "consumer-perf: broker CPU", unit = "s/GB" },
  kafka_e2e_mean_ms = { title = "e2e-latency: mean", unit = "ms" },
  kafka_e2e_p99_ms = { title = "e2e-latency: p99", unit = "ms" },
  kcat_produce_mb_per_s = { title = "kcat -P: throughput", unit = "MB/s" },
  kcat_produce_cpu_s_per_gb = { title = "kcat -P: broker CPU", unit = "s/GB" },
  kcat_consume_mb_per_s = { title = "kcat -C: throughput", unit = "MB/s" },
  kcat_consume_cpu_s_per_gb = { title = "kcat -C: broker CPU", unit = "s/GB" },
}

--- A figure of all scenarios by its key; one that a scenario brings itself is returned as it is.
---
---@param figure string|bench.Figure
---@return bench.Figure
function M.get(figure)
  if type(figure) == "table" then return figure end
  local known = ALL[figure] or error(("no figure is called '%s'"):format(figure), 2)
  return { key = figure, title = known.title, unit = known.unit }
end

--- A number with three significant digits, thousands set off.
---
---@param value number?
---@return string
function M.number(value)
  if not value then return "-" end
  local size = math.abs(value)
  if size >= 1000 then
    local text = ("%.0f"):format(value)
    local done = 1
    while done > 0 do text, done = text:gsub("^(-?%d+)(%d%d%d)", "%1,%2") end
    return text
  end
  return (size >= 100 and "%.0f" or size >= 10 and "%.1f" or size >= 1 and "%.2f" or "%.3f"):format(value)
end

return M
