-- SPDX-License-Identifier: Apache-2.0
-- Ids as Kafka shows them: the 16 bytes in base64, with the alphabet for URLs and without padding.
local bit = require "bit"

local M = {}

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

--- The text of an id.
---
---@param bytes string  16 bytes
---@return string  22 characters
function M.text(bytes)
  local out = {}
  for at = 1, #bytes, 3 do
    local a, b, c = bytes:byte(at, at + 2)
    local n = a * 65536 + (b or 0) * 256 + (c or 0)
    for shift = 18, c and 0 or b and 6 or 12, -6 do
      local index = bit.band(bit.rshift(n, shift), 63) + 1
      out[#out + 1] = ALPHABET:sub(index, index)
    end
  end
  return table.concat(out)
end

return M
