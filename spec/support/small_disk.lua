-- SPDX-License-Identifier: Apache-2.0
--
-- Small disks that a spec can fill: tmpfs, in a mount namespace of the spec's process, so that they are gone with it. The
-- brokers that it starts are in the same namespace.
local ffi = require "ffi"
local brokers = require "spec.support.broker"
local unistd = require "posix.unistd"

ffi.cdef [[
  int unshare(int flags);
  int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data);
  int umount2(const char *target, int flags);
  char *strerror(int number);
]]

local CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 0x40000

local M = {}

local MNT_DETACH = 2

local has_namespace = false
local mounted = {}

-- Taken down before brokers.lua removes its folders: proxies made later go first.
M._sentinel = newproxy(true)
getmetatable(M._sentinel).__gc = function()
  for _, path in ipairs(mounted) do ffi.C.umount2(path, MNT_DETACH) end
end

local function write(path, text)
  local file = io.open(path, "w")
  return file ~= nil and file:write(text) and file:close()
end

--- Enters a mount namespace, as root, or as root of a user namespace of its own.
local function enter_namespace()
  if has_namespace then return end
  local uid, gid = unistd.geteuid(), unistd.getegid()
  if ffi.C.unshare(CLONE_NEWNS) ~= 0 then
    local code = ffi.C.unshare(CLONE_NEWNS + CLONE_NEWUSER) == 0 and 0 or ffi.errno()
    if code == 0 and not (write("/proc/self/setgroups", "deny") and write("/proc/self/uid_map", "0 " .. uid .. " 1")
        and write("/proc/self/gid_map", "0 " .. gid .. " 1")) then
      code = 1
    end
    if code ~= 0 then
      error("this machine lets nobody but root mount a small disk, which this spec needs (unshare: "
        .. ffi.string(ffi.C.strerror(code)) .. "); run it as root, or allow user namespaces", 0)
    end
  end
  if ffi.C.mount("none", "/", nil, MS_REC + MS_PRIVATE, nil) ~= 0 then
    error("cannot make the mounts private: " .. ffi.string(ffi.C.strerror(ffi.errno())), 0)
  end
  has_namespace = true
end

--- A fresh folder on a disk of its own.
---
---@param bytes integer  size of the disk
---@return string
function M.new(bytes)
  enter_namespace()
  local path = brokers.temp_dir()
  if ffi.C.mount("none", path, "tmpfs", 0, ("size=%d"):format(bytes)) ~= 0 then
    error("cannot mount a small disk: " .. ffi.string(ffi.C.strerror(ffi.errno())), 0)
  end
  mounted[#mounted + 1] = path
  return path
end

return M
