-- SPDX-License-Identifier: Apache-2.0
-- The help of the console's words: complete, and its examples work.
local brokers = require "spec.support.broker"
local support = require "spec.support.words"
local docs = require "luka.words.docs"
local help = require "luka.words.help"
local words = require "luka.words"

--- Words whose example needs more than the protocol: their own specs run it.
local ELSEWHERE = {
  ["topic:logs"] = true, ["topic:segments"] = true, ["topic:retention_plan"] = true, connections = true, metrics = true,
  requests = true, rates = true, compaction = true, on = true, off = true, trace = true,
  reload = true, stop = true,
}

describe("the help", function()
  local broker, session

  setup(function() broker = brokers.start() end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() session = support.session(broker) end)

  local groups = {}
  for _, group in ipairs(help.GROUPS) do groups[group] = true end

  for _, entry in ipairs(words.help().entries) do
    it(("of %s is whole"):format(entry.name), function()
      assert.is_true(groups[entry.group])
      assert.matches("%.$", entry.text)
      assert.is_true(#entry.text <= 60, "one line of a terminal, behind the word")
      for _, key in ipairs { "usage", "example", "type" } do assert.is_string(entry[key], key) end
    end)

    if not ELSEWHERE[entry.name] then
      it(("of %s has an example that works"):format(entry.name), function()
        for _, topic in ipairs(session.context.admin.topics()) do session.context.admin.delete_topic(topic.name) end
        if entry.setup then session:run(entry.setup) end
        session:stream(entry.example)
      end)
    end
  end

  it("has every word, and every method of topics", function()
    for name in pairs(session.words) do assert.is_table(words.help():find(name), name) end
    for _, kind in ipairs { "topic", "group" } do
      for method in pairs(session.context[kind .. "_methods"]) do
        assert.is_table(words.help():find(kind .. ":" .. method), method)
      end
    end
  end)

  it("has no word that there is not", function()
    for _, entry in ipairs(words.help().entries) do
      local kind, method = entry.name:match "^(%l+):(.*)"
      assert.is_true(entry.name == "print" or session.words[entry.name] ~= nil
        or kind ~= nil and session.context[kind .. "_methods"][method] ~= nil, entry.name)
    end
  end)

  it("lists all words", function()
    local shown = session:view "help()"
    assert.same({ "word", "text" }, shown.columns)
    assert.equal(#words.help().entries, #shown.rows)
    assert.equal("topics", shown.rows[1].word)
  end)

  it("shows one word, by name or by itself", function()
    for _, line in ipairs { 'help "topics"', "help(topics)", 'help "topics()"' } do
      session.printed = {}
      session:run(line)
      assert.matches("^topics%(%[part of a name%]%)\n  All topics: .*\nFor example:\n  topics%(%)$", session.printed[1])
    end
  end)

  it("shows a method, and with topic all of them", function()
    session:run 'help "set"'
    session:run 'help "topic:set"'
    session:run 'help "topic.set"'
    assert.equal(session.printed[1], session.printed[2])
    assert.equal(session.printed[1], session.printed[3])
    assert.equal("topic:describe", session:view('help "topic"').rows[1].word)
  end)

  it("shows a config, as luka help does, also in Kafka's spelling", function()
    session:run 'help "retention_ms"'
    session:run 'help "retention.ms"'
    assert.matches("\nretention_ms of a topic, Kafka's retention%.ms\n  How long closed segments", session.printed[1])
    assert.equal(session.printed[1], session.printed[2])
    assert.not_matches("\n$", session.printed[1])
  end)

  it("tells of a word of config.lua", function()
    session:run 'help "hook"'
    assert.equal('hook("topic.create", function), a word of config.lua\n  a function that is asked before, or told after, '
      .. "something happens", session.printed[1]:match "^[^\n]*\n[^\n]*")
    assert.matches("\n  asked before: client.authorize, [^\n]*topic.delete\n  told after: broker.down, [^\n]*reload\n",
      session.printed[1])
  end)

  it("tells what the function of a hook gets", function()
    session:run 'help "partitions.create"'
    assert.matches("request has: name, partitions%*, [^\n]* %(%* may be changed%)$", session.printed[1])
  end)

  it("tells of a hook that is called as a word of the console, too", function()
    session:run 'help "topic.delete"'
    assert.matches('^topic "name":delete%(%)\n', session.printed[1])
    assert.equal('\nhook("topic.delete", function(request) ... end), a word of config.lua\n  A topic is to be deleted. The '
      .. "function is asked before, and may reject it.\n  request has: name, partitions, client_id, principal, address",
      session.printed[2])
  end)

  it("shows a config of groups, with the broker's default", function()
    session:run 'help "consumer.session.timeout.ms"'
    assert.equal([[
consumer_session_timeout_ms of a group, Kafka's consumer.session.timeout.ms
  How long a member of a consumer group may be silent before it is taken out.
  takes      a whole number of ms from 1 to 2147483647
  default    seconds(45), or group_consumer_session_timeout_ms of broker
  new value  when a client sets it
  example    admin.alter_configs("group", "orders", { set = { consumer_session_timeout_ms = seconds(45) } })]],
      session.printed[1])
    session:run 'help "share_isolation_level"'
    assert.matches("Without effect yet: it belongs to share groups.", session.printed[2], 1, true)
    assert.equal('help: there is no word "consumer_sesion_timeout_ms", did you mean "consumer_session_timeout_ms"?',
      (session:refusal 'help "consumer_sesion_timeout_ms"'))
  end)

  it("has examples of configs of groups that are right", function()
    for _, key in ipairs { "consumer_session_timeout_ms", "consumer_heartbeat_interval_ms", "consumer_assignment_interval_ms" } do
      session:run(('help "%s"'):format(key))
      session:run((session.printed[#session.printed]:match "example +([^\n]+)"))
      assert.same({ "group" }, { session:run(('admin.describe_configs("group", "orders", { keys = { "%s" } })[1].source'):format(key)) })
    end
  end)

  it("knows the units", function()
    for _, name in ipairs { "hours", "MiB", "units" } do session:run(('help "%s"'):format(name)) end
    assert.equal(session.printed[1], session.printed[3])
  end)

  it("is no longer than a terminal is wide", function()
    for _, entry in ipairs(words.help().entries) do
      for line in help.page(entry):gmatch "[^\n]+" do
        assert.is_true(#line <= 120, line)
      end
    end
  end)

  it("knows what may have been meant", function()
    assert.equal('help: there is no word "topisc", did you mean "topics"?', (session:refusal 'help "topisc"'))
    assert.equal('help: there is no word "retention_mss", did you mean "retention_ms"?', (session:refusal 'help "retention_mss"'))
    assert.equal('help: there is no word "zzzzzz": help() lists them', (session:refusal 'help "zzzzzz"'))
    assert.equal('help: no word of the console is meant; write help "topic"', (session:refusal "help(3)"))
  end)

  it("makes docs/console.md and the types", function()
    local text, types = docs.markdown(), docs.types()
    for _, entry in ipairs(words.help().entries) do
      assert.truthy(text:find("### `" .. entry.usage .. "`", 1, true), entry.name)
      assert.truthy(types:find(entry.type, 1, true), entry.name)
    end
    assert.truthy(loadstring(types))
  end)
end)

describe("completion", function()
  local complete = require "luka.words.complete"
  local broker, session

  setup(function()
    broker = brokers.start()
    session = support.session(broker)
    session.words.create "clicks"
    session.words.create "clocks"
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  local function names(kind, prefix) return complete.names(session.context, kind, prefix) end

  it("offers topics", function()
    assert.same({ "clicks", "clocks" }, names("topic", "cl"))
    assert.same({ "clocks" }, names("topic", "clo"))
    assert.same({}, names("topic", "x"))
  end)

  it("offers configs", function()
    assert.same({ "retention_bytes", "retention_ms" }, names("config", "retention"))
    assert.same({ "partitions", "preallocate" }, names("create", "p"))
  end)

  it("offers methods, words and options", function()
    assert.same({ "delete", "delete_records", "describe" }, names("method", "de"))
    assert.same({ "topic", "topics" }, names("word", "topic"))
    assert.same({ "set", "unset" }, { names("help", "set")[1], names("help", "unset")[1] })
    assert.same({ "partitions" }, names("help", "part"))
    assert.same({ "filter", "from" }, names("reading", "f"))
    assert.same({ "key" }, names("record", "k"))
  end)

  it("offers nothing of a kind that there is not", function() assert.same({}, names("nonsense", "")) end)
end)
