-- SPDX-License-Identifier: Apache-2.0
-- Sends lines as records. One call of librdkafka for each, which copies it; events and signals are looked at when its
-- queue is full, and now and then. Hot.
local ffi = require "ffi"
local rdkafka = require "luka.ffi.rdkafka"

local M = {}

local MSG_F_COPY = 0x2
local PARTITION_ANY = -1
local VTYPE_RKT, VTYPE_PARTITION, VTYPE_VALUE, VTYPE_KEY, VTYPE_OPAQUE, VTYPE_FLAGS, VTYPE_HEADERS = 2, 3, 4, 5, 6, 7, 10
local FULL_MS = 10 -- wait for room in the queue

---@class luka.Producer
---@field client luka.KafkaClient
---@field records integer  sent
---@field bytes integer  of their keys and values
---@field private rkt ffi.cdata*
---@field private partition integer
---@field private separator string?
---@field private is_null_empty boolean
---@field private headers ffi.cdata*?
---@field private values ffi.cdata*?
local Producer = {}
Producer.__index = Producer

---@class (exact) luka.ProduceWish
---@field topic string
---@field partition integer?
---@field separator string?  between key and value; nil: no keys
---@field is_null_empty boolean  an empty value is null
---@field headers { [1]: string, [2]: string }[]  of every record

---@param client luka.KafkaClient
---@param wish luka.ProduceWish
---@return luka.Producer
function M.new(client, wish)
  local C = client.C
  local self = setmetatable({
    client = client, records = 0, bytes = 0, partition = wish.partition or PARTITION_ANY, separator = wish.separator,
    is_null_empty = wish.is_null_empty, rkt = C.rd_kafka_topic_new(client.rk, wish.topic, nil),
  }, Producer)
  if self.rkt == nil then rdkafka.fail("topic '%s': %s", wish.topic, rdkafka.text(C.rd_kafka_last_error())) end
  if wish.headers[1] then
    self.headers = C.rd_kafka_headers_new(#wish.headers)
    for _, header in ipairs(wish.headers) do C.rd_kafka_header_add(self.headers, header[1], -1, header[2], #header[2]) end
    self.values = self:fixed_values()
  end
  return self
end

--- The topic's partitions: also makes sure that it exists.
---
---@return integer? count  nil: interrupted
function Producer:partitions(name)
  return self.client:partitions(self.rkt, name)
end

--- Values for rd_kafka_produceva(), as far as they are the same for all records.
function Producer:fixed_values()
  local values = ffi.new "rd_kafka_vu_t[7]"
  values[0].vtype, values[0].u.rkt = VTYPE_RKT, self.rkt
  values[1].vtype, values[1].u.i32 = VTYPE_PARTITION, self.partition
  values[2].vtype, values[2].u.i32 = VTYPE_FLAGS, MSG_F_COPY
  values[3].vtype, values[4].vtype, values[5].vtype, values[6].vtype = VTYPE_VALUE, VTYPE_KEY, VTYPE_OPAQUE, VTYPE_HEADERS
  return values
end

--- Sends a record with headers; an error code.
function Producer:send_values(value, size, key, key_size, line)
  local C, values = self.client.C, self.values
  values[3].u.mem.ptr, values[3].u.mem.size = value, size
  values[4].u.mem.ptr, values[4].u.mem.size = key, key_size
  values[5].u.opaque = line
  values[6].u.headers = C.rd_kafka_headers_copy(self.headers)
  local err = C.rd_kafka_produceva(self.client.rk, values, 7)
  if err == nil then return 0 end
  local code = C.rd_kafka_error_code(err)
  C.rd_kafka_error_destroy(err)
  C.rd_kafka_headers_destroy(values[6].u.headers)
  return code
end

--- Sends one record; waits while the queue is full.
---
---@param value ffi.cdata*?  uint8_t *
---@param line integer  its number
---@return boolean  false: interrupted
function Producer:send(value, size, key, key_size, line)
  local client, code = self.client
  local C = client.C
  while true do
    if self.headers then
      code = self:send_values(value, size, key, key_size, line)
    else
      code = C.rd_kafka_produce(self.rkt, self.partition, MSG_F_COPY, value, size, key, key_size, line)
      if code ~= 0 then code = C.rd_kafka_last_error() end
    end
    if code == 0 then break end
    if code ~= rdkafka.QUEUE_FULL then
      client.on_failure(line, code)
      return true
    end
    client:poll(FULL_MS)
    if client:interrupted() then return false end
  end
  self.records = self.records + 1
  self.bytes = self.bytes + size + key_size
  return true
end

--- Sends the lines that a buffer holds whole.
---
---@param lines luka.Lines
---@param line integer  number of the last line before
---@return integer line  number of the last line that was sent
---@return boolean  false: interrupted
function Producer:send_lines(lines, line)
  local separator = self.separator
  while true do
    local last = lines:line_end()
    if not last then return line, true end
    local from, bytes = lines.from, lines.bytes
    local key, key_size, at = nil, 0, from
    if separator then
      local found = lines:find(from, last, separator)
      if found then
        key, key_size, at = bytes + from, found - from, found + #separator
      end
    end
    local value, size = bytes + at, last - at
    if size == 0 and self.is_null_empty then value = nil end
    line = line + 1
    lines.from = last < lines.size and last + 1 or last
    if not self:send(value, size, key, key_size, line) then return line, false end
  end
end

--- Records that are not delivered yet.
---
---@return integer
function Producer:pending()
  return self.client.C.rd_kafka_outq_len(self.client.rk)
end

--- Gives up on what is not delivered: it is reported as failed.
function Producer:purge()
  self.client.C.rd_kafka_purge(self.client.rk, rdkafka.PURGE_ALL)
end

--- Ends it, and the client.
function Producer:close()
  local C = self.client.C
  if self.headers then C.rd_kafka_headers_destroy(self.headers) end
  C.rd_kafka_topic_destroy(self.rkt)
  self.client:close()
end

return M
