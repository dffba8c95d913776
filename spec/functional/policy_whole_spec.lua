-- SPDX-License-Identifier: Apache-2.0
-- A batch that is divided among partitions is written as a whole or not at all, and what an idempotent producer has sent
-- behind a refused one is refused as well: clients give the sequences of a refused batch to their next one, as Kafka
-- took none of them.
local brokers = require "spec.support.broker"
local faults = require "spec.support.faults"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local NONE, TIMED_OUT, OUT_OF_ORDER, POLICY_VIOLATION, STORAGE, INVALID_RECORD = 0, 7, 45, 44, 56, 87

-- A record's key is its partition. Two workers: 0 and 1 have different homes, 0 and 2 the same.
local CONFIG = [[
local function divide(record) return tonumber(record.key) end
topic "plain" { partitions = 3, partitioner = divide }
topic "copies" { partitions = 3 }
topic "only" { transform = function(record)
  if record.value == "bad" then reject "it is bad" end
  return record
end }
topic "t" { partitions = 3, partitioner = divide, transform = function(record)
  local value = record.value
  if value == "bad" then reject "it is bad" end
  if value == "error" then error "it failed" end
  if value:find "^slow" then
    local began = now()
    while now() < began + 20 do end
  end
  if value == "twice" then return { record, { value = "copy" } } end
  if value == "emitted" then emit("copies", { value = "emitted" }, 0) end
  return record
end }
topic "stuck" { jit = true, partitions = 3, partitioner = divide, transform = function(record)
  while record.value == "endless" do end
  return record
end }
]]

