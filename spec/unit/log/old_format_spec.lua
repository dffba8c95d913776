-- SPDX-License-Identifier: Apache-2.0
-- Segments with messages of formats 0 and 1, as a Kafka before 0.11 wrote them: converted when the log is opened.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"
local batches = require "spec.unit.record.batches"
local messages = require "spec.unit.record.messages"

local C = logs.C

local GZIP, SNAPPY, LZ4 = 1, 2, 3
local APPEND_TIME = 8
local ENOSPC = 28

--- A folder with segments by base offset: bytes of each.
local function folder(segments)
  local dir = unit.temp_dir() .. "/topic-0"
  assert(os.execute(("mkdir '%s'"):format(dir)) == 0)
  for base, bytes in pairs(segments) do unit.write_file(("%s/%020d.log"):format(dir, base), bytes) end
  return dir
end

local function path_of(dir, base, suffix) return ("%s/%020d%s"):format(dir, base, suffix or ".log") end

--- Opens a log, reads all of it, closes it; the records by offset, and its batches. Options as those of logs.open().
local function take(dir, options)
  options = options or {}
  options.dir = dir
  local log, err, message = logs.open(options)
  if not log then return nil, err, message end
  local records, list = {}, {}
  local at, end_offset = log:start_offset(), log:end_offset()
  while at < end_offset do
    local bytes = log:read(at, { max = 2147483647 })
    if not bytes or #bytes == 0 then break end
    for _, batch in ipairs(logs.split(bytes)) do
      local _, header = batches.header(batch.bytes)
      assert.equal("0", batches.check(batch.bytes))
      local attributes = header.attributes
      list[#list + 1] = { base = batch.base, last = batch.last, codec = attributes % 8, epoch = batch.epoch, size = batch.size,
        count = header.record_count, producer = tonumber(header.producer_id), max_ts = batch.max_ts, bytes = batch.bytes }
      for _, record in ipairs(assert(batches.read(batch.bytes, 64 * 1024 * 1024))) do
        records[#records + 1] = { tonumber(record.offset), tonumber(record.timestamp), record.key or false,
          record.value or false, attributes % 16 >= 8 and "append" or "create" }
      end
      at = batch.last + 1
    end
  end
  local info = { records = records, batches = list, end_offset = end_offset, bases = (log:segments()) }
  assert.equal(0, log:close())
  return info
end

--- What messages are expected to become.
local function record(offset, ts, value, key, kind) return { offset, ts, key or false, value or false, kind or "create" } end

