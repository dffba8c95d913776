-- SPDX-License-Identifier: Apache-2.0
-- Brokers whose configuration is read again: writes the file, sends SIGHUP, and reads what the log says came of it.
local signal = require "posix.signal"
local brokers = require "spec.support.broker"
local client = require "spec.support.client"

local M = {}

--- How many reloads a log tells the end of.
local function ends(log)
  local count = 0
  for line in log:gmatch "[^\n]+" do
    if line:find("reload refused, ", 1, true) or line:match ": nothing has changed$"
      or line:match ": %d+ applied, %d+ needs? a restart, %d+ kept$" then
      count = count + 1
    end
  end
  return count
end

--- Writes a file beside the configuration, or with no name the configuration.
function M.write(broker, text, name)
  local file = assert(io.open(broker.folder .. "/" .. (name or "config.lua"), "wb"))
  assert(file:write(text))
  file:close()
end

--- Starts a broker on a configuration; `options` as brokers.start() takes them. Two threads run functions on records, on
--- any machine, if the options do not say otherwise.
function M.start(text, options)
  local folder = brokers.temp_dir()
  M.write({ folder = folder }, text)
  options = options or {}
  options.config = folder .. "/config.lua"
  options.set = { "lua_threads=2", unpack(options.set or {}) }
  local broker = brokers.start(options)
  broker.folder = folder
  return broker
end

--- Has the configuration read again, after writing `text` (nil: it is as it is) to it.
---
---@return string[] lines  of the report, without times, levels and the folder, and without the last, which counts
function M.hup(broker, text)
  if text then M.write(broker, text) end
  local before = broker:log()
  local done = ends(before)
  signal.kill(broker.pid, signal.SIGHUP)
  client.wait_until("the configuration is read again", function() return ends(broker:log()) > done end)
  local lines = {}
  for line in broker:log():sub(#before + 1):gmatch "[^\n]+" do
    local said = line:match "reload of %S+: (.*)" or line:match "(reload refused, .*)"
    if said and not said:match "^%d+ applied, " then
      lines[#lines + 1] = (said:gsub(broker.folder:gsub("%p", "%%%0") .. "/", ""))
    end
  end
  return lines
end

return M
