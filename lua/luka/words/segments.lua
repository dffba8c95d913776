-- SPDX-License-Identifier: Apache-2.0
-- What lies in a topic's logs: logs(), segments() and retention_plan() of topic objects. They show the replicas of the
-- broker whose console this is; the numbers come from core/replica/inspect.h, and what retention would do from the code
-- that does it.
local arguments = require "luka.admin.arguments"
local errors = require "luka.errors"
local policies = require "luka.words.policies"
local text = require "luka.words.text"
local view = require "luka.view"

local M = {}

local SETUP = require("luka.words.topic").SETUP

---@type luka.Word[]
M.entries = {
  { name = "topic:logs", group = "topics", type = "fun(self: luka.TopicObject, partition?: integer): table[]",
    text = "Its logs on this broker: offsets, size, segments, folder.",
    usage = 'topic "name":logs([partition])',
    about = "Everything below the recovery point is on disk for sure; below the high watermark it is there for consumers.",
    example = 'topic "clicks":logs()', setup = SETUP },
  { name = "topic:segments", group = "topics", type = "fun(self: luka.TopicObject, partition?: integer): table[]",
    text = "The segments of its logs here: offsets, size, age, file.",
    usage = 'topic "name":segments([partition])',
    about = "A segment is the file that records are appended to; when it is full, or too old, the next one is begun. The "
      .. "age counts from the newest record, which is what retention goes by. A file that is not open is opened when it is "
      .. "read.",
    example = 'topic "clicks":segments(0)', setup = SETUP },
  { name = "topic:retention_plan", group = "topics",
    type = "fun(self: luka.TopicObject, partition?: integer): table[]",
    text = "Which segments retention deletes, by which rule, and when.",
    usage = 'topic "name":retention_plan([partition])',
    about = "goes says whether the next retention pass deletes the segment. Segments go whole, oldest first: one that "
      .. "stays keeps all newer ones. due_time is when the pass is made that takes the segment if nothing more is "
      .. "appended; without one nobody knows, or it never goes. Where config.lua has a function retention for the topic, "
      .. "that decides, and rule is \"policy\". Passes are made every log_retention_check_interval_ms.",
    example = 'topic "clicks":retention_plan()', setup = SETUP },
}

--- What goes by its place, whatever a function says of other segments.
local BY_PLACE = { log_start_offset = true, high_watermark = true }

local LOGS = { "partition", "role", "log_start_offset", "high_watermark", "end_offset", "recovery_point", "segments",
  "size_bytes", "path" }
-- A narrow terminal shows the first columns only.
local SEGMENTS = { "partition", "base_offset", "next_offset", "size_bytes", "age_ms", "active", "open", "newest_time",
  "index_bytes", "time_index_bytes", "retention", "path" }
local PLAN = { "partition", "base_offset", "goes", "why", "size_bytes", "due_time", "newest_time", "next_offset", "rule" }

--- What the broker knows of a topic's partitions here.
local function look(context, method, name, partition)
  partition = arguments.optional_integer(method .. ": partition", partition, 0, 2 ^ 31 - 1)
  local seen, missing, count = context.task.await(context.native.segments(name, partition or -1))
  if seen then return seen end
  if missing == "topic" then errors.raise("UNKNOWN_TOPIC_OR_PARTITION", 'there is no topic "%s"', name) end
  errors.raise("UNKNOWN_TOPIC_OR_PARTITION", 'topic "%s" has no partition %d, only %s', name, partition,
    count == 1 and "0" or ("0 to %d"):format(count - 1))
end

--- Says what is not shown.
local function note(context, seen)
  for _, log in ipairs(seen) do
    if log.role == "offline" then
      context.task.print(("partition %d is offline: its disk failed, or its log did not open"):format(log.partition))
    elseif log.is_cut then
      context.task.print(("partition %d has more segments than are shown: ask for it alone"):format(log.partition))
    end
  end
end