--- A wrapper of `values` at absolute offsets; fields: codec, ts, attributes, wrapper (its offset).
local function wrap(magic, offsets, fields)
  local set = {}
  for i, offset in ipairs(offsets) do
    set[i] = messages.message { magic = magic, offset = magic == 0 and offset or offset - offsets[1], ts = 1000 + offset,
      key = "k" .. offset, value = ("v%d"):format(offset):rep(20) }
  end
  return messages.wrapper(magic, table.concat(set), { codec = fields.codec, offset = fields.wrapper or offsets[#offsets],
    ts = fields.ts or 1000 + offsets[#offsets], attributes = fields.attributes,
    payload = fields.payload and fields.payload(table.concat(set)) })
end

local function wrapped(magic, offsets, kind, ts)
  local list = {}
  for i, offset in ipairs(offsets) do
    list[i] = record(offset, magic == 0 and -1 or ts or 1000 + offset, ("v%d"):format(offset):rep(20), "k" .. offset, kind)
  end
  return list
end

local function join(...)
  local all = {}
  for _, list in ipairs { ... } do
    for _, one in ipairs(list) do all[#all + 1] = one end
  end
  return all
end

local function range(first, last)
  local list = {}
  for n = first, last do list[#list + 1] = n end
  return list
end

describe("a log of messages of format", function()
  it("0 has the same offsets, keys and values in format 2, and no timestamps", function()
    local dir = folder { [0] = messages.set(0, { "a", { value = "b", key = "k" }, { key = "gone" }, {}, { value = "" } }) }
    local info = take(dir)
    assert.same({ record(0, -1, "a"), record(1, -1, "b", "k"), record(2, -1, false, "gone"), record(3, -1), record(4, -1, "") },
      info.records)
    local one = info.batches[1]
    assert.same({ 1, 0, 4, 0, -1, 5, -1, -1 },
      { #info.batches, one.base, one.last, one.codec, one.epoch, one.count, one.producer, one.max_ts })
  end)

  it("1 keeps its timestamps", function()
    local info = take(folder { [0] = messages.set(1, { { value = "a", ts = 2000 }, { value = "b", ts = 1000 },
      { value = "c", ts = -1 } }) })
    assert.same({ record(0, 2000, "a"), record(1, 1000, "b"), record(2, -1, "c") }, info.records)
    assert.equal(2000, info.batches[1].max_ts)
  end)

  it("1 keeps the broker's timestamps, those that differ in batches of their own", function()
    local stamped = APPEND_TIME
    local info = take(folder { [0] = messages.set(1, { { value = "a", ts = 5, attributes = stamped },
      { value = "b", ts = 5, attributes = stamped }, { value = "c", ts = 6, attributes = stamped }, { value = "d", ts = 6 } }) })
    assert.same({ record(0, 5, "a", nil, "append"), record(1, 5, "b", nil, "append"), record(2, 6, "c", nil, "append"),
      record(3, 6, "d") }, info.records)
    assert.equal(3, #info.batches)
  end)

  for magic = 0, 1 do
    for name, codec in pairs { gzip = GZIP, snappy = SNAPPY, lz4 = LZ4 } do
      it(("%d in wrappers of %s becomes batches of it, one each"):format(magic, name), function()
        local payload = magic == 0 and codec == LZ4 and function(set)
          local packed = batches.compress(LZ4, set)
          return packed:sub(1, 6) .. "\1" .. packed:sub(8) -- the header checksum that old clients made wrong
        end or nil
        local bytes = wrap(magic, range(0, 9), { codec = codec, payload = payload })
          .. wrap(magic, range(10, 12), { codec = codec, payload = payload })
        local info = take(folder { [0] = bytes })
        assert.same(wrapped(magic, range(0, 12)), info.records)
        assert.equal(2, #info.batches)
        for _, one in ipairs(info.batches) do assert.same({ codec, -1 }, { one.codec, one.epoch }) end
      end)
    end

    it(("%d keeps the holes of compaction, within wrappers and between messages"):format(magic), function()
      local bytes = messages.set(magic, { { value = "a", offset = 3, ts = 1003 }, { value = "b", offset = 7, ts = 1007 } })
        .. wrap(magic, { 20, 22, 25 }, { codec = GZIP }) .. messages.message { magic = magic, offset = 40, ts = 1040, value = "c" }
      local config = { is_compacted = true }
      local dir = folder { [2] = bytes }
      for _ = 1, 2 do
        local info = take(dir, { config = config })
        local function ts(offset) return magic == 0 and -1 or 1000 + offset end
        assert.same(join({ record(3, ts(3), "a"), record(7, ts(7), "b") }, wrapped(magic, { 20, 22, 25 }), { record(40, ts(40), "c") }),
          info.records)
        assert.same({ 3, 41 }, { #info.batches, info.end_offset })
      end
    end)
  end

  it("0 in a wrapper keeps the place of a last message that compaction took", function()
    local info = take(folder { [0] = wrap(0, { 0, 2 }, { codec = GZIP, wrapper = 5 }) .. messages.set(0, { "x" }, { offset = 6 }) })
    assert.same(join(wrapped(0, { 0, 2 }), { record(6, -1, "x") }), info.records)
    assert.equal(5, info.batches[1].last)
  end)

  it("1 in a wrapper with the broker's time has that time", function()
    local info = take(folder { [0] = wrap(1, range(0, 3), { codec = LZ4, ts = 9000, attributes = APPEND_TIME }) })
    assert.same(wrapped(1, range(0, 3), "append", 9000), info.records)
  end)

  it("1 is gathered into batches of up to 1,000 records and 16 KiB", function()
    local list = {}
    for i = 1, 2500 do list[i] = { value = "", ts = i } end
    local info = take(folder { [0] = messages.set(1, list) })
    assert.same({ 2500, 3 }, { #info.records, #info.batches })
    assert.same({ 1000, 1000, 500 }, { info.batches[1].count, info.batches[2].count, info.batches[3].count })
    list = {}
    for i = 1, 100 do list[i] = { value = ("x"):rep(1000), ts = i } end
    list[50].value = ("y"):rep(300000)
    info = take(folder { [0] = messages.set(1, list) })
    assert.equal(100, #info.records)
    for _, one in ipairs(info.batches) do assert.is_true(one.size <= 16384 or one.count == 1) end
    assert.same({ 9, 300000 }, { #info.batches, #info.records[50][4] })
  end)

  it("0 ends a batch where an offset is missing that nothing may have taken away", function()
    local info = take(folder { [0] = messages.set(0, { "a" }) .. messages.set(0, { "b" }, { offset = 5 }) }, { recovery_point = 6 })
    assert.same({ 2, 5 }, { #info.batches, info.batches[2].base })
  end)
end)

describe("a segment of several formats", function()
  local old = messages.set(0, { "a", "b" }) .. messages.set(1, { "c" }, { offset = 2 }) .. wrap(1, range(3, 5), { codec = SNAPPY })
  local new = batches.batch { base = 6, records = { "new" }, leader_epoch = 7, codec = LZ4, ts = 2000 }
    .. batches.batch { base = 7, records = { "more", "and more" }, leader_epoch = 8, producer_id = 5, producer_epoch = 0, sequence = 0 }

  it("has its batches of format 2 byte for byte, with their leader epochs", function()
    local dir = folder { [0] = old .. new }
    local info = take(dir)
    assert.same({ 9, 9 }, { #info.records, info.end_offset })
    local epochs = {}
    for i, one in ipairs(info.batches) do epochs[i] = { one.base, one.epoch } end
    assert.same({ { 0, -1 }, { 3, -1 }, { 6, 7 }, { 7, 8 } }, epochs)
    assert.equal(unit.hex(new), unit.hex(unit.read_file(path_of(dir, 0)):sub(-#new)))
    assert.equal("0\n2\n7 6\n8 7\n", unit.read_file(dir .. "/leader-epoch-checkpoint"))
  end)

  it("is converted where format 2 comes first, too", function()
    for _, is_clean in ipairs { false, true } do
      local first = batches.batch { records = { "first" }, leader_epoch = 1 }
      local info = take(folder { [0] = first .. messages.set(1, { "x", "y" }, { offset = 1 }) }, { is_clean = is_clean })
      assert.equal(3, #info.records)
      assert.equal("y", info.records[3][4])
    end
  end)
end)

describe("converting", function()
  local function three()
    return { [0] = messages.set(1, { "a", "b" }), [2] = wrap(1, range(2, 4), { codec = GZIP }),
      [5] = messages.set(1, { "c" }, { offset = 5 }) }
  end

  it("is said once for a log, and happens once", function()
    for _, is_clean in ipairs { true, false } do
      local dir = folder(three())
      local lines = logs.lines_of(function() assert.equal(6, take(dir, { is_clean = is_clean }).end_offset) end)
      assert.equal(1, #lines)
      assert.truthy(lines[1]:find("converted from record format 0 or 1 to format 2: 6 records, segments: 3", 1, true))
      local kept = {}
      for _, base in ipairs { 0, 2, 5 } do kept[base] = unit.read_file(path_of(dir, base)) end
      assert.same({}, logs.lines_of(function() assert.equal(6, #take(dir, { is_clean = true }).records) end))
      assert.same({}, logs.lines_of(function() assert.equal(6, #take(dir).records) end))
      for base, bytes in pairs(kept) do assert.equal(bytes, unit.read_file(path_of(dir, base))) end
    end
  end)

  it("makes the indexes anew", function()
    local list = {}
    for i = 1, 200 do list[i] = { value = ("x"):rep(1000), ts = 1000 + i } end
    local dir = folder { [0] = messages.set(1, list) }
    unit.write_file(path_of(dir, 0, ".index"), batches.int(100, 4) .. batches.int(103400, 4))
    unit.write_file(path_of(dir, 0, ".timeindex"), batches.int(1100, 8) .. batches.int(99, 4))
    take(dir, { is_clean = true })
    local log = logs.open { dir = dir, is_clean = true }
    assert.equal(13 - 1, #log:file(0, ".index") / 8)
    for _, offset in ipairs { 0, 57, 198, 199 } do
      assert.same({ offset, 1001 + offset, -1 }, log:by_time(1001 + offset))
    end
    assert.same({ 199, 1200, -1 }, log:newest())
    log:close()
  end)

  it("goes on with appended batches, and over restarts", function()
    local dir = folder(three())
    local log = logs.open { dir = dir }
    assert.same({ 6 }, log:append(logs.batch { ts = 5000 }, { epoch = 3 }))
    assert.equal(-1, C.log_epoch_for_offset(log.log, 5))
    assert.equal(3, C.log_epoch_for_offset(log.log, 6))
    log:crash()
    local info = take(dir)
    assert.same({ 7, 7 }, { #info.records, info.end_offset })
  end)

  it("leaves the time of a segment as it was", function()
    local dir = folder { [0] = messages.set(0, { "a" }) }
    assert(os.execute(("touch -d @1400000000 '%s'"):format(path_of(dir, 0))) == 0)
    local log = logs.open { dir = dir }
    local infos = ffi.new "struct log_segment_info[1]"
    assert.equal(1, C.log_segments(log.log, infos, 1))
    log:close()
    local pipe = io.popen(("stat -c %%Y '%s'"):format(path_of(dir, 0)))
    assert.equal("1400000000", pipe:read "*l")
    pipe:close()
  end)

  it("takes over what Kafka's cleaner left of an old format", function()
    local segments = three()
    local dir = folder { [0] = segments[0], [2] = segments[2], [5] = segments[5] }
    unit.write_file(path_of(dir, 0, ".log.swap"), messages.set(1, { { value = "b", offset = 1 }, { value = "c", offset = 4 } }))
    unit.write_file(path_of(dir, 5, ".log.cleaned"), "half")
    local info = take(dir, { config = { is_compacted = true } })
    assert.same({ 1, 4, 5 }, { info.records[1][1], info.records[2][1], info.records[3][1] })
    assert.same({ 0, 5 }, info.bases)
  end)
end)

describe("an old log that is damaged", function()
  local old = messages.set(1, { "a", "b" }) .. wrap(1, range(2, 4), { codec = GZIP })

  for magic = 0, 1 do
    it(("loses a torn message of format %d at its end, whatever is left of it, and keeps it aside"):format(magic), function()
      local first = messages.set(magic, { "one", "two" })
      local tails = { messages.message { magic = magic, offset = 2, key = "k", value = "three" },
        wrap(magic, { 2, 3 }, { codec = LZ4 }) }
      for _, tail in ipairs(tails) do
        for size = 1, #tail - 1 do
          local dir = folder { [0] = first .. tail:sub(1, size) }
          local lines = logs.lines_of(function()
            local info = take(dir)
            assert.same({ 2, 2, "two" }, { #info.records, info.end_offset, info.records[2][4] })
          end)
          assert.equal(2, #lines)
          assert.equal(unit.hex(tail:sub(1, size)), unit.hex(unit.read_file(path_of(dir, 0, ".log.cut"))))
        end
      end
    end)
  end

  local DAMAGES = {
    ["a wrong CRC"] = messages.message { magic = 1, offset = 5, value = "x", crc_xor = 1 },
    ["an offset that goes back"] = messages.message { magic = 1, offset = 2, value = "x" },
    ["lengths that do not fit"] = messages.message { magic = 1, offset = 5, body = batches.int(1000, 4) },
    ["a wrapper that cannot be unpacked"] = messages.wrapper(1, "", { codec = GZIP, offset = 5, payload = "junk" }),
    ["a wrapper of nothing"] = messages.wrapper(0, "", { codec = GZIP, offset = 5 }),
    ["a codec that there is not"] = messages.wrapper(1, "", { codec = 5, offset = 5, payload = "junk" }),
    ["a wrapper in a wrapper"] = messages.wrapper(1, wrap(1, { 0 }, { codec = GZIP }), { codec = GZIP, offset = 5 }),
    ["a wrong CRC in a wrapper"] = messages.wrapper(1, messages.set(1, { "y", { value = "x", crc_xor = 1 } }),
      { codec = GZIP, offset = 6 }),
    ["offsets that go back in a wrapper"] = messages.wrapper(0, messages.set(0, { { value = "y", offset = 6 },
      { value = "x", offset = 5 } }), { codec = GZIP, offset = 6 }),
    ["an impossible size"] = batches.int(5, 8) .. batches.int(3, 4) .. ("\1"):rep(30),
    ["zeros"] = ("\0"):rep(4096),
  }
  for what, bytes in pairs(DAMAGES) do
    it("is cut at " .. what .. ", and what follows is kept aside", function()
      for _, is_clean in ipairs { false, true } do
        local rest = bytes .. messages.set(1, { "after" }, { offset = 7 })
        local dir = folder { [0] = old .. rest }
        local info
        logs.lines_of(function() info = take(dir, { is_clean = is_clean }) end)
        assert.same({ 5, 5 }, { #info.records, info.end_offset })
        assert.equal(unit.hex(rest), unit.hex(unit.read_file(path_of(dir, 0, ".log.cut"))))
      end
    end)
  end

  it("in its first message is kept aside whole", function()
    local bytes = messages.wrapper(1, "", { codec = GZIP, offset = 0, payload = "junk" }) .. messages.set(1, { "x" }, { offset = 1 })
    local dir = folder { [0] = bytes }
    logs.lines_of(function() assert.equal(0, take(dir).end_offset) end)
    assert.equal(bytes, unit.read_file(path_of(dir, 0, ".log.cut")))
    assert.is_nil(unit.read_file(path_of(dir, 0, ".log.cleaned")))
  end)

  it("in a closed segment loses what follows only if it may not have been on disk, as with format 2", function()
    for _, point in ipairs { 0, 6 } do
      local dir = folder { [0] = old .. DAMAGES["a wrong CRC"], [6] = messages.set(1, { "later" }, { offset = 6 }) }
      logs.lines_of(function()
        local info = take(dir, { recovery_point = point })
        assert.equal(point == 0 and 5 or 7, info.end_offset)
        assert.equal(point == 0 and 5 or 6, #info.records)
      end)
      assert.equal(point == 0, unit.read_file(path_of(dir, 6, ".log.cut")) ~= nil)
    end
  end)

  it("with a message that belongs to the next segment loses only that", function()
    local dir = folder { [0] = messages.set(0, { "a", "b", "c" }), [2] = messages.set(0, { "C" }, { offset = 2 }) }
    logs.lines_of(function()
      assert.same({ record(0, -1, "a"), record(1, -1, "b"), record(2, -1, "C") }, take(dir, { recovery_point = 3 }).records)
    end)
  end)
end)

describe("a conversion that fails", function()
  local POINTS = { "FILE_OPEN", "FILE_READ", "FILE_WRITE", "FILE_SYNC", "DIR_RENAME", "DIR_REMOVE_FILE" }
  local segments = { [0] = messages.set(1, { "a", "b" }),
    [2] = wrap(1, range(2, 4), { codec = SNAPPY }) .. batches.batch { base = 5, ts = 1005 } }

  for _, point in ipairs(POINTS) do
    it(("at any pass of %s leaves each segment as it was or whole in the new form"):format(point:lower()), function()
      local good = folder(segments)
      take(good)
      local wanted = {}
      for base in pairs(segments) do wanted[base] = unit.read_file(path_of(good, base)) end
      local failures = 0
      for nth = 1, 60 do
        local dir = folder(segments)
        local log
        logs.lines_of(function()
          -- As a kill would: nothing comes after it, and what was made stays.
          C.errinj_set(C["ERRINJ_" .. point], nth, 5)
          log = logs.open { dir = dir }
          for _, name in ipairs(POINTS) do C.errinj_set(C["ERRINJ_" .. name], 0, 0) end
        end)
        if log then log:crash() else failures = failures + 1 end
        for base, bytes in pairs(segments) do
          local found = unit.read_file(path_of(dir, base))
          assert.is_true(found == bytes or found == wanted[base])
        end
        unit.write_file(path_of(dir, 2, ".log.cleaned"), wanted[2]:sub(1, 100)) -- what a kill may leave
        local info
        logs.lines_of(function() info = take(dir) end)
        assert.same({ 6, 6 }, { #info.records, info.end_offset })
        for base in pairs(segments) do
          assert.equal(wanted[base], unit.read_file(path_of(dir, base)))
          assert.is_nil(unit.read_file(path_of(dir, base, ".log.cleaned")))
        end
        if log then break end
      end
      assert.is_true(failures > 0 or point == "DIR_REMOVE_FILE")
    end)
  end

  it("for want of space says so, leaves nothing behind, and can be tried again", function()
    local dir = folder(segments)
    C.errinj_set(C.ERRINJ_FILE_WRITE, 1, ENOSPC)
    local info, err, message = take(dir)
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    assert.same({ nil, "ERR_NO_SPACE" }, { info, err })
    assert.truthy(message:find("cannot be converted from record format 0 or 1", 1, true))
    assert.truthy(message:find(dir, 1, true))
    assert.equal(segments[0], unit.read_file(path_of(dir, 0)))
    assert.is_nil(unit.read_file(path_of(dir, 0, ".log.cleaned")))
    assert.equal(6, #take(dir).records)
  end)

  it("because a wrapper holds more than 256 MiB keeps the log from opening, and all of it", function()
    local zeros = batches.compress(GZIP, ("\0"):rep(257 * 1024 * 1024))
    local bytes = messages.set(1, { "a" }) .. messages.wrapper(1, "", { codec = GZIP, offset = 1, payload = zeros })
    local dir = folder { [0] = bytes }
    local info, err, message = take(dir)
    assert.same({ nil, "ERR_LIMIT" }, { info, err })
    assert.truthy(message:find("a wrapper at offset 1 holds more than 268435456 bytes", 1, true))
    assert.equal(bytes, unit.read_file(path_of(dir, 0)))
    assert.is_nil(unit.read_file(path_of(dir, 0, ".log.cleaned")))
  end)
end)
