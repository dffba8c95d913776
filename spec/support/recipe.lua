-- SPDX-License-Identifier: Apache-2.0
-- Brokers on the configurations of docs/recipes: what stands in a page is what runs.
local reload = require "spec.support.reload"

local M = {}

--- The configuration of a page, the first code of Lua in it.
---
---@param name string  of the page
---@param times table<string, string>?  texts that others take the place of, so that nobody waits for minutes; each is there once
---@return string
function M.text(name, times)
  local file = assert(io.open("docs/recipes/" .. name .. ".md", "rb"))
  local text = file:read("*a"):match "\n```lua\n(.-)```\n"
  file:close()
  for from, to in pairs(times or {}) do
    local count
    text, count = text:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%")))
    assert(count == 1, from .. " is not in the recipe once")
  end
  return text
end

--- Starts a broker on it.
---
---@param name string
---@param options { times: table?, set: string[]?, env: table? }?
---@return spec.Broker
function M.start(name, options)
  options = options or {}
  return reload.start(M.text(name, options.times), options)
end

return M
