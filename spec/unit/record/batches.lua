-- SPDX-License-Identifier: Apache-2.0
-- Makes record batches byte by byte, right ones and odd ones, independently of core/record/build.c, and calls the C
-- functions on them. Shared by the specs of core/record.
local ffi = require "ffi"
local bit = require "bit"
local unit = require "spec.support.unit"

local C = unit.load("base/arena.h", "base/crc.h", "base/error.h", "record/batch.h", "record/buffer.h", "record/codec.h",
  "record/iterate.h", "record/build.h", "record/validate.h", "record/recompress.h")

local M = { C = C }

--- Names of error codes, for messages that say more than a number.
function M.name(code)
  code = tonumber(code)
  return code < 0 and ffi.string(C.error_name(code)) or tostring(code)
end

--- Big-endian bytes of an integer, `size` of them.
function M.int(value, size)
  value = ffi.cast("int64_t", value)
  local out = {}
  for i = size, 1, -1 do
    out[i] = string.char(tonumber(bit.band(value, 0xff)))
    value = bit.arshift(value, 8)
  end
  return table.concat(out)
end

--- A zig-zag varint of up to 64 bits.
function M.varint(value)
  value = ffi.cast("int64_t", value)
  local raw = ffi.cast("uint64_t", bit.bxor(bit.lshift(value, 1), bit.arshift(value, 63)))
  local out = {}
  while raw >= 0x80 do
    out[#out + 1] = string.char(tonumber(bit.bor(bit.band(raw, 0x7f), 0x80)))
    raw = bit.rshift(raw, 7)
  end
  out[#out + 1] = string.char(tonumber(raw))
  return table.concat(out)
end

--- A length and bytes; nil: null.
function M.blob(bytes)
  return bytes and M.varint(#bytes) .. bytes or M.varint(-1)
end

--- A record: key, value (nil: null), headers = { { key, value }, ... }, ts and delta relative to the batch.
function M.record(record)
  local body = { "\0", M.varint(record.ts or 0), M.varint(record.delta or 0), M.blob(record.key), M.blob(record.value),
    M.varint(#(record.headers or {})) }
  for _, header in ipairs(record.headers or {}) do body[#body + 1] = M.blob(header[1]) .. M.blob(header[2]) end
  body = table.concat(body)
  return M.varint(#body) .. body
end

--- CRC-32C of a byte string.
function M.crc(bytes)
  return C.crc32c(bytes, #bytes)
end

--- Compresses through core/record, appending nothing else.
function M.compress(codec, bytes, level)
  local out = ffi.new "struct record_buffer"
  C.record_buffer_init(out, 2 * #bytes + 1000000)
  local code = C.codec_compress(codec, level or C.CODEC_LEVEL_DEFAULT, bytes, #bytes, out)
  local packed = code == 0 and ffi.string(out.bytes, out.size) or nil
  C.record_buffer_destroy(out)
  return packed, code
end

--- Unpacks with a limit; returns bytes, or nil and the error, and what was allocated.
function M.decompress(codec, bytes, limit)
  local out = ffi.new "struct record_buffer"
  C.record_buffer_init(out, limit)
  local copy = unit.buffer(bytes)
  local code = C.codec_decompress(codec, copy, #bytes, out)
  local plain = code == 0 and (out.size > 0 and ffi.string(out.bytes, out.size) or "") or nil
  local capacity = tonumber(out.capacity)
  C.record_buffer_destroy(out)
  return plain, code, capacity
end

--- A batch. `records`: list for M.record(), or "v" strings as values; every other field overrides the right value.
function M.batch(options)
  local o = options or {}
  local plain, count, step = {}, 0, o.step or 0
  for i, record in ipairs(o.records or { "v" }) do
    if type(record) == "string" then record = { value = record } end
    plain[i] = M.record { key = record.key, value = record.value, headers = record.headers,
      ts = record.ts or step * (i - 1), delta = record.delta or i - 1 }
    count = i
  end
  plain = table.concat(plain)
  local codec, ts = o.codec or 0, o.ts or 1000
  local payload = o.payload or (codec > 0 and M.compress(codec, plain) or plain)
  local body = M.int(bit.bor(o.attributes or 0, codec), 2) .. M.int(o.last_delta or count - 1, 4) .. M.int(ts, 8)
    .. M.int(o.max_ts or ts + step * math.max(count - 1, 0), 8) .. M.int(o.producer_id or -1, 8)
    .. M.int(o.producer_epoch or -1, 2) .. M.int(o.sequence or -1, 4) .. M.int(o.count or count, 4) .. payload
  local crc = bit.bxor(M.crc(body), o.crc_xor or 0)
  local tail = M.int(o.leader_epoch or -1, 4) .. M.int(o.magic or 2, 1) .. M.int(crc, 4) .. body
  return M.int(o.base or 0, 8) .. M.int(o.length or #tail, 4) .. tail
end

local function text_of(pointer)
  if pointer == nil then return nil end
  return ffi.string(pointer)
end

--- Bytes at a pointer, nil for a null of record_view.
function M.bytes_of(pointer, size)
  if size < 0 then return nil end
  return ffi.string(pointer, size)
end

--- Every record of a batch as a table; nil and the error if it cannot be read.
function M.read(bytes, limit)
  local iterator = ffi.new "struct batch_iterator"
  local view = ffi.new "struct record_view"
  local copy = unit.buffer(bytes)
  local code = C.batch_iterator_open(iterator, copy, #bytes, limit or 1000000)
  local records = {}
  while code >= 0 do
    code = C.batch_iterator_next(iterator, view)
    if code <= 0 then break end
    records[#records + 1] = { offset = view.offset, timestamp = view.timestamp, timestamp_delta = view.timestamp_delta,
      key = M.bytes_of(view.key, view.key_size), value = M.bytes_of(view.value, view.value_size),
      headers = M.headers(view) }
  end
  C.batch_iterator_close(iterator)
  if code < 0 then return nil, code end
  return records
end

--- The headers of a record_view, { { key, value }, ... }.
function M.headers(view)
  local iterator, header = ffi.new "struct record_header_iterator", ffi.new "struct record_header_view"
  local headers = {}
  C.record_headers_open(view, iterator)
  while C.record_headers_next(iterator, header) > 0 do
    headers[#headers + 1] = { M.bytes_of(header.key, header.key_size), M.bytes_of(header.value, header.value_size) }
  end
  return headers
end

M.NOW = 1700000000000LL

--- Validates the records field of a Produce request for partition 3 of topic "t"; `rules` overrides an ordinary
--- topic's. The result has code (a name), header, bytes (as patched), message and errors ({ { index, text } ... }).
function M.validate(bytes, rules)
  local r = ffi.new("struct batch_rules", { topic = "t", partition = 3, now_ms = M.NOW, max_message_bytes = 1048588,
    timestamp_before_max_ms = 0x7fffffffffffffffLL, timestamp_after_max_ms = 3600000 })
  for key, value in pairs(rules or {}) do r[key] = value end
  local arena, verdict = ffi.new "struct arena", ffi.new "struct batch_verdict"
  local copy = unit.buffer(bytes)
  local code = C.batch_validate(copy, #bytes, r, arena, verdict)
  local result = { code = M.name(code), header = ffi.new("struct batch_header", verdict.header),
    bytes = ffi.string(copy, #bytes),
    message = text_of(verdict.message), errors = {}, total = verdict.record_error_total,
    max_delta = verdict.max_timestamp_delta, was_walked = verdict.was_walked, allocated = tonumber(arena.total) }
  for i = 0, verdict.record_error_count - 1 do
    result.errors[i + 1] = { verdict.record_errors[i].index, ffi.string(verdict.record_errors[i].message) }
  end
  C.arena_destroy(arena)
  return result
end

--- batch_header_read() of a byte string: the code's name and the header.
function M.header(bytes)
  local header = ffi.new "struct batch_header"
  local copy = unit.buffer(bytes)
  return M.name(C.batch_header_read(copy, #bytes, header)), header
end

--- Whether a header is that of a control batch.
function M.is_control(header) return bit.band(header.attributes, C.BATCH_CONTROL) ~= 0 end

--- batch_check() of a byte string: the code's name.
function M.check(bytes)
  local copy = unit.buffer(bytes)
  return M.name(C.batch_check(copy, #bytes, nil))
end

--- Batches of cases from bug reports, with their exact bytes.
M.cases = {
  null_vs_empty = unit.bytes [[
    000000000000000000000064ffffffff02baf302ce00000000000400000000000003e800000000000003e8ffffffffffffffffff
    ffffffffff000000050e000000010276000e000002000276000e000004026b01000e000006026b000024000008026b0276060268
    0102680002680231
  ]],
  bad_crc = unit.bytes [[
    000000000000000000000039ffffffff02ae59b08e00000000000000000000000003e800000000000003e8ffffffffffffffffff
    ffffffffff000000010e00000001027600
  ]],
  count_lie = unit.bytes [[
    000000000000000000000039ffffffff0225ad973700000000000100000000000003e800000000000003e8ffffffffffffffffff
    ffffffffff000000020e00000001027600
  ]],
  last_delta_lie = unit.bytes [[
    000000000000000000000039ffffffff027eb6d8b800000000000500000000000003e800000000000003e8ffffffffffffffffff
    ffffffffff000000010e00000001027600
  ]],
  control = unit.bytes [[
    000000000000000000000042ffffffff02a0e1b97a00200000000000000000000003e800000000000003e8ffffffffffffffffff
    ffffffffff000000012000000008000000000c00000000000000
  ]],
  append_time_bit = unit.bytes [[
    000000000000000000000039ffffffff02ddc1678d00080000000000000000000003e800000000000003e8ffffffffffffffffff
    ffffffffff000000010e00000001027600
  ]],
  two_batches = unit.bytes [[
    000000000000000000000039ffffffff02a411ccf500000000000000000000000000010000000000000001ffffffffffffffffff
    ffffffffff000000010e00000001026100000000000000000000000039ffffffff0210fe69e90000000000000000000000000002
    0000000000000002ffffffffffffffffffffffffffff000000010e00000001026200
  ]],
  no_max_timestamp = unit.bytes [[
    000000000000000000000039ffffffff0282c1f18e0000000000000000018bcfe56800ffffffffffffffffffffffffffffffffff
    ffffffffff000000010e00000001027600
  ]],
  snappy_raw = unit.bytes [[
    00000000000000000000003fffffffff02a2dc12f600020000000000000000000003e800000000000003e8ffffffffffffffffff
    ffffffffff000000010c2c16000000010a68656c6c6f00
  ]],
  snappy_framed = unit.bytes [[
    000000000000000000000053ffffffff02a5fd0d2900020000000000000000000003e800000000000003e8ffffffffffffffffff
    ffffffffff0000000182534e415050590000000001000000010000000e0c2c16000000010a68656c6c6f00
  ]],
  format_0_lz4 = unit.bytes [[
    000000000000000000000039ea9262990003ffffffff0000002b04224d186040821c000080000000000000000000000010fd6ebd
    db0000ffffffff00000002686900000000
  ]],
  format_1_lz4 = unit.bytes [[
    000000000000000000000049f6e39b6a010300000000000003e8ffffffff0000003304224d186040822400008000000000000000
    000000001806614b6d010000000000000003e8ffffffff00000002686900000000
  ]],
  format_1_gzip = unit.bytes [[
    00000000000000010000004eabce0e7301010000000000000002ffffffff000000381f8b08000000000000036360800349b7d95b
    5218613cc6ff4000a499f3f35261422045518bb398e18a98608a4acaf301296ea8284a000000
  ]],
}

return M
