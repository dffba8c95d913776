-- SPDX-License-Identifier: Apache-2.0
-- Batches become message sets for old consumers: which messages, their offsets and timestamps, wrappers, what has no
-- place there, and limits.
local unit = require "spec.support.unit"
local cjson = require "cjson"
local batches = require "spec.unit.record.batches"
local messages = require "spec.unit.record.messages"

local batch, down, parse = batches.batch, messages.down, messages.parse

--- { offset, ts, key, value } of all messages, wrappers opened.
local function fields_of(bytes)
  local out = {}
  for i, one in ipairs(messages.flatten(bytes)) do
    assert.is_true(one.is_intact)
    out[i] = { one.offset, one.ts or "none", one.key or "null", one.value or "null" }
  end
  return out
end

local three = { { key = "k", value = "v", headers = { { "h", "1" } } }, { value = "w" }, { key = "" } }

for magic = 0, 1 do
  local function ts(value) return magic == 0 and "none" or value end

  describe(("a batch for a client of format %d"):format(magic), function()
    it("becomes single messages, without headers", function()
      local bytes, code = down(batch { base = 70, ts = 1000, step = 5, records = three }, magic)
      assert.equal("0", code)
      assert.same({ { 70, ts(1000), "k", "v" }, { 71, ts(1005), "null", "w" }, { 72, ts(1010), "", "null" } }, fields_of(bytes))
      for _, one in ipairs((parse(bytes))) do assert.same({ magic, 0 }, { one.magic, one.attributes }) end
    end)

    it("is the same bytes as what it was converted from", function()
      local bytes = messages.set(magic, { "a", { key = "k", value = "v" }, { key = "" } })
      assert.equal(unit.hex(bytes), unit.hex((down(messages.convert(bytes).bytes, magic))))
    end)

    it("begins at the offset that was asked for", function()
      local one = batch { base = 70, records = { "a", "b", "c" } }
      for offset, want in pairs { [0] = { "a", "b", "c" }, [70] = { "a", "b", "c" }, [71] = { "b", "c" }, [72] = { "c" }, [73] = {} } do
        local bytes, code = down(one, magic, { first_offset = offset })
        assert.equal("0", code)
        assert.same(want, messages.values(bytes))
      end
    end)

    for codec = 1, 3 do
      it(("stays packed, with all of its messages: codec %d"):format(codec), function()
        local bytes = down(batch { base = 70, ts = 1000, step = 5, codec = codec, records = three }, magic, { first_offset = 72 })
        local list, rest = parse(bytes)
        assert.same({ 1, "" }, { #list, rest })
        local head = list[1]
        assert.same({ 72, magic, codec, true }, { head.offset, head.magic, head.attributes, head.is_intact })
        assert.is_nil(head.key)
        assert.equal(ts(1010), head.ts or "none")
        assert.same({ { 70, ts(1000), "k", "v" }, { 71, ts(1005), "null", "w" }, { 72, ts(1010), "", "null" } }, fields_of(bytes))
      end)
    end

    it("has absolute offsets in a wrapper in format 0, and those from its first message on in format 1", function()
      local one = batch { base = 70, codec = 1, records = { { value = "a", delta = 3 }, { value = "b", delta = 7 } }, last_delta = 9 }
      local inner = parse((down(one, magic)))[1].inner
      assert.same(magic == 0 and { 73, 77 } or { 0, 4 }, { inner[1].offset, inner[2].offset })
      assert.equal(77, parse((down(one, magic)))[1].offset)
    end)

    it("says LogAppendTime where the broker stamped it, if there are timestamps", function()
      for codec = 0, 1 do
        local bytes = down(batch { attributes = 8, ts = 1000, max_ts = 5555, codec = codec, records = { "a", "b" } }, magic)
        assert.same({ { 0, ts(5555), "null", "a" }, { 1, ts(5555), "null", "b" } }, fields_of(bytes))
        local head = parse(bytes)[1]
        assert.equal(codec + (magic == 0 and 0 or 8), head.attributes)
        assert.equal(magic == 1 and 8 or 0, (head.inner or parse(bytes))[1].attributes)
        assert.equal(ts(5555), head.ts or "none")
      end
    end)

    it("without timestamps has none", function()
      assert.same({ { 0, ts(-1), "null", "v" } }, fields_of((down(batch { ts = -1 }, magic))))
      assert.equal(ts(-1), parse((down(batch { ts = -1, codec = 1 }, magic)))[1].ts or "none")
    end)

    it("is left out if it is a control batch", function()
      assert.same({ "", "0" }, { down(batch { attributes = 32 }, magic) })
    end)

    it("is left out if compaction emptied it", function()
      assert.same({ "", "0" }, { down(batch { records = {}, count = 0, last_delta = 5 }, magic) })
      assert.same({ "", "0" }, { down(batch { records = {}, count = 0, last_delta = 5, codec = 1, payload = "" }, magic) })
    end)

    it("is refused with zstd; what came before stays", function()
      local bytes, code = down({ batch(), batch { codec = 4, base = 1 } }, magic)
      assert.equal("ERR_UNSUPPORTED_CODEC", code)
      assert.same({ "v" }, messages.values(bytes))
    end)

    it("is refused when it is damaged; what came before stays", function()
      for why, bad in pairs { ERR_DECOMPRESS = batch { codec = 1, payload = "nonsense" }, ERR_INVALID_RECORD = batch { count = 2 },
        ERR_CORRUPT_BATCH = batch { length = 20 } } do
        local bytes, code = down({ batch(), bad }, magic)
        assert.equal(why, code)
        assert.equal("v", messages.values(bytes)[1])
        assert.equal("", select(2, parse(bytes)))
      end
    end)

    it("fills its room with whole messages", function()
      local size = messages.message({ magic = magic, value = "a" }):len()
      for room = 0, 3 * size do
        local bytes, code = down(batch { records = { "a", "b", "c" } }, magic, { limit = room })
        assert.equal(math.floor(room / size), #parse(bytes))
        assert.equal(room == 3 * size and "0" or "ERR_LIMIT", code)
      end
    end)

    it("has a wrapper whole or not at all", function()
      local one = batch { codec = 1, records = { "a", "b" } }
      local whole = down(one, magic)
      assert.same({ whole, "0" }, { down(one, magic, { limit = #whole }) })
      assert.same({ "", "ERR_LIMIT" }, { down(one, magic, { limit = #whole - 1 }) })
    end)

    it("is too large when a wrapper needs more than the work limit", function()
      local one = batch { codec = 1, records = { ("x"):rep(5000) } }
      assert.equal("0", select(2, down(one, magic, { work_limit = 5100 })))
      assert.equal("ERR_BATCH_TOO_LARGE", select(2, down(one, magic, { work_limit = 4000 })))
      assert.equal("ERR_BATCH_TOO_LARGE", select(2, down(one, magic, { work_limit = 5012 }))) -- unpacked, but not written
    end)
  end)
end

describe("golden batches of format 2", function()
  for line in io.lines "spec/data/golden-records.jsonl" do
    local case = cjson.decode(line)
    local first = case.batches[1]
    if first.magic == 2 and first.codec ~= "zstd" and not first.control then
      it("give all records to old clients: " .. case.case, function()
        for magic = 0, 1 do
          local bytes, code = down(unit.bytes(case.hex), magic)
          assert.equal("0", code)
          local list = messages.flatten(bytes)
          assert.equal(#first.records, #list)
          for i, record in ipairs(first.records) do
            local function text(value) return value ~= cjson.null and unit.bytes(value) or nil end
            assert.same({ record.offset, magic == 1 and record.timestamp or nil, text(record.key), text(record.value) },
              { list[i].offset, list[i].ts, list[i].key, list[i].value })
          end
        end
      end)
    end
  end
end)
