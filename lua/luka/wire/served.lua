-- SPDX-License-Identifier: Apache-2.0
-- The requests that the broker serves, by the names that Kafka gives them: all those whose schemas the program has.
local M = {}

local names, keys

local function load()
  names, keys = {}, {}
  for _, file in ipairs(require "luka.wire.apis") do
    local raw = require("luka.wire.schema." .. file)
    if raw.key then
      names[#names + 1], keys[raw.name] = raw.name, raw.key
    end
  end
  table.sort(names)
end

--- All names, sorted.
---
---@return string[]
function M.names()
  if not names then load() end
  return names
end

--- The api key of a request; nil: there is none of that name.
---
---@param name string
---@return integer?
function M.key(name)
  if not keys then load() end
  return keys[name]
end

return M
