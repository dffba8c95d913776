-- SPDX-License-Identifier: Apache-2.0
-- The console's words for groups and their offsets, with members that are connections of the spec.
local admins = require "spec.support.admin"
local brokers = require "spec.support.broker"
local groups = require "spec.support.group"
local support = require "spec.support.words"

describe("words for groups", function()
  local broker, session, count = nil, nil, 0

  setup(function()
    broker = brokers.start { set = { "workers=2", "offsets_topic_num_partitions=5" } }
    support.session(broker):run 'create("nearest", { partitions = 1 })'
  end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() session = support.session(broker) end)

  --- A topic with some records in each of its partitions, and a group that has committed nothing; their names.
  local function fresh(partitions, records)
    count = count + 1
    local topic, group = "topic" .. count, "group" .. count
    session:run(('create("%s", { partitions = %d })'):format(topic, partitions or 2))
    for partition = 0, (partitions or 2) - 1 do
      for _ = 1, records or 10 do session:run(('produce("%s", "v", { partition = %d })'):format(topic, partition)) end
    end
    return topic, group
  end

  --- Runs a line with TOPIC and GROUP put in.
  local function fill(line, topic, group) return (line:gsub("TOPIC", topic or "TOPIC"):gsub("GROUP", group or "GROUP")) end

  --- Lines that must fail, with their sentences.
  local function refuses(topic, group, cases)
    for line, sentence in pairs(cases) do
      assert.equal(fill(sentence, topic, group), (session:refusal(fill(line, topic, group))), line)
    end
  end

  --- { partition = offset } of what a group has committed of a topic.
  local function committed(group, topic)
    local out = {}
    for _, row in ipairs(session.context.admin.offsets(group)) do
      if row.topic == topic then out[row.partition] = row.offset end
    end
    return out
  end

  --- A member that is in the group, with all partitions of a topic.
  local function join(group, topic, options)
    options = options or {}
    options.topics = { topic }
    local member = groups.member(broker, group, options)
    member:join()
    assert.equal(0, member:sync({ [member.id] = { [topic] = { 0, 1 } } }).error_code)
    return member
  end

  describe("groups", function()
    it("lists type, state, members, lag and shard", function()
      local topic, group = fresh()
      session:run(('commit("%s", "%s", 0, 4)'):format(group, topic))
      local member = join(group, topic)
      local shown = session:view(('groups "%s"'):format(group))
      assert.same({ "name", "type", "state", "members", "lag", "shard" }, shown.columns)
      local row = shown.rows[1]
      assert.same({ name = group, type = "classic", state = "Stable", members = 1, lag = 6, shard = row.shard }, row)
      assert.is_true(row.shard >= 0 and row.shard < 5)
      member:close()
    end)

    it("has 0 for the lag where nothing is committed", function()
      local topic, group = fresh()
      local member = join(group, topic)
      assert.equal(0, session:run(('groups "%s"'):format(group))[1].lag)
      member:close()
    end)

    it("is a list for programs, as admin.groups() is", function()
      local topic, group = fresh()
      session:run(('commit("%s", "%s", 0, 4)'):format(group, topic))
      local found
      for _, row in ipairs(session:run "admin.groups()") do found = found or row.name == group and row end
      assert.same({ name = group, type = "classic", state = "Empty", members = 0, lag = 6 }, found)
      assert.same({ name = group, type = "classic", state = "Empty" },
        session:run(('admin.groups { part = "%s", lag = false }'):format(group))[1])
    end)

    it("is empty where nothing has the name", function() assert.same({}, session:view('groups "nothing has this"').rows) end)

    it("wants a part of a name", function()
      refuses(nil, nil, {
        ["groups(3)"] = 'groups: got 3, expected a part of a name: "orders"',
        ["admin.groups { part = 3 }"] = "groups: part: got 3, expected a part of a name",
        ["admin.groups { lagg = false }"] = 'groups: there is no option "lagg", did you mean lag?',
      })
    end)
  end)

  describe("group", function()
    it("shows state, members and offsets with the lag of each partition", function()
      local topic, group = fresh()
      session:run(('commit("%s", "%s", 1, 7, "noted")'):format(group, topic))
      local member = join(group, topic, { instance = "static-a" })
      local shown = session:view(('group "%s"'):format(group))
      local value = shown.value
      assert.equal("record", shown.kind)
      assert.same({ group, "classic", "Stable", "consumer", "range", 3 },
        { value.name, value.type, value.state, value.protocol_type, value.protocol, value.lag })
      assert.same({ "client_id", "host", "instance_id", "assignment", "topics", "member_id" }, shown.lists.members)
      assert.same({ { client_id = value.members[1].client_id, host = "127.0.0.1", instance_id = "static-a",
        assignment = { [topic] = { 0, 1 } }, topics = { topic }, member_id = member.id } }, value.members)
      local client_id = value.members[1].client_id
      assert.same({
        { topic = topic, partition = 0, end_offset = 10, client_id = client_id, member_id = member.id },
        { topic = topic, partition = 1, offset = 7, end_offset = 10, lag = 3, metadata = "noted", client_id = client_id,
          member_id = member.id },
      }, value.offsets)
      member:close()
    end)

    it("has its members and offsets as lists", function()
      local topic, group = fresh()
      session:run(('commit("%s", "%s", 1, 7)'):format(group, topic))
      assert.same({}, session:run(('group("%s"):members()'):format(group)))
      assert.same({ "client_id", "host", "assignment", "topics", "member_id" },
        session:view(('group("%s"):members()'):format(group)).columns)
      assert.equal(7, session:run(('group("%s"):offsets()'):format(group))[1].offset)
      assert.equal(3, session:run(('group("%s"):describe().lag'):format(group)))
      assert.equal(group, session:run(('group("%s").name'):format(group)))
      assert.equal(('group "%s"'):format(group), session:run(('tostring(group "%s")'):format(group)))
    end)

    it("does not count a lag where the topic is gone, or ends before the offset", function()
      local topic, group = fresh()
      local other = fresh(1, 1)
      session:run(('commit("%s", "%s", 1, 7) commit("%s", "%s", 0, 99)'):format(group, topic, group, other))
      local rows = session:run(('group("%s"):offsets()'):format(group))
      assert.equal(3, session:run(('group("%s"):describe().lag'):format(group)))
      assert.equal(-98, rows[2].lag)
    end)

    it("says that there is none, and the nearest", function()
      local topic, group = fresh()
      session:run(('commit("%s", "%s", 0, 1)'):format(group .. "-orders", topic))
      refuses(topic, group, {
        ['group "GROUP-order"'] = 'there is no group "GROUP-order", did you mean "GROUP-orders"?',
        ['group "wholly different"'] = 'there is no group "wholly different": groups() lists them',
        ["group(3)"] = 'group: got 3, expected the name of a group: "orders"',
        ["group()"] = 'group: got nil, expected the name of a group: "orders"',
        ['group(("x"):rep(40000))'] = "group: the name is longer than 32767 bytes",
      })
      assert.equal("GROUP_ID_NOT_FOUND", select(2, session:refusal 'group "wholly different"'))
    end)

    it("says what to write instead of what it has not", function()
      local topic, group = fresh()
      session:run(('commit("%s", "%s", 0, 1)'):format(group, topic))
      refuses(topic, group, {
        ['group("GROUP"):delete()'] = 'groups have no method delete: delete_group "name" deletes a group',
        ['group("GROUP"):member()'] = "groups have no method member, did you mean members?",
        ['group("GROUP").members()'] = 'group:members is called with a colon: group "name":members(...)',
        ['group "GROUP" { }'] = 'a group takes no options: group "orders":members()',
        ['local g = group "GROUP" g.x = 1'] = "groups are changed with reset_offsets(), commit() and kick()",
      })
    end)
  end)

  describe("reset_offsets", function()
    --- The offsets that are set by a line, which is run twice: dry first.
    local function reset(topic, group, options)
      local before = committed(group, topic)
      local dry = session:run(fill(("reset_offsets('GROUP', { dry = true, %s })"):format(options), topic, group))
      assert.same(before, committed(group, topic))
      local rows = session:run(fill(("reset_offsets('GROUP', { %s })"):format(options), topic, group))
      assert.same(dry, rows)
      local after = {}
      for _, row in ipairs(rows) do
        assert.same({ before[row.partition], 10 - row.offset }, { row.before, row.lag })
        after[row.partition] = row.offset
      end
      for partition, offset in pairs(after) do assert.equal(offset, committed(group, topic)[partition]) end
      return after
    end

    it("goes to the first and the last offset", function()
      local topic, group = fresh()
      assert.same({ [0] = 0, [1] = 0 }, reset(topic, group, "topic = 'TOPIC', to = 'earliest'"))
      assert.same({ [0] = 10, [1] = 10 }, reset(topic, group, "to = 'latest'"))
    end)

    it("goes to offsets, at most as far as the partition has them", function()
      local topic, group = fresh()
      assert.same({ [0] = 4, [1] = 4 }, reset(topic, group, "topic = 'TOPIC', to = 4"))
      assert.same({ [0] = 10, [1] = 10 }, reset(topic, group, "topic = 'TOPIC', to = 99"))
      assert.same({ [1] = 3 }, reset(topic, group, "topic = 'TOPIC', to = { [1] = 3 }"))
      session:run(("topic('%s'):delete_records { [0] = 5 }"):format(topic))
      assert.same({ [0] = 5 }, reset(topic, group, "topic = 'TOPIC', to = 1, partition = 0"))
    end)

    it("goes forth and back", function()
      local topic, group = fresh()
      reset(topic, group, "topic = 'TOPIC', to = 5")
      assert.same({ [0] = 8, [1] = 8 }, reset(topic, group, "by = 3"))
      assert.same({ [0] = 6, [1] = 8 }, { [0] = reset(topic, group, "topic = 'TOPIC', partition = 0, by = -2")[0],
        [1] = committed(group, topic)[1] })
      assert.same({ [0] = 0, [1] = 0 }, reset(topic, group, "by = -100"))
      assert.same({ [0] = 10, [1] = 10 }, reset(topic, group, "by = 2^53 - 1"))
    end)

    it("goes to a time: the first record that is not older, or the end", function()
      local topic, group = fresh()
      assert.same({ [0] = 0, [1] = 0 }, reset(topic, group, "topic = 'TOPIC', to = '1h'"))
      assert.same({ [0] = 10, [1] = 10 }, reset(topic, group, "topic = 'TOPIC', to = '2999-01-01'"))
      assert.same({ [0] = 0, [1] = 0 }, reset(topic, group, "topic = 'TOPIC', ago = hours(1)"))
      assert.same({ [0] = 10, [1] = 10 }, reset(topic, group, "topic = 'TOPIC', time = 32503680000000"))
      assert.same({ [0] = 0, [1] = 0 }, reset(topic, group, "topic = 'TOPIC', to = '1970-01-01T00:00:00Z'"))
    end)

    it("leaves what is committed with current, and takes the end where nothing is", function()
      local topic, group = fresh()
      reset(topic, group, "topic = 'TOPIC', partition = 1, to = 5")
      assert.same({ [0] = 10, [1] = 5 }, reset(topic, group, "topic = 'TOPIC', to = 'current'"))
    end)

    it("takes some topics, or all that the group has offsets of", function()
      local topic, group = fresh()
      local other = fresh()
      session:run(fill("reset_offsets('GROUP', { topics = { 'TOPIC', '" .. other .. "' }, to = 2 })", topic, group))
      assert.same({ { [0] = 2, [1] = 2 }, { [0] = 2, [1] = 2 } }, { committed(group, topic), committed(group, other) })
      session:run(fill("reset_offsets('GROUP', { to = 3 })", topic, group))
      assert.same({ { [0] = 3, [1] = 3 }, { [0] = 3, [1] = 3 } }, { committed(group, topic), committed(group, other) })
      session:run(fill("reset_offsets(group 'GROUP', { topic = topic 'TOPIC', to = 4 })", topic, group))
      assert.same({ { [0] = 4, [1] = 4 }, { [0] = 3, [1] = 3 } }, { committed(group, topic), committed(group, other) })
    end)

    it("asks first, and changes nothing without a yes", function()
      local topic, group = fresh()
      session.says_yes = false
      assert.is_nil(session:run(fill("reset_offsets('GROUP', { topic = 'TOPIC', to = 5 })", topic, group)))
      assert.same({ ('Reset 2 partitions of group "%s"?'):format(group) }, session.asked)
      assert.same({ "nothing was changed" }, session.printed)
      assert.equal(0, session:run(fill("select('#', reset_offsets('GROUP', { topic = 'TOPIC', to = 5 }))", topic, group)))
      assert.same({}, committed(group, topic))
    end)

    it("refuses a group with members", function()
      local topic, group = fresh()
      local member = join(group, topic)
      refuses(topic, group, { ["reset_offsets('GROUP', { topic = 'TOPIC', to = 5 })"] =
        'group "GROUP" has a member: it can be changed when its consumers have stopped, or after kick("GROUP", "all")' })
      member:close()
    end)

    it("says what is wrong with its arguments", function()
      local topic, group = fresh()
      local to = '"earliest", "latest", "current", an offset, offsets by partition ({ [0] = 42 }), a time ago ("1h") or a date '
        .. '("2026-11-30T14:00:00Z")'
      session:run(("commit('%s', '%s', 0, 1)"):format(group, topic))
      refuses(topic, group, {
        ["reset_offsets()"] = 'reset_offsets: got nil, expected the name of a group: "orders"',
        ["reset_offsets 'GROUP'"] = 'reset_offsets: got nil, expected options: { topic = "clicks", to = "earliest" }',
        ["reset_offsets('GROUP', 3)"] = "reset_offsets: got 3, expected a table of options",
        ["reset_offsets('GROUP', {})"] = "reset_offsets: where to? to = " .. to
          .. "; by = -10, ago = hours(1) or time = ms",
        ["reset_offsets('GROUP', { to = 'soon' })"] = 'reset_offsets: to: got "soon", expected ' .. to,
        ["reset_offsets('GROUP', { to = {} })"] = "reset_offsets: to: got a table, expected " .. to,
        ["reset_offsets('GROUP', { to = print })"] = "reset_offsets: to: got a function, expected " .. to,
        ["reset_offsets('GROUP', { to = -1 })"] =
          "reset_offsets: to: got -1, expected a whole number from 0 to 9007199254740992",
        ["reset_offsets('GROUP', { to = 1.5 })"] =
          "reset_offsets: to: got 1.5, expected a whole number from 0 to 9007199254740992",
        ["reset_offsets('GROUP', { to = { [0] = 'x' } })"] =
          'reset_offsets: to: got "x", expected a whole number from 0 to 9007199254740992',
        ["reset_offsets('GROUP', { by = 0.5 })"] =
          "reset_offsets: by: got 0.5, expected a whole number: -10 goes back by ten records",
        ["reset_offsets('GROUP', { ago = -1 })"] =
          "reset_offsets: ago: got -1, expected a whole number from 0 to 9007199254740992",
        ["reset_offsets('GROUP', { time = 'x' })"] =
          'reset_offsets: time: got "x", expected a whole number from 0 to 9007199254740992',
        ["reset_offsets('GROUP', { to = 1, by = 1 })"] = "reset_offsets: to and by are given, one is enough",
        ["reset_offsets('GROUP', { to = 1, topic = 'a', topics = {} })"] =
          "reset_offsets: topic and topics are given, one is enough",
        ["reset_offsets('GROUP', { to = 1, partition = 0 })"] =
          'reset_offsets: partitions of which topic? topic = "clicks"',
        ["reset_offsets('GROUP', { to = 1, topic = 'TOPIC', partition = 2 })"] =
          'reset_offsets: topic "TOPIC" has no partition 2, only 0 to 1',
        ["reset_offsets('GROUP', { to = 1, topic = 'TOPIC', partitions = {} })"] =
          "reset_offsets: partitions: got a table, expected a list: { 0, 1 }",
        ["reset_offsets('GROUP', { to = 1, topics = 'a' })"] =
          'reset_offsets: topics: got "a", expected a list: { "clicks", "views" }',
        ["reset_offsets('GROUP', { to = 1, topics = { 'TOPIC' }, partition = 0 })"] =
          'reset_offsets: partitions go with one topic: topic = "TOPIC"',
        ["reset_offsets('GROUP', { to = 1, topic = 'neares' })"] = 'there is no topic "neares", did you mean "nearest"?',
        ["reset_offsets('GROUP', { to = 1, totopic = 'x' })"] = 'reset_offsets: there is no option "totopic", did you mean topic?',
        ["reset_offsets('GROUP-new', { to = 1 })"] = 'there is no group "GROUP-new": groups() lists them',
        ["reset_offsets('GROUP', { by = 1, topic = 'TOPIC' })"] =
          'reset_offsets: by: nothing is committed of topic "TOPIC" partition 1 to go on from',
      })
    end)
  end)

  describe("commit", function()
    it("commits one offset, and shows the one before", function()
      local topic, group = fresh()
      assert.same({ topic = topic, partition = 0, offset = 3 },
        session:view(fill("commit('GROUP', 'TOPIC', 0, 3)", topic, group)).value)
      assert.same({ topic = topic, partition = 0, before = 3, offset = 5 },
        session:view(fill("commit('GROUP', 'TOPIC', 0, 5, 'why')", topic, group)).value)
      assert.same({ { topic = topic, partition = 0, offset = 5, metadata = "why", leader_epoch = nil } },
        session.context.admin.offsets(group))
    end)

    it("takes the largest offset that there is", function()
      local topic, group = fresh()
      session:run(fill("commit('GROUP', 'TOPIC', 0, 9223372036854775807LL)", topic, group))
      assert.is_true(committed(group, topic)[0] == 9223372036854775807LL)
      assert.equal("-9223372036854775797", tostring(session:run(fill("group('GROUP'):offsets()[1].lag", topic, group)))
        :match "^%-?%d+")
    end)

    it("refuses a group with members, and what is too long", function()
      local topic, group = fresh()
      local member = join(group, topic)
      refuses(topic, group, { ["commit('GROUP', 'TOPIC', 0, 5)"] = 'group "GROUP" has members: it can be changed when its '
        .. 'consumers have stopped, or after kick("GROUP", "all")' })
      member:close()
      refuses(topic, group .. "-2", { ["commit('GROUP', 'TOPIC', 0, 5, ('x'):rep(4097))"] =
        'group "GROUP", topic "TOPIC" partition 0: the metadata is longer than offset_metadata_max_bytes' })
    end)

    it("says what is wrong with its arguments", function()
      local topic, group = fresh()
      refuses(topic, group, {
        ["commit()"] = 'commit: got nil, expected the name of a group: "orders"',
        ["commit 'GROUP'"] = 'commit: topic: got nil, expected the name of a topic: "clicks"',
        ["commit('GROUP', 'TOPIC')"] = "commit: partition: got nil, expected a whole number from 0 to 2147483647",
        ["commit('GROUP', 'TOPIC', 0)"] = "commit: offset: got nil, expected a whole number from 0 to 9007199254740992",
        ["commit('GROUP', 'TOPIC', 2, 0)"] = 'topic "TOPIC" has no partition 2, only 0 to 1',
        ["commit('GROUP', 'TOPIC', 2^31, 0)"] = "commit: partition: got 2147483648, expected a whole number from 0 to 2147483647",
        ["commit('GROUP', 'TOPIC', 0, -1)"] = "commit: offset: got -1, expected a whole number from 0 to 9007199254740992",
        ["commit('GROUP', 'TOPIC', 0, 0/0)"] = "commit: offset: got nan, expected a whole number from 0 to 9007199254740992",
        ["commit('GROUP', 'TOPIC', 0, 1, {})"] = "commit: metadata: got a table, expected a text",
        ["commit('GROUP', 'neares', 0, 1)"] = 'there is no topic "neares", did you mean "nearest"?',
      })
    end)
  end)

  describe("kick", function()
    it("takes a member out by its id, the beginning of it, or its instance id", function()
      local topic, group = fresh()
      for _, name in ipairs { "id", "beginning", "instance" } do
        local member = join(group, topic, { instance = "static-a" })
        local id = name == "id" and member.id or name == "beginning" and member.id:sub(1, 20) or "static-a"
        local rows = session:run(('kick("%s", "%s")'):format(group, id))
        assert.same({ { member.id, "static-a" } }, { { rows[1].member_id, rows[1].instance_id } })
        assert.equal("Empty", session:run(('groups "%s"'):format(group))[1].state)
        member:close()
      end
    end)

    it("takes all members out, and asks first", function()
      local topic, group = fresh()
      local member = join(group, topic)
      session.says_yes = false
      assert.is_nil(session:run(('kick("%s", "all")'):format(group)))
      assert.same({ ('Take 1 member out of group "%s"?'):format(group) }, session.asked)
      assert.equal("Stable", session:run(('groups "%s"'):format(group))[1].state)
      session.says_yes = true
      assert.equal(1, #session:run(('kick("%s", "all", "for a spec")'):format(group)))
      assert.equal(25, member:heartbeat())
      session.printed = {}
      assert.is_nil(session:run(('kick("%s", "all")'):format(group)))
      assert.same({ ('group "%s" has no members'):format(group) }, session.printed)
      assert.equal(0, session:run(('select("#", kick("%s", "all"))'):format(group)), "nothing, not a nil that is shown")
      member:close()
    end)

    it("says who is there when it does not know the member", function()
      local topic, group = fresh()
      local member = join(group, topic, { instance = "static-a" })
      refuses(topic, group, {
        ["kick('GROUP', 'nobody')"] = 'group "GROUP" has no member "nobody", only static-a',
        ["kick('GROUP', '')"] = 'kick: got "", expected a member id or an instance id, or "all"',
        ["kick('GROUP')"] = 'kick: got nil, expected a member id or an instance id, or "all"',
        ["kick('GROUP', 5)"] = 'kick: got 5, expected a member id or an instance id, or "all"',
        ["kick('GROUP', { 'static-a', {} })"] = 'kick: got a table, expected a member id or an instance id, or "all"',
        ["kick('GROUP', 'static-a', 5)"] = "kick: reason: got 5, expected a text",
        ["kick('no such group', 'all')"] = 'there is no group "no such group": groups() lists them',
      })
      assert.equal(0, member:heartbeat())
      member:close()
    end)
  end)

  describe("delete_offsets", function()
    it("deletes those of a topic, or of some partitions, and asks first", function()
      local topic, group = fresh(3)
      session:run(("reset_offsets('%s', { topic = '%s', to = 5 })"):format(group, topic))
      session.asked, session.says_yes = {}, false
      assert.is_nil(session:run(fill("delete_offsets('GROUP', 'TOPIC', 1)", topic, group)))
      assert.same({ fill('Delete the offsets of 1 partition of topic "TOPIC" in group "GROUP"?', topic, group) }, session.asked)
      session.says_yes = true
      assert.same({ { topic = topic, partition = 1, before = 5 } },
        session:run(fill("delete_offsets('GROUP', 'TOPIC', 1)", topic, group)))
      assert.same({ [0] = 5, [2] = 5 }, committed(group, topic))
      assert.equal(2, #session:run(fill("delete_offsets('GROUP', 'TOPIC')", topic, group)))
      assert.same({}, committed(group, topic))
    end)

    it("says that there are none, and who is in the way", function()
      local topic, group = fresh()
      session:run(fill("commit('GROUP', 'TOPIC', 0, 1)", topic, group))
      session.printed = {}
      assert.is_nil(session:run(fill("delete_offsets('GROUP', 'TOPIC', 1)", topic, group)))
      assert.same({ fill('group "GROUP" has no offsets there', topic, group) }, session.printed)
      assert.equal(0, session:run(fill("select('#', delete_offsets('GROUP', 'TOPIC', 1))", topic, group)))
      local member = join(group, topic)
      refuses(topic, group, {
        ["delete_offsets('GROUP', 'TOPIC', 0)"] =
          'group "GROUP" has members that are subscribed to topic "TOPIC": its offsets stay',
        ["delete_offsets('GROUP')"] = 'delete_offsets: topic: got nil, expected the name of a topic: "clicks"',
        ["delete_offsets('GROUP', 'TOPIC', -1)"] =
          "delete_offsets: partition: got -1, expected a whole number from 0 to 2147483647",
        ["delete_offsets('no such group', 'TOPIC')"] = 'there is no group "no such group": groups() lists them',
      })
      member:close()
    end)
  end)

  describe("delete_group", function()
    it("deletes a group, and asks first", function()
      local topic, group = fresh()
      session:run(fill("commit('GROUP', 'TOPIC', 0, 1)", topic, group))
      session.asked, session.printed, session.says_yes = {}, {}, false
      session:run(fill("delete_group 'GROUP'", topic, group))
      assert.same({ ('Delete group "%s" with 1 offset?'):format(group) }, session.asked)
      session.says_yes = true
      session:run(fill("delete_group 'GROUP'", topic, group))
      assert.same({ "nothing was changed", ('group "%s" is deleted'):format(group) }, session.printed)
      assert.equal(0, #session:run(('groups "%s"'):format(group)))
    end)

    it("refuses a group with members, and one that is not there", function()
      local topic, group = fresh()
      local member = join(group, topic)
      refuses(topic, group, {
        ["delete_group 'GROUP'"] =
          'group "GROUP" has a member: it can be deleted when its consumers have stopped, or after kick("GROUP", "all")',
        ["delete_group 'no such group'"] = 'there is no group "no such group": groups() lists them',
        ["delete_group {}"] = 'delete_group: got a table, expected the name of a group: "orders"',
      })
      member:close()
      local err = admins.refusal(session.context.admin.delete_group, "no such group")
      assert.same({ "GROUP_ID_NOT_FOUND", 'group "no such group": there is no such group' }, { err.code, err.message })
    end)
  end)

  describe("admin", function()
    it("commits and deletes offsets of many partitions at once", function()
      local topic, group = fresh(3)
      local admin = session.context.admin
      admin.commit_offsets(group, { [topic] = { [0] = 1, [1] = { offset = 2, metadata = "m", leader_epoch = 0 }, [2] = 3 } })
      assert.same({ { topic = topic, partition = 0, offset = 1 },
        { topic = topic, partition = 1, offset = 2, metadata = "m", leader_epoch = 0 },
        { topic = topic, partition = 2, offset = 3 } }, admin.offsets(group))
      admin.delete_offsets(group, { [topic] = { 0, 2 } })
      assert.same({ [1] = 2 }, committed(group, topic))
      assert.same({}, admin.offsets "no such group")
    end)

    it("says which partition is wrong, and how many are not", function()
      local topic, group = fresh()
      local admin = session.context.admin
      assert.equal(('group "%s", topic "%s" partition 7: there is no such topic or partition (those of 1 partition are done)')
        :format(group, topic), admins.refusal(admin.commit_offsets, group, { [topic] = { [0] = 1, [7] = 1 } }).message)
      for _, case in ipairs {
        { nil, 'commit_offsets: got nil, expected a table by topic: { clicks = { [0] = 42 } }' },
        { {}, 'commit_offsets: got a table, expected a table by topic: { clicks = { [0] = 42 } }' },
        { { [topic] = {} }, ("commit_offsets: %s: got a table, expected some partitions"):format(topic) },
        { { [topic] = 5 }, ("commit_offsets: %s: got 5, expected a list"):format(topic) },
        { { [topic] = { [0] = { ofset = 1 } } }, 'commit_offsets: there is no option "ofset", did you mean offset?' },
        { { [topic] = { [0] = { offset = 1, metadata = 1 } } }, "commit_offsets: metadata: got 1, expected a text" },
        { { [topic] = { x = 1 } }, 'commit_offsets: partition: got "x", expected a whole number from 0 to 2147483647' },
      } do assert.equal(case[2], admins.refusal(admin.commit_offsets, group, case[1]).message) end
    end)

    it("gives the lag of groups by partition", function()
      local topic, group = fresh(3)
      session:run(("reset_offsets('%s', { topic = '%s', partitions = { 0, 2 }, to = 4 })"):format(group, topic))
      local rows = session:run(("admin.lag '%s'"):format(group))
      assert.same({ { group = group, topic = topic, partition = 0, offset = 4, end_offset = 10, lag = 6 },
        { group = group, topic = topic, partition = 2, offset = 4, end_offset = 10, lag = 6 } }, rows)
      assert.is_true(#session:run "admin.lag()" > 2)
      assert.equal('lag: got 5, expected a part of a name: "orders"', (session:refusal "admin.lag(5)"))
    end)

    it("finds the coordinator", function() assert.equal(1, session.context.admin.find_coordinator "any") end)
  end)
end)

describe("A broker that has never had a group", function()
  it("is looked at without making the topic of offsets", function()
    local broker = brokers.start()
    local session = support.session(broker)
    assert.same({}, session:run "groups()")
    assert.equal('there is no group "a": there are none yet', (session:refusal 'group "a"'))
    assert.equal('there is no group "a": there are none yet', (session:refusal 'delete_group "a"'))
    assert.equal('there is no group "a": there are none yet', (session:refusal 'kick("a", "all")'))
    assert.same({}, session:run 'admin.offsets "a"')
    assert.same({}, session:run "topics()")
    session:run 'create("t", { partitions = 1 }) commit("a", "t", 0, 0)'
    assert.equal("a", session:run("groups()")[1].name)
    assert.equal(0, broker:stop())
  end)
end)
