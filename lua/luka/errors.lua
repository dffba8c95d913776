-- SPDX-License-Identifier: Apache-2.0
-- Errors that a user is meant to read: one sentence in `message`, and a word for programs in `code` ("config",
-- "usage", "interrupted", or Kafka's name of an error, "UNKNOWN_TOPIC_OR_PARTITION"). They are raised as they are:
-- tostring() gives the sentence, and nothing puts a place in front of it.
local M = {}

-- The same class as in luka.config.failure, whose errors begin with a place in the configuration.
local meta = { __tostring = function(err) return err.message end, __metatable = false }

--- Makes an error.
---
---@param code string
---@param message string
---@return luka.Error
function M.new(code, message) return setmetatable({ code = code, message = message }, meta) end

--- Raises an error; what follows the text is for string.format.
---
---@param code string
---@param text string
function M.raise(code, text, ...)
  if select("#", ...) > 0 then text = text:format(...) end
  error(M.new(code, text), 0)
end

--- Whether a caught value is such an error.
---
---@param err any
---@return boolean
function M.is(err)
  return type(err) == "table" and type(rawget(err, "message")) == "string" and type(rawget(err, "code")) == "string"
end

return M
