-- SPDX-License-Identifier: Apache-2.0
-- `require` of user code: Lua files next to config.lua, libraries of others (libraries.lua), and the few modules of ours
-- that are meant for it.
local environment = require "luka.sandbox.environment"
local libraries = require "luka.sandbox.libraries"
local source = require "luka.sandbox.source"

local M = {}

local OURS = { ["luka.units"] = true }

--- Makes a chunk of the text of a file of user code; raises a line that names the file.
---
---@param path string
---@param text string
---@param env table
---@return function chunk
function M.compile(path, text, env)
  if text:sub(1, 1) == "\27" then error(path .. ":1: is compiled Lua, only source text is accepted", 0) end
  local chunk, err = source.compile((text:gsub("^#[^\n]*", "")), "@" .. path, env)
  if not chunk then error(err, 0) end
  return chunk
end

--- Makes a `require` for one environment.
---
---@param host { is_deep: (fun(): boolean), is_unsafe: (fun(): boolean), is_loaded: (fun(): boolean)?,
---  read: fun(path: string): string?, string?, boolean? }  is_loaded: no file is read any more
---@param env table
---@param folder string  of config.lua, "" or with a slash at its end
---@param add_file fun(path: string, text: string)  called for each file before it is compiled
---@return fun(name: string): any require
function M.new(host, env, folder, add_file)
  local loaded, loading = {}, {}

  --- Reads the file of a module; errors name the line of the call of require, two levels up.
  local function read(name)
    local base = folder .. name:gsub("%.", "/")
    for _, path in ipairs { base .. ".lua", base .. "/init.lua" } do
      local text, err, is_missing = host.read(path)
      if text then return path, text end
      if not is_missing then error(("module '%s': %s %s"):format(name, path, err), 3) end
    end
    if host.is_loaded and host.is_loaded() then
      error(("module '%s' was not read when the configuration was checked: require it outside of functions"):format(name), 3)
    end
    error(("module '%s' not found: there is no file %s.lua"):format(name, base), 3)
  end

  local function check_name(name)
    if type(name) ~= "string" then
      error(("bad argument #1 to 'require' (string expected, got %s)"):format(type(name)), 3)
    end
    if name:match "^luka%f[^%w_]" then error(("module '%s' is not for configuration files"):format(name), 3) end
    for part in (name .. "."):gmatch "(.-)%." do
      if not part:match "^[%w_-]+$" then
        error(("module name '%s' is not allowed: write \"policies.x\" for policies/x.lua"):format(name), 3)
      end
    end
  end

  return function(name)
    if loaded[name] ~= nil then return loaded[name] end
    if OURS[name] then
      loaded[name] = environment.read_only(require(name), name)
      return loaded[name]
    end
    local library, problem = libraries.open(name, host, env, add_file)
    if problem then error(("module '%s' %s"):format(name, problem), 2) end
    if library ~= nil then
      loaded[name] = library
      return library
    end
    check_name(name)
    if loading[name] then error(("module '%s' requires itself"):format(name), 2) end
    local path, text = read(name)
    add_file(path, text)
    local chunk = M.compile(path, text, env)
    loading[name] = true
    local ok, value = pcall(chunk, name)
    loading[name] = nil
    if not ok then error(value, 0) end
    if value == nil then value = true end
    loaded[name] = value
    return value
  end
end

return M
