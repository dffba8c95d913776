-- SPDX-License-Identifier: Apache-2.0
-- One bit of a log's files is another one at the start: in a segment, an index, a snapshot or the leader epochs, after a
-- clean end and after a crash. The log opens; a client that reads it and checks CRCs gets every batch before the damage,
-- each as it was written and at its offset; what does not lie in the damaged batch is found by offset and by time.
--
-- Seed and number of a flip are printed when it fails; BITFLIPS=1000 does that many, BITFLIP_SEED=n those of a seed.
local ffi = require "ffi"
local batches = require "spec.unit.record.batches"
local logs = require "spec.unit.log.logs"
local unit = require "spec.support.unit"

local C = logs.C
local COUNT = tonumber(os.getenv "BITFLIPS") or 200
local SEED = tonumber(os.getenv "BITFLIP_SEED") or os.time() % 1000000

local LEADER_EPOCH_START, LEADER_EPOCH_END = 13, 16 -- bytes of a header that no CRC covers and no client minds

--- Pseudo-random numbers, the same on every machine: of a seed, from 0 to limit - 1.
local function random_of(seed)
  local state = seed * 2654435761 % 2147483646 + 1
  for _ = 1, 4 do state = state * 48271 % 2147483647 end
  return function(limit)
    state = state * 48271 % 2147483647
    return math.floor(state / 2147483647 * limit)
  end
end

local CONFIG = { segment_bytes = 2500, index_interval_bytes = 300 }

