-- SPDX-License-Identifier: Apache-2.0
--
-- Names of C things for names of the schema, and the words of C that cannot be names.

local M = {}

local KEYWORDS = {}
for word in
  ([[auto break case char const continue default do double else enum extern float for goto if inline int long register
  restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false]])
    :gmatch "%S+"
do
  KEYWORDS[word] = true
end

--- snake_case of a CamelCase name: ThrottleTimeMs, throttle_time_ms; V3AndBelowTopics, v3_and_below_topics.
---
---@param name string
---@return string
function M.snake(name)
  name = name:gsub("KRaft", "Kraft")
  name = name:gsub("([%l%d])(%u)", "%1_%2")
  name = name:gsub("(%u)(%u%l)", "%1_%2")
  return name:lower()
end

function M.is_keyword(name)
  return KEYWORDS[name] ~= nil
end

--- UPPER_CASE of a CamelCase name.
function M.upper(name)
  return M.snake(name):upper()
end

return M
