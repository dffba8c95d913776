-- SPDX-License-Identifier: Apache-2.0
-- What the console makes of what is typed: whether it is complete, what Tab does, which line an error is about.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local chunk = require "luka.console.chunk"
local complete = require "luka.console.complete"

describe("a source", function()
  local incomplete = {
    "for i = 1, 3 do", "topic(", 'create "x" {', "x =", "1 +", "function f()", "[[text", "--[[ comment", "if x then\n  y()",
  }
  for _, source in ipairs(incomplete) do
    it("goes on in the next line: " .. source:gsub("\n", "\\n"), function() assert.is_true(chunk.is_incomplete(source)) end)
  end

  local complete_or_wrong = {
    "", "1 + 1", "topics()", "x = 1", "for i = 1, 3 do end", "foo bar", "'text", "end", "foo bar(", ")", "return 1",
  }
  for _, source in ipairs(complete_or_wrong) do
    it("is complete, or wrong: " .. source, function() assert.is_false(chunk.is_incomplete(source)) end)
  end
end)

describe("the line of an error", function()
  it("is the one that it names", function()
    local number, line = chunk.line_of("a = 1\nfoo.bar()\nb = 2", "console", "console:2: unknown word foo")
    assert.equal(2, number)
    assert.equal("foo.bar()", line)
  end)

  for _, case in ipairs {
    { "foo()", "console:1: x" }, { "a\nb", "no place" }, { "a\nb", "console:9: x" }, { "a\nb", "config.lua:1: x" },
    { "a\nb", "console:x: y" },
  } do
    it("is not known for " .. case[2], function() assert.is_nil(chunk.line_of(case[1], "console", case[2])) end)
  end
end)

describe("completion", function()
  local function decide(line, start, words) return { complete.decide(line, #line, start, words) } end

  it("inserts what the words have in common", function()
    assert.same({ "replace", 0, "pic" }, decide("to", 0, { "topic", "topics" }))
    assert.same({ "replace", 0, "icks\"" }, decide('topic("cl', 7, { 'clicks"' }))
  end)

  it("lists the words when nothing more is common", function()
    assert.same({ "list", 0, "" }, decide("topic", 0, { "topic", "topics" }))
    assert.same({ "list", 0, "" }, decide("", 0, { "brokers", "topics" }))
  end)

  it("does nothing when there is no word, or the only one is there", function()
    assert.same({ "nothing", 0, "" }, decide("xyz", 0, {}))
    assert.same({ "nothing", 0, "" }, decide("topics", 0, { "topics" }))
  end)

  it("replaces what was typed in other letters", function()
    assert.same({ "replace", 3, "Größe" }, decide("grö", 0, { "Größe" }))
  end)

  it("takes no start that is outside of the line", function()
    assert.same({ "nothing", 0, "" }, decide("to", 3, { "topic" }))
    assert.same({ "nothing", 0, "" }, decide("to", -1, { "topic" }))
  end)

  it("never inserts half a character", function()
    assert.equal("x", complete.common { "xä", "xö" })
    assert.equal("xä", complete.common { "xä", "xä1" })
  end)

  it("lists words in columns, read downwards", function()
    assert.same({ "a    ccc", "bbb  dd" }, complete.columns({ "a", "bbb", "ccc", "dd" }, 10))
    assert.same({ "a", "bbb" }, complete.columns({ "a", "bbb" }, 4))
  end)

  it("lists no more than two hundred", function()
    local words = {}
    for i = 1, 250 do words[i] = "w" .. i end
    local lines = complete.columns(words, 3)
    assert.equal(201, #lines)
    assert.equal("… and 50 more", lines[201])
  end)
end)