--- Files and batches of a log of several segments; of a producer, in three leader epochs, of all codecs.
local function make(is_clean)
  local log = logs.open { config = CONFIG }
  local made = {}
  for i = 1, 60 do
    local text = ("value %d "):format(i) .. ("%x"):format(i * 2654435761 % 2 ^ 32):rep(i % 17)
    local bytes = logs.batch { records = { text, text, ("%d"):format(i) }, codec = i % 5, ts = 1000 * i, step = 1,
      producer_id = 7, producer_epoch = 0, sequence = 3 * (i - 1) }
    local offset = assert(log:append(bytes, { epoch = i < 20 and 0 or i < 40 and 3 or 4 }))[1]
    if i == 30 then assert(C.log_flush(log.log, offset) == 0) end
    made[i] = { base = offset, last = offset + 2, ts = 1000 * i }
  end
  local recovery_point = tonumber(C.log_recovery_point(log.log))
  for _, batch in ipairs(made) do batch.bytes = logs.split(log:read(batch.base, { max = 1 }))[1].bytes end
  if is_clean then assert(log:close() == 0) else log:crash() end
  local template = { is_clean = is_clean, batches = made, recovery_point = recovery_point, files = {} }
  for _, name in ipairs(log:names()) do
    template.files[#template.files + 1] = { name = name, bytes = unit.read_file(log.dir .. "/" .. name) }
  end
  return template
end

local KINDS = { "%.log$", "%.index$", "%.timeindex$", "%.snapshot$", "^leader%-epoch%-checkpoint$" }

--- Draws a file of a random kind, and a bit of it.
local function draw(template, random)
  while true do
    local kind, list = KINDS[random(#KINDS) + 1], {}
    for _, file in ipairs(template.files) do
      if file.name:match(kind) and #file.bytes > 0 then list[#list + 1] = file end
    end
    if #list > 0 then
      local file = list[random(#list) + 1]
      return file, random(#file.bytes) + 1, random(8)
    end
  end
end

local function flip(bytes, at, number)
  return bytes:sub(1, at - 1) .. string.char(bit.bxor(bytes:byte(at), bit.lshift(1, number))) .. bytes:sub(at + 1)
end

--- The batch that a byte of a segment lies in, and which of its bytes that is; nil for other files.
local function damaged_batch(template, file, at)
  local base = tonumber(file.name:match "^(%d+)%.log$")
  if not base then return nil end
  local pos = 0
  for i, batch in ipairs(template.batches) do
    if batch.base >= base then
      if at <= pos + #batch.bytes then return i, at - pos end
      pos = pos + #batch.bytes
    end
  end
end

--- A batch as it counts: the leader epoch in it may be damaged without anybody minding.
local function without_epoch(bytes) return bytes:sub(1, LEADER_EPOCH_START - 1) .. bytes:sub(LEADER_EPOCH_END + 1) end

local function has_right_crc(bytes) return batches.int(batches.crc(bytes:sub(22)), 4) == bytes:sub(18, 21) end

--- Batches from an offset on as a client takes them, up to the first that it must refuse, or the one that was appended
--- afterwards: numbers of the first and the last, and why it ended.
local function read_from(log, template, number, damaged, next_bytes)
  local first = number
  while number <= #template.batches do
    local wanted = template.batches[number]
    if wanted.base >= log:end_offset() then break end
    local bytes, err = log:read(wanted.base, { max = 700 })
    if not bytes then return first, number - 1, err end
    local parts = logs.split(bytes)
    if #parts == 0 then return first, number - 1, "nothing" end
    for place, part in ipairs(parts) do
      if part.cut then
        if place == 1 then return first, number - 1, "no whole batch" end
        break
      end
      local expected = template.batches[number]
      if next_bytes and part.bytes == next_bytes then return first, number - 1, "the end" end
      if not has_right_crc(part.bytes) then return first, number - 1, "wrong CRC" end
      -- No CRC covers the offset of a batch, in Kafka's format: a client sees it out of order. Or the damaged batch was cut
      -- off, with what follows it in its segment.
      if expected and part.base ~= expected.base and number == damaged then return first, number - 1, "wrong offset" end
      assert(expected and part.base == expected.base and without_epoch(part.bytes) == without_epoch(expected.bytes),
        ("a wrong batch is served: %d at offset %d"):format(part.base, expected and expected.base or -1))
      number = number + 1
    end
  end
  return first, number - 1
end

--- Opens the log with the damage, and holds it to what it promises.
local function check(template, file, at, number)
  local dir = unit.temp_dir() .. "/topic-0"
  os.execute("mkdir " .. dir)
  for _, one in ipairs(template.files) do
    unit.write_file(dir .. "/" .. one.name, one == file and flip(one.bytes, at, number) or one.bytes)
  end
  local damaged, byte = damaged_batch(template, file, at)
  local log, err, message = logs.open { dir = dir, config = CONFIG, is_clean = template.is_clean,
    recovery_point = template.recovery_point }
  assert(log, ("it does not open: %s (%s)"):format(tostring(err), tostring(message)))
  local count = #template.batches
  local is_harmless = not damaged or (byte >= LEADER_EPOCH_START and byte <= LEADER_EPOCH_END)
  local good = is_harmless and count or damaged - 1
  local _, last, why = read_from(log, template, 1, damaged)
  assert(last >= good, ("reading ends after batch %d of %d (%s)"):format(last, count, tostring(why)))
  -- Each of them is found by its offset and by its time, not only on the way.
  for i = 1, good do
    local bytes = log:read(template.batches[i].last, { max = 1 })
    assert(bytes and without_epoch(bytes) == without_epoch(template.batches[i].bytes), ("batch %d is not found"):format(i))
    local found = log:by_time(template.batches[i].ts)
    assert(found and found[1] == template.batches[i].base, ("batch %d is not found by its time"):format(i))
  end
  -- Retention goes by the newest time of each segment.
  if not damaged then
    local infos = ffi.new "struct log_segment_info[20]"
    for i = 0, C.log_segments(log.log, infos, 20) - 1 do
      local last_batch = template.batches[tonumber(infos[i].next_offset) / 3]
      assert(infos[i].max_timestamp == last_batch.ts + 2, "a segment's newest time is wrong")
    end
  end
  -- A log that was not cut has what comes after the damage, too, from the next segment on at least.
  local end_offset = log:end_offset()
  assert(end_offset >= (damaged and template.batches[damaged].base or template.batches[count].last + 1), "the end is gone")
  -- It goes on, and its next end is a right one.
  local offsets = assert(log:append(logs.batch { records = { "next" }, ts = 100000 }, { epoch = 5 }))
  assert(offsets[1] == end_offset, "the next offset is wrong")
  local next_batch = logs.split(log:read(end_offset))[1]
  assert(next_batch.base == end_offset)
  assert(log:close() == 0)
  log = assert(logs.open { dir = dir, config = CONFIG, is_clean = true, recovery_point = end_offset + 1 })
  assert(log:end_offset() == end_offset + 1, "the second start finds another end")
  _, last = read_from(log, template, 1, damaged, next_batch.bytes)
  assert(last >= good, "the second start has lost batches")
  log:crash()
  os.execute("rm -rf " .. dir)
end

describe("A log with one bit that is another one", function()
  for _, is_clean in ipairs { true, false } do
    it(("has every batch before it, as it was, after a %s (%d flips of seed %d)"):format(
      is_clean and "clean end" or "crash", COUNT / 2, SEED), function()
      local template = make(is_clean)
      local failures = {}
      for i = 1, COUNT / 2 do
        local random = random_of(SEED + 7919 * i)
        local file, at, number = draw(template, random)
        local ok, err
        logs.lines_of(function() ok, err = pcall(check, template, file, at, number) end)
        if not ok then failures[#failures + 1] = ("flip %d, bit %d of byte %d of %s: %s"):format(i, number, at - 1, file.name, err) end
      end
      assert(#failures == 0, ("%d of %d, seed %d:\n  %s"):format(#failures, COUNT / 2, SEED,
        table.concat(failures, "\n  ", 1, math.min(#failures, 12))))
    end)
  end
end)
