-- SPDX-License-Identifier: Apache-2.0
-- Compaction against a model: random batches of random keys, tombstones, records without keys, codecs, producers and
-- transactions, cleaned again and again as time goes on, with starts in between. The model keeps Kafka's rules (KIP-534) in
-- its own way, and says before each pass what has to be left. With `deletes` its records are deleted up to some offset,
-- mostly inside a batch (DeleteRecords), and at times the segments below. CLEAN_SEEDS=n runs so many seeds, CLEAN_SEED=n one.
local cleaning = require "spec.unit.log.cleaning"
local L = cleaning.L
local NULL = cleaning.NULL

local SEEDS, ROUNDS = tonumber(os.getenv "CLEAN_SEEDS") or 12, 8
local RETENTION = 5000
local COMMIT, ABORT = "\1", "\0"

---@class spec.CleanModel
local Model = {}
Model.__index = Model

local function new_model(seed)
  -- Numbers of its own (Park and Miller's), so that a seed is the same everywhere.
  local state = seed * 7919 % 2147483647 + 1
  local self = setmetatable({ batches = {}, sequences = {}, open = {}, last_of = {}, next = 0, now = 0, first_dirty = 0,
    start = 0, eras = {}, is_orphan = {} }, Model)
  function self.random(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end
  return self
end

--- Appends a batch to the log and to the model.
function Model:add(log, batch, options)
  batch.base, batch.last = self.next, self.next + #batch.records - 1
  for i, record in ipairs(batch.records) do record.offset = batch.base + i - 1 end
  local list = {}
  for i, record in ipairs(batch.records) do list[i] = { record.key or false, record.value } end
  assert.equal(batch.base, cleaning.put(log, list, options))
  self.batches[#self.batches + 1], self.next = batch, batch.last + 1
end

--- The producer that the n-th one is now: one whose records were deleted is not asked for its sequence.
function Model:producer(n) return n + 10 * (self.eras[n] or 0) end

function Model:add_data(log)
  local random, records = self.random, {}
  for i = 1, random(5) do
    records[i] = { key = random(12) > 1 and "k" .. random(20) or nil, value = random(4) > 1 and "v" .. random(1000000) or NULL }
  end
  local options, n = { codec = random(2) > 1 and 0 or random(4) }, random(9)
  local batch, id = { records = records }, self:producer(n)
  if n <= 6 then -- producers 1 to 3 write transactions, 4 to 6 do not
    batch.id, batch.is_transactional = id, n <= 3
    options.producer_id, options.producer_epoch, options.sequence = id, 0, self.sequences[id] or 0
    options.attributes = batch.is_transactional and 0x10 or 0
    self.sequences[id] = options.sequence + #records
    if batch.is_transactional then
      self.open[id] = self.open[id] or {}
      table.insert(self.open[id], batch)
    end
  end
  self:add(log, batch, options)
  if batch.id then self.last_of[id] = batch end
end

function Model:add_marker(log, id)
  local type = self.random(2) > 1 and COMMIT or ABORT
  local marker = { id = id, is_marker = true, records = { { key = "\0\0\0" .. type, value = ("\0"):rep(6) } }, data = self.open[id] }
  for _, batch in ipairs(self.open[id]) do batch.is_aborted = type == ABORT end
  self.open[id] = nil
  self:add(log, marker, { producer_id = id, producer_epoch = 0, attributes = 0x30 })
end

--- Where the oldest open transaction begins.
function Model:stable()
  local offset = self.next
  for _, batches in pairs(self.open) do offset = math.min(offset, batches[1].base) end
  return offset
end

--- What a pass over [first_dirty, limit) leaves.
function Model:clean(limit)
  local newest = {}
  for _, batch in ipairs(self.batches) do
    for _, record in ipairs(batch.records) do
      local is_dirty = record.offset >= self.first_dirty and record.offset < limit
      if is_dirty and not batch.is_marker and not batch.is_aborted and record.key then newest[record.key] = record.offset end
    end
  end
  local there = {}
  for _, batch in ipairs(self.batches) do there[batch] = true end
  local left = {}
  for _, batch in ipairs(self.batches) do
    local keeps = batch
    if batch.last < limit then
      local is_due = batch.horizon and batch.horizon <= self.now
      local is_alone = false
      if batch.is_marker then
        is_alone = true
        for _, data in ipairs(batch.data) do is_alone = is_alone and not there[data] end
      end
      local kept, has_tombstone = {}, false
      for _, record in ipairs(batch.records) do
        local stays
        if batch.is_marker then
          stays = not (is_alone and is_due)
        elseif batch.is_aborted or not record.key then
          stays = false
        else
          stays = record.offset >= (newest[record.key] or -1) and not (record.value == NULL and is_due)
        end
        if stays then
          kept[#kept + 1] = record
          has_tombstone = has_tombstone or record.value == NULL
        end
      end
      if #kept > 0 and not batch.horizon and (has_tombstone or is_alone) then batch.horizon = self.now + RETENTION end
      batch.records = kept
      local is_held = batch.id and self.last_of[batch.id] == batch or batch.last + 1 == limit
        or batch.is_marker and self.is_orphan[batch.id] -- all that is known of the producer
      if #kept == 0 and not is_held then keeps = nil end
      if #kept == 0 then batch.horizon = nil end
    end
    left[#left + 1] = keeps
  end
  self.batches, self.first_dirty = left, limit
end

--- Its log begins later from now on.
function Model:delete_records(log)
  local offset = self.start + self.random(math.max(1, self:stable() - self.start)) - 1
  assert.equal(0, L.log_set_start_offset(log.log, offset))
  self.start = offset
  if self.random(3) > 1 then return end
  L.log_delete_before(log.log, offset, cleaning.NOW)
  local first, left = log:segments()[1], {}
  for _, batch in ipairs(self.batches) do
    if batch.base >= first then left[#left + 1] = batch end
  end
  self.batches = left
  local there = {}
  for _, batch in ipairs(left) do there[batch] = true end
  for id, batch in pairs(self.last_of) do self.is_orphan[id] = not there[batch] end
  for n = 1, 6 do
    if not self.open[self:producer(n)] then self.eras[n] = (self.eras[n] or 0) + 1 end
  end
end

--- What a log has, and what the model says, in one form.
local function of_log(log)
  local list = {}
  for i, batch in ipairs(cleaning.batches_of(log)) do
    local texts = { ("%d-%d"):format(batch.base, batch.last) }
    for _, record in ipairs(batch.records) do
      texts[#texts + 1] = ("%d:%s=%s"):format(tonumber(record.offset), record.key or "-", record.value or "NULL")
    end
    list[i] = table.concat(texts, " ")
  end
  return list
end

local function of_model(model)
  local list = {}
  for _, batch in ipairs(model.batches) do
    local texts = { ("%d-%d"):format(batch.base, batch.last) }
    for _, record in ipairs(batch.records) do
      texts[#texts + 1] = ("%d:%s=%s"):format(record.offset, record.key or "-", record.value == NULL and "NULL" or record.value)
    end
    if batch.last >= model.start then list[#list + 1] = table.concat(texts, " ") end
  end
  return list
end

local function run(seed, deletes)
  local config = { segment_bytes = 600, delete_retention_ms = RETENTION, index_interval_bytes = 100 }
  local log, model = cleaning.open { config = config, in_memory = true }, new_model(seed)
  for _ = 1, ROUNDS do
    for _ = 1, 5 + model.random(25) do
      local id = model:producer(model.random(3))
      if model.open[id] and model.random(2) > 1 then model:add_marker(log, id) else model:add_data(log) end
    end
    cleaning.roll(log)
    if deletes and model.random(3) > 1 then model:delete_records(log) end
    -- What was aborted is found when a log is opened after a crash; later starts find it in the index files.
    log = cleaning.reopen(log, false, { config = config, start = model.start })
    if model.random(2) > 1 then log = cleaning.reopen(log, true, { config = config, start = model.start }) end
    model.now = cleaning.NOW + (model.now > 0 and model.now - cleaning.NOW or 0) + model.random(2 * RETENTION)
    local look = cleaning.look(log, { stable = model:stable(), now = model.now })
    assert.equal(model:stable(), tonumber(L.log_first_unstable_offset(log.log)) < 2 ^ 62
      and tonumber(L.log_first_unstable_offset(log.log)) or model.next)
    if look.dirty > 0 then
      model.first_dirty = math.max(model.first_dirty, model.start)
      assert.equal(model.first_dirty, look.first)
      model:clean(look["end"])
      assert(cleaning.clean(log, { stable = model:stable(), now = model.now }))
    end
    assert.same(of_model(model), of_log(log))
    assert.equal(model.next, log:end_offset())
    assert.equal(model.start, log:start_offset())
  end
  log:crash()
end

describe("A log that is cleaned again and again", function()
  local only = tonumber(os.getenv "CLEAN_SEED")
  for seed = only or 1, only or SEEDS do
    it(("has what the model says, with seed %d"):format(seed), function() run(seed) end)
    it(("has what the model says from where it begins, with seed %d"):format(seed), function() run(seed, true) end)
  end
end)
