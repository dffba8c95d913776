-- SPDX-License-Identifier: Apache-2.0
-- Classic groups with a real broker: raw requests of every version, members on connections of their own, a restart, and
-- librdkafka's consumers.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local process = require "spec.support.process"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local signal = require "posix.signal"
local unit = require "spec.support.unit"

local NONE, LOADING, INVALID_GROUP_ID, MEMBER_ID_REQUIRED = 0, 14, 24, 79
local SUBSCRIPTION = "\0\0\0\0\0\1\0\1t\255\255\255\255"

local broker, client
local count = 0

local function fresh()
  count = count + 1
  return "g" .. count
end

local function join_body(group, member, more)
  local body = { group_id = group, session_timeout_ms = 30000, rebalance_timeout_ms = 10000, member_id = member or "",
    protocol_type = "consumer", protocols = { { name = "range", metadata = SUBSCRIPTION } } }
  for key, value in pairs(more or {}) do body[key] = value end
  return body
end

--- Joins in one step or two; the answer.
local function join(conn, group, version, more)
  local answer = conn:ask("JoinGroup", version or 9, join_body(group, "", more))
  if answer.error_code == MEMBER_ID_REQUIRED then
    answer = conn:ask("JoinGroup", version or 9, join_body(group, answer.member_id, more))
  end
  return answer
end

