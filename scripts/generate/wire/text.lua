-- SPDX-License-Identifier: Apache-2.0
--
-- Lines of generated text.

local M = {}

local Text = {}
Text.__index = Text

---@return table  collects lines: t:add(format, ...), t:concat()
function M.new()
  return setmetatable({ _lines = {} }, Text)
end

--- Adds a line; with one argument it is taken as it is.
function Text:add(format, ...)
  self._lines[#self._lines + 1] = select("#", ...) > 0 and format:format(...) or format
end

function Text:concat()
  return table.concat(self._lines, "\n") .. "\n"
end

return M
