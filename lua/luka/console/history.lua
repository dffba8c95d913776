-- SPDX-License-Identifier: Apache-2.0
-- What was typed, kept across sessions in a file of the user's own: an entry a line, the newest last. Several consoles
-- at once add to the same file, one after the other; it is shortened when one opens it.
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
  local file = libc.kind(path) == "file" and io.open(path, "rb") -- a FIFO would keep us waiting
  if not file then return "" end
  local size = file:seek "end" or 0
  file:seek("set", math.max(0, size - FILE_MAX))
  local bytes = file:read "*a" or ""
  file:close()
  return size > FILE_MAX and bytes:match "\n(.*)" or bytes
end

--- The lines of the file.
local function read_lines(path)
  local lines = {}
  for line in read_end(path):gmatch "([^\n]+)\n" do lines[#lines + 1] = line end
  return lines
end

--- The newest entries of some lines.
local function newest(lines)
  local entries = {}
  for i = math.max(1, #lines - M.MAX + 1), #lines do entries[#entries + 1] = to_entry(lines[i]) end
  return entries
end

--- Changes the file while nobody else does; what goes wrong is kept in `problem`, and ends the writing.
local function change(self, is_appending, write)
  if self.problem then return end
  local folder = self.path:match "^(.*)/[^/]*$"
  local ok, err, fd = true, nil, nil
  if folder then ok, err = libc.make_folders(folder) end
  if ok then fd, err = libc.open_private(self.path, is_appending) end
  if fd then
    ok, err = write(fd)
    libc.close(fd)
  end
  if not (fd and ok) then self.problem = ("the history is not kept: %s: %s"):format(self.path, err) end
end

--- Writes the newest entries over the oldest and cuts the rest off, so that a full disk cannot lose them.
local function shorten(self)
  change(self, false, function(fd)
    local kept = {}
    for i, entry in ipairs(newest(read_lines(self.path))) do kept[i] = to_line(entry) end
    local whole = table.concat(kept)
    local ok, err = libc.write_all(fd, whole)
    if not ok then return nil, err end
    return libc.cut(fd, #whole)
  end)
end

--- Reads the history.
---
---@param path string?  nil: it is not kept in a file
---@return luka.console.History
function M.open(path)
  local self = setmetatable({ path = path, entries = {} }, History)
  if not path then return self end
  local lines = read_lines(path)
  self.entries = newest(lines)
  if #lines > 2 * M.MAX then shorten(self) end
  return self
end

--- Adds an entry, unless it is empty, very long or the same as the one before.
---
---@param entry string
---@return boolean is_added
function History:add(entry)
  if not entry:find "%S" or #entry > ENTRY_MAX or entry == self.entries[#self.entries] then return false end
  self.entries[#self.entries + 1] = entry
  if self.path then change(self, true, function(fd) return libc.write_all(fd, to_line(entry)) end) end
  return true
end

return M