local function sync(conn, group, joined, assignments, version)
  local list = {}
  for id, bytes in pairs(assignments or {}) do list[#list + 1] = { member_id = id, assignment = bytes } end
  local body = { group_id = group, generation_id = joined.generation_id, member_id = joined.member_id,
    assignments = list }
  version = version or 5
  if version >= 5 then body.protocol_type, body.protocol_name = "consumer", "range" end
  return conn:ask("SyncGroup", version, body)
end

local function beat(conn, group, joined, version)
  return conn:ask("Heartbeat", version or 4, { group_id = group, generation_id = joined.generation_id,
    member_id = joined.member_id }).error_code
end

local function describe_group(group, version)
  return client:ask("DescribeGroups", version or 6, { groups = { group } }).groups[1]
end

local function start(options)
  broker = brokers.start(options or { set = { "workers=2", "offsets_topic_num_partitions=5",
    "group_min_session_timeout_ms=1000" } })
  client = broker:connect()
  clients.wait_until("groups are served", function()
    return client:ask("FindCoordinator", 0, { key = "g" }).error_code == NONE
      and client:ask("ListGroups", 0, {}).error_code == NONE
  end)
end

describe("a classic group", function()
  setup(start)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  for version = 0, 9 do
    it(("is joined, synced and left with version %d of JoinGroup and its like"):format(version), function()
      local group = fresh()
      local conn = broker:connect()
      local joined = join(conn, group, version)
      assert.same({ NONE, 1, joined.leader, "range" },
        { joined.error_code, joined.generation_id, joined.member_id, joined.protocol_name })
      local synced = sync(conn, group, joined, { [joined.member_id] = "mine" }, math.min(version, 5))
      assert.same({ NONE, "mine" }, { synced.error_code, synced.assignment })
      assert.equal(NONE, beat(conn, group, joined, math.min(version, 4)))
      local left = conn:ask("LeaveGroup", math.min(version, 5), version < 3
        and { group_id = group, member_id = joined.member_id }
        or { group_id = group, members = { { member_id = joined.member_id } } })
      assert.equal(NONE, left.error_code)
      assert.equal("Empty", describe_group(group, math.min(version, 6)).group_state)
      conn:close()
    end)
  end

  it("has an id of its members that is not empty", function()
    assert.equal(INVALID_GROUP_ID, join(client, "").error_code)
  end)

  it("waits with the answer until all members have joined, each on a connection of its own", function()
    local group = fresh()
    local a, b = broker:connect(), broker:connect()
    local first = join(a, group)
    sync(a, group, first, {})
    local id = b:ask("JoinGroup", 9, join_body(group)).member_id
    local waiting = b:request("JoinGroup", 9, join_body(group, id))
    clients.wait_until("the group rebalances", function() return beat(a, group, first) == 27 end)
    local again = a:ask("JoinGroup", 9, join_body(group, first.member_id))
    local second = b:answer("JoinGroup", 9, waiting)
    assert.same({ 2, 2, 2, 0 }, { again.generation_id, second.generation_id, #again.members, #second.members })
    local follower = b:request("SyncGroup", 5, { group_id = group, generation_id = 2, member_id = id,
      protocol_type = "consumer", protocol_name = "range", assignments = {} })
    assert.equal("one", sync(a, group, again, { [first.member_id] = "one", [id] = "two" }).assignment)
    assert.equal("two", b:answer("SyncGroup", 5, follower).assignment)
    local seen = describe_group(group)
    assert.same({ "Stable", "consumer", "range", 2, "/127.0.0.1", SUBSCRIPTION },
      { seen.group_state, seen.protocol_type, seen.protocol_data, #seen.members, seen.members[1].client_host,
        seen.members[1].member_metadata })
    a:close()
    b:close()
  end)

  it("is listed by state and type, in capitals or not", function()
    local group = fresh()
    sync(client, group, join(client, group), {})
    local function is_listed(states, types)
      for _, listed in ipairs(client:ask("ListGroups", 5, { states_filter = states, types_filter = types }).groups) do
        if listed.group_id == group then return listed.group_state .. " " .. listed.group_type end
      end
      return false
    end
    assert.equal("Stable classic", is_listed({}, {}))
    assert.equal("Stable classic", is_listed({ "STABLE" }, { "Classic" }))
    assert.is_false(is_listed({ "Empty" }, {}))
    assert.is_false(is_listed({}, { "consumer" }))
    assert.is_false(is_listed({ "nonsense" }, {}))
  end)

  it("is described and deleted among others, whichever shards they are in", function()
    local names, live = {}, fresh()
    sync(client, live, join(client, live), {})
    for i = 1, 8 do
      names[i] = fresh()
      local joined = join(client, names[i])
      client:ask("LeaveGroup", 5, { group_id = names[i], members = { { member_id = joined.member_id } } })
    end
    names[#names + 1] = live
    names[#names + 1] = "no such"
    local states = {}
    for i, group in ipairs(client:ask("DescribeGroups", 6, { groups = names }).groups) do
      assert.equal(names[i], group.group_id)
      states[i] = group.group_state
    end
    assert.same({ "Empty", "Empty", "Empty", "Empty", "Empty", "Empty", "Empty", "Empty", "Stable", "Dead" }, states)
    local codes = {}
    for i, result in ipairs(client:ask("DeleteGroups", 2, { groups_names = names }).results) do
      codes[i] = result.error_code
    end
    assert.same({ 0, 0, 0, 0, 0, 0, 0, 0, 68, 69 }, codes)
  end)

  it("says what the client may do with it, when it is asked", function()
    local group = fresh()
    join(client, group)
    local body = { groups = { group, "no such" }, include_authorized_operations = true }
    local groups = client:ask("DescribeGroups", 6, body).groups
    assert.same({ 3400, -2147483648 }, { groups[1].authorized_operations, groups[2].authorized_operations })
  end)

  it("settles after a hundred clients that joined and were gone", function()
    local group = fresh()
    sync(client, group, join(client, group, 9, { session_timeout_ms = 6000, rebalance_timeout_ms = 1500 }), {})
    for _ = 1, 100 do
      local conn = broker:connect()
      conn:request("JoinGroup", 3, join_body(group, "", { session_timeout_ms = 1000, rebalance_timeout_ms = 1000 }))
      conn:close()
    end
    local joined = join(broker:connect(), group, 9, { session_timeout_ms = 6000, rebalance_timeout_ms = 1500 })
    assert.truthy(#joined.members <= 102)
    clients.wait_until("those that are gone are thrown out", function()
      local group_now = describe_group(group)
      return #group_now.members <= 1
    end, 20000)
  end)
end)

describe("a classic group over a restart", function()
  it("has its members, generation and assignments", function()
    start()
    local group = fresh()
    local joined = join(client, group)
    sync(client, group, joined, { [joined.member_id] = "mine" })
    client:close()
    assert.equal(0, broker:stop())
    broker = broker:restart()
    client = broker:connect()
    local code
    clients.wait_until("the group is loaded", function()
      code = beat(client, group, joined)
      return code ~= LOADING and code ~= 16
    end)
    assert.equal(NONE, code)
    assert.equal("mine", sync(client, group, joined).assignment)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("librdkafka's consumers", function()
  local consumers = {}

  --- Starts a consumer of kcat's, which says what it is assigned and prints "partition value" lines.
  local function consume(group, topic, ...)
    local out = brokers.temp_dir() .. "/out"
    local c = { out = out, process = process.start { "sh", "-c",
      ("exec kcat -b 127.0.0.1:%d -u -f '%%p %%s\\n' -X session.timeout.ms=6000 -X heartbeat.interval.ms=300 "
        .. "-X auto.offset.reset=earliest %s -G %s %s >%s 2>&1"):format(broker.port,
        table.concat({ ... }, " "), group, topic, out) } }
    consumers[#consumers + 1] = c
    return c
  end

  --- The partitions that it has now, as it said last.
  local function assigned(c)
    local last = {}
    for line in (unit.read_file(c.out) or ""):gmatch "[^\n]+" do
      local what, list = line:match "rebalanced %b(): (%w+): (.*)"
      if what == "assigned" then
        last = {}
        for partition in list:gmatch "%[(%d+)%]" do last[#last + 1] = tonumber(partition) end
      elseif what == "revoked" then
        last = {}
      end
    end
    return last
  end

  local function all_assigned(list, n)
    local seen, total = {}, 0
    for _, c in ipairs(list) do
      for _, partition in ipairs(assigned(c)) do
        if seen[partition] then return false end
        seen[partition] = true
        total = total + 1
      end
    end
    return total == n
  end

  setup(start)
  teardown(function()
    for _, c in ipairs(consumers) do
      pcall(signal.kill, c.process.pid, signal.SIGKILL)
      c.process:wait()
    end
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("share partitions, and take over those of one that is killed", function()
    local topic = requests.create(client, "shared", { partitions = 6 })
    local group = fresh()
    local list = { consume(group, "shared"), consume(group, "shared"), consume(group, "shared") }
    clients.wait_until("all partitions are shared out among three", function()
      return all_assigned(list, 6) and #assigned(list[1]) == 2 and #assigned(list[2]) == 2
    end, 30000)
    signal.kill(list[1].process.pid, signal.SIGKILL)
    clients.wait_until("two have them all", function()
      return all_assigned({ list[2], list[3] }, 6)
    end, 30000)
    for partition = 0, 5 do
      requests.append(client, topic, records.batch { records = { "v" .. partition } }, { partition = partition })
    end
    clients.wait_until("all records are consumed", function()
      local seen = 0
      for i = 2, 3 do
        for _ in unit.read_file(list[i].out):gmatch "%d v%d" do seen = seen + 1 end
      end
      return seen == 6
    end, 30000)
  end)

  it("that are static keep their partitions when they start again", function()
    requests.create(client, "kept", { partitions = 2 })
    local group = fresh()
    local a, b = consume(group, "kept", "-X group.instance.id=a"), consume(group, "kept", "-X group.instance.id=b")
    clients.wait_until("both have one", function() return #assigned(a) == 1 and #assigned(b) == 1 end, 30000)
    -- Whoever came first had both, and gave one of them up.
    local function rebalances() return select(2, unit.read_file(b.out):gsub("revoked", "")) end
    local had, before = assigned(a), rebalances()
    signal.kill(a.process.pid, signal.SIGKILL)
    local again = consume(group, "kept", "-X group.instance.id=a")
    clients.wait_until("it has them again", function() return #assigned(again) == 1 end, 30000)
    assert.same(had, assigned(again))
    assert.equal(before, rebalances())
  end)

  it("that are cooperative share partitions", function()
    requests.create(client, "together", { partitions = 4 })
    local group = fresh()
    local option = "-X partition.assignment.strategy=cooperative-sticky"
    consume(group, "together", option)
    consume(group, "together", option)
    clients.wait_until("both have a half", function()
      local seen = describe_group(group)
      if seen.group_state ~= "Stable" or #seen.members ~= 2 then return false end
      -- version, topics, name, partitions: the last number of the head is how many partitions
      local sizes = {}
      for i, member in ipairs(seen.members) do
        sizes[i] = member.member_assignment:match "together%z%z%z(.)"
      end
      return sizes[1] == "\2" and sizes[2] == "\2"
    end, 30000)
  end)
end)
