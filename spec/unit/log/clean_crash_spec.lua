-- SPDX-License-Identifier: Apache-2.0
-- A pass of the log cleaner that ends at any of its steps: what is found at the next start is the log as it was, or as it
-- was to be, segment by segment, and nothing else. CLEAN_CRASH=1 takes a longer log, with more steps to fail at.
local ffi = require "ffi"
local cleaning = require "spec.unit.log.cleaning"
local logs, NULL = cleaning.logs, cleaning.NULL
local C = cleaning.C

local ENOENT, EIO, ENOSPC = 2, 5, 28
local BATCHES = os.getenv "CLEAN_CRASH" and 36 or 12
local SEGMENT_BYTES = 1400 -- so that two segments at a time become one

--- A log of several groups of segments, with more than one key in each, and what of it counts.
local function filled(options)
  local log = cleaning.open { in_memory = true,
    config = { segment_bytes = SEGMENT_BYTES, file_delete_delay_ms = 60000, delete_retention_ms = 1000 },
    is_collecting = options and options.is_collecting }
  for i = 1, BATCHES do
    cleaning.put(log, { { "k" .. i % 5, ("v"):rep(40) .. i }, { "l" .. i, i % 6 == 0 and NULL or "w" .. i } })
    if i % 4 == 0 then cleaning.roll(log) end
  end
  cleaning.roll(log)
  return log, cleaning.latest(log)
end

