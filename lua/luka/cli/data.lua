-- SPDX-License-Identifier: Apache-2.0
-- How the command line shows what is in records: bytes for humans and as JSON, times, and integers of any size. Hot:
-- `luka consume --json` comes through here for every record.
local json = require "luka.native.json"

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local concat, floor = table.concat, math.floor

local M = {}

local EXACT = 2 ^ 53 -- numbers below are exact

--- Lowest and highest second byte after a lead byte, where that is narrower than 0x80 to 0xbf: no overlong forms, no
--- surrogates, nothing beyond U+10FFFF.
local SECOND_MIN = { [0xe0] = 0xa0, [0xf0] = 0x90 }
local SECOND_MAX = { [0xed] = 0x9f, [0xf4] = 0x8f }

--- Where the character of several bytes ends that begins at a byte; nil when it is not UTF-8.
local function sequence_end(text, at)
  local lead, second = byte(text, at, at + 1)
  local more = lead >= 0xc2 and lead <= 0xdf and 1 or lead >= 0xe0 and lead <= 0xef and 2
    or lead >= 0xf0 and lead <= 0xf4 and 3
  if not more or not second then return nil end
  if second < (SECOND_MIN[lead] or 0x80) or second > (SECOND_MAX[lead] or 0xbf) then return nil end
  for i = at + 2, at + more do
    local next_byte = byte(text, i)
    if not next_byte or next_byte < 0x80 or next_byte > 0xbf then return nil end
  end
  return at + more
end

--- Whether a text is UTF-8.
---
---@param text string
---@return boolean
function M.is_utf8(text)
  local at = find(text, "[\128-\255]")
  while at do
    local last = sequence_end(text, at)
    if not last then return false end
    at = find(text, "[\128-\255]", last + 1)
  end
  return true
end

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\" }

local function escape(single)
  return ESCAPES[single] or format("\\x%02x", byte(single))
end

--- Escapes bytes of 128 and above that are no printable UTF-8: broken ones, and U+0080 to U+009F, which terminals obey.
local function escape_high(run)
  local out, at = {}, 1
  while at <= #run do
    local last = sequence_end(run, at)
    if last and not (byte(run, at) == 0xc2 and byte(run, at + 1) < 0xa0) then
      out[#out + 1] = run:sub(at, last)
      at = last + 1
    else
      out[#out + 1] = escape(run:sub(at, at))
      at = at + 1
    end
  end
  return concat(out)
end

--- Bytes in quotes on one line that a terminal cannot be harmed by; null for nil.
---
---@param text string?
---@return string
function M.quote(text)
  if not text then return "null" end
  if find(text, '[%c"\\\127]') then text = gsub(text, '[%c"\\\127]', escape) end
  if find(text, "[\128-\255]") then text = gsub(text, "[\128-\255]+", escape_high) end
  return '"' .. text .. '"'
end

--- The same without quotes, for names of files and the like.
---
---@param text string
---@return string
function M.plain(text)
  return (gsub(gsub(text, "[%c\127]", escape), "[\128-\255]+", escape_high))
end

--- A text of several lines as it may go to a terminal: line ends and tabs stay.
---
---@param text string
---@return string
function M.visible(text)
  return (gsub(text, "[^\n\t]+", M.plain))
end

-- ---- JSON ----

local BASE64 = {}
for i = 1, 64 do BASE64[i - 1] = ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):sub(i, i) end

--- Base64 with padding.
---
---@param bytes string
---@return string
function M.base64(bytes)
  local out, count = {}, 0
  for at = 1, #bytes, 3 do
    local a, b, c = byte(bytes, at, at + 2)
    local bits = a * 65536 + (b or 0) * 256 + (c or 0)
    count = count + 1
    out[count] = BASE64[floor(bits / 262144)] .. BASE64[floor(bits / 4096) % 64]
      .. (b and BASE64[floor(bits / 64) % 64] or "=") .. (c and BASE64[bits % 64] or "=")
  end
  return concat(out)
end

--- A JSON string of text that is UTF-8. U+0080 to U+009F are escaped as well: it may be read on a terminal.
---
---@param text string
---@return string
function M.json_string(text)
  local out = find(text, '[%c"\\\127]') and json.encode(text) or '"' .. text .. '"'
  if not find(out, "\194[\128-\159]") then return out end
  return (gsub(out, "\194([\128-\159])", function(last) return format("\\u%04X", byte(last)) end))
end

--- A member of a JSON object for bytes: `"key":"..."`, `"key":null`, or `"key_base64":"..."` for what is not UTF-8.
---
---@param name string
---@param bytes string?
---@return string
function M.json_bytes(name, bytes)
  if not bytes then return '"' .. name .. '":null' end
  if not find(bytes, '[%c"\\\127-\255]') then return '"' .. name .. '":"' .. bytes .. '"' end
  if M.is_utf8(bytes) then return '"' .. name .. '":' .. M.json_string(bytes) end
  return '"' .. name .. '_base64":"' .. M.base64(bytes) .. '"'
end

--- A JSON list of record headers.
---
---@param headers { key: string, value: string? }[]
---@return string
function M.json_headers(headers)
  if #headers == 0 then return "[]" end
  local out = {}
  for i, header in ipairs(headers) do
    out[i] = "{" .. M.json_bytes("key", header.key) .. "," .. M.json_bytes("value", header.value) .. "}"
  end
  return "[" .. concat(out, ",") .. "]"
end

--- All digits of an integer: a number, or an int64.
---
---@param value number|ffi.cdata*
---@return string
function M.digits(value)
  if type(value) == "number" then return format("%d", value) end
  local number = tonumber(value)
  if number < EXACT and number > -EXACT then return format("%d", number) end
  return (gsub(tostring(value), "U?LL$", ""))
end

--- A JSON object on one line: members of `object` in the order of `names`; those that are nil are left out. Strings may
--- be any bytes.
---
---@param names string[]
---@param object table<string, string|number|boolean|ffi.cdata*>
---@return string
function M.json_object(names, object)
  local out, count = {}, 0
  for i = 1, #names do
    local name = names[i]
    local value = object[name]
    if value ~= nil then
      count = count + 1
      local kind = type(value)
      if kind == "string" then
        out[count] = M.json_bytes(name, value)
      elseif kind == "boolean" then
        out[count] = '"' .. name .. '":' .. tostring(value)
      else
        out[count] = '"' .. name .. '":' .. M.digits(value)
      end
    end
  end
  return "{" .. concat(out, ",") .. "}"
end

-- ---- times ----

local TIME_MIN, TIME_MAX = -62135596800000, 253402300799999 -- years 1 to 9999

--- A timestamp as ISO 8601 in UTC; its digits where there is no such year; "-" for nil.
---
---@param ms integer?  since 1970
---@return string
function M.time(ms)
  if not ms then return "-" end
  if not (ms >= TIME_MIN and ms <= TIME_MAX) then return M.digits(ms) end
  ms = tonumber(ms)
  local seconds = floor(ms / 1000)
  return format("%s.%03dZ", os.date("!%Y-%m-%dT%H:%M:%S", seconds), ms - seconds * 1000)
end

return M
