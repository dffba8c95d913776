-- SPDX-License-Identifier: Apache-2.0
--
-- A power failure for a broker that a spec started: build/*/faults.so writes down what the broker does to the files below
-- one folder, and cut() leaves the folder as the disk may have it afterwards. What an fsync brought there is there; of
-- what was written since, each write is there or not, or some sectors of it; of the names that were made or changed since
-- the last fsync of their folder, those up to some moment.
--
--   local power = require("spec.support.power").new(folder)
--   local broker = brokers.start { data = folder, env = power.env }
--   broker:kill(); power:cut(random); broker:restart()
local ffi = require "ffi"
local stat = require "posix.sys.stat"
local unistd = require "posix.unistd"
local brokers = require "spec.support.broker"

ffi.cdef [[
  struct spec_power_record {
    uint32_t kind, path_size, data_size, zeros;
    uint64_t inode;
    int64_t pos;
  };
]]

local WRITE, SYNC_BEGIN, SYNC_END, TRUNCATE, OPEN, RENAME, UNLINK, MKDIR = 1, 2, 3, 4, 5, 6, 7, 8
local HEADER = ffi.sizeof "struct spec_power_record"
local SECTOR = 512

local M = {}

---@class spec.Power
---@field env table<string, string>  for the broker
local Power = {}
Power.__index = Power

local function read_file(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local bytes = file:read "*a"
  file:close()
  return bytes
end

local function parent_of(path) return path:match "^(.*)/[^/]*$" end

--- What lies in the folder now, which counts as on disk.
function Power:snapshot()
  self.files, self.folders = {}, {}
  local pipe = io.popen(("find '%s' -mindepth 1 -printf '%%y %%i %%p\\n'"):format(self.folder))
  for line in pipe:lines() do
    local kind, inode, path = line:match "^(%a) (%d+) (.*)$"
    if kind == "d" then
      self.folders[path] = true
    elseif kind == "f" then
      self.files[path] = { inode = tonumber(inode), base = read_file(path), ops = {}, durable = 0 }
    end
  end
  pipe:close()
  os.remove(self.trace)
end

--- A folder that is watched from now on.
---@return spec.Power
function M.new(folder)
  local library = os.getenv "LUKA_FAULTS_SO"
  assert(library and library ~= "", "LUKA_FAULTS_SO does not name build/*/faults.so: run this by make test")
  local self = setmetatable({ folder = folder, trace = brokers.temp_dir(true) .. "/power" }, Power)
  self.env = { LUKA_POWER = self.trace, LUKA_POWER_FOLDER = folder,
    LD_PRELOAD = library:match "^/" and library or unistd.getcwd() .. "/" .. library,
    ASAN_OPTIONS = (os.getenv "ASAN_OPTIONS" or "") .. ":verify_asan_link_order=0" }
  self:snapshot()
  return self
end

