-- SPDX-License-Identifier: Apache-2.0
-- Lists as aligned tables, records as aligned fields.
local human = require "luka.console.human"
local pretty = require "luka.console.pretty"
local text = require "luka.console.text"

local M = {}

---@class (exact) luka.console.Style
---@field paint fun(kind: "head"|"faint"|"text"|"number"|"word"|"error", piece: string): string
---@field is_human boolean  numbers with units
---@field width integer?  columns that a line is cut to; nil: not cut

--- Columns between two fields, the narrowest a column of texts is cut to, and the narrowest that sentences are broken to.
local GAP, NARROWEST, PROSE_NARROWEST = 2, 10, 32
--- The names of columns of sentences: on a terminal they are broken into lines, not cut.
local PROSE = { text = true, why = true }

--- A field as one line.
local function cell(name, value, is_human)
  local kind = type(value)
  if kind == "string" then return text.line(value) end
  if kind == "number" or kind == "cdata" then return is_human and human.field(name, value) or human.number(value) end
  if kind == "boolean" then return tostring(value) end
  if kind ~= "table" then return nil end
  for i = 1, #value do
    if type(value[i]) == "table" then return pretty.line(value) end
  end
  if #value == 0 or next(value, #value) ~= nil then return pretty.line(value) end
  local items = {}
  for i = 1, #value do items[i] = cell(name, value[i], is_human) or "nil" end
  return table.concat(items, ", ")
end

local function is_numeric(value)
  return type(value) == "number" or type(value) == "cdata"
end

--- Widths for the first columns of a line, and their sum: sentences give way first, then the widest columns of texts;
--- numbers do not.
local function narrow(layout, count, room)
  local widths, total = {}, 0
  for i = 1, count do widths[i], total = layout.widths[i], total + layout.widths[i] end
  local prose = layout.prose
  if prose and prose <= count and total > room then
    local others = total - widths[prose]
    widths[prose] = math.max(room - others, math.min(widths[prose], PROSE_NARROWEST))
    total = others + widths[prose]
  end
  local cap = total > room and room + 1 or 0
  while total > room and cap > NARROWEST do
    cap = cap - 1
    total = 0
    for i = 1, count do
      if not layout.numeric[i] and i ~= prose then widths[i] = math.min(layout.widths[i], cap) end
      total = total + widths[i]
    end
  end
  if prose == count and total > room then -- short lines of sentences are better than none
    local others = total - widths[prose]
    widths[prose] = math.max(room - others, math.min(widths[prose], NARROWEST))
    total = others + widths[prose]
  end
  return widths, total
end

--- The widths of as many columns, from the left, as have room in a line; at least one.
local function fit(layout, width)
  for count = #layout.widths, 2, -1 do
    local room = width - GAP * (count - 1)
    local widths, total = narrow(layout, count, room)
    if total <= room then return widths end
  end
  return narrow(layout, 1, width)
end

