-- SPDX-License-Identifier: Apache-2.0
-- Subscriptions by regular expression, which the broker resolves; words of errors as Apache Kafka 4.4.0's.
local ffi = require "ffi"
local consumer = require "spec.support.consumer_group"
local shard = require "spec.support.shard"
local unit = require "spec.support.unit"
local C = unit.load "coordinator/group_regex.h"

local INVALID_REGULAR_EXPRESSION, GROUP_SUBSCRIBED_TO_TOPIC = 128, 86
local beat = consumer.beat

local function join(s, member, regex, more)
  more = more or {}
  more.subscribedTopicRegex = regex
  return consumer.join(s, "g", member, more.names or {}, more)
end

describe("an expression", function()
  local function compile(text)
    local why = ffi.new "const char *[1]"
    local regex = C.group_regex_new(text, #text, why)
    return regex ~= nil and regex or nil, why[0] ~= nil and ffi.string(why[0]) or nil
  end

  it("matches whole names", function()
    local regex = compile "ab.*"
    assert.is_true(C.group_regex_matches(regex, "abc", 3))
    assert.is_false(C.group_regex_matches(regex, "xabc", 4))
    C.group_regex_delete(regex)
  end)

  it("that is none is told why, in Kafka's words", function()
    for text, why in pairs {
      ["["] = "missing closing ]", ["("] = "missing closing )", [")"] = "regexp/syntax: internal error",
      ["*"] = "missing argument to repetition operator", ["a**"] = "invalid nested repetition operator",
      ["\\"] = "trailing backslash at end of expression", ["a{2000}"] = "invalid repeat count",
      ["(?P<n"] = "invalid named capture", ["[z-a]"] = "invalid character class range",
      ["\\8"] = "invalid escape sequence", ["(?z)"] = "invalid or unsupported Perl syntax",
    } do
      local regex, said = compile(text)
      assert.is_nil(regex)
      assert.equal(why, said)
    end
  end)

  it("has a limit of length and of memory, and takes time by the length of the text alone", function()
    assert.same({ nil, "expression too large" }, { compile(("a"):rep(4097)) })
    assert.same({ nil, "expression too large" }, { compile "(\\pL{30}){30}" })
    local regex = assert(compile "(a*)*b")
    local name = ("a"):rep(30000)
    assert.is_false(C.group_regex_matches(regex, name, #name))
    C.group_regex_delete(regex)
  end)
end)

describe("a member with an expression", function()
  local s
  before_each(function()
    s = shard.new { topics = { red = 1, rose = 2, sky = 1 } }
  end)
  after_each(function() s:close() end)

  it("gets topics that match with a heartbeat after they were found", function()
    local answer = join(s, "m", "r.*")
    assert.same({ 1, "" }, { answer.memberEpoch, answer.parts })
    s:advance(0)
    assert.equal("red:0 rose:0,1", beat(s, "g", "m", 1).parts)
    assert.equal("r.*", consumer.describe(s, "g").members[1].subscribedTopicRegex)
  end)

  it("gets internal topics too, as in Apache Kafka: it is clients who leave them out", function()
    s:topic("__consumer_offsets", 1)
    join(s, "m", "red|__consumer_offsets")
    s:advance(1000)
    assert.equal("__consumer_offsets:0 red:0", beat(s, "g", "m", 1).parts)
  end)

  it("gets topics that it names at once, and those that match beside them, each once", function()
    assert.equal("red:0 sky:0", join(s, "m", "r.*", { names = { "sky", "red" } }).parts)
    s:advance(1000)
    assert.equal("red:0 rose:0,1 sky:0", beat(s, "g", "m", 2).parts)
  end)

  it("is refused when it is none, and leaves nothing behind", function()
    local answer = join(s, "m", "[")
    assert.equal(INVALID_REGULAR_EXPRESSION, answer.errorCode)
    assert.equal("SubscribedTopicRegex `[` is not a valid regular expression: missing closing ].", answer.errorMessage)
    assert.same({}, s:groups())
  end)

  --- It has joined, and has what matched; returns its epoch.
  local function settled(regex)
    join(s, "m", regex)
    s:advance(1000)
    local epoch = beat(s, "g", "m", 1).memberEpoch
    assert.equal(2, epoch)
    return epoch
  end

  it("gets a topic that comes later, ten seconds after the last look at the latest", function()
    settled "r.*"
    s:topic("rock", 1)
    s:topics_changed()
    s:advance(8999)
    beat(s, "g", "m", 2)
    s:advance(0)
    assert.is_nil(beat(s, "g", "m", 2).parts)
    s:advance(1)
    beat(s, "g", "m", 2)
    s:advance(0)
    assert.equal("red:0 rock:0 rose:0,1", beat(s, "g", "m", 2).parts)
  end)

  it("loses a topic that is deleted", function()
    settled "r.*"
    s:topic("rose", 0)
    s:topics_changed()
    s:advance(1000)
    assert.equal("red:0", beat(s, "g", "m", 2).parts)
  end)

  it("shares what was found with others, until the last of them goes", function()
    settled "r.*"
    join(s, "n", "r.*")
    beat(s, "g", "m", -1)
    assert.truthy(s:dump "g":find("regex=r.* topic=red", 1, true))
    beat(s, "g", "n", -1)
    assert.is_nil(s:dump "g":find("r.*", 1, true))
    local other = s:reloaded()
    assert.equal(s:dump_all(), other:dump_all())
    other:close()
  end)

  it("may take another one, or none", function()
    settled "r.*"
    assert.equal("", beat(s, "g", "m", 2, { subscribedTopicRegex = "s.*", owned = "" }).parts)
    s:advance(1000)
    assert.is_nil(s:dump "g":find("r.*", 1, true))
    assert.equal("sky:0", beat(s, "g", "m", 2).parts)
    beat(s, "g", "m", 3, { subscribedTopicRegex = "" })
    assert.is_nil(s:dump "g":find("s.*", 1, true))
  end)

  it("is looked after again, not at once, when what was found could not be written", function()
    join(s, "m", "r.*")
    s.is_held = true
    s:advance(0)
    s:settle(1, 16)
    beat(s, "g", "m", 1)
    s:advance(9999)
    assert.equal(0, #s.taken)
    s.is_held = false
    assert.is_nil(beat(s, "g", "m", 1).parts)
    s:advance(1)
    beat(s, "g", "m", 1)
    s:advance(0)
    assert.equal("red:0 rose:0,1", beat(s, "g", "m", 1).parts)
  end)

  it("keeps its topics over a reload", function()
    settled "r.*"
    local other = s:reloaded()
    assert.equal(s:dump_all(), other:dump_all())
    assert.is_nil(beat(other, "g", "m", 2).parts)
    other:close()
  end)

  it("keeps offsets of topics that match from being deleted", function()
    settled "r.*"
    local answer = s:call("OffsetDelete", 0, "g", { groupId = "g",
      topics = { { name = "red", partitions = { { partitionIndex = 0 } } } } }).response
    assert.equal(GROUP_SUBSCRIBED_TO_TOPIC, answer.topics[1].partitions[1].errorCode)
  end)
end)

describe("a search for the topics of expressions", function()
  local s
  before_each(function()
    s = shard.new { topics = { red = 1, rose = 2, sky = 1 } }
    s.are_searches_held = true
  end)
  after_each(function() s:close() end)

  --- A member has come, and the search for its topics is under way.
  local function searching(member, regex)
    join(s, member, regex)
    s:advance(0)
    assert.equal(1, #s.searches)
  end

  it("keeps nobody waiting: the group is served while it is under way", function()
    searching("m", "r.*")
    assert.equal(0, beat(s, "g", "m", 1).errorCode)
    s:search()
    assert.equal("red:0 rose:0,1", beat(s, "g", "m", 1).parts)
  end)

  it("is the only one of its group: who comes meanwhile is looked for afterwards", function()
    searching("m", "r.*")
    join(s, "n", "s.*")
    s:advance(100)
    assert.equal(1, #s.searches)
    s:search()
    assert.equal("red:0 rose:0,1", beat(s, "g", "m", 1).parts)
    s:advance(0)
    s:search()
    s:advance(1000)
    assert.equal("sky:0", beat(s, "g", "n", 1).parts)
  end)

  it("has turns when it takes long, with what was found written after each", function()
    join(s, "l", "s.*")
    join(s, "m", "r.*")
    join(s, "n", "ro.*")
    s:advance(0)
    s:search(0)
    assert.truthy(s:dump "g":find("regex=r.* topic=red topic=rose", 1, true))
    assert.is_nil(s:dump "g":find("topic=sky", 1, true))
    assert.equal(1, #s.searches)
    s:search(0)
    s:search(0)
    assert.truthy(s:dump "g":find("regex=s.* topic=sky", 1, true))
    s:advance(1000)
    assert.equal("sky:0", beat(s, "g", "l", 1).parts)
    assert.equal(0, #s.searches)
  end)

  it("goes with its group when the shard has stopped before it comes back", function()
    searching("m", "r.*")
    s:stop()
    C.group_search_end(table.remove(s.searches))
    assert.equal(0, #s.searches) -- the end of the shard frees it
  end)

  it("finds nothing for an expression that nobody has any more", function()
    searching("m", "r.*")
    beat(s, "g", "m", 1, { subscribedTopicRegex = "s.*", owned = "" })
    s:search()
    assert.is_nil(s:dump "g":find("r.*", 1, true))
    beat(s, "g", "m", 1)
    s:advance(0)
    s:search()
    s:advance(1000)
    assert.truthy(s:dump "g":find("regex=s.* topic=sky", 1, true))
  end)

  it("does not count for an expression that was given up and taken again", function()
    searching("m", "r.*")
    s:search()
    beat(s, "g", "m", 1)
    s:topic("rock", 1)
    s:topics_changed()
    s:advance(10000)
    beat(s, "g", "m", 2)
    s:advance(0)
    beat(s, "g", "m", 2, { subscribedTopicRegex = "s.*", owned = "red:0 rose:0,1" })
    beat(s, "g", "m", 2, { subscribedTopicRegex = "r.*", owned = "red:0 rose:0,1" })
    assert.is_nil(s:dump "g":find("topic=", 1, true))
    s:search()
    assert.is_nil(s:dump "g":find("topic=", 1, true))
    beat(s, "g", "m", 2)
    s:advance(0)
    s:search()
    assert.truthy(s:dump "g":find("regex=r.* topic=red topic=rock topic=rose", 1, true))
  end)

  it("comes back to a group that was deleted, or whose shard has ended, and changes nothing", function()
    searching("m", "r.*")
    beat(s, "g", "m", -1)
    s:call("DeleteGroups", 2, "g")
    assert.same({}, s:groups())
    s:search()
    assert.same({}, s:groups())
    searching("m", "r.*")
    s:stop()
    s:search()
  end)

  it("outlives its shard", function()
    searching("m", "r.*")
    s:close()
    s = shard.new {}
  end)

  --- A write of the group is under way, and the search is back.
  local function back_while_written()
    searching("m", "r.*")
    s.is_held = true
    consumer.send(s, "g", "m", 1, { rebalanceTimeoutMs = 7000, subscribedTopicRegex = "r.*", owned = "" })
    s:search()
    assert.equal(1, #s.taken)
  end

  it("is applied when the writes that are under way are done", function()
    back_while_written()
    s.is_held = false
    s:settle(1)
    s:advance(20)
    assert.equal("red:0 rose:0,1", beat(s, "g", "m", 1).parts)
  end)

  it("that waits to be applied goes with its shard", function()
    back_while_written()
    s:stop()
  end)

  it("is made again when topics came while it was under way", function()
    searching("m", "r.*")
    s:topic("rock", 1)
    s:topic("ro", 1)
    s:topics_changed()
    s:search()
    s:topic("rot", 1)
    s:topics_changed()
    assert.equal("red:0 ro:0 rock:0 rose:0,1", beat(s, "g", "m", 1).parts)
    s:advance(10000)
    beat(s, "g", "m", 2)
    s:advance(0)
    s:search()
    assert.equal("red:0 ro:0 rock:0 rose:0,1 rot:0", beat(s, "g", "m", 2).parts)
  end)
end)
