-- SPDX-License-Identifier: Apache-2.0
-- What `luka dump` prints: for humans a heading for each file and aligned columns, for machines an object a line. Rows
-- are printed as they come, so columns are as wide as the widest value so far. Whatever is wrong with a file is part of
-- what is printed about it, and counted.
local data = require "luka.cli.data"

local M = {}

local PROBLEMS_MAX = 100 -- of one file that are printed when it is verified
local NOTE = { "type", "position", "text" }
local VERIFIED = { "type", "is_right", "problems", "text" }

--- "1 batch", "2 batches"
---
---@param number integer
---@param one string
---@param many string?  `one` with an s by default
---@return string
function M.count(number, one, many)
  return ("%d %s"):format(number, number == 1 and one or many or one .. "s")
end

---@class (exact) luka.DumpColumn
---@field name string
---@field width integer  at first
---@field is_text boolean?  to the left; numbers stand to the right

---@class (exact) luka.DumpOutput
---@field is_json boolean
---@field problems integer  things that are wrong, so far
---@field path string  of the current file
---@field file_problems integer  the same of the current file
---@field is_verifying boolean
---@field private write fun(text: string)
---@field private columns luka.DumpColumn[]?  of the rows that were printed last
---@field private widths integer[]
---@field private is_used boolean  something was printed
local Output = {}
Output.__index = Output

---@param is_json boolean
---@param write fun(text: string)?  standard output
---@return luka.DumpOutput
function M.new(is_json, write)
  return setmetatable({
    is_json = is_json, problems = 0, file_problems = 0, path = "", is_used = false, is_verifying = false,
    write = write or function(text)
      local ok, err = io.stdout:write(text)
      if not ok then error({ code = "output", message = "cannot write to standard output: " .. err }, 0) end
    end,
  }, Output)
end

--- Begins a file.
---
---@param path string
---@param text string  what it is
function Output:file(path, text)
  self.path, self.columns = path, nil
  if self.is_json then return end
  self.write(("%s%s: %s\n"):format(self.is_used and "\n" or "", data.plain(path), text))
  self.is_used = true
end

local function cell(column, width, text, is_last)
  if is_last and column.is_text then return text end
  local padding = (" "):rep(width - #text)
  return column.is_text and text .. padding or padding .. text
end

--- One aligned line.
function Output:line(columns, texts)
  local out, widths = {}, self.widths
  local last = #columns
  while last > 1 and texts[last] == "" and columns[last].is_text do last = last - 1 end
  for i = 1, last do
    if #texts[i] > widths[i] then widths[i] = #texts[i] end
    out[i] = cell(columns[i], widths[i], texts[i], i == last)
  end
  self.write("  " .. table.concat(out, "  ") .. "\n")
end

--- Prints a row of a table; a heading comes before the first.
---
---@param columns luka.DumpColumn[]
---@param texts string[]  one for each column
function Output:row(columns, texts)
  if self.columns ~= columns then
    local names = {}
    self.columns, self.widths = columns, {}
    for i, column in ipairs(columns) do
      self.widths[i] = column.width
      names[i] = column.name
    end
    self:line(columns, names)
  end
  self:line(columns, texts)
end

--- Prints a line as it is, below the rows.
---
---@param text string
function Output:text(text)
  self.write(text .. "\n")
end

--- Prints an object for machines; its file is added.
---
---@param names string[]  members in their order
---@param object table<string, any>
function Output:object(names, object)
  self.write('{' .. data.json_bytes("file", self.path) .. ',' .. data.json_object(names, object):sub(2) .. "\n")
end

--- Prints something worth knowing that is not wrong.
---
---@param position integer?
---@param text string
function Output:note(position, text)
  if self.is_json then return self:object(NOTE, { type = "note", position = position, text = text }) end
  self.write(position and ("  position %d: %s\n"):format(position, text) or ("  %s\n"):format(text))
end

--- Prints something that is wrong. When files are verified the file stands in front, and only the first ones are
--- printed of each.
---
---@param position integer?  byte of the file, from 0
---@param text string
function Output:problem(position, text)
  self.problems = self.problems + 1
  self.file_problems = self.file_problems + 1
  if self.is_verifying and self.file_problems > PROBLEMS_MAX then return end
  if self.is_json then return self:object(NOTE, { type = "problem", position = position, text = text }) end
  local mark = self.is_verifying and data.plain(self.path) .. ": " or "! "
  self.write(mark .. (position and ("position %d: %s\n"):format(position, text) or text .. "\n"))
end

--- Begins the verification of a file.
---
---@param path string
function Output:verify(path)
  self.path, self.file_problems, self.is_verifying = path, 0, true
end

--- Ends it.
---
---@param seen string  what is in the file
function Output:verified(seen)
  local count = self.file_problems
  if self.is_json then
    return self:object(VERIFIED, { type = "verified", is_right = count == 0, problems = count, text = seen })
  end
  if count > PROBLEMS_MAX then
    self.write(("%s: %s\n"):format(data.plain(self.path), M.count(count - PROBLEMS_MAX, "more problem")))
  end
  self.write(("%s: %s, %s\n"):format(data.plain(self.path), count == 0 and "right" or "WRONG", seen))
end

return M
