-- SPDX-License-Identifier: Apache-2.0
-- Objects of words: topic "x" and group "x" have a name and methods, and are shown as what describe() gives at that
-- moment.
local errors = require "luka.errors"
local suggest = require "luka.config.suggest"
local view = require "luka.view"

local M = {}

--- The names of a kind's methods, sorted.
---
---@param kind "topic"|"group"
---@return string[]
function M.method_names(kind)
  local names = {}
  for _, entry in ipairs(require("luka.words").help().entries) do
    names[#names + 1] = entry.name:match("^" .. kind .. ":(.*)")
  end
  table.sort(names)
  return names
end

--- What stands for a method that there is not.
local function unknown_method(kind, key, hints)
  if type(key) ~= "string" then return nil end
  if hints[key] then errors.raise("usage", "%ss have no method %s: %s", kind, key, hints[key]) end
  local names = M.method_names(kind)
  local nearest = suggest.nearest(key, names)
  errors.raise("usage", "%ss have no method %s%s", kind, key:sub(1, 80),
    nearest and (", did you mean %s?"):format(nearest) or ": " .. table.concat(names, ", "))
end

---@class (exact) luka.Words.Kind
---@field name "topic"|"group"
---@field methods table<string, fun(context: luka.Words.Context, name: string, ...): any>
---@field hints table<string, string>  what to write instead of methods that there are not
---@field on_call string   what to say to whoever calls an object
---@field on_set string    and to whoever changes its fields

--- Makes the function that makes objects of a kind: name -> object.
---
---@param context luka.Words.Context
---@param kind luka.Words.Kind
---@return fun(name: string): table
function M.new(context, kind)
  local names = setmetatable({}, { __mode = "k" })
  --- The object of a method's call. `.` instead of `:` is what most get wrong.
  local function check_self(self, method)
    local name = names[self]
    if not name then
      errors.raise("usage", '%s:%s is called with a colon: %s "name":%s(...)', kind.name, method, kind.name, method)
    end
    return name
  end
  local bound = {}
  for method, fn in pairs(kind.methods) do
    bound[method] = function(self, ...) return fn(context, check_self(self, method), ...) end
  end
  local function index(object, key)
    if key == "name" then return names[object] end
    return bound[key] or unknown_method(kind.name, key, kind.hints)
  end
  local meta = { __index = index, __metatable = false, kind = kind.name, __tostring = function(object)
    return ('%s "%s"'):format(kind.name, names[object])
  end, __call = function() errors.raise("usage", "%s", kind.on_call) end,
  __newindex = function() errors.raise("usage", "%s", kind.on_set) end }
  local function show(object) return bound.describe(object) end

  return function(name)
    local object = setmetatable({}, meta)
    names[object] = name
    return view.live(object, show)
  end
end

return M
