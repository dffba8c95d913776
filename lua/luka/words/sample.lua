-- SPDX-License-Identifier: Apache-2.0
-- The broker's metrics (core/base/metrics.h) as words work with them: names, what several samples of one thing say
-- together, and how two of them some time apart differ.
local M = {}

---@class (exact) luka.Sample
---@field name string  "request.count"
---@field label string?  "Produce"
---@field kind "counter"|"gauge"|"latency"
---@field text string
---@field value integer
---@field sum_us integer?  of a latency, as the next ones
---@field max_us integer?
---@field buckets { from: integer, upto: integer, count: integer }[]?  us; in rising order, none of them empty

--- What is shown of a latency, in this order.
M.LATENCIES = { "mean_ms", "p50_ms", "p99_ms", "max_ms" }

--- The name of a sample: what it is of stands behind the section, "request.Produce.count".
---
---@param sample luka.Sample
---@return string
function M.name(sample)
  if not sample.label then return sample.name end
  local section, rest = sample.name:match "^([^.]+)%.(.*)$"
  return ("%s.%s.%s"):format(section, sample.label, rest)
end

local function ms_of(us) return math.floor(us + 0.5) / 1000 end

--- The value below which a part of all lie. Within its bucket they are taken to be spread evenly.
local function quantile(sample, part)
  local wanted, seen = part * sample.value, 0
  for _, bucket in ipairs(sample.buckets) do
    if seen + bucket.count >= wanted then
      local us = bucket.from + (bucket.upto - bucket.from) * (wanted - seen) / bucket.count
      return math.min(us, sample.max_us)
    end
    seen = seen + bucket.count
  end
  return sample.max_us
end

--- What is shown of a latency: LATENCIES by name; nothing when nothing was counted.
---
---@param sample luka.Sample
---@return table<string, number>
function M.latencies(sample)
  if sample.value == 0 then return {} end
  return { mean_ms = ms_of(sample.sum_us / sample.value), p50_ms = ms_of(quantile(sample, 0.5)),
    p99_ms = ms_of(quantile(sample, 0.99)), max_ms = ms_of(sample.max_us) }
end

--- The latency of what was counted between two samples; the largest value is known as exactly as its bucket.
---
---@param before luka.Sample
---@param after luka.Sample
---@return luka.Sample
function M.difference(before, after)
  local earlier, buckets, max_us = {}, {}, 0
  for _, bucket in ipairs(before.buckets) do earlier[bucket.from] = bucket.count end
  for _, bucket in ipairs(after.buckets) do
    local count = bucket.count - (earlier[bucket.from] or 0)
    if count > 0 then
      buckets[#buckets + 1] = { from = bucket.from, upto = bucket.upto, count = count }
      max_us = math.min(bucket.upto, after.max_us)
    end
  end
  return { name = after.name, label = after.label, kind = after.kind, text = after.text, buckets = buckets,
    value = after.value - before.value, sum_us = after.sum_us - before.sum_us, max_us = max_us }
end

--- All metrics at this moment, by name; those with a label are tables by label.
---
---@param context luka.Words.Context
---@param has_topics boolean  those of single topics too
---@return table<string, luka.Sample|table<string, luka.Sample>>
function M.take(context, has_topics)
  local out = {}
  for _, sample in ipairs(context.task.await(context.native.metrics(has_topics))) do
    if sample.label then
      out[sample.name] = out[sample.name] or {}
      out[sample.name][sample.label] = sample
    else
      out[sample.name] = sample
    end
  end
  return out
end

return M
