-- SPDX-License-Identifier: Apache-2.0
-- Finds the line of each key in the source of a configuration file. Lua tells where `broker {` was called, not where in
-- the braces a key stands; so the source is split into tokens once and every `word { key = ... }` is noted.
---@class (exact) luka.Tokens
---@field kinds string[]  "name", "string" or "other"
---@field texts string[]  the value of a string, without quotes
---@field lines integer[]  where each begins
---@field count integer

---@class (exact) luka.SourceBlock
---@field word string  what is called
---@field name string?  its first argument, when that is a literal string
---@field line integer  of the word
---@field open_line integer  of the brace
---@field close_line integer
---@field keys table<string, integer>  line of each key
---@field earlier table<string, integer>  line of each key that is given again further down

local M = {}

local KEYWORDS = { ["function"] = 1, ["if"] = 1, ["do"] = 1, ["repeat"] = 1, ["end"] = -1, ["until"] = -1 }
local OPENING = { ["{"] = true, ["("] = true, ["["] = true }
local CLOSING = { ["}"] = true, [")"] = true, ["]"] = true }
local ESCAPES = { a = "\a", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", v = "\v" }

--- The value of a short string's inside; escapes that are rare in keys are kept as they are.
local function unescape(text)
  return (text:gsub("\\(.)", function(char) return ESCAPES[char] or char end))
end

--- Where a short string that starts at `at` ends, or the end of the text.
local function short_string_end(text, at)
  local quote = text:sub(at, at)
  local pos = at + 1
  while true do
    local found = text:find("[\\\n" .. quote .. "]", pos)
    if not found then return #text end
    local char = text:sub(found, found)
    if char == "\\" then
      pos = found + 2
    else
      return found
    end
  end
end

--- Splits Lua source into tokens, in parallel arrays because a file may have a hundred thousand. Numbers and operators
--- come out as "other", in pieces; whoever reads them looks at punctuation only.
---
---@param text string
---@return luka.Tokens tokens
function M.tokens(text)
  -- Lua skips a byte order mark, and takes a return, a newline and both in either order for one end of a line.
  text = text:gsub("^\239\187\191", ""):gsub("\r\n", "\n"):gsub("\n\r", "\n"):gsub("\r", "\n")
  local kinds, texts, lines, count = {}, {}, {}, 0
  local at, line, size = 1, 1, #text

  local function put(kind, value)
    count = count + 1
    kinds[count], texts[count], lines[count] = kind, value, line
  end
  local function count_lines(from, to)
    local pos = text:find("\n", from, true)
    while pos and pos <= to do
      line = line + 1
      pos = text:find("\n", pos + 1, true)
    end
  end

  while at <= size do
    local stop
    local char = text:sub(at, at)
    if char:find "%s" then
      stop = select(2, text:find("^%s+", at))
      count_lines(at, stop)
    elseif char:find "[%a_\128-\255]" then
      stop = select(2, text:find("^[%w_\128-\255]+", at))
      put("name", text:sub(at, stop))
    elseif char:find "%d" then
      stop = select(2, text:find("^[%w.]+", at))
      put("other", text:sub(at, stop))
    elseif char == '"' or char == "'" then
      stop = short_string_end(text, at)
      put("string", unescape(text:sub(at + 1, stop - 1)))
      count_lines(at, stop)
    else
      local dashes, level = text:match("^(%-?%-?)%[(=*)%[", at)
      if level and (dashes == "" or dashes == "--") then -- long string or comment
        stop = select(2, text:find("]" .. level .. "]", at, true)) or size
        if dashes == "" then put("string", text:sub(at + #level + 2, stop - #level - 2)) end
        count_lines(at, stop)
      elseif text:find("^%-%-", at) then
        stop = (text:find("\n", at, true) or size + 1) - 1
      else
        stop = text:find("^[=~<>]=", at) and at + 1 or at
        put("other", text:sub(at, stop))
      end
    end
    at = stop + 1
  end
  return { kinds = kinds, texts = texts, lines = lines, count = count }
end

--- The token that ends the block which a token begins: the `end` of a `function`; nil when there is none.
---
---@param tokens luka.Tokens
---@param first integer
---@return integer?
function M.end_of_block(tokens, first)
  local depth = 0
  for i = first, tokens.count do
    local step = tokens.kinds[i] == "name" and KEYWORDS[tokens.texts[i]] or 0
    depth = depth + step
    if step < 0 and depth == 0 then return i end
  end
  return nil
end

--- Reads the keys of a table constructor whose brace is token `open`.
local function read_keys(tokens, open)
  local kinds, texts = tokens.kinds, tokens.texts
  local keys, earlier = {}, {}
  local nesting, blocks = 0, 0
  local close_line = tokens.lines[tokens.count]
  for i = open, tokens.count do
    local kind, text = kinds[i], texts[i]
    if kind == "name" then
      blocks = blocks + (KEYWORDS[text] or 0)
    elseif kind == "other" and OPENING[text] then
      nesting = nesting + 1
    elseif kind == "other" and CLOSING[text] then
      nesting = nesting - 1
      if nesting == 0 then
        close_line = tokens.lines[i]
        break
      end
    end
    if kind == "other" and nesting == 1 and blocks == 0 and (i == open or text == "," or text == ";") then
      local key
      if kinds[i + 1] == "name" and texts[i + 2] == "=" and kinds[i + 2] == "other" then
        key = i + 1
      elseif texts[i + 1] == "[" and kinds[i + 2] == "string" and texts[i + 3] == "]" and texts[i + 4] == "=" then
        key = i + 2
      end
      if key then
        earlier[texts[key]] = keys[texts[key]]
        keys[texts[key]] = tokens.lines[key]
      end
    end
  end
  return keys, earlier, close_line
end

--- Finds all calls `word { ... }`, `word "name" { ... }` and `word("name", { ... })`, with or without parentheses.
---
---@param text string
---@param words table<string, any>  the words to look for, as keys
---@return luka.SourceBlock[] blocks
function M.blocks(text, words)
  local tokens = M.tokens(text)
  local kinds, texts, lines = tokens.kinds, tokens.texts, tokens.lines
  local blocks = {}

  local function skip(at, punctuation)
    return kinds[at] == "other" and texts[at] == punctuation and at + 1 or at
  end

  for i = 1, tokens.count do
    local is_call = kinds[i] == "name" and words[texts[i]] ~= nil
    if is_call and not (kinds[i - 1] == "other" and (texts[i - 1] == "." or texts[i - 1] == ":")) then
      local at, name = skip(i + 1, "("), nil
      if kinds[at] == "string" then
        name = texts[at]
        at = skip(skip(skip(at + 1, ","), ")"), "(")
      end
      if kinds[at] == "other" and texts[at] == "{" then
        local keys, earlier, close_line = read_keys(tokens, at)
        blocks[#blocks + 1] = {
          word = texts[i], name = name, line = lines[i], open_line = lines[at], close_line = close_line,
          keys = keys, earlier = earlier,
        }
      end
    end
  end
  return blocks
end

--- Sorts blocks by the lines that Lua may tell for their call, so that finding one does not take longer in a long file.
---
---@param blocks luka.SourceBlock[]
---@return table<integer, luka.SourceBlock[]> by_line
function M.by_line(blocks)
  local by_line = {}
  for _, block in ipairs(blocks) do
    for line = block.line, block.open_line do
      by_line[line] = by_line[line] or {}
      table.insert(by_line[line], block)
    end
  end
  return by_line
end

--- The block that a call of `word` at `line` is.
---
---@param by_line table<integer, luka.SourceBlock[]>
---@param word string
---@param name string?  for `topic`
---@param line integer  of the call, as Lua tells it
---@return luka.SourceBlock?
function M.find(by_line, word, name, line)
  for _, block in ipairs(by_line[line] or {}) do
    if block.word == word and (not block.name or block.name == name) then return block end
  end
  return nil
end

return M
