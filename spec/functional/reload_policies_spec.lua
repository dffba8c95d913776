-- SPDX-License-Identifier: Apache-2.0
-- What a reload and `luka check` say of functions and views, and that a reload is all or nothing for them as well.
local reload = require "spec.support.reload"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local PROGRAM = assert(require("posix.stdlib").realpath(os.getenv "LUKA_PROGRAM" or "build/luka"))

describe("A reload", function()
  local broker, client

  local function start(text)
    broker = reload.start(text)
    client = broker:connect()
  end
  local function hup(text) return reload.hup(broker, text) end

  local function send(topic, value)
    local answer = requests.produce(client, topic, records.batch { records = { { value = value } } })
    assert.equal(0, answer.error_code)
  end
  local function values(topic) return records.values(requests.fetch_to_end(client, topic, 0)) end

  after_each(function()
    if not broker then return end
    client:close()
    assert.equal(0, broker:stop())
    broker = nil
  end)

  it("names functions that are new, changed and gone", function()
    start [[
      topic "a" { transform = function(record) return record end, archive = function() end }
      policy.partitioner("p", function() return 0 end)
      hook("reload", function() end)
      hook("reload", function() return 1 end)
    ]]
    assert.same({ "nothing has changed" }, hup())
    assert.same({ 'applied hook "reload": changed, config.lua:5', 'applied policy.partitioner "p": changed, config.lua:4',
      'applied topic "a".archive: gone', 'applied topic "a".retention: new, config.lua:2' }, hup [[
      topic "a" { transform = function(record) return record end,
        retention = function() end }
      -- further down
      policy.partitioner("p", function() return 0 end, { jit = true })
      hook("reload", function() return 2 end)
      hook("reload", function() return 1 end)
    ]])
    assert.same({ 'applied hook "reload": gone', 'applied hook "reload": gone', 'applied policy.partitioner "p": gone',
      'applied topic "a".retention: gone', 'applied topic "a".transform: gone' }, hup 'topic "a" {}')
  end)

  it("brings functions that log records as JSON, in either state", function()
    start 'topic "a" {}'
    local topic = requests.find(client, "a")
    for _, jit in ipairs { "false", "true" } do
      hup('topic "a" { jit = ' .. jit .. [[, transform = function(record)
        record.headers.h = "1" print("now", record) return record end }]])
      send(topic, "v" .. jit)
      assert.matches('config%.lua:2: now {"headers":%[{"key":"h","value":"1"}%],"partition":0,"timestamp":%d+,"topic":"a","value":"v'
        .. jit .. '"}', broker:log())
    end
  end)

  it("says that what stands around functions has changed", function()
    start 'local limit = 1 topic "a" { transform = function(record) return limit and record end }'
    assert.same({ "applied functions: what stands around them has changed" },
      hup 'local limit = 2 topic "a" { transform = function(record) return limit and record end }')
    reload.write(broker, "return 1", "helper.lua")
    hup 'local limit = require "helper" topic "a" { transform = function(record) return limit and record end }'
    reload.write(broker, "return 2", "helper.lua")
    assert.same({ "applied functions: what stands around them has changed" }, hup())
  end)

  it("names views", function()
    start 'topic "a" {} topic "b" {} view("v", { from = "a" }) view("w", { from = "a" })'
    assert.same({ 'applied view "v": of topic "b" now', 'applied view "w": gone', 'applied view "x": new, of topic "a"' },
      hup 'topic "a" {} topic "b" {} view("v", { from = "b" }) view("x", { from = "a" })')
  end)

  it("with an error leaves functions as they are", function()
    start 'topic "a" { transform = function(record) record.value = "old" return record end }'
    assert.same({ "reload refused, nothing has changed: config.lua:2: hook \"x.y\": there is no hook \"x.y\", there are "
      .. "broker.down, broker.start, broker.stop, broker.up, client.authorize, client.connect, disk.fail, group.empty, "
      .. "group.join, group.rebalance, isr.change, leader.change, log.delete, log.roll, partitions.create, reload, "
      .. "topic.config, topic.create, topic.delete" },
      hup 'topic "a" { transform = function(record) record.value = "new" return record end }\nhook("x.y", print)')
    local topic = requests.find(client, "a")
    send(topic, "sent")
    assert.equal("old", values(topic)[1])
    assert.same({ 'applied topic "a".transform: changed, config.lua:1' },
      hup 'topic "a" { transform = function(record) record.value = "new" return record end }')
    send(topic, "sent")
    assert.equal("new", values(topic)[2])
  end)

  it("leaves shared dictionaries as they are", function()
    local text = [[
      topic "a" {
        transform = function(record)
          record.value = tostring(shared "reload_policies":incr("n", 1, 0))%s
          return record
        end,
      }]]
    start(text:format "")
    local topic = requests.find(client, "a")
    send(topic, "x")
    hup(text:format ' .. "!"')
    send(topic, "x")
    assert.same({ "1", "2!" }, values(topic))
  end)

  it("changes the keys for functions", function()
    start ""
    assert.same({ "applied broker.lua_shared_memory: 67108864 -> 8388608", "applied broker.unsafe: false -> true" },
      hup "broker { unsafe = true, lua_shared_memory = 8 * MiB }")
  end)
end)

describe("luka check", function()
  it("lists views and functions with their places, and warns of those that nothing calls", function()
    local folder = require("spec.support.broker").temp_dir()
    reload.write({ folder = folder }, [[
topic "a" { jit = true, partitions = 1,
  transform = function(record) return record end,
  archive = function() end }
view("v", { from = "a" })
every(minutes(5), function() end)
]])
    local pipe = io.popen(("cd '%s' && '%s' check config.lua 2>&1"):format(folder, PROGRAM))
    local out = pipe:read "*a"
    pipe:close()
    for _, line in ipairs {
      'view "v"              of topic "a"                               config.lua:4', "functions",
      '  topic "a".transform  compiled                                   config.lua:2',
      '  topic "a".archive    interpreted                                config.lua:3',
      "  every 300000 ms      interpreted                                config.lua:5",
      "config.lua is right: 1 topic, 1 view, 3 functions, 0 warnings",
    } do
      assert.truthy(("\n" .. out):gsub(" +", " "):find("\n" .. line:gsub(" +", " ") .. "\n", 1, true), out)
    end
  end)
end)
