-- SPDX-License-Identifier: Apache-2.0
-- Log managers for specs: directories, wanted logs, appended records, and what lies on disk afterwards.
local ffi = require "ffi"
local fcntl = require "posix.fcntl"
local unistd = require "posix.unistd"
local unit = require "spec.support.unit"

local C = unit.load("base/epoch.h", "base/error.h", "base/mem.h", "os/clock.h", "os/dir.h", "os/errinj.h", "record/build.h",
  "log/log.h", "log/log_manager.h", "log/retention.h", "log_manager_driver.h")

ffi.cdef "int usleep(unsigned int us);"

local M = { C = C }

-- Everything in the core happens inside the epoch; collecting needs a moment outside.
local epoch = ffi.new "struct epoch_thread"
M.epoch = epoch -- registered, so it must not be collected
C.epoch_register(epoch)
C.epoch_enter()

--- Frees what was retired.
function M.collect()
  C.epoch_leave()
  C.epoch_collect()
  C.epoch_enter()
end

function M.message() return ffi.string(C.error_last().message) end

--- A topic id from one letter.
function M.id(letter)
  local id = ffi.new "struct uuid"
  ffi.fill(id, 16, letter:byte())
  return id
end

--- A config for a manager over `dirs`; `over` replaces members. What it points to lives as long as the second result.
function M.config(dirs, over)
  local config = ffi.new "struct log_manager_config"
  local list = ffi.new("const char *[?]", #dirs)
  for i, dir in ipairs(dirs) do list[i - 1] = dir end
  config.dirs, config.dir_count, config.node_id, config.recovery_threads = list, #dirs, -1, 2
  config.retention_check_ms, config.flush_checkpoint_ms = 3600000, 3600000
  config.start_offset_checkpoint_ms, config.high_watermark_checkpoint_ms = 3600000, 3600000
  for key, value in pairs(over or {}) do config[key] = value end
  return config, { list, dirs, over }
end

--- A manager without loop and pool, or nil, code, message.
function M.new(dirs, over)
  local config, keep = M.config(dirs, over)
  local out = ffi.new "struct log_manager *[1]"
  local result = C.log_manager_new(config, out)
  if result < 0 then return nil, result, M.message() end
  return out[0], keep
end

--- One that is claimed and started with `list` of { topic, partition, id, is_new }; returns the manager and the wanted logs.
function M.started(dirs, list, over)
  local mgr = assert(M.new(dirs, over))
  assert(C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb") == 0, M.message())
  local wanted = M.wanted(list or {})
  assert(C.log_manager_start(mgr, wanted.array, wanted.count, false) == 0, M.message())
  return mgr, wanted
end

--- Logs to open: .array for C, [i] for Lua.
function M.wanted(list)
  local out = { array = ffi.new("struct log_wanted[?]", #list + 1), count = #list }
  for i, item in ipairs(list) do
    local one = out.array[i - 1]
    local config = ffi.new "struct log_config"
    C.log_config_default(config)
    for key, value in pairs(item.config or {}) do config[key] = value end
    one.topic, one.partition, one.topic_id = item[1], item[2], item[3] or M.id "t"
    one.config, one.is_new, one.owner = config, item.is_new ~= false, ffi.cast("void *", item.owner or 0)
    out[i] = one
    out["keep" .. i] = { config, item }
  end
  return out
end

--- Opens one log on a running manager: the log or nil, code, message.
function M.open(mgr, topic, partition, id, over)
  local item = { topic, partition, id }
  for key, value in pairs(over or {}) do item[key] = value end
  local wanted = M.wanted { item }
  local result = C.log_manager_open_log(mgr, wanted.array)
  assert(result == wanted[1].error, "the result and the error differ")
  if result < 0 then return nil, result, M.message() end
  return wanted[1].log, wanted
end

--- Appends a batch with one record of `size` bytes (100) and that timestamp (now); returns its offset or nil, code.
function M.append(log, size, timestamp)
  local options, builder = ffi.new "struct batch_options", ffi.new "struct batch_builder"
  C.batch_options_init(options)
  C.batch_builder_init(builder, options)
  local value = ("x"):rep(size or 100)
  local record = ffi.new("struct record_input",
    { timestamp = timestamp or C.clock_wall_ms(), key_size = -1, value = ffi.cast("const uint8_t *", value), value_size = #value })
  assert(C.batch_builder_add(builder, record) == 0)
  local bytes, length = ffi.new "uint8_t *[1]", ffi.new "size_t[1]"
  assert(C.batch_builder_finish(builder, bytes, length) == 0)
  local batch = ffi.new("struct log_batch[1]")
  batch[0].bytes, batch[0].size, batch[0].max_timestamp = bytes[0], length[0], record.timestamp
  local result = C.log_append(log, batch, 1, 0, C.clock_wall_ms())
  C.batch_builder_destroy(builder)
  if result < 0 then return nil, result end
  return tonumber(batch[0].base_offset)
end

function M.offsets(log)
  return { start = tonumber(C.log_start_offset(log)), ["end"] = tonumber(C.log_end_offset(log)),
    recovery = tonumber(C.log_recovery_point(log)), segments = C.log_segment_count(log), bytes = tonumber(C.log_size_bytes(log)) }
end

--- Names in a folder, sorted; nil when there is none.
function M.names(dir)
  local pipe = assert(io.popen(("LC_ALL=C ls -A '%s' 2>/dev/null"):format(dir)))
  local out = {}
  for name in pipe:lines() do out[#out + 1] = name end
  pipe:close()
  return out
end

--- The first name in a folder that matches, or nil.
function M.name_like(dir, pattern)
  for _, name in ipairs(M.names(dir)) do
    if name:match(pattern) then return name end
  end
end

--- A checkpoint's lines, sorted, as one text per line.
function M.checkpoint(dir, name)
  local text = unit.read_file(dir .. "/" .. name)
  if not text then return nil end
  local out = {}
  for line in text:gmatch "[^\n]+" do out[#out + 1] = line end
  table.remove(out, 1)
  assert(tonumber(table.remove(out, 1)) == #out, "the count does not fit")
  table.sort(out)
  return out
end

--- Lines that a function prints on standard error, without their times.
function M.lines_of(fn)
  io.stderr:flush()
  local path = unit.temp_dir() .. "/stderr"
  local kept = assert(unistd.dup(2))
  local fd = assert(fcntl.open(path, fcntl.O_WRONLY + fcntl.O_CREAT + fcntl.O_TRUNC, 420))
  unistd.dup2(fd, 2)
  unistd.close(fd)
  local ok, err = pcall(fn)
  unistd.dup2(kept, 2)
  unistd.close(kept)
  if not ok then error(err, 0) end
  local lines = {}
  for line in unit.read_file(path):gmatch "[^\n]+" do lines[#lines + 1] = line:match "^%S+ (.*)$" end
  return lines
end

--- Waits until `condition` gives a true value, at most 10 s; returns it.
function M.wait(condition)
  local deadline = C.clock_mono_ms() + 10000
  repeat
    local value = condition()
    if value then return value end
    C.usleep(2000)
  until C.clock_mono_ms() > deadline
  return nil
end

return M
