-- SPDX-License-Identifier: Apache-2.0
-- Consumers that come, go, stand still and die while records are produced. Whatever they do: no partition has two owners
-- in a generation, no committed offset goes back, and in the end every record has reached somebody. Members are
-- coroutines over raw connections, as consumers of client libraries do it, but faster. CHAOS_SECONDS=60 does it longer,
-- CHAOS_SEED=n with the same numbers again, though not in the same order of events.
local poll = require "posix.poll"
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local group = require "spec.support.group"
local process = require "spec.support.process"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local signal = require "posix.signal"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"

local CODE = group.CODE
local SECONDS = tonumber(os.getenv "CHAOS_SECONDS") or 5
local PARTITIONS, ACTORS = 6, 5
local SESSION_MS, REBALANCE_MS, BEAT_MS, PAUSE_MS = 1000, 3000, 100, 1500
local NAME, TOPIC = "chaos", "chaos"
local BEATS_PER_DEED = 8 -- heartbeats of a member until it does something wild, on average

--- What is true of the group as a whole, and what has come out.
local world

--- Fails, with what is needed to do it again.
local function check(fact, format, ...)
  if not fact then error(("CHAOS_SEED=%d: %s"):format(world.seed, format:format(...)), 2) end
end

-- ---- coroutines ----

--- Asks over a client and lets others go on meanwhile; the answer, nil when the connection is closed.
local function ask(client, api, version, body)
  local id = client:request(api, version, body)
  while id do
    local answer, why = client:answer(api, version, id, 0)
    if answer then return answer end
    if why == "closed" then return nil end
    coroutine.yield(client)
  end
end

--- Lets others go on for some time.
local function sleep(ms)
  local until_ms = clients.now_ms() + ms
  while clients.now_ms() < until_ms do coroutine.yield() end
end

--- Runs coroutines until none is left or a time has come; each is started again when it has yielded.
local function run(threads, until_ms)
  while #threads > 0 and clients.now_ms() < until_ms do
    local fds = {}
    for at = #threads, 1, -1 do
      local ok, waits_for = coroutine.resume(threads[at])
      if not ok then error(waits_for, 0) end
      if coroutine.status(threads[at]) == "dead" then
        table.remove(threads, at)
      elseif waits_for then
        fds[waits_for.fd] = { events = { IN = true } }
      end
    end
    poll.poll(fds, 2)
  end
end

-- ---- a member ----

--- Joins and syncs until it has an assignment: its partitions; nil when the connection is gone or it was fenced.
local function join(member)
  while true do
    local answer = ask(member.client, "JoinGroup", group.JOIN, { group_id = NAME, session_timeout_ms = SESSION_MS,
      rebalance_timeout_ms = REBALANCE_MS, member_id = member.id, group_instance_id = member.instance or wire.NULL,
      protocol_type = "consumer", protocols = { { name = "range", metadata = group.subscription { TOPIC } } } })
    if not answer or answer.error_code == CODE.FENCED_INSTANCE_ID then return nil end
    if answer.error_code == CODE.MEMBER_ID_REQUIRED then
      member.id = answer.member_id
    elseif answer.error_code == CODE.UNKNOWN_MEMBER_ID then
      member.id = ""
    elseif answer.error_code == 0 then
      member.id, member.generation = answer.member_id, answer.generation_id
      world.generation = math.max(world.generation, member.generation)
      local assignments = {}
      -- The leader is told the members, and gives the partitions out one by one.
      if answer.leader == member.id and not answer.skip_assignment then
        local shares = {}
        for partition = 0, PARTITIONS - 1 do
          local at = partition % #answer.members + 1
          shares[at] = shares[at] or {}
          table.insert(shares[at], partition)
        end
        for i, other in ipairs(answer.members) do
          assignments[i] = { member_id = other.member_id, assignment = group.assignment { [TOPIC] = shares[i] or {} } }
        end
      end
      answer = ask(member.client, "SyncGroup", group.SYNC, { group_id = NAME, generation_id = member.generation,
        member_id = member.id, group_instance_id = member.instance or wire.NULL, protocol_type = "consumer",
        protocol_name = "range", assignments = assignments })
      if not answer or answer.error_code == CODE.FENCED_INSTANCE_ID then return nil end
      if answer.error_code == 0 then return group.read_assignment(answer.assignment)[TOPIC] or {} end
      if answer.error_code == CODE.UNKNOWN_MEMBER_ID then member.id = "" end
      check(answer.error_code == CODE.UNKNOWN_MEMBER_ID or answer.error_code == CODE.REBALANCE_IN_PROGRESS
        or answer.error_code == CODE.ILLEGAL_GENERATION, "SyncGroup gave %d", answer.error_code)
    else
      check(answer.error_code == CODE.REBALANCE_IN_PROGRESS, "JoinGroup gave %d", answer.error_code)
    end
  end
