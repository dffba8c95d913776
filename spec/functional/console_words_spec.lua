-- SPDX-License-Identifier: Apache-2.0
-- The words in the broker's own console: over connections within the process, in tasks that are preempted.
local broker_of = require "spec.support.broker"
local console_of = require "spec.support.console"
require "spec.support.wire"
local words = require "luka.words"

--- Words whose example goes on for ever, or ends the broker.
local ELSEWHERE = { watch = true, stop = true }

describe("words in the console", function()
  local broker, console
  local consoles = {}

  local function connect(options)
    local one = console_of.connect(broker.data .. "/console.sock", options)
    consoles[#consoles + 1] = one
    return one
  end

  --- Evaluates what must go well.
  local function eval(source)
    local result = console:eval(source)
    if not result.ok then error(source .. ": " .. result.error, 2) end
    return result
  end

  setup(function() broker = broker_of.start { set = { "workers=1" } } end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() console = connect() end)
  after_each(function()
    for _, one in ipairs(consoles) do one:close() end
    consoles = {}
  end)

  --- Waits for a frame of an eval that goes on.
  local function wait_for(one, op)
    while true do
      local frame, why = one:receive()
      if not frame then error("no " .. op .. ": " .. why, 2) end
      if frame.op == op then return frame end
    end
  end

  for _, entry in ipairs(words.help().entries) do
    if not ELSEWHERE[entry.name] then
      it(("does what the help of %s says"):format(entry.name), function()
        eval "for _, t in ipairs(topics()) do admin.delete_topic(t.name) end"
        if entry.setup then eval(entry.setup) end
        eval(entry.example)
      end)
    end
  end

  it("shows results as views", function()
    eval 'create("shown", { partitions = 2 })'
    local value = eval('topics "shown"').values[1]
    assert.same({ "list", { "name", "partitions", "records", "size_bytes", "configs" } }, { value.kind, value.columns })
    assert.equal("record", eval('topic "shown"').values[1].kind)
    assert.same({ { kind = "list", columns = value.columns, rows = {} } }, { (function()
      local empty = eval('topics "nothing"').values[1]
      return { kind = empty.kind, columns = empty.columns, rows = empty.rows }
    end)() })
  end)

  it("tells errors in one sentence, with Kafka's code", function()
    local result = console:eval 'topic "missing"'
    assert.is_false(result.ok)
    assert.equal("UNKNOWN_TOPIC_OR_PARTITION", result.code)
    assert.matches('^there is no topic "missing"', result.error)
  end)

  it("tells errors about names that are no text", function()
    for _, line in ipairs { 'topic "\\255"', 'help "\\255\\0"', 'create "\\255"', 'produce("\\255", "x")' } do
      local result = console:eval(line)
      assert.is_false(result.ok)
      assert.matches("\\xff", result.error)
    end
  end)

  it("lets errors be caught", function()
    local result = eval 'local ok, err = pcall(topic, "missing") return ok, err.code, tostring(err)'
    assert.same({ false, "UNKNOWN_TOPIC_OR_PARTITION" }, { result.values[1].value, result.values[2].value })
    assert.matches("^there is no topic", result.values[3].value)
  end)

  it("deletes without asking where nobody sits", function()
    eval 'create "unasked"'
    assert.equal('topic "unasked" is deleted\n', eval('topic "unasked":delete()').printed)
  end)

  it("asks on a terminal, and takes no for an answer", function()
    local terminal = connect { terminal = true, width = 80 }
    eval 'create "asked"'
    for _, answer in ipairs { false, true } do
      local id = terminal:start 'topic "asked":delete()'
      local ask = wait_for(terminal, "ask")
      assert.equal('Delete topic "asked" with 1 partition and 0 records (0 bytes)?', ask.text)
      terminal:send { op = "answer", id = id, yes = answer }
      local done = terminal:finish(id)
      assert.equal(answer and 'topic "asked" is deleted\n' or "nothing was deleted\n", done.printed)
    end
  end)

  it("tails until it is interrupted, while another console writes", function()
    eval 'create("tailed", { partitions = 1 })'
    local other = connect()
    local id = other:start 'tail("tailed", { from = "earliest" })'
    eval 'produce("tailed", { key = "a", value = "1" })'
    assert.equal("1", wait_for(other, "value").rows[1].value)
    eval 'produce("tailed", "2")'
    assert.equal("2", wait_for(other, "value").rows[1].value)
    other:send { op = "interrupt", id = id }
    local done = other:finish(id)
    assert.same({ false, "interrupted" }, { done.ok, done.code })
    assert.equal(3, other:eval("1 + 2").values[1].value)
  end)

  it("watches until it is interrupted", function()
    local id = console:start "watch(0.1, brokers)"
    for _ = 1, 3 do
      wait_for(console, "clear")
      assert.equal("list", wait_for(console, "value").kind)
    end
    console:send { op = "interrupt", id = id }
    assert.equal("interrupted", console:finish(id).code)
  end)

  it("reads many small records in the memory that there is", function()
    eval 'create("many", { partitions = 1 })'
    eval [[
      local list = {}
      for i = 1, 20000 do list[i] = "x" end
      for _ = 1, 10 do produce("many", list, { compression = "zstd" }) end]]
    local seen = eval [[
      local n = 0
      records("many", { filter = function() n = n + 1 return false end })
      return n]]
    assert.equal(200000, seen.values[1].value)
  end)

  it("shows hundreds of partitions", function()
    eval 'create("wide", { partitions = 400 })'
    assert.equal(400, #eval('partitions "wide"').values[1].rows)
    assert.equal(400, eval('topics "wide"').values[1].rows[1].partitions)
    eval 'topic "wide":delete()'
  end)
end)
