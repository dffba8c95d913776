-- SPDX-License-Identifier: Apache-2.0
-- requests() and rates(): what the broker is asked for and how fast it answers; what flows through its topics.
local arguments = require "luka.admin.arguments"
local errors = require "luka.errors"
local sample = require "luka.words.sample"
local sort = require "luka.sort"
local text = require "luka.words.text"
local view = require "luka.view"

local M = {}

---@type luka.Word[]
M.entries = {
  { name = "requests", group = "broker", type = "fun(part_or_seconds?: string|number, seconds?: number): table[]",
    text = "Requests by kind: how many, errors, how long they take.",
    usage = "requests([part of a name] [, seconds])",
    about = "Since the start of the broker; with seconds only those that are answered while it waits for so long, and how "
      .. "many a second.\n\nA request's time runs from the moment in which the broker has it whole to that in which its "
      .. "answer is ready to be sent. What it waits for on purpose is part of it: a Fetch waits for records, a JoinGroup "
      .. "for the other members, a Produce with acks=all for other replicas. p50_ms is what half of them stay below, "
      .. "p99_ms what all but one in a hundred do; both are right to an eighth.",
    example = 'requests "topics"', setup = "topics()" },
  { name = "rates", group = "topics", type = "fun(part_or_seconds?: string|number, seconds?: number): table[]",
    text = "What is written to topics and read from them, a second.",
    usage = "rates([part of a topic's name] [, seconds])",
    about = "It looks twice, a second apart unless it is told otherwise. Topics are left out where nothing happened, "
      .. "unless they are asked for by name. Bytes are those of records as they lie in the log: compressed.\n\n"
      .. "watch(1, rates) shows it again and again.",
    example = 'rates("clicks", 0.2)', setup = 'create "clicks"' },
}

local REQUESTS = { "api", "count", "errors", unpack(sample.LATENCIES) }
local REQUESTS_NOW = { "api", "count", "errors", "count_per_s", unpack(sample.LATENCIES) }
local RATES = { "topic", "in_records_per_s", "in_bytes_per_s", "out_bytes_per_s" }

--- Longest time between two looks, seconds.
local LONGEST = 3600

--- A part of a name and seconds, either of which may be missing.
local function arguments_of(word, part, seconds)
  if type(part) == "number" and seconds == nil then part, seconds = nil, part end
  if part ~= nil and type(part) ~= "string" then arguments.refuse(word, part, "a part of a name, or seconds") end
  -- Not a number is not within any bounds.
  if seconds ~= nil and not (type(seconds) == "number" and seconds >= 0.1 and seconds <= LONGEST) then
    arguments.refuse(word .. ": seconds", seconds, ("from 0.1 to %d"):format(LONGEST))
  end
  return part and part:lower(), seconds
end

--- How much a counter rose; one that is smaller than before was begun anew.
local function risen(before, after, name, label)
  local now = (after[name][label] or {}).value or 0
  local earlier = ((before[name] or {})[label] or {}).value or 0
  return now >= earlier and now - earlier or now
end

--- A number that is not longer than it is exact.
local function per_second(count, seconds)
  local rate = tonumber(count) / seconds
  return rate >= 100 and math.floor(rate + 0.5) or math.floor(rate * 100 + 0.5) / 100
end

--- Two looks; both, and the seconds that lie between them.
local function look_twice(context, seconds, has_topics)
  local before = sample.take(context, has_topics)
  context.task.sleep(seconds * 1000)
  local after = sample.take(context, has_topics)
  local ms = after["process.uptime_ms"].value - before["process.uptime_ms"].value
  return before, after, math.max(tonumber(ms), 1) / 1000
end

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local words = {}

  function words.requests(part, seconds)
    part, seconds = arguments_of("requests", part, seconds)
    local before, after, elapsed
    if seconds then before, after, elapsed = look_twice(context, seconds, false) else after = sample.take(context, false) end
    local rows, is_known = {}, false
    for api, latency in pairs(after["request.latency"]) do
      local is_meant = not part or api:lower():find(part, 1, true)
      is_known = is_known or is_meant
      local count = is_meant and risen(before or {}, after, "request.count", api) or 0
      if count > 0 then
        local row = sample.latencies(before and sample.difference(before["request.latency"][api], latency) or latency)
        row.api, row.count, row.errors = api, count, risen(before or {}, after, "request.errors", api)
        row.count_per_s = elapsed and per_second(count, elapsed)
        rows[#rows + 1] = row
      end
    end
    if not is_known then errors.raise("usage", 'requests: no kind of request has "%s" in its name', part:sub(1, 80)) end
    sort(rows, function(a, b) return a.count > b.count or a.count == b.count and a.api < b.api end)
    return view.list(rows, elapsed and REQUESTS_NOW or REQUESTS)
  end

  function words.rates(part, seconds)
    part, seconds = arguments_of("rates", part, seconds)
    local before, after, elapsed = look_twice(context, seconds or 1, true)
    local rows, is_known = {}, not part
    for topic in pairs(after["topic.partitions"] or {}) do
      local is_named = part and topic:lower():find(part, 1, true)
      is_known = is_known or is_named
      local records = risen(before, after, "topic.appended_records", topic)
      local in_bytes = risen(before, after, "topic.appended_bytes", topic)
      local out_bytes = risen(before, after, "topic.fetched_bytes", topic)
      if is_named or not part and in_bytes + out_bytes > 0 then
        rows[#rows + 1] = { topic = topic, in_records_per_s = per_second(records, elapsed),
          in_bytes_per_s = per_second(in_bytes, elapsed), out_bytes_per_s = per_second(out_bytes, elapsed) }
      end
    end
    if not is_known then errors.raise("usage", 'rates: no topic has "%s" in its name', part:sub(1, 80)) end
    sort(rows, function(a, b)
      local left, right = a.in_bytes_per_s + a.out_bytes_per_s, b.in_bytes_per_s + b.out_bytes_per_s
      return left > right or left == right and a.topic < b.topic
    end)
    local function all(name) return (after[name].value - before[name].value) / elapsed end
    context.task.print(("in all %s requests, %s in and %s out a second"):format(per_second(all "network.requests", 1),
      text.size(all "network.received_bytes"), text.size(all "network.sent_bytes")))
    return view.list(rows, RATES)
  end

  return words
end

return M
