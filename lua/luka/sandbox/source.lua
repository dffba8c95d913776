-- SPDX-License-Identifier: Apache-2.0
-- Compiles source text of users. The parser is one C function that no hook interrupts, and some texts take it a time that
-- grows with the square of their length (a long chain of elseif). So it gets a long text piece by piece, and between two
-- pieces the time that is left is looked at.
local clock = require "luka.native.clock"

local M = {}

--- Longest text, bytes.
M.MAX = 1024 * 1024

--- Bytes of a text that the parser gets in one go.
local PIECE = 4096

--- The parser's next piece of a text, each time it asks.
local function reader(text)
  local at = 1
  return function()
    clock.poll()
    local piece = text:sub(at, at + PIECE - 1)
    at = at + PIECE
    return piece
  end
end

--- Makes a chunk. One that takes longer than there is time is refused as one with an error in it is.
---
---@param text string
---@param name string  of the chunk, as load() takes it
---@param env table  raises when it is none: load() would take the globals of internal code
---@return function? chunk
---@return string? err
function M.compile(text, name, env)
  local chunk, err = load(#text <= PIECE and text or reader(text), name, "t")
  if not chunk then return nil, err end
  return setfenv(chunk, env)
end

return M
