-- SPDX-License-Identifier: Apache-2.0
-- The keys that --set takes, with what their values may be, for completions; and what help knows.
local describe = require "luka.config.describe"
local schema = require "luka.config.schema"

local M = {}

local PATHS = { path = true, paths = true, socket = true }

---@class (exact) luka.SetKey
---@field key string
---@field text string
---@field values string[]?  all there are
---@field is_path boolean?

--- The values of a key that has few.
local function values_of(own, config)
  if own then return own.choices end
  if config.kind == "bool" then return { "true", "false" } end
  return config.valid
end

---@return luka.SetKey[] keys  sorted
function M.list()
  local list = {}
  for _, key in ipairs(schema.keys "broker") do
    local own = schema.BROKER[key]
    list[#list + 1] = {
      key = key, text = describe.key("broker", key).text, values = values_of(own, schema.kafka_config("broker", key)),
      is_path = own and PATHS[own.type],
    }
  end
  return list
end

--- The names that `luka help` explains beside verbs: the blocks, and the keys of all of them.
---
---@return string[] names  sorted
function M.names()
  local seen, names = {}, {}
  for _, block in ipairs(schema.BLOCKS) do
    names[#names + 1] = block
    for _, key in ipairs(schema.keys(block)) do seen[key] = true end
  end
  for key in pairs(seen) do names[#names + 1] = key end
  table.sort(names)
  return names
end

return M
