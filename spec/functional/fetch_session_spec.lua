-- SPDX-License-Identifier: Apache-2.0
-- Fetch sessions (KIP-227): what a session remembers, what it leaves out, when it ends, to whom it belongs.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local batch, append = records.batch, requests.append

--- Asks within a session; `topics` and `options` as for requests.fetch_body().
local function ask(client, version, session, epoch, topics, options)
  local all = { version = version, session_id = session, session_epoch = epoch }
  for key, value in pairs(options or {}) do all[key] = value end
  return requests.fetch_all(client, topics or {}, all)
end

--- What an answer tells, by topic: { { topic, { partition, error, high watermark, base offsets } ... } ... }.
local function told(answer, version, ...)
  local names = {}
  for _, topic in ipairs { ... } do names[version >= 13 and topic.id or topic.name] = topic.name end
  local by_topic = {}
  for _, topic in ipairs(answer.responses) do
    local name = names[version >= 13 and topic.topic_id or topic.topic] or "?"
    by_topic[name] = by_topic[name] or {}
    for _, part in ipairs(topic.partitions) do
      by_topic[name][part.partition_index] = { part.error_code, part.high_watermark, records.bases(part.records) }
    end
  end
  return by_topic
end

describe("A fetch session", function()
  local broker, client, count = nil, nil, 0

  local function topic(partitions)
    count = count + 1
    return requests.create(client, ("topic-%d"):format(count), { partitions = partitions })
  end

  setup(function() broker = brokers.start { set = { "workers=1" } } end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  for version = 7, requests.FETCH do
    describe(("in version %d"):format(version), function()
      local a, b, session

      before_each(function()
        a, b = topic(2), topic(1)
        append(client, a, batch())
        local answer = ask(client, version, 0, 0, { { a, { {}, { partition = 1 } } } })
        assert.same({ [a.name] = { [0] = { 0, 1, { 0 } }, { 0, 0, {} } } }, told(answer, version, a))
        assert.equal(0, answer.error_code)
        session = answer.session_id
        assert.is_true(session > 0)
      end)

      --- The next request of the session.
      local function go_on(epoch, topics, options)
        local answer = ask(client, version, session, epoch, topics, options)
        assert.same({ 0, session }, { answer.error_code, answer.session_id })
        return told(answer, version, a, b)
      end

      it("tells a partition with records again until the client has moved on", function()
        local first = { [a.name] = { [0] = { 0, 1, { 0 } } } }
        assert.same(first, go_on(1))
        assert.same(first, go_on(2))
        assert.same({}, go_on(3, { { a, { { fetch_offset = 1 } } } }))
        assert.same({}, go_on(4))
      end)

      it("tells a partition that has got records", function()
        assert.same({}, go_on(1, { { a, { { fetch_offset = 1 } } } }))
        append(client, a, batch(), { partition = 1 })
        assert.same({ [a.name] = { { 0, 1, { 0 } } } }, go_on(2))
        append(client, a, batch())
        assert.same({ [a.name] = { [0] = { 0, 2, { 1 } } } }, go_on(3, { { a, { { partition = 1, fetch_offset = 1 } } } }))
      end)

      it("takes a partition in, and tells it once even when it is empty", function()
        local moved = { a, { { fetch_offset = 1 } } }
        assert.same({ [b.name] = { [0] = { 0, 0, {} } } }, go_on(1, { moved, { b } }))
        assert.same({}, go_on(2))
        append(client, b, batch())
        assert.same({ [b.name] = { [0] = { 0, 1, { 0 } } } }, go_on(3))
      end)

      it("never tells a forgotten partition", function()
        append(client, a, batch(), { partition = 1 })
        assert.same({ [a.name] = { { 0, 1, { 0 } } } }, go_on(1, {}, { forget = { { a, { 0 } } } }))
        assert.same({}, go_on(2, {}, { forget = { { a, { 1 } } } }))
        append(client, a, batch())
        append(client, a, batch(), { partition = 1 })
        assert.same({}, go_on(3))
        assert.same({ [a.name] = { [0] = { 0, 2, { 1 } } } }, go_on(4, { { a, { { fetch_offset = 1 } } } }))
      end)

      it("may forget what it does not know", function()
        local first = { [a.name] = { [0] = { 0, 1, { 0 } } } }
        assert.same(first, go_on(1, {}, { forget = { { requests.UNKNOWN, { 0, 1 } }, { a, { 7, -1 } } } }))
      end)

      it("tells failed partitions every time", function()
        local code = version >= 13 and 100 or 3
        local moved = { a, { { fetch_offset = 1 }, { partition = 7 } } }
        local failed = { ["?"] = { [0] = { code, -1, {} } }, [a.name] = { [7] = { 3, -1, {} } } }
        assert.same(failed, go_on(1, { moved, { requests.UNKNOWN } }))
        assert.same(failed, go_on(2))
        assert.same(failed, go_on(3, {}, { max_wait_ms = 600000, min_bytes = 1 }))
        assert.same({ ["?"] = failed["?"] }, go_on(4, {}, { forget = { { a, { 7 } } } }))
      end)

      it("answers 71 to any other epoch than the next, which uses nothing up", function()
        for _, epoch in ipairs { 2, 20, 2 ^ 31 - 1, -2, -2 ^ 31 } do
          local answer = ask(client, version, session, epoch, { { b } })
          assert.same({ 71, 0, {} }, { answer.error_code, answer.session_id, answer.responses })
        end
        go_on(1)
        local answer = ask(client, version, session, 1)
        assert.same({ 71, 0, {} }, { answer.error_code, answer.session_id, answer.responses })
        assert.same({ [a.name] = { [0] = { 0, 1, { 0 } } } }, go_on(2))
      end)

      it("answers 70 to sessions that there are not", function()
        for _, id in ipairs { session < 2 ^ 30 and session + 1 or session - 1, 0, -1, -session } do
          local answer = ask(client, version, id, 1, { { a } })
          assert.same({ 70, 0, {} }, { answer.error_code, answer.session_id, answer.responses })
        end
      end)

      it("ends with epoch -1, which is answered in full", function()
        local answer = ask(client, version, session, -1, { { a, { {}, { partition = 1 } } } })
        assert.same({ 0, 0 }, { answer.error_code, answer.session_id })
        assert.same({ [a.name] = { [0] = { 0, 1, { 0 } }, { 0, 0, {} } } }, told(answer, version, a))
        assert.equal(70, ask(client, version, session, 1).error_code)
      end)

      it("is replaced by another one with epoch 0", function()
        local answer = ask(client, version, session, 0, { { b } })
        assert.equal(0, answer.error_code)
        assert.is_true(answer.session_id > 0 and answer.session_id ~= session)
        assert.same({ [b.name] = { [0] = { 0, 0, {} } } }, told(answer, version, b))
        assert.equal(70, ask(client, version, session, 1).error_code)
        assert.equal(0, ask(client, version, answer.session_id, 1).error_code)
      end)

      it("may have no partitions, and gets them later", function()
        local answer = ask(client, version, 0, 0, {})
        assert.equal(0, answer.error_code)
        assert.is_true(answer.session_id > 0)
        session = answer.session_id
        assert.same({ [a.name] = { [0] = { 0, 1, { 0 } } } }, go_on(1, { { a } }))
      end)

      it("waits until one of its partitions gets records", function()
        assert.same({ [b.name] = { [0] = { 0, 0, {} } } }, go_on(1, { { a, { { fetch_offset = 1 } } }, { b } }))
        local other = broker:connect()
        for i = 0, 4 do
          local id = client:request("Fetch", version, requests.fetch_body(version, { { b, { { fetch_offset = i } } } },
            { session_id = session, session_epoch = i + 2, max_wait_ms = 600000, min_bytes = 1 }))
          append(other, b, batch())
          assert.same({ [b.name] = { [0] = { 0, i + 1, { i } } } }, told(client:answer("Fetch", version, id), version, a, b))
        end
        other:close()
      end)

      it("waits no longer than it is told, and then tells nothing", function()
        assert.same({}, go_on(1, { { a, { { fetch_offset = 1 } } } }, { max_wait_ms = 30, min_bytes = 1 }))
        assert.same({}, go_on(2, {}, { max_wait_ms = 30, min_bytes = 1 }))
      end)
    end)
  end

  it("belongs to requests that name topics as its first one did, by name or by id", function()
    local a = topic(1)
    local by_name = ask(client, 12, 0, 0, { { a } }).session_id
    assert.equal(106, ask(client, 13, by_name, 1).error_code)
    assert.equal(0, ask(client, 12, by_name, 1).error_code)
    local by_id = ask(client, 13, 0, 0, { { a } }).session_id
    assert.equal(106, ask(client, 12, by_id, 1).error_code)
    assert.equal(0, ask(client, 13, by_id, 1).error_code)
  end)

  it("tells 200 partitions once, and then only those with news", function()
    local wide = topic(200)
    local moved = {}
    for partition = 0, 199 do moved[partition + 1] = { partition = partition } end
    local answer = ask(client, 18, 0, 0, { { wide, moved } })
    assert.equal(200, #answer.responses[1].partitions)
    local session = answer.session_id
    moved = {}
    for epoch = 1, 20 do
      assert.same({}, told(ask(client, 18, session, 2 * epoch - 1, #moved > 0 and { { wide, moved } } or {}), 18, wide))
      local news = { [wide.name] = {} }
      moved = {}
      for partition = epoch, 199, 40 do
        append(client, wide, batch(), { partition = partition })
        news[wide.name][partition] = { 0, 1, { 0 } }
        moved[#moved + 1] = { partition = partition, fetch_offset = 1 }
      end
      assert.same(news, told(ask(client, 18, session, 2 * epoch, {}, { max_wait_ms = 600000, min_bytes = 1 }), 18, wide))
    end
  end)

  it("gives every partition its turn when the limit is too small for all", function()
    local a = topic(4)
    local parts = {}
    for partition = 0, 3 do
      for _ = 1, 5 do append(client, a, batch(), { partition = partition }) end
      parts[partition + 1] = { partition = partition }
    end
    local session = ask(client, 18, 0, 0, {}).session_id
    local given, moved = {}, parts
    for epoch = 1, 20 do
      local answer = ask(client, 18, session, epoch, { { a, moved } }, { max_bytes = 1 })
      moved = {}
      for _, part in ipairs(answer.responses[1].partitions) do
        for _, base in ipairs(records.bases(part.records)) do
          given[part.partition_index] = (given[part.partition_index] or 0) + 1
          moved[1] = { partition = part.partition_index, fetch_offset = base + 1 }
        end
      end
      assert.equal(1, #moved)
      if epoch % 4 == 0 then assert.same({ [0] = epoch / 4, epoch / 4, epoch / 4, epoch / 4 }, given) end
    end
  end)

  it("tells that a topic was deleted, also to one that waits", function()
    local a, b = topic(1), topic(1)
    local session = ask(client, 18, 0, 0, { { a }, { b } }).session_id
    local other = broker:connect()
    requests.delete(other, a)
    assert.same({ ["?"] = { [0] = { 100, -1, {} } } }, told(ask(client, 18, session, 1), 18, b))
    assert.same({}, told(ask(client, 18, session, 2, {}, { forget = { { a, { 0 } } } }), 18, b))
    local id = client:request("Fetch", 18, requests.fetch_body(18, {},
      { session_id = session, session_epoch = 3, max_wait_ms = 600000, min_bytes = 1 }))
    requests.delete(other, b)
    assert.same({ ["?"] = { [0] = { 100, -1, {} } } }, told(client:answer("Fetch", 18, id), 18))
    other:close()
  end)

  it("ends with its connection", function()
    local a = topic(1)
    local other = broker:connect()
    local session = ask(other, 18, 0, 0, { { a } }).session_id
    other:close()
    requests.wait_until("the session is gone", function() return ask(client, 18, session, 1).error_code == 70 end)
  end)

  it("ends with its connection also when a request of it waited as the client went", function()
    local a = topic(1)
    local other = broker:connect()
    local session = ask(other, 18, 0, 0, { { a } }).session_id
    other:request("Fetch", 18, requests.fetch_body(18, {},
      { session_id = session, session_epoch = 1, max_wait_ms = 50, min_bytes = 1 }))
    other:close()
    requests.wait_until("the session is gone", function() return ask(client, 18, session, 5).error_code == 70 end)
    append(client, a, batch())
    assert.equal(1, requests.end_offset(client, a))
  end)

  it("is left by a request that waits when another connection closes it", function()
    local a = topic(1)
    local session = ask(client, 18, 0, 0, { { a } }).session_id
    local id = client:request("Fetch", 18, requests.fetch_body(18, {},
      { session_id = session, session_epoch = 1, max_wait_ms = 600000, min_bytes = 1 }))
    local other = broker:connect()
    requests.wait_until("the session is closed", function()
      ask(other, 18, session, -1, { { a } })
      return ask(other, 18, session, 2).error_code == 70
    end)
    assert.same({}, client:answer("Fetch", 18, id).responses)
    other:close()
  end)
end)

describe("Fetch sessions", function()
  it("belong to a connection's worker: elsewhere they are not found", function()
    local broker = brokers.start { set = { "workers=2" } }
    -- A new connection goes to the worker with the fewest.
    local first, second = broker:connect(), broker:connect()
    local a = requests.create(first, "a")
    assert.equal(0, requests.end_offset(second, a))
    local session = ask(first, 18, 0, 0, { { a } }).session_id
    assert.equal(70, ask(second, 18, session, 1).error_code)
    append(second, a, batch())
    assert.same({ a = { [0] = { 0, 1, { 0 } } } }, told(ask(first, 18, session, 1), 18, a))
    first:close()
    second:close()
    assert.equal(0, broker:stop())
  end)

  it("are no more than the cache has slots: a client without one gets full answers and session 0", function()
    local broker = brokers.start { set = { "workers=1", "max_incremental_fetch_session_cache_slots=2" } }
    local client = broker:connect()
    local a = requests.create(client, "a")
    local first = ask(client, 18, 0, 0, { { a } }).session_id
    local second = ask(client, 18, 0, 0, { { a } }).session_id
    assert.is_true(first > 0 and second > 0 and first ~= second)
    local third = ask(client, 18, 0, 0, { { a } })
    assert.same({ 0, 0 }, { third.error_code, third.session_id })
    assert.same({ a = { [0] = { 0, 0, {} } } }, told(third, 18, a))
    assert.equal(0, ask(client, 18, first, 1).error_code)
    assert.equal(0, ask(client, 18, second, -1, { { a } }).error_code)
    assert.is_true(ask(client, 18, 0, 0, { { a } }).session_id > 0)
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("are not made where the cache has no slots", function()
    local broker = brokers.start { set = { "workers=1", "max_incremental_fetch_session_cache_slots=0" } }
    local client = broker:connect()
    local a = requests.create(client, "a")
    local answer = ask(client, 18, 0, 0, { { a } })
    assert.same({ 0, 0 }, { answer.error_code, answer.session_id })
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("tell that retention has moved the start of a log that has nothing else to tell", function()
    local broker = brokers.start { set = { "workers=1", "log_retention_check_interval_ms=200", "log_segment_delete_delay_ms=0" } }
    local client = broker:connect()
    local a = requests.create(client, "a", { configs = { ["segment.bytes"] = "1048576", ["retention.bytes"] = "1500000" } })
    for i = 0, 5 do append(client, a, batch { records = { records.noise(700000, i + 1) } }) end
    requests.wait_until("retention has deleted segments", function() return requests.start_offset(client, a) == 3 end)
    local answer = ask(client, 18, 0, 0, { { a, { { fetch_offset = 6 } } } })
    assert.equal(3, answer.responses[1].partitions[1].log_start_offset)
    local session, epoch = answer.session_id, 1
    assert.same({}, ask(client, 18, session, epoch).responses)
    append(client, a, batch { records = { records.noise(700000, 7) } })
    -- The client has read all of it before retention comes, most of the time.
    local part
    requests.wait_until("the session tells the new start", function()
      epoch = epoch + 1
      local told_now = ask(client, 18, session, epoch, epoch == 2 and { { a, { { fetch_offset = 7 } } } } or {}).responses[1]
      part = told_now and told_now.partitions[1]
      return part and part.log_start_offset == 4
    end)
    assert.same({ 0, 7, "" }, { part.error_code, part.high_watermark, part.records })
    assert.same({}, ask(client, 18, session, epoch + 1).responses)
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("are not kept for more partitions than a worker may remember", function()
    local broker = brokers.start { set = { "workers=1" } }
    local client = broker:connect()
    local parts = {}
    for i = 1, 100000 do parts[i] = { partition = i } end
    local a = requests.create(client, "a")
    local first = ask(client, 7, 0, 0, { { a, parts } })
    assert.is_true(first.session_id ~= 0)
    local second, third = broker:connect(), broker:connect()
    assert.is_true(ask(second, 7, 0, 0, { { a, parts } }).session_id ~= 0)
    local answer = ask(third, 7, 0, 0, { { a, { {} } } })
    assert.same({ 0, 0, 0 }, { answer.error_code, answer.session_id, answer.responses[1].partitions[1].error_code })
    -- Closing one makes room.
    second:close()
    requests.wait_until("a session is made", function() return ask(third, 7, 0, 0, { { a, { {} } } }).session_id ~= 0 end)
    client:close()
    third:close()
    assert.equal(0, broker:stop())
  end)
end)
