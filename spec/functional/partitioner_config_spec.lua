-- SPDX-License-Identifier: Apache-2.0
-- The topic config luka.partitioner, as admin clients see it: what it may be, and what says so when it may not.
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local NONE, INVALID_CONFIG, POLICY_VIOLATION = 0, 40, 44
local NAMES = "none, murmur2, consistent, round_robin, sticky, header:NAME, range:BOUND,..."

-- { value, what the message has }
local REFUSED = {
  { "by_region", "Invalid value by_region for configuration luka.partitioner: there is no partitioner of that name. There are: "
    .. NAMES },
  { "murmur", "There are: " .. NAMES },
  { "header:", "header: needs an argument: header:NAME" },
  { "range:", "range: needs an argument: range:a,m,t" },
  { "range:m,a", "the bounds of range: have to rise" },
  { ("x"):rep(256), "it may have 255 bytes at most" },
}
local ACCEPTED = { "none", "", "murmur2", "consistent", "round_robin", "sticky", "header:region", "range:a,m,t", " sticky " }

--- A batch of one record.
local function keyed(key, codec) return records.batch { records = { { key = key, value = "v" } }, codec = codec } end

describe("luka.partitioner", function()
  local broker, client, count = nil, nil, 0

  setup(function() broker = brokers.start { set = { "workers=1" } } end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  local function new_name()
    count = count + 1
    return "topic-" .. count
  end

  local function create(value, is_validate_only)
    local answer = client:ask("CreateTopics", 7, { timeout_ms = 30000, validate_only = is_validate_only, topics = { {
      name = new_name(), num_partitions = 1, replication_factor = 1,
      configs = { { name = "luka.partitioner", value = value } } } } })
    return answer.topics[1]
  end

  it("is checked by CreateTopics, also where it only validates", function()
    for _, case in ipairs(REFUSED) do
      for _, is_validate_only in ipairs { false, true } do
        local topic = create(case[1], is_validate_only)
        assert.equal(INVALID_CONFIG, topic.error_code)
        assert.is_truthy(topic.error_message:find(case[2], 1, true), topic.error_message)
      end
    end
    for _, value in ipairs(ACCEPTED) do assert.equal(NONE, create(value).error_code) end
  end)

  it("is checked by IncrementalAlterConfigs and AlterConfigs", function()
    local topic = requests.create(client, new_name())
    for _, case in ipairs(REFUSED) do
      local changed = configs.incremental(client, { configs.change(configs.TOPIC, topic.name,
        { { "luka.partitioner", configs.SET, case[1] } }) })[1]
      local replaced = configs.replace(client, { configs.replacement(configs.TOPIC, topic.name,
        { { "luka.partitioner", case[1] } }) })[1]
      for _, answer in ipairs { changed, replaced } do
        assert.equal(INVALID_CONFIG, answer.error_code)
        assert.is_truthy(answer.error_message:find(case[2], 1, true), answer.error_message)
      end
    end
    for _, value in ipairs(ACCEPTED) do configs.set(client, topic, { ["luka.partitioner"] = value }) end
  end)

  it("is no list that values are added to", function()
    local topic = requests.create(client, new_name())
    local answer = configs.incremental(client, { configs.change(configs.TOPIC, topic.name,
      { { "luka.partitioner", configs.APPEND, "sticky" } }) })[1]
    assert.equal(INVALID_CONFIG, answer.error_code)
  end)

  it("is shown where it is set", function()
    local topic = requests.create(client, new_name())
    assert.is_nil((configs.shown(client, configs.TOPIC, topic.name, "luka.partitioner")))
    configs.set(client, topic, { ["luka.partitioner"] = "header:region" })
    local value, source, synonyms = configs.shown(client, configs.TOPIC, topic.name, "luka.partitioner")
    assert.same({ "header:region", configs.FROM_TOPIC }, { value, source })
    assert.same({ { "luka.partitioner", "header:region", configs.FROM_TOPIC } }, synonyms) -- no broker config has it
    configs.set(client, topic, { ["luka.partitioner"] = false })
    assert.is_nil((configs.shown(client, configs.TOPIC, topic.name, "luka.partitioner")))
  end)

  it("may be set in a topic block", function()
    local own = reload.start 'topic "a" { partitions = 4, luka_partitioner = "range:b" }\n'
    local link = own:connect()
    local topic = requests.find(link, "a")
    assert.equal(NONE, requests.produce(link, topic, keyed "c").error_code)
    assert.equal(1, requests.end_offset(link, topic, 1))
    link:close()
    assert.equal(0, own:stop())
  end)
end)

describe("A topic whose partitioner has gone", function()
  local WITH = [[
    policy.partitioner("by_region", function(record, n) return 0 end)
    topic "a" { partitions = 2, luka_partitioner = "by_region" }
  ]]
  local WITHOUT = "broker { workers = 1 }\n"

  it("refuses what is produced, with a message and a line in the log that name it, until the config changes", function()
    local broker = reload.start(WITH)
    assert.equal(0, broker:stop())
    reload.write(broker, WITHOUT)
    local folder = broker.folder
    broker = broker:restart()
    broker.folder = folder
    local client = broker:connect()
    local topic = requests.find(client, "a")
    for codec = 0, 1 do
      local answer = requests.produce(client, topic, keyed("c", codec))
      assert.same({ POLICY_VIOLATION, -1 }, { answer.error_code, answer.base_offset })
      assert.equal("luka.partitioner=by_region of topic a: the configuration has no partitioner of that name any more",
        answer.error_message)
    end
    local _, lines = broker:log():gsub("warn  luka%.partitioner=by_region of topic a: [^\n]* is refused", "")
    assert.equal(1, lines)
    -- Other configs of the topic can be changed all the same.
    configs.set(client, topic, { ["retention.ms"] = "1000000" })
    assert.equal(POLICY_VIOLATION, requests.produce(client, topic, keyed "c").error_code)
    for i = 0, 1 do assert.equal(0, requests.end_offset(client, topic, i)) end
    configs.set(client, topic, { ["luka.partitioner"] = "none" })
    assert.equal(NONE, requests.produce(client, topic, keyed "c").error_code)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
