-- SPDX-License-Identifier: Apache-2.0
-- The load program of consumer groups (scripts/bench/groups.c), run against one broker: its line of JSON as a table.
local json = require "luka.native.json"
local process = require "scripts.bench.process"

local M = { PROGRAM = nil }

local TIMEOUT_SECONDS = 300

--- Runs it to its end; raises when a group got an error, or no answer.
---
---@param broker { port: integer, pid: integer }
---@param words (string|number)[]  its arguments but for the broker
---@return table
function M.run(broker, words)
  local line = { M.PROGRAM }
  for _, word in ipairs(words) do line[#line + 1] = tostring(word) end
  for _, word in ipairs { "--broker", "127.0.0.1:" .. broker.port, "--cpu-of", tostring(broker.pid) } do
    line[#line + 1] = word
  end
  return json.decode(process.run(line, { timeout_s = TIMEOUT_SECONDS }))
end

return M