describe("a batch that is divided", function()
  local broker, client, other
  before_each(function()
    broker = reload.start(CONFIG, { set = { "workers=2" } })
    client, other = broker:connect(), broker:connect()
  end)
  after_each(function()
    client:close()
    other:close()
    assert.equal(0, broker:stop())
  end)

  --- Records of "partition value" each.
  local function list(...)
    local out = {}
    for i, text in ipairs { ... } do
      local key, value = text:match "^(%d) (.*)$"
      out[i] = { key = key, value = value }
    end
    return out
  end
  local function batch(sequence, ...)
    return records.batch { records = list(...), producer_id = sequence and 7, producer_epoch = sequence and 0, sequence = sequence }
  end
  local function send(topic, sequence, ...) return requests.send_produce(client, topic, batch(sequence, ...)) end
  local function code(id) return client:answer("Produce", requests.PRODUCE, id).responses[1].partition_responses[1].error_code end
  local function produce(topic, sequence, ...) return requests.produce(client, topic, batch(sequence, ...)) end
  local function find(name) return requests.find(client, name) end
  local function stored(topic)
    local out = {}
    for i = 0, 2 do out[i + 1] = table.concat(records.values(requests.fetch_to_end(client, topic, 0, i)), " ") end
    return out
  end

  for _, value in ipairs { "bad", "error" } do
    local answered = value == "bad" and INVALID_RECORD or POLICY_VIOLATION
    it("is written nowhere when the transform of one part refuses it: " .. value, function()
      local t = find "t"
      for _, order in ipairs { { "0 a", "1 b", "2 " .. value }, { "0 " .. value, "1 b", "2 c" }, { "0 a", "1 " .. value } } do
        assert.equal(answered, produce(t, nil, unpack(order)).error_code)
      end
      assert.same({ "", "", "" }, stored(t))
      assert.equal(NONE, produce(t, nil, "0 a", "1 b", "2 c").error_code)
      assert.same({ "a", "b", "c" }, stored(t))
    end)
  end

  it("is told of the rejected records of all parts", function()
    local answer = produce(find "t", nil, "0 a", "1 bad", "2 bad", "1 b", "0 bad")
    local seen = {}
    for i, one in ipairs(answer.record_errors) do seen[i] = { one.batch_index, one.batch_index_error_message } end
    assert.same({ { 1, "it is bad" }, { 2, "it is bad" }, { 4, "it is bad" } }, seen)
    assert.truthy(answer.error_message:find("^3 records were rejected by the transform of topic t %([^ ]*config.lua:%d+%): it is bad$"),
      answer.error_message)
  end)

  it("emits nothing, and makes no further records, when it is refused", function()
    local t, copies = find "t", find "copies"
    produce(t, nil, "0 emitted", "1 twice", "2 bad")
    assert.same({ "", "", "" }, stored(copies))
    assert.same({ "", "", "" }, stored(t))
    assert.equal(NONE, produce(t, nil, "0 emitted", "1 twice").error_code)
    assert.same({ "emitted", "", "" }, stored(copies))
    assert.same({ "emitted", "twice copy", "" }, stored(t))
  end)

  it("that was refused has used no sequences: the next one with them is written", function()
    local t = find "t"
    assert.equal(INVALID_RECORD, produce(t, 0, "0 a", "1 bad", "2 c").error_code)
    assert.equal(NONE, produce(t, 0, "0 d", "2 e", "1 f").error_code) -- and divided by what it has
    assert.equal(NONE, produce(t, 3, "0 g").error_code)
    assert.same({ "d g", "f", "e" }, stored(t))
  end)

  it("and was sent behind a refused one is refused as well, and written when it comes again", function()
    local t = find "t"
    local ids = { send(t, 0, "0 a", "1 slow", "1 bad"), send(t, 3, "0 b"), send(t, 4, "0 c", "1 d", "2 e") }
    assert.same({ INVALID_RECORD, OUT_OF_ORDER, OUT_OF_ORDER }, { code(ids[1]), code(ids[2]), code(ids[3]) })
    -- As clients do that go by what Kafka does: the sequences move up.
    ids = { send(t, 0, "0 b"), send(t, 1, "0 c", "1 d", "2 e"), send(t, 4, "0 f", "1 g") }
    assert.same({ NONE, NONE, NONE }, { code(ids[1]), code(ids[2]), code(ids[3]) })
    assert.same({ "b c f", "d g", "e" }, stored(t))
  end)

  for _, name in ipairs { "plain", "t" } do
    it("comes behind all that was refused before it, also when the client has sent it before it knew: " .. name, function()
      local t = find(name)
      local function broken(sequence) return batch(sequence, "0 a"):sub(1, -2) .. "\255" end
      local ids = { requests.send_produce(client, t, broken(0)), send(t, 1, "0 b"), send(t, 0, "0 a"), send(t, 2, "0 c"),
        send(t, 1, "0 b"), send(t, 2, "0 c"), send(t, 3, "1 d") }
      local codes = {}
      for i, id in ipairs(ids) do codes[i] = code(id) end
      assert.same({ 2, OUT_OF_ORDER, NONE, OUT_OF_ORDER, NONE, NONE, NONE }, codes)
      assert.same({ "a b c", "d", "" }, stored(t))
    end)

    it("keeps what follows back though one before it is sent again: " .. name, function()
      local t = find(name)
      assert.equal(NONE, produce(t, 0, "0 a").error_code)
      assert.equal(2, requests.produce(client, t, batch(1, "0 b"):sub(1, -2) .. "\255").error_code)
      local codes = {}
      for i, step in ipairs { { 0, "0 a" }, { 2, "0 c" }, { 1, "0 b" }, { 2, "0 c" } } do
        codes[i] = produce(t, step[1], step[2]).error_code
      end
      assert.same({ NONE, OUT_OF_ORDER, NONE, NONE }, codes)
      assert.same({ "a b c", "", "" }, stored(t))
    end)
  end

  it("of a producer without sequences is written behind a refused one", function()
    local t = find "t"
    local ids = { send(t, nil, "0 a", "1 slow", "1 bad"), send(t, nil, "0 b"), send(t, nil, "1 c") }
    assert.same({ INVALID_RECORD, NONE, NONE }, { code(ids[1]), code(ids[2]), code(ids[3]) })
    assert.same({ "b", "c", "" }, stored(t))
  end)

  it("of a newer epoch is written behind a refused one, from sequence 0 on", function()
    local t = find "t"
    produce(t, 0, "0 bad")
    assert.equal(OUT_OF_ORDER, produce(t, 1, "0 a").error_code)
    local codes = {}
    for i, step in ipairs { { 1, "0 c" }, { 0, "0 b" }, { 1, "0 c" } } do
      local newer = records.batch { records = list(step[2]), producer_id = 7, producer_epoch = 1, sequence = step[1] }
      codes[i] = requests.produce(client, t, newer).error_code
    end
    assert.same({ OUT_OF_ORDER, NONE, NONE }, codes)
    assert.same({ "b c", "", "" }, stored(t))
  end)

  for _, name in ipairs { "plain", "t" } do
    it("and is no batch leaves a gap, too: " .. name, function()
      local t = find(name)
      local broken = batch(0, "0 a", "1 b")
      broken = broken:sub(1, -2) .. "\255"
      local ids = { requests.send_produce(client, t, broken), send(t, 2, "0 c", "1 d") }
      assert.same({ 2, OUT_OF_ORDER }, { code(ids[1]), code(ids[2]) })
      ids = { send(t, 0, "0 a", "1 b"), send(t, 2, "0 c", "1 d") }
      assert.same({ NONE, NONE }, { code(ids[1]), code(ids[2]) })
      assert.same({ "a c", "b d", "" }, stored(t))
    end)
  end

  it("keeps its place while parts of others take their time", function()
    local t, ids, expected = find "t", {}, { {}, {}, {} }
    for i = 1, 60 do
      local texts = i % 7 == 1 and { "0 slow" .. i, "1 " .. i } or i % 5 == 1 and { "1 slow" .. i, "2 " .. i, "0 " .. i }
        or { i % 3 .. " " .. i }
      for _, text in ipairs(texts) do
        local at = expected[tonumber(text:sub(1, 1)) + 1]
        at[#at + 1] = text:sub(3)
      end
      ids[i] = send(t, i % 2 == 0 and i * 10 or nil, unpack(texts))
    end
    for i = 1, 60 do assert.equal(NONE, code(ids[i])) end
    for i = 1, 3 do expected[i] = table.concat(expected[i], " ") end
    assert.same(expected, stored(t))
  end)

  it("that is sent again while it is under way is written once, with what it makes and emits", function()
    local t, copies = find "t", find "copies"
    local bytes = batch(0, "0 emitted", "0 twice", "1 slow", "1 slow", "1 slow", "1 twice")
    local id = requests.send_produce(client, t, bytes)
    client:wait_until_read()
    assert.equal(NONE, requests.produce(other, t, bytes).error_code)
    assert.equal(NONE, code(id))
    assert.same({ "emitted twice copy", "slow slow slow twice copy", "" }, stored(t))
    assert.same({ "emitted", "", "" }, stored(copies))
  end)

  it("is written nowhere when one of its functions does not return, and those behind it go on", function()
    local t = find "stuck"
    local ids = { send(t, nil, "0 a", "1 endless", "2 b"), send(t, nil, "0 c", "1 d"), send(t, nil, "0 endless", "1 x"),
      send(t, nil, "0 e") }
    assert.same({ POLICY_VIOLATION, NONE, POLICY_VIOLATION, NONE }, { code(ids[1]), code(ids[2]), code(ids[3]), code(ids[4]) })
    assert.same({ "c e", "d", "" }, stored(t))
  end)

  -- ThreadSanitizer is so slow that the stuck ones are given up before that much has come.
  if os.getenv "LUKA_SAN" ~= "thread" then
    it("is refused for the moment when too much waits, with what it unpacks to", function()
      local t, ids, codes = find "stuck", {}, {}
      for i = 1, 5 do ids[i] = send(t, nil, "0 a", "1 endless") end
      local large = records.batch { codec = records.ZSTD, records = { { key = "0", value = ("x"):rep(20 * 1024 * 1024) }, { key = "1" } } }
      for i = 6, 30 do ids[i] = requests.send_produce(client, t, large) end
      for i = 1, 30 do codes[i] = code(ids[i]) end
      for i = 1, 5 do assert.equal(POLICY_VIOLATION, codes[i]) end
      assert.equal(NONE, codes[6])
      assert.equal(TIMED_OUT, codes[30])
      assert.equal(NONE, produce(t, nil, "0 b", "1 c").error_code)
    end)
  end

  it("that waits while its topic is deleted is answered", function()
    local t = find "t"
    local ids = { send(t, nil, "0 a", "1 slow", "1 slow", "1 slow"), send(t, nil, "0 b", "1 c") }
    client:wait_until_read()
    requests.delete(other, t)
    for _, id in ipairs(ids) do assert.is_number(code(id)) end
    assert.is_true(requests.is_well(broker))
  end)

  it("that waits when the broker stops is written", function()
    local t = find "t"
    local id = send(t, nil, "0 a", "1 slow", "1 slow", "1 slow")
    client:wait_until_read()
    local stop = broker.pid
    require("posix.signal").kill(stop, require("posix.signal").SIGTERM)
    assert.equal(NONE, code(id))
    client:close()
    other:close()
    assert.equal(0, broker:stop())
    broker = broker:restart()
    client, other = broker:connect(), broker:connect()
    assert.same({ "a", "slow slow slow", "" }, stored(find "t"))
  end)

  it("is written while functions come and go, each partition in the order of its batches", function()
    local t, ids, expected = find "t", {}, { {}, {} }
    local steps = { (CONFIG:gsub(", transform = function", ", transform = 1 and function")),
      (CONFIG:gsub("partitioner = divide", "partitioner = 'range:1'")) }
    for i = 1, 80 do
      ids[i] = send(t, nil, "0 " .. i, "1 slow" .. i)
      expected[1][i], expected[2][i] = tostring(i), "slow" .. i
      if i % 40 == 0 then reload.hup(broker, steps[i / 40]) end
    end
    for i = 1, 80 do assert.equal(NONE, code(ids[i])) end
    assert.same({ table.concat(expected[1], " "), table.concat(expected[2], " "), "" }, stored(t))
  end)
end)

describe("a batch that is not divided", function()
  local broker, client
  before_each(function()
    broker = reload.start(CONFIG, { set = { "workers=2" } })
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function batch(sequence, value)
    return records.batch { records = { value }, producer_id = 7, producer_epoch = 0, sequence = sequence }
  end

  it("is refused behind the first one of its producer that a transform refuses: clients use its sequences again", function()
    local only = requests.find(client, "only")
    local ids, codes = {}, {}
    for i, step in ipairs { { 0, "bad" }, { 1, "a" }, { 0, "a" }, { 1, "b" } } do
      ids[i] = requests.send_produce(client, only, batch(step[1], step[2]))
    end
    for i, id in ipairs(ids) do
      codes[i] = client:answer("Produce", requests.PRODUCE, id).responses[1].partition_responses[1].error_code
    end
    assert.same({ INVALID_RECORD, OUT_OF_ORDER, NONE, NONE }, codes)
    assert.same({ "a", "b" }, records.values(requests.fetch_to_end(client, only, 0, 0)))
  end)

  it("is not kept back by what was refused, when others have come past its functions since", function()
    local only = requests.find(client, "only")
    local function produce(sequence, value) return requests.produce(client, only, batch(sequence, value)).error_code end
    assert.same({ NONE, INVALID_RECORD }, { produce(0, "a"), produce(1, "bad") })
    reload.hup(broker, (CONFIG:gsub('topic "only".-end }\n', 'topic "only" {}\n')))
    assert.same({ NONE, NONE }, { produce(1, "b"), produce(2, "bad") })
    reload.hup(broker, CONFIG)
    assert.equal(NONE, produce(3, "c"))
    assert.same({ "a", "b", "bad", "c" }, records.values(requests.fetch_to_end(client, only, 0, 0)))
  end)
end)

describe("a share that a disk does not take", function()
  local divided = [[topic "%s" { partitions = 2, %s }]]
  for name, words in pairs {
    ["by a function"] = "partitioner = function(record) return tonumber(record.key) end",
    ["by a function, and transformed"] = "partitioner = function(record) return tonumber(record.key) end, "
      .. "transform = function(r) return r end",
    ["by a partitioner of ours"] = [[luka_partitioner = "range:1"]],
  } do
    local data, disk, broker, client, t
    before_each(function()
      data = brokers.temp_dir()
      disk = faults.new(data .. "/t-1")
      broker = reload.start(divided:format("t", words), { data = data, env = disk.env, set = { "workers=2" } })
      client = broker:connect()
      t = requests.find(client, "t")
    end)
    after_each(function()
      client:close()
      assert.equal(0, broker:stop())
    end)

    --- Sends one record to each of some partitions.
    local function produce(sequence, ...)
      local list = {}
      for i, partition in ipairs { ... } do list[i] = { key = tostring(partition), value = tostring(sequence + i - 1) } end
      return requests.produce(client, t,
        records.batch { records = list, producer_id = 7, producer_epoch = 0, sequence = sequence }).error_code
    end
    local function stored()
      local seen = {}
      for i = 0, 1 do seen[i + 1] = table.concat(records.values(requests.fetch_to_end(client, t, 0, i)), " ") end
      return seen
    end

    it("holds back what its producer has sent behind it: divided " .. name, function()
      assert.equal(NONE, produce(0, 0, 1))
      disk:arm { kind = "write", err = "ENOSPC", suffix = ".log" }
      assert.equal(STORAGE, produce(2, 0, 1))
      assert.equal(1, (disk:acted()))
      assert.equal(OUT_OF_ORDER, produce(4, 0, 1))
      assert.equal(OUT_OF_ORDER, produce(6, 0, 1))
      assert.equal(2, requests.end_offset(client, t, 0)) -- none of their shares is written
      for _, sequence in ipairs { 2, 4, 6 } do assert.equal(NONE, produce(sequence, 0, 1)) end
      assert.same({ "0 2 4 6", "1 3 5 7" }, stored())
    end)

    it("holds back what has no share there, behind a batch that has: divided " .. name, function()
      disk:arm { kind = "write", err = "ENOSPC", suffix = ".log" }
      assert.equal(STORAGE, produce(0, 0, 1))
      assert.equal(NONE, produce(2, 0)) -- nothing of its partition is missing
      assert.equal(OUT_OF_ORDER, produce(3, 0, 1))
      assert.equal(OUT_OF_ORDER, produce(5, 0))
      assert.equal(NONE, produce(0, 0, 1))
      assert.equal(NONE, produce(3, 0, 1))
      assert.equal(NONE, produce(5, 0))
      assert.same({ "0 2 3 5", "1 4" }, stored())
    end)
  end
end)
