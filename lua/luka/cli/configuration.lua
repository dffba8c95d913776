-- SPDX-License-Identifier: Apache-2.0
-- The configuration that a verb is called with: what it says, and where the console of its broker is.
local host = require "luka.native.cli"
local native = require "luka.native.config"

local M = {}

--- Evaluates a configuration, sandboxed; raises the line that says what is wrong with it (status 2).
---
---@param given luka.GivenOptions  --set and how errors are shown
---@param path string?
---@return table configuration
function M.evaluate(given, path)
  local result, message, trace = native.evaluate(path, given.set or {}, given.debug == true, given.log_format == "json")
  if not result then error({ code = "config", message = message, trace = trace }, 0) end
  return result
end

--- The socket of a broker's console.
---
---@param given luka.GivenOptions
---@param argument string?  the socket, a folder that has it, or a configuration; by default `config.lua` where there is one
---  and no --set, as with `make run`, otherwise what `luka serve` does without a file
---@return string path
function M.console_socket(given, argument)
  local kind = argument and host.kind(argument)
  if kind == "socket" or not kind and argument and argument:find "%.sock$" then return argument end
  if kind == "folder" then return argument:gsub("/+$", "") .. "/console.sock" end
  if not argument and not given.set and host.kind "config.lua" then argument = "config.lua" end
  local configuration = M.evaluate(given, argument)
  if not configuration.console then
    error({ code = "failed", message = "the broker of this configuration has no console: console = false" }, 0)
  end
  return configuration.console
end

return M
