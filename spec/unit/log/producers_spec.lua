-- SPDX-License-Identifier: Apache-2.0
-- Idempotent producers: what a log makes of sequence numbers, and what it knows of them after a restart.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"
local dirent = require "posix.dirent"

local P = unit.load("base/mem.h", "base/list.h", "log/producer_state.h")
local C, NOW = logs.C, logs.NOW
local DAY = 86400000

--- A batch of `count` records of a producer.
local function batch(sequence, options)
  options = options or {}
  local list = {}
  for i = 1, options.count or 1 do list[i] = "x" end
  return logs.batch { records = list, ts = options.ts or 1000, producer_id = options.id or 1, producer_epoch = options.epoch or 0,
    sequence = sequence }
end

--- What becomes of one batch: offset and "stored", offset and "duplicate", or the error's name.
local function send(log, ...)
  local offsets = log:append(batch(...))
  if log.results[1] ~= 0 then return log.results[1] end
  return (log.duplicates[1] and "duplicate " or "stored ") .. offsets[1]
end

--- What becomes of several batches of one call.
local function send_all(log, list, options)
  log:append(list, options)
  local texts = {}
  for i, result in ipairs(log.results) do
    texts[i] = result ~= 0 and result or (log.duplicates[i] and "duplicate " or "stored ") .. log.offsets[i]
  end
  return texts
end

