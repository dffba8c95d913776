-- SPDX-License-Identifier: Apache-2.0
-- Where results go. Through a pipe they are written as they come. On a terminal the output of a command is held for a
-- moment: what is complete by then and longer than the screen goes to a pager, what is still coming (tail) is shown row
-- by row, and what a watch() shows again takes the place of what it showed before.
local json_lines = require "luka.console.json"
local libc = require "luka.ffi.libc"
local pager = require "luka.console.pager"
local pretty = require "luka.console.pretty"
local table_of = require "luka.console.table"
local text = require "luka.console.text"

local M = {}

--- How long output is held on a terminal before it counts as a stream, and how long a new picture of watch().
local HOLD_MS, LIVE_HOLD_MS = 150, 20
--- Bytes that are held at most.
local HELD_MAX = 4 * 1024 * 1024

local COLORS = { head = "1", faint = "2", text = "32", number = "36", word = "33", error = "31" }

---@class luka.console.Output
---@field failure string?  why standard output takes no more; "" when its reader is gone
---@field confirm fun(question: string): boolean
local Output = {}
Output.__index = Output

--- Paints with colours, or with none.
---
---@param is_colored boolean
---@return fun(kind: string, piece: string): string
function M.painter(is_colored)
  if not is_colored then return pretty.no_paint end
  return function(kind, piece) return "\27[" .. COLORS[kind] .. "m" .. piece .. "\27[0m" end
end

--- Makes an output.
---
---@param given { events: luka.console.Events, is_terminal: boolean, is_colored: boolean, is_dumb: boolean, is_paged: boolean,
---   is_json: boolean, columns: integer?, rows: integer? }  is_dumb: the terminal can only print
---@return luka.console.Output
function M.new(given)
  local self = setmetatable({
    events = given.events, is_terminal = given.is_terminal, is_json = given.is_json,
    is_paged = given.is_terminal and given.is_paged, can_redraw = given.is_terminal and not given.is_dumb,
    style = { paint = M.painter(given.is_terminal and given.is_colored and not given.is_json), is_human = given.is_terminal },
    held = {}, held_size = 0,
  }, Output)
  self:resize(given.rows, given.columns)
  self.confirm = function() return false end
  return self
end

--- Takes a new size of the terminal.
---
---@param rows integer?
---@param columns integer?
function Output:resize(rows, columns)
  self.rows, self.columns = rows or 24, columns or 80
  self.style.width = self.is_terminal and self.columns or nil
end

--- A new command begins.
function Output:begin()
  self.layout, self.is_streaming, self.is_live, self.shown, self.replaced = nil, not self.is_paged, false, 0, 0
end

--- Writes to standard output.
local function write(self, piece)
  if self.failure then return end
  local ok, err, errno = self.events:write(1, piece)
  if ok then return end
  if errno == libc.EPIPE then
    self.failure = ""
  elseif errno then
    self.failure = "cannot write to standard output: " .. err
  end
end

--- The held lines, each within the width of the terminal where that is asked for.
local function take_held(self)
  local lines = self.held
  self.held, self.held_size, self.held_until, self.is_last_look = {}, 0, nil, false
  return lines
end

