-- SPDX-License-Identifier: Apache-2.0
-- Reads what is to be evaluated, in as many lines as it takes: edited with libedit where that is installed and the
-- terminal can do it, otherwise line by line as the terminal gives them.
local chunk = require "luka.console.chunk"
local complete = require "luka.console.complete"
local history = require "luka.console.history"
local keyboard_of = require "luka.console.keyboard"
local libc = require "luka.ffi.libc"

local M = {}

local FIRST, NEXT = "luka> ", "    > "
local DROPPED = "^C\27[J\n" -- what stands behind and below the cursor goes
local INDENT, CONTROL_Z = "  ", 26

---@class luka.console.Prompt
---@field is_edited boolean  the editor has the terminal
local Prompt = {}
Prompt.__index = Prompt

--- Tab: several bytes at once are pasted, where it is an indent, as it is at the beginning of a further line.
local function on_tab(self)
  local edit = self.edit
  local line, cursor = edit:line()
  local is_indent = self.is_further and not line:sub(1, cursor):find "%S"
  if is_indent or self.keyboard:has_more() then
    edit:replace(0, INDENT)
    return self.edit_of.CHANGED
  end
  if not self.can_complete then return self.edit_of.NOTHING end
  local answer = self.session:complete(line, cursor)
  if not answer then return self.edit_of.NOTHING end
  local words = {}
  for _, word in ipairs(answer.words) do
    if type(word) == "string" and not word:find "%c" then words[#words + 1] = word end
  end
  local action, removed, inserted = complete.decide(line, cursor, answer.start, words)
  if action == "replace" then
    edit:replace(removed, inserted)
    return self.edit_of.CHANGED
  end
  if action == "nothing" then return self.edit_of.NOTHING end
  local _, columns = libc.window_size(self.fd)
  self.session.events:write(self.fd, "\n" .. table.concat(complete.columns(words, columns or 80), "\n") .. "\n")
  edit:redraw()
  return self.edit_of.PRINTED
end

--- The next key for the editor. Ctrl-Z is a key here as well.
local function key(self)
  local code = self.keyboard:character()
  while code == CONTROL_Z do
    self.edit:lend(function()
      self.is_edited = false
      libc.suspend()
      self.session.events:take_signals()
    end)
    self.is_edited = true
    code = self.keyboard:character()
  end
  return code
end

--- Opens the editor; nil when lines are read plainly.
local function open_editor(self, output)
  if libc.is_dumb() then return nil end
  local edit_of = require "luka.ffi.edit"
  local edit, err = edit_of.open {
    output = output, history_size = history.MAX,
    key = function() return key(self) end,
    complete = function() return on_tab(self) end,
  }
  if not edit then
    self.notices[1] = "lines are read without editing and completion: " .. err
    return nil
  end
  self.edit_of = edit_of
  return edit
end

--- Opens a prompt on standard input, which is a terminal.
---
---@param session luka.console.Session
---@param fd integer  1 or 2: where prompts go
---@return luka.console.Prompt
function M.open(session, fd)
  local self = setmetatable({ session = session, fd = fd, keyboard = keyboard_of.new(session), notices = {}, is_edited = false },
    Prompt)
  self.history = history.open(history.path())
  self.edit = open_editor(self, fd == 1 and io.stdout or io.stderr)
  if self.edit then
    for _, entry in ipairs(self.history.entries) do self.edit:remember(entry) end
  end
  return self
end

--- One line; nil when there is none: "interrupt", "eof", "gone" or "ended".
local function read_line(self, text)
  self.keyboard.why = nil
  if self.edit then
    self.is_edited = true
    local line = self.edit:read(text)
    self.is_edited = false
    if line then return line end
    self.session.events:write(self.fd, self.keyboard.why == "interrupt" and DROPPED or "\n")
    return nil, self.keyboard.why or "eof"
  end
  self.session.events:write(self.fd, text)
  local line = self.keyboard:line()
  if line then return line end
  self.session.events:write(self.fd, "\n")
  return nil, self.keyboard.why
end

--- Reads a whole source; lines are added until it is complete. Ctrl-C drops what was typed and begins again.
---
---@return string? source
---@return "eof"|"gone"|"ended"|nil why
function Prompt:read()
  local lines = {}
  self.can_complete = true
  while true do
    self.is_further = #lines > 0
    local line, why = read_line(self, self.is_further and NEXT or FIRST)
    if line then
      lines[#lines + 1] = line
      local source = table.concat(lines, "\n")
      if not chunk.is_incomplete(source) then
        if self.history:add(source) and self.edit then self.edit:remember(source) end
        return source
      end
    elseif why == "interrupt" then
      lines = {}
    else
      return nil, why
    end
  end
end

--- Asks a question; anything but y or yes means no.
---
---@param question string  one line
---@return boolean
function Prompt:confirm(question)
  self.can_complete, self.is_further = false, false
  self.keyboard.is_dropping = false
  self.session.events:write(self.fd, question .. "\n")
  local answer = (read_line(self, "[y/N] ") or ""):lower():match "^%s*(.-)%s*$"
  self.keyboard.is_dropping = true
  return answer == "y" or answer == "yes"
end

--- What the user should know, a line each, once.
---
---@return string[]
function Prompt:take_notices()
  local notices = self.notices
  self.notices = {}
  if self.history.problem and not self.has_told then
    self.has_told = true
    notices[#notices + 1] = self.history.problem
  end
  return notices
end

--- The terminal has another size.
function Prompt:resize()
  if self.edit then self.edit:resize() end
end

--- The program goes on after it was stopped, by somebody else than Ctrl-Z: others have had the terminal since.
function Prompt:continue()
  if not self.is_edited then return end
  self.edit:lend(function() self.session.events:write(self.fd, "\r\27[K") end)
end

--- Gives the terminal back.
function Prompt:close()
  if self.edit then self.edit:close() end
end

return M
