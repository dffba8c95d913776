-- SPDX-License-Identifier: Apache-2.0
-- What `require` gives beside the files of a configuration: lua-cjson, LPeg and MessagePack, where they are installed, in
-- versions that keep the limits of user code; and ffi for code that may do everything.
local library = require "luka.native.library"
local source = require "luka.sandbox.source"
local unsafe = require "luka.sandbox.unsafe"
local watched_cjson = require "luka.sandbox.cjson"
local watched_lpeg = require "luka.sandbox.lpeg"

local M = {}

--- MessagePack is written in Lua, and runs as user code does.
M.MESSAGEPACK_PATHS = { "/usr/local/share/lua/5.1/MessagePack.lua", "/usr/share/lua/5.1/MessagePack.lua" }

local function opened(name)
  local module, problem = library.open(name)
  if not module then return nil, problem end
  return module
end

local function open_messagepack(host, env, add_file)
  for _, path in ipairs(M.MESSAGEPACK_PATHS) do
    local text = host.read(path)
    if text then
      add_file(path, text)
      local parts = { jit = {}, string = env.string, math = env.math, table = env.table }
      local own = setmetatable({ require = function(part) return parts[part] end }, { __index = env })
      -- As internal code, so that errors name the line that calls it.
      return assert(source.compile(text, "=MessagePack.lua", own))()
    end
  end
  return nil, "is not installed: it is in Debian's package lua-messagepack"
end

local OPEN = {
  cjson = function()
    local cjson, problem = opened "cjson"
    return cjson and watched_cjson.wrap(cjson, false), problem
  end,
  ["cjson.safe"] = function()
    local cjson, problem = opened "cjson.safe"
    return cjson and watched_cjson.wrap(cjson, true), problem
  end,
  lpeg = function(host)
    local lpeg, problem = opened "lpeg"
    return lpeg and watched_lpeg.wrap(lpeg, host.is_deep), problem
  end,
  MessagePack = open_messagepack,
}

OPEN.ffi = function(host)
  if not host.is_unsafe() then return nil, unsafe.PROBLEM end
  return library.standard "ffi"
end

--- Opens one.
---
---@param name any  as user code gave it to require
---@param host { is_deep: (fun(): boolean), is_unsafe: (fun(): boolean), read: fun(path: string): string? }
---@param env table  of the user code
---@param add_file fun(path: string, text: string)  called for a file that was read
---@return any module  nil: it is none of these, or there is a problem
---@return string? problem
function M.open(name, host, env, add_file)
  local open = OPEN[name]
  if not open then return nil end
  return open(host, env, add_file)
end

return M
