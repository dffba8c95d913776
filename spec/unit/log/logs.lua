-- SPDX-License-Identifier: Apache-2.0
-- Opens, fills and reads logs for the specs of core/log, through the C functions, and looks at their files.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"

local C = unit.load("base/epoch.h", "os/errinj.h", "os/file.h", "log/log.h", "log/log_file.h", "log/log_file_private.h",
  "log/segment.h", "log/tail.h", "log/leader_epochs.h", "log/header_scan.h", "log/map_guard.h", "log/index_file.h")

ffi.cdef [[
  int open(const char *path, int flags, ...);
  int dup(int fd);
  int dup2(int from, int to);
  int close(int fd);
  int truncate(const char *path, int64_t size);
  int utimes(const char *path, const void *times);
]]

local M = { C = C, NOW = 1700000000000LL }

-- The whole spec is one thread, which reads and appends: inside the epoch.
M.thread = ffi.new "struct epoch_thread"
C.epoch_register(M.thread)
C.epoch_enter()

--- Frees what was retired, as the end of a loop's turn does.
function M.turn()
  C.epoch_leave()
  C.epoch_collect()
  C.epoch_enter()
end

--- Name of an error code; what is none stays a number.
function M.name(code)
  code = tonumber(code)
  return code < 0 and batches.name(code) or code
end

--- A batch of one record that takes `size` bytes in all (or as batches.batch makes it).
function M.batch(options)
  options = options or {}
  if not options.size then return batches.batch(options) end
  local size = options.size
  options.size = nil
  local least = #batches.batch(setmetatable({ records = { "" } }, { __index = options }))
  for filling = math.max(size - least - 8, 0), size - least do
    options.records = { ("x"):rep(filling) }
    local bytes = batches.batch(options)
    if #bytes == size then return bytes end
  end
  error(("no batch has %d bytes"):format(size))
end

local log_methods = {}
local log_meta = { __index = log_methods }

--- Defaults are Kafka's; `options.config` overrides them.
function M.config(overrides)
  local config = ffi.new "struct log_config"
  C.log_config_default(config)
  for name, value in pairs(overrides or {}) do config[name] = value end
  return config
end

