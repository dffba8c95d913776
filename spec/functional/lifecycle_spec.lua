-- SPDX-License-Identifier: Apache-2.0
-- reload() and stop() in a console.
local configs = require "spec.support.configs"
local consoles = require "spec.support.console"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

describe("The console's", function()
  local broker, console, client

  local function start(text, options)
    broker = reload.start(text)
    console = consoles.connect(broker.data .. "/console.sock", options)
    client = broker:connect()
  end
  after_each(function()
    console:close()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function rows()
    local result = console:eval "reload()"
    assert.is_true(result.ok, result.error)
    assert.equal("list", result.values[1].kind)
    assert.same({ "outcome", "what", "old", "new" }, result.values[1].columns)
    return result.values[1].rows
  end

  describe("reload()", function()
    it("shows what was applied, what needs a restart and what stays", function()
      start 'broker { workers = 1 }\ntopic "gone" {}'
      requests.delete(client, requests.find(client, "gone"))
      reload.write(broker, 'broker { workers = 2 }\ndefaults { partitions = 3 }\ntopic "gone" {}\ntopic "a" {}')
      assert.same({
        { outcome = "applied", what = "defaults.partitions", old = "1", new = "3" },
        { outcome = "applied", what = 'topic "a"', new = "created with 3 partitions" },
        { outcome = "needs restart", what = "broker.workers", old = "1", new = "2" },
        { outcome = "kept", what = 'topic "gone"', new = "deleted, and stays so until its block changes" },
      }, rows())
      assert.equal(3, #requests.find(client, "a").partitions)
      assert.matches("applied defaults.partitions: 1 %-> 3", broker:log())
    end)

    it("says that nothing has changed", function()
      start ""
      assert.same({ { outcome = "unchanged", what = "the configuration" } }, rows())
    end)

    it("raises the line of what is wrong, with the code config", function()
      start ""
      reload.write(broker, "\nbroker { worker = 2 }")
      local result = console:eval "reload()"
      assert.is_false(result.ok)
      assert.equal("config", result.code)
      assert.equal("config.lua:2: broker.worker: unknown key, did you mean workers?", (result.error:gsub("^.*/", "")))
      assert.matches('unknown key', console:eval("local _, e = pcall(reload) return e.message").values[1].value)
    end)

    it("gives consoles new limits of memory and time", function()
      start ""
      local big = "local t = {} for i = 1, 1500000 do t[i] = i end return #t"
      assert.equal(1500000, console:eval(big).values[1].value)
      reload.write(broker, "broker { lua_memory = 16 * MiB, lua_budget_ms = 70 }")
      assert.same({ { outcome = "applied", what = "broker.lua_memory", old = "67108864", new = "16777216" },
        { outcome = "applied", what = "broker.lua_budget_ms", old = "50", new = "70" } }, rows())
      assert.is_false(console:eval(big).ok)
      console:close()
      console = consoles.connect(broker.data .. "/console.sock")
      reload.write(broker, "")
      assert.equal(2, #rows())
      assert.equal(1500000, console:eval(big).values[1].value)
    end)

    it("shows texts that are no UTF-8", function()
      start ""
      reload.write(broker, 'broker { broker_rack = "a\\255b" }')
      assert.same({ { outcome = "needs restart", what = "broker.broker_rack", new = "a?b" } }, rows())
    end)

    it("waits for its turn when two consoles ask at once", function()
      start ""
      reload.write(broker, "local n = 0 for i = 1, 1e5 do n = n + i end defaults { partitions = 2 }")
      local other = consoles.connect(broker.data .. "/console.sock")
      local first, second = console:start "#reload()", other:start "reload()[1].outcome"
      local a, b = console:finish(first).values[1].value, other:finish(second).values[1].value
      other:close()
      assert.same({ 1, true }, { a, b == "unchanged" or b == "applied" })
      assert.equal("2", (configs.shown(client, configs.BROKER, "1", "num.partitions")))
    end)

    it("can be interrupted, and happens all the same", function()
      start ""
      reload.write(broker, "local n = 0 for i = 1, 1e5 do n = n + i end defaults { partitions = 2 }")
      local id = console:start "print 'begun' reload()"
      assert.equal("print", console:receive().op)
      console:send { op = "interrupt", id = id }
      local result = console:finish(id)
      assert.same({ false, "interrupted" }, { result.ok, result.code })
      requests.wait_until("the reload is through", function()
        return configs.shown(client, configs.BROKER, "1", "num.partitions") == "2"
      end)
    end)
  end)

  describe("stop()", function()
    it("stops the broker cleanly once its code has ended, which the client is told", function()
      start ""
      local result = console:eval "stop() print 'bye'"
      assert.same({ true, "bye\n" }, { result.ok, result.printed })
      assert.equal(0, broker:wait_exit())
      assert.matches("stopping: stop%(%) in a console\n", broker:log())
      assert.matches("stopped\n", broker:log())
      assert.is_nil((console:receive()))
    end)

    it("asks on a terminal, and takes no for an answer", function()
      start("", { terminal = true })
      local id = console:start "stop()"
      assert.equal("Stop the broker?", console:receive().text)
      console:send { op = "answer", id = id, yes = false }
      assert.is_true(console:finish(id).ok)
      assert.equal(2, console:eval("1 + 1").values[1].value)
      id = console:start "stop()"
      console:receive()
      console:send { op = "answer", id = id, yes = true }
      assert.is_true(console:finish(id).ok)
      assert.equal(0, broker:wait_exit())
    end)

    it("works with a reload under way", function()
      start ""
      reload.write(broker, 'local n = 0 for i = 1, 1e5 do n = n + i end topic "a" {}')
      local other = consoles.connect(broker.data .. "/console.sock")
      other:start "reload()"
      assert.is_true(console:eval("stop()").ok)
      assert.equal(0, broker:wait_exit())
      other:close()
    end)
  end)
end)
