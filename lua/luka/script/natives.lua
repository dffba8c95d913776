-- SPDX-License-Identifier: Apache-2.0
-- The functions of C that words get. Those of the script thread itself are as they are; services (core/lua/script.h) take
-- any value that JSON can hold, wait, and give what was answered.
local errors = require "luka.errors"
local json = require "luka.native.json"
local task = require "luka.script.task"

local M = {}

local function answer(text, message, code)
  if text == nil then errors.raise(code, "%s", message) end
  return json.decode(text)
end

local function service(ask)
  return function(argument)
    return answer(task.await(ask(argument == nil and "null" or json.encode(argument))))
  end
end

--- The `native` of words.
---
---@param native luka.Native
---@return table<string, function>
function M.new(native)
  local out = {}
  for name, ask in pairs(native.services) do out[name] = service(ask) end
  return setmetatable(out, { __index = native })
end

return M
