-- SPDX-License-Identifier: Apache-2.0
-- The load generator (scripts/bench) on a topic called "load", for specs that break a broker under it.
local assert = require "luassert"

local M = { PARTITIONS = 3 }

local LOAD = os.getenv "LUKA_LOAD"

--- Bytes of a file; 0 when it is not there.
function M.size_of(path)
  local file = io.open(path, "rb")
  if not file then return 0 end
  local size = file:seek "end"
  file:close()
  return size
end

local function command(broker, words, ...)
  return ("%s %s --brokers 127.0.0.1:%d --topic load --partitions %d 2>&1"):format(LOAD, words:format(...), broker.port,
    M.PARTITIONS)
end

--- Runs it to its end; its exit status is 0, what it printed is returned.
function M.run(broker, words, ...)
  local pipe = io.popen(command(broker, words, ...) .. "; echo status $?")
  local text = pipe:read "*a"
  pipe:close()
  assert.truthy(text:match "status 0%s*$", text)
  return text
end

--- Starts it; its output is read at the end.
function M.begin(broker, words, ...)
  return io.popen(command(broker, words, ...))
end

return M
