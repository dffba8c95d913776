-- SPDX-License-Identifier: Apache-2.0
-- The globals of a configuration. Lua gives nil for a misspelt one, and a setting that is nil is not there: in
-- `retention_bytes = 5 * GB` that is an error, in `console = flase` it would pass silently. So reading a global that
-- nobody has set is an error here, and so is setting one of the words.
local blocks = require "luka.config.blocks"
local explain = require "luka.config.explain"
local failure = require "luka.config.failure"
local schema = require "luka.config.schema"
local source = require "luka.config.source"

local M = {}

--- Makes an environment strict and gives it words.
---
---@param env table  what the sandbox gives to user code; changed
---@param words table<string, any>
---@return table env
function M.new(env, words)
  local function unknown(name)
    local known = {}
    for word in pairs(words) do known[#known + 1] = word end
    for word in next, env do
      if type(word) == "string" then known[#known + 1] = word end
    end
    local text = explain.unknown_word(name, known)
    local is_key = schema.TOPIC[name] and text == "unknown word " .. name
    return is_key and ('%s: it is a key, topic "name" { %s = ... }'):format(text, name) or text
  end
  return setmetatable(env, {
    __index = function(_, name)
      local word = words[name]
      if word == nil and type(name) == "string" then error(unknown(name), 2) end
      return word
    end,
    __newindex = function(_, name, value)
      if words[name] ~= nil then
        local what = blocks.WORDS[name] and (": write %s { ... }"):format(name) or ""
        error(("%s is a word of the configuration and cannot be set%s"):format(name, what), 2)
      end
      rawset(env, name, value)
    end,
    __metatable = false,
  })
end

--- Where a name stands in the files, when it does so once.
local function only_place(files, name)
  local place
  for path, file in pairs(files.by_path) do
    local tokens = source.tokens(file.text)
    for i = 1, tokens.count do
      if tokens.kinds[i] == "name" and tokens.texts[i] == name then
        if place then return nil end
        place = { source = path, line = tokens.lines[i] }
      end
    end
  end
  return place
end

--- Raises an error for a key that stands outside of the braces: `retention_ms = days(7)` by itself sets a variable, and
--- when its name is nowhere else, nothing reads it.
---
---@param env table  as M.new() made it, after the file has run
---@param files luka.Files
function M.check_unread(env, files)
  for _, block in ipairs { "defaults", "broker", "topic" } do
    for _, key in ipairs(schema.keys(block)) do
      local place = rawget(env, key) ~= nil and only_place(files, key)
      if place then
        failure.raise(place, key, "is a variable here, which nothing reads; write %s { %s = ... }",
          block == "topic" and 'topic "name"' or block, key)
      end
    end
  end
end

return M
