-- SPDX-License-Identifier: Apache-2.0
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local source = require "luka.config.source"

local WORDS = { broker = true, topic = true }

local function blocks(text) return source.blocks(text, WORDS) end

describe("luka.config.source", function()
  it("finds the line of each key", function()
    local found = blocks "broker {\n  id = 1, listen = 2,\n\n  data = 3;\n  workers = 4\n}"
    assert.equal(1, #found)
    assert.same({ id = 2, listen = 2, data = 4, workers = 5 }, found[1].keys)
    assert.equal(1, found[1].line)
    assert.equal(6, found[1].close_line)
  end)

  it("finds keys in brackets and quotes", function()
    assert.same({ ["a b"] = 2, c = 3 }, blocks("broker {\n['a b'] = 1,\n[\"c\"] = 2 }")[1].keys)
  end)

  it("looks only at the outermost braces", function()
    assert.same({ a = 1, b = 3 }, blocks("broker { a = { x = 1,\n y = 2 },\n b = f(c, { d = 1 }) }")[1].keys)
  end)

  it("is not taken in by functions", function()
    assert.same({ f = 1, g = 3 }, blocks([[
broker { f = function(a, b) local c, d = 1, 2 if a then return end for i = 1, 2 do x, y = 1, 2 end repeat z, w = 1, 2
  until a end,
  g = 1 }]])[1].keys)
  end)

  it("is not taken in by comments and strings", function()
    local found = blocks([==[
-- broker { a = 1 }
--[[ broker { b = 1 }
]] --[=[ ]] broker { b2 = 1 } ]=]
broker { c = "}, d = 1", e = '\'}', --[[ , f = 1 ]] g = [[
, h = 1 }]], -- , i = 1
j = 1 }]==])
    assert.equal(1, #found)
    assert.same({ c = 4, e = 4, g = 4, j = 6 }, found[1].keys)
  end)

  it("is not taken in by comparisons", function()
    assert.same({ a = 1, c = 1 }, blocks("broker { a = 1, b == 2, c = 3 }")[1].keys)
  end)

  it("knows the name of a topic, with and without parentheses", function()
    local found = blocks [[topic "a" { x = 1 } topic('b')({ y = 1 }) topic [=[c]=]{} topic(name) { z = 1 }]]
    assert.same({ "a", "b", "c" }, { found[1].name, found[2].name, found[3].name })
    assert.same({ y = 1 }, found[2].keys)
  end)

  it("does not take fields and methods for words", function()
    assert.same({}, blocks "x.broker { a = 1 } x:topic { b = 1 }")
  end)

  it("keeps where a key was given before", function()
    local found = blocks "broker {\na = 1,\na = 2 }"
    assert.same({ a = 3 }, found[1].keys)
    assert.same({ a = 2 }, found[1].earlier)
  end)

  it("finds a block by word, name and line", function()
    local by_line = source.by_line(blocks 'topic "a"\n{ x = 1 }\ntopic "b" { y = 1 } topic "c" { z = 1 }')
    assert.same({ x = 2 }, source.find(by_line, "topic", "a", 2).keys)
    assert.same({ z = 3 }, source.find(by_line, "topic", "c", 3).keys)
    assert.is_nil(source.find(by_line, "topic", "a", 3))
    assert.is_nil(source.find(by_line, "broker", nil, 3))
    assert.is_nil(source.find(by_line, "topic", "a", 99))
  end)

  it("ends on every truncated text", function()
    local text = 'broker { a = "x\\"", b = [==[ y ]==], --[[ c ]] d = { 1, 2 }, ["e"] = 0x1f } topic "t" { f = 1.5e3 }'
    for size = 0, #text do assert.is_table(blocks(text:sub(1, size))) end
  end)
end)
