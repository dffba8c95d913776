-- SPDX-License-Identifier: Apache-2.0
-- A shard with offsets under random schedules: commits, deletions, expiry, topics that go, writes that are late or fail.
-- After each run its state is what another shard reads from the log, and nothing that was acknowledged is missing.
-- SIM_SEED=n replays one run, SIM_RUNS=n makes more of them.
local shard = require "spec.support.shard"

local RUNS, STEPS = tonumber(os.getenv "SIM_RUNS") or 40, 300
local ONE = tonumber(os.getenv "SIM_SEED")

--- A small generator of its own, so that a run is the same everywhere.
local function generator(seed)
  local state = seed % 2147483647
  if state == 0 then state = 1 end
  return function(most)
    state = state * 48271 % 2147483647
    return state % most + 1
  end
end

local function pick(random, list) return list[random(#list)] end

local GROUPS, TOPICS = { "a", "b", "c", "" }, { "t", "u" }

--- Notes what an acknowledged commit said, by group, topic and partition; false: it is not answered yet.
local function note(model, call)
  if not call.response then return false end
  for _, topic in ipairs(call.response.topics) do
    for _, partition in ipairs(topic.partitions) do
      if partition.errorCode == 0 then
        model[("%s/%s-%d"):format(call.group, topic.name, partition.partitionIndex)] = call.offset
      end
    end
  end
  return true
end

local function run(seed)
  local random = generator(seed)
  local s = shard.new { seed = seed, topics = { t = 4, u = 4 },
    config = { offsets_retention_ms = 3600000, offsets_retention_check_interval_ms = 60000 } }
  s.is_held = true
  local next_offset = 0
  local function settle() s:settle(random(3), random(4) == 1 and 16 or nil) end
  for _ = 1, STEPS do
    local what = random(20)
    local group, topic = pick(random, GROUPS), pick(random, TOPICS)
    if what <= 9 then
      next_offset = next_offset + 1
      s:call("OffsetCommit", 9, group, { groupId = group, topics = { { name = topic, partitions = {
        { partitionIndex = random(4) - 1, committedOffset = next_offset } } } } })
    elseif what <= 15 then
      settle()
    elseif what == 16 then
      s:call("OffsetDelete", 0, group, { groupId = group, topics = { { name = topic, partitions = {
        { partitionIndex = random(4) - 1 } } } } })
    elseif what == 17 then
      s:call("DeleteGroups", 2, group)
    elseif what == 18 then
      s:topics_deleted { topic }
    elseif what == 19 then
      s:advance(random(20) * 60000)
    else
      s:call("OffsetFetch", 9, group, { groupId = group, topics = shard.NULL })
    end
  end
  while #s.taken > 0 do settle() end
  s.is_held = false
  s:run()
  return s
end

describe("a shard with offsets", function()
  for at = 1, ONE and 1 or RUNS do
    local seed = ONE or at
    it(("is what its log says, with seed %d"):format(seed), function()
      local s = run(seed)
      local again = s:reloaded { seed = seed + 1000 }
      assert.equal(s:dump_all(), again:dump_all())
      assert.same(s:groups(), again:groups())
      again:close()
      s:close()
    end)
  end

  it("keeps what it has acknowledged when nothing deletes it", function()
    local random = generator(ONE or 99)
    local s = shard.new { topics = { t = 4 } }
    s.is_held = true
    local model, open = {}, {}
    for step = 1, 1000 do
      if random(2) == 1 then
        local group = pick(random, GROUPS)
        local call = s:call("OffsetCommit", 9, group, { groupId = group, topics = { { name = "t", partitions = {
          { partitionIndex = random(4) - 1, committedOffset = step } } } } })
        call.group, call.offset = group, step
        open[#open + 1] = call
      else
        s:settle(random(4), random(5) == 1 and 15 or nil)
        while open[1] and note(model, open[1]) do table.remove(open, 1) end
      end
    end
    s:settle(1000)
    while open[1] and note(model, open[1]) do table.remove(open, 1) end
    assert.equal(0, #open)
    local again = s:reloaded()
    for key, offset in pairs(model) do
      local group, name, partition = key:match "^(.*)/(.*)-(%d+)$"
      local call = again:call("OffsetFetch", 9, group, { groupId = group, topics = { { name = name,
        partitionIndexes = { tonumber(partition) } } } })
      assert.equal(offset, call.response.topics[1].partitions[1].committedOffset, key)
    end
    again:close()
    s:close()
  end)

  it("answers all that waits when it stops, whatever is under way", function()
    for seed = 1, 20 do
      local random = generator(seed)
      local s = shard.new { topics = { t = 4 } }
      s.is_held = true
      for step = 1, 60 do
        local group = pick(random, GROUPS)
        if random(3) > 1 then
          s:call("OffsetCommit", 9, group, { groupId = group, topics = { { name = "t", partitions = {
            { partitionIndex = 0, committedOffset = step } } } } })
        elseif random(2) == 1 then
          s:call("DeleteGroups", 2, group)
        else
          s:settle(1)
        end
      end
      s:close() -- raises when a request is left
    end
  end)
end)
