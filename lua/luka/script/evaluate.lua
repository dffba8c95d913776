-- SPDX-License-Identifier: Apache-2.0
-- Evaluates what was typed: as an expression where it is one, otherwise as statements. Values are shown; errors become one
-- line for the user.
local errors = require "luka.errors"
local explain = require "luka.config.explain"
local foreign = require "luka.words.explain"
local memory = require "luka.script.memory"
local sources = require "luka.sandbox.source"
local task = require "luka.script.task"
local view = require "luka.view"
local words = require "luka.words"

local M = {}

--- Longest message of an error, bytes, and the most globals that are looked through for a misspelt one.
local MESSAGE_MAX, NAMES_MAX = 4096, 1000

--- Longest name that may have been meant, bytes: errors are explained outside of the task, where nothing is interrupted,
--- and it takes the square of it. (Of a line luka.config.explain looks at the beginning only.)
local NAME_MAX = 64

--- Shows a result. A word that was named, and not called, is explained: there is nothing else to see.
local function show_value(value)
  local kind = type(value)
  local entry = (kind == "function" or kind == "table") and words.help():find(value)
  if not entry then return task.show(value) end
  task.print(('%s\n  %s help "%s" says more.'):format(entry.usage, entry.text, entry.name))
end

--- Shows the results of a chunk, or raises its error as something that can be told outside of the task.
local function show(first, ok, ...)
  if ok then
    for i = first, select("#", ...) do show_value((select(i, ...))) end
    return
  end
  local err = ...
  if type(err) == "string" or errors.is(err) then error(err, 0) end
  local has_text, text = pcall(tostring, err)
  if has_text and type(text) == "string" and not text:find "^%a+: " then error("the error raised is " .. text, 0) end
  error(("the error raised is a %s, not a text"):format(type(err)), 0)
end

--- What a task runs for a piece of source text.
---
---@param source string
---@param name string  of the chunk, for messages
---@param env table
---@return function
function M.new(source, name, env)
  return function()
    if #source > sources.MAX then errors.raise("too_large", "the source text is longer than %d bytes", sources.MAX) end
    if source:sub(1, 1) == "\27" then error(name .. ":1: is compiled Lua, only source text is accepted", 0) end
    -- A call behind "nil," is no tail call: its errors know their line.
    local chunk = sources.compile("return nil, " .. source, "@" .. name, env)
    if chunk then return show(2, pcall(chunk)) end
    local err
    chunk, err = sources.compile(source, "@" .. name, env)
    if not chunk then error(err, 0) end
    return show(1, pcall(chunk))
  end
end

--- A line of the source text.
local function line_of(source, number)
  for line in (source .. "\n"):gmatch "([^\n]*)\n" do
    number = number - 1
    if number == 0 then return line end
  end
  return ""
end

--- The words and globals that a name may have been meant for.
local function names(session)
  local all, left = {}, NAMES_MAX
  for name in pairs(session.known) do all[#all + 1] = name end
  for name in next, session.env do
    if type(name) == "string" and #name <= NAME_MAX then all[#all + 1] = name end
    left = left - 1
    if left == 0 then break end
  end
  return all
end

local function explain_error(err, source, name, session)
  if errors.is(err) then return err.message, err.code end
  if type(err) ~= "string" then return ("the error raised is a %s, not a text"):format(type(err)) end
  if err == "not enough memory" then return memory.text(), "memory" end
  local text = err:sub(1, MESSAGE_MAX):gsub("^luka/[%w_/]+%.lua:%d+: ", "")
  local prefix = name .. ":"
  if text:sub(1, #prefix) == prefix then
    local number, rest = text:match("^(%d+): (.*)$", #prefix + 1)
    if number then
      local where = prefix .. number .. ": "
      local called = rest:match "^attempt to %a+ global '([%w_]+)' %(a nil value%)"
      local instead = called and foreign.foreign_word(called)
      if instead then return ("%sunknown word %s: %s"):format(where, called, instead) end
      return where .. explain.message(rest, line_of(source, tonumber(number)), "the console", names(session))
    end
  end
  return text
end

--- The line for an error, and its code where it has one.
---
---@param err any
---@param source string
---@param name string
---@param session luka.Session
---@return string message  UTF-8
---@return string? code
function M.explain(err, source, name, session)
  local message, code = explain_error(err, source, name, session)
  return view.text(message:sub(1, MESSAGE_MAX)), code and view.text(code:sub(1, MESSAGE_MAX))
end

return M
