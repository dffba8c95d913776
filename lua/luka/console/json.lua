-- SPDX-License-Identifier: Apache-2.0
-- Results as lines of JSON: an object for each row of a list, one for a record, one value for what is plain; numbers as
-- they are.
local json = require "luka.native.json"

local M = {}

--- One line; U+0080 to U+009F are escaped as well: terminals obey them.
local function encode(value)
  return (json.encode(value):gsub("\194([\128-\159])", function(last) return ("\\u%04X"):format(last:byte()) end))
end

--- The lines of a view.
---
---@param view { kind: string, columns: string[]?, rows: table[]?, fields: string[]?, value: any, lists: table? }
---@return string[] lines
function M.lines(view)
  if view.kind == "list" then
    local lines = {}
    for i, row in ipairs(view.rows) do lines[i] = encode(json.object(row, view.columns)) end
    return lines
  end
  if view.kind == "record" then
    for name, columns in pairs(view.lists or {}) do
      local rows = json.array {}
      for i, row in ipairs(view.value[name]) do rows[i] = json.object(row, columns) end
      view.value[name] = rows
    end
    return { encode(json.object(view.value, view.fields)) }
  end
  return { encode(view.value) }
end

return M
