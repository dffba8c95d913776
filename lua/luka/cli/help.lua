-- SPDX-License-Identifier: Apache-2.0
-- `luka help`: the list of verbs, or all about one of them.
local options = require "luka.cli.options"
local text = require "luka.cli.text"
local verbs = require "luka.cli.verbs"

local M = {}

local function list()
  local out = {
    "usage: luka [serve] [CONFIG.LUA] [--set KEY=VALUE ...]",
    "       luka VERB [arguments] [options]",
    "",
    text.wrap("A message broker that speaks Apache Kafka's protocol, keeps its on-disk format and is configured in Lua."),
    "",
  }
  local later = {}
  for _, name in ipairs(verbs.NAMES) do
    if verbs.is_supported(name) then
      out[#out + 1] = ("  %-8s  %s"):format(name, verbs.get(name).summary)
    else
      later[#later + 1] = name
    end
  end
  out[#out + 1] = ""
  out[#out + 1] = "`luka help VERB` says more."
  if later[1] then out[#out + 1] = "To come, and refused until then: " .. table.concat(later, " ") end
  return table.concat(out, "\n") .. "\n"
end

---@param _ luka.GivenOptions
---@param arguments string[]
---@return integer status
function M.run(_, arguments)
  local name = arguments[1]
  if not name then
    io.stdout:write(list())
    return 0
  end
  if not verbs.is_verb(name) then error({ code = "usage", message = options.unknown_verb(name, "") }, 0) end
  if not verbs.is_supported(name) then error({ code = "usage", message = name .. " is not supported yet" }, 0) end
  io.stdout:write(text.verb(name))
  return 0
end

return M
