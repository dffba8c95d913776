-- SPDX-License-Identifier: Apache-2.0
-- types/luka.lua: the words of config.lua for the Lua language server, so that an editor completes keys and marks those
-- that are unknown or have a wrong type. Made from the schema by `make docs`.
local describe = require "luka.config.describe"

local M = {}

local CLASSES = {
  { block = "broker", name = "luka.BrokerConfig", text = "Keys of `broker { ... }`." },
  { block = "defaults", name = "luka.Defaults", text = "Keys of `defaults { ... }`." },
  { block = "topic", name = "luka.TopicConfig", text = 'Keys of `topic "name" { ... }`.' },
}

local HEAD = [=[
-- SPDX-License-Identifier: Apache-2.0
-- The words of config.lua for the Lua language server. Made by `make docs` from lua/luka/config/; do not edit.
-- In .luarc.json of the folder with config.lua:
--   { "runtime.version": "LuaJIT", "workspace.library": ["/path/to/luka/types"] }
---@meta luka
]=]

local TAIL = [=[
--- Settings of the broker; once in a configuration.
---@param config luka.BrokerConfig
function broker(config) end

--- What topics have that do not say otherwise; once in a configuration.
---@param config luka.Defaults
function defaults(config) end

--- A topic to have: `topic "clicks" { partitions = 6 }`.
---@param name string
---@return fun(config: luka.TopicConfig) settings
---@overload fun(name: string, config: luka.TopicConfig)
function topic(name) end

--- Milliseconds of so many seconds.
---@param count number
---@return number ms
function seconds(count) end

--- Milliseconds of so many minutes.
---@param count number
---@return number ms
function minutes(count) end

--- Milliseconds of so many hours.
---@param count number
---@return number ms
function hours(count) end

--- Milliseconds of so many days.
---@param count number
---@return number ms
function days(count) end

--- Bytes: 1024.
KiB = 1024
--- Bytes: 1024 KiB.
MiB = 1048576
--- Bytes: 1024 MiB.
GiB = 1073741824
]=]

--- The text of types/luka.lua.
---
---@return string
function M.text()
  local parts = { HEAD }
  for _, class in ipairs(CLASSES) do
    local lines = { "--- " .. class.text, "---@class (exact) " .. class.name }
    for _, about in ipairs(describe.block(class.block)) do
      lines[#lines + 1] = ("---@field %s? %s  %s Default: %s."):format(about.key, about.lua_type, about.text,
        about.default)
    end
    parts[#parts + 1] = table.concat(lines, "\n") .. "\n"
  end
  parts[#parts + 1] = TAIL
  return table.concat(parts, "\n")
end

return M