end

--- Takes its partitions: nobody else has one of them in this generation, and each goes on where it was committed. A static
--- member that comes again has the assignment of the one that it replaces.
local function take(member, partitions)
  local owners = world.owners[member.generation] or {}
  world.owners[member.generation] = owners
  local identity = member.instance or member.id
  for _, partition in ipairs(partitions) do
    check(owners[partition] == nil or owners[partition] == identity, "partition %d of generation %d is of %s and of %s",
      partition, member.generation, tostring(owners[partition]), identity)
    owners[partition] = identity
  end
  member.positions = {}
  if #partitions == 0 then return true end
  local accepted = {}
  for _, partition in ipairs(partitions) do accepted[partition] = world.committed[partition] end
  local answer = ask(member.client, "OffsetFetch", group.FETCH, { groups = { { group_id = NAME, topics = { { name = TOPIC,
    partition_indexes = partitions } } } } })
  if not answer then return false end
  check(answer.groups[1].error_code == 0, "OffsetFetch gave %d", answer.groups[1].error_code)
  for _, part in ipairs(answer.groups[1].topics[1].partitions) do
    local partition = part.partition_index
    check(part.committed_offset >= (accepted[partition] or -1), "partition %d is at %s, and %s was acknowledged", partition,
      tostring(part.committed_offset), tostring(accepted[partition]))
    member.positions[partition] = math.max(part.committed_offset, 0)
  end
  return true
end

