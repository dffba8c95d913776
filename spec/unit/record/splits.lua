-- SPDX-License-Identifier: Apache-2.0
-- Divides batches and writes them anew through core/record/split.c, for the specs of it.
local assert = require "luassert"
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"

local C = batches.C
unit.load "record/split.h"

local M = { LARGE = 100000000 }

function M.packing(codec, limit)
  return ffi.new("struct batch_packing", { codec = codec or 0, level = C.CODEC_LEVEL_DEFAULT,
    limit_bytes = limit or M.LARGE })
end

--- Calls `use` with the open records of a batch; asserts that they open.
function M.with_records(bytes, use)
  local records = ffi.new "struct batch_records"
  local copy = unit.buffer(bytes)
  assert.equal("0", batches.name(C.batch_records_open(records, copy, #bytes, M.LARGE)))
  use(records)
  C.batch_records_close(records)
end

function M.open_error(bytes, limit)
  local records = ffi.new "struct batch_records"
  local copy = unit.buffer(bytes)
  local code = C.batch_records_open(records, copy, #bytes, limit or M.LARGE)
  C.batch_records_close(records)
  return batches.name(code)
end

--- Divides; the result lists { partition, count, bytes, header, records }, or is nil and the error's name.
function M.split(bytes, chosen, options)
  local o = options or {}
  local result, err = {}, nil
  M.with_records(bytes, function(records)
    assert.equal(#chosen, records.count)
    local array, out = ffi.new("int32_t[?]", #chosen + 1, chosen), o.split or ffi.new "struct batch_split"
    local code = C.batch_split(out, records, array, o.partitions or 8, o.addressed or 3, M.packing(o.codec, o.limit))
    if code < 0 then err = batches.name(code) end
    for i = 0, code == 0 and out.count - 1 or -1 do
      local share = out.shares[i]
      local text = ffi.string(share.bytes, share.size)
      local _, header = batches.header(text)
      result[i + 1] = { partition = share.partition, count = share.count, first = share.first, bytes = text,
        header = header, max_timestamp = share.max_timestamp }
    end
    if not o.split then C.batch_split_destroy(out) end
  end)
  if err then return nil, err end
  for _, share in ipairs(result) do
    assert.equal("0", batches.check(share.bytes))
    share.records = assert(batches.read(share.bytes, M.LARGE))
  end
  return result
end

--- Writes anew; `gone` and `edits` by index from 1.
function M.rewrite(bytes, gone, edits, options)
  local o = options or {}
  local text, err
  M.with_records(bytes, function(records)
    local out = ffi.new "struct record_buffer"
    local is_gone, pointers = ffi.new("bool[?]", records.count + 1), ffi.new("const struct record_edit *[?]",
      records.count + 1)
    for index in pairs(gone or {}) do is_gone[index - 1] = true end
    for index, edit in pairs(edits or {}) do pointers[index - 1] = edit end
    local code = C.batch_rewrite(records, gone and is_gone or nil, edits and pointers or nil, M.packing(o.codec, o.limit), out)
    if code == 0 then text = ffi.string(out.bytes, out.size) else err = batches.name(code) end
    C.record_buffer_destroy(out)
  end)
  return text, err
end

local anchors = {} -- structs of C and the byte strings that they point to

--- A struct record_edit of a table { key, value, headers = { { k, v } }, ts }.
function M.edit_of(record)
  local headers = {}
  for i, header in ipairs(record.headers or {}) do headers[i] = batches.blob(header[1]) .. batches.blob(header[2]) end
  headers = record.raw_headers or table.concat(headers)
  local edit = ffi.new("struct record_edit", { timestamp = record.ts or 0, key_size = -1, value_size = -1,
    header_count = record.header_count or #(record.headers or {}), headers_size = #headers })
  anchors[#anchors + 1] = { edit, record.key, record.value, headers }
  if record.key then edit.key, edit.key_size = ffi.cast("const uint8_t *", record.key), #record.key end
  if record.value then edit.value, edit.value_size = ffi.cast("const uint8_t *", record.value), #record.value end
  edit.headers = ffi.cast("const uint8_t *", headers)
  return edit
end

--- What of a record does not depend on where it is.
function M.content(record)
  return { key = record.key, value = record.value, headers = record.headers, timestamp = record.timestamp }
end

function M.keys_of(share)
  local out = {}
  for i, record in ipairs(share.records) do out[i] = record.value end
  return table.concat(out, " ")
end

return M
