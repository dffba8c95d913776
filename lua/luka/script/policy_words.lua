-- SPDX-License-Identifier: Apache-2.0
-- The words that functions of the configuration find on the script thread beside those that they find everywhere
-- (luka.policy.words): admin, produce, reject.
local admin = require "luka.admin"
local channel = require "luka.script.channel"
local environment = require "luka.sandbox.environment"
local tasks = require "luka.script.task"

local M = {}

--- What the broker knows requests of these functions by: they meet no hooks (core/api/hooks.c).
M.CLIENT_ID = "luka-policy"

--- Longest reason of a rejection, bytes.
M.REASON_MAX = 400

--- Raised by reject().
local REJECTED = setmetatable({}, { __tostring = function() return "rejected" end, __metatable = false })

local function reject(reason)
  local task = tasks.current()
  if not task or not task.is_asked or not task.index then
    error("reject is for hooks that are asked before something happens", 2)
  end
  if type(reason) ~= "string" and type(reason) ~= "number" then
    error(("reject: got %s, expected a text: reject(\"names are lower case\")"):format(reason == nil and "nothing"
      or "a " .. type(reason)), 2)
  end
  task.rejection = tostring(reason):sub(1, M.REASON_MAX)
  error(REJECTED, 0)
end

--- The words.
---
---@param native luka.Native
---@return table<string, any>
function M.new(native)
  local all = admin.new(channel.new(native, M.CLIENT_ID))
  local given = {}
  for name, fn in pairs(all) do given[name] = fn end
  given.fetcher, given.call = nil, nil
  return {
    admin = environment.read_only(given, "admin"),
    produce = all.produce,
    reject = reject,
  }
end

return M
