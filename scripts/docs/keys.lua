-- SPDX-License-Identifier: Apache-2.0
-- The keys that --set takes, with what their values may be, for completions.
local schema = require "luka.config.schema"

local M = {}

---@class (exact) luka.SetKey
---@field key string
---@field text string
---@field values string[]?  all there are
---@field is_path boolean?

---@return luka.SetKey[] keys  sorted
function M.list()
  local list = {}
  for key, definition in pairs(schema.BROKER) do
    list[#list + 1] = {
      key = key, text = definition.text, values = definition.choices,
      is_path = definition.type == "path" or definition.type == "paths" or definition.type == "socket" or nil,
    }
  end
  table.sort(list, function(a, b) return a.key < b.key end)
  return list
end

return M
