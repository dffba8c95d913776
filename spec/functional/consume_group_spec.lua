-- SPDX-License-Identifier: Apache-2.0
-- `luka consume --group`: what is printed is committed, and nothing else.
local brokers = require "spec.support.broker"
local groups = require "spec.support.group"
local process = require "spec.support.process"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local signal = require "posix.signal"

local PROGRAM = os.getenv "LUKA_PROGRAM"

describe("luka consume --group", function()
  local broker, client, environment
  local count = 0

  setup(function()
    broker = brokers.start { set = { "workers=2", "offsets_topic_num_partitions=5" } }
    client = broker:connect()
    groups.prepare(client)
    environment = { LUKA_BROKER = "127.0.0.1:" .. broker.port }
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  --- A topic with records "1" to "n" in partition 0; its name and that of a new group.
  local function fresh(n, partitions)
    count = count + 1
    local topic = requests.create(client, "topic" .. count, { partitions = partitions or 1 })
    for i = 1, n do requests.append(client, topic, records.batch { records = { tostring(i) } }) end
    return topic, "group" .. count
  end

  --- Runs it to its end: what it printed, what it said, its status.
  local function consume(...)
    local status, out, err = process.start({ PROGRAM, "consume", ... }, { env = environment }):wait()
    return out, err, status
  end

  local function offset_of(group, topic, partition)
    local topics = groups.committed(client, group)[topic.name] or {}
    return topics[partition or 0] and topics[partition or 0].offset
  end

  it("goes on where the group was", function()
    local topic, group = fresh(3)
    assert.same({ "1\n2\n3\n", "", 0 }, { consume("-e", "-g", group, topic.name) })
    assert.equal(3, offset_of(group, topic))
    requests.append(client, topic, records.batch { records = { "4" } })
    assert.equal("4\n", (consume("-e", "-g", group, topic.name)))
    assert.equal("1\n2\n3\n4\n", (consume("-e", "-g", group .. "-other", topic.name)))
  end)

  it("commits what it has printed, and not what it has read ahead", function()
    local topic, group = fresh(5)
    assert.equal("1\n2\n", (consume("-c", "2", "-g", group, topic.name)))
    assert.equal(2, offset_of(group, topic))
    assert.equal("3\n4\n5\n", (consume("-e", "-g", group, topic.name)))
  end)

  it("begins at the end with --from latest, where the group has no offset", function()
    local topic, group = fresh(3)
    assert.equal("", (consume("-e", "-o", "latest", "-g", group, topic.name)))
    requests.append(client, topic, records.batch { records = { "4" } })
    local other = consume("-e", "-o", "earliest", "-g", group .. "-2", topic.name)
    assert.equal("1\n2\n3\n4\n", other)
  end)

  it("shares the partitions with other members, and leaves", function()
    local topic, group = fresh(1, 2)
    requests.append(client, topic, records.batch { records = { "p1" } }, { partition = 1 })
    local one = process.start({ PROGRAM, "consume", "-g", group, topic.name }, { env = environment })
    one:wait_for "p1\n"
    assert.equal(1, #groups.describe(client, group).members)
    local two = process.start({ PROGRAM, "consume", "-g", group, topic.name }, { env = environment })
    requests.wait_until("both are members, with a partition each", function()
      local seen = groups.describe(client, group)
      if seen.group_state ~= "Stable" or #seen.members ~= 2 then return false end
      for _, member in ipairs(seen.members) do
        if #(groups.read_assignment(member.member_assignment)[topic.name] or {}) ~= 1 then return false end
      end
      return true
    end)
    for _, program in ipairs { one, two } do
      program:kill(signal.SIGTERM)
      assert.equal(143, (program:wait()))
    end
    assert.equal("Empty", groups.describe(client, group).group_state)
    assert.same({ 1, 1 }, { offset_of(group, topic, 0), offset_of(group, topic, 1) })
  end)

  describe("with an assignor that leaves partitions where they are", function()
    local STICKY = "partition.assignment.strategy=cooperative-sticky"

    --- A member that has read the record "p", the last one of its topic.
    local function first_member(group, topic)
      local member = process.start({ PROGRAM, "consume", "-g", group, "-X", STICKY, topic.name }, { env = environment })
      member:wait_for "p\n"
      return member
    end

    it("ends with -e where no partition is left for it, and says so", function()
      local topic, group = fresh(0)
      requests.append(client, topic, records.batch { records = { "p" } })
      local member = first_member(group, topic)
      assert.same({ "", ("luka: group '%s': its other members have all partitions of topic '%s'\n"):format(group, topic.name), 1 },
        { consume("-e", "-g", group, "-X", STICKY, topic.name) })
      -- The other member went on.
      requests.append(client, topic, records.batch { records = { "3" } })
      member:wait_for "3\n"
      member:kill(signal.SIGTERM)
      assert.equal(143, (member:wait()))
    end)

    it("does not end with -e before its share comes by a second rebalance", function()
      local topic, group = fresh(0, 2)
      requests.append(client, topic, records.batch { records = { "p" } }, { partition = 1 })
      local member = first_member(group, topic)
      assert.same({ "", "", 0 }, { consume("-e", "-g", group, "-X", STICKY, topic.name) })
      member:kill(signal.SIGTERM)
      assert.equal(143, (member:wait()))
    end)
  end)

  it("commits nothing that its reader did not take", function()
    local topic, group = fresh(3)
    local _, _, status = consume("-g", group, topic.name, "-f", "%s", "-e")
    assert.equal(0, status)
    local other = group .. "-closed"
    local program = process.start({ "sh", "-c", ("%s consume -e -g %s %s >&-"):format(PROGRAM, other, topic.name) },
      { env = environment })
    assert.equal(1, (program:wait()))
    assert.is_nil(offset_of(other, topic))
  end)

  for _, case in ipairs {
    { { "-g", "" }, "luka: -g: got '', expected the name of a group" },
    { { "-g", "a", "-p", "0" }, "luka: --group and --partition exclude each other: a group shares the partitions out" },
    { { "-g", "a", "-o", "5" }, "luka: --from: a group goes on where it was; expected earliest or latest, for partitions that "
      .. "it has not read yet" },
  } do
    it("refuses " .. table.concat(case[1], " "), function()
      local arguments = { "topic", unpack(case[1]) }
      local out, err, status = consume(unpack(arguments))
      assert.same({ "", case[2], 2 }, { out, err:match "^[^\n]*", status })
    end)
  end

  it("says that there is no such topic", function()
    assert.same({ "", "luka: there is no topic 'nope'\n", 1 }, { consume("-g", "a", "nope") })
  end)
end)
