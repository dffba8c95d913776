-- SPDX-License-Identifier: Apache-2.0
-- kill -9 while groups commit, again and again on the same data: no commit that was acknowledged is lost, no committed
-- offset goes backwards, and members go on where they were. The page cache outlives the process; the second half has the
-- power fail instead, with __consumer_offsets on disk before anybody is told. KILLS=20 does it twenty times; KILL_SEED=n
-- with the same numbers again.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local configs = require "spec.support.configs"
local group = require "spec.support.group"
local power = require "spec.support.power"
local requests = require "spec.support.requests"

local KILLS = tonumber(os.getenv "KILLS") or 3
local PARTITIONS = 3
local DEPTH = 8 -- commits in flight on a connection

--- One connection that commits for some groups, their partitions all at once, offset after offset.
local Writer = {}
Writer.__index = Writer

--- Groups by name; the first of each writer has a member, the other ones are of clients that only commit.
local function new_writer(number)
  local writer = setmetatable({ groups = {}, turn = 0, waiting = {}, first = 1, acks = 0 }, Writer)
  for i = 1, 3 do
    writer.groups[i] = { name = ("writer-%d-%d"):format(number, i), has_member = i == 1, sent = 0, acked = 0, seen = -1 }
  end
  return writer
end

--- Connects, and has groups of members joined the first time. Their members are not told of a restart.
function Writer:open(broker)
  self.client, self.waiting, self.first = broker:connect(), {}, 1
  for _, it in ipairs(self.groups) do
    if it.has_member and not it.member then
      local member = group.member(broker, it.name, { topics = { "t" } })
      assert.equal(0, member:join().error_code)
      assert.equal(0, member:sync({ [member.id] = { t = { 0, 1, 2 } } }).error_code)
      it.member = { member = member.id, generation = member.generation }
      member:close()
    end
  end
end

--- Sends commits until enough are in flight.
function Writer:fill()
  while #self.waiting - self.first + 1 < DEPTH do
    self.turn = self.turn + 1
    local it = self.groups[self.turn % #self.groups + 1]
    local offsets = {}
    for partition = 0, PARTITIONS - 1 do offsets[partition] = it.sent + 1 end
    local id = self.client:request("OffsetCommit", group.COMMIT, group.commit_body(it.name, { t = offsets }, it.member))
    if not id then return end
    it.sent = it.sent + 1
    self.waiting[#self.waiting + 1] = { id = id, it = it, offset = it.sent }
  end
end

--- Takes the answers that are there.
function Writer:take()
  while self.waiting[self.first] do
    local sent = self.waiting[self.first]
    local answer = self.client:answer("OffsetCommit", group.COMMIT, sent.id, 0)
    if not answer then return end
    for _, part in ipairs(answer.topics[1].partitions) do assert.equal(0, part.error_code) end
    sent.it.acked = sent.offset
    self.first, self.acks = self.first + 1, self.acks + 1
  end
end

--- Commits until so many are acknowledged in all.
local function commit_some(writers, wanted)
  local before = 0
  for _, writer in ipairs(writers) do before = before + writer.acks end
  clients.wait_until("commits are acknowledged", function()
    local acks = 0
    for _, writer in ipairs(writers) do
      writer:fill()
      writer:take()
      acks = acks + writer.acks
    end
    return acks - before >= wanted
  end, 60000)
end

--- What is committed is at least what was acknowledged and what was seen before, at most what was sent, and one commit is
--- there whole.
local function check(client, writers, what)
  for _, writer in ipairs(writers) do
    for _, it in ipairs(writer.groups) do
      local found = group.committed(client, it.name, { t = { 0, 1, 2 } }).t
      local offset = found[0].offset
      for partition = 0, PARTITIONS - 1 do assert.same({ partition, offset }, { partition, found[partition].offset }) end
      local text = ("%s: %s has %d; acknowledged %d, seen before %d, sent %d"):format(what, it.name, offset, it.acked, it.seen,
        it.sent)
      assert.is_true(offset == -1 and it.acked == 0 or offset >= it.acked and offset <= it.sent, text)
      assert.is_true(offset >= it.seen, text)
      -- What was sent and never came is not sent again: the next commit is one more than what there is.
      it.seen, it.acked, it.sent = offset, math.max(offset, 0), math.max(offset, 0)
      if it.member then
        assert.equal(0, client:ask("Heartbeat", group.HEARTBEAT, { group_id = it.name, generation_id = it.member.generation,
          member_id = it.member.member }).error_code)
      end
    end
  end
end

--- The whole course.
local function run(options, crash)
  local seed = tonumber(os.getenv "KILL_SEED") or os.time() % 100000
  math.randomseed(seed)
  local broker = brokers.start(options)
  local client = broker:connect()
  requests.create(client, "t", { partitions = PARTITIONS })
  group.prepare(client)
  if options.is_sync then
    assert.equal(0, configs.incremental(client, { configs.change(configs.TOPIC, "__consumer_offsets",
      { { "luka.producer.type", configs.SET, "sync" } }) })[1].error_code)
  end
  local writers = {}
  for i = 1, 3 do writers[i] = new_writer(i) end
  for round = 1, KILLS do
    for _, writer in ipairs(writers) do writer:open(broker) end
    commit_some(writers, 100 + math.random(400))
    assert.equal("signal 9", broker:kill())
    client:close()
    for _, writer in ipairs(writers) do writer:take() end -- what was acknowledged before the end
    for _, writer in ipairs(writers) do writer.client:close() end
    crash()
    broker = broker:restart()
    client = broker:connect()
    local ok, err = pcall(check, client, writers, "round " .. round)
    assert(ok, ("KILL_SEED=%d: %s\n%s"):format(seed, tostring(err), broker:log():sub(-4000)))
  end
  client:close()
  assert.equal(0, broker:stop())
  broker = broker:restart()
  client = broker:connect()
  check(client, writers, "after a clean stop")
  client:close()
  assert.equal(0, broker:stop())
end

describe("A broker whose groups commit", function()
  local set = { "workers=2", "offsets_topic_num_partitions=4", "group_initial_rebalance_delay_ms=0" }

  it(("has every acknowledged commit after each of %d kills, and no offset goes backwards"):format(KILLS), function()
    run({ set = set }, function() end)
  end)

  it(("has every acknowledged commit after each of %d power failures where __consumer_offsets is synced"):format(KILLS), function()
    local folder = brokers.temp_dir(true)
    local data = folder .. "/data"
    assert(os.execute(("mkdir '%s'"):format(data)) == 0)
    local supply = power.new(data)
    run({ data = data, env = supply.env, is_sync = true, set = { "metadata=" .. folder .. "/luka.mdb", unpack(set) } },
      function() supply:cut(math.random) end)
  end)
end)