local function strays(log)
  local list = {}
  for _, name in ipairs(log:names()) do
    if name:match "%.cleaned$" or name:match "%.swap$" or name:match "%.deleted$" or name:match "%.tmp$" then list[#list + 1] = name end
  end
  return list
end

--- What counts, and that offsets rise.
local function check(log, latest)
  assert.same(latest, cleaning.latest(log))
  local last = -1
  for _, record in ipairs(cleaning.records(log)) do
    assert.is_true(record[1] > last)
    last = record[1]
  end
  assert.equal(2 * BATCHES, log:end_offset())
end

describe("A pass that fails and is followed by a crash", function()
  after_each(function()
    for point = 0, C.ERRINJ_COUNT - 1 do C.errinj_set(point, 0, 0) end
  end)

  for _, case in ipairs {
    { "opening a file", "ERRINJ_FILE_OPEN", EIO }, { "reading", "ERRINJ_FILE_READ", EIO }, { "writing", "ERRINJ_FILE_WRITE", EIO },
    { "a full disk", "ERRINJ_FILE_WRITE", ENOSPC }, { "an fsync", "ERRINJ_FILE_SYNC", EIO }, { "a rename", "ERRINJ_DIR_RENAME", EIO },
    { "removing a file", "ERRINJ_DIR_REMOVE_FILE", EIO },
  } do
    it(("at any turn of %s leaves the old segments or the new ones"):format(case[1]), function()
      local failures, nth, is_done = 0, 0, false
      while not is_done do
        nth = nth + 1
        local log, latest = filled()
        local before = cleaning.records(log)
        C.errinj_set(C[case[2]], nth, case[3])
        local counts, why = cleaning.clean(log)
        C.errinj_set(C[case[2]], 0, 0)
        is_done = counts ~= nil
        if why then
          failures = failures + 1
          assert.is_true(why == "ERR_IO" or why == "ERR_NO_SPACE", why)
          assert.is_true(#cleaning.records(log) <= #before)
          check(log, latest)
        end
        log = cleaning.reopen(log, false, { config = { segment_bytes = SEGMENT_BYTES, delete_retention_ms = 1000 } })
        assert.same({}, strays(log))
        check(log, latest)
        -- The next pass does what is left.
        assert(cleaning.clean(log, { now = cleaning.NOW + 1 }))
        check(log, latest)
        assert.is_true(#cleaning.records(log) <= #before)
        log:close()
      end
      assert.is_true(failures > 0 or case[2] == "ERRINJ_DIR_REMOVE_FILE")
    end)
  end

  it("at any of its renames goes on from there, one file after the other", function()
    -- As a crash between two renames: all later ones do not come about, and nothing is tidied up.
    for nth = 1, os.getenv "CLEAN_CRASH" and 40 or 24 do
      local log, latest = filled()
      C.errinj_set(C.ERRINJ_DIR_RENAME, nth, EIO)
      C.errinj_set(C.ERRINJ_DIR_REMOVE_FILE, 1, EIO)
      local counts = cleaning.clean(log)
      C.errinj_set(C.ERRINJ_DIR_RENAME, 0, 0)
      C.errinj_set(C.ERRINJ_DIR_REMOVE_FILE, 0, 0)
      log = cleaning.reopen(log, nth % 2 == 0 and counts ~= nil, { config = { segment_bytes = SEGMENT_BYTES } })
      assert.same({}, strays(log))
      check(log, latest)
      log:close()
    end
  end)
end)

describe("A swap", function()
  it("is given up for a truncation, which leaves no part of it", function()
    local log = cleaning.open { config = { segment_bytes = 700 } }
    for i = 1, 12 do
      cleaning.put(log, { { "a", "v" .. i } })
      cleaning.roll(log)
    end
    -- The hooks of a pass are called in between; a truncation comes between the two steps of the appender.
    local steps, callback = 0
    callback = ffi.cast("int (*)(void *, void (*)(void *), void *)", function(_, change, arg)
      steps = steps + 1
      if steps == 3 then assert(C.log_truncate_to(log.log, 5, logs.NOW) == 0) end
      change(arg)
      return 0
    end)
    local counts, why = cleaning.clean(log, { settings = { with_appender = callback } })
    callback:free()
    assert.same({ nil, "ERR_AGAIN" }, { counts, why })
    assert.same({}, strays(log))
    assert.equal(5, log:end_offset())
    cleaning.put(log, { { "a", "new" } })
    log = cleaning.reopen(log, false, { config = { segment_bytes = 700 } })
    assert.same({ 4, "a", "v5" }, cleaning.records(log)[5])
    assert.same({ 5, "a", "new" }, cleaning.records(log)[6])
    log:close()
  end)

  it("is given up when retention has deleted one of the segments meanwhile", function()
    local log = cleaning.open { config = { segment_bytes = 700 } }
    for i = 1, 12 do
      cleaning.put(log, { { "a", "v" .. i } })
      cleaning.roll(log)
    end
    for _, at in ipairs { 2, 3 } do
      local steps, callback = 0
      callback = ffi.cast("int (*)(void *, void (*)(void *), void *)", function(_, change, arg)
        steps = steps + 1
        if steps == at then assert(C.log_delete_before(log.log, log:start_offset() + 1, logs.NOW) == 1) end
        change(arg)
        return 0
      end)
      local counts, why = cleaning.clean(log, { settings = { with_appender = callback } })
      callback:free()
      assert.same({ nil, "ERR_AGAIN" }, { counts, why })
      assert.same({}, strays(log))
    end
    assert.same({ 2, 12, 10 }, { log:start_offset(), log:end_offset(), #cleaning.records(log) })
    assert(cleaning.clean(log))
    assert.same({ { 11, "a", "v12" } }, cleaning.records(log))
    log:close()
  end)

  --- Makes a pass over twelve segments whose hook calls `meddle` between the two steps of its first swap, and then goes on
  --- as it says: true with the second step, false as if the log were gone.
  local function meddled(meddle)
    local log = cleaning.open { config = { segment_bytes = 700 } }
    for i = 1, 12 do
      cleaning.put(log, { { "a", "v" .. i } })
      cleaning.roll(log)
    end
    local steps, callback = 0
    callback = ffi.cast("int (*)(void *, void (*)(void *), void *)", function(_, change, arg)
      steps = steps + 1
      if steps == 3 and not meddle(log) then return C.ERR_AGAIN end
      change(arg)
      return 0
    end)
    local counts, why = cleaning.clean(log, { settings = { with_appender = callback } })
    callback:free()
    return log, counts, why
  end

  it("does not bring back what was deleted from the start of the log meanwhile, when a crash comes", function()
    local log, counts, why = meddled(function(log)
      assert(C.log_delete_before(log.log, 3, logs.NOW) == 3)
      return false
    end)
    assert.same({ nil, "ERR_AGAIN" }, { counts, why })
    log = cleaning.reopen(log, false, { config = { segment_bytes = 700 } })
    assert.same({}, strays(log))
    assert.same({ 3, 12, 9 }, { log:start_offset(), log:end_offset(), #cleaning.records(log) })
    log:close()
  end)

  it("whose files cannot be removed is a failure of the disk, and no truncation is undone by it", function()
    local log, counts, why = meddled(function()
      C.errinj_set(C.ERRINJ_FILE_OPEN, 1, ENOENT)
      C.errinj_set(C.ERRINJ_DIR_REMOVE_FILE, 1, EIO)
      return true
    end)
    C.errinj_set(C.ERRINJ_FILE_OPEN, 0, 0)
    C.errinj_set(C.ERRINJ_DIR_REMOVE_FILE, 0, 0)
    assert.same({ nil, "ERR_IO" }, { counts, why })
    assert(C.log_truncate_to(log.log, 5, logs.NOW) == 0)
    log = cleaning.reopen(log, false, { config = { segment_bytes = 700 } })
    assert.same({}, strays(log))
    assert.same({ 0, 5, 5 }, { log:start_offset(), log:end_offset(), #cleaning.records(log) })
    log:close()
  end)
end)

describe("A checkpoint of the cleaner", function()
  it("that is above the log's end has all of it cleaned again", function()
    local log = cleaning.open()
    cleaning.put(log, { { "a", "v" } })
    log = cleaning.reopen(log, false, { clean_offset = 1000 })
    assert.equal(0, tonumber(C.log_clean_offset(log.log)))
    log:close()
  end)
end)
