-- SPDX-License-Identifier: Apache-2.0
-- Properties of the assignors over random groups; a failure names the seed, and SEED=n runs that one alone.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load "coordinator/assignor.h"

--- Runs an assignor. `topics`: partitions of each topic; `members`: lists of topic indexes (0-based, rising);
--- `owner`: list of owners by partition number, from 1; nil: nobody.
local function assign(fn, topics, members, owner)
  local first = ffi.new("int32_t[?]", #topics + 1)
  for i, count in ipairs(topics) do first[i] = first[i - 1] + count end
  local total, anchors = first[#topics], {}
  local list = ffi.new("struct assignor_member[?]", #members + 1)
  for i, member in ipairs(members) do
    anchors[i] = ffi.new("int32_t[?]", #member + 1, member)
    list[i - 1].topics, list[i - 1].topic_count = anchors[i], #member
  end
  local input = ffi.new "struct assignor_input"
  input.first, input.topic_count, input.members, input.member_count = first, #topics, list, #members
  local owners = ffi.new("int32_t[?]", total + 1)
  for i = 0, total - 1 do owners[i] = owner and owner[i + 1] or C.ASSIGNOR_NOBODY end
  fn(input, owners)
  local out = {}
  for i = 0, total - 1 do out[i + 1] = owners[i] end
  return out
end

local function counts_of(owner, member_count)
  local counts = {}
  for m = 0, member_count - 1 do counts[m] = 0 end
  for _, m in ipairs(owner) do
    if m >= 0 then counts[m] = counts[m] + 1 end
  end
  return counts
end

local function moved(before, after)
  local count = 0
  for i = 1, #after do
    if before[i] ~= after[i] then count = count + 1 end
  end
  return count
end

--- A fixed generator, so that a seed means the same everywhere.
local function random_from(seed)
  local state = seed % 2147483647
  if state <= 0 then state = 1 end
  return function(n)
    state = state * 16807 % 2147483647
    return state % n
  end
end

local function each_seed(count, run)
  local only = tonumber(os.getenv "SEED" or "")
  for seed = only or 1, only or count do
    local ok, err = pcall(run, random_from(seed * 7919), seed)
    if not ok then error(("seed %d: %s"):format(seed, tostring(err)), 0) end
  end
end

local function random_topics(random, most)
  local topics = {}
  for i = 1, 1 + random(most) do topics[i] = 1 + random(12) end
  return topics
end

local function all_topics(topics)
  local out = {}
  for i = 1, #topics do out[i] = i - 1 end
  return out
end

describe("assignors", function()
  it("are found by the names that clients ask for", function()
    assert.equal(C.assignor_at(0), C.assignor_find("uniform", 7))
    assert.equal(C.assignor_at(1), C.assignor_find("range", 5))
    assert.is_true(C.assignor_find("rang", 4) == nil)
    assert.is_true(C.assignor_at(2) == nil)
  end)
end)

describe("the range assignor", function()
  it("gives consecutive partitions, and one more to the first members", function()
    assert.same({ 0, 0, 0, 1, 1, 2, 2 }, assign(C.assignor_range, { 7 }, { { 0 }, { 0 }, { 0 } }))
  end)

  it("gives the same partitions of topics of one size to the same member", function()
    assert.same({ 0, 0, 1, 0, 0, 1 }, assign(C.assignor_range, { 3, 3 }, { { 0, 1 }, { 0, 1 } }))
  end)

  it("leaves members without partitions when there are more members than partitions", function()
    assert.same({ 0, 1 }, assign(C.assignor_range, { 2 }, { { 0 }, { 0 }, { 0 } }))
  end)

  it("divides each topic among its own subscribers", function()
    assert.same({ 0, 0, 1, 1, 1, 1 }, assign(C.assignor_range, { 4, 2 }, { { 0 }, { 0, 1 } }))
  end)

  it("forgets what was before", function()
    assert.same({ 0, 0, 1, 1 }, assign(C.assignor_range, { 4 }, { { 0 }, { 0 } }, { 1, 1, 0, 0 }))
  end)

  it("leaves nobody's partitions alone when there is no member", function()
    assert.same({ -1, -1 }, assign(C.assignor_range, { 2 }, {}))
  end)
end)

describe("the uniform assignor with the same topics for all", function()
  it("gives all members as many partitions, give or take one, and each partition once", function()
    each_seed(300, function(random)
      local topics = random_topics(random, 6)
      local members = {}
      for i = 1, 1 + random(9) do members[i] = all_topics(topics) end
      local before = {}
      for i = 1, 100 do before[i] = random(#members + 1) - 1 end
      local owner = assign(C.assignor_uniform, topics, members, before)
      local counts = counts_of(owner, #members)
      local least, most = math.huge, 0
      for _, count in pairs(counts) do least, most = math.min(least, count), math.max(most, count) end
      assert.is_true(most - least <= 1)
      for _, m in ipairs(owner) do assert.is_true(m >= 0) end
    end)
  end)

  it("moves no more partitions than balance asks for", function()
    each_seed(300, function(random)
      local topics = random_topics(random, 6)
      local members = {}
      for i = 1, 1 + random(9) do members[i] = all_topics(topics) end
      local before = assign(C.assignor_uniform, topics, members)
      assert.equal(0, moved(before, assign(C.assignor_uniform, topics, members, before)))
      -- One more joins: what it gets is all that moves.
      members[#members + 1] = all_topics(topics)
      local after = assign(C.assignor_uniform, topics, members, before)
      assert.equal(counts_of(after, #members)[#members - 1], moved(before, after))
    end)
  end)

  it("takes only what a member that left had", function()
    each_seed(300, function(random)
      local topics = random_topics(random, 6)
      local members = {}
      for i = 1, 2 + random(8) do members[i] = all_topics(topics) end
      local before = assign(C.assignor_uniform, topics, members)
      local gone, free = #members - 1, 0
      members[#members] = nil
      for i = 1, #before do
        if before[i] == gone then before[i], free = -1, free + 1 end
      end
      assert.equal(free, moved(before, assign(C.assignor_uniform, topics, members, before)))
    end)
  end)

  it("spreads a topic among members that have nothing yet", function()
    assert.same({ 0, 1, 2, 0, 1, 2 }, assign(C.assignor_uniform, { 3, 3 }, { { 0, 1 }, { 0, 1 }, { 0, 1 } }))
  end)

  it("leaves members without partitions when there are more members than partitions", function()
    assert.same({ 0, 1 }, assign(C.assignor_uniform, { 2 }, { { 0 }, { 0 }, { 0 } }))
  end)

  it("has nobody to give partitions to in a group without members", function()
    assert.same({ -1, -1 }, assign(C.assignor_uniform, { 2 }, {}))
  end)
end)

describe("the uniform assignor with different topics", function()
  local function random_members(random, topics)
    local members = {}
    for i = 1, 1 + random(9) do
      local member = {}
      for t = 0, #topics - 1 do
        if random(2) == 0 then member[#member + 1] = t end
      end
      members[i] = member
    end
    return members
  end

  --- Which members may have the partitions of each topic.
  local function subscribers_of(topics, members)
    local out = {}
    for t = 0, #topics - 1 do out[t] = {} end
    for m, member in ipairs(members) do
      for _, t in ipairs(member) do out[t][m - 1] = true end
    end
    return out
  end

  it("gives each partition to a subscriber, if there is one, and leaves no move that would balance better", function()
    each_seed(300, function(random)
      local topics = random_topics(random, 6)
      local members = random_members(random, topics)
      local before = {}
      for i = 1, 100 do before[i] = random(#members + 1) - 1 end
      local owner = assign(C.assignor_uniform, topics, members, before)
      local counts, subscribers, i = counts_of(owner, #members), subscribers_of(topics, members), 0
      for t, partitions in ipairs(topics) do
        for _ = 1, partitions do
          i = i + 1
          local m = owner[i]
          assert.equal(next(subscribers[t - 1]) ~= nil, m >= 0)
          assert.is_true(m < 0 or subscribers[t - 1][m] == true)
          for other in pairs(subscribers[t - 1]) do assert.is_true(counts[m] - counts[other] < 2) end
        end
      end
    end)
  end)

  it("moves nothing when nothing changed", function()
    each_seed(300, function(random)
      local topics = random_topics(random, 6)
      local members = random_members(random, topics)
      local before = assign(C.assignor_uniform, topics, members)
      assert.equal(0, moved(before, assign(C.assignor_uniform, topics, members, before)))
    end)
  end)

  it("takes away what a member is no longer subscribed to", function()
    assert.same({ 1, 1, 0, 0 }, assign(C.assignor_uniform, { 2, 2 }, { { 1 }, { 0, 1 } }, { 0, 0, 0, 1 }))
  end)
end)
