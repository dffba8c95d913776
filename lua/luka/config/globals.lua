-- SPDX-License-Identifier: Apache-2.0
-- The globals of a configuration. Lua gives nil for a misspelt one, and a setting that is nil is not there: in
-- `retention_bytes = 5 * GB` that is an error, in `console = flase` it would pass silently. So reading a global that
-- nobody has set is an error here, and so is setting one of the words.
local explain = require "luka.config.explain"

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
    return explain.unknown_word(name, known)
  end
  return setmetatable(env, {
    __index = function(_, name)
      local word = words[name]
      if word == nil and type(name) == "string" then error(unknown(name), 2) end
      return word
    end,
    __newindex = function(_, name, value)
      if words[name] ~= nil then
        local what = type(words[name]) == "number" and "" or (": write %s { ... }"):format(name)
        error(("%s is a word of the configuration and cannot be set%s"):format(name, what), 2)
      end
      rawset(env, name, value)
    end,
    __metatable = false,
  })
end

return M
