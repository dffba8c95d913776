-- SPDX-License-Identifier: Apache-2.0
-- How the console shows results: numbers with units, tables, records, any value.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local human = require "luka.console.human"
local libc = require "luka.ffi.libc"
local pretty = require "luka.console.pretty"
local table_of = require "luka.console.table"
local text = require "luka.console.text"

libc.use_utf8()

local function paint(kind, piece) return "<" .. kind .. ":" .. piece .. ">" end
local PIPE = { paint = pretty.no_paint, is_human = false }
local function terminal(width) return { paint = pretty.no_paint, is_human = true, width = width } end

local function list(columns, ...)
  local rows = {}
  for i, cells in ipairs { ... } do
    rows[i] = {}
    for c, name in ipairs(columns) do rows[i][name] = cells[c] end
  end
  return { kind = "list", columns = columns, rows = rows }
end

describe("a number", function()
  local cases = {
    { "count", 12, "12" }, { "count", 1e15, "1000000000000000" }, { "count", 0.1, "0.1" }, { "count", 1 / 3, "0.33333333333333331" },
    { "count", 9007199254740993LL, "9007199254740993" }, { "count", -9223372036854775807LL - 1LL, "-9223372036854775808" },
    { "in_bytes_per_s", 1536, "1.5 KiB/s" }, { "in_records_per_s", 2.5, "2.5/s" },
    { "size_bytes", 0, "0 B" }, { "size_bytes", 1023, "1023 B" }, { "size_bytes", 1024, "1 KiB" },
    { "size_bytes", 1.5 * 2 ^ 30, "1.5 GiB" }, { "size_bytes", 2 ^ 20 - 1, "1 MiB" }, { "size_bytes", -1, "-1" },
    { "size_bytes", 9223372036854775807LL, "9223372036854775807" }, { "segment_bytes", 512 * 2 ^ 20, "512 MiB" },
    { "wait_ms", 0, "0ms" }, { "wait_ms", 0.25, "0.25ms" }, { "wait_ms", 999, "999ms" }, { "wait_ms", 1500, "1.5s" },
    { "wait_ms", 50000, "50s" }, { "wait_ms", 90000, "1m 30s" }, { "wait_ms", 3600000, "1h" }, { "wait_ms", 5400000, "1h 30m" },
    { "retention_ms", 604800000, "7d" }, { "retention_ms", -1, "-1" }, { "wait_ms", 86461000, "1d" },
    { "timestamp", 0, "1970-01-01T00:00:00.000Z" }, { "start_time", 1796000748123, "2026-11-30T01:05:48.123Z" },
    { "timestamp", -1, "-1" }, { "start_time", 1e15, "1000000000000000" },
  }
  for _, case in ipairs(cases) do
    it(("of field %s is shown as %s"):format(case[1], case[3]), function() assert.equal(case[3], human.field(case[1], case[2])) end)
  end
end)

describe("a text", function()
  it("has no control characters left, of whatever kind", function()
    assert.equal("a\\x1b[2J\\n\\x7f", text.line "a\27[2J\n\127")
    assert.equal("\\u009b2J", text.line "\194\1552J")
    assert.equal("a\\u202eb\\u2066c", text.line "a\226\128\174b\226\129\166c")
    assert.equal("ä €\194\160x", text.line "ä €\194\160x")
  end)

  it("keeps its lines and tabs when it may have several", function()
    assert.equal("a\n\tb\\x00\n", text.lines "a\n\tb\0\n")
  end)

  it("is as wide as a terminal shows it", function()
    assert.equal(5, text.width "abcde")
    assert.equal(3, text.width "äöü")
    assert.equal(4, text.width "日本")
    assert.equal(1, text.width "e\204\129")
    assert.equal(2, text.width "\255\254")
  end)

  it("is cut at the width, never inside a wide character", function()
    assert.equal("abc", (text.cut("abc", 3)))
    assert.equal("ab…", (text.cut("abcd", 3)))
    assert.equal("日…", (text.cut("日本語", 4)))
    assert.equal(3, select(2, text.cut("日本語", 4)))
    assert.equal("…", (text.cut("日本語", 1)))
  end)
end)

