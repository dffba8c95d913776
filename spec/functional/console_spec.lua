-- SPDX-License-Identifier: Apache-2.0
-- The console's socket: sessions and what they evaluate.
local broker_of = require "spec.support.broker"
local console_of = require "spec.support.console"

describe("the console", function()
  local broker, console

  setup(function() broker = broker_of.start { set = { "workers=1" } } end)
  teardown(function() assert.equal(0, broker:stop()) end)

  before_each(function() console = console_of.connect(broker.data .. "/console.sock") end)
  after_each(function() console:close() end)

  it("greets with its version and the broker's", function()
    local greeting = console.greeting
    assert.same({ "hello", 1, 1 }, { greeting.op, greeting.version, greeting.broker })
    assert.matches("^%d+%.%d+", greeting.luka)
    assert.equal(22, #greeting.cluster)
  end)

  it("evaluates an expression", function()
    local result = console:eval "1 + 1"
    assert.is_true(result.ok)
    assert.equal("plain", result.values[1].kind)
    assert.equal(2, result.values[1].value)
  end)

  it("evaluates statements", function()
    assert.equal(3, console:eval("local a = 1 return a + 2").values[1].value)
  end)

  it("keeps globals", function()
    console:eval "kept = 7"
    assert.equal(7, console:eval("kept").values[1].value)
  end)

  it("prints", function()
    assert.equal("a\t1\tnil\n", console:eval("print('a', 1, nil)").printed)
  end)

  it("tells the line of an error", function()
    local result = console:eval "\n\nerror 'boom'"
    assert.is_false(result.ok)
    assert.equal("console:3: boom", result.error)
  end)
end)
