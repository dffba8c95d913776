-- SPDX-License-Identifier: Apache-2.0
-- The two spellings of a config's name: retention.ms as Kafka has it, retention_ms as a key of a configuration.
local M = {}

--- Kafka's name of a key.
---
---@param key string
---@return string
function M.dotted(key)
  return (key:gsub("_", "."))
end

--- The key of a Kafka name.
---
---@param name string
---@return string
function M.snake(name)
  return (name:gsub("%.", "_"))
end

return M
