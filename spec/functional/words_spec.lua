-- SPDX-License-Identifier: Apache-2.0
-- The words of the console against a broker: what they show, and what they say when they are misused.
local admins = require "spec.support.admin"
local brokers = require "spec.support.broker"
local support = require "spec.support.words"

describe("words", function()
  local broker, session
  local count = 0

  setup(function()
    broker = brokers.start { set = { "num_partitions=2" } }
    support.session(broker).words.create "nearest"
  end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() session = support.session(broker) end)

  --- A new topic; its name.
  local function create(options)
    count = count + 1
    local name = ("topic%d"):format(count)
    session.words.create(name, options)
    return name
  end

  --- Lines that must fail, with their sentences; %s is the topic.
  local function refuses(name, cases)
    for line, sentence in pairs(cases) do
      line, sentence = line:gsub("TOPIC", name), sentence:gsub("TOPIC", name)
      assert.equal(sentence, (session:refusal(line)), line)
    end
  end

  describe("topics", function()
    it("lists name, partitions, records, size and set configs", function()
      local name = create { partitions = 3, retention_ms = -1 }
      session:run(('produce("%s", { "a", "b" })'):format(name))
      local shown = session:view(('topics "%s"'):format(name))
      assert.same({ "name", "partitions", "records", "size_bytes", "configs" }, shown.columns)
      local row = shown.rows[1]
      assert.same({ name = name, partitions = 3, records = 2, size_bytes = row.size_bytes, configs = 1 }, row)
      assert.is_true(row.size_bytes > 130)
    end)

    it("says that partitions are offline and not counted", function()
      local name = create { partitions = 3 }
      session:run(('produce("%s", { "a", "b", "c" })'):format(name))
      local call = session.context.admin.call
      function session.context.admin.call(api, body)
        local answer = call(api, body)
        if api == "ListOffsets" then
          local part = answer.topics[1].partitions[2]
          part.error_code, part.offset = 56, -1
        end
        return answer
      end
      assert.equal(2, session:run(('topics "%s"'):format(name))[1].records)
      assert.equal(2, session:view(('topic "%s"'):format(name)).value.records)
      local note = "1 partition is offline, and not counted: log_dirs() says more"
      assert.same({ note, note }, session.printed)
    end)

    it("is a list for programs", function()
      local name = create()
      session:run 'for _, t in ipairs(topics()) do print(t.name, t.records) end'
      assert.matches(name .. "\t0", table.concat(session.printed, "\n"), 1, true)
    end)

    it("is printed as a table, and with other values as Lua does", function()
      local name = create()
      session.shown = {}
      session:run(('print(topics "%s")'):format(name))
      assert.same({ "list", name }, { session.shown[1].kind, session.shown[1].rows[1].name })
      session:run 'print("are", { 1 })'
      assert.matches("^are\ttable: 0x", session.printed[#session.printed])
    end)

    it("is empty where nothing has the name", function() assert.same({}, session:view('topics "nothing has this"').rows) end)

    it("wants a part of a name", function()
      refuses("", { ["topics(3)"] = 'topics: got 3, expected a part of a name: "clicks"' })
    end)
  end)

  describe("create", function()
    it("gives the topic, which is shown", function()
      local shown = session:view 'create("created", { partitions = 4, retention_ms = hours(1) })'
      assert.equal("record", shown.kind)
      assert.same({ name = "created", id = shown.value.id, partitions = 4, replication_factor = 1, records = 0,
        size_bytes = 0, configs = { retention_ms = 3600000 } }, shown.value)
    end)

    it("says what is wrong and what is allowed", function()
      refuses(create(), {
        ["create()"] = 'create: got nil, expected the name of a topic: "clicks"',
        ['create "TOPIC"'] = "Topic 'TOPIC' already exists.",
        ['create("x", { retenton_ms = 1 })'] = "there is no topic config retenton_ms, did you mean retention_ms?",
        ['create("x", { ["retention.m"] = 1 })'] = "there is no topic config retention_m, did you mean retention_ms?",
        ['create("x", { retention = 1 })'] = "there is no topic config retention, did you mean retention_ms?",
        ['create("x", { partition = 1 })'] = "there is no topic config partition, did you mean partitions?",
        ['create("x", { replication = 1 })'] = "there is no topic config replication, did you mean replication_factor?",
        ['create("x", { zzzzzzz = 1 })'] = "there is no topic config zzzzzzz",
        ['create("x", { retention_ms = "soon" })'] = "retention_ms: got soon, expected a whole number",
        ['create("x", { retention_ms = "7d" })'] = "retention_ms: got 7d, expected a whole number; write days(7)",
        ['create("x", { segment_bytes = "1GB" })'] = "segment_bytes: got 1GB, expected a whole number; write 1 * GiB",
        ['create("x", { segment_bytes = 1 })'] = "segment_bytes: got 1, expected at least 1048576",
        ['create("x", { cleanup_policy = "zip" })'] = "cleanup_policy: got zip, expected one of compact, delete",
        ['create("x", { preallocate = "maybe" })'] = "preallocate: got maybe, expected true or false",
        ['create("x", { retention_ms = print })'] = "create: retention_ms: got a function, expected a string, a number, "
          .. "a boolean or a list of those",
        ['create("x", { partitions = 0 })'] = "create: partitions: got 0, expected a whole number from 1 to 2147483647",
        ['create "called" { partitions = 3 }'] =
          'options go behind the name, create("clicks", { partitions = 3 }), configs to topic "clicks":set { ... }',
        ['create("x", 3)'] = "create: got 3, expected a table of options",
        ['create("a b")'] = "Topic name is invalid: 'a b' contains one or more characters other than ASCII "
          .. "alphanumerics, '.', '_' and '-'",
      })
    end)
  end)

  describe("topic", function()
    it("is shown as it is now", function()
      local name = create()
      session.env.kept = session:run(('topic "%s"'):format(name))
      assert.equal(0, session:view("kept").value.records)
      session:run(('produce("%s", "x")'):format(name))
      assert.equal(1, session:view("kept").value.records)
    end)

    it("has a name, and is written as it is made", function()
      local name = create()
      assert.equal(name, session:run(('topic "%s".name'):format(name)))
      assert.equal(('topic "%s"'):format(name), session:run(('tostring(topic "%s")'):format(name)))
      assert.equal(name, session:run(('topic(topic "%s").name'):format(name)))
    end)

    it("that there is not is said with the nearest", function()
      refuses("", {
        ['topic "naerest"'] = 'there is no topic "naerest", did you mean "nearest"?',
        ['topic "zzzzzz"'] = 'there is no topic "zzzzzz": topics() lists them',
        ["topic()"] = 'topic: got nil, expected the name of a topic: "clicks"',
        ["topic {}"] = 'topic: got a table, expected the name of a topic: "clicks"',
      })
    end)

    it("says what its methods are", function()
      refuses(create(), {
        ['topic "TOPIC":confgs()'] = "topics have no method confgs, did you mean configs?",
        ['topic "TOPIC".configs()'] = 'topic:configs is called with a colon: topic "name":configs(...)',
        ['topic "TOPIC".set { retention_ms = 1 }'] = 'topic:set is called with a colon: topic "name":set(...)',
        ['rawset == nil or (function() topic "TOPIC".x = 1 end)()'] =
          "topics are changed with set: set { retention_ms = hours(1) }",
      })
      assert.matches("^topics have no method xxxxxxxxx: add_partitions, configs, ",
        (session:refusal(('topic "%s":xxxxxxxxx()'):format(create()))))
    end)

    it("that was deleted says so", function()
      local name = create()
      session.env.kept = session:run(('topic "%s"'):format(name))
      session:run(('topic "%s":delete()'):format(name))
      assert.matches(('^there is no topic "%s"'):format(name), (session:refusal "kept:partitions()"))
    end)
  end)

  describe("partitions", function()
    it("of a topic have offsets, size and directory", function()
      local name = create()
      session:run(('produce("%s", { { value = "a", partition = 1 }, { value = "b", partition = 1 } })'):format(name))
      session:run(('topic "%s":delete_records { [1] = 1 }'):format(name))
      local shown = session:view(('topic "%s":partitions()'):format(name))
      local row = shown.rows[2]
      assert.same({ partition = 1, leader = 1, replicas = { 1 }, isr = { 1 }, first_offset = 1, next_offset = 2,
        size_bytes = row.size_bytes, log_dir = broker.data }, row)
    end)

    it("of all topics have the topic's name", function()
      local name = create()
      local shown = session:view(('partitions "%s"'):format(name))
      assert.equal("topic", shown.columns[1])
      assert.same({ name, name }, { shown.rows[1].topic, shown.rows[2].topic })
      assert.is_true(#session:view("partitions()").rows > 2)
      refuses("", { ["partitions {}"] = 'partitions: got a table, expected a part of a topic\'s name: "clicks"' })
    end)
  end)

  describe("configs", function()
    it("come with those that were set first, and what numbers mean", function()
      local name = create { segment_bytes = 64 * 2 ^ 20 }
      local shown = session:view(('topic "%s":configs()'):format(name))
      assert.same({ name = "segment_bytes", value = 64 * 2 ^ 20, meaning = "64 MiB", source = "topic" }, shown.rows[1])
      local by_name = {}
      for _, row in ipairs(shown.rows) do by_name[row.name] = row end
      assert.same({ name = "retention_ms", value = 604800000, meaning = "7 days", source = "default" }, by_name.retention_ms)
      assert.equal("no limit", by_name.retention_bytes.meaning)
    end)

    it("of a part of a name come with what they do", function()
      local shown = session:view(('topic "%s":configs "retention"'):format(create()))
      for _, row in ipairs(shown.rows) do
        assert.matches("retention", row.name)
        assert.is_string(row.text)
      end
      refuses(create(), {
        ['topic "TOPIC":configs "retenton"'] = "there is no topic config retenton",
        ['topic "TOPIC":configs "retenton_ms"'] = "there is no topic config retenton_ms, did you mean retention_ms?",
        ['topic "TOPIC":configs(3)'] = 'configs: got 3, expected a part of a key: "retention"',
      })
    end)

    it("are set, and shown as they were and are", function()
      local shown = session:view(('topic "%s":set { retention_ms = hours(2), ["segment.bytes"] = 2 * MiB }'):format(create()))
      assert.same({ { name = "retention_ms", before = 604800000, value = 7200000, meaning = "2 hours" },
        { name = "segment_bytes", before = 1073741824, value = 2097152, meaning = "2 MiB" } }, shown.rows)
    end)

    it("that only Luka has are set, too", function()
      local shown = session:view(('topic "%s":set { luka_partitioner = "murmur2" }'):format(create()))
      assert.same({ { name = "luka_partitioner", value = "murmur2" } }, shown.rows)
    end)

    it("are unset", function()
      local name = create { retention_ms = 1000, segment_bytes = 2 ^ 21 }
      local shown = session:view(('topic "%s":unset("retention_ms", "segment.bytes")'):format(name))
      assert.same({ 604800000, 1073741824 }, { shown.rows[1].value, shown.rows[2].value })
    end)

    it("are refused with what is allowed", function()
      refuses(create(), {
        ['topic "TOPIC":set { retenton_ms = 1 }'] = "there is no topic config retenton_ms, did you mean retention_ms?",
        ['topic "TOPIC":set { luka_partitoner = "murmur2" }'] = "there is no topic config luka_partitoner, did you mean "
          .. "luka_partitioner?",
        ['topic "TOPIC":set { retention_ms = -7 }'] = "retention_ms: got -7, expected at least -1",
        ['topic "TOPIC":set { retention_ms = print }'] = "set: retention_ms: got a function, expected a string, a number, "
          .. "a boolean or a list of those",
        ['topic "TOPIC":set { retention_ms = 2^60 }'] = "set: retention_ms: got 1.1529215046068e+18, is 2^53 or more, "
          .. "where Lua numbers are not exact; write it as a string, or with LL behind it",
        ['topic "TOPIC":set {}'] = "set: got a table, expected configs: { retention_ms = hours(1) }",
        ['topic "TOPIC":set { 1 }'] = "set: got 1, expected key = value: { retention_ms = hours(1) }",
        ['topic "TOPIC":unset "retenton_ms"'] = "there is no topic config retenton_ms, did you mean retention_ms?",
        ['topic "TOPIC":unset()'] = 'unset: got nil, expected keys: unset "retention_ms"',
        ['topic "TOPIC":unset { retention_ms = true }'] = 'unset: got a table, expected keys: unset "retention_ms"',
        ['topic "TOPIC":unset(3)'] = 'unset: got 3, expected a key: "retention_ms"',
      })
    end)
  end)

  describe("add_partitions", function()
    it("says how many there are then", function()
      local name = create()
      local shown = session:view(('topic "%s":add_partitions(3)'):format(name))
      assert.same({ name = name, added = 3, partitions = 5 }, shown.value)
    end)

    it("wants to know how many", function()
      refuses(create(), {
        ['topic "TOPIC":add_partitions()'] = "add_partitions: got nil, expected a whole number from 1 to 2147483647",
        ['topic "TOPIC":add_partitions(0)'] = "add_partitions: got 0, expected a whole number from 1 to 2147483647",
      })
    end)
  end)

  describe("delete", function()
    it("asks, and deletes", function()
      local name = create()
      session:run(('produce("%s", "x")'):format(name))
      session:run(('topic "%s":delete()'):format(name))
      assert.matches(('^Delete topic "%s" with 2 partitions and 1 record %%(%%d+ bytes%%)%%?$'):format(name), session.asked[1])
      assert.same({ ('topic "%s" is deleted'):format(name) }, session.printed)
      assert.same({}, session:view(('topics "%s"'):format(name .. "\0")).rows)
      assert.matches("^there is no topic", (session:refusal(('topic "%s"'):format(name))))
    end)

    it("deletes nothing when the answer is no", function()
      local name = create()
      session.says_yes = false
      session:run(('topic "%s":delete()'):format(name))
      assert.same({ "nothing was deleted" }, session.printed)
      assert.equal(name, session:run(('topic "%s".name'):format(name)))
    end)
  end)

  describe("delete_records", function()
    it("asks, and deletes up to an offset", function()
      local name = create()
      session:run(('for i = 1, 10 do produce("%s", { value = "x", partition = 0 }) end'):format(name))
      local shown = session:view(('topic "%s":delete_records { [0] = 4 }'):format(name))
      assert.same({ ('Delete 4 records of topic "%s"?'):format(name) }, session.asked)
      assert.same({ { partition = 0, first_offset = 4 } }, shown.rows)
      shown = session:view(('topic "%s":delete_records "all"'):format(name))
      assert.same({ { partition = 0, first_offset = 10 }, { partition = 1, first_offset = 0 } }, shown.rows)
      session:run(('topic "%s":delete_records "all"'):format(name))
      assert.same({ "there are no records before that" }, session.printed)
      assert.equal(2, #session.asked)
    end)

    it("deletes nothing when the answer is no", function()
      local name = create()
      session:run(('produce("%s", "x")'):format(name))
      session.says_yes = false
      session:run(('topic "%s":delete_records "all"'):format(name))
      assert.same({ "nothing was deleted" }, session.printed)
      assert.equal(1, session:view(('topic "%s"'):format(name)).value.records)
    end)

    it("refuses before it asks", function()
      refuses(create(), {
        ['topic "TOPIC":delete_records()'] = 'delete_records: got nil, expected "all", or offsets by partition: { [0] = 42 }',
        ['topic "TOPIC":delete_records(7)'] = 'delete_records: got 7, expected "all", or offsets by partition: { [0] = 42 }',
        ['topic "TOPIC":delete_records { [7] = 1 }'] = 'topic "TOPIC" has no partition 7, only 0 to 1',
        ['topic "TOPIC":delete_records { [0] = 18446744073709551615ULL }'] =
          "delete_records: got 18446744073709551615ULL, expected a whole number from 0 to 9223372036854775807",
        ['topic "TOPIC":delete_records { [0] = 9223372036854775807ULL }'] =
          "delete_records: partition 0 ends before 9223372036854775807: at most 0",
        ['topic "TOPIC":delete_records { [0] = 1 }'] = "delete_records: partition 0 ends before 1: at most 0",
        ['topic "TOPIC":delete_records { [0] = -1 }'] =
          "delete_records: got -1, expected a whole number from 0 to 9007199254740992",
      })
      assert.same({}, session.asked)
    end)
  end)

  describe("produce", function()
    it("shows where a record went", function()
      local shown = session:view(('produce("%s", { key = "a", value = "b" })'):format(create { partitions = 1 }))
      assert.same({ kind = "record", fields = { "partition", "offset" }, value = { partition = 0, offset = 0 } }, shown)
    end)

    it("shows where many records went", function()
      local shown = session:view(('produce("%s", { "a", "b", "c" })'):format(create()))
      assert.same({ { partition = 0, records = 2, first_offset = 0, last_offset = 1 },
        { partition = 1, records = 1, first_offset = 0, last_offset = 0 } }, shown.rows)
    end)

    it("refuses what is no record", function()
      refuses(create(), {
        ['produce("TOPIC")'] = 'produce: got nil, expected a record: { key = "a", value = "b" }',
        ['produce("TOPIC", { vlaue = 1 })'] =
          'produce: a record has no field "vlaue", only key, value, headers, timestamp and partition',
        ['produce("TOPIC", "x", { partition = 9 })'] = 'produce: topic "TOPIC" has no partition 9, only 0 to 1',
        ['produce("TOPIC", "x", { compression = "zip" })'] =
          'produce: compression: got "zip", expected one of "gzip", "lz4", "none", "snappy", "zstd"',
        ['produce("naerest", "x")'] = 'there is no topic "naerest", did you mean "nearest"?',
        ['produce(nil, "x")'] = 'produce: got nil, expected the name of a topic: "clicks"',
      })
    end)
  end)

  describe("records", function()
    local name

    before_each(function()
      name = create { partitions = 2, retention_ms = -1 }
      session:run(([[produce("%s", {
        { key = "a", value = "1", partition = 0, timestamp = 1000, headers = { h = "x" } },
        { key = "b", value = "2", partition = 0, timestamp = 2000 },
        { key = "a", value = "3", partition = 1 },
        { key = "c", value = "\255", partition = 1 } })]]):format(name))
    end)

    --- Values of records("topic", options).
    local function values(options)
      local out = {}
      for i, record in ipairs(session:run(('records("%s", { %s })'):format(name, options))) do out[i] = record.value end
      return out
    end

    it("gives those that are there, shown as a list", function()
      local shown = session:view(('records "%s"'):format(name))
      assert.same({ "partition", "offset", "timestamp", "key", "value", "headers" }, shown.columns)
      assert.same({ partition = 0, offset = 0, timestamp = 1000, key = "a", value = "1", headers = { h = "x" } }, shown.rows[1])
      assert.equal("\\xff", shown.rows[4].value)
      assert.equal(4, #shown.rows)
    end)

    it("begins where it is told", function()
      assert.same({ "1", "2", "3", "\255" }, values 'from = "earliest"')
      assert.same({}, values 'from = "latest"')
      assert.same({ "2", "\255" }, values "from = 1")
      assert.same({ "2" }, values "from = { [0] = 1 }")
      assert.same({ "3", "\255" }, values 'from = "1h"')
      assert.same({ "3", "\255" }, values 'from = "90 minutes"')
      assert.same({}, values 'from = "0ms"')
      assert.same({ "3", "\255" }, values "ago = hours(1)")
    end)

    it("takes what is wanted", function()
      assert.same({ "1", "3" }, values 'key = "a"')
      assert.same({ "3", "\255" }, values "partition = 1")
      assert.same({ "1", "2" }, values "partitions = { 0 }")
      assert.same({ "1", "2" }, values "partitions = { 0, 0 }")
      assert.same({ "1", "2", "3" }, values "count = 3")
      assert.same({ "2" }, values 'filter = function(r) return r.key == "b" end')
      assert.same({ "1" }, values "filter = function(r) return r.headers and r.headers.h end")
      session.words.produce(name, { key = "\0\0\0\1", value = "binary key", partition = 0 })
      assert.same({ "binary key" }, values [[key = "\0\0\0\1"]])
    end)

    it("refuses what cannot be", function()
      refuses(name, {
        ['records("TOPIC", { form = 1 })'] = 'records: there is no option "form", did you mean from?',
        ['records("TOPIC", { from = "yesterday" })'] = 'records: from: got "yesterday", expected "earliest", "latest", an '
          .. 'offset, offsets by partition ({ [0] = 42 }) or a time ago ("1h")',
        ['records("TOPIC", { from = "3 months" })'] = 'records: from: got "3 months", expected "earliest", "latest", an '
          .. 'offset, offsets by partition ({ [0] = 42 }) or a time ago ("1h")',
        ['records("TOPIC", { from = 9, partition = 0 })'] =
          'records: topic "TOPIC" partition 0 has no offset 9, it has 0 to 1',
        ['records("TOPIC", { partition = 2 })'] = 'records: topic "TOPIC" has no partition 2, only 0 to 1',
        ['records("TOPIC", { partition = 0, partitions = { 1 } })'] =
          "records: partition and partitions are given, one is enough",
        ['records("TOPIC", { from = 1, ago = 1 })'] = "records: from and ago are given, one is enough",
        ['records("TOPIC", { filter = 1 })'] =
          'records: filter: got 1, expected a function: function(r) return r.key == "a" end',
        ['records("TOPIC", { count = 0 })'] = "records: count: got 0, expected a whole number from 1 to 9007199254740992",
        ['records "naerest"'] = 'there is no topic "naerest", did you mean "nearest"?',
      })
    end)

    it("passes on what a filter raises", function()
      local ok, err = pcall(session.run, session, ('records("%s", { filter = function() error "mine" end })'):format(name))
      assert.is_false(ok)
      assert.matches(":1: mine$", err)
    end)

    it("have headers by name where that says all of them, otherwise as a list that can be written again", function()
      local from, to = create { partitions = 1 }, create { partitions = 1 }
      local headers = {
        { { key = "a", value = "1" }, { key = "b", value = "" } },
        { { key = "a", value = "1" }, { key = "a", value = "2" } },
        { { key = "a" }, { key = "b", value = "\255" } },
      }
      for _, list in ipairs(headers) do session.words.produce(from, { value = "v", headers = list }) end
      session.words.produce(to, session.words.records(from, { count = 3 }))
      local read = session.words.records(to, { count = 3 })
      assert.same({ { a = "1", b = "" }, headers[2], headers[3] }, { read[1].headers, read[2].headers, read[3].headers })
    end)

    it("reads across many batches, compressed too", function()
      local big = create { partitions = 1 }
      session:run(([[for i = 1, 5 do
        local list = {}
        for j = 1, 1000 do list[j] = i .. ":" .. j end
        produce("%s", list, { compression = "zstd" })
      end]]):format(big))
      local list = session:run(('records("%s", { count = 10000 })'):format(big))
      assert.equal(5000, #list)
      assert.same({ "1:1", "5:1000" }, { list[1].value, list[5000].value })
    end)
  end)

  describe("tail", function()
    --- Values of all records that were shown.
    local function values(shown)
      local out = {}
      for _, view in ipairs(shown) do
        for _, row in ipairs(view.rows) do out[#out + 1] = row.value end
      end
      return out
    end

    it("begins with the last records, by time", function()
      local name = create { retention_ms = -1 }
      session:run(([[for i = 1, 30 do
        produce("%s", { value = tostring(i), partition = i %% 2, timestamp = 1000 * i })
      end]]):format(name))
      assert.same({ "21", "22", "23", "24", "25", "26", "27", "28", "29", "30" },
        values(session:stream(('tail "%s"'):format(name))))
      assert.same({ "29", "30" }, values(session:stream(('tail("%s", { count = 2 })'):format(name))))
    end)

    it("shows what comes", function()
      local name = create { partitions = 1 }
      local other = support.session(broker)
      session:run(('produce("%s", "before")'):format(name))
      local shown = {}
      session.context.task.show = function(value)
        for _, row in ipairs(value) do shown[#shown + 1] = row.value end
        if #shown < 4 then other:run(('produce("%s", "after %d")'):format(name, #shown)) end
      end
      session:run(('tail("%s", { count = 4 })'):format(name))
      assert.same({ "before", "after 1", "after 2", "after 3" }, shown)
    end)

    it("shows from where it is told only what is wanted, as many as are wanted", function()
      local name = create()
      session:run(('for i = 1, 9 do produce("%s", { key = "k" .. i %% 3, value = tostring(i), partition = 0 }) end'):format(name))
      assert.same({ "3", "6" }, values(session:stream(('tail("%s", { from = "earliest", key = "k0", count = 2 })'):format(name))))
      assert.same({ "8", "9" }, values(session:stream(('tail("%s", { from = { [0] = 7 } })'):format(name))))
      assert.same({}, values(session:stream(('tail("%s", { from = "latest" })'):format(name), 5, 10)))
    end)

    it("goes on behind what was deleted before it was read, and says so", function()
      local name = create { partitions = 1 }
      local other = support.session(broker)
      session:run(('produce("%s", { "0", "1", "2" })'):format(name))
      local shown = {}
      session.context.task.show = function(value)
        for _, row in ipairs(value) do shown[#shown + 1] = row.value end
        if #shown > 3 then return end
        other:run(('produce("%s", { "3", "4", "5", "6" })'):format(name))
        other:run(('topic "%s":delete_records { [0] = 5 }'):format(name))
      end
      session:run(('tail("%s", { count = 5 })'):format(name))
      assert.same({ "0", "1", "2", "5", "6" }, shown)
      assert.same({ "partition 0: the records from offset 3 on are gone; going on at 5" }, session.printed)
    end)

    it("goes on from the beginning when its topic was made again", function()
      local name = create { partitions = 1 }
      local other = support.session(broker)
      session:run(('produce("%s", { "a", "b", "c" })'):format(name))
      local shown = {}
      session.context.task.show = function(value)
        for _, row in ipairs(value) do shown[#shown + 1] = row.value end
        if #shown > 3 then return end
        other:run(('topic "%s":delete()'):format(name))
        other.words.create(name, { partitions = 1 })
        other:run(('produce("%s", "new")'):format(name))
      end
      session:run(('tail("%s", { count = 4 })'):format(name))
      assert.same({ "a", "b", "c", "new" }, shown)
      assert.same({ "partition 0: there is no offset 3 any more; going on at 0" }, session.printed)
    end)

    it("is told when its topic goes", function()
      local name = create()
      session:run(('produce("%s", "x")'):format(name))
      local other = support.session(broker)
      session.context.task.show = function() other:run(('topic "%s":delete()'):format(name)) end
      assert.matches(('^there is no topic "%s"'):format(name), (session:refusal(('tail "%s"'):format(name))))
    end)

    it("says what is wrong", function()
      refuses(create(), {
        ['tail "naerest"'] = 'there is no topic "naerest", did you mean "nearest"?',
        ["tail()"] = 'tail: got nil, expected the name of a topic: "clicks"',
        ['tail("TOPIC", 3)'] = "tail: got 3, expected a table of options",
      })
    end)
  end)

  it("brokers shows the broker, which is the controller", function()
    assert.same({ { id = 1, host = "127.0.0.1", port = broker.port, is_controller = true } }, session:view("brokers()").rows)
  end)

  it("log_dirs shows state and space", function()
    local row = session:view("log_dirs()").rows[1]
    assert.same({ broker.data, "online", 0 }, { row.path, row.state, row.moving })
    assert.is_true(row.free_bytes > 0 and row.volume_bytes >= row.free_bytes)
  end)

  describe("watch", function()
    it("shows again and again in the same place", function()
      local shown = session:stream("watch(0.1, brokers)", 6)
      assert.equal(3, #shown)
      assert.equal(3, session.cleared)
      assert.equal("list", shown[3].kind)
    end)

    it("wants seconds and a function", function()
      refuses("", {
        ["watch(0, topics)"] = "watch: got 0, expected seconds, from 0.1 to 86400: watch(1, topics)",
        ["watch(0/0, topics)"] = "watch: got nan, expected seconds, from 0.1 to 86400: watch(1, topics)",
        ["watch(topics)"] = "watch: got a function, expected seconds, from 0.1 to 86400: watch(1, topics)",
        ["watch(1)"] = "watch: got nil, expected a function: watch(1, topics)",
      })
    end)
  end)

  it("admin is there, and cannot be changed", function()
    assert.equal("made-by-admin", session:run('admin.create_topic("made-by-admin").name'))
    assert.matches("admin is read%-only", select(2, pcall(session.run, session, "(function() admin.topics = 1 end)()")))
  end)

  it("print takes only texts of __tostring", function()
    local err = admins.refusal(session.words.print, setmetatable({}, { __tostring = function() end }))
    assert.equal("print: __tostring: got nil, expected a string", err.message)
  end)

  it("units are there", function() assert.equal(7 * 86400000 + 1024, session:run "days(7) + KiB") end)

end)
