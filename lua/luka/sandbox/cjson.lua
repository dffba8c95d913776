-- SPDX-License-Identifier: Apache-2.0
-- lua-cjson for user code. It works inside C, where no hook looks at the clock: so texts and values have a size that it
-- is through with in milliseconds, and what would let it run longer, or deeper than the C stack, cannot be set. Nor does it
-- keep memory of C, which is not counted as the state's: large buffers go after each call, and those of further instances.
local library = require "luka.native.library"
local poll = require("luka.native.clock").poll

local M = {}

--- Longest text to decode, and the largest value to encode: bytes, values in it, tables in tables.
M.TEXT_MAX, M.BYTES_MAX, M.VALUES_MAX, M.DEPTH_MAX = 4 * 1024 * 1024, 4 * 1024 * 1024, 250000, 1000

--- Most bytes that a buffer may keep for the next value; most that a value in a table is written with, and that a byte of
--- a text is: escaped.
local KEPT_MAX, NODE_BYTES, ESCAPED_BYTES = 64 * 1024, 64, 6

local measure, decoding = library.measure, library.decode

--- A setting of which larger values are refused.
local function bounded(fn, name, max)
  return function(value)
    if value == nil then return fn() end
    if type(value) ~= "number" or not (value >= 1 and value <= max) then
      error(("bad argument #1 to '%s' (expected a number from 1 to %d)"):format(name, max), 2)
    end
    return fn(value)
  end
end

--- How many holes a list may have that is written with null in them.
local function bounded_sparse(fn)
  return function(convert, ratio, safe)
    if ratio ~= nil and not (type(ratio) == "number" and ratio >= 1 and ratio <= 10) then
      error("bad argument #2 to 'encode_sparse_array' (expected a number from 1 to 10)", 2)
    elseif safe ~= nil and not (type(safe) == "number" and safe >= 0 and safe <= 10) then
      error("bad argument #3 to 'encode_sparse_array' (expected a number from 0 to 10)", 2)
    elseif convert == nil and ratio == nil and safe == nil then
      return fn()
    end
    return fn(convert, ratio, safe)
  end
end

--- What user code gets of an instance of cjson.
---
---@param cjson table
---@param is_safe boolean  cjson.safe: nil and a sentence where the other raises
---@param is_further boolean?  one that new() made
---@return table
function M.wrap(cjson, is_safe, is_further)
  local decode, encode, set_keep = cjson.decode, cjson.encode, cjson.encode_keep_buffer
  local keeps = not is_further
  set_keep(keeps)
  local out = {
    null = cjson.null, _NAME = cjson._NAME, _VERSION = cjson._VERSION,
    decode_invalid_numbers = cjson.decode_invalid_numbers, encode_invalid_numbers = cjson.encode_invalid_numbers,
    encode_number_precision = cjson.encode_number_precision,
    decode_max_depth = bounded(cjson.decode_max_depth, "decode_max_depth", M.DEPTH_MAX),
    encode_max_depth = bounded(cjson.encode_max_depth, "encode_max_depth", M.DEPTH_MAX),
    encode_sparse_array = bounded_sparse(cjson.encode_sparse_array),
    new = function() return M.wrap(cjson.new(), is_safe, true) end,
  }
  --- Whether the buffer stays for the next value; that of a further instance never does.
  function out.encode_keep_buffer(value)
    if value ~= nil then
      if type(value) ~= "boolean" then error("bad argument #1 to 'encode_keep_buffer' (expected a boolean)", 2) end
      keeps = value and not is_further
      set_keep(keeps)
    end
    return keeps
  end
  --- Encodes with the instance's own buffer, which no error loses, and gives it back.
  local function encode_and_free(value)
    set_keep(true)
    local ok, result, problem = pcall(encode, value)
    set_keep(false)
    if keeps then set_keep(true) end
    if not ok then error(result, 2) end
    return result, problem
  end
  local function refuse(text)
    if is_safe then return nil, text end
    error(text, 2) -- at the line that calls ours, which have called this at their ends
  end
  function out.decode(text)
    if type(text) == "string" and #text > 4096 then
      if #text > M.TEXT_MAX then
        return refuse(("the text is too long: at most %d bytes are decoded"):format(M.TEXT_MAX))
      end
      poll()
    end
    if type(text) ~= "string" then return decode(text) end
    return decoding(decode, text)
  end
  function out.encode(value)
    local nodes, bytes = 1, 0
    if type(value) == "table" then
      local ok
      ok, nodes, bytes = pcall(measure, value, M.VALUES_MAX, M.BYTES_MAX, M.DEPTH_MAX)
      if not ok then return refuse(nodes) end
      poll()
    elseif type(value) == "string" then
      bytes = #value
      if bytes > M.BYTES_MAX then return refuse "the value is too large: its texts are too long" end
    end
    if not keeps or nodes * NODE_BYTES + bytes * ESCAPED_BYTES > KEPT_MAX then return encode_and_free(value) end
    return encode(value)
  end
  return out
end

return M
