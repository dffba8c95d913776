-- SPDX-License-Identifier: Apache-2.0
-- compaction(): how far the log cleaner is, and what went wrong. The numbers come from the cleaner itself
-- (core/log/log_manager.h, struct log_cleaning).
local arguments = require "luka.admin.arguments"
local sort = require "luka.sort"
local view = require "luka.view"

local M = {}

---@type luka.Word[]
M.entries = {
  { name = "compaction", group = "topics", type = "fun(part?: string): table[]",
    text = "Compacted topics: how far the cleaner is, and errors.",
    usage = "compaction([part of a topic's name])",
    about = "state: running, dirty (there is something to clean), clean, failed (it is tried again), damaged (it holds what "
      .. "cannot be read, says why, and is left alone until the next start), or off (it was compacted once). A pass is made "
      .. "when dirty_percent reaches min_cleanable_dirty_ratio, of the bytes that may be cleaned: not of the segment that is "
      .. "appended to, nor of what is younger than min_compaction_lag_ms. done_percent is how far the pass is that runs; "
      .. "last_time and what follows are of the last one that ended. metrics \"cleaner\" has the sums. Without a name "
      .. "logs are left out that have nothing in them.",
    example = 'compaction "clicks"', setup = 'create("clicks", { cleanup_policy = "compact" })' },
}

-- A narrow terminal shows the first columns only.
local COLUMNS = { "topic", "partition", "state", "done_percent", "dirty_percent", "dirty_bytes", "clean_bytes", "last_time",
  "took_ms", "kept_records", "read_records", "written_bytes", "read_bytes", "clean_offset", "failed_time", "why" }
--- Columns that are left out where no row has them.
local RARE = { done_percent = true, failed_time = true, why = true }

--- The states, those first that one wants to know of.
local STATES = { "running", "damaged", "failed", "dirty", "clean", "off" }
local PLACES = {}
for place, state in ipairs(STATES) do PLACES[state] = place end

local function percent(part, whole)
  return whole > 0 and math.floor(tonumber(part) * 1000 / tonumber(whole) + 0.5) / 10 or 0
end

local function state_of(log)
  if log.is_running then return "running" end
  if log.is_uncleanable then return "damaged" end
  if not log.is_compacting then return "off" end
  if log.failed then return "failed" end
  return log.dirty_bytes > 0 and "dirty" or "clean"
end

local function is_empty(log)
  return log.dirty_bytes == 0 and log.clean_bytes == 0 and not log.finished and not log.failed
end

local function row_of(log)
  return { topic = log.topic, partition = log.partition, state = state_of(log),
    -- What is to be done is known at most: a pass may end with less.
    done_percent = log.is_running and math.min(percent(log.done_bytes, log.total_bytes), 100) or nil,
    dirty_percent = percent(log.dirty_bytes, log.dirty_bytes + log.clean_bytes), dirty_bytes = log.dirty_bytes,
    clean_bytes = log.clean_bytes, clean_offset = log.clean_offset, last_time = log.finished, took_ms = log.took_ms,
    kept_records = log.kept_records, read_records = log.read_records, written_bytes = log.written_bytes,
    read_bytes = log.read_bytes, failed_time = log.failed, why = log.error }
end

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local words = {}

  function words.compaction(part)
    if part ~= nil and type(part) ~= "string" then
      arguments.refuse("compaction", part, 'a part of a topic\'s name: "clicks"')
    end
    local rows = {}
    for _, log in ipairs(context.task.await(context.native.compaction())) do
      -- Logs without anything in them, most of those of the broker's own topics, would fill the screen.
      local is_meant = part and log.topic:find(part, 1, true) or not part and not is_empty(log)
      if is_meant then rows[#rows + 1] = row_of(log) end
    end
    sort(rows, function(a, b)
      if a.state ~= b.state then return PLACES[a.state] < PLACES[b.state] end
      if a.dirty_bytes ~= b.dirty_bytes then return a.dirty_bytes > b.dirty_bytes end
      if a.topic ~= b.topic then return a.topic < b.topic end
      return a.partition < b.partition
    end)
    return view.list(rows, view.used(rows, COLUMNS, RARE))
  end

  return words
end

return M
