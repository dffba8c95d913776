-- SPDX-License-Identifier: Apache-2.0
-- Looks at Lua source before it is sent and at errors that come back. Nothing is run here.
local M = {}

--- Whether an error says that the source ended too early. A string in quotes ends with its line, so that no further line
--- can help it.
local function is_early_end(err)
  return err:find "near '<eof>'$" ~= nil and not err:find ": unfinished string near"
end

--- Whether more has to follow before a source is one.
---
---@param source string
---@return boolean
function M.is_incomplete(source)
  local chunk, err = load(source, "=console", "t")
  if chunk then return false end
  local expression, expression_err = load("return " .. source, "=console", "t")
  if expression then return false end
  return is_early_end(err) or is_early_end(expression_err)
end

--- The line of a source that an error names; nil when it names none, or the source has only one.
---
---@param source string
---@param name string  of the chunk
---@param message string
---@return integer? number
---@return string? line
function M.line_of(source, name, message)
  local number
  if message:sub(1, #name + 1) == name .. ":" then number = tonumber(message:match("^(%d+):", #name + 2)) end
  if not number or not source:find "\n" then return nil end
  local at = 1
  for line in (source .. "\n"):gmatch "([^\n]*)\n" do
    if at == number then return number, line end
    at = at + 1
  end
  return nil
end

return M