--- Reads what the broker did: writes by file, and changes of names in their order.
local function replay_trace(self)
  local trace = read_file(self.trace)
  local names, inodes, tokens, changes, synced = {}, {}, {}, {}, {}
  for path, file in pairs(self.files) do
    names[path], inodes[file.inode] = file, file
  end
  local record = ffi.new "struct spec_power_record"
  local at, number = 0, 0
  while at + HEADER <= #trace do
    ffi.copy(record, ffi.cast("const char *", trace) + at, HEADER)
    number = number + 1
    local path = trace:sub(at + HEADER + 1, at + HEADER + record.path_size)
    local data_at = at + HEADER + record.path_size
    if data_at + record.data_size > #trace then break end -- killed while it was noted
    local inode, pos = tonumber(record.inode), tonumber(record.pos)
    local file = inodes[inode]
    if record.kind == WRITE or record.kind == TRUNCATE then
      if file then
        file.ops[#file.ops + 1] = { is_write = record.kind == WRITE, pos = pos, at = data_at, size = record.data_size,
          zeros = record.zeros }
      end
    elseif record.kind == SYNC_BEGIN then
      tokens[pos] = { file = file, ops = file and #file.ops, path = path, number = number }
    elseif record.kind == SYNC_END then
      local token = tokens[pos]
      if token.file then token.file.durable = math.max(token.file.durable, token.ops) end
      synced[token.path] = math.max(synced[token.path] or 0, token.number)
    elseif record.kind == OPEN then
      if not (names[path] and names[path].inode == inode) then
        local made = { inode = inode, base = "", ops = {}, durable = 0 }
        names[path], inodes[inode] = made, made
        changes[#changes + 1] = { number = number, path = path, file = made }
      end
    elseif record.kind == RENAME then
      local from, to = path:match "^(.-)%z(.*)$"
      changes[#changes + 1] = { number = number, path = from, to = to }
      names[to], names[from] = names[from], nil
    elseif record.kind == UNLINK then
      changes[#changes + 1] = { number = number, path = path, is_gone = true }
      names[path] = nil
    elseif record.kind == MKDIR then
      changes[#changes + 1] = { number = number, path = path, is_folder = true }
    end
    at = data_at + record.data_size
  end
  return trace, changes, synced, number
end

--- Files and folders as their names are on disk.
local function names_on_disk(self, changes, synced, moment)
  local files, folders = {}, { [self.folder] = true }
  for path, file in pairs(self.files) do files[path] = file end
  for path in pairs(self.folders) do folders[path] = true end
  for _, change in ipairs(changes) do
    if change.number <= math.max(moment, synced[parent_of(change.path)] or 0) then
      if change.file then
        files[change.path] = change.file
      elseif change.is_folder then
        folders[change.path] = true
      elseif change.is_gone then
        files[change.path], folders[change.path] = nil, nil
      elseif files[change.path] then
        files[change.to], files[change.path] = files[change.path], nil
      end
    end
  end
  return files, folders
end

--- Which operations of a file came to the disk: those before its last fsync, and some of the others.
local function ops_on_disk(file, chance, random)
  local kept = {}
  for i, op in ipairs(file.ops) do
    if i <= file.durable then
      kept[#kept + 1] = op
    elseif random() < chance then
      kept[#kept + 1] = { is_write = op.is_write, pos = op.pos, at = op.at, size = op.size, zeros = op.zeros,
        is_torn = op.is_write and random() < 0.3 }
    end
  end
  return kept
end

--- Writes a file with what came to the disk.
local function write_file(path, file, kept, trace, random)
  local size, room = #file.base, #file.base
  for _, op in ipairs(kept) do
    size = op.is_write and math.max(size, op.pos + op.size + op.zeros) or not op.is_write and op.pos or size
    room = math.max(room, size)
  end
  local bytes = ffi.new("uint8_t[?]", room + 1)
  ffi.copy(bytes, file.base, #file.base)
  local source = ffi.cast("const uint8_t *", trace)
  local length = #file.base
  for _, op in ipairs(kept) do
    local count = op.size + op.zeros
    if not op.is_write then
      if op.pos < length then ffi.fill(bytes + op.pos, length - op.pos) end
      length = op.pos
    else
      for first = 0, count - 1, op.is_torn and SECTOR or math.max(count, 1) do
        local step = op.is_torn and math.min(SECTOR, count - first) or count
        -- Of a torn one some sectors did not make it.
        if not (op.is_torn and random() < 0.5) then
          if op.zeros > 0 then
            ffi.fill(bytes + op.pos + first, step)
          else
            ffi.copy(bytes + op.pos + first, source + op.at + first, step)
          end
        end
      end
      length = math.max(length, op.pos + count)
    end
  end
  local out = assert(io.open(path, "wb"))
  out:write(ffi.string(bytes, length))
  out:close()
end

--- Makes the folder what a power failure left of it. The broker is dead.
---
---@param random fun(): number  0 up to 1; the same numbers give the same folder
function Power:cut(random)
  local trace, changes, synced, last = replay_trace(self)
  local moment = random() < 0.3 and 0 or random() < 0.3 and last or math.floor(random() * last)
  local chance = ({ 0, 0, 0.5, 0.9 })[1 + math.floor(random() * 4)]
  local files, folders = names_on_disk(self, changes, synced, moment)
  os.execute(("rm -rf '%s'"):format(self.folder))
  local order = {}
  for path in pairs(folders) do order[#order + 1] = path end
  table.sort(order)
  for _, path in ipairs(order) do
    if path == self.folder or folders[parent_of(path)] then
      assert(stat.mkdir(path, 493) == 0)
    else
      folders[path] = nil
    end
  end
  order = {}
  for path in pairs(files) do order[#order + 1] = path end
  table.sort(order)
  for _, path in ipairs(order) do
    if folders[parent_of(path)] then
      write_file(path, files[path], ops_on_disk(files[path], chance, random), trace, random)
    end
  end
  self:snapshot()
end

return M
