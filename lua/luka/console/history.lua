-- SPDX-License-Identifier: Apache-2.0
-- What was typed, kept across sessions in a file of the user's own: an entry a line, the newest last. Several consoles
-- at once add to the same file; it is shortened when one opens it.
local libc = require "luka.ffi.libc"

local M = {
  MAX = 1000, -- entries that are kept
}

--- Longest file that is read, bytes, and longest entry that is kept.
local FILE_MAX, ENTRY_MAX = 4 * 1024 * 1024, 16384

---@class luka.console.History
---@field entries string[]  oldest first
---@field problem string?  why the file is not kept: one line
local History = {}
History.__index = History

--- Where the file is: $LUKA_HISTORY, or luka/history below $XDG_STATE_HOME or ~/.local/state. nil: nowhere.
---
---@return string? path
function M.path()
  local named = os.getenv "LUKA_HISTORY"
  if named then return named ~= "" and named or nil end
  local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
  if state and state:find "^/" then return state .. "/luka/history" end
  return home and home ~= "" and home .. "/.local/state/luka/history" or nil
end

local ESCAPES = { ["\\"] = "\\\\", ["\n"] = "\\n" }
local UNESCAPES = { ["\\\\"] = "\\", ["\\n"] = "\n" }

--- An entry as a line of the file, and back.
local function to_line(entry)
  return entry:gsub("[\\\n]", ESCAPES) .. "\n"
end

local function to_entry(line)
  return (line:gsub("\\[\\n]", UNESCAPES))
end

--- The end of the file, as far as it is read.
local function read_end(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local size = file:seek "end" or 0
  file:seek("set", math.max(0, size - FILE_MAX))
  local bytes = file:read "*a" or ""
  file:close()
  return size > FILE_MAX and bytes:match "\n(.*)" or bytes
end

--- Reads the history.
---
---@param path string?  nil: it is not kept in a file
---@return luka.console.History
function M.open(path)
  local self = setmetatable({ path = path, entries = {} }, History)
  if not path then return self end
  local lines = {}
  for line in read_end(path):gmatch "([^\n]+)\n" do lines[#lines + 1] = line end
  for i = math.max(1, #lines - M.MAX + 1), #lines do self.entries[#self.entries + 1] = to_entry(lines[i]) end
  if #lines > 2 * M.MAX then
    local kept = {}
    for i, entry in ipairs(self.entries) do kept[i] = to_line(entry) end
    self:write(table.concat(kept), false)
  end
  return self
end

--- Writes to the file; what goes wrong is kept in `problem`, and ends the writing.
function History:write(bytes, is_appending)
  if self.problem then return end
  local folder = self.path:match "^(.*)/[^/]*$"
  local ok, err = true, nil
  if folder then ok, err = libc.make_folders(folder) end
  if ok then ok, err = libc.write_private(self.path, bytes, is_appending) end
  if not ok then self.problem = ("the history is not kept: %s: %s"):format(self.path, err) end
end

--- Adds an entry, unless it is empty, very long or the same as the one before.
---
---@param entry string
---@return boolean is_added
function History:add(entry)
  if not entry:find "%S" or #entry > ENTRY_MAX or entry == self.entries[#self.entries] then return false end
  self.entries[#self.entries + 1] = entry
  if self.path then self:write(to_line(entry), true) end
  return true
end

return M
