-- SPDX-License-Identifier: Apache-2.0
-- What may follow in a line that is being typed: words and globals, members of tables, methods of topics, names of topics,
-- configs and options where those are expected (luka.words.complete knows them). Looks at tables as they are and runs no
-- code of the user's; names of topics are asked for, so it runs in a task.
local complete = require "luka.words.complete"

local M = {}

--- Most that is offered, and the longest name of a table's that is, bytes: all of them fit a frame.
M.MAX, M.NAME_MAX = 500, 200

--- What the text in quotes behind a word is.
local IN_QUOTES = {
  topic = "topic", topics = "topic", partitions = "topic", tail = "topic", records = "topic", produce = "topic",
  rates = "topic", configs = "config", unset = "config", help = "help", group = "group", groups = "group",
  reset_offsets = "group", commit = "group", kick = "group", delete_group = "group", delete_offsets = "group",
}

--- What the keys of a table are, by what stands before it.
local KEYS = {
  { "%f[%w_]create%s*%(?%s*([\"'])[^\"']*%1%s*,?%s*$", "create" },
  { "%f[%w_]tail%s*%(?%s*([\"'])[^\"']*%1%s*,?%s*$", "reading" },
  { "%f[%w_]records%s*%(?%s*([\"'])[^\"']*%1%s*,?%s*$", "reading" },
  { "%f[%w_]produce%s*%(?%s*([\"'])[^\"']*%1%s*,?%s*$", "record" },
  { ":set%s*%(?%s*$", "config" },
  { "%f[%w_]reset_offsets%s*%(%s*([\"'])[^\"']*%1%s*,%s*$", "reset" },
}

--- Where the text ends: `opened` has the open brackets, each with its position; `string` is where the text of an open
--- string begins.
local function scan(text)
  local opened, at = {}, 1
  while at <= #text do
    local char = text:sub(at, at)
    if char == '"' or char == "'" then
      local from = at + 1
      repeat
        at = at + 1
        if text:sub(at, at) == "\\" then at = at + 2 end
      until at > #text or text:sub(at, at) == char
      if at > #text then return opened, from end
    elseif text:find("^%-%-", at) then
      return opened, nil, true
    elseif char:find "[%(%[{]" then
      opened[#opened + 1] = { char = char, at = at }
    elseif char:find "[%)%]}]" then
      opened[#opened] = nil
    end
    at = at + 1
  end
  return opened, nil
end

--- Takes out what begins with the part that is typed, sorted, each once.
local function choose(names, part)
  local out, seen = {}, {}
  for i = 1, #names do
    local name = names[i]
    if not seen[name] and name:sub(1, #part) == part then
      seen[name] = true
      out[#out + 1] = name
    end
  end
  table.sort(out)
  for i = #out, M.MAX + 1, -1 do out[i] = nil end
  return out
end

local function add_keys(names, value)
  for key in next, value do
    if type(key) == "string" and #key <= M.NAME_MAX and key:find "^[%a_][%w_]*$" then names[#names + 1] = key end
  end
end

--- The table behind a table that shows its members by `__index`.
local function behind(value)
  local meta = debug.getmetatable(value)
  local index = type(meta) == "table" and rawget(meta, "__index")
  return type(index) == "table" and index or nil
end

local function member(value, key)
  for _ = 1, 8 do
    if type(value) ~= "table" then return nil end
    local found = rawget(value, key)
    if found ~= nil then return found end
    value = behind(value)
  end
  return nil
end

--- Names of the members of a value.
local function members(value)
  local names = {}
  if type(value) == "string" then value = debug.getmetatable("").__index end
  for _ = 1, 8 do
    if type(value) ~= "table" then break end
    add_keys(names, value)
    value = behind(value)
  end
  return names
end

--- What the methods of an object of words are called: its members come from a function.
local METHODS = { topic = "method", group = "group_method" }

--- The kind of an object of words, "topic" for topic "x"; nil for other values.
local function kind_of(value)
  local meta = type(value) == "table" and debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__metatable") == false and METHODS[rawget(meta, "kind")]
end

--- Names that the words know.
local function names_of(session, kind, part) return choose(complete.names(session.context, kind, part), part) end

--- Inside of quotes.
local function in_string(session, before, part)
  local kind = IN_QUOTES[before:match "([%a_][%w_]*)%s*%(?%s*$"]
  return kind and names_of(session, kind, part) or {}
end

--- What the keys of the table are that is open behind a text, if that is known.
local function kind_of_keys(before)
  for _, case in ipairs(KEYS) do
    if before:find(case[1]) then return case[2] end
  end
  return nil
end

--- Names behind the last dot or colon.
local function in_path(session, path, separator, part)
  local value = session.env
  local is_first = true
  for name in path:gmatch "[%a_][%w_]*" do
    value = member(value, name)
    if is_first and value == nil then value = member(session.known, name) end
    is_first = false
  end
  local methods = separator == ":" and kind_of(value)
  if methods then return names_of(session, methods, part) end
  return choose(members(value), part)
end

--- Completes a line.
---
---@param session luka.Session
---@param line string
---@param cursor integer  bytes before it
---@return integer start  bytes before the part that is completed
---@return string[] words  what may stand there
function M.words(session, line, cursor)
  local text = line:sub(1, cursor)
  local opened, from, is_comment = scan(text)
  if is_comment then return cursor, {} end
  if from then return from - 1, in_string(session, text:sub(1, from - 2), text:sub(from)) end
  local part = text:match "[%a_]?[%w_]*$"
  local before = text:sub(1, #text - #part)
  local start = #before
  local word = before:match "%f[%w_](%l+)%s*%(?%s*[\"'][^\"']*[\"']%s*%)?%s*:%s*$"
  if METHODS[word] then return start, names_of(session, METHODS[word], part) end
  local path, separator = before:match "([%a_][%w_%.]*)%s*([%.:])%s*$"
  if path then return start, in_path(session, path, separator, part) end
  if before:find "[%.:]%s*$" then return start, {} end
  local innermost = opened[#opened]
  if innermost and innermost.char == "{" and before:find "[{,;]%s*$" then
    local kind = kind_of_keys(before:sub(1, innermost.at - 1))
    if kind then return start, names_of(session, kind, part) end
  end
  local names = {}
  add_keys(names, session.env)
  add_keys(names, session.known)
  return start, choose(names, part)
end

return M
