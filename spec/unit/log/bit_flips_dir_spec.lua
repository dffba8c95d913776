-- SPDX-License-Identifier: Apache-2.0
-- One bit of the files that a data directory keeps beside its segments is another one at the start: the checkpoints,
-- partition.metadata, meta.properties. Either the start is refused with one sentence that names the file, and nothing is
-- changed, so that the file can be put right; or all logs open and have their records. Only what no line but the damaged
-- one says may be wrong: where a log begins, after DeleteRecords.
--
-- Seed and number of a flip are printed when it fails; BITFLIPS=1000 does that many, BITFLIP_SEED=n those of a seed.
local ffi = require "ffi"
local fcntl = require "posix.fcntl"
local unistd = require "posix.unistd"
local manager = require "spec.unit.log.manager"
local records = require "spec.support.records"
local unit = require "spec.support.unit"

ffi.cdef "int log_checkpoints_write_all(struct log_manager *mgr, int which);" -- log/log_manager_private.h

local C = unit.load("log/log_file.h", "os/file.h")
local COUNT = tonumber(os.getenv "BITFLIPS") or 200
local SEED = tonumber(os.getenv "BITFLIP_SEED") or os.time() % 1000000

local FILES = { "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint",
  "t-0/partition.metadata", "t-1/partition.metadata", "meta.properties" }
local RECORDS, START = 30, 12
local METADATA = "/m/luka.mdb"

local function random_of(seed)
  local state = seed * 2654435761 % 2147483646 + 1
  for _ = 1, 4 do state = state * 48271 % 2147483647 end
  return function(limit)
    state = state * 48271 % 2147483647
    return math.floor(state / 2147483647 * limit)
  end
end

--- Runs a function whose warnings nobody wants to read.
local function quietly(fn)
  local kept, null = unistd.dup(2), fcntl.open("/dev/null", fcntl.O_WRONLY)
  unistd.dup2(null, 2)
  fn()
  unistd.dup2(kept, 2)
  unistd.close(kept)
  unistd.close(null)
end

local function copy(from, to) assert(os.execute(("rm -rf '%s'; cp -r '%s' '%s'"):format(to, from, to)) == 0) end

--- A directory with two partitions, of which the first begins at START.
local function make(is_clean)
  local dir = unit.temp_dir() .. "/data"
  local mgr, wanted = manager.started({ dir }, { { "t", 0 }, { "t", 1 } })
  for i = 1, 2 do
    for _ = 1, RECORDS do manager.append(wanted[i].log, 50) end
  end
  assert(C.log_set_start_offset(wanted[1].log, START) == 0)
  assert(C.log_flush(wanted[1].log, 20) == 0 and C.log_flush(wanted[2].log, 20) == 0)
  local at_crash = dir .. "-crash"
  for which = 0, 2 do
    assert(C.log_checkpoints_write_all(mgr, which) == 0)
  end
  copy(dir, at_crash)
  assert(C.log_manager_stop(mgr) == 0)
  local made = is_clean and dir or at_crash
  unit.write_file(made .. "/" .. FILES[3], ("0\n2\nt 0 %d\nt 1 %d\n"):format(RECORDS, RECORDS))
  return made
end

--- Base offsets that can be read from a log.
local function read(log, from)
  local count, at = 0, from
  while at < tonumber(C.log_end_offset(log)) do
    local args = ffi.new("struct log_read_args", { offset = at, limit_offset = C.log_end_offset(log),
      max_bytes = 1, whole_first_batch = true })
    local slice = ffi.new "struct log_slice"
    assert(C.log_read_cold(log, args, slice) == 0, manager.message())
    local bytes = ffi.new("uint8_t[?]", slice.length)
    assert(C.file_read_at(C.log_file_fd(slice.file), bytes, slice.length, slice.pos) == 0)
    local batch = records.parse(ffi.string(bytes, slice.length))[1]
    C.log_slice_release(slice)
    assert(batch and batch.base == at, ("offset %d is not there"):format(at))
    count, at = count + 1, batch.last + 1
  end
  return count
end

local function check(template, dir, file, at, number)
  copy(template, dir)
  local path = dir .. "/" .. file
  local right = unit.read_file(path)
  unit.write_file(path, right:sub(1, at - 1) .. string.char(bit.bxor(right:byte(at), bit.lshift(1, number))) .. right:sub(at + 1))
  local mgr, _, message = manager.new({ dir }, { node_id = 1, metadata = METADATA })
  local claimed = mgr and C.log_manager_claim(mgr, 1, "cluster", METADATA)
  if not mgr or claimed ~= 0 then
    message = message or manager.message()
    if mgr then C.log_manager_abandon(mgr) end
    assert(file == "meta.properties", "the start is refused: " .. message)
    assert(message:find(path, 1, true) and not message:find "\n", "which file is it: " .. message)
    unit.write_file(path, right)
    mgr = assert(manager.new({ dir }, { node_id = 1, metadata = METADATA }))
    assert(C.log_manager_claim(mgr, 1, "cluster", METADATA) == 0)
  end
  local wanted = manager.wanted { { "t", 0, is_new = false }, { "t", 1, is_new = false } }
  assert(C.log_manager_start(mgr, wanted.array, 2, false) == 0)
  for i = 1, 2 do
    local log = wanted[i].log
    assert(wanted[i].error == 0 and log ~= nil, "a log does not open: " .. manager.message())
    local offsets = manager.offsets(log)
    local is_start_lost = file == "log-start-offset-checkpoint"
    if not is_start_lost then
      assert(offsets.start == (i == 1 and START or 0), ("log %d starts at %d"):format(i, offsets.start))
    end
    if offsets["end"] == RECORDS then
      assert(read(log, offsets.start) == RECORDS - offsets.start)
    else
      -- A start beyond the end: what was there is kept aside.
      assert(is_start_lost and offsets.start == offsets["end"], ("log %d ends at %d"):format(i, offsets["end"]))
      assert(unit.read_file(("%s/t-%d/%020d.log.cut"):format(dir, i - 1, 0)))
    end
    assert(manager.append(log) == offsets["end"])
    assert(tonumber(wanted[i].high_watermark) <= offsets["end"])
  end
  assert(C.log_manager_stop(mgr) == 0)
  manager.collect()
end

describe("A data directory with one bit that is another one", function()
  for _, is_clean in ipairs { true, false } do
    it(("has its records, or says which file is wrong, after a %s (%d flips of seed %d)"):format(
      is_clean and "clean end" or "crash", COUNT / 2, SEED), function()
      local template, dir = make(is_clean), unit.temp_dir() .. "/data"
      local failures = {}
      for i = 1, COUNT / 2 do
        local random = random_of(SEED + 7919 * i)
        local file = FILES[random(#FILES) + 1]
        local bytes = assert(unit.read_file(template .. "/" .. file), file)
        local at, number = random(#bytes) + 1, random(8)
        local ok, err
        quietly(function() ok, err = pcall(check, template, dir, file, at, number) end)
        if not ok then failures[#failures + 1] = ("flip %d, bit %d of byte %d of %s: %s"):format(i, number, at - 1, file, err) end
      end
      assert(#failures == 0, ("%d of %d, seed %d:\n  %s"):format(#failures, COUNT / 2, SEED,
        table.concat(failures, "\n  ", 1, math.min(#failures, 12))))
    end)
  end
end)
