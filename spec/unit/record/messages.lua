-- SPDX-License-Identifier: Apache-2.0
-- Makes and reads message sets of formats 0 and 1 byte by byte, independently of core/record, and calls its functions
-- on them. Shared by the specs of core/record and the functional ones.
local ffi = require "ffi"
local bit = require "bit"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"

local C = unit.load("record/message_set.h", "record/up_convert.h", "record/down_convert.h")

local M = { C = C }

local int = batches.int

local crc_table = {}
for n = 0, 255 do
  local c = n
  for _ = 1, 8 do
    c = bit.band(c, 1) == 1 and bit.bxor(bit.rshift(c, 1), 0xedb88320) or bit.rshift(c, 1)
  end
  crc_table[n] = c
end

--- The CRC-32 of zlib.
function M.crc(bytes)
  local crc = bit.bnot(0)
  for i = 1, #bytes do
    crc = bit.bxor(bit.rshift(crc, 8), crc_table[bit.band(bit.bxor(crc, bytes:byte(i)), 0xff)])
  end
  return bit.bnot(crc)
end

local function blob(bytes) return bytes and int(#bytes, 4) .. bytes or int(-1, 4) end

--- One message: magic (0), offset, ts, attributes, key, value; crc_xor, length and cut make it odd.
function M.message(fields)
  local magic = fields.magic or 0
  local body = int(magic, 1) .. int(fields.attributes or 0, 1) .. (magic > 0 and int(fields.ts or 1000, 8) or "")
    .. (fields.body or blob(fields.key) .. blob(fields.value))
  body = int(bit.bxor(M.crc(body), fields.crc_xor or 0), 4) .. body
  return int(fields.offset or 0, 8) .. int(fields.length or #body, 4) .. body
end

--- A set of `values` (strings, or fields of message()), with offsets from `offset` on (0).
function M.set(magic, values, fields)
  fields = fields or {}
  local out = {}
  for i, value in ipairs(values) do
    local one = type(value) == "string" and { value = value } or setmetatable({}, { __index = value })
    one.magic = one.magic or magic
    one.offset = one.offset or (fields.offset or 0) + i - 1
    one.ts = one.ts or fields.ts
    out[i] = M.message(one)
  end
  return table.concat(out)
end

--- A wrapper around a set, with the offset of its last message; `fields`: codec, offset, ts, attributes, payload ...
function M.wrapper(magic, set, fields)
  fields = fields or {}
  local payload = fields.payload or batches.compress(fields.codec or 1, set)
  return M.message { magic = magic, offset = fields.offset or 0, ts = fields.ts, crc_xor = fields.crc_xor, value = payload,
    attributes = bit.bor(fields.attributes or 0, fields.codec or 1), body = fields.body }
end

local function integer(bytes, at, size)
  local n = 0LL
  for i = at, at + size - 1 do n = n * 256 + bytes:byte(i) end
  if size < 8 and bytes:byte(at) >= 128 then n = n - bit.lshift(1LL, 8 * size) end
  return tonumber(n)
end

--- Takes a set apart, wrappers too: messages with offset, ts, magic, attributes, key, value, is_intact, and, in a wrapper,
--- `inner`; the rest that is no whole message.
function M.parse(bytes)
  local list, at = {}, 1
  while #bytes - at + 1 >= 12 do
    local size = 12 + integer(bytes, at + 8, 4)
    if at + size - 1 > #bytes then break end
    local one = bytes:sub(at, at + size - 1)
    local magic, attributes = one:byte(17), one:byte(18)
    local message = { offset = integer(one, 1, 8), magic = magic, attributes = attributes, size = size, bytes = one,
      is_intact = integer(one, 13, 4) == M.crc(one:sub(17)), ts = magic > 0 and integer(one, 19, 8) or nil }
    local place = magic > 0 and 27 or 19
    local key_size = integer(one, place, 4)
    message.key = key_size >= 0 and one:sub(place + 4, place + 3 + key_size) or nil
    place = place + 4 + math.max(key_size, 0)
    local value_size = integer(one, place, 4)
    message.value = value_size >= 0 and one:sub(place + 4, place + 3 + value_size) or nil
    if bit.band(attributes, 7) > 0 then
      local packed = message.value
      if magic == 0 and bit.band(attributes, 7) == 3 then
        packed = packed:sub(1, 6) .. "\130" .. packed:sub(8) -- the right checksum, so that it can be unpacked
      end
      message.inner = M.parse(assert(batches.decompress(bit.band(attributes, 7), packed, 64 * 1024 * 1024)))
    end
    list[#list + 1] = message
    at = at + size
  end
  return list, bytes:sub(at)
end

--- The messages of a set with wrappers opened, and absolute offsets.
function M.flatten(bytes)
  local out = {}
  for _, message in ipairs((M.parse(bytes))) do
    if message.inner then
      local base = message.magic > 0 and message.offset - message.inner[#message.inner].offset or 0
      for _, inner in ipairs(message.inner) do
        inner.offset = inner.offset + base
        out[#out + 1] = inner
      end
    else
      out[#out + 1] = message
    end
  end
  return out
end

--- The values of all messages, in order.
function M.values(bytes)
  local out = {}
  for i, message in ipairs(M.flatten(bytes)) do out[i] = message.value or "null" end
  return out
end

--- Reads a set through message_iterator: messages with offset, timestamp, attributes, magic, key, value; or nil and the
--- error's name.
function M.read(bytes, limit)
  local at, message = ffi.new "const uint8_t *[1]", ffi.new "struct message"
  local inner, iterator = ffi.new "struct message", ffi.new "struct message_iterator"
  local copy = unit.buffer(bytes)
  at[0] = copy
  local out, code = {}, 0
  while code >= 0 do
    code = C.message_next(at, copy + #bytes, message)
    if code <= 0 then break end
    if not C.message_is_intact(message) then code = C.ERR_CORRUPT_BATCH break end
    code = C.message_iterator_open(iterator, message, limit or 1000000)
    while code >= 0 do
      code = C.message_iterator_next(iterator, inner)
      if code <= 0 then break end
      out[#out + 1] = { offset = tonumber(inner.offset), timestamp = tonumber(inner.timestamp), attributes = inner.attributes,
        magic = inner.magic, key = batches.bytes_of(inner.key, inner.key_size),
        value = batches.bytes_of(inner.value, inner.value_size) }
    end
  end
  C.message_iterator_close(iterator)
  if code < 0 then return nil, batches.name(code) end
  return out
end

--- Converts a set to a batch as Produce does; `options`: codec, level, and what overrides an ordinary topic's rules. The
--- result has code (a name), bytes, header, max_delta.
function M.convert(bytes, options)
  local r = ffi.new("struct batch_rules", { topic = "t", partition = 3, now_ms = batches.NOW, max_message_bytes = 1048588,
    timestamp_before_max_ms = 0x7fffffffffffffffLL, timestamp_after_max_ms = 3600000 })
  local codec, level = C.MESSAGE_SET_SOURCE_CODEC, C.CODEC_LEVEL_DEFAULT
  for key, value in pairs(options or {}) do
    if key == "codec" then codec = value elseif key == "level" then level = value else r[key] = value end
  end
  local out, verdict, copy = ffi.new "struct record_buffer", ffi.new "struct batch_verdict", unit.buffer(bytes)
  local code = C.message_set_convert(copy, #bytes, r, codec, level, out, verdict)
  local result = { code = batches.name(code), bytes = code == 0 and ffi.string(out.bytes, out.size) or nil,
    header = ffi.new("struct batch_header", verdict.header), max_delta = verdict.max_timestamp_delta }
  C.record_buffer_destroy(out)
  return result
end

--- Converts batches to messages as Fetch does: the set, and the error's name or "0" of the last batch looked at.
function M.down(list, magic, options)
  options = options or {}
  local convert, out = ffi.new "struct down_convert", ffi.new "struct record_buffer"
  convert.work_limit = options.work_limit or 1000000
  C.record_buffer_init(out, options.limit or 1000000)
  local code = 0
  for _, batch in ipairs(type(list) == "string" and { list } or list) do
    local copy = unit.buffer(batch)
    code = C.down_convert_batch(convert, copy, #batch, magic, options.first_offset or 0, out)
    if code < 0 then break end
  end
  local bytes = out.size > 0 and ffi.string(out.bytes, out.size) or ""
  C.down_convert_destroy(convert)
  C.record_buffer_destroy(out)
  return bytes, batches.name(code)
end

--- Message sets of cases from bug reports, with their exact bytes.
M.cases = {
  format_0_lz4_old_checksum = unit.bytes [[
    000000000000000000000039f3087a300003ffffffff0000002b04224d1860401a1c000080000000000000000000000010fd6ebd
    db0000ffffffff00000002686900000000
  ]],
  format_0_lz4 = batches.cases.format_0_lz4,
  format_1_lz4 = batches.cases.format_1_lz4,
  format_1_gzip = batches.cases.format_1_gzip,
  format_1_gzip_bad_crc_inside = unit.bytes [[
    00000000000000010000004e421dd03901010000000000000002ffffffff000000381f8b08000000000000036360800349f7d95b
    5218613cc6ff4000a499f3f35261422045518bb398e18a98608a4acaf301598eb39e4a000000
  ]],
}

return M
