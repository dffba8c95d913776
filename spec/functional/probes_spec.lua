-- SPDX-License-Identifier: Apache-2.0
-- on.request() in config.lua and in consoles: functions that see, delay, fail, close or drop requests; trace().
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local console_of = require "spec.support.console"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"
local socket = require "posix.sys.socket"

local wait_until = clients.wait_until

--- Evaluates; what the line returned, plain.
local function value(console, source)
  local result = console:eval(source)
  assert.is_true(result.ok, result.error)
  local frame = result.values[1]
  return frame and (frame.kind == "list" and frame.rows or frame.value)
end

--- The row of policies() that has a name.
local function row_of(console, name)
  for _, row in ipairs(value(console, "policies()")) do
    if row.name == name then return row end
  end
end

--- Closes a connection at once, as a client that has died.
local function reset(client)
  assert(socket.setsockopt(client.fd, socket.SOL_SOCKET, socket.SO_LINGER, 1, 0))
  client:close()
end

describe("on.request of a console", function()
  local broker, client, console, topic, count

  setup(function()
    broker, count = brokers.start { set = { "workers=2" } }, 0
    client = broker:connect()
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)
  before_each(function()
    count = count + 1
    topic = requests.create(client, "topic-" .. count)
    console = console_of.connect(broker.data .. "/console.sock")
  end)
  after_each(function() console:close() end)

  it("counts the requests of each client", function()
    value(console, [[counts = {} on.request("Metadata", function(request)
      counts[request.client_id] = (counts[request.client_id] or 0) + 1
    end)]])
    for _, id in ipairs { "a", "b", "a" } do client:ask("Metadata", 9, { topics = {} }, { client_id = id }) end
    assert.same({ a = 2, b = 1 }, value(console, "counts"))
  end)

  it("gives what a request says", function()
    value(console, [[on.request("Fetch", function(r)
      seen = { r.api, r.version, r.client_id, r.correlation_id, r.body.topics[1].partitions[1].fetch_offset, tostring(r),
        r.size > 50 and r.address:match "^127%.0%.0%.1:%d+$" ~= nil and r.nothing == nil }
    end)]])
    local id = client:request("Fetch", 11, requests.fetch_body(11, { { topic } }), { client_id = "me" })
    assert.equal(0, client:answer("Fetch", 11, id).error_code)
    assert.same({ "Fetch", 11, "me", id, 0, "Fetch v11 of me", true }, value(console, "seen"))
  end)

  it("answers each partition that is asked for with an error", function()
    value(console, 'on.request("Fetch", function(r) r:fail("NOT_LEADER_OR_FOLLOWER") end)')
    for version = 0, 18 do
      local answer = requests.fetch_all(client, { { topic, { { partition = 0 }, { partition = 7 } } } }, { version = version })
      local parts = answer.responses[1].partitions
      assert.same({ 0, 6, 7, 6 }, { parts[1].partition_index, parts[1].error_code, parts[2].partition_index, parts[2].error_code })
    end
    assert.equal(1, value(console, 'off "Fetch"'))
    assert.equal(0, requests.fetch(client, topic).error_code)
  end)

  it("makes a Fetch slow, and no other", function()
    value(console, 'on.request("Fetch", function(r) if r.client_id == "slow" then r:delay(200) r:delay(100) end end)')
    local other = broker:connect()
    local began, body = clients.now_ms(), requests.fetch_body(11, { { topic } })
    local id = client:request("Fetch", 11, body, { client_id = "slow" })
    assert.is_table(other:ask("Fetch", 11, body))
    assert.is_table(other:ask("Fetch", 11, body))
    assert.equal(0, client:answer("Fetch", 11, id).error_code)
    assert.is_true(clients.now_ms() - began >= 300)
    other:close()
  end)

  it("keeps the order of a connection's requests", function()
    value(console, [[n = 0 on.request("Produce", function(r) n = n + 1 if n % 2 == 1 then r:delay(30) end end)]])
    local ids = {}
    for i = 1, 6 do
      ids[i] = requests.send_produce(client, topic, records.batch { records = { "r" .. i } })
    end
    for i = 1, 6 do
      local answer = client:answer("Produce", requests.PRODUCE, ids[i])
      assert.equal(i - 1, answer.responses[1].partition_responses[1].base_offset)
    end
    assert.same({ "r1", "r2", "r3", "r4", "r5", "r6" }, records.values(requests.fetch_to_end(client, topic, 0)))
  end)

  it("closes connections, and leaves requests without an answer", function()
    value(console, [[on.request("Metadata", function(r)
      if r.client_id == "close" then r:close() elseif r.client_id == "drop" then r:drop() end
    end)]])
    local one, other = broker:connect(), broker:connect()
    one:request("Metadata", 9, { topics = {} }, { client_id = "close" })
    assert.equal("", one:receive_end())
    other:request("Metadata", 9, { topics = {} }, { client_id = "drop" })
    other:request("Metadata", 9, { topics = {} })
    wait_until("both are seen", function() return row_of(console, "Metadata").calls == 2 end)
    assert.same({ nil, "timeout" }, { other:receive_frame(100) })
    assert.is_table(client:ask("Metadata", 9, { topics = {} }))
    one:close()
    other:close()
  end)

  it("closes the connection of a Produce that wants no answer, instead of one with an error", function()
    value(console, 'on.request("Produce", function(r) r:fail("CORRUPT_MESSAGE") end)')
    local other = broker:connect()
    requests.send_produce(other, topic, records.batch { records = { "x" } }, { acks = 0 })
    assert.equal("", other:receive_end())
    other:close()
  end)

  it("forgets requests whose client has left meanwhile", function()
    value(console, [[on.request("Fetch", function(r) if r.client_id == "dropped" then r:drop() else r:delay(3600000) end end)]])
    local body = requests.fetch_body(11, { { topic } })
    for i, id in ipairs { "dropped", "delayed" } do
      local other = broker:connect()
      other:request("Fetch", 11, body, { client_id = id })
      wait_until("it is seen", function() return row_of(console, "Fetch").calls == i end)
      reset(other)
      wait_until("it is gone", function() return #value(console, ('connections "%s"'):format(id)) == 0 end)
    end
    assert.equal(0, value(console, 'metrics "probe.waiting"')["probe.waiting"])
  end)

  it("goes on untouched when a function fails, and says why", function()
    for _, code in ipairs { 'error("no")', "error({})", "error(nil)", "local x = nil + 1",
      'error(setmetatable({}, { __tostring = function() error "twice" end }))', 'r:fail("NOT_A_CODE")', "r:delay(-1)",
      "r.api = 1", "r:delay(100000) error('late')", 'r:fail("NOT_LEADER_OR_FOLLOWER") error("after all")', "r.close()",
      "r:close() r:drop()" } do
      value(console, ('on.request("Fetch", function(r) %s end)'):format(code))
      assert.equal(0, requests.fetch(client, topic).error_code, code)
      local row = row_of(console, "Fetch")
      assert.same({ 1, 1 }, { row.calls, row.errors }, code)
      assert.is_string(row.last_error, code)
      value(console, "off()")
    end
  end)

  it("goes on when a function does not come to an end, and other clients meanwhile", function()
    for _, code in ipairs { "while true do end", "pcall(function() while true do end end) while true do end",
      '("a"):rep(3000):find(".-.-.-.-b$")', "setmetatable({}, { __index = function(t, k) return t[k .. k] end }).x()" } do
      value(console, ('on.request("Fetch", function(r) if r.client_id == "hostile" then %s end end)'):format(code))
      local other = broker:connect()
      local id = other:request("Fetch", 11, requests.fetch_body(11, { { topic } }), { client_id = "hostile" })
      assert.equal(0, requests.fetch(client, topic).error_code)
      assert.equal(0, other:answer("Fetch", 11, id).error_code, code)
      wait_until("it is counted", function() return row_of(console, "Fetch").errors == 1 end)
      value(console, "off()")
      other:close()
    end
    assert.is_true(requests.is_well(broker))
  end)

  it("takes what it put on with it", function()
    value(console, 'on.request("Fetch", function(r) r:fail("NOT_LEADER_OR_FOLLOWER") end)')
    assert.equal(6, requests.fetch(client, topic).error_code)
    console:close()
    wait_until("its function is gone", function() return requests.fetch(client, topic).error_code == 0 end)
  end)

  it("lets requests go on that an ended console has in hand", function()
    value(console, 'on.request("Fetch", function() while true do end end)')
    local id = client:request("Fetch", 11, requests.fetch_body(11, { { topic } }))
    console:close()
    assert.equal(0, client:answer("Fetch", 11, id).error_code)
  end)

  it("asks functions of several consoles, until one decides", function()
    local other = console_of.connect(broker.data .. "/console.sock")
    value(console, 'on.request("Fetch", function(r) n = (n or 0) + 1 if r.client_id == "a" then r:fail("UNKNOWN_TOPIC_ID") end end)')
    value(other, 'on.request("Fetch", function(r) n = (n or 0) + 1 r:fail("NOT_LEADER_OR_FOLLOWER") end)')
    local body = requests.fetch_body(11, { { topic } })
    local function code(id) return client:ask("Fetch", 11, body, { client_id = id }).responses[1].partitions[1].error_code end
    assert.same({ 100, 6 }, { code "a", code "b" })
    assert.same({ 2, 1 }, { value(console, "n"), value(other, "n") })
    other:close()
  end)

  it("does not see what consoles ask for", function()
    value(console, 'on.request("Metadata", function(r) r:fail("UNKNOWN_SERVER_ERROR") end)')
    assert.equal(topic.name, value(console, ('topics "%s"'):format(topic.name))[1].name)
  end)

  it("says what is wrong with its arguments", function()
    for source, message in pairs {
      ['on.request("Fech", print)'] = 'on.request: there is no request "Fech", did you mean "Fetch"?',
      ["on.request(1, print)"] = 'on.request: got 1, expected the name of a request: "Fetch"',
      ['on.request("Fetch")'] = 'on.request: got nil, expected a function: on.request("Fetch", function(request) request:delay(200) end)',
      ["trace({})"] = 'trace: got a table, expected a part of a client id, or seconds: trace "rdkafka"',
      ['off "Nothing"'] = 'off: there is no request "Nothing": requests() lists those that came',
      ['policies "nobody"'] = 'policies: no function is called "nobody"; policies() lists them',
    } do
      assert.equal(message, console:eval(source).error)
    end
  end)

  it("stops with the broker: what is delayed goes on, what is dropped is closed", function()
    local stopped = brokers.start { set = { "workers=2" } }
    local one, other = stopped:connect(), stopped:connect()
    local its = console_of.connect(stopped.data .. "/console.sock")
    value(its, [[on.request("Metadata", function(r) if r.client_id == "drop" then r:drop() else r:delay(600000) end end)]])
    local id = one:request("Metadata", 9, { topics = {} })
    other:request("Metadata", 9, { topics = {} }, { client_id = "drop" })
    wait_until("both are seen", function() return row_of(its, "Metadata").calls == 2 end)
    local status = stopped:stop()
    assert.equal(0, status)
    assert.is_table(one:answer("Metadata", 9, id))
    assert.equal("", other:receive_end())
    one:close()
    other:close()
    its:close()
  end)
end)

describe("the help", function()
  it("has examples of words about requests that work", function()
    local broker = brokers.start()
    local console = console_of.connect(broker.data .. "/console.sock")
    for _, entry in ipairs(require("luka.words.probes").entries) do value(console, entry.example) end
    console:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("trace", function()
  local broker, client, console, topic

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    topic = requests.create(client, "traced")
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)
  before_each(function() console = console_of.connect(broker.data .. "/console.sock") end)
  after_each(function() console:close() end)

  --- Prints until some text, or each of several, was printed, then ends with an interrupt.
  local function traced(source, act, last)
    local id, printed = console:start(source), ""
    wait_until("it is shown", function()
      act()
      local frame = console:receive(20)
      while frame do
        printed = printed .. (frame.text or "") .. "\n"
        frame = console:receive(20)
      end
      for _, text in ipairs(type(last) == "table" and last or { last }) do
        if not printed:find(text, 1, true) then return false end
      end
      return true
    end)
    console:send { op = "interrupt", id = id }
    local done = console:finish(id)
    assert.equal("interrupted", done.code)
    return printed
  end

  it("shows what a client asks for and is answered, until it is interrupted", function()
    local printed = traced('trace "alice"', function()
      client:ask("Fetch", 13, requests.fetch_body(13, { { topic, { { partition = 0 }, { partition = 9 } } } }), { client_id = "alice" })
      client:ask("Metadata", 9, { topics = {} }, { client_id = "bob" })
    end, "gets")
    assert.matches("alice 127%.0%.0%.1:%d+ Fetch v13 #%d+ asks, %d+ bytes: traced%[0,9%]\n", printed)
    assert.matches("alice 127%.0%.0%.1:%d+ Fetch v13 #%d+ gets %d+ bytes after %d+%.?%d* ms UNKNOWN_TOPIC_OR_PARTITION\n", printed)
    assert.is_nil(printed:find("bob", 1, true))
  end)

  it("knows the client of a Fetch that has waited for records", function()
    local printed = traced('trace "waits"', function()
      client:ask("Fetch", 11, requests.fetch_body(11, { { topic } }, { max_wait_ms = 10, min_bytes = 1 }), { client_id = "waits" })
    end, "gets")
    assert.matches("waits 127%.0%.0%.1:%d+ Fetch v11 #%d+ gets", printed)
  end)

  it("shows the topics of a Produce, by name and by id", function()
    local printed = traced('trace "maker"', function()
      for _, version in ipairs { 9, 13 } do
        client:ask("Produce", version, requests.produce_body(version, { { topic, { { 0, records.batch { records = { "x" } } } } } }),
          { client_id = "maker" })
      end
    end, { "v9 ", "v13 " })
    assert.matches("Produce v9 #%d+ asks, %d+ bytes: traced%[0%]\n", printed)
    assert.matches("Produce v13 #%d+ asks, %d+ bytes: traced%[0%]\n", printed)
  end)

  it("ends after the seconds given", function()
    local result = console:eval 'trace("nobody", 0.1)'
    assert.same({ true, "" }, { result.ok, result.printed })
  end)

  it("ends with its console, and costs nothing afterwards", function()
    console:start 'trace()'
    console:close()
    local other = console_of.connect(broker.data .. "/console.sock")
    assert.is_true(other:eval('for _ = 1, 17 do trace("x", 0.1) end').ok)
    other:close()
  end)
end)

describe("on.request of the configuration", function()
  local CONFIG = [[
broker { workers = 2 }
topic "plain" { partitions = 1, segment_ms = hours(0.5), transform = function(record) return record end,
  retention = function(segment) return false end }
local seen = 0
on.request("Fetch", function(request)
  seen = seen + 1
  if request.client_id == "hostile" then while true do end end
  if request.client_id == "raises" then error "no" end
  request:fail("NOT_LEADER_OR_FOLLOWER")
end)
]]
  local broker, client, console, topic

  setup(function()
    broker = reload.start(CONFIG)
    client = broker:connect()
    console = console_of.connect(broker.data .. "/console.sock")
    topic = requests.find(client, "plain")
  end)
  teardown(function()
    client:close()
    console:close()
    assert.equal(0, broker:stop())
  end)

  local function code(id)
    return client:ask("Fetch", 11, requests.fetch_body(11, { { topic } }), { client_id = id }).responses[1].partitions[1].error_code
  end

  it("decides on requests; one that fails or takes long leaves them alone", function()
    assert.same({ 6, 0, 0 }, { code "a", code "raises", code "hostile" })
    local row = row_of(console, "Fetch")
    assert.same({ "request", 3, 2, "config.lua:5" }, { row.kind, row.calls, row.errors, row.file:match "[^/]+$" })
    assert.matches("config%.lua:7: took longer than 50 ms", row.last_error)
    assert.is_true(math.abs(row.last_error_time / 1000 - os.time()) < 60)
    assert.matches("config%.lua:8: no", broker:log())
  end)

  it("is shown, with its counts", function()
    assert.equal("on.request \"Fetch\"", value(console, 'policies "Fetch"').label)
    assert.is_number(value(console, 'metrics "policy.request"')["policy.request.Fetch:5.calls"])
    local shown = value(console, 'topic "plain"').policies
    assert.matches("/config%.lua:2$", shown.transform)
    assert.matches("/config%.lua:3$", shown.retention)
    local hash = console:eval("policies()").printed:match "^hash (%x+)\n$"
    assert.equal(hash, value(console, "brokers()")[1].policies)
  end)

  it("says in the plan of retention that a function decides", function()
    for age = 5, 1, -2 do
      requests.append(client, topic, records.batch { ts = (os.time() - age * 3600) * 1000, records = { "x" } })
    end
    local plan = value(console, 'topic "plain":retention_plan()')
    assert.same({ "policy", nil }, { plan[1].rule, plan[1].goes })
    assert.matches("^its function retention decides, .*config%.lua:3$", plan[1].why)
    assert.equal("active", plan[#plan].rule)
    local segments = value(console, 'topic "plain":segments()')
    assert.same({ "policy", nil }, { segments[1].retention, segments[#segments].retention })
  end)

  it("is another one after a reload, and gone with the next", function()
    reload.hup(broker, (CONFIG:gsub("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_ID")))
    assert.equal(100, code "a")
    reload.hup(broker, (CONFIG:gsub("on%.request.*", "")))
    assert.equal(0, code "a")
  end)

  it("is refused for a request that there is not", function()
    local lines = reload.hup(broker, 'on.request("Vote", function() end)')
    assert.matches('^reload refused, .*on%.request "Vote": there is no request "Vote"', lines[1])
  end)
end)
