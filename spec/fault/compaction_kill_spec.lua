-- SPDX-License-Identifier: Apache-2.0
-- kill -9, and power failures, while a topic is compacted, at whatever point that is: afterwards the newest record of each
-- key is there and nothing else than what was appended, and no file of the pass is left. KILLS=50 does it so often,
-- COMPACTION_SEED=n with the same numbers again.
local poll = require "posix.poll"
local brokers = require "spec.support.broker"
local compaction = require "spec.support.compaction"
local power = require "spec.support.power"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local KILLS = tonumber(os.getenv "KILLS") or 6
local CLEANING, RESTING = { "workers=2", "log_cleaner_backoff_ms=1" }, { "workers=2", "log_cleaner_enable=false" }

local function seeded()
  local seed = tonumber(os.getenv "COMPACTION_SEED") or os.time() % 100000
  math.randomseed(seed)
  return math.random, "COMPACTION_SEED=" .. seed
end

--- Starts the broker with nothing being cleaned, checks, and stops it.
local function check(data, model, topic, options)
  local broker = brokers.start { data = data, set = options.resting }
  local client = broker:connect()
  local ok, why = pcall(function()
    assert.same({}, compaction.strays(data .. "/t-0"))
    local checkpoint = unit.read_file(data .. "/cleaner-offset-checkpoint") or ""
    model:verify(client, topic, options.may_lose and tonumber(checkpoint:match "t 0 (%d+)" or 0))
    assert.is_nil(broker:log():match "[^\n]* error [^\n]*")
  end)
  client:close()
  assert.equal("signal 9", broker:kill())
  if not ok then error(("%s, %s"):format(tostring(why), options.seed), 0) end
end

local function sleep(random, most_ms) poll.poll({}, random(most_ms + 1) - 1) end

describe("A broker that is killed while it compacts a topic", function()
  it(("has lost nothing, and left no files, after each of %d kills"):format(KILLS), function()
    local random, seed = seeded()
    local data = brokers.temp_dir() .. "/data"
    local broker = brokers.start { data = data, set = CLEANING }
    local client = broker:connect()
    local topic = requests.create(client, "t", { configs = compaction.CONFIGS })
    local model, passes = compaction.new(random), 0
    for _ = 1, KILLS do
      for _ = 1, 40 + random(60) do model:append(client, topic) end
      sleep(random, 30)
      model:send(client, topic)
      sleep(random, 1)
      assert.equal("signal 9", broker:kill())
      client:close()
      for _ in broker:log():gmatch " compacted t%-0 " do passes = passes + 1 end
      check(data, model, topic, { resting = RESTING, seed = seed })
      broker = brokers.start { data = data, set = CLEANING }
      client = broker:connect()
    end
    assert.is_true(passes >= KILLS)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("A power failure while a topic is compacted", function()
  it(("takes what was never compacted alone, and leaves no files, in each of %d cuts"):format(KILLS), function()
    local random, seed = seeded()
    local folder = brokers.temp_dir(true)
    local data, metadata = folder .. "/data", "metadata=" .. folder .. "/luka.mdb"
    assert(os.execute(("mkdir '%s'"):format(data)) == 0)
    local cleaning, resting = { metadata, unpack(CLEANING) }, { metadata, unpack(RESTING) }
    local model, topic = compaction.new(random), nil
    for round = 1, KILLS do
      local supply = power.new(data)
      local broker = brokers.start { data = data, set = cleaning, env = supply.env }
      local client = broker:connect()
      topic = topic or requests.create(client, "t", { configs = compaction.CONFIGS })
      -- What is on disk of a log that has just begun is nothing: the first passes bring it there.
      if round == 1 then
        for _ = 1, 5 do model:append(client, topic) end
        requests.wait_until("a pass was made", function() return broker:log():find(" compacted t-0 ", 1, true) end)
      end
      for _ = 1, 20 + random(40) do model:append(client, topic) end
      sleep(random, 20)
      assert.equal("signal 9", broker:kill())
      client:close()
      supply:cut(random)
      check(data, model, topic, { resting = resting, seed = seed, may_lose = true })
    end
  end)
end)
