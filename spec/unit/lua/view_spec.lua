-- SPDX-License-Identifier: Apache-2.0
-- How results become what is sent to a console.
require "spec.support.wire"
local ffi = require "ffi"
local errors = require "luka.errors"
local json = require "luka.native.json"
local view = require "luka.view"

describe("A view", function()
  it("of a list has columns and rows", function()
    local rows = view.list({ { name = "a", n = 1, hidden = true }, { name = "b" } }, { "name", "n" })
    assert.same({ kind = "list", columns = { "name", "n" }, rows = { { name = "a", n = 1 }, { name = "b" } } }, view.of(rows))
  end)

  it("leaves a list a plain table", function()
    local rows = { { name = "a" } }
    assert.equal(rows, view.list(rows, { "name" }))
    assert.is_nil(getmetatable(rows))
    assert.is_nil(getmetatable(rows[1]))
  end)

  it("of an empty list is an array in JSON", function()
    assert.equal('{"columns":["name"],"kind":"list","rows":[]}', json.encode(view.of(view.list({}, { "name" }))))
  end)

  it("of a record has its fields in order", function()
    assert.same({ kind = "record", fields = { "b", "a" }, value = { a = 1, b = 2 } },
      view.of(view.record({ a = 1, b = 2, c = 3 }, { "b", "a" })))
  end)

  it("of a record has the columns of the lists in it", function()
    local record = view.record({ name = "g", rows = view.list({ { b = 1, a = 2, c = 3 } }, { "b", "a" }),
      none = view.list({}, { "x" }), plain = { { 1 } } }, { "name", "rows", "none", "plain", "missing" })
    assert.same({ kind = "record", fields = { "name", "rows", "none", "plain", "missing" },
      lists = { rows = { "b", "a" }, none = { "x" } },
      value = { name = "g", rows = { { a = 2, b = 1 } }, none = {}, plain = { { 1 } } } }, view.of(record))
  end)

  it("of a list's row is a record", function()
    local rows = view.list({ { name = "a" } }, { "name" })
    assert.same({ kind = "record", fields = { "name" }, value = { name = "a" } }, view.of(rows[1]))
  end)

  it("of rows that were taken out of a list is a list", function()
    local rows = view.list({ { name = "a" }, { name = "b" } }, { "name" })
    assert.same({ kind = "list", columns = { "name" }, rows = { { name = "b" } } }, view.of { rows[2] })
  end)

  it("of a live object is what it is now", function()
    local count = 0
    local object = view.live({}, function()
      count = count + 1
      return view.record({ count = count }, { "count" })
    end)
    assert.equal(1, view.of(object).value.count)
    assert.equal(2, view.of(object).value.count)
  end)

  it("of a live object that shows itself for ever has an end", function()
    local object
    object = view.live({}, function() return object end)
    assert.has_error(function() view.of(object) end)
  end)

  it("shows cycles, depth and what is no data in words", function()
    local cycle = {}
    cycle.self = cycle
    assert.same({ self = "<cycle>" }, view.of(cycle).value)
    local deep = {}
    local inner = deep
    for _ = 1, 100 do
      inner.x = {}
      inner = inner.x
    end
    assert.matches('"<too deep>"', json.encode(view.of(deep)))
    assert.same({ "<function>", "<thread>", "<cdata>" },
      view.of({ print, coroutine.create(print), ffi.new "char[3]" }).value)
  end)

  it("shows the same table twice where it is no cycle", function()
    local shared = { 1 }
    assert.same({ { 1 }, { 1 } }, view.of({ shared, shared }).value)
  end)

  it("has texts for keys that are none", function()
    assert.same({ ["0"] = "a", ["true"] = "b", ["<table>"] = "c" }, view.of({ [0] = "a", [true] = "b", [{}] = "c" }).value)
  end)

  it("has numbers that JSON can hold", function()
    assert.same({ "nan", "inf", "-inf", 1.5 }, view.of({ 0 / 0, 1 / 0, -1 / 0, 1.5 }).value)
  end)

  it("keeps all digits of integers of C", function()
    for text, value in pairs { ["9007199254740993"] = 9007199254740993LL, ["-9007199254740993"] = -9007199254740993LL,
      ["9223372036854775807"] = 0x7fffffffffffffffULL, ["3"] = 3ULL, ["9007199254740992"] = 9007199254740992LL } do
      assert.equal('{"kind":"plain","value":' .. text .. "}", json.encode(view.of(value)))
    end
    assert.equal("18446744073709551615", view.of(-1ULL).value)
  end)

  it("writes bytes that are no UTF-8 as \\xNN", function()
    for from, to in pairs { ["a\255b"] = "a\\xffb", ["é€😀"] = "é€😀", ["\195"] = "\\xc3", ["\192\128"] = "\\xc0\\x80",
      ["\237\160\128"] = "\\xed\\xa0\\x80", ["\244\144\128\128"] = "\\xf4\\x90\\x80\\x80", ["\224\128\128"] = "\\xe0\\x80\\x80",
      ["\240\159\152"] = "\\xf0\\x9f\\x98", ["a\0b"] = "a\0b", ["é\255é"] = "é\\xffé" } do
      assert.equal(to, view.of(from).value)
      assert.is_string(json.encode(view.of(from)))
    end
  end)

  it("keeps the characters of a long text whole", function()
    for _, char in ipairs { "\195\164", "\226\130\172", "\240\159\152\128" } do
      for shift = 0, #char do
        local text = ("x"):rep(65536 - shift) .. char:rep(40000)
        assert.is_true(view.of(text).value == text)
      end
    end
    assert.equal(4 * 100000, #view.of(("\128"):rep(100000)).value)
  end)

  it("runs no code of the value's", function()
    local value = setmetatable({ a = 1 }, { __index = error, __tostring = error, __pairs = error, __len = error })
    assert.same({ a = 1 }, view.of(value).value)
  end)

  it("has an end", function()
    local big = {}
    for i = 1, 20 do big[i] = ("x"):rep(1024 * 1024) end
    local ok, err = pcall(view.of, big)
    assert.is_false(ok)
    assert.is_true(errors.is(err))
    assert.equal("the result is too large to be shown: ask for less of it", tostring(err))
  end)
end)
