-- SPDX-License-Identifier: Apache-2.0
--
-- Sick and full disks for a broker that a spec starts: build/*/faults.so is preloaded into it, and told through a file
-- that both map which call below one folder fails, how, and how often.
--
--   local disk = require("spec.support.faults").new(folder)
--   local broker = brokers.start { data = folder, env = disk.env }
--   disk:arm { kind = "write", nth = 3, err = "ENOSPC", times = -1 }
--   disk:disarm()
local ffi = require "ffi"
local errno = require "posix.errno"
local fcntl = require "posix.fcntl"
local unistd = require "posix.unistd"
local brokers = require "spec.support.broker"

ffi.cdef [[
  struct spec_faults {
    int64_t calls[16];
    int64_t acted;
    int64_t nth;
    int32_t kind;
    int32_t times;
    int32_t err;
    int32_t is_short;
    char folder[256];
    char suffix[64];
    char path[256];
  };
  void *mmap(void *addr, size_t length, int prot, int flags, int fd, int64_t offset);
  int ftruncate(int fd, int64_t size);
]]

local PROT_READ_WRITE, MAP_SHARED = 3, 1

local M = {}

--- Kinds of calls, as spec/support/preload/faults.c numbers them.
M.KINDS = { "open", "read", "write", "sync", "truncate", "allocate", "rename", "mkdir", "unlink", "list", "send" }

-- Of Linux; luaposix does not know it.
local MORE_ERRORS = { EDQUOT = 122 }

local NUMBERS = {}
for i, kind in ipairs(M.KINDS) do NUMBERS[kind] = i - 1 end

---@class spec.Faults
---@field env table<string, string>  for the broker
local Faults = {}
Faults.__index = Faults

--- Faults for what lies below a folder; none is armed.
---@return spec.Faults
function M.new(folder)
  local library = os.getenv "LUKA_FAULTS_SO"
  assert(library and library ~= "", "LUKA_FAULTS_SO does not name build/*/faults.so: run this by make test")
  local path = brokers.temp_dir() .. "/faults"
  local fd = assert(fcntl.open(path, fcntl.O_RDWR + fcntl.O_CREAT, 384))
  local size = ffi.sizeof "struct spec_faults"
  assert(ffi.C.ftruncate(fd, size) == 0)
  local map = ffi.C.mmap(nil, size, PROT_READ_WRITE, MAP_SHARED, fd, 0)
  assert(ffi.cast("intptr_t", map) ~= -1, "mmap failed")
  unistd.close(fd)
  local self = setmetatable({ state = ffi.cast("struct spec_faults *", map) }, Faults)
  self.state.kind = -1
  ffi.copy(self.state.folder, folder)
  self.env = { LUKA_FAULTS = path, LD_PRELOAD = library:match "^/" and library or unistd.getcwd() .. "/" .. library,
    -- The sanitizer's library wants to be the first one; only those that it wraps are here as well, and pass on to it.
    ASAN_OPTIONS = (os.getenv "ASAN_OPTIONS" or "") .. ":verify_asan_link_order=0" }
  return self
end

--- Has calls of a kind fail.
---
---@param fault { kind: string, nth: integer?, err: string?, times: integer?, short: boolean?, suffix: string? }
---   nth: the first that fails, counted from now (1); err: "EIO"; times: how many (1), -1: all that follow;
---   short: the first moves half of its bytes instead of failing; suffix: only of files whose paths end so
function Faults:arm(fault)
  local state = self.state
  state.kind = -1
  state.acted = 0
  state.path[0] = 0
  ffi.copy(state.suffix, fault.suffix or "")
  state.nth, state.times = fault.nth or 1, fault.times or 1
  state.err = fault.err and assert(errno[fault.err] or MORE_ERRORS[fault.err], fault.err) or 0
  state.is_short = fault.short and 1 or 0
  state.kind = assert(NUMBERS[fault.kind], fault.kind)
end

--- From here on all calls pass.
function Faults:disarm() self.state.kind = -1 end

--- How many calls failed since arm(), and the path of the first.
function Faults:acted() return tonumber(self.state.acted), ffi.string(self.state.path) end

--- Calls so far, by kind.
function Faults:calls()
  local counts = {}
  for i, kind in ipairs(M.KINDS) do counts[kind] = tonumber(self.state.calls[i - 1]) end
  return counts
end

return M