--- Rows of all segments.
local function rows_of(seen, make)
  local rows = {}
  for _, log in ipairs(seen) do
    for _, segment in ipairs(log) do rows[#rows + 1] = make(log, segment) end
  end
  return rows
end

--- Milliseconds since the newest record, or the last append when no record has a time.
local function age_of(seen, segment)
  local age = tonumber(seen.now - (segment.max_timestamp or segment.modified))
  return age > 0 and age or 0
end

local function duration(ms) return ms < 1000 and ("%d ms"):format(tonumber(ms)) or text.duration(ms) end

--- Rule and sentence for each reason of the core (enum log_retention_reason).
---@type table<string, { [1]: string, [2]: fun(log: table): string }>
local REASONS = {
  retention_ms = { "retention_ms", function(log) return ("older than %s"):format(duration(log.retention_ms)) end },
  retention_bytes = { "retention_bytes", function(log)
    return ("the newer segments alone have %s"):format(text.size(log.retention_bytes))
  end },
  log_start_offset = { "log_start_offset", function(log)
    return ("before the log start offset %s"):format(arguments.digits(log.log_start_offset))
  end },
  young = { "retention_ms", function(log) return ("not older than %s yet"):format(duration(log.retention_ms)) end },
  small = { "retention_bytes", function(log)
    return ("the newer segments alone have less than %s"):format(text.size(log.retention_bytes))
  end },
  active = { "active", function() return "the segment that is appended to; retention_bytes spares it" end },
  empty = { "active", function() return "the segment that is appended to, and empty" end },
  high_watermark = { "high_watermark", function(log)
    return ("not wholly before the high watermark %s"):format(arguments.digits(log.high_watermark))
  end },
  unlimited = { "no limit", function() return "neither retention_ms nor retention_bytes sets a limit" end },
  compacted = { "cleanup_policy", function() return "cleanup_policy does not say delete" end },
  behind = { "older segment", function() return "it may go, but an older one stays" end },
}

local function why_of(log, segment, has_policy)
  if has_policy and segment.reason == "active" then return "the segment that is appended to; no function is asked about it" end
  local why = REASONS[segment.reason][2](log)
  if segment.is_future then why = why .. ", by the file's time: its newest record is of the future" end
  return why
end

--- Whether a function of the configuration decides on a segment.
local function is_by_policy(seen, segment)
  return seen.has_policy and not segment.is_active and not BY_PLACE[segment.reason]
end

M.topic_methods = {}

function M.topic_methods.logs(context, name, partition)
  local seen = look(context, "logs", name, partition)
  local rows = {}
  for _, log in ipairs(seen) do
    if log.is_here then
      log.segments, log.path = log.dir and #log, log.dir
      rows[#rows + 1] = log
    end
  end
  return view.list(rows, LOGS)
end

function M.topic_methods.segments(context, name, partition)
  local seen = look(context, "segments", name, partition)
  note(context, seen)
  local rows = rows_of(seen, function(log, segment)
    return { partition = log.partition, base_offset = segment.base_offset, next_offset = segment.next_offset,
      size_bytes = segment.size_bytes, newest_time = segment.max_timestamp, age_ms = age_of(seen, segment),
      active = segment.is_active, open = segment.is_open, index_bytes = segment.offset_index_bytes,
      time_index_bytes = segment.time_index_bytes, path = segment.path,
      retention = is_by_policy(seen, segment) and "policy" or nil }
  end)
  return view.list(rows, view.used(rows, SEGMENTS, { retention = true }))
end

function M.topic_methods.retention_plan(context, name, partition)
  local seen = look(context, "retention_plan", name, partition)
  note(context, seen)
  local file = seen.has_policy and (policies.of_topic(context, name) or {}).retention
  return view.list(rows_of(seen, function(log, segment)
    if is_by_policy(seen, segment) then
      return { topic = name, partition = log.partition, base_offset = segment.base_offset, next_offset = segment.next_offset,
        size_bytes = segment.size_bytes, newest_time = segment.max_timestamp, rule = "policy",
        why = ("its function retention decides, %s"):format(file or "config.lua") }
    end
    if seen.has_policy and segment.is_active then
      -- Closed by retention_ms at most: no function is asked about it.
      segment.is_going, segment.reason, segment.due, segment.is_future = false, "active", nil, nil
    end
    return { topic = name, partition = log.partition, base_offset = segment.base_offset, next_offset = segment.next_offset,
      size_bytes = segment.size_bytes, newest_time = segment.max_timestamp, goes = segment.is_going,
      rule = REASONS[segment.reason][1], due_time = segment.due, why = why_of(log, segment, seen.has_policy) }
  end), PLAN)
end

--- No words but the methods.
---@return table
function M.new() return {} end

return M