--- What is said below a table of which only the first columns are shown.
local function note_hidden(columns, count, style, lines)
  local names = {}
  for i = count + 1, #columns do names[#names + 1] = text.line(columns[i]) end
  local note = ("no room for %s: a row alone, [1], or --json shows all"):format(table.concat(names, ", "))
  for _, line in ipairs(text.wrap(note, style.width)) do lines[#lines + 1] = style.paint("faint", line) end
end

--- One line of a table; `kinds` says how each field is painted.
local function line_of(cells, kinds, widths, layout, style)
  local parts, used = {}, 0
  for i, piece in ipairs(cells) do
    local left = style.width and style.width - used
    if left and left < 1 then break end
    local taken
    piece, taken = text.cut(piece, style.width and math.min(widths[i], left) or math.huge)
    local fill = (" "):rep(math.min(widths[i] - taken, left and left - taken or math.huge))
    local painted = kinds[i] and style.paint(kinds[i], piece) or piece
    local is_last = i == #cells
    parts[#parts + 1] = layout.numeric[i] and fill .. painted or is_last and painted or painted .. fill
    used = used + (layout.numeric[i] and #fill + taken or is_last and taken or taken + #fill)
    if not is_last then
      local gap = style.width and math.min(GAP, style.width - used) or GAP
      parts[#parts + 1] = (" "):rep(gap)
      used = used + gap
    end
  end
  return (table.concat(parts):gsub(" +$", ""))
end

--- The fields of a further line of a row.
local function below(cells, place, piece)
  local out = {}
  for i = 1, #cells do out[i] = i == place and piece or "" end
  return out
end

--- Whether two lists of names are the same.
local function same(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

local function new_layout(columns)
  local layout = { columns = columns, widths = {}, numeric = {}, is_known = {} }
  for i, name in ipairs(columns) do
    layout.widths[i] = text.width(text.line(name))
    if PROSE[name] then layout.prose = i end
  end
  return layout
end

--- The lines of a list.
---
--- Rows that come piece by piece are given with the layout of what was shown before: they have no heading then, and
--- stand under the same columns where they fit.
---
---@param view { columns: string[], rows: table[] }
---@param style luka.console.Style
---@param layout table?  as returned for rows of the same columns
---@return string[] lines
---@return table layout
function M.list(view, style, layout)
  local is_new = not layout or not same(layout.columns, view.columns)
  if is_new then layout = new_layout(view.columns) end
  local rows = {}
  for r, row in ipairs(view.rows) do
    local cells = {}
    for i, name in ipairs(view.columns) do
      local value = row[name]
      local piece = cell(name, value, style.is_human)
      if piece then
        layout.widths[i] = math.max(layout.widths[i], text.width(piece))
        local is_number = is_numeric(value)
        if not layout.is_known[i] then layout.numeric[i] = is_number end
        layout.numeric[i] = layout.numeric[i] and is_number
        layout.is_known[i] = true
      end
      cells[i] = piece or false
    end
    rows[r] = cells
  end
  local widths = style.width and (fit(layout, style.width)) or layout.widths
  local count = #widths
  local lines, kinds = {}, {}
  if is_new then
    local heads = {}
    for i = 1, count do heads[i], kinds[i] = text.line(view.columns[i]), "head" end
    lines[1] = line_of(heads, kinds, widths, layout, style)
  end
  for _, cells in ipairs(rows) do
    for i = #view.columns, 1, -1 do
      kinds[i] = not cells[i] and "faint" or nil
      cells[i] = i <= count and (cells[i] or "-") or nil
    end
    local prose = style.width and layout.prose and layout.prose <= count and layout.prose
    local sentences = prose and text.wrap(cells[prose], widths[prose]) or {}
    cells[prose or 1] = sentences[1] or cells[prose or 1]
    lines[#lines + 1] = line_of(cells, kinds, widths, layout, style)
    for s = 2, #sentences do lines[#lines + 1] = line_of(below(cells, prose, sentences[s]), {}, widths, layout, style) end
  end
  if is_new and count < #view.columns and #rows > 0 then note_hidden(view.columns, count, style, lines) end
  return lines, layout
end

--- The lists of a record below it, each with its name.
local function add_lists(view, names, style, lines)
  for _, name in ipairs(names) do
    local rows = view.value[name]
    if #rows > 0 then
      lines[#lines + 1] = ""
      lines[#lines + 1] = style.paint("head", text.line(name) .. ":")
      for _, line in ipairs((M.list({ columns = view.lists[name], rows = rows }, style))) do lines[#lines + 1] = line end
    end
  end
end

--- The lines of a record: a field a line, its value at a column of its own; values of several lines below each other. Lists
--- in it are tables below it; above, there is how many rows they have.
---
---@param view { fields: string[], value: table, lists: table<string, string[]>? }
---@param style luka.console.Style
---@return string[] lines
function M.record(view, style)
  local widest, names, lists = 0, {}, {}
  for _, field in ipairs(view.fields) do
    if view.value[field] ~= nil then
      names[#names + 1] = field
      if view.lists and view.lists[field] then lists[#lists + 1] = field end
      widest = math.max(widest, text.width(text.line(field)))
    end
  end
  local lines, indent = {}, (" "):rep(widest + GAP)
  for _, field in ipairs(names) do
    local name, value = text.line(field), view.value[field]
    if view.lists and view.lists[field] then value = #value end
    local head = style.paint("head", name) .. (" "):rep(widest + GAP - text.width(name))
    local room = style.width and math.max(style.width - #indent, 10)
    local piece = cell(field, value, style.is_human) or "-"
    if type(value) == "table" and text.width(piece) > (room or 100) then
      for i, line in ipairs(pretty.lines(value, room)) do lines[#lines + 1] = (i == 1 and head or indent) .. line end
    else
      lines[#lines + 1] = head .. piece
    end
  end
  add_lists(view, lists, style, lines)
  return lines
end

return M
