-- SPDX-License-Identifier: Apache-2.0
-- Which broker `luka console` and `luka reload` talk to: the socket of its console, from the command line.
local config = require "luka.native.config"
local libc = require "luka.ffi.libc"

local M = {}

local DEFAULT_CONFIG = "config.lua"

local function usage(message, ...)
  error({ code = "usage", message = message:format(...) }, 0)
end

--- Evaluates the configuration for the place of its socket.
local function configured(path, options)
  local result, message, trace = config.evaluate(path, options.set, options.debug == true, options.log_format == "json")
  if not result then error({ code = "config", message = message, trace = trace }, 0) end
  if not result.console then
    error({ code = "failed", message = ("%s: broker.console is false: this broker has no console"):format(path or "--set") }, 0)
  end
  return result.console
end

--- Finds the socket: an argument that is one; or what a configuration says, which is the argument, ./config.lua where
--- that exists, or all by default. Raises a luka.Error when there is none.
---
---@param argument string?
---@param options luka.GivenOptions  set, debug, log_format
---@return string path
function M.find(argument, options)
  if not argument then
    return configured(libc.kind(DEFAULT_CONFIG) == "file" and DEFAULT_CONFIG or nil, options)
  end
  local kind = libc.kind(argument)
  if kind == "folder" then usage("%s is a folder: expected a configuration, or the socket of a broker's console", argument) end
  if kind == "file" or argument:find "%.lua$" then return configured(argument, options) end
  if options.set then usage("--set goes with a configuration, and %s is none", argument) end
  return argument
end

local REASONS = {
  [libc.ENOENT] = "there is no such socket; is the broker running, and is this the folder it was started in?",
  [libc.ECONNREFUSED] = "nobody listens there; the broker is not running",
  [libc.EACCES] = "permission denied; the console is for the user who runs the broker",
}

--- Why a socket could not be connected to, and what to do.
---
---@param path string
---@param err string
---@param errno integer?
---@return string message  one line
function M.explain(path, err, errno)
  local reason = REASONS[errno] or err
  local hint = errno == libc.ENOENT and " `luka console SOCKET` or `luka console CONFIG.LUA` names another" or ""
  return ("cannot connect to %s: %s%s"):format(path, reason, hint)
end

return M
