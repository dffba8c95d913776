-- SPDX-License-Identifier: Apache-2.0
-- Evaluates what was typed: as an expression where it is one, otherwise as statements. Values are shown; errors become one
-- line for the user.
local errors = require "luka.errors"
local explain = require "luka.config.explain"
local memory = require "luka.script.memory"
local task = require "luka.script.task"
local view = require "luka.view"

local M = {}

--- Longest source text, bytes: parsing cannot be interrupted.
M.SOURCE_MAX = 1024 * 1024

--- Longest message of an error, bytes, and the most globals that are looked through for a misspelt one.
local MESSAGE_MAX, NAMES_MAX = 4096, 1000

--- Shows the results of a chunk, or raises its error as something that can be told outside of the task.
local function show(first, ok, ...)
  if ok then
    for i = first, select("#", ...) do task.show((select(i, ...))) end
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
    if #source > M.SOURCE_MAX then errors.raise("too_large", "the source text is longer than %d bytes", M.SOURCE_MAX) end
    if source:sub(1, 1) == "\27" then error(name .. ":1: is compiled Lua, only source text is accepted", 0) end
    -- A call behind "nil," is no tail call: its errors know their line.
    local chunk = load("return nil, " .. source, "@" .. name, "t", env)
    if chunk then return show(2, pcall(chunk)) end
    local err
    chunk, err = load(source, "@" .. name, "t", env)
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
    if type(name) == "string" then all[#all + 1] = name end
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
