-- SPDX-License-Identifier: Apache-2.0
-- How `luka consume` prints a record: a format in kcat's manner, JSON, or just the value and a newline. Hot.
local client = require "luka.cli.client"
local consumers = require "luka.ffi.consumer"
local data = require "luka.cli.data"

local M = {}

---@alias luka.Printer fun(consumer: luka.Consumer, message: ffi.cdata*): string

local ALLOWED = "%t, %p, %o, %k, %s, %K, %S, %h, %T or %%"

local function header_text(headers)
  local out = {}
  for i, header in ipairs(headers) do out[i] = header.key .. "=" .. (header.value or "NULL") end
  return table.concat(out, ",")
end

local PARTS = {}
function PARTS.p(_, message) return ("%d"):format(message.partition) end
function PARTS.o(_, message) return data.digits(message.offset) end
function PARTS.k(_, message) return consumers.key(message) or "" end
function PARTS.s(_, message) return consumers.value(message) or "" end
function PARTS.K(_, message) return message.key == nil and "-1" or data.digits(message.key_len) end
function PARTS.S(_, message) return message.payload == nil and "-1" or data.digits(message.len) end
function PARTS.h(consumer, message) return header_text(consumer:headers(message)) end
function PARTS.T(consumer, message) return data.digits(consumer:timestamp(message)) end

--- Parts that are what somebody has written.
local BYTES = { k = true, s = true, h = true }

local function visible(part)
  return function(consumer, message) return data.visible(part(consumer, message)) end
end

--- Makes the printer of a format.
---
---@param format string
---@param topic string
---@param is_terminal boolean  what is in records is shown so that a terminal does not obey it
---@return luka.Printer
function M.parse(format, topic, is_terminal)
  local parts, at = {}, 1
  while at <= #format do
    local from = format:find("%", at, true)
    local literal = client.unescape(format:sub(at, from and from - 1 or -1))
    if literal ~= "" then parts[#parts + 1] = literal end
    if not from then break end
    local letter = format:sub(from + 1, from + 1)
    local part = letter == "%" and "%" or letter == "t" and topic or PARTS[letter]
    if not part then client.refuse("--format: got '%%%s', expected %s", letter, ALLOWED) end
    parts[#parts + 1] = is_terminal and BYTES[letter] and visible(part) or part
    at = from + 2
  end
  local count, out = #parts, {}
  return function(consumer, message)
    for i = 1, count do
      local part = parts[i]
      out[i] = type(part) == "string" and part or part(consumer, message)
    end
    return table.concat(out, "", 1, count)
  end
end

--- Makes the printer of JSON, an object a line.
---
---@param topic string
---@return luka.Printer
function M.json(topic)
  local start = '{"topic":' .. data.json_string(topic) .. ',"partition":'
  return function(consumer, message)
    local time = consumer:timestamp(message)
    return start .. message.partition .. ',"offset":' .. data.digits(message.offset)
      .. (time == -1 and "" or ',"timestamp":' .. data.digits(time))
      .. "," .. data.json_bytes("key", consumers.key(message)) .. "," .. data.json_bytes("value", consumers.value(message))
      .. ',"headers":' .. data.json_headers(consumer:headers(message)) .. "}\n"
  end
end

return M
