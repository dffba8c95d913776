-- SPDX-License-Identifier: Apache-2.0
-- What `luka produce` and `luka consume` have in common: options that say how to reach a cluster, and texts with escapes.
local M = {}

local DEFAULT_BROKER = "127.0.0.1:9092"

--- Options of both.
---@type luka.VerbOption[]
M.OPTIONS = {
  { name = "broker", short = "b", value = "HOST:PORT", text = "a broker of the cluster, or several with commas between; "
    .. "by default the environment variable LUKA_BROKER, or " .. DEFAULT_BROKER },
  { name = "property", short = "X", value = "NAME=VALUE", kind = "setting", is_repeatable = true,
    text = "a property of librdkafka, such as security.protocol=SASL_SSL" },
}

--- Raises the error for a wrong command line.
---
---@param text string
function M.refuse(text, ...)
  error({ code = "usage", message = text:format(...) }, 0)
end

--- The broker to begin with.
---
---@param options luka.GivenOptions
---@return string
function M.broker(options)
  local from_environment = os.getenv "LUKA_BROKER"
  if options.broker == "" then M.refuse "-b: got '', expected HOST:PORT" end
  return options.broker or from_environment ~= "" and from_environment or DEFAULT_BROKER
end

--- Adds what -X gives to properties: it wins over all.
---
---@param options luka.GivenOptions
---@param properties { [1]: string, [2]: string }[]
---@return { [1]: string, [2]: string }[]
function M.add_properties(options, properties)
  for _, property in ipairs(options.property or {}) do properties[#properties + 1] = property end
  return properties
end

--- The last value of a property.
---
---@param properties { [1]: string, [2]: string }[]
---@param name string
---@return string?
function M.property(properties, name)
  local value
  for _, property in ipairs(properties) do
    if property[1] == name then value = property[2] end
  end
  return value
end

local ESCAPES = { n = "\n", t = "\t", r = "\r", ["0"] = "\0", ["\\"] = "\\" }

--- The bytes of a text with escapes: \n, \t, \r, \0, \\ and \xNN. Others stay as they are.
---
---@param text string
---@return string
function M.unescape(text)
  return (text:gsub("\\([ntr0\\x])(%x?%x?)", function(letter, hex)
    if letter ~= "x" then return ESCAPES[letter] .. hex end
    return #hex == 2 and string.char(tonumber(hex, 16)) or nil
  end))
end

return M