--- Replaces what a watch() showed before.
local function redraw(self, lines)
  local room = self.rows - 1
  local left_out = self.shown - self.replaced + #lines - room
  if left_out > 0 and #lines > 0 then
    for _ = 1, math.min(left_out, #lines - 1) do lines[#lines] = nil end
    lines[#lines] = self.style.paint("faint", "… the terminal is too low for more")
  end
  local back = self.replaced > 0 and ("\27[%dA\r\27[J"):format(self.replaced) or ""
  self.shown = self.shown - self.replaced + #lines
  self.replaced = 0
  write(self, back .. table.concat(lines, "\n") .. "\n")
end

--- Shows what is held.
function Output:flush()
  if #self.held == 0 then return end
  local lines = take_held(self)
  if self.is_live and self.can_redraw then return redraw(self, lines) end
  self.is_streaming = true
  write(self, table.concat(lines, "\n") .. "\n")
end

--- Holds lines, or shows them when enough are held.
local function put(self, lines)
  for _, line in ipairs(lines) do
    self.held[#self.held + 1] = line
    self.held_size = self.held_size + #line
  end
  if self.held_size > HELD_MAX then return self:flush() end
  if not self.held_until and (self.is_live or not self.is_streaming) then
    self.held_until = libc.now_ms() + (self.is_live and LIVE_HOLD_MS or HOLD_MS)
  end
end

--- Nothing more has come for now: shows what need not be held any longer, and says for how long the rest may be. What is
--- held for too long is shown when a last look, 0 ms, has brought nothing: this program may have been held up itself.
---
---@return integer? ms  nil: for ever
function Output:idle()
  if #self.held == 0 then return nil end
  local left = self.held_until and self.held_until - libc.now_ms()
  if left and left > 0 then return left end
  if left and not self.is_last_look then
    self.is_last_look = true
    return 0
  end
  self:flush()
  return nil
end

--- The command is done.
function Output:finish()
  if #self.held == 0 then return end
  if self.is_live or self.is_streaming then return self:flush() end
  local count = 0
  for _, line in ipairs(self.held) do
    count = count + math.max(1, math.ceil(text.width(line:gsub("\27%[%d+m", "")) / self.columns))
  end
  if count < self.rows then return self:flush() end
  local lines = take_held(self)
  local whole = table.concat(lines, "\n") .. "\n"
  if not pager.show(whole, self.events) then write(self, whole) end
end

--- Text that print() wrote.
---
---@param piece string
function Output:text(piece)
  if self.is_json then -- standard output has nothing but JSON
    self.events:write(2, piece:gsub("\n?$", "\n", 1))
    return
  end
  local lines = {}
  for line in text.each_line(self.is_terminal and text.lines(piece) or piece) do
    lines[#lines + 1] = self.is_live and self.can_redraw and text.cut(line, self.columns) or line
  end
  put(self, lines)
end

--- Whether a list of names is one.
local function is_names(names)
  if type(names) ~= "table" or #names == 0 then return false end
  for _, name in ipairs(names) do
    if type(name) ~= "string" then return false end
  end
  return true
end

local function check_list(view)
  if not is_names(view.columns) or type(view.rows) ~= "table" then return "it sent a list without columns or rows" end
  for _, row in ipairs(view.rows) do
    if type(row) ~= "table" then return "it sent a row that is no object" end
  end
  return nil
end

--- What is wrong with a record.
local function check_record(view)
  if not is_names(view.fields) or type(view.value) ~= "table" then return "it sent a record without fields" end
  for name, columns in pairs(type(view.lists) == "table" and view.lists or {}) do
    if check_list { columns = columns, rows = view.value[name] } then return "it sent a record with a list that is none" end
  end
  return nil
end

local RENDER = {}

function RENDER.list(self, view)
  local lines
  lines, self.layout = table_of.list(view, self.style, self.layout)
  return lines
end

function RENDER.record(self, view)
  return table_of.record(view, self.style)
end

function RENDER.plain(self, view)
  return pretty.lines(view.value, self.style.width, self.style.paint)
end

--- A result.
---
---@param view table  see lua/luka/view.lua
---@return string? problem  what is wrong with it
function Output:view(view)
  local render = RENDER[view.kind]
  if not render then return ("it sent a result of the unknown kind '%s'"):format(text.line(view.kind:sub(1, 40))) end
  local problem
  if view.kind == "list" then
    problem = check_list(view)
  elseif view.kind == "record" then
    problem = check_record(view)
  end
  if problem then return problem end
  if self.is_json then
    put(self, json_lines.lines(view))
    return nil
  end
  if view.kind ~= "list" then self.layout = nil end
  local lines = render(self, view)
  if self.is_live and self.can_redraw then
    for i, line in ipairs(lines) do
      if view.kind ~= "list" then lines[i] = text.cut(line, self.columns) end
    end
  end
  put(self, lines)
  return nil
end

--- Ctrl-C: the terminal shows it as ^C, and what comes next begins below that.
function Output:interrupted()
  if self.is_terminal then write(self, "\n") end
end

--- What comes next takes the place of what was shown since the last call.
function Output:clear()
  self:flush()
  self.layout = nil
  if self.can_redraw then self.replaced = self.shown end
  if not self.is_live then
    self.is_live, self.is_streaming = true, true
    self.shown, self.replaced = 0, 0
  end
end

return M