--- Reads what its partitions have; false when the connection is gone.
local function read(member)
  local parts = {}
  for partition, position in pairs(member.positions) do
    parts[#parts + 1] = { partition = partition, fetch_offset = position }
  end
  if #parts == 0 then
    sleep(20)
    return true
  end
  local answer = ask(member.client, "Fetch", requests.FETCH,
    requests.fetch_body(requests.FETCH, { { world.topic, parts } }, { max_wait_ms = 20, min_bytes = 1 }))
  if not answer then return false end
  for _, part in ipairs(answer.responses[1].partitions) do
    check(part.error_code == 0, "Fetch gave %d", part.error_code)
    for _, record in ipairs(records.read(part.records or "")) do
      if record.offset >= member.positions[part.partition_index] then
        world.delivered[part.partition_index][record.offset] = true
        member.positions[part.partition_index] = record.offset + 1
      end
    end
  end
  return true
end

--- Commits where it is; the error code, nil when the connection is gone.
local function commit(member)
  if not next(member.positions) then return 0 end
  local before = {}
  for partition in pairs(member.positions) do before[partition] = world.committed[partition] end
  local answer = ask(member.client, "OffsetCommit", group.COMMIT, group.commit_body(NAME, { [TOPIC] = member.positions },
    { generation = member.generation, member = member.id, instance = member.instance }))
  if not answer then return nil end
  local code = answer.topics[1].partitions[1].error_code
  for _, part in ipairs(answer.topics[1].partitions) do
    local partition = part.partition_index
    check(part.error_code == code, "a commit gave %d and %d", part.error_code, code)
    if code == 0 then
      check(member.positions[partition] >= (before[partition] or 0), "%s takes partition %d back from %s to %d", member.id,
        partition, tostring(before[partition]), member.positions[partition])
      world.committed[partition] = math.max(world.committed[partition] or 0, member.positions[partition])
    end
  end
  return code
end

--- Something wild: true when the member goes on after it.
local function misbehave(member)
  local kind = math.random(3)
  world.deeds[kind] = (world.deeds[kind] or 0) + 1
  if kind == 1 then
    ask(member.client, "LeaveGroup", group.LEAVE, { group_id = NAME, members = { { member_id = member.id,
      group_instance_id = member.instance or wire.NULL } } })
    return false
  elseif kind == 2 then
    return false -- its connection closes, and nothing is said
  end
  sleep(PAUSE_MS) -- beyond its session: what it says next is of the past
  return true
end

--- Consumes until it is told to rejoin (true) or is gone (false).
local function consume(member)
  local beat_ms = 0
  while true do
    if not read(member) then return false end
    if clients.now_ms() >= beat_ms then
      if world.is_wild and math.random(BEATS_PER_DEED) == 1 and not misbehave(member) then return false end
      beat_ms = clients.now_ms() + BEAT_MS
      local code = commit(member)
      if code == nil or code == CODE.FENCED_INSTANCE_ID then return false end
      local answer = ask(member.client, "Heartbeat", group.HEARTBEAT, { group_id = NAME, generation_id = member.generation,
        member_id = member.id, group_instance_id = member.instance or wire.NULL })
      if not answer or answer.error_code == CODE.FENCED_INSTANCE_ID then return false end
      if answer.error_code == CODE.UNKNOWN_MEMBER_ID then member.id = "" end
      if answer.error_code ~= 0 then return true end
    end
    if world.is_over then
      ask(member.client, "LeaveGroup", group.LEAVE, { group_id = NAME, members = { { member_id = member.id,
        group_instance_id = member.instance or wire.NULL } } })
      return false
    end
  end
end

--- One consumer after the other; every second actor is a static member, all of one name.
local function actor(broker, number)
  while not world.is_over do
    local member = { client = broker:connect(), id = "", instance = number % 2 == 0 and "static-" .. number or nil }
    repeat
      local partitions = join(member)
    until not partitions or not take(member, partitions) or not consume(member)
    member.client:close()
    world.lives = world.lives + 1
    if world.is_wild then sleep(math.random(300)) end
  end
end

--- Records, one at a time, until the wild time is over.
local function produce(client)
  while world.is_wild do
    local partition = math.random(0, PARTITIONS - 1)
    local answer = ask(client, "Produce", requests.PRODUCE, requests.produce_body(requests.PRODUCE, { { world.topic,
      { { partition, records.batch { records = { "v" } } } } } }))
    check(answer and answer.responses[1].partition_responses[1].error_code == 0, "a record is not taken")
    world.ends[partition] = (world.ends[partition] or 0) + 1
    sleep(5)
  end
end

--- Ends the wild time, waits until all that was produced is committed, and has everybody leave.
local function director()
  sleep(SECONDS * 1000)
  world.is_wild = false
  local deadline = clients.now_ms() + 60000
  for partition = 0, PARTITIONS - 1 do
    while (world.committed[partition] or 0) < (world.ends[partition] or 0) do
      check(clients.now_ms() < deadline, "partition %d stays at %s of %s", partition, tostring(world.committed[partition]),
        tostring(world.ends[partition]))
      sleep(20)
    end
  end
  world.is_over = true
end

describe("Consumers that come, go, stand still and die", function()
  it("never share a partition, lose no record, and take no committed offset back", function()
    world = { seed = tonumber(os.getenv "CHAOS_SEED") or os.time() % 100000, generation = 0, owners = {}, committed = {},
      delivered = {}, ends = {}, deeds = {}, lives = 0, is_wild = true, is_over = false }
    math.randomseed(world.seed)
    local broker = brokers.start { set = { "workers=2", "offsets_topic_num_partitions=4", "group_initial_rebalance_delay_ms=0",
      "group_min_session_timeout_ms=500" } }
    local client = broker:connect()
    world.topic = requests.create(client, TOPIC, { partitions = PARTITIONS })
    group.prepare(client)
    local threads = { coroutine.create(director) }
    for partition = 0, PARTITIONS - 1 do world.delivered[partition] = {} end
    for number = 1, ACTORS do threads[#threads + 1] = coroutine.create(function() actor(broker, number) end) end
    local producer = broker:connect()
    threads[#threads + 1] = coroutine.create(function() produce(producer) end)
    run(threads, clients.now_ms() + SECONDS * 1000 + 90000)
    check(#threads == 0, "%d have not come to an end", #threads)

    local total, last = 0, group.committed(client, NAME)[TOPIC]
    for partition = 0, PARTITIONS - 1 do
      assert.same({ partition, world.ends[partition] }, { partition, last[partition].offset })
      for offset = 0, world.ends[partition] - 1 do
        check(world.delivered[partition][offset], "record %d of partition %d has reached nobody", offset, partition)
      end
      total = total + world.ends[partition]
    end
    assert.is_true(total > 100)
    assert.is_true(world.lives >= ACTORS and world.generation > 1)
    clients.wait_until("the group is empty", function() return group.describe(client, NAME).group_state == "Empty" end)
    assert.equal(0, broker:stop())
  end)

  it("lose no record with librdkafka", function()
    local broker = brokers.start { set = { "workers=2", "offsets_topic_num_partitions=4", "group_initial_rebalance_delay_ms=0",
      "group_min_session_timeout_ms=500" } }
    local client = broker:connect()
    local topic = requests.create(client, "real", { partitions = PARTITIONS })
    group.prepare(client)
    local consumers, all = {}, {}
    local function start()
      local consumer = process.start { "kcat", "-b", "127.0.0.1:" .. broker.port, "-G", "real", "-u", "-q", "-f", "%p %o\n",
        "-X", "session.timeout.ms=2000", "-X", "heartbeat.interval.ms=100", "-X", "auto.commit.interval.ms=50", "-X",
        "auto.offset.reset=earliest", "-X", "fetch.wait.max.ms=20", "real" }
      consumers[#consumers + 1], all[#all + 1] = consumer, consumer
    end
    local function delivered()
      local seen, count = {}, 0
      for _, consumer in ipairs(all) do
        for partition, offset in (unit.read_file(consumer.folder .. "/out") or ""):gmatch "(%d+) (%d+)\n" do
          local key = partition .. " " .. offset
          count = count + (seen[key] and 0 or 1)
          seen[key] = true
        end
      end
      return count
    end
    local produced = 0
    local function produce_some()
      for _ = 1, 20 do
        requests.append(client, topic, records.batch { records = { "v" } }, { partition = produced % PARTITIONS })
        produced = produced + 1
      end
    end
    local function wait_until_read()
      clients.wait_until("all records have reached somebody", function() return delivered() == produced end, 60000)
    end
    for _ = 1, 3 do start() end
    produce_some()
    wait_until_read()
    -- One leaves, one dies, and others come. kcat says that it has done with a record before it prints it: it has none in
    -- its hands when it ends.
    for _, number in ipairs { signal.SIGTERM, signal.SIGKILL } do
      local gone = table.remove(consumers, 1)
      signal.kill(-gone.pid, number)
      gone:wait(30000)
      produce_some()
      start()
      produce_some()
      wait_until_read()
    end
    clients.wait_until("all that was read is committed", function()
      local sum = 0
      for _, part in pairs(group.committed(client, "real")[topic.name] or {}) do sum = sum + math.max(part.offset, 0) end
      return sum == produced
    end)
    for _, consumer in ipairs(consumers) do signal.kill(-consumer.pid, signal.SIGTERM) end
    for _, consumer in ipairs(consumers) do consumer:wait(30000) end
    clients.wait_until("the group is empty", function() return group.describe(client, "real").group_state == "Empty" end)
    assert.equal(0, broker:stop())
  end)
end)
