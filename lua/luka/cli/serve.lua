-- SPDX-License-Identifier: Apache-2.0
-- `luka serve`: hands what was asked to core/broker/command.c, which evaluates the configuration and starts the broker
-- when this state is closed.
local M = {}

---@class (exact) luka.ServeCall
---@field path string?  configuration file
---@field sets { [1]: string, [2]: string }[]?
---@field log_level string?
---@field is_json boolean
---@field is_adopting boolean
---@field is_debug boolean

---@param options luka.GivenOptions
---@param arguments string[]
---@return luka.ServeCall
function M.run(options, arguments)
  return {
    path = arguments[1],
    sets = options.set,
    log_level = options.log_level,
    is_json = options.log_format == "json",
    is_adopting = options.adopt == true,
    is_debug = options.debug == true,
  }
end

return M