describe("a list", function()
  it("is an aligned table, numbers to the right", function()
    assert.same({
      "name    partitions  size_bytes  compact",
      "clicks           6        1536  true",
      "日本            10           5  false",
    }, (table_of.list(list({ "name", "partitions", "size_bytes", "compact" }, { "clicks", 6, 1536, true }, { "日本", 10, 5, false }), PIPE)))
  end)

  it("has numbers with units on a terminal", function()
    assert.same({ "size_bytes  wait_ms", "   1.5 KiB     1.5s" },
      (table_of.list(list({ "size_bytes", "wait_ms" }, { 1536, 1500 }), terminal(80))))
  end)

  it("has all digits of an int64", function()
    assert.same({ "             offset", "9223372036854775807" }, (table_of.list(list({ "offset" }, { 9223372036854775807LL }), PIPE)))
  end)

  it("shows a missing field as a dash, also in a column of numbers", function()
    assert.same({ "name  n", "-     1", "b     -" },
      (table_of.list({ columns = { "name", "n" }, rows = { { n = 1 }, { name = "b" } } }, PIPE)))
  end)

  it("shows lists of values and nested tables in one line", function()
    assert.same({ "replicas  more", "1, 2      { a = 1 }", "{}        { { 1 } }" },
      (table_of.list(list({ "replicas", "more" }, { { 1, 2 }, { a = 1 } }, { {}, { { 1 } } }), PIPE)))
  end)

  it("never lets a record's control characters through", function()
    assert.same({ "value", "a\\nb\\x1b[2J" }, (table_of.list(list({ "value" }, { "a\nb\27[2J" }), PIPE)))
  end)

  it("paints heads and dashes", function()
    assert.same({ "<head:a>  <head:n>", "<faint:->  1" },
      (table_of.list({ columns = { "a", "n" }, rows = { { n = 1 } } }, { paint = paint })))
  end)

  it("is cut to the width: the widest texts give way, numbers do not", function()
    assert.same({
      "key     offset  value",
      "aaaaaa  123456  bbbbbbbbbb…",
    }, (table_of.list(list({ "key", "offset", "value" }, { "aaaaaa", 123456, ("b"):rep(50) }), terminal(27))))
  end)

  it("has as many columns as fit when nothing can give way any more, and names the others below", function()
    local wide = list({ "one", "two", "three" }, { 1234567890, 1234567890, 1234567890 })
    assert.same({
      "       one         two",
      "1234567890  1234567890",
      "no room for three: a row",
      "alone, [1], or --json",
      "shows all",
    }, (table_of.list(wide, terminal(24))))
    local lines = table_of.list(list({ "one", "two" }, { 1234567890, 1 }), terminal(8))
    assert.equal(1, #(table_of.list({ columns = { "first", "second" }, rows = {} }, terminal(8))))
    assert.same({ "     one", "1234567…" }, { lines[1], lines[2] })
  end)

  it("names what had no room once, not again below the rows that follow", function()
    local columns = { "one", "two" }
    local lines, layout = table_of.list(list(columns, { 1234567890, 1234567890 }), terminal(12))
    assert.equal("1234567890", lines[2])
    assert.same({ "         2" }, (table_of.list(list(columns, { 2, 3 }), terminal(12), layout)))
  end)

  it("does not cut a column of texts below ten columns: further columns give way", function()
    local texts = list({ "name", "other" }, { "abcdefghijkl", "12345678901234567890" })
    assert.same({ "name        other", "abcdefghi…  123456789…" }, { unpack((table_of.list(texts, terminal(22))), 1, 2) })
    assert.same({ "name", "abcdefghijkl" }, { unpack((table_of.list(texts, terminal(21))), 1, 2) })
  end)

  it("breaks sentences into short lines before there are none", function()
    assert.same({
      "word    text",
      "topics  All topics:",
      "        partitions,",
      "        records.",
    }, (table_of.list(list({ "word", "text" }, { "topics", "All topics: partitions, records." }), terminal(20))))
  end)

  it("has reasons, a column called why, broken into lines as well", function()
    assert.same({
      "goes   why                                 n",
      "false  the segment that is appended to;    1",
      "       retention_bytes spares it",
    }, (table_of.list(list({ "goes", "why", "n" },
      { false, "the segment that is appended to; retention_bytes spares it", 1 }), terminal(44))))
  end)

  it("has sentences, a column called text, broken into lines instead of cut", function()
    local sentence = "All topics with partitions, records, size and how many configs were set."
    assert.same({
      "word                 text                              n",
      "topics([a name])     All topics with partitions,       1",
      "                     records, size and how many",
      "                     configs were set.",
      "create(\"a very lon…  Creates a topic.                  2",
    }, (table_of.list(list({ "word", "text", "n" }, { "topics([a name])", sentence, 1 },
      { 'create("a very long word")', "Creates a topic.", 2 }), terminal(56))))
    assert.equal(2, #(table_of.list(list({ "text" }, { sentence }), PIPE)))
  end)

  it("is as wide as it needs to be when nothing is cut", function()
    assert.equal(500, #(table_of.list(list({ "value" }, { ("x"):rep(500) }), PIPE))[2])
  end)

  it("has only its head when it has no rows", function()
    assert.same({ "name  n" }, (table_of.list({ columns = { "name", "n" }, rows = {} }, PIPE)))
  end)

  it("goes on below the columns of the rows before, without a head", function()
    local columns = { "offset", "value" }
    local first, layout = table_of.list(list(columns, { 9, "a" }), PIPE)
    local second = table_of.list(list(columns, { 10, "b" }, { 1234567, "c" }), PIPE, layout)
    assert.same({ "offset  value", "     9  a" }, first)
    assert.same({ "     10  b", "1234567  c" }, second)
  end)

  it("has a head again when its columns are others", function()
    local _, layout = table_of.list(list({ "a" }, { 1 }), PIPE)
    assert.same({ "b", "2" }, (table_of.list(list({ "b" }, { 2 }), PIPE, layout)))
  end)
end)

describe("a record", function()
  it("has a field a line, with its value in a column, and leaves out what is missing", function()
    assert.same({ "name        clicks", "size_bytes  1.5 KiB", "replicas    1, 2" }, table_of.record({
      fields = { "name", "size_bytes", "gone", "replicas" }, value = { name = "clicks", size_bytes = 1536, replicas = { 1, 2 } },
    }, terminal(80)))
  end)

  it("has long tables below each other", function()
    assert.same({
      "name     x",
      "configs  {",
      "           first = \"aaaaaaaaaa\",",
      "           second = \"bbbbbbbbb\",",
      "         }",
    }, table_of.record({
      fields = { "name", "configs" }, value = { name = "x", configs = { first = "aaaaaaaaaa", second = "bbbbbbbbb" } },
    }, terminal(40)))
  end)
end)

describe("a record with lists in it", function()
  local view = { fields = { "name", "members", "offsets", "lag" }, lists = { members = { "host" }, offsets = { "topic", "lag" } },
    value = { name = "g", lag = 3, members = {}, offsets = { { topic = "t", lag = 1 }, { topic = "u" } } } }

  it("has them as tables below it, with their names, and how many rows they have above", function()
    assert.same({ "name     g", "members  0", "offsets  2", "lag      3", "", "offsets:", "topic  lag", "t        1", "u        -" },
      table_of.record(view, terminal(80)))
  end)

  it("cuts the tables to the width of the terminal", function()
    for _, line in ipairs(table_of.record(view, terminal(12))) do assert.is_true(text.width(line) <= 12) end
  end)
end)

describe("any other value", function()
  local cases = {
    { 2, "2" }, { true, "true" }, { "a\"\\\n", [["a\"\\\n"]] }, { {}, "{}" }, { { 1, 2, 3 }, "{ 1, 2, 3 }" },
    { { b = 1, a = "x" }, '{ a = "x", b = 1 }' }, { { ["a b"] = 1, ["end"] = 2 }, '{ ["a b"] = 1, ["end"] = 2 }' },
    { { ["10"] = "j", ["2"] = "b", x = 1 }, '{ [2] = "b", [10] = "j", x = 1 }' },
    { "<function>", "<function>" }, { { f = "<cycle>" }, "{ f = <cycle> }" }, { "<html>", '"<html>"' },
    { 9007199254740993LL, "9007199254740993" },
  }
  for _, case in ipairs(cases) do
    it("is shown as Lua: " .. case[2], function() assert.same({ case[2] }, pretty.lines(case[1])) end)
  end

  it("is nil when there is none", function() assert.same({ "nil" }, pretty.lines(nil)) end)

  it("takes several lines where one is too short", function()
    assert.same({ "{", "  {", '    "aaaaaa",', '    "bbbbbb",', "  },", "  { 1, 2 },", '  key = "cccc",', "}" },
      pretty.lines({ { "aaaaaa", "bbbbbb" }, { 1, 2 }, key = "cccc" }, 18))
  end)

  it("is painted without being measured with its paint", function()
    assert.same({ "{ <number:1>, a = <text:\"x\">, b = <word:true> }" }, pretty.lines({ 1, a = "x", b = true }, 28, paint))
  end)

  it("ends where it is nested too deep", function()
    local value = {}
    for _ = 1, 40 do value = { value } end
    assert.truthy(table.concat(pretty.lines(value)):find("<too deep>", 1, true))
  end)
end)