local function snapshots(log)
  local names = {}
  for name in dirent.files(log.dir) do
    if name:find "%.snapshot$" then names[#names + 1] = tonumber(name:match "^%d+") end
  end
  table.sort(names)
  return names
end

local function reopen(log, options)
  options = options or {}
  options.dir = log.dir
  if options.is_clean then assert.equal(0, log:close()) else log:crash() end
  return assert(logs.open(options))
end

--- What administrators are told: { id, epoch, last sequence, last timestamp } of each producer.
local function listed(log)
  local count = C.log_producer_count(log.log)
  local infos, list = ffi.new("struct log_producer_info[?]", count + 1), {}
  C.log_producer_list(log.log, infos)
  for i = 0, count - 1 do
    list[i + 1] = { tonumber(infos[i].id), infos[i].epoch, infos[i].last_sequence, tonumber(infos[i].timestamp) }
  end
  return list
end

local OUT_OF_ORDER, OLD_EPOCH = "ERR_OUT_OF_ORDER_SEQUENCE", "ERR_INVALID_PRODUCER_EPOCH"

describe("a batch of an idempotent producer", function()
  -- Case X1, before and after a stop and a crash.
  for _, how in ipairs { "running on", "a clean restart", "a crash" } do
    it("that was one of the last five is told its first offset, an older one is refused, after " .. how, function()
      local log = logs.open()
      for i = 0, 5 do assert.equal("stored " .. i, send(log, i)) end
      if how ~= "running on" then log = reopen(log, { is_clean = how == "a clean restart" }) end
      for i = 5, 1, -1 do assert.equal("duplicate " .. i, send(log, i)) end
      assert.equal(1000, log.duplicates[1])
      assert.equal(OUT_OF_ORDER, send(log, 0))
      assert.equal(6, log:end_offset())
      assert.equal("stored 6", send(log, 6))
      log:close()
    end)
  end

  -- { what, batches before, batch, what becomes of it }
  local CASES = {
    { "a first sequence of any value", {}, { 5 }, "stored 0" },
    { "the next sequence", { { 0, { count = 3 } } }, { 3 }, "stored 3" },
    { "a gap", { { 0 } }, { 2 }, OUT_OF_ORDER },
    { "a sequence that overlaps with the last batch", { { 0, { count = 3 } } }, { 2, { count = 2 } }, OUT_OF_ORDER },
    { "a part of the last batch", { { 0, { count = 3 } } }, { 1, { count = 2 } }, OUT_OF_ORDER },
    { "a longer batch than the one stored", { { 0, { count = 3 } } }, { 0, { count = 4 } }, OUT_OF_ORDER },
    { "the same batch", { { 0, { count = 3 } } }, { 0, { count = 3 } }, "duplicate 0" },
    { "a newer epoch from 0 on", { { 0 }, { 1 } }, { 0, { epoch = 1 } }, "stored 2" },
    { "a newer epoch from 1 on", { { 0 } }, { 1, { epoch = 1 } }, OUT_OF_ORDER },
    { "an older epoch", { { 0, { epoch = 2 } } }, { 1, { epoch = 1 } }, OLD_EPOCH },
    { "the same sequences of an older epoch", { { 0 }, { 0, { epoch = 1 } } }, { 0 }, OLD_EPOCH },
    { "0 after 2147483647", { { 2147483647 } }, { 0 }, "stored 1" },
    { "1 after 2147483647", { { 2147483647 } }, { 1 }, OUT_OF_ORDER },
    { "a batch across the end of the numbers", { { 2147483646, { count = 1 } } }, { 2147483647, { count = 3 } }, "stored 1" },
    { "what follows a batch across the end", { { 2147483647, { count = 3 } } }, { 2 }, "stored 3" },
    { "a batch across the end again", { { 2147483647, { count = 3 } } }, { 2147483647, { count = 3 } }, "duplicate 0" },
    { "another producer's sequence", { { 0 }, { 1 } }, { 7, { id = 2 } }, "stored 2" },
    { "a batch without producer", { { 0 } }, { -1, { id = -1, epoch = -1 } }, "stored 1" },
    { "producer id -2", { { 9, { id = -2 } } }, { 3, { id = -2 } }, "stored 1" },
  }
  for _, case in ipairs(CASES) do
    it("with " .. case[1] .. ": " .. case[4], function()
      local log = logs.open()
      for _, before in ipairs(case[2]) do assert.truthy(send(log, before[1], before[2]):find "^stored") end
      local end_offset = log:end_offset()
      assert.equal(case[4], send(log, case[3][1], case[3][2]))
      if not case[4]:find "^stored" then assert.equal(end_offset, log:end_offset()) end
      log:close()
    end)
  end

  it("sees the batches before it in the same call", function()
    local log = logs.open()
    assert.same({ "stored 0", "duplicate 0", "stored 1", OUT_OF_ORDER, OLD_EPOCH, "stored 2", "stored 3", "duplicate 3", "stored 4" },
      send_all(log, { batch(0, { epoch = 1 }), batch(0, { epoch = 1 }), batch(1, { epoch = 1 }), batch(3, { epoch = 1 }), batch(2),
        batch(2, { epoch = 1 }), batch(8, { id = 2 }), batch(8, { id = 2 }), batch(-1, { id = -1, epoch = -1 }) }))
    assert.equal(5, log:end_offset())
    log:close()
  end)

  it("may come again after its write failed", function()
    local log = logs.open()
    assert.equal("stored 0", send(log, 0))
    C.errinj_set(C.ERRINJ_FILE_WRITE, 1, 28)
    assert.same({ "ERR_NO_SPACE", "ERR_NO_SPACE", "ERR_NO_SPACE", "ERR_NO_SPACE" },
      send_all(log, { batch(1), batch(2), batch(0, { epoch = 1 }), batch(4, { id = 2 }) }))
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    assert.same({ "duplicate 0", "stored 1", "stored 2", "stored 3", "stored 4" },
      send_all(log, { batch(0), batch(1), batch(2), batch(0, { epoch = 1 }), batch(6, { id = 2 }) }))
    log:close()
  end)

  it("counts as stored up to the segment whose write failed", function()
    local log = logs.open { config = { segment_bytes = 200 } }
    C.errinj_set(C.ERRINJ_FILE_WRITE, 2, 28)
    local list = {}
    for i = 0, 5 do list[#list + 1] = batch(i) end
    local results = send_all(log, list)
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    local stored = log:end_offset()
    assert.truthy(stored > 0 and stored < 6)
    assert.equal("ERR_NO_SPACE", results[6])
    assert.equal("duplicate " .. stored - 1, send(log, stored - 1))
    assert.equal("stored " .. stored, send(log, stored))
    log:close()
  end)

  it("of any sequence is stored when its producer was forgotten", function()
    local log = logs.open()
    for i = 0, 6 do send(log, i) end
    assert.equal(0, C.log_set_start_offset(log.log, 7))
    assert.equal(OUT_OF_ORDER, send(log, 9))
    assert.is_false(C.log_has_expired_producers(log.log, NOW + DAY - 1, DAY))
    assert.equal(0, C.log_expire_producers(log.log, NOW + DAY - 1, DAY))
    assert.is_true(C.log_has_expired_producers(log.log, NOW + DAY, DAY))
    assert.equal(1, C.log_expire_producers(log.log, NOW + DAY, DAY))
    assert.equal("stored 7", send(log, 9))
    log:close()
  end)

  it("is not forgotten for a timestamp of -1 or 1970", function()
    local log = logs.open()
    send(log, 0, { ts = -1 })
    log = reopen(log, { is_clean = true })
    assert.equal(0, C.log_expire_producers(log.log, NOW + 1000, DAY))
    assert.equal("duplicate 0", send(log, 0, { ts = -1 }))
    assert.equal(-1, log.duplicates[1])
    log:close()
  end)
end)

describe("the producers of a log", function()
  local SMALL = { segment_bytes = 300 }

  it("stand in a snapshot for each segment that was begun, and one for the end after a clean stop", function()
    local log = logs.open { config = SMALL }
    for i = 0, 9 do send(log, i) end
    local bases = {}
    for i = 1, C.log_segment_count(log.log) - 1 do bases[i] = 4 * i end
    assert.same({ 4, 8 }, bases)
    assert.equal(0, C.log_flush(log.log, log:end_offset()))
    assert.same({ 4, 8 }, snapshots(log))
    assert.equal(0, log:close())
    assert.same({ 4, 8, 10 }, snapshots(log))
  end)

  it("are those before the segment, also when one call wrote across its begin", function()
    local log = logs.open { config = SMALL }
    local list = {}
    for i = 0, 9 do list[#list + 1] = batch(i) end
    send_all(log, list)
    assert.equal(0, C.log_flush(log.log, 1))
    assert.same({ 4, 8 }, snapshots(log))
    log = reopen(log, { config = SMALL })
    for i = 9, 5, -1 do assert.equal("duplicate " .. i, send(log, i)) end
    assert.equal(OUT_OF_ORDER, send(log, 4))
    assert.equal("stored 10", send(log, 10))
    log:close()
  end)

  for _, what in ipairs { "no snapshot", "a torn one", "an empty one", "one of another version", "one with a flipped bit" } do
    it("are found from " .. what .. " by reading the batches", function()
      local log = logs.open { config = SMALL }
      for i = 0, 9 do send(log, math.floor(i / 2), { id = i % 2 == 0 and 4 or 5 }) log:append(batch(i, { id = 6 })) end
      log:close()
      for _, offset in ipairs(snapshots(log)) do
        local path = log:path(offset, ".snapshot")
        local bytes = unit.read_file(path)
        if what == "no snapshot" then os.remove(path)
        elseif what == "a torn one" then unit.write_file(path, bytes:sub(1, -8))
        elseif what == "an empty one" then unit.write_file(path, "")
        elseif what == "one of another version" then unit.write_file(path, "\0\2" .. bytes:sub(3))
        else unit.write_file(path, bytes:sub(1, 20) .. string.char((bytes:byte(21) + 1) % 256) .. bytes:sub(22)) end
      end
      local again
      local lines = logs.lines_of(function() again = assert(logs.open { dir = log.dir, is_clean = true, config = SMALL }) end)
      assert.equal(what == "no snapshot", #lines == 0)
      for i = 9, 5, -1 do assert.equal("duplicate " .. 2 * i + 1, send(again, i, { id = 6 })) end
      assert.equal(OUT_OF_ORDER, send(again, 4, { id = 6 }))
      assert.equal("stored 20", send(again, 10, { id = 6 }))
      again:close()
    end)
  end

  it("are as they were at the new end after a truncation, whose later snapshots are gone", function()
    local log = logs.open { config = SMALL }
    for i = 0, 9 do send(log, i) end
    C.log_flush(log.log, 10)
    assert.equal(0, C.log_truncate_to(log.log, 6, NOW))
    assert.same({ 4 }, snapshots(log))
    assert.equal("duplicate 5", send(log, 5))
    assert.equal(OUT_OF_ORDER, send(log, 7))
    assert.equal("stored 6", send(log, 6))
    assert.equal(0, C.log_truncate_all(log.log, 20, 20, NOW))
    assert.same({}, snapshots(log))
    assert.equal("stored 20", send(log, 40))
    log:close()
  end)

  it("lose the snapshots of deleted segments, not what they know", function()
    local log = logs.open { config = SMALL }
    for i = 0, 9 do send(log, i) end
    C.log_flush(log.log, 10)
    assert.equal(2, C.log_delete_before(log.log, 8, NOW))
    assert.same({ 8 }, snapshots(log))
    log = reopen(log, { is_clean = true, config = SMALL })
    assert.same({ 8, 10 }, snapshots(log))
    assert.equal("duplicate 6", send(log, 6))
    log:close()
  end)

  it("are forgotten with the snapshot of the last stop when the log begins anew", function()
    for _, anew in ipairs { 2, 4, 20 } do
      local log = logs.open()
      for i = 0, 3 do send(log, i) end
      log = reopen(log, { is_clean = true })
      assert.same({ 4 }, snapshots(log))
      assert.equal(0, C.log_truncate_all(log.log, anew, anew, NOW))
      assert.same({}, snapshots(log))
      assert.equal("stored " .. anew, send(log, 3))
      log = reopen(log, { is_clean = true })
      assert.equal("duplicate " .. anew, send(log, 3))
      log:close()
    end
  end)

  it("do not count a snapshot from before the first segment", function()
    local log = logs.open { config = SMALL }
    for i = 0, 2 do send(log, i) end
    log = reopen(log, { is_clean = true, config = SMALL })
    for i = 3, 9 do send(log, i) end
    assert.equal(2, C.log_delete_before(log.log, 8, NOW))
    assert.same({ 3 }, snapshots(log))
    log:crash()
    log = assert(logs.open { dir = log.dir, config = SMALL, start = 8 })
    assert.same({}, snapshots(log))
    assert.equal("duplicate 9", send(log, 9))
    assert.equal("stored 10", send(log, 10))
    log:close()
  end)

  it("do not count a snapshot above the log's end", function()
    local log = logs.open()
    for i = 0, 3 do send(log, i) end
    log:close()
    local path = log:path(0, ".log")
    unit.write_file(path, unit.read_file(path):sub(1, -2))
    log = assert(logs.open { dir = log.dir })
    assert.equal(3, log:end_offset())
    assert.same({}, snapshots(log))
    assert.equal("duplicate 2", send(log, 2))
    assert.equal("stored 3", send(log, 3))
    log:close()
  end)

  it("are written by a follower as the leader judged them", function()
    local log = logs.open { config = SMALL }
    local list = {}
    for i = 0, 9 do list[#list + 1] = logs.batch { base = i, records = { "x" }, producer_id = 1, producer_epoch = 0, sequence = i } end
    log:append(list, { is_follower = true })
    assert.equal("duplicate 9", send(log, 9))
    assert.equal(OUT_OF_ORDER, send(log, 11))
    log = reopen(log, { config = SMALL })
    assert.equal("duplicate 9", send(log, 9))
    log:close()
  end)
end)

describe("a snapshot", function()
  local function pack(fill)
    local producers, size = ffi.new "struct producers", ffi.new "size_t[1]"
    P.producers_create(producers)
    fill(producers)
    local bytes = P.producers_pack(producers, size)
    local text = ffi.string(bytes, size[0])
    P.mem_free(bytes)
    P.producers_destroy(producers)
    return text
  end

  -- Written by Apache Kafka 4.4.0: a producer with one batch.
  local GOLDEN = "000135e945de00000001000000000000001600000000077f000000000000077f000000120000018bcfe5b2f6ffffffffffffffffffffffff"

  it("of Apache Kafka is read, and written again byte by byte", function()
    local bytes = GOLDEN:gsub("%x%x", function(hex) return string.char(tonumber(hex, 16)) end)
    local again = pack(function(producers) assert.equal(0, P.producers_unpack(producers, unit.buffer(bytes), #bytes, NOW)) end)
    assert.equal(GOLDEN, unit.hex(again))
  end)

  it("of nobody has ten bytes", function() assert.equal("000148674bc700000000", unit.hex(pack(function() end))) end)

  it("cut anywhere is refused", function()
    local bytes = pack(function(producers)
      for i = 0, 2 do
        P.producers_add(producers, ffi.new("struct producer_append", { producer_id = 3, base_offset = i, first_sequence = i }), NOW, -1)
      end
    end)
    assert.equal(10 + 46 + 8 + 2 * 32, #bytes)
    local producers = ffi.new "struct producers"
    P.producers_create(producers)
    for size = 0, #bytes - 1 do
      assert.equal("ERR_CORRUPT", logs.name(P.producers_unpack(producers, unit.buffer(bytes:sub(1, size)), size, NOW)))
      assert.equal(0, producers.count)
    end
    assert.equal(0, P.producers_unpack(producers, unit.buffer(bytes), #bytes, NOW))
    assert.equal(3, P.producers_find(producers, 3).count)
    P.producers_destroy(producers)
  end)

  it("has at most 50000 producers: the one that was silent longest is forgotten for one more", function()
    local producers = ffi.new "struct producers"
    P.producers_create(producers)
    local append = ffi.new "struct producer_append"
    for id = 0, 50000 do
      append.producer_id = id
      P.producers_add(producers, append, NOW, -1)
    end
    assert.equal(50000, producers.count)
    assert.is_true(P.producers_find(producers, 0) == nil)
    assert.is_true(P.producers_find(producers, 1) ~= nil)
    P.producers_destroy(producers)
  end)
end)

describe("the list of a log's producers", function()
  it("has the last sequence and time of each, the one that is silent longest first", function()
    local log = logs.open()
    assert.same({}, listed(log))
    send(log, 0, { id = 7, count = 3, ts = 5000 })
    send(log, 0, { id = 2, ts = 1000 })
    assert.same({ { 7, 0, 2, 5000 }, { 2, 0, 0, 1000 } }, listed(log))
    send(log, 3, { id = 7, ts = 4000 })
    assert.same({ { 2, 0, 0, 1000 }, { 7, 0, 3, 4000 } }, listed(log))
    log:close()
  end)

  it("does not change by duplicates and refused batches, and follows epochs", function()
    local log = logs.open()
    send(log, 0, { id = 7, count = 3, ts = 5000 })
    send(log, 0, { id = 7, count = 3, ts = 5000 })
    send(log, 9, { id = 7, ts = 6000 })
    assert.same({ { 7, 0, 2, 5000 } }, listed(log))
    send(log, 0, { id = 7, epoch = 3, ts = 4000 })
    assert.same({ { 7, 3, 0, 4000 } }, listed(log))
    log:close()
  end)

  it("is the same after a clean restart and after a crash", function()
    local log = logs.open()
    send(log, 0, { id = 7, count = 3, ts = 5000 })
    send(log, 2147483646, { id = 2, count = 2, epoch = 5, ts = 1000 })
    for _, is_clean in ipairs { true, false } do
      log = reopen(log, { is_clean = is_clean })
      assert.same({ { 7, 0, 2, 5000 }, { 2, 5, 2147483647, 1000 } }, listed(log))
    end
    log:close()
  end)
end)
