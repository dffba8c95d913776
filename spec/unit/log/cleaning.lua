-- SPDX-License-Identifier: Apache-2.0
-- Compacted logs for specs: filled with keys and values, cleaned by log_clean(), and read back record by record.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local logs = require "spec.unit.log.logs"

local L = unit.load("log/log_clean.h", "log/log_transactions.h")

local M = { C = logs.C, L = L, logs = logs, batches = batches, NOW = tonumber(logs.NOW) }

local NULL = {}

--- Stands for a null value among records, a tombstone.
M.NULL = NULL

--- Settings of a pass, as the specs want them; `over` replaces members.
function M.settings(over)
  local settings = ffi.new("struct log_clean_settings", { map_bytes = 1048576, map_load = 0.9, io_bytes = 65536 })
  for name, value in pairs(over or {}) do settings[name] = value end
  return settings
end

--- A compacted log. options: as logs.open(), config on top of small segments; in_memory: its folder is.
function M.open(options)
  options = options or {}
  local config = { segment_bytes = 1000, is_compacting = true, is_compacted = true, is_deleting = false,
    min_dirty_ratio = 0, file_delete_delay_ms = 0 }
  for name, value in pairs(options.config or {}) do config[name] = value end
  local dir = options.dir or (options.in_memory and unit.temp_dir(true) .. "/topic-0") or nil
  return assert(logs.open { dir = dir, config = config, is_clean = options.is_clean, start = options.start,
    recovery_point = options.recovery_point, clean_offset = options.clean_offset, is_collecting = options.is_collecting })
end

--- A batch: { { key, value } ... }, value NULL for a tombstone, key false for none; options as batches.batch().
function M.batch(records, options)
  local list = {}
  for i, record in ipairs(records) do
    list[i] = { key = record[1] or nil, value = record[2] ~= NULL and record[2] or nil, ts = record.ts, delta = record.delta,
      headers = record.headers }
  end
  local all = { records = list, ts = M.NOW }
  for name, value in pairs(options or {}) do all[name] = value end
  return batches.batch(all)
end

--- Appends one batch; returns its base offset.
function M.put(log, records, options)
  return assert(log:append(M.batch(records, options), { epoch = options and options.epoch }), log.results and log.results[1])[1]
end

--- Ends the active segment, so that it may be cleaned.
function M.roll(log) assert(logs.C.log_roll(log.log, logs.NOW) == 0) end

--- What a look at the log says.
function M.look(log, options)
  options = options or {}
  local look = ffi.new "struct log_clean_look"
  local result = L.log_clean_look(log.log, options.stable or log:end_offset(), options.now or M.NOW, look)
  assert(result == 0, logs.name(result))
  return { first = tonumber(look.first_dirty_offset), ["end"] = tonumber(look.end_offset), clean = tonumber(look.clean_bytes),
    dirty = tonumber(look.dirty_bytes), overdue = tonumber(look.overdue_ms), ratio = look.dirty_ratio, is_due = look.is_due }, look
end

--- Makes a pass; returns its counts, or nil, the error's name and message. options: stable, now, settings.
function M.clean(log, options)
  options = options or {}
  local _, look = M.look(log, options)
  local counts = ffi.new "struct log_clean_counts"
  local result = L.log_clean(log.log, look, options.now or M.NOW, M.settings(options.settings), counts)
  if result < 0 then return nil, logs.name(result), ffi.string(logs.C.error_last().message) end
  logs.turn()
  return { keys = tonumber(counts.keys), read = tonumber(counts.read_records), kept = tonumber(counts.kept_records),
    keyless = tonumber(counts.keyless_records), before = counts.segments_before, after = counts.segments_after,
    first = tonumber(counts.first_offset), ["end"] = tonumber(counts.end_offset), is_full = counts.is_full,
    read_bytes = tonumber(counts.read_bytes), written_bytes = tonumber(counts.written_bytes) }
end

--- All batches of a log: { base, last, bytes, header, records }.
function M.batches_of(log)
  local list, at = {}, log:start_offset()
  while at < log:end_offset() do
    local bytes = assert(log:read(at, { max = 2147483647 }))
    if #bytes == 0 then break end
    for _, batch in ipairs(logs.split(bytes)) do
      local _, header = batches.header(batch.bytes)
      batch.header, batch.records = header, assert(batches.read(batch.bytes))
      list[#list + 1] = batch
      at = batch.last + 1
    end
  end
  return list
end

--- All records that consumers see: { { offset, key, value or NULL } ... }.
function M.records(log)
  local list = {}
  for _, batch in ipairs(M.batches_of(log)) do
    for _, record in ipairs(batch.records) do
      if not batches.is_control(batch.header) then
        list[#list + 1] = { tonumber(record.offset), record.key, record.value or NULL }
      end
    end
  end
  return list
end

--- The newest value of each key, NULL for a tombstone.
function M.latest(log)
  local latest = {}
  for _, record in ipairs(M.records(log)) do latest[record[2]] = record[3] end
  return latest
end

--- Closes or crashes a log, and opens it again, with what a checkpoint would say of it.
function M.reopen(log, is_clean, options)
  local clean_offset = tonumber(logs.C.log_clean_offset(log.log))
  if is_clean then assert(log:close() == 0) else log:crash() end
  local all = { dir = log.dir, is_clean = is_clean, clean_offset = clean_offset }
  for name, value in pairs(options or {}) do all[name] = value end
  return M.open(all)
end

return M