--- Opens a log. options: dir, config, recovery_point, start, clean_offset, is_clean, topic_id, now. Returns nil and the error's name.
function M.open(options)
  options = options or {}
  local dir = options.dir or unit.temp_dir() .. "/topic-0"
  local self = setmetatable({ dir = dir, deleted = {}, rolled = {} }, log_meta)
  local args = ffi.new("struct log_open_args", { dir = dir, config = M.config(options.config),
    recovery_point = options.recovery_point or 0, log_start_offset = options.start or 0, now_ms = options.now or M.NOW,
    is_clean = options.is_clean or false, clean_offset = options.clean_offset or -1 })
  if options.topic_id then args.topic_id = options.topic_id end
  if options.is_collecting then
    self.callback = ffi.cast("void (*)(void *, struct log_deleted *)", function(_, deleted)
      self.deleted[#self.deleted + 1] = deleted
    end)
    args.on_deleted = self.callback
  end
  local out = ffi.new "struct log *[1]"
  local code = C.log_open(args, out)
  if code < 0 then return nil, M.name(code), ffi.string(C.error_last().message) end
  self.log = out[0]
  return self
end

--- Appends byte strings; returns the base offsets, or nil, the error's name and the results. Leaves in `results` what
--- became of each, and in `duplicates` the stored timestamp of those that were stored before.
function log_methods:append(list, options)
  options = options or {}
  if type(list) == "string" then list = { list } end
  local array, buffers = ffi.new("struct log_batch[?]", #list), {}
  for i, bytes in ipairs(list) do
    local buffer = unit.buffer(bytes)
    buffers[i] = buffer
    local header = ffi.new "struct batch_header"
    assert(C.batch_header_read(buffer, #bytes, header) == 0)
    array[i - 1] = { bytes = buffer, size = #bytes, last_offset_delta = header.last_offset_delta,
      max_timestamp = header.max_timestamp, base_offset = header.base_offset }
  end
  local now = options.now or M.NOW
  self.buffers = buffers -- alive during the call
  local code = options.is_follower and C.log_append_as_follower(self.log, array, #list, now)
    or C.log_append(self.log, array, #list, options.epoch or 0, now)
  local offsets, results, duplicates = {}, {}, {}
  for i = 1, #list do
    offsets[i] = tonumber(array[i - 1].base_offset)
    results[i] = M.name(array[i - 1].result)
    duplicates[i] = array[i - 1].is_duplicate and tonumber(array[i - 1].stored_timestamp)
  end
  self.offsets, self.results, self.duplicates = offsets, results, duplicates
  if code < 0 then return nil, M.name(code), results end
  return offsets
end

--- The slice that a read gives. options: limit, max, first (whole_first_batch), is_cold.
function log_methods:slice(offset, options)
  options = options or {}
  local args = ffi.new("struct log_read_args", { offset = offset, limit_offset = options.limit or self:end_offset(),
    max_bytes = options.max or 1048576, whole_first_batch = options.first ~= false })
  local slice = ffi.new "struct log_slice"
  local code = (options.is_cold and C.log_read_cold or C.log_read)(self.log, args, slice)
  if code < 0 then return nil, M.name(code) end
  return slice
end

--- Bytes of a slice.
function M.slice_bytes(slice)
  if slice.length == 0 then return "" end
  local buffer = ffi.new("uint8_t[?]", slice.length)
  assert(C.file_read_at(C.log_file_fd(slice.file), buffer, slice.length, slice.pos) == 0)
  return ffi.string(buffer, slice.length)
end

--- Bytes that a read gives, waiting for the disk; nil and the error's name.
function log_methods:read(offset, options)
  options = options or {}
  options.is_cold = true
  local slice, err = self:slice(offset, options)
  if not slice then return nil, err end
  local bytes = M.slice_bytes(slice)
  C.log_slice_release(slice)
  return bytes
end

--- Splits bytes into batches: { base, last, epoch, size, max_ts, bytes }; a cut last one has only `cut`.
function M.split(bytes)
  local list, at = {}, 1
  while at <= #bytes do
    local header = ffi.new "struct batch_header"
    local left = bytes:sub(at)
    if C.batch_header_read(unit.buffer(left), #left, header) < 0 then
      list[#list + 1] = { cut = #left }
      break
    end
    local size = tonumber(header.size)
    list[#list + 1] = { base = tonumber(header.base_offset), last = tonumber(header.base_offset) + header.last_offset_delta,
      epoch = header.leader_epoch, size = size, max_ts = tonumber(header.max_timestamp), bytes = left:sub(1, size) }
    at = at + size
  end
  return list
end

--- Base offsets of all batches from `offset` to the end, over all segments.
function log_methods:bases(offset)
  local bases, at = {}, offset or tonumber(C.log_start_offset(self.log))
  while at < self:end_offset() do
    local bytes, err = self:read(at, { max = 2147483647 })
    assert(bytes and #bytes > 0, err or "nothing at offset " .. at)
    for _, batch in ipairs(M.split(bytes)) do
      bases[#bases + 1] = batch.base
      at = batch.last + 1
    end
  end
  return bases
end

function log_methods:end_offset() return tonumber(C.log_end_offset(self.log)) end

function log_methods:start_offset() return tonumber(C.log_start_offset(self.log)) end

--- { segments = base offsets, sizes = bytes of each }.
function log_methods:segments()
  local infos = ffi.new "struct log_segment_info[100]"
  local bases, sizes = {}, {}
  for i = 1, C.log_segments(self.log, infos, 100) do
    bases[i], sizes[i] = tonumber(infos[i - 1].base_offset), tonumber(infos[i - 1].size_bytes)
  end
  return bases, sizes
end

function log_methods:by_time(timestamp, limit)
  local found = ffi.new "struct log_time_offset"
  local code = C.log_offset_by_time(self.log, timestamp, limit or self:end_offset(), found)
  if code < 0 then return nil, M.name(code) end
  return { tonumber(found.offset), tonumber(found.timestamp), found.leader_epoch }
end

function log_methods:newest(limit)
  local found = ffi.new "struct log_time_offset"
  local code = C.log_max_timestamp(self.log, limit or self:end_offset(), found)
  if code < 0 then return nil, M.name(code) end
  return { tonumber(found.offset), tonumber(found.timestamp), found.leader_epoch }
end

--- Ends it cleanly; returns the error's name or 0.
function log_methods:close()
  local code = C.log_close(self.log)
  M.turn()
  return M.name(code)
end

--- As a crash would: nothing more is written.
function log_methods:crash()
  C.log_discard(self.log)
  M.turn()
end

--- Path of a segment's file.
function log_methods:path(base, suffix) return ("%s/%020d%s"):format(self.dir, base, suffix) end

function log_methods:file(base, suffix) return unit.read_file(self:path(base, suffix)) end

--- Names in the folder, sorted.
function log_methods:names()
  local pipe = assert(io.popen(("ls -1 '%s' | LC_ALL=C sort"):format(self.dir)))
  local names = {}
  for name in pipe:lines() do names[#names + 1] = name end
  pipe:close()
  return names
end

--- Lines that a function prints on standard error.
function M.lines_of(fn)
  io.stderr:flush()
  local path = unit.temp_dir() .. "/stderr"
  local kept = C.dup(2)
  local fd = C.open(path, 577, ffi.cast("int", 420)) -- O_WRONLY | O_CREAT | O_TRUNC, 0644
  C.dup2(fd, 2)
  C.close(fd)
  local ok, err = pcall(fn)
  C.dup2(kept, 2)
  C.close(kept)
  if not ok then error(err, 0) end
  local lines = {}
  for line in unit.read_file(path):gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end

return M
