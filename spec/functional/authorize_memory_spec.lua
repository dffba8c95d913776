-- SPDX-License-Identifier: Apache-2.0
-- The hook client.authorize: what a connection remembers of its answers, and what becomes of requests when its functions
-- fail, change, or are hostile.
local clients = require "spec.support.client"
local groups = require "spec.support.group"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local TOPIC = 29 -- TOPIC_AUTHORIZATION_FAILED

local CONFIG = [[
broker { workers = 2, offsets_topic_num_partitions = 1 }
local version = %q
hook("client.authorize", function(request)
  if request.name == "counted" or request.name == version then
    log.info(("asked %%s: %%s %%s %%s"):format(version, request.api, request.operation, request.name))
  end
  if request.name == version then reject "of another configuration" end
  if request.name == "raises" then error "out of order" end
  if request.name == "endless" or request.name:match "^endless" then while true do end end
  if request.name == "late" then while true do admin.topics() end end
  if request.name == "typo" then return request.nmae end
end)
]]

describe("client.authorize", function()
  local broker, client

  setup(function()
    broker = reload.start(CONFIG:format "first")
    client = broker:connect()
    requests.create(client, "counted")
    requests.create(client, "other")
    groups.prepare(client)
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function count(pattern)
    local found = 0
    for line in broker:log():gmatch "[^\n]+" do
      if line:find(pattern) then found = found + 1 end
    end
    return found
  end

  local function code(who, name, options)
    local answer = who:ask("Metadata", 9, { topics = { { name = name } }, allow_auto_topic_creation = false }, options)
    return answer.topics[1].error_code
  end

  local function fetch(who, session, epoch, entries, version)
    return who:ask("Fetch", version or 12, requests.fetch_body(version or 12, entries, { max_wait_ms = 0, session_id = session,
      session_epoch = epoch }))
  end

  it("is called once for each connection, API, operation and name", function()
    local a, b = broker:connect(), broker:connect()
    local before = count "asked first: Metadata describe counted"
    for _ = 1, 5 do assert.equal(0, code(a, "counted")) end
    assert.equal(before + 1, count "asked first: Metadata describe counted")
    assert.equal(0, code(b, "counted"))
    assert.equal(before + 2, count "asked first: Metadata describe counted")
    local lists = count "asked first: ListOffsets describe counted"
    for _ = 1, 3 do requests.list_offset(a, { name = "counted" }, -1) end
    assert.equal(lists + 1, count "asked first: ListOffsets describe counted")
    a:close()
    b:close()
  end)

  it("is asked anew when a connection has another client id", function()
    local a = broker:connect()
    local before = count "asked first: Metadata describe counted"
    for _, id in ipairs { "one", "one", "two", "two", "one" } do assert.equal(0, code(a, "counted", { client_id = id })) end
    assert.equal(before + 3, count "asked first: Metadata describe counted")
    a:close()
  end)

  it("denies what a function fails to decide, and asks again the next time", function()
    for _, name in ipairs { "raises", "typo" } do
      assert.equal(TOPIC, code(client, name))
      local before = count("client%.authorize: .*config%.lua:%d+: ")
      clients.wait_until("it is logged, and so asked again", function()
        assert.equal(TOPIC, code(client, name))
        return count("client%.authorize: .*config%.lua:%d+: ") > before
      end)
    end
    assert.equal(0, code(client, "counted"))
  end)

  it("denies what takes too long", function()
    assert.equal(TOPIC, code(client, "endless"))
    assert.equal(TOPIC, code(client, "late"))
    assert.equal(3, code(client, "missing"))
  end)

  it("denies a name with a NUL inside unasked", function()
    assert.equal(TOPIC, code(client, "counted\0or not"))
  end)

  it("keeps the order of a connection's requests while it is asked", function()
    local a = broker:connect()
    local topic = requests.create(client, "ordered")
    local ids = {}
    for i = 1, 20 do
      ids[i] = a:request("Produce", 9, requests.produce_body(9, { { topic, { { 0, records.sized(100 + i) } } } }))
    end
    for i = 1, 20 do
      local answer = a:answer("Produce", 9, ids[i])
      assert.equal(i - 1, answer.responses[1].partition_responses[1].base_offset)
    end
    a:close()
  end)

  it("does not mind clients that leave while it is asked", function()
    for _ = 1, 20 do
      local a = broker:connect()
      local topics = {}
      for i = 1, 200 do topics[i] = { name = ("gone-%d"):format(i) } end
      a:request("Metadata", 9, { topics = topics, allow_auto_topic_creation = false })
      a:close()
    end
    assert.equal(0, code(client, "counted"))
  end)

  it("gives up a request whose questions fail one after another, while other clients go on", function()
    local a, topics = broker:connect(), {}
    for i = 1, 10000 do topics[i] = { name = ("endless-%d"):format(i) } end
    local id = a:request("Metadata", 9, { topics = topics, allow_auto_topic_creation = false })
    for _ = 1, 20 do assert.equal(0, code(client, "other")) end
    local answer = assert(a:answer("Metadata", 9, id, 60000))
    assert.equal(10000, #answer.topics)
    for _, topic in ipairs(answer.topics) do assert.equal(TOPIC, topic.error_code) end
    assert.is_true(count "endless%-" < 100)
    a:close()
  end)

  it("is asked about ten thousand topics, while other clients go on", function()
    local a, topics = broker:connect(), {}
    for i = 1, 10000 do topics[i] = { name = ("many-%d"):format(i) } end
    local id = a:request("Metadata", 9, { topics = topics, allow_auto_topic_creation = false })
    local b = broker:connect()
    assert.equal(0, code(b, "other"))
    local answer = assert(a:answer("Metadata", 9, id, 60000))
    for _, topic in ipairs(answer.topics) do assert.equal(3, topic.error_code) end
    a:close()
    b:close()
  end)

  describe("when the configuration is read again", function()
    it("is asked anew, also about what a fetch session has", function()
      local topic = requests.create(client, "second")
      requests.append(client, topic, records.sized(100))
      local a, by_id = broker:connect(), broker:connect()
      assert.equal(0, code(a, "second"))
      local named = fetch(a, 0, 0, { { { name = "second" }, { { fetch_offset = 1 } } }, { { name = "other" }, { {} } } })
      local known = fetch(by_id, 0, 0, { { topic, { { fetch_offset = 1 } } } }, 18)
      assert.equal(0, named.responses[1].partitions[1].error_code)
      assert.same({}, fetch(a, named.session_id, 1, {}).responses)
      assert.same({}, fetch(by_id, known.session_id, 1, {}, 18).responses)
      reload.hup(broker, CONFIG:format "second")
      clients.wait_until("the new functions are in force", function() return code(a, "second") == TOPIC end)
      local function errors(answer)
        local got = {}
        for i, of in ipairs(answer.responses) do got[i] = of.partitions[1].error_code end
        return got
      end
      assert.same({ TOPIC }, errors(fetch(a, named.session_id, 2, {})))
      assert.same({ TOPIC }, errors(fetch(a, named.session_id, 3, {})))
      assert.same({ TOPIC }, errors(fetch(by_id, known.session_id, 2, {}, 18)))
      reload.hup(broker, CONFIG:format "third")
      clients.wait_until("they are in force", function() return code(a, "second") == 0 end)
      assert.same({ 0 }, errors(fetch(a, named.session_id, 4, {})))
      assert.same({}, fetch(a, named.session_id, 5, {}).responses)
      a:close()
      by_id:close()
    end)

    it("is not asked once it is gone", function()
      local a = broker:connect()
      reload.hup(broker, CONFIG:format "other")
      clients.wait_until("it denies", function() return code(a, "other") == TOPIC end)
      reload.hup(broker, "broker { workers = 2, offsets_topic_num_partitions = 1 }")
      clients.wait_until("nothing is denied", function() return code(a, "other") == 0 end)
      a:close()
    end)
  end)

  it("has no name for a null one", function()
    local answer = client:ask("Metadata", 12, { topics = { { name = wire.NULL } }, allow_auto_topic_creation = false })
    assert.equal(-1, answer.topics[1].error_code)
  end)
end)

describe("client.authorize, with a function that cannot be interrupted,", function()
  it("denies after a second, and the rest of the request with it", function()
    local broker = reload.start([[
      broker { unsafe = true }
      hook("client.authorize", function(request) if request.name == "asleep" then os.execute "sleep 2" end end)]])
    local client = broker:connect()
    local answer = client:ask("Metadata", 9, { topics = { { name = "asleep" }, { name = "another" } },
      allow_auto_topic_creation = false })
    assert.same({ TOPIC, TOPIC }, { answer.topics[1].error_code, answer.topics[2].error_code })
    clients.wait_until("it decides again", function()
      answer = client:ask("Metadata", 9, { topics = { { name = "another" } }, allow_auto_topic_creation = false })
      return answer.topics[1].error_code == 3
    end)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
